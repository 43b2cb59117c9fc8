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

static int open_outcome(iw_world *w, size_t split, size_t fail_at) {
  iw_init(w, fail_at);
  w->script.split = split;
  kin_informer_options options = iw_options(w);
  options.on_state = NULL;
  int err = iw_open(w, &options);
  script_run(&w->script);
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
    /* In the order of names, as many re-encoders write it. */
    {"{\"apiVersion\":\"v1\",\"code\":403,\"details\":{\"kind\":\"pods\"},"
     "\"ki\\u006ed\":\"Status\",\"message\":\"said so\",\"metadata\":{},"
     "\"reason\":\"Forbidden\",\"status\":\"Failure\"}",
     KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403, "Forbidden"},
    {"\n{\"metadata\":{},\"details\":{\"retryAfterSeconds\":1},\"code\":429,"
     "\"kind\":\"Status\",\"status\":\"Failure\"}",
     KIN_ESTATUS, KIN_CLASS_THROTTLED, 429, ""},
    /* As in client-go, only a Success is none. */
    {"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"said so\","
     "\"reason\":\"Forbidden\",\"code\":403}",
     KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403, "Forbidden"},
    {"{\"kind\":\"Status\"}", KIN_ESTATUS, KIN_CLASS_SERVER, 0, ""},
    {"{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"status\":\"Failure\"}",
     KIN_ESTATUS, KIN_CLASS_SERVER, 0, ""},
    /* No failure, of another group, and not whole. */
    {"{\"kind\":\"Status\",\"status\":\"Success\"}", KIN_EUNEXPECTED,
     KIN_CLASS_DECODE, 0, ""},
    {"{\"kind\":\"Status\",\"apiVersion\":\"a.b/v1\"}", KIN_EUNEXPECTED,
     KIN_CLASS_DECODE, 0, ""},
    {"{\"kind\":\"Status\",\"status\":\"Failure\"", KIN_EUNEXPECTED,
     KIN_CLASS_DECODE, 0, ""},
};

enum { ERROR_ROWS = 9 }; /* the first */

static void expect(const iw_world *w, const row *r) {
  assert_int_equal(w->errors, 1);
  assert_int_equal(w->last_code, r->code);
  assert_int_equal(w->last_class, r->error_class);
  assert_int_equal(w->last_status, r->status);
  assert_string_equal(w->last_reason, r->reason);
  if (strstr(r->body, "said so") != NULL) {
    assert_non_null(strstr(w->last_message, ": said so"));
  }
}

static void test_status_body_of_a_list(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t split = 0; split <= strlen(rows[i].body); split++) {
      iw_world w;
      assert_int_equal(open_outcome(&w, split, 0), 0);
      script_respond(&w.script, "/pods", 200, rows[i].body);
      expect(&w, &rows[i]);
      assert_false(kin_informer_has_synced(w.informer));
      script_advance(&w.script, w.last_retry_in_ms);
      mini_serve(&w.server);
      assert_true(kin_informer_has_synced(w.informer));
      iw_finish(&w);
    }
  }
}

/* Also if the server does not end the response. */
static void test_status_body_of_an_endless_list(void **state) {
  (void)state;
  for (size_t i = 0; i < ERROR_ROWS; i++) {
    for (size_t split = 0; split <= strlen(rows[i].body); split++) {
      iw_world w;
      assert_int_equal(open_outcome(&w, split, 0), 0);
      assert_true(script_head(&w.script, "/pods", 200));
      assert_false(
          script_body(&w.script, "/pods", rows[i].body, strlen(rows[i].body)));
      expect(&w, &rows[i]);
      iw_finish(&w);
    }
  }
}

/* A list whose kind only begins like it, or comes behind its objects; and one
 * that does not say so in 64 KiB. */
static void test_status_body_is_not_taken_for_one(void **state) {
  (void)state;
#define REST                                                                   \
  "\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"kind\":\"Status\","  \
  "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}]}"
  static char long_body[80000];
  memset(long_body, ' ', sizeof long_body);
  memcpy(long_body, "{\"x\":", 5);
  strcpy(long_body + 70000, "1," REST);
  const char *const bodies[] = {
      "{\"kind\":\"StatusList\"," REST,
      "{\"apiVersion\":\"v1\",\"kind\":null," REST,
      "{\"apiVersion\":\"v1\"," REST,
      long_body,
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    for (size_t split = 0; split < 150; split++) {
      iw_world w;
      size_t unit = bodies[i] == long_body ? 1000 : 1;
      assert_int_equal(open_outcome(&w, split * unit, 0), 0);
      script_respond(&w.script, "/pods", 200, bodies[i]);
      assert_true(kin_informer_has_synced(w.informer));
      assert_int_equal(w.errors, 0);
      iw_finish(&w);
    }
  }
}

static void open_watch(iw_world *w, size_t split, size_t fail_at) {
  if (open_outcome(w, split, fail_at) == 0) {
    mini_put(&w->server, 0);
    script_respond(&w->script, "/pods", 200,
                   "{\"metadata\":{\"resourceVersion\":\"90\"},\"items\":[]}");
  }
}

/* A watch ends with it, also if the server does not end the response. 410 loses
 * the position, as everywhere; the others do not. */
static void test_status_body_of_a_watch(void **state) {
  (void)state;
  for (size_t i = 0; i < ERROR_ROWS; i++) {
    for (size_t split = 0; split <= strlen(rows[i].body); split++) {
      iw_world w;
      open_watch(&w, split, 0);
      assert_true(script_head(&w.script, "watch=true", 200));
      assert_false(script_body(&w.script, "watch=true", rows[i].body,
                               strlen(rows[i].body)));
      expect(&w, &rows[i]);
      script_advance(&w.script, w.last_retry_in_ms);
      const char *next = w.script.last_target;
      bool resumes = strstr(next, "watch=true") != NULL ||
                     strstr(next, "limit=1&") != NULL; /* verified first */
      assert_int_equal(resumes, i != 2);
      mini_serve(&w.server);
      iw_assert_truth(&w);
      iw_finish(&w);
    }
  }
}

/* After the first event it is no event, as ever. */
static void test_status_body_after_an_event(void **state) {
  (void)state;
  static const char event[] =
      "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
      "{\"resourceVersion\":\"95\"}}}\n";
  iw_world w;
  open_watch(&w, 0, 0);
  assert_true(script_head(&w.script, "watch=true", 200));
  assert_true(script_body(&w.script, "watch=true", event, sizeof event - 1));
  assert_false(
      script_body(&w.script, "watch=true", rows[0].body, strlen(rows[0].body)));
  assert_int_equal(w.last_code, KIN_EUNEXPECTED);
  iw_finish(&w);
}

/* One without an end is given up; a long message is cut. */
static void test_status_body_is_bounded(void **state) {
  (void)state;
  static char body[100000];
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    iw_world w;
    open_watch(&w, 1000, 0);
    if (!is_watch) {
      iw_finish(&w);
      assert_int_equal(open_outcome(&w, 1000, 0), 0);
    }
    memset(body, ' ', sizeof body);
    memcpy(body, "{\"kind\":\"Status\"", 16);
    assert_true(script_head(&w.script, "/pods", 200));
    assert_false(script_body(&w.script, "/pods", body, sizeof body));
    assert_int_equal(w.last_code, KIN_EUNEXPECTED);
    assert_int_equal(w.errors, 1);
    iw_finish(&w);
  }
}

/* In pieces of one byte it is not read anew with each: that would be the square
 * of its length. */
static void test_status_body_in_small_pieces(void **state) {
  (void)state;
  static char body[30000];
  memset(body, '{', sizeof body);
  memcpy(body, "{\"kind\":\"Status\",\"x\":\"\\\"", 24);
  iw_world w;
  open_watch(&w, 1, 0);
  assert_true(script_head(&w.script, "watch=true", 200));
  size_t calls = w.memory.calls;
  assert_true(script_body(&w.script, "watch=true", body, sizeof body));
  assert_true(w.memory.calls - calls < 50);
  static const char end[] = "\",\"y\":[{},{}],\"status\":\"Failure\","
                            "\"code\":403}}}";
  assert_false(script_body(&w.script, "watch=true", end, sizeof end - 1));
  assert_int_equal(w.last_code, KIN_ESTATUS);
  assert_int_equal(w.last_status, 403);
  iw_finish(&w);
}

/* Every allocation fails once: the Status or the lack of memory is told, and
 * then it goes on. */
static bool run_status_body_without_memory(size_t n) {
  iw_world w;
  bool is_open = open_outcome(&w, 7, n) == 0;
  if (is_open) {
    script_respond(&w.script, "/pods", 200, rows[2].body);
    assert_true(w.last_code == KIN_EGONE || w.last_code == KIN_ENOMEM);
    mini_pass(&w.server, 60000);
    assert_true(kin_informer_has_synced(w.informer));
    assert_true(w.errors > 0);
  }
  bool has_failed = fail_alloc_has_failed(&w.memory);
  iw_finish(&w);
  return has_failed;
}

static void test_status_body_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_status_body_without_memory, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_status_body_of_a_list),
      cmocka_unit_test(test_status_body_of_an_endless_list),
      cmocka_unit_test(test_status_body_is_not_taken_for_one),
      cmocka_unit_test(test_status_body_of_a_watch),
      cmocka_unit_test(test_status_body_after_an_event),
      cmocka_unit_test(test_status_body_is_bounded),
      cmocka_unit_test(test_status_body_in_small_pieces),
      cmocka_unit_test(test_status_body_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
