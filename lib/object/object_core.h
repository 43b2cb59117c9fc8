/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_OBJECT_CORE_H
#define KIN_OBJECT_OBJECT_CORE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "object/object.h"

/* Shared by object.c, which has the layout, and packed.c, whose objects have a
 * packed body. */

struct kin_object {
  struct kin__slab *slab; /* a kin__cell's; its owner is the kin__memory */
  atomic_uint refs;
  uint32_t flags;
  uint32_t body_offset;
  uint32_t body_length;
  uint32_t uid_offset;
  uint32_t version_offset;
  uint32_t labels_offset;
  uint32_t labels_length;
  uint16_t namespace_length;
  uint16_t name_length;
  uint16_t uid_length;
  uint16_t version_length;
  char bytes[];
};

/* Bits of kin_object.flags. From KIN__STRIPPED on a mask, and from KIN__TRIED on
 * the number of a dictionary. */
enum {
  KIN__LABELS_ARE_RECORDS = 1,
  KIN__KEY_ONLY = 2,
  KIN__PACKED = 4,           /* the body is a packed_body */
  KIN__LABELS_ARE_CODES = 8, /* see kin__dictionary_label */
  KIN__HALVES = 16,          /* the body is of kin__halves_pack */
  KIN__BINARY = 32,          /* the body is of kin__binary_pack */
  KIN__STRIPPED = 64,  /* the lowest bit of what the text is packed without, see
                       * strip.h */
  KIN__TRIED = 1 << 24 /* of a plain object: see kin__packed_note_tried */
};

#endif /* KIN_OBJECT_OBJECT_CORE_H */
