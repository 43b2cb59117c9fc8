/* SPDX-License-Identifier: MIT */

/* Packed objects that several threads read at the same time: texts are inflated
 * in place by whoever comes first, noted, and freed with the objects. For
 * ThreadSanitizer (`./dev test --threads`). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <kin/value.h>

#include "base/alloc.h"
#include "base/str.h"
#include "support/like_pods.h"

#define THREADS 3
#define OBJECTS 64
#define ROUNDS 20
#define READS 200000
#define FEW 2 /* objects, so that threads meet */

typedef struct shared {
  kin_object *objects[OBJECTS];
  atomic_int bad;
  atomic_int ended; /* threads */
} shared;

static bool reads_well(const kin_object *object, int i) {
  char node[16];
  int length = snprintf(node, sizeof node, "node-%d", i % 7);
  kin_object_view *view;
  kin_str label;
  if (kin_object_view_open(&view, object) != 0) {
    return false;
  }
  kin_str seen;
  bool is_right =
      kin_object_view_string(view, "/spec/nodeName", &seen) == 0 &&
      kin__str_equal(seen, kin__str(node, (size_t)length)) &&
      kin_value_string_is(kin_object_at(object, "/spec/nodeName"), seen) &&
      kin_object_label(object, "app", &label);
  kin_object_view_close(view);
  return is_right;
}

static void *read_all(void *data) {
  shared *s = data;
  for (int i = 0; i < OBJECTS; i++) {
    if (!reads_well(s->objects[i], i)) {
      atomic_fetch_add(&s->bad, 1);
    }
    kin_object_unref(s->objects[i]); /* the thread's */
  }
  return NULL;
}

/* A pod with a status, the only thing that depends on `state`. */
static kin_object *make_packed(like_pods *l, int i, int state,
                               const kin_object *before) {
  char text[LIKE_PODS_SIZE];
  size_t length = like_pods_text(text, i, 600) - 1;
  length += (size_t)snprintf(text + length, sizeof text - length,
                             ",\"status\":{\"n\":%d}}", state);
  kin_object *object;
  assert_int_equal(like_pods_make(&object, l->memory, text, length), 0);
  assert_true(kin__object_pack(&object, before, l->memory, l->packer));
  return object;
}

/* The owner packs later states meanwhile, with another dictionary from time to
 * time, and lets the earlier ones go. */
static void work_on(like_pods *l, shared *s, int round) {
  for (int i = 0; i < OBJECTS; i++) {
    kin_object *before = s->objects[i];
    kin_object *object = make_packed(l, i, round + 1, before);
    kin_object_unref(before);
    assert_true(reads_well(object, i));
    kin_object_unref(object);
  }
  if (round % 8 == 7) {
    assert_int_equal(like_pods_renew(l, round * 50, 64, false), 0);
  }
}

static void drop_notes(kin__inflated *next) {
  while (next != NULL) {
    kin_object *object = next->object;
    next = next->next;
    kin__object_unref(object); /* may free what was the note */
  }
}

static void run_round(like_pods *l, int round) {
  shared s = {0};
  pthread_t threads[THREADS];
  for (int i = 0; i < OBJECTS; i++) {
    s.objects[i] = make_packed(l, i, round, NULL);
    for (int t = 0; t < THREADS; t++) {
      kin_object_ref(s.objects[i]);
    }
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_create(&threads[t], NULL, read_all, &s), 0);
  }
  work_on(l, &s, round);
  drop_notes(kin__inflated_take(l->packing));
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_join(threads[t], NULL), 0);
  }
  drop_notes(kin__inflated_take(l->packing));
  assert_int_equal(atomic_load(&s.bad), 0);
}

static void test_packed_objects_on_threads(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, 64), 0);
  for (int round = 0; round < ROUNDS; round++) {
    run_round(&l, round);
  }
  like_pods_finish(&l);
}

/* While threads read, the owner stops taking notes; from then on nobody calls
 * it. Texts without a note go with their objects. */
static void test_notes_are_closed(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    like_pods l;
    shared s = {0};
    pthread_t threads[THREADS];
    assert_int_equal(like_pods_init(&l, 0, 0, 64), 0);
    for (int i = 0; i < OBJECTS; i++) {
      s.objects[i] = make_packed(&l, i, round, NULL);
      for (int t = 0; t < THREADS; t++) {
        kin_object_ref(s.objects[i]);
      }
      kin__object_unref(s.objects[i]); /* the library's */
    }
    for (int t = 0; t < THREADS; t++) {
      assert_int_equal(pthread_create(&threads[t], NULL, read_all, &s), 0);
    }
    for (int looks = 0; looks < round; looks++) {
      drop_notes(kin__inflated_take(l.packing));
    }
    like_pods_close(&l);
    int calls = atomic_load(&l.calls);
    for (int t = 0; t < THREADS; t++) {
      assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    assert_int_equal(atomic_load(&l.calls), calls);
    assert_int_equal(atomic_load(&s.bad), 0);
    like_pods_finish(&l);
  }
}

static void *hold_and_read(void *ctx) {
  shared *s = ctx;
  for (int i = 0; i < READS; i++) {
    kin_object *object = kin_object_ref(s->objects[i % FEW]);
    kin_str text;
    bool is_there = kin__object_text(object, &text) == 0;
    if (!is_there || memchr(text.data, '\n', text.length) != NULL) {
      atomic_fetch_add(&s->bad, 1);
    }
    kin_object_unref(object);
  }
  atomic_fetch_add(&s->ended, 1);
  return NULL;
}

/* Drops the texts that nobody holds; returns the others. */
static kin__inflated *drop_texts(kin__inflated *next) {
  kin__inflated *held = NULL;
  while (next != NULL) {
    kin__inflated *inflated = next;
    next = next->next;
    if (!kin__packed_drop_text(inflated)) {
      inflated->next = held;
      held = inflated;
    }
  }
  return held;
}

/* A text lives as long as a thread has a reference to the object, although the
 * owner drops texts all the time. */
static void test_texts_are_dropped_while_threads_read(void **state) {
  (void)state;
  like_pods l;
  shared s = {0};
  pthread_t threads[THREADS];
  assert_int_equal(like_pods_init(&l, 0, 0, 64), 0);
  for (int i = 0; i < OBJECTS; i++) {
    s.objects[i] = make_packed(&l, i, 0, NULL);
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_create(&threads[t], NULL, hold_and_read, &s), 0);
  }
  kin__inflated *held = NULL;
  while (atomic_load(&s.ended) < THREADS) {
    held = drop_texts(held);
    kin__inflated *noted = drop_texts(kin__inflated_take(l.packing));
    while (noted != NULL) {
      kin__inflated *next = noted->next;
      noted->next = held;
      held = noted;
      noted = next;
    }
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_join(threads[t], NULL), 0);
  }
  assert_int_equal(atomic_load(&s.bad), 0);
  assert_null(drop_texts(held));
  assert_null(drop_texts(kin__inflated_take(l.packing)));
  for (int i = 0; i < OBJECTS; i++) {
    assert_int_equal(kin__object_holders(s.objects[i]), 1);
    kin_object_unref(s.objects[i]);
  }
  like_pods_finish(&l);
}

/* After the owner's close each thread frees the texts that it was the last to
 * hold, while others ask for them. Texts that were asked for during the close go,
 * too. */
static void free_texts_on_threads(bool is_during) {
  like_pods l;
  shared s = {0};
  pthread_t threads[THREADS];
  assert_int_equal(like_pods_init(&l, 0, 0, 64), 0);
  for (int i = 0; i < FEW; i++) {
    s.objects[i] = make_packed(&l, i, 0, NULL);
  }
  size_t before = atomic_load(&l.fail.live_blocks);
  if (!is_during) {
    like_pods_close(&l);
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_create(&threads[t], NULL, hold_and_read, &s), 0);
  }
  if (is_during) {
    like_pods_close(&l);
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_join(threads[t], NULL), 0);
  }
  assert_int_equal(atomic_load(&s.bad), 0);
  /* The contexts that inflate texts stay, at most one for each thread. */
  assert_in_range(atomic_load(&l.fail.live_blocks), before, before + THREADS);
  for (int i = 0; i < FEW; i++) {
    kin_object_unref(s.objects[i]);
  }
  like_pods_finish(&l);
}

static void test_threads_free_texts_after_the_close(void **state) {
  (void)state;
  free_texts_on_threads(false);
  free_texts_on_threads(true);
}

static void fork_inside(void *ctx, bool is_first) {
  kin__packing **packing = ctx;
  assert_true(is_first);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    (void)kin__inflated_close(*packing);
    _exit(kin__inflated_has_callers(*packing));
  }
  assert_true(kin__inflated_has_callers(*packing));
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

/* The thread that was calling the owner is not in a forked child, whose close
 * does not wait for it. */
static void test_a_child_waits_for_no_caller(void **state) {
  (void)state;
  kin__packing *packing;
  packing = kin__packing_new(kin__default_allocator(), fork_inside, &packing);
  assert_non_null(packing);
  kin__inflated *inflated = kin__inflated_new(packing, 1);
  assert_non_null(inflated);
  assert_true(kin__inflated_note(packing, inflated));
  kin__inflated_free(packing, kin__inflated_close(packing));
  assert_false(kin__inflated_has_callers(packing));
  kin__packing_unref(packing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_packed_objects_on_threads),
      cmocka_unit_test(test_notes_are_closed),
      cmocka_unit_test(test_texts_are_dropped_while_threads_read),
      cmocka_unit_test(test_threads_free_texts_after_the_close),
      cmocka_unit_test(test_a_child_waits_for_no_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
