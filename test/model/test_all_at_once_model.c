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
#include "support/informer_world.h"
#include "support/seeds.h"

#define NAMES 3
#define LISTENERS 4
#define STEPS 110
#define WAITS 400
#define REFUSED 7 /* the transform fails on versions that it divides */

static const char *const names[NAMES] = {"even", "odd", "none"};

typedef struct a_wait {
  struct simulation *s;
  size_t name;
  uint64_t version; /* 0: a verification */
  uint64_t newest;  /* of the server, when it began */
  uint64_t scope_changes;
  bool is_open;
} a_wait;

typedef struct simulation {
  iw_world w;
  kin__random random;
  bool refused;
  bool has[NAMES]; /* the model */
  bool is_stopped[NAMES];
  bool is_transforming;
  bool minds_silence;
  bool is_closed;
  bool was_absent;
  bool may_close; /* callbacks may */
  a_wait waits[WAITS];
  size_t wait_count;
  size_t open_waits;
  size_t reached;
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
    s->is_stopped[i] = false;
  }
}

static void drop(simulation *s, size_t i) {
  int err = kin_informer_remove_namespace(s->w.informer, names[i]);
  assert_int_equal(err, s->has[i] ? 0 : KIN_ENOENT);
  s->has[i] = false;
}

static void close_now(simulation *s) {
  s->is_closed = true;
  assert_int_equal(kin_informer_close(s->w.informer, iw_on_closed, &s->w), 0);
}

static void change_namespaces(simulation *s) {
  if (s->is_closed) {
    return;
  }
  if (s->may_close && below(s, 30) == 0) {
    close_now(s);
    return;
  }
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

/* --- Waits ---------------------------------------------------------------- */

static void begin_wait(simulation *s);

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  a_wait *wait = data;
  simulation *s = wait->s;
  assert_ptr_equal(informer, s->w.informer);
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
    if (s->has[wait->name] && s->changes == wait->scope_changes &&
        !s->is_closed && !s->w.server.is_absent && !s->was_absent) {
      s->reached++;
      iw_assert_reached(&s->w, names[wait->name], number,
                        s->is_transforming ? REFUSED : 0);
    }
  }
  if (!s->is_calm && below(s, 10) == 0) {
    change_namespaces(s);
  }
  if (!s->is_calm && below(s, 4) == 0) {
    begin_wait(s);
  }
}

static void begin_wait(simulation *s) {
  if (s->wait_count == WAITS || s->is_closed) {
    return;
  }
  a_wait *wait = &s->waits[s->wait_count++];
  *wait = (a_wait){.s = s,
                   .name = (size_t)below(s, NAMES),
                   .newest = s->w.server.version,
                   .scope_changes = s->changes,
                   .is_open = true};
  uint64_t timeout = below(s, 3) == 0 ? 1 + below(s, 4000) : 0;
  int err;
  if (below(s, 3) == 0) {
    err = kin_informer_verify(s->w.informer, names[wait->name], timeout,
                              on_version, wait);
  } else {
    char version[32];
    wait->version = s->w.server.version - 3 + below(s, 6);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)wait->version);
    err = kin_informer_wait_version(s->w.informer, names[wait->name], version,
                                    timeout, on_version, wait);
  }
  if (err == 0) {
    s->open_waits++;
  } else {
    wait->is_open = false;
    assert_true(err == (s->has[wait->name] ? KIN_ENOMEM : KIN_ENOENT));
  }
}

/* --- What is told --------------------------------------------------------- */

static void on_told(simulation *s) {
  assert_false(s->is_closed);
  if (!s->is_calm && below(s, 12) == 0) {
    change_namespaces(s);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  iw_on_error(informer, event, data);
  simulation *s = KIN__CONTAINER_OF(data, simulation, w);
  on_told(s);
  assert_int_not_equal(event->code, KIN_EINCONSISTENT);
  if (!s->is_calm && below(s, 12) == 0) {
    event->answer = KIN_STOP;
    for (size_t i = 0; i < NAMES; i++) {
      s->is_stopped[i] |= strcmp(names[i], event->namespace_) == 0;
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
  on_told(KIN__CONTAINER_OF(data, simulation, w));
}

static void on_call(recorder *rec, kin_informer *informer) {
  simulation *s = rec->data;
  (void)informer;
  assert_false(s->is_closed);
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
  if (s->is_closed) {
    mini_pass(server, 50);
    return;
  }
  switch (below(s, 26)) {
  case 18:
  case 19:
  case 20:
  case 21:
    begin_wait(s);
    break;
  case 22:
  case 23:
    mini_bookmark(server);
    break;
  case 24:
    mini_bookmark(server);
    mini_end_watches(server);
    break;
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
    s->was_absent |= server->is_absent;
    break;
  case 4:
  case 5:
    change_a_listener(s);
    break;
  case 6:
    if (below(s, 4) == 0) {
      run_out_of_memory(s);
    }
    break;
  case 7:
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

/* So that all waits have been reached. */
static void mini_change_all(simulation *s) {
  for (int i = 0; i < 8; i++) {
    mini_put(&s->w.server, i % 2);
  }
  if (s->w.server.version % REFUSED < 2) {
    mini_put(&s->w.server, 0);
    mini_put(&s->w.server, 1);
  }
}

static void calm_down(simulation *s) {
  s->is_calm = true;
  s->act_in = 0;
  s->w.memory.fail_at = 0;
  s->w.memory.keeps_failing = false;
  s->w.server.is_absent = false;
  for (size_t i = 0; i < LISTENERS; i++) {
    if (s->is_listening[i] && s->is_paused[i]) {
      kin_listener_resume(s->listeners[i].listener);
    }
  }
  for (size_t i = 0; i < NAMES; i++) {
    if (s->has[i] && s->is_stopped[i]) {
      drop(s, i);
      add(s, i);
    }
  }
  for (int i = 0; i < 16; i++) {
    script_advance(&s->w.script, 50000);
    mini_serve(&s->w.server);
  }
  /* What is asked about is answered by bookmarks, and the end of watches. */
  for (int i = 0; i < 40; i++) {
    mini_pass(&s->w.server, 200);
    mini_bookmark(&s->w.server);
    mini_serve(&s->w.server);
    mini_end_watches(&s->w.server);
    mini_serve(&s->w.server);
  }
  mini_change_all(s);
  for (int i = 0; i < 4; i++) {
    script_advance(&s->w.script, 50000);
    mini_serve(&s->w.server);
    mini_bookmark(&s->w.server);
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
      /* Where silence is of interest, it may have been found just now. */
      assert_true(status.state == KIN_STATE_LIVE ||
                  (s->minds_silence && status.state == KIN_STATE_STALE));
      assert_true(status.has_synced);
      count++;
    }
  }
  assert_int_equal(s->w.informer->scopes.count, count);
  assert_int_equal(s->w.informer->scopes.synced, count);
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
    if (s->is_transforming && is_due &&
        s->w.server.versions[i] % REFUSED == 0) {
      count += object != NULL;
      continue;
    }
    if ((object != NULL) != is_due) {
      fail_msg("%s is %scached, the server has version %s", key,
               object != NULL ? "" : "not ", version);
    }
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
    s->w.script.env.check_watch_lists = true;
  }
  s->is_transforming = below(s, 3) == 0;
  for (int i = 0; i < 10; i++) {
    change_an_object(s);
  }
  kin_informer_options options = iw_options(&s->w);
  options.on_error = on_error;
  options.on_state = on_state;
  options.page_size = (uint32_t)below(s, 6);
  options.clear_when_absent = below(s, 2) == 0;
  s->minds_silence = below(s, 3) == 0;
  options.stale_after_ms = s->minds_silence ? 1 + (uint32_t)below(s, 3000) : 0;
  options.transform = s->is_transforming ? transform : NULL;
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

static size_t total_reached;
static uint64_t total_checked;

static void finish(simulation *s) {
  s->is_closed = true;
  if (s->w.closed == 0) {
    (void)kin_informer_close(s->w.informer, iw_on_closed, &s->w);
    script_run(&s->w.script);
  }
  assert_int_equal(s->w.closed, 1);
  assert_int_equal(s->open_waits, 0);
  iw_finish(&s->w);
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
  for (size_t i = 0; i < s.wait_count; i++) {
    a_wait *wait = &s.waits[i];
    if (wait->is_open && wait->name < 2) {
      fail_msg("wait %zu for %s, version %llu, is open", i, names[wait->name],
               (unsigned long long)wait->version);
    }
  }
  kin_informer_metrics metrics;
  kin_informer_get_metrics(s.w.informer, &metrics);
  assert_int_equal(metrics.inconsistent_lists, 0);
  total_reached += s.reached;
  total_checked += metrics.checked_lists;
  finish(&s);
}

static void run_and_close_early(uint64_t seed) {
  static simulation s;
  assert_int_equal(open_world(&s, seed), 0);
  s.may_close = true;
  for (uint64_t i = below(&s, STEPS); i > 0; i--) {
    step(&s);
  }
  s.act_in = 0;
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
