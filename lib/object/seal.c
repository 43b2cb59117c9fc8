/* SPDX-License-Identifier: MIT */
#include "object/seal.h"

#include <string.h>

#include "base/str.h"
#include "object/object.h"

/* Odd, so that the multiplication is a bijection. */
static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

static inline uint64_t add_word(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * factor;
  return sum ^ sum >> 32;
}

static uint64_t sum_of(kin_str bytes) {
  uint64_t sum = bytes.length;
  const char *p = bytes.data;
  size_t left = bytes.length;
  uint64_t word;
  for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
    memcpy(&word, p, sizeof word);
    sum = add_word(sum, word);
  }
  if (left > 0) {
    word = 0;
    memcpy(&word, p, left);
    sum = add_word(sum, word);
  }
  return sum;
}

static size_t block_count(size_t length) {
  return (length + KIN__SUM_BLOCK - 1) / KIN__SUM_BLOCK;
}

size_t kin__object_sum_count(size_t strings_length, size_t body_length) {
  return 1 + block_count(strings_length) + block_count(body_length);
}

/* The i-th block of a part other than the header. */
static kin_str block_of(kin_str part, size_t i) {
  size_t at = i * KIN__SUM_BLOCK;
  size_t rest = part.length - at;
  return kin__str(part.data + at,
                  rest < KIN__SUM_BLOCK ? rest : KIN__SUM_BLOCK);
}

static uint64_t header_sum(const kin_object *object) {
  return sum_of(kin__object_part(object, KIN_MUTATION_HEADER));
}

void kin__object_sum(const kin_object *object, uint64_t *sums) {
  *sums++ = header_sum(object);
  for (kin_mutation_part part = KIN_MUTATION_STRINGS; part <= KIN_MUTATION_JSON;
       part++) {
    kin_str bytes = kin__object_part(object, part);
    size_t count = block_count(bytes.length);
    for (size_t i = 0; i < count; i++) {
      *sums++ = sum_of(block_of(bytes, i));
    }
  }
}

/* Compares the blocks of a part, which begins at block `base`. */
static kin__comparison compare_part(kin_str bytes, const uint64_t *sums,
                                    size_t base, size_t *block,
                                    size_t *max_blocks) {
  size_t end = base + block_count(bytes.length);
  for (; *block < end; ++*block, --*max_blocks) {
    if (*max_blocks == 0) {
      return KIN__UNFINISHED;
    }
    if (sum_of(block_of(bytes, *block - base)) != sums[*block]) {
      return KIN__DIFFERENT;
    }
  }
  return KIN__SAME;
}

kin__comparison kin__object_compare(const kin_object *object,
                                    const uint64_t *sums, size_t *block,
                                    size_t max_blocks) {
  if (header_sum(object) != sums[0]) {
    *block = 0;
    return KIN__DIFFERENT;
  }
  *block = *block > 0 ? *block : 1;
  kin_str strings = kin__object_part(object, KIN_MUTATION_STRINGS);
  kin__comparison result = compare_part(strings, sums, 1, block, &max_blocks);
  if (result == KIN__SAME) {
    result = compare_part(kin__object_part(object, KIN_MUTATION_JSON), sums,
                          1 + block_count(strings.length), block, &max_blocks);
  }
  return result;
}

kin_mutation kin__object_mutation(const kin_object *object,
                                  const uint64_t *sums, size_t block,
                                  size_t key_length) {
  /* The key comes first in an object's bytes, whatever its header says. */
  kin_mutation mutation = {.size = sizeof mutation,
                           .object = object,
                           .key =
                               kin__str(kin__object_bytes(object), key_length),
                           .part = KIN_MUTATION_HEADER};
  if (block == 0 || header_sum(object) != sums[0]) {
    return mutation;
  }
  mutation.part = KIN_MUTATION_STRINGS;
  kin_str bytes = kin__object_part(object, mutation.part);
  size_t i = block - 1;
  if (i >= block_count(bytes.length)) {
    i -= block_count(bytes.length);
    mutation.part = KIN_MUTATION_JSON;
    bytes = kin__object_part(object, mutation.part);
  }
  mutation.offset = i * KIN__SUM_BLOCK;
  mutation.bytes = block_of(bytes, i);
  return mutation;
}

kin_object *kin__object_close(kin_object *object) {
  kin__cell *cell = kin__sealed_close((kin__cell *)(void *)object);
  if (cell == NULL) {
    return NULL;
  }
  kin_object *closed = (kin_object *)(void *)cell;
  kin__seal *seal = kin__sealed_seal(cell);
  seal->key_length = kin_object_key(closed).length;
  if (seal->sums != NULL) {
    kin__object_sum(closed, seal->sums);
  }
  return closed;
}

kin__seal *kin__object_seal(const kin_object *object) {
  return kin__sealed_seal((const kin__cell *)(const void *)object);
}
