/* SPDX-License-Identifier: MIT */

/* What client-go's reflector_test.go says of lists, watches and errors, as an
 * informer's cache shows it. The protocol itself, request by request, is in
 * test_listwatch.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/informer_world.h"

#define OBJECT(name, version)                                                  \
  "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                     \
  "\",\"resourceVersion\":\"" version "\"}}"
#define FRAME(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code, reason)                                                   \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason           \
  "\",\"message\":\"said so\",\"code\":" code "}"
#define LIST(items, version)                                                   \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version         \
  "\"},\"items\":[" items "]}"

static void open_world(iw_world *w) {
  iw_open_objects(w, 0);
  script_run(&w->script);
}

static void answer_list(iw_world *w, const char *body) {
  script_request *list = script_expect(&w->script, "/pods");
  assert_false(list->is_watch);
  script_respond(&w->script, "/pods", 200, body);
}

/* Grants the watch that is requested, and sends frames. */
static void answer_watch(iw_world *w, const char *frames) {
  assert_true(script_head(&w->script, "watch=true", 200));
  script_body(&w->script, "watch=true", frames, strlen(frames));
}

static void assert_cached(const iw_world *w, const char *key,
                          const char *version) {
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w->informer), key);
  if (version == NULL) {
    assert_null(object);
    return;
  }
  assert_non_null(object);
  assert_true(
      kin__str_equal(kin_object_resource_version(object), kin__cstr(version)));
}

static void assert_position(const iw_world *w, const char *version) {
  kin_status status = iw_status(w, "");
  assert_string_equal(status.resource_version, version);
}

/* client-go TestReflectorWatchHandler; RW-08, RW-10, SI-19: events change the
 * store, and each advances the version. What comes is what the URL asked for,
 * so there is no type to compare. An event that cannot be understood is not
 * skipped as if it were nothing: it makes a list, so that nothing is lost. */
static void test_watch_events_change_the_store(void **state) {
  (void)state;
  iw_world w;
  open_world(&w);
  answer_list(&w, LIST(OBJECT("foo", "3") "," OBJECT("bar", "4"), "10"));
  answer_watch(&w, FRAME("DELETED", OBJECT("foo", "11"))
                       FRAME("MODIFIED", OBJECT("bar", "55"))
                           FRAME("ADDED", OBJECT("baz", "32")));
  assert_cached(&w, "foo", NULL);
  assert_cached(&w, "bar", "55");
  assert_cached(&w, "baz", "32");
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
  assert_position(&w, "32");
  static const char more[] = FRAME("BOOKMARK", OBJECT("", "40"));
  script_body(&w.script, "watch=true", more, sizeof more - 1);
  assert_position(&w, "40");
  assert_int_equal(w.errors, 0);
  static const char odd[] = FRAME("RENAMED", OBJECT("bar", "41"));
  assert_false(script_body(&w.script, "watch=true", odd, sizeof odd - 1));
  assert_int_equal(w.last_class, KIN_CLASS_DECODE);
  script_advance(&w.script, 2000);
  answer_list(&w, LIST(OBJECT("bar", "41"), "41"));
  assert_cached(&w, "bar", "41");
  assert_cached(&w, "baz", NULL);
  iw_finish(&w);
}

/* client-go TestCloseWatchChannelOnError; RF-08, RW-05, RW-12: an ERROR event
 * ends the watch, once, whatever its object is, and is told. */
static void test_error_event_ends_the_watch(void **state) {
  (void)state;
  static const char *const objects[] = {STATUS("500", "InternalError"),
                                        STATUS("410", "Expired"),
                                        OBJECT("no-status", "9"), "{}"};
  for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
    iw_world w;
    open_world(&w);
    answer_list(&w, LIST(OBJECT("foo", "3"), "10"));
    assert_int_equal(script_open_requests(&w.script), 1);
    char frames[512];
    snprintf(frames, sizeof frames, FRAME("ERROR", "%s") "%s", objects[i],
             FRAME("DELETED", OBJECT("foo", "11")));
    answer_watch(&w, frames);
    assert_int_equal(script_open_requests(&w.script), 0);
    assert_int_equal(w.errors, 1);
    assert_cached(&w, "foo", "3"); /* nothing is read after it */
    iw_finish(&w);
  }
}

/* client-go TestReflectorReplacesStoreOnUnsafeDelete; RF-13, RL-12, RW-06,
 * RE-06: a broken object was deleted on the server without an event. The watch
 * fails with StorageReadError, and the next list makes up for it. */
static void test_storage_error_makes_a_list(void **state) {
  (void)state;
  iw_world w;
  open_world(&w);
  answer_list(&w, LIST(OBJECT("broken", "3") "," OBJECT("sound", "4"), "10"));
  assert_position(&w, "10");
  answer_watch(&w, FRAME("ERROR", STATUS("500", "StorageReadError")));
  assert_int_equal(w.errors, 1);
  assert_cached(&w, "broken", "3");
  script_advance(&w.script, 2000);
  answer_list(&w, LIST(OBJECT("sound", "4"), "12"));
  assert_cached(&w, "broken", NULL);
  assert_cached(&w, "sound", "4");
  assert_position(&w, "12");
  assert_non_null(strstr(w.rec.log, "delete broken relist\n"));
  iw_finish(&w);
}

/* client-go TestReflectorListAndWatchWithErrors; RL-07, RL-08, RW-04, LW-03: a
 * list that fails leaves the store alone; so does a watch that is refused. */
static void test_failures_leave_the_store_alone(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *body;
  } failures[] = {
      {500, STATUS("500", "InternalError")},
      {403, STATUS("403", "Forbidden")},
      {429, ""},
      {200, "{\"kind\":\"Pod\"}"},
      {200, LIST(OBJECT("foo", "8") ",[{\"metadata\":{}}]", "11")},
      {200, "{\"kind\":\"PodList\",\"items\":[" OBJECT("foo", "9") ","},
  };
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    for (int is_watch = 0; is_watch < 2; is_watch++) {
      if (is_watch && failures[i].status == 200) {
        continue;
      }
      iw_world w;
      open_world(&w);
      answer_list(&w, LIST(OBJECT("foo", "3"), "10"));
      if (!is_watch) { /* to the next list */
        answer_watch(&w, FRAME("ERROR", STATUS("410", "Expired")));
        script_advance(&w.script, 2000);
      }
      int errors = w.errors;
      script_respond(&w.script, "/pods", failures[i].status, failures[i].body);
      assert_int_equal(w.errors, errors + 1);
      assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
      assert_cached(&w, "foo", "3");
      assert_position(&w, "10");
      assert_int_equal(w.rec.calls, 2); /* the add, and synced */
      iw_finish(&w);
    }
  }
}

/* client-go TestReflectorListAndWatchInitConnBackoff,
 * TestNoRelistOnTooManyRequests; RF-05, RF-06, RW-03: a watch that cannot be
 * opened is tried again after a growing wait, without a list, which would load
 * the server even more. */
static void test_refused_watch_does_not_relist(void **state) {
  (void)state;
  for (int is_throttled = 0; is_throttled < 2; is_throttled++) {
    iw_world w;
    open_world(&w);
    answer_list(&w, LIST(OBJECT("foo", "3"), "10"));
    uint64_t waited = 0;
    for (int i = 0; i < 5; i++) {
      /* After a connection that was refused the position is verified first. */
      const char *part = i == 0 || is_throttled ? "watch=true" : "limit=1&";
      script_request *request = script_expect(&w.script, part);
      assert_non_null(strstr(request->target, "resourceVersion=10"));
      if (is_throttled) {
        script_respond(&w.script, part, 429, "");
      } else {
        script_break(&w.script, part, UV_ECONNREFUSED, KIN_CLASS_CONNECT);
      }
      assert_int_equal(script_open_requests(&w.script), 0);
      uint64_t began = w.script.now_ns;
      while (script_open_requests(&w.script) == 0) {
        script_advance(&w.script, 50);
      }
      uint64_t wait = w.script.now_ns - began;
      assert_true(i == 0 || wait > waited / 2);
      waited = wait;
    }
    /* OQ-06: an informer that waits is out of date. */
    assert_true(waited <=
                (is_throttled ? UINT64_C(10000000000) : UINT64_C(5000000000)));
    assert_int_equal(w.errors, 5);
    if (!is_throttled) {
      script_respond(&w.script, "limit=1&", 200, LIST("", "10"));
    }
    answer_watch(&w, FRAME("MODIFIED", OBJECT("foo", "11")));
    assert_cached(&w, "foo", "11");
    assert_int_equal(w.rec.relisted, 0);
    iw_finish(&w);
  }
}

/* client-go TestReflectorStopWatch, TestReflectorWatchStoppedAfter; RW-12,
 * RW-13, RF-10: closed between two events. The watch is stopped, and what has
 * been read already is not delivered any more. */
static void test_closed_in_the_middle_of_a_watch(void **state) {
  (void)state;
  iw_world w;
  open_world(&w);
  answer_list(&w, LIST(OBJECT("foo", "3"), "10"));
  answer_watch(&w, FRAME("MODIFIED", OBJECT("foo", "11")));
  int calls = w.rec.calls;
  script_request *watch = script_expect(&w.script, "watch=true");
  static const char unread[] = FRAME("MODIFIED", OBJECT("foo", "12"));
  watch->callbacks->on_body(watch->ctx, unread, sizeof unread - 1);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  assert_int_equal(script_open_requests(&w.script), 0);
  script_run(&w.script);
  assert_int_equal(w.rec.calls, calls);
  iw_finish(&w);
}

/* Closes in its first callback: the list is being applied, and the watch has
 * not been requested. */
static void close_at_once(recorder *rec, kin_informer *informer) {
  assert_int_equal(kin_informer_close(informer, iw_on_closed, rec->data), 0);
}

/* client-go TestReflectorWatchStoppedBefore; RF-10: closed before the watch is
 * requested, which it then never is. */
static void test_closed_before_the_watch(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  w.rec.on_call = close_at_once;
  w.rec.data = &w;
  kin_informer_options options = iw_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  script_run(&w.script);
  answer_list(&w, LIST(OBJECT("foo", "3"), "10"));
  assert_int_equal(w.rec.calls, 1);
  assert_int_equal(w.closed, 1);
  assert_int_equal(w.script.request_count, 1);
  iw_finish(&w);
}

/* client-go TestReflectorListExtract; RL-09: an object that is kept keeps
 * itself, not its page. */
static void test_kept_object_does_not_keep_its_page(void **state) {
  (void)state;
  enum { ITEMS = 200, PADDING = 4000 };
  static char page[ITEMS * (PADDING + 200)];
  size_t used = (size_t)snprintf(page, sizeof page, "{\"items\":[");
  for (int i = 0; i < ITEMS; i++) {
    used += (size_t)snprintf(
        page + used, sizeof page - used,
        "%s{\"metadata\":{\"name\":\"p%d\",\"uid\":\"%d\"},\"x\":\"%0*d\"}",
        i > 0 ? "," : "", i, i, PADDING, i);
  }
  snprintf(page + used, sizeof page - used,
           "],\"metadata\":{\"resourceVersion\":\"7\"}}");
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  script_run(&w.script);
  answer_list(&w, page);
  kin_object *kept =
      kin_object_ref(kin_store_get_key(kin_informer_store(w.informer), "p17"));
  assert_non_null(kept);
  size_t all = atomic_load(&w.memory.live_bytes);
  assert_true(all > (size_t)ITEMS * PADDING);
  iw_close(&w);
  assert_true(atomic_load(&w.memory.live_bytes) < all / 2);
  assert_true(kin_object_memory(kept) < PADDING + 500);
  kin_object_view *view;
  kin_str x;
  assert_int_equal(kin_object_view_open(&view, kept), 0);
  assert_int_equal(kin_object_view_string(view, "/x", &x), 0);
  assert_int_equal(x.length, PADDING);
  kin_object_view_close(view);
  kin_object_unref(kept);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watch_events_change_the_store),
      cmocka_unit_test(test_error_event_ends_the_watch),
      cmocka_unit_test(test_storage_error_makes_a_list),
      cmocka_unit_test(test_failures_leave_the_store_alone),
      cmocka_unit_test(test_refused_watch_does_not_relist),
      cmocka_unit_test(test_closed_in_the_middle_of_a_watch),
      cmocka_unit_test(test_closed_before_the_watch),
      cmocka_unit_test(test_kept_object_does_not_keep_its_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
