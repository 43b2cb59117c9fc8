/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_CONTROLLER_H
#define KIN_CACHE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/controller.h>
#include <kin/reflector.h>

#include "base/sched.h"
#include "base/str.h"
#include "base/timers.h"
#include "client/host.h"
#include "cache/public_reflector.h"
#include "cache/queue.h"
#include "store/replacement.h"

/* A controller: a reflector fills a queue, and one task empties it.
 *
 * The task pops items. An in-order queue also has items for everything: a list
 * or a resync. The task takes such an item out, processes it in slices, and
 * pops nothing meanwhile.
 *
 * Every callback may close the controller. A close only sets a flag and stops
 * everything that could call back. So code that has called a callback checks
 * is_closing and returns. */
typedef enum kin__controller_phase {
  KIN__CONTROLLER_POPPING = 0,
  KIN__CONTROLLER_REPLACING, /* a list becomes the store's content */
  KIN__CONTROLLER_SYNCING,   /* handlers are told of all stored objects */
  KIN__CONTROLLER_FREEING    /* the replaced content and the list */
} kin__controller_phase;

#define KIN__CONTROLLER_KEY_BYTES 512u
#define KIN__CONTROLLER_LIST_STEP 64u

/* Changes that may wait in a delta queue before reading is paused. An in-order
 * queue has the same default (QF-16). */
#define KIN__CONTROLLER_PENDING 2000u

struct kin_controller {
  kin__member member;
  const kin__env *env;
  kin_controller_options options; /* its strings and structs are not used */
  kin_process_handlers handlers;  /* the program's */
  kin_process_handlers timed;     /* the same, with a clock around each call */

  kin_queue *queue;
  bool owns_queue;          /* the controller made the queue; the store is used
                             * only then */
  kin_store store;          /* .memory NULL: none */
  kin_store doomed;         /* the store's content while it is being freed */
  kin_reflector *reflector; /* NULL once the reflector is gone */
  kin__list_taker taker;    /* for the reflector, if owns_queue */

  kin__task task;
  kin__task index_task; /* builds indices that were added to the store later */
  kin__timer timer;     /* until the next try */
  kin__timer index_timer;

  kin__slice slice; /* of the step that pops */
  kin__controller_phase phase;
  kin__payload *list; /* the list that the reflector is adding to, or NULL */
  kin__whole whole;   /* the current item, unless POPPING */
  kin__replacement replacement;
  bool has_replacement; /* the replacement has content to be freed */
  kin_cursor sync;
  bool is_resyncing;   /* a resync by key is running */
  uintptr_t resync;    /* the place in the known keys, which are the store's */
  uint32_t resync_end; /* of this resync or of `sync`: later slots were added
                        * after it began */

  bool is_popping;    /* changes of the queue are the controller's own */
  bool was_called;    /* the pop has called `process` */
  bool was_put_back;  /* the item of the pop has been put back */
  uint64_t fruitless; /* items put back since the last success or new item */
  uint32_t waits;     /* number of consecutive waits */
  uint32_t key_length;
  char key[KIN__CONTROLLER_KEY_BYTES]; /* of the item that failed */
  kin_controller_stats stats;

  bool is_started;
  bool is_synced_told;
  bool is_emptied; /* the store was emptied into doomed */
};

/* kin_controller_open for any host. The same errors. */
int kin__controller_open(kin_controller **out, kin__host *host,
                         const kin_controller_options *options);

/* --- The loop, controller_loop.c ------------------------------------------ */

/* Prepares tasks, timers and the handlers with a clock. */
void kin__controller_loop_init(kin_controller *controller);

/* Whether `last`, which may be NULL, is a state of the same object. */
static inline bool kin__controller_is_same(const kin_object *last,
                                           const kin_object *object) {
  return last != NULL &&
         kin__str_equal(kin_object_uid(last), kin_object_uid(object));
}

/* There may be work: schedules the task. */
void kin__controller_wake(kin_controller *controller);

/* For a queue by key: the current list will not be completed; a resync is
 * due. */
void kin__controller_give_list_up(kin_controller *controller);
void kin__controller_begin_resync(kin_controller *controller);

/* Stops everything but freeing. kin__controller_ended is called when the large
 * parts have been freed. */
void kin__controller_loop_close(kin_controller *controller);
void kin__controller_ended(kin_controller *controller);

#endif /* KIN_CACHE_CONTROLLER_H */
