/* SPDX-License-Identifier: MIT */

/* A response that is an error ends: with its body, or where that is too long or
 * takes too long. A server that never ends it hides nothing and holds nothing
 * up. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/informer_world.h"

/* The error is told now, and the list is asked for again. */
static void expect_told(iw_world *w, unsigned failures, int status) {
  assert_int_equal(iw_status(w, "").failures, failures);
  assert_int_equal(iw_status(w, "").last_error_status, status);
  script_advance(&w->script, 60000);
  assert_int_equal(script_open_requests(&w->script), 1);
}

/* The next answer is a list. */
static void recover(iw_world *w) {
  mini_serve(&w->server);
  assert_true(kin_informer_has_synced(w->informer));
  iw_close(w);
  iw_finish(w);
}

/* Byte by byte, for ever: told 10 s after the head, and asked again, twice. */
static void test_trickled(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  for (unsigned round = 1; round <= 2; round++) {
    assert_true(script_head(&w.script, "pods", 500));
    for (int i = 0; i < 9; i++) {
      assert_true(script_body(&w.script, "pods", "x", 1));
      script_advance(&w.script, 1000);
    }
    assert_int_equal(iw_status(&w, "").failures, round - 1);
    script_advance(&w.script, 1000);
    expect_told(&w, round, 500);
  }
  recover(&w);
}

/* The rest of the body is in the socket of a loop that was blocked for longer:
 * it is read first. */
static void test_late_loop(void **state) {
  (void)state;
  static const char text[] = "the whole reason";
  iw_world w;
  iw_open_objects(&w, 0);
  for (unsigned round = 1; round <= 2; round++) {
    assert_true(script_head(&w.script, "pods", 500));
    w.script.now_ns += UINT64_C(15000000000);
    script_advance(&w.script, 0);
    assert_int_equal(iw_status(&w, "").failures, round - 1);
    if (round == 1) {
      assert_true(script_body(&w.script, "pods", text, sizeof text - 1));
      script_end(&w.script, "pods");
      assert_non_null(strstr(w.last_message, text));
    } else {
      script_advance(&w.script, 99);
      assert_int_equal(iw_status(&w, "").failures, round - 1);
      script_advance(&w.script, 1);
    }
    expect_told(&w, round, 500);
  }
  recover(&w);
}

/* Fast, for ever: told when 64 KiB have come. */
static void test_flood(void **state) {
  (void)state;
  static char bytes[4096];
  memset(bytes, 'x', sizeof bytes);
  iw_world w;
  iw_open_objects(&w, 0);
  for (unsigned round = 1; round <= 2; round++) {
    assert_true(script_head(&w.script, "pods", 503));
    for (int i = 0; i < 15; i++) {
      assert_true(script_body(&w.script, "pods", bytes, sizeof bytes));
    }
    assert_int_equal(iw_status(&w, "").failures, round - 1);
    assert_false(script_body(&w.script, "pods", bytes, sizeof bytes));
    expect_told(&w, round, 503);
  }
  recover(&w);
}

/* A piece that finds no memory ends the body: the message is that of the pieces
 * before. */
static void test_without_memory(void **state) {
  (void)state;
  static char piece[300]; /* more than the first piece made room for */
  memset(piece, 'x', sizeof piece);
  iw_world w;
  iw_open_objects(&w, 0);
  assert_true(script_head(&w.script, "pods", 500));
  assert_true(script_body(&w.script, "pods", "do not delete ", 14));
  w.memory.fail_at = w.memory.calls + 1;
  assert_false(script_body(&w.script, "pods", piece, sizeof piece));
  expect_told(&w, 1, 500);
  assert_non_null(strstr(w.last_message, ": do not delete"));
  assert_null(strstr(w.last_message, "xxx"));
  recover(&w);
}

/* RE-04: the status of an error is told although its body is cut, unless the
 * reason of the cut says more: a TLS server answers plain HTTP with a 400. */
static void test_cut(void **state) {
  (void)state;
  static const struct {
    int status; /* of the head */
    int code;
    kin_error_class error_class;
    int told_status;
    kin_error_class told_class;
  } cases[] = {
      {401, KIN_EEOF, KIN_CLASS_CONNECT, 401, KIN_CLASS_AUTH},
      {403, KIN_EEOF, KIN_CLASS_CONNECT, 403, KIN_CLASS_FORBIDDEN},
      {404, KIN_ETLS, KIN_CLASS_TLS, 404, KIN_CLASS_ABSENT},
      {410, KIN_EHTTP, KIN_CLASS_PROTOCOL, 410, KIN_CLASS_SERVER},
      {503, KIN_ETIMEDOUT, KIN_CLASS_CONNECT, 503, KIN_CLASS_SERVER},
      {400, KIN_EEOF, KIN_CLASS_CONNECT, 400, KIN_CLASS_SERVER},
      {400, KIN_ETLSSETUP, KIN_CLASS_TLS, 0, KIN_CLASS_TLS},
      {503, KIN_ENOMEM, KIN_CLASS_MEMORY, 503, KIN_CLASS_SERVER},
      {200, KIN_EEOF, KIN_CLASS_CONNECT, 0, KIN_CLASS_CONNECT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    iw_world w;
    iw_open_objects(&w, 0);
    assert_true(script_head(&w.script, "pods", cases[i].status));
    assert_true(script_body(&w.script, "pods", "{", 1));
    script_break(&w.script, "pods", cases[i].code, cases[i].error_class);
    assert_int_equal(iw_status(&w, "").last_error_class, cases[i].told_class);
    expect_told(&w, 1, cases[i].told_status);
    recover(&w);
  }
}

/* A watch whose version has expired loses its position also then. */
static void test_cut_watch(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 3);
  mini_serve(&w.server);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  mini_end_watches(&w.server);
  script_advance(&w.script, 5000);
  assert_true(script_head(&w.script, "watch=true", 410));
  assert_true(script_body(&w.script, "watch=true", "{", 1));
  script_break(&w.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
  assert_int_equal(iw_status(&w, "").last_error_status, 410);
  script_advance(&w.script, 60000);
  assert_null(script_find(&w.script, "watch=true"));
  mini_serve(&w.server);
  assert_int_equal(iw_status(&w, "").relists, 1);
  iw_close(&w);
  iw_finish(&w);
}

/* One that is closed before the body ends leaves no timer. */
static void test_closed(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  assert_true(script_head(&w.script, "pods", 500));
  iw_close(&w);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trickled), cmocka_unit_test(test_late_loop),
      cmocka_unit_test(test_flood),    cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_cut),      cmocka_unit_test(test_cut_watch),
      cmocka_unit_test(test_closed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
