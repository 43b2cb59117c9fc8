/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_BYTE_BOUND_H
#define KIN_BASE_BYTE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that are in use, and their bound. */
typedef struct kin__byte_bound {
  uint64_t used;
  uint64_t max; /* 0: none */
} kin__byte_bound;

/* A rest of an eighth is kept free before something that was refused is tried
 * again. So a bound is not reached with every object. */
static inline uint64_t kin__byte_bound_low(const kin__byte_bound *bound) {
  return bound->max - bound->max / 8;
}

static inline bool kin__byte_bound_is_over(const kin__byte_bound *bound,
                                           uint64_t max, uint64_t more) {
  return bound->max != 0 && (more > max || bound->used > max - more);
}

/* `more` bytes do not fit. */
static inline bool kin__byte_bound_refuses(const kin__byte_bound *bound,
                                           uint64_t more) {
  return kin__byte_bound_is_over(bound, bound->max, more);
}

/* After `more` bytes less than an eighth is free. */
static inline bool kin__byte_bound_is_near(const kin__byte_bound *bound,
                                           uint64_t more) {
  return kin__byte_bound_is_over(bound, kin__byte_bound_low(bound), more);
}

#endif /* KIN_BASE_BYTE_BOUND_H */
