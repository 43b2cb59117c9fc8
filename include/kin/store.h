/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_H
#define KIN_STORE_H

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

/* Objects by key, with indices: client-go's Store and Indexer. Use one alone,
 * or read the one of an informer (kin_informer_store). It belongs to the
 * loop's thread and does not lock.
 *
 * Writing to an informer's own store is allowed and not undone: the next event
 * of that key overwrites it, and handlers are not told. It is wise only to show
 * one's own write early. */
typedef struct kin_store kin_store;

/* Makes an empty store. `allocator` may be NULL. Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_store_new(kin_store **out, const kin_allocator *allocator);

/* Frees a store made by kin_store_new and drops its objects. NULL is allowed.
 * Not for an informer's store. Cost: O(objects). */
KIN_EXTERN void kin_store_free(kin_store *store);

/* Adds the object or replaces the one with its key; the store takes a
 * reference of its own (TS-01: Add and Update are the same).
 * Errors: KIN_ENOMEM, KIN_EINDEX (an index callback failed); the store and its
 * indices are then unchanged. Cost: O(index values). */
KIN_EXTERN int kin_store_put(kin_store *store, const kin_object *object);

/* Removes the object with that key. Errors: KIN_ENOENT (TS-09: no change). */
KIN_EXTERN int kin_store_delete(kin_store *store, kin_str key);

/* The object with that key, borrowed until the store changes, or NULL. */
KIN_EXTERN const kin_object *kin_store_get(const kin_store *store, kin_str key);

/* The same for a NUL-terminated key. */
KIN_EXTERN const kin_object *kin_store_get_key(const kin_store *store,
                                               const char *key);

/* Number of objects. */
KIN_EXTERN size_t kin_store_count(const kin_store *store);

/* Sum of kin_object_memory over the stored objects. */
KIN_EXTERN uint64_t kin_store_bytes(const kin_store *store);

/* A place in a scan over all objects, in no particular order. Zero-initialize
 * it to begin. A scan may be paused for any time and the store may change
 * meanwhile: every object that stays in the store during the whole scan is met
 * exactly once. */
typedef struct kin_cursor {
  uint32_t next;
} kin_cursor;

/* Returns the next object, borrowed until the store changes, or NULL at the
 * end. A whole scan costs O(the most objects there have ever been). */
KIN_EXTERN const kin_object *kin_store_next(const kin_store *store,
                                            kin_cursor *cursor);

/* An index function: calls emit once for each value of the object, also not at
 * all. Values are bytes and are copied. Pure: may call kin_object_* only, and
 * must give the same values for the same object. A non-zero result means that
 * the object cannot be indexed. */
typedef struct kin_index_values kin_index_values;
typedef int (*kin_index_cb)(const kin_object *object, kin_index_values *values,
                            void *data);

/* Called by an index function for each value; values that are emitted twice
 * count once. Errors: KIN_ENOMEM, KIN_ETOOBIG (over 64 KiB); the index function
 * should return them, and fails even if it does not. */
KIN_EXTERN int kin_index_emit(kin_index_values *values, kin_str value);

/* How an index gets its values: by a JSON Pointer or by a callback. A pointer
 * names a string, a number or a boolean (their JSON text is the value); `*` as
 * a whole reference token means every element of an array or member of an
 * object: "/spec/nodeName", "/metadata/labels/app", "/spec/containers/" "*"
 * "/image". An object where nothing is found has no value in the index, and a
 * string over 64 KiB is none. "/metadata/namespace", "/metadata/name",
 * "/metadata/uid" and single labels need no parsing; any other pointer costs
 * O(object) for each put, once for all of them. */
typedef struct kin_index_options {
  size_t size;
  const char *name;    /* required, unique in the store */
  const char *pointer; /* either this ... */
  kin_index_cb cb;     /* ... or this */
  void *data;
} kin_index_options;
#define KIN_INDEX_OPTIONS_INIT                                                 \
  { sizeof(kin_index_options), NULL, NULL, NULL, NULL }

/* Adds an index; objects already in the store are indexed (TS-07).
 * A store that is used alone indexes them before this returns, in O(objects);
 * an informer's store does it in bounded steps of later loop iterations, and
 * look-ups answer with what has been indexed so far until
 * kin_store_index_ready.
 * Errors: KIN_EINVAL (name, pointer or options), KIN_ENOTSUP (options of a
 * newer version), KIN_EEXIST (name in use), KIN_EINDEX, KIN_ENOMEM; nothing is
 * added then. */
KIN_EXTERN int kin_store_add_index(kin_store *store,
                                   const kin_index_options *options);

/* Whether the index exists and covers all objects. */
KIN_EXTERN bool kin_store_index_ready(const kin_store *store, const char *name);

/* A scan over the objects that have one value in one index, in no particular
 * order. It must not be continued after the store has changed. */
typedef struct kin_index_cursor {
  uint32_t posting;
  uint32_t index;
} kin_index_cursor;

/* Begins a scan. Errors: KIN_ENOENT (no index of that name; TS-06). A value
 * nobody has is no error: the scan is empty. */
KIN_EXTERN int kin_store_by_index(const kin_store *store, const char *name,
                                  kin_str value, kin_index_cursor *cursor);

/* Returns the next object, borrowed until the store changes, or NULL. */
KIN_EXTERN const kin_object *kin_store_by_index_next(const kin_store *store,
                                                     kin_index_cursor *cursor);

/* Number of objects with that value; 0 if the index does not exist. */
KIN_EXTERN size_t kin_store_index_count(const kin_store *store,
                                        const char *name, kin_str value);

/* Scans the distinct values of an index, in no particular order: begin with a
 * zero-initialized cursor, which may be paused like one of kin_store_next.
 * Returns false at the end, or if the index does not exist (TS-06); else *value
 * is borrowed until the store changes. */
KIN_EXTERN bool kin_store_index_next_value(const kin_store *store,
                                           const char *name, kin_cursor *cursor,
                                           kin_str *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_STORE_H */
