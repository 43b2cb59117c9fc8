/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_QUEUE_H
#define KIN_CACHE_QUEUE_H

#include <kin/queue.h>

#include "base/chunkq.h"
#include "base/hash.h"
#include "base/memory.h"
#include "object/transform.h"
#include "queue/delta_fifo.h"

/* The public queues. queue.c has the parts that all kinds share: options, the
 * rules of calls from inside callbacks, the synced latch, and the steps of a
 * pop. A kind is a kin__queue_ops: fifo.c and delta_queue.c work on a
 * kin__delta_fifo, in_order.c on a chunk queue of records. */

/* The data of REPLACED_ALL and BOOKMARK in an in-order queue, in place of an
 * object. One block.
 *
 * `refused` are listed objects on which the transform failed, from the end of
 * the array: which state of theirs stays is known only when all changes before
 * the list have been processed. Together there are no more than `objects` has
 * room for. */
typedef struct kin__payload {
  size_t count;
  size_t refused;
  char *version; /* NUL-terminated, in this block */
  size_t version_length;
  const kin_object *objects[]; /* one reference each */
} kin__payload;

/* An entry of an in-order queue. */
typedef struct kin__record {
  union {
    kin_object *object;    /* one reference; for types with a key */
    kin__payload *payload; /* REPLACED_ALL, BOOKMARK; SYNC_ALL: NULL */
  } of;
  uint8_t type; /* kin_delta_type */
  bool is_tombstone;
  bool is_key_only; /* a tombstone for an unknown object; see kin__delta */
} kin__record;

/* A key of the batch with the number `batch`. */
typedef struct kin__batch_key {
  uint32_t batch;
  uint32_t index; /* in the batch */
} kin__batch_key;

typedef struct kin__in_order {
  kin__chunkq records;
  size_t in_flight; /* the first records, which are being processed */
  size_t syncs;     /* records of SYNC_ALL */
  uint32_t batch_limit;
  kin__batch_key *seen; /* an open hash table; NULL before the first batch */
  uint32_t seen_mask;
  uint32_t batch; /* the last number used; 0 means none */
} kin__in_order;

typedef struct kin__keyed {
  kin__delta_fifo fifo;
  /* FIFO: queued keys without an object (FF-02). Their delta is a DELETED. */
  size_t skipped;
  uint32_t lists;     /* number of Replaces; marks the keys of the last one */
  uint32_t in_flight; /* the slot being processed, or KIN__NO_SLOT */
  bool is_next;       /* what is in flight comes next if the item is put back */
  bool has_news;      /* something was queued since `changed` last looked */
  /* delta: a list is being added; the places where its deletions go on. */
  bool has_list;
  uint32_t list_id;     /* the last queued key that was checked */
  uintptr_t list_place; /* the place in the known keys */
} kin__keyed;

typedef struct kin__queue_ops {
  const char *name;
  bool has_known;     /* known objects are allowed */
  bool has_bookmarks; /* bookmarks may be queued */
  bool has_replaced;  /* REPLACED may be emitted */
  bool has_batches;   /* batches may be popped */
  bool skips_keys;    /* FIFO: a pop may skip keys, of the first list, too */
  /* Whether a refused add or update, or a deletion without a usable key, still
   * ends the wait for a first list (DF-02, DF-03, QF-04). */
  bool counts_refused_puts;
  bool counts_refused_keys;

  void (*finish)(kin_queue *queue);
  size_t (*count)(const kin_queue *queue);

  /* For ADDED or UPDATED. The object is transformed and borrowed. */
  int (*put)(kin_queue *queue, kin_delta_type type, kin_object *object);
  /* `object` is NULL only for a tombstone; it is not transformed. */
  int (*remove)(kin_queue *queue, kin_str key, const kin_object *object,
                bool is_tombstone);
  /* The objects are not checked yet. Sets *initial to the number of items to
   * pop until the queue has synced, if this is the first list. */
  int (*replace)(kin_queue *queue, const kin_object *const *objects,
                 size_t count, kin_str version, size_t *initial);
  int (*resync)(kin_queue *queue);
  int (*bookmark)(kin_queue *queue, kin_str version);
  /* All or nothing. The deltas have been checked; `key` is their key. */
  int (*restore)(kin_queue *queue, kin_str key, const kin_deltas *deltas);

  /* Takes an item out and describes it in queue->views; *count is 0 if there is
   * none. `end` follows once the item is processed. On an error nothing has
   * changed. Errors: KIN_ENOMEM. */
  int (*begin)(kin_queue *queue, bool is_batch, size_t *count);
  void (*end)(kin_queue *queue, bool requeue);

  int (*get)(const kin_queue *queue, kin_str key, kin_deltas **out);
  bool (*next)(const kin_queue *queue, kin_queue_cursor *cursor,
               kin_delta *delta);
} kin__queue_ops;

extern const kin__queue_ops kin__fifo_ops;
extern const kin__queue_ops kin__delta_queue_ops;
extern const kin__queue_ops kin__in_order_ops;

struct kin_queue {
  const kin__queue_ops *ops;
  kin__memory *memory;
  const kin_allocator *allocator; /* of memory */
  kin__hash_seed seed;
  char *name;
  kin_known_objects known; /* get is NULL: no known objects */
  kin__transform transform;
  kin_queue_synced_cb on_synced;
  void *data; /* for on_synced */
  bool emit_replaced;
  bool emit_bookmarks;
  uint32_t pending_limit;

  bool is_closed;
  bool is_populated; /* a first change or list has come */
  bool is_synced;    /* a latch: populated, and no initial item was left */
  bool is_told;      /* on_synced has been called */
  size_t initial;    /* items to pop until the queue has synced */

  unsigned calls;       /* mutating functions on the stack */
  bool is_processing;   /* one of them is a pop inside its callback */
  bool has_taken_whole; /* see kin__queue_take_whole */
  bool is_locked;       /* a pure callback is running */
  bool is_dead;         /* freed when the outermost call returns */

  /* Called at the end of each call that may have changed the queue; or NULL. */
  void (*changed)(void *ctx);
  void *changed_ctx;

  kin_delta *views; /* of the item being processed */
  size_t view_capacity;

  union {
    kin__keyed keyed;
    kin__in_order in_order;
  } as;
};

/* Changes that wait, with the keys that pops will skip. */
static inline size_t kin__queue_depth(const kin_queue *queue) {
  return queue->ops->has_batches ? queue->ops->count(queue)
                                 : queue->as.keyed.fifo.deltas;
}

/* Sets the synced latch if no initial item is left. */
void kin__queue_settle(kin_queue *queue);

/* *out gets a new reference to the object to queue. Errors: the transform's,
 * see queue.h. */
int kin__queue_transform(kin_queue *queue, const kin_object *object,
                         kin_object **out);

/* Makes an object with a key only, for an object that is unknown. Errors:
 * KIN_EKEY, KIN_ENOMEM. */
int kin__queue_key_object(kin_queue *queue, kin_str key, kin_object **out);

/* Looks up a known object, which is borrowed until the next look-up. *object is
 * NULL if there is none, or if it has another key. Errors: the callback's. */
int kin__queue_get_known(kin_queue *queue, kin_str key,
                         const kin_object **object);
/* Scans the known keys; false at the end. *place is 0 at first. */
bool kin__queue_next_known(kin_queue *queue, uintptr_t *place, kin_str *key);

/* *object gets a new reference to the object of a tombstone for a known key. If
 * the object is unknown, the new object has the key only. Errors: KIN_EKEY,
 * KIN_ENOMEM. */
int kin__queue_take_known(kin_queue *queue, kin_str key, kin_object **object,
                          bool *is_key_only);

/* Makes room for `count` views. Errors: KIN_ENOMEM. */
int kin__queue_reserve_views(kin_queue *queue, size_t count);

void kin__queue_view_delta(kin_delta *view, const kin__delta *delta);
void kin__queue_view_record(kin_delta *view, const kin__record *record);

/* The finish of a kind on a kin__delta_fifo, and the end of its pop. */
void kin__keyed_finish(kin_queue *queue);
void kin__keyed_end(kin_queue *queue, bool requeue);
/* Takes the oldest key out for a pop. *count gets the number of views of its
 * deltas, 0 if there is no key. On an error nothing is taken. Errors:
 * KIN_ENOMEM. */
int kin__keyed_begin(kin_queue *queue, size_t *count);
/* Copies the deltas of a key. The caller owns the copy. Errors: KIN_ENOMEM. */
int kin__keyed_copy(const kin_queue *queue, const kin__deltas *deltas,
                    kin_deltas **out);
/* The next key of a scan, and a view of its newest delta. */
bool kin__keyed_next(const kin_queue *queue, kin_queue_cursor *cursor,
                     kin_delta *delta);

/* Non-atomic in-order Replace and Resync, in_order_reconcile.c. They append all
 * records or none. */
int kin__in_order_reconcile(kin_queue *queue, const kin_object *const *objects,
                            size_t count);
int kin__in_order_sync_known(kin_queue *queue);
/* Appends a record and takes its own reference. Errors: KIN_ENOMEM. */
int kin__in_order_append(kin_queue *queue, const kin__record *record);
/* Removes all records after `end`, a place that kin__chunkq_end gave. */
void kin__in_order_rewind(kin_queue *queue, kin__chunkq_cursor end);
/* Whether the queue is in order and has a SYNC_ALL, which does for a resync that
 * is due by now, too. */
bool kin__in_order_has_sync_all(const kin_queue *queue);
/* The first record that is not being processed. */
kin__chunkq_cursor kin__in_order_begin(const kin_queue *queue);
/* `record` must be of a type with a key. */
kin_str kin__record_key(const kin__record *record);

/* --- Whole lists in steps ------------------------------------------------- */

/* kin_queue_replace and kin_queue_resync of a delta queue, in steps. A replace
 * is: begin, add each object, delete until nothing is left, then
 * kin__queue_end_list with NULL. No item may be popped in between. To give a
 * list up, clear has_list.
 *
 * kin__delta_delete_unlisted and kin__delta_resync_step check up to `count`
 * keys and return 1 if more are left. *place is 0 at first. A resync also ends
 * before the first key whose place exceeds `end`. Errors: those of
 * kin_queue_replace; the call may be repeated. */
void kin__delta_begin_list(kin_queue *queue);
/* Inside the processing of an item of the first list: it will be put back, and
 * comes next. The item counts as not popped, so that the queue does not sync
 * without it. */
void kin__delta_retry_initial(kin_queue *queue);
int kin__delta_add_to_list(kin_queue *queue, const kin_object *object,
                           bool is_ready);
int kin__delta_delete_unlisted(kin_queue *queue, size_t count);
int kin__delta_resync_step(kin_queue *queue, uintptr_t *place, uintptr_t end,
                           size_t count);

/* kin_queue_replace of an in-order queue without known objects, in steps:
 * begin, add each object, end. Until its end a list belongs to the caller, and
 * the queue does not know of it. On an error the list is unchanged. Errors:
 * those of kin_queue_replace. */
int kin__queue_begin_list(kin_queue *queue, size_t count, kin_str version,
                          kin__payload **out);
/* At most `count` calls. `is_ready`: the object is transformed already. */
int kin__queue_add_to_list(kin_queue *queue, kin__payload *list,
                           const kin_object *object, bool is_ready);
/* The transform failed on the object: it is kept apart, as one of the calls. */
void kin__payload_refuse(kin__payload *list, const kin_object *object);
/* Takes a refused object out, with its reference. NULL: none is left. */
const kin_object *kin__payload_take_refused(kin__payload *list);
/* The queue takes the list over. */
int kin__queue_end_list(kin_queue *queue, kin__payload *list);

/* A REPLACED_ALL or SYNC_ALL that was taken out, to be processed in any number
 * of calls. */
typedef struct kin__whole {
  kin_delta delta;
  bool is_initial;
  bool is_counted;       /* counted in queue->initial */
  kin__payload *payload; /* of a list; the caller frees it */
} kin__whole;

/* Takes the oldest item out if it is a REPLACED_ALL or SYNC_ALL. Until
 * kin__queue_end_whole no item can be popped (KIN_EALREADY). Errors: KIN_EAGAIN
 * (another item, or none), KIN_EALREADY. */
int kin__queue_take_whole(kin_queue *queue, kin__whole *whole);
/* The item has been processed: the queue may be synced now (QF-08). */
void kin__queue_end_whole(kin_queue *queue, const kin__whole *whole);

/* Removes up to `count` items or objects. Returns whether any is left. */
bool kin__queue_clear_step(kin_queue *queue, size_t count);

/* Frees up to `count` objects of a list, from its end, then the list. Returns
 * whether anything is left. */
bool kin__payload_free_step(kin__payload *payload,
                            const kin_allocator *allocator, size_t count);

/* In in_order.c. payload: a list with room for `count` objects, NULL if out of
 * memory. append_list: appends a list, and owns it unless the call fails.
 * take_whole: see kin__queue_take_whole. */
kin__payload *kin__in_order_payload(const kin_queue *queue, kin_str version,
                                    size_t count);
int kin__in_order_append_list(kin_queue *queue, kin__payload *list);
bool kin__in_order_take_whole(kin_queue *queue, kin__whole *whole);
bool kin__in_order_clear_step(kin_queue *queue, size_t count);

#endif /* KIN_CACHE_QUEUE_H */
