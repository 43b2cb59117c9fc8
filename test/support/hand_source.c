/* SPDX-License-Identifier: MIT */
#include "support/hand_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/objects.h"

static void note(hand_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(hand_source *source, const char *format, ...) {
  size_t length = strlen(source->log);
  if (length > 0) {
    source->log[length++] = ' ';
  }
  va_list args;
  va_start(args, format);
  int n = vsnprintf(source->log + length, sizeof source->log - length, format,
                    args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < sizeof source->log - length);
}

/* All strings of a request, which are valid until open returns. */
static void copy_strings(const kin_feed_request *request, char *to,
                         size_t size) {
  int n = snprintf(to, size, "%s|%s|%s|%s|%s|%s", request->namespace_,
                   request->label_selector, request->field_selector,
                   request->resource_version, request->resource_version_match,
                   request->continue_token);
  size_t length = (size_t)n;
  for (size_t i = 0; i < request->parameter_count && length < size; i++) {
    const kin_parameter *parameter = &request->parameters[i];
    n = snprintf(to + length, size - length, "|%s=%s", parameter->name,
                 kin__or_default(parameter->value, ""));
    length += (size_t)n;
  }
}

static void call_inside_open(hand_source *source,
                             const kin_feed_request *request) {
  if (source->inside_open == NULL) {
    return;
  }
  char before[4096];
  char after[sizeof before];
  copy_strings(request, before, sizeof before);
  source->inside_open(source);
  copy_strings(request, after, sizeof after);
  assert_string_equal(after, before);
}

static int on_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                   void **out) {
  hand_source *source = ctx;
  assert_false(source->is_open);
  const char *match = "";
  if (strcmp(request->resource_version_match, "NotOlderThan") == 0) {
    match = ">";
  } else if (request->resource_version_match[0] != '\0') {
    match = "=";
  }
  char limit[16] = "";
  if (request->limit > 0) {
    snprintf(limit, sizeof limit, "/%u", request->limit);
  }
  bool is_page = request->continue_token[0] != '\0';
  const char *kind = request->is_watch ? "W" : "L";
  if (request->send_initial_events) {
    assert_true(request->is_watch);
    kind = "I";
  }
  note(source, "%s%s%s%s%s", kind, is_page ? "=" : ":",
       is_page ? request->continue_token : request->resource_version, match,
       limit);
  if (request->is_watch) {
    assert_int_not_equal(request->timeout_s, 0);
  }
  source->feed = feed;
  *out = source; /* before open returns, which is as good as after */
  call_inside_open(source, request);
  if (source->fail_opens > 0) {
    source->fail_opens--;
    return source->open_error;
  }
  source->is_open = true;
  source->is_watch = request->is_watch;
  return 0;
}

static void on_cancel(void *ctx, void *answer) {
  hand_source *source = ctx;
  assert_ptr_equal(answer, source);
  assert_true(source->is_open);
  source->is_open = false;
  note(source, "x");
  if (source->inside_cancel != NULL) {
    source->inside_cancel(source);
  }
}

static void on_pause(void *ctx, void *answer) {
  hand_source *source = ctx;
  assert_ptr_equal(answer, source);
  note(source, "p");
  if (source->inside_pause != NULL) {
    source->inside_pause(source);
  }
}

static void on_resume(void *ctx, void *answer) {
  hand_source *source = ctx;
  assert_ptr_equal(answer, source);
  note(source, "r");
  if (source->inside_resume != NULL) {
    source->inside_resume(source);
  }
}

void hand_source_init(hand_source *source, script_env *script) {
  *source = (hand_source){.lister_watcher = {.size = sizeof(kin_lister_watcher),
                                             .open = on_open,
                                             .cancel = on_cancel,
                                             .pause = on_pause,
                                             .resume = on_resume,
                                             .ctx = source},
                          .script = script};
}

void hand_source_expect(hand_source *source, const char *requests) {
  assert_string_equal(source->log, requests);
  source->log[0] = '\0';
}

static void run(hand_source *source, int err) {
  assert_int_equal(err, 0);
  if (source->script != NULL) {
    script_run(source->script);
  }
}

kin_object *hand_source_object(const char *text) {
  const char *at = strchr(text, '@');
  assert_non_null(at);
  const char *slash = memchr(text, '/', (size_t)(at - text));
  const char *name = slash != NULL ? slash + 1 : text;
  char namespace_[128] = "";
  if (slash != NULL) {
    snprintf(namespace_, sizeof namespace_, "'namespace':'%.*s',",
             (int)(slash - text), text);
  }
  return object_format(
      NULL,
      "{'metadata':{%s'name':'%.*s','uid':'u-%.*s','resourceVersion':'%s'}}",
      namespace_, (int)(at - name), name, (int)(at - text), text, at + 1);
}

void hand_source_item(hand_source *source, const char *object) {
  kin_object *made = hand_source_object(object);
  int err = kin_feed_item(source->feed, made);
  kin_object_unref(made);
  run(source, err);
}

void hand_source_list_end(hand_source *source, const char *version,
                          const char *token) {
  source->is_open = false;
  run(source, kin_feed_list_end(source->feed, version, token));
}

void hand_source_list(hand_source *source, const char *objects,
                      const char *version) {
  char text[1024];
  char *rest = text;
  snprintf(text, sizeof text, "%s", objects);
  for (char *word = strtok_r(text, " ", &rest); word != NULL;
       word = strtok_r(NULL, " ", &rest)) {
    hand_source_item(source, word);
  }
  hand_source_list_end(source, version, NULL);
}

void hand_source_event(hand_source *source, kin_watch_event_type type,
                       const char *object) {
  kin_object *made = hand_source_object(object);
  int err = kin_feed_event(source->feed, type, made);
  kin_object_unref(made);
  run(source, err);
}

void hand_source_bookmark(hand_source *source, const char *version) {
  run(source, kin_feed_bookmark(source->feed, kin__cstr(version), false));
}

void hand_source_watch_end(hand_source *source) {
  source->is_open = false;
  run(source, kin_feed_watch_end(source->feed));
}

void hand_source_fail(hand_source *source, int status, const char *reason,
                      bool is_event) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = status;
  error.reason = reason;
  error.message = "said so";
  source->is_open = false;
  run(source, kin_feed_fail(source->feed, &error, is_event));
}
