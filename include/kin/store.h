/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_H
#define KIN_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_builder.h>
#include <kin/object_list.h>
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
 * one's own write early. What is removed and put in again while a list is being
 * applied is taken for what the list did not mention, and removed. */
typedef struct kin_store kin_store;

typedef struct kin_store_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */
  /* What is kept of each object that is put in. If it fails, the call does, and
   * nothing has changed. NULL: the object as it is. */
  kin_transform_cb transform;
  void *data; /* passed to transform */
} kin_store_options;
#define KIN_STORE_OPTIONS_INIT                                                 \
  { sizeof(kin_store_options), NULL, NULL, NULL }

/* Makes an empty store. `options` are copied; NULL means the defaults.
 * Errors: KIN_EINVAL, KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int kin_store_new(kin_store **out, const kin_store_options *options);

/* Frees a store made by kin_store_new and drops its objects. NULL is allowed.
 * Not for an informer's store. Cost: O(objects). */
KIN_EXTERN void kin_store_free(kin_store *store);

/* Adds the object, or what the store's transform makes of it, or replaces the
 * one with its key; the store takes a reference of its own (Add and Update are
 * the same). The store's version becomes the object's.
 * Errors: KIN_EINVAL (NULL), KIN_EKEY (a slash in name or namespace),
 * KIN_ENOMEM, KIN_EINDEX (an index callback failed), those of the transform
 * (see kin_object_transform); KIN_EALREADY (called by the transform or by an
 * index callback); the store and its indices are then unchanged.
 * Cost: O(index values). */
KIN_EXTERN int kin_store_put(kin_store *store, const kin_object *object);

/* Removes the object with that key. The store's version stays.
 * Errors: KIN_ENOENT (no change), KIN_EALREADY (called by an index
 * callback). */
KIN_EXTERN int kin_store_delete(kin_store *store, kin_str key);

/* Removes the object with the key of `object`, if there is one, and takes the
 * version of `object` over in any case: that of a delete event says how far the
 * store has come. Errors: KIN_EINVAL (NULL), KIN_ENOMEM, KIN_EALREADY (called
 * by an index callback). */
KIN_EXTERN int kin_store_delete_object(kin_store *store,
                                       const kin_object *object);

/* Makes these objects, each put as by kin_store_put, the whole content, and
 * `version` the store's version. All or nothing: on an error nothing has
 * changed. Of several with one key the last counts. An object whose key stays
 * keeps its place in a running scan.
 * Errors: those of kin_store_put; KIN_EINVAL also for an informer's store,
 * whose content comes from the server. Cost: O(old + new objects) at once, and
 * for as long as it lasts memory for both. */
KIN_EXTERN int kin_store_replace(kin_store *store,
                                 const kin_object *const *objects, size_t count,
                                 kin_str version);

typedef enum kin_store_op_type {
  KIN_STORE_PUT = 1,
  KIN_STORE_DELETE
} kin_store_op_type;

/* One operation of a transaction. */
typedef struct kin_store_op {
  kin_store_op_type type;
  const kin_object *object; /* put: required. delete: the key and version are
                             * its, or NULL: `key` says what */
  kin_str key;              /* delete without an object */
  int error;                /* set by kin_store_transact */
} kin_store_op;

/* Carries out the operations in order, with no callback in between but index
 * functions. One that fails is skipped, and its `error` says why; all others,
 * whose `error` is 0, are applied. The store's version becomes that of the last
 * applied operation's object, if that one has an object. Objects are stored as
 * they are: the transform is not called. Deleting an absent key is no failure.
 * *failed, unless NULL, gets the number of failures.
 * Returns 0 if all were applied, else the first failure: KIN_EINVAL (type, or
 * put of NULL), KIN_EKEY (see kin_store_put; delete of a malformed key),
 * KIN_EINDEX, KIN_ENOMEM, KIN_EALREADY. Cost: the sum of the operations'. */
KIN_EXTERN int kin_store_transact(kin_store *store, kin_store_op *ops,
                                  size_t count, size_t *failed);

/* How far the store has come: the version last set, verbatim, so it can also go
 * backwards; "" for a new store. Borrowed until it is set again. An informer's
 * store has none, since each of its scopes has one of its own, see
 * kin_informer_get_status; writing to it sets none. */
KIN_EXTERN kin_str kin_store_resource_version(const kin_store *store);

/* Sets the version, as the bookmark of a watch does. On an informer's store it
 * does nothing. Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_store_bookmark(kin_store *store, kin_str version);

/* The version as a number for a gauge that whoever collects metrics reads: its
 * last 15 digits, which a double can hold; 0 for "". Returns false, and leaves
 * *value alone, if it is no number. */
KIN_EXTERN bool kin_store_version_gauge(const kin_store *store, double *value);

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

/* All objects, in no particular order: a copy of the content that stays as it
 * is. A scan needs no memory and can stop anywhere; their keys are
 * kin_object_key of each. Free it with kin_object_list_free.
 * Errors: KIN_ENOMEM. Cost: O(objects). */
KIN_EXTERN int kin_store_list(const kin_store *store, kin_object_list **out);

/* An index function: calls emit once for each value of the object, also not at
 * all. Values are bytes and are copied. Pure: may call kin_object_* only, and
 * must give the same values for the same object; changing the store from here
 * is refused with KIN_EALREADY. A non-zero result means that the object cannot
 * be indexed: a store that is used alone refuses the object
 * (KIN_EINDEX), an informer's keeps it without values in that index. */
typedef struct kin_index_values kin_index_values;
typedef int (*kin_index_cb)(const kin_object *object, kin_index_values *values,
                            void *data);

/* Called by an index function for each value; values that are emitted twice
 * count once. Errors: KIN_ENOMEM, KIN_ETOOBIG (over 64 KiB); the index function
 * should return them, and fails even if it does not. */
KIN_EXTERN int kin_index_emit(kin_index_values *values, kin_str value);

/* How an index gets its values: by a JSON Pointer of at most 64 tokens or by a
 * callback. A pointer names a string, a number or a boolean (their JSON text is
 * the value); `*` as a whole reference token means every element of an array or
 * member of an object: "/spec/nodeName", "/metadata/labels/app",
 * "/spec/containers/" "*" "/image". An object where nothing is found has no
 * value in the index, and a string over 64 KiB is none. "/metadata/namespace",
 * "/metadata/name", "/metadata/uid" and single labels need no parsing; any
 * other pointer costs O(object) for each put, once for all of them. */
typedef struct kin_index_options {
  size_t size;
  const char *name;    /* required, unique in the store */
  const char *pointer; /* either this ... */
  kin_index_cb cb;     /* ... or this */
  void *data;
} kin_index_options;
#define KIN_INDEX_OPTIONS_INIT                                                 \
  { sizeof(kin_index_options), NULL, NULL, NULL, NULL }

/* Adds an index; objects already in the store are indexed.
 * A store that is used alone indexes them before this returns, in O(objects);
 * an informer's store does it in bounded steps of later loop iterations, and
 * look-ups answer with what has been indexed so far until
 * kin_store_index_ready.
 * Errors: KIN_EINVAL (name, pointer or options), KIN_ENOTSUP (options of a
 * newer version), KIN_EEXIST (name in use), KIN_EINDEX, KIN_ENOMEM,
 * KIN_EALREADY (called by an index callback); of an informer's store
 * KIN_ECLOSED (it is closing), KIN_EALREADY (it was started,
 * and has the option fixed_indices). Nothing is added then. */
KIN_EXTERN int kin_store_add_index(kin_store *store,
                                   const kin_index_options *options);

/* Whether the index exists and covers all objects. */
KIN_EXTERN bool kin_store_index_ready(const kin_store *store, const char *name);

/* Scans the names of the indices, in the order in which they were added: begin
 * with a zero-initialized cursor. NULL at the end; else borrowed until the
 * store's next kin_store_replace. */
KIN_EXTERN const char *kin_store_next_index(const kin_store *store,
                                            kin_cursor *cursor);

/* A scan over the objects that have one value in one index, in no particular
 * order. It must not be continued after the store has changed. */
typedef struct kin_index_cursor {
  uint32_t posting;
  uint32_t index;
} kin_index_cursor;

/* Begins a scan. Errors: KIN_ENOENT (no index of that name). A value nobody has
 * is no error: the scan is empty. */
KIN_EXTERN int kin_store_by_index(const kin_store *store, const char *name,
                                  kin_str value, kin_index_cursor *cursor);

/* Returns the next object, borrowed until the store changes, or NULL. */
KIN_EXTERN const kin_object *kin_store_by_index_next(const kin_store *store,
                                                     kin_index_cursor *cursor);

/* The objects that have one value in one index, by key in ascending order
 * (IndexKeys). Free the list with kin_object_list_free.
 * Errors: KIN_ENOENT (no index of that name), KIN_ENOMEM.
 * Cost: O(n log n) for n objects found. */
KIN_EXTERN int kin_store_list_by_index(const kin_store *store, const char *name,
                                       kin_str value, kin_object_list **out);

/* The objects that share a value with `object`, which need not be in the store,
 * in one index: each once, by key in ascending order (Index).
 * Errors: those of kin_store_list_by_index, KIN_EINVAL (NULL), KIN_EINDEX. */
KIN_EXTERN int kin_store_list_like(const kin_store *store, const char *name,
                                   const kin_object *object,
                                   kin_object_list **out);

/* Number of objects with that value; 0 if the index does not exist. */
KIN_EXTERN size_t kin_store_index_count(const kin_store *store,
                                        const char *name, kin_str value);

/* Scans the distinct values of an index, in no particular order: begin with a
 * zero-initialized cursor, which may be paused like one of kin_store_next.
 * Returns false at the end, or if the index does not exist; else *value is
 * borrowed until the store changes. */
KIN_EXTERN bool kin_store_index_next_value(const kin_store *store,
                                           const char *name, kin_cursor *cursor,
                                           kin_str *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_STORE_H */
