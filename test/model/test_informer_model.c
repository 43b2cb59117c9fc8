/* SPDX-License-Identifier: MIT */

/* A whole informer in a simulated world: server, network, memory and clock are
 * driven by one seed, so a failure is repeated by its number. In each step
 * something random happens: objects change, watches end or break, history is
 * compacted, requests are refused or answered with nonsense, memory runs out,
 * listeners come, go, pause and resume. When the world has calmed down:
 *
 *   - the store equals the server (RL, RW, DF rows)
 *   - what each listener was told folds to the store, and every event was legal
 *     (the recorder checks that as it goes; SI-11, SI-13, SY-01)
 *   - an index equals what a scan computes (TS-02 to TS-04)
 *   - after the close nothing is left
 *
 * Usage: test_informer_model [SEEDS [FIRST]] */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/str.h"
#include "object/dictionary.h"
#include "support/model_world.h"
#include "support/seeds.h"

#define STEPS 120

typedef model_world simulation;

static script_request *any_request(simulation *s) {
  for (int tries = 0; tries < 8; tries++) {
    script_request *request =
        s->w.script.requests[model_below(s, SCRIPT_MAX_REQUESTS)];
    if (request != NULL && !request->is_paused) {
      return request;
    }
  }
  return NULL;
}

/* Answers an open request with something no client wants to see. */
static void misbehave(simulation *s) {
  static const int statuses[] = {401, 403, 404, 410, 429, 500, 503, 504};
  static const char *const bodies[] = {
      "",
      "nonsense",
      "{",
      "{\"kind\":\"Status\",\"status\":\"Failure\"}",
      "{\"items\":[1]}",
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":"};
  script_request *request = any_request(s);
  if (request == NULL) {
    return;
  }
  const char *body = bodies[model_below(s, sizeof bodies / sizeof bodies[0])];
  bool is_open = request->has_head;
  int status = model_below(s, 2) == 0 ? 200 : statuses[model_below(s, 8)];
  if (!is_open && !script_request_head(request, status)) {
    return;
  }
  if (script_request_body(request, body, strlen(body)) &&
      model_below(s, 4) != 0) {
    script_request_end(request);
  } else if (any_request(s) == request && !is_open) {
    request->is_paused = true; /* stalls, until it is broken */
  }
}

static void break_a_request(simulation *s) {
  script_request *request = any_request(s);
  if (request != NULL) {
    script_break_request(request, KIN_EEOF, KIN_CLASS_CONNECT);
  }
}

enum { MISBEHAVE = MODEL_MOVES, BREAK_A_REQUEST };

static const int moves[] = {
    MODEL_BREAK_WATCHES,   MODEL_END_WATCHES,   MODEL_COMPACT,
    MODEL_BOOKMARK,        MISBEHAVE,           BREAK_A_REQUEST,
    MODEL_CHANGE_LISTENER, MODEL_LOSE_MEMORY,   MODEL_SPLIT,
    MODEL_LIMIT,           MODEL_CHANGE_OBJECT, MODEL_CHANGE_OBJECT,
    MODEL_CHANGE_OBJECT,   MODEL_CHANGE_OBJECT, MODEL_CHANGE_OBJECT,
    MODEL_CHANGE_OBJECT};

static void step(simulation *s) {
  int move = moves[model_below(s, sizeof moves / sizeof moves[0])];
  switch (move) {
  case MISBEHAVE:
    misbehave(s);
    break;
  case BREAK_A_REQUEST:
    break_a_request(s);
    break;
  default:
    model_make(s, (model_move)move);
    break;
  }
  model_rest(s);
}

/* Whoever waits may go on, and time enough passes for every backoff. A backoff
 * may take a minute, and its request may fail once more; a watch that was left
 * in the middle of a frame is given up when its time is over. */
static void calm_down(simulation *s) {
  model_calm_down(s);
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = s->w.script.requests[i];
    if (request != NULL && request->position == 0) {
      script_break_request(request, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL);
    }
  }
  model_pass(s);
}

static void assert_index(simulation *s) {
  kin_store *store = kin_informer_store(s->w.informer);
  for (int app = 0; app < 3; app++) {
    char value[8];
    snprintf(value, sizeof value, "a%d", app);
    size_t count = 0;
    kin_cursor cursor = {0};
    const kin_object *object;
    while ((object = kin_store_next(store, &cursor)) != NULL) {
      kin_str label;
      count += kin_object_label(object, "app", &label) &&
               kin__str_equal(label, kin__cstr(value));
    }
    assert_int_equal(kin_store_index_count(store, "app", kin__cstr(value)),
                     count);
  }
}

/* One world in eight has compact storage. */
static void keep_compact(simulation *s, kin_informer_options *options,
                         uint64_t seed) {
  if (seed % 8 == 0 && kin__pack_is_supported()) {
    options->compact = KIN_COMPACT_FAST;
    s->w.script.env.compact_samples = 4;
  }
}

static void run(uint64_t seed) {
  static simulation s;
  model_init(&s, seed);
  static const char *const namespaces[] = {"even", "odd"};
  kin_informer_options options = iw_options(&s.w);
  keep_compact(&s, &options, seed);
  options.page_size = (uint32_t)model_below(&s, 6);
  options.namespaces = namespaces;
  options.namespace_count = model_below(&s, 2) == 0 ? 2 : 0;
  for (int i = 0; i < 10; i++) {
    model_change_object(&s);
  }
  assert_int_equal(iw_open(&s.w, &options), 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "app";
  index.pointer = "/metadata/labels/app";
  assert_int_equal(
      kin_store_add_index(kin_informer_store(s.w.informer), &index), 0);
  for (int i = 0; i < STEPS; i++) {
    step(&s);
  }
  calm_down(&s);
  iw_assert_truth(&s.w);
  assert_true(kin_informer_has_synced(s.w.informer));
  assert_index(&s);
  model_check_listeners(&s);
  iw_finish(&s.w);
}

/* The world also stops in the middle: closing with anything going on. */
static void run_and_close_early(uint64_t seed) {
  static simulation s;
  model_init(&s, seed);
  kin_informer_options options = iw_options(&s.w);
  keep_compact(&s, &options, seed);
  assert_int_equal(iw_open(&s.w, &options), 0);
  for (uint64_t i = model_below(&s, STEPS); i > 0; i--) {
    step(&s);
  }
  iw_finish(&s.w);
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
