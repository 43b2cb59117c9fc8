/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BUILDER_H
#define KIN_OBJECT_BUILDER_H

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

/* Makes an object out of another one, or of nothing, by edits of its JSON. The
 * text is never parsed as a whole: an edit splits only what lies on the way to
 * its place, and the rest is copied as it is.
 *
 * Places are JSON Pointers (RFC 6901) of at most 64 tokens, such as
 * "/metadata/labels/app"; `*` as a whole token means every member of an object
 * or element of an array: "/spec/containers/" "*" "/env". Edits take effect in
 * the order of the calls.
 *
 * Errors stick: the first one is returned by every later call and by
 * kin_object_builder_finish, so that only that one need be checked. Besides
 * those that a function names: KIN_EINVAL (malformed pointer), KIN_EJSON (the
 * text the object was made of is not JSON there), KIN_ETOOBIG (over 4,096
 * edits, or the object over 1 GiB), KIN_ENOMEM.
 *
 * A builder belongs to one thread at a time. */
typedef struct kin_object_builder kin_object_builder;

/* Begins with the content of `from`, which is kept as long as the builder, or
 * with `{}` if it is NULL. What is made of an object with its key only has its
 * key only (kin_object_is_key_only). `allocator` may be NULL.
 * Errors: KIN_ENOMEM; *out is NULL then. Cost: O(1). */
KIN_EXTERN int kin_object_builder_new(kin_object_builder **out,
                                      const kin_allocator *allocator,
                                      const kin_object *from);

/* Makes the object and ends the builder, also on an error. On success *out is a
 * new reference, to `from` itself if no edit has changed anything; else NULL.
 * Errors: the first edit's, KIN_EKEY (no metadata.name; or it, namespace, uid
 * or resourceVersion is over 65,535 bytes), KIN_ETYPE (the root is no object),
 * KIN_EINVAL (NULL, or the builder is a transform's).
 * Cost: O(bytes of the object). */
KIN_EXTERN int kin_object_builder_finish(kin_object_builder *builder,
                                         kin_object **out);

/* Ends a builder without making anything. NULL is allowed; a transform's is
 * left alone. */
KIN_EXTERN void kin_object_builder_free(kin_object_builder *builder);

/* Removes what the pointer names; nothing there is no error. A name that occurs
 * several times in one object is removed each time. The whole ("") cannot be
 * removed (KIN_EINVAL). Cost: O(bytes). */
KIN_EXTERN int kin_object_builder_remove(kin_object_builder *builder,
                                         const char *pointer);

/* Removes all but what these pointers (at most 1,024) name, besides what
 * kin_informer_options.fields always keeps: apiVersion, kind and metadata's
 * name, namespace, uid, resourceVersion and labels. Objects and arrays on the
 * way to a place stay, be they empty. Errors: KIN_EINVAL (NULL). */
KIN_EXTERN int kin_object_builder_keep(kin_object_builder *builder,
                                       const char *const *pointers,
                                       size_t count);

/* Puts a value there: a member is replaced or added, and objects on the way to
 * it that are missing or null are made; of an array's elements one is replaced,
 * or added at "-" or its length. What a `*` does not find is not made. "" is
 * the whole: the new text must be an object, and becomes it. `json` is copied
 * and must be one JSON value, of at most 10,000 levels together with those
 * above it. Errors: KIN_EINVAL (also NULL), KIN_EJSON, KIN_ETRUNCATED,
 * KIN_EDEPTH, KIN_ETYPE (something on the way is neither object nor array, or a
 * name was given for an element), KIN_ENOENT (beyond an array's end). */
KIN_EXTERN int kin_object_builder_set_json(kin_object_builder *builder,
                                           const char *pointer,
                                           const char *json, size_t length);

/* The same for a string, NUL-terminated or not, that is UTF-8 (else
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

/* A transform: what a store, a queue or an informer keeps instead of an object
 * that it is given. `out` is a builder that begins with `in`; what the callback
 * does not touch stays, and if it changes nothing, `in` itself is kept, without
 * a copy.
 *
 * The result keeps the key, uid and resourceVersion: an edit of metadata's
 * name, namespace, uid or resourceVersion, or that takes them away, is
 * KIN_EINVAL; where metadata or the whole is set, those that the new text lacks
 * are put in, and those that it has must be the same. `out` is the caller's:
 * neither to be finished nor freed, nor used after the callback.
 *
 * An object of which only the key is known (kin_object_is_key_only) is kept as
 * it is; the callback is not called.
 *
 * Pure: may call kin_object_* only, and must do the same for the same object. A
 * result other than 0, or an edit that failed, means that the object cannot be
 * kept; what comes of that is said where the transform is set. */
typedef int (*kin_transform_cb)(const kin_object *in, kin_object_builder *out,
                                void *data);

/* Runs a transform by itself, as a store does: sets *out to a new reference, be
 * it to `object` or to one made of it with the same allocator. Errors: a
 * negative result of the callback, KIN_EINVAL for a positive one, the first
 * edit's, KIN_EINVAL (NULL), KIN_ENOMEM; *out is NULL then. */
KIN_EXTERN int kin_object_transform(const kin_object *object,
                                    kin_transform_cb transform, void *data,
                                    kin_object **out);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OBJECT_BUILDER_H */
