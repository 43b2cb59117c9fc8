/* SPDX-License-Identifier: MIT */
#include "workqueue/rate_limiter.h"

#include <kin/error.h>
#include <kin/work_queue.h>

#include "workqueue/key_table.h"

/* The limiters that count the failures of each key: exponential (WQ-11), and
 * fast and slow (WQ-12). */

typedef struct failures {
  kin__key_head head;
  uint32_t count;
} failures;

typedef struct failure_limiter {
  kin_rate_limiter base;
  kin_allocator memory; /* of the table */
  kin__key_table table;
  uint32_t first_ms; /* base or fast */
  uint32_t last_ms;  /* max or slow */
  uint32_t fast_tries;
} failure_limiter;

static uint32_t requeues(const kin_rate_limiter *limiter, kin_str key) {
  const failure_limiter *own = (const failure_limiter *)limiter;
  const failures *found = kin__key_table_find(&own->table, key);
  return found != NULL ? found->count : 0;
}

/* Counts a failure. Returns the number of those before; 0 without memory. */
static uint32_t count_failure(failure_limiter *own, kin_str key) {
  void *element;
  if (key.length > KIN_WORK_KEY_MAX ||
      kin__key_table_take(&own->table, key, &element) != 0) {
    return 0;
  }
  failures *found = element;
  uint32_t before = found->count;
  found->count += found->count < UINT32_MAX;
  return before;
}

static void forget(kin_rate_limiter *limiter, kin_str key) {
  failure_limiter *own = (failure_limiter *)limiter;
  void *found = kin__key_table_find(&own->table, key);
  if (found != NULL) {
    kin__key_table_give(&own->table, found);
  }
}

static void use_memory(kin_rate_limiter *limiter,
                       const kin_allocator *allocator) {
  failure_limiter *own = (failure_limiter *)limiter;
  if (own->table.slots.segments.count == 0 && own->table.map.heads.count == 0) {
    own->memory = *allocator;
  }
}

static bool clear_step(kin_rate_limiter *limiter, uint32_t count) {
  return kin__key_table_clear_step(&((failure_limiter *)limiter)->table, count);
}

static uint64_t exponential_when_ms(kin_rate_limiter *limiter, kin_str key,
                                    uint64_t now_ns) {
  failure_limiter *own = (failure_limiter *)limiter;
  (void)now_ns;
  uint32_t before = count_failure(own, key);
  /* 32 bits and up to 31 more do not overflow; any first wait doubled 32 times
   * is over the longest one. */
  uint64_t wait_ms =
      before < 32 ? (uint64_t)own->first_ms << before : own->last_ms;
  return wait_ms < own->last_ms ? wait_ms : own->last_ms;
}

static uint64_t fast_slow_when_ms(kin_rate_limiter *limiter, kin_str key,
                                  uint64_t now_ns) {
  failure_limiter *own = (failure_limiter *)limiter;
  (void)now_ns;
  return count_failure(own, key) < own->fast_tries ? own->first_ms
                                                   : own->last_ms;
}

static int make(kin_rate_limiter **out, const kin_allocator *allocator,
                const kin__rate_limiter_ops *ops, uint32_t first_ms,
                uint32_t last_ms, uint32_t fast_tries) {
  int err =
      kin__rate_limiter_make(out, allocator, ops, sizeof(failure_limiter));
  if (err != 0) {
    return err;
  }
  failure_limiter *own = (failure_limiter *)*out;
  own->memory = own->base.allocator;
  kin__key_table_init(&own->table, &own->memory, kin__hash_make_seed(own),
                      sizeof(failures), KIN__KEY_TABLE_MAX);
  own->first_ms = first_ms;
  own->last_ms = last_ms;
  own->fast_tries = fast_tries;
  return 0;
}

int kin_rate_limiter_new_exponential(kin_rate_limiter **out,
                                     const kin_allocator *allocator,
                                     uint32_t base_ms, uint32_t max_ms) {
  static const kin__rate_limiter_ops ops = {.when_ms = exponential_when_ms,
                                            .forget = forget,
                                            .requeues = requeues,
                                            .use_memory = use_memory,
                                            .clear_step = clear_step};
  if (out != NULL) {
    *out = NULL;
  }
  if (base_ms == 0 || max_ms == 0) {
    return KIN_EINVAL;
  }
  return make(out, allocator, &ops, base_ms, max_ms, 0);
}

int kin_rate_limiter_new_fast_slow(kin_rate_limiter **out,
                                   const kin_allocator *allocator,
                                   uint32_t fast_ms, uint32_t slow_ms,
                                   uint32_t fast_tries) {
  static const kin__rate_limiter_ops ops = {.when_ms = fast_slow_when_ms,
                                            .forget = forget,
                                            .requeues = requeues,
                                            .use_memory = use_memory,
                                            .clear_step = clear_step};
  return make(out, allocator, &ops, fast_ms, slow_ms, fast_tries);
}
