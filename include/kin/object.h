/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_H
#define KIN_OBJECT_H

/** @file
 * Objects and views of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An API object as the server sent it: immutable and counted. Callbacks and
 * stores give borrowed objects; keep one with kin_object_ref. Objects may be
 * held, read and released on any thread and may outlive the client they came
 * from. For values of compact objects on other threads see kin_compact. Key,
 * uid, resourceVersion and labels are resident; everything else is read through
 * a view.
 *
 * Items of a list of built-in types carry no `kind` and `apiVersion`; the
 * library never adds them. */
typedef struct kin_object kin_object;

/** Makes an object from JSON text with at least `metadata.name`. The text is
 * copied as it is, without the white space around it; kind and apiVersion are
 * not required. `allocator` may be NULL. On success *out has one reference.
 * Errors: KIN_EJSON, KIN_ETRUNCATED, KIN_EDEPTH (over 10,000 levels), KIN_EKEY
 * (no metadata.name, or a name, namespace, uid or resourceVersion of over 65,535
 * bytes), KIN_ETOOBIG (over 1 GiB), KIN_ENOMEM.
 * The check of the text takes memory until the call returns: up to 16 times the
 * length, for an array of digits. Cost: O(length). */
KIN_EXTERN int kin_object_parse(kin_object **out,
                                const kin_allocator *allocator,
                                const char *json, size_t length);

/** Adds a reference and returns the same object. NULL gives NULL. */
KIN_EXTERN kin_object *kin_object_ref(const kin_object *object);

/** Drops a reference; dropping the last one frees the object. NULL is
 * allowed. */
KIN_EXTERN void kin_object_unref(const kin_object *object);

/** "namespace/name", or "name" for an object without a namespace.
 * NUL-terminated; lives as long as the object. */
KIN_EXTERN kin_str kin_object_key(const kin_object *object);

/** metadata.name. NUL-terminated. */
KIN_EXTERN kin_str kin_object_name(const kin_object *object);

/** metadata.namespace, empty for an object without a namespace. Not
 * NUL-terminated. */
KIN_EXTERN kin_str kin_object_namespace(const kin_object *object);

/** metadata.uid, empty if there is none. Not NUL-terminated. */
KIN_EXTERN kin_str kin_object_uid(const kin_object *object);

/** metadata.resourceVersion, empty if there is none. Not NUL-terminated.
 * Versions are opaque; compare them for equality. */
KIN_EXTERN kin_str kin_object_resource_version(const kin_object *object);

/** Looks a label up. Returns true and sets *value if metadata.labels has `key`
 * with a string. *value is not NUL-terminated and lives as long as the object;
 * `value` may be NULL.
 * Cost: O(bytes of the labels). */
KIN_EXTERN bool kin_object_label(const kin_object *object, const char *key,
                                 kin_str *value);

/** Returns whether only the key of the object was kept, because the object was
 * over a limit when it was received: kin_informer_options.max_object_bytes, or
 * 10,000 levels of nesting, which is the limit of a Kubernetes API server; or
 * because the informer drops bodies (KIN_MEMORY_DROP_BODIES). Key,
 * uid, resourceVersion and, up to 64 KiB of them, labels are right. The JSON
 * has only these, and apiVersion and kind if the server sent them. A program
 * that needs the rest has to get the object from the server. */
KIN_EXTERN bool kin_object_is_key_only(const kin_object *object);

/** Bytes of memory the object occupies, its header included. */
KIN_EXTERN size_t kin_object_memory(const kin_object *object);

/** Reads what is not resident. A view holds a reference to its object; all
 * pointers taken from the view live until it is closed. A view belongs to one
 * thread at a time. */
typedef struct kin_object_view kin_object_view;

/** Opens a view. Errors: KIN_ENOMEM; KIN_EUNEXPECTED (a compact object whose
 * memory was overwritten). Cost: O(1); a compact object (kin_compact) is
 * inflated first. */
KIN_EXTERN int kin_object_view_open(kin_object_view **out,
                                    const kin_object *object);

/** Ends a view and its pointers. NULL is allowed. */
KIN_EXTERN void kin_object_view_close(kin_object_view *view);

/** The object's JSON text, without the fields that were dropped when it was
 * stored (metadata.managedFields unless they are kept). Not NUL-terminated. */
KIN_EXTERN kin_str kin_object_view_json(const kin_object_view *view);

/** Reads one value by JSON Pointer (RFC 6901), such as "/spec/nodeName" or
 * "/metadata/annotations/example.com~1team". The first call parses the object.
 * Errors: KIN_ENOENT (nothing there, or null), KIN_ETYPE (something else is
 * there), KIN_EINVAL (malformed pointer), KIN_EJSON, KIN_ENOMEM. On an error
 * *value is left alone. */
KIN_EXTERN int kin_object_view_string(kin_object_view *view,
                                      const char *pointer, kin_str *value);
KIN_EXTERN int kin_object_view_int(kin_object_view *view, const char *pointer,
                                   int64_t *value);
KIN_EXTERN int kin_object_view_bool(kin_object_view *view, const char *pointer,
                                    bool *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OBJECT_H */
