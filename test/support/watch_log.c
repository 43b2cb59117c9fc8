/* SPDX-License-Identifier: MIT */
#include "support/watch_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static void say(watch_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(watch_log *log, const char *format, ...) {
  size_t length = strlen(log->text);
  va_list args;
  va_start(args, format);
  vsnprintf(log->text + length, sizeof log->text - length, format, args);
  va_end(args);
}

static void called(watch_log *log) {
  assert_false(log->has_ended || log->is_over);
  log->calls++;
}

static void then(watch_log *log) {
  if (log->then != NULL) {
    log->then(log);
  }
}

static void check_event(const kin_watch_event *event) {
  bool has_object = event->type == KIN_WATCH_ADDED ||
                    event->type == KIN_WATCH_MODIFIED ||
                    event->type == KIN_WATCH_DELETED;
  bool is_error = event->type == KIN_WATCH_ERROR;
  assert_int_equal(event->object != NULL, has_object);
  assert_int_equal(event->code < 0, is_error);
  assert_int_equal(event->error_class != KIN_CLASS_NONE, is_error);
  assert_int_equal(event->message[0] != '\0', is_error);
  assert_int_equal(event->resource_version.length > 0, !is_error);
  if (has_object) {
    assert_true(kin__str_equal(event->resource_version,
                               kin_object_resource_version(event->object)));
  }
}

void watch_log_on_event(const kin_watch_event *event, void *data) {
  watch_log *log = data;
  called(log);
  assert_false(log->has_error);
  check_event(event);
  log->events++;
  if (event->type == KIN_WATCH_ERROR) {
    log->has_error = true;
    say(log, "E:%d/%s ", event->status, event->reason);
  } else {
    kin_str key =
        event->object != NULL ? kin_object_key(event->object) : kin__cstr("");
    say(log, "%c:" KIN_STR_FORMAT "@" KIN_STR_FORMAT " ", "?AMDB"[event->type],
        KIN_STR_ARG(key), KIN_STR_ARG(event->resource_version));
  }
  then(log);
}

void watch_log_on_error(kin_error_event *event, void *data) {
  watch_log *log = data;
  called(log);
  log->failures++;
  log->retry_in_ms = event->retry_in_ms;
  say(log, "! ");
  event->answer = log->answer;
  event->retry_after_ms = log->retry_after_ms;
  then(log);
}

void watch_log_on_end(int code, void *data) {
  watch_log *log = data;
  called(log);
  log->has_ended = true;
  say(log, "end:%s ", code == 0 ? "0" : kin_err_name(code) + 4);
  then(log);
}

void watch_log_on_closed(void *data) {
  watch_log *log = data;
  log->closed++;
  say(log, "closed ");
}

void watch_log_expect(watch_log *log, const char *text) {
  assert_string_equal(log->text, text);
  log->text[0] = '\0';
}
