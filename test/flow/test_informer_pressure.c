/* SPDX-License-Identifier: MIT */

/* An informer under pressure: more events at once than the queue takes, memory
 * that is out when they are stored, indices added to a filled cache, and
 * relists for those who want to hear of everything. Proves QF-16, TS-07, PD-03
 * (better: nothing is lost), RW-14. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/handle_deltas.h"
#include "support/informer_world.h"
#include "support/objects.h"

#define FRAMES 2500

static void open_empty(iw_world *w) {
  iw_open_objects(w, 0);
  mini_serve(&w->server);
}

/* Gives a body to the open watch without running any task. */
static void feed(iw_world *w, const char *body) {
  script_request *request = script_expect(&w->script, "watch=true");
  request->callbacks->on_body(request->ctx, body, strlen(body));
}

static void count_add(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  *(int *)data += event->type == KIN_EVENT_ADD;
}

static void test_full_queue_pauses_reading(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  int adds = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = count_add;
  listener.data = &adds;
  assert_int_equal(kin_informer_listen(w.informer, &listener, NULL), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  script_request *request = script_expect(&w.script, "watch=true");
  char *frames = objects_added("even/p", FRAMES, 200);
  feed(&w, frames);
  assert_true(request->is_paused);
  assert_true(w.informer->fifo.depth >= KIN__QUEUE_HIGH);
  script_run(&w.script);
  assert_false(request->is_paused);
  assert_int_equal(adds, FRAMES);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), FRAMES);
  free(frames);
  iw_finish(&w);
}

/* `count` states of one object. The caller frees them. */
static char *states_of_one(int first_version, int count) {
  size_t size = (size_t)count * 160 + 1;
  char *frames = malloc(size);
  assert_non_null(frames);
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    used += (size_t)snprintf(
        frames + used, size - used,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"hot\","
        "\"namespace\":\"even\",\"uid\":\"u\",\"resourceVersion\":\"%d\"}}}\n",
        first_version + i);
  }
  return frames;
}

/* Changes count, not keys: one object that changes all the time fills the
 * queue. Its changes are applied in steps, too. Twice. */
static void test_one_object_fills_the_queue(void **state) {
  (void)state;
  iw_world w;
  open_empty(&w);
  script_request *request = script_expect(&w.script, "watch=true");
  for (int round = 0; round < 2; round++) {
    char *frames = states_of_one(1000 + round * FRAMES, FRAMES);
    feed(&w, frames);
    free(frames);
    assert_true(request->is_paused);
    assert_int_equal(w.informer->fifo.depth, 1);
    uint32_t pieces = w.script.sched.max_pieces;
    w.script.sched.max_pieces = 1;
    for (unsigned steps = 0; steps < 10; steps++) {
      unsigned before = w.informer->applied;
      assert_true(kin__handle_deltas_step(&w.informer->process_task));
      assert_true(w.informer->applied <= before + 1);
    }
    w.script.sched.max_pieces = pieces;
    script_run(&w.script);
    assert_false(request->is_paused);
    assert_int_equal(w.informer->fifo.deltas, 0);
    const kin_object *hot =
        kin_store_get_key(kin_informer_store(w.informer), "even/hot");
    assert_non_null(hot);
    char newest[16];
    snprintf(newest, sizeof newest, "%d", 999 + (round + 1) * FRAMES);
    assert_true(
        kin__str_equal(kin_object_resource_version(hot), kin__cstr(newest)));
  }
  iw_finish(&w);
}

/* A listener that is paused for long, and one whose queue is exact, stop
 * nothing: the connection is read, the other listener is told. */
static void test_paused_listeners_stop_nothing(void **state) {
  (void)state;
  iw_world w;
  open_empty(&w);
  int paused_adds = 0;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = count_add;
  options.data = &paused_adds;
  kin_listener *paused[2];
  for (int i = 0; i < 2; i++) {
    options.exact_limit = i == 0 ? 10 : KIN_NEVER;
    assert_int_equal(kin_informer_listen(w.informer, &options, &paused[i]), 0);
    kin_listener_pause(paused[i]);
  }
  int adds = 0;
  options.data = &adds;
  assert_int_equal(kin_informer_listen(w.informer, &options, NULL), 0);
  kin_listener_close(w.rec.listener); /* it knows fewer objects */
  for (int i = 0; i < 10; i++) {
    char *frames = objects_added("even/p", FRAMES / 10, 200 + i * FRAMES / 10);
    for (char *at = frames; (at = strstr(at, "\"name\":\"p")) != NULL; at++) {
      at[8] = (char)('a' + i);
    }
    feed(&w, frames);
    script_run(&w.script);
    assert_false(script_expect(&w.script, "watch=true")->is_paused);
    free(frames);
  }
  assert_int_equal(adds, FRAMES);
  assert_int_equal(paused_adds, 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(kin_listener_pending(paused[i]), FRAMES + 1); /* synced */
    kin_listener_resume(paused[i]);
  }
  script_run(&w.script);
  assert_int_equal(paused_adds, 2 * FRAMES);
  iw_finish(&w);
}

/* A first list takes the memory of what is stored then, and little besides. */
static void test_peak_of_a_first_list(void **state) {
  (void)state;
  static char item[2048];
  static const char begin[] =
      "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[";
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  assert_true(script_head(&w.script, "/pods?", 200));
  assert_true(script_body(&w.script, "/pods?", begin, sizeof begin - 1));
  for (int i = 0; i < FRAMES; i++) {
    int length = snprintf(item, sizeof item,
                          "%s{\"metadata\":{\"name\":\"p%d\",\"uid\":\"%d\","
                          "\"resourceVersion\":\"5\"},\"x\":\"%01500d\"}",
                          i == 0 ? "" : ",", i, i, 0);
    assert_true(script_body(&w.script, "/pods?", item, (size_t)length));
  }
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
  assert_true(script_body(&w.script, "/pods?", "]}", 2));
  assert_true(script_end(&w.script, "/pods?"));
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), FRAMES);
  size_t bytes = kin_store_bytes(kin_informer_store(w.informer));
  assert_true(bytes > (size_t)FRAMES * 1500);
  assert_true(atomic_load(&w.memory.peak_bytes) < bytes + bytes / 4);
  iw_finish(&w);
}

/* Memory is out when the queue is processed: one error, and everything is
 * stored when there is memory again. */
static void test_no_memory_to_store(void **state) {
  (void)state;
  iw_world w;
  open_empty(&w);
  char *frames = objects_added("even/p", 30, 200);
  feed(&w, frames);
  w.memory.fail_at = 1;
  atomic_store(&w.memory.calls, 0);
  w.memory.keeps_failing = true;
  script_run(&w.script);
  assert_int_equal(w.last_class, KIN_CLASS_MEMORY);
  assert_int_equal(w.rec.adds, 0);
  w.memory.fail_at = 0;
  w.memory.keeps_failing = false;
  script_advance(&w.script, 100);
  assert_int_equal(w.rec.adds, 30);
  recorder_assert_folds_to(&w.rec, kin_informer_store(w.informer));
  free(frames);
  iw_finish(&w);
}

static size_t count_app(iw_world *w, const char *app) {
  return kin_store_index_count(kin_informer_store(w->informer), "app",
                               kin__cstr(app));
}

static int index_app(kin_store *store) {
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "app";
  index.pointer = "/metadata/labels/app";
  return kin_store_add_index(store, &index);
}

/* Objects in the cache, of three apps in turn. */
static void open_filled(iw_world *w, int objects) {
  open_empty(w);
  char *frames = objects_added("even/p", objects, 200);
  feed(w, frames);
  free(frames);
  script_run(&w->script);
}

/* TS-07: an index on a filled cache is built in steps; changes meanwhile are in
 * it, on whichever side of the cursor they are. */
static void test_index_on_a_filled_cache(void **state) {
  (void)state;
  iw_world w;
  open_filled(&w, 60);
  kin_store *store = kin_informer_store(w.informer);
  assert_int_equal(index_app(store), 0);
  assert_int_equal(index_app(store), KIN_EEXIST);
  assert_false(kin_store_index_ready(store, "app"));
  script_run(&w.script);
  assert_true(kin_store_index_ready(store, "app"));
  assert_int_equal(
      count_app(&w, "a0") + count_app(&w, "a1") + count_app(&w, "a2"), 60);
  iw_finish(&w);
}

/* The same while memory is out: it goes on by itself. */
static void test_index_without_memory(void **state) {
  (void)state;
  iw_world w;
  open_filled(&w, 60);
  kin_store *store = kin_informer_store(w.informer);
  assert_int_equal(index_app(store), 0);
  atomic_store(&w.memory.calls, 0);
  w.memory.fail_at = 1;
  w.memory.keeps_failing = true;
  script_run(&w.script);
  assert_false(kin_store_index_ready(store, "app"));
  w.memory.fail_at = 0;
  w.memory.keeps_failing = false;
  script_advance(&w.script, 100);
  assert_true(kin_store_index_ready(store, "app"));
  assert_int_equal(count_app(&w, "a1"), 20);
  iw_finish(&w);
}

/* Refuses everything whose version is even, after a value was emitted. */
static int picky_index(const kin_object *object, kin_index_values *values,
                       void *data) {
  (void)data;
  kin_str version = kin_object_resource_version(object);
  bool is_even = (version.data[version.length - 1] - '0') % 2 == 0;
  int err = kin_index_emit(values, KIN__LIT("good"));
  return err != 0 ? err : is_even ? -1 : 0;
}

/* TS-05, better: an index function that fails does not stop the cache. Its
 * object has no values, not half of them, before and after the change. */
static void test_failing_index_function(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  kin_store *store = kin_informer_store(w.informer);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "picky";
  index.cb = picky_index;
  assert_int_equal(kin_store_add_index(store, &index), 0);
  for (int i = 0; i < 4; i++) {
    mini_put(&w.server, i); /* 101 to 104 */
  }
  mini_serve(&w.server);
  iw_assert_truth(&w);
  assert_int_equal(kin_store_index_count(store, "picky", KIN__LIT("good")), 2);
  mini_put(&w.server, 0); /* 105: stays */
  mini_put(&w.server, 2); /* 106: goes */
  mini_put(&w.server, 1); /* 107: comes */
  mini_serve(&w.server);
  iw_assert_truth(&w);
  assert_int_equal(kin_store_index_count(store, "picky", KIN__LIT("good")), 2);
  assert_int_equal(w.errors, 0);
  index.name = "late";
  assert_int_equal(kin_store_add_index(store, &index), 0);
  script_run(&w.script);
  assert_true(kin_store_index_ready(store, "late"));
  assert_int_equal(kin_store_index_count(store, "late", KIN__LIT("good")), 2);
  iw_finish(&w);
}

static void count_update(kin_informer *informer, const kin_event *event,
                         void *data) {
  (void)informer;
  assert_ptr_equal(event->object, event->old_object);
  ++*(int *)data;
}

/* relist_updates: unchanged objects of a relist, for those who ask. */
static void test_relist_updates(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 5);
  int updates = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_update = count_update;
  listener.relist_updates = true;
  listener.data = &updates;
  assert_int_equal(kin_informer_listen(w.informer, &listener, NULL), 0);
  mini_serve(&w.server);
  mini_break_watches(&w.server);
  mini_delete(&w.server, 0);
  mini_compact(&w.server);
  mini_pass(&w.server, 10000);
  assert_int_equal(w.rec.relisted, 1);
  assert_int_equal(w.rec.updates, 0);
  assert_int_equal(updates, 4);
  iw_finish(&w);
}

/* A relist of more objects than the queue takes at once, and a sweep of as
 * many: bounded, and complete. */
static void test_long_relist(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  char *frames = objects_added("even/p", FRAMES, 200);
  feed(&w, frames);
  script_run(&w.script);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), FRAMES);
  /* The server has none of them, and says that the position is gone. */
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  w.server.version = 5000;
  w.server.compacted = 5000;
  mini_put(&w.server, 1);
  mini_pass(&w.server, 20000);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
  free(frames);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_full_queue_pauses_reading),
      cmocka_unit_test(test_one_object_fills_the_queue),
      cmocka_unit_test(test_paused_listeners_stop_nothing),
      cmocka_unit_test(test_peak_of_a_first_list),
      cmocka_unit_test(test_no_memory_to_store),
      cmocka_unit_test(test_index_on_a_filled_cache),
      cmocka_unit_test(test_index_without_memory),
      cmocka_unit_test(test_failing_index_function),
      cmocka_unit_test(test_relist_updates),
      cmocka_unit_test(test_long_relist),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
