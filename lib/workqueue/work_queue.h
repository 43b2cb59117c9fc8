/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_WORK_QUEUE_H
#define KIN_WORKQUEUE_WORK_QUEUE_H

#include "client/host.h"
#include "workqueue/work.h"

/* A queue that stands alone has no env, and its time is told. An attached queue
 * is a member of its client. One task does all its work: it adds keys that are
 * due, and calls the worker; at the close it frees everything in steps. Calls of
 * the program only note work and wake the task. */
struct kin_work_queue {
  kin__work work;
  kin_allocator allocator;
  kin_allocator memory; /* of keys; attached: in the client's slabs, so that the
                         * C library never gives back millions of freed blocks
                         * in one call */
  char *name;
  kin_work_queue_options options;

  const kin__env *env; /* NULL: the queue stands alone */
  kin__member member;
  kin__task task;
  kin__timer timer; /* the next key is due, or a retry without memory */
  kin_work_queue_drained_cb drained; /* NULL: no wait for the end */
  void *drained_data;
  bool is_drain_ended; /* by a later shutdown */
  bool is_retry_due;   /* there was no memory for a record */
  kin__link follows;   /* of kin__follow */
  kin__link line;      /* of those that wait for room, the first one first */
  uint32_t follow_count;
  uint64_t warning_due_ms; /* not before: a line about unusable keys */
  uint64_t refused_told;   /* of metrics.refused */
};

#define KIN__WORK_MAX_CONCURRENCY 65536u
#define KIN__WORK_MAX_FOLLOWS 256u

static inline bool kin__work_queue_is_closing(const kin_work_queue *queue) {
  return queue->env != NULL && queue->member.is_closing;
}

/* kin_work_queue_open on a host. */
int kin__work_queue_open(kin_work_queue **out, kin__host *host,
                         const kin_work_queue_options *options);

/* Lets the queue's time be now. */
void kin__work_queue_look(kin_work_queue *queue);
/* Schedules the task of an attached queue. */
void kin__work_queue_wake(kin_work_queue *queue);

/* --- The loop's part: work_loop.c ----------------------------------------- */

void kin__work_loop_init(kin_work_queue *queue);
/* Begins to free. Leads to kin__member_end. */
void kin__work_loop_close(kin_work_queue *queue);

/* --- Informers: work_follow.c --------------------------------------------- */

/* Schedules the first follows of the line, one for each free place; after a
 * shutdown all of them. O(KIN__WORK_MAX_FOLLOWS). */
void kin__work_follows_wake(kin_work_queue *queue);
/* Ends all callbacks of the informers' listeners. O(1), for at most
 * KIN__WORK_MAX_FOLLOWS informers. */
void kin__work_follows_close(kin_work_queue *queue);
/* Frees what is left of them, after the close. */
void kin__work_follows_free(kin_work_queue *queue);

#endif /* KIN_WORKQUEUE_WORK_QUEUE_H */
