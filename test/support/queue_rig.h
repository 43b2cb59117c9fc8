/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_QUEUE_RIG_H
#define KIN_TEST_QUEUE_RIG_H

#include <kin/queue.h>

#include "support/fail_alloc.h"

/* A public queue and a notation for what goes in and what comes out.
 *
 * An object is "key@version", such as "ns/foo@5"; a ' after it for each time
 * that the transform has seen it. A change is
 *
 *   A:foo@1 added      U:foo@1 updated    D:foo@1 deleted
 *   X:foo@1 tombstone  X:foo@- tombstone without an object
 *   R:foo@1 replaced   S:foo@1 sync
 *   R*(foo@1,bar@2)#9 replaced all, of version 9
 *   S* sync all        B:9 bookmark
 *
 * What is popped is noted as its changes, with blanks between them, in brackets
 * if it came as a batch; items are separated by " | ".
 *
 * An operation is A, U, D or X with an object as above, or
 *
 *   R:foo@1,bar@2#9 replace; R: or R:#9 by nothing; an element "NULL" is NULL
 *   S resync           B:9 bookmark       I:foo@1 add_if_not_present of A:foo@1
 *   P pop              T pop_batch        C close
 */
typedef enum rig_kind { RIG_FIFO, RIG_DELTA, RIG_IN_ORDER } rig_kind;

#define RIG_MAX_KNOWN 16

typedef struct rig_known {
  char key[64];
  kin_object *object; /* NULL: absent */
  bool fails;         /* when looked up */
} rig_known;

typedef struct queue_rig {
  fail_alloc memory;  /* of the queue */
  fail_alloc objects; /* of objects made by the rig */
  kin_queue_options options;
  kin_queue *queue;
  rig_known known[RIG_MAX_KNOWN];
  size_t known_count;
  int known_error;     /* what a failing look-up answers */
  unsigned lookups;    /* calls of get */
  unsigned told;       /* calls of on_synced */
  int transform_error; /* what the transform answers from now on */
  unsigned transforms;

  /* What the process callback answers, and does before. */
  int result;
  bool requeue;
  void (*during)(struct queue_rig *rig, kin_queue_item *item);

  bool was_initial; /* of the last item */
  bool was_synced;  /* kin_queue_has_synced while it was processed */
  unsigned processed;
  char log[4096]; /* items popped by queue_rig_try and queue_rig_do */
} queue_rig;

/* Sets defaults; change `options` and then open. */
void queue_rig_init(queue_rig *rig);

/* Gives it known objects: "foo@5 bar@-  baz@!", where @- is told as a key but
 * absent, and looking up @! fails. Also when it is open. "" for none, but a
 * way to ask. */
void queue_rig_know(queue_rig *rig, const char *objects);

/* Uses the transform that adds a '. */
void queue_rig_transform(queue_rig *rig);

/* Makes the queue; asserts that it works. */
void queue_rig_open(queue_rig *rig, rig_kind kind);
/* All three in one; `known` may be NULL: no known objects. */
void queue_rig_open_simple(queue_rig *rig, rig_kind kind, const char *known);

/* Makes one that is in order. `known` NULL: lists and resyncs are one change,
 * and there are bookmarks. `batch_limit` 0: the default. */
void queue_rig_open_in_order(queue_rig *rig, const char *known,
                             uint32_t batch_limit);

/* Frees everything and asserts that nothing leaks. */
void queue_rig_close(queue_rig *rig);

/* Does one operation and returns what it returned. */
int queue_rig_try(queue_rig *rig, const char *operation);
/* Does several, separated by blanks, and asserts that each succeeds. */
void queue_rig_do(queue_rig *rig, const char *operations);

/* Pops one item and asserts that it is this one. */
void queue_rig_expect(queue_rig *rig, const char *item);
/* Pops everything, one by one or in batches, and asserts that this came.
 * Asserts that the queue is empty then. */
void queue_rig_drain(queue_rig *rig, const char *items);
void queue_rig_drain_batches(queue_rig *rig, const char *items);
/* Asserts what a scan meets, separated by blanks. */
void queue_rig_expect_list(queue_rig *rig, const char *changes);
/* Asserts that a pop finds nothing and says so with `code`. */
void queue_rig_expect_nothing(queue_rig *rig, int code);

/* Does the operations and asserts that the queue has synced then, or has not,
 * and was told so; then closes the rig. */
void queue_rig_expect_synced(queue_rig *rig, const char *operations,
                             bool is_synced);
/* Pops one item that puts itself back and answers `result`, after `during`. */
void queue_rig_requeue(queue_rig *rig, int result,
                       void (*during)(queue_rig *rig, kin_queue_item *item));
/* Asserts that 500 keys of two producers each come out in the order of adding,
 * and then nothing; then closes the rig. `second` is what the second one's keys
 * begin with, before the number. */
void queue_rig_expect_order(queue_rig *rig, const char *second);

/* Writes the changes, separated by blanks. */
void queue_rig_describe(char *to, size_t size, const kin_deltas *deltas);

/* The callback behind P and T: notes the item in `log`. `data` is the rig. */
int queue_rig_process(kin_queue *queue, kin_queue_item *item, void *data);
int queue_rig_process_batch(kin_queue *queue, kin_queue_item *item, void *data);

/* An object of "key@version", with one reference; NULL of "NULL". */
kin_object *queue_rig_object(queue_rig *rig, const char *text, size_t length);

#endif /* KIN_TEST_QUEUE_RIG_H */
