/* SPDX-License-Identifier: MIT */

/* All that may go on in an informer at once, at random, against a list of names
 * and the server's history: namespaces that come and go, waits for versions,
 * verifications, lists that come as watches and are checked, a transform that
 * fails, silence, a type that vanishes, answers that stop a scope, listeners
 * that pause, memory that runs out. Callbacks of every kind may change
 * namespaces, begin waits, or close the informer.
 *
 *   - a wait for a version ends exactly once; with 0, the store has everything
 *     up to that version, whatever went on
 *   - a verification that ends with 0 names a version that is as new as the
 *     server's was when it began
 *   - no list that came as a watch is found to differ from the list (WL-12)
 *   - when the world has calmed down, the store is what the server has and all
 *     listeners were told so (SI-11, SI-12, SI-16, SY-01)
 *   - after the close nothing is left
 *
 * Usage: test_all_at_once_model [SEEDS [FIRST]] */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include <kin/metrics.h>

#include "base/str.h"
#include "informer/scope.h"
#include "support/model_world.h"
#include "support/seeds.h"

#define STEPS 110
#define WAITS 400
#define REFUSED 7 /* the transform fails on versions that it divides */

typedef struct a_wait {
  struct simulation *s;
  size_t name;
  uint64_t version; /* 0: a verification */
  uint64_t newest;  /* of the server, when it began */
  uint64_t scope_changes;
  bool is_open;
} a_wait;

typedef struct simulation {
  model_world m;
  bool is_transforming;
  bool minds_silence;
  bool was_absent;
  a_wait waits[WAITS];
  size_t wait_count;
  size_t open_waits;
  size_t reached;
} simulation;

/* --- Waits ---------------------------------------------------------------- */

static void begin_wait(simulation *s);

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  a_wait *wait = data;
  simulation *s = wait->s;
  assert_ptr_equal(informer, s->m.w.informer);
  assert_true(wait->is_open);
  wait->is_open = false;
  s->open_waits--;
  assert_true(code == 0 || code == KIN_ETIMEDOUT || code == KIN_ECLOSED);
  if (wait->version == 0) {
    assert_true((version[0] != '\0') == (code == 0));
  }
  if (code == 0) {
    uint64_t number = strtoull(version, NULL, 10);
    assert_true(wait->version == 0 ? number >= wait->newest
                                   : number == wait->version);
    if (s->m.has[wait->name] && s->m.changes == wait->scope_changes &&
        !s->m.is_closed && !s->m.w.server.is_absent && !s->was_absent) {
      s->reached++;
      iw_assert_reached(&s->m.w, model_names[wait->name], number,
                        s->is_transforming ? REFUSED : 0);
    }
  }
  if (!s->m.is_calm && model_below(&s->m, 10) == 0) {
    model_change_namespaces(&s->m);
  }
  if (!s->m.is_calm && model_below(&s->m, 4) == 0) {
    begin_wait(s);
  }
}

static void begin_wait(simulation *s) {
  if (s->wait_count == WAITS || s->m.is_closed) {
    return;
  }
  a_wait *wait = &s->waits[s->wait_count++];
  *wait = (a_wait){.s = s,
                   .name = (size_t)model_below(&s->m, MODEL_NAMES),
                   .newest = s->m.w.server.version,
                   .scope_changes = s->m.changes,
                   .is_open = true};
  uint64_t timeout =
      model_below(&s->m, 3) == 0 ? 1 + model_below(&s->m, 4000) : 0;
  int err;
  if (model_below(&s->m, 3) == 0) {
    err = kin_informer_verify(s->m.w.informer, model_names[wait->name], timeout,
                              on_version, wait);
  } else {
    char version[32];
    wait->version = s->m.w.server.version - 3 + model_below(&s->m, 6);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)wait->version);
    err = kin_informer_wait_version(s->m.w.informer, model_names[wait->name],
                                    version, timeout, on_version, wait);
  }
  if (err == 0) {
    s->open_waits++;
  } else {
    wait->is_open = false;
    assert_true(err == (s->m.has[wait->name] ? KIN_ENOMEM : KIN_ENOENT));
  }
}

/* --- What is told --------------------------------------------------------- */

static void on_told(simulation *s) {
  assert_false(s->m.is_closed);
  if (!s->m.is_calm && model_below(&s->m, 12) == 0) {
    model_change_namespaces(&s->m);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  iw_on_error(informer, event, data);
  simulation *s = KIN__CONTAINER_OF(data, simulation, m.w);
  on_told(s);
  assert_int_not_equal(event->code, KIN_EINCONSISTENT);
  if (!s->m.is_calm && model_below(&s->m, 12) == 0) {
    event->answer = KIN_STOP;
    for (size_t i = 0; i < MODEL_NAMES; i++) {
      s->m.is_stopped[i] |= strcmp(model_names[i], event->namespace_) == 0;
    }
  }
}

/* Pure. */
static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)out;
  (void)data;
  uint64_t version = strtoull(kin_object_resource_version(in).data, NULL, 10);
  return version % REFUSED == 0 ? KIN_EINVAL : 0;
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  on_told(KIN__CONTAINER_OF(data, simulation, m.w));
}

enum { BE_ABSENT = MODEL_MOVES, BEGIN_WAIT, BOOKMARK_AND_END };

static const int moves[] = {MODEL_BREAK_WATCHES,
                            MODEL_END_WATCHES,
                            MODEL_COMPACT,
                            BE_ABSENT,
                            MODEL_CHANGE_LISTENER,
                            MODEL_CHANGE_LISTENER,
                            MODEL_LOSE_MEMORY,
                            MODEL_LIMIT,
                            MODEL_LIMIT,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_CHANGE_NAMESPACES,
                            MODEL_ACT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            MODEL_CHANGE_OBJECT,
                            BEGIN_WAIT,
                            BEGIN_WAIT,
                            BEGIN_WAIT,
                            BEGIN_WAIT,
                            MODEL_BOOKMARK,
                            MODEL_BOOKMARK,
                            BOOKMARK_AND_END,
                            MODEL_CHANGE_OBJECT};

static void step(simulation *s) {
  mini_server *server = &s->m.w.server;
  if (s->m.is_closed) {
    mini_pass(server, 50);
    return;
  }
  int move = moves[model_below(&s->m, sizeof moves / sizeof moves[0])];
  switch (move) {
  case BE_ABSENT:
    server->is_absent = model_below(&s->m, 3) == 0;
    s->was_absent |= server->is_absent;
    break;
  case BEGIN_WAIT:
    begin_wait(s);
    break;
  case BOOKMARK_AND_END:
    mini_bookmark(server);
    mini_end_watches(server);
    break;
  default:
    model_make(&s->m, (model_move)move);
    break;
  }
  model_rest(&s->m);
}

/* So that all waits have been reached. */
static void mini_change_all(simulation *s) {
  for (int i = 0; i < 8; i++) {
    mini_put(&s->m.w.server, i % 2);
  }
  if (s->m.w.server.version % REFUSED < 2) {
    mini_put_first(&s->m.w.server, 2);
  }
}

static void calm_down(simulation *s) {
  model_calm_down(&s->m);
  for (size_t i = 0; i < MODEL_NAMES; i++) {
    if (s->m.has[i] && s->m.is_stopped[i]) {
      model_drop(&s->m, i);
      model_add(&s->m, i);
    }
  }
  model_pass(&s->m);
  /* What is asked about is answered by bookmarks, and the end of watches. */
  for (int i = 0; i < 40; i++) {
    mini_pass(&s->m.w.server, 200);
    mini_bookmark(&s->m.w.server);
    mini_serve(&s->m.w.server);
    mini_end_watches(&s->m.w.server);
    mini_serve(&s->m.w.server);
  }
  mini_change_all(s);
  for (int i = 0; i < 4; i++) {
    script_advance(&s->m.w.script, 50000);
    mini_serve(&s->m.w.server);
    mini_bookmark(&s->m.w.server);
    mini_serve(&s->m.w.server);
  }
}

/* --- The end -------------------------------------------------------------- */

static void open_world(simulation *s, uint64_t seed) {
  memset(s, 0, sizeof *s);
  model_init(&s->m, seed);
  model_act_between_steps(&s->m);
  if (model_below(&s->m, 2) == 0) {
    script_use_streams(&s->m.w.script);
    s->m.w.script.env.check_watch_lists = true;
  }
  s->is_transforming = model_below(&s->m, 3) == 0;
  for (int i = 0; i < 10; i++) {
    model_change_object(&s->m);
  }
  kin_informer_options options = iw_options(&s->m.w);
  options.on_error = on_error;
  options.on_state = on_state;
  options.page_size = (uint32_t)model_below(&s->m, 6);
  options.clear_when_absent = model_below(&s->m, 2) == 0;
  s->minds_silence = model_below(&s->m, 3) == 0;
  options.stale_after_ms =
      s->minds_silence ? 1 + (uint32_t)model_below(&s->m, 3000) : 0;
  options.transform = s->is_transforming ? transform : NULL;
  model_open(&s->m, &options);
}

static size_t total_reached;
static uint64_t total_checked;

static void finish(simulation *s) {
  s->m.is_closed = true;
  if (s->m.w.closed == 0) {
    (void)kin_informer_close(s->m.w.informer, iw_on_closed, &s->m.w);
    script_run(&s->m.w.script);
  }
  assert_int_equal(s->m.w.closed, 1);
  assert_int_equal(s->open_waits, 0);
  iw_finish(&s->m.w);
}

static void run(uint64_t seed) {
  static simulation s;
  open_world(&s, seed);
  for (int i = 0; i < STEPS; i++) {
    step(&s);
  }
  calm_down(&s);
  assert_true(s.m.changes > 3);
  assert_true(kin_informer_has_synced(s.m.w.informer));
  /* Where silence is of interest, it may have been found just now. */
  model_check_namespaces(&s.m, s.minds_silence);
  model_check_store(&s.m, s.is_transforming ? REFUSED : 0);
  model_check_listeners(&s.m);
  for (size_t i = 0; i < s.wait_count; i++) {
    a_wait *wait = &s.waits[i];
    if (wait->is_open && wait->name < 2) {
      fail_msg("wait %zu for %s, version %llu, is open", i,
               model_names[wait->name], (unsigned long long)wait->version);
    }
  }
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(s.m.w.informer, &metrics), 0);
  assert_int_equal(metrics.inconsistent_lists, 0);
  total_reached += s.reached;
  total_checked += metrics.checked_lists;
  finish(&s);
}

static void run_and_close_early(uint64_t seed) {
  static simulation s;
  open_world(&s, seed);
  s.m.may_close = true;
  for (uint64_t i = model_below(&s.m, STEPS); i > 0; i--) {
    step(&s);
  }
  s.m.act_in = 0;
  finish(&s);
}

static void test_calm_ends_with_the_truth(void **state) {
  (void)state;
  seeds_run(run);
  assert_true(total_reached > seeds_count && total_checked > seeds_count);
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
