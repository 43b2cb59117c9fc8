/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/controller_world.h"
#include "support/hand_source.h"
#include "support/objects.h"
#include "cache/controller.h"

/* The options of a controller: copies, limits, and the calls of its callbacks. */

/* Names of 255 bytes, and no longer, whichever way is used. */
static void test_controller_long_names(void **state) {
  (void)state;
  static char name[257];
  memset(name, 'n', sizeof name - 1);
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.options.name = name;
    assert_int_equal(cw_open(&w), KIN_ETOOBIG);
    assert_null(w.controller);
    w.options.name = name + 1;
    kin_queue_free(w.queue);
    assert_int_equal(cw_open(&w), 0);
    cw_finish(&w);
  }
}

/* Options are copied with all that they point to: nothing of them is looked at
 * later. */
static void test_controller_copies_options(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_QUEUE_IN_ORDER; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    char plural[] = "pods";
    char name[] = "my cache";
    char namespace_[] = "even";
    const char *namespaces[] = {namespace_};
    kin_process_handlers handlers = w.log.handlers;
    w.resource.plural = plural;
    w.resource.namespaces = namespaces;
    w.resource.namespace_count = 1;
    w.options.name = name;
    w.options.handlers = kind <= CW_DELTA ? &handlers : NULL;
    mini_put(&w.vh.server, 0);
    assert_int_equal(cw_open(&w), 0);
    memset(plural, 'x', sizeof plural - 1);
    memset(name, 'x', sizeof name - 1);
    memset(namespace_, 'x', sizeof namespace_ - 1);
    memset(namespaces, 0, sizeof namespaces);
    memset(&handlers, 0, sizeof handlers);
    memset(&w.resource, 0xff, sizeof w.resource);
    memset(&w.options, 0xff, sizeof w.options);
    mini_serve(&w.vh.server);
    assert_non_null(script_find(&w.vh.script, "/namespaces/even/pods?"));
    change_log_expect(&w.log, "I:even/p0@101");
    if (kind <= CW_DELTA) {
      assert_string_equal(kin_queue_name(kin_controller_queue(w.controller)),
                          "my cache");
    } else {
      w.failing_key = "even";
      w.failures_left = 1;
      mini_put(&w.vh.server, 0);
      mini_serve(&w.vh.server);
      assert_non_null(strstr(w.vh.text, "my cache: processing even/p0"));
    }
    cw_finish(&w);
  }
}

static void close_twice(void *data) {
  ++*(unsigned *)data;
}

/* The callback of a call that was refused is not called; there need be none,
 * and what is called comes from a later step. */
static void test_controller_closed_twice(void **state) {
  (void)state;
  for (int has_callback = 0; has_callback < 2; has_callback++) {
    cw_world w;
    cw_init(&w, CW_IN_ORDER, 0);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    unsigned first = 0;
    unsigned second = 0;
    w.is_closing = true;
    w.act_at = UINT32_MAX;
    assert_int_equal(
        kin_controller_close(w.controller,
                             has_callback != 0 ? close_twice : NULL, &first),
        0);
    assert_int_equal(kin_controller_close(w.controller, close_twice, &second),
                     KIN_EALREADY);
    assert_int_equal(first, 0);
    assert_int_equal(w.on_closed, 0);
    script_run(&w.vh.script);
    assert_int_equal(first, has_callback);
    assert_int_equal(second, 0);
    assert_int_equal(w.on_closed, 1);
    cw_finish(&w);
  }
}

static bool close_when_asked(kin_controller *controller, void *data) {
  cw_world *w = data;
  assert_ptr_equal(controller, w->controller);
  w->act_at = UINT32_MAX;
  cw_close(w);
  return true;
}

/* The question whether a resync may be is an event callback, too. */
static void test_controller_closed_by_should_resync(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.options.resync_ms = 1000;
    w.options.should_resync = close_when_asked;
    mini_put(&w.vh.server, 0);
    assert_int_equal(cw_open(&w), 0);
    mini_pass(&w.vh.server, 5000);
    assert_true(w.is_closing);
    assert_int_equal(w.log.updates, 0);
    assert_int_equal(w.closed, 1);
    cw_finish(&w);
  }
}

static char told_key[1024];
static size_t told_key_length;

static void note_key(kin_controller *controller, int error, kin_str key,
                     bool is_retried, void *data) {
  (void)controller;
  (void)error;
  (void)is_retried;
  cw_world *w = data;
  w->process_errors++;
  assert_true(key.length < sizeof told_key);
  memcpy(told_key, key.data, key.length);
  told_key_length = key.length;
}

static int refuse_all(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  (void)item;
  (void)data;
  return KIN_ETYPE;
}

/* An item that failed is told by its first key, of which 511 bytes are kept; a
 * list that is one change has none. */
static void test_controller_tells_keys(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_IN_ORDER, 0);
  w.options.process = refuse_all;
  w.options.on_process_error = note_key;
  assert_int_equal(cw_open(&w), 0);
  told_key_length = 1;
  mini_serve(&w.vh.server);
  assert_int_equal(w.process_errors, 1);
  assert_int_equal(told_key_length, 0);
  static const size_t lengths[] = {511, 512, 700};
  for (size_t i = 0; i < 3; i++) {
    char key[1024];
    memset(key, 'k', lengths[i]);
    key[lengths[i]] = '\0';
    kin_object *object = object_keyed(NULL, key, 1);
    assert_int_equal(kin_queue_add(w.queue, object), 0);
    kin_object_unref(object);
    script_run(&w.vh.script);
    assert_int_equal(w.process_errors, 2 + i);
    assert_int_equal(told_key_length, 511);
    assert_memory_equal(told_key, key, 511);
  }
  cw_finish(&w);
}

static int positive(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  (void)item;
  (void)data;
  return 7;
}

/* The error callback gets a negative code, also if the process function has
 * answered with a positive number. */
static void test_controller_tells_errors(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_FIFO, 0);
  w.options.process = positive;
  mini_put(&w.vh.server, 0);
  assert_int_equal(cw_open(&w), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.process_errors, 1);
  assert_int_equal(w.process_error, KIN_EINVAL);
  assert_false(w.was_retried);
  cw_finish(&w);
}

/* A source of the program's own lists an object whose name no key can hold, in
 * two lists. It costs the lists that object only. */
static void test_controller_listed_bad_name(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    hand_source source;
    hand_source_init(&source, &w.vh.script);
    w.resource.source = &source.lister_watcher;
    assert_int_equal(cw_open(&w), 0);
    for (unsigned round = 1; round <= 2; round++) {
      hand_source_list(&source, "a@1 ns/x/y@1", round == 1 ? "5" : "6");
      script_run(&w.vh.script);
      assert_int_equal(w.synced, 1);
      assert_int_equal(kin_store_count(w.store), 1);
      kin_status status = KIN_STATUS_INIT;
      assert_int_equal(kin_controller_get_status(w.controller, &status), 0);
      assert_int_equal(status.bad_objects, 1); /* the same state of it */
      hand_source_fail(&source, 410, "Expired", true);
      script_advance(&w.vh.script, 10000);
    }
    cw_finish(&w);
  }
}

static int refuse_40(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)out;
  (void)data;
  return kin__str_equal(kin_object_resource_version(in), KIN_STR("40"))
             ? KIN_ETYPE
             : 0;
}

/* ST-02: objects are listed twice, and the transform fails on one of the two
 * states, or on both. The other one is newer than the stored state, and counts. */
static void test_controller_listed_twice(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    hand_source source;
    hand_source_init(&source, &w.vh.script);
    w.resource.source = &source.lister_watcher;
    w.options.transform = refuse_40;
    assert_int_equal(cw_open(&w), 0);
    hand_source_list(&source, "a@10 b@10 c@10", "10");
    hand_source_fail(&source, 410, "Expired", true);
    script_advance(&w.vh.script, 10000);
    hand_source_list(&source, "a@30 a@40 b@40 b@30 c@40 c@40 d@20 d@30", "50");
    static const char *const keys[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) {
      const kin_object *stored = kin_store_get_key(w.store, keys[i]);
      assert_true(kin__str_equal(kin_object_resource_version(stored),
                                 kin__cstr(i == 2 ? "10" : "30")));
    }
    change_log_assert_folds_to(&w.log, w.store);
    cw_finish(&w);
  }
}

static void add_object(cw_world *w, const char *key) {
  kin_object *object = object_keyed(NULL, key, 1);
  assert_int_equal(kin_queue_add(w->queue, object), 0);
  kin_object_unref(object);
}

/* OQ-03: in order, what failed is in front of all else, which waits with it:
 * 0.1 s, and up to 6.4 s. */
static void test_controller_hopeless_item_in_order(void **state) {
  (void)state;
  cw_world w;
  cw_open_failing(&w, CW_QUEUE_IN_ORDER, "bad", 9);
  add_object(&w, "bad");
  add_object(&w, "good");
  static const struct {
    uint64_t ms;
    unsigned tries;
  } waits[] = {{0, 1},   {99, 1},   {1, 2},    {199, 2},  {1, 3},
               {400, 4}, {800, 5},  {1600, 6}, {3200, 7}, {6399, 7},
               {1, 8},   {6399, 8}, {1, 9}};
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    script_advance(&w.vh.script, waits[i].ms);
    assert_int_equal(w.process_errors, waits[i].tries);
    assert_int_equal(kin_queue_count(w.queue), 2);
  }
  /* Nor is it tried for what comes behind it. */
  add_object(&w, "late");
  script_run(&w.vh.script);
  assert_int_equal(w.process_errors, 9);
  script_advance(&w.vh.script, 6399);
  change_log_expect(&w.log, "");
  script_advance(&w.vh.script, 1);
  change_log_expect(&w.log, "A:bad@1 A:good@1 A:late@1");
  /* The next one waits from the beginning. */
  w.failures_left = 2;
  add_object(&w, "bad2");
  script_advance(&w.vh.script, 99);
  assert_int_equal(w.process_errors, 10);
  script_advance(&w.vh.script, 1);
  assert_int_equal(w.process_errors, 11);
  cw_finish(&w);
}

/* Not in order, something new is worth a try of all, at once, and what goes
 * through ends the waits. */
static void test_controller_hopeless_item_and_news(void **state) {
  (void)state;
  cw_world w;
  cw_open_failing(&w, CW_QUEUE_DELTA, "bad", UINT32_MAX);
  add_object(&w, "bad");
  script_advance(&w.vh.script, 100 + 200 + 400);
  assert_int_equal(w.process_errors, 4);
  add_object(&w, "good");
  script_run(&w.vh.script);
  change_log_expect(&w.log, "A:good@1");
  unsigned tries = w.process_errors;
  assert_in_range(tries, 5, 6);
  script_advance(&w.vh.script, 99);
  assert_int_equal(w.process_errors, tries);
  script_advance(&w.vh.script, 1);
  assert_int_equal(w.process_errors, tries + 1);
  cw_finish(&w);
}

static void write_mine(cw_world *w, const char *key) {
  kin_object *object = object_keyed(NULL, key, 5);
  assert_int_equal(kin_store_put(w->store, object), 0);
  kin_object_unref(object);
}

static bool is_mine(const cw_world *w, const char *key) {
  const kin_object *object = kin_store_get_key(w->store, key);
  return object != NULL && kin_object_uid(object).length == 0;
}

/* An object that the program writes into the store stays there until the next
 * event of its key, or the next list. */
static void test_controller_store_is_written(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.options.handlers = NULL;
    mini_put_first(&w.vh.server, 2);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    write_mine(&w, "even/p0");
    write_mine(&w, "odd/p1");
    write_mine(&w, "odd/p3");
    mini_put(&w.vh.server, 0);
    mini_serve(&w.vh.server);
    assert_false(is_mine(&w, "even/p0"));
    assert_true(is_mine(&w, "odd/p1"));
    assert_true(is_mine(&w, "odd/p3"));
    mini_put(&w.vh.server, 2);
    mini_compact(&w.vh.server);
    mini_break_watches(&w.vh.server);
    mini_pass(&w.vh.server, 60000);
    assert_false(is_mine(&w, "odd/p1"));
    assert_non_null(kin_store_get_key(w.store, "odd/p1"));
    assert_null(kin_store_get_key(w.store, "odd/p3"));
    assert_int_equal(kin_store_count(w.store), 3);
    cw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_controller_long_names),
      cmocka_unit_test(test_controller_copies_options),
      cmocka_unit_test(test_controller_closed_twice),
      cmocka_unit_test(test_controller_closed_by_should_resync),
      cmocka_unit_test(test_controller_tells_keys),
      cmocka_unit_test(test_controller_tells_errors),
      cmocka_unit_test(test_controller_hopeless_item_in_order),
      cmocka_unit_test(test_controller_listed_bad_name),
      cmocka_unit_test(test_controller_listed_twice),
      cmocka_unit_test(test_controller_hopeless_item_and_news),
      cmocka_unit_test(test_controller_store_is_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
