/* SPDX-License-Identifier: MIT */
#ifndef KIN_QUEUE_H
#define KIN_QUEUE_H

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

/* Changes on their way from a producer, which lists and watches, to a consumer,
 * which keeps a store. An informer has a queue of its own; these are for
 * programs that build something else of the same parts.
 *
 * There are three kinds, for three needs, and one type: producer and consumer
 * are written once and do not know which kind is between them (client-go's
 * Queue). Only making one differs, so there are three constructors.
 *
 * - FIFO: the newest object of each key. What was deleted before its turn is
 *   skipped.
 * - delta (client-go's DeltaFIFO): every change of a key since its last turn,
 *   deletions too. Keys take turns in the order of their first change.
 * - in order (client-go's RealFIFO): every change by itself, in the one order
 *   in which they happened over all keys. Lists, resyncs and bookmarks have a
 *   place in that order. Changes can be taken in batches.
 *
 * A queue belongs to one thread and never waits: taking from an empty one is
 * KIN_EAGAIN. Every operation on a key is O(1) expected. What is put in is
 * counted by reference, not copied. */
typedef struct kin_queue kin_queue;

/* What the consumer has, where the queue has to know: to tell what is missing
 * in a list, and what to sync (client-go's KeyListerGetter). Both functions are
 * pure: they may not call the queue.
 *
 * get: sets *object to what is stored under `key`, borrowed until the next call
 * of either, or to NULL; or fails with a negative code. An object whose own key
 * differs counts as absent.
 * next: sets *key to a next key, borrowed until the next call of next, or
 * returns false when all have been told. *place is 0 at first and then next's
 * own. */
typedef struct kin_known_objects {
  int (*get)(void *ctx, kin_str key, const kin_object **object);
  bool (*next)(void *ctx, uintptr_t *place, kin_str *key);
  void *ctx;
} kin_known_objects;

/* The objects of a store, which must outlive the queue that is given them. */
KIN_EXTERN kin_known_objects kin_store_known_objects(const kin_store *store);

/* Told once that kin_queue_has_synced has become true, as the last thing of the
 * call in which it did; may call anything of the queue. */
typedef void (*kin_queue_synced_cb)(kin_queue *queue, void *data);

typedef struct kin_queue_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */

  /* For logs, at most 255 bytes, copied. NULL or "": "FIFO", "DeltaFIFO",
   * "RealFIFO". */
  const char *name;

  /* delta: a list is queued as REPLACED; else as SYNC, like a resync. */
  bool emit_replaced;
  /* in order, without known objects: bookmarks are queued; else ignored. */
  bool emit_bookmarks;

  /* delta: objects that count as existing, besides those queued.
   * in order: if given, a list is taken apart into deletions and REPLACED, and
   * a resync into SYNC; else each is one change, REPLACED_ALL and SYNC_ALL,
   * which the consumer applies at once (client-go's AtomicEvents). */
  kin_known_objects known;

  /* What is queued of an object that is put in; NULL: the object as it is.
   * Called once for each object of each call that queues one; not for a
   * tombstone and not for what a resync queues, which have been through it. */
  kin_transform_cb transform;
  kin_queue_synced_cb on_synced; /* may be NULL */
  void *data;                    /* passed to both */

  /* in order: the most changes in a batch, up to 65,536; 0: 1,000. */
  uint32_t batch_limit;
  /* See kin_queue_is_full. 0: two batches if in order, else unlimited. */
  uint32_t pending_limit;
} kin_queue_options;
#define KIN_QUEUE_OPTIONS_INIT                                                 \
  {                                                                            \
    sizeof(kin_queue_options), NULL, NULL, false, false, {NULL, NULL, NULL},   \
        NULL, NULL, NULL, 0, 0                                                 \
  }

/* Make an empty queue. Options are copied; NULL means the defaults.
 * Errors: KIN_EINVAL (an option out of range, or one that this kind does not
 * have), KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int kin_queue_new_fifo(kin_queue **out,
                                  const kin_queue_options *options);
KIN_EXTERN int kin_queue_new_delta(kin_queue **out,
                                   const kin_queue_options *options);
KIN_EXTERN int kin_queue_new_in_order(kin_queue **out,
                                      const kin_queue_options *options);

/* Frees a queue and drops what is in it. NULL is allowed. From inside one of
 * its callbacks it takes effect when the call that made the callback returns;
 * the pointer is dead at once. Cost: O(queued). */
KIN_EXTERN void kin_queue_free(kin_queue *queue);

/* Errors that the following share: KIN_EINVAL (an object or array is NULL),
 * KIN_EKEY (a slash in name or namespace, or a malformed key), those of the
 * transform (see kin_object_transform), KIN_EALREADY (called from a pure
 * callback), KIN_ENOMEM. Unless something else is said, an error has changed
 * nothing; but one other than KIN_ENOMEM and KIN_EALREADY counts as a first
 * change for kin_queue_has_synced, where noted. */

/* The object is new, or has changed. FIFO makes no difference. On a delta or
 * in-order queue an error counts as a first change. */
KIN_EXTERN int kin_queue_add(kin_queue *queue, const kin_object *object);
KIN_EXTERN int kin_queue_update(kin_queue *queue, const kin_object *object);

/* The object is gone; `object` is its last state. FIFO: the key keeps its
 * place, which is skipped unless the key is added again before. delta: ignored
 * if nobody has the key, neither the queue nor the known objects; a failure to
 * ask those counts as having it. Of two deletions in a row one stays, the older
 * unless it is a tombstone. in order: always queued, and an error counts as a
 * first change. */
KIN_EXTERN int kin_queue_delete(kin_queue *queue, const kin_object *object);

/* The same for an object whose end was not seen: `object` is the last state
 * that is known and has that key, or NULL. */
KIN_EXTERN int kin_queue_delete_tombstone(kin_queue *queue, kin_str key,
                                          const kin_object *object);

/* These objects are all there is, as of `version` (at most 65,535 bytes, else
 * KIN_ETOOBIG). Not from inside a process callback (KIN_EALREADY).
 *
 * FIFO: they become the content, in the order given; nothing is told of others.
 * delta: REPLACED or SYNC for each, then a tombstone for each queued key and
 * each known one that is not among them. On an error the changes before it stay
 * queued, and it counts as no list: repeat it. in order: one REPLACED_ALL; with
 * known objects a tombstone for each queued key, in order of their first
 * changes, and then each known one, unless its last change is a deletion or it
 * is among the objects; then REPLACED for each, in the order given.
 * Cost: O(count + queued + known), at once. */
KIN_EXTERN int kin_queue_replace(kin_queue *queue,
                                 const kin_object *const *objects, size_t count,
                                 kin_str version);

/* Looks at all that is known again: SYNC for each known object without a queued
 * change; in order without known objects one SYNC_ALL; FIFO: nothing. What
 * cannot be had is left out. Not from inside a process callback (KIN_EALREADY).
 * Cost: O(known), and in order + O(queued), at
 * once. */
KIN_EXTERN int kin_queue_resync(kin_queue *queue);

/* Nothing has changed up to `version` (at most 65,535 bytes, else KIN_ETOOBIG).
 * Queued if emit_bookmarks is set, else ignored; it is no change for
 * kin_queue_has_synced. */
KIN_EXTERN int kin_queue_bookmark(kin_queue *queue, kin_str version);

/* Puts back what was taken: at the end, as it was, untransformed; ignored if
 * the key is queued, with what is newer. All must have one key and be of the
 * types ADDED to SYNC. FIFO takes the newest, which must not be a deletion.
 * Errors: KIN_EINVAL for others, KIN_EKEY (several keys, or no change at all).
 * Cost: in order O(queued). */
KIN_EXTERN int kin_queue_add_if_not_present(kin_queue *queue,
                                            const kin_deltas *deltas);

/* What was taken from a queue, during the callback. */
typedef struct kin_queue_item {
  /* FIFO: one, whose type tells by which call it came. delta: those of one key,
   * oldest first. in order: one, or a batch of several keys. */
  kin_deltas deltas;

  bool is_initial; /* the queue had not synced before */

  /* Set by the callback to put the item back: FIFO and delta as by
   * kin_queue_add_if_not_present; in order where it was, in front. */
  bool requeue;
} kin_queue_item;

/* Processes one item: typically writes it to a store and tells a handler.
 * Returns 0 or a negative code, which the pop returns.
 *
 * Called inside a pop, so it may not call everything: kin_object_*,
 * kin_store_*, kin_deltas_* and its own code, and of this queue all but
 * kin_queue_pop, kin_queue_pop_batch, kin_queue_replace and kin_queue_resync,
 * which answer KIN_EALREADY. What it adds is not processed before it
 * returns. */
typedef int (*kin_queue_process_cb)(kin_queue *queue, kin_queue_item *item,
                                    void *data);

/* Takes the oldest item out and has it processed. An item whose processing
 * fails is gone, unless `requeue` is set.
 * Errors: KIN_EAGAIN (empty: nothing to do now), KIN_ECLOSED (empty and
 * closed), KIN_EINVAL (no callback, or its result was positive), KIN_EALREADY
 * (called from a process or pure callback of this queue), KIN_ENOMEM (nothing
 * was taken), what the callback returned. */
KIN_EXTERN int kin_queue_pop(kin_queue *queue, kin_queue_process_cb process,
                             void *data);

/* Takes as many as belong in a batch: up to batch_limit changes of the types
 * ADDED to SYNC, no two of one key, initial ones or later ones. Several go to
 * `process_batch`, one alone to `process`, as do the other types. FIFO and
 * delta queues make no batches: the same as kin_queue_pop. Errors: see
 * there. */
KIN_EXTERN int kin_queue_pop_batch(kin_queue *queue,
                                   kin_queue_process_cb process_batch,
                                   kin_queue_process_cb process, void *data);

/* Whether the initial content has been taken out, for ever from then on: all
 * that the first list queued, or nothing if another change came before it, or
 * if it was empty and one by one. delta: true already while the last one is
 * processed; FIFO and in order: when that is done, and not while it is put back
 * in order. */
KIN_EXTERN bool kin_queue_has_synced(const kin_queue *queue);

/* Says that nothing more will come, which is not enforced: pops go on until the
 * queue is empty, and then answer KIN_ECLOSED. Not to be confused with
 * kin_queue_free. */
KIN_EXTERN void kin_queue_close(kin_queue *queue);
KIN_EXTERN bool kin_queue_is_closed(const kin_queue *queue);

/* The name for logs. Lives as long as the queue. */
KIN_EXTERN const char *kin_queue_name(const kin_queue *queue);

/* The transform, and in *data, unless NULL, what to pass to it; NULL if there
 * is none. For a producer that gathers a list and wants its objects small
 * before they are put in, with kin_object_transform; then they go through the
 * transform again. */
KIN_EXTERN kin_transform_cb kin_queue_transform(const kin_queue *queue,
                                                void **data);

/* Number of items a pop would take one by one: keys, or changes if in order. */
KIN_EXTERN size_t kin_queue_count(const kin_queue *queue);

/* Whether pending_limit items or more wait: time to stop reading what is to be
 * put in, until this is false again. Nothing is ever refused for it. */
KIN_EXTERN bool kin_queue_is_full(const kin_queue *queue);

/* A copy of what is queued for a key, to be freed with kin_deltas_free. Errors:
 * KIN_ENOENT, KIN_ENOMEM. Cost: in order O(queued). */
KIN_EXTERN int kin_queue_get(const kin_queue *queue, kin_str key,
                             kin_deltas **out);

/* A place in a scan over a queue. Zero-initialize it to begin. */
typedef struct kin_queue_cursor {
  const void *chunk;
  uint32_t index;
} kin_queue_cursor;

/* The newest change of each queued key, in the order of their turns, or, if in
 * order, every change: client-go's List and ListKeys. Returns false at the end.
 * *delta is borrowed until the queue changes, and no scan may be continued
 * after it has. */
KIN_EXTERN bool kin_queue_next(const kin_queue *queue, kin_queue_cursor *cursor,
                               kin_delta *delta);

#ifdef __cplusplus
}
#endif

#endif /* KIN_QUEUE_H */
