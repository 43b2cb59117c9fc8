/* SPDX-License-Identifier: MIT */
#ifndef KIN_QUEUE_H
#define KIN_QUEUE_H

/** @file
 * Queues of changes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/delta.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_builder.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A queue carries changes from a producer, which lists and watches, to a
 * consumer, which keeps a store. An informer has a queue of its own; these
 * queues are for programs that build something else from the same parts.
 *
 * There are three kinds and one type (client-go's Queue). Producer and consumer
 * do not depend on the kind; only the constructors differ.
 *
 * - FIFO: the newest object of each key. An object that is deleted before its
 *   turn is skipped.
 * - delta (client-go's DeltaFIFO): every change of a key since its last turn,
 *   deletions too. Keys take turns in the order of their first change.
 * - in order (client-go's RealFIFO): every change by itself, in the one order
 *   in which the changes happened over all keys. Lists, resyncs and bookmarks
 *   have a place in that order. Changes can be taken in batches.
 *
 * A queue belongs to one thread and never waits: taking from an empty one is
 * KIN_EAGAIN. Every operation on a key is O(1) expected. Objects are kept by
 * reference, not copied. */
typedef struct kin_queue kin_queue;

/** The objects that the consumer has (client-go's KeyListerGetter). The queue
 * needs them to find what is missing in a list, and what to sync. Both
 * functions are pure: they may not call the queue.
 *
 * get sets *object to what is stored under `key`, borrowed until the next call
 * of either function, or to NULL; or it fails with a negative code. An object
 * whose own key differs counts as absent.
 *
 * next sets *key to a next key, borrowed until the next call of next, or
 * returns false at the end. *place is 0 at first and then belongs to next. Each
 * key comes once in a scan. */
typedef struct kin_known_objects {
  /** The functions, as said above; both or none. */
  int (*get)(void *ctx, kin_str key, const kin_object **object);
  bool (*next)(void *ctx, uintptr_t *place, kin_str *key);
  void *ctx; /**< passed to both */
} kin_known_objects;

/** The objects of a store. The store must outlive the queue that gets them. */
KIN_EXTERN kin_known_objects kin_store_known_objects(const kin_store *store);

/** Called once when kin_queue_has_synced has become true, at the end of the
 * call in which it did. May call any function of the queue. */
typedef void (*kin_queue_synced_cb)(kin_queue *queue, void *data);

/** Options of the functions that make a queue. */
typedef struct kin_queue_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */

  /** For logs, at most 255 bytes, copied. NULL or "": "FIFO", "DeltaFIFO",
   * "RealFIFO". */
  const char *name;

  /** delta: a list is queued as REPLACED; by default as SYNC, like a resync. */
  bool emit_replaced;
  /** in order, without known objects: bookmarks are queued; by default
   * ignored. */
  bool emit_bookmarks;

  /** delta: objects that count as existing, besides those queued.
   * in order: if given, a list is queued as deletions and REPLACED, and a
   * resync as SYNC. Else each is one change, REPLACED_ALL and SYNC_ALL, which
   * the consumer applies at once (client-go's AtomicEvents). */
  kin_known_objects known;

  /** Makes what is queued of an object that is put in; NULL: the object as it
   * is. Called once for each object of each call that queues one. Not called
   * for a tombstone, nor for the objects of a resync, which are transformed
   * already. */
  kin_transform_cb transform;
  kin_queue_synced_cb on_synced; /**< may be NULL */
  void *data;                    /**< passed to both */

  /** in order: the most changes in a batch, up to 65,536; 0: 1,000. */
  uint32_t batch_limit;
  /** See kin_queue_is_full. 0: two batches if in order, else unlimited. */
  uint32_t pending_limit;
} kin_queue_options;
/** Sets the size, and each member to its default. */
#define KIN_QUEUE_OPTIONS_INIT                                                 \
  {                                                                            \
    sizeof(kin_queue_options), NULL, NULL, false, false, {NULL, NULL, NULL},   \
        NULL, NULL, NULL, 0, 0                                                 \
  }

/** Make an empty queue. Options are copied; NULL means the defaults.
 * Errors: KIN_EINVAL (an option out of range, or an option of another kind),
 * KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int kin_queue_new_fifo(kin_queue **out,
                                  const kin_queue_options *options);
KIN_EXTERN int kin_queue_new_delta(kin_queue **out,
                                   const kin_queue_options *options);
KIN_EXTERN int kin_queue_new_in_order(kin_queue **out,
                                      const kin_queue_options *options);

/** Frees a queue and drops what is queued. NULL is allowed. From inside one of
 * the queue's callbacks the free takes effect when the call that made the
 * callback returns; the pointer is invalid at once.
 * Cost: O(queued). */
KIN_EXTERN void kin_queue_free(kin_queue *queue);

/* The following functions share these errors: KIN_EINVAL (an object or array is
 * NULL), KIN_EKEY (a slash in name or namespace, or a malformed key), those of
 * the transform (see kin_object_transform), KIN_EALREADY (called from a pure
 * callback), KIN_ENOMEM. Unless noted otherwise, an error has changed nothing.
 * Where noted, an error counts as a first change for kin_queue_has_synced, but
 * not KIN_ENOMEM, and not a call from a pure callback. */

/** The object is new, or has changed. FIFO treats both alike. On a delta or
 * in-order queue an error counts as a first change. */
KIN_EXTERN int kin_queue_add(kin_queue *queue, const kin_object *object);
KIN_EXTERN int kin_queue_update(kin_queue *queue, const kin_object *object);

/** The object is gone; `object` is its last state.
 * FIFO: the key keeps its place. The place is skipped, unless the key is added
 * again before its turn. If no other keys are left, all such places go: O(their
 * number).
 * delta: ignored if neither the queue nor the known objects have the key; if
 * asking the known objects fails, they count as having it. Of two deletions in
 * a row one stays: the older, unless it is a tombstone. An error of the
 * transform counts as a first change.
 * in order: always queued, and an error counts as a first change. */
KIN_EXTERN int kin_queue_delete(kin_queue *queue, const kin_object *object);

/** The same for an object whose deletion was not seen: `object` is the last
 * known state and has that key, or NULL. */
KIN_EXTERN int kin_queue_delete_tombstone(kin_queue *queue, kin_str key,
                                          const kin_object *object);

/** A whole list: these objects are all that exist, as of `version` (at most
 * 65,535 bytes, else KIN_ETOOBIG). Not from inside a process callback
 * (KIN_EALREADY).
 *
 * FIFO: the objects become the content, in the order given; objects that are
 * dropped are not reported.
 * delta: REPLACED or SYNC for each, then a tombstone for each queued or known
 * key that is not among the objects. On an error the changes before it stay
 * queued, and the call does not count as a list: repeat it.
 * in order: one REPLACED_ALL. With known objects: a tombstone for each queued
 * key, in the order of first changes, and then for each known key, unless the
 * key's last change is a deletion or the key is among the objects; then
 * REPLACED for each object, in the order given.
 * Cost: O(count + queued + known), at once. */
KIN_EXTERN int kin_queue_replace(kin_queue *queue,
                                 const kin_object *const *objects, size_t count,
                                 kin_str version);

/** Queues a resync. delta: SYNC for each known object without a queued change.
 * in order: the same; without known objects one SYNC_ALL, unless the queue is
 * full and has one already. FIFO: nothing.
 * Objects that get cannot give are left out. Not from inside a process callback
 * (KIN_EALREADY).
 * Cost: O(known), and in order + O(queued), at once. */
KIN_EXTERN int kin_queue_resync(kin_queue *queue);

/** Nothing more has changed up to `version` (at most 65,535 bytes, else
 * KIN_ETOOBIG). Queued if emit_bookmarks is set, else ignored. A bookmark is no
 * change for kin_queue_has_synced. */
KIN_EXTERN int kin_queue_bookmark(kin_queue *queue, kin_str version);

/** Puts back what was taken: at the end, as it was, untransformed. Ignored if
 * the key or a whole list (KIN_DELTA_REPLACED_ALL) is queued, since what is
 * queued is newer. All changes must have
 * one key and be of the types ADDED to SYNC. FIFO takes the newest, which must
 * not be a deletion.
 * Errors: KIN_EINVAL for others, KIN_EKEY (several keys, or no change at all).
 * Cost: in order O(queued). */
KIN_EXTERN int kin_queue_add_if_not_present(kin_queue *queue,
                                            const kin_deltas *deltas);

/** The changes taken from a queue; valid during the callback. */
typedef struct kin_queue_item {
  size_t size;     /**< see KIN_HAS */
  bool is_initial; /**< the queue had not synced before */

  /** Set by the callback to put the item back: FIFO and delta as by
   * kin_queue_add_if_not_present; in order at its old place, in front. */
  bool requeue;

  /** FIFO: one, whose type is that of the call that queued it. delta: those of
   * one key, oldest first. in order: one, or a batch of several keys. */
  kin_deltas deltas;
} kin_queue_item;

/** Processes one item: typically writes it to a store and calls a handler.
 * Returns 0 or a negative code, which the pop returns.
 *
 * Called inside a pop, so it may call only kin_object_*, kin_store_*,
 * kin_deltas_*, the program's own code and functions of this queue; but
 * kin_queue_pop, kin_queue_pop_batch, kin_queue_replace and kin_queue_resync
 * answer KIN_EALREADY. Changes that it adds are not processed before it
 * returns. */
typedef int (*kin_queue_process_cb)(kin_queue *queue, kin_queue_item *item,
                                    void *data);

/** Takes the oldest item out and processes it. An item whose processing fails
 * is gone, unless `requeue` is set.
 * Errors: KIN_EAGAIN (empty: nothing to do now), KIN_ECLOSED (empty and
 * closed), KIN_EINVAL (no callback, or its result was positive), KIN_EALREADY
 * (called from a process or pure callback of this queue), KIN_ENOMEM (nothing
 * was taken), the callback's result.
 * Cost: FIFO O(deleted objects before the item), each passed once. */
KIN_EXTERN int kin_queue_pop(kin_queue *queue, kin_queue_process_cb process,
                             void *data);

/** Takes a batch: up to batch_limit changes of the types ADDED to SYNC, no two
 * of one key, either all initial or all later ones. Several changes go to
 * `process_batch`; one alone goes to `process`, as do the other types. FIFO and
 * delta queues make no batches: the same as kin_queue_pop.
 * Errors: see kin_queue_pop. */
KIN_EXTERN int kin_queue_pop_batch(kin_queue *queue,
                                   kin_queue_process_cb process_batch,
                                   kin_queue_process_cb process, void *data);

/** Returns whether the initial content has been taken out; once true, always
 * true. The initial content is all that the first list queued. There is none if
 * another change came before that list, or if that list was empty and queued
 * one by one. delta: true already while the last item is processed. FIFO and in
 * order: true when the last item has been processed; in order, not while it is
 * put back. */
KIN_EXTERN bool kin_queue_has_synced(const kin_queue *queue);

/** Says that nothing more will come, which is not enforced: pops go on until
 * the queue is empty, and then answer KIN_ECLOSED. This does not free the
 * queue: see kin_queue_free. */
KIN_EXTERN void kin_queue_close(kin_queue *queue);
KIN_EXTERN bool kin_queue_is_closed(const kin_queue *queue);

/** The name for logs. Lives as long as the queue. */
KIN_EXTERN const char *kin_queue_name(const kin_queue *queue);

/** The transform, and in *data, unless `data` is NULL, its argument; NULL if
 * there is none. A producer that gathers a list can make its objects small with
 * kin_object_transform before it puts them in; they then go through the
 * transform again. */
KIN_EXTERN kin_transform_cb kin_queue_transform(const kin_queue *queue,
                                                void **data);

/** Number of items that pops would take one by one: keys, or changes if in
 * order. */
KIN_EXTERN size_t kin_queue_count(const kin_queue *queue);

/** Returns whether pending_limit changes or more wait. In a FIFO each key is one
 * change, also a key that was deleted behind others. In a delta queue every
 * change of a key counts, so one object alone can fill the queue. The producer
 * should then stop reading, until this is false again. The queue never refuses
 * a change for this reason. */
KIN_EXTERN bool kin_queue_is_full(const kin_queue *queue);

/** A copy of what is queued for a key; free it with kin_deltas_free.
 * Errors: KIN_ENOENT, KIN_ENOMEM. Cost: in order O(queued). */
KIN_EXTERN int kin_queue_get(const kin_queue *queue, kin_str key,
                             kin_deltas **out);

/** A place in a scan over a queue. Zero-initialize it to begin. */
typedef struct kin_queue_cursor {
  const void *chunk; /**< private */
  uint32_t index;    /**< private */
} kin_queue_cursor;

/** The newest change of each queued key, in the order of turns; in order: every
 * change. client-go's List and ListKeys. Returns false at the end. *delta is
 * borrowed until the queue changes; after a change no scan may be continued. */
KIN_EXTERN bool kin_queue_next(const kin_queue *queue, kin_queue_cursor *cursor,
                               kin_delta *delta);

#ifdef __cplusplus
}
#endif

#endif /* KIN_QUEUE_H */
