/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_NAIVE_QUEUE_H
#define KIN_TEST_NAIVE_QUEUE_H

#include "support/queue_rig.h"

/* The three queues as the behaviour rows tell them, over one array that is
 * searched from end to end. Changes are in the notation of queue_rig.h; objects
 * are told by their text, such as "foo@5'", or "-" for none. */
#define NAIVE_MAX_CHANGES 2000

typedef struct naive_queue_change {
  char type;      /* A U D X R S, or * for what has no key */
  char key[16];   /* "" for those */
  char what[256]; /* the object; or, if there is no key, the whole change */
  bool is_place;  /* FIFO: deleted before its turn */
} naive_queue_change;

typedef struct naive_queue {
  rig_kind kind;
  const queue_rig *rig; /* for what is known */
  bool has_known;
  bool emit_replaced;
  bool emit_bookmarks;
  size_t batch_limit;
  naive_queue_change
      changes[NAIVE_MAX_CHANGES]; /* delta: in order of arrival */
  size_t count;
  char turns[64][16]; /* delta: keys in the order of their turns */
  size_t turn_count;
  bool is_populated;
  bool is_synced;
  size_t initial;
  bool is_closed;

  /* What is being processed. */
  naive_queue_change taken[NAIVE_MAX_CHANGES];
  size_t taken_count;
  bool is_processing;
  bool was_initial;
} naive_queue;

void naive_queue_put(naive_queue *q, char type, const char *key,
                     const char *object);
void naive_queue_remove(naive_queue *q, char type, const char *key,
                        const char *object);
void naive_queue_restore(naive_queue *q, const char *key, const char *object);
void naive_queue_resync(naive_queue *q);
void naive_queue_bookmark(naive_queue *q, const char *version);

/* `objects` as transformed. A list of a delta queue stops before the step with
 * the number `last_step`, counted from 0, as if it had failed there; returns
 * whether it did. SIZE_MAX: all of it. */
bool naive_queue_replace(naive_queue *q, char keys[][16], char objects[][32],
                         size_t count, const char *version, size_t last_step);

/* Takes an item out and writes it as queue_rig notes it; false if there is
 * none. */
bool naive_queue_begin(naive_queue *q, bool is_batch, char *to, size_t size);
void naive_queue_end(naive_queue *q, bool requeue);

size_t naive_queue_count(const naive_queue *q);
/* What a scan meets. */
void naive_queue_list(const naive_queue *q, char *to, size_t size);
/* What is queued for a key, "" if nothing. */
void naive_queue_get(const naive_queue *q, const char *key, char *to,
                     size_t size);

#endif /* KIN_TEST_NAIVE_QUEUE_H */
