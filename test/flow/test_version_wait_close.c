/* SPDX-License-Identifier: MIT */

/* Waits for versions and verifications while everything around them ends: an
 * informer, its client, a scope; in their own callbacks, too, and when memory
 * runs out. Each is told exactly once, and what it is told is true. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/informer.h"
#include "support/virtual_host.h"

typedef struct world world;

/* One call that returned 0. */
typedef struct waiter {
  world *w;
  const char *namespace_;
  bool is_verify;
  int calls;
  int code;
} waiter;

#define MAX_WAITERS 512

struct world {
  virtual_host vh;
  kin_informer *informer;
  bool is_closing;
  bool is_removed; /* the scope "odd" */
  bool has_ended;  /* its close callback has come */
  int ends;
  int errors;
  bool stops;   /* answers errors so */
  bool removes; /* the scope "odd", in on_error */
  waiter waiters[MAX_WAITERS];
  int count;
  int told;
  int good;                  /* told 0 */
  void (*then)(waiter *who); /* called last in each callback; may be NULL */
  int at;                    /* for it */
};

static void on_closed(void *data) {
  world *w = data;
  assert_false(w->has_ended);
  w->has_ended = true;
}

static void remove_odd(world *w) {
  if (!w->is_closing && !w->is_removed) {
    w->is_removed = true;
    assert_int_equal(kin_informer_remove_namespace(w->informer, "odd"), 0);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  world *w = data;
  assert_ptr_equal(informer, w->informer);
  w->errors++;
  if (w->stops) {
    event->answer = KIN_STOP;
  }
  if (w->removes) {
    remove_odd(w);
  }
}

/* What the server has now and had at that version already is in the store, and
 * what it had not any more at its newest is not. */
static void assert_holds(const waiter *who, uint64_t version) {
  const mini_server *server = &who->w->vh.server;
  const kin_store *store = kin_informer_store(who->w->informer);
  int parity = strcmp(who->namespace_, "odd") == 0;
  for (int i = parity; i < MINI_OBJECTS; i += 2) {
    char key[32];
    uint64_t cached = 0;
    snprintf(key, sizeof key, "%s/p%d", who->namespace_, i);
    const kin_object *object = kin_store_get_key(store, key);
    if (object != NULL) {
      assert_true(
          kin__str_to_u64(kin_object_resource_version(object), &cached));
    }
    bool is_known = server->versions[i] == 0 ? version >= server->version
                                             : server->versions[i] <= version;
    if (is_known && cached != server->versions[i]) {
      fail_msg("told %u, but %s is cached at %u, the server has %u",
               (unsigned)version, key, (unsigned)cached,
               (unsigned)server->versions[i]);
    }
  }
}

static void on_told(kin_informer *informer, int code, const char *version,
                    void *data) {
  waiter *who = data;
  world *w = who->w;
  assert_ptr_equal(informer, w->informer);
  assert_false(w->has_ended);
  assert_int_equal(who->calls++, 0);
  who->code = code;
  w->told++;
  uint64_t number = 0;
  if (code == 0) {
    w->good++;
    assert_true(kin__str_to_u64(kin__cstr(version), &number));
    assert_holds(who, number);
  } else if (code == KIN_ECLOSED) {
    bool is_of_removed = w->is_removed && strcmp(who->namespace_, "odd") == 0;
    assert_true(w->is_closing || is_of_removed || w->stops);
  } else {
    assert_int_equal(code, KIN_ETIMEDOUT);
  }
  if (w->then != NULL) {
    w->then(who);
  }
}

/* `version` 0: a verification. Returns the call's error. */
static int begin(world *w, const char *namespace_, uint64_t version,
                 uint64_t timeout_ms) {
  if (w->count == MAX_WAITERS) {
    return KIN_EAGAIN;
  }
  waiter *who = &w->waiters[w->count];
  *who = (waiter){.w = w, .namespace_ = namespace_, .is_verify = version == 0};
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)version);
  int err = who->is_verify
                ? kin_informer_verify(w->informer, namespace_, timeout_ms,
                                      on_told, who)
                : kin_informer_wait_version(w->informer, namespace_, text,
                                            timeout_ms, on_told, who);
  assert_int_equal(who->calls, 0);
  w->count += err == 0;
  return err;
}

static void close_informer(world *w) {
  if (!w->is_closing) {
    w->is_closing = true;
    assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  }
}

static void close_host(world *w) {
  w->is_closing = true;
  if (!w->vh.host.members.is_closing) {
    vh_close(&w->vh);
  }
}

static int init_world(world *w, size_t fail_at) {
  static const char *const namespaces[] = {"even", "odd"};
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
  mini_put_first(&w->vh.server, 6);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.namespaces = namespaces;
  options.namespace_count = 2;
  options.no_watch_list = true;
  options.on_error = on_error;
  options.on_closed = on_closed;
  options.data = w;
  return kin__informer_open_on(&w->informer, &w->vh.host, &options);
}

static bool is_short_watch(const char *target) {
  const char *at = strstr(target, "timeoutSeconds=");
  return at != NULL && strtoul(at + strlen("timeoutSeconds="), NULL, 10) < 60;
}

/* Lets time pass before a server that ends short watches with a bookmark. */
static void pass(world *w, uint64_t ms) {
  script_env *script = &w->vh.script;
  for (uint64_t passed = 0; passed < ms; passed += 250) {
    mini_pass(&w->vh.server, 250);
    bool is_short = false;
    for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
      is_short |= script->requests[i] != NULL &&
                  is_short_watch(script->requests[i]->target);
    }
    if (is_short) {
      mini_bookmark(&w->vh.server);
      script_run(script);
    }
  }
}

/* Ends what is left, and checks that all have been told once. */
static void finish_world(world *w) {
  w->is_closing = true;
  vh_finish(&w->vh);
  assert_true(w->informer == NULL || w->has_ended);
  assert_int_equal(w->told, w->count);
  for (int i = 0; i < w->count; i++) {
    assert_int_equal(w->waiters[i].calls, 1);
  }
}

static void open_world(world *w) {
  assert_int_equal(init_world(w, 0), 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
  mini_serve(&w->vh.server);
  assert_true(kin_informer_has_synced(w->informer));
}

/* One of each kind, at every place one can be at. */
static void begin_all_kinds(world *w) {
  static const char *const namespaces[] = {"even", "odd"};
  for (int i = 0; i < 2; i++) {
    const char *name = namespaces[i];
    assert_int_equal(begin(w, name, 900, 0), 0); /* asked about, soon */
    assert_int_equal(begin(w, name, 0, 0), 0);
  }
  script_run(&w->vh.script); /* the questions are open */
  for (int i = 0; i < 2; i++) {
    const char *name = namespaces[i];
    assert_int_equal(begin(w, name, 901, 50000), 0);
    assert_int_equal(begin(w, name, 0, 50000), 0);
    assert_int_equal(begin(w, name, 101, 50000), 0); /* reached */
  }
}

/* --- Ends ----------------------------------------------------------------- */

static void test_the_informer_closes(void **state) {
  (void)state;
  for (int by_host = 0; by_host < 2; by_host++) {
    world w;
    open_world(&w);
    begin_all_kinds(&w);
    int before = w.told;
    if (by_host) {
      close_host(&w);
    } else {
      close_informer(&w);
    }
    assert_int_equal(w.told, before);
    assert_int_equal(begin(&w, "even", 101, 0), KIN_ECLOSED);
    script_run(&w.vh.script);
    assert_int_equal(w.told, 10);
    assert_int_equal(w.good, 0);
    assert_true(w.has_ended);
    finish_world(&w);
  }
}

/* Also one that was never started. */
static void test_a_close_before_the_start(void **state) {
  (void)state;
  world w;
  assert_int_equal(init_world(&w, 0), 0);
  assert_int_equal(begin(&w, "even", 101, 0), 0);
  assert_int_equal(begin(&w, "odd", 0, 1000), 0);
  assert_int_equal(begin(&w, "odd", 5, 0), 0);
  pass(&w, 2000);
  assert_int_equal(w.told, 1);
  assert_int_equal(w.waiters[1].code, KIN_ETIMEDOUT);
  close_informer(&w);
  finish_world(&w);
}

/* A scope's waits end with it; those of the others go on. */
static void test_a_scope_is_removed(void **state) {
  (void)state;
  world w;
  open_world(&w);
  begin_all_kinds(&w);
  remove_odd(&w);
  assert_int_equal(w.told, 0);
  assert_int_equal(begin(&w, "odd", 101, 0), KIN_ENOENT);
  assert_int_equal(begin(&w, "odd", 0, 0), KIN_ENOENT);
  script_run(&w.vh.script);
  for (int i = 0; i < w.count; i++) {
    bool is_odd = strcmp(w.waiters[i].namespace_, "odd") == 0;
    assert_int_equal(w.waiters[i].calls, is_odd || i == 6);
    assert_int_equal(w.waiters[i].code, is_odd ? KIN_ECLOSED : 0);
  }
  pass(&w, 5000);
  assert_int_equal(w.good, 3); /* and "even" has been verified */
  /* It comes back, with another past. */
  assert_int_equal(kin_informer_add_namespace(w.informer, "odd"), 0);
  w.is_removed = false;
  mini_put(&w.vh.server, 1);
  assert_int_equal(begin(&w, "odd", w.vh.server.version, 5000), 0);
  assert_int_equal(begin(&w, "odd", 0, 5000), 0);
  pass(&w, 5000);
  assert_int_equal(w.good, 5);
  finish_world(&w);
}

/* Nobody works on a scope whose error was answered with KIN_STOP. */
static void test_a_scope_is_stopped(void **state) {
  (void)state;
  world w;
  open_world(&w);
  begin_all_kinds(&w);
  w.stops = true;
  for (int i = 0; i < 2; i++) {
    script_respond(&w.vh.script, i == 0 ? "/even/" : "/odd/", 500, "");
  }
  assert_int_equal(w.errors, 2);
  assert_int_equal(w.told, 10); /* at once, not when the next question is due */
  pass(&w, 1000);
  assert_int_equal(w.told, 10);
  assert_int_equal(w.good, 2); /* what had been reached */
  /* What it has, it has; it can never get more. */
  assert_int_equal(begin(&w, "even", 103, 0), 0);
  assert_int_equal(begin(&w, "even", 900, 0), 0);
  assert_int_equal(begin(&w, "even", 0, 0), 0);
  pass(&w, 1000);
  assert_int_equal(w.told, 13);
  assert_int_equal(w.good, 3);
  finish_world(&w);
}

/* Breaks the watch of "odd", without running what follows. */
static void break_odd(world *w) {
  script_env *script = &w->vh.script;
  script_request *request = script_expect(script, "/odd/");
  const kin__exchange_callbacks *callbacks = request->callbacks;
  void *ctx = request->ctx;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (script->requests[i] == request) {
      script->requests[i] = NULL;
    }
  }
  free(request);
  kin__exchange_error error = {.code = KIN_EEOF,
                               .error_class = KIN_CLASS_CONNECT};
  callbacks->on_end(ctx, &error);
}

/* One step for each iteration of the loop, as if each took long. */
static void run_slowly(world *w) {
  script_env *script = &w->vh.script;
  bool has_more = true;
  while (has_more || !kin__link_is_empty(&script->deferred)) {
    script_run_deferred(script);
    has_more = kin__sched_run(&script->sched, 0);
  }
}

/* The same of a scope that is removed in the very callback that answers: it is
 * freed as soon as it can be, and nobody may be at work on it then. */
static void test_a_scope_is_removed_and_stopped(void **state) {
  (void)state;
  world w;
  assert_int_equal(init_world(&w, 0), 0);
  for (int i = 1; i < 6; i += 2) {
    mini_delete(&w.vh.server, i);
  }
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(begin(&w, "even", 900, 0), 0);
  assert_int_equal(begin(&w, "odd", 900, 0), 0);
  assert_int_equal(begin(&w, "odd", 0, 0), 0);
  w.stops = w.removes = true;
  break_odd(&w);
  run_slowly(&w);
  assert_int_equal(w.told, 2);
  assert_true(w.is_removed);
  close_informer(&w);
  run_slowly(&w);
  assert_int_equal(w.told, 3);
  finish_world(&w);
}

/* --- Callbacks ------------------------------------------------------------ */

static void again(waiter *who) {
  world *w = who->w;
  if (w->is_closing || w->told > 200) {
    return;
  }
  bool is_gone = w->is_removed && strcmp(who->namespace_, "odd") == 0;
  uint64_t version = w->told % 3 == 0 ? 0 : w->vh.server.version;
  assert_int_equal(begin(w, who->namespace_, version, 0),
                   is_gone ? KIN_ENOENT : 0);
}

/* A chain of waits, each begun where the one before is told. */
static void test_a_callback_waits_again(void **state) {
  (void)state;
  world w;
  open_world(&w);
  w.then = again;
  assert_int_equal(begin(&w, "odd", 101, 0), 0);
  for (int i = 0; i < 200 && w.told <= 200; i++) {
    mini_put(&w.vh.server, i % 6);
    pass(&w, 2500);
  }
  assert_int_equal(w.told, 201);
  assert_int_equal(w.good, 201);
  finish_world(&w);
}

static void (*what_to_do)(world *w);

static void act_when_due(waiter *who) {
  world *w = who->w;
  if (w->told == w->at) {
    what_to_do(w);
  } else if (w->told < w->at) {
    again(who);
  }
}

static void close_both(world *w) {
  close_informer(w);
  close_host(w);
}

static void remove_and_close(world *w) {
  remove_odd(w);
  close_informer(w);
}

/* In the k-th callback, for all k, everything is ended in every way. */
static void test_sweep_callbacks(void **state) {
  (void)state;
  static void (*const all[])(world * w) = {
      close_informer, close_host, remove_odd, close_both, remove_and_close};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    for (int k = 1; k < 30; k++) {
      world w;
      open_world(&w);
      w.then = act_when_due;
      w.at = k;
      what_to_do = all[i];
      begin_all_kinds(&w);
      for (int round = 0; round < 40 && !w.is_closing; round++) {
        mini_put(&w.vh.server, round % 6);
        pass(&w, 500);
      }
      assert_true(w.told >= k);
      finish_world(&w);
    }
  }
}

/* --- Memory --------------------------------------------------------------- */

static void expect(world *w, int err) {
  assert_true(err == 0 || (err == KIN_ENOMEM && w->vh.memory.fail_at > 0));
}

static int run_story(world *w) {
  mini_server *server = &w->vh.server;
  expect(w, begin(w, "even", 103, 0));
  int err = kin_informer_start(w->informer);
  if (err != 0) {
    return err;
  }
  mini_serve(server);
  for (int round = 0; round < 3; round++) {
    mini_put(server, round);
    expect(w, begin(w, round % 2 == 0 ? "even" : "odd", server->version, 0));
    mini_serve(server);
    expect(w, begin(w, "odd", server->version, 60000)); /* a bookmark only */
    pass(w, 2000);
    mini_delete(server, round + 3);
    expect(w, begin(w, "even", 0, 0));
    expect(w, begin(w, "odd", 0, 0));
    pass(w, 1000);
    mini_break_watches(server);
    mini_put(server, round + 6);
    mini_put(server, round + 7);
    expect(w, begin(w, "even", server->version, 0));
    expect(w, begin(w, "odd", 0, 60000));
    if (round == 1) {
      mini_compact(server);
    }
    pass(w, 5000);
  }
  expect(w, begin(w, "odd", 5000, 60000));
  pass(w, 150000);
  return 0;
}

static void test_story(void **state) {
  (void)state;
  world w;
  assert_int_equal(init_world(&w, 0), 0);
  assert_int_equal(run_story(&w), 0);
  assert_int_equal(w.told, w.count);
  assert_int_equal(w.good, w.count - 1);
  assert_int_equal(w.waiters[w.count - 1].code, KIN_ETIMEDOUT);
  finish_world(&w);
}

/* Any one allocation may fail: the call says so, or what it began ends well. */
static bool run_without_memory(size_t n) {
  world w;
  int err = init_world(&w, n);
  if (err == 0) {
    assert_int_equal(run_story(&w), 0);
    assert_int_equal(w.told, w.count);
    assert_true(w.good >= w.count - 1);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  finish_world(&w);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 60);
}

static void test_sweep_splits(void **state) {
  (void)state;
  for (size_t split = 1; split < 600; split += split < 40 ? 1 : 47) {
    world w;
    assert_int_equal(init_world(&w, 0), 0);
    w.vh.script.split = split;
    assert_int_equal(run_story(&w), 0);
    assert_int_equal(w.good, w.count - 1);
    finish_world(&w);
  }
}

/* And for a while none is to be had. */
static void test_sweep_outages(void **state) {
  (void)state;
  for (size_t n = 1; n < 200; n += 3) {
    world w;
    open_world(&w);
    assert_int_equal(begin(&w, "even", 110, 0), 0);
    assert_int_equal(begin(&w, "odd", 0, 0), 0);
    atomic_store(&w.vh.memory.calls, 0);
    w.vh.memory.fail_at = n;
    w.vh.memory.keeps_failing = true;
    for (int i = 0; i < 12; i++) {
      mini_put(&w.vh.server, i);
      int err = begin(&w, i % 2 == 0 ? "even" : "odd", w.vh.server.version, 0);
      assert_true(err == 0 || err == KIN_ENOMEM);
      pass(&w, 500);
    }
    w.vh.memory.fail_at = 0;
    w.vh.memory.keeps_failing = false;
    pass(&w, 150000);
    assert_int_equal(w.told, w.count);
    assert_int_equal(w.good, w.count);
    finish_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_informer_closes),
      cmocka_unit_test(test_a_close_before_the_start),
      cmocka_unit_test(test_a_scope_is_removed),
      cmocka_unit_test(test_a_scope_is_stopped),
      cmocka_unit_test(test_a_scope_is_removed_and_stopped),
      cmocka_unit_test(test_a_callback_waits_again),
      cmocka_unit_test(test_sweep_callbacks),
      cmocka_unit_test(test_story),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_outages),
      cmocka_unit_test(test_sweep_splits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
