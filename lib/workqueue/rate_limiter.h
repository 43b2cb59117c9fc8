/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_RATE_LIMITER_H
#define KIN_WORKQUEUE_RATE_LIMITER_H

#include <stdbool.h>

#include <kin/rate_limiter.h>

/* Each kind of limiter embeds the base as its first member. */
typedef struct kin__rate_limiter_ops {
  uint64_t (*when_ms)(kin_rate_limiter *limiter, kin_str key, uint64_t now_ns);
  void (*forget)(kin_rate_limiter *limiter, kin_str key);
  uint32_t (*requeues)(const kin_rate_limiter *limiter, kin_str key);
  /* Takes memory for keys from another allocator from now on, unless the limiter
   * has keys. NULL: the limiter has none at any time. */
  void (*use_memory)(kin_rate_limiter *limiter, const kin_allocator *allocator);
  /* Frees up to `count` pieces of what the limiter holds. Returns whether
   * anything is left. */
  bool (*clear_step)(kin_rate_limiter *limiter, uint32_t count);
} kin__rate_limiter_ops;

struct kin_rate_limiter {
  const kin__rate_limiter_ops *ops;
  kin_allocator allocator;
  uint32_t depth; /* limiters inside each other, this one included */
  bool is_owned;  /* by a queue or another limiter */
};

#define KIN__RATE_LIMITER_MAX_DEPTH 8u
#define KIN__RATE_LIMITER_MAX_PARTS 16u

/* Makes a zeroed limiter of `size` bytes at *out; NULL on an error.
 * Errors: KIN_EINVAL (out or allocator), KIN_ENOMEM. */
int kin__rate_limiter_make(kin_rate_limiter **out,
                           const kin_allocator *allocator,
                           const kin__rate_limiter_ops *ops, size_t size);

/* Frees up to `count` pieces of the limiter, at last the limiter itself.
 * Returns whether anything is left. NULL is allowed. */
bool kin__rate_limiter_free_step(kin_rate_limiter *limiter, uint32_t count);

/* The sum of both, or UINT64_MAX. */
static inline uint64_t kin__add_or_max(uint64_t a, uint64_t b) {
  return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

#endif /* KIN_WORKQUEUE_RATE_LIMITER_H */
