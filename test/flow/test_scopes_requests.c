/* SPDX-License-Identifier: MIT */

/* A namespace is removed with its request in a state of its own: a stream that
 * is held, at the gate for lists, in a backoff, stopped by KIN_STOP, inside a
 * call of the source. SI-16. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "informer/scope.h"
#include "informer/informer.h"
#include "support/informer_world.h"
#include "support/source_rig.h"

static size_t cached(const iw_world *w) {
  return kin_store_count(kin_informer_store(w->informer));
}

static const char stream_in_one_piece[] =
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p1\","
    "\"namespace\":\"odd\",\"uid\":\"u1\",\"resourceVersion\":\"101\"}}}\n"
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"
    "\"102\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"p1\","
    "\"namespace\":\"odd\",\"uid\":\"u1\",\"resourceVersion\":\"103\"}}}\n"
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p3\","
    "\"namespace\":\"odd\",\"uid\":\"u3\",\"resourceVersion\":\"104\"}}}\n";

/* A stream is held while its list is applied, and has brought more. */
static void test_held_stream(void **state) {
  (void)state;
  bool was_held = true;
  for (unsigned k = 0; was_held; k++) {
    iw_world w;
    iw_init(&w, 0);
    script_use_streams(&w.script);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_even_and_odd(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    script_request *odd = script_expect(&w.script, "/odd/");
    script_request_head(odd, 200);
    odd->position = 1;
    odd->callbacks->on_body(odd->ctx, stream_in_one_piece,
                            sizeof stream_in_one_piece - 1);
    kin_feed *feed = &kin__scopes_find(&w.informer->scopes, "odd")->feed;
    assert_true(feed->is_held);
    for (unsigned i = 0; i < k; i++) {
      (void)kin__sched_run(&w.script.sched, 0);
    }
    was_held = feed->is_held;
    iw_drop_odd(&w);
    mini_serve(&w.server);
    assert_int_equal(cached(&w), 1);
    assert_int_equal(w.rec.synced, 1);
    assert_int_equal(w.rec.deletes, w.rec.adds - 1);
    recorder_assert_folds_to(&w.rec, kin_informer_store(w.informer));
    iw_finish(&w);
    assert_true(k > 3 || was_held);
  }
}

/* Its place at the gate is free at once. */
static void test_at_the_gate(void **state) {
  (void)state;
  static const char *const names[] = {"odd", "even", "none"};
  for (int is_inside = 0; is_inside < 2; is_inside++) {
    iw_world w;
    kin__gate gate;
    iw_init(&w, 0);
    kin__gate_init(&gate, &w.script.sched, &w.script.timers, 1, UINT64_MAX);
    w.script.env.lists = &gate;
    mini_put_first(&w.server, 2);
    kin_informer_options options = iw_options(&w);
    options.namespaces = names;
    options.namespace_count = 3;
    assert_int_equal(iw_open(&w, &options), 0);
    assert_non_null(script_find(&w.script, "/odd/"));
    assert_null(script_find(&w.script, "/even/"));
    const char *name = is_inside ? "odd" : "even";
    assert_int_equal(kin_informer_remove_namespace(w.informer, name), 0);
    assert_int_equal(gate.inside, is_inside ? 0 : 1);
    script_run(&w.script);
    assert_int_equal(script_find(&w.script, "/even/") != NULL, is_inside);
    assert_int_equal(kin_informer_add_namespace(w.informer, name), 0);
    mini_serve(&w.server);
    assert_int_equal(gate.inside, 0);
    iw_assert_truth(&w);
    iw_close(&w);
    kin__gate_finish(&gate);
    iw_finish(&w);
  }
}

static void test_while_waiting(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 4);
  script_respond(&w.script, "/odd/", 503, "");
  assert_int_equal(w.errors, 1);
  iw_drop_odd(&w);
  mini_serve(&w.server);
  assert_int_equal(w.rec.synced, 1);
  /* Its backoff is gone with it. */
  unsigned requests = w.script.request_count;
  mini_pass(&w.server, 5000);
  assert_int_equal(w.script.request_count, requests);
  iw_add_odd(&w);
  mini_serve(&w.server);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void stop_on_error(kin_informer *informer, kin_error_event *event,
                          void *data) {
  iw_on_error(informer, event, data);
  event->answer = KIN_STOP;
}

/* What was stopped keeps what it has until it is removed, and goes on when it
 * is added again. */
static void test_after_a_stop(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 4);
  kin_informer_options options = iw_even_and_odd(&w);
  options.on_error = stop_on_error;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  script_break(&w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  mini_put(&w.server, 1);
  mini_pass(&w.server, 5000);
  assert_int_equal(cached(&w), 4);
  iw_drop_odd(&w);
  iw_add_odd(&w);
  mini_serve(&w.server);
  assert_int_equal(w.rec.deletes, 2);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* An error is answered with KIN_STOP in the call that also removes, or closes:
 * the objects go all the same. */
static void remove_and_stop(kin_informer *informer, kin_error_event *event,
                            void *data) {
  iw_on_error(informer, event, data);
  assert_int_equal(kin_informer_remove_namespace(informer, event->namespace_),
                   0);
  event->answer = KIN_STOP;
}

static void test_removed_and_stopped(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 4);
  kin_informer_options options = iw_even_and_odd(&w);
  options.on_error = remove_and_stop;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  script_break(&w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  assert_int_equal(cached(&w), 2);
  assert_int_equal(w.rec.deletes, 2);
  assert_int_equal(w.informer->scopes.count, 1);
  iw_finish(&w);
}

static kin_informer *opened_by;
static bool adds_again;

static void remove_inside_open(hand_source *source) {
  source->inside_open = NULL;
  assert_int_equal(kin_informer_remove_namespace(opened_by, "a"), 0);
  if (adds_again) {
    assert_int_equal(kin_informer_add_namespace(opened_by, "a"), 0);
  }
}

/* A source of the program's own that removes the namespace it is asked for. */
static void test_inside_its_source(void **state) {
  (void)state;
  static const char *const names[] = {"a"};
  for (int again = 0; again < 2; again++) {
    virtual_host vh;
    hand_source source;
    vh_init(&vh, 0);
    hand_source_init(&source, &vh.script);
    source.inside_open = remove_inside_open;
    adds_again = again;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.plural = "pods";
    options.namespaces = names;
    options.namespace_count = 1;
    options.source = &source.lister_watcher;
    assert_int_equal(kin__informer_open_on(&opened_by, &vh.host, &options), 0);
    assert_int_equal(kin_informer_start(opened_by), 0);
    hand_source_expect(&source, "L:0/500 x");
    script_run(&vh.script);
    if (again) {
      hand_source_expect(&source, "L:0/500");
      hand_source_list(&source, "a/x@4", "5");
      hand_source_expect(&source, "W:5");
      /* Inside a call of its own, in which the watch is open. */
      assert_int_equal(kin_informer_remove_namespace(opened_by, "a"), 0);
      hand_source_expect(&source, "x");
      assert_int_equal(kin_feed_watch_end(source.feed), KIN_ECLOSED);
      script_run(&vh.script);
    }
    assert_int_equal(kin_store_count(kin_informer_store(opened_by)), 0);
    assert_true(kin_informer_has_synced(opened_by));
    vh_finish(&vh);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_held_stream),
      cmocka_unit_test(test_at_the_gate),
      cmocka_unit_test(test_while_waiting),
      cmocka_unit_test(test_after_a_stop),
      cmocka_unit_test(test_removed_and_stopped),
      cmocka_unit_test(test_inside_its_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
