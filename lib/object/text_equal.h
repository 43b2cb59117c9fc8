/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TEXT_EQUAL_H
#define KIN_OBJECT_TEXT_EQUAL_H

#include <stdbool.h>

#include <kin/str.h>

/* A comparison of two JSON values in place, without a document or memory. */

#define KIN__TEXT_EQUAL_DEPTH 64u
/* A comparison reads at most this many times the bytes of both values. */
#define KIN__TEXT_EQUAL_READS 32u
/* Of large values it reads less, because it is one step of the loop: at most
 * this many times their bytes, and so many bytes more. */
#define KIN__TEXT_EQUAL_LARGE_READS 4u
#define KIN__TEXT_EQUAL_LARGE_BYTES (1u << 20)

/* Whether two JSON values are equal, as written without white space around
 * them. Values with the same bytes are. Otherwise: objects with the same
 * members in any order, or in this order if names have escapes; arrays with the
 * same elements in this order; strings of which at most one is written with
 * escapes. Everything else differs: numbers that are written differently,
 * values that are no JSON, and values beyond the bounds above. So true is
 * always right, and false may be wrong. */
bool kin__text_equal(kin_str a, kin_str b);

#endif /* KIN_OBJECT_TEXT_EQUAL_H */
