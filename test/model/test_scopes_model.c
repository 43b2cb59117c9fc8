/* SPDX-License-Identifier: MIT */

/* Namespaces that come and go at random, against a list of names: in each step
 * something happens to the server, the network, memory, the listeners, or a
 * namespace is added or removed, now and then in the middle of the scheduler's
 * work or in a callback. When the world has calmed down:
 *
 *   - the informer's namespaces are those of the list, and live
 *   - the store is what the server has for them (SI-16)
 *   - what each listener was told folds to the store, and every event was legal
 *     (SI-11, SI-12, SY-01)
 *   - nothing was told of a namespace that was not there
 *   - after the close nothing is left
 *
 * Usage: test_scopes_model [SEEDS [FIRST]] */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/str.h"
#include "informer/scope.h"
#include "support/model_world.h"
#include "support/seeds.h"

#define STEPS 110

typedef struct simulation {
  model_world m;
} simulation;

static void check_told(simulation *s, const char *namespace_) {
  bool is_there = false;
  for (size_t i = 0; i < MODEL_NAMES; i++) {
    is_there =
        is_there || (s->m.has[i] && strcmp(model_names[i], namespace_) == 0);
  }
  assert_true(is_there);
  if (!s->m.is_calm && model_below(&s->m, 12) == 0) {
    model_change_namespaces(&s->m);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  iw_on_error(informer, event, data);
  check_told(KIN__CONTAINER_OF(data, simulation, m.w), event->namespace_);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  check_told(KIN__CONTAINER_OF(data, simulation, m.w), namespace_);
}

enum { BE_ABSENT = MODEL_MOVES };

static const int moves[] = {MODEL_BREAK_WATCHES,
                            MODEL_END_WATCHES,
                            MODEL_COMPACT,
                            BE_ABSENT,
                            MODEL_BREAK_REQUEST,
                            MODEL_CHANGE_LISTENER,
                            MODEL_LOSE_MEMORY,
                            MODEL_SPLIT,
                            MODEL_LIMIT,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_ACT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT};

static void step(simulation *s) {
  int move = moves[model_below(&s->m, sizeof moves / sizeof moves[0])];
  switch (move) {
  case BE_ABSENT:
    s->m.w.server.is_absent = model_below(&s->m, 3) == 0;
    break;
  default:
    model_make(&s->m, (model_move)move);
    break;
  }
  model_rest(&s->m);
}

static void open_world(simulation *s, uint64_t seed) {
  model_init(&s->m, seed);
  model_act_between_steps(&s->m);
  if (model_below(&s->m, 2) == 0) {
    script_use_streams(&s->m.w.script);
  }
  for (int i = 0; i < 10; i++) {
    model_change_object(&s->m);
  }
  kin_informer_options options = iw_options(&s->m.w);
  options.on_error = on_error;
  options.on_state = on_state;
  options.page_size = (uint32_t)model_below(&s->m, 6);
  options.clear_when_absent = model_below(&s->m, 2) == 0;
  model_open(&s->m, &options);
}

static void run(uint64_t seed) {
  static simulation s;
  size_t scopes = 0;
  open_world(&s, seed);
  for (int i = 0; i < STEPS; i++) {
    step(&s);
  }
  model_calm_down(&s.m);
  model_pass(&s.m);
  assert_true(s.m.changes > 3);
  assert_true(kin_informer_has_synced(s.m.w.informer));
  model_check_namespaces(&s.m, false);
  for (size_t i = 0; i < MODEL_NAMES; i++) {
    scopes += s.m.has[i];
  }
  assert_int_equal(script_open_requests(&s.m.w.script), scopes);
  model_check_store(&s.m, 0);
  model_check_listeners(&s.m);
  iw_finish(&s.m.w);
}

static void run_and_close_early(uint64_t seed) {
  static simulation s;
  open_world(&s, seed);
  for (uint64_t i = model_below(&s.m, STEPS); i > 0; i--) {
    step(&s);
  }
  s.m.act_in = 0;
  iw_finish(&s.m.w);
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
  seeds_take(argc, argv, 1000, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_calm_ends_with_the_truth, seeds_tell),
      cmocka_unit_test_teardown(test_close_at_any_moment, seeds_tell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
