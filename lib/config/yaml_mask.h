/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_YAML_MASK_H
#define KIN_CONFIG_YAML_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* Keeps tokens, keys and passwords away from libyaml, which leaves copies of a
 * long scalar in memory that it frees: its buffer grows, and its allocator
 * cannot be replaced.
 *
 * libyaml reads a copy of the text. A run of characters that mean nothing in
 * YAML, such as base64, is a mark in the copy: its place in the text, and its
 * length. The marks in a scalar become the runs again. Lines stay the same,
 * columns do not. A run that is shorter than a mark stays as it is. */

typedef struct kin__yaml_mask {
  const kin_allocator *allocator;
  kin_str source; /* borrowed */
  char *copy;     /* source.length bytes */
  size_t length;  /* of the masked text in `copy` */
  bool has_marks;
} kin__yaml_mask;

/* Without marks, if the text itself may have one, or is over 16 MiB. Errors:
 * KIN_ENOMEM. */
int kin__yaml_mask_init(kin__yaml_mask *mask, const kin_allocator *allocator,
                        kin_str source);
/* Wipes and frees the copy. */
void kin__yaml_mask_finish(kin__yaml_mask *mask);

/* The bytes of a scalar with its runs; writes them to `to` unless it is
 * NULL. */
size_t kin__yaml_unmask(const kin__yaml_mask *mask, kin_str scalar, char *to);

#endif /* KIN_CONFIG_YAML_MASK_H */
