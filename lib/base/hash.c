/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

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

/* --- Long texts ----------------------------------------------------------- */

#define LANES 4u
#define PIECE_BYTES 16u
#define STRIPE_BYTES ((size_t)(LANES * PIECE_BYTES))

/* The product of 128 bits, its halves combined. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
  uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
  uint64_t high = (a >> 32) * (b >> 32);
  uint64_t first = (a >> 32) * (b & UINT32_MAX);
  uint64_t second = (a & UINT32_MAX) * (b >> 32);
  uint64_t middle = (low >> 32) + (first & UINT32_MAX) + (second & UINT32_MAX);
  low = (low & UINT32_MAX) | middle << 32;
  high += (first >> 32) + (second >> 32) + (middle >> 32);
  return low ^ high;
#endif
}

static inline uint64_t mix(uint64_t key, uint64_t lane, const char *piece) {
  return fold(kin__word_load(piece) ^ key, kin__word_load(piece + 8) ^ lane);
}

/* Four chains of multiplications, since each waits for the one before. A
 * collision needs the keys, which nobody outside of the process knows. */
uint64_t kin__hash_long(const kin__hash_seed *seed, kin_str s) {
  const uint64_t keys[LANES] = {seed->k0, seed->k1,
                                fold(seed->k0 ^ UINT64_C(0x9e3779b97f4a7c15),
                                     seed->k1 ^ UINT64_C(0x736f6d6570736575)),
                                fold(seed->k1 ^ UINT64_C(0xbf58476d1ce4e5b9),
                                     seed->k0 ^ UINT64_C(0x646f72616e646f6d))};
  uint64_t lanes[LANES] = {keys[3], keys[2], keys[1], keys[0]};
  const char *p = s.data;
  size_t left = s.length;
  for (; left >= STRIPE_BYTES; left -= STRIPE_BYTES, p += STRIPE_BYTES) {
    for (unsigned i = 0; i < LANES; i++) {
      lanes[i] = mix(keys[i], lanes[i], p + (size_t)i * PIECE_BYTES);
    }
  }
  char rest[STRIPE_BYTES] = {0};
  if (left > 0) {
    memcpy(rest, p, left);
  }
  for (unsigned i = 0; i < LANES; i++) {
    lanes[i] = mix(keys[i], lanes[i], rest + (size_t)i * PIECE_BYTES);
  }
  uint64_t h = fold(lanes[0] ^ keys[1], lanes[1] ^ s.length) ^
               fold(lanes[2] ^ keys[3], lanes[3] ^ keys[0]);
  return fold(h ^ keys[2], s.length ^ keys[1]);
}

kin__hash_seed kin__hash_make_seed(const void *address) {
  kin__hash_seed seed;
  if (getentropy(&seed, sizeof seed) != 0) {
    seed.k0 = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    seed.k1 = (uintptr_t)&seed ^ (uint64_t)getpid() << 32;
  }
  return seed;
}
