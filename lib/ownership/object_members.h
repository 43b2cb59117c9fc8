/* SPDX-License-Identifier: MIT */
#ifndef KIN_OWNERSHIP_OBJECT_MEMBERS_H
#define KIN_OWNERSHIP_OBJECT_MEMBERS_H

#include <stdbool.h>

#include <kin/object.h>

/* The value of a member of an object's text; "" if it is absent or null. Of
 * several members of one name the last counts, as for the server. */
kin_str kin__text_member(kin_str text, kin_str name);
/* The same of the object's metadata. */
kin_str kin__metadata_member(const kin_object *object, kin_str name);

/* Whether a value is a string that spells `plain`. */
bool kin__text_is_string(kin_str value, kin_str plain);
/* The bytes between the quotes; "" if the value is no string. */
kin_str kin__text_raw_string(kin_str value);

#endif /* KIN_OWNERSHIP_OBJECT_MEMBERS_H */
