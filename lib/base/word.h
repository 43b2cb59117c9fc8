/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_WORD_H
#define KIN_BASE_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes as a number, the first byte lowest, whatever the machine's order
 * of bytes is. */
static inline uint64_t kin__word_load(const char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* The same of 1 to 7 bytes; what is above them is 0. */
static inline uint64_t kin__word_load_part(const char *bytes, size_t length) {
  char whole[sizeof(uint64_t)] = {0};
  memcpy(whole, bytes, length);
  return kin__word_load(whole);
}

#endif /* KIN_BASE_WORD_H */
