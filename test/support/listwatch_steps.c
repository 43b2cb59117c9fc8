/* SPDX-License-Identifier: MIT */
#include "support/listwatch_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"

listwatch_steps lw;

static void begin(const kin__listwatch_options *options) {
  lw = (listwatch_steps){.now_ms = 1000000, .random = {7}};
  kin__listwatch_init(&lw.listwatch, options, kin__default_allocator(),
                      &lw.random, lw.now_ms);
}

int lw_setup(void **state) {
  (void)state;
  begin(&(kin__listwatch_options){.mode = KIN__LIST_AND_WATCH});
  return 0;
}

int lw_teardown(void **state) {
  (void)state;
  kin__listwatch_finish(&lw.listwatch);
  return 0;
}

void lw_begin_with(const kin__listwatch_options *options) {
  kin__listwatch_finish(&lw.listwatch);
  begin(options);
}

void lw_begin(uint32_t page_size) {
  lw_begin_with(
      &(kin__listwatch_options){.list_and_watch = {.page_size = page_size}});
}

void lw_begin_streams(bool *refused) {
  lw_begin_with(
      &(kin__listwatch_options){.list_and_watch = {.stream_refused = refused}});
}

void lw_begin_internal(uint32_t retry_ms) {
  lw_begin_with(&(kin__listwatch_options){
      .list_and_watch = {.internal_error_retry_ms = retry_ms}});
}

void lw_begin_watch_only(const char *version) {
  lw_begin_with(&(kin__listwatch_options){.mode = KIN__WATCH_ONLY,
                                          .watch_only = {.version = version}});
}

void lw_step(const kin__listwatch_input *input) {
  kin__listwatch_step(&lw.listwatch, input, lw.now_ms, &lw.actions);
  if (lw.actions.verdict.is_given) {
    assert_false(lw.verdict.is_given);
    lw.verdict = lw.actions.verdict;
  }
}

int lw_verdict(void) {
  bool is_given = lw.verdict.is_given;
  lw.verdict.is_given = false;
  return is_given ? lw.verdict.code : LW_NO_VERDICT;
}

bool lw_has_lost_verify(void) {
  return lw.actions.report == KIN__REPORT_NOT_REACHED ||
         lw.actions.report == KIN__REPORT_WENT_BACK;
}

void lw_input(kin__listwatch_input_type type) {
  lw_step(&(kin__listwatch_input){.type = type});
}

void lw_page(const char *version, const char *token) {
  lw_step(&(kin__listwatch_input){
      .type = KIN__INPUT_PAGE, .version = version, .token = token});
}

void lw_page_on(uint64_t connection, const char *version) {
  lw_step(&(kin__listwatch_input){.type = KIN__INPUT_PAGE,
                                  .version = version,
                                  .token = "",
                                  .connection = connection});
}

void lw_head_on(uint64_t connection) {
  lw_step(&(kin__listwatch_input){.type = KIN__INPUT_HEAD,
                                  .connection = connection});
}

void lw_watch_ends(uint64_t quiet_ms) {
  lw_step(&(kin__listwatch_input){.type = KIN__INPUT_WATCH_ENDED,
                                  .quiet_ms = quiet_ms});
}

void lw_verify(const char *target) {
  lw_step(
      &(kin__listwatch_input){.type = KIN__INPUT_VERIFY, .version = target});
}

void lw_fail(kin__failure failure) {
  lw_step(
      &(kin__listwatch_input){.type = KIN__INPUT_FAILED, .failure = &failure});
}

void lw_error_event(kin__failure failure) {
  lw_step(&(kin__listwatch_input){.type = KIN__INPUT_ERROR_EVENT,
                                  .failure = &failure});
}

void lw_saw(kin__decoded_type type, const char *version) {
  if (kin__listwatch_saw(&lw.listwatch, type, kin__cstr(version))) {
    lw_input(KIN__INPUT_REACHED);
  }
}

void lw_list_and_open(const char *version) {
  lw_input(KIN__INPUT_START);
  lw_page(version, "");
  assert_true(lw.actions.apply_stage);
  lw_input(KIN__INPUT_APPLIED);
  lw_assert_watch(version);
}

void lw_list_and_watch(const char *version) {
  lw_list_and_open(version);
  lw_input(KIN__INPUT_HEAD);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
}

kin__failure lw_status(int status, const char *reason) {
  kin__status said = {0};
  kin__status_make(&said, status, reason, "");
  kin__failure failure;
  kin__failure_from_status(&failure, &said, -1, "");
  return failure;
}

kin__failure lw_too_large(void) {
  kin__failure failure = lw_status(504, "Timeout");
  failure.is_rv_too_large = true;
  return failure;
}

kin__failure lw_broken(void) {
  return (kin__failure){
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};
}

void lw_assert_list(const char *version, uint32_t limit) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_LISTING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_LIST);
  assert_string_equal(lw.actions.request.version, version);
  assert_null(lw.actions.request.token);
  assert_int_equal(lw.actions.request.limit, limit);
}

void lw_assert_watch(const char *version) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_OPENING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_WATCH);
  assert_string_equal(lw.actions.request.version, version);
}

void lw_assert_verify(const char *version) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_VERIFY);
  assert_string_equal(lw.actions.request.version, version);
  assert_string_equal(lw.actions.request.version_match,
                      version[0] != '\0' ? "NotOlderThan" : "");
  assert_int_equal(lw.actions.request.limit, 1);
}

void lw_assert_proof(const char *version) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_PROOF);
  assert_string_equal(lw.actions.request.version, version);
  assert_string_equal(lw.actions.request.version_match, "NotOlderThan");
  assert_int_equal(lw.actions.request.limit, 0);
}

void lw_assert_wait(kin__listwatch_state after, uint64_t base_ms) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_int_equal(lw.listwatch.in.waiting.after, after);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_NONE);
  assert_true(lw.actions.start_timer);
  assert_in_range(lw.actions.timer_ms, base_ms, 2 * base_ms - 1);
}
