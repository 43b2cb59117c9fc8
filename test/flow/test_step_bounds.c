/* SPDX-License-Identifier: MIT */

/* One step of any task does a bounded piece of work. Gauges of what tasks work
 * on are read after each step of a whole life: a gauge that moves by more than
 * the bound of a step fails the test, and so does one that has not moved as far
 * as the world is large, since then its task was not seen. The bounds are
 * tried one by one: two pieces a step while the clock stands still, and any
 * number while the clock moves by a slice at each look. Proves SI-18 and TS-07
 * for worlds larger than a step. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/slab_core.h"
#include "dispatch/listener.h"
#include "informer/scope.h"
#include "store/index.h"
#include "informer/informer.h"
#include "support/hand_source.h"
#include "support/virtual_host.h"

#define OBJECTS 200u
#define WAITS 100u
#define SCOPES 40u
#define CROWD 100u /* listeners that hear of syncs alone */
/* Small pieces between two looks at the clock, see base/sched.h. */
#define BETWEEN_LOOKS 16u

typedef enum gauge {
  STAGE,     /* objects of a list that is not applied */
  QUEUE,     /* keys */
  PROCESSED, /* keys so far */
  STORED,
  TOLD, /* callbacks of handlers */
  ROOM, /* the listener for which room is made next */
  SENT, /* the listener that a change comes to next */
  SWEPT,
  INDEXED,
  REPLAYED,
  RESYNCED,
  WAITED,  /* callbacks of waits for a version */
  CHECKED, /* slots that the mutation check has passed */
  BLOCKS,  /* of memory */
  GAUGES
} gauge;

static const char *const names[] = {
    "stage", "queue", "processed", "stored",   "told",  "room",    "sent",
    "swept", "index", "replayed",  "resynced", "waits", "checked", "blocks"};

typedef struct world {
  virtual_host vh;
  hand_source source;
  bool is_refused;
  kin_informer *informer; /* NULL before and after */
  kin_listener *late;
  bool is_ticking;
  int64_t now[GAUGES];
  int64_t moved[GAUGES]; /* in all */
  int64_t most[GAUGES];  /* in one step */
  unsigned told;
  unsigned waited;
  unsigned steps;
  int64_t blocks_at_closed;
  bool has_host_closed;
} world;

/* A cursor that has come to its end is at KIN__NO_SLOT. */
static int64_t cursor(uint32_t slot) {
  return slot != KIN__NO_SLOT ? (int64_t)slot : 0;
}

/* Where a walk over listeners is; `before` if it is at its end or beginning. */
static int64_t listener_at(const kin__dispatcher *dispatcher,
                           const kin__link *node, int64_t before) {
  return node != NULL && node != &dispatcher->listeners
             ? (int64_t)KIN__CONTAINER_OF(node, const kin_listener, node)
                   ->number
             : before;
}

static void read_listeners(world *w) {
  const kin__dispatcher *dispatcher = &w->informer->dispatcher;
  const kin__dispatcher_walk *walk = dispatcher->walk;
  if (walk != NULL) {
    w->now[ROOM] = listener_at(dispatcher, walk->reserving, w->now[ROOM]);
  }
  if (kin__dispatcher_is_sending(dispatcher)) {
    w->now[SENT] = listener_at(dispatcher, walk->telling, w->now[SENT]);
  }
}

static void read_gauges(world *w) {
  w->now[TOLD] = w->told;
  w->now[WAITED] = w->waited;
  w->now[BLOCKS] = (int64_t)atomic_load(&w->vh.memory.live_blocks);
  const kin_informer *informer = w->informer;
  if (informer == NULL) {
    return;
  }
  const kin__scope *scope = informer->scopes.places[0];
  w->now[STAGE] = (int64_t)kin__stage_places(&scope->feed.stage);
  w->now[QUEUE] = (int64_t)informer->fifo.depth;
  w->now[PROCESSED] = (int64_t)informer->processed_keys;
  w->now[SWEPT] = scope->apply.cursor;
  w->now[CHECKED] =
      informer->mutation_check != NULL ? informer->mutation_check->slot : 0;
  if (!informer->member.is_closing) {
    read_listeners(w);
    const kin__index *index = informer->store.indices;
    w->now[STORED] = (int64_t)kin_store_count(&informer->store);
    w->now[INDEXED] = index != NULL ? cursor(index->built) : 0;
    w->now[REPLAYED] = w->late != NULL ? cursor(w->late->replay) : 0;
    w->now[RESYNCED] = w->late != NULL ? cursor(w->late->resync) : 0;
  }
}

static bool is_cursor(gauge g) {
  return g == ROOM || g == SENT || g == SWEPT || g == INDEXED ||
         g == REPLAYED || g == RESYNCED || g == CHECKED;
}

static void note_step(world *w, const int64_t *before) {
  read_gauges(w);
  if (w->has_host_closed) { /* its client may free what things live on */
    assert_int_equal(w->now[BLOCKS], before[BLOCKS]);
  }
  w->has_host_closed = w->vh.is_closed;
  for (gauge g = 0; g < GAUGES; g++) {
    int64_t by = w->now[g] - before[g];
    if (by < 0) {
      by = is_cursor(g) ? 0 : -by; /* a cursor begins again */
    }
    w->moved[g] += by;
    w->most[g] = by > w->most[g] ? by : w->most[g];
  }
}

static void run_deferred(script_env *script) {
  kin__deferred *deferred =
      KIN__CONTAINER_OF(script->deferred.next, kin__deferred, node);
  kin__link_remove(&deferred->node);
  script->sched.is_stepping = true; /* the clock moves, see below */
  deferred->cb(deferred);
  script->sched.is_stepping = false;
}

/* As script_run, but that it looks at the gauges after each step, and after
 * each deferred call. */
static void run(world *w) {
  script_env *script = &w->vh.script;
  read_gauges(w);
  do {
    int64_t before[GAUGES];
    while (!kin__link_is_empty(&script->deferred)) {
      memcpy(before, w->now, sizeof before);
      run_deferred(script);
      note_step(w, before);
    }
    while (kin__sched_has_work(&script->sched)) {
      memcpy(before, w->now, sizeof before);
      kin__sched_run(&script->sched, 0); /* one step */
      w->steps++;
      note_step(w, before);
    }
  } while (!kin__link_is_empty(&script->deferred));
}

static void pass(world *w, uint64_t ms) {
  script_env *script = &w->vh.script;
  script->now_ns += ms * 1000000u;
  while (kin__timers_run(&script->timers, script->now_ns / 1000000u, 1)) {
  }
  run(w);
}

/* A look inside a step takes as long as a slice. */
static uint64_t ticking_ns(void *ctx) {
  world *w = ctx;
  script_env *script = &w->vh.script;
  if (w->is_ticking && script->sched.is_stepping) {
    script->now_ns += script->sched.slice_ns;
  }
  return script->now_ns;
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ((world *)data)->told++;
}

static void on_waited(kin_informer *informer, int code, const char *version,
                      void *data) {
  (void)informer;
  (void)code;
  (void)version;
  ((world *)data)->waited++;
}

static void on_closed(void *data) {
  world *w = data;
  w->informer = NULL;
  w->blocks_at_closed = (int64_t)atomic_load(&w->vh.memory.live_blocks);
}

static kin_listener *add_listener(world *w, uint32_t resync_ms) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.data = w;
  options.resync_ms = resync_ms;
  kin_listener *listener;
  assert_int_equal(kin_informer_listen(w->informer, &options, &listener), 0);
  return listener;
}

static void add_crowd(world *w) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_relisted = on_event;
  options.data = w;
  for (unsigned i = 0; i < CROWD; i++) {
    assert_int_equal(kin_informer_listen(w->informer, &options, NULL), 0);
  }
}

static void open_world(world *w, bool is_ticking) {
  memset(w, 0, sizeof *w);
  w->is_ticking = is_ticking;
  vh_init(&w->vh, 0);
  script_env *script = &w->vh.script;
  script->sched.now_ns = ticking_ns;
  script->sched.ctx = w;
  script->env.clock = (kin__clock){ticking_ns, w};
  script->env.stream_refused = &w->is_refused;
  script->sched.max_pieces = is_ticking ? UINT32_MAX : 2;
  kin__memory_use_seals(script->memory, KIN_MUTATION_CHECK_CHECKSUM);
  hand_source_init(&w->source, NULL);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &w->source.lister_watcher;
  options.on_closed = on_closed;
  options.data = w;
  int err = kin__informer_open_on(&w->informer, &w->vh.host, &options);
  assert_int_equal(err, 0);
  add_listener(w, 0);
  add_crowd(w);
  assert_int_equal(kin_informer_start(w->informer), 0);
  run(w);
}

static void list(world *w, unsigned from, unsigned to, const char *version) {
  for (unsigned i = from; i < to; i++) {
    char text[32];
    snprintf(text, sizeof text, "p%u@%u", i, i + 1);
    hand_source_item(&w->source, text);
  }
  hand_source_list_end(&w->source, version, NULL);
  run(w);
}

static void wait_for(world *w, const char *version) {
  for (unsigned i = 0; i < WAITS; i++) {
    assert_int_equal(
        kin_informer_wait_version(w->informer, NULL, version, 0, on_waited, w),
        0);
  }
  run(w);
}

/* The first list, an index, a late listener with a resync, waits, a list that
 * is given up, one that takes half of the objects away, the end. */
static void live(world *w) {
  list(w, 0, OBJECTS, "1000");
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "name";
  index.pointer = "/metadata/name";
  kin_store *store = kin_informer_store(w->informer);
  assert_int_equal(kin_store_add_index(store, &index), 0);
  run(w);
  assert_true(kin_store_index_ready(store, "name"));
  w->late = add_listener(w, 1000);
  run(w);
  pass(w, 1000);
  pass(w, 1000);
  assert_int_equal(kin_feed_open(w->source.feed), 0);
  wait_for(w, "2000");
  hand_source_bookmark(&w->source, "2000");
  run(w);
  assert_int_equal(w->waited, WAITS);
  hand_source_fail(&w->source, 410, "Expired", true);
  pass(w, 60000);
  for (unsigned i = 0; i < OBJECTS; i++) {
    hand_source_item(&w->source, "q@1");
  }
  hand_source_fail(&w->source, 500, "InternalError", false);
  pass(w, 60000);
  list(w, OBJECTS / 2, OBJECTS, "3000");
  assert_int_equal(kin_store_count(store), OBJECTS / 2);
  wait_for(w, "9999");
  kin_listener_pause(w->late);
  assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  w->late = NULL;
  run(w);
  assert_null(w->informer);
  assert_int_equal(w->waited, 2 * WAITS);
}

static void expect(const world *w, gauge g, int64_t most, int64_t in_all) {
  if (w->most[g] > most || w->moved[g] < in_all) {
    fail_msg("%s: moved by %lld in a step of at most %lld, by %lld of at least "
             "%lld in all",
             names[g], (long long)w->most[g], (long long)most,
             (long long)w->moved[g], (long long)in_all);
  }
}

/* `pieces` that may take long are looked at one by one, small ones not. The last
 * move of a cursor, to KIN__NO_SLOT, is not seen. */
static void expect_bounds(const world *w, int64_t pieces, int64_t small) {
  expect(w, STAGE, small, 3 * OBJECTS - OBJECTS / 2);
  expect(w, QUEUE, small, 3 * OBJECTS);
  expect(w, PROCESSED, pieces, OBJECTS + OBJECTS / 2);
  expect(w, STORED, pieces, OBJECTS + OBJECTS / 2);
  expect(w, TOLD, pieces, 3 * OBJECTS);
  expect(w, ROOM, small, CROWD - small);
  expect(w, SENT, small, CROWD - small);
  expect(w, SWEPT, small, OBJECTS - small);
  expect(w, INDEXED, pieces, OBJECTS - small);
  expect(w, REPLAYED, small, OBJECTS - small);
  expect(w, RESYNCED, small, OBJECTS - small);
  expect(w, WAITED, pieces, 2 * WAITS);
  expect(w, CHECKED, small, OBJECTS - small);
  /* An object is a block; a value, a posting's segment and the like are some
   * more. A table's first segments, which are short, are freed together. */
  expect(w, BLOCKS, 4 * small + 16, 4 * OBJECTS);
}

static void test_pieces_are_bounded(void **state) {
  (void)state;
  world w;
  open_world(&w, false);
  live(&w);
  expect_bounds(&w, 2, 2);
  vh_finish(&w.vh);
}

static void test_time_is_bounded(void **state) {
  (void)state;
  world w;
  open_world(&w, true);
  live(&w);
  expect_bounds(&w, 1, BETWEEN_LOOKS);
  vh_finish(&w.vh);
}

/* Listeners beyond a slice go behind the close callback, and the host waits for
 * the last of them. */
static void test_a_host_waits_for_listeners(void **state) {
  (void)state;
  world w;
  open_world(&w, false);
  list(&w, 0, 1, "1");
  vh_close(&w.vh);
  run(&w);
  assert_null(w.informer);
  assert_true(w.vh.is_closed);
  assert_true(w.blocks_at_closed - w.now[BLOCKS] >= CROWD - 2);
  vh_finish(&w.vh);
}

/* Scopes beyond a slice go behind the close callback, a slice in each call. */
static void test_scopes_are_freed_in_steps(void **state) {
  (void)state;
  world w;
  char texts[SCOPES][8];
  const char *namespaces[SCOPES];
  memset(&w, 0, sizeof w);
  vh_init(&w.vh, 0);
  w.vh.script.sched.max_pieces = 2;
  for (unsigned i = 0; i < SCOPES; i++) {
    snprintf(texts[i], sizeof texts[i], "ns-%u", i);
    namespaces[i] = texts[i];
  }
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.namespaces = namespaces;
  options.namespace_count = SCOPES;
  options.on_closed = on_closed;
  options.data = &w;
  kin_informer *informer;
  assert_int_equal(kin__informer_open_on(&informer, &w.vh.host, &options), 0);
  vh_close(&w.vh);
  run(&w);
  assert_true(w.vh.is_closed);
  assert_true(w.blocks_at_closed - w.now[BLOCKS] >= SCOPES - 2);
  assert_in_range(w.most[BLOCKS], 1, SCOPES / 2);
  vh_finish(&w.vh);
}

/* Room that was made for a listener is lost, and there is none for it when the
 * change comes to it: the walk goes on when there is memory. */
static void test_a_walk_waits_for_memory(void **state) {
  (void)state;
  world w;
  open_world(&w, false);
  w.late = add_listener(&w, 0);
  list(&w, 0, 1, "1000");
  assert_int_equal(kin_feed_open(w.source.feed), 0);
  unsigned told = w.told;
  hand_source_event(&w.source, KIN_WATCH_MODIFIED, "p0@1001");
  const kin__dispatcher *dispatcher = &w.informer->dispatcher;
  while (!kin__dispatcher_is_sending(dispatcher)) {
    kin__sched_run(&w.vh.script.sched, 0);
  }
  kin_listener_pause(w.late); /* it needs an overflow now */
  w.vh.memory.fail_at = atomic_load(&w.vh.memory.calls) + 1;
  w.vh.memory.keeps_failing = true;
  run(&w);
  pass(&w, 1000);
  assert_true(kin__dispatcher_is_sending(dispatcher));
  w.vh.memory.fail_at = 0;
  pass(&w, 100);
  assert_false(kin__dispatcher_is_sending(dispatcher));
  kin_listener_resume(w.late);
  run(&w);
  assert_int_equal(w.told, told + 2);
  vh_close(&w.vh);
  run(&w);
  vh_finish(&w.vh);
}

/* Its memory goes back slab by slab then, see test_stage.c. The objects are not
 * the client's here, so nothing else lies there. */
static void test_a_stage_lies_in_slabs(void **state) {
  (void)state;
  world w;
  open_world(&w, false);
  assert_int_equal(kin__memory_use_slabs(w.vh.script.memory), 0);
  const kin__arena *arena = w.vh.script.memory->arena;
  assert_int_equal(arena->bytes, 0);
  hand_source_item(&w.source, "p0@1");
  assert_true(arena->bytes > 0);
  list(&w, 1, OBJECTS, "1000");
  vh_close(&w.vh);
  run(&w);
  vh_finish(&w.vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces_are_bounded),
      cmocka_unit_test(test_time_is_bounded),
      cmocka_unit_test(test_a_host_waits_for_listeners),
      cmocka_unit_test(test_scopes_are_freed_in_steps),
      cmocka_unit_test(test_a_walk_waits_for_memory),
      cmocka_unit_test(test_a_stage_lies_in_slabs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
