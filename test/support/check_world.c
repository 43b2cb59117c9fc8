/* SPDX-License-Identifier: MIT */
#include "support/check_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"

static void on_log(kin_log_level level, const char *line, void *data) {
  check_world *c = data;
  size_t length = strlen(c->said);
  if (level <= KIN_LOG_WARN) {
    snprintf(c->said + length, sizeof c->said - length, "%c %s\n",
             level == KIN_LOG_ERROR ? 'E' : 'W', line);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  check_world *c = data;
  (void)informer;
  if (event->code != KIN_EINCONSISTENT) {
    c->others_told++;
    return;
  }
  assert_int_equal(event->error_class, KIN_CLASS_SERVER);
  assert_int_equal(event->retry_in_ms, 0);
  assert_int_equal(event->attempt, 1);
  snprintf(c->told, sizeof c->told, "%s", event->message);
  c->times_told++;
  event->answer = c->answer;
}

void ck_init(check_world *c, size_t fail_at) {
  memset(c, 0, sizeof *c);
  iw_init(&c->w, fail_at);
  c->log = (kin__log){on_log, c, KIN_LOG_WARN};
  c->w.script.env.log = &c->log;
  script_use_streams(&c->w.script);
  c->w.script.env.check_watch_lists = true;
  c->options = iw_options(&c->w);
  c->options.on_error = on_error;
  c->options.on_state = NULL;
  c->options.data = c;
}

void ck_open(check_world *c) {
  ck_init(c, 0);
  assert_int_equal(iw_open(&c->w, &c->options), 0);
}

kin_status ck_status(check_world *c) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(c->w.informer, NULL, &status), 0);
  return status;
}

void ck_expect_counts(check_world *c, unsigned checked, unsigned inconsistent) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(c->w.informer, &metrics), 0);
  assert_int_equal(metrics.checked_lists, checked);
  assert_int_equal(metrics.inconsistent_lists, inconsistent);
  assert_int_equal(c->times_told, inconsistent);
}

void ck_stream(check_world *c, const char *frames) {
  script_env *script = &c->w.script;
  (void)script_expect(script, "sendInitialEvents");
  script_head(script, "sendInitialEvents", 200);
  script_body(script, "sendInitialEvents", frames, strlen(frames));
}

bool ck_is_asked(check_world *c) {
  return script_find(&c->w.script, "resourceVersionMatch=Exact") != NULL;
}

void ck_answer(check_world *c, int status, const char *body) {
  (void)script_expect(&c->w.script, "resourceVersionMatch=Exact");
  script_respond(&c->w.script, "resourceVersionMatch=Exact", status, body);
}

int ck_keep_text(const kin_object *in, kin_object_builder *out, void *data) {
  (void)data;
  kin_str name = kin_object_name(in);
  kin_str version = kin_object_resource_version(in);
  if (name.data[0] == 'x' || kin__str_equal(version, kin__cstr("13"))) {
    return KIN_EINVAL;
  }
  return kin_object_builder_remove(out, "/spec/secret");
}
