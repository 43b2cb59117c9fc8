/* SPDX-License-Identifier: MIT */
#include "base/slab_class.h"

#include <assert.h>

#define PAGE_BYTES 4096u

/* Sizes above `above_bytes`, up to the next band's, are 1 << shift bytes
 * apart. */
typedef struct band {
  uint32_t above_bytes;
  uint16_t shift;
  uint16_t first_class;
} band;

static const band bands[] = {
    {0, 4, 0},       {1024, 5, 64},
    {2048, 6, 96},   {8192, 7, 192},
    {16384, 9, 256}, {KIN__CELL_MAX_BYTES, 0, KIN__SLAB_CLASSES},
};

uint32_t kin__slab_class_of(uint32_t size) {
  assert(size > 0 && size <= KIN__CELL_MAX_BYTES);
  const band *b = bands;
  while (size > b[1].above_bytes) {
    b++;
  }
  return b->first_class + ((size - b->above_bytes - 1) >> b->shift);
}

static const band *band_of(uint32_t class_index) {
  assert(class_index < KIN__SLAB_CLASSES);
  const band *b = bands;
  while (class_index >= b[1].first_class) {
    b++;
  }
  return b;
}

uint32_t kin__slab_class_cell_bytes(uint32_t class_index) {
  const band *b = band_of(class_index);
  return b->above_bytes + ((class_index - b->first_class + 1) << b->shift);
}

uint32_t kin__slab_class_region_bytes(uint32_t class_index) {
  uint32_t cells = PAGE_BYTES >> band_of(class_index)->shift;
  uint32_t bytes = cells * kin__slab_class_cell_bytes(class_index);
  while (bytes < KIN__REGION_MIN_BYTES) {
    bytes *= 2;
  }
  return bytes;
}
