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

reflector_steps rs;

static void begin(uint32_t page_size) {
  rs = (reflector_steps){.now_ms = 1000000, .random = {7}};
  kin__listwatch_init(&rs.listwatch, kin__default_allocator(), &rs.random,
                      page_size, rs.now_ms);
}

int rs_setup(void **state) {
  (void)state;
  begin(0);
  return 0;
}

int rs_teardown(void **state) {
  (void)state;
  kin__listwatch_finish(&rs.listwatch);
  return 0;
}

void rs_begin(uint32_t page_size) {
  kin__listwatch_finish(&rs.listwatch);
  begin(page_size);
}

static void step(const kin__listwatch_input *input) {
  kin__listwatch_step(&rs.listwatch, input, rs.now_ms, &rs.actions);
}

void rs_input(kin__listwatch_input_type type) {
  step(&(kin__listwatch_input){.type = type});
}

void rs_page(const char *version, const char *token) {
  step(&(kin__listwatch_input){
      .type = KIN__INPUT_PAGE, .version = version, .token = token});
}

void rs_page_on(uint64_t connection, const char *version) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_PAGE,
                               .version = version,
                               .token = "",
                               .connection = connection});
}

void rs_head_on(uint64_t connection) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_HEAD,
                               .connection = connection});
}

void rs_watch_ends(uint64_t quiet_ms) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_WATCH_ENDED,
                               .quiet_ms = quiet_ms});
}

void rs_verify(const char *target) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_VERIFY, .version = target});
}

void rs_fail(kin__failure failure) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_FAILED, .failure = &failure});
}

void rs_error_event(kin__failure failure) {
  step(&(kin__listwatch_input){.type = KIN__INPUT_ERROR_EVENT,
                               .failure = &failure});
}

void rs_saw(kin__decoded_type type, const char *version) {
  kin__listwatch_saw(&rs.listwatch, type, kin__cstr(version));
}

void rs_list_and_open(const char *version) {
  rs_input(KIN__INPUT_START);
  rs_page(version, "");
  assert_true(rs.actions.apply_stage);
  rs_input(KIN__INPUT_APPLIED);
  rs_assert_watch(version);
}

void rs_list_and_watch(const char *version) {
  rs_list_and_open(version);
  rs_input(KIN__INPUT_HEAD);
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_WATCHING);
}

kin__failure rs_status(int status, const char *reason) {
  kin__status said = {0};
  kin__status_make(&said, status, reason, "");
  kin__failure failure;
  kin__failure_from_status(&failure, &said, -1, "");
  return failure;
}

kin__failure rs_too_large(void) {
  kin__failure failure = rs_status(504, "Timeout");
  failure.is_rv_too_large = true;
  return failure;
}

kin__failure rs_broken(void) {
  return (kin__failure){
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};
}

void rs_assert_list(const char *version, uint32_t limit) {
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_LISTING);
  assert_int_equal(rs.actions.request, KIN__REQUEST_LIST);
  assert_string_equal(rs.actions.version, version);
  assert_null(rs.actions.token);
  assert_int_equal(rs.actions.limit, limit);
}

void rs_assert_watch(const char *version) {
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_OPENING);
  assert_int_equal(rs.actions.request, KIN__REQUEST_WATCH);
  assert_string_equal(rs.actions.version, version);
}

void rs_assert_verify(const char *version) {
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_VERIFYING);
  assert_int_equal(rs.actions.request, KIN__REQUEST_VERIFY);
  assert_string_equal(rs.actions.version, version);
  assert_string_equal(rs.actions.version_match,
                      version[0] != '\0' ? "NotOlderThan" : "");
  assert_int_equal(rs.actions.limit, 1);
}

void rs_assert_proof(const char *version) {
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_VERIFYING);
  assert_int_equal(rs.actions.request, KIN__REQUEST_PROOF);
  assert_string_equal(rs.actions.version, version);
  assert_string_equal(rs.actions.version_match, "NotOlderThan");
  assert_int_equal(rs.actions.limit, 0);
}

void rs_assert_wait(kin__listwatch_state after, uint64_t base_ms) {
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_int_equal(rs.listwatch.after_wait, after);
  assert_int_equal(rs.actions.request, KIN__REQUEST_NONE);
  assert_true(rs.actions.start_timer);
  assert_in_range(rs.actions.timer_ms, base_ms, 2 * base_ms - 1);
}
