/* SPDX-License-Identifier: MIT */

/* RE-01, RE-02, RE-03, RL-10, RW-08, TW-04: the bodies of test_odd_bodies.c as
 * they come to a pager, a reflector, a retry watcher and the check of a list
 * that came as a watch. Each goes on as it does after any other failure, or
 * ends as it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/check_world.h"
#include "support/json_mutations.h"
#include "support/odd_bodies.h"
#include "support/pager_world.h"
#include "support/reflector_rig.h"
#include "support/retry_world.h"

typedef void (*run_cb)(const char *body, int status);

static void run_document(const char *document, int status, run_cb run) {
  json_mutations m;
  json_mutations_init(&m, document);
  for (size_t i = 0; i < m.count; i++) {
    run(json_mutation(&m, i), status);
  }
  json_mutations_finish(&m);
}

static void run_statuses(int status, run_cb run) {
  for (size_t i = 0; odd_statuses[i] != NULL; i++) {
    run_document(odd_statuses[i], status, run);
  }
}

/* The same in an event, and the frame around it. */
static void run_error_events(run_cb run) {
  char frame[1024];
  for (size_t i = 0; odd_statuses[i] != NULL; i++) {
    snprintf(frame, sizeof frame, ODD_FRAME("ERROR", "%s"), odd_statuses[i]);
    run_document(frame, 200, run);
  }
}

static void serve_and_pass(mini_server *server) {
  for (int i = 0; i < 8; i++) {
    mini_serve(server);
    script_advance(server->script, 5000);
  }
  mini_serve(server);
}

/* What is withheld gets the body, and has then been served. */
static void answer(mini_server *server, const char *body, int status) {
  script_request *request = mini_await(server);
  bool goes_on = request->is_watch && status == 200;
  request->position = server->version;
  bool is_open = script_request_head(request, status) &&
                 script_request_body(request, body, strlen(body));
  if (is_open && !goes_on) {
    script_request_end(request);
  } else if (is_open) {
    script_request_body(request, "\n", 1);
  }
}

/* --- A pager -------------------------------------------------------------- */

/* As its first page, again, and as the one after. It ends. */
static void run_pager(const char *body, int status) {
  pager_world w;
  mini_server server;
  pw_init(&w, 0);
  mini_server_init(&server, &w.vh.script);
  server.honours_limit = true;
  mini_put_first(&server, 4);
  w.is_silent = true;
  w.resource.page_size = 2;
  assert_int_equal(pw_try_open(&w), 0);
  server.withholds = "/pods";
  answer(&server, body, status);
  for (int i = 0; i < 2 && !w.has_ended; i++) {
    answer(&server, body, status);
  }
  server.withholds = NULL;
  serve_and_pass(&server);
  assert_true(w.has_ended);
  pw_finish(&w);
}

static void test_pager(void **state) {
  (void)state;
  run_document(ODD_LIST("t2"), 200, run_pager);
  run_document(ODD_TABLE, 200, run_pager);
  run_statuses(200, run_pager);
  run_statuses(500, run_pager);
  run_statuses(410, run_pager);
}

/* --- A reflector ---------------------------------------------------------- */

/* Lists and watches, each twice; then its store has been told the truth. */
static void run_reflector(const char *body, int status) {
  reflector_rig rig;
  mini_server server;
  reflector_rig_init(&rig, 0);
  rig.resource.source = NULL;
  mini_server_init(&server, &rig.vh.script);
  mini_put(&server, 0);
  assert_int_equal(reflector_rig_open(&rig), 0);
  server.withholds = "/pods";
  for (int i = 0; i < 4; i++) {
    server.withholds_watches = i >= 2;
    mini_serve(&server);
    mini_expire_watches(&server);
    answer(&server, body, status);
  }
  server.withholds = NULL;
  serve_and_pass(&server);
  rig.log[0] = '\0';
  mini_expire_watches(&server);
  serve_and_pass(&server);
  assert_non_null(strstr(rig.log, "R(even/p0@101)#101"));
  reflector_rig_finish(&rig);
}

static void test_reflector(void **state) {
  (void)state;
  run_document(ODD_LIST(""), 200, run_reflector);
  run_document(ODD_TABLE, 200, run_reflector);
  run_document(ODD_FRAME("MODIFIED", ODD_POD), 200, run_reflector);
  run_document(ODD_FRAME("BOOKMARK", ODD_BOOKMARK), 200, run_reflector);
  run_error_events(run_reflector);
  run_statuses(200, run_reflector);
  run_statuses(504, run_reflector);
}

/* --- A retry watcher ------------------------------------------------------ */

static void run_retry_watcher(const char *body, int status) {
  retry_world w;
  rw_init(&w, "100", 0);
  mini_server server;
  mini_server_init(&server, &w.vh.script);
  mini_put(&server, 0);
  assert_int_equal(rw_try_open(&w), 0);
  server.withholds = "watch=true";
  server.withholds_watches = true;
  answer(&server, body, status);
  for (int i = 0;
       i < 20 && !w.log.has_ended && script_open_requests(&w.vh.script) == 0;
       i++) {
    script_advance(&w.vh.script, 5000);
  }
  if (!w.log.has_ended) {
    mini_break_watches(&server);
    answer(&server, body, status);
  }
  server.withholds = NULL;
  serve_and_pass(&server);
  assert_true(w.log.has_ended || script_open_requests(&w.vh.script) == 1);
  rw_finish(&w);
}

static void test_retry_watcher(void **state) {
  (void)state;
  run_document(ODD_FRAME("ADDED", ODD_POD), 200, run_retry_watcher);
  run_document(ODD_FRAME("ADDED", ODD_TABLE), 200, run_retry_watcher);
  run_document(ODD_FRAME("BOOKMARK", ODD_BOOKMARK), 200, run_retry_watcher);
  run_error_events(run_retry_watcher);
  run_statuses(200, run_retry_watcher);
  run_statuses(403, run_retry_watcher);
  run_statuses(410, run_retry_watcher);
}

/* --- The check of a list that came as a watch ------------------------------
 * */

/* It asks again, or gives up; what is cached is the server's either way. */
static void run_check(const char *body, int status) {
  check_world c;
  ck_init(&c, 0);
  mini_put(&c.w.server, 0);
  mini_server *server = &c.w.server;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  server->withholds = "resourceVersionMatch=Exact";
  answer(server, body, status);
  script_advance(server->script, 5000);
  if (script_find(server->script, server->withholds) != NULL) {
    answer(server, body, status);
  }
  server->withholds = NULL;
  serve_and_pass(server);
  mini_put(server, 1);
  serve_and_pass(server);
  iw_assert_truth(&c.w);
  iw_finish(&c.w);
}

static void test_check(void **state) {
  (void)state;
  run_document(ODD_LIST(""), 200, run_check);
  run_document(ODD_TABLE, 200, run_check);
  run_statuses(200, run_check);
  run_statuses(410, run_check);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pager),
      cmocka_unit_test(test_reflector),
      cmocka_unit_test(test_retry_watcher),
      cmocka_unit_test(test_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
