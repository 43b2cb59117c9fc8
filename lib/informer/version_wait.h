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

/* Waits until the store holds everything up to a version
 * (kin_informer_wait_version), and questions whether it is up to date
 * (kin_informer_verify).
 *
 * A wait is first with its scope, until the watch or a list has come to its
 * version; then it settles, until what was in the queue at that time is in the
 * store; then it is told, from the informer's task. Whatever happens elsewhere
 * only schedules the scope's task. */

struct kin__scope;

/* A scope has at most one question open, which its feed answers. */
typedef enum kin__asking {
  KIN__ASKING_NOTHING = 0,
  KIN__ASKING_FEED, /* until the feed tells the verdict */
  KIN__ASKING_TOLD, /* until the verdict has been passed on */
  KIN__ASKING_LIST  /* the watch was not up to date: until the next list */
} kin__asking;

/* A scope's. */
typedef struct kin__scope_waits {
  bool wants_steps; /* the task must hear of every step of the position */

  /* Waits for a version are in one of these two and either in by_version, a
   * heap whose time is the version, or in odd. */
  kin__link fresh; /* by age; the question was not asked since they began */
  kin__link asked; /* it was */
  kin__timers by_version;
  kin__link odd; /* whose version is no number of 64 bits; few */

  kin__link questions; /* to be asked */
  kin__link open_questions;

  kin__link settling;      /* in the order of what they wait for */
  kin__link settling_node; /* in the informer's iff that is not empty */

  kin__asking asking;
  int verdict;
  char newest[KIN__VERSION_SIZE]; /* that the verdict speaks of */
  /* Up to here everything has come, whatever the position is, as long as no
   * other list is applied; "" if nobody knows. */
  char verified[KIN__VERSION_SIZE];
  uint64_t lists;          /* how many had been applied by then */
  uint64_t not_before_ms;  /* the next question, whoever wants it */
  bool wants_watch;        /* that is because no watch was open */
  uint64_t again_ms;       /* when `asked` are asked about again, */
  uint64_t again_after_ms; /* and then after so long */
  kin__task task;
  kin__timer timer;
} kin__scope_waits;

/* An informer's. */
typedef struct kin__version_waits {
  uint32_t count; /* that have not been told */
  uint32_t odd_count;
  kin__link settling; /* scopes' settling_node */
  kin__link ended;    /* to be told, in this order */
  kin__task task;     /* tells them */
} kin__version_waits;

void kin__version_waits_init(kin_informer *informer);
void kin__scope_waits_init(kin__scope_waits *waits);

/* The scope closes: its waits end with `code`. It has none any more, and its
 * task and timer are at rest. O(n) for its waits. */
void kin__version_waits_end(struct kin__scope *scope, int code);

/* Tells a few of those that have ended; they may do anything. Returns whether
 * there are more. An informer is not gone before all are told. */
bool kin__version_waits_tell(kin_informer *informer);

/* Something has changed: a list was applied, or the scope stopped. Not to be
 * called after the end. */
void kin__version_waits_wake(struct kin__scope *scope);
/* kin__feed_owner.opened. */
void kin__version_waits_opened(kin_feed *feed);
/* kin__feed_owner.verified. */
void kin__version_waits_verified(kin_feed *feed, int code, const char *version);
/* kin__feed_owner.advanced. */
void kin__version_waits_advanced(kin_feed *feed, kin_str version);
/* Keys have been processed. */
void kin__version_waits_processed(kin_informer *informer);

#endif /* KIN_INFORMER_VERSION_WAIT_H */
