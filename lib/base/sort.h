/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SORT_H
#define KIN_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>

/* A row of things that are known by their places. */
typedef struct kin__row {
  void *ctx;
  bool (*is_less)(void *ctx, size_t a, size_t b);
  void (*swap)(void *ctx, size_t a, size_t b);
} kin__row;

/* Puts the first `count` things in order. Equal ones may change places. A
 * heapsort, because the C library's qsort may take memory without the
 * allocator. O(count log count). */
void kin__sort(const kin__row *row, size_t count);

#endif /* KIN_BASE_SORT_H */
