/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TEXT_EQUAL_H
#define KIN_OBJECT_TEXT_EQUAL_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

/* A comparison of two JSON values in place, without a document or memory. */

#define KIN__TEXT_EQUAL_DEPTH 64u
/* A comparison reads at most this many times the bytes of both values. */
#define KIN__TEXT_EQUAL_READS 32u
/* All comparisons of two texts are one step of the loop. They read at most so
 * many bytes together, which takes up to 0.9 ms. Of longer texts they read this
 * many times the bytes of both. */
#define KIN__TEXT_EQUAL_STEP_BYTES (512u << 10)
#define KIN__TEXT_EQUAL_LARGE_READS 4u

/* The bytes that the comparisons of two texts may read together; `bytes` is the
 * length of both. */
static inline uint64_t kin__text_equal_bound(uint64_t bytes) {
  return bytes > KIN__TEXT_EQUAL_STEP_BYTES
             ? KIN__TEXT_EQUAL_LARGE_READS * bytes
             : KIN__TEXT_EQUAL_STEP_BYTES;
}

/* Whether two JSON values are equal, as written without white space around
 * them. Values with the same bytes are. Otherwise: objects with the same
 * members in any order, or in this order if names have escapes; arrays with the
 * same elements in this order; strings of which at most one is written with
 * escapes. Everything else differs: numbers that are written differently,
 * values that are no JSON, and values beyond the bounds above. So true is
 * always right, and false may be wrong. Takes the bytes that were read from
 * *bytes_left. */
bool kin__text_equal(kin_str a, kin_str b, uint64_t *bytes_left);

#endif /* KIN_OBJECT_TEXT_EQUAL_H */
