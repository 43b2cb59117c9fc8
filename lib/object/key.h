/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_KEY_H
#define KIN_OBJECT_KEY_H

#include <stdbool.h>

#include <kin/str.h>

/* Whether a namespace, which may be empty, and a name make a key that can be
 * split into them again: the name is not empty, and neither has a slash. */
bool kin__key_parts_are_valid(kin_str namespace_, kin_str name);

#endif /* KIN_OBJECT_KEY_H */
