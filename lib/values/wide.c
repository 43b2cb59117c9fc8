/* SPDX-License-Identifier: MIT */
#include "values/wide.h"

bool kin__wide_is_zero(const uint32_t *n, size_t count) {
  uint32_t all = 0;
  for (size_t i = 0; i < count; i++) {
    all |= n[i];
  }
  return all == 0;
}

int kin__wide_compare(const uint32_t *a, const uint32_t *b, size_t count) {
  for (size_t i = count; i-- > 0;) {
    if (a[i] != b[i]) {
      return a[i] > b[i] ? 1 : -1;
    }
  }
  return 0;
}

bool kin__wide_multiply(uint32_t *n, size_t count, uint32_t factor,
                        uint32_t addend) {
  uint64_t carry = addend;
  for (size_t i = 0; i < count; i++) {
    carry += (uint64_t)n[i] * factor;
    n[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return carry == 0;
}

uint32_t kin__wide_divide(uint32_t *n, size_t count, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = count; i-- > 0;) {
    rest = rest << 32 | n[i];
    n[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  return (uint32_t)rest;
}

bool kin__wide_add(uint32_t *n, const uint32_t *other, size_t count) {
  uint64_t carry = 0;
  for (size_t i = 0; i < count; i++) {
    carry += (uint64_t)n[i] + other[i];
    n[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return carry == 0;
}

void kin__wide_subtract(uint32_t *n, const uint32_t *other, size_t count) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t difference = (uint64_t)n[i] - other[i] - borrow;
    n[i] = (uint32_t)difference;
    borrow = difference >> 63;
  }
}
