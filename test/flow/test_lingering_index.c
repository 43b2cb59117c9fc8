/* SPDX-License-Identifier: MIT */

/* A lingering index on a virtual clock: what is gone is found, for how long,
 * how many, in which order, and without a gap. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/lingering_index.h>

#include "base/str.h"
#include "informer/informer.h"
#include "support/filter_rig.h"
#include "support/objects.h"

#define LINGER_MS 1000

typedef struct world {
  filter_rig rig;
  kin_lingering_index *index;
  int closed;
} world;

static void on_closed(void *data) {
  ((world *)data)->closed++;
}

static int add_ips(kin_store *store) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "ip";
  options.pointer = "/status/podIPs/*/ip";
  return kin_store_add_index(store, &options);
}

static int try_open(world *w, uint32_t max_objects, size_t fail_at) {
  *w = (world){0};
  filter_rig_init(&w->rig, fail_at);
  int err = filter_rig_open_informer(&w->rig);
  if (err == 0) {
    err = add_ips(kin_informer_store(w->rig.informer));
  }
  kin_lingering_index_options options = KIN_LINGERING_INDEX_OPTIONS_INIT;
  options.name = "ip";
  options.linger_ms = LINGER_MS;
  options.max_objects = max_objects;
  options.on_closed = on_closed;
  options.data = w;
  if (err == 0) {
    err = kin_lingering_index_open(&w->index, w->rig.informer, &options);
  }
  filter_rig_run(&w->rig);
  return err;
}

static void open_world(world *w, uint32_t max_objects) {
  assert_int_equal(try_open(w, max_objects, 0), 0);
}

static void close_world(world *w) {
  filter_rig_close(&w->rig);
  assert_int_equal(w->closed, w->index != NULL ? 1 : 0);
}

/* `ips` as in {'ip':'10.0.0.1'}. */
static void change(world *w, kin_watch_event_type type, const char *name,
                   const char *uid, const char *ips) {
  kin_object *object =
      object_format(NULL,
                    "{'metadata':{'name':'%s','namespace':'d','uid':'%s',"
                    "'resourceVersion':'0'},'status':{'podIPs':[%s]}}",
                    name, uid, ips);
  assert_int_equal(kin_fake_source_change(w->rig.source, type, object, false),
                   0);
  kin_object_unref(object);
}

static void put(world *w, const char *name, const char *ips) {
  change(w, KIN_WATCH_MODIFIED, name, "u", ips);
  filter_rig_run(&w->rig);
}

static void delete_it(world *w, const char *name) {
  change(w, KIN_WATCH_DELETED, name, "u", "");
  filter_rig_run(&w->rig);
}

/* The program's own write. */
static void put_own(world *w, const char *name, const char *ips) {
  kin_object *object =
      object_format(NULL,
                    "{'metadata':{'name':'%s','namespace':'d','uid':'u',"
                    "'resourceVersion':'0'},'status':{'podIPs':[%s]}}",
                    name, ips);
  assert_int_equal(kin_store_put(kin_informer_store(w->rig.informer), object),
                   0);
  kin_object_unref(object);
}

/* "a b-100": b is gone since 100 ms. */
static void expect(world *w, const char *ip, const char *found) {
  char text[512] = "";
  kin_lingering_cursor cursor;
  uint64_t gone_ms;
  assert_int_equal(kin_lingering_index_find(w->index, kin__cstr(ip), &cursor),
                   0);
  for (const kin_object *object =
           kin_lingering_index_next(w->index, &cursor, &gone_ms);
       object != NULL;
       object = kin_lingering_index_next(w->index, &cursor, &gone_ms)) {
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "%s" KIN_STR_FORMAT,
             length > 0 ? " " : "", KIN_STR_ARG(kin_object_name(object)));
    if (gone_ms != UINT64_MAX) {
      length = strlen(text);
      snprintf(text + length, sizeof text - length, "-%u", (unsigned)gone_ms);
    }
  }
  assert_null(kin_lingering_index_next(w->index, &cursor, &gone_ms));
  assert_string_equal(text, found);
}

static void expect_owner(world *w, const char *ip, uint64_t age_ms,
                         const char *name) {
  uint64_t gone_ms = 77;
  const kin_object *object =
      kin_lingering_index_owner(w->index, kin__cstr(ip), age_ms, &gone_ms);
  if (object == NULL) {
    assert_string_equal("", name);
  } else if (!kin__str_equal(kin_object_name(object), kin__cstr(name))) {
    fail_msg(KIN_STR_FORMAT " owned it, not %s",
             KIN_STR_ARG(kin_object_name(object)), name);
  }
}

#define IP1 "{'ip':'10.0.0.1'}"
#define IP2 "{'ip':'10.0.0.2'}"
#define IP3 "{'ip':'10.0.0.3'}"

static void test_deleted_lingers(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1 "," IP2);
  expect(&w, "10.0.0.1", "a");
  assert_int_equal(kin_lingering_index_count(w.index), 0);
  delete_it(&w, "a");
  expect(&w, "10.0.0.1", "a-0");
  expect(&w, "10.0.0.2", "a-0");
  expect(&w, "10.0.0.3", "");
  filter_rig_pass(&w.rig, LINGER_MS - 1);
  expect(&w, "10.0.0.1", "a-999");
  filter_rig_pass(&w.rig, 1);
  expect(&w, "10.0.0.1", "");
  assert_int_equal(kin_lingering_index_count(w.index), 0);
  assert_true(kin__timers_next_ms(&w.rig.vh.script.timers) == UINT64_MAX ||
              kin_fake_source_open_watches(w.rig.source) > 0);
  close_world(&w);
}

/* The program's own writes into the store leave no gap either. */
static void test_own_writes(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1);
  put_own(&w, "a", IP2);
  expect(&w, "10.0.0.1", "a-0");
  put_own(&w, "a", IP3); /* other content under the same version */
  expect(&w, "10.0.0.2", "a-0");
  put(&w, "a", IP3);
  expect(&w, "10.0.0.3", "a");
  kin_store *store = kin_informer_store(w.rig.informer);
  assert_int_equal(kin_store_delete(store, KIN__LIT("d/a")), 0);
  expect(&w, "10.0.0.3", "a-0");
  close_world(&w);
}

/* Addresses are used again: the live owner is first, then who left last. */
static void test_reuse(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1);
  delete_it(&w, "a");
  filter_rig_pass(&w.rig, 100);
  put(&w, "b", IP1);
  delete_it(&w, "b");
  filter_rig_pass(&w.rig, 100);
  put(&w, "c", IP1);
  filter_rig_pass(&w.rig, 100);
  expect(&w, "10.0.0.1", "c b-200 a-300");
  /* Time decides for late lines. */
  expect_owner(&w, "10.0.0.1", 0, "c");
  expect_owner(&w, "10.0.0.1", 200, "c");
  expect_owner(&w, "10.0.0.1", 201, "b");
  expect_owner(&w, "10.0.0.1", 300, "b");
  expect_owner(&w, "10.0.0.1", 301, "a");
  expect_owner(&w, "10.0.0.1", UINT64_MAX, "a");
  /* Nobody has it: who left last. */
  delete_it(&w, "c");
  filter_rig_pass(&w.rig, 10);
  expect_owner(&w, "10.0.0.1", 0, "c");
  expect_owner(&w, "10.0.0.1", 11, "c");
  expect_owner(&w, "10.0.0.9", 0, "");
  close_world(&w);
}

/* Two have it for a while: the one that got it last is first. */
static void test_overlap(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1);
  put(&w, "b", IP1);
  put(&w, "a", IP1 "," IP2); /* keeps its place */
  expect(&w, "10.0.0.1", "b a");
  expect_owner(&w, "10.0.0.1", 0, "b");
  delete_it(&w, "a");
  expect(&w, "10.0.0.1", "b a-0");
  close_world(&w);
}

/* A value that is lost by an update lingers, and only that. */
static void test_lost_value_lingers(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1 "," IP2);
  put(&w, "a", IP2 "," IP1); /* another order */
  assert_int_equal(kin_lingering_index_count(w.index), 0);
  put(&w, "a", IP2);
  expect(&w, "10.0.0.1", "a-0");
  expect(&w, "10.0.0.2", "a");
  assert_int_equal(kin_lingering_index_count(w.index), 1);
  filter_rig_pass(&w.rig, 10);
  delete_it(&w, "a");
  expect(&w, "10.0.0.1", "a-10");
  expect(&w, "10.0.0.2", "a-0");
  close_world(&w);
}

/* The same name, another uid: both are found. */
static void test_recreated(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  put(&w, "a", IP1);
  change(&w, KIN_WATCH_DELETED, "a", "u", IP1);
  change(&w, KIN_WATCH_ADDED, "a", "u2", IP1);
  filter_rig_run(&w.rig);
  change(&w, KIN_WATCH_DELETED, "a", "u2", IP1);
  change(&w, KIN_WATCH_ADDED, "a", "u3", IP1);
  filter_rig_run(&w.rig);
  expect(&w, "10.0.0.1", "a a-0 a-0");
  close_world(&w);
}

/* An object of many values: only its deletion counts. */
static void test_many_values(void **state) {
  (void)state;
  for (int count = 64; count <= 65; count++) {
    world w;
    open_world(&w, 0);
    char ips[2048] = IP1;
    put(&w, "a", IP2);
    for (int i = 1; i < count; i++) {
      size_t length = strlen(ips);
      snprintf(ips + length, sizeof ips - length, ",{'ip':'10.1.0.%d'}", i);
    }
    put(&w, "a", ips);
    expect(&w, "10.0.0.2", count == 64 ? "a-0" : "");
    delete_it(&w, "a");
    expect(&w, "10.0.0.1", "a-0");
    expect(&w, "10.1.0.63", "a-0");
    close_world(&w);
  }
}

static void test_bound(void **state) {
  (void)state;
  world w;
  open_world(&w, 3);
  for (int i = 0; i < 5; i++) {
    char name[2] = {(char)('a' + i), '\0'};
    put(&w, name, IP1);
    delete_it(&w, name);
    filter_rig_pass(&w.rig, 10);
  }
  expect(&w, "10.0.0.1", "e-10 d-20 c-30");
  assert_int_equal(kin_lingering_index_count(w.index), 3);
  filter_rig_pass(&w.rig, LINGER_MS - 30);
  expect(&w, "10.0.0.1", "e-980 d-990");
  close_world(&w);
}

/* Between any two pieces of work an object is live or lingers. */
static world *watched;
static bool was_put;

static void look(void *ctx, bool is_before) {
  (void)ctx;
  (void)is_before;
  kin_lingering_cursor cursor;
  assert_int_equal(
      kin_lingering_index_find(watched->index, kin__cstr("10.0.0.1"), &cursor),
      0);
  const kin_object *object =
      kin_lingering_index_next(watched->index, &cursor, NULL);
  assert_true(object != NULL || !was_put);
  was_put = was_put || object != NULL;
}

static void test_no_gap(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  watched = &w;
  was_put = false;
  w.rig.vh.script.sched.max_pieces = 1;
  w.rig.vh.script.on_step = look;
  put(&w, "a", IP1);
  assert_true(was_put);
  delete_it(&w, "a");
  put(&w, "b", IP1);
  put(&w, "b", IP2);
  w.rig.vh.script.on_step = NULL;
  expect(&w, "10.0.0.1", "b-0 a-0");
  close_world(&w);
}

/* The program may look until it hears of the end. */
static void look_at_end(void *ctx, bool is_before) {
  (void)is_before;
  world *w = ctx;
  if (w->closed == 0) {
    kin_lingering_cursor cursor;
    assert_int_equal(
        kin_lingering_index_find(w->index, kin__cstr("10.0.0.1"), &cursor), 0);
    const kin_object *object =
        kin_lingering_index_next(w->index, &cursor, NULL);
    assert_ptr_equal(
        kin_lingering_index_owner(w->index, kin__cstr("10.0.0.1"), 0, NULL),
        object);
  }
}

static void test_ends(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    world w;
    open_world(&w, 0);
    put(&w, "a", IP1);
    put(&w, "b", IP1);
    delete_it(&w, "a");
    if (how == 0) {
      assert_int_equal(kin_lingering_index_close(w.index, NULL, NULL), 0);
      assert_int_equal(kin_lingering_index_close(w.index, NULL, NULL),
                       KIN_EALREADY);
      filter_rig_run(&w.rig);
      delete_it(&w, "b"); /* the informer lives on */
    } else {
      assert_int_equal(kin_informer_close(w.rig.informer, NULL, NULL), 0);
      expect(&w, "10.0.0.1", "a-0"); /* the cache is gone, this is not */
      expect_owner(&w, "10.0.0.1", 0, "a");
      if (how == 2) {
        assert_int_equal(kin_lingering_index_close(w.index, NULL, NULL), 0);
      } else {
        w.rig.vh.script.sched.max_pieces = 1;
        w.rig.vh.script.on_step = look_at_end;
        w.rig.vh.script.on_step_ctx = &w;
      }
      filter_rig_run(&w.rig);
      w.rig.vh.script.on_step = NULL;
    }
    assert_int_equal(w.closed, 1);
    close_world(&w);
  }
}

static bool fails(const kin_object *object, void *data) {
  (void)object;
  return *(bool *)data;
}

static int index_or_fail(const kin_object *object, kin_index_values *values,
                         void *data) {
  return fails(object, data) ? KIN_EINVAL
                             : kin_index_emit(values, kin_object_name(object));
}

/* An object whose index function fails loses its values in the store. */
static void test_index_function_fails(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  bool does_fail = false;
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "own";
  options.cb = index_or_fail;
  options.data = &does_fail;
  kin_store *store = kin_informer_store(w.rig.informer);
  assert_int_equal(kin_store_add_index(store, &options), 0);
  kin_lingering_index_options own = KIN_LINGERING_INDEX_OPTIONS_INIT;
  own.name = "own";
  own.linger_ms = LINGER_MS;
  kin_lingering_index *index;
  assert_int_equal(kin_lingering_index_open(&index, w.rig.informer, &own), 0);
  put(&w, "a", IP1);
  put(&w, "a", IP2);
  assert_int_equal(kin_lingering_index_count(index), 0);
  does_fail = true;
  delete_it(&w, "a"); /* it cannot be asked any more */
  assert_int_equal(kin_lingering_index_count(index), 0);
  assert_int_equal(kin_lingering_index_count(w.index), 2);
  close_world(&w);
}

static void test_bad_options(void **state) {
  (void)state;
  world w;
  open_world(&w, 0);
  const kin_lingering_index_options good = {sizeof good, "ip", 86400000,
                                            1048576,     NULL, NULL};
  kin_lingering_index_options options[] = {good, good, good, good, good};
  options[0].name = NULL;
  options[1].name = "ips";
  options[2].linger_ms = 0;
  options[3].linger_ms = 86400001;
  options[4].max_objects = 1048577;
  kin_informer *informer = w.rig.informer;
  kin_lingering_index *index;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    index = w.index;
    assert_int_equal(kin_lingering_index_open(&index, informer, &options[i]),
                     i == 1 ? KIN_ENOENT : KIN_EINVAL);
    assert_null(index);
  }
  assert_int_equal(kin_lingering_index_open(&index, informer, &good), 0);
  assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
  assert_int_equal(kin_lingering_index_open(&index, informer, &good),
                   KIN_ECLOSED);
  close_world(&w);
}

/* What has no memory does not linger; all else is as ever. */
static bool run_without_memory(size_t fail_at) {
  world w;
  int err = try_open(&w, 2, fail_at);
  assert_true(err == 0 || err == KIN_ENOMEM);
  if (err == 0) {
    put(&w, "a", IP1 "," IP2);
    put(&w, "a", IP2);
    put(&w, "b", IP1);
    delete_it(&w, "a");
    filter_rig_pass(&w.rig, LINGER_MS / 2);
    delete_it(&w, "b");
    filter_rig_pass(&w.rig, 30);
    assert_int_equal(kin_store_count(kin_informer_store(w.rig.informer)), 0);
    assert_true(kin_lingering_index_count(w.index) <= 2);
    filter_rig_pass(&w.rig, 10 * LINGER_MS);
    assert_int_equal(kin_lingering_index_count(w.index), 0);
  }
  bool has_failed = fail_alloc_has_failed(&w.rig.vh.memory);
  close_world(&w);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_deleted_lingers),
      cmocka_unit_test(test_own_writes),
      cmocka_unit_test(test_reuse),
      cmocka_unit_test(test_overlap),
      cmocka_unit_test(test_lost_value_lingers),
      cmocka_unit_test(test_recreated),
      cmocka_unit_test(test_many_values),
      cmocka_unit_test(test_bound),
      cmocka_unit_test(test_no_gap),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_index_function_fails),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
