/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_PAGER_CORE_H
#define KIN_FEED_PAGER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed/feed.h"

/* One list, page by page, whose items are given to an owner: a feed that only
 * lists, its stage as the queue of what is in hand, and a task that empties it.
 * Embedded in what it works for, a public pager or a check of an informer's
 * lists. */
typedef struct kin__pager_core kin__pager_core;

/* All from a task; item and ended may close the core. */
typedef struct kin__pager_owner {
  /* An item, borrowed. Non-zero: no other one is wanted; that is the end. */
  int (*item)(kin__pager_core *core, const kin_object *item);
  /* It is over; nothing is left in hand. code 0: all items have been given;
   * what item returned; or a failure. */
  void (*ended)(kin__pager_core *core, const kin__failure *end);
  /* A failure that another attempt follows; may be NULL. */
  void (*failed)(kin__pager_core *core, kin_error_event *event);
  /* It was closed and is empty; the last call. */
  void (*emptied)(kin__pager_core *core);
} kin__pager_owner;

/* All that is pointed to must outlive the core, but for feed.source. */
typedef struct kin__pager_core_options {
  const kin__pager_owner *owner;
  kin__feed_options feed; /* its owner is not to be set */
  kin__list_once list;    /* with is_whole: nothing is given before all is
                           * there */
  uint32_t pages_ahead;   /* see kin_pager_options */
} kin__pager_core_options;

/* Invariants: while it is not closing, the task is scheduled if there is
 * something to give or tell and it is not paused, or the next page may be asked
 * for; stale objects of the stage are freed before anything else. */
struct kin__pager_core {
  kin__pager_core_options options;
  kin_lister_watcher source;
  kin_feed feed;
  kin__link paused; /* the feed, if it is not to read */
  kin__task task;

  /* Where the complete pages end that have not been given wholly, counted in
   * items: a ring with room for pages_ahead + 2. NULL for a whole list. */
  uint64_t *page_ends;
  uint32_t first_page;
  uint32_t page_count;

  uint64_t given;
  size_t high;     /* items in hand beyond which nothing is read */
  bool is_due;     /* a page is complete, and the feed waits to go on */
  bool is_paused;  /* by the owner */
  bool has_ended;  /* nothing will come in any more */
  bool is_end_due; /* that is to be told */
  bool is_closing;
  kin__failure end;
};

/* Errors: KIN_ENOMEM; there is nothing to finish then. */
int kin__pager_core_init(kin__pager_core *core,
                         const kin__pager_core_options *options);
/* It must be empty. */
void kin__pager_core_finish(kin__pager_core *core);

/* Lists what `list` asks for now: its strings may have changed. */
void kin__pager_core_start(kin__pager_core *core);
/* It has ended: once more, from the beginning. */
void kin__pager_core_restart(kin__pager_core *core);
/* Gives up what has not been told to have ended; that is still told, from its
 * task, with KIN_ECLOSED. */
void kin__pager_core_abort(kin__pager_core *core);
/* Once. The owner is told when it is empty, and nothing else. */
void kin__pager_core_close(kin__pager_core *core);
void kin__pager_core_pause(kin__pager_core *core, bool is_paused);

#endif /* KIN_FEED_PAGER_CORE_H */
