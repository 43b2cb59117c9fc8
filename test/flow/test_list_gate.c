/* SPDX-License-Identifier: MIT */

/* A few lists at a time, whoever makes them: here the scopes of one informer.
 * And no list keeps the others waiting for longer than its turn. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

#define SCOPES 7
#define LIMIT 2
#define TURN_MS 5000

typedef struct gate_world {
  iw_world w;
  kin__gate gate;
  bool refused;
} gate_world;

static void open_world(gate_world *g, bool uses_streams) {
  static const char *const names[SCOPES] = {"even", "odd", "a", "b",
                                            "c",    "d",   "e"};
  iw_init(&g->w, 0);
  kin__gate_init(&g->gate, &g->w.script.sched, &g->w.script.timers, LIMIT,
                 TURN_MS);
  g->w.script.env.lists = &g->gate;
  g->refused = false;
  g->w.script.env.stream_refused = uses_streams ? &g->refused : NULL;
  mini_put_first(&g->w.server, 6);
  kin_informer_options options = iw_options(&g->w);
  options.namespaces = names;
  options.namespace_count = SCOPES;
  assert_int_equal(iw_open(&g->w, &options), 0);
}

static void close_world(gate_world *g) {
  iw_close(&g->w);
  script_run(&g->w.script);
  assert_int_equal(g->gate.inside, 0);
  kin__gate_finish(&g->gate);
  iw_finish(&g->w);
}

static unsigned open_lists(const gate_world *g) {
  unsigned count = 0;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    const script_request *request = g->w.script.requests[i];
    count += request != NULL && !request->is_watch;
  }
  return count;
}

static void test_a_few_at_a_time(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, false);
  static const char empty[] =
      "{\"metadata\":{\"resourceVersion\":\"200\"},\"items\":[]}";
  for (unsigned done = 0; done < SCOPES; done++) {
    unsigned left = SCOPES - done;
    assert_int_equal(open_lists(&g), left < LIMIT ? left : LIMIT);
    for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
      script_request *request = g.w.script.requests[i];
      if (request != NULL && !request->is_watch) {
        script_request_head(request, 200);
        script_request_body(request, empty, sizeof empty - 1);
        script_request_end(request);
        break;
      }
    }
  }
  assert_true(kin_informer_has_synced(g.w.informer));
  assert_int_equal(g.gate.inside, 0);
  close_world(&g);
}

/* A stream makes room when its list is complete, though it goes on. */
static void test_streams(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, true);
  g.w.server.holds_bookmark = true;
  mini_serve(&g.w.server);
  assert_int_equal(g.w.server.streams, LIMIT);
  g.w.server.holds_bookmark = false;
  mini_serve(&g.w.server);
  assert_int_equal(g.w.server.streams, SCOPES);
  assert_int_equal(script_open_requests(&g.w.script), SCOPES);
  iw_assert_truth(&g.w);
  close_world(&g);
}

/* What the server refuses one it is not asked for by those that have waited: it
 * may have taken ten seconds to do so. */
static void test_refused_while_waiting(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, true);
  g.w.server.refuses_streams = true;
  mini_serve(&g.w.server);
  assert_true(kin_informer_has_synced(g.w.informer));
  assert_int_equal(g.w.script.request_count, LIMIT + 2 * SCOPES);
  assert_int_equal(g.w.errors, 0);
  iw_assert_truth(&g.w);
  close_world(&g);
}

/* One that fails makes room while it waits for its next attempt. */
static void test_failures_make_room(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, false);
  script_break(&g.w.script, "/namespaces/even/", KIN_EEOF, KIN_CLASS_CONNECT);
  script_break(&g.w.script, "/namespaces/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  assert_int_equal(open_lists(&g), LIMIT);
  assert_non_null(script_find(&g.w.script, "/namespaces/a/"));
  assert_non_null(script_find(&g.w.script, "/namespaces/b/"));
  mini_pass(&g.w.server, 5000);
  assert_true(kin_informer_has_synced(g.w.informer));
  iw_assert_truth(&g.w);
  close_world(&g);
}

static void test_closed_while_waiting(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, false);
  assert_int_equal(open_lists(&g), LIMIT);
  close_world(&g);
}

/* --- Turns ---------------------------------------------------------------- */

static const char empty_list[] =
    "{\"metadata\":{\"resourceVersion\":\"200\"},\"items\":[]}";

static bool is_stuck(const script_request *request) {
  return strstr(request->target, "/even/") != NULL ||
         strstr(request->target, "/odd/") != NULL;
}

/* Answers all lists but the stuck ones, and what follows from that. */
static void serve_others(gate_world *g) {
  for (bool has_served = true; has_served;) {
    has_served = false;
    for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
      script_request *request = g->w.script.requests[i];
      if (request != NULL && !request->is_watch && !is_stuck(request)) {
        script_request_head(request, 200);
        script_request_body(request, empty_list, sizeof empty_list - 1);
        script_request_end(request);
        has_served = true;
      }
    }
  }
}

/* A byte for each stuck list, now and then. */
static void trickle(gate_world *g, size_t at) {
  static const char *const parts[] = {"/even/", "/odd/"};
  for (size_t i = 0; i < 2; i++) {
    if (at == 0) {
      assert_true(script_head(&g->w.script, parts[i], 200));
    }
    assert_true(script_body(&g->w.script, parts[i], empty_list + at, 1));
  }
}

static unsigned open_watches(const gate_world *g) {
  unsigned count = 0;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    const script_request *request = g->w.script.requests[i];
    count += request != NULL && request->is_watch;
  }
  return count;
}

/* Two lists that come byte by byte, and never end, have both places; all others
 * are there a turn later, and the two are still being read. */
static void test_stuck_lists(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, false);
  trickle(&g, 0);
  script_advance(&g.w.script, TURN_MS - 1);
  serve_others(&g);
  assert_int_equal(open_watches(&g), 0);
  assert_int_equal(iw_status(&g.w, "a").turn_wait_ms, TURN_MS - 1);
  assert_int_equal(iw_status(&g.w, "a").overdue_lists, 0);
  assert_true(iw_status(&g.w, "even").turn_wait_ms == UINT64_MAX);
  kin_informer_metrics metrics = iw_metrics(&g.w);
  assert_int_equal(metrics.waiting_lists, SCOPES - LIMIT);
  assert_int_equal(metrics.overdue_lists, 0);

  script_advance(&g.w.script, 1);
  serve_others(&g);
  assert_int_equal(open_watches(&g), SCOPES - LIMIT);
  assert_true(iw_status(&g.w, "a").turn_wait_ms == UINT64_MAX);
  assert_int_equal(iw_status(&g.w, "even").overdue_lists, 1);
  assert_int_equal(iw_status(&g.w, "a").overdue_lists, 0);
  metrics = iw_metrics(&g.w);
  assert_int_equal(metrics.waiting_lists, 0);
  assert_int_equal(metrics.overdue_lists, LIMIT);
  assert_int_equal(metrics.list_wait_us.count, SCOPES - LIMIT);
  assert_int_equal(metrics.list_wait_us.sum, (SCOPES - LIMIT) * TURN_MS * 1000);

  for (size_t at = 1; at < sizeof empty_list - 1; at++) {
    script_advance(&g.w.script, 10000);
    trickle(&g, at);
  }
  script_end(&g.w.script, "/even/");
  script_end(&g.w.script, "/odd/");
  assert_true(kin_informer_has_synced(g.w.informer));
  assert_int_equal(open_watches(&g), SCOPES);
  assert_int_equal(g.gate.overdue, 0);
  assert_int_equal(g.w.errors, 0);
  close_world(&g);
}

/* Pages without an end: a list keeps its place from page to page, loses it
 * after one turn, and needs none for the pages after that. Twice, for what has
 * lost its place once must be able to have one again. */
static void test_endless_pages(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, false);
  for (unsigned round = 1; round <= 2; round++) {
    for (unsigned ms = 0; ms < 3 * TURN_MS; ms += 1000) {
      char page[128];
      snprintf(page, sizeof page,
               "{\"metadata\":{\"resourceVersion\":\"200\","
               "\"continue\":\"%u\"},\"items\":[]}",
               ms);
      script_respond(&g.w.script, "/even/", 200, page);
      script_respond(&g.w.script, "/odd/", 200, page);
      script_advance(&g.w.script, 1000);
      serve_others(&g);
    }
    assert_non_null(script_find(&g.w.script, "/even/"));
    assert_int_equal(open_watches(&g), round * (SCOPES - LIMIT));
    assert_int_equal(iw_status(&g.w, "even").overdue_lists, round);
    if (round == 1) {
      static const char *const more[] = {"f", "g", "h", "i", "j"};
      script_break(&g.w.script, "/even/", KIN_EEOF, KIN_CLASS_CONNECT);
      script_break(&g.w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
      script_advance(&g.w.script, 2000);
      assert_int_equal(g.gate.inside, LIMIT);
      for (size_t i = 0; i < SCOPES - LIMIT; i++) {
        assert_int_equal(kin_informer_add_namespace(g.w.informer, more[i]), 0);
      }
    }
  }
  close_world(&g);
}

/* Streams whose end never comes, and heads that never come. */
static void test_stuck_streams(void **state) {
  (void)state;
  gate_world g;
  open_world(&g, true);
  g.w.server.holds_bookmark = true;
  script_head(&g.w.script, "/even/", 200);
  script_advance(&g.w.script, TURN_MS);
  assert_int_equal(g.gate.overdue, LIMIT);
  assert_int_equal(script_open_requests(&g.w.script), 2 * LIMIT);
  script_advance(&g.w.script, TURN_MS);
  assert_non_null(script_find(&g.w.script, "/namespaces/c/"));
  assert_int_equal(g.gate.inside, LIMIT);
  close_world(&g);
  assert_int_equal(g.gate.overdue, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_few_at_a_time),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_refused_while_waiting),
      cmocka_unit_test(test_failures_make_room),
      cmocka_unit_test(test_closed_while_waiting),
      cmocka_unit_test(test_stuck_lists),
      cmocka_unit_test(test_endless_pages),
      cmocka_unit_test(test_stuck_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
