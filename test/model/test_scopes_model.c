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
#include "support/informer_world.h"
#include "support/seeds.h"

#define NAMES 3
#define LISTENERS 4
#define STEPS 110

static const char *const names[NAMES] = {"even", "odd", "none"};

typedef struct simulation {
  iw_world w;
  kin__random random;
  bool refused;
  bool has[NAMES];  /* the model */
  uint64_t changes; /* of namespaces */
  unsigned act_in;  /* so many steps of the scheduler; 0: not */
  bool is_calm;
  recorder listeners[LISTENERS];
  bool is_listening[LISTENERS];
  bool is_paused[LISTENERS];
} simulation;

static uint64_t below(simulation *s, uint64_t bound) {
  return kin__random_below(&s->random, bound);
}

/* --- Namespaces ----------------------------------------------------------- */

static void add(simulation *s, size_t i) {
  int err = kin_informer_add_namespace(s->w.informer, names[i]);
  if (s->has[i]) {
    assert_int_equal(err, KIN_EEXIST);
  } else if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&s->w.memory));
  } else {
    s->has[i] = true;
  }
}

static void drop(simulation *s, size_t i) {
  int err = kin_informer_remove_namespace(s->w.informer, names[i]);
  assert_int_equal(err, s->has[i] ? 0 : KIN_ENOENT);
  s->has[i] = false;
}

static void change_namespaces(simulation *s) {
  s->changes++;
  for (uint64_t n = 1 + below(s, 3); n > 0; n--) {
    size_t i = (size_t)below(s, NAMES);
    if (below(s, 2) == 0) {
      add(s, i);
    } else {
      drop(s, i);
    }
  }
}

static void check_told(simulation *s, const char *namespace_) {
  bool is_there = false;
  for (size_t i = 0; i < NAMES; i++) {
    is_there = is_there || (s->has[i] && strcmp(names[i], namespace_) == 0);
  }
  assert_true(is_there);
  if (!s->is_calm && below(s, 12) == 0) {
    change_namespaces(s);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  iw_on_error(informer, event, data);
  check_told(KIN__CONTAINER_OF(data, simulation, w), event->namespace_);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  check_told(KIN__CONTAINER_OF(data, simulation, w), namespace_);
}

static void on_call(recorder *rec, kin_informer *informer) {
  simulation *s = rec->data;
  (void)informer;
  if (!s->is_calm && below(s, 25) == 0) {
    change_namespaces(s);
  }
}

/* Asked by the scheduler after each step, and by steps themselves. */
static uint64_t between_steps(void *ctx) {
  simulation *s = ctx;
  bool is_between = !s->w.script.sched.is_stepping;
  if (is_between && s->act_in > 0 && --s->act_in == 0) {
    change_namespaces(s);
  }
  return s->w.script.now_ns;
}

/* --- The world ------------------------------------------------------------ */

static void change_an_object(simulation *s) {
  mini_server *server = &s->w.server;
  int object = (int)below(s, MINI_OBJECTS);
  bool is_there = server->versions[object] != 0;
  uint64_t what = below(s, 4);
  if (is_there && what == 0) {
    mini_delete(server, object);
  } else if (is_there && what == 1) {
    mini_recreate(server, object);
  } else {
    mini_put(server, object);
  }
}

static void break_a_request(simulation *s) {
  script_request *request = s->w.script.requests[below(s, 3)];
  if (request != NULL) {
    script_break_request(request, KIN_EEOF, KIN_CLASS_CONNECT);
  }
}

static void start_listening(simulation *s, size_t i) {
  recorder *rec = &s->listeners[i];
  recorder_init(rec);
  rec->on_call = on_call;
  rec->data = s;
  kin_listener_options options = recorder_options(rec);
  options.exact_limit = below(s, 2) == 0 ? 1 : 0;
  s->is_listening[i] =
      kin_informer_listen(s->w.informer, &options, &rec->listener) == 0;
  s->is_paused[i] = false;
}

static void change_a_listener(simulation *s) {
  size_t i = (size_t)below(s, LISTENERS);
  recorder *rec = &s->listeners[i];
  if (!s->is_listening[i]) {
    start_listening(s, i);
  } else if (below(s, 3) == 0) {
    kin_listener_close(rec->listener);
    s->is_listening[i] = false;
  } else if (s->is_paused[i]) {
    kin_listener_resume(rec->listener);
    s->is_paused[i] = false;
  } else {
    kin_listener_pause(rec->listener);
    s->is_paused[i] = true;
  }
}

static void run_out_of_memory(simulation *s) {
  fail_alloc *memory = &s->w.memory;
  memory->fail_at = atomic_load(&memory->calls) + 1 + (size_t)below(s, 30);
  memory->keeps_failing = below(s, 2) == 0;
}

static void step(simulation *s) {
  mini_server *server = &s->w.server;
  switch (below(s, 18)) {
  case 0:
    mini_break_watches(server);
    break;
  case 1:
    mini_end_watches(server);
    break;
  case 2:
    mini_compact(server);
    break;
  case 3:
    server->is_absent = below(s, 3) == 0;
    break;
  case 4:
    break_a_request(s);
    break;
  case 5:
    change_a_listener(s);
    break;
  case 6:
    if (below(s, 4) == 0) {
      run_out_of_memory(s);
    }
    break;
  case 7:
    s->w.script.split = below(s, 3) == 0 ? 1 + (size_t)below(s, 90) : 0;
    break;
  case 8:
    server->honours_limit = below(s, 2) == 0;
    break;
  case 9:
  case 10:
  case 11:
    change_namespaces(s);
    break;
  case 12:
    s->act_in = 1 + (unsigned)below(s, 40);
    break;
  default:
    change_an_object(s);
    break;
  }
  if (below(s, 2) == 0) {
    mini_pass(server, below(s, 1500));
  }
}

static void calm_down(simulation *s) {
  s->is_calm = true;
  s->act_in = 0;
  s->w.memory.fail_at = 0;
  s->w.memory.keeps_failing = false;
  s->w.script.split = 0;
  s->w.server.is_absent = false;
  for (size_t i = 0; i < LISTENERS; i++) {
    if (s->is_listening[i] && s->is_paused[i]) {
      kin_listener_resume(s->listeners[i].listener);
    }
  }
  for (int i = 0; i < 16; i++) {
    script_advance(&s->w.script, 50000);
    mini_serve(&s->w.server);
  }
}

/* --- The end -------------------------------------------------------------- */

static void check_namespaces(const simulation *s) {
  uint32_t count = 0;
  for (size_t i = 0; i < NAMES; i++) {
    kin_status status;
    int err = kin_informer_get_status(s->w.informer, names[i], &status);
    assert_int_equal(err, s->has[i] ? 0 : KIN_ENOENT);
    if (s->has[i]) {
      assert_int_equal(status.state, KIN_STATE_LIVE);
      assert_true(status.has_synced);
      count++;
    }
  }
  assert_int_equal(s->w.informer->scopes.count, count);
  assert_int_equal(s->w.informer->scopes.synced, count);
  assert_int_equal(script_open_requests(&s->w.script), count);
}

static void check_store(const simulation *s) {
  const kin_store *store = kin_informer_store(s->w.informer);
  size_t count = 0;
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    char version[32];
    snprintf(key, sizeof key, "%s/p%d", names[i % 2], i);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)s->w.server.versions[i]);
    const kin_object *object = kin_store_get_key(store, key);
    bool is_due = s->has[i % 2] && s->w.server.versions[i] != 0;
    assert_int_equal(object != NULL, is_due);
    if (object != NULL) {
      assert_true(kin__str_equal(kin_object_resource_version(object),
                                 kin__cstr(version)));
    }
    count += is_due;
  }
  assert_int_equal(kin_store_count(store), count);
}

static void check_listeners(const simulation *s) {
  for (size_t i = 0; i < LISTENERS; i++) {
    if (s->is_listening[i]) {
      recorder_assert_folds_to(&s->listeners[i],
                               kin_informer_store(s->w.informer));
      assert_int_equal(s->listeners[i].synced, 1);
    }
  }
}

static int open_world(simulation *s, uint64_t seed) {
  memset(s, 0, sizeof *s);
  iw_init(&s->w, 0);
  s->random.state = seed;
  s->w.script.random.state = seed;
  s->w.script.sched.now_ns = between_steps;
  s->w.script.sched.ctx = s;
  if (below(s, 2) == 0) {
    s->w.script.env.stream_refused = &s->refused;
  }
  for (int i = 0; i < 10; i++) {
    change_an_object(s);
  }
  kin_informer_options options = iw_options(&s->w);
  options.on_error = on_error;
  options.on_state = on_state;
  options.page_size = (uint32_t)below(s, 6);
  options.clear_when_absent = below(s, 2) == 0;
  options.namespaces = names;
  options.namespace_count = 1 + (size_t)below(s, NAMES);
  for (size_t i = 0; i < options.namespace_count; i++) {
    s->has[i] = true;
  }
  int err = kin__informer_open(&s->w.informer, &s->w.script.env, &options);
  assert_int_equal(err, 0);
  start_listening(s, 0);
  if (below(s, 4) == 0) {
    change_namespaces(s);
  }
  return kin_informer_start(s->w.informer);
}

static void run(uint64_t seed) {
  static simulation s;
  assert_int_equal(open_world(&s, seed), 0);
  for (int i = 0; i < STEPS; i++) {
    step(&s);
  }
  calm_down(&s);
  assert_true(s.changes > 3);
  assert_true(kin_informer_has_synced(s.w.informer));
  check_namespaces(&s);
  check_store(&s);
  check_listeners(&s);
  iw_finish(&s.w);
}

static void run_and_close_early(uint64_t seed) {
  static simulation s;
  assert_int_equal(open_world(&s, seed), 0);
  for (uint64_t i = below(&s, STEPS); i > 0; i--) {
    step(&s);
  }
  s.act_in = 0;
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
