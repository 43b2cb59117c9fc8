/* SPDX-License-Identifier: MIT */
#include "support/candidate_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "election/lease_candidate.h"
#include "support/written_object.h"

/* --- The candidate -------------------------------------------------------- */

static void tell(candidate_world *w, const char *text, kin_error_event *event) {
  size_t length = strlen(w->told);
  snprintf(w->told + length, sizeof w->told - length, "%s", text);
  w->calls++;
  if (w->then != NULL && (w->at_call == 0 || w->at_call == w->calls)) {
    w->then(w, event);
  }
}

static void on_error(kin_error_event *event, void *data) {
  candidate_world *w = data;
  char text[32];
  assert_true(event->size == sizeof *event);
  assert_true(event->code < 0);
  assert_int_not_equal(event->error_class, KIN_CLASS_NONE);
  assert_string_equal(event->namespace_, "n");
  w->last = *event;
  snprintf(w->message, sizeof w->message, "%s", event->message);
  snprintf(w->reason, sizeof w->reason, "%s", event->reason);
  snprintf(text, sizeof text, "error(%d) ", event->status);
  tell(w, text, event);
}

static void on_closed(void *data) {
  candidate_world *w = data;
  w->candidate = NULL;
  w->closed++;
  tell(w, "closed ", NULL);
}

void lw_init(candidate_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
  w->version = 100;
  w->options = (kin_lease_candidate_options)KIN_LEASE_CANDIDATE_OPTIONS_INIT;
  w->options.namespace_ = "n";
  w->options.name = "A_1";
  w->options.lease_name = "l";
  w->options.binary_version = "1.31.0";
  w->options.emulation_version = "1.30.0";
  w->options.on_error = on_error;
  w->options.on_closed = on_closed;
  w->options.data = w;
}

int lw_open(candidate_world *w) {
  return kin__lease_candidate_open(&w->candidate, &w->vh.host, &w->options);
}

void lw_open_written(candidate_world *w) {
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  w->asked[0] = '\0';
}

void lw_finish(candidate_world *w) {
  if (w->candidate != NULL) {
    int err = kin_lease_candidate_close(w->candidate, NULL, NULL);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
  lw_pass(w, 0);
  assert_null(w->candidate);
  vh_finish(&w->vh);
}

int lw_set_up(void **state) {
  static candidate_world w;
  lw_init(&w, 0);
  *state = &w;
  return 0;
}

int lw_tear_down(void **state) {
  lw_finish(*state);
  return 0;
}

/* --- The server's object -------------------------------------------------- */

static void note_event(candidate_world *w, const char *type) {
  assert_true(w->event_count < LW_EVENTS);
  w->event_versions[w->event_count] = w->version;
  snprintf(w->events[w->event_count++], sizeof w->events[0],
           "{\"type\":\"%s\",\"object\":%s}\n", type, w->object);
}

void lw_put(candidate_world *w, const char *spec, const char *metadata) {
  bool is_new = w->object[0] == '\0';
  snprintf(w->object, sizeof w->object,
           "{'kind':'LeaseCandidate','apiVersion':'coordination.k8s.io/v1beta1'"
           ",'metadata':{'name':'A_1','namespace':'n','uid':'u',"
           "'resourceVersion':'%u'%s%s},'spec':%s}",
           ++w->version, metadata[0] != '\0' ? "," : "", metadata, spec);
  wo_quote(w->object);
  note_event(w, is_new ? "ADDED" : "MODIFIED");
}

static void store(candidate_world *w, const char *body) {
  bool is_new = w->object[0] == '\0';
  wo_store(w->object, sizeof w->object, body, ++w->version);
  note_event(w, is_new ? "ADDED" : "MODIFIED");
}

void lw_delete(candidate_world *w) {
  char body[sizeof w->object];
  assert_int_not_equal(wo_version(w->object), 0);
  memcpy(body, w->object, sizeof body);
  wo_store(w->object, sizeof w->object, body, ++w->version);
  note_event(w, "DELETED");
  w->object[0] = '\0';
}

const char *lw_value(candidate_world *w, const char *member) {
  return wo_value(w->object, member);
}

/* --- Answers -------------------------------------------------------------- */

static void note(candidate_world *w, const char *method, int status) {
  size_t length = strlen(w->asked);
  snprintf(w->asked + length, sizeof w->asked - length, "%s=%d ", method,
           status);
}

static void answer(candidate_world *w, script_request *request, int status,
                   const char *text) {
  const script_env *script = &w->vh.script;
  bool is_put_off = status >= 300 && w->retry_after_s > 0;
  const kin__response_head head = {.status = status,
                                   .content_type = KIN__LIT("application/json"),
                                   .retry_after_s =
                                       is_put_off ? w->retry_after_s : -1,
                                   .is_identity = true,
                                   .connection = script->connection,
                                   .server_address = script->server_address};
  if (script_request_give_head(request, &head) &&
      script_request_body(request, text, strlen(text))) {
    script_request_end(request);
  }
}

static void refuse(candidate_world *w, script_request *request, int status,
                   const char *method) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
           "\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"%s\","
           "\"details\":{%s},\"code\":%d}",
           wo_reason(status, method),
           w->is_absent ? "" : "\"name\":\"A_1\",\"kind\":\"leasecandidates\"",
           status);
  answer(w, request, status, text);
}

static uint64_t version_asked(const script_request *request) {
  const char *at = strstr(request->target, "resourceVersion=");
  return at != NULL ? strtoull(at + strlen("resourceVersion="), NULL, 10) : 0;
}

static void answer_list(candidate_world *w, script_request *request) {
  char text[4400];
  assert_non_null(strstr(request->target, "fieldSelector=metadata.name%3DA_1"));
  if (w->refuse_lists != 0) {
    note(w, "LIST", w->refuse_lists);
    refuse(w, request, w->refuse_lists, "GET");
    return;
  }
  bool is_exact = strstr(request->target, "Exact") != NULL;
  /* Items have neither kind nor apiVersion. */
  const char *item = strstr(w->object, "\"metadata\":");
  snprintf(text, sizeof text,
           "{\"kind\":\"LeaseCandidateList\",\"metadata\":{" WO_VERSION
           "%u\"},\"items\":[%s%s]}",
           is_exact ? (unsigned)version_asked(request) : w->version,
           item != NULL ? "{" : "", item != NULL ? item : "");
  answer(w, request, 200, text);
}

static bool serve_watch(candidate_world *w, script_request *request) {
  if (!request->has_head) {
    request->position = version_asked(request);
    (void)script_request_head(request, 200);
    return true;
  }
  for (int i = 0; i < w->event_count && !w->holds_events; i++) {
    if (w->event_versions[i] > request->position) {
      request->position = w->event_versions[i];
      (void)script_request_body(request, w->events[i], strlen(w->events[i]));
      return true;
    }
  }
  return false;
}

static int carry_out(candidate_world *w, const char *method, const char *body) {
  if (strcmp(method, "POST") == 0) {
    if (w->object[0] != '\0') {
      return 409;
    }
    store(w, body);
    return 201;
  }
  assert_string_equal(method, "PUT");
  assert_int_not_equal(wo_version(body), 0);
  if (w->object[0] == '\0') {
    return 404;
  }
  if (wo_version(body) != wo_version(w->object)) {
    return 409;
  }
  store(w, body);
  return 200;
}

static void answer_write(candidate_world *w, script_request *request) {
  char method[16];
  snprintf(method, sizeof method, "%s", request->method);
  snprintf(w->body, sizeof w->body, "%.*s", (int)request->body_length,
           request->body != NULL ? request->body : "");
  const char *path =
      strcmp(method, "POST") == 0 ? LW_PATH "?" : LW_PATH "/A_1?";
  assert_int_equal(strncmp(request->target, path, strlen(path)), 0);
  if (w->before_write != NULL) {
    w->before_write(w, method);
  }
  int status = w->refuse;
  w->refuse = 0;
  if (status == 0 || w->then_write) {
    int done = carry_out(w, method, w->body);
    status = status == 0 ? done : status;
  }
  note(w, method, status);
  const char *garbage = w->garbage;
  w->garbage = NULL;
  if (garbage != NULL) {
    answer(w, request, status, garbage);
  } else if (status < 300) {
    answer(w, request, status, w->object);
  } else {
    refuse(w, request, status, method);
  }
}

/* Returns whether there was something to answer. */
static bool serve_one(candidate_world *w, script_request *request) {
  if (request->is_watch) {
    return serve_watch(w, request);
  }
  if (strcmp(request->method, "GET") == 0) {
    answer_list(w, request);
    return true;
  }
  if (!w->is_silent) {
    answer_write(w, request);
    return true;
  }
  return false;
}

static bool serve(candidate_world *w) {
  script_env *script = &w->vh.script;
  script_run(script);
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = script->requests[i];
    if (request != NULL && serve_one(w, request)) {
      return true;
    }
  }
  return false;
}

void lw_cut(candidate_world *w) {
  script_break(&w->vh.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
}

void lw_pass(candidate_world *w, uint64_t ms) {
  for (;;) {
    while (serve(w)) {
    }
    if (ms == 0) {
      return;
    }
    uint64_t step_ms = ms < 10 ? ms : 10;
    script_advance(&w->vh.script, step_ms);
    ms -= step_ms;
  }
}

/* --- What was seen -------------------------------------------------------- */

void lw_expect(candidate_world *w, const char *told) {
  assert_string_equal(w->told, told);
  w->told[0] = '\0';
}

void lw_expect_asked(candidate_world *w, const char *asked) {
  assert_string_equal(w->asked, asked);
  w->asked[0] = '\0';
}
