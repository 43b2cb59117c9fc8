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
 * libyaml reads a copy of the text, in which another character of the same
 * class and length stands for each letter, digit and non-ASCII character, and
 * for punctuation that follows one of them and means nothing there. So the copy
 * has the events of the text, and each of them is at the same place: a scalar's
 * characters are read from the text, from the place of its event on.
 *
 * Some characters stay, because they have a meaning in YAML: spaces and
 * `#,:?[]{}"'\`; other punctuation at the beginning of a word; the letter after
 * a backslash; a digit after `|` or `>`; tags of YAML's core (`!!str`), and
 * `%YAML` with a version. Digits of an escape that libyaml refuses stay, too.
 */

typedef struct kin__yaml_mask {
  const kin_allocator *allocator;
  kin_str source; /* borrowed */
  char *copy;     /* source.length bytes */
  bool has_marks;
  size_t tag_lines; /* that begin with %TAG, or seem to */
  size_t index;     /* of a character, as libyaml counts them */
  size_t place;     /* the byte of that character */
} kin__yaml_mask;

/* The copy is the text itself if that is UTF-16, or a line begins with %TAG.
 * Errors: KIN_ENOMEM. */
int kin__yaml_mask_init(kin__yaml_mask *mask, const kin_allocator *allocator,
                        kin_str source);
/* Wipes and frees the copy. */
void kin__yaml_mask_finish(kin__yaml_mask *mask);

/* Goes to where an event begins; `index` never falls. Cost: O(n) for all events
 * of a text together. */
void kin__yaml_mask_go_to(kin__yaml_mask *mask, size_t index);

/* Whether the tag of the event here has an escape (`!a%41`). libyaml decodes
 * the digits that stand for its digits, so that tag is another one. */
bool kin__yaml_has_tag_escape(const kin__yaml_mask *mask);

/* The bytes of the scalar of the event here; writes them to `to` unless it is
 * NULL. `is_double` for a scalar in double quotes. */
size_t kin__yaml_unmask(const kin__yaml_mask *mask, kin_str scalar,
                        bool is_double, char *to);

/* The name of the anchor or alias of the event here; a part of the source. */
kin_str kin__yaml_unmask_name(const kin__yaml_mask *mask, kin_str name);

#endif /* KIN_CONFIG_YAML_MASK_H */
