/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_VERSION_WAIT_H
#define KIN_INFORMER_VERSION_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"
#include "listwatch/listwatch.h"

/* Waits until the store holds all changes up to a version
 * (kin_informer_wait_version), and questions whether the store is up to date
 * (kin_informer_verify).
 *
 * A wait has three stages. First it belongs to its scope, until the watch or a
 * list reaches its version. Then it settles, until the changes that were queued
 * at that time are in the store. Then the informer's task calls its callback.
 * Other code only schedules the scope's task. */

struct kin__scope;

/* A scope has at most one open question to its feed. */
typedef enum kin__asking {
  KIN__ASKING_NOTHING = 0,
  KIN__ASKING_FEED, /* until the feed has a verdict */
  KIN__ASKING_TOLD, /* until the verdict is processed */
  KIN__ASKING_LIST  /* the watch was not up to date: until the next list */
} kin__asking;

/* The waits of a scope; made with the first one. */
typedef struct kin__scope_waits {
  struct kin__scope *scope;
  bool wants_steps; /* the scope has waits for a version: the task hears of
                     * every step of the position */

  /* A wait for a version is in `fresh` or `asked`. It is also in by_version, a
   * heap ordered by version, or in `odd`. */
  kin__link fresh; /* by age; no question was asked since the wait began */
  kin__link asked; /* a question was asked since the wait began */
  kin__timers by_version;
  kin__link odd; /* the version is no 64-bit number; few */

  kin__link questions; /* not asked yet */
  kin__link open_questions;

  kin__link settling;      /* ordered by settled_at */
  kin__link settling_node; /* in the informer's list iff `settling` is not
                            * empty */

  kin__asking asking;
  int verdict;
  char newest[KIN__VERSION_SIZE]; /* version of the verdict */
  /* All changes up to this version have come, even if the position is older.
   * Valid until the next list is applied; "" if unknown. */
  char verified[KIN__VERSION_SIZE];
  uint64_t lists;          /* feed.counters.lists at the verdict */
  uint64_t not_before_ms;  /* earliest time of the next question */
  uint64_t retry_after_ms; /* pause after a question without an answer; doubles
                            * up to a minute */
  bool wants_watch;        /* a question failed because no watch was open */
  uint64_t again_ms;       /* when to ask again for `asked` */
  uint64_t again_after_ms; /* pause before again_ms; doubles up to a minute */
  kin__task task;
  kin__timer timer;
} kin__scope_waits;

/* The waits of an informer; made with the first one. */
typedef struct kin__version_waits {
  kin_informer *informer;
  uint32_t count; /* waits and questions without a callback so far */
  uint32_t odd_count;
  kin__link settling; /* scopes' settling_node */
  kin__link ended;    /* waits for their callback, in order */
  kin__task task;     /* calls the callbacks */
} kin__version_waits;

/* No callback comes any more but from kin__version_waits_tell. */
void kin__version_waits_close(kin_informer *informer);

/* The scope closes: its waits end with KIN_ECLOSED, and its task and timer
 * stop. O(n) for its waits. */
void kin__version_waits_end(struct kin__scope *scope);

/* Calls the callbacks of a few ended waits; callbacks may do anything. Returns
 * whether more have ended. An informer is not gone before all callbacks. */
bool kin__version_waits_tell(kin_informer *informer);

/* A list was applied, or the scope stopped. Not after
 * kin__version_waits_end. */
void kin__version_waits_wake(struct kin__scope *scope);
/* Implements kin__feed_owner.opened. */
void kin__version_waits_opened(kin_feed *feed);
/* Implements kin__feed_owner.verified. */
void kin__version_waits_verified(kin_feed *feed, int code, const char *version);
/* Implements kin__feed_owner.advanced. */
void kin__version_waits_advanced(kin_feed *feed, kin_str version);
/* The process task has processed keys. */
void kin__version_waits_processed(kin_informer *informer);

#endif /* KIN_INFORMER_VERSION_WAIT_H */
