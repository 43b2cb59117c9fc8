/* SPDX-License-Identifier: MIT */
#include "support/pager_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void say(pager_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(pager_world *w, const char *format, ...) {
  size_t length = strlen(w->text);
  va_list args;
  va_start(args, format);
  vsnprintf(w->text + length, sizeof w->text - length, format, args);
  va_end(args);
}

static void called(pager_world *w) {
  assert_false(w->has_ended || w->is_over);
  w->calls++;
}

static void then(pager_world *w) {
  if (w->then != NULL) {
    w->then(w);
  }
}

static int on_item(const kin_object *item, void *data) {
  pager_world *w = data;
  called(w);
  w->items++;
  if (!w->is_silent) {
    say(w, KIN_STR_FORMAT "@" KIN_STR_FORMAT " ",
        KIN_STR_ARG(kin_object_key(item)),
        KIN_STR_ARG(kin_object_resource_version(item)));
  }
  bool stops = w->items == w->stop_at;
  then(w);
  return stops ? 77 : 0;
}

static void on_end(const kin_pager_result *result, void *data) {
  pager_world *w = data;
  called(w);
  w->has_ended = true;
  assert_int_equal(result->items, w->items);
  assert_non_null(result->reason);
  assert_int_equal(result->error_class != KIN_CLASS_NONE,
                   result->message[0] != '\0');
  snprintf(w->message, sizeof w->message, "%s", result->message);
  w->end_class = result->error_class;
  say(w, "end:");
  if (result->code < 0) {
    const char *name = kin_err_name(result->code);
    say(w, "%s", strncmp(name, "KIN_", 4) == 0 ? name + 4 : name);
  } else {
    say(w, "%d", result->code);
  }
  say(w, "/%s/%d%s ", result->resource_version, (int)result->items,
      result->is_paginated ? "+" : "");
  then(w);
}

static void on_error(kin_error_event *event, void *data) {
  pager_world *w = data;
  called(w);
  assert_true(event->code < 0);
  assert_true(event->attempt > 0);
  assert_true(event->message[0] != '\0');
  say(w, "! ");
  w->retry_in_ms = event->retry_in_ms;
  w->attempt = event->attempt;
  event->answer = w->answer;
  event->retry_after_ms = w->retry_after_ms;
  then(w);
}

static void on_closed(void *data) {
  pager_world *w = data;
  w->closed++;
  say(w, "closed ");
}

void pw_init(pager_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  w->resource = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  w->options = (kin_pager_options)KIN_PAGER_OPTIONS_INIT;
  vh_init(&w->vh, fail_at);
  w->resource.plural = "pods";
  w->options.resource = &w->resource;
  w->options.on_item = on_item;
  w->options.on_end = on_end;
  w->options.on_error = on_error;
  w->options.on_closed = on_closed;
  w->options.data = w;
}

void pw_hold_lists(pager_world *w, kin__gate *gate, kin__gate_visitor *other) {
  script_env *script = &w->vh.script;
  kin__gate_init(gate, &script->sched, &script->timers, 1, UINT64_MAX);
  kin__gate_visitor_init(other, NULL, NULL);
  script->env.lists = gate;
  assert_true(kin__gate_enter(gate, other));
}

int pw_try_open(pager_world *w) {
  return kin__pager_open(&w->pager, &w->vh.host, &w->options);
}

void pw_open(pager_world *w) {
  pw_init(w, 0);
  assert_int_equal(pw_try_open(w), 0);
}

void pw_finish(pager_world *w) {
  bool was_open =
      w->pager != NULL && w->closed == 0 && w->options.on_closed != NULL;
  w->text[0] = '\0';
  w->is_over = true;
  vh_finish(&w->vh);
  assert_string_equal(w->text, was_open ? "closed " : "");
}

void pw_expect(pager_world *w, const char *text) {
  assert_string_equal(w->text, text);
  w->text[0] = '\0';
}

const char *pw_page(char *buffer, size_t size, unsigned first, unsigned count,
                    const char *token) {
  int n = snprintf(buffer, size,
                   "{\"kind\":\"PodList\",\"metadata\":{"
                   "\"resourceVersion\":\"7\",\"continue\":\"%s\"},"
                   "\"items\":[",
                   token);
  for (unsigned i = 0; i < count; i++) {
    n += snprintf(buffer + n, size - (size_t)n,
                  "%s{\"metadata\":{\"name\":\"p%04u\",\"uid\":\"u%u\","
                  "\"resourceVersion\":\"%u\"}}",
                  i > 0 ? "," : "", first + i, first + i, first + i);
    assert_true((size_t)n < size);
  }
  n += snprintf(buffer + n, size - (size_t)n, "]}");
  assert_true((size_t)n < size);
  return buffer;
}

void pw_respond(pager_world *w, const char *part, int status,
                const char *body) {
  (void)script_expect(&w->vh.script, part);
  script_respond(&w->vh.script, part, status, body);
}

void pw_respond_page(pager_world *w, const char *part, unsigned first,
                     unsigned count, const char *token) {
  static char body[1 << 20];
  pw_respond(w, part, 200, pw_page(body, sizeof body, first, count, token));
}

void pw_refuse(pager_world *w, const char *part, int status,
               int64_t retry_after_s, const char *body) {
  script_request *request = script_expect(&w->vh.script, part);
  kin__response_head head = {.status = status,
                             .content_type = {"application/json", 16},
                             .retry_after_s = retry_after_s,
                             .is_identity = true};
  request->callbacks->on_head(request->ctx, &head);
  if (body[0] != '\0') {
    script_body(&w->vh.script, part, body, strlen(body));
  }
  script_request_end(request);
}

void pw_put_off(pager_world *w, const char *part, int status,
                int64_t retry_after_s) {
  pw_refuse(w, part, status, retry_after_s, "");
}

void pw_break(pager_world *w, int code) {
  (void)script_expect(&w->vh.script, "/pods");
  script_break(&w->vh.script, "/pods", code, KIN_CLASS_CONNECT);
}
