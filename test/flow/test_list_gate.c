/* SPDX-License-Identifier: MIT */

/* A few lists at a time, whoever makes them: here the scopes of one
 * informer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

#define SCOPES 7
#define LIMIT 2

typedef struct gate_world {
  iw_world w;
  kin__gate gate;
  bool refused;
} gate_world;

static void open_world(gate_world *g, bool uses_streams) {
  static const char *const names[SCOPES] = {"even", "odd", "a", "b",
                                            "c",    "d",   "e"};
  iw_init(&g->w, 0);
  kin__gate_init(&g->gate, &g->w.script.sched, LIMIT);
  g->w.script.env.lists = &g->gate;
  g->refused = false;
  g->w.script.env.stream_refused = uses_streams ? &g->refused : NULL;
  for (int i = 0; i < 6; i++) {
    mini_put(&g->w.server, i);
  }
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_few_at_a_time),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_refused_while_waiting),
      cmocka_unit_test(test_failures_make_room),
      cmocka_unit_test(test_closed_while_waiting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
