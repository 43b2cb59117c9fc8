/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CHANGE_LOG_H
#define KIN_TEST_CHANGE_LOG_H

#include <kin/process.h>

#include "support/fail_alloc.h"

/* Handlers of kin_process_deltas or a controller that write down what they are
 * told and check it: what is told follows from what was told before, and the
 * store has it already.
 *
 *   A:foo@1    added          I:foo@1    added, initial
 *   U:foo@1>2  updated        D:foo@2    deleted
 *   X:foo@2    a tombstone    X:foo@-    one without an object
 *
 * with blanks between them. */
typedef struct change_log {
  kin_process_handlers handlers;
  kin_store *store; /* that the changes are made in; NULL: not looked at */
  kin_store *told;  /* what a program knows that believes its handlers */
  bool is_ahead;    /* the store may have changed further */
  bool is_terse;    /* nothing is written down */
  unsigned calls;
  unsigned adds;
  unsigned updates;
  unsigned deletes;
  void (*during)(struct change_log *log); /* at the end of each call */
  void *data;
  char text[16384];
} change_log;

void change_log_init(change_log *log, kin_store *store);
void change_log_finish(change_log *log);

/* Asserts what has been written down since the last time, and forgets it. */
void change_log_expect(change_log *log, const char *text);

/* Asserts that the program knows just what the store has. */
void change_log_assert_folds_to(const change_log *log, const kin_store *store);

#endif /* KIN_TEST_CHANGE_LOG_H */
