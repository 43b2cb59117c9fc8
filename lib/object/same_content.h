/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_SAME_CONTENT_H
#define KIN_OBJECT_SAME_CONTENT_H

#include <stdbool.h>

#include <kin/object.h>

/* Whether both are the object of one uid in one version, with their bodies or
 * without. Either may be packed. An object without uid or version is not. */
bool kin__object_is_same_state(const kin_object *a, const kin_object *b);

/* The following answer false if memory runs out for an inflated text. */

/* Whether the stored texts are the same bytes. O(bytes). */
bool kin__object_has_same_text(const kin_object *a, const kin_object *b);

/* Whether the stored texts of two states of an object are the same bytes but
 * for metadata.resourceVersion. Objects of which only the key is stored are not
 * known to be equal. O(bytes). */
bool kin__object_has_same_content(const kin_object *a, const kin_object *b);

#endif /* KIN_OBJECT_SAME_CONTENT_H */
