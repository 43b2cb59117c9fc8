/* SPDX-License-Identifier: MIT */
#ifndef KIN_KEY_H
#define KIN_KEY_H

#include <stddef.h>

#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of an object: "namespace/name", or "name" for one without a
 * namespace. Nothing is escaped, so neither part can contain a slash. The key
 * of an object in hand is kin_object_key, also of one that was deleted: a
 * delete always comes with an object. These functions are for the keys of
 * objects that are not at hand, as a work queue holds them.
 *
 * Making and splitting are each other's inverse: what one takes is exactly what
 * the other gives. client-go's are not; it takes "", "/name" and "namespace/",
 * and gives for the second a key that finds nothing. */

/* Room, with a NUL, for every key that an API server allows: a namespace of 63
 * bytes, a slash, a name of 253. */
#define KIN_KEY_SIZE 318

/* Writes the key of `namespace_` (may be empty) and `name` and a NUL to `to`,
 * which has room for `size` bytes and may not overlap them. *key, unless NULL,
 * gets the written bytes without the NUL.
 * Errors: KIN_EKEY (empty name, or a slash in either), KIN_ETOOBIG (no room);
 * nothing is written then. */
KIN_EXTERN int kin_key_make(char *to, size_t size, kin_str namespace_,
                            kin_str name, kin_str *key);

/* Takes a key apart: slices of `key`, *namespace_ empty if there is none.
 * Either may be NULL. Errors: KIN_EKEY (empty, an empty part, or more than one
 * slash); *namespace_ and *name are left alone. */
KIN_EXTERN int kin_key_split(kin_str key, kin_str *namespace_, kin_str *name);

#ifdef __cplusplus
}
#endif

#endif /* KIN_KEY_H */
