/* SPDX-License-Identifier: MIT */

/* Compact storage: the objects of a list are packed by another thread, which is
 * at the test's hand here. Nothing is applied before all are back; a close, a
 * dropped list and a removed scope may come in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "informer/compact.h"
#include "informer/compact_list.h"
#include "object/packed.h"
#include "support/informer_world.h"

#define OBJECTS 20 /* five batches of four: one more than there are */
#define WORKS_MAX 16

typedef struct hand_pool {
  kin__pool_work *works[WORKS_MAX];
  unsigned count;
  unsigned most;
  bool refuses;
} hand_pool;

static int pool_start(void *ctx, kin__pool_work *work) {
  hand_pool *pool = ctx;
  if (pool->refuses) {
    return KIN_ENOMEM;
  }
  assert_true(pool->count < WORKS_MAX);
  pool->works[pool->count++] = work;
  pool->most = pool->count > pool->most ? pool->count : pool->most;
  return 0;
}

/* The last one first. */
static void pool_run(hand_pool *pool) {
  while (pool->count > 0) {
    kin__pool_work *work = pool->works[--pool->count];
    work->run(work);
    work->done(work);
  }
}

static int count_packed(const iw_world *w) {
  int count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w->informer), &cursor)) !=
         NULL) {
    count += kin__object_is_packed(object);
  }
  return count;
}

/* In sync, with a dictionary. */
static void open_world(iw_world *w, hand_pool *pool) {
  iw_init(w, 0);
  *pool = (hand_pool){0};
  w->script.env.start_work = pool_start;
  w->script.env.work_ctx = pool;
  w->script.env.compact_samples = 4;
  mini_put_first(&w->server, OBJECTS);
  kin_informer_options options = iw_options(w);
  options.compact = KIN_COMPACT_FAST;
  assert_int_equal(iw_open(w, &options), 0);
  mini_pass(&w->server, 1000);
  assert_int_equal(pool->count, 1);
  pool_run(pool);
  script_run(&w->script);
}

/* A list of changed objects arrives; its batches are on their way. */
static void relist(iw_world *w) {
  mini_compact(&w->server);
  mini_expire_watches(&w->server);
  mini_put_first(&w->server, OBJECTS);
  mini_pass(&w->server, 150000);
}

static uint64_t packed_objects(const iw_world *w) {
  kin_informer_metrics m = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(w->informer, &m), 0);
  return m.packed_objects;
}

static void test_list_waits_for_its_batches(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  for (int i = 0; i < 3; i++) {
    uint64_t before = packed_objects(&w);
    relist(&w);
    assert_true(pool.count > 1);
    assert_true(pool.most <= KIN__BATCHES_MAX);
    assert_true(packed_objects(&w) < before + OBJECTS); /* some by the loop */
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
    assert_int_equal(count_packed(&w), OBJECTS);
    assert_int_equal(packed_objects(&w), before + OBJECTS);
  }
  iw_finish(&w);
}

/* Without another thread the loop's does it. */
static void test_refused_batches(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  pool.refuses = true;
  relist(&w);
  iw_assert_truth(&w);
  assert_int_equal(count_packed(&w), OBJECTS);
  iw_finish(&w);
}

static void test_no_helper(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  w.script.env.has_no_helper = true;
  relist(&w);
  assert_int_equal(pool.count, 0);
  iw_assert_truth(&w);
  assert_int_equal(count_packed(&w), OBJECTS);
  iw_finish(&w);
}

/* A close waits for the batches. */
static void test_close_while_packed(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  relist(&w);
  assert_true(pool.count > 0);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  script_run(&w.script);
  assert_int_equal(w.closed, 0);
  pool_run(&pool);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  iw_finish(&w);
}

/* They are back, and not taken yet. */
static void test_close_when_back(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  relist(&w);
  pool_run(&pool);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_waits_for_its_batches),
      cmocka_unit_test(test_refused_batches),
      cmocka_unit_test(test_no_helper),
      cmocka_unit_test(test_close_while_packed),
      cmocka_unit_test(test_close_when_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
