/* SPDX-License-Identifier: MIT */

/* Namespaces that come and go while an informer runs: what is listed, when it
 * counts as synced, and what listeners are told. Proves SI-12, SI-16, SY-01 for
 * them. What can happen in between is in test_scopes_removal.c and
 * test_scopes_sweeps.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/scope.h"
#include "support/informer_world.h"

static kin_informer_options options_with(iw_world *w, const char *const *names,
                                         size_t count) {
  kin_informer_options options = iw_options(w);
  options.namespaces = names;
  options.namespace_count = count;
  return options;
}

/* Six objects, and an informer for those in `names`. */
static void open_world(iw_world *w, const char *const *names, size_t count) {
  iw_init(w, 0);
  mini_put_first(&w->server, 6);
  kin_informer_options options = options_with(w, names, count);
  iw_open_only(w, &options);
  assert_int_equal(recorder_listen(&w->rec, w->informer), 0);
}

static void start(iw_world *w) {
  assert_int_equal(kin_informer_start(w->informer), 0);
}

static int add(iw_world *w, const char *name) {
  return kin_informer_add_namespace(w->informer, name);
}

static int drop(iw_world *w, const char *name) {
  return kin_informer_remove_namespace(w->informer, name);
}

static void expect_log(iw_world *w, const char *log) {
  assert_string_equal(w->rec.log, log);
  w->rec.log[0] = '\0';
  w->rec.used = 0;
}

static void assert_cached(const iw_world *w, const char *name) {
  const kin_store *store = kin_informer_store(w->informer);
  assert_int_equal(kin_store_count(store), mini_count(&w->server, name));
  recorder_assert_folds_to(&w->rec, store);
}

static const char *const even_and_odd[] = {"even", "odd"};
static const char *const none[] = {"none"};

static void test_before_the_start(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 1);
  assert_int_equal(add(&w, "odd"), 0);
  assert_int_equal(add(&w, "odd"), KIN_EEXIST);
  assert_int_equal(add(&w, "none"), 0);
  assert_int_equal(drop(&w, "none"), 0);
  assert_int_equal(drop(&w, "none"), KIN_ENOENT);
  assert_int_equal(drop(&w, "odd"), 0);
  assert_int_equal(add(&w, "odd"), 0);
  mini_pass(&w.server, 100);
  assert_int_equal(w.script.request_count, 0);
  assert_int_equal(w.informer->scopes.count, 2);
  start(&w);
  mini_serve(&w.server);
  assert_null(strstr(w.script.last_target, "none"));
  assert_int_equal(w.rec.initial_adds, 6);
  assert_int_equal(w.rec.synced, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* It counts for the sync point, and its objects are initial. */
static void test_added_before_synced(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 1);
  start(&w);
  script_run(&w.script);
  script_request *even = script_expect(&w.script, "/even/");
  even->is_paused = true;
  assert_int_equal(add(&w, "odd"), 0);
  mini_serve(&w.server);
  assert_int_equal(w.rec.initial_adds, 3);
  assert_int_equal(w.rec.synced, 0);
  assert_int_equal(add(&w, "none"), 0);
  even->is_paused = false;
  script_expect(&w.script, "/none/")->is_paused = true;
  mini_serve(&w.server);
  assert_int_equal(w.rec.initial_adds, 6);
  assert_false(kin_informer_has_synced(w.informer));
  script_expect(&w.script, "/none/")->is_paused = false;
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(w.rec.synced, 1);
  assert_int_equal(w.rec.relisted, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* It changes nothing in that the informer has synced; `relisted` says that its
 * objects are complete. */
static void test_added_after_synced(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 1);
  start(&w);
  mini_serve(&w.server);
  expect_log(&w, "add even/p0 101 initial\n"
                 "add even/p2 103 initial\n"
                 "add even/p4 105 initial\n"
                 "synced 3\n");
  assert_int_equal(add(&w, "odd"), 0);
  assert_true(kin_informer_has_synced(w.informer));
  assert_false(iw_status(&w, "odd").has_synced);
  mini_serve(&w.server);
  expect_log(&w, "add odd/p1 102\n"
                 "add odd/p3 104\n"
                 "add odd/p5 106\n"
                 "relisted odd 106 6\n");
  assert_true(iw_status(&w, "odd").has_synced);
  assert_int_equal(iw_status(&w, "odd").state, KIN_STATE_LIVE);
  assert_int_equal(iw_status(&w, "odd").relists, 0);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  expect_log(&w, "update odd/p1 102 -> 107\n");
  /* For who comes now all of them are initial. */
  recorder late;
  recorder_init(&late);
  assert_int_equal(recorder_listen(&late, w.informer), 0);
  mini_serve(&w.server);
  assert_int_equal(late.initial_adds, 6);
  assert_int_equal(late.synced, 1);
  /* A later list of it is one like any other. */
  mini_delete(&w.server, 3);
  mini_delete(&w.server, 0);
  mini_compact(&w.server);
  script_break(&w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  script_break(&w.script, "/even/", KIN_EEOF, KIN_CLASS_CONNECT);
  mini_pass(&w.server, 10000);
  assert_int_equal(w.rec.relisted, 3);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_removed(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 2);
  start(&w);
  mini_serve(&w.server);
  kin_informer_metrics before = iw_metrics(&w);
  int states = w.states;
  w.rec.log[w.rec.used = 0] = '\0';
  assert_int_equal(drop(&w, "odd"), 0);
  assert_null(script_find(&w.script, "/odd/")); /* at once */
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w.informer, "odd", &status),
                   KIN_ENOENT);
  double gauge;
  assert_false(kin_informer_version_gauge(w.informer, "odd", &gauge));
  assert_int_equal(drop(&w, "odd"), KIN_ENOENT);
  assert_int_equal(w.rec.log[0], '\0'); /* nothing inside the call */
  mini_serve(&w.server);
  expect_log(&w, "delete odd/p1 scope_removed\n"
                 "delete odd/p3 scope_removed\n"
                 "delete odd/p5 scope_removed\n");
  assert_int_equal(w.states, states);
  assert_int_equal(w.errors, 0);
  assert_int_equal(w.informer->scopes.count, 1);
  assert_cached(&w, "even");
  mini_put(&w.server, 1);
  mini_put(&w.server, 2);
  mini_pass(&w.server, 100);
  expect_log(&w, "update even/p2 103 -> 108\n");
  /* What it had counted is not lost. */
  kin_informer_metrics after = iw_metrics(&w);
  assert_int_equal(after.lists, before.lists);
  assert_int_equal(after.lists, 2);
  assert_int_equal(after.watches, before.watches);
  assert_int_equal(after.list_items.sum, before.list_items.sum);
  assert_true(after.received_bytes > before.received_bytes);
  assert_int_equal(after.objects, 3);
  assert_int_equal(after.delivered, before.delivered + 4);
  iw_finish(&w);
}

/* What was received, but not stored, is dropped, whatever it was: an object
 * that nobody knows is never told, the others are deleted for one reason. */
static void test_removed_with_changes_in_the_queue(void **state) {
  (void)state;
  static const char frames[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p7\","
      "\"namespace\":\"odd\",\"uid\":\"u7\",\"resourceVersion\":\"107\"}}}\n"
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"p1\","
      "\"namespace\":\"odd\",\"uid\":\"uid-1-1\","
      "\"resourceVersion\":\"108\"}}}\n"
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"p3\","
      "\"namespace\":\"odd\",\"uid\":\"uid-3-1\","
      "\"resourceVersion\":\"109\"}}}\n"
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p3\","
      "\"namespace\":\"odd\",\"uid\":\"uid-3-2\","
      "\"resourceVersion\":\"110\"}}}\n"
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"p5\","
      "\"namespace\":\"odd\",\"uid\":\"uid-5-1\","
      "\"resourceVersion\":\"111\"}}}\n";
  iw_world w;
  open_world(&w, even_and_odd, 2);
  start(&w);
  mini_serve(&w.server);
  w.rec.log[w.rec.used = 0] = '\0';
  script_request *watch = script_expect(&w.script, "/odd/");
  watch->callbacks->on_body(watch->ctx, frames, sizeof frames - 1);
  assert_int_equal(w.informer->fifo.depth, 4);
  assert_int_equal(drop(&w, "odd"), 0);
  script_run(&w.script);
  expect_log(&w, "delete odd/p1 scope_removed\n"
                 "delete odd/p3 scope_removed\n"
                 "delete odd/p5 scope_removed\n");
  assert_cached(&w, "even");
  iw_finish(&w);
}

/* It begins anew when the old one has ended; so do the deletes come first. */
static void test_added_again(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 2);
  start(&w);
  mini_serve(&w.server);
  w.rec.log[w.rec.used = 0] = '\0';
  unsigned requests = w.script.request_count;
  assert_int_equal(drop(&w, "odd"), 0);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(add(&w, "odd"), 0);
    assert_int_equal(add(&w, "odd"), KIN_EEXIST);
    assert_int_equal(iw_status(&w, "odd").state, KIN_STATE_IDLE);
    assert_false(iw_status(&w, "odd").has_synced);
    if (i < 4) {
      assert_int_equal(drop(&w, "odd"), 0);
    }
  }
  assert_int_equal(w.informer->scopes.count, 7);
  assert_int_equal(w.script.request_count, requests);
  mini_serve(&w.server);
  expect_log(&w, "delete odd/p1 scope_removed\n"
                 "delete odd/p3 scope_removed\n"
                 "delete odd/p5 scope_removed\n"
                 "add odd/p1 102\n"
                 "add odd/p3 104\n"
                 "add odd/p5 106\n"
                 "relisted odd 106 6\n");
  assert_int_equal(w.script.request_count, requests + 2);
  assert_int_equal(w.informer->scopes.count, 2);
  assert_int_equal(iw_status(&w, "odd").state, KIN_STATE_LIVE);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_none_left(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 1);
  start(&w);
  mini_serve(&w.server);
  assert_int_equal(drop(&w, "even"), 0);
  mini_pass(&w.server, 5000);
  assert_int_equal(script_open_requests(&w.script), 0);
  assert_int_equal(kin__timers_next_ms(&w.script.timers), UINT64_MAX);
  assert_int_equal(w.rec.deletes, 3);
  assert_int_equal(w.informer->scopes.limit, 0);
  assert_true(kin_informer_has_synced(w.informer));
  assert_cached(&w, "none");
  assert_int_equal(add(&w, "odd"), 0);
  mini_serve(&w.server);
  assert_int_equal(w.rec.adds, 6);
  assert_int_equal(w.rec.relisted, 1);
  assert_cached(&w, "odd");
  iw_finish(&w);
}

/* SI-16: also whoever is left syncs. */
static void test_synced_by_a_removal(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 2);
  start(&w);
  script_run(&w.script);
  script_expect(&w.script, "/odd/")->is_paused = true;
  mini_serve(&w.server);
  assert_int_equal(w.rec.synced, 0);
  assert_int_equal(drop(&w, "odd"), 0);
  assert_false(kin_informer_has_synced(w.informer));
  script_run(&w.script);
  assert_true(kin_informer_has_synced(w.informer));
  expect_log(&w, "add even/p0 101 initial\n"
                 "add even/p2 103 initial\n"
                 "add even/p4 105 initial\n"
                 "synced 3\n");
  iw_finish(&w);
  /* One that was synced leaves before the other: what it had is gone when the
   * informer has synced. */
  open_world(&w, even_and_odd, 2);
  start(&w);
  script_run(&w.script);
  script_request *odd = script_expect(&w.script, "/odd/");
  odd->is_paused = true;
  mini_serve(&w.server);
  assert_int_equal(drop(&w, "even"), 0);
  odd->is_paused = false;
  mini_serve(&w.server);
  assert_int_equal(w.rec.deletes, 3);
  assert_int_equal(w.rec.synced, 1);
  assert_non_null(strstr(w.rec.log, "synced 3\n"));
  assert_cached(&w, "odd");
  iw_finish(&w);
}

/* With nothing there is nothing to wait for. */
static void test_synced_with_none(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, none, 1);
  start(&w);
  assert_int_equal(drop(&w, "none"), 0);
  script_run(&w.script);
  expect_log(&w, "synced 0\n");
  assert_int_equal(add(&w, "even"), 0);
  mini_serve(&w.server);
  assert_int_equal(w.rec.initial_adds, 0);
  assert_int_equal(w.rec.relisted, 1);
  iw_finish(&w);

  open_world(&w, none, 1);
  assert_int_equal(drop(&w, "none"), 0);
  script_run(&w.script);
  assert_false(kin_informer_has_synced(w.informer)); /* not started */
  start(&w);
  assert_true(kin_informer_has_synced(w.informer));
  script_run(&w.script);
  expect_log(&w, "synced 0\n");
  iw_finish(&w);

  /* Not gone yet when it is started. */
  open_world(&w, none, 1);
  assert_int_equal(drop(&w, "none"), 0);
  start(&w);
  assert_false(kin_informer_has_synced(w.informer));
  script_run(&w.script);
  expect_log(&w, "synced 0\n");
  iw_finish(&w);
}

/* The synced event of an informer with one scope has its version. */
static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  snprintf(data, 16, KIN_STR_FORMAT "#%zu",
           KIN_STR_ARG(event->resource_version), event->objects);
}

static void test_version_of_synced(void **state) {
  (void)state;
  for (int removes = 0; removes < 2; removes++) {
    iw_world w;
    char synced[16] = "";
    open_world(&w, even_and_odd, 2);
    kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
    options.on_synced = on_synced;
    options.data = synced;
    assert_int_equal(kin_informer_listen(w.informer, &options, NULL), 0);
    start(&w);
    if (removes) {
      assert_int_equal(drop(&w, "odd"), 0);
    }
    mini_serve(&w.server);
    assert_string_equal(synced, removes ? "106#3" : "#6");
    iw_finish(&w);
  }
}

static void test_arguments(void **state) {
  (void)state;
  static const char *const bad[] = {NULL, "", "a/b", "..", "A?b"};
  iw_world w;
  open_world(&w, even_and_odd, 2);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(add(&w, bad[i]), KIN_EINVAL);
    assert_int_equal(drop(&w, bad[i]), KIN_EINVAL);
  }
  assert_int_equal(drop(&w, "other"), KIN_ENOENT);
  /* The name is copied. */
  char name[] = "none";
  assert_int_equal(add(&w, name), 0);
  memset(name, 'x', 4);
  assert_int_equal(add(&w, "none"), KIN_EEXIST);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  assert_int_equal(add(&w, "other"), KIN_ECLOSED);
  assert_int_equal(add(&w, ""), KIN_ECLOSED);
  assert_int_equal(drop(&w, "even"), KIN_ECLOSED);
  script_run(&w.script);
  iw_finish(&w);

  /* All namespaces: there is nothing to add, and it is not to be removed. */
  open_world(&w, NULL, 0);
  assert_int_equal(add(&w, "even"), KIN_EINVAL);
  assert_int_equal(drop(&w, ""), KIN_EINVAL);
  assert_int_equal(drop(&w, "even"), KIN_EINVAL);
  start(&w);
  mini_serve(&w.server);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* At most 1,024 at a time, and places are given again. */
static void test_many(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 1);
  char name[16];
  for (int i = 1; i < 1024; i++) {
    snprintf(name, sizeof name, "n%d", i);
    assert_int_equal(add(&w, name), 0);
  }
  assert_int_equal(add(&w, "more"), KIN_ETOOBIG);
  assert_int_equal(drop(&w, "n77"), 0);
  assert_int_equal(add(&w, "more"), KIN_ETOOBIG); /* it is not gone yet */
  script_run(&w.script);
  assert_int_equal(add(&w, "more"), 0);
  assert_int_equal(w.informer->scopes.limit, 1024);
  assert_ptr_equal(kin__scopes_find(&w.informer->scopes, "more"),
                   w.informer->scopes.places[77]);
  for (int i = 1023; i > 0; i--) {
    snprintf(name, sizeof name, "n%d", i);
    assert_int_equal(drop(&w, name), i == 77 ? KIN_ENOENT : 0);
  }
  script_run(&w.script);
  assert_int_equal(w.informer->scopes.limit, 78);
  assert_int_equal(drop(&w, "more"), 0);
  script_run(&w.script);
  assert_int_equal(w.informer->scopes.limit, 1);
  start(&w);
  mini_serve(&w.server);
  assert_cached(&w, "even");
  iw_finish(&w);
}

/* A place is another's when nothing remembers it: over and over, while the
 * other namespace changes. */
static void test_places_are_given_again(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, even_and_odd, 2);
  start(&w);
  mini_serve(&w.server);
  for (int i = 0; i < 40; i++) {
    const char *name = even_and_odd[i % 2];
    const char *other = even_and_odd[(i + 1) % 2];
    assert_int_equal(drop(&w, name), 0);
    mini_put(&w.server, i % 6);
    mini_serve(&w.server);
    assert_cached(&w, other);
    mini_put(&w.server, (i + 1) % 6);
    assert_int_equal(add(&w, name), 0);
    mini_serve(&w.server);
    assert_int_equal(w.informer->scopes.limit, 2);
    iw_assert_truth(&w);
    w.rec.used = 0;
  }
  assert_int_equal(w.rec.deletes, 40 * 3);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_before_the_start),
      cmocka_unit_test(test_added_before_synced),
      cmocka_unit_test(test_added_after_synced),
      cmocka_unit_test(test_removed),
      cmocka_unit_test(test_removed_with_changes_in_the_queue),
      cmocka_unit_test(test_added_again),
      cmocka_unit_test(test_none_left),
      cmocka_unit_test(test_synced_by_a_removal),
      cmocka_unit_test(test_synced_with_none),
      cmocka_unit_test(test_version_of_synced),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_places_are_given_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
