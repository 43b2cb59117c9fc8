/* SPDX-License-Identifier: MIT */

/* A single request that the program or its client ends: in each state, in each
 * callback, and with each allocation failing. Every request ends with exactly
 * one callback, and leaves nothing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "base/limiter.h"
#include "request/request.h"
#include "support/request_world.h"

#define OBJECT "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"}}"

/* --- Each state ----------------------------------------------------------- */

/* A place in the life of a request. */
typedef enum place {
  IN_TURN,
  BEFORE_HEAD,
  AFTER_HEAD,
  IN_BODY,
  IN_ERROR_BODY,
  IN_WAIT,
  AFTER_END, /* the callback is to come */
  PLACES
} place;

static void use_up(kin__limiter *limiter, request_world *w) {
  static kin__limiter_visitor other;
  kin__limiter_init(limiter, &w->vh.script.sched, &w->vh.script.timers, 100, 1);
  kin__limiter_visitor_init(&other, NULL);
  assert_true(kin__limiter_enter(limiter, &other));
}

static void go_to(request_world *w, place where) {
  switch (where) {
  case AFTER_HEAD:
    assert_true(script_request_head(qw_open_try(w), 200));
    break;
  case IN_BODY:
    assert_true(script_request_head(qw_open_try(w), 200));
    assert_true(script_request_body(qw_open_try(w), "{\"a\"", 4));
    break;
  case IN_ERROR_BODY:
    assert_true(script_request_head(qw_open_try(w), 503));
    assert_true(script_request_body(qw_open_try(w), "{\"a\"", 4));
    break;
  case IN_WAIT:
    qw_put_off(w, 429, 5, "");
    break;
  default:
    break;
  }
}

static void end_without_running(request_world *w) {
  script_request *sent = qw_open_try(w);
  const kin__exchange_callbacks *callbacks = sent->callbacks;
  void *ctx = sent->ctx;
  kin__exchange_error error = {
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .message = "cut"};
  w->vh.script.requests[0] = NULL;
  free(sent);
  callbacks->on_end(ctx, &error);
}

static void end_in_place(place where, bool by_client) {
  request_world w;
  kin__limiter limiter;
  qw_init(&w, 0);
  if (where == IN_TURN) {
    use_up(&limiter, &w);
    w.vh.script.env.limiter = &limiter;
  }
  qw_start(&w);
  go_to(&w, where);
  if (where == AFTER_END) {
    end_without_running(&w);
  }
  assert_int_equal(w.results, 0);
  bool has_ended = where == AFTER_END;
  if (by_client) {
    vh_close(&w.vh);
  } else {
    assert_int_equal(kin_request_cancel(w.request, UV_ECANCELED),
                     has_ended ? KIN_EALREADY : 0);
    assert_int_equal(kin_request_cancel(w.request, UV_ECANCELED), KIN_EALREADY);
  }
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  assert_int_equal(w.results, 0); /* never inside the call */
  script_run(&w.vh.script);
  int code = has_ended ? KIN_EEOF : by_client ? KIN_ECLOSED : UV_ECANCELED;
  assert_int_equal(w.results, 1);
  assert_int_equal(w.code, code);
  assert_int_equal(w.error_class,
                   has_ended ? KIN_CLASS_CONNECT : KIN_CLASS_NONE);
  assert_true(by_client == w.vh.is_closed);
  qw_finish(&w);
  if (where == IN_TURN) {
    kin__limiter_finish(&limiter);
  }
}

static void test_cancel_in_each_state(void **state) {
  (void)state;
  for (int where = 0; where < PLACES; where++) {
    end_in_place((place)where, false);
  }
}

static void test_close_in_each_state(void **state) {
  (void)state;
  for (int where = 0; where < PLACES; where++) {
    end_in_place((place)where, true);
  }
}

/* RR-08: a request that ends while it waits for its next try has no answer: that of the
 * last try is in the message only. */
static void test_cancel_between_tries(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  qw_put_off(&w, 503, 3, "busy");
  assert_int_equal(kin_request_cancel(w.request, UV_ECANCELED), 0);
  script_run(&w.vh.script);
  qw_expect(&w, UV_ECANCELED, 0, KIN_REASON_NONE);
  assert_int_equal(w.body_length, 0);
  assert_non_null(strstr(w.message, "busy"));
  qw_finish(&w);
}

static void cancel_or_close(request_world *w) {
  if (w->results == 0 && w->how == 0) {
    assert_int_equal(kin_request_cancel(w->request, UV_ECANCELED), 0);
  } else if (w->results == 0) {
    vh_close(&w->vh);
  }
}

/* RR-08: a try that is not answered has nothing of the try before it. */
static void test_break_after_another_try(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  qw_put_off(&w, 503, 1, "{}");
  qw_pass(&w, 1000);
  qw_cut(&w, UV_ECONNREFUSED);
  qw_expect(&w, UV_ECONNREFUSED, 0, KIN_REASON_NONE);
  assert_string_equal(w.content_type, "");
  assert_int_equal(w.body_length, 0);
  qw_finish(&w);
}

/* RR-08: the same when on_error ends the request, before the wait has begun. */
static void test_end_in_on_error(void **state) {
  (void)state;
  for (int how = 0; how < 2; how++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    w.how = how;
    w.then = cancel_or_close;
    qw_put_off(&w, 503, 3, "busy");
    qw_expect(&w, how == 0 ? UV_ECANCELED : KIN_ECLOSED, 0, KIN_REASON_NONE);
    assert_int_equal(w.failures, 1);
    assert_int_equal(w.body_length, 0);
    assert_string_equal(w.content_type, "");
    assert_non_null(strstr(w.message, "busy"));
    qw_finish(&w);
  }
}

/* The code is the program's, and must be an error. */
static void test_cancel_codes(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  assert_int_equal(kin_request_cancel(w.request, 0), KIN_EINVAL);
  assert_int_equal(kin_request_cancel(w.request, 1), KIN_EINVAL);
  assert_int_equal(kin_request_cancel(NULL, UV_ECANCELED), KIN_EINVAL);
  assert_int_equal(kin_request_cancel(w.request, -42), 0);
  script_run(&w.vh.script);
  qw_expect(&w, -42, 0, KIN_REASON_NONE);
  qw_finish(&w);
}

static void on_other(const kin_response *response, void *data) {
  assert_int_equal(response->code, KIN_ECLOSED);
  ++*(int *)data;
}

/* A client that closes takes no new request. */
static void test_start_on_a_closing_client(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  vh_close(&w.vh);
  kin_request *second;
  assert_int_equal(
      kin__request_start(&second, &w.vh.host, &w.spec, on_other, NULL),
      KIN_ECLOSED);
  assert_null(second);
  script_run(&w.vh.script);
  qw_expect(&w, KIN_ECLOSED, 0, KIN_REASON_NONE);
  qw_finish(&w);
}

/* --- Each callback -------------------------------------------------------- */

/* What a callback may do. */
enum { CANCEL, CLOSE_CLIENT, START_ANOTHER, WAYS };
static int others;

static void act(request_world *w) {
  if (w->calls != w->at_call) {
    return;
  }
  if (w->how == CANCEL) {
    int err =
        w->request != NULL ? kin_request_cancel(w->request, UV_ECANCELED) : 0;
    assert_int_equal(err, 0);
  } else if (w->how == CLOSE_CLIENT) {
    vh_close(&w->vh);
  } else {
    kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
    kin_request *request;
    spec.path = "/version";
    assert_int_equal(
        kin__request_start(&request, &w->vh.host, &spec, on_other, &others), 0);
  }
}

/* Three tries, each put off in another way, and then an answer. */
static bool run_story(int at_call, int how, size_t fail_at, int *calls) {
  request_world w;
  others = 0;
  qw_init(&w, fail_at);
  w.then = act;
  w.at_call = at_call;
  w.how = how;
  if (qw_try_start(&w) == 0) {
    script_run(&w.vh.script);
    for (int i = 0; i < 3 && w.results == 0 && w.request != NULL &&
                    script_find(&w.vh.script, "/configmaps") != NULL;
         i++) {
      qw_put_off(&w, 503, i, QW_STATUS(503, "ServiceUnavailable", ""));
      qw_pass(&w, (uint64_t)i * 1000);
    }
    if (script_find(&w.vh.script, "/configmaps") != NULL) {
      qw_answer(&w, 409, QW_STATUS(409, "Conflict", ""));
    }
    qw_pass(&w, 0);
    assert_int_equal(w.results, 1);
  } else {
    assert_int_not_equal(fail_at, 0);
    w.results = 1; /* none comes */
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  *calls = w.calls;
  if (at_call == 0 && !has_failed) {
    assert_int_equal(w.code, KIN_ECONFLICT);
  }
  qw_finish(&w);
  assert_int_equal(others, how == START_ANOTHER && at_call > 0);
  return has_failed;
}

static void test_act_in_each_callback(void **state) {
  (void)state;
  int count;
  run_story(0, CANCEL, 0, &count);
  assert_int_equal(count, 4); /* three times on_error, and the end */
  for (int how = 0; how < WAYS; how++) {
    for (int at_call = 1; at_call <= count; at_call++) {
      int calls;
      run_story(at_call, how, 0, &calls);
      assert_int_equal(
          calls, how != START_ANOTHER && at_call < count ? at_call + 1 : count);
    }
  }
}

static bool story_with_failure(size_t fail_at) {
  int calls;
  return run_story(0, CANCEL, fail_at, &calls);
}

/* Whatever allocation fails, the start fails or the callback comes. */
static void test_each_allocation_fails(void **state) {
  (void)state;
  fail_alloc_sweep(story_with_failure, 5);
}

/* --- Several requests ----------------------------------------------------- */

typedef struct chain {
  virtual_host vh;
  kin_request *requests[3];
  int order[3];
  int codes[3];
  int count;
} chain;

typedef struct link_of {
  chain *c;
  int number;
} link_of;

/* The first to end cancels the others. */
static void on_linked(const kin_response *response, void *data) {
  link_of *link = data;
  chain *c = link->c;
  c->requests[link->number] = NULL;
  c->order[c->count] = link->number;
  c->codes[c->count++] = response->code;
  for (int i = 0; i < 3; i++) {
    if (c->requests[i] != NULL && c->count == 1) {
      assert_int_equal(kin_request_cancel(c->requests[i], UV_ECANCELED), 0);
    }
  }
}

static void test_requests_cancel_each_other(void **state) {
  (void)state;
  static chain c;
  memset(&c, 0, sizeof c);
  vh_init(&c.vh, 0);
  link_of links[3] = {{&c, 0}, {&c, 1}, {&c, 2}};
  static const char *const paths[] = {"/a", "/b", "/c"};
  for (int i = 0; i < 3; i++) {
    kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
    spec.path = paths[i];
    assert_int_equal(kin__request_start(&c.requests[i], &c.vh.host, &spec,
                                        on_linked, &links[i]),
                     0);
  }
  script_respond(&c.vh.script, "/b", 200, "{}");
  assert_int_equal(c.count, 3);
  assert_int_equal(c.order[0], 1);
  assert_int_equal(c.codes[0], 0);
  assert_int_equal(c.codes[1], UV_ECANCELED);
  assert_int_equal(c.codes[2], UV_ECANCELED);
  vh_finish(&c.vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cancel_in_each_state),
      cmocka_unit_test(test_close_in_each_state),
      cmocka_unit_test(test_cancel_between_tries),
      cmocka_unit_test(test_break_after_another_try),
      cmocka_unit_test(test_end_in_on_error),
      cmocka_unit_test(test_cancel_codes),
      cmocka_unit_test(test_start_on_a_closing_client),
      cmocka_unit_test(test_act_in_each_callback),
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_requests_cancel_each_other),
  };
  return cmocka_run_group_tests_name("the end of requests", tests, NULL, NULL);
}
