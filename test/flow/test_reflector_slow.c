/* SPDX-License-Identifier: MIT */

/* Lists that take long are told with where the time went, and counted. Proves
 * OQ-07, CN-03, WL-09. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "informer/informer.h"
#include "support/hand_source.h"
#include "support/virtual_host.h"

typedef struct rig {
  virtual_host vh;
  hand_source source;
  kin_informer *informer;
} rig;

static void open_rig(rig *f, bool has_streams) {
  memset(f, 0, sizeof *f);
  vh_init(&f->vh, 0);
  hand_source_init(&f->source, &f->vh.script);
  f->source.lister_watcher.watch_list = has_streams;
  script_use_streams(&f->vh.script);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &f->source.lister_watcher;
  assert_int_equal(kin__informer_open_on(&f->informer, &f->vh.host, &options),
                   0);
  assert_int_equal(kin_informer_start(f->informer), 0);
  script_run(&f->vh.script);
}

static void pass(rig *f, uint64_t ms) {
  script_advance(&f->vh.script, ms);
}

static uint64_t slow_lists(const rig *f) {
  kin_status status = KIN_STATUS_INIT;
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_status(f->informer, "", &status), 0);
  assert_int_equal(kin_informer_get_metrics(f->informer, &metrics), 0);
  assert_int_equal(status.slow_lists, metrics.slow_lists);
  return metrics.slow_lists;
}

static void assert_logged(const rig *f, const char *line) {
  if (strstr(f->vh.text, line) == NULL) {
    fail_msg("no \"%s\" in \"%s\"", line, f->vh.text);
  }
}

static void test_pages(void **state) {
  (void)state;
  rig f;
  open_rig(&f, false);
  pass(&f, 4000);
  hand_source_item(&f.source, "a@1");
  hand_source_item(&f.source, "b@2");
  hand_source_list_end(&f.source, "5", "c1");
  pass(&f, 6001);
  hand_source_item(&f.source, "c@3");
  hand_source_list_end(&f.source, "5", "");
  assert_logged(&f, "W pods: a list took 10001 ms: 0 until its turn, 10001 "
                    "for 3 objects in 2 pages, 0 until they were applied\n");
  assert_int_equal(slow_lists(&f), 1);
  vh_finish(&f.vh);
}

/* Ten seconds are not slow yet. */
static void test_quick_enough(void **state) {
  (void)state;
  rig f;
  open_rig(&f, false);
  pass(&f, 10000);
  hand_source_list(&f.source, "a@1", "5");
  assert_int_equal(slow_lists(&f), 0);
  assert_string_equal(f.vh.text, "");
  vh_finish(&f.vh);
}

/* The time before its turn, and of a verify, which is not one. */
static void test_turn(void **state) {
  (void)state;
  kin__gate gate;
  kin__gate_visitor other;
  rig f;
  memset(&f, 0, sizeof f);
  vh_init(&f.vh, 0);
  kin__gate_init(&gate, &f.vh.script.sched, &f.vh.script.timers, 1, UINT64_MAX);
  kin__gate_visitor_init(&other, NULL, NULL);
  f.vh.script.env.lists = &gate;
  assert_true(kin__gate_enter(&gate, &other));
  hand_source_init(&f.source, &f.vh.script);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &f.source.lister_watcher;
  assert_int_equal(kin__informer_open_on(&f.informer, &f.vh.host, &options), 0);
  assert_int_equal(kin_informer_start(f.informer), 0);
  pass(&f, 11000);
  hand_source_expect(&f.source, "");
  kin__gate_leave(&gate, &other);
  pass(&f, 2000);
  hand_source_list(&f.source, "a@1", "5");
  assert_logged(&f, "took 13000 ms: 11000 until its turn, 2000 for 1 objects "
                    "in 1 pages, 0 until");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  pass(&f, 2000);
  hand_source_watch_end(&f.source);
  pass(&f, 20000);
  hand_source_list(&f.source, "", "5"); /* verified */
  assert_int_equal(slow_lists(&f), 1);
  vh_finish(&f.vh);
}

/* The time that it takes until memory is found to apply it. */
static void test_applying(void **state) {
  (void)state;
  rig f;
  open_rig(&f, false);
  f.vh.memory.keeps_failing = true;
  hand_source_item(&f.source, "a@1");
  f.vh.memory.fail_at = 1;
  atomic_store(&f.vh.memory.calls, 0);
  hand_source_list_end(&f.source, "5", "");
  pass(&f, 10950);
  f.vh.memory.fail_at = 0;
  f.vh.memory.keeps_failing = false;
  pass(&f, 100);
  assert_logged(&f, "took 11000 ms: 0 until its turn, 0 for 1 objects in 1 "
                    "pages, 11000 until they were applied");
  assert_int_equal(slow_lists(&f), 1);
  vh_finish(&f.vh);
}

static void test_stream(void **state) {
  (void)state;
  rig f;
  open_rig(&f, true);
  hand_source_expect(&f.source, "I:>");
  char object[] = "a@1";
  for (int i = 0; i < 6; i++, object[0]++) {
    pass(&f, 2000);
    hand_source_event(&f.source, KIN_WATCH_ADDED, object);
  }
  kin_feed *feed = f.source.feed;
  assert_int_equal(kin_feed_bookmark(feed, (kin_str){"5", 1}, true), 0);
  script_run(&f.vh.script);
  assert_logged(&f, "a list took 12000 ms: 0 until its turn, 12000 for 6 "
                    "objects streamed, 0 until they were applied");
  assert_int_equal(slow_lists(&f), 1);
  vh_finish(&f.vh);
}

/* WL-09: a stream that says nothing is given up after 10 s, and that is told;
 * what had come before makes another line. */
static void test_silent_streams(void **state) {
  (void)state;
  for (int has_events = 0; has_events < 2; has_events++) {
    rig f;
    open_rig(&f, true);
    assert_int_equal(kin_feed_open(f.source.feed), 0);
    if (has_events) {
      pass(&f, 2000);
      hand_source_event(&f.source, KIN_WATCH_ADDED, "a@1");
    }
    pass(&f, 9999);
    assert_string_equal(f.vh.text, "");
    pass(&f, 5001);
    hand_source_expect(&f.source, "I:> x L:0/500");
    assert_logged(&f, has_events ? "received last event 10000 ms ago; listing"
                                 : "no events received for 10000 ms; listing");
    vh_finish(&f.vh);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pages),  cmocka_unit_test(test_quick_enough),
      cmocka_unit_test(test_turn),   cmocka_unit_test(test_applying),
      cmocka_unit_test(test_stream), cmocka_unit_test(test_silent_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
