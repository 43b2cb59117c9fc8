/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_H
#define KIN_STORE_H

/** @file
 * Stores: objects by key, with indices. */

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

/** Objects by key, with indices: client-go's Store and Indexer. A program may
 * use a store alone, or read an informer's (kin_informer_store). A store
 * belongs to the loop's thread and does not lock.
 *
 * Writing to an informer's own store is allowed: the next event of that key
 * overwrites the change. The only good reason is to show the program's own write
 * early. Put only the server's answer: other content under that uid and version
 * stays until the object changes. An object that is removed and put in again
 * while a list is being applied counts as missing in that list, and is removed.
 *
 * The object is stored as it is. Only of the objects that it receives does an
 * informer store less: by its transform, fields, drop_labels, metadata_only, and
 * without keep_managed_fields. So do the same to the answer before the put, or
 * else the rest is stored, too, until the object changes. For the transform:
 *
 *     kin_object *kept;
 *     int err = kin_object_transform(answer, transform, data, &kept);
 *     if (err == 0) {
 *       err = kin_store_put(kin_informer_store(informer), kept);
 *       kin_object_unref(kept);
 *     }
 *
 * For the other options, give kin_object_transform a transform that calls
 * kin_object_builder_keep or kin_object_builder_remove.
 *
 * Listeners, and all that is built on them, are told of such a write as of any
 * change: add, update, or delete with the reason KIN_DELETE_PROGRAM. No handler
 * is called before the write returns. The event of the same write, with the same
 * uid and version, is no change then, and no handler hears of it. An older event
 * that arrives in between is an update back to that state. An object that is
 * put with the uid and version that are stored is no update; but it is an add or
 * a delete for a listener whose filter answers otherwise than before. The next
 * update of that object has the put one as its old_object. So a handler may put
 * what it was given with other content, but a handler that puts another version
 * each time calls itself again and again. Each listener is told within the
 * write, which so costs more the more listeners there are.
 *
 * An object that the program puts before a list or an event tells of the object
 * belongs to the informer's namespace that the object is in, or to another one
 * if the informer does not have that namespace. So the next list of that
 * namespace that does not have the object, or the removal of the namespace,
 * deletes the object. */
typedef struct kin_store kin_store;

/** Options of kin_store_new. */
typedef struct kin_store_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */
  /** Makes what is stored of each object that is put in. If the transform
   * fails, the call fails and changes nothing. NULL: the object as it is. */
  kin_transform_cb transform;
  void *data; /**< passed to transform */
} kin_store_options;
/** Sets the size, and each member to its default. */
#define KIN_STORE_OPTIONS_INIT                                                 \
  { sizeof(kin_store_options), NULL, NULL, NULL }

/** Makes an empty store. `options` are copied; NULL means the defaults.
 * Errors: KIN_EINVAL, KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int kin_store_new(kin_store **out, const kin_store_options *options);

/** Frees a store made by kin_store_new and drops its objects. NULL is allowed.
 * Not for an informer's store. Cost: O(objects). */
KIN_EXTERN void kin_store_free(kin_store *store);

/** Adds the object, or replaces the object with the same key; client-go's Add
 * and Update. A store with a transform stores its result instead. The store
 * takes a reference of its own. The store's version becomes the object's.
 * Errors: KIN_EINVAL (NULL), KIN_EKEY (a slash in name or namespace),
 * KIN_ENOMEM, KIN_EINDEX (an index callback failed), those of the transform
 * (see kin_object_transform), KIN_EALREADY (called by the transform or by an
 * index callback), KIN_ECLOSED (of an informer that is closing). The store and
 * its indices are unchanged then.
 * Cost: O(index values). */
KIN_EXTERN int kin_store_put(kin_store *store, const kin_object *object);

/** Removes the object with that key. The store's version stays.
 * Errors: KIN_ENOENT, KIN_EALREADY (called by an index callback), KIN_ECLOSED
 * (of an informer that is closing), KIN_ENOMEM (an informer's store only: no
 * room to tell listeners). Nothing has changed then. */
KIN_EXTERN int kin_store_delete(kin_store *store, kin_str key);

/** Removes the object with the key of `object`, if there is one. The store's
 * version becomes that of `object` in any case, because the version of a delete
 * event says how far the store has come.
 * Errors: KIN_EINVAL (NULL), KIN_ENOMEM, KIN_EALREADY (called by an index
 * callback), KIN_ECLOSED (of an informer that is closing). */
KIN_EXTERN int kin_store_delete_object(kin_store *store,
                                       const kin_object *object);

/** Replaces the whole content by these objects, each put as by kin_store_put,
 * and sets the store's version to `version`. On an error nothing has changed.
 * Of several objects with one key the last counts. An object whose key stays
 * keeps its place in a running scan.
 * Errors: those of kin_store_put; KIN_EINVAL also for an informer's store,
 * whose content comes from the server.
 * Cost: O(old + new objects) at once, and memory for both until it returns. */
KIN_EXTERN int kin_store_replace(kin_store *store,
                                 const kin_object *const *objects, size_t count,
                                 kin_str version);

/** The types of operations. */
typedef enum kin_store_op_type {
  KIN_STORE_PUT = 1,
  KIN_STORE_DELETE
} kin_store_op_type;

/** One operation of a transaction. */
typedef struct kin_store_op {
  kin_store_op_type type; /**< put or delete */
  /** Put: required. delete: its key and version count; NULL: `key` counts. */
  const kin_object *object;
  kin_str key; /**< delete without an object */
  int error;   /**< set by kin_store_transact */
} kin_store_op;

/** Carries out the operations in order, with no callback in between but index
 * functions and, for an informer's store, filters. An operation that fails is
 * skipped, and its `error` says why; all others, whose `error` is 0, are
 * applied. The store's version becomes that of the last applied operation's
 * object, if that operation has an object. Objects are stored as they are: the
 * transform is not called. Deleting an absent key is no failure. *failed, unless
 * NULL, gets the number of failures.
 * Returns 0 if all were applied, else the first failure: KIN_EINVAL (type, or
 * put of NULL), KIN_EKEY (see kin_store_put; delete of a malformed key),
 * KIN_EINDEX, KIN_ENOMEM, KIN_EALREADY, KIN_ECLOSED (see kin_store_put).
 * Cost: the sum of the operations'. */
KIN_EXTERN int kin_store_transact(kin_store *store, kin_store_op *ops,
                                  size_t count, size_t *failed);

/** The store's version: the one last set, verbatim, so it can also go
 * backwards; "" for a new store. Borrowed until the next change of the version.
 * An informer's store has none, since each of its scopes has one of its own,
 * see kin_informer_get_status; writing to that store sets none. */
KIN_EXTERN kin_str kin_store_resource_version(const kin_store *store);

/** Sets the version, as the bookmark of a watch does. On an informer's store
 * this does nothing.
 * Errors: KIN_EINVAL (NULL), KIN_EALREADY (called by an index callback),
 * KIN_ENOMEM. */
KIN_EXTERN int kin_store_bookmark(kin_store *store, kin_str version);

/** The version as a number for a metrics gauge: its last 15 digits, which a
 * double can hold; 0 for "". Returns false, and leaves *value alone, if the
 * version is no number. */
KIN_EXTERN bool kin_store_version_gauge(const kin_store *store, double *value);

/** The object with that key, borrowed until the store changes, or NULL. */
KIN_EXTERN const kin_object *kin_store_get(const kin_store *store, kin_str key);

/** The same for a NUL-terminated key. */
KIN_EXTERN const kin_object *kin_store_get_key(const kin_store *store,
                                               const char *key);

/** Number of objects. */
KIN_EXTERN size_t kin_store_count(const kin_store *store);

/** Sum of kin_object_memory over the stored objects. */
KIN_EXTERN uint64_t kin_store_bytes(const kin_store *store);

/** A place in a scan over all objects, in no particular order. Zero-initialize
 * it to begin. A scan may be paused for any time and the store may change
 * meanwhile: the scan returns every object that stays in the store during the
 * whole scan exactly once. kin_controller_store names an exception. */
typedef struct kin_cursor {
  uint32_t next; /**< private */
} kin_cursor;

/** Returns the next object, borrowed until the store changes, or NULL at the
 * end.
 * Cost: a whole scan costs O(the most objects the store ever had). */
KIN_EXTERN const kin_object *kin_store_next(const kin_store *store,
                                            kin_cursor *cursor);

/** A list of all objects, in no particular order; later changes of the store do
 * not change the list. The keys are kin_object_key of each. Free the list with
 * kin_object_list_free. A scan (kin_store_next) needs no memory and can stop
 * anywhere.
 * Errors: KIN_ENOMEM. Cost: O(objects). */
KIN_EXTERN int kin_store_list(const kin_store *store, kin_object_list **out);

/** The values that an index function emits. */
typedef struct kin_index_values kin_index_values;

/** An index function: calls emit once for each value of the object, or not at
 * all. Values are bytes and are copied. Pure: may call kin_object_* only, and
 * must give the same values for the same object; changing the store from here
 * is KIN_EALREADY. KIN_ENOMEM makes an informer try again. Any other result but
 * 0 means that the object cannot be indexed: a store that is used alone refuses
 * it (KIN_EINDEX), an informer's keeps it without values in that index. */
typedef int (*kin_index_cb)(const kin_object *object, kin_index_values *values,
                            void *data);

/** Called by an index function for each value; values that are emitted twice
 * count once.
 * Errors: KIN_ENOMEM, KIN_ETOOBIG (over 64 KiB). The index function should
 * return them, and fails even if it does not. */
KIN_EXTERN int kin_index_emit(kin_index_values *values, kin_str value);

/** The source of an index's values: a JSON Pointer of at most 64 tokens or a
 * callback. A pointer names a string, a number or a boolean (their JSON text is
 * the value). `*` as a whole reference token means every element of an array or
 * member of an object: "/spec/nodeName", "/metadata/labels/app",
 * "/spec/containers/" "*" "/image". An object in which the pointer finds
 * nothing, or a string over 64 KiB, has no value in the index.
 *
 * "/metadata/namespace", "/metadata/name", "/metadata/uid" and single labels
 * need no parsing. All other pointers together cost O(object) for each put.
 *
 * The number of an object's values is not limited. A put or a deletion adds and
 * removes all that differ in one step, at 0.2 to 1.6 us for each, more if there
 * are many: an object with 30,000 short strings below a `*` keeps an informer's
 * loop for 5 to 15 ms, one of 16 MB for seconds. The writers of objects decide
 * how many values there are. */
typedef struct kin_index_options {
  size_t size;         /**< set by the INIT macro */
  const char *name;    /**< required, unique in the store */
  const char *pointer; /**< either this ... */
  kin_index_cb cb;     /**< ... or this */
  void *data;          /**< passed to cb */
} kin_index_options;
/** Sets the size, and each member to its default. */
#define KIN_INDEX_OPTIONS_INIT                                                 \
  { sizeof(kin_index_options), NULL, NULL, NULL, NULL }

/** Adds an index; objects already in the store are indexed. A store that is
 * used alone indexes them before this returns, in O(objects). An informer's
 * store indexes them in bounded steps of later loop iterations; until
 * kin_store_index_ready, look-ups find only what has been indexed so far.
 * Errors: KIN_EINVAL (name, pointer or options; of an informer's store,
 * kin_client_problem says which), KIN_ENOTSUP (options of a newer version),
 * KIN_EEXIST (name in use), KIN_EINDEX, KIN_ENOMEM, KIN_EALREADY (called by an
 * index callback). Of an informer's store also KIN_ECLOSED (the informer is
 * closing), KIN_EALREADY (the informer was started, and has the option
 * fixed_indices). No index is added then. */
KIN_EXTERN int kin_store_add_index(kin_store *store,
                                   const kin_index_options *options);

/** Returns whether the index exists and covers all objects. */
KIN_EXTERN bool kin_store_index_ready(const kin_store *store, const char *name);

/** Scans the names of the indices, in the order in which they were added: begin
 * with a zero-initialized cursor. Returns NULL at the end. A name is borrowed
 * until the store is freed, or its informer or controller is closed. */
KIN_EXTERN const char *kin_store_next_index(const kin_store *store,
                                            kin_cursor *cursor);

/** A scan over the objects that have one value in one index, in no particular
 * order. A scan must not be continued after the store has changed. */
typedef struct kin_index_cursor {
  uint32_t posting; /**< private */
  uint32_t index;   /**< private */
} kin_index_cursor;

/** Begins a scan. A value that no object has is no error: the scan is empty.
 * Errors: KIN_ENOENT (no index of that name). */
KIN_EXTERN int kin_store_by_index(const kin_store *store, const char *name,
                                  kin_str value, kin_index_cursor *cursor);

/** Returns the next object, borrowed until the store changes, or NULL. */
KIN_EXTERN const kin_object *kin_store_by_index_next(const kin_store *store,
                                                     kin_index_cursor *cursor);

/** The objects that have one value in one index, by key in ascending order;
 * client-go's IndexKeys. Free the list with kin_object_list_free.
 * Errors: KIN_ENOENT (no index of that name), KIN_ENOMEM.
 * Cost: O(n log n) for n objects found. */
KIN_EXTERN int kin_store_list_by_index(const kin_store *store, const char *name,
                                       kin_str value, kin_object_list **out);

/** The objects that share a value with `object` in one index: each once, by key
 * in ascending order; client-go's Index. `object` need not be in the store.
 * Free the list with kin_object_list_free.
 * Errors: those of kin_store_list_by_index, KIN_EINVAL (NULL), KIN_EINDEX.
 * Cost: O(n log n) for n objects found. */
KIN_EXTERN int kin_store_list_like(const kin_store *store, const char *name,
                                   const kin_object *object,
                                   kin_object_list **out);

/** Number of objects with that value; 0 if the index does not exist. */
KIN_EXTERN size_t kin_store_index_count(const kin_store *store,
                                        const char *name, kin_str value);

/** Scans the distinct values of an index, in no particular order: begin with a
 * zero-initialized cursor. A scan may be paused like one of kin_store_next, but
 * not across what makes the indices anew: kin_store_replace, REPLACED_ALL of
 * kin_process_deltas, and a list of the store's controller. Returns false at the
 * end, or if the index does not exist. *value is borrowed until the store
 * changes. */
KIN_EXTERN bool kin_store_index_next_value(const kin_store *store,
                                           const char *name, kin_cursor *cursor,
                                           kin_str *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_STORE_H */
