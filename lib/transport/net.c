/* SPDX-License-Identifier: MIT */
#include "transport/net.h"

#include <assert.h>

#include <kin/error.h>

#include "base/alloc.h"

int kin__net_open(kin__net *net, const kin__transport_options *options) {
  *net = (kin__net){
      .loop = options->loop,
      .allocator = options->allocator,
      .sched = options->sched,
      .timers = options->timers,
      .log = options->log,
      .is_ref = true,
  };
  kin__wiping_init(&net->wiping, options->allocator);
  kin__link_init(&net->conns);
  kin__link_init(&net->dials);
  kin__read_delay_init(&net->read_delay, options->read_delay_ms);
  kin__releases_init(&net->releases, net->loop);
  net->read_buffer = kin__malloc(net->allocator, KIN__READ_BYTES);
  if (net->read_buffer == NULL) {
    return KIN_ENOMEM;
  }
  int err = uv_timer_init(net->loop, &net->anchor);
  if (err != 0) {
    kin__free(net->allocator, net->read_buffer);
    return err;
  }
  kin__fork_mark_init(&net->fork_mark);
  kin__net_hold(net);
  return 0;
}

static void on_anchor_gone(kin__release *release) {
  kin__net_release(KIN__CONTAINER_OF(release, kin__net, anchor_gone));
}

void kin__net_close(kin__net *net, void (*on_drained)(kin__net *net)) {
  assert(kin__link_is_empty(&net->conns) && kin__link_is_empty(&net->dials));
  net->on_drained = on_drained;
  kin__handle_close((uv_handle_t *)&net->anchor);
  kin__releases_add(&net->releases, &net->anchor_gone, on_anchor_gone);
}

void kin__net_hold(kin__net *net) {
  net->holds++;
}

void kin__net_release(kin__net *net) {
  assert(net->holds > 0);
  if (--net->holds == 0) {
    kin__free(net->allocator, net->read_buffer);
    net->read_buffer = NULL;
    kin__fork_mark_finish(&net->fork_mark);
    net->on_drained(net);
  }
}

void kin__net_apply_ref(const kin__net *net, uv_handle_t *handle) {
  if (net->is_ref) {
    uv_ref(handle);
  } else {
    uv_unref(handle);
  }
}

bool kin__net_is_cut_off(const kin__net *net) {
  return uv_is_closing((const uv_handle_t *)&net->anchor) ||
         kin__fork_mark_is_child(&net->fork_mark);
}

uint64_t kin__net_now_ms(const kin__net *net) {
  return net->sched->now_ns(net->sched->ctx) / 1000000u;
}
