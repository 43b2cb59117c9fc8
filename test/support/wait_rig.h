/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_WAIT_RIG_H
#define KIN_TEST_WAIT_RIG_H

#include <kin/wait.h>

#include "support/virtual_host.h"

/* What a wait ended with. */
typedef struct wait_ending {
  virtual_host *vh;
  int calls;
  int code;
  uint64_t at_ms;
  size_t count;
  char done[16]; /* of each item: 'y', 'n', or 'c' closed */
  char error[512];
  void (*then)(struct wait_ending *ending); /* called last; may be NULL */
  void *data;
} wait_ending;

uint64_t wait_rig_now_ms(const virtual_host *vh);

/* Begins a wait that is noted in `ending`. */
int wait_rig_open(virtual_host *vh, kin_wait **out, const kin_wait_for *things,
                  size_t count, const char *what, uint64_t timeout_ms,
                  wait_ending *ending);

/* The wait has ended once, with this code, and with `done` done. `done` NULL:
 * whatever was done. */
void wait_ending_expect(const wait_ending *ending, int code, const char *done);

/* Something that is done at a time, and counts how often it was asked. */
typedef struct wait_timed {
  const virtual_host *vh;
  uint64_t at_ms;
  int asked;
} wait_timed;

/* A kin_wait_check_cb; data: wait_timed. */
bool wait_timed_is_due(void *data);

#endif /* KIN_TEST_WAIT_RIG_H */
