/* SPDX-License-Identifier: MIT */
/* Random runs of the public queues, each against its naive model
 * (support/naive_queue.h): everything that can be seen is compared again and
 * again, and memory runs out now and then (DF, FF, QF and OQ rows; FF-03 by
 * each list of a FIFO). Seed by seed it is a FIFO's, a delta queue's and an
 * in-order queue's turn, so 3,000 seeds are 1,000 of each. Many short runs find
 * more than a few long ones: what a run does at all (transforms, known objects,
 * batches) is chosen when it begins.
 *
 * usage: test_queue_model [SEEDS [FIRST]]; a failure names its seed. */
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
#include "support/naive_queue.h"
#include "support/queue_rig.h"
#include "support/seeds.h"

#define MAX_KEYS 12
#define MAX_LISTED 6
#define STEPS_MIN 20u
#define STEPS_SPREAD 70u
#define TEXT 16384

static queue_rig rig;
static naive_queue model;
static unsigned keys; /* of this run */
static unsigned version;
static bool transforms;
static bool is_nested; /* in a process callback */
static bool may_fail;

static kin__random rng;
static struct {
  uint64_t failures;
  uint64_t part_way;
  uint64_t requeued;
  uint64_t batches;
  uint64_t synced;
  uint64_t nested;
} seen;

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&rng, bound);
}

static bool chance(unsigned percent) {
  return below(100) < percent;
}

static void any_key(char to[16]) {
  unsigned i = below(keys);
  snprintf(to, 16, i % 3 == 0 ? "ns/k%u" : "k%u", i);
}

/* A new object of a key, and how it looks in the queue. */
static void any_object(const char *key, char plain[32], char queued[32]) {
  snprintf(plain, 32, "%.15s@%u", key, ++version);
  snprintf(queued, 32, "%.30s%s", plain, transforms ? "'" : "");
}

/* Does an operation, for which there may be no memory; returns whether there
 * was. */
static bool attempt(const char *operation) {
  if (may_fail && chance(12)) {
    rig.memory.fail_at = rig.memory.calls + 1 + below(4);
    rig.memory.keeps_failing = chance(30);
  }
  int err = queue_rig_try(&rig, operation);
  rig.memory.fail_at = 0;
  rig.memory.keeps_failing = false;
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    seen.failures++;
  }
  return err == 0;
}

static void do_change(void) {
  char key[16];
  char plain[32];
  char queued[32];
  char operation[64];
  any_key(key);
  any_object(key, plain, queued);
  char type = "AAUUDDXI"[below(8)];
  bool has_object = type != 'X' || chance(70);
  if (has_object) {
    snprintf(operation, sizeof operation, "%c:%s", type, plain);
  } else {
    snprintf(operation, sizeof operation, "%c:%s@-", type, key);
  }
  if (!attempt(operation)) {
    return;
  }
  if (type == 'I') {
    naive_queue_restore(&model, key, plain);
  } else if (type == 'X') {
    naive_queue_remove(&model, type, key, has_object ? plain : "-");
  } else if (type == 'D') {
    naive_queue_remove(&model, type, key, queued);
  } else {
    naive_queue_put(&model, type, key, queued);
  }
}

/* What is known changes, as a consumer's store does. */
static void do_know(void) {
  char text[RIG_MAX_KNOWN * 40] = "";
  for (unsigned i = 0; i < keys; i++) {
    char one[40];
    unsigned what = below(10);
    snprintf(one, sizeof one, i % 3 == 0 ? " ns/k%u@" : " k%u@", i);
    if (what < 4) {
      strcat(text, one);
      snprintf(one, sizeof one, "%u", ++version);
      strcat(text, what < 3 ? one : chance(50) ? "-" : "!");
    }
  }
  kin_known_objects known = rig.options.known;
  queue_rig_know(&rig, text[0] != '\0' ? text + 1 : "");
  rig.options.known = known;
}

static void compare_list(char *got, char *expected);

/* DF-07: how far a list came that failed is seen in the queue. */
static void follow_part_way(char list_keys[][16], char objects[][32],
                            size_t count, const char *list_version) {
  static naive_queue before;
  static char got[TEXT];
  static char expected[TEXT];
  before = model;
  for (size_t step = 0;; step++) {
    model = before;
    bool is_part = naive_queue_replace(&model, list_keys, objects, count,
                                       list_version, step);
    assert_true(is_part);
    compare_list(got, expected);
    if (strcmp(got, expected) == 0) {
      seen.part_way += step > 0 ? 1 : 0;
      return;
    }
  }
}

static void do_replace(void) {
  char list_keys[MAX_LISTED][16];
  char objects[MAX_LISTED][32];
  char operation[512] = "R:";
  size_t count = below(MAX_LISTED + 1);
  for (size_t i = 0; i < count; i++) {
    char plain[32];
    any_key(list_keys[i]);
    any_object(list_keys[i], plain, objects[i]);
    strcat(operation, i > 0 ? "," : "");
    strcat(operation, plain);
  }
  char list_version[16];
  snprintf(list_version, sizeof list_version, "%u", ++version);
  strcat(operation, "#");
  strcat(operation, list_version);
  if (attempt(operation)) {
    naive_queue_replace(&model, list_keys, objects, count, list_version,
                        SIZE_MAX);
  } else if (model.kind == RIG_DELTA) {
    follow_part_way(list_keys, objects, count, list_version);
  }
}

static void do_bookmark(void) {
  char operation[32];
  snprintf(operation, sizeof operation, "B:%u", ++version);
  if (attempt(operation)) {
    naive_queue_bookmark(&model, operation + 2);
  }
}

/* Each key's newest change by a scan, and then all changes of each key. */
static void compare_list(char *got, char *expected) {
  kin_queue_cursor cursor = {0};
  kin_delta delta;
  size_t at = 0;
  got[0] = '\0';
  while (kin_queue_next(rig.queue, &cursor, &delta)) {
    const kin_deltas one = {&delta, 1};
    at += (size_t)snprintf(got + at, TEXT - at, at > 0 ? " " : "");
    queue_rig_describe(got + at, TEXT - at, &one);
    at += strlen(got + at);
  }
  naive_queue_list(&model, expected, TEXT);
  for (unsigned i = 0; i < keys; i++) {
    char key[16];
    static char text[TEXT];
    snprintf(key, sizeof key, i % 3 == 0 ? "ns/k%u" : "k%u", i);
    kin_deltas *deltas;
    if (kin_queue_get(rig.queue, kin__cstr(key), &deltas) == 0) {
      queue_rig_describe(text, sizeof text, deltas);
      at += (size_t)snprintf(got + at, TEXT - at, ";%s", text);
      kin_deltas_free(deltas);
    }
    naive_queue_get(&model, key, text, sizeof text);
    size_t end = strlen(expected);
    snprintf(expected + end, TEXT - end, "%s%s", text[0] != '\0' ? ";" : "",
             text);
  }
}

static void compare(void) {
  static char got[TEXT];
  static char expected[TEXT];
  compare_list(got, expected);
  assert_string_equal(got, expected);
  assert_int_equal(kin_queue_count(rig.queue), naive_queue_count(&model));
  assert_int_equal(kin_queue_has_synced(rig.queue), model.is_synced);
  assert_int_equal(kin_queue_is_closed(rig.queue), model.is_closed);
  if (!is_nested) {
    assert_int_equal(rig.told, model.is_synced);
  }
}

static void in_process(queue_rig *r, kin_queue_item *item) {
  (void)item;
  r->memory.fail_at = 0;
  is_nested = true;
  may_fail = false;
  assert_int_equal(r->was_synced, model.is_synced);
  assert_int_equal(r->was_initial, model.was_initial);
  for (unsigned n = chance(30) ? below(4) : 0; n > 0; n--) {
    do_change();
    compare();
    seen.nested++;
  }
  is_nested = false;
}

static char item_text[4096];
static bool is_expected; /* there is an item for in_process to meet */

/* The model takes its item before the queue does; if the queue then finds no
 * memory, the model gets it back as it was. */
static void do_pop(void) {
  static naive_queue before;
  bool is_batch = chance(40);
  before = model;
  is_expected =
      naive_queue_begin(&model, is_batch, item_text, sizeof item_text);
  bool can_fail = may_fail;
  rig.log[0] = '\0';
  rig.requeue = chance(15);
  rig.result = chance(15) ? KIN_EHTTP : 0;
  rig.during = in_process;
  if (may_fail && chance(12)) {
    rig.memory.fail_at = rig.memory.calls + 1;
  }
  int err = queue_rig_try(&rig, is_batch ? "T" : "P");
  rig.memory.fail_at = 0;
  may_fail = can_fail;
  if (err == KIN_ENOMEM) {
    model = before;
    seen.failures++;
    return;
  }
  assert_int_equal(err, is_expected       ? rig.result
                        : model.is_closed ? KIN_ECLOSED
                                          : KIN_EAGAIN);
  if (is_expected) {
    assert_string_equal(rig.log, item_text);
    naive_queue_end(&model, rig.requeue);
    seen.requeued += rig.requeue ? 1 : 0;
    seen.batches += model.taken_count > 1 && is_batch ? 1 : 0;
  } else {
    assert_string_equal(rig.log, "");
  }
}

static void do_something(void) {
  unsigned what = below(100);
  if (what < 45) {
    do_change();
  } else if (what < 80) {
    do_pop();
  } else if (what < 87) {
    do_replace();
  } else if (what < 91) {
    if (attempt("S")) {
      naive_queue_resync(&model);
    }
  } else if (what < 94) {
    do_bookmark();
  } else if (what < 99) {
    do_know();
  } else if (chance(10)) {
    queue_rig_do(&rig, "C");
    model.is_closed = true;
  }
}

static void begin_run(uint64_t seed) {
  rng = (kin__random){seed};
  queue_rig_init(&rig);
  memset(&model, 0, sizeof model);
  keys = 1 + below(MAX_KEYS);
  version = 0;
  transforms = chance(30);
  may_fail = chance(60);
  model.kind = (rig_kind)(seed % 3);
  model.rig = &rig;
  model.has_known = model.kind != RIG_FIFO && chance(60);
  model.emit_replaced = model.kind == RIG_DELTA && chance(50);
  model.emit_bookmarks =
      model.kind == RIG_IN_ORDER && !model.has_known && chance(70);
  model.batch_limit = model.kind == RIG_IN_ORDER ? 1 + below(6) : 1;
  if (model.has_known) {
    queue_rig_know(&rig, "");
  }
  if (transforms) {
    queue_rig_transform(&rig);
  }
  rig.options.emit_replaced = model.emit_replaced;
  rig.options.emit_bookmarks = model.emit_bookmarks;
  rig.options.batch_limit =
      model.kind == RIG_IN_ORDER ? (uint32_t)model.batch_limit : 0;
  queue_rig_open(&rig, model.kind);
}

static void run_seed(uint64_t seed) {
  begin_run(seed);
  /* Comparing takes most of the time. Some runs compare after each step, which
   * says exactly where it went wrong; the others get further. */
  unsigned often = chance(30) ? 100 : 25;
  unsigned steps = STEPS_MIN + below(STEPS_SPREAD);
  for (unsigned step = 0; step < steps; step++) {
    do_something();
    if (chance(often)) {
      compare();
    }
  }
  compare();
  seen.synced += model.is_synced ? 1 : 0;
  if (chance(50)) { /* else the rest is dropped */
    may_fail = false;
    while (naive_queue_count(&model) > 0) {
      do_pop();
      compare();
    }
  }
  queue_rig_close(&rig);
}

static void test_queue_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(seen.failures >= seeds_count / 4);
    assert_true(seen.part_way >= seeds_count / 40);
    assert_true(seen.requeued >= seeds_count);
    assert_true(seen.batches >= seeds_count / 2);
    assert_true(seen.synced >= seeds_count / 3);
    assert_true(seen.nested >= seeds_count);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 3000, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_queue_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
