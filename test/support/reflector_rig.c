/* SPDX-License-Identifier: MIT */
#include "support/reflector_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cache/public_reflector.h"

/* --- The noting store ----------------------------------------------------- */

static int answer(reflector_rig *rig) {
  if (rig->during != NULL) {
    rig->during(rig);
  }
  int result = rig->result;
  if (rig->failures > 0 && --rig->failures == 0) {
    rig->result = 0;
  }
  return result;
}

static void note(reflector_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(reflector_rig *rig, const char *format, ...) {
  size_t length = strlen(rig->log);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(rig->log + length, sizeof rig->log - length, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < sizeof rig->log - length);
}

static const char *separator(const reflector_rig *rig) {
  return rig->log[0] != '\0' ? " " : "";
}

static int note_object(reflector_rig *rig, char what,
                       const kin_object *object) {
  assert_int_equal(rig->closed, 0);
  note(rig, "%s%c" KIN_STR_FORMAT "@" KIN_STR_FORMAT, separator(rig), what,
       KIN_STR_ARG(kin_object_key(object)),
       KIN_STR_ARG(kin_object_resource_version(object)));
  return answer(rig);
}

static int on_add(void *ctx, const kin_object *object) {
  return note_object(ctx, '+', object);
}

static int on_update(void *ctx, const kin_object *object) {
  return note_object(ctx, '~', object);
}

static int on_delete(void *ctx, const kin_object *object) {
  return note_object(ctx, '-', object);
}

static int on_replace(void *ctx, const kin_object *const *objects, size_t count,
                      kin_str version) {
  reflector_rig *rig = ctx;
  note(rig, "%sR(", separator(rig));
  for (size_t i = 0; i < count; i++) {
    note(rig, "%s" KIN_STR_FORMAT "@" KIN_STR_FORMAT, i > 0 ? "," : "",
         KIN_STR_ARG(kin_object_key(objects[i])),
         KIN_STR_ARG(kin_object_resource_version(objects[i])));
  }
  note(rig, ")#" KIN_STR_FORMAT, KIN_STR_ARG(version));
  return answer(rig);
}

static int on_resync(void *ctx) {
  note(ctx, "%sS", separator(ctx));
  return answer(ctx);
}

static int on_bookmark(void *ctx, kin_str version) {
  note(ctx, "%sB" KIN_STR_FORMAT, separator(ctx), KIN_STR_ARG(version));
  return answer(ctx);
}

static void on_version(void *ctx, kin_str version) {
  reflector_rig *rig = ctx;
  note(rig, "%sV" KIN_STR_FORMAT, separator(rig), KIN_STR_ARG(version));
  if (rig->during != NULL) {
    rig->during(rig);
  }
}

static bool ask_is_full(void *ctx) {
  return ((reflector_rig *)ctx)->is_full;
}

/* --- Callbacks ------------------------------------------------------------ */

static void on_error(kin_reflector *reflector, kin_error_event *event,
                     void *data) {
  reflector_rig *rig = data;
  assert_ptr_equal(reflector, rig->reflector);
  assert_int_equal(rig->closed, 0);
  assert_true(event->code < 0);
  assert_true(event->message[0] != '\0');
  rig->errors++;
  rig->last_code = event->code;
  rig->last_attempt = event->attempt;
  snprintf(rig->last_message, sizeof rig->last_message, "%s", event->message);
  rig->last_retry_ms = event->retry_in_ms;
  event->answer = rig->answer;
  event->retry_after_ms = rig->answer_after_ms;
  if (rig->during != NULL) {
    rig->during(rig);
  }
}

static void on_state(kin_reflector *reflector, kin_state from, kin_state to,
                     void *data) {
  reflector_rig *rig = data;
  assert_ptr_equal(reflector, rig->reflector);
  assert_int_not_equal(from, to);
  size_t length = strlen(rig->states);
  snprintf(rig->states + length, sizeof rig->states - length, "%s ",
           kin_state_name(to));
  if (rig->during != NULL) {
    rig->during(rig);
  }
}

static void on_closed(void *data) {
  ((reflector_rig *)data)->closed += 1;
}

void reflector_rig_on_close(void *data) {
  ((reflector_rig *)data)->closed += 10;
}

/* --- The rig -------------------------------------------------------------- */

void reflector_rig_init(reflector_rig *rig, size_t fail_at) {
  memset(rig, 0, sizeof *rig);
  vh_init(&rig->vh, fail_at);
  hand_source_init(&rig->source, &rig->vh.script);
  rig->store = (kin_reflector_store){.size = sizeof(kin_reflector_store),
                                     .add = on_add,
                                     .update = on_update,
                                     .delete_ = on_delete,
                                     .replace = on_replace,
                                     .resync = on_resync,
                                     .bookmark = on_bookmark,
                                     .update_version = on_version,
                                     .is_full = ask_is_full,
                                     .ctx = rig};
  rig->resource = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  rig->resource.plural = "pods";
  rig->resource.source = &rig->source.lister_watcher;
  rig->options = (kin_reflector_options)KIN_REFLECTOR_OPTIONS_INIT;
  rig->options.resource = &rig->resource;
  rig->options.store = &rig->store;
  rig->options.on_error = on_error;
  rig->options.on_state = on_state;
  rig->options.on_closed = on_closed;
  rig->options.data = rig;
}

void reflector_rig_init_streaming(reflector_rig *rig, size_t fail_at) {
  reflector_rig_init(rig, fail_at);
  script_use_streams(&rig->vh.script);
  rig->source.lister_watcher.watch_list = true;
}

int reflector_rig_open(reflector_rig *rig) {
  int err =
      kin__public_reflector_open(&rig->reflector, &rig->vh.host, &rig->options);
  if (err == 0) {
    assert_int_equal(kin_reflector_start(rig->reflector), 0);
    script_run(&rig->vh.script);
  }
  return err;
}

void reflector_rig_open_watching(reflector_rig *rig) {
  assert_int_equal(reflector_rig_open(rig), 0);
  hand_source_list(&rig->source, "a@1", "5");
  hand_source_expect(&rig->source, "L:0/500 W:5");
  assert_int_equal(kin_feed_open(rig->source.feed), 0);
  script_run(&rig->vh.script);
  reflector_rig_expect(rig, "R(a@1)#5");
}

void reflector_rig_expect(reflector_rig *rig, const char *calls) {
  assert_string_equal(rig->log, calls);
  rig->log[0] = '\0';
}

void reflector_rig_finish(reflector_rig *rig) {
  bool was_open = rig->reflector != NULL;
  vh_finish(&rig->vh);
  assert_false(rig->source.is_open);
  assert_int_equal(rig->closed % 10, was_open);
}
