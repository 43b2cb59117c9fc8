/* SPDX-License-Identifier: MIT */

/* Compact storage of an informer: everything is as without it. The model test
 * (test_informer_model) has worlds with it, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/change_filter.h>
#include <kin/error.h>
#include <kin/value.h>

#include "base/random.h"
#include "base/slab_core.h"
#include "base/str.h"
#include "informer/compact.h"
#include "object/packed.h"
#include "support/informer_world.h"

#define OBJECTS 20
#define SAMPLES 4

/* --- Another thread, at the test's hand ----------------------------------- */

typedef struct hand_pool {
  kin__pool_work *work; /* waits; NULL: none */
  int started;
  int refusals; /* so many starts fail */
} hand_pool;

static int pool_start(void *ctx, kin__pool_work *work) {
  hand_pool *pool = ctx;
  if (pool->refusals > 0) {
    pool->refusals--;
    return KIN_ENOMEM;
  }
  assert_null(pool->work);
  pool->work = work;
  pool->started++;
  return 0;
}

static void pool_run(hand_pool *pool) {
  kin__pool_work *work = pool->work;
  assert_non_null(work);
  pool->work = NULL;
  work->run(work);
  work->done(work);
}

static void use_pool(iw_world *w, hand_pool *pool) {
  *pool = (hand_pool){0};
  w->script.env.start_work = pool_start;
  w->script.env.work_ctx = pool;
}

/* --- The world ------------------------------------------------------------ */

static kin_informer_options compact_options(iw_world *w) {
  kin_informer_options options = iw_options(w);
  options.compact = KIN_COMPACT_FAST;
  w->script.env.compact_samples = SAMPLES;
  return options;
}

static void open_compact(iw_world *w, int objects) {
  iw_init(w, 0);
  mini_put_first(&w->server, objects);
  kin_informer_options options = compact_options(w);
  assert_int_equal(iw_open(w, &options), 0);
}

/* None is left where it was decoded. */
static void expect_all_in_the_informers_memory(const iw_world *w) {
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w->informer), &cursor)) !=
         NULL) {
    assert_ptr_equal(kin__object_allocator(object),
                     &w->script.memory->allocator);
  }
}

static void put_all(iw_world *w) {
  mini_put_first(&w->server, OBJECTS);
  mini_pass(&w->server, 1000);
}

/* In sync, with a dictionary, and all objects packed. */
static void open_packed(iw_world *w) {
  open_compact(w, OBJECTS);
  mini_pass(&w->server, 1000);
  put_all(w);
}

/* --- What it does --------------------------------------------------------- */

static void test_objects_are_packed(void **state) {
  (void)state;
  iw_world w;
  open_compact(&w, OBJECTS);
  mini_pass(&w.server, 1000);
  iw_assert_truth(&w);
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  expect_all_in_the_informers_memory(&w);
  put_all(&w);
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  expect_all_in_the_informers_memory(&w);
  iw_assert_truth(&w);
  kin_informer_metrics m = iw_metrics(&w);
  assert_int_equal(m.dictionaries, 1);
  assert_true(m.packed_objects >= OBJECTS);
  assert_true(m.packed_text_bytes > 2 * m.packed_bytes);
  iw_finish(&w);
}

/* A read is one piece of work, in which all of its objects are packed. The
 * transport keeps to the shift: test_step_bounds_transport. */
static void test_reads_are_smaller(void **state) {
  (void)state;
  static const uint8_t shifts[] = {
      [KIN_COMPACT_OFF] = 0, [KIN_COMPACT_FAST] = 2, [KIN_COMPACT_SMALL] = 4};
  for (int compact = 0; compact <= (int)KIN_COMPACT_SMALL; compact++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = compact_options(&w);
    options.compact = (kin_compact)compact;
    assert_int_equal(iw_open(&w, &options), 0);
    script_run(&w.script);
    assert_int_equal(script_expect(&w.script, "limit=")->read_shift,
                     shifts[compact]);
    mini_pass(&w.server, 1000);
    assert_int_equal(script_expect(&w.script, "watch=true")->read_shift,
                     shifts[compact]);
    iw_finish(&w);
  }
}

static uint64_t sum_of_bytes(const iw_world *w) {
  uint64_t sum = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w->informer), &cursor)) !=
         NULL) {
    sum += kin_object_memory(object);
  }
  return sum;
}

/* Few small objects, too few for a dictionary, need little memory. */
static void test_samples_take_little(void **state) {
  (void)state;
  size_t live[2];
  for (int is_compact = 0; is_compact < 2; is_compact++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put_first(&w.server, SAMPLES - 1);
    kin_informer_options options =
        is_compact ? compact_options(&w) : iw_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    mini_pass(&w.server, 1000);
    live[is_compact] = atomic_load(&w.memory.live_bytes);
    iw_finish(&w);
  }
  assert_true(live[1] - live[0] < (size_t)384 << 10);
}

/* Until the dictionary is there, objects are plain. Then they are packed, too,
 * but for those that the program holds. */
static void test_dictionary_is_made_elsewhere(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  iw_init(&w, 0);
  use_pool(&w, &pool);
  pool.refusals = 1;
  mini_put_first(&w.server, OBJECTS);
  kin_informer_options options = compact_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  assert_int_equal(pool.started, 1); /* the first was refused */
  put_all(&w);
  assert_int_equal(iw_count_packed(&w), 0);
  assert_int_equal(pool.started, 1);
  kin_store *store = kin_informer_store(w.informer);
  kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p2"));
  pool_run(&pool);
  script_run(&w.script);
  assert_int_equal(iw_count_packed(&w), OBJECTS - 1);
  assert_ptr_equal(kin_store_get_key(store, "even/p2"), held);
  assert_int_equal(kin_store_bytes(store), sum_of_bytes(&w));
  assert_int_equal(iw_metrics(&w).packed_objects, OBJECTS - 1);
  kin_object_unref(held);
  iw_assert_truth(&w);
  put_all(&w);
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* The dictionary comes in the middle of a list: what is staged is packed when
 * the list is applied. */
static void test_dictionary_comes_while_listing(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  iw_init(&w, 0);
  use_pool(&w, &pool);
  w.server.honours_limit = true;
  w.server.withholds = "continue=";
  mini_put_first(&w.server, OBJECTS);
  kin_informer_options options = compact_options(&w);
  options.no_watch_list = true;
  options.page_size = OBJECTS / 2;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  pool_run(&pool);
  script_run(&w.script);
  assert_int_equal(iw_count_packed(&w), 0);
  w.script.env.start_work = NULL;
  w.server.withholds = NULL;
  mini_pass(&w.server, 1000);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  assert_int_equal(kin_store_bytes(kin_informer_store(w.informer)),
                   sum_of_bytes(&w));
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* A close while what is plain is packed, after any number of steps. */
static void test_close_while_packed_late(void **state) {
  (void)state;
  for (unsigned steps = 0; steps < OBJECTS; steps++) {
    iw_world w;
    hand_pool pool;
    iw_init(&w, 0);
    use_pool(&w, &pool);
    mini_put_first(&w.server, OBJECTS);
    kin_informer_options options = compact_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    mini_pass(&w.server, 1000);
    pool_run(&pool);
    w.script.sched.max_pieces = 1;
    for (unsigned i = 0; i < steps; i++) {
      (void)kin__sched_run(&w.script.sched, 0);
    }
    if (steps == OBJECTS / 2) {
      assert_in_range(iw_count_packed(&w), 1, OBJECTS - 1);
    }
    iw_finish(&w);
  }
}

/* A close waits for the work on the other thread. */
static void test_close_while_made(void **state) {
  (void)state;
  iw_world w;
  hand_pool pool;
  iw_init(&w, 0);
  use_pool(&w, &pool);
  mini_put_first(&w.server, OBJECTS);
  kin_informer_options options = compact_options(&w);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  script_run(&w.script);
  assert_int_equal(w.closed, 0);
  pool_run(&pool);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  iw_finish(&w);
}

/* RF: objects that a list brings unchanged stay as they are. */
static void test_relist_reuses(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  const kin_object *before = kin_store_get_key(store, "even/p2");
  uint64_t packed = iw_metrics(&w).packed_objects;
  mini_compact(&w.server);
  mini_expire_watches(&w.server);
  mini_pass(&w.server, 60000);
  assert_true(iw_status(&w, "").relists > 0);
  assert_ptr_equal(kin_store_get_key(store, "even/p2"), before);
  assert_int_equal(iw_metrics(&w).packed_objects, packed);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_indices(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "node";
  index.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(store, &index), 0);
  mini_pass(&w.server, 1000);
  assert_int_equal(kin_store_index_count(store, "node", KIN__LIT("n1")),
                   OBJECTS / 4);
  mini_delete(&w.server, 1);
  put_all(&w);
  assert_int_equal(kin_store_index_count(store, "node", KIN__LIT("n1")),
                   OBJECTS / 4);
  iw_finish(&w);
}

static void add_pointer_index(iw_world *w, const char *pointer) {
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = pointer;
  index.pointer = pointer;
  assert_int_equal(kin_store_add_index(kin_informer_store(w->informer), &index),
                   0);
}

static kin__packing *packing_of(const iw_world *w) {
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w->informer), "even/p0");
  assert_true(kin__object_is_packed(object));
  return kin__dictionary_packing(
      *(kin__dictionary *const *)(const void *)kin__object_body(object).data);
}

/* A program that holds as many inflated texts as there may be keeps neither an
 * index from being built nor the informer from following the server. */
static void test_indices_need_no_texts(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  kin__packing *packing = packing_of(&w);
  kin__inflated *most = kin__inflated_new(packing, KIN__INFLATED_MAX_BYTES);
  assert_non_null(most);
  for (int indices = 1; indices <= 2; indices++) {
    add_pointer_index(&w, indices == 1 ? "/spec/nodeName" : "/spec/text");
    mini_pass(&w.server, 1000);
    mini_delete(&w.server, 1);
    put_all(&w);
    iw_assert_truth(&w);
    assert_int_equal(
        kin_store_index_count(store, "/spec/nodeName", KIN__LIT("n1")),
        OBJECTS / 4);
  }
  assert_int_equal(w.errors, 0);
  kin__inflated_free(packing, most);
  iw_finish(&w);
}

static void count_update(kin_change_filter *filter, const kin_change *change,
                         void *data) {
  (void)filter;
  int *updates = data;
  *updates += change->type == KIN_EVENT_UPDATE;
}

/* A change filter keeps no text: it also compares when no further text may be
 * kept. */
static void test_change_filters_need_no_texts(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec/never"};
  iw_world w;
  open_packed(&w);
  int updates = 0;
  kin_change_filter_options options = KIN_CHANGE_FILTER_OPTIONS_INIT;
  options.on_change = count_update;
  options.data = &updates;
  options.fields = fields;
  options.field_count = 1;
  assert_int_equal(kin_change_filter_open(NULL, w.informer, &options), 0);
  mini_pass(&w.server, 1000);
  kin__packing *packing = packing_of(&w);
  kin__inflated *most = kin__inflated_new(packing, KIN__INFLATED_MAX_BYTES);
  assert_non_null(most);
  put_all(&w);
  kin__inflated_free(packing, most);
  assert_int_equal(updates, 0);
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  iw_finish(&w);
}

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

static void test_transformed_objects_are_packed(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = compact_options(&w);
  options.transform = transform;
  mini_put_first(&w.server, OBJECTS);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  put_all(&w);
  assert_int_equal(iw_count_packed(&w), OBJECTS);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w.informer), &cursor)) !=
         NULL) {
    kin_str value;
    assert_true(kin_object_label(object, "seen", &value));
    assert_true(kin__str_equal(value, KIN__LIT("yes")));
  }
  iw_finish(&w);
}

/* The front's frame of the state before, marked, is in the state after. Twice. */
static void test_events_pack_what_changed(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  w.server.version = 1000; /* shorter ones stay in the text */
  for (int i = 0; i < OBJECTS; i++) {
    w.server.padding[i] = 1000;
  }
  put_all(&w);
  const kin_store *store = kin_informer_store(w.informer);
  for (char mark = 'a'; mark < 'c'; mark++) {
    kin_object *before =
        kin_object_ref(kin_store_get(store, KIN_STR("odd/p1")));
    kin_str frames = kin__packed_frame(before);
    char *front = (char *)(uintptr_t)frames.data;
    memset(front, mark, 16);
    mini_put(&w.server, 1);
    mini_pass(&w.server, 100);
    const kin_object *after = kin_store_get(store, KIN_STR("odd/p1"));
    assert_ptr_not_equal(after, before);
    assert_memory_equal(kin__packed_frame(after).data, front, 16);
    kin_object_unref(before);
  }
  mini_delete(&w.server, 1);
  mini_pass(&w.server, 100);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* Objects, and their values, outlive the informer. */
static void test_objects_outlive(void **state) {
  (void)state;
  iw_world w;
  open_packed(&w);
  kin_store *store = kin_informer_store(w.informer);
  kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p2"));
  kin_object *read = kin_object_ref(kin_store_get_key(store, "even/p4"));
  kin_value value = kin_object_at(read, "/spec/nodeName");
  iw_close(&w);
  assert_true(kin_value_string_is(value, KIN__LIT("n0")));
  assert_true(kin_value_string_is(kin_object_at(held, "/spec/nodeName"),
                                  KIN__LIT("n2")));
  kin_object_unref(held);
  kin_object_unref(read);
  iw_finish(&w);
}

/* Sealed objects are plain. */
static void test_sealed_objects_are_plain(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin__memory_use_seals(w.script.memory, KIN_MUTATION_CHECK_CHECKSUM);
  kin_informer_options options = compact_options(&w);
  mini_put_first(&w.server, OBJECTS);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  put_all(&w);
  assert_int_equal(iw_count_packed(&w), 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_bad_value_is_refused(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = compact_options(&w);
  options.compact = (kin_compact)3;
  kin_informer *informer;
  assert_int_equal(kin__informer_open(&informer, &w.script.env, &options),
                   KIN_EINVAL);
  assert_null(informer);
  iw_finish(&w);
}

/* --- Other objects -------------------------------------------------------- */

enum { SHAPE_MAX = 2000 };

/* Tells the informer of an object with this text. */
static void tell_text(iw_world *w, int object, int version, const char *text) {
  char frame[SHAPE_MAX + 300];
  int length = snprintf(
      frame, sizeof frame,
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"p%d\","
      "\"namespace\":\"even\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},"
      "\"x\":\"%s\"}}\n",
      object, object, version, text);
  assert_true(length > 0 && (size_t)length < sizeof frame);
  script_body(&w->script, "watch=true", frame, (size_t)length);
}

/* All texts of a shape are alike, and those of two shapes have nothing in common
 * but the frame. */
static void tell(iw_world *w, int object, int version, uint64_t shape) {
  char text[SHAPE_MAX + 1];
  kin__random random = {.state = shape * 1000 + 1};
  for (int i = 0; i < SHAPE_MAX; i++) {
    text[i] = (char)('a' + (int)kin__random_below(&random, 26));
  }
  text[SHAPE_MAX] = '\0';
  char number[12];
  int digits = snprintf(number, sizeof number, "%d", version);
  memcpy(text, number, (size_t)digits);
  tell_text(w, object, version, text);
}

/* An object that cannot be packed. */
static void tell_noise(iw_world *w, int object, int version) {
  char text[SHAPE_MAX + 1];
  kin__random random = {.state = (uint64_t)object};
  for (int i = 0; i < SHAPE_MAX; i++) {
    text[i] = (char)('#' + (int)kin__random_below(&random, '~' - '#'));
    text[i] = text[i] == '\\' ? ' ' : text[i];
  }
  text[SHAPE_MAX] = '\0';
  tell_text(w, object, version, text);
}

/* Without a listener; then `tell` may follow. */
static void open_told(iw_world *w, const kin_informer_options *options) {
  iw_open_only(w, options);
  assert_int_equal(kin_informer_start(w->informer), 0);
  mini_serve(&w->server);
}

/* The objects change, so that they are packed worse than before: another
 * dictionary is made, and once more when they change again. Objects keep the
 * one that they were packed with. Some objects cannot be packed, and are tried
 * once more with each new dictionary. Then they do not count among the first
 * ones that it packs, beside which no others would look worse. */
static void test_dictionary_is_renewed(void **state) {
  (void)state;
  enum { ROUNDS = 4000, SHAPES = 3, NOISE = 200 };
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = compact_options(&w);
  open_told(&w, &options);
  uint64_t dictionaries[SHAPES] = {0};
  for (int shape = 0; shape < SHAPES; shape++) {
    for (int i = 0; i < ROUNDS; i++) {
      int version = 1000 + 2 * (shape * ROUNDS + i);
      tell(&w, shape * 100 + i % 50, version, (uint64_t)shape);
      if (shape == 0 && i >= SAMPLES && i < SAMPLES + NOISE) {
        tell_noise(&w, 1000 + i, version + 1);
      }
    }
    dictionaries[shape] = iw_metrics(&w).dictionaries;
  }
  assert_true(dictionaries[0] == 2); /* the first, and a thorough one */
  assert_true(dictionaries[1] > dictionaries[0]);
  assert_true(dictionaries[2] > dictionaries[1]);
  kin_store *store = kin_informer_store(w.informer);
  assert_int_equal(kin_store_count(store), SHAPES * 50 + NOISE);
  assert_int_equal(iw_count_packed(&w), SHAPES * 50);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    assert_true(kin_object_at(object, "/x").error == 0);
    size_t bytes = kin_object_memory(object);
    assert_true(bytes < SHAPE_MAX / 4 || !kin__object_is_packed(object));
  }
  iw_finish(&w);
}

/* --- Memory of the cache -------------------------------------------------- */

/* Most objects are deleted, and the rest is moved together. */
static void test_packed_objects_move(void **state) {
  (void)state;
  enum { MANY = 40000, KEPT = 10 };
  iw_world w;
  iw_init(&w, 0);
  assert_int_equal(kin__memory_use_slabs(w.script.memory), 0);
  kin_informer_options options = compact_options(&w);
  open_told(&w, &options);
  for (int i = 0; i < MANY; i++) {
    tell(&w, i, 1000 + i, 0);
  }
  kin_store *store = kin_informer_store(w.informer);
  assert_true(iw_count_packed(&w) > MANY - 100);
  size_t full = w.script.memory->arena->bytes;
  assert_true(full / 2 > (size_t)2 << 20); /* less is not moved */
  const kin_object *held =
      kin_object_ref(kin_store_get_key(store, "even/p29990"));
  kin_value value = kin_object_at(held, "/x");
  for (int i = 0; i < MANY; i++) {
    if (i % KEPT != 0) {
      char frame[200];
      int length = snprintf(
          frame, sizeof frame,
          "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"p%d\","
          "\"namespace\":\"even\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"}}}"
          "\n",
          i, i, 100000 + i);
      script_body(&w.script, "watch=true", frame, (size_t)length);
    }
  }
  assert_true(w.script.memory->arena->bytes < full / 2);
  assert_int_equal(kin_store_count(store), MANY / KEPT);
  assert_ptr_equal(kin_store_get_key(store, "even/p29990"), held);
  assert_int_equal(value.error, 0);
  for (int i = 0; i < MANY; i += KEPT) {
    char key[32];
    snprintf(key, sizeof key, "even/p%d", i);
    const kin_object *object = kin_store_get_key(store, key);
    assert_non_null(object);
    char version[12];
    snprintf(version, sizeof version, "%d", 1000 + i);
    kin_str text;
    assert_int_equal(
        kin_value_string(kin_object_at(object, "/x"), NULL, 0, &text), 0);
    assert_memory_equal(text.data, version, strlen(version));
  }
  kin_object_unref(held);
  iw_finish(&w);
}

/* max_bytes counts packed bytes, and drops the bodies of packed objects. */
static void test_bodies_are_dropped(void **state) {
  (void)state;
  enum { FEW = 60, MANY = 200 };
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = compact_options(&w);
  options.max_bytes = 100000; /* 46 plain objects, or 70 packed ones */
  options.on_max_bytes = iw_on_max_bytes;
  w.decision = KIN_MEMORY_DROP_BODIES;
  open_told(&w, &options);
  for (int i = 0; i < FEW; i++) {
    tell(&w, i, 1000 + i, 1000 + (uint64_t)i);
  }
  kin_store *store = kin_informer_store(w.informer);
  assert_int_equal(kin_store_count(store), FEW);
  assert_int_equal(iw_count_packed(&w), FEW);
  assert_int_equal(iw_metrics(&w).dropped_bodies, 0);
  for (int i = FEW; i < MANY && iw_metrics(&w).dropped_bodies == 0; i++) {
    tell(&w, i, 1000 + i, 1000 + (uint64_t)i);
  }
  size_t count = kin_store_count(store);
  assert_true(count > FEW && count < MANY);
  size_t whole = 0; /* the dictionary has all of their text */
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    whole += !kin_object_is_key_only(object);
  }
  assert_true(whole <= SAMPLES);
  assert_int_equal(iw_metrics(&w).dropped_bodies, count - whole);
  iw_finish(&w);
}

/* Objects do not fit while they are plain. When the dictionary is there, they
 * are packed, and the pause ends at once. */
static void test_dictionary_ends_a_pause(void **state) {
  (void)state;
  for (int cached = 0; cached < 2; cached++) {
    iw_world w;
    hand_pool pool;
    iw_init(&w, 0);
    use_pool(&w, &pool);
    for (int i = 0; i < OBJECTS; i++) {
      w.server.padding[i] = 1000;
    }
    mini_put_first(&w.server, cached * OBJECTS / 2);
    kin_informer_options options = compact_options(&w);
    options.max_bytes = 14000;
    assert_int_equal(iw_open(&w, &options), 0);
    mini_pass(&w.server, 1000);
    mini_put_first(&w.server, OBJECTS);
    mini_pass(&w.server, 10000);
    assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_PAUSED);
    assert_int_equal(w.last_code, KIN_EMAXBYTES);
    pool_run(&pool);
    w.script.env.start_work = NULL;
    mini_pass(&w.server, 1);
    assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_WHOLE);
    assert_int_equal(iw_count_packed(&w), OBJECTS);
    iw_assert_truth(&w);
    assert_int_equal(iw_metrics(&w).bounded_bytes, sum_of_bytes(&w));
    iw_finish(&w);
  }
}

/* Objects that the program held when the first dictionary came stay plain until
 * the next one. A pause in between ends when that one has packed them, within the
 * wait of a failed request. */
static void test_later_dictionary_ends_a_pause(void **state) {
  (void)state;
  enum { ROUNDS = 5000 };
  iw_world w;
  hand_pool pool;
  iw_init(&w, 0);
  use_pool(&w, &pool);
  kin_informer_options options = compact_options(&w);
  open_told(&w, &options);
  kin_store *store = kin_informer_store(w.informer);
  int version = 1000;
  for (int i = 0; i < OBJECTS; i++) {
    tell(&w, i, version++, 1);
  }
  const kin_object *held[OBJECTS];
  for (int i = 1; i < OBJECTS; i++) {
    char key[32];
    snprintf(key, sizeof key, "even/p%d", i);
    held[i] = kin_object_ref(kin_store_get_key(store, key));
    assert_non_null(held[i]);
  }
  pool_run(&pool);
  script_run(&w.script);
  for (int i = 0; i < ROUNDS && pool.work == NULL; i++) {
    tell(&w, 0, version++, 1);
  }
  for (int i = 1; i < OBJECTS; i++) {
    kin_object_unref(held[i]);
  }
  uint64_t full = kin_store_bytes(store);
  assert_int_equal(kin_informer_set_max_bytes(w.informer, full + 50), 0);
  tell_noise(&w, OBJECTS + 1, version);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_PAUSED);
  pool_run(&pool); /* the second dictionary */
  script_run(&w.script);
  assert_true(kin_store_bytes(store) < full / 2);
  assert_int_equal(iw_metrics(&w).bounded_bytes, kin_store_bytes(store));
  script_advance(&w.script, 61000);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_WHOLE);
  assert_int_equal(script_open_requests(&w.script), 1);
  iw_finish(&w);
}

/* --- Sweeps --------------------------------------------------------------- */

static int run_story(iw_world *w) {
  w->server.version = 1000;
  for (int i = 1; i < 13; i += 2) {
    w->server.padding[i] = 600; /* packed in halves */
  }
  mini_put_first(&w->server, 8);
  kin_informer_options options = compact_options(w);
  int err = iw_open(w, &options);
  if (err != 0) {
    return err;
  }
  mini_pass(&w->server, 1000);
  for (int i = 0; i < 8; i++) {
    mini_put(&w->server, i);
  }
  mini_pass(&w->server, 1000);
  mini_delete(&w->server, 1);
  mini_compact(&w->server);
  mini_expire_watches(&w->server);
  mini_put(&w->server, 12);
  mini_pass(&w->server, 150000);
  return 0;
}

static bool run_without_memory(size_t n) {
  return iw_run_without_memory(run_story, n);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 60);
}

static void test_sweep_splits(void **state) {
  (void)state;
  for (size_t split = 1; split < 700;
       split = split < 20 ? split + 3 : split + 97) {
    iw_world w;
    iw_init(&w, 0);
    w.script.split = split;
    assert_int_equal(run_story(&w), 0);
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_objects_are_packed),
      cmocka_unit_test(test_reads_are_smaller),
      cmocka_unit_test(test_samples_take_little),
      cmocka_unit_test(test_dictionary_is_made_elsewhere),
      cmocka_unit_test(test_dictionary_comes_while_listing),
      cmocka_unit_test(test_close_while_packed_late),
      cmocka_unit_test(test_dictionary_ends_a_pause),
      cmocka_unit_test(test_later_dictionary_ends_a_pause),
      cmocka_unit_test(test_close_while_made),
      cmocka_unit_test(test_relist_reuses),
      cmocka_unit_test(test_indices),
      cmocka_unit_test(test_indices_need_no_texts),
      cmocka_unit_test(test_change_filters_need_no_texts),
      cmocka_unit_test(test_transformed_objects_are_packed),
      cmocka_unit_test(test_events_pack_what_changed),
      cmocka_unit_test(test_objects_outlive),
      cmocka_unit_test(test_sealed_objects_are_plain),
      cmocka_unit_test(test_bad_value_is_refused),
      cmocka_unit_test(test_dictionary_is_renewed),
      cmocka_unit_test(test_packed_objects_move),
      cmocka_unit_test(test_bodies_are_dropped),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_splits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
