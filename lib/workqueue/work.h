/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_WORK_H
#define KIN_WORKQUEUE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/work_queue.h>

#include "base/link.h"
#include "base/timers.h"
#include "workqueue/key_table.h"
#include "workqueue/ready.h"

/* The work queue without a loop: time is an argument, and nothing calls the
 * program but its limiter.
 *
 * An entry is a key that is in at least one of three states:
 *
 *   dirty       the key needs work; it is in `ready` unless it is processing
 *   processing  a worker has the key; head.is_held says so
 *   waiting     the key has a due time, and is in the heap `waiting`
 *
 * All combinations occur. An entry in none of them is freed at once.
 * (WQ-01, WQ-03, WQ-08) */
typedef struct kin__work_entry {
  kin__key_head head;
  kin__link link;    /* in `ready` */
  uint64_t added_ns; /* when it became dirty */
  kin__timer wait;   /* active iff waiting */
  uint32_t retries;  /* answers KIN_WORK_RETRY in a row */
  int8_t priority;
  bool is_dirty;
} kin__work_entry;

/* A key that a worker has. Records have stable addresses, and are freed with
 * the queue only, so a second answer for an item finds a record without a
 * queue. */
typedef struct kin__work_record {
  kin__slot_head slot;
  kin_work_item item; /* its queue is NULL iff the record is free */
  kin__link node;     /* in `processing`, in the order of the starts */
  uint64_t started_ns;
  uint32_t id;
  kin__work_entry *entry;
} kin__work_record;

typedef struct kin__work {
  const kin_allocator *allocator;
  kin_work_queue *queue; /* of the items */
  kin__key_table table;
  kin_rate_limiter *limiter;
  kin__ready ready;
  kin__timers waiting;
  uint32_t waiting_count;
  kin__slots records;
  kin__link processing;
  uint64_t started_us; /* the sum over `processing`, modulo 2^64 */
  uint64_t now_ns;     /* set before each call below */
  bool is_shut_down;
  kin_work_queue_metrics metrics; /* what is not computed when read */
} kin__work;

/* Allocates nothing. The allocator must outlive the work. Takes the limiter. */
void kin__work_init(kin__work *work, const kin_allocator *allocator,
                    kin_work_queue *queue, kin_rate_limiter *limiter,
                    kin__hash_seed seed, uint32_t max_keys);

/* Frees up to `count` pieces of all but what kin__work_finish_step frees.
 * Returns whether anything is left. From then on only these two functions may
 * be called. */
bool kin__work_clear_step(kin__work *work, uint32_t count);
/* Frees a piece of the entries that are processing and then of the records:
 * items and their keys are valid until the first call. Returns whether anything
 * is left. */
bool kin__work_finish_step(kin__work *work);

/* Adds a key after a delay; 0: now. Errors: see kin_work_queue_add. */
int kin__work_add(kin__work *work, kin_str key, int priority,
                  uint64_t delay_ms);
/* The same after the limiter's delay. */
int kin__work_add_rate_limited(kin__work *work, kin_str key);

/* Takes the next key. Errors: see kin_work_queue_get. */
int kin__work_get(kin__work *work, const kin_work_item **item);

/* The record of an item, or NULL if it has been answered. */
kin__work_record *kin__work_record_of(const kin_work_item *item);
/* Ends the work on a key. */
void kin__work_done(kin__work *work, kin__work_record *record,
                    kin_work_result result);
void kin__work_done_after(kin__work *work, kin__work_record *record,
                          uint64_t delay_ms);

/* Adds up to `count` keys that are due; after a shutdown, drops as many that
 * wait. Returns whether there are more to add or to drop now. */
bool kin__work_advance(kin__work *work, uint32_t count);
/* When the next key is due; 0: keys that wait are to be dropped; UINT64_MAX: no
 * key waits. */
uint64_t kin__work_next_ms(const kin__work *work);

static inline uint32_t kin__work_processing(const kin__work *work) {
  return work->records.live;
}

/* The number of further keys that there is room for. A key that comes after a
 * shutdown needs none. */
static inline uint32_t kin__work_room(const kin__work *work) {
  return work->is_shut_down
             ? UINT32_MAX
             : work->table.max - kin__key_table_count(&work->table);
}

static inline bool kin__work_is_drained(const kin__work *work) {
  return work->is_shut_down && work->ready.count == 0 &&
         work->records.live == 0;
}

/* Everything as of now_ns. */
void kin__work_read_metrics(const kin__work *work,
                            kin_work_queue_metrics *metrics);

#endif /* KIN_WORKQUEUE_WORK_H */
