/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_KEY_H
#define KIN_OBJECT_KEY_H

#include <kin/object.h>

/* Whether the object's key can be split into namespace and name again: the name
 * is not empty, and neither has a slash. Errors: KIN_EINVAL (NULL), KIN_EKEY. */
int kin__object_check_key(const kin_object *object);

#endif /* KIN_OBJECT_KEY_H */
