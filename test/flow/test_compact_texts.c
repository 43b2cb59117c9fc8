/* SPDX-License-Identifier: MIT */

/* The texts of packed objects, inflated in place when a value is read: who keeps
 * them, and when they go. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kin/delta.h>
#include <kin/error.h>
#include <kin/value.h>

#include "base/str.h"
#include "object/packed.h"
#include "support/informer_world.h"

#define OBJECTS 20
#define MINUTE_MS 60000u

static void put_all(iw_world *w) {
  mini_put_first(&w->server, OBJECTS);
  mini_pass(&w->server, 1000);
}

/* In sync, with a dictionary, and all objects packed. */
static void open_packed(iw_world *w) {
  iw_init(w, 0);
  mini_put_first(&w->server, OBJECTS);
  kin_informer_options options = iw_options(w);
  options.compact = KIN_COMPACT_FAST;
  w->script.env.compact_samples = 4;
  assert_int_equal(iw_open(w, &options), 0);
  mini_pass(&w->server, 1000);
  put_all(w);
}

static void ignore_update(kin_informer *informer, const kin_event *event,
                          void *data) {
  (void)informer;
  (void)event;
  (void)data;
}

/* Values are read in place, and the texts go when nobody can read them. A
 * program that holds an object keeps its text. */
static void test_texts_go(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  /* The first reading makes what inflates. */
  assert_int_equal(kin_object_at(kin_store_get_key(store, "even/p0"), "").error,
                   0);
  script_run(&w.script);
  size_t before = atomic_load(&w.memory.live_bytes);
  kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p2"));
  kin_str node;
  assert_int_equal(
      kin_value_string(kin_object_at(held, "/spec/nodeName"), NULL, 0, &node),
      0);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
  }
  assert_true(atomic_load(&w.memory.live_bytes) > before + 19 * 150);
  script_run(&w.script);
  size_t with_held = atomic_load(&w.memory.live_bytes);
  assert_true(with_held > before && with_held < before + 4096);
  mini_delete(&w.server, 2);
  mini_pass(&w.server, 5000);
  assert_true(kin__str_equal(node, KIN__LIT("n2")));
  kin_object_unref(held);
  mini_pass(&w.server, 5000);
  assert_int_equal(kin_store_count(store), OBJECTS - 1);
  iw_finish(&w);
}

/* References of the library keep no text in its place: a listener that is
 * paused, a store of the program's that has read a value for its index. Nor do
 * references and views that the program has given back. */
static void test_texts_of_library_references_go(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_update = ignore_update;
  kin_listener *listener;
  assert_int_equal(kin_informer_listen(w.informer, &options, &listener), 0);
  script_run(&w.script);
  kin_listener_pause(listener);
  put_all(&w); /* the listener's queue has both states of all */
  kin_store_options so = KIN_STORE_OPTIONS_INIT;
  so.allocator = &w.memory.allocator;
  kin_store *own;
  assert_int_equal(kin_store_new(&own, &so), 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "node";
  index.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(own, &index), 0);
  const kin_store *store = kin_informer_store(w.informer);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    assert_int_equal(kin_store_put(own, object), 0);
    kin_object_unref(kin_object_ref(object));
    kin_object_view *view;
    assert_int_equal(kin_object_view_open(&view, object), 0);
    assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
    kin_object_view_close(view);
  }
  size_t with_texts = atomic_load(&w.memory.live_bytes);
  script_run(&w.script);
  size_t without = atomic_load(&w.memory.live_bytes);
  assert_true(without + (size_t)OBJECTS * 150 < with_texts);
  kin_index_cursor found;
  assert_int_equal(kin_store_by_index(own, "node", KIN_STR("n2"), &found), 0);
  assert_non_null(kin_store_by_index_next(own, &found));
  kin_store_free(own);
  kin_listener_resume(listener);
  script_run(&w.script);
  iw_finish(&w);
}

/* A copy of deltas is the program's, and so are its references. */
static void test_texts_of_copied_deltas_stay(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  const kin_object *listed = kin_store_get_key(store, "even/p2");
  const kin_delta items[] = {{.object = kin_store_get_key(store, "even/p0")},
                             {.objects = &listed, .object_count = 1}};
  kin_deltas *copy;
  assert_int_equal(kin_deltas_copy(&copy, &(kin_deltas){items, 2}, NULL), 0);
  kin_value added = kin_object_at(copy->items[0].object, "/spec/nodeName");
  kin_value all = kin_object_at(copy->items[1].objects[0], "/spec/nodeName");
  put_all(&w); /* back in the loop */
  kin_str node;
  assert_int_equal(kin_value_string(added, NULL, 0, &node), 0);
  assert_true(kin__str_equal(node, KIN__LIT("n0")));
  assert_int_equal(kin_value_string(all, NULL, 0, &node), 0);
  assert_true(kin__str_equal(node, KIN__LIT("n2")));
  kin_deltas_free(copy);
  iw_finish(&w);
}

/* After the informer's close the texts of a store of the program's are few, and
 * those that were read before are gone. */
static void test_texts_after_the_close_are_few(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &w.memory.allocator;
  kin_store *own;
  assert_int_equal(kin_store_new(&own, &options), 0);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w.informer), &cursor)) !=
         NULL) {
    assert_int_equal(kin_store_put(own, object), 0);
    assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
  }
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  size_t most = 0;
  for (int round = 0; round < 10; round++) {
    cursor = (kin_cursor){0};
    while ((object = kin_store_next(own, &cursor)) != NULL) {
      assert_int_equal(kin__object_holders(object), 1);
      assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
    }
    size_t live = atomic_load(&w.memory.live_bytes);
    assert_true(round == 0 || live <= most + 64);
    most = live > most ? live : most;
  }
  kin_store_free(own);
  iw_finish(&w);
}

typedef struct holder {
  kin_object *objects[OBJECTS];
  size_t count;
  size_t alone; /* objects that only the program holds */
  size_t most;  /* of these in one step */
} holder;

static void count_alone(void *ctx, bool is_before) {
  holder *h = ctx;
  size_t alone = 0;
  (void)is_before;
  for (size_t i = 0; i < h->count; i++) {
    alone += kin__object_holders(h->objects[i]) == 1;
  }
  h->most = alone - h->alone > h->most ? alone - h->alone : h->most;
  h->alone = alone;
}

/* However many texts the program holds, a step of the close gives up few. */
static void test_held_texts_are_given_up_in_steps(void **state) {
  (void)state;
  iw_world w;
  holder h = {.count = 0};
  open_packed(&w);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w.informer), &cursor)) !=
         NULL) {
    h.objects[h.count++] = kin_object_ref(object);
    assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
  }
  w.script.on_step = count_alone;
  w.script.on_step_ctx = &h;
  w.script.sched.max_pieces = 1;
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  script_run(&w.script);
  w.script.on_step = NULL;
  assert_int_equal(w.closed, 1);
  assert_int_equal(h.alone, OBJECTS);
  assert_int_equal(h.most, 1);
  size_t before = atomic_load(&w.memory.live_bytes);
  while (h.count > 0) {
    kin_object_unref(h.objects[--h.count]);
  }
  assert_true(atomic_load(&w.memory.live_bytes) < before);
  iw_finish(&w);
}

typedef struct reader {
  kin_object *objects[OBJECTS];
  size_t count;
} reader;

static void *read_all(void *ctx) {
  const reader *r = ctx;
  for (size_t i = 0; i < r->count; i++) {
    if (kin_object_at(r->objects[i], "/spec/nodeName").error != 0) {
      return ctx;
    }
  }
  return NULL;
}

/* Another thread reads all objects of the store; none is held afterwards. */
static void read_on_a_thread(const kin_store *store) {
  reader r = {.count = 0};
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    r.objects[r.count++] = kin_object_ref(object);
  }
  pthread_t thread;
  void *failed;
  assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  while (r.count > 0) {
    kin_object_unref(r.objects[--r.count]);
  }
}

/* Texts that another thread asked for go, although the program holds one. */
static void test_texts_of_a_thread_go(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  const kin_store *store = kin_informer_store(w.informer);
  kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p2"));
  assert_int_equal(kin_object_at(held, "/spec/nodeName").error, 0);
  mini_pass(&w.server, 5000);
  size_t before = atomic_load(&w.memory.live_bytes);
  for (int round = 0; round < 2; round++) {
    read_on_a_thread(store);
    assert_true(atomic_load(&w.memory.live_bytes) > before + 19 * 150);
    mini_pass(&w.server, 5000);
    assert_true(atomic_load(&w.memory.live_bytes) < before + 1024);
  }
  kin_object_unref(held);
  iw_finish(&w);
}

/* The time between two looks at a text that the program keeps grows. Another
 * text brings the next look within a second, whichever thread asks for it. */
static void test_looks_become_rare(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  const kin_store *store = kin_informer_store(w.informer);
  unsigned idle = script_wakes(&w.script, MINUTE_MS);
  kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p2"));
  const kin_object *other = kin_store_get_key(store, "odd/p3");
  assert_int_equal(kin_object_at(held, "/spec/nodeName").error, 0);
  for (int is_thread = 0; is_thread < 2; is_thread++) {
    assert_true(script_wakes(&w.script, MINUTE_MS) > idle);
    assert_in_range(script_wakes(&w.script, MINUTE_MS), idle + 1, idle + 4);
    if (is_thread) {
      read_on_a_thread(store);
    } else {
      kin_object *kept = kin_object_ref(other);
      assert_int_equal(kin_object_at(kept, "/spec/nodeName").error, 0);
      script_run(&w.script);
      kin_object_unref(kept);
    }
    assert_int_equal(kin__object_holders(other), 2); /* the store, the text */
    mini_pass(&w.server, 1000);
    assert_int_equal(kin__object_holders(other), 1);
  }
  kin_object_unref(held);
  mini_pass(&w.server, 16000);
  assert_int_equal(kin__object_holders(kin_store_get_key(store, "even/p2")), 1);
  mini_pass(&w.server, 600000); /* a new watch */
  assert_int_equal(script_wakes(&w.script, MINUTE_MS), idle);
  iw_finish(&w);
}

/* A thread that opens the informer and leaves it to the test's thread. Later it
 * reads an object. */
typedef struct opener {
  iw_world w;
  sem_t is_open;
  sem_t may_read;
  const kin_object *object;
  int error;
} opener;

static void *open_and_read(void *ctx) {
  opener *o = ctx;
  open_packed(&o->w);
  sem_post(&o->is_open);
  sem_wait(&o->may_read);
  o->error = kin_object_at(o->object, "/spec/nodeName").error;
  return NULL;
}

/* The loop may move to another thread. Who reads an object touches no task, on
 * no thread. A text that the loop's thread has asked for goes with the next
 * turn. */
static void test_loop_of_another_thread(void **state) {
  (void)state;
  static opener o;
  pthread_t thread;
  assert_int_equal(sem_init(&o.is_open, 0, 0), 0);
  assert_int_equal(sem_init(&o.may_read, 0, 0), 0);
  assert_int_equal(pthread_create(&thread, NULL, open_and_read, &o), 0);
  sem_wait(&o.is_open);
  script_run(&o.w.script);
  const kin_store *store = kin_informer_store(o.w.informer);
  o.object = kin_object_ref(kin_store_get(store, KIN_STR("odd/p1")));
  assert_true(kin__object_is_packed(o.object));
  assert_false(kin__sched_has_work(&o.w.script.sched));
  sem_post(&o.may_read);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(o.error, 0);
  assert_false(kin__sched_has_work(&o.w.script.sched));
  kin_object_unref(o.object);
  const kin_object *other = kin_store_get(store, KIN_STR("odd/p3"));
  assert_int_equal(kin_object_at(other, "/spec/nodeName").error, 0);
  assert_false(kin__sched_has_work(&o.w.script.sched));
  script_run(&o.w.script);
  assert_int_equal(kin__object_holders(other), 1);
  iw_finish(&o.w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts_go),
      cmocka_unit_test(test_texts_of_library_references_go),
      cmocka_unit_test(test_texts_of_copied_deltas_stay),
      cmocka_unit_test(test_texts_after_the_close_are_few),
      cmocka_unit_test(test_held_texts_are_given_up_in_steps),
      cmocka_unit_test(test_texts_of_a_thread_go),
      cmocka_unit_test(test_looks_become_rare),
      cmocka_unit_test(test_loop_of_another_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
