/* SPDX-License-Identifier: MIT */

/* A namespace is removed in situations that test_scopes_sweeps.c does not meet:
 * with many objects, a full queue, no memory, refused objects, those of the
 * program, waits; and what is told to listeners of every kind. SI-11, SI-16,
 * EH-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/handle_deltas.h"
#include "informer/scope.h"
#include "support/informer_world.h"
#include "support/objects.h"

/* Gives ADDED events for odd/q0, odd/q1, ... to its watch without running any
 * task. */
static void feed_objects(iw_world *w, int count) {
  char *frames = objects_added("odd/q", count, 200);
  script_request *watch = script_expect(&w->script, "/odd/");
  watch->callbacks->on_body(watch->ctx, frames, strlen(frames));
  free(frames);
}

static size_t cached(const iw_world *w) {
  return kin_store_count(kin_informer_store(w->informer));
}

/* --- Listeners ------------------------------------------------------------ */

#define MANY 3000

/* Counts what one listener has been told of objects in "odd". */
typedef struct counts {
  uint8_t known[MANY];
  int adds;
  int deletes;
  int by_reason[KIN_DELETE_CLEARED + 1];
  int synced;
} counts;

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  counts *c = data;
  (void)informer;
  if (event->object == NULL) {
    c->synced += event->type == KIN_EVENT_SYNCED;
    return;
  }
  kin_str name = kin_object_name(event->object);
  if (name.data[0] != 'q') {
    return;
  }
  int i = atoi(name.data + 1);
  switch (event->type) {
  case KIN_EVENT_ADD:
    assert_int_equal(c->known[i]++, 0);
    c->adds++;
    break;
  case KIN_EVENT_DELETE:
    assert_int_equal(c->known[i]--, 1);
    c->deletes++;
    c->by_reason[event->reason]++;
    break;
  default:
    assert_int_equal(c->known[i], 1);
    break;
  }
}

static bool is_app_1(const kin_object *object, void *data) {
  kin_str app;
  (void)data;
  return kin_object_label(object, "app", &app) &&
         kin__str_equal(app, KIN__LIT("a1"));
}

static kin_listener *join(iw_world *w, counts *c, uint32_t exact_limit,
                          kin_filter_cb filter) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  memset(c, 0, sizeof *c);
  options.on_add = options.on_update = options.on_delete = on_event;
  options.on_synced = on_event;
  options.data = c;
  options.filter = filter;
  options.exact_limit = exact_limit;
  kin_listener *listener;
  assert_int_equal(kin_informer_listen(w->informer, &options, &listener), 0);
  return listener;
}

/* Each gets a delete for each object that it knows, for this reason, once: also
 * one that merges, one that is paused, one that came when the removal had
 * begun, and one that sees a third. Nothing is done in one step. */
static void test_all_listeners(void **state) {
  (void)state;
  static counts exact, merging, paused, knowing, filtering, late;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_even_and_odd(&w);
  iw_open_only(&w, &options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  (void)join(&w, &exact, KIN_NEVER, NULL);
  (void)join(&w, &merging, 1, NULL);
  (void)join(&w, &filtering, 0, is_app_1);
  kin_listener *blind = join(&w, &paused, 0, NULL);
  kin_listener *stopped = join(&w, &knowing, 0, NULL);
  script_run(&w.script);
  kin_listener_pause(blind);
  feed_objects(&w, MANY);
  script_run(&w.script);
  kin_listener_pause(stopped);
  assert_int_equal(cached(&w), MANY);
  iw_drop_odd(&w);
  unsigned steps = 0;
  for (; kin__sched_has_work(&w.script.sched); steps++) {
    if (steps == 20) {
      (void)join(&w, &late, 0, NULL);
      assert_true(cached(&w) > 1000);
    }
    (void)kin__sched_run(&w.script.sched, 0);
  }
  assert_true(steps > MANY / 64);
  script_run(&w.script);
  assert_int_equal(cached(&w), 0);
  assert_int_equal(exact.by_reason[KIN_DELETE_SCOPE_REMOVED], MANY);
  assert_int_equal(merging.deletes, merging.adds);
  assert_int_equal(merging.by_reason[KIN_DELETE_SCOPE_REMOVED],
                   merging.deletes);
  assert_int_equal(filtering.by_reason[KIN_DELETE_SCOPE_REMOVED], MANY / 3);
  assert_int_equal(filtering.adds, MANY / 3);
  assert_int_equal(late.synced, 1);
  assert_true(late.adds > 0);
  assert_int_equal(late.by_reason[KIN_DELETE_SCOPE_REMOVED], late.adds);
  assert_int_equal(knowing.adds, MANY);
  assert_int_equal(knowing.deletes, 0);
  kin_listener_resume(stopped);
  kin_listener_resume(blind);
  script_run(&w.script);
  assert_int_equal(knowing.by_reason[KIN_DELETE_SCOPE_REMOVED], MANY);
  assert_int_equal(paused.adds, 0); /* came and went */
  assert_int_equal(paused.deletes, 0);
  iw_finish(&w);
}

/* --- Pressure ------------------------------------------------------------- */

/* More than the queue takes: reading has stopped. Nobody ever hears of it. */
static void test_full_queue(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 4);
  mini_serve(&w.server);
  int calls = w.rec.calls;
  feed_objects(&w, 2500);
  assert_true(script_expect(&w.script, "/odd/")->is_paused);
  assert_true(w.informer->fifo.depth >= KIN__QUEUE_HIGH);
  iw_drop_odd(&w);
  assert_true(kin__link_is_empty(&w.informer->paused));
  script_run(&w.script);
  assert_int_equal(w.rec.calls, calls + 2);
  assert_int_equal(cached(&w), 2);
  iw_add_odd(&w);
  mini_serve(&w.server);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void lose_memory(iw_world *w, size_t n) {
  atomic_store(&w->memory.calls, 0);
  w->memory.fail_at = n;
  w->memory.keeps_failing = true;
}

static void find_memory(iw_world *w) {
  w->memory.fail_at = 0;
  w->memory.keeps_failing = false;
}

/* Memory stays out while objects are to be deleted: they go when it is back.
 * Removing needs none, and what fails later is not told, for nothing of a
 * removed namespace is. */
static void test_no_memory(void **state) {
  (void)state;
  static counts c;
  for (size_t n = 1; n < 40; n += 3) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_even_and_odd(&w);
    iw_open_only(&w, &options);
    (void)join(&w, &c, KIN_NEVER, NULL);
    assert_int_equal(kin_informer_start(w.informer), 0);
    mini_serve(&w.server);
    feed_objects(&w, MANY);
    script_run(&w.script);
    int errors = w.errors;
    lose_memory(&w, n);
    iw_drop_odd(&w);
    script_advance(&w.script, 950);
    if (n == 1) {
      assert_int_equal(kin_informer_add_namespace(w.informer, "odd"),
                       KIN_ENOMEM);
      assert_true(cached(&w) > 0);
    }
    assert_int_equal(w.errors, errors);
    find_memory(&w);
    iw_add_odd(&w);
    kin_status status = iw_status(&w, "odd");
    mini_pass(&w.server, 500);
    assert_int_equal(cached(&w), 0);
    assert_int_equal(c.by_reason[KIN_DELETE_SCOPE_REMOVED], MANY);
    status = iw_status(&w, "odd");
    assert_true(status.has_synced);
    iw_finish(&w);
  }
}

/* --- Others --------------------------------------------------------------- */

/* Closing in the middle of a removal, and of one with another that waits. */
static void test_closed_meanwhile(void **state) {
  (void)state;
  bool has_more = true;
  for (unsigned k = 0; has_more; k++) {
    iw_world w;
    iw_open_even_and_odd(&w, 1);
    mini_serve(&w.server);
    feed_objects(&w, 60);
    script_run(&w.script);
    iw_drop_odd(&w);
    if (k % 2 == 1) {
      iw_add_odd(&w);
    }
    for (unsigned i = 0; i < k / 2; i++) {
      (void)kin__sched_run(&w.script.sched, 0);
    }
    has_more = kin__sched_has_work(&w.script.sched);
    iw_finish(&w);
    assert_true(k > 8 || has_more);
  }
}

static int refuse(const kin_object *in, kin_object_builder *out, void *data) {
  (void)out;
  (void)data;
  return kin__str_equal(kin_object_namespace(in), KIN__LIT("odd")) ? KIN_EINDEX
                                                                   : 0;
}

/* What the transform failed on, and nobody has been told of yet. */
static void test_refused_objects(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_even_and_odd(&w);
  options.transform = refuse;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  feed_objects(&w, 3);
  iw_drop_odd(&w);
  script_run(&w.script);
  assert_int_equal(w.errors, 0);
  iw_add_odd(&w);
  mini_serve(&w.server);
  feed_objects(&w, 3);
  script_run(&w.script);
  assert_int_equal(w.errors, 1);
  assert_int_equal(cached(&w), 1);
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_true(metrics.transform_failures >= 3);
  iw_finish(&w);
}

/* Objects that the program has put into the store itself belong to the scope of
 * their namespace; they do no harm. */
static void test_objects_of_the_program(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 4);
  mini_serve(&w.server);
  kin_store *store = kin_informer_store(w.informer);
  const kin_object *p1 = kin_store_get_key(store, "odd/p1");
  assert_int_equal(kin_store_put(store, p1), 0);
  kin_object *object = kin_object_ref(kin_store_get_key(store, "odd/p3"));
  assert_int_equal(kin_store_delete(store, KIN__LIT("odd/p3")), 0);
  iw_drop_odd(&w);
  (void)kin__sched_run(&w.script.sched, 0);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_object_unref(object);
  script_run(&w.script);
  assert_null(kin_store_get_key(store, "odd/p1"));
  iw_add_odd(&w);
  mini_pass(&w.server, 100);
  assert_int_equal(cached(&w), 4);
  iw_finish(&w);
}

/* An object that is put anew after its delete was queued goes with the namespace,
 * too. */
static void test_put_after_the_sweep(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 4);
  mini_serve(&w.server);
  kin_store *store = kin_informer_store(w.informer);
  kin_str key = KIN__LIT("odd/p1");
  kin_object *object = kin_object_ref(kin_store_get(store, key));
  iw_drop_odd(&w);
  while (!kin__delta_fifo_has(&w.informer->fifo, key)) {
    assert_true(kin__sched_has_work(&w.script.sched));
    (void)kin__sched_run(&w.script.sched, 0);
  }
  assert_int_equal(kin_store_delete(store, key), 0);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_object_unref(object);
  script_run(&w.script);
  assert_int_equal(cached(&w), 2);
  assert_null(kin_store_get(store, key));
  iw_finish(&w);
}

static int waits_ended;

static void on_waited(kin_informer *informer, int code, const char *version,
                      void *data) {
  (void)informer;
  (void)version;
  (void)data;
  assert_int_equal(code, KIN_ECLOSED);
  waits_ended++;
}

/* Who waits for a version of it is told. */
static void test_waits_end(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 2);
  mini_serve(&w.server);
  waits_ended = 0;
  assert_int_equal(
      kin_informer_wait_version(w.informer, "odd", "900", 0, on_waited, NULL),
      0);
  script_run(&w.script);
  iw_drop_odd(&w);
  assert_int_equal(waits_ended, 0);
  script_run(&w.script);
  assert_int_equal(waits_ended, 1);
  assert_int_equal(
      kin_informer_wait_version(w.informer, "odd", "900", 0, on_waited, NULL),
      KIN_ENOENT);
  iw_finish(&w);
}

/* A first list has nothing to sweep, so a namespace more does not cost a walk
 * over all that the others have; a later list does. */
static void test_first_list_sweeps_nothing(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 6);
  mini_serve(&w.server);
  iw_drop_odd(&w);
  script_run(&w.script);
  iw_add_odd(&w);
  mini_pass(&w.server, 100);
  const kin__scope *odd = kin__scopes_find(&w.informer->scopes, "odd");
  assert_true(odd->feed.has_synced);
  assert_int_equal(odd->apply.cursor, 0);
  mini_put(&w.server, 1);
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  mini_pass(&w.server, 60000);
  assert_true(odd->feed.counters.relists > 0);
  assert_true(odd->apply.cursor >= 6);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* A deletion that was put off for want of memory goes on with the queue: nothing
 * of the removed scope is left when the time of the put-off comes. */
static void test_removal_goes_on_with_the_queue(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, MINI_OBJECTS);
  mini_serve(&w.server);
  iw_drop_odd(&w);
  kin__informer_try_later(w.informer);
  mini_pass(&w.server, 2000);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)),
                   mini_count(&w.server, "even"));
  iw_finish(&w);
}

/* DF-04: a server may bring one object in two namespaces. The sweep of the first one
 * meets a deletion that the second one has queued, and then the second one is
 * removed, too, which voids its deletion. The object is deleted all the
 * same. */
static void test_both_have_it(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 2);
  mini_serve(&w.server);
  feed_objects(&w, 1);
  script_run(&w.script);
  assert_non_null(kin_store_get_key(kin_informer_store(w.informer), "odd/q0"));
  iw_drop_odd(&w);
  const kin__scope *odd = w.informer->scopes.places[1];
  while (odd->apply.phase != KIN__APPLY_SWEEPING) {
    (void)kin__sched_run(&w.script.sched, 0);
  }
  const char frame[] =
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"namespace\":\"odd\","
      "\"name\":\"q0\",\"uid\":\"u\",\"resourceVersion\":\"900\"}}}";
  script_request *watch = script_expect(&w.script, "/even/");
  watch->callbacks->on_body(watch->ctx, frame, sizeof frame - 1);
  while (odd->apply.phase == KIN__APPLY_SWEEPING) {
    (void)kin__sched_run(&w.script.sched, 0);
  }
  assert_int_equal(w.informer->fifo.depth, 2); /* and the server's object */
  assert_int_equal(kin_informer_remove_namespace(w.informer, "even"), 0);
  script_run(&w.script);
  assert_int_equal(cached(&w), 0);
  iw_finish(&w);
}

/* The store lives until the informer's close callback. */
static void test_list_of_a_closing_store(void **state) {
  (void)state;
  iw_world w;
  iw_open_even_and_odd(&w, 4);
  mini_serve(&w.server);
  kin_store *store = kin_informer_store(w.informer);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  int lists = 0;
  while (w.closed == 0 && kin__sched_has_work(&w.script.sched)) {
    (void)kin__sched_run(&w.script.sched, 0);
    if (w.closed == 0) {
      kin_object_list *list;
      assert_int_equal(kin_store_list(store, &list), 0);
      kin_object_list_free(list);
      lists++;
    }
  }
  assert_true(lists > 0);
  script_run(&w.script);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_listeners),
      cmocka_unit_test(test_full_queue),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_closed_meanwhile),
      cmocka_unit_test(test_refused_objects),
      cmocka_unit_test(test_objects_of_the_program),
      cmocka_unit_test(test_put_after_the_sweep),
      cmocka_unit_test(test_first_list_sweeps_nothing),
      cmocka_unit_test(test_waits_end),
      cmocka_unit_test(test_removal_goes_on_with_the_queue),
      cmocka_unit_test(test_both_have_it),
      cmocka_unit_test(test_list_of_a_closing_store),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
