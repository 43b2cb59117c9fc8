/* SPDX-License-Identifier: MIT */

/* Rare courses of events, each of which the simulation (doc/simulation.md) has
 * found to be gone through wrongly: memory that runs out in the middle of a
 * key's changes (PD-01), versions that a server gives a second time after a
 * restore from a backup (RE-07, RF-15), and a scope that lists twice before
 * another has listed once (SI-16, SY-01). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/indices.h"
#include "support/informer_world.h"
#include "support/objects.h"

#define OBJECT(name, uid, version, node)                                       \
  "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid    \
  "\",\"resourceVersion\":\"" version "\"},\"spec\":{\"nodeName\":\"" node     \
  "\"}}"
#define OVER(name, uid, version, node)                                         \
  OBJECT(name, uid, version, node "-and-so-on-up-to-over-the-limit")
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(version, items)                                                   \
  "{\"items\":[" items "],\"metadata\":{\"resourceVersion\":\"" version "\"}}"

static kin_informer_options list_options(iw_world *w) {
  kin_informer_options options = iw_options(w);
  options.no_watch_list = true;
  return options;
}

/* Three changes of one key are queued together; each allocation that storing
 * them takes fails once. What was applied before is not applied again: the
 * deletion would hit the object that was added after it. */
static void test_memory_runs_out_between_two_changes_of_a_key(void **state) {
  (void)state;
  unsigned interrupted = 0;
  for (size_t n = 1;; n++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = list_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    assert_int_equal(
        add_pointer(kin_informer_store(w.informer), "node", "/spec/nodeName"),
        0);
    assert_int_equal(
        add_pointer(kin_informer_store(w.informer), "nodes", "/spec/*"), 0);
    script_respond(&w.script, "pods?", 200,
                   LIST("7", OBJECT("a", "u1", "5", "n1")));
    assert_true(script_head(&w.script, "watch=true", 200));
    size_t calls = atomic_load(&w.memory.calls);
    w.memory.fail_at = calls + n;
    static const char body[] = EVENT("DELETED", OBJECT("a", "u1", "8", "n1"))
        EVENT("ADDED", OBJECT("a", "u2", "9", "n2"))
            EVENT("MODIFIED", OBJECT("a", "u2", "10", "n3"));
    script_body(&w.script, "watch=true", body, sizeof body - 1);
    script_advance(&w.script, 1000);
    bool has_failed = fail_alloc_has_failed(&w.memory);
    bool is_watch_open = script_find(&w.script, "watch=true") != NULL;
    if (is_watch_open && w.errors > 0) {
      interrupted++;
      assert_int_equal(w.last_class, KIN_CLASS_MEMORY);
    }
    /* A watch that could not be read is another matter, and begun again. */
    if (is_watch_open) {
      assert_string_equal(w.rec.log, "add n/a 5 initial\n"
                                     "synced 1\n"
                                     "delete n/a watch\n"
                                     "add n/a 9\n"
                                     "update n/a 9 -> 10\n");
      recorder_assert_folds_to(&w.rec, kin_informer_store(w.informer));
    }
    iw_finish(&w);
    if (!has_failed) {
      break;
    }
  }
  assert_true(interrupted >= 3);
}

static uint64_t unchanged(const iw_world *w) {
  kin_status status = iw_status(w, "");
  return status.unchanged;
}

static void assert_node(const iw_world *w, const char *key,
                        const char *expected) {
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w->informer), key);
  kin_object_view *view;
  kin_str node;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_int_equal(kin_object_view_string(view, "/spec/nodeName", &node), 0);
  assert_true(kin__str_equal(node, kin__cstr(expected)));
  kin_object_view_close(view);
}

/* The informer asks for a list, and a server tells that its versions have gone
 * back. The next list is `list`. */
static void restore(iw_world *w, const char *list) {
  script_respond(&w->script, "watch=true", 200, "");
  w->rec.used = 0;
  script_advance(&w->script, 5000);
  script_respond(
      &w->script, "Match=NotOlderThan", 504,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
      "\"Timeout\",\"code\":504,\"details\":{\"causes\":[{\"reason\":"
      "\"ResourceVersionTooLarge\"}]}}");
  script_advance(&w->script, 5000);
  assert_null(strstr(w->script.last_target, "resourceVersion"));
  script_respond(&w->script, "pods", 200, list);
}

/* The server has been restored to version 6, and has written version 7 a second
 * time: what was cached as version 7 is not what that is now. Nobody but the
 * content can tell, so it is compared; what is the same in uid, version and
 * content is not told. */
static void test_versions_are_given_twice(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(
      &w.script, "pods?", 200,
      LIST("9", OBJECT("a", "u1", "7", "n1") "," OBJECT("b", "u2", "5", "n1")));
  restore(&w, LIST("8", OBJECT("a", "u1", "7", "n2") "," OBJECT("b", "u2", "5",
                                                                "n1")));
  assert_string_equal(w.rec.log, "update n/a 7 -> 7\n"
                                 "relisted  8 2\n");
  assert_node(&w, "n/a", "n2");

  /* From now on versions are trusted again. */
  w.rec.used = 0;
  script_head(&w.script, "watch=true", 410);
  script_end(&w.script, "watch=true");
  script_advance(&w.script, 5000);
  script_respond(
      &w.script, "pods?", 200,
      LIST("9", OBJECT("a", "u1", "7", "n2") "," OBJECT("b", "u2", "5", "n1")));
  assert_string_equal(w.rec.log, "relisted  9 2\n");
  assert_int_equal(unchanged(&w), 3);
  iw_finish(&w);
}

/* The same with an object over max_object_bytes, whose content is not known. */
static void test_versions_of_an_oversized_object(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  options.max_object_bytes = 110;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(
      &w.script, "pods?", 200,
      LIST("9", OVER("a", "u1", "7", "n1") "," OBJECT("b", "u2", "5", "n1")));
  restore(&w, LIST("8", OVER("a", "u1", "7", "n2") "," OBJECT("b", "u2", "5",
                                                              "n1")));
  assert_string_equal(w.rec.log, "update n/a 7 -> 7\n"
                                 "relisted  8 2\n");
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w.informer), "n/a");
  assert_true(kin_object_is_key_only(object));
  assert_int_equal(unchanged(&w), 1);
  iw_finish(&w);
}

/* SI-21: what a list gives under a cached version is the cached object only if
 * the uid is the same, too. An object without a uid, as an aggregated server may
 * give one, is never taken for the cached one. */
static void test_versions_without_their_uids(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(
      &w.script, "pods?", 200,
      LIST("9", OBJECT("a", "u1", "7", "n1") "," OBJECT("b", "", "5", "n1")));
  for (int i = 0; i < 2; i++) {
    w.rec.used = 0;
    script_respond(&w.script, "watch=true", 410, "");
    script_advance(&w.script, 10000);
    script_respond(&w.script, "pods?", 200,
                   i == 0 ? LIST("10", OBJECT("a", "u2", "7", "n2") "," OBJECT(
                                           "b", "", "5", "n2"))
                          : LIST("11", OBJECT("a", "u1", "7", "n3") "," OBJECT(
                                           "b", "", "5", "n3")));
    assert_string_equal(w.rec.log, i == 0 ? "delete n/a recreated\n"
                                            "add n/a 7\n"
                                            "update n/b 5 -> 5\n"
                                            "relisted  10 2\n"
                                          : "delete n/a recreated\n"
                                            "add n/a 7\n"
                                            "update n/b 5 -> 5\n"
                                            "relisted  11 2\n");
    assert_node(&w, "n/a", i == 0 ? "n2" : "n3");
    assert_node(&w, "n/b", i == 0 ? "n2" : "n3");
  }
  assert_int_equal(unchanged(&w), 0);
  iw_finish(&w);
}

/* The same, when the server does not say that the position is too large,
 * because it is not asked for it: a list that is older than the position says
 * so as well, and is made again. */
static void test_a_list_goes_back(void **state) {
  (void)state;
  static const char list[] = LIST("8", OBJECT("a", "u1", "7", "n2"));
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  options.page_size = 100; /* asks for exactly the position */
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "pods?", 200,
                 LIST("9", OBJECT("a", "u1", "7", "n1")));
  script_respond(&w.script, "watch=true", 410, "");
  w.rec.used = 0;
  script_advance(&w.script, 5000);
  script_respond(&w.script, "resourceVersion=9", 410, "");
  script_respond(&w.script, "limit=100", 200, list);
  assert_string_equal(w.script.last_target, "/api/v1/pods?limit=100");
  script_respond(&w.script, "limit=100", 200, list);
  assert_string_equal(w.rec.log, "update n/a 7 -> 7\n"
                                 "relisted  8 1\n");
  assert_non_null(script_find(&w.script, "resourceVersion=8"));
  iw_finish(&w);
}

/* A relist follows upon a first list of everything, also for those who watch
 * several namespaces. SI-12: what the relist brings is not initial. */
static void test_a_scope_lists_twice_before_another(void **state) {
  (void)state;
  static const char *const namespaces[] = {"m", "n"};
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  options.namespaces = namespaces;
  options.namespace_count = 2;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "/n/pods?", 200,
                 LIST("7", OBJECT("a", "u1", "5", "n1")));
  script_head(&w.script, "/n/pods?allowWatchBookmarks", 410);
  script_end(&w.script, "/n/pods?allowWatchBookmarks");
  script_advance(&w.script, 5000);
  script_respond(&w.script, "/n/pods?", 200,
                 LIST("9", OBJECT("b", "u2", "8", "n1")));
  assert_int_equal(w.rec.relisted, 0);
  script_respond(&w.script, "/m/pods?", 200, LIST("9", ""));
  assert_string_equal(w.rec.log, "add n/a 5 initial\n"
                                 "add n/b 8\n"
                                 "delete n/a relist\n"
                                 "synced 1\n");
  iw_finish(&w);
}

/* The store may be read until the close callback: from the first step on, in
 * which its content goes, it is empty, and nothing that is freed can be met. */
static void read_while_closing(bool is_heard) {
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = list_options(&w);
  iw_open_only(&w, &options);
  if (is_heard) {
    assert_int_equal(recorder_listen(&w.rec, w.informer), 0);
  }
  assert_int_equal(kin_informer_start(w.informer), 0);
  script_respond(&w.script, "/pods?", 200, LIST("7", ""));
  kin_store *store = kin_informer_store(w.informer);
  for (int i = 0; i < 2000; i++) {
    kin_object *object =
        object_format(NULL, "{'metadata':{'name':'p%d','uid':'u'}}", i);
    assert_int_equal(kin_store_put(store, object), 0);
    kin_object_unref(object);
  }
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  unsigned steps = 0;
  unsigned before = is_heard ? 1 : 0; /* steps before the close's: the
                                       * listener's */
  while (kin__sched_has_work(&w.script.sched)) {
    kin_cursor cursor = {0};
    size_t bytes = 0;
    for (const kin_object *object;
         (object = kin_store_next(store, &cursor)) != NULL;) {
      bytes += kin_object_memory(object);
    }
    const kin_object *first = kin_store_get_key(store, "p0");
    assert_true(steps <= before ? first != NULL && bytes > 0
                                : first == NULL && bytes == 0);
    (void)kin__sched_run(&w.script.sched, 0);
    steps++;
  }
  assert_true(steps > 4);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  assert_int_equal(w.rec.adds, 0);
  iw_finish(&w);
}

/* The same while an add of each object waits for a listener, and is dropped. */
static void test_store_is_read_while_closing(void **state) {
  (void)state;
  read_while_closing(false);
  read_while_closing(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_runs_out_between_two_changes_of_a_key),
      cmocka_unit_test(test_versions_are_given_twice),
      cmocka_unit_test(test_versions_of_an_oversized_object),
      cmocka_unit_test(test_versions_without_their_uids),
      cmocka_unit_test(test_a_list_goes_back),
      cmocka_unit_test(test_a_scope_lists_twice_before_another),
      cmocka_unit_test(test_store_is_read_while_closing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
