/* SPDX-License-Identifier: MIT */

/* Objects that several threads hold. The owner makes them and releases its own
 * references; the other threads read them, take references and release them, the
 * last one often. In a build with ThreadSanitizer (`./dev test --threads`) each
 * read must happen before the memory is freed or used again. Proves TS-14. */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/str.h"
#include "object/object.h"
#include "support/fail_alloc.h"

#define THREADS 3
#define ROUNDS 2000
#define BODY "{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\"}}"

typedef struct relay {
  kin_object *_Atomic shared[THREADS]; /* NULL: taken by its thread */
  _Atomic bool is_over;
  atomic_size_t bad;
} relay;

typedef struct reader {
  relay *relay;
  int index;
  size_t read;
} reader;

static kin_object *make(kin__memory *memory) {
  kin__object_parts parts = {.namespace_ = KIN__LIT("shop"),
                             .name = KIN__LIT("web-0"),
                             .version = KIN__LIT("41"),
                             .body = KIN__LIT(BODY)};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  return object;
}

static void read_and_release(reader *r, kin_object *object) {
  kin_object *again = kin_object_ref(object);
  kin_object_unref(object);
  if (!kin__str_equal(kin__object_body(again), KIN__LIT(BODY)) ||
      !kin__str_equal(kin_object_key(again), KIN__LIT("shop/web-0"))) {
    atomic_fetch_add(&r->relay->bad, 1);
  }
  r->read++;
  kin_object_unref(again);
}

/* Relaxed: only the counts of references order the threads. */
static void *read_all(void *data) {
  reader *r = data;
  kin_object *_Atomic *place = &r->relay->shared[r->index];
  for (;;) {
    bool is_over =
        atomic_load_explicit(&r->relay->is_over, memory_order_acquire);
    kin_object *object =
        atomic_exchange_explicit(place, NULL, memory_order_acquire);
    if (object != NULL) {
      read_and_release(r, object);
    } else if (is_over) {
      return NULL;
    } else {
      sched_yield();
    }
  }
}

/* One object to all threads at a time, so that the owner's release, the
 * threads' reads and the use of freed cells for later objects overlap. */
static void share(relay *all, kin__memory *memory) {
  for (int round = 0; round < ROUNDS; round++) {
    kin_object *object = make(memory);
    for (int t = 0; t < THREADS; t++) {
      kin_object *missed = atomic_exchange_explicit(
          &all->shared[t], kin_object_ref(object), memory_order_release);
      kin_object_unref(missed);
    }
    kin_object_unref(object);
  }
}

static void check_shared(kin__memory *memory, const fail_alloc *blocks) {
  relay all = {.is_over = false};
  reader readers[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    readers[t] = (reader){.relay = &all, .index = t};
    assert_int_equal(pthread_create(&threads[t], NULL, read_all, &readers[t]),
                     0);
  }
  share(&all, memory);
  kin__memory_unref(memory); /* the last object keeps the rest of it */
  atomic_store_explicit(&all.is_over, true, memory_order_release);
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    assert_true(readers[t].read > 0);
  }
  assert_int_equal(atomic_load(&all.bad), 0);
  assert_int_equal(atomic_load(&blocks->live_blocks), 0);
}

static void test_shared_blocks(void **state) {
  (void)state;
  fail_alloc blocks;
  fail_alloc_init(&blocks, 0);
  check_shared(kin__memory_new(&blocks.allocator), &blocks);
}

static void test_shared_slabs(void **state) {
  (void)state;
  fail_alloc blocks;
  fail_alloc_init(&blocks, 0);
  kin__memory *memory = kin__memory_new(&blocks.allocator);
  assert_int_equal(kin__memory_use_slabs(memory), 0);
  check_shared(memory, &blocks);
}

static void test_shared_sealed(void **state) {
  (void)state;
  fail_alloc blocks;
  fail_alloc_init(&blocks, 0);
  kin__memory *memory = kin__memory_new(&blocks.allocator);
  kin__memory_use_seals(memory, KIN_MUTATION_CHECK_PROTECT);
  check_shared(memory, &blocks);
}

static void *release(void *object) {
  kin_object_unref(object);
  return NULL;
}

/* Each thread has an object of its own, and the last one that is released frees
 * what they have in common. */
static void test_last_ones(void **state) {
  (void)state;
  for (int round = 0; round < 200; round++) {
    fail_alloc blocks;
    fail_alloc_init(&blocks, 0);
    kin__memory *memory = kin__memory_new(&blocks.allocator);
    if (round % 2 == 1) {
      assert_int_equal(kin__memory_use_slabs(memory), 0);
    }
    kin_object *objects[THREADS];
    for (int t = 0; t < THREADS; t++) {
      objects[t] = make(memory);
    }
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
      assert_int_equal(pthread_create(&threads[t], NULL, release, objects[t]),
                       0);
    }
    kin__memory_unref(memory);
    for (int t = 0; t < THREADS; t++) {
      pthread_join(threads[t], NULL);
    }
    assert_int_equal(atomic_load(&blocks.live_blocks), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shared_blocks),
      cmocka_unit_test(test_shared_slabs),
      cmocka_unit_test(test_shared_sealed),
      cmocka_unit_test(test_last_ones),
  };
  return cmocka_run_group_tests_name("objects of several threads", tests, NULL,
                                     NULL);
}
