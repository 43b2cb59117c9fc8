/* SPDX-License-Identifier: MIT */
#include "support/request_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "request/request.h"

static uint64_t now_ms(const request_world *w) {
  return w->vh.script.now_ns / 1000000;
}

static void called(request_world *w) {
  w->calls++;
  if (w->then != NULL) {
    w->then(w);
  }
}

static void on_error(kin_error_event *event, void *data) {
  request_world *w = data;
  assert_int_equal(w->results, 0);
  assert_true(event->code < 0);
  assert_int_not_equal(event->error_class, KIN_CLASS_NONE);
  assert_int_equal(event->size, sizeof *event);
  assert_string_equal(event->namespace_, "n");
  assert_int_equal(event->attempt, ++w->failures);
  size_t length = strlen(w->told);
  snprintf(w->told + length, sizeof w->told - length, "%d+%llu ", event->status,
           (unsigned long long)event->retry_in_ms);
  event->answer = w->answer;
  event->retry_after_ms = w->retry_after_ms;
  called(w);
}

static void keep(char *to, size_t size, const char *from) {
  snprintf(to, size, "%s", from);
}

static void keep_causes(request_world *w, const kin_response *response) {
  w->cause_count = response->cause_count;
  for (size_t i = 0; i < response->cause_count; i++) {
    const kin_cause *cause = &response->causes[i];
    size_t length = strlen(w->causes);
    snprintf(w->causes + length, sizeof w->causes - length,
             KIN_STR_FORMAT " " KIN_STR_FORMAT " " KIN_STR_FORMAT "; ",
             KIN_STR_ARG(cause->field), KIN_STR_ARG(cause->reason),
             KIN_STR_ARG(cause->message));
  }
}

static void keep_object(request_world *w, const kin_response *response) {
  kin_object *object;
  w->object_code = kin_response_object(&object, NULL, response);
  assert_true((w->object_code == 0) == (object != NULL));
  if (object != NULL) {
    keep(w->object, sizeof w->object, kin_object_key(object).data);
    kin_object_unref(object);
  }
}

static void on_response(const kin_response *response, void *data) {
  request_world *w = data;
  w->results++;
  assert_int_equal(response->size, sizeof *response);
  w->code = response->code;
  w->error_class = response->error_class;
  w->status = response->status;
  w->reason = response->reason;
  keep(w->message, sizeof w->message, response->message);
  keep(w->reason_text, sizeof w->reason_text, response->reason_text);
  snprintf(w->details, sizeof w->details, KIN_STR_FORMAT "/" KIN_STR_FORMAT,
           KIN_STR_ARG(response->details_kind),
           KIN_STR_ARG(response->details_name));
  keep_causes(w, response);
  w->retry_after_s = response->retry_after_s;
  w->body_length = response->body.length;
  free(w->body);
  w->body = malloc(w->body_length + 1);
  assert_non_null(w->body);
  memcpy(w->body, response->body.data, w->body_length + 1);
  assert_int_equal(w->body[w->body_length], '\0');
  keep(w->content_type, sizeof w->content_type, response->content_type);
  w->retries = response->retries;
  w->at_ms = now_ms(w) - w->began_ms;
  keep_object(w, response);
  assert_int_equal(kin_request_cancel(w->request, UV_ECANCELED), KIN_EALREADY);
  w->request = NULL;
  called(w);
}

void qw_init(request_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
  w->spec = (kin_request_spec)KIN_REQUEST_SPEC_INIT;
  w->spec.verb = KIN_VERB_PATCH_MERGE;
  w->spec.plural = "configmaps";
  w->spec.namespace_ = "n";
  w->spec.name = "c";
  w->spec.body = "{}";
  w->spec.body_length = 2;
  w->spec.on_error = on_error;
}

int qw_try_start(request_world *w) {
  w->began_ms = now_ms(w);
  int err =
      kin__request_start(&w->request, &w->vh.host, &w->spec, on_response, w);
  assert_int_equal(w->calls, 0); /* none inside the call */
  return err;
}

void qw_start(request_world *w) {
  assert_int_equal(qw_try_start(w), 0);
  assert_non_null(w->request);
  script_run(&w->vh.script);
}

void qw_begin(request_world *w, kin_verb verb) {
  qw_init(w, 0);
  w->spec.verb = verb;
  if (verb == KIN_VERB_CREATE) {
    w->spec.name = NULL;
  }
  if (verb == KIN_VERB_GET || verb == KIN_VERB_DELETE) {
    w->spec.body_length = 0;
  }
  qw_start(w);
}

script_request *qw_open_try(request_world *w) {
  return script_expect(&w->vh.script, "/configmaps");
}

void qw_answer(request_world *w, int status, const char *body) {
  (void)qw_open_try(w);
  script_respond(&w->vh.script, "/configmaps", status, body);
}

void qw_put_off(request_world *w, int status, int64_t retry_after_s,
                const char *body) {
  kin__response_head head = {.status = status,
                             .content_type = {"application/json", 16},
                             .retry_after_s = retry_after_s,
                             .is_identity = true};
  script_request *request = qw_open_try(w);
  if (script_request_give_head(request, &head) &&
      script_request_body(request, body, strlen(body))) {
    script_request_end(request);
  }
}

void qw_cut(request_world *w, int code) {
  (void)qw_open_try(w);
  script_break(&w->vh.script, "/configmaps", code, KIN_CLASS_CONNECT);
}

void qw_pass(request_world *w, uint64_t ms) {
  script_advance(&w->vh.script, ms);
}

void qw_expect(const request_world *w, int code, int status,
               kin_reason reason) {
  assert_int_equal(w->results, 1);
  if (w->code != code) {
    fail_msg("ended with %s: %s", kin_err_name(w->code), w->message);
  }
  assert_int_equal(w->status, status);
  assert_int_equal(w->reason, reason);
  assert_true((code == 0) == (w->message[0] == '\0'));
}

void qw_finish(request_world *w) {
  vh_finish(&w->vh);
  assert_int_equal(w->results, 1);
  free(w->body);
}
