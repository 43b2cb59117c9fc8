/* SPDX-License-Identifier: MIT */
/* Random runs of the delta queue against an array of deltas in order of
 * arrival, from which order and content follow by definition (DF-01, DF-03,
 * DF-04, DF-14).
 *
 * usage: test_delta_fifo_model [SEEDS [FIRST]]; a failure names its seed. */
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
#include "queue/delta_fifo.h"
#include "support/fail_alloc.h"
#include "support/objects.h"
#include "support/seeds.h"

#define MAX_KEYS 1500u
#define MAX_DELTAS 20000u

/* One queued delta. */
typedef struct record {
  kin__delta delta;
  unsigned key;
} record;

static struct {
  fail_alloc memory;
  fail_alloc objects;
  kin__delta_fifo fifo;
  record records[MAX_DELTAS]; /* all that is queued, in order of arrival */
  size_t count;
  uint64_t turn_of[MAX_KEYS]; /* when it was enqueued; 0: it is not */
  uint64_t turns;
  bool is_known[MAX_KEYS];
  unsigned keys; /* of this run */
} m;

static kin__random rng;
static uint64_t total_failures;
static uint64_t total_merged;
static uint64_t total_ignored;

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&rng, bound);
}

static bool chance(unsigned percent) {
  return below(100) < percent;
}

static unsigned number_of(kin_str key) {
  unsigned number = MAX_KEYS;
  assert_int_equal(sscanf(key.data, "ns/k%u", &number), 1);
  assert_true(number < m.keys);
  return number;
}

static bool is_known(void *ctx, kin_str key, uint32_t hash) {
  assert_ptr_equal(ctx, &m);
  assert_int_equal(hash, kin__hash(&m.fifo.seed, key));
  return m.is_known[number_of(key)];
}

static record *newest_of(unsigned key) {
  for (size_t i = m.count; i > 0; i--) {
    if (m.records[i - 1].key == key) {
      return &m.records[i - 1];
    }
  }
  return NULL;
}

/* What a successful push does to the array. */
static void model_push(unsigned key, const kin__delta *delta) {
  record *newest = newest_of(key);
  if (delta->type == KIN_DELTA_DELETED) {
    bool has_known = m.fifo.is_known != NULL && m.is_known[key];
    if (newest == NULL && !has_known) {
      total_ignored++;
      return;
    }
    if (newest != NULL && newest->delta.type == KIN_DELTA_DELETED &&
        newest->delta.scope == delta->scope) {
      total_merged++;
      if (newest->delta.is_tombstone) {
        kin_object_unref(newest->delta.object);
        newest->delta = *delta;
        kin_object_ref(delta->object);
      }
      return;
    }
  }
  if (newest == NULL) {
    m.turn_of[key] = ++m.turns;
  }
  assert_true(m.count < MAX_DELTAS);
  m.records[m.count++] = (record){.delta = *delta, .key = key};
  kin_object_ref(delta->object);
}

/* The key whose turn it is; MAX_KEYS if none. */
static unsigned model_first(void) {
  unsigned first = MAX_KEYS;
  for (unsigned key = 0; key < m.keys; key++) {
    if (m.turn_of[key] != 0 &&
        (first == MAX_KEYS || m.turn_of[key] < m.turn_of[first])) {
      first = key;
    }
  }
  return first;
}

static void model_drop(unsigned key) {
  size_t kept = 0;
  for (size_t i = 0; i < m.count; i++) {
    if (m.records[i].key == key) {
      kin_object_unref(m.records[i].delta.object);
    } else {
      m.records[kept++] = m.records[i];
    }
  }
  m.count = kept;
  m.turn_of[key] = 0;
}

static void do_push(void) {
  unsigned key = below(m.keys);
  char text[16];
  snprintf(text, sizeof text, "ns/k%u", key);
  static unsigned version;
  kin__delta delta = {.object =
                          object_keyed(&m.objects.allocator, text, ++version),
                      .generation = below(10),
                      .scope = below(3),
                      .type = (uint8_t)(1 + below(5)),
                      .reason = (uint8_t)below(4),
                      .is_initial = chance(50)};
  delta.is_tombstone = delta.type == KIN_DELTA_DELETED && chance(40);
  if (chance(20)) {
    m.memory.fail_at = m.memory.calls + 1 + below(3);
  }
  int err = kin__delta_fifo_push(&m.fifo, &delta);
  m.memory.fail_at = 0;
  if (err == 0) {
    model_push(key, &delta);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    total_failures++;
  }
  kin_object_unref(delta.object);
}

static void check_delta(const kin__delta *a, const kin__delta *b) {
  assert_ptr_equal(a->object, b->object);
  assert_int_equal(a->generation, b->generation);
  assert_int_equal(a->scope, b->scope);
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->reason, b->reason);
  assert_int_equal(a->is_tombstone, b->is_tombstone);
  assert_int_equal(a->is_initial, b->is_initial);
}

static void check_deltas(const kin__deltas *deltas, unsigned key) {
  uint32_t at = 0;
  for (size_t i = 0; i < m.count; i++) {
    if (m.records[i].key == key) {
      assert_true(at < deltas->count);
      check_delta(&deltas->items[at++], &m.records[i].delta);
    }
  }
  assert_int_equal(at, deltas->count);
  kin_str text = kin_object_key(deltas->items[0].object);
  assert_int_equal(deltas->hash, kin__hash(&m.fifo.seed, text));
}

/* Looks at the oldest key and, if `takes`, takes it out or drops it. */
static void do_first(bool takes) {
  unsigned key = model_first();
  kin__deltas deltas;
  uint32_t id;
  assert_int_equal(kin__delta_fifo_peek(&m.fifo, &deltas), key < MAX_KEYS);
  if (key == MAX_KEYS) {
    assert_false(kin__delta_fifo_take_out(&m.fifo, &id, &deltas));
    return;
  }
  check_deltas(&deltas, key);
  if (!takes) {
    return;
  }
  if (chance(50)) {
    kin__delta_fifo_drop(&m.fifo);
  } else {
    assert_true(kin__delta_fifo_take_out(&m.fifo, &id, &deltas));
    check_deltas(&deltas, key);
    kin__delta_fifo_release(&m.fifo, id);
  }
  model_drop(key);
}

/* Drops the newest delta of the first key. */
static void model_clear_one(void) {
  unsigned key = model_first();
  record *newest = newest_of(key);
  kin_object_unref(newest->delta.object);
  m.count--;
  memmove(newest, newest + 1,
          (size_t)(m.records + m.count - newest) * sizeof *newest);
  if (newest_of(key) == NULL) {
    m.turn_of[key] = 0;
  }
}

static void do_clear(void) {
  unsigned count = below(5);
  bool has_more = kin__delta_fifo_clear_step(&m.fifo, count);
  for (; count > 0 && m.count > 0; count--) {
    model_clear_one();
  }
  assert_int_equal(has_more, m.count > 0);
}

static void check_keys(void) {
  size_t depth = 0;
  for (unsigned key = 0; key < m.keys; key++) {
    char text[16];
    snprintf(text, sizeof text, "ns/k%u", key);
    bool is_queued = m.turn_of[key] != 0;
    assert_int_equal(kin__delta_fifo_has(&m.fifo, kin__cstr(text)), is_queued);
    depth += is_queued ? 1 : 0;
  }
  assert_int_equal(m.fifo.depth, depth);
  assert_int_equal(m.fifo.deltas, m.count);
}

static void run_seed(uint64_t seed) {
  rng = (kin__random){seed};
  memset(&m, 0, sizeof m);
  fail_alloc_init(&m.memory, 0);
  fail_alloc_init(&m.objects, 0);
  bool is_large = seed % 50 == 0;
  m.keys = is_large ? MAX_KEYS : 1 + below(12);
  kin__delta_fifo_init(&m.fifo, &m.memory.allocator,
                       kin__random_hash_seed(&rng));
  if (chance(80)) {
    m.fifo.is_known = is_known;
    m.fifo.ctx = &m;
  }
  unsigned steps = is_large ? 3000 : 400;
  for (unsigned step = 0; step < steps; step++) {
    unsigned what = below(100);
    unsigned key = below(m.keys);
    m.is_known[key] = chance(50);
    if (what < (is_large ? 90u : 70u)) {
      do_push();
    } else if (what < 98) {
      do_first(what < 93);
    } else {
      do_clear();
    }
    if (!is_large || step % 100 == 0) {
      check_keys();
    }
  }
  if (chance(50)) { /* else finish drops the rest */
    while (m.count > 0) {
      do_first(true);
    }
  }
  kin__delta_fifo_finish(&m.fifo);
  while (m.count > 0) {
    model_drop(m.records[0].key);
  }
  assert_int_equal(m.memory.live_blocks, 0);
  assert_int_equal(m.objects.live_blocks, 0);
}

static void test_delta_fifo_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(total_failures >= seeds_count);
    assert_true(total_merged >= seeds_count);
    assert_true(total_ignored >= seeds_count);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 1000, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_delta_fifo_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
