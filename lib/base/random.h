/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_RANDOM_H
#define KIN_BASE_RANDOM_H

#include <stdint.h>

#include "base/hash.h"

/* splitmix64 (Steele, Lea, Flood): for jitter and hash seeds, not for
 * secrets. The same seed gives the same run. */
typedef struct kin__random {
  uint64_t state;
} kin__random;

static inline uint64_t kin__random_next(kin__random *random) {
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Uniform in [0, bound); 0 if bound is 0. The bias is below 2^-32 for the small
 * bounds used here. */
static inline uint64_t kin__random_below(kin__random *random, uint64_t bound) {
  return bound > 0 ? kin__random_next(random) % bound : 0;
}

static inline kin__hash_seed kin__random_hash_seed(kin__random *random) {
  kin__hash_seed seed = {kin__random_next(random), kin__random_next(random)};
  return seed;
}

#endif /* KIN_BASE_RANDOM_H */
