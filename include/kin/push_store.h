/* SPDX-License-Identifier: MIT */
#ifndef KIN_PUSH_STORE_H
#define KIN_PUSH_STORE_H

/** @file
 * A store that hands its whole content to a callback. */

#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_list.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A store that hands its whole content to a callback after each change:
 * client-go's UndeltaStore. It is for small sets whose consumer knows nothing
 * of changes, such as a configuration file that is written anew. Each change
 * costs O(objects); for anything large use an informer's handlers. One thread
 * at a time; it uses no loop. */
typedef struct kin_push_store kin_push_store;

/** Gets the content, in no particular order, after a change. Called inside the
 * function that made the change, exactly once for each call that returns 0. The
 * list belongs to the store and lives until the callback returns; keep its
 * objects with kin_object_ref. The callback must not change or free this store;
 * everything else is allowed. */
typedef void (*kin_push_cb)(const kin_object_list *objects, void *data);

/** Options of kin_push_store_new. */
typedef struct kin_push_store_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */
  kin_push_cb push;               /**< required */
  void *data;                     /**< passed to push */
} kin_push_store_options;
/** Sets the size, and each member to its default. */
#define KIN_PUSH_STORE_OPTIONS_INIT                                            \
  { sizeof(kin_push_store_options), NULL, NULL, NULL }

/** Makes an empty store, which pushes nothing yet. Options are copied.
 * Errors: KIN_EINVAL (options, or no push), KIN_ENOTSUP (options of a newer
 * version), KIN_ENOMEM. */
KIN_EXTERN int kin_push_store_new(kin_push_store **out,
                                  const kin_push_store_options *options);

/** Frees a store and pushes nothing. NULL is allowed. Cost: O(objects). */
KIN_EXTERN void kin_push_store_free(kin_push_store *store);

/** As kin_store_put, kin_store_delete, kin_store_delete_object and
 * kin_store_replace, errors included, and KIN_EALREADY inside this store's
 * push. On an error, also if the key to delete is absent, nothing has changed
 * and nothing is pushed. */
KIN_EXTERN int kin_push_store_put(kin_push_store *store,
                                  const kin_object *object);
KIN_EXTERN int kin_push_store_delete(kin_push_store *store, kin_str key);
KIN_EXTERN int kin_push_store_delete_object(kin_push_store *store,
                                            const kin_object *object);
KIN_EXTERN int kin_push_store_replace(kin_push_store *store,
                                      const kin_object *const *objects,
                                      size_t count, kin_str version);

/** The content, to be read only; it lives as long as `store`. */
KIN_EXTERN const kin_store *kin_push_store_content(const kin_push_store *store);

#ifdef __cplusplus
}
#endif

#endif /* KIN_PUSH_STORE_H */
