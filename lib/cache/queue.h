/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_QUEUE_H
#define KIN_CACHE_QUEUE_H

#include <kin/queue.h>

#include "base/chunkq.h"
#include "base/hash.h"
#include "base/memory.h"
#include "object/transform.h"
#include "queue/delta_fifo.h"

/* The public queues. queue.c has what all kinds share: options, the rules of
 * calls from inside callbacks, the synced latch, the course of a pop. A kind is
 * a kin__queue_ops: fifo.c and delta_queue.c work on a kin__delta_fifo,
 * in_order.c on a chunk queue of records. */

/* What an in-order queue holds instead of an object for REPLACED_ALL and
 * BOOKMARK: one block. */
typedef struct kin__payload {
  size_t count;
  char *version; /* NUL-terminated, in this block */
  size_t version_length;
  const kin_object *objects[]; /* one reference each */
} kin__payload;

/* An entry of an in-order queue. */
typedef struct kin__record {
  union {
    kin_object *object;    /* one reference; types with a key */
    kin__payload *payload; /* REPLACED_ALL, BOOKMARK; SYNC_ALL: NULL */
  } of;
  uint8_t type; /* kin_delta_type */
  bool is_tombstone;
  bool is_key_only; /* a tombstone whose object nobody has; see kin__delta */
} kin__record;

/* A key that is in the batch with the number `batch`. */
typedef struct kin__batch_key {
  uint32_t batch;
  uint32_t index; /* in the batch */
} kin__batch_key;

typedef struct kin__in_order {
  kin__chunkq records;
  size_t in_flight; /* the first records, which a callback is processing */
  uint32_t batch_limit;
  kin__batch_key *seen; /* an open hash table; NULL before the first batch */
  uint32_t seen_mask;
  uint32_t batch; /* the last number used; 0 is none */
} kin__in_order;

typedef struct kin__keyed {
  kin__delta_fifo fifo;
  /* FIFO: queued keys without an object (FF-02). Their delta is a DELETED. */
  size_t skipped;
  uint32_t lists;     /* Replaces so far; marks what the last one mentioned */
  uint32_t in_flight; /* what a callback is processing, or KIN__NO_SLOT */
  /* delta: a list is being put in; how far the deletions are that it makes. */
  bool has_list;
  uint32_t list_id;     /* the queued key that was looked at last */
  uintptr_t list_place; /* among the known keys */
} kin__keyed;

typedef struct kin__queue_ops {
  const char *name;
  bool has_known;     /* may be given known objects */
  bool has_bookmarks; /* may be told to queue them */
  bool has_replaced;  /* may be told to emit REPLACED */
  bool has_batches;   /* pops them */
  /* Whether a refused add or update, and a deletion without a usable key, end
   * the wait for a first list all the same (DF-02, DF-03, QF-04). */
  bool counts_refused_puts;
  bool counts_refused_keys;

  void (*finish)(kin_queue *queue);
  size_t (*count)(const kin_queue *queue);

  /* ADDED or UPDATED; the object is transformed and borrowed. */
  int (*put)(kin_queue *queue, kin_delta_type type, kin_object *object);
  /* `object` is NULL only for a tombstone; it is not transformed. */
  int (*remove)(kin_queue *queue, kin_str key, const kin_object *object,
                bool is_tombstone);
  /* The objects have been checked by none. Sets *initial to the number of items
   * that are to be popped until the queue has synced, should it be the
   * first. */
  int (*replace)(kin_queue *queue, const kin_object *const *objects,
                 size_t count, kin_str version, size_t *initial);
  int (*resync)(kin_queue *queue);
  int (*bookmark)(kin_queue *queue, kin_str version);
  /* All or nothing. The deltas have been checked, and the key is theirs. */
  int (*restore)(kin_queue *queue, kin_str key, const kin_deltas *deltas);

  /* Takes an item out and describes it in queue->views, or leaves *count 0; end
   * follows once it is processed. Errors: KIN_ENOMEM, nothing has changed. */
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
  kin_known_objects known; /* get is NULL: none */
  kin__transform transform;
  kin_queue_synced_cb on_synced;
  void *data; /* of on_synced */
  bool emit_replaced;
  bool emit_bookmarks;
  uint32_t pending_limit;

  bool is_closed;
  bool is_populated; /* a first change or list has come */
  bool is_synced;    /* a latch: populated, and nothing initial was left */
  bool is_told;      /* on_synced has been called */
  size_t initial;    /* items to be popped until it has synced */

  unsigned calls;       /* of mutating functions that are on the stack */
  bool is_processing;   /* one of them is a pop, in its callback */
  bool has_taken_whole; /* an item is out, see kin__queue_take_whole */
  bool is_locked;       /* a pure callback is running */
  bool is_dead;         /* to be freed when the outermost call returns */

  /* Told at the end of each call that may have changed something, or NULL. */
  void (*changed)(void *ctx);
  void *changed_ctx;

  kin_delta *views; /* of the item that is being processed */
  size_t view_capacity;

  union {
    kin__keyed keyed;
    kin__in_order in_order;
  } as;
};

/* Lets the latch fall if nothing initial is left. */
void kin__queue_settle(kin_queue *queue);

/* Whether the object has a key that can be told apart from others.
 * Errors: KIN_EINVAL (NULL), KIN_EKEY. */
int kin__queue_check(const kin_object *object);

/* What is queued for an object, as a new reference. Errors: as the transform's,
 * see queue.h. */
int kin__queue_transform(kin_queue *queue, const kin_object *object,
                         kin_object **out);

/* An object that has nothing but a key, for what nobody has.
 * Errors: KIN_EKEY, KIN_ENOMEM. */
int kin__queue_key_object(kin_queue *queue, kin_str key, kin_object **out);

/* Asks for a known object, borrowed until the next question: NULL if it is not
 * known, also under another key. Errors: what the callback said. */
int kin__queue_get_known(kin_queue *queue, kin_str key,
                         const kin_object **object);
/* Scans the known keys; false at the end. *place is 0 at first. */
bool kin__queue_next_known(kin_queue *queue, uintptr_t *place, kin_str *key);

/* The object that a tombstone for a known key carries, as a new reference; the
 * key alone if nobody has it. Errors: KIN_EKEY, KIN_ENOMEM. */
int kin__queue_take_known(kin_queue *queue, kin_str key, kin_object **object,
                          bool *is_key_only);

/* Makes room for `count` views. Errors: KIN_ENOMEM. */
int kin__queue_reserve_views(kin_queue *queue, size_t count);

void kin__queue_view_delta(kin_delta *view, const kin__delta *delta);
void kin__queue_view_record(kin_delta *view, const kin__record *record);

/* A kind on a kin__delta_fifo: finish, and end of a pop. */
void kin__keyed_finish(kin_queue *queue);
void kin__keyed_end(kin_queue *queue, bool requeue);
/* Takes the oldest key out for a pop: views of its deltas in *count, 0 if there
 * is none. Errors: KIN_ENOMEM, nothing taken. */
int kin__keyed_begin(kin_queue *queue, size_t *count);
/* Copies the deltas of a key for its owner. Errors: KIN_ENOMEM. */
int kin__keyed_copy(const kin_queue *queue, const kin__deltas *deltas,
                    kin_deltas **out);
/* The next key of a scan, and the view of its newest delta. */
bool kin__keyed_next(const kin_queue *queue, kin_queue_cursor *cursor,
                     kin_delta *delta);

/* Non-atomic in-order Replace and Resync, in_order_reconcile.c: append records,
 * all or none. */
int kin__in_order_reconcile(kin_queue *queue, const kin_object *const *objects,
                            size_t count);
int kin__in_order_sync_known(kin_queue *queue);
/* Appends a record and takes a reference of its own. Errors: KIN_ENOMEM. */
int kin__in_order_append(kin_queue *queue, const kin__record *record);
/* Takes back what was appended since kin__chunkq_end gave `end`. */
void kin__in_order_rewind(kin_queue *queue, kin__chunkq_cursor end);
/* The first record that is not being processed. */
kin__chunkq_cursor kin__in_order_begin(const kin_queue *queue);
/* The key of a record that has one. */
kin_str kin__record_key(const kin__record *record);

/* --- Whole lists in steps ------------------------------------------------- */

/* What kin_queue_replace and kin_queue_resync do to a delta queue, bit by bit:
 * begin, add each object, delete, each as often as it takes, then
 * kin__queue_end_list with NULL. Nothing may be popped in between; a list that
 * is given up clears has_list. kin__delta_delete_unlisted and
 * kin__delta_resync_step, whose *place is 0 at first, look at up to `count`
 * keys and return 1 if more are left. Errors: those of kin_queue_replace; the
 * call may be repeated. */
void kin__delta_begin_list(kin_queue *queue);
int kin__delta_add_to_list(kin_queue *queue, const kin_object *object,
                           bool is_ready);
int kin__delta_delete_unlisted(kin_queue *queue, size_t count);
int kin__delta_resync_step(kin_queue *queue, uintptr_t *place, size_t count);

/* What kin_queue_replace does to an in-order queue without known objects, bit
 * by bit: begin, add each object, end. A list that has not ended is its
 * owner's, and the queue knows nothing of it.
 * Errors: those of kin_queue_replace; the list is unchanged then. */
int kin__queue_begin_list(kin_queue *queue, size_t count, kin_str version,
                          kin__payload **out);
/* No more than `count` times. `is_ready`: the transform has made the object. */
int kin__queue_add_to_list(kin_queue *queue, kin__payload *list,
                           const kin_object *object, bool is_ready);
/* The queue takes the list over. */
int kin__queue_end_list(kin_queue *queue, kin__payload *list);

/* A REPLACED_ALL or SYNC_ALL that has been taken out, to be processed in any
 * number of calls. */
typedef struct kin__whole {
  kin_delta delta;
  bool is_initial;
  bool is_counted;       /* among those that the queue is to be synced after */
  kin__payload *payload; /* of a list; the owner's to free */
} kin__whole;

/* Takes the oldest item out if it is one of those. Until kin__queue_end_whole
 * nothing else can be popped (KIN_EALREADY). Errors: KIN_EAGAIN (it is not, or
 * there is none), KIN_EALREADY. */
int kin__queue_take_whole(kin_queue *queue, kin__whole *whole);
/* It has been processed: the queue may have synced (QF-08). */
void kin__queue_end_whole(kin_queue *queue, const kin__whole *whole);

/* Drops up to `count` items or objects. Returns whether any is left. */
bool kin__queue_clear_step(kin_queue *queue, size_t count);

/* Drops up to `count` objects of a list, from its end, and at last the list.
 * Returns whether anything is left. */
bool kin__payload_free_step(kin__payload *payload,
                            const kin_allocator *allocator, size_t count);

/* In in_order.c: a list with room for `count`, NULL if out of memory; appends a
 * list and takes it over, unless it fails; takes the oldest record out if it is
 * of everything. */
kin__payload *kin__in_order_payload(const kin_queue *queue, kin_str version,
                                    size_t count);
int kin__in_order_append_list(kin_queue *queue, kin__payload *list);
bool kin__in_order_take_whole(kin_queue *queue, kin__whole *whole);
bool kin__in_order_clear_step(kin_queue *queue, size_t count);

#endif /* KIN_CACHE_QUEUE_H */
