/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_PAGER_CORE_H
#define KIN_FEED_PAGER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed/feed.h"

/* Gives the items of one list to an owner, page by page: a feed that only
 * lists, its stage as the queue of items, and a task that empties the queue.
 * Embedded in its owner, a public pager or a check of an informer's lists. */
typedef struct kin__pager_core kin__pager_core;

/* All are called from a task. item and ended may close the core. */
typedef struct kin__pager_owner {
  /* An item, borrowed. A result other than 0 ends the list. */
  int (*item)(kin__pager_core *core, const kin_object *item);
  /* The list has ended and no items are left. `code` 0: the owner has all
   * items; else the result of item, or a failure. */
  void (*ended)(kin__pager_core *core, const kin__failure *end);
  /* A failure before a retry; may be NULL. */
  void (*failed)(kin__pager_core *core, kin_error_event *event);
  /* The closed core is empty. The last call. */
  void (*emptied)(kin__pager_core *core);
} kin__pager_owner;

/* All pointers must outlive the core. */
typedef struct kin__pager_core_options {
  const kin__pager_owner *owner;
  kin__feed_options feed; /* the core sets owner and listwatch */
  kin__list_once list;    /* is_whole: no item is given before the list is
                           * complete */
  uint32_t pages_ahead;   /* see kin_pager_options */
} kin__pager_core_options;

/* Invariants. Unless closing, the task is scheduled in two cases: an item or a
 * notice can be given and the core is not paused; or the next page may be
 * requested. Stale objects of the stage are freed first. */
struct kin__pager_core {
  kin__pager_core_options options;
  kin_feed feed;
  kin__link paused; /* the feed, while it does not read */
  kin__task task;

  /* Where each complete page ends, in items, for pages not wholly given yet: a
   * ring of pages_ahead + 2 places. NULL for a whole list. */
  uint64_t *page_ends;
  uint32_t first_page;
  uint32_t page_count;

  uint64_t given;
  size_t high;     /* with this many items in hand, reading stops */
  bool is_due;     /* a page is complete; the feed waits for
                    * kin__feed_applied */
  bool is_paused;  /* by the owner */
  bool has_ended;  /* no more items will come */
  bool is_end_due; /* the owner waits for the end */
  bool is_closing;
  kin__failure end;
};

/* Errors: KIN_ENOMEM; then there is nothing to finish. */
int kin__pager_core_init(kin__pager_core *core,
                         const kin__pager_core_options *options);
/* The core must be empty. */
void kin__pager_core_finish(kin__pager_core *core);

/* Begins the list. */
void kin__pager_core_start(kin__pager_core *core);
/* After the end: lists again from the beginning. */
void kin__pager_core_restart(kin__pager_core *core);
/* Ends the list with KIN_ECLOSED, unless the owner was already told the end.
 * The owner is told from the task. */
void kin__pager_core_abort(kin__pager_core *core);
/* Call once. The only later callback is emptied. */
void kin__pager_core_close(kin__pager_core *core);
void kin__pager_core_set_paused(kin__pager_core *core, bool is_paused);

#endif /* KIN_FEED_PAGER_CORE_H */
