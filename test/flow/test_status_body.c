/* SPDX-License-Identifier: MIT */

/* RE-02, RE-03: an error that comes with status 200, in place of a list or of a
 * watch's first event, is that error, however its bytes are split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

#define FAILURE(code, reason)                                                  \
  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"     \
  "\"Failure\",\"message\":\"said so\",\"reason\":\"" reason                   \
  "\",\"code\":" code "}"

typedef struct outcome {
  iw_world w;
  int code;
  char reason[32];
  char message[128];
  uint64_t retry_in_ms;
} outcome;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  outcome *o = data;
  iw_on_error(informer, event, &o->w);
  o->code = event->code;
  o->retry_in_ms = event->retry_in_ms;
  snprintf(o->reason, sizeof o->reason, "%s", event->reason);
  snprintf(o->message, sizeof o->message, "%s", event->message);
}

static int open_outcome(outcome *o, size_t split, size_t fail_at) {
  memset(o, 0, sizeof *o);
  iw_init(&o->w, fail_at);
  o->w.script.split = split;
  kin_informer_options options = iw_options(&o->w);
  options.on_error = on_error;
  options.on_state = NULL;
  options.data = o;
  int err = iw_open(&o->w, &options);
  script_run(&o->w.script);
  return err;
}

typedef struct row {
  const char *body;
  int code;
  kin_error_class error_class;
  int status;
  const char *reason;
} row;

static const row rows[] = {
    {FAILURE("403", "Forbidden"), KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403,
     "Forbidden"},
    {"{\n \"kind\" : \"Status\" ,\r\n\t\"status\":\"Failure\",\"code\":500}\n",
     KIN_ESTATUS, KIN_CLASS_SERVER, 500, ""},
    {FAILURE("410", "Expired"), KIN_EGONE, KIN_CLASS_SERVER, 410, "Expired"},
    {FAILURE("0", "Odd"), KIN_ESTATUS, KIN_CLASS_SERVER, 0, "Odd"},
    /* No failure, not whole, and no Status at the first look. */
    {"{\"kind\":\"Status\",\"status\":\"Success\"}", KIN_EUNEXPECTED,
     KIN_CLASS_DECODE, 0, ""},
    {"{\"kind\":\"Status\"}", KIN_EUNEXPECTED, KIN_CLASS_DECODE, 0, ""},
    {"{\"kind\":\"Status\",\"status\":\"Failure\"", KIN_EUNEXPECTED,
     KIN_CLASS_DECODE, 0, ""},
    {"{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"status\":\"Failure\"}",
     KIN_EUNEXPECTED, KIN_CLASS_DECODE, 0, ""},
};

static void expect(const outcome *o, const row *r) {
  assert_int_equal(o->w.errors, 1);
  assert_int_equal(o->code, r->code);
  assert_int_equal(o->w.last_class, r->error_class);
  assert_int_equal(o->w.last_status, r->status);
  assert_string_equal(o->reason, r->reason);
  if (strstr(r->body, "said so") != NULL) {
    assert_non_null(strstr(o->message, ": said so"));
  }
}

static void test_status_body_of_a_list(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t split = 0; split <= strlen(rows[i].body); split++) {
      outcome o;
      assert_int_equal(open_outcome(&o, split, 0), 0);
      script_respond(&o.w.script, "/pods", 200, rows[i].body);
      expect(&o, &rows[i]);
      assert_false(kin_informer_has_synced(o.w.informer));
      script_advance(&o.w.script, o.retry_in_ms);
      mini_serve(&o.w.server);
      assert_true(kin_informer_has_synced(o.w.informer));
      iw_finish(&o.w);
    }
  }
}

/* A list whose kind only begins like it. */
static void test_status_body_is_not_taken_for_one(void **state) {
  (void)state;
  static const char body[] =
      "{\"kind\":\"StatusList\",\"metadata\":{\"resourceVersion\":\"7\"},"
      "\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}]}";
  for (size_t split = 0; split < sizeof body; split++) {
    outcome o;
    assert_int_equal(open_outcome(&o, split, 0), 0);
    script_respond(&o.w.script, "/pods", 200, body);
    assert_true(kin_informer_has_synced(o.w.informer));
    assert_int_equal(o.w.errors, 0);
    iw_finish(&o.w);
  }
}

static void open_watch(outcome *o, size_t split, size_t fail_at) {
  if (open_outcome(o, split, fail_at) == 0) {
    mini_put(&o->w.server, 0);
    script_respond(&o->w.script, "/pods", 200,
                   "{\"metadata\":{\"resourceVersion\":\"90\"},\"items\":[]}");
  }
}

/* A watch ends with it, also if the server does not end the response. 410 loses
 * the position, as everywhere; the others do not. */
static void test_status_body_of_a_watch(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    for (size_t split = 0; split <= strlen(rows[i].body); split++) {
      outcome o;
      open_watch(&o, split, 0);
      assert_true(script_head(&o.w.script, "watch=true", 200));
      assert_false(script_body(&o.w.script, "watch=true", rows[i].body,
                               strlen(rows[i].body)));
      expect(&o, &rows[i]);
      script_advance(&o.w.script, o.retry_in_ms);
      const char *next = o.w.script.last_target;
      bool resumes = strstr(next, "watch=true") != NULL ||
                     strstr(next, "limit=1&") != NULL; /* verified first */
      assert_int_equal(resumes, i != 2);
      mini_serve(&o.w.server);
      iw_assert_truth(&o.w);
      iw_finish(&o.w);
    }
  }
}

/* After the first event it is no event, as ever. */
static void test_status_body_after_an_event(void **state) {
  (void)state;
  static const char event[] =
      "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
      "{\"resourceVersion\":\"95\"}}}\n";
  outcome o;
  open_watch(&o, 0, 0);
  assert_true(script_head(&o.w.script, "watch=true", 200));
  assert_true(script_body(&o.w.script, "watch=true", event, sizeof event - 1));
  assert_false(script_body(&o.w.script, "watch=true", rows[0].body,
                           strlen(rows[0].body)));
  assert_int_equal(o.code, KIN_EUNEXPECTED);
  iw_finish(&o.w);
}

/* One without an end is given up; a long message is cut. */
static void test_status_body_is_bounded(void **state) {
  (void)state;
  static char body[100000];
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    outcome o;
    open_watch(&o, 1000, 0);
    if (!is_watch) {
      iw_finish(&o.w);
      assert_int_equal(open_outcome(&o, 1000, 0), 0);
    }
    memset(body, ' ', sizeof body);
    memcpy(body, "{\"kind\":\"Status\"", 16);
    assert_true(script_head(&o.w.script, "/pods", 200));
    assert_false(script_body(&o.w.script, "/pods", body, sizeof body));
    assert_int_equal(o.code, KIN_EUNEXPECTED);
    assert_int_equal(o.w.errors, 1);
    iw_finish(&o.w);
  }
}

/* In pieces of one byte it is not read anew with each: that would be the square
 * of its length. */
static void test_status_body_in_small_pieces(void **state) {
  (void)state;
  static char body[30000];
  memset(body, '{', sizeof body);
  memcpy(body, "{\"kind\":\"Status\",\"x\":\"\\\"", 24);
  outcome o;
  open_watch(&o, 1, 0);
  assert_true(script_head(&o.w.script, "watch=true", 200));
  size_t calls = o.w.memory.calls;
  assert_true(script_body(&o.w.script, "watch=true", body, sizeof body));
  assert_true(o.w.memory.calls - calls < 50);
  static const char end[] = "\",\"y\":[{},{}],\"status\":\"Failure\","
                            "\"code\":403}}}";
  assert_false(script_body(&o.w.script, "watch=true", end, sizeof end - 1));
  assert_int_equal(o.code, KIN_ESTATUS);
  assert_int_equal(o.w.last_status, 403);
  iw_finish(&o.w);
}

/* Every allocation fails once: another error may be told, and then it goes
 * on. */
static void test_status_body_without_memory(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    outcome o;
    bool is_open = open_outcome(&o, 7, n) == 0;
    if (is_open) {
      script_respond(&o.w.script, "/pods", 200, rows[0].body);
      mini_pass(&o.w.server, 60000);
      assert_true(kin_informer_has_synced(o.w.informer));
      assert_true(o.w.errors > 0);
    }
    bool has_failed = fail_alloc_has_failed(&o.w.memory);
    iw_finish(&o.w);
    if (!has_failed) {
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_status_body_of_a_list),
      cmocka_unit_test(test_status_body_is_not_taken_for_one),
      cmocka_unit_test(test_status_body_of_a_watch),
      cmocka_unit_test(test_status_body_after_an_event),
      cmocka_unit_test(test_status_body_is_bounded),
      cmocka_unit_test(test_status_body_in_small_pieces),
      cmocka_unit_test(test_status_body_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
