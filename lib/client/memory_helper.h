/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_MEMORY_HELPER_H
#define KIN_CLIENT_MEMORY_HELPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/slab.h"
#include "client/loop.h"

/* Has libuv's pool prepare memory for objects while they arrive fast. Then the
 * loop's thread takes no page faults for them.
 *
 * One piece of work at a time, of a few milliseconds, so the program's own work
 * in the pool waits for at most that. Until the work is done, or if the pool
 * never comes to it, the loop's thread maps slabs itself. Prepared memory that
 * nobody has needed for a second goes back to the system, and so do the pages of
 * slabs that no cell has used. */
#define KIN__HELP_MAX_BYTES ((size_t)4 << 20)

typedef struct kin__memory_helper {
  kin__loop *loop;
  kin__arena *arena;  /* NULL: no help */
  uint64_t window_ms; /* when counting in `grown` began */
  uint64_t grown_ms;  /* when the arena last grew */
  size_t grown;       /* bytes since window_ms */
  bool is_working;
  atomic_bool must_stop;
  kin__timer idle; /* gives prepared memory back */
  kin__task give_back;
  uv_work_t work;
  size_t bytes; /* to be prepared */
  kin__ready_pages *pages;
  void (*closed)(void *ctx);
  void *closed_ctx;
} kin__memory_helper;

/* `arena` may be NULL: the helper does nothing then. Else an arena that maps
 * pages, and outlives the helper. */
void kin__memory_helper_init(kin__memory_helper *helper, kin__loop *loop,
                             kin__arena *arena);

/* Calls `closed` from the loop when no thread uses the helper any more; at once
 * if none does. Waits neither for the program's work in the pool nor for a
 * timer. The arena keeps the prepared memory. */
void kin__memory_helper_close(kin__memory_helper *helper,
                              void (*closed)(void *ctx), void *ctx);

#endif /* KIN_CLIENT_MEMORY_HELPER_H */
