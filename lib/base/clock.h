/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_CLOCK_H
#define KIN_BASE_CLOCK_H

#include <stdint.h>

/* The time of everything below the loop. The clock is monotonic; nothing here
 * uses the wall clock. */
typedef struct kin__clock {
  uint64_t (*now_ns)(void *ctx);
  void *ctx;
} kin__clock;

static inline uint64_t kin__clock_ns(const kin__clock *clock) {
  return clock->now_ns(clock->ctx);
}

static inline uint64_t kin__clock_ms(const kin__clock *clock) {
  return clock->now_ns(clock->ctx) / 1000000u;
}

#endif /* KIN_BASE_CLOCK_H */
