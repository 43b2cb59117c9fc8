/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_VERSION_WAIT_CORE_H
#define KIN_INFORMER_VERSION_WAIT_CORE_H

#include "informer/scope.h"
#include "informer/version_wait.h"

/* Shared by the files of the waits: version_wait.c has a wait's way to its end,
 * version_question.c the questions to the feed, version_wait_tell.c the
 * callbacks. */

#define KIN__WAIT_PENDING 1
#define KIN__WAITS_PER_STEP 64u
/* Time for the watch to reach a version by itself, before a question. A version
 * that the server does not know costs a list of one item from time to time. */
#define KIN__WAIT_PATIENCE_MS 500u

/* A pending wait (`code` KIN__WAIT_PENDING) is in one of the scope's lists. Any
 * other wait is in the informer's `ended`, and its `scope` may be gone. */
typedef struct kin__version_wait {
  kin__link node;
  kin__link odd_node; /* in the scope's `odd`, or nowhere */
  kin__timer place;   /* in the scope's by_version, or nowhere */
  kin__timer timeout;
  kin_informer *informer;
  kin__scope *scope;
  kin_version_cb cb;
  void *data;
  uint64_t began_ms;
  uint64_t settled_at; /* settling: informer->processed_keys */
  int code;
  bool is_question; /* a kin_informer_verify; `version` is its answer */
  char version[KIN__VERSION_SIZE];
} kin__version_wait;

/* NULL if the list is empty. */
static inline kin__version_wait *
kin__version_wait_first(const kin__link *list) {
  return kin__link_is_empty(list)
             ? NULL
             : KIN__CONTAINER_OF(list->next, kin__version_wait, node);
}

static inline kin__slice kin__version_waits_slice(const kin__scope *scope) {
  return kin__slice_begin_small(scope->informer->env->sched,
                                KIN__WAITS_PER_STEP);
}

/* The position, or a newer version verified since the last list. "" while
 * unknown, while versions repeat, and while the store has what was to be listed
 * before a change: another shard, or keys without their bodies. */
const char *kin__version_waits_position(const kin__scope *scope);
/* The wait's version is reached: the keys queued now must be processed next. */
void kin__version_wait_settle(kin__version_wait *wait);
/* Ends all waits of the scope that have not settled. O(n). */
void kin__version_waits_end_unsettled(kin__scope *scope, int code);

/* The wait is a question from here on (kin_informer_verify). */
void kin__version_wait_question(kin__version_wait *wait);
/* Asks the feed, if a question is due, or starts the timer for it. */
void kin__version_waits_ask(kin__scope *scope);
/* Handles the feed's verdict, a few questions at a time. Returns whether there
 * is more to do. */
bool kin__version_waits_judge(kin__scope *scope);

/* Makes the informer's waits, unless they are there. Errors: KIN_ENOMEM. */
int kin__version_waits_have(kin_informer *informer);

#endif /* KIN_INFORMER_VERSION_WAIT_CORE_H */
