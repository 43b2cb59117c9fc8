/* SPDX-License-Identifier: MIT */
#ifndef KIN_FIELDS_H
#define KIN_FIELDS_H

/** @file
 * Many values of an object in one pass. */

#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/** JSON Pointers, compiled once. Immutable: may be used on any thread. */
typedef struct kin_fields kin_fields;

/** Compiles `count` pointers (RFC 6901), which are copied. The same pointer may
 * be there twice. `allocator` may be NULL.
 * Errors: KIN_EINVAL (no pointer or over 256; a malformed pointer, or one of
 * over 64 tokens), KIN_ENOMEM. */
KIN_EXTERN int kin_fields_new(kin_fields **out, const kin_allocator *allocator,
                              const char *const *pointers, size_t count);

/** Frees them. NULL is allowed. */
KIN_EXTERN void kin_fields_free(kin_fields *fields);

/** Reads all fields: values[i] becomes what kin_object_at would return for
 * pointer i; a token of over 512 bytes that contains a `~` is read, too.
 * `values` has room for as many values as there are pointers. The
 * object's text is read once, from its beginning, and only until all fields are
 * found; what no pointer names is skipped. Allocates nothing.
 * Errors: KIN_EJSON (the text is malformed; the fields that were not found
 * before have this error), KIN_ENOMEM (compact objects only; of all fields).
 * Cost: O(bytes of the object before the end of the last field). */
KIN_EXTERN int kin_fields_read(const kin_fields *fields,
                               const kin_object *object, kin_value *values);

/** The same for a value, such as an element of an array. An error of the value
 * is returned, and becomes the error of all fields.
 * Cost: O(bytes of the value before the end of the last field). */
KIN_EXTERN int kin_fields_read_value(const kin_fields *fields, kin_value value,
                                     kin_value *values);

#ifdef __cplusplus
}
#endif

#endif /* KIN_FIELDS_H */
