/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_SAME_CONTENT_H
#define KIN_OBJECT_SAME_CONTENT_H

#include <stdbool.h>

#include <kin/object.h>

/* Whether the stored texts of two states of an object are the same bytes but
 * for metadata.resourceVersion. O(bytes). */
bool kin__object_has_same_content(const kin_object *a, const kin_object *b);

#endif /* KIN_OBJECT_SAME_CONTENT_H */
