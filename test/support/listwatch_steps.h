/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_LISTWATCH_STEPS_H
#define KIN_TEST_LISTWATCH_STEPS_H

#include "listwatch/listwatch.h"

/* A listwatch as a function: inputs are given, and what it wants done is looked
 * at. One at a time, in `lw`. */
typedef struct listwatch_steps {
  kin__listwatch listwatch;
  kin__random random;
  kin__listwatch_actions actions; /* of the last input */
  kin__verdict verdict;           /* not taken yet */
  uint64_t now_ms;
} listwatch_steps;

extern listwatch_steps lw;

/* As cmocka's; it lists. */
int lw_setup(void **state);
int lw_teardown(void **state);
/* Another one, with this page size, or with these options. */
void lw_begin(uint32_t page_size);
void lw_begin_with(const kin__listwatch_options *options);
/* Another one, whose lists come as watches until `*refused`. */
void lw_begin_streams(bool *refused);
/* Another one, which retries internal errors for so long. */
void lw_begin_internal(uint32_t retry_ms);
/* Another one, which only watches, after this version. */
void lw_begin_watch_only(const char *version);

void lw_step(const kin__listwatch_input *input);
void lw_input(kin__listwatch_input_type type);
void lw_page(const char *version, const char *token);
void lw_verify(const char *target);
/* With the connection that it came on. */
void lw_page_on(uint64_t connection, const char *version);
void lw_head_on(uint64_t connection);
/* A watch ends in good order, so long after its last byte. */
void lw_watch_ends(uint64_t quiet_ms);
void lw_fail(kin__failure failure);
void lw_error_event(kin__failure failure);
void lw_saw(kin__decoded_type type, const char *version);
/* START and a list of this version; the watch is OPENING, or WATCHING. */
void lw_list_and_open(const char *version);
void lw_list_and_watch(const char *version);

/* The verdict of a verify, once. */
#define LW_NO_VERDICT 1
int lw_verdict(void);
/* Whether the last input reports a position that a verify has lost. */
bool lw_has_lost_verify(void);

kin__failure lw_status(int status, const char *reason);
kin__failure lw_too_large(void);
kin__failure lw_broken(void); /* the connection */

void lw_assert_list(const char *version, uint32_t limit);
void lw_assert_watch(const char *version);
/* A list of none, NotOlderThan that version. */
void lw_assert_proof(const char *version);
/* A list of one item; "" matches without NotOlderThan. */
void lw_assert_verify(const char *version);
/* Waiting for `after`, with an un-jittered delay of `base_ms`. */
void lw_assert_wait(kin__listwatch_state after, uint64_t base_ms);

#endif /* KIN_TEST_LISTWATCH_STEPS_H */
