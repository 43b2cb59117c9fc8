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
#include "informer/scope.h"
#include "object/packed.h"
#include "support/check_world.h"
#include "support/idle_callbacks.h"

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

static void init_world(iw_world *w, hand_pool *pool) {
  iw_init(w, 0);
  *pool = (hand_pool){0};
  w->script.env.start_work = pool_start;
  w->script.env.work_ctx = pool;
  w->script.env.compact_samples = 4;
  mini_put_first(&w->server, OBJECTS);
}

/* In sync, with a dictionary. */
static void open_with(iw_world *w, hand_pool *pool,
                      const kin_informer_options *options) {
  kin_informer_options compact = *options;
  compact.compact = KIN_COMPACT_FAST;
  assert_int_equal(iw_open(w, &compact), 0);
  mini_pass(&w->server, 1000);
  assert_int_equal(pool->count, 1);
  pool_run(pool);
  script_run(&w->script);
}

static void open_world(iw_world *w, hand_pool *pool) {
  init_world(w, pool);
  kin_informer_options options = iw_options(w);
  open_with(w, pool, &options);
}

/* A list of changed objects arrives within that time; its batches are on their
 * way. */
static void relist_within(iw_world *w, uint64_t ms) {
  mini_compact(&w->server);
  mini_expire_watches(&w->server);
  mini_put_first(&w->server, OBJECTS);
  mini_pass(&w->server, ms);
}

static void relist(iw_world *w) {
  relist_within(w, 150000);
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
    assert_int_equal(iw_count_packed(&w), OBJECTS);
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
  assert_int_equal(iw_count_packed(&w), OBJECTS);
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
  assert_int_equal(iw_count_packed(&w), OBJECTS);
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

/* Batches are taken back one object in a step. After some of them the informer
 * closes. */
static void test_close_while_taken(void **state) {
  (void)state;
  for (int steps = 0; steps <= OBJECTS; steps++) {
    iw_world w;
    hand_pool pool;
    open_world(&w, &pool);
    relist(&w);
    w.script.sched.max_pieces = 1;
    pool_run(&pool);
    for (int i = 0; i < steps; i++) {
      (void)kin__sched_run(&w.script.sched, 0);
    }
    if (steps == OBJECTS) {
      mini_pass(&w.server, 1000);
      iw_assert_truth(&w);
      assert_int_equal(iw_count_packed(&w), OBJECTS);
    }
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    script_run(&w.script);
    assert_int_equal(w.closed, 1);
    iw_finish(&w);
  }
}

/* The pages so far are dropped, and their batches come back to the list that
 * follows, twice. */
static void test_dropped_list(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  init_world(&w, &pool);
  w.server.honours_limit = true;
  kin_informer_options options = iw_options(&w);
  options.no_watch_list = true;
  options.page_size = 12;
  open_with(&w, &pool, &options);
  for (int i = 0; i < 2; i++) {
    w.server.withholds = "continue=";
    relist(&w);
    unsigned of_first_page = pool.count;
    assert_true(of_first_page > 0);
    w.server.withholds = NULL;
    script_respond(&w.script, "continue=", 410,
                   "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}");
    mini_pass(&w.server, 1000);
    assert_true(pool.count >= of_first_page);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
    assert_int_equal(iw_count_packed(&w), OBJECTS);
  }
  iw_finish(&w);
}

/* The batches of a removed namespace come back to nobody. */
static void test_removed_scope(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  init_world(&w, &pool);
  kin_informer_options options = iw_even_and_odd(&w);
  open_with(&w, &pool, &options);
  for (int i = 0; i < 2; i++) {
    relist(&w);
    assert_true(pool.count > 1);
    iw_drop_odd(&w);
    script_run(&w.script);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    assert_int_equal(kin_store_count(kin_informer_store(w.informer)),
                     mini_count(&w.server, "even"));
    iw_add_odd(&w);
    mini_pass(&w.server, 1000);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
  }
  iw_finish(&w);
}

/* The batches come back after the n-th step from then on. */
typedef struct moment {
  iw_world *w;
  hand_pool *pool;
  unsigned left;
} moment;

/* Asked by the scheduler after each step, and by steps themselves. */
static uint64_t run_pool_in_time(void *ctx) {
  moment *m = ctx;
  const kin__sched *sched = &m->w->script.sched;
  if (sched->is_running && !sched->is_stepping && m->left > 0 &&
      --m->left == 0) {
    pool_run(m->pool);
  }
  return m->w->script.now_ns;
}

/* Between any two steps of the removal. */
static void test_removed_scope_at_any_moment(void **state) {
  (void)state;
  unsigned left = 0;
  for (unsigned n = 1; left == 0; n++) {
    iw_world w;
    hand_pool pool;
    moment m = {&w, &pool, 0};
    init_world(&w, &pool);
    w.script.sched.now_ns = run_pool_in_time;
    w.script.sched.ctx = &m;
    kin_informer_options options = iw_even_and_odd(&w);
    open_with(&w, &pool, &options);
    relist(&w);
    assert_true(pool.count > 0);
    m.left = n;
    iw_drop_odd(&w);
    script_run(&w.script);
    left = m.left;
    m.left = 0;
    pool_run(&pool);
    iw_add_odd(&w);
    mini_pass(&w.server, 1000);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

/* Memory ran out before an object was staged. The program's source gives the
 * same object again, and holds it. */
static void test_object_that_was_not_staged(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  open_world(&w, &pool);
  kin__scope *scope = kin__scopes_only(&w.informer->scopes);
  kin_object *object;
  assert_int_equal(
      kin__object_copy(
          &object, w.script.memory,
          kin_store_get_key(kin_informer_store(w.informer), "even/p0"), 0),
      0);
  kin__compact_pack(w.informer, &object, true);
  kin_object *held = kin_object_ref(object);
  kin__compact_pack(w.informer, &object, true);
  kin__compact_staged(scope, object);
  assert_int_equal(scope->packing, 0);
  kin__compact_listed(w.informer);
  pool_run(&pool);
  kin_object_unref(held);
  kin_object_unref(object);
  iw_finish(&w);
}

/* In a list that comes as a watch, an object changes while its first state is
 * being packed. The later state wins. */
static void test_changed_while_packed(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  init_world(&w, &pool);
  script_use_streams(&w.script);
  kin_informer_options options = iw_options(&w);
  open_with(&w, &pool, &options);
  for (int i = 0; i < 2; i++) {
    iw_stream_again(&w);
    w.server.holds_bookmark = true;
    int streams = w.server.streams;
    relist_within(&w, 0);
    while (w.server.streams == streams) { /* without progress it is given up */
      mini_pass(&w.server, 100);
    }
    assert_true(pool.count > 0);
    for (int object = 0; object < OBJECTS; object += 2) {
      mini_put(&w.server, object);
    }
    mini_delete(&w.server, 1);
    mini_serve(&w.server);
    w.server.holds_bookmark = false;
    mini_bookmark(&w.server);
    mini_serve(&w.server);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    pool_run(&pool);
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
    mini_put(&w.server, 1);
    mini_pass(&w.server, 1000);
  }
  iw_finish(&w);
}

/* One allocation fails from the second list on. The truth comes all the same. */
static void test_memory_runs_out(void **state) {
  (void)state;
  size_t failed = 0;
  for (size_t n = 1; failed == n - 1; n++) {
    iw_world w;
    hand_pool pool;
    open_world(&w, &pool);
    w.memory.fail_at = atomic_load(&w.memory.calls) + n;
    relist(&w);
    pool_run(&pool);
    failed += fail_alloc_has_failed(&w.memory);
    w.memory.fail_at = 0;
    for (int i = 0; i < 3; i++) {
      mini_pass(&w.server, 60000);
      pool_run(&pool);
    }
    mini_pass(&w.server, 1000);
    iw_assert_truth(&w);
    assert_int_equal(iw_count_packed(&w), OBJECTS);
    iw_finish(&w);
  }
  assert_true(failed > 20);
}

/* --- The check of lists --------------------------------------------------- */

static void stream_objects(check_world *c, int first_version, const char *end) {
  (void)script_expect(&c->w.script, "sendInitialEvents");
  script_head(&c->w.script, "sendInitialEvents", 200);
  for (int i = 0; i < OBJECTS; i++) {
    char frame[1024];
    int length = snprintf(
        frame, sizeof frame,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p%d\","
        "\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},"
        "\"spec\":{\"text\":\"%0*d\"}}}\n",
        i, i, first_version + i, 500, 7);
    script_body(&c->w.script, "sendInitialEvents", frame, (size_t)length);
  }
  script_body(&c->w.script, "sendInitialEvents", end, strlen(end));
}

/* WL-12: the texts of compact objects are compared with those of a list, also
 * when no further text may be kept. */
static void test_check_needs_no_texts(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  c.w.script.env.compact_samples = 4;
  c.w.script.env.check_watch_lists = false;
  c.options.compact = KIN_COMPACT_FAST;
  c.options.transform = change_nothing;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  for (int version = 10; version <= 50; version += 40) {
    stream_objects(&c, version, version == 10 ? CK_END("30") : CK_END("70"));
    script_expire(&c.w.script, "sendInitialEvents");
    script_advance(&c.w.script, 60000);
  }
  assert_int_equal(iw_count_packed(&c.w), OBJECTS);
  const kin_object *object =
      kin_store_get_key(kin_informer_store(c.w.informer), "ns/p0");
  kin__packing *packing = kin__dictionary_packing(
      *(kin__dictionary *const *)(const void *)kin__object_body(object).data);
  kin__inflated *most = kin__inflated_new(packing, KIN__INFLATED_MAX_BYTES);
  assert_non_null(most);
  c.w.script.env.check_watch_lists = true;
  stream_objects(&c, 50, CK_END("71"));
  assert_true(ck_is_asked(&c));
  assert_int_equal(iw_count_packed(&c.w), OBJECTS);
  kin__inflated_free(packing, most);
  iw_finish(&c.w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_waits_for_its_batches),
      cmocka_unit_test(test_refused_batches),
      cmocka_unit_test(test_no_helper),
      cmocka_unit_test(test_close_while_packed),
      cmocka_unit_test(test_close_when_back),
      cmocka_unit_test(test_close_while_taken),
      cmocka_unit_test(test_dropped_list),
      cmocka_unit_test(test_removed_scope),
      cmocka_unit_test(test_object_that_was_not_staged),
      cmocka_unit_test(test_removed_scope_at_any_moment),
      cmocka_unit_test(test_changed_while_packed),
      cmocka_unit_test(test_memory_runs_out),
      cmocka_unit_test(test_check_needs_no_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
