/* SPDX-License-Identifier: MIT */
#include "support/retry_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void rw_init(retry_world *w, const char *version, size_t fail_at) {
  *w = (retry_world){.resource = KIN_INFORMER_OPTIONS_INIT,
                     .options = KIN_RETRY_WATCHER_OPTIONS_INIT};
  vh_init(&w->vh, fail_at);
  w->resource.plural = "pods";
  w->options.resource = &w->resource;
  w->options.resource_version = version;
  w->options.on_event = watch_log_on_event;
  w->options.on_error = watch_log_on_error;
  w->options.on_end = watch_log_on_end;
  w->options.on_closed = watch_log_on_closed;
  w->options.data = &w->log;
}

int rw_try_open(retry_world *w) {
  return kin__retry_watcher_open(&w->watcher, &w->vh.host, &w->options);
}

void rw_open(retry_world *w, const char *version) {
  rw_init(w, version, 0);
  assert_int_equal(rw_try_open(w), 0);
}

void rw_finish(retry_world *w) {
  bool was_open =
      w->watcher != NULL && w->log.closed == 0 && w->options.on_closed != NULL;
  w->log.text[0] = '\0';
  w->log.is_over = true;
  vh_finish(&w->vh);
  assert_string_equal(w->log.text, was_open ? "closed " : "");
}

void rw_head(retry_world *w) {
  assert_true(script_head(&w->vh.script, "watch=true", 200));
}

bool rw_send(retry_world *w, const char *frames) {
  return script_body(&w->vh.script, "watch=true", frames, strlen(frames));
}

void rw_respond(retry_world *w, int status, const char *body) {
  script_respond(&w->vh.script, "watch=true", status, body);
}

void rw_end(retry_world *w) {
  assert_true(script_end(&w->vh.script, "watch=true"));
}

void rw_break(retry_world *w) {
  script_break(&w->vh.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
}

void rw_expect_request(retry_world *w, const char *version) {
  char part[64];
  snprintf(part, sizeof part, "&resourceVersion=%s&", version);
  script_expect(&w->vh.script, part);
}

void rw_expect_none(retry_world *w) {
  assert_int_equal(script_open_requests(&w->vh.script), 0);
}
