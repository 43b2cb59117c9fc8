/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_UNTIL_WORLD_H
#define KIN_TEST_UNTIL_WORLD_H

#include "support/retry_world.h"
#include "support/virtual_host.h"
#include "toolkit/watch.h"

/* A wait for conditions on pods of a virtual host, and how it ended. */
typedef struct until_world {
  virtual_host vh;
  kin_informer_options resource;
  kin_until_condition conditions[4];
  kin_until_options options;
  kin_until *until;

  char asked[512]; /* what the conditions were asked, "A0 M1 " and so on: the
                    * event's type and the condition's number */
  int calls;       /* of conditions, precondition and on_error */
  int failures;    /* on_error's */
  kin_retry answer;
  int preconditions;
  int precondition_answer;             /* what the precondition returns */
  void (*then)(struct until_world *w); /* called in each of these */
  int how;                             /* for `then` */
  int at_call;

  int results;
  int code;
  size_t held;
  char event[96]; /* "A:x@6", "E:410/Gone", "" for none */
  uint64_t at_ms; /* after the beginning */
  uint64_t began_ms;
  int result_cancel; /* what cancelling in the result callback gave */
} until_world;

/* Conditions that hold for an event of this type, 'A', 'M', 'D' or 'E'; a '!'
 * is one that fails with KIN_EUNEXPECTED, a '*' holds for all. */
void uw_init(until_world *w, const char *conditions, size_t fail_at);
int uw_try_open(until_world *w, bool is_synced);
/* Fails the test on an error. `version` NULL: kin_until_open_synced. */
void uw_open(until_world *w, const char *conditions, const char *version);
/* With a precondition that gives this answer. */
void uw_open_with(until_world *w, const char *conditions, int answer);

void uw_pass(until_world *w, uint64_t ms);
void uw_head(until_world *w);
void uw_send(until_world *w, const char *frames);

/* It has ended, once, like this. */
void uw_expect(const until_world *w, int code, size_t held, const char *event);
/* Closes the host and all, and fails the test if anything is left, or if there
 * was not one result. */
void uw_finish(until_world *w);

#endif /* KIN_TEST_UNTIL_WORLD_H */
