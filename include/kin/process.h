/* SPDX-License-Identifier: MIT */
#ifndef KIN_PROCESS_H
#define KIN_PROCESS_H

/** @file
 * Changes from a queue into a store and to handlers. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/delta.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Applies changes from a queue to a store and calls handlers, as an informer
 * does, for programs that have a queue and a store of their own. Call these
 * functions from the callback of kin_queue_pop, or of a kin_controller:
 *
 *   int process(kin_queue *queue, kin_queue_item *item, void *data) {
 *     my_cache *cache = data;
 *     return kin_process_deltas(cache->store, &cache->handlers, &item->deltas,
 *                               item->is_initial);
 *   }
 */

/** The handlers. Each function may be NULL. They are called inside
 * kin_process_deltas, right after the store has changed. They may read and
 * write the store, and must not free it or process anything into it. Their
 * arguments are borrowed until they return. */
typedef struct kin_process_handlers {
  size_t size; /**< set by the INIT macro */

  /** The store did not have the object. `object` is the one of the change,
   * whatever a transform of the store has made of it. */
  void (*on_add)(const kin_object *object, bool is_initial, void *data);

  /** The store had `old_object`. The two need not differ: after a resync they
   * are the same object, after a list they may be. */
  void (*on_update)(const kin_object *old_object, const kin_object *object,
                    void *data);

  /** The object is gone, whether the store had it or not. `object` is its last
   * state. For a tombstone, which is a deletion that was not seen, `object` is
   * the last known state, or NULL if there is none. */
  void (*on_delete)(kin_str key, const kin_object *object, bool is_tombstone,
                    void *data);

  void *data; /**< passed to all three */
} kin_process_handlers;
/** Sets the size, and each member to its default. */
#define KIN_PROCESS_HANDLERS_INIT                                              \
  { sizeof(kin_process_handlers), NULL, NULL, NULL, NULL }

/** Applies the changes of an item in their order, each to the store and then to
 * the handlers (client-go's processDeltas). `handlers` may be NULL.
 * `is_initial` is passed to on_add.
 *
 * ADDED, UPDATED, REPLACED, SYNC: a put. The store decides whether the put is
 * an add or an update, not the type of the change.
 * DELETED: a delete.
 * BOOKMARK: sets the store's version.
 * REPLACED_ALL: the listed objects become the content and their version the
 * store's. All handlers see that content: first those of the objects that are
 * gone, as tombstones, then those of each listed object in the order of the
 * list. Of several objects with one key only the last is stored and told.
 * SYNC_ALL: an update for each object, in no particular order; changes after it
 * in the same item are ignored. Objects that handlers add meanwhile may be left
 * out.
 *
 * Errors: KIN_EINVAL (no store, no deltas, an invalid type, a missing object,
 * an informer's store), KIN_EALREADY (called by an index callback of the store),
 * KIN_EKEY (a deletion with a malformed key; a deletion, or a change of a
 * batch, whose key is not its object's), KIN_ENOTSUP (handlers of a newer
 * version), those of kin_store_put, kin_store_delete_object, kin_store_bookmark
 * and kin_store_replace. The first error ends the call: the failed change has
 * changed nothing and no handler is called for it; the changes before it stay.
 * Cost: the sum of the store's operations. REPLACED_ALL and SYNC_ALL cost
 * O(objects) at once; a kin_controller does them in steps. */
KIN_EXTERN int kin_process_deltas(kin_store *store,
                                  const kin_process_handlers *handlers,
                                  const kin_deltas *deltas, bool is_initial);

/** The same for a batch of kin_queue_pop_batch, whose keys are distinct, in one
 * transaction (client-go's processDeltasInBatch). First the store decides for
 * all changes whether they are adds or updates. Then all are applied. Then the
 * handlers are called in the order of the changes. As in any transaction the
 * store's transform is not called, and its version becomes that of the last
 * applied change, unless that is a tombstone. A change that fails is left out
 * and no handler is called for it; the others are applied, and the first error
 * is returned.
 * Errors: those of kin_process_deltas; KIN_EINVAL also for the types that have
 * no key. A malformed change (KIN_EINVAL, or a key that is not its object's) is
 * an error of the batch as a whole, and so may be KIN_ENOMEM: nothing has
 * changed then.
 * Cost: O(changes) at once. */
KIN_EXTERN int kin_process_batch(kin_store *store,
                                 const kin_process_handlers *handlers,
                                 const kin_deltas *deltas, bool is_initial);

#ifdef __cplusplus
}
#endif

#endif /* KIN_PROCESS_H */
