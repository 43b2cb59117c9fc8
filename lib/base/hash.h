/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_HASH_H
#define KIN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

/* SipHash-1-3 (Aumasson, Bernstein) folded to 32 bits. The hash is keyed, so
 * that an attacker cannot choose object names that collide. */
typedef struct kin__hash_seed {
  uint64_t k0;
  uint64_t k1;
} kin__hash_seed;

uint32_t kin__hash(const kin__hash_seed *seed, kin_str s);

/* 64 bits of a text of kilobytes, at more than ten bytes a nanosecond: two texts
 * with the same hash may be taken for equal. Keyed, too. */
uint64_t kin__hash_long(const kin__hash_seed *seed, kin_str s);

/* A seed for tables that have no client; a client has its own seed. If the
 * system has no randomness, the seed comes from addresses. */
kin__hash_seed kin__hash_make_seed(const void *address);

#endif /* KIN_BASE_HASH_H */
