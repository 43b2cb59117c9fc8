/* SPDX-License-Identifier: MIT */

/* Controllers over lists that come as watches. Proves WL-01, WL-03, WL-04,
 * WL-06, WL-07, WL-10, WL-11, CO-03, CO-10, FG-05. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/controller_world.h"
#include "support/hand_source.h"

static void init_streaming(cw_world *w, cw_kind kind, size_t fail_at) {
  cw_init(w, kind, fail_at);
  script_use_streams(&w->vh.script);
}

static void put_some(cw_world *w, int count) {
  mini_put_first(&w->vh.server, count);
}

/* WL-03, WL-04: handlers are told what the stream has come to, then its events;
 * there was one request. */
static void test_one_stream(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    put_some(&w, 4);
    assert_int_equal(cw_open(&w), 0);
    w.vh.server.holds_bookmark = true;
    mini_serve(&w.vh.server);
    mini_put(&w.vh.server, 1);
    mini_delete(&w.vh.server, 2);
    mini_put(&w.vh.server, 6);
    mini_delete(&w.vh.server, 6);
    mini_serve(&w.vh.server);
    assert_int_equal(w.calls, 0);
    assert_false(kin_controller_has_synced(w.controller));
    w.vh.server.holds_bookmark = false;
    mini_serve(&w.vh.server);
    assert_int_equal(w.synced, 1);
    assert_int_equal(w.log.adds, 3);
    mini_put(&w.vh.server, 0);
    mini_delete(&w.vh.server, 3);
    mini_serve(&w.vh.server);
    change_log_expect(&w.log, "I:even/p0@101 I:odd/p1@105 I:odd/p3@104 "
                              "U:even/p0@101>109 D:odd/p3@110");
    assert_int_equal(w.vh.script.request_count, 1);
    assert_int_equal(w.errors, 0);
    cw_assert_truth(&w);
    cw_finish(&w);
  }
}

static unsigned transforms;

static int count_transforms(const kin_object *in, kin_object_builder *out,
                            void *data) {
  (void)data;
  transforms++;
  return kin_object_builder_set_string(out, "/metadata/labels/seen",
                                       kin_object_name(in).length > 0 ? "yes"
                                                                      : "no");
}

/* WL-10: once for each object, and not again for what a relist finds
 * unchanged. */
static void test_transformed_once(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    put_some(&w, 5);
    transforms = 0;
    w.options.transform = count_transforms;
    assert_int_equal(cw_open(&w), 0);
    w.vh.server.holds_bookmark = true;
    mini_serve(&w.vh.server);
    mini_put(&w.vh.server, 1);
    mini_delete(&w.vh.server, 2);
    w.vh.server.holds_bookmark = false;
    mini_serve(&w.vh.server);
    assert_int_equal(w.synced, 1);
    assert_int_equal(transforms, 4);
    mini_put(&w.vh.server, 0); /* a watch that says nothing would be verified */
    mini_serve(&w.vh.server);
    assert_int_equal(transforms, 5);
    mini_break_watches(&w.vh.server);
    mini_put(&w.vh.server, 3);
    mini_compact(&w.vh.server);
    mini_pass(&w.vh.server, 60000);
    assert_int_equal(w.vh.server.streams, 2);
    assert_int_equal(transforms, 6);
    cw_assert_truth(&w);
    cw_finish(&w);
  }
}

static unsigned seen_again;

static int find_transformed(const kin_object *in, kin_object_builder *out,
                            void *data) {
  (void)data;
  kin_str value;
  seen_again += kin_object_label(in, "seen", &value);
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

/* WL-10: what comes behind the end of a stream is not taken for the cached
 * object, which has been transformed, even if it is the same state. */
static void test_held_events_are_transformed_once(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    hand_source source;
    hand_source_init(&source, &w.vh.script);
    source.lister_watcher.watch_list = true;
    w.resource.source = &source.lister_watcher;
    w.options.transform = find_transformed;
    seen_again = 0;
    assert_int_equal(cw_open(&w), 0);
    kin_object *object = hand_source_object("a@1");
    for (int round = 0; round < 2; round++) {
      assert_int_equal(kin_feed_event(source.feed, KIN_WATCH_ADDED, object), 0);
      kin_str version = {"5", 1};
      assert_int_equal(kin_feed_bookmark(source.feed, version, true), 0);
      assert_int_equal(kin_feed_event(source.feed, KIN_WATCH_MODIFIED, object),
                       0);
      script_run(&w.vh.script);
      hand_source_fail(&source, 410, "Expired", true);
      script_advance(&w.vh.script, 3000);
    }
    kin_object_unref(object);
    assert_int_equal(seen_again, 0);
    assert_int_equal(w.synced, 1);
    cw_finish(&w);
  }
}

/* WL-01: switched off: lists. */
static void test_lists_instead(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    put_some(&w, 3);
    w.resource.no_watch_list = true;
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    assert_int_equal(w.vh.server.streams, 0);
    assert_int_equal(w.vh.server.lists, 1);
    assert_int_equal(w.synced, 1);
    cw_finish(&w);
  }
}

/* WL-07: refused at once: a list, no error, and never asked again. */
static void test_refused(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    w.log.is_terse = true;
    put_some(&w, 3);
    w.vh.server.refuses_streams = true;
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    assert_true(w.vh.script.stream_refused);
    assert_int_equal(w.vh.server.lists, 1);
    assert_int_equal(w.synced, 1);
    assert_int_equal(w.errors, 0);
    cw_finish(&w);
  }
}

/* WL-06, WL-07: what came before it broke is not told of. */
static void test_breaks(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    init_streaming(&w, kind, 0);
    w.log.is_terse = true;
    put_some(&w, 3);
    assert_int_equal(cw_open(&w), 0);
    w.vh.server.holds_bookmark = true;
    mini_serve(&w.vh.server);
    mini_break_watches(&w.vh.server);
    mini_delete(&w.vh.server, 0);
    script_run(&w.vh.script);
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.log.calls, 0);
    w.vh.server.holds_bookmark = false;
    mini_pass(&w.vh.server, 3000);
    assert_int_equal(w.vh.server.streams, 2);
    assert_int_equal(w.synced, 1);
    if (kind != CW_QUEUE_FIFO) {
      cw_assert_truth(&w);
    }
    cw_finish(&w);
  }
}

/* --- Sweeps --------------------------------------------------------------- */

/* Streams with changes in them, events behind them, lost positions, resyncs. */
static int run_story(cw_world *w) {
  mini_server *server = &w->vh.server;
  put_some(w, 9);
  w->options.resync_ms = 1500;
  w->failing_key = "even/p2";
  w->failures_left = w->options.retry_on_error ? 3 : 0;
  server->holds_bookmark = true;
  int err = cw_open(w);
  if (err != 0 || w->vh.host.members.is_closing) {
    return err;
  }
  mini_serve(server);
  mini_put(server, 2);
  mini_delete(server, 1);
  mini_recreate(server, 4);
  mini_serve(server);
  server->holds_bookmark = false;
  mini_serve(server);
  for (int round = 0; round < 2; round++) {
    mini_put(server, 2);
    mini_put(server, 10 + round);
    mini_pass(server, 2000);
    mini_break_watches(server);
    mini_recreate(server, 4);
    mini_delete(server, 6 + round);
    mini_compact(server);
    server->holds_bookmark = round == 0;
    mini_pass(server, 4000);
    mini_put(server, 5);
    mini_delete(server, 10 + round);
    server->holds_bookmark = false;
    mini_pass(server, 4000);
  }
  mini_pass(server, 120000);
  return 0;
}

static void check_end(const cw_world *w) {
  if (w->kind != CW_QUEUE_FIFO) {
    cw_assert_truth(w);
  }
  assert_int_equal(w->synced, 1);
  assert_true(w->vh.server.streams > 0);
}

static const cw_sweep sweep = {
    .init = init_streaming, .story = run_story, .check = check_end};

static void test_story(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    for (size_t split = 0; split < 700; split += split < 20 ? 1 : 61) {
      cw_world w;
      init_streaming(&w, kind, 0);
      w.log.is_terse = true;
      w.vh.script.split = split;
      assert_int_equal(run_story(&w), 0);
      check_end(&w);
      assert_int_equal(w.vh.server.lists, 0);
      cw_finish(&w);
    }
  }
}

/* Any one allocation may fail: opening fails cleanly, or the end is the
 * truth. */
static void test_sweep_allocations(void **state) {
  (void)state;
  cw_sweep_allocations(&sweep);
}

/* CO-10, CO-03, WL-11: closed in each callback: no other comes, and all is
 * gone. */
static void test_sweep_closes(void **state) {
  (void)state;
  cw_sweep_closes(&sweep);
}

/* Memory that stays out for a while: nothing is lost for it. */
static void test_sweep_outages(void **state) {
  (void)state;
  cw_sweep_outages(&sweep, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_stream),
      cmocka_unit_test(test_transformed_once),
      cmocka_unit_test(test_held_events_are_transformed_once),
      cmocka_unit_test(test_lists_instead),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_breaks),
      cmocka_unit_test(test_story),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_outages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
