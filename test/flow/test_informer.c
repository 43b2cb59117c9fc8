/* SPDX-License-Identifier: MIT */

/* A whole informer against a server that answers whatever is asked, without a
 * loop. Proves SI-11 to SI-13, SI-16, SI-18, SI-21 (delete, then add), PD-01,
 * PD-02, RW-02, RW-11, RL-07, RL-12, DF-06, CO-01, SY-01. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/informer_world.h"

static void test_list_then_watch(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  assert_false(kin_informer_has_synced(w.informer));
  assert_int_equal(w.rec.calls, 0);
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  assert_true(kin_listener_has_synced(w.rec.listener));
  mini_put(&w.server, 1);
  mini_put(&w.server, 2);
  mini_delete(&w.server, 0);
  mini_recreate(&w.server, 1);
  mini_serve(&w.server);
  assert_string_equal(w.rec.log, "add even/p0 101 initial\n"
                                 "add odd/p1 102 initial\n"
                                 "synced 2\n"
                                 "update odd/p1 102 -> 103\n"
                                 "add even/p2 104\n"
                                 "delete even/p0 watch\n"
                                 "delete odd/p1 watch\n"
                                 "add odd/p1 107\n");
  iw_assert_truth(&w);
  assert_int_equal(w.errors, 0);
  assert_int_equal(w.state, KIN_STATE_LIVE);
  iw_finish(&w);
}

/* Managed fields are dropped, everything else is there. */
static void test_objects_are_whole(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 2);
  kin_informer_options options = iw_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w.informer), "even/p2");
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  kin_str text;
  assert_int_equal(kin_object_view_string(view, "/spec/text", &text), 0);
  assert_true(kin__str_equal(text, kin__cstr("a\"b{[")));
  assert_int_equal(
      kin_object_view_string(view, "/metadata/managedFields/0/x", &text),
      KIN_ENOENT);
  assert_true(kin_object_label(object, "app", &text));
  assert_true(kin__str_equal(text, kin__cstr("a2")));
  kin_object_view_close(view);
  iw_finish(&w);
}

/* RL-12, DF-06, SI-21: a relist tells only what changed, and a recreated object
 * as delete and add. */
static void test_relist_after_410(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 5);
  mini_serve(&w.server);
  mini_break_watches(&w.server); /* lived 0 ms: a backoff before the next */
  mini_put(&w.server, 1);
  mini_delete(&w.server, 2);
  mini_recreate(&w.server, 3);
  mini_put(&w.server, 7);
  mini_compact(&w.server);
  w.rec.used = 0;
  mini_pass(&w.server, 10000);
  iw_assert_truth(&w);
  assert_string_equal(w.rec.log, "update odd/p1 102 -> 106\n"
                                 "delete odd/p3 recreated\n"
                                 "add odd/p3 109\n"
                                 "add odd/p7 110\n"
                                 "delete even/p2 relist\n"
                                 "relisted  110 5\n");
  assert_int_equal(w.last_status, 410);
  kin_status status = iw_status(&w, "");
  assert_int_equal(status.relists, 1);
  assert_int_equal(status.unchanged, 2);
  assert_int_equal(status.failures, 0);
  assert_string_equal(status.resource_version, "110");
  iw_finish(&w);
}

/* RW-02: nothing is listed again after drops, ends and bookmarks. */
static void test_drops_do_not_relist(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 1);
  mini_serve(&w.server);
  for (int i = 0; i < 20; i++) {
    mini_put(&w.server, i % 7);
    mini_serve(&w.server);
    mini_pass(&w.server, 2000);
    if (i % 2 == 0) {
      mini_break_watches(&w.server);
    } else {
      mini_end_watches(&w.server);
    }
    mini_put(&w.server, 8 + i % 3);
    mini_bookmark(&w.server);
  }
  mini_pass(&w.server, 5000);
  iw_assert_truth(&w);
  assert_int_equal(w.server.lists, 1);
  assert_int_equal(w.rec.relisted, 0);
  iw_finish(&w);
}

/* A silent watch is verified with a list of one; its item changes nothing. */
static void test_silent_watch_is_verified(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  mini_serve(&w.server);
  int calls = w.rec.calls;
  mini_pass(&w.server, 2000);
  mini_end_watches(&w.server);
  script_request *request = script_expect(&w.script, "limit=1&");
  assert_non_null(strstr(request->target, "resourceVersion=102"));
  assert_non_null(strstr(request->target, "NotOlderThan"));
  mini_serve(&w.server);
  assert_int_equal(w.rec.calls, calls);
  assert_int_equal(w.server.watches, 2);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_pages(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  w.server.honours_limit = true;
  mini_put_first(&w.server, 10);
  kin_informer_options options = iw_options(&w);
  options.page_size = 3;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  assert_int_equal(w.server.lists, 4);
  assert_int_equal(w.rec.initial_adds, 10);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* Nothing of an incomplete list is visible; a failed one changes nothing. */
static void test_failed_list_changes_nothing(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  assert_true(script_head(&w.script, "/pods", 200));
  static const char half[] =
      "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},"
      "\"items\":[{\"metadata\":{\"name\":\"ghost\",\"uid\":\"u\"}},{\"meta";
  assert_true(script_body(&w.script, "/pods", half, sizeof half - 1));
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
  script_break(&w.script, "/pods", KIN_EEOF, KIN_CLASS_CONNECT);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.last_class, KIN_CLASS_CONNECT);
  mini_put(&w.server, 4);
  mini_pass(&w.server, 3000);
  iw_assert_truth(&w);
  assert_int_equal(w.rec.adds, 1);
  iw_finish(&w);
}

/* Each kind of bad answer: one error with its class and status, nothing in the
 * store, and recovery by itself. client-go TestIsUnsupportedTableObject; RL-10:
 * a Table is one of them. */
static void test_bad_answers(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *body;
    kin_error_class error_class;
    kin_state state;
  } rows[] = {
      {404, "404 page not found\n", KIN_CLASS_ABSENT, KIN_STATE_ABSENT},
      {401, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":401}",
       KIN_CLASS_AUTH, KIN_STATE_DENIED},
      {403, "", KIN_CLASS_FORBIDDEN, KIN_STATE_DENIED},
      {429, "", KIN_CLASS_THROTTLED, KIN_STATE_SYNCING},
      {500, "oops", KIN_CLASS_SERVER, KIN_STATE_SYNCING},
      {302, "", KIN_CLASS_SERVER, KIN_STATE_SYNCING},
      {200, "<html>", KIN_CLASS_DECODE, KIN_STATE_SYNCING},
      {200, "", KIN_CLASS_DECODE, KIN_STATE_SYNCING},
      {200, "{\"kind\":\"PodList\",\"items\":[{", KIN_CLASS_DECODE,
       KIN_STATE_SYNCING},
      {200, "{\"kind\":\"Table\",\"metadata\":{},\"items\":[]}",
       KIN_CLASS_DECODE, KIN_STATE_SYNCING},
      {200, "{\"kind\":\"PodList\",\"metadata\":{},\"items\":[1]}",
       KIN_CLASS_DECODE, KIN_STATE_SYNCING},
      {200, "[]", KIN_CLASS_DECODE, KIN_STATE_SYNCING},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    script_respond(&w.script, "/pods", rows[i].status, rows[i].body);
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.last_class, rows[i].error_class);
    assert_int_equal(w.last_status, rows[i].status == 200 ? 0 : rows[i].status);
    assert_int_equal(w.state, rows[i].state);
    assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
    assert_int_equal(script_open_requests(&w.script), 0);
    mini_put(&w.server, 1);
    mini_pass(&w.server, 3000);
    iw_assert_truth(&w);
    assert_int_equal(w.state, KIN_STATE_LIVE);
    iw_finish(&w);
  }
}

/* A malformed frame is a lost position; the cache keeps what it had until the
 * list is there. */
static void test_bad_frames(void **state) {
  (void)state;
  static const struct {
    const char *body;
    size_t length;
  } rows[] = {{"{\"type\":\"ADDED\",\"object\":{\"x\":\"\n", 32},
              {"{\"object\":{\"a\"]", 15},
              {"{\"type\":1}\n", 11},
              {"garbage", 7}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    options.max_object_bytes = 2000;
    assert_int_equal(iw_open(&w, &options), 0);
    mini_serve(&w.server);
    assert_false(
        script_body(&w.script, "watch=true", rows[i].body, rows[i].length));
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.last_class, KIN_CLASS_DECODE);
    assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
    mini_pass(&w.server, 3000);
    assert_int_equal(w.rec.relisted, 1);
    assert_int_equal(w.rec.adds, 1); /* nothing for what did not change */
    assert_int_equal(w.rec.updates, 0);
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

static void assert_scope_version(const iw_world *w, const char *namespace_,
                                 const char *version) {
  kin_status status = iw_status(w, namespace_);
  assert_string_equal(status.resource_version, version);
}

static void test_two_scopes(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 6);
  static const char *const namespaces[] = {"even", "odd"};
  kin_informer_options options = iw_options(&w);
  options.namespaces = namespaces;
  options.namespace_count = 2;
  assert_int_equal(iw_open(&w, &options), 0);
  /* One list alone does not sync. */
  mini_server *server = &w.server;
  script_request *odd = script_expect(&w.script, "/namespaces/odd/");
  odd->is_paused = true;
  mini_serve(server);
  assert_false(kin_informer_has_synced(w.informer));
  assert_int_equal(w.rec.synced, 0);
  assert_int_equal(w.rec.initial_adds, 3);
  assert_scope_version(&w, "even", "106");
  assert_scope_version(&w, "odd", "");
  odd->is_paused = false;
  mini_serve(server);
  assert_int_equal(w.rec.synced, 1);
  assert_scope_version(&w, "odd", "106");
  iw_assert_truth(&w);
  /* A relist of one scope leaves the other alone. */
  mini_delete(server, 1);
  mini_delete(server, 3);
  mini_delete(server, 5);
  mini_delete(server, 2);
  mini_compact(server);
  script_break(&w.script, "/namespaces/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  w.rec.used = 0;
  mini_pass(server, 10000);
  iw_assert_truth(&w);
  assert_int_equal(w.rec.relisted, 1);
  assert_non_null(strstr(w.rec.log, "relisted odd "));
  assert_non_null(strstr(w.rec.log, "delete even/p2 watch\n"));
  assert_scope_version(&w, "even", "110"); /* the delete of p2 */
  assert_non_null(strstr(w.rec.log, "delete odd/p1 relist\n"));
  iw_finish(&w);
}

/* SI-11: a late listener gets what is there, then what changes. */
static void test_late_listener(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  mini_serve(&w.server);
  recorder late;
  recorder_init(&late);
  assert_int_equal(recorder_listen(&late, w.informer), 0);
  assert_int_equal(late.calls, 0); /* no callback inside a kin_ call */
  mini_put(&w.server, 1);
  mini_put(&w.server, 5);
  mini_serve(&w.server);
  assert_int_equal(late.initial_adds, 2);
  assert_int_equal(late.synced, 1);
  recorder_assert_folds_to(&late, kin_informer_store(w.informer));
  kin_listener_close(late.listener);
  int calls = late.calls;
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  assert_int_equal(late.calls, calls);
  iw_finish(&w);
}

static void test_answer_stop(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_options(&w);
  w.answer = KIN_STOP;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  mini_break_watches(&w.server);
  mini_put(&w.server, 0);
  mini_pass(&w.server, 60000);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.state, KIN_STATE_IDLE);
  assert_int_equal(script_open_requests(&w.script), 0);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
  iw_finish(&w);
}

/* client-go TestNewReflectorWithCustomBackoff; RF-01, CN-01: the program's own
 * backoff is its answer to an error. */
static void test_answer_retry_after(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  w.answer = KIN_RETRY_AFTER;
  w.retry_after_ms = 3;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "/pods", 500, "");
  assert_int_equal(script_open_requests(&w.script), 0);
  script_advance(&w.script, 2);
  assert_int_equal(script_open_requests(&w.script), 0);
  script_advance(&w.script, 1);
  assert_int_equal(script_open_requests(&w.script), 1);
  iw_finish(&w);
}

/* A value that kin_retry does not have is no answer: the library's wait stays. */
static void test_unknown_answer(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  w.answer = (kin_retry)99;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "/pods", 500, "");
  script_advance(&w.script, 100);
  assert_int_equal(script_open_requests(&w.script), 0);
  iw_finish(&w);
}

static void test_misuse_is_refused(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  kin_informer *informer;
  static const char *const twice[] = {"a", "a"};
  static const char *const bad[] = {"Not/Valid"};
  const kin_informer_options good = options;
  options.plural = NULL;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options = good;
  options.plural = "../secrets";
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options.plural = "Pods"; /* client-go makes it lower case */
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options = good;
  options.group = "a/b";
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options = good;
  options.version = "v 1";
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options = good;
  options.namespaces = twice;
  options.namespace_count = 2;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  options.namespaces = bad;
  options.namespace_count = 1;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  assert_null(informer);
  struct {
    kin_informer_options known;
    uint64_t unknown;
  } newer = {good, 0};
  newer.known.size = sizeof newer;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &newer.known),
                   0);
  assert_int_equal(kin_informer_start(informer), 0);
  assert_int_equal(kin_informer_start(informer), KIN_EALREADY);
  assert_int_equal(kin_informer_close(informer, iw_on_closed, &w), 0);
  assert_int_equal(kin_informer_close(informer, iw_on_closed, &w),
                   KIN_EALREADY);
  assert_int_equal(recorder_listen(&w.rec, informer), KIN_ECLOSED);
  assert_int_equal(kin_informer_start(informer), KIN_ECLOSED);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  newer.unknown = 1;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &newer.known),
                   KIN_ENOTSUP);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_then_watch),
      cmocka_unit_test(test_objects_are_whole),
      cmocka_unit_test(test_relist_after_410),
      cmocka_unit_test(test_drops_do_not_relist),
      cmocka_unit_test(test_silent_watch_is_verified),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_failed_list_changes_nothing),
      cmocka_unit_test(test_bad_answers),
      cmocka_unit_test(test_bad_frames),
      cmocka_unit_test(test_two_scopes),
      cmocka_unit_test(test_late_listener),
      cmocka_unit_test(test_answer_stop),
      cmocka_unit_test(test_answer_retry_after),
      cmocka_unit_test(test_unknown_answer),
      cmocka_unit_test(test_misuse_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
