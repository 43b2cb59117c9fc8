/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_CONTROLLER_H
#define KIN_CACHE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/controller.h>
#include <kin/reflector.h>

#include "base/sched.h"
#include "base/timers.h"
#include "client/host.h"
#include "cache/public_reflector.h"
#include "cache/queue.h"
#include "store/replacement.h"

/* A reflector fills the queue, one task empties it.
 *
 * The task pops; what concerns everything, a list or a resync in order, it
 * takes out of the queue and does in slices, and pops nothing meanwhile. Every
 * callback may close the controller: closing only notes it and stops what could
 * call anything, so whoever has called something looks at is_closing and
 * unwinds. */
typedef enum kin__controller_phase {
  KIN__CONTROLLER_POPPING = 0,
  KIN__CONTROLLER_REPLACING, /* a list becomes the store's content */
  KIN__CONTROLLER_SYNCING,   /* all stored objects are told of */
  KIN__CONTROLLER_FREEING    /* what has been replaced, and the list */
} kin__controller_phase;

#define KIN__CONTROLLER_KEY_BYTES 512u
#define KIN__CONTROLLER_LIST_STEP 64u

/* Keys that may wait in a delta queue before reading is paused; in order it is
 * the same by default (QF-16). */
#define KIN__CONTROLLER_PENDING 2000u

struct kin_controller {
  kin__member member;
  kin__host *host;
  const kin__env *env;
  kin_controller_options options; /* strings and structs in it are not used */
  kin_process_handlers handlers;  /* the program's */
  kin_process_handlers timed;     /* the same, with a clock around them */

  kin_queue *queue;
  bool owns_queue;          /* and the store, which else is not in use */
  kin_store store;          /* .memory NULL: none */
  kin_store doomed;         /* what it held, once it is being freed */
  kin_reflector *reflector; /* NULL once it is gone */
  kin__list_taker taker;    /* the reflector's, if the queue is ours */

  kin__task task;
  kin__task index_task; /* builds indices that were added to the store */
  kin__timer timer;     /* until something is tried again */
  kin__timer index_timer;

  kin__controller_phase phase;
  kin__payload *list; /* that the reflector is putting in, or NULL */
  kin__whole whole;   /* the item in hand, unless POPPING */
  kin__replacement replacement;
  bool has_replacement; /* it has something to be freed */
  kin_cursor sync;
  bool is_resyncing; /* by key */
  uintptr_t resync;  /* how far that is */

  bool is_popping;    /* what the queue tells is our own doing */
  bool was_called;    /* the pop has called `process` */
  bool was_put_back;  /* its item has been put back */
  uint64_t fruitless; /* items put back since one succeeded or came */
  uint32_t waits;     /* in a row */
  uint32_t key_length;
  char key[KIN__CONTROLLER_KEY_BYTES]; /* of the item that failed */
  kin_controller_stats stats;

  bool is_started;
  bool is_synced_told;
  bool is_closing;
  bool is_emptied; /* the store: see doomed */
  kin__deferred gone;
  kin_controller_close_cb close_cb;
  void *close_data;
};

/* kin_controller_open in any surroundings. The same errors. */
int kin__controller_open(kin_controller **out, kin__host *host,
                         const kin_controller_options *options);

/* --- The loop, controller_loop.c ------------------------------------------ */

/* Readies tasks, timers and the handlers with a clock. */
void kin__controller_loop_init(kin_controller *controller);

/* There may be something to do. */
void kin__controller_wake(kin_controller *controller);

/* Of a queue by key: a list will not be completed; a resync is due. */
void kin__controller_give_list_up(kin_controller *controller);
void kin__controller_begin_resync(kin_controller *controller);

/* Stops everything but freeing; kin__controller_ended is called when all that
 * takes long has been freed. */
void kin__controller_loop_close(kin_controller *controller);
void kin__controller_ended(kin_controller *controller);

#endif /* KIN_CACHE_CONTROLLER_H */
