/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#include "base/word.h"

static inline uint64_t rotl(uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

static inline void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[1] = rotl(v[1], 13) ^ v[0];
  v[0] = rotl(v[0], 32);
  v[2] += v[3];
  v[3] = rotl(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotl(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotl(v[1], 17) ^ v[2];
  v[2] = rotl(v[2], 32);
}

uint32_t kin__hash(const kin__hash_seed *seed, kin_str s) {
  uint64_t v[4] = {seed->k0 ^ UINT64_C(0x736f6d6570736575),
                   seed->k1 ^ UINT64_C(0x646f72616e646f6d),
                   seed->k0 ^ UINT64_C(0x6c7967656e657261),
                   seed->k1 ^ UINT64_C(0x7465646279746573)};
  const char *p = s.data;
  size_t left = s.length;
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word = kin__word_load(p);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
  }
  uint64_t last = (uint64_t)s.length << 56;
  if (left > 0) {
    last |= kin__word_load_part(p, left);
  }
  v[3] ^= last;
  sip_round(v);
  v[0] ^= last;
  v[2] ^= 0xff;
  sip_round(v);
  sip_round(v);
  sip_round(v);
  uint64_t h = v[0] ^ v[1] ^ v[2] ^ v[3];
  return (uint32_t)(h ^ (h >> 32));
}

kin__hash_seed kin__hash_make_seed(const void *address) {
  kin__hash_seed seed;
  if (getentropy(&seed, sizeof seed) != 0) {
    seed.k0 = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    seed.k1 = (uintptr_t)&seed ^ (uint64_t)getpid() << 32;
  }
  return seed;
}
