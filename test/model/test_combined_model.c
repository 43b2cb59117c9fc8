/* SPDX-License-Identifier: MIT */

/* Bounds, packing and moves of an informer's objects together, at random:
 * shards and bounds that are set at any time, compact storage whose
 * pool answers late or refuses, namespaces that come and go, a transform that
 * fails, streams whose bookmark is held, a gate before lists, resyncs, waits
 * for versions, memory that runs out. Callbacks may set shards and bounds,
 * change namespaces, or close the informer. Some mistakes need two of these at
 * once, and the other models have one each. After each step:
 *
 *   - the store's sums are those of its objects, and no sum is below 0
 *
 * When the world has calmed down, and nothing is bounded any more:
 *
 *   - the store is what the server has for the shard and the namespaces (RL-08,
 *     RW-10, SI-16)
 *   - all bodies are there, but of objects over max_object_bytes (WS-04)
 *   - an index is what the objects say (TS-02 to TS-04)
 *   - what each listener was told folds to the store, and every event was legal
 *     (SI-11, SI-12, SY-01), also behind a filter (EH-03)
 *   - the bytes counted for informer and client are the store's
 *   - each wait has ended
 *   - after the close nothing is left (SI-18)
 *
 * Usage: test_combined_model [SEEDS [FIRST]] */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/byte_bound.h"
#include "base/gate.h"
#include "base/random.h"
#include "base/str.h"
#include "object/dictionary.h"
#include "support/model_world.h"
#include "support/seeds.h"

#define STEPS 110
#define WORKS 16
#define SHARDS 4
#define REFUSED 7             /* transform fails on its multiples */
#define MAX_BYTES 8000        /* of some objects of the server */
#define MAX_OBJECT_BYTES 1000 /* an object without padding has less */
/* With this padding an object may have more than MAX_OBJECT_BYTES. */
#define LARGE 500
#define BELOW_ZERO (UINT64_C(1) << 40) /* what a sum at least is then */

typedef struct simulation {
  model_world m;
  kin__pool_work *works[WORKS]; /* begun, and not yet run */
  size_t work_count;
  kin__byte_bound client;
  kin__gate gate;
  bool has_gate;
  uint64_t refused; /* REFUSED, or 0: the transform does not fail */
  bool has_max_object_bytes;
  bool was_large[MINI_OBJECTS];
  recorder filtered;
  int waits;
  int ended_waits;
} simulation;

/* --- The pool ------------------------------------------------------------- */

static int pool_start(void *ctx, kin__pool_work *work) {
  simulation *s = ctx;
  if (s->work_count == WORKS || model_below(&s->m, 10) == 0) {
    return KIN_ENOMEM;
  }
  s->works[s->work_count++] = work;
  return 0;
}

static void run_a_work(simulation *s) {
  size_t i = (size_t)model_below(&s->m, s->work_count);
  kin__pool_work *work = s->works[i];
  s->works[i] = s->works[--s->work_count];
  work->run(work);
  work->done(work);
}

/* Runs some of what was begun, in any order; all of it in a calm world. */
static void pool_run(simulation *s) {
  bool goes_on = true;
  while (goes_on && s->work_count > 0) {
    run_a_work(s);
    goes_on = s->m.is_calm || model_below(&s->m, 2) == 0;
  }
  script_run(&s->m.w.script);
}

/* A loop hears of a pool between any two steps of its scheduler. What a step
 * leaves for the next one must stand that. */
static void on_step(void *ctx, bool is_before) {
  simulation *s = ctx;
  if (!is_before && s->work_count > 0 && model_below(&s->m, 8) == 0) {
    run_a_work(s);
  }
}

/* --- Shards and bounds ---------------------------------------------------- */

static void draw_shard(simulation *s) {
  s->m.shard.count = 1 + (uint32_t)model_below(&s->m, SHARDS);
  s->m.shard.index = (uint32_t)model_below(&s->m, s->m.shard.count);
}

static void set_shard(simulation *s) {
  draw_shard(s);
  assert_int_equal(kin_informer_set_shard(s->m.w.informer, s->m.shard.index,
                                          s->m.shard.count),
                   0);
}

static void set_max_bytes(simulation *s) {
  uint64_t max = model_below(&s->m, 3) == 0 ? 0 : model_below(&s->m, MAX_BYTES);
  assert_int_equal(kin_informer_set_max_bytes(s->m.w.informer, max), 0);
}

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  simulation *s = KIN__CONTAINER_OF(data, simulation, m.w);
  assert_ptr_equal(informer, s->m.w.informer);
  assert_true(event->bytes < BELOW_ZERO);
  if (s->m.is_calm || model_below(&s->m, 4) == 0) {
    return KIN_MEMORY_PAUSE;
  }
  if (model_below(&s->m, 3) == 0) {
    set_max_bytes(s);
  }
  return KIN_MEMORY_DROP_BODIES;
}

/* --- What is told --------------------------------------------------------- */

static bool acts_in_callback(simulation *s) {
  return !s->m.is_calm && !s->m.is_closed && model_below(&s->m, 20) == 0;
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  iw_on_error(informer, event, data);
  simulation *s = KIN__CONTAINER_OF(data, simulation, m.w);
  if (acts_in_callback(s)) {
    set_shard(s);
  }
  if (acts_in_callback(s)) {
    model_change_namespaces(&s->m);
  }
  if (acts_in_callback(s)) {
    set_max_bytes(s);
  }
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  simulation *s = data;
  (void)version;
  assert_ptr_equal(informer, s->m.w.informer);
  assert_true(code == 0 || code == KIN_ETIMEDOUT || code == KIN_ECLOSED);
  s->ended_waits++;
}

static void begin_wait(simulation *s) {
  kin_informer *informer = s->m.w.informer;
  const char *name = model_names[model_below(&s->m, 2)];
  int err;
  if (model_below(&s->m, 2) == 0) {
    err = kin_informer_verify(informer, name, 0, on_version, s);
  } else {
    char version[32];
    uint64_t timeout_ms = model_below(&s->m, 2) == 0 ? 3000 : 0;
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)s->m.w.server.version);
    err = kin_informer_wait_version(informer, name, version, timeout_ms,
                                    on_version, s);
  }
  s->waits += err == 0;
}

/* --- Objects -------------------------------------------------------------- */

/* Pure. Half of the objects stay as they are, and the informer's. */
static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  const simulation *s = data;
  uint64_t version = strtoull(kin_object_resource_version(in).data, NULL, 10);
  if (s->refused != 0 && version % s->refused == 0) {
    return KIN_EINVAL;
  }
  if (kin_object_name(in).data[1] % 2 != 0) {
    return 0;
  }
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

static bool is_of_app_1(const kin_object *object, void *data) {
  (void)data;
  kin_str label;
  return kin_object_label(object, "app", &label) &&
         kin__str_equal(label, KIN__LIT("a1"));
}

static void pad_object(simulation *s) {
  size_t object = (size_t)model_below(&s->m, MINI_OBJECTS);
  int padding = (int)model_below(&s->m, 3000);
  s->m.w.server.padding[object] = padding;
  s->was_large[object] |= padding >= LARGE;
}

/* --- Steps ---------------------------------------------------------------- */

enum {
  SET_SHARD = MODEL_MOVES,
  SET_MAX_BYTES,
  RUN_POOL,
  KNOW_SHARDS,
  BE_ABSENT,
  PAD_OBJECT,
  HOLD_BOOKMARK,
  EXPIRE_WATCHES,
  BEGIN_WAIT
};

static const int moves[] = {MODEL_BREAK_WATCHES,
                            MODEL_END_WATCHES,
                            MODEL_COMPACT,
                            MODEL_BREAK_REQUEST,
                            BE_ABSENT,
                            MODEL_CHANGE_LISTENER,
                            MODEL_CHANGE_LISTENER,
                            MODEL_LOSE_MEMORY,
                            MODEL_SPLIT,
                            MODEL_LIMIT,
                            MODEL_ACT,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            SET_SHARD,
                            SET_MAX_BYTES,
                            RUN_POOL,
                            RUN_POOL,
                            KNOW_SHARDS,
                            PAD_OBJECT,
                            HOLD_BOOKMARK,
                            EXPIRE_WATCHES,
                            BEGIN_WAIT};

static void make(simulation *s, int move) {
  mini_server *server = &s->m.w.server;
  switch (move) {
  case SET_SHARD:
    set_shard(s);
    break;
  case SET_MAX_BYTES:
    set_max_bytes(s);
    break;
  case RUN_POOL:
    pool_run(s);
    break;
  case KNOW_SHARDS:
    server->knows_shards = model_below(&s->m, 2) == 0;
    break;
  case BE_ABSENT:
    server->is_absent = model_below(&s->m, 3) == 0;
    break;
  case PAD_OBJECT:
    pad_object(s);
    break;
  case HOLD_BOOKMARK:
    server->holds_bookmark = model_below(&s->m, 3) == 0;
    break;
  case EXPIRE_WATCHES:
    mini_expire_watches(server);
    break;
  case BEGIN_WAIT:
    begin_wait(s);
    break;
  default:
    model_make(&s->m, (model_move)move);
    break;
  }
}

static void check_sums(const simulation *s) {
  kin_informer *informer = s->m.w.informer;
  if (s->m.is_closed) {
    return;
  }
  assert_true(informer->max_bytes.own.used < BELOW_ZERO);
  assert_true(informer->max_bytes.listed < BELOW_ZERO);
  const kin_store *store = kin_informer_store(informer);
  uint64_t bytes = 0;
  size_t count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    bytes += kin_object_memory(object);
    count++;
  }
  assert_int_equal(bytes, kin_store_bytes(store));
  assert_int_equal(count, kin_store_count(store));
}

static void step(simulation *s) {
  make(s, moves[model_below(&s->m, sizeof moves / sizeof moves[0])]);
  model_rest(&s->m);
  check_sums(s);
}

/* --- The world ------------------------------------------------------------ */

static void draw_script(simulation *s) {
  script_env *script = &s->m.w.script;
  if (model_below(&s->m, 2) == 0) {
    script_use_streams(script);
  }
  if (model_below(&s->m, 3) == 0) {
    script->sched.max_pieces = 1 + (uint32_t)model_below(&s->m, 3);
  }
  if (model_below(&s->m, 2) == 0) {
    script->env.start_work = pool_start;
    script->env.work_ctx = s;
    script->on_step = on_step;
    script->on_step_ctx = s;
  }
  if (model_below(&s->m, 3) == 0) {
    script->env.object_bytes = &s->client;
    s->client.max = 3000 + model_below(&s->m, MAX_BYTES);
  }
  if (model_below(&s->m, 3) != 0) {
    model_act_between_steps(&s->m);
  } else {
    s->has_gate = true;
    kin__gate_init(&s->gate, &script->sched, &script->timers, 1, 20000);
    script->env.lists = &s->gate;
  }
}

static kin_informer_options draw_options(simulation *s) {
  kin_informer_options options = iw_options(&s->m.w);
  options.on_error = on_error;
  options.on_max_bytes = on_max_bytes;
  options.page_size = (uint32_t)model_below(&s->m, 6);
  options.clear_when_absent = model_below(&s->m, 3) == 0;
  options.resync_ms = model_below(&s->m, 4) == 0 ? 40000 : 0;
  options.stale_after_ms = model_below(&s->m, 4) == 0 ? 60000 : 0;
  if (model_below(&s->m, 2) == 0) {
    options.max_bytes = 3000 + model_below(&s->m, MAX_BYTES);
  }
  if (model_below(&s->m, 3) == 0) {
    options.max_object_bytes = MAX_OBJECT_BYTES;
    s->has_max_object_bytes = true;
  }
  if (model_below(&s->m, 3) != 0 && kin__pack_is_supported()) {
    options.compact = KIN_COMPACT_FAST;
    s->m.w.script.env.compact_samples = 4;
  }
  if (model_below(&s->m, 2) == 0) {
    options.transform = transform;
    options.transform_data = s;
    s->refused = model_below(&s->m, 2) == 0 ? REFUSED : 0;
  }
  draw_shard(s);
  options.shard_index = s->m.shard.index;
  options.shard_count = s->m.shard.count;
  return options;
}

static void add_index(simulation *s, const char *name, const char *pointer) {
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = name;
  index.pointer = pointer;
  kin_store *store = kin_informer_store(s->m.w.informer);
  assert_int_equal(kin_store_add_index(store, &index), 0);
}

static void open_world(simulation *s, uint64_t seed) {
  memset(s, 0, sizeof *s);
  model_init(&s->m, seed);
  draw_script(s);
  for (int i = 0; i < 10; i++) {
    model_change_object(&s->m);
  }
  kin_informer_options options = draw_options(s);
  model_open(&s->m, &options);
  recorder_init(&s->filtered);
  kin_listener_options listener = recorder_options(&s->filtered);
  listener.filter = is_of_app_1;
  assert_int_equal(
      kin_informer_listen(s->m.w.informer, &listener, &s->filtered.listener),
      0);
  add_index(s, "node", "/spec/nodeName");
  add_index(s, "app", "/metadata/labels/app");
}

/* --- The end -------------------------------------------------------------- */

static void check_index(const kin_store *store, const char *name, char letter,
                        const size_t *counts, size_t values) {
  for (size_t i = 0; i < values; i++) {
    char value[24];
    snprintf(value, sizeof value, "%c%zu", letter, i);
    assert_int_equal(kin_store_index_count(store, name, kin__cstr(value)),
                     counts[i]);
  }
}

/* The server's object i has the app i % 3 and the node i % 4, which is part of
 * the body. */
static void check_objects(const simulation *s) {
  const kin_store *store = kin_informer_store(s->m.w.informer);
  size_t apps[3] = {0};
  size_t nodes[4] = {0};
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    snprintf(key, sizeof key, "%s/p%d", model_names[i % 2], i);
    const kin_object *object = kin_store_get_key(store, key);
    if (object == NULL) {
      continue;
    }
    bool is_whole = !kin_object_is_key_only(object);
    if (!is_whole && !(s->has_max_object_bytes && s->was_large[i])) {
      fail_msg("%s has no body", key);
    }
    apps[i % 3]++;
    nodes[i % 4] += is_whole;
  }
  check_index(store, "app", 'a', apps, 3);
  check_index(store, "node", 'n', nodes, 4);
  assert_int_equal(s->filtered.count, apps[1]);
}

static void check_bytes(const simulation *s) {
  kin_informer *informer = s->m.w.informer;
  uint64_t bytes = kin_store_bytes(kin_informer_store(informer));
  assert_int_equal(informer->max_bytes.listed, 0);
  assert_int_equal(informer->max_bytes.own.used, bytes);
  if (s->m.w.script.env.object_bytes != NULL) {
    assert_int_equal(s->client.used, bytes);
  }
}

static void calm_down(simulation *s) {
  model_calm_down(&s->m);
  s->m.w.server.holds_bookmark = false;
  s->client.max = 0;
  assert_int_equal(kin_informer_set_max_bytes(s->m.w.informer, 0), 0);
  for (int i = 0; i < 3; i++) {
    pool_run(s);
    model_pass(&s->m);
    mini_bookmark(&s->m.w.server);
  }
}

/* The close waits for the work that the pool has begun: its memory is the
 * informer's. */
static void finish(simulation *s) {
  s->m.act_in = 0;
  s->m.is_calm = true;
  if (!s->m.is_closed) {
    s->m.is_closed = true;
    assert_int_equal(kin_informer_close(s->m.w.informer, iw_on_closed, &s->m.w),
                     0);
  }
  script_run(&s->m.w.script);
  pool_run(s);
  assert_int_equal(s->m.w.closed, 1);
  assert_int_equal(s->waits, s->ended_waits);
  assert_int_equal(s->client.used, 0);
  if (s->has_gate) {
    kin__gate_finish(&s->gate);
  }
  iw_finish(&s->m.w);
}

static void run(uint64_t seed) {
  static simulation s;
  open_world(&s, seed);
  for (int i = 0; i < STEPS; i++) {
    step(&s);
  }
  calm_down(&s);
  assert_true(kin_informer_has_synced(s.m.w.informer));
  model_check_namespaces(&s.m, true);
  model_check_store(&s.m, s.refused);
  model_check_listeners(&s.m);
  check_sums(&s);
  check_objects(&s);
  check_bytes(&s);
  assert_int_equal(s.waits, s.ended_waits);
  finish(&s);
}

static void run_and_close_early(uint64_t seed) {
  static simulation s;
  open_world(&s, seed);
  s.m.may_close = true;
  for (uint64_t i = model_below(&s.m, STEPS); i > 0 && !s.m.is_closed; i--) {
    step(&s);
  }
  finish(&s);
}

static void test_calm_ends_with_the_truth(void **state) {
  (void)state;
  seeds_run(run);
}

static void test_close_at_any_moment(void **state) {
  (void)state;
  seeds_run(run_and_close_early);
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 400, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_calm_ends_with_the_truth, seeds_tell),
      cmocka_unit_test_teardown(test_close_at_any_moment, seeds_tell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
