/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_CLASS_H
#define KIN_BASE_SLAB_CLASS_H

#include <stdint.h>

/* The sizes of cells, and of what they are cut from.
 *
 * A region of memory has cells of one class, in KIN__REGION_SLABS slabs. Sizes
 * of cells are 16 bytes apart up to 1 KiB, 64 bytes between 2 and 8 KiB, where
 * most objects are, and 128 bytes up to 16 KiB. The number of cells in a region
 * is a multiple of 4,096 / distance: then a region is a whole number of pages of
 * 4 KiB, and no byte is left behind the last cell. */

#define KIN__CELL_MAX_BYTES (64u << 10)
#define KIN__SLAB_CLASSES 352u
#define KIN__REGION_SLABS 8u
#define KIN__REGION_MIN_BYTES (128u << 10)
#define KIN__REGION_MAX_BYTES (512u << 10)

/* `size` is from 1 to KIN__CELL_MAX_BYTES. */
uint32_t kin__slab_class_of(uint32_t size);
/* The size of the class's cells: the largest one that is of the class. */
uint32_t kin__slab_class_cell_bytes(uint32_t class_index);
/* From KIN__REGION_MIN_BYTES to KIN__REGION_MAX_BYTES; KIN__REGION_SLABS times a
 * number of cells. */
uint32_t kin__slab_class_region_bytes(uint32_t class_index);

#endif /* KIN_BASE_SLAB_CLASS_H */
