/* SPDX-License-Identifier: MIT */
#ifndef KIN_QUEUE_DELTA_FIFO_H
#define KIN_QUEUE_DELTA_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/chunkq.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/slots.h"
#include "queue/delta.h"

/* client-go's DeltaFIFO (DF rows) without locks: a list of deltas for each key,
 * with keys in the order of their first enqueueing. A key is in the queue iff
 * it has deltas.
 *
 * An informer uses push, peek and drop. It takes Replace apart, so that a list
 * of any length is applied in bounded steps: push a REPLACED delta for each
 * listed object as there is room; when the queue has drained, push a tombstone
 * for each known object that the list does not have.
 *
 * The public queues (lib/cache) use the rest. FIFO keeps one delta a key. */
typedef struct kin__delta_fifo {
  const kin_allocator *allocator;
  kin__hash_seed seed;
  kin__slots entries;
  kin__map map;
  uint32_t first; /* oldest entry, KIN__NO_SLOT if empty */
  uint32_t last;
  uint32_t depth;  /* keys */
  uint32_t deltas; /* of all keys */
  /* DF-03: whether a key without deltas is known; the deletion of an unknown
   * key is ignored. NULL: no key is known. */
  bool (*is_known)(void *ctx, kin_str key, uint32_t hash);
  void *ctx;
} kin__delta_fifo;

/* The deltas of one key, oldest first, borrowed from the queue. */
typedef struct kin__deltas {
  kin__delta *items;
  uint32_t count;
  uint32_t hash; /* of the key, by the queue's seed */
} kin__deltas;

/* Allocates nothing. */
void kin__delta_fifo_init(kin__delta_fifo *fifo, const kin_allocator *allocator,
                          kin__hash_seed seed);
/* Drops all keys; O(n). */
void kin__delta_fifo_finish(kin__delta_fifo *fifo);
/* Drops up to `count` deltas; returns whether any is left. */
bool kin__delta_fifo_clear_step(kin__delta_fifo *fifo, size_t count);

/* Appends a copy of `delta` with a reference to its object. A DELETED of a key
 * without deltas is ignored if the key is unknown (DF-03). Two DELETED of
 * one scope in a row become one: the older, unless it is a tombstone (DF-04).
 * Errors: KIN_ENOMEM, nothing changed. */
int kin__delta_fifo_push(kin__delta_fifo *fifo, const kin__delta *delta);

/* As kin__delta_fifo_push, for a key that counts as known. */
int kin__delta_fifo_append(kin__delta_fifo *fifo, const kin__delta *delta);

/* Makes a copy of `delta` the only delta of its key; enqueues the key if
 * needed. Errors: KIN_ENOMEM, nothing changed; never for a queued key. */
int kin__delta_fifo_set(kin__delta_fifo *fifo, const kin__delta *delta);

/* Whether a key has deltas. */
bool kin__delta_fifo_has(const kin__delta_fifo *fifo, kin_str key);

/* The deltas of a key, borrowed until they change; false if there are none. */
bool kin__delta_fifo_find(const kin__delta_fifo *fifo, kin_str key,
                          kin__deltas *deltas);

/* The deltas of the next key, borrowed until they change; false at the end.
 * Begin with *id = KIN__NO_SLOT. No key may leave the queue during the walk. */
bool kin__delta_fifo_next(const kin__delta_fifo *fifo, uint32_t *id,
                          kin__deltas *deltas);

/* Drops the keys that were enqueued after `last`, an earlier value of
 * fifo->last. No key may have left the queue since. */
void kin__delta_fifo_truncate(kin__delta_fifo *fifo, uint32_t last);

/* The deltas of the oldest key, left in the queue and borrowed; false if the
 * queue is empty. The queue must not change before the caller is done with the
 * deltas or drops them. */
bool kin__delta_fifo_peek(const kin__delta_fifo *fifo, kin__deltas *deltas);

/* Removes the oldest key and drops its references; pairs with peek. */
void kin__delta_fifo_drop(kin__delta_fifo *fifo);

/* A pop in two halves. take_out removes the oldest key and borrows its deltas;
 * false if the queue is empty.
 * *id names them until one call of release or put_back. Until then the queue may
 * change in any way, except by finish. */
bool kin__delta_fifo_take_out(kin__delta_fifo *fifo, uint32_t *id,
                              kin__deltas *deltas);
void kin__delta_fifo_release(kin__delta_fifo *fifo, uint32_t id);
/* Drops the oldest deltas of the key; at least one must stay. */
void kin__delta_fifo_forget(kin__delta_fifo *fifo, uint32_t id, uint32_t count);
/* Enqueues the key again with its old deltas, as the first one or the last one.
 * If the key has newer deltas by now, releases the old ones instead (OQ-01).
 * Cannot fail. */
void kin__delta_fifo_put_back(kin__delta_fifo *fifo, uint32_t id,
                              bool is_first);

/* Exchanges the content of two queues. No key of either may be taken out. */
void kin__delta_fifo_swap(kin__delta_fifo *a, kin__delta_fifo *b);

#endif /* KIN_QUEUE_DELTA_FIFO_H */
