/* SPDX-License-Identifier: MIT */
#include "support/election_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "election/elector.h"
#include "support/written_object.h"

/* --- Candidates ----------------------------------------------------------- */

static uint64_t boot_now_ns(void *ctx) {
  const election_world *w = ctx;
  return w->vh.script.now_ns + w->suspended_ns;
}

static void tell(ew_candidate *candidate, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(ew_candidate *candidate, const char *format, ...) {
  election_world *w = candidate->w;
  size_t length = strlen(candidate->told);
  va_list list;
  va_start(list, format);
  vsnprintf(candidate->told + length, sizeof candidate->told - length, format,
            list);
  va_end(list);
  candidate->calls++;
  w->calls++;
  if (w->then != NULL && (w->at_call == 0 || w->at_call == w->calls)) {
    w->then(w, candidate);
  }
}

static void on_started(kin_leader_elector *elector, void *data) {
  ew_candidate *candidate = data;
  assert_ptr_equal(elector, candidate->elector);
  tell(candidate, "started ");
}

static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  ew_candidate *candidate = data;
  assert_false(kin_leader_elector_is_leader(elector));
  assert_true(stop->size == sizeof *stop);
  candidate->code = stop->code;
  snprintf(candidate->message, sizeof candidate->message, "%s", stop->message);
  tell(candidate, "stopped(%d%s) ", stop->code, stop->had_led ? ",led" : "");
}

static void on_new_leader(kin_leader_elector *elector, kin_str identity,
                          void *data) {
  (void)elector;
  tell(data, "leader(" KIN_STR_FORMAT ") ", KIN_STR_ARG(identity));
}

static void on_error(kin_error_event *event, void *data) {
  ew_candidate *candidate = data;
  assert_true(event->code < 0);
  assert_int_not_equal(event->error_class, KIN_CLASS_NONE);
  candidate->code = event->code;
  candidate->attempt = event->attempt;
  candidate->retry_in_ms = event->retry_in_ms;
  snprintf(candidate->message, sizeof candidate->message, "%s", event->message);
  tell(candidate, "error(%d) ", event->status);
  event->answer = candidate->answer;
}

static void on_closed(void *data) {
  ew_candidate *candidate = data;
  candidate->elector = NULL;
  candidate->closed++;
  tell(candidate, "closed ");
}

void ew_init(election_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
  w->boot = (kin__clock){.now_ns = boot_now_ns, .ctx = w};
  for (int i = 0; i < EW_CANDIDATES; i++) {
    ew_candidate *candidate = &w->candidates[i];
    candidate->w = w;
    candidate->options =
        (kin_leader_elector_options)KIN_LEADER_ELECTOR_OPTIONS_INIT;
    candidate->options.namespace_ = "n";
    candidate->options.name = "l";
    candidate->options.identity = i == 0 ? "a" : "b";
    candidate->options.on_started = on_started;
    candidate->options.on_stopped = on_stopped;
    candidate->options.on_new_leader = on_new_leader;
    candidate->options.on_error = on_error;
    candidate->options.on_closed = on_closed;
    candidate->options.data = candidate;
  }
}

int ew_open(election_world *w, int candidate) {
  ew_candidate *c = &w->candidates[candidate];
  return kin__leader_elector_open(&c->elector, &w->vh.host, &c->options,
                                  &w->boot);
}

void ew_begin(election_world *w, int candidate) {
  assert_int_equal(ew_open(w, candidate), 0);
  assert_int_equal(kin_leader_elector_start(w->candidates[candidate].elector),
                   0);
}

void ew_finish(election_world *w) {
  for (int i = 0; i < EW_CANDIDATES; i++) {
    ew_candidate *candidate = &w->candidates[i];
    if (candidate->elector != NULL) {
      int err = kin_leader_elector_close(candidate->elector, NULL, NULL);
      assert_true(err == 0 || err == KIN_EALREADY);
    }
  }
  w->is_silent = false;
  w->refuse = 0;
  ew_pass(w, 0);
  assert_null(w->candidates[0].elector);
  assert_null(w->candidates[1].elector);
  vh_finish(&w->vh);
}

/* --- The server ----------------------------------------------------------- */

void ew_put_lease(election_world *w, const char *spec, const char *metadata) {
  snprintf(w->lease, sizeof w->lease,
           "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{"
           "'name':'l','namespace':'n','uid':'u','resourceVersion':'%u'%s%s},"
           "'spec':%s}",
           ++w->version, metadata[0] != '\0' ? "," : "", metadata, spec);
  wo_quote(w->lease);
}

static void store(election_world *w, const char *body) {
  wo_store(w->lease, sizeof w->lease, body, ++w->version);
}

static int serve(election_world *w, const char *method, const char *body) {
  if (strcmp(method, "GET") == 0) {
    return w->lease[0] != '\0' ? 200 : 404;
  }
  snprintf(w->body, sizeof w->body, "%s", body);
  if (strcmp(method, "POST") == 0) {
    if (w->lease[0] != '\0') {
      return 409;
    }
    store(w, body);
    return 201;
  }
  assert_string_equal(method, "PUT");
  if (w->lease[0] == '\0') {
    return 404;
  }
  if (wo_version(body) != w->version) {
    return 409;
  }
  store(w, body);
  return 200;
}

static void answer_one(election_world *w, script_request *request) {
  char method[16];
  char body[4096];
  char text[4200];
  snprintf(method, sizeof method, "%s", request->method);
  snprintf(body, sizeof body, "%.*s", (int)request->body_length,
           request->body != NULL ? request->body : "");
  bool is_create = strcmp(method, "POST") == 0;
  bool has_target =
      strncmp(request->target, is_create ? EW_PATH "?" : EW_PATH "/l?",
              strlen(is_create ? EW_PATH "?" : EW_PATH "/l?")) == 0;
  assert_true(has_target);
  if (w->before_answer != NULL) {
    w->before_answer(w, method);
  }
  int status = w->refuse != 0 ? w->refuse : serve(w, method, body);
  if (w->refuse != 0 && w->then_write) {
    (void)serve(w, method, body);
  }
  w->refuse = 0;
  size_t length = strlen(w->asked);
  snprintf(w->asked + length, sizeof w->asked - length, "%s=%d ", method,
           status);
  if (status < 300) {
    snprintf(text, sizeof text, "%s", w->lease);
  } else {
    snprintf(text, sizeof text,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
             "\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"%s\","
             "\"code\":%d}",
             wo_reason(status, method), status);
  }
  kin__response_head head = {.status = status,
                             .retry_after_s = status == 503 ? 1 : -1,
                             .content_type = KIN__LIT("application/json"),
                             .is_identity = true,
                             .connection = w->vh.script.connection};
  if (script_request_give_head(request, &head) &&
      script_request_body(request, text, strlen(text))) {
    script_request_end(request);
  }
}

bool ew_answer(election_world *w) {
  script_env *script = &w->vh.script;
  bool has_answered = false;
  script_run(script);
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS && !w->is_silent; i++) {
    script_request *request = script->requests[i];
    if (request != NULL && strstr(request->target, "/leases") != NULL) {
      answer_one(w, request);
      has_answered = true;
    }
  }
  return has_answered;
}

void ew_pass(election_world *w, uint64_t ms) {
  for (;;) {
    while (ew_answer(w)) {
    }
    if (ms == 0) {
      return;
    }
    uint64_t step_ms = ms < 10 ? ms : 10;
    script_advance(&w->vh.script, step_ms);
    ms -= step_ms;
  }
}

void ew_suspend(election_world *w, uint64_t ms) {
  w->suspended_ns += ms * 1000000;
}

const char *ew_spec(election_world *w, const char *member) {
  return wo_value(w->lease, member);
}

/* --- What was seen -------------------------------------------------------- */

void ew_expect(ew_candidate *candidate, const char *told) {
  assert_string_equal(candidate->told, told);
  candidate->told[0] = '\0';
}

void ew_expect_asked(election_world *w, const char *asked) {
  assert_string_equal(w->asked, asked);
  w->asked[0] = '\0';
}

int ew_set_up(void **state) {
  static election_world w;
  ew_init(&w, 0);
  *state = &w;
  return 0;
}

int ew_tear_down(void **state) {
  ew_finish(*state);
  return 0;
}
