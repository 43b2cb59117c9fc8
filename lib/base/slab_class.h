/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_CLASS_H
#define KIN_BASE_SLAB_CLASS_H

#include <stdint.h>

/* The sizes of cells, and of the slabs that they are cut from.
 *
 * Each slab has cells of one class. Sizes are 16 bytes apart up to 1 KiB, and
 * 128 bytes between 4 and 16 KiB, where most objects are. The number of cells
 * in a slab is a multiple of 4,096 / distance: then a slab is a whole number of
 * pages of 4 KiB, and no byte is left behind the last cell. */

#define KIN__CELL_MAX_BYTES (64u << 10)
#define KIN__SLAB_CLASSES 320u
#define KIN__SLAB_MIN_BYTES (128u << 10)
#define KIN__SLAB_MAX_BYTES (512u << 10)

/* `size` is from 1 to KIN__CELL_MAX_BYTES. */
uint32_t kin__slab_class_of(uint32_t size);
/* The size of the class's cells: the largest one that is of the class. */
uint32_t kin__slab_class_cell_bytes(uint32_t class_index);
/* From KIN__SLAB_MIN_BYTES to KIN__SLAB_MAX_BYTES. */
uint32_t kin__slab_class_slab_bytes(uint32_t class_index);

#endif /* KIN_BASE_SLAB_CLASS_H */
