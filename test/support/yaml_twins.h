/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_YAML_TWINS_H
#define KIN_TEST_YAML_TWINS_H

#include <kin/str.h>

#include "base/buf.h"

/* Reads a text twice with libyaml, as it is and as config/yaml_mask.h masks it,
 * and holds every event of one reading against the other: type, style, place,
 * anchor, tag, and the value that is read back from the text. A text must be
 * refused in both, for the same reason and at the same line.
 *
 * The text of a tag is compared only if kin__yaml_parse gives the tag a meaning:
 * the rest of a text with another tag is not compared, because it is refused.
 *
 * Returns NULL, or the first difference; static. */
const char *yaml_twins_difference(kin_str text);

/* Appends a piece of YAML for each byte: indicators, escapes, tags, anchors,
 * line ends and words that meet in every order, mostly not in a valid one. */
int yaml_twins_compose(kin__buf *out, const unsigned char *choices,
                       size_t count);

#endif /* KIN_TEST_YAML_TWINS_H */
