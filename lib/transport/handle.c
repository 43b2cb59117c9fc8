/* SPDX-License-Identifier: MIT */
#include "transport/handle.h"

#include <assert.h>

static void on_tick_closed(uv_handle_t *handle) {
  uv_idle_t *idle = (uv_idle_t *)handle;
  kin__tick *tick = KIN__CONTAINER_OF(idle, kin__tick, handle);
  tick->is_pending = false;
  tick->cb(tick);
}

void kin__tick_init(kin__tick *tick, void (*cb)(kin__tick *tick)) {
  *tick = (kin__tick){.cb = cb};
}

void kin__tick_request(kin__tick *tick, uv_loop_t *loop) {
  if (tick->is_pending) {
    return;
  }
  int err = uv_idle_init(loop, &tick->handle);
  assert(err == 0); /* in libuv 1.x it only links the handle */
  (void)err;
  tick->is_pending = true;
  uv_close((uv_handle_t *)&tick->handle, on_tick_closed);
}

/* Invariant: the owner of `releases` is not freed while a release is in
 * `batch`. After the last callback nothing is touched. */
static void on_tick(kin__tick *tick) {
  kin__releases *releases = KIN__CONTAINER_OF(tick, kin__releases, tick);
  kin__link batch;
  kin__link_init(&batch);
  kin__link_splice(&batch, &releases->old);
  kin__link_splice(&releases->old, &releases->middle);
  kin__link_splice(&releases->middle, &releases->young);
  if (!kin__link_is_empty(&releases->old) ||
      !kin__link_is_empty(&releases->middle)) {
    kin__tick_request(tick, releases->loop);
  }
  while (!kin__link_is_empty(&batch)) {
    kin__release *release = KIN__CONTAINER_OF(batch.next, kin__release, node);
    kin__link_remove(&release->node);
    release->cb(release);
  }
}

void kin__releases_init(kin__releases *releases, uv_loop_t *loop) {
  releases->loop = loop;
  kin__tick_init(&releases->tick, on_tick);
  kin__link_init(&releases->young);
  kin__link_init(&releases->middle);
  kin__link_init(&releases->old);
}

void kin__releases_add(kin__releases *releases, kin__release *release,
                       void (*cb)(kin__release *release)) {
  release->cb = cb;
  kin__link_push(&releases->young, &release->node);
  kin__tick_request(&releases->tick, releases->loop);
}
