/* SPDX-License-Identifier: MIT */
#ifndef APISIM_RNG_H
#define APISIM_RNG_H

/* A small seeded generator (splitmix64): the same seed gives the same pods,
 * uids and churn on every machine. Not for secrets. */

#include <stdint.h>
#include <time.h>

typedef struct rng {
  uint64_t state;
} rng;

enum { UUID_LEN = 36, RFC3339_LEN = 20 };

uint64_t rng_next(rng *r);
/* A number in [0, bound); 0 when bound is 0. */
uint64_t rng_below(rng *r, uint64_t bound);
/* Writes a version 4 UUID and a NUL. */
void rng_uuid(rng *r, char out[UUID_LEN + 1]);
/* A stateless hash of one number, for values derived from an index. */
uint64_t rng_mix(uint64_t value);
/* Writes t as UTC, e.g. 2026-11-20T21:29:04Z, and a NUL. */
void format_rfc3339(time_t t, char out[RFC3339_LEN + 1]);

#endif
