/* SPDX-License-Identifier: MIT */
/* Random runs of a controller of each kind against a server: objects change
 * while lists, resyncs and builds of indices are in the middle of their steps,
 * watches break and expire, and memory runs out. In the end its store is what
 * the server has, its indices are those of its objects, and its handlers were
 * told just that. Proves TS-07 and TS-08 under all of this.
 *
 * usage: test_controller_model [SEEDS [FIRST]]; a failure names its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/random.h"
#include "base/str.h"
#include "support/controller_world.h"
#include "support/indices.h"
#include "support/seeds.h"

#define OBJECTS 12u
#define MAX_INDICES 4u

static kin__random rng;
static cw_world world;
static unsigned indices;
static uint64_t total_relists;
static uint64_t total_retries;

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&rng, bound);
}

static bool chance(unsigned percent) {
  return below(100) < percent;
}

static void add_index(void) {
  char name[16];
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  snprintf(name, sizeof name, "i%u", indices);
  index.name = name;
  index.pointer =
      indices % 2 == 0 ? "/metadata/resourceVersion" : "/metadata/name";
  if (indices < MAX_INDICES && world.store != NULL) {
    int err = kin_store_add_index(world.store, &index);
    assert_true(err == 0 || err == KIN_ENOMEM);
    indices += err == 0;
  }
}

static void change_object(void) {
  mini_server *server = &world.vh.server;
  int object = (int)below(OBJECTS);
  if (server->versions[object] == 0 || chance(50)) {
    mini_put(server, object);
  } else if (chance(50)) {
    mini_delete(server, object);
  } else {
    mini_recreate(server, object);
  }
}

static void change_memory(void) {
  fail_alloc *memory = &world.vh.memory;
  bool is_out = memory->fail_at == 0 && chance(70);
  atomic_store(&memory->calls, 0);
  memory->fail_at = is_out ? 1 + below(30) : 0;
  memory->keeps_failing = is_out && chance(50);
}

/* In the middle of lists, resyncs and the building of indices. */
static void between_tasks(void *ctx, bool is_before) {
  (void)ctx;
  if (!is_before && world.on_closed == 0 && !world.is_closing) {
    if (chance(4)) {
      add_index();
    } else if (chance(1)) {
      change_memory();
    }
  }
}

static void do_step(void) {
  mini_server *server = &world.vh.server;
  unsigned what = below(100);
  if (what < 45) {
    change_object();
  } else if (what < 60) {
    mini_serve(server);
  } else if (what < 75) {
    mini_pass(server, below(3000));
  } else if (what < 79) {
    mini_break_watches(server);
  } else if (what < 82) {
    mini_end_watches(server);
  } else if (what < 86) {
    mini_compact(server);
    mini_expire_watches(server);
  } else if (what < 89) {
    mini_bookmark(server);
  } else if (what < 92) {
    add_index();
  } else if (what < 95) {
    server->honours_limit = chance(50);
    server->sends_together = chance(50);
  } else {
    change_memory();
  }
}

static void begin_run(uint64_t seed) {
  rng = (kin__random){seed};
  indices = 0;
  cw_init(&world, (cw_kind)below(CW_KINDS), 0);
  world.log.is_terse = true;
  /* client-go's FIFO, and a queue that is behind its list, may be ahead. */
  world.log.is_ahead = true;
  world.options.retry_on_error = world.kind >= CW_QUEUE_FIFO;
  world.options.resync_ms = chance(50) ? 1000 + below(2000) : 0;
  world.resource.page_size = 1 + below(5);
  world.vh.script.sched.max_pieces = 1 + below(4);
  world.vh.script.split = chance(30) ? 1 + below(50) : 0;
  if (chance(50)) {
    script_use_streams(&world.vh.script);
  }
  mini_put_first(&world.vh.server, (int)below(OBJECTS));
  assert_int_equal(cw_open(&world), 0);
  world.vh.script.on_step = between_tasks;
}

static void check_indices(void) {
  for (unsigned i = 0; i < indices; i++) {
    char name[16];
    snprintf(name, sizeof name, "i%u", i);
    assert_true(kin_store_index_ready(world.store, name));
    kin_cursor cursor = {0};
    const kin_object *object;
    while ((object = kin_store_next(world.store, &cursor)) != NULL) {
      kin_str value = i % 2 == 0 ? kin_object_resource_version(object)
                                 : kin_object_name(object);
      kin_index_cursor found;
      assert_int_equal(kin_store_by_index(world.store, name, value, &found), 0);
      assert_ptr_equal(kin_store_by_index_next(world.store, &found), object);
      assert_null(kin_store_by_index_next(world.store, &found));
    }
    cursor = (kin_cursor){0};
    kin_str value;
    size_t values = 0;
    while (kin_store_index_next_value(world.store, name, &cursor, &value)) {
      values++;
    }
    assert_int_equal(values, kin_store_count(world.store));
  }
}

static void run_seed(uint64_t seed) {
  begin_run(seed);
  unsigned steps = 30 + below(100);
  for (unsigned i = 0; i < steps; i++) {
    do_step();
  }
  world.vh.script.on_step = NULL;
  world.vh.memory.fail_at = 0;
  world.vh.memory.keeps_failing = false;
  mini_pass(&world.vh.server, 200000);
  if (world.kind != CW_QUEUE_FIFO) { /* whose lists delete nothing */
    cw_assert_truth(&world);
    check_indices();
  }
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_controller_get_status(world.controller, &status), 0);
  total_relists += status.relists;
  kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
  assert_int_equal(kin_controller_get_stats(world.controller, &stats), 0);
  assert_true(stats.retries <= stats.failures);
  assert_true(stats.failures <= stats.items);
  total_retries += stats.retries;
  cw_finish(&world);
}

static void test_controller_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(total_relists >= seeds_count);
    assert_true(total_retries >= seeds_count / 10);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 200, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_controller_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
