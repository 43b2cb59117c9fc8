/* SPDX-License-Identifier: MIT */

/* The pager on a virtual clock: what is asked for and when, what is given and
 * how it ends. Proves PG-01 to PG-06, CN-04, RL-06. Failures are in
 * test_pager_failures.c; closing, memory and sources of the program's own in
 * test_pager_pressure.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/pager_world.h"

/* --- What is asked for ---------------------------------------------------- */

static void refuse(pager_world *w) {
  assert_int_equal(pw_try_open(w), KIN_EINVAL);
  assert_null(w->pager);
}

static void test_pager_refuses_versions(void **state) {
  (void)state;
  static const struct {
    const char *version;
    const char *match;
  } bad[] = {
      {NULL, "Exact"},
      {"", "NotOlderThan"},
      {"0", "Exact"},
      {"5", "exact"},
      {"5", "Newest"},
      {"1234567890123456789012345678901234567890123456789012345678901234",
       NULL}};
  pager_world w;
  pw_init(&w, 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    w.options.resource_version = bad[i].version;
    w.options.resource_version_match = bad[i].match;
    refuse(&w);
  }
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_finish(&w);
}

/* PG-06: what client-go would take for a negative buffer is too large a number
 * here. */
static void test_pager_refuses(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.options.pages_ahead = 1001;
  refuse(&w);
  w.options.pages_ahead = (uint32_t)-1;
  refuse(&w);
  w.options.pages_ahead = 0;
  kin_pager_item_cb on_item = w.options.on_item;
  w.options.on_item = NULL;
  refuse(&w);
  w.options.on_item = on_item;
  w.resource.resync_ms = 1;
  refuse(&w);
  w.resource.resync_ms = 0;
  const char *const namespaces[] = {"a", "b"};
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 2;
  refuse(&w);
  w.resource.namespace_count = 0;
  w.resource.plural = NULL;
  refuse(&w);
  w.resource.plural = "pods";
  w.options.resource = NULL;
  refuse(&w);
  w.options.resource = &w.resource;
  w.options.size = 4;
  refuse(&w);
  struct {
    kin_pager_options options;
    char newer[8];
  } future = {.options = w.options, .newer = "x"};
  future.options.size = sizeof future;
  assert_int_equal(kin__pager_open(&w.pager, &w.vh.host, &future.options),
                   KIN_ENOTSUP);
  vh_close(&w.vh);
  w.options.size = sizeof w.options;
  assert_int_equal(pw_try_open(&w), KIN_ECLOSED);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  vh_finish(&w.vh);
}

/* PG-01, PG-02, CN-04: 500 items a page; pages after the first have the token
 * alone. */
static void test_pager_requests(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  const char *const namespaces[] = {"ns"};
  w.resource.group = "apps";
  w.resource.plural = "deployments";
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 1;
  w.resource.label_selector = "app=web";
  w.options.resource_version = "5";
  w.options.resource_version_match = "NotOlderThan";
  assert_int_equal(pw_try_open(&w), 0);
  assert_string_equal(
      script_expect(&w.vh.script, "deployments")->target,
      "/apis/apps/v1/namespaces/ns/deployments?labelSelector=app%3Dweb&"
      "limit=500&resourceVersion=5&resourceVersionMatch=NotOlderThan");
  pw_respond_page(&w, "limit=500", 1, 1, "t1");
  assert_string_equal(script_expect(&w.vh.script, "deployments")->target,
                      "/apis/apps/v1/namespaces/ns/deployments?continue=t1&"
                      "labelSelector=app%3Dweb&limit=500");
  pw_respond_page(&w, "continue=t1", 2, 1, "");
  pw_expect(&w, "p0001@1 p0002@2 end:0/7/2+ ");
  pw_finish(&w);
}

static void test_pager_unlimited(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.resource.page_size = KIN_NEVER;
  w.options.resource_version = "0";
  assert_int_equal(pw_try_open(&w), 0);
  assert_string_equal(script_expect(&w.vh.script, "pods")->target,
                      "/api/v1/pods?resourceVersion=0");
  pw_finish(&w);
}

/* --- client-go's tables --------------------------------------------------- */

/* The pages of a list of `total` items, `size` each, as a server gives them
 * that has forgotten the token of page `expired` (from 1; 0: none). */
typedef struct scenario {
  const char *name;
  unsigned total;
  uint32_t size; /* KIN_NEVER: one page */
  unsigned expired;
  const char *reason;
  bool no_full_list;
  unsigned stop_at;
  unsigned requests;
  const char *end;
} scenario;

static unsigned page_of(const script_request *request) {
  const char *token = strstr(request->target, "continue=t");
  unsigned page = 0;
  if (token != NULL) {
    assert_int_equal(sscanf(token, "continue=t%u", &page), 1);
    /* PG-02. */
    assert_null(strstr(request->target, "resourceVersion"));
  }
  return page + 1;
}

static void serve_page(pager_world *w, const scenario *s) {
  const script_request *request = script_expect(&w->vh.script, "/pods");
  unsigned page = page_of(request);
  bool is_limited = strstr(request->target, "limit=") != NULL;
  unsigned size = is_limited ? s->size : s->total;
  if (page == s->expired && is_limited) {
    char body[256];
    snprintf(body, sizeof body, PW_STATUS("410", "%s"), s->reason);
    pw_respond(w, "/pods", 410, body);
    return;
  }
  unsigned first = (page - 1) * size;
  unsigned count = s->total - first < size ? s->total - first : size;
  char token[16] = "";
  if (first + count < s->total) {
    snprintf(token, sizeof token, "t%u", page);
  }
  pw_respond_page(w, "/pods", first + 1, count, token);
}

static void run_scenario(const scenario *s, bool is_whole) {
  pager_world w;
  pw_init(&w, 0);
  w.resource.page_size = s->size;
  w.options.whole_list = is_whole;
  w.options.no_full_list = s->no_full_list;
  w.options.resource_version = "3";
  w.stop_at = s->stop_at;
  assert_int_equal(pw_try_open(&w), 0);
  script_expect(&w.vh.script, "resourceVersion=3");
  while (script_open_requests(&w.vh.script) > 0) {
    if (is_whole) {
      assert_int_equal(w.items, 0);
    }
    serve_page(&w, s);
  }
  assert_true(w.has_ended);
  if (w.vh.script.request_count != s->requests ||
      strstr(w.text, s->end) == NULL ||
      strstr(w.text, s->end)[strlen(s->end)] != '\0') {
    fail_msg("%s: %u requests, %s", s->name, w.vh.script.request_count, w.text);
  }
  const char *said = w.text;
  for (unsigned i = 1; i <= w.items; i++) {
    char item[32];
    said += strncmp(said, "! ", 2) == 0 ? 2 : 0;
    int length = snprintf(item, sizeof item, "p%04u@%u ", i, i);
    assert_memory_equal(said, item, (size_t)length);
    said += length;
  }
  pw_finish(&w);
}

#define RUN_ALL(scenarios, is_whole)                                           \
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios)[0]; i++) {      \
    run_scenario(&(scenarios)[i], is_whole);                                   \
  }

/* TestListPager_List: PG-01, PG-02, PG-03, CN-04, RL-06. The list as a whole;
 * the fall-back to a full list asks for the version of the first request, and
 * its items are all that is given. */
static void test_pager_whole_list(void **state) {
  (void)state;
  static const scenario scenarios[] = {
      {"empty page", 0, 10, 0, NULL, false, 0, 1, "end:0/7/0 "},
      {"one page", 9, 10, 0, NULL, false, 0, 1, "p0009@9 end:0/7/9 "},
      {"one full page", 10, 10, 0, NULL, false, 0, 1, "p0010@10 end:0/7/10 "},
      {"next page", 11, 10, 0, NULL, false, 0, 2, "p0011@11 end:0/7/11+ "},
      {"three pages", 21, 10, 0, NULL, false, 0, 3, "p0021@21 end:0/7/21+ "},
      {"unlimited", 21, KIN_NEVER, 0, NULL, false, 0, 1, "end:0/7/21 "},
      {"expired second page", 11, 10, 2, "Expired", false, 0, 3,
       "p0011@11 end:0/7/11+ "},
      {"expired third page", 31, 10, 3, "Expired", false, 0, 4,
       "p0031@31 end:0/7/31+ "},
      {"no full list", 11, 10, 2, "Expired", true, 0, 2, "end:EGONE/7/0+ "},
      {"Gone is not Expired", 11, 10, 2, "Gone", false, 0, 2,
       "end:EGONE/7/0+ "},
      {"expired first page", 11, 10, 1, "Expired", false, 0, 1,
       "end:EGONE//0 "},
      {"item fails", 11, 10, 0, NULL, false, 3, 2, "p0003@3 end:77/7/3+ "},
  };
  RUN_ALL(scenarios, true);
}

/* TestListPager_EachListItem: PG-04, PG-05. Items as they come; no full list,
 * since it would give them twice. */
static void test_pager_each_item(void **state) {
  (void)state;
  static const scenario scenarios[] = {
      {"empty page", 0, 10, 0, NULL, false, 0, 1, "end:0/7/0 "},
      {"one page", 9, 10, 0, NULL, false, 0, 1, "p0009@9 end:0/7/9 "},
      {"three pages", 21, 10, 0, NULL, false, 0, 3, "p0021@21 end:0/7/21+ "},
      {"item fails on the first page", 51, 10, 0, NULL, false, 5, 1,
       "p0005@5 end:77//5 "},
      {"item fails on the second page", 51, 10, 0, NULL, false, 15, 2,
       "p0015@15 end:77/7/15+ "},
      {"last item fails", 9, 10, 0, NULL, false, 9, 1, "end:77//9 "},
      {"expired second page", 11, 10, 2, "Expired", false, 0, 2,
       "p0010@10 end:EGONE/7/10+ "},
      {"expired first page", 11, 10, 1, "Expired", false, 0, 1,
       "end:EGONE//0 "},
  };
  RUN_ALL(scenarios, false);
}

/* --- Pages ahead ---------------------------------------------------------- */

typedef struct buffered {
  unsigned total;
  unsigned processed;
  unsigned lists;
  uint32_t ahead;
} buffered;

static void pause_at(pager_world *w) {
  if (w->calls == w->at_call) {
    kin_pager_pause(w->pager);
  }
}

/* TestListPager_eachListPageBuffered: PG-06. While item n of as many one-item
 * pages is being given, so many pages have been asked for. */
static void test_pager_pages_ahead(void **state) {
  (void)state;
  static const buffered cases[] = {
      {1, 1, 1, 0},    {5, 1, 2, 0},    {5, 2, 3, 0},     {5, 5, 5, 0},
      {5, 1, 3, 1},    {5, 2, 4, 1},    {5, 5, 5, 1},     {5, 1, 5, 10},
      {20, 1, 12, 10}, {20, 2, 13, 10}, {20, 12, 20, 10}, {20, 20, 20, 10},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const buffered *c = &cases[i];
    const scenario s = {.total = c->total * 3, .size = 3};
    pager_world w;
    pw_init(&w, 0);
    w.resource.page_size = 3;
    w.options.pages_ahead = c->ahead;
    w.then = pause_at;
    /* The last item of the page is in hand, the page is not done with. */
    w.at_call = (int)c->processed * 3 - 1;
    assert_int_equal(pw_try_open(&w), 0);
    while (script_open_requests(&w.vh.script) > 0) {
      serve_page(&w, &s);
    }
    assert_int_equal(w.items, c->processed * 3 - 1);
    assert_int_equal(w.vh.script.request_count, c->lists);
    kin_pager_resume(w.pager);
    script_run(&w.vh.script);
    while (script_open_requests(&w.vh.script) > 0) {
      serve_page(&w, &s);
    }
    assert_int_equal(w.vh.script.request_count, c->total);
    assert_int_equal(w.items, c->total * 3);
    assert_true(w.has_ended);
    pw_finish(&w);
  }
}

/* A server that ignores the limit is read no further than two pages, also if a
 * page is one item, and if the first step of the program ends at once. */
static void test_pager_small_pages(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= 3; size++) {
    for (uint32_t ahead = 0; ahead < 2; ahead++) {
      pager_world w;
      pw_init(&w, 0);
      w.resource.page_size = size;
      w.options.pages_ahead = ahead;
      w.is_silent = true;
      assert_int_equal(pw_try_open(&w), 0);
      kin_pager_pause(w.pager);
      static char body[1 << 16];
      pw_page(body, sizeof body, 1, 100, "");
      script_request *request = script_expect(&w.vh.script, "limit=");
      assert_true(script_request_head(request, 200));
      size_t at = 0;
      while (!request->is_paused) {
        assert_true(script_request_body(request, body + at++, 1));
      }
      char last[16];
      char next[16];
      unsigned items = size * (ahead + 2);
      snprintf(last, sizeof last, "p%04u", items + 1);
      snprintf(next, sizeof next, "p%04u", items + 2);
      body[at] = '\0';
      assert_non_null(strstr(body, last));
      assert_null(strstr(body, next));
      pw_finish(&w);
    }
  }
}

/* Pages of no item, as a selector may leave them, count for nothing. */
static void test_pager_empty_pages(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  kin_pager_pause(w.pager);
  for (unsigned i = 0; i < 20; i++) {
    pw_respond_page(&w, "/pods", 1, 0, i % 2 == 0 ? "t0" : "t1");
  }
  pw_respond_page(&w, "/pods", 1, 2, "t2");
  pw_respond_page(&w, "/pods", 3, 0, "t3");
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  pw_expect(&w, "");
  kin_pager_resume(w.pager);
  script_run(&w.vh.script);
  pw_expect(&w, "p0001@1 p0002@2 ");
  pw_respond_page(&w, "/pods", 3, 1, "");
  pw_expect(&w, "p0003@3 end:0/7/3+ ");
  pw_finish(&w);
}

/* A server that ignores the limit is read no further than two pages, and does
 * not keep other lists from being made meanwhile. */
static void test_pager_does_not_read(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  kin__gate gate;
  kin__gate_init(&gate, &w.vh.script.sched, &w.vh.script.timers, 1, UINT64_MAX);
  w.vh.script.env.lists = &gate;
  w.resource.page_size = 10;
  w.is_silent = true;
  assert_int_equal(pw_try_open(&w), 0);
  kin_pager_pause(w.pager);
  assert_int_equal(gate.inside, 1);
  static char body[1 << 16];
  pw_page(body, sizeof body, 1, 100, "");
  script_request *request = script_expect(&w.vh.script, "limit=10");
  assert_true(script_request_head(request, 200));
  size_t at = 0;
  size_t length = strlen(body);
  while (!request->is_paused) {
    assert_true(script_request_body(request, body + at++, 1));
  }
  body[at] = '\0';
  assert_non_null(strstr(body, "p0021"));
  assert_null(strstr(body, "p0022"));
  assert_int_equal(gate.inside, 0);
  body[at] = ',';
  w.then = pause_at;
  w.at_call = 10;
  kin_pager_resume(w.pager);
  script_run(&w.vh.script);
  assert_true(request->is_paused);
  w.at_call = 11;
  kin_pager_resume(w.pager);
  script_run(&w.vh.script);
  assert_false(request->is_paused);
  assert_int_equal(w.items, 11);
  assert_true(script_request_body(request, body + at, length - at));
  kin_pager_resume(w.pager);
  script_run(&w.vh.script);
  script_request_end(request);
  assert_int_equal(w.items, 100);
  assert_true(w.has_ended);
  assert_int_equal(gate.inside, 0);
  pw_finish(&w);
  kin__gate_finish(&gate);
}

/* Each page takes its turn among the client's lists. */
static void test_pager_waits_its_turn(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  kin__gate gate;
  kin__gate_visitor other;
  pw_hold_lists(&w, &gate, &other);
  assert_int_equal(pw_try_open(&w), 0);
  script_run(&w.vh.script);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  kin__gate_leave(&gate, &other);
  script_run(&w.vh.script);
  pw_respond_page(&w, "/pods", 1, 1, "t1");
  assert_int_equal(gate.inside, 1);
  pw_respond_page(&w, "continue=t1", 2, 1, "");
  assert_int_equal(gate.inside, 0);
  pw_expect(&w, "p0001@1 p0002@2 end:0/7/2+ ");
  pw_finish(&w);
  kin__gate_finish(&gate);
}

/* PG-05: what is in hand when an item fails is not given, also when nothing is
 * left to be asked for. */
static void test_pager_stops_with_items_in_hand(void **state) {
  (void)state;
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    pager_world w;
    pw_init(&w, 0);
    w.options.whole_list = is_whole != 0;
    w.stop_at = 2;
    assert_int_equal(pw_try_open(&w), 0);
    kin_pager_pause(w.pager);
    pw_respond_page(&w, "/pods", 1, 4, "");
    pw_expect(&w, "");
    kin_pager_resume(w.pager);
    script_run(&w.vh.script);
    pw_expect(&w, "p0001@1 p0002@2 end:77/7/2 ");
    pw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pager_refuses_versions),
      cmocka_unit_test(test_pager_refuses),
      cmocka_unit_test(test_pager_requests),
      cmocka_unit_test(test_pager_unlimited),
      cmocka_unit_test(test_pager_whole_list),
      cmocka_unit_test(test_pager_each_item),
      cmocka_unit_test(test_pager_pages_ahead),
      cmocka_unit_test(test_pager_small_pages),
      cmocka_unit_test(test_pager_empty_pages),
      cmocka_unit_test(test_pager_does_not_read),
      cmocka_unit_test(test_pager_waits_its_turn),
      cmocka_unit_test(test_pager_stops_with_items_in_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
