/* SPDX-License-Identifier: MIT */

/* Lists that come as watches. Proves WL-01 to WL-07, WL-11, RF-07, RF-14,
 * RF-15, FG-05, LW-04, CN-03 (a fall-back instead of a warning). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "support/informer_world.h"

static void init_world(iw_world *w, size_t fail_at, int objects) {
  iw_init(w, fail_at);
  script_use_streams(&w->script);
  mini_put_first(&w->server, objects);
}

static void open_world(iw_world *w, int objects) {
  init_world(w, 0, objects);
  kin_informer_options options = iw_options(w);
  assert_int_equal(iw_open(w, &options), 0);
}

static void assert_target(const iw_world *w, const char *part, bool is_there) {
  bool is_found = strstr(w->script.last_target, part) != NULL;
  if (is_found != is_there) {
    fail_msg("%s is%s in %s", part, is_there ? " not" : "",
             w->script.last_target);
  }
}

/* WL-02, WL-03, WL-04, WL-05: one request brings the list and goes on as the
 * watch. TestWatchList, TestWatchListResourceVersion. */
static void test_one_request(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  assert_target(&w, "allowWatchBookmarks=true", true);
  assert_target(&w, "resourceVersionMatch=NotOlderThan", true);
  assert_target(&w, "sendInitialEvents=true", true);
  assert_target(&w, "watch=true", true);
  assert_target(&w, "resourceVersion=", false);
  w.server.holds_bookmark = true;
  mini_serve(&w.server);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
  assert_int_equal(w.rec.calls, 0);
  assert_int_equal(iw_status(&w, "").staged, 3);
  assert_string_equal(iw_status(&w, "").resource_version, "");
  w.server.holds_bookmark = false;
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(w.state, KIN_STATE_LIVE);
  assert_string_equal(iw_status(&w, "").resource_version, "103");
  assert_int_equal(iw_status(&w, "").bookmarks, 1);
  assert_int_equal(iw_status(&w, "").bookmark_age_ms, 0);
  /* What stands for the list are its items, not events. */
  assert_int_equal(iw_status(&w, "").events, 0);
  assert_true(iw_status(&w, "").event_age_ms == UINT64_MAX);
  mini_put(&w.server, 1);
  mini_delete(&w.server, 0);
  mini_serve(&w.server);
  assert_int_equal(iw_status(&w, "").events, 2);
  assert_int_equal(iw_status(&w, "").event_age_ms, 0);
  assert_string_equal(w.rec.log, "add even/p0 101 initial\n"
                                 "add odd/p1 102 initial\n"
                                 "add even/p2 103 initial\n"
                                 "synced 3\n"
                                 "update odd/p1 102 -> 104\n"
                                 "delete even/p0 watch\n");
  assert_int_equal(w.script.request_count, 1);
  assert_int_equal(w.server.lists, 0);
  assert_int_equal(w.errors, 0);
  assert_int_equal(iw_status(&w, "").lists, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void change_a_stream(iw_world *w) {
  w->server.holds_bookmark = true;
  mini_serve(&w->server);
  mini_put(&w->server, 0);
  mini_put(&w->server, 0);
  mini_delete(&w->server, 1);
  mini_put(&w->server, 4);
  mini_delete(&w->server, 4);
  mini_recreate(&w->server, 2);
  mini_serve(&w->server);
  mini_put(&w->server, 4);
  mini_delete(&w->server, 4);
  mini_put(&w->server, 4);
  mini_put(&w->server, 5);
  mini_delete(&w->server, 5);
  w->server.holds_bookmark = false;
  mini_serve(&w->server);
}

/* WL-03, WL-04: handlers are told what the stream has come to, each object
 * once, and nothing of what was changed or deleted on the way. */
static void test_only_the_final_content(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 4);
  change_a_stream(&w);
  assert_string_equal(w.rec.log, "add even/p0 106 initial\n"
                                 "add even/p4 114 initial\n"
                                 "add even/p2 111 initial\n"
                                 "add odd/p3 104 initial\n"
                                 "synced 4\n");
  assert_int_equal(w.script.request_count, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* The same once more: what is cached is not mentioned again, and what has gone
 * goes as with any list. */
static void test_final_content_of_a_relist(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 4);
  mini_serve(&w.server);
  mini_compact(&w.server);
  script_expire(&w.script, "sendInitialEvents");
  script_advance(&w.script, 3000);
  size_t before = strlen(w.rec.log);
  change_a_stream(&w);
  assert_string_equal(w.rec.log + before, "update even/p0 101 -> 106\n"
                                          "add even/p4 114\n"
                                          "delete even/p2 recreated\n"
                                          "add even/p2 111\n"
                                          "delete odd/p1 relist\n"
                                          "relisted  116 4\n");
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* What follows the bookmark in the same piece waits until the list is in. */
static void test_events_behind_the_bookmark(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 1);
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"5\"}}}\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"6\",\"annotations\":{"
      "\"k8s.io/initial-events-end\":\"true\"}}}}\n"
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"7\"}}}\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"8\"}}}\n"
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\","
      "\"uid\":\"v\",\"resourceVersion\":\"9\"}}}\n";
  assert_true(script_head(&w.script, "sendInitialEvents", 200));
  assert_true(
      script_body(&w.script, "sendInitialEvents", text, sizeof text - 1));
  assert_string_equal(w.rec.log, "add a 5 initial\n"
                                 "synced 1\n"
                                 "update a 5 -> 7\n"
                                 "add b 9\n");
  assert_string_equal(iw_status(&w, "").resource_version, "9");
  assert_int_equal(iw_status(&w, "").bookmarks, 2);
  assert_false(script_expect(&w.script, "sendInitialEvents")->is_paused);
  iw_finish(&w);
}

/* The same, split at each byte: held or not, in this piece or the next. */
static void test_split_everywhere(void **state) {
  (void)state;
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"5\"}}}\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"6\",\"annotations\":{"
      "\"k8s.io/initial-events-end\":\"true\"}}}}\n"
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"7\"}}}\n";
  for (size_t split = 1; split < sizeof text - 1; split++) {
    iw_world w;
    open_world(&w, 1);
    script_head(&w.script, "sendInitialEvents", 200);
    script_body(&w.script, "sendInitialEvents", text, split);
    script_body(&w.script, "sendInitialEvents", text + split,
                sizeof text - 1 - split);
    assert_string_equal(w.rec.log, "add a 5 initial\n"
                                   "synced 1\n"
                                   "delete a watch\n");
    iw_finish(&w);
  }
}

/* WL-01, WL-07: refused at once: a list, no error, and never asked again. */
static void test_refused(void **state) {
  (void)state;
  iw_world w;
  init_world(&w, 0, 2);
  w.server.refuses_streams = true;
  kin_informer_options options = iw_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  assert_true(w.script.stream_refused);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(w.server.lists, 1);
  assert_int_equal(w.errors, 0);
  mini_put(&w.server, 0);
  mini_serve(&w.server); /* a watch that says nothing would be verified */
  mini_break_watches(&w.server);
  mini_put(&w.server, 1);
  mini_compact(&w.server);
  mini_pass(&w.server, 60000);
  assert_int_equal(w.server.lists, 2);
  assert_int_equal(w.server.streams, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* --- One scope is refused ------------------------------------------------- */

#define REFUSAL(code)                                                          \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code "}"

static const char empty_list[] =
    "{\"metadata\":{\"resourceVersion\":\"200\"},\"items\":[]}";

/* Two scopes of one client; the server answers "odd" alone. */
static void open_two(iw_world *w) {
  init_world(w, 0, 4);
  w->server.serves = "/namespaces/odd/";
  kin_informer_options options = iw_even_and_odd(w);
  assert_int_equal(iw_open(w, &options), 0);
  mini_serve(&w->server);
  assert_int_equal(w->server.streams, 1);
}

/* "odd" loses its position, and asks for a stream again or not. */
static void expect_stream_of_odd(iw_world *w, bool is_stream) {
  int streams = w->server.streams;
  int lists = w->server.lists;
  mini_put(&w->server, 1);
  mini_serve(&w->server);
  script_expire(&w->script, "/namespaces/odd/");
  mini_put(&w->server, 3);
  mini_pass(&w->server, 6000);
  assert_int_equal(w->server.streams, streams + is_stream);
  assert_int_equal(w->server.lists, lists + !is_stream);
  iw_finish(w);
}

/* WL-07: a list that the server refuses as it did the stream, as for a selector
 * that it does not know, says nothing about streams. */
static void test_refused_with_its_list(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *body;
  } refusals[] = {{400, REFUSAL(400)}, {422, REFUSAL(422)}, {501, ""}};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    iw_world w;
    open_two(&w);
    script_respond(&w.script, "/namespaces/even/", refusals[i].status,
                   refusals[i].body);
    assert_int_equal(w.errors, 0);
    script_respond(&w.script, "/namespaces/even/", refusals[i].status,
                   refusals[i].body);
    assert_int_equal(w.errors, 1);
    expect_stream_of_odd(&w, true);
  }
}

/* WL-07: neither does a resource that has no watches at all. */
static void test_refused_with_its_watch(void **state) {
  (void)state;
  iw_world w;
  open_two(&w);
  script_respond(&w.script, "/namespaces/even/", 405, REFUSAL(405));
  script_respond(&w.script, "/namespaces/even/", 200, empty_list);
  script_respond(&w.script, "/namespaces/even/", 405, REFUSAL(405));
  assert_int_equal(w.errors, 1);
  expect_stream_of_odd(&w, true);
}

/* WL-07: a server that has granted a stream knows streams, whatever it says
 * then. */
static void test_refused_by_an_event(void **state) {
  (void)state;
  static const char event[] =
      "{\"type\":\"ERROR\",\"object\":" REFUSAL(422) "}\n";
  iw_world w;
  open_two(&w);
  assert_true(script_head(&w.script, "/namespaces/even/", 200));
  script_body(&w.script, "/namespaces/even/", event, sizeof event - 1);
  script_respond(&w.script, "/namespaces/even/", 200, empty_list);
  assert_true(script_head(&w.script, "/namespaces/even/", 200));
  assert_int_equal(w.errors, 0);
  expect_stream_of_odd(&w, true);
}

/* WL-07: where the list is granted, the refusal is that of streams, and no scope
 * asks again. */
static void test_refused_but_listed(void **state) {
  (void)state;
  iw_world w;
  open_two(&w);
  script_respond(&w.script, "/namespaces/even/", 400, REFUSAL(400));
  assert_false(w.script.stream_refused);
  script_respond(&w.script, "/namespaces/even/", 200, empty_list);
  assert_true(w.script.stream_refused);
  expect_stream_of_odd(&w, false);
}

/* FG-05, LW-04: TestNewReflectorWithDisablementWatchList. */
static void test_switched_off(void **state) {
  (void)state;
  iw_world w;
  init_world(&w, 0, 2);
  kin_informer_options options = iw_options(&w);
  options.no_watch_list = true;
  assert_int_equal(iw_open(&w, &options), 0);
  assert_target(&w, "limit=500&resourceVersion=0", true);
  mini_serve(&w.server);
  assert_int_equal(w.server.streams, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* client-go TestInitialEventsEndBookmarkTicker; WL-09: a server that says 200
 * and then nothing, or no end. client-go only warns about it. */
static void test_no_progress(void **state) {
  (void)state;
  for (int objects = 0; objects < 3; objects += 2) {
    iw_world w;
    open_world(&w, objects);
    w.server.holds_bookmark = true;
    mini_pass(&w.server, 9900);
    assert_int_equal(w.server.lists, 0);
    mini_pass(&w.server, 10200);
    assert_int_equal(w.server.lists, 1);
    assert_true(w.script.stream_refused);
    assert_true(kin_informer_has_synced(w.informer));
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

/* As long as new objects come, they are waited for. */
static void test_slow_progress(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 2);
  w.server.holds_bookmark = true;
  for (int i = 0; i < 5; i++) {
    mini_pass(&w.server, 8000);
    mini_put(&w.server, 2 + i);
  }
  assert_int_equal(w.server.lists, 0);
  w.server.holds_bookmark = false;
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* Nothing marks the end, and events go on for ever: it is a list soon, with no
 * more memory than the objects need, and no stream the next time. */
static void test_no_end(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  w.server.holds_bookmark = true;
  mini_pass(&w.server, 1000);
  size_t bytes = atomic_load(&w.memory.live_bytes);
  for (int i = 0; i < 60 && w.server.lists == 0; i++) {
    mini_pass(&w.server, 300);
    mini_put(&w.server, i % 3);
    assert_true(w.server.lists > 0 ||
                (iw_status(&w, "").staged == 3 &&
                 atomic_load(&w.memory.live_bytes) < bytes + 4000));
  }
  assert_int_equal(w.server.lists, 1);
  assert_int_equal(w.server.streams, 1);
  assert_true(kin_informer_has_synced(w.informer));
  assert_false(w.script.stream_refused); /* of others nothing is known */
  mini_serve(&w.server);
  iw_assert_truth(&w);
  script_expire(&w.script, "watch=true");
  mini_put(&w.server, 1);
  mini_pass(&w.server, 10000);
  assert_true(w.server.lists >= 2);
  assert_int_equal(w.server.streams, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* Its head never comes: it is a list the next time, and from then on. */
static void test_no_head(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  script_advance(&w.script, 30000);
  script_break(&w.script, "sendInitialEvents", KIN_ETIMEDOUT,
               KIN_CLASS_PROTOCOL);
  assert_int_equal(w.errors, 1);
  mini_pass(&w.server, 1700);
  assert_int_equal(w.server.lists, 1);
  assert_int_equal(w.server.streams, 0);
  assert_true(kin_informer_has_synced(w.informer));
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* A byte is progress: an object may be large, and a line slow. */
static void test_large_object(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 0);
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"5\"}}}\n";
  assert_true(script_head(&w.script, "sendInitialEvents", 200));
  for (size_t at = 0; at < 8; at++) {
    script_body(&w.script, "sendInitialEvents", text + at, 1);
    script_advance(&w.script, 9000);
  }
  assert_false(w.script.stream_refused);
  script_body(&w.script, "sendInitialEvents", text + 8, sizeof text - 9);
  assert_int_equal(iw_status(&w, "").staged, 1);
  iw_finish(&w);
}

/* Up to a stream at version 103 that has not been answered. */
static void open_relisting_world(iw_world *w) {
  open_world(w, 2);
  mini_serve(&w->server);
  mini_put(&w->server, 4);
  mini_serve(&w->server);
  script_expire(&w->script, "sendInitialEvents");
  script_advance(&w->script, 3000);
  assert_target(w, "resourceVersion=103&", true);
  script_head(&w->script, "sendInitialEvents", 200);
}

static void send_old_list(iw_world *w) {
  static const char text[] =
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"6\",\"annotations\":{"
      "\"k8s.io/initial-events-end\":\"true\"}}}}\n"
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"z\","
      "\"uid\":\"z\",\"resourceVersion\":\"9\"}}}\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"12\"}}}\n";
  script_body(&w->script, "sendInitialEvents", text, sizeof text - 1);
}

/* A list that is older than the position is made again; nothing that follows in
 * the same piece is taken for news. */
static void test_list_goes_back(void **state) {
  (void)state;
  iw_world w;
  open_relisting_world(&w);
  int calls = (int)w.rec.calls;
  send_old_list(&w);
  assert_int_equal(w.rec.calls, calls);
  assert_string_equal(iw_status(&w, "").resource_version, "103");
  assert_target(&w, "sendInitialEvents", false);
  assert_int_equal(script_open_requests(&w.script), 1);
  mini_serve(&w.server);
  assert_int_equal(w.server.lists, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* The same, when the list's request and decoder get no memory. */
static bool list_goes_back_without_memory(size_t n) {
  iw_world w;
  open_relisting_world(&w);
  atomic_store(&w.memory.calls, 0);
  w.memory.fail_at = n;
  send_old_list(&w);
  bool has_failed = fail_alloc_has_failed(&w.memory);
  w.memory.fail_at = 0;
  mini_pass(&w.server, 60000);
  iw_assert_truth(&w);
  iw_finish(&w);
  return has_failed;
}

static void test_list_goes_back_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(list_goes_back_without_memory, 1);
}

/* WL-06: what came is not used; the second time it is a list. */
static void test_ends_early(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  w.server.holds_bookmark = true;
  mini_serve(&w.server);
  script_advance(&w.script, 1500);
  mini_end_watches(&w.server);
  assert_int_equal(w.rec.calls, 0);
  assert_target(&w, "sendInitialEvents", true);
  mini_serve(&w.server);
  assert_int_equal(w.server.streams, 2);
  mini_end_watches(&w.server);
  mini_serve(&w.server);
  assert_int_equal(w.server.lists, 1);
  assert_false(w.script.stream_refused);
  assert_int_equal(w.errors, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* WL-07: a broken stream is an error, and begins again after a backoff. */
static void test_breaks(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  w.server.holds_bookmark = true;
  mini_serve(&w.server);
  mini_break_watches(&w.server);
  script_run(&w.script);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.last_class, KIN_CLASS_CONNECT);
  w.server.holds_bookmark = false;
  mini_pass(&w.server, 3000);
  assert_int_equal(w.server.streams, 2);
  assert_int_equal(w.server.lists, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* WL-07, RF-15: a stream at a version that the server does not have is asked
 * for at once without one. */
static void test_version_is_too_large(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  mini_serve(&w.server);
  mini_put(&w.server, 4);
  mini_serve(&w.server);
  mini_compact(&w.server);
  script_expire(&w.script, "sendInitialEvents");
  script_advance(&w.script, 3000);
  assert_target(&w, "resourceVersion=104&", true);
  assert_target(&w, "sendInitialEvents=true", true);
  unsigned count = w.script.request_count;
  script_respond(&w.script, "sendInitialEvents", 504,
                 "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                 "\"Timeout\",\"message\":\"Too large resource version\","
                 "\"details\":{\"causes\":[{\"reason\":"
                 "\"ResourceVersionTooLarge\"}]},\"code\":504}");
  assert_int_equal(w.script.request_count, count + 1);
  assert_target(&w, "resourceVersion=", false);
  assert_int_equal(w.errors, 2);
  mini_serve(&w.server);
  assert_int_equal(w.server.lists, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* RF-14, SI-21: a lost position is found again by a stream at the last version,
 * and only what changed is told. */
static void test_relist(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 5);
  mini_serve(&w.server);
  mini_put(&w.server, 4);
  mini_serve(&w.server); /* a watch that says nothing would be verified */
  mini_break_watches(&w.server);
  mini_put(&w.server, 1);
  mini_delete(&w.server, 2);
  mini_recreate(&w.server, 3);
  mini_compact(&w.server);
  mini_pass(&w.server, 60000);
  assert_int_equal(w.server.streams, 2);
  assert_int_equal(w.server.lists, 0);
  assert_int_equal(w.rec.relisted, 1);
  assert_int_equal(w.rec.updates, 2);
  assert_int_equal(iw_status(&w, "").relists, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* RF-14, WL-08: a stream that is not newer than the position that was lost is
 * followed by a consistent one on the same source, which is read from its first
 * byte; each time. */
static void test_stream_brings_nothing(void **state) {
  (void)state;
  iw_world w;
  open_world(&w, 3);
  mini_serve(&w.server);
  for (int round = 1; round <= 2; round++) {
    script_expire(&w.script, "sendInitialEvents");
    script_advance(&w.script, 20000);
    mini_serve(&w.server);
    assert_int_equal(w.state, KIN_STATE_LIVE);
    assert_int_equal(w.server.streams, 1 + 2 * round);
    assert_int_equal(w.server.lists, 0);
    assert_int_equal(w.rec.relisted, round);
    mini_put(&w.server, 3 + round);
    mini_serve(&w.server);
    iw_assert_truth(&w);
  }
  iw_finish(&w);
}

/* WL-11: closing at any point leaves nothing; iw_finish checks. */
static void test_closed_anywhere(void **state) {
  (void)state;
  for (int steps = 0; steps < 12; steps++) {
    iw_world w;
    open_world(&w, 4);
    w.server.holds_bookmark = steps % 2 == 0;
    if (steps > 1) {
      mini_serve(&w.server);
    }
    if (steps > 3) {
      mini_put(&w.server, 1);
      mini_serve(&w.server);
    }
    if (steps > 5) {
      mini_break_watches(&w.server);
    }
    if (steps > 7) {
      mini_pass(&w.server, 1000);
    }
    if (steps > 9) {
      w.server.refuses_streams = true;
      mini_compact(&w.server);
      mini_pass(&w.server, 3000);
    }
    iw_close(&w);
    iw_finish(&w);
  }
}

/* As told to on_error, or more: of two at once the later one is told. */
static void assert_errors_are_counted(const iw_world *w) {
  kin_informer_metrics metrics = iw_metrics(w);
  uint64_t failures = 0;
  for (size_t i = 0; i < KIN_ERROR_CLASSES; i++) {
    failures += metrics.failures[i];
  }
  assert_true(failures >= (uint64_t)w->errors);
}

/* Runs a whole story in which allocation n fails; returns whether it came to
 * that. Whatever fails, it ends with the truth. */
static bool story_without_memory(size_t n) {
  iw_world w;
  init_world(&w, n, 4);
  kin_informer_options options = iw_options(&w);
  if (iw_open(&w, &options) == 0) {
    w.server.holds_bookmark = true;
    mini_serve(&w.server);
    mini_put(&w.server, 1);
    mini_delete(&w.server, 2);
    mini_serve(&w.server);
    w.server.holds_bookmark = false;
    mini_pass(&w.server, 5000);
    mini_put(&w.server, 6);
    mini_compact(&w.server);
    mini_break_watches(&w.server);
    mini_pass(&w.server, 90000);
    assert_true(kin_informer_has_synced(w.informer));
    iw_assert_truth(&w);
    assert_errors_are_counted(&w);
  }
  bool has_failed = fail_alloc_has_failed(&w.memory);
  iw_finish(&w);
  return has_failed;
}

static void test_each_allocation_fails(void **state) {
  (void)state;
  fail_alloc_sweep(story_without_memory, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_request),
      cmocka_unit_test(test_only_the_final_content),
      cmocka_unit_test(test_final_content_of_a_relist),
      cmocka_unit_test(test_events_behind_the_bookmark),
      cmocka_unit_test(test_split_everywhere),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_refused_with_its_list),
      cmocka_unit_test(test_refused_with_its_watch),
      cmocka_unit_test(test_refused_by_an_event),
      cmocka_unit_test(test_refused_but_listed),
      cmocka_unit_test(test_switched_off),
      cmocka_unit_test(test_no_progress),
      cmocka_unit_test(test_slow_progress),
      cmocka_unit_test(test_no_end),
      cmocka_unit_test(test_no_head),
      cmocka_unit_test(test_large_object),
      cmocka_unit_test(test_list_goes_back),
      cmocka_unit_test(test_list_goes_back_without_memory),
      cmocka_unit_test(test_ends_early),
      cmocka_unit_test(test_breaks),
      cmocka_unit_test(test_version_is_too_large),
      cmocka_unit_test(test_relist),
      cmocka_unit_test(test_stream_brings_nothing),
      cmocka_unit_test(test_closed_anywhere),
      cmocka_unit_test(test_each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
