/* SPDX-License-Identifier: MIT */
#include "support/until_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static uint64_t now_ms(const until_world *w) {
  return w->vh.script.now_ns / 1000000;
}

static char letter(kin_watch_event_type type) {
  return "?AMDBE"[type];
}

static void called(until_world *w) {
  assert_int_equal(w->results, 0);
  w->calls++;
  if (w->then != NULL) {
    w->then(w);
  }
}

/* The condition is named by its letter, which is followed by its number and the
 * world. */
typedef struct condition {
  char wanted;
  int number;
  until_world *w;
} condition;

static condition made[4];

static int on_condition(const kin_watch_event *event, void *data) {
  const condition *c = data;
  size_t length = strlen(c->w->asked);
  snprintf(c->w->asked + length, sizeof c->w->asked - length, "%c%d ",
           letter(event->type), c->number);
  called(c->w);
  if (c->wanted == '!') {
    return KIN_EUNEXPECTED;
  }
  return c->wanted == '*' || c->wanted == letter(event->type);
}

static int on_precondition(kin_store *store, void *data) {
  until_world *w = data;
  assert_int_equal(w->asked[0], '\0');
  assert_int_equal(kin_store_count(store), mini_count(&w->vh.server, ""));
  w->preconditions++;
  called(w);
  return w->precondition_answer;
}

static void on_error(kin_error_event *event, void *data) {
  until_world *w = data;
  w->failures++;
  event->answer = w->answer;
  called(w);
}

static void write_event(const kin_watch_event *event, char *to, size_t size) {
  if (event == NULL) {
    snprintf(to, size, "%s", "");
  } else if (event->type == KIN_WATCH_ERROR) {
    assert_true(event->code < 0 && event->message[0] != '\0');
    snprintf(to, size, "E:%d/%s", event->status, event->reason);
  } else {
    kin_str key = kin_object_key(event->object);
    kin_str version = event->resource_version;
    assert_true(
        kin__str_equal(version, kin_object_resource_version(event->object)));
    snprintf(to, size, "%c:" KIN_STR_FORMAT "@" KIN_STR_FORMAT,
             letter(event->type), KIN_STR_ARG(key), KIN_STR_ARG(version));
  }
}

static void on_result(const kin_until_result *result, void *data) {
  until_world *w = data;
  w->results++;
  w->code = result->code;
  w->held = result->held;
  w->at_ms = now_ms(w) - w->began_ms;
  write_event(result->event, w->event, sizeof w->event);
  assert_int_equal(script_open_requests(&w->vh.script), 0);
  if (w->until != NULL) {
    w->result_cancel = kin_until_cancel(w->until, UV_ECANCELED);
    assert_int_equal(w->result_cancel, KIN_EALREADY);
    w->until = NULL;
  }
}

void uw_init(until_world *w, const char *conditions, size_t fail_at) {
  *w = (until_world){.resource = KIN_INFORMER_OPTIONS_INIT,
                     .options = KIN_UNTIL_OPTIONS_INIT};
  vh_init(&w->vh, fail_at);
  w->began_ms = now_ms(w);
  w->resource.plural = "pods";
  size_t count = strlen(conditions);
  assert_true(count <= sizeof made / sizeof made[0]);
  for (size_t i = 0; i < count; i++) {
    made[i] = (condition){conditions[i], (int)i, w};
    w->conditions[i] = (kin_until_condition){on_condition, &made[i]};
  }
  w->options.resource = &w->resource;
  w->options.conditions = w->conditions;
  w->options.condition_count = count;
  w->options.cb = on_result;
  w->options.data = w;
}

int uw_try_open(until_world *w, bool is_synced) {
  if (!is_synced) {
    w->options.on_error = on_error;
  }
  return kin__until_open(&w->until, &w->vh.host, &w->options, is_synced);
}

void uw_open(until_world *w, const char *conditions, const char *version) {
  uw_init(w, conditions, 0);
  w->options.resource_version = version;
  assert_int_equal(uw_try_open(w, version == NULL), 0);
  assert_int_equal(w->results, 0); /* from a later iteration */
}

void uw_open_with(until_world *w, const char *conditions, int answer) {
  uw_init(w, conditions, 0);
  w->options.precondition = on_precondition;
  w->options.precondition_data = w;
  w->precondition_answer = answer;
  assert_int_equal(uw_try_open(w, true), 0);
}

void uw_pass(until_world *w, uint64_t ms) {
  script_advance(&w->vh.script, ms);
}

void uw_head(until_world *w) {
  assert_true(script_head(&w->vh.script, "watch=true", 200));
}

void uw_send(until_world *w, const char *frames) {
  script_body(&w->vh.script, "watch=true", frames, strlen(frames));
}

void uw_expect(const until_world *w, int code, size_t held, const char *event) {
  assert_int_equal(w->results, 1);
  assert_int_equal(w->code, code);
  assert_int_equal(w->held, held);
  assert_string_equal(w->event, event);
}

void uw_finish(until_world *w) {
  vh_finish(&w->vh);
  assert_int_equal(w->results, 1);
}
