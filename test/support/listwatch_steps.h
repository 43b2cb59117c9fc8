/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_LISTWATCH_STEPS_H
#define KIN_TEST_LISTWATCH_STEPS_H

#include "listwatch/listwatch.h"

/* A listwatch as a function: inputs are given, and what it wants done is looked
 * at. One at a time, in `rs`. */
typedef struct reflector_steps {
  kin__listwatch listwatch;
  kin__random random;
  kin__listwatch_actions actions; /* of the last input */
  uint64_t now_ms;
} reflector_steps;

extern reflector_steps rs;

/* As cmocka's; it lists. */
int rs_setup(void **state);
int rs_teardown(void **state);
/* Another one, with this page size. */
void rs_begin(uint32_t page_size);

void rs_input(kin__listwatch_input_type type);
void rs_page(const char *version, const char *token);
void rs_verify(const char *target);
/* With the connection that it came on. */
void rs_page_on(uint64_t connection, const char *version);
void rs_head_on(uint64_t connection);
/* A watch ends in good order, so long after its last byte. */
void rs_watch_ends(uint64_t quiet_ms);
void rs_fail(kin__failure failure);
void rs_error_event(kin__failure failure);
void rs_saw(kin__decoded_type type, const char *version);
/* START and a list of this version; the watch is OPENING, or WATCHING. */
void rs_list_and_open(const char *version);
void rs_list_and_watch(const char *version);

kin__failure rs_status(int status, const char *reason);
kin__failure rs_too_large(void);
kin__failure rs_broken(void); /* the connection */

void rs_assert_list(const char *version, uint32_t limit);
void rs_assert_watch(const char *version);
/* A list of none, NotOlderThan that version. */
void rs_assert_proof(const char *version);
/* A list of one item; "" matches without NotOlderThan. */
void rs_assert_verify(const char *version);
/* Waiting for `after`, with an un-jittered delay of `base_ms`. */
void rs_assert_wait(kin__listwatch_state after, uint64_t base_ms);

#endif /* KIN_TEST_LISTWATCH_STEPS_H */
