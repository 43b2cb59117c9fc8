/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/random.h"
#include "base/str.h"
#include "support/controller_world.h"
#include "support/indices.h"
#include "support/objects.h"
#include "cache/controller.h"

/* What a controller does, with a virtual clock and a server that answers
 * truthfully. Closing and failing memory are in test_controller_sweeps. */

/* --- client-go's examples ------------------------------------------------- */

static void delete_what_is_there(cw_world *w, const kin_object *object) {
  int number = cw_number(object);
  if (w->vh.server.versions[number] != 0) {
    mini_delete(&w->vh.server, number);
  }
}

/* A process function as it is written by hand. */
static int example_process(kin_queue *queue, kin_queue_item *item, void *data) {
  cw_world *w = data;
  (void)queue;
  const kin_delta *newest = kin_deltas_newest(&item->deltas);
  if (newest->type == KIN_DELTA_DELETED) {
    assert_int_equal(kin_store_delete(w->store, newest->key), 0);
    w->log.deletes++;
  } else {
    assert_int_equal(kin_store_put(w->store, newest->object), 0);
    delete_what_is_there(w, newest->object);
  }
  return 0;
}

/* client-go Example; CO-01, CO-10: a process function deletes at the source
 * what it sees, and sees that it is gone. */
static void test_controller_example(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_DELTA, 0);
  w.options.process = example_process;
  mini_put_first(&w.vh.server, 3);
  assert_int_equal(cw_open(&w), 0);
  mini_pass(&w.vh.server, 1000);
  assert_int_equal(w.log.deletes, 3);
  assert_int_equal(kin_store_count(w.store), 0);
  assert_int_equal(mini_count(&w.vh.server, ""), 0);
  assert_int_equal(w.synced, 1);
  cw_finish(&w);
}

static void delete_added(change_log *log) {
  cw_world *w = log->data;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(w->store, &cursor)) != NULL) {
    delete_what_is_there(w, object);
  }
}

/* client-go ExampleNewInformer; PD-02, CO-06: the same with handlers, which are
 * told of the deletion with its own version. */
static void test_controller_example_new_informer(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.during = delete_added;
    mini_put_first(&w.vh.server, 2);
    assert_int_equal(cw_open(&w), 0);
    mini_pass(&w.vh.server, 1000);
    change_log_expect(&w.log, "I:even/p0@101 I:odd/p1@102 D:even/p0@103 "
                              "D:odd/p1@104");
    assert_int_equal(kin_store_count(w.store), 0);
    cw_finish(&w);
  }
}

static void delete_updated(change_log *log) {
  cw_world *w = log->data;
  const char *last = strrchr(log->text, ' ');
  int number;
  char space[8];
  if (last != NULL && sscanf(last, " U:%7[a-z]/p%d@", space, &number) == 2 &&
      w->vh.server.versions[number] != 0) {
    mini_delete(&w->vh.server, number);
  }
}

/* client-go TestUpdate; PD-01, CO-06, CO-10: whatever happens in between, each
 * object is added, updated and, deleted by its own handler, told to be gone. */
static void test_controller_update(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    if (kind == CW_QUEUE_FIFO) {
      continue; /* tells of no deletions */
    }
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.during = delete_updated;
    mini_put_first(&w.vh.server, 2);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    mini_put(&w.vh.server, 2);
    mini_put(&w.vh.server, 0);
    mini_put(&w.vh.server, 2);
    mini_put(&w.vh.server, 1);
    mini_pass(&w.vh.server, 1000);
    assert_int_equal(w.log.adds, 3);
    assert_int_equal(w.log.updates, 3);
    assert_int_equal(w.log.deletes, 3);
    assert_int_equal(mini_count(&w.vh.server, ""), 0);
    cw_assert_truth(&w);
    cw_finish(&w);
  }
}

/* --- The two ways --------------------------------------------------------- */

/* CO-05, CO-06, CO-07, PD-06: synced right after the last initial add, then changes;
 * what a list that changes nothing brings is an update. A 410 is followed by a
 * list, and what is missing in it is told first, as a tombstone. */
static void test_controller_story(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_IN_ORDER, 0);
  mini_put_first(&w.vh.server, 2);
  assert_int_equal(cw_open(&w), 0);
  assert_false(kin_controller_has_synced(w.controller));
  assert_string_equal(kin_controller_last_sync_version(w.controller), "");
  mini_serve(&w.vh.server);
  change_log_expect(&w.log, "I:even/p0@101 I:odd/p1@102");
  assert_int_equal(w.synced, 1);
  assert_int_equal(w.calls, 3);
  assert_string_equal(kin_controller_last_sync_version(w.controller), "102");
  mini_put(&w.vh.server, 2);
  mini_put(&w.vh.server, 0);
  mini_delete(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  change_log_expect(&w.log, "A:even/p2@103 U:even/p0@101>104 D:odd/p1@105");

  mini_delete(&w.vh.server, 2);
  mini_put(&w.vh.server, 3);
  mini_compact(&w.vh.server);
  mini_break_watches(&w.vh.server);
  mini_pass(&w.vh.server, 60000);
  assert_int_equal(w.last_status, 410);
  change_log_expect(&w.log, "X:even/p2@103 U:even/p0@104>104 A:odd/p3@107");
  assert_int_equal(w.synced, 1);
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_controller_get_status(w.controller, &status), 0);
  assert_int_equal(status.state, KIN_STATE_LIVE);
  assert_int_equal(status.relists, 1);
  kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
  assert_int_equal(kin_controller_get_stats(w.controller, &stats), 0);
  assert_int_equal(stats.items, 2 + 3);
  assert_int_equal(stats.failures, 0);
  cw_assert_truth(&w);
  cw_finish(&w);
}

static void hammer(cw_kind kind, uint64_t seed) {
  kin__random random = {seed};
  cw_world w;
  cw_init(&w, kind, 0);
  mini_server *server = &w.vh.server;
  server->honours_limit = kin__random_below(&random, 2) == 0;
  w.resource.page_size = 3;
  w.options.resync_ms = kin__random_below(&random, 2) == 0
                            ? 200 + (uint32_t)kin__random_below(&random, 2000)
                            : 0;
  w.log.is_terse = true;
  assert_int_equal(cw_open(&w), 0);
  script_run(&w.vh.script);
  assert_non_null(script_find(&w.vh.script, "limit=3&"));
  for (unsigned i = 0; i < 60; i++) {
    int object = (int)kin__random_below(&random, MINI_OBJECTS);
    switch (kin__random_below(&random, 9)) {
    case 0:
      mini_break_watches(server);
      break;
    case 1:
      mini_end_watches(server);
      break;
    case 2:
      mini_bookmark(server);
      break;
    case 3:
      mini_compact(server);
      break;
    case 4:
      if (server->versions[object] != 0) {
        mini_recreate(server, object);
      }
      break;
    case 5:
      if (server->versions[object] != 0) {
        mini_delete(server, object);
      }
      break;
    default:
      mini_put(server, object);
    }
    if (kin__random_below(&random, 3) == 0) {
      mini_pass(server, kin__random_below(&random, 3000));
    }
  }
  mini_break_watches(server);
  mini_pass(server, 200000);
  assert_int_equal(w.synced, 1);
  assert_true(kin_controller_has_synced(w.controller));
  cw_assert_truth(&w);
  char version[32];
  snprintf(version, sizeof version, "%llu",
           (unsigned long long)server->version);
  assert_string_equal(kin_controller_last_sync_version(w.controller), version);
  cw_finish(&w);
}

/* client-go TestHammerController; PD-01, CO-05: random changes, faults and
 * lists, all kinds of queues: the end is the truth, and what was told folds to
 * it. */
static void test_controller_hammer(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
      if (kind != CW_QUEUE_FIFO) {
        hammer(kind, seed);
      }
    }
  }
}

/* FF-01: a FIFO gives the newest of each key; CO-01, that which a program puts
 * in itself is processed, too, and closing leaves what is queued. */
static void test_controller_of_a_fifo(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_FIFO, 0);
  mini_put(&w.vh.server, 0);
  assert_int_equal(cw_open(&w), 0);
  assert_null(kin_controller_store(w.controller));
  assert_ptr_equal(kin_controller_queue(w.controller), w.queue);
  mini_serve(&w.vh.server);
  kin_object *object = object_keyed(NULL, "mine", 5);
  assert_int_equal(kin_queue_add(w.queue, object), 0);
  assert_int_equal(kin_queue_update(w.queue, object), 0);
  script_run(&w.vh.script);
  change_log_expect(&w.log, "I:even/p0@101 A:mine@5");
  assert_false(kin_queue_is_closed(w.queue));
  cw_close(&w);
  assert_true(kin_queue_is_closed(w.queue));
  assert_int_equal(kin_queue_add(w.queue, object), 0);
  kin_object_unref(object);
  script_run(&w.vh.script);
  assert_int_equal(kin_queue_count(w.queue), 1);
  assert_int_equal(w.closed, 1);
  w.act_at = UINT32_MAX;
  cw_finish(&w);
}

/* CO-03: processed in batches where there is more than one. */
static void test_controller_batches(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_BATCHES, 0);
  assert_int_equal(cw_open(&w), 0);
  mini_serve(&w.vh.server);
  kin_controller_stats before = KIN_CONTROLLER_STATS_INIT;
  assert_int_equal(kin_controller_get_stats(w.controller, &before), 0);
  for (int i = 0; i < 10; i++) {
    kin_object *object = object_keyed(NULL, i % 2 == 0 ? "a" : "b", 200);
    assert_int_equal(kin_queue_add(w.queue, object), 0);
    kin_object_unref(object);
  }
  script_run(&w.vh.script);
  kin_controller_stats after = KIN_CONTROLLER_STATS_INIT;
  assert_int_equal(kin_controller_get_stats(w.controller, &after), 0);
  assert_int_equal(after.items - before.items, 5);
  assert_int_equal(w.log.adds, 2);
  assert_int_equal(w.log.updates, 8);
  cw_finish(&w);
}

static void queue_in_handler(change_log *log) {
  cw_world *w = log->data;
  kin_queue *queue = kin_controller_queue(w->controller);
  assert_int_equal(kin_queue_resync(queue), KIN_EALREADY);
  assert_int_equal(kin_queue_replace(queue, NULL, 0, kin__cstr("1")),
                   KIN_EALREADY);
  assert_int_equal(kin_queue_pop(queue, example_process, w), KIN_EALREADY);
  char key[16];
  snprintf(key, sizeof key, "mine%u", log->adds);
  kin_object *object = object_keyed(NULL, key, log->adds);
  if (log->adds < 5 && kin_store_get_key(w->store, key) == NULL) {
    assert_int_equal(kin_queue_add(queue, object), 0);
  }
  kin_object_unref(object);
}

/* CO-10: what a handler queues comes after it has returned, in its turn; what
 * touches the queue as a whole is refused. */
static void test_controller_handlers_queue(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.during = queue_in_handler;
    mini_put_first(&w.vh.server, 2);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    change_log_expect(&w.log, "I:even/p0@101 I:odd/p1@102 A:mine1@1 A:mine2@2 "
                              "A:mine3@3 A:mine4@4");
    assert_int_equal(w.synced, 1);
    cw_finish(&w);
  }
}

static void close_controller(change_log *log) {
  cw_close(log->data);
}

/* CO-10: a handler closes the controller. No other handler is called, although
 * more changes of the object wait in the same item. */
static void test_controller_closed_by_a_handler(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_open_with_one(&w, kind);
    mini_put(&w.vh.server, 0);
    mini_put(&w.vh.server, 0);
    w.log.during = close_controller;
    mini_serve(&w.vh.server);
    change_log_expect(&w.log, "U:even/p0@101>102");
    assert_int_equal(w.closed, 1);
    w.act_at = UINT32_MAX;
    cw_finish(&w);
  }
}

/* --- Transform, version, resync ------------------------------------------- */

static int mark(const kin_object *in, kin_object_builder *out, void *data) {
  unsigned *calls = data;
  ++*calls;
  assert_false(kin_object_label(in, "marked", &(kin_str){0}));
  return kin_object_builder_set_string(out, "/metadata/labels/marked", "yes");
}

static void check_marked(const kin_object *object) {
  kin_str value;
  assert_true(kin_object_label(object, "marked", &value));
  assert_true(kin__str_equal(value, kin__cstr("yes")));
}

static void add_marked(const kin_object *object, bool is_initial, void *data) {
  (void)is_initial;
  check_marked(object);
  ++*(unsigned *)data;
}

static void update_marked(const kin_object *old_object,
                          const kin_object *object, void *data) {
  check_marked(old_object);
  check_marked(object);
  ++*(unsigned *)data;
}

static void delete_marked(kin_str key, const kin_object *object,
                          bool is_tombstone, void *data) {
  (void)key;
  (void)is_tombstone;
  check_marked(object);
  ++*(unsigned *)data;
}

/* client-go TestTransformingInformer, TestTransformingInformerRace; CO-06,
 * CO-07, CO-08, QF-14: store and handlers see transformed objects only, each
 * change is transformed once, and neither resyncs nor what a later list finds
 * unchanged is transformed again. */
static void test_controller_transform(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    unsigned calls = 0;
    unsigned told = 0;
    kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
    handlers.on_add = add_marked;
    handlers.on_update = update_marked;
    handlers.on_delete = delete_marked;
    handlers.data = &told;
    w.options.handlers = &handlers;
    w.options.transform = mark;
    w.options.transform_data = &calls;
    w.options.resync_ms = 1000;
    mini_put_first(&w.vh.server, 3);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    assert_int_equal(calls, 3);
    assert_int_equal(told, 3);
    mini_put(&w.vh.server, 0);
    mini_pass(&w.vh.server, 500);
    assert_int_equal(calls, 4);
    mini_pass(&w.vh.server, 3000);
    assert_int_equal(calls, 4);
    assert_int_equal(told, 3 + 1 + 3 * 3);
    mini_delete(&w.vh.server, 1);
    mini_serve(&w.vh.server);
    assert_int_equal(calls, 5);
    check_marked(kin_store_get_key(w.store, "even/p2"));
    if (kind == CW_IN_ORDER) {
      w.vh.server.compacted = w.vh.server.version + 1;
      w.vh.server.version += 2;
      mini_break_watches(&w.vh.server);
      mini_pass(&w.vh.server, 60000);
      assert_int_equal(calls, 5);
    }
    assert_int_equal(kin_store_count(w.store), 2);
    cw_finish(&w);
  }
}

static void expect_versions(const cw_world *w, const char *version) {
  assert_string_equal(kin_controller_last_sync_version(w->controller), version);
  assert_true(
      kin__str_equal(kin_store_resource_version(w->store), kin__cstr(version)));
}

static void check_not_synced(change_log *log) {
  const cw_world *w = log->data;
  assert_false(kin_controller_has_synced(w->controller));
}

/* client-go TestStoreResourceVersion; TS-10, ST-04, ST-07, QF-08, PD-05: how
 * far the store has come, through lists, changes, deletions and bookmarks. Not
 * synced inside the last initial callback. */
static void test_controller_store_version(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_IN_ORDER, 0);
  w.log.during = check_not_synced;
  mini_put_first(&w.vh.server, 2);
  mini_delete(&w.vh.server, 1);
  assert_int_equal(cw_open(&w), 0);
  assert_int_equal(kin_store_resource_version(w.store).length, 0);
  mini_serve(&w.vh.server);
  w.log.during = NULL;
  expect_versions(&w, "103");
  mini_put(&w.vh.server, 0);
  mini_serve(&w.vh.server);
  expect_versions(&w, "104");
  mini_delete(&w.vh.server, 0);
  mini_serve(&w.vh.server);
  expect_versions(&w, "105");
  w.vh.server.version = 150; /* of something else, so it has seen all */
  script_expect(&w.vh.script, "watch")->position = 150;
  mini_bookmark(&w.vh.server);
  mini_serve(&w.vh.server);
  expect_versions(&w, "150");
  cw_finish(&w);
}

static bool every_other_time(kin_controller *controller, void *data) {
  cw_world *w = data;
  assert_ptr_equal(controller, w->controller);
  return ++w->act_at % 2 == 0;
}

/* CO-01, RF-11, PD-04: all objects are updated by themselves, as often as
 * should_resync says so. */
static void test_controller_resync(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.options.resync_ms = 1000;
    w.options.should_resync = every_other_time;
    w.log.during = NULL;
    mini_put_first(&w.vh.server, 2);
    assert_int_equal(cw_open(&w), 0);
    mini_pass(&w.vh.server, 6500);
    assert_int_equal(w.act_at, 6);
    assert_int_equal(w.log.updates, kind == CW_QUEUE_FIFO ? 0 : 3 * 2);
    w.act_at = 0;
    cw_assert_truth(&w);
    cw_finish(&w);
  }
}

static void take_long(change_log *log) {
  cw_world *w = log->data;
  w->vh.script.now_ns += 100000000;
}

/* A controller that is in sync and resyncs each second. */
static void open_resyncing(cw_world *w, cw_kind kind, int objects) {
  cw_init(w, kind, 0);
  w->options.resync_ms = 1000;
  w->log.is_terse = true;
  w->log.during = NULL;
  mini_put_first(&w->vh.server, objects);
  assert_int_equal(cw_open(w), 0);
  mini_serve(&w->vh.server);
}

/* Resyncs that handlers are too slow for do not pile up, nor does what comes
 * between them wait ever longer. */
static void test_controller_slow_resyncs(void **state) {
  (void)state;
  enum { OBJECTS = 20, TURNS = 2000 };
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    open_resyncing(&w, kind, OBJECTS);
    w.log.during = take_long;
    script_env *script = &w.vh.script;
    kin_queue *queue = kin_controller_queue(w.controller);
    for (unsigned i = 0; i < TURNS; i++) {
      kin__timers_run(&script->timers, script->now_ns / 1000000, 1000);
      kin__sched_run(&script->sched, 0); /* one step */
      if (i % 50 == 0) {
        kin_object *object =
            object_keyed(&w.vh.memory.allocator, "even/p0", 1000 + i);
        assert_int_equal(kin_queue_update(queue, object), 0);
        kin_object_unref(object);
      }
      assert_true(kin_queue_count(queue) <= OBJECTS);
    }
    assert_true(kind == CW_QUEUE_FIFO || w.log.updates > 100);
    w.log.during = NULL;
    cw_finish(&w);
  }
}

/* PD-04: a resync of everything takes longer than a period. A resync that falls
 * due meanwhile is left out: no second one follows the first at once. */
static void test_controller_resync_longer_than_a_period(void **state) {
  (void)state;
  enum { OBJECTS = 22, TURNS = 500 };
  cw_world w;
  open_resyncing(&w, CW_IN_ORDER, OBJECTS);
  script_env *script = &w.vh.script;
  script->now_ns += UINT64_C(1000000000);
  w.log.during = take_long; /* the resync takes 2.2 s */
  for (unsigned i = 0; i < TURNS; i++) {
    kin__timers_run(&script->timers, script->now_ns / 1000000, 1000);
    kin__sched_run(&script->sched, 0); /* one step */
  }
  assert_int_equal(w.log.updates, OBJECTS);
  w.log.during = NULL;
  mini_pass(&w.vh.server, 1000);
  assert_int_equal(w.log.updates, 2 * OBJECTS);
  cw_finish(&w);
}

/* OQ-08, TS-08: an index may be added when the store is full; a failing one has
 * no values, and keeps no object out. Another list rebuilds both. */
static int fail_for_p1(const kin_object *object, kin_index_values *values,
                       void *data) {
  (void)data;
  return cw_number(object) == 1 ? -1 : kin_index_emit(values, kin__cstr("all"));
}

static void test_controller_indices(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_IN_ORDER, 0);
  mini_put_first(&w.vh.server, 6);
  assert_int_equal(cw_open(&w), 0);
  assert_int_equal(add_pointer(w.store, "node", "/spec/nodeName"), 0);
  mini_serve(&w.vh.server);
  assert_names(w.store, "node", "n0", "p0 p4");
  assert_int_equal(add_callback(w.store, "late", fail_for_p1, NULL), 0);
  assert_false(kin_store_index_ready(w.store, "late"));
  script_run(&w.vh.script);
  assert_names(w.store, "late", "all", "p0 p2 p3 p4 p5");
  mini_put(&w.vh.server, 1);
  mini_put(&w.vh.server, 6);
  mini_compact(&w.vh.server);
  mini_break_watches(&w.vh.server);
  mini_pass(&w.vh.server, 60000);
  assert_names(w.store, "late", "all", "p0 p2 p3 p4 p5 p6");
  assert_names(w.store, "node", "n2", "p2 p6");
  cw_assert_truth(&w);
  cw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_controller_example),
      cmocka_unit_test(test_controller_example_new_informer),
      cmocka_unit_test(test_controller_update),
      cmocka_unit_test(test_controller_story),
      cmocka_unit_test(test_controller_hammer),
      cmocka_unit_test(test_controller_of_a_fifo),
      cmocka_unit_test(test_controller_batches),
      cmocka_unit_test(test_controller_handlers_queue),
      cmocka_unit_test(test_controller_closed_by_a_handler),
      cmocka_unit_test(test_controller_transform),
      cmocka_unit_test(test_controller_store_version),
      cmocka_unit_test(test_controller_resync),
      cmocka_unit_test(test_controller_slow_resyncs),
      cmocka_unit_test(test_controller_resync_longer_than_a_period),
      cmocka_unit_test(test_controller_indices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
