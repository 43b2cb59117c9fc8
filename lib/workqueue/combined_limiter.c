/* SPDX-License-Identifier: MIT */
#include "workqueue/rate_limiter.h"

#include <kin/error.h>

/* Limiters made of others (WQ-12): the longest wait of several, and a wait that
 * is capped. */

typedef struct combined_limiter {
  kin_rate_limiter base;
  uint64_t max_wait_ms;
  uint32_t count;
  kin_rate_limiter *parts[KIN__RATE_LIMITER_MAX_PARTS];
} combined_limiter;

static uint64_t when_ms(kin_rate_limiter *limiter, kin_str key,
                        uint64_t now_ns) {
  combined_limiter *own = (combined_limiter *)limiter;
  uint64_t longest_ms = 0;
  for (uint32_t i = 0; i < own->count; i++) {
    uint64_t wait_ms = kin_rate_limiter_when_ms(own->parts[i], key, now_ns);
    longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
  }
  return longest_ms < own->max_wait_ms ? longest_ms : own->max_wait_ms;
}

static void forget(kin_rate_limiter *limiter, kin_str key) {
  combined_limiter *own = (combined_limiter *)limiter;
  for (uint32_t i = 0; i < own->count; i++) {
    kin_rate_limiter_forget(own->parts[i], key);
  }
}

static uint32_t requeues(const kin_rate_limiter *limiter, kin_str key) {
  const combined_limiter *own = (const combined_limiter *)limiter;
  uint32_t most = 0;
  for (uint32_t i = 0; i < own->count; i++) {
    uint32_t found = kin_rate_limiter_requeues(own->parts[i], key);
    most = found > most ? found : most;
  }
  return most;
}

static void use_memory(kin_rate_limiter *limiter,
                       const kin_allocator *allocator) {
  combined_limiter *own = (combined_limiter *)limiter;
  for (uint32_t i = 0; i < own->count; i++) {
    if (own->parts[i]->ops->use_memory != NULL) {
      own->parts[i]->ops->use_memory(own->parts[i], allocator);
    }
  }
}

static bool clear_step(kin_rate_limiter *limiter, uint32_t count) {
  combined_limiter *own = (combined_limiter *)limiter;
  while (own->count > 0) {
    if (kin__rate_limiter_free_step(own->parts[own->count - 1], count)) {
      return true;
    }
    own->count--;
  }
  return false;
}

static const kin__rate_limiter_ops ops = {.when_ms = when_ms,
                                          .forget = forget,
                                          .requeues = requeues,
                                          .use_memory = use_memory,
                                          .clear_step = clear_step};

static int check(kin_rate_limiter *const *parts, size_t count) {
  if (parts == NULL || count == 0) {
    return KIN_EINVAL;
  }
  if (count > KIN__RATE_LIMITER_MAX_PARTS) {
    return KIN_ETOOBIG;
  }
  for (size_t i = 0; i < count; i++) {
    if (parts[i] == NULL || parts[i]->is_owned) {
      return KIN_EINVAL;
    }
    for (size_t k = 0; k < i; k++) {
      if (parts[k] == parts[i]) {
        return KIN_EINVAL;
      }
    }
    if (parts[i]->depth >= KIN__RATE_LIMITER_MAX_DEPTH) {
      return KIN_ETOOBIG;
    }
  }
  return 0;
}

static int make(kin_rate_limiter **out, const kin_allocator *allocator,
                kin_rate_limiter *const *parts, size_t count,
                uint64_t max_wait_ms) {
  if (out != NULL) {
    *out = NULL;
  }
  int err = check(parts, count);
  if (err == 0) {
    err =
        kin__rate_limiter_make(out, allocator, &ops, sizeof(combined_limiter));
  }
  if (err != 0) {
    return err;
  }
  combined_limiter *own = (combined_limiter *)*out;
  own->max_wait_ms = max_wait_ms;
  own->count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    own->parts[i] = parts[i];
    parts[i]->is_owned = true;
    own->base.depth = parts[i]->depth >= own->base.depth ? parts[i]->depth + 1
                                                         : own->base.depth;
  }
  return 0;
}

int kin_rate_limiter_new_max_of(kin_rate_limiter **out,
                                const kin_allocator *allocator,
                                kin_rate_limiter *const *limiters,
                                size_t count) {
  return make(out, allocator, limiters, count, UINT64_MAX);
}

int kin_rate_limiter_new_max_wait(kin_rate_limiter **out,
                                  const kin_allocator *allocator,
                                  kin_rate_limiter *limiter,
                                  uint32_t max_wait_ms) {
  return make(out, allocator, &limiter, 1, max_wait_ms);
}

/* CN-11 */
#define DEFAULT_BASE_MS 5u
#define DEFAULT_MAX_MS 1000000u
#define DEFAULT_QPS_MILLI 10000u
#define DEFAULT_BURST 100u

int kin_rate_limiter_new_default(kin_rate_limiter **out,
                                 const kin_allocator *allocator) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_rate_limiter *parts[2] = {NULL, NULL};
  int err = kin_rate_limiter_new_exponential(&parts[0], allocator,
                                             DEFAULT_BASE_MS, DEFAULT_MAX_MS);
  if (err == 0) {
    err = kin_rate_limiter_new_bucket(&parts[1], allocator, DEFAULT_QPS_MILLI,
                                      DEFAULT_BURST);
  }
  if (err == 0) {
    err = kin_rate_limiter_new_max_of(out, allocator, parts, 2);
  }
  if (err != 0) {
    kin_rate_limiter_free(parts[0]);
    kin_rate_limiter_free(parts[1]);
  }
  return err;
}
