/* SPDX-License-Identifier: MIT */

/* The pager when something fails: what is tried again, what is final, and what
 * has been given then. Proves PG-03 to PG-05, RR-01, RR-02. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/pager_world.h"

/* RR-01: put off ten times is waited for, the eleventh time is the end. */
static void test_pager_is_put_off(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  pw_respond_page(&w, "/pods", 1, 1, "t1");
  pw_expect(&w, "p0001@1 ");
  for (int i = 0; i < 10; i++) {
    pw_put_off(&w, "continue=t1", i % 2 == 0 ? 429 : 503, i);
    pw_expect(&w, "! ");
    assert_int_equal(w.retry_in_ms, i * 1000);
    if (i > 0) {
      script_advance(&w.vh.script, (uint64_t)i * 1000 - 1);
      assert_int_equal(script_open_requests(&w.vh.script), 0);
    }
    script_advance(&w.vh.script, 1);
  }
  pw_put_off(&w, "continue=t1", 503, 1);
  pw_expect(&w, "end:ESTATUS/7/1+ ");
  script_advance(&w.vh.script, 60000);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_finish(&w);
}

/* RR-01: without Retry-After it is final; so is 404 with it. */
static void test_pager_failures_that_are_final(void **state) {
  (void)state;
  static const struct {
    int status;
    int64_t retry_after_s;
    kin_error_class error_class;
  } cases[] = {{429, -1, KIN_CLASS_THROTTLED},
               {500, -1, KIN_CLASS_SERVER},
               {404, 1, KIN_CLASS_ABSENT},
               {403, 1, KIN_CLASS_FORBIDDEN}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pager_world w;
    pw_open(&w);
    pw_put_off(&w, "/pods", cases[i].status, cases[i].retry_after_s);
    pw_expect(&w, "end:ESTATUS//0 ");
    assert_int_equal(w.end_class, cases[i].error_class);
    assert_non_null(strstr(w.message, "list of pods"));
    pw_finish(&w);
  }
}

#define PW_DETAILS(code, seconds)                                              \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" code                 \
  ",\"details\":{\"retryAfterSeconds\":" seconds "}}"

/* RR-01: the response's head decides, whatever its Status says. client-go
 * looks at the head only. */
static void test_pager_head_decides(void **state) {
  (void)state;
  static const struct {
    int status;
    int64_t retry_after_s;
    const char *body;
    uint64_t retry_in_ms; /* UINT64_MAX: final */
  } cases[] = {{500, -1, PW_DETAILS("500", "7"), UINT64_MAX},
               {429, -1, PW_DETAILS("429", "7"), UINT64_MAX},
               {403, 2, PW_DETAILS("429", "7"), UINT64_MAX},
               {429, 2, PW_DETAILS("403", "7"), 2000},
               {503, 3, PW_DETAILS("404", "7"), 3000},
               {503, 0, PW_DETAILS("503", "7"), 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pager_world w;
    pw_open(&w);
    pw_refuse(&w, "/pods", cases[i].status, cases[i].retry_after_s,
              cases[i].body);
    bool is_final = cases[i].retry_in_ms == UINT64_MAX;
    pw_expect(&w, is_final ? "end:ESTATUS//0 " : "! ");
    assert_true(is_final || w.retry_in_ms == cases[i].retry_in_ms);
    pw_finish(&w);
  }
}

/* RR-01: the head decides also if the body after it is cut. */
static void test_pager_head_decides_before_a_cut(void **state) {
  (void)state;
  static const struct {
    int status;
    int64_t retry_after_s;
    const char *expected;
  } cases[] = {{503, 30, "! "},
               {429, 30, "! "},
               {503, -1, "end:ESTATUS//0 "},
               {403, -1, "end:ESTATUS//0 "},
               {404, -1, "end:ESTATUS//0 "},
               {410, -1, "end:EGONE//0 "}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pager_world w;
    pw_open(&w);
    kin__response_head head = {.status = cases[i].status,
                               .content_type = {"application/json", 16},
                               .retry_after_s = cases[i].retry_after_s,
                               .is_identity = true};
    script_request *request = script_expect(&w.vh.script, "/pods");
    assert_true(script_request_give_head(request, &head));
    assert_true(script_request_body(request, "{\"kind\":", 8));
    pw_break(&w, KIN_EEOF);
    pw_expect(&w, cases[i].expected);
    assert_true(cases[i].retry_after_s < 0 || w.retry_in_ms == 30000);
    pw_finish(&w);
  }
}

/* The count of retries is of one page in a row. */
static void test_pager_retries_begin_again(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  for (unsigned page = 1; page <= 3; page++) {
    for (int i = 0; i < 10; i++) {
      pw_put_off(&w, "/pods", 429, 1);
      assert_int_equal(w.attempt, i + 1);
      script_advance(&w.vh.script, 1000);
    }
    w.text[0] = '\0';
    static const char *const tokens[] = {"t1", "t2", ""};
    pw_respond_page(&w, "/pods", page, 1, tokens[page - 1]);
  }
  pw_expect(&w, "p0003@3 end:0/7/3+ ");
  pw_finish(&w);
}

/* PG-02: the pages of such a server never end; what came is given. */
static void test_pager_token_comes_again(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  pw_respond_page(&w, "/pods", 1, 1, "t1");
  pw_respond_page(&w, "continue=t1", 2, 1, "t1");
  pw_expect(&w, "p0001@1 p0002@2 end:EUNEXPECTED/7/2+ ");
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_finish(&w);
}

/* RR-02: a connection that breaks before the answer is tried again after a
 * second, in the middle of it, or refused, it is the end. */
static void test_pager_broken_connections(void **state) {
  (void)state;
  static const int codes[] = {KIN_EEOF, -ECONNRESET, -EPIPE, -ECONNABORTED};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    pager_world w;
    pw_open(&w);
    pw_break(&w, codes[i]);
    pw_expect(&w, "! ");
    assert_int_equal(w.retry_in_ms, 1000);
    script_advance(&w.vh.script, 999);
    assert_int_equal(script_open_requests(&w.vh.script), 0);
    script_advance(&w.vh.script, 1);
    assert_true(script_head(&w.vh.script, "/pods", 200));
    pw_break(&w, codes[i]);
    assert_memory_equal(w.text, "end:", 4);
    pw_finish(&w);
  }
  pager_world w;
  pw_open(&w);
  pw_break(&w, -ECONNREFUSED);
  assert_memory_equal(w.text, "end:", 4);
  pw_finish(&w);
}

/* PG-04, PG-05: what is no list, and a page that breaks off; what was read of
 * it has been given. */
static void test_pager_bodies_that_fail(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  pw_respond(&w, "/pods", 200, "{\"kind\":\"Pod\",\"metadata\":{}}");
  pw_expect(&w, "end:EUNEXPECTED//0 ");
  assert_int_equal(w.end_class, KIN_CLASS_DECODE);
  pw_finish(&w);
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    pw_init(&w, 0);
    w.options.whole_list = is_whole != 0;
    assert_int_equal(pw_try_open(&w), 0);
    pw_respond_page(&w, "/pods", 1, 2, "t");
    static char body[1024];
    pw_page(body, sizeof body, 3, 2, "");
    script_head(&w.vh.script, "/pods", 200);
    script_body(&w.vh.script, "/pods", body, strlen(body) - 3);
    pw_break(&w, KIN_EEOF);
    pw_expect(&w, is_whole != 0 ? "end:EEOF/7/0+ "
                                : "p0001@1 p0002@2 p0003@3 end:EEOF/7/3+ ");
    pw_finish(&w);
  }
}

/* PG-05: what was in hand before the failure is given before it is told. */
static void test_pager_gives_what_came_before(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  kin_pager_pause(w.pager);
  pw_respond_page(&w, "/pods", 1, 3, "t");
  pw_respond(&w, "continue=t", 410, PW_STATUS("410", "Expired"));
  pw_expect(&w, "");
  kin_pager_resume(w.pager);
  script_run(&w.vh.script);
  pw_expect(&w, "p0001@1 p0002@2 p0003@3 end:EGONE/7/3+ ");
  pw_finish(&w);
}

static void note_blocks(pager_world *w) {
  w->at_call = (int)atomic_load(&w->vh.memory.live_blocks);
}

/* A whole list that fails is not in memory any more when that is told. */
static void test_pager_keeps_no_part_of_a_list(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.options.whole_list = true;
  w.then = note_blocks;
  assert_int_equal(pw_try_open(&w), 0);
  pw_respond_page(&w, "/pods", 1, 500, "t");
  assert_true(atomic_load(&w.vh.memory.live_blocks) > 500);
  pw_respond(&w, "continue=t", 500, PW_STATUS("500", "InternalError"));
  pw_expect(&w, "end:ESTATUS/7/0+ ");
  assert_in_range(w.at_call, 1, 50);
  pw_finish(&w);
}

/* PG-03: the full list is asked for once; a server that cuts it up all the same
 * and forgets is not asked for ever. */
static void test_pager_falls_back_once(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.options.whole_list = true;
  assert_int_equal(pw_try_open(&w), 0);
  for (int i = 0; i < 2; i++) {
    pw_respond_page(&w, "/pods", 1, 3, "t");
    pw_respond(&w, "continue=t", 410, PW_STATUS("410", "Expired"));
  }
  pw_expect(&w, "! end:EGONE/7/0+ ");
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_finish(&w);
}

/* on_error ends it, or has it wait. */
static void test_pager_answers(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  w.answer = KIN_RETRY_AFTER;
  w.retry_after_ms = 5000;
  pw_put_off(&w, "/pods", 429, 1);
  script_advance(&w.vh.script, 4999);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  script_advance(&w.vh.script, 1);
  pw_respond_page(&w, "/pods", 1, 1, "t");
  w.answer = KIN_STOP;
  pw_put_off(&w, "/pods", 429, 1);
  script_advance(&w.vh.script, 10000);
  pw_expect(&w, "! p0001@1 ! end:ESTATUS/7/1+ ");
  assert_int_equal(w.end_class, KIN_CLASS_THROTTLED);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_finish(&w);
}

/* --- Single objects ------------------------------------------------------- */

/* A good one and one without a name. */
#define HALF_GOOD(token, name)                                                 \
  "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"" token             \
  "\"},\"items\":[{\"metadata\":{\"name\":\"" name                             \
  "\",\"uid\":\"u\",\"resourceVersion\":\"1\"}},{\"metadata\":{\"uid\":"       \
  "\"bad-" name "\",\"resourceVersion\":\"2\"}}]}"

static void pause_once(pager_world *w) {
  if (w->at_call == w->calls) {
    kin_pager_pause(w->pager);
  }
}

static void stop_once(pager_world *w) {
  if (w->at_call == w->calls) {
    w->is_over = true;
    assert_int_equal(kin_pager_close(w->pager, NULL, NULL), 0);
  }
}

/* Reports of skipped objects come a second apart; the end does not wait for
 * that, so what is not reported yet comes right before it. on_error may pause
 * or close the pager there, and refuse the list. */
static void test_pager_reports_before_the_end(void **state) {
  (void)state;
  for (int how = 0; how < 4; how++) {
    pager_world w;
    pw_open(&w);
    pw_respond(&w, "/pods", 200, HALF_GOOD("t", "a"));
    script_run(&w.vh.script);
    pw_expect(&w, "a@1 ! ");
    w.at_call = 4;
    w.answer = how == 3 ? KIN_STOP : KIN_RETRY; /* the list fails by that */
    w.then = how == 1 ? pause_once : how == 2 ? stop_once : NULL;
    pw_respond(&w, "continue=t", 200, HALF_GOOD("", "b"));
    script_run(&w.vh.script);
    pw_expect(&w, how == 1   ? "b@1 ! "
                  : how == 2 ? "b@1 ! closed "
                  : how == 3 ? "b@1 ! end:EKEY/7/2+ "
                             : "b@1 ! end:0/7/2+ ");
    if (how == 1) {
      kin_pager_resume(w.pager);
      script_run(&w.vh.script);
      pw_expect(&w, "end:0/7/2+ ");
    }
    script_advance(&w.vh.script, 5000);
    assert_non_null(strstr(w.vh.text, "bad-a"));
    assert_non_null(strstr(w.vh.text, "bad-b"));
    pw_finish(&w);
  }
}

/* --- Splits --------------------------------------------------------------- */

/* The same whichever way the bytes come. */
static void test_pager_split_everywhere(void **state) {
  (void)state;
  char first[1024];
  char second[1024];
  pw_page(first, sizeof first, 1, 3, "t");
  pw_page(second, sizeof second, 4, 2, "");
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    for (size_t split = 1; split < strlen(first); split++) {
      pager_world w;
      pw_init(&w, 0);
      w.options.whole_list = is_whole != 0;
      w.resource.page_size = 1; /* which is not kept: reading stops */
      assert_int_equal(pw_try_open(&w), 0);
      script_head(&w.vh.script, "/pods", 200);
      script_body(&w.vh.script, "/pods", first, split);
      script_body(&w.vh.script, "/pods", first + split, strlen(first) - split);
      script_end(&w.vh.script, "/pods");
      w.vh.script.split = split;
      pw_respond(&w, "continue=t", 200, second);
      pw_expect(&w, "p0001@1 p0002@2 p0003@3 p0004@4 p0005@5 end:0/7/5+ ");
      pw_finish(&w);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pager_is_put_off),
      cmocka_unit_test(test_pager_failures_that_are_final),
      cmocka_unit_test(test_pager_head_decides),
      cmocka_unit_test(test_pager_head_decides_before_a_cut),
      cmocka_unit_test(test_pager_retries_begin_again),
      cmocka_unit_test(test_pager_token_comes_again),
      cmocka_unit_test(test_pager_broken_connections),
      cmocka_unit_test(test_pager_bodies_that_fail),
      cmocka_unit_test(test_pager_gives_what_came_before),
      cmocka_unit_test(test_pager_keeps_no_part_of_a_list),
      cmocka_unit_test(test_pager_falls_back_once),
      cmocka_unit_test(test_pager_answers),
      cmocka_unit_test(test_pager_reports_before_the_end),
      cmocka_unit_test(test_pager_split_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
