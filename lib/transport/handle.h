/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_HANDLE_H
#define KIN_TRANSPORT_HANDLE_H

#include <stdbool.h>

#include <uv.h>

#include "base/link.h"

/* Handles on a loop that a host may sweep: uv_walk, and uv_close on every
 * handle that is not closing yet. libuv then calls the host's close callback
 * instead of ours, and keeps the handle on its list of closing handles until
 * the end of an iteration. So our close callback cannot tell when the memory of
 * a handle may be freed. This module stands on two facts:
 *
 * - A host cannot close a handle that is closing already. A tick is such a
 *   handle: its close callback is a call from the loop.
 * - At the end of an iteration libuv takes the list of closing handles, and
 *   finishes them, the newest first. A handle that a close callback closes comes
 *   into the next iteration's list.
 *
 * When another handle is closed by a close callback, the first tick may come
 * later in the same iteration, and the second tick in the next one, before that
 * handle. At the third tick the handle is gone. */

/* A call from the loop that a host cannot prevent. */
typedef struct kin__tick {
  uv_idle_t handle; /* initialized only to be closed */
  bool is_pending;
  void (*cb)(struct kin__tick *tick);
} kin__tick;

/* cb may request the tick again, and may free the tick. */
void kin__tick_init(kin__tick *tick, void (*cb)(kin__tick *tick));

/* Calls tick->cb once, at the end of this iteration of the loop or of the next
 * one. Does nothing while a call is pending. Until then the loop stays alive
 * and awake. */
void kin__tick_request(kin__tick *tick, uv_loop_t *loop);

/* Closes a handle unless the host has closed it. The handle's memory may be
 * freed after kin__releases_add has called back. */
static inline void kin__handle_close(uv_handle_t *handle) {
  if (!uv_is_closing(handle)) {
    uv_close(handle, NULL);
  }
}

/* Memory that must stay while its handles are closing. */
typedef struct kin__release {
  kin__link node; /* in one of the lists below until the callback */
  void (*cb)(struct kin__release *release);
} kin__release;

typedef struct kin__releases {
  uv_loop_t *loop;
  kin__tick tick;   /* pending iff one of the lists is not empty */
  kin__link young;  /* added since the last tick */
  kin__link middle; /* have waited for one tick */
  kin__link old;    /* have waited for two */
} kin__releases;

void kin__releases_init(kin__releases *releases, uv_loop_t *loop);

/* Calls cb from the loop when libuv knows none of the handles any more that
 * were closed before this call, by us or by the host. cb may free the memory
 * that `release` is part of. The callback of the last release may free
 * `releases`. */
void kin__releases_add(kin__releases *releases, kin__release *release,
                       void (*cb)(kin__release *release));

#endif /* KIN_TRANSPORT_HANDLE_H */
