/* SPDX-License-Identifier: MIT */
#ifndef KIN_KEY_H
#define KIN_KEY_H

/** @file
 * Keys of objects. */

#include <stddef.h>

#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of an object: "namespace/name", or "name" for an object without a
 * namespace. Nothing is escaped, so neither part can contain a slash.
 * kin_object_key is the key of an object, also of a deleted one: a delete
 * always comes with an object. These functions are for keys without objects,
 * such as those in a work queue.
 *
 * Making and splitting are each other's inverse: kin_key_split accepts exactly
 * what kin_key_make writes. client-go's split also accepts "", "/name" and
 * "namespace/"; from the parts of "/name" it makes "name", the key of another
 * object. */

/** Room, with a NUL, for every key that an API server allows: a namespace of 63
 * bytes, a slash, a name of 253. */
#define KIN_KEY_SIZE 318

/** Writes the key of `namespace_` (may be empty) and `name`, and a NUL, to
 * `to`. `to` has room for `size` bytes and must not overlap the two. *key,
 * unless `key` is NULL, gets the written bytes without the NUL.
 * Errors: KIN_EKEY (empty name, or a slash in either), KIN_ETOOBIG (no room);
 * nothing is written then. */
KIN_EXTERN int kin_key_make(char *to, size_t size, kin_str namespace_,
                            kin_str name, kin_str *key);

/** Splits a key into slices of `key`; *namespace_ is empty if there is none.
 * Either pointer may be NULL.
 * Errors: KIN_EKEY (empty, an empty part, or more than one slash); *namespace_
 * and *name are left alone then. */
KIN_EXTERN int kin_key_split(kin_str key, kin_str *namespace_, kin_str *name);

#ifdef __cplusplus
}
#endif

#endif /* KIN_KEY_H */
