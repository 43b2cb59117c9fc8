/* SPDX-License-Identifier: MIT */
#ifndef KIN_DELTA_H
#define KIN_DELTA_H

/** @file
 * Changes of objects, as queues carry them. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of a change, of one key or of everything. */
typedef enum kin_delta_type {
  KIN_DELTA_ADDED = 1,
  KIN_DELTA_UPDATED,
  KIN_DELTA_DELETED,
  KIN_DELTA_REPLACED,     /**< in a list; the object may have changed or not */
  KIN_DELTA_SYNC,         /**< a resync of a known object */
  KIN_DELTA_REPLACED_ALL, /**< a whole list: objects not in it are gone */
  KIN_DELTA_SYNC_ALL,     /**< a resync of everything */
  KIN_DELTA_BOOKMARK      /**< nothing more happened up to a version */
} kin_delta_type;

/** Returns "Added", "Updated", "Deleted", "Replaced", "Sync", "ReplacedAll",
 * "SyncAll", "Bookmark" or "". Static. */
KIN_EXTERN const char *kin_delta_type_name(kin_delta_type type);

/** One change (client-go's Delta). A change that the library hands out is
 * borrowed: from a callback until it returns, from a kin_deltas until it is
 * freed. */
typedef struct kin_delta {
  kin_delta_type type; /**< what has happened */

  /** A deletion that was inferred, not seen (client-go's
   * DeletedFinalStateUnknown): `object` may be older than the last state. */
  bool is_tombstone;

  kin_str key; /**< empty for the types that end in _ALL, and for a bookmark */

  /** The state after the change; of a deletion the last state. NULL for the
   * types that have no key, and for a tombstone without a known object. */
  const kin_object *object;

  /** REPLACED_ALL: the version of the list. BOOKMARK: the version reached.
   * NUL-terminated when the library hands it out. */
  kin_str resource_version;

  /** REPLACED_ALL: the objects of the list, in its order. */
  const kin_object *const *objects;
  size_t object_count;
} kin_delta;

/** Changes in the order in which they happened (client-go's Deltas). */
typedef struct kin_deltas {
  const kin_delta *items; /**< the oldest first */
  size_t count;           /**< of items */
} kin_deltas;

/** The first and the last one; NULL if there is none. */
KIN_EXTERN const kin_delta *kin_deltas_oldest(const kin_deltas *deltas);
KIN_EXTERN const kin_delta *kin_deltas_newest(const kin_deltas *deltas);

/** The key of a change: its `key`; if that is empty, its object's, borrowed
 * from the object. The key of several changes is that of the newest. The key of
 * an object alone is kin_object_key.
 * Errors: KIN_EKEY (no change, also NULL, or the change has no key). */
KIN_EXTERN int kin_delta_key(const kin_delta *delta, kin_str *key);
KIN_EXTERN int kin_deltas_key(const kin_deltas *deltas, kin_str *key);

/** Copies changes, to keep them beyond a callback. The copy has its own
 * references to the objects, and its own strings. `allocator` may be NULL and
 * is copied.
 * Errors: KIN_EINVAL (NULL, also for an array of listed objects), KIN_ENOMEM.
 * Cost: O(changes + listed objects). */
KIN_EXTERN int kin_deltas_copy(kin_deltas **out, const kin_deltas *deltas,
                               const kin_allocator *allocator);

/** Frees changes that kin_deltas_copy or kin_queue_get made. NULL is allowed.
 * Cost: O(changes + listed objects). */
KIN_EXTERN void kin_deltas_free(kin_deltas *deltas);

#ifdef __cplusplus
}
#endif

#endif /* KIN_DELTA_H */
