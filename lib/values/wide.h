/* SPDX-License-Identifier: MIT */
#ifndef KIN_VALUES_WIDE_H
#define KIN_VALUES_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unsigned integers of `count` parts of 32 bits each, the lowest first. */

bool kin__wide_is_zero(const uint32_t *n, size_t count);
/* -1, 0 or 1. */
int kin__wide_compare(const uint32_t *a, const uint32_t *b, size_t count);

/* n = n * factor + addend. Returns false, and leaves garbage, if the result does
 * not fit. */
bool kin__wide_multiply(uint32_t *n, size_t count, uint32_t factor,
                        uint32_t addend);
/* n = n / divisor. Returns the remainder. */
uint32_t kin__wide_divide(uint32_t *n, size_t count, uint32_t divisor);

/* n = n + other. Returns false, and leaves garbage, if the sum does not fit. */
bool kin__wide_add(uint32_t *n, const uint32_t *other, size_t count);
/* n = n - other, which is at most n. */
void kin__wide_subtract(uint32_t *n, const uint32_t *other, size_t count);

#endif /* KIN_VALUES_WIDE_H */
