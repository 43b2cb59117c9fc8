/* SPDX-License-Identifier: MIT */
#include "base/sort.h"

/* Restores the heap of the first `count` things below `top`. */
static void sift_down(const kin__row *row, size_t top, size_t count) {
  for (size_t child; (child = 2 * top + 1) < count; top = child) {
    if (child + 1 < count && row->is_less(row->ctx, child, child + 1)) {
      child++;
    }
    if (!row->is_less(row->ctx, top, child)) {
      return;
    }
    row->swap(row->ctx, top, child);
  }
}

void kin__sort(const kin__row *row, size_t count) {
  for (size_t top = count / 2; top > 0; top--) {
    sift_down(row, top - 1, count);
  }
  for (size_t last = count; last > 1; last--) {
    row->swap(row->ctx, 0, last - 1);
    sift_down(row, 0, last - 1);
  }
}
