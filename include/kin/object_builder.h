/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BUILDER_H
#define KIN_OBJECT_BUILDER_H

/** @file
 * Making and changing objects, and transforms. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes an object from another one, or from nothing, by edits of its JSON. The
 * text is never parsed as a whole: an edit splits only what lies on the way to
 * its place, and the rest is copied as it is. Besides the new text, it takes
 * about 100 bytes of memory for each value that it changes.
 *
 * Places are JSON Pointers (RFC 6901) of at most 64 tokens, such as
 * "/metadata/labels/app"; `*` as a whole token means every member of an object
 * or element of an array: "/spec/containers/" "*" "/env". Edits take effect in
 * the order of the calls.
 *
 * Errors stick: every later call and kin_object_builder_finish return the first
 * one, so a program need check only the last call. Besides those that a
 * function names: KIN_EINVAL (malformed pointer), KIN_EJSON (the text of `from`
 * is not JSON there), KIN_ETOOBIG (over 4,096 edits, or the object over 1 GiB),
 * KIN_ENOMEM.
 *
 * A builder belongs to one thread at a time. */
typedef struct kin_object_builder kin_object_builder;

/** Begins with the content of `from`, of which the builder keeps a reference,
 * or with `{}` if it is NULL. An object made from one with its key only has its
 * key only (kin_object_is_key_only). `allocator` may be NULL.
 * Errors: KIN_ENOMEM; *out is NULL then. Cost: O(1). */
KIN_EXTERN int kin_object_builder_new(kin_object_builder **out,
                                      const kin_allocator *allocator,
                                      const kin_object *from);

/** Makes the object and ends the builder, also on an error. On success *out is
 * a new reference, to `from` itself if no edit has changed anything; else NULL.
 * Errors: the first edit's, KIN_EKEY (no metadata.name, or a name, namespace,
 * uid or resourceVersion of over 65,535 bytes), KIN_ETYPE (the root is no
 * object), KIN_EINVAL (NULL, or the builder is a transform's).
 * Cost: O(bytes of the object). */
KIN_EXTERN int kin_object_builder_finish(kin_object_builder *builder,
                                         kin_object **out);

/** Ends a builder without making an object. NULL is allowed; a transform's
 * builder is left alone. */
KIN_EXTERN void kin_object_builder_free(kin_object_builder *builder);

/** Removes what the pointer names; nothing there is no error. A name that
 * occurs several times in one object is removed each time. The whole ("")
 * cannot be removed (KIN_EINVAL). Cost: O(bytes). */
KIN_EXTERN int kin_object_builder_remove(kin_object_builder *builder,
                                         const char *pointer);

/** Removes all but what these pointers (at most 1,024) name. apiVersion, kind
 * and metadata's name, namespace, uid, resourceVersion and labels always stay,
 * as with kin_informer_options.fields. Objects and arrays on the way to a place
 * stay, even if empty. Errors: KIN_EINVAL (NULL). Cost: O(bytes). */
KIN_EXTERN int kin_object_builder_keep(kin_object_builder *builder,
                                       const char *const *pointers,
                                       size_t count);

/** Sets the value at the pointer. A member is replaced or added; objects on the
 * way that are missing or null are made. An array's element is replaced, or
 * added at "-" or at the array's length. Places that a `*` does not find are
 * not made. "" is the whole: the new text must be an object, and replaces all.
 * `json` is copied and must be one JSON value, of at most 10,000 levels
 * together with those above it.
 * Errors: KIN_EINVAL (also NULL), KIN_EJSON, KIN_ETRUNCATED, KIN_EDEPTH,
 * KIN_ETYPE (a value on the way is neither object nor array, or a name was
 * given for an element), KIN_ENOENT (beyond an array's end).
 * Cost: O(bytes), those of `json` included. */
KIN_EXTERN int kin_object_builder_set_json(kin_object_builder *builder,
                                           const char *pointer,
                                           const char *json, size_t length);

/** The same for a string, NUL-terminated or not, which must be UTF-8 (else
 * KIN_EINVAL), for an integer, and for a boolean. */
KIN_EXTERN int kin_object_builder_set_string(kin_object_builder *builder,
                                             const char *pointer,
                                             const char *value);
KIN_EXTERN int kin_object_builder_set_str(kin_object_builder *builder,
                                          const char *pointer, kin_str value);
KIN_EXTERN int kin_object_builder_set_int(kin_object_builder *builder,
                                          const char *pointer, int64_t value);
KIN_EXTERN int kin_object_builder_set_bool(kin_object_builder *builder,
                                           const char *pointer, bool value);

/** A transform: makes what a store, a queue or an informer keeps instead of an
 * object that it is given. `out` is a builder that begins with `in`. Parts that
 * the callback does not touch stay. If the callback changes nothing, `in`
 * itself is kept, without a copy.
 *
 * The result keeps the key, uid and resourceVersion. An edit that sets or
 * removes metadata's name, namespace, uid or resourceVersion is KIN_EINVAL.
 * Where the callback sets metadata or the whole, those that the new text lacks
 * are put in, and those that it has must be the same. `out` is the caller's: do
 * not finish or free it, nor use it after the callback.
 *
 * An object of which only the key is known (kin_object_is_key_only) is kept as
 * it is; the callback is not called.
 *
 * Pure: may call kin_object_* only, and must do the same for the same object. A
 * result other than 0, or an edit that failed, means that the object cannot be
 * kept; the option that sets the transform says what follows. */
typedef int (*kin_transform_cb)(const kin_object *in, kin_object_builder *out,
                                void *data);

/** Runs a transform by itself, as a store does. Sets *out to a new reference:
 * to `object`, or to an object made from it with the same allocator.
 * Errors: a negative result of the callback, KIN_EINVAL for a positive one, the
 * first edit's, KIN_EINVAL (NULL), KIN_ENOMEM; *out is NULL then. */
KIN_EXTERN int kin_object_transform(const kin_object *object,
                                    kin_transform_cb transform, void *data,
                                    kin_object **out);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OBJECT_BUILDER_H */
