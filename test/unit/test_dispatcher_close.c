/* SPDX-License-Identifier: MIT */
/* Callbacks may close, pause and add anything; closing ends everything; memory
 * may run out at any point. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/dispatch_rig.h"
#include "support/fail_alloc.h"

#define LISTENERS 4

static dispatch_rig rig;

/* One listener of a scenario: calls `act` in each callback. */
typedef struct actor {
  event_log log;
  kin_listener *handle;
  size_t index;
} actor;

static actor actors[LISTENERS];
static size_t calls; /* of all callbacks */
static void (*act)(actor *self);

static void actor_cb(struct kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  actor *self = data;
  calls++;
  event_log_add(&self->log, event);
  if (act != NULL) {
    act(self);
  }
  /* What the event shows lives until the callback returns, even if the
   * listener is gone. */
  if (event->object != NULL) {
    assert_int_equal(kin_object_name(event->object).length, 1);
  }
}

static int listen(size_t index, const kin_listener_options *base) {
  actor *a = &actors[index];
  event_log_clear(&a->log);
  a->index = index;
  kin_listener_options options = *base;
  options.on_add = options.on_update = options.on_delete = actor_cb;
  options.on_synced = options.on_relisted = actor_cb;
  options.data = a;
  return kin__dispatcher_add(&rig.dispatcher, &options, &a->handle);
}

static void begin(void (*action)(actor *self)) {
  assert_int_equal(rig_init(&rig, NULL), 0);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  act = action;
  calls = 0;
  memset(actors, 0, sizeof actors);
  for (size_t i = 0; i < LISTENERS; i++) {
    assert_int_equal(listen(i, &options), 0);
  }
}

static void put(const char *name) {
  assert_int_equal(rig_put(&rig, name), 0);
}

static void close_actor(actor *a) {
  kin_listener *handle = a->handle;
  a->handle = NULL;
  kin_listener_close(handle);
}

static void close_self(actor *self) {
  close_actor(self);
}

/* SI-09: none but the callback on the stack. */
static void test_listener_closes_itself(void **state) {
  (void)state;
  begin(close_self);
  put("a");
  put("a");
  rig_run(&rig);
  for (size_t i = 0; i < LISTENERS; i++) {
    event_log_expect(&actors[i].log, "+a1!");
  }
  assert_true(kin__link_is_empty(&rig.dispatcher.listeners));
  put("a");
  rig_finish(&rig);
}

static void close_next(actor *self) {
  close_actor(&actors[(self->index + 1) % LISTENERS]);
}

static void test_listener_closes_the_next(void **state) {
  (void)state;
  begin(close_next);
  put("a");
  rig_run(&rig);
  /* 0 closes 1 before its turn; 2 closes 3. */
  assert_string_equal(actors[0].log.text, "+a1!");
  assert_string_equal(actors[1].log.text, "");
  assert_string_equal(actors[2].log.text, "+a1!");
  assert_string_equal(actors[3].log.text, "");
  rig_finish(&rig);
}

static void close_previous(actor *self) {
  close_actor(&actors[(self->index + LISTENERS - 1) % LISTENERS]);
}

static void test_listener_closes_the_previous(void **state) {
  (void)state;
  begin(close_previous);
  put("a");
  rig_run(&rig);
  put("a");
  rig_run(&rig);
  /* 0 closes 3, 1 closes 0, 2 closes 1. */
  assert_string_equal(actors[0].log.text, "+a1!");
  assert_string_equal(actors[1].log.text, "+a1!");
  assert_string_equal(actors[2].log.text, "+a1! ~a1>2");
  assert_string_equal(actors[3].log.text, "");
  rig_finish(&rig);
}

static void close_all(actor *self) {
  (void)self;
  for (size_t i = 0; i < LISTENERS; i++) {
    close_actor(&actors[i]);
  }
}

static void test_listener_closes_all(void **state) {
  (void)state;
  begin(close_all);
  put("a");
  put("b");
  rig_run(&rig);
  assert_int_equal(calls, 1);
  assert_true(kin__link_is_empty(&rig.dispatcher.listeners));
  rig_finish(&rig);
}

static void pause_self(actor *self) {
  kin_listener_pause(self->handle);
}

static void test_listener_pauses_itself(void **state) {
  (void)state;
  begin(pause_self);
  put("a");
  put("a");
  put("a");
  rig_run(&rig);
  assert_string_equal(actors[0].log.text, "+a1!");
  assert_int_equal(kin_listener_pending(actors[0].handle), 2);
  kin_listener_resume(actors[0].handle);
  rig_run(&rig);
  event_log_expect(&actors[0].log, "+a1! ~a1>2");
  rig_finish(&rig);
}

static void pause_and_resume(actor *self) {
  kin_listener_pause(self->handle);
  kin_listener_resume(self->handle);
}

static void test_pause_and_resume_inside(void **state) {
  (void)state;
  begin(pause_and_resume);
  put("a");
  put("a");
  rig_run(&rig);
  event_log_expect(&actors[3].log, "+a1! ~a1>2");
  rig_finish(&rig);
}

/* A listener added inside a callback replays what is there, once; events that
 * were queued before it joined are not its own. */
static event_log added_log;

static void add_one(actor *self) {
  if (self->index == 0 && calls == 1) {
    kin_listener_options options = rig_logging(&added_log);
    assert_int_equal(kin__dispatcher_add(&rig.dispatcher, &options, NULL), 0);
    assert_string_equal(added_log.text, "");
  }
}

static void test_adding_inside_a_callback(void **state) {
  (void)state;
  begin(add_one);
  put("a");
  put("b");
  put("a");
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  event_log_expect(&added_log, "+a3! +b2! S:3#2");
  put("b");
  rig_run(&rig);
  event_log_expect(&added_log, "~b2>4");
  rig_finish(&rig);
}

static size_t close_at;

static void close_dispatcher(actor *self) {
  if (calls == close_at) {
    for (int i = 0; i < 3; i++) {
      /* Never done while this callback runs; begun at least. */
      assert_true(kin__dispatcher_close_step(&rig.dispatcher,
                                             close_at % 2 == 0 ? 2 : 0));
    }
    kin_listener_options options = rig_logging(&added_log);
    kin_listener *late;
    assert_int_equal(kin__dispatcher_add(&rig.dispatcher, &options, &late),
                     KIN_ECLOSED);
    assert_null(late);
    /* Handles are valid until the end, whatever is done with them. */
    kin_listener_pause(self->handle);
    kin_listener_resume(self->handle);
    kin_listener_resume(actors[(self->index + 1) % LISTENERS].handle);
    close_actor(self);
  }
}

/* Everything that can be on its way when an informer is closed: exact and
 * coalesced notifications, a replay, a resync, markers. */
static void scenario_for_close(void) {
  put("a");
  put("b");
  rig_run(&rig);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.exact_limit = 1;
  options.resync_ms = 1000;
  close_actor(&actors[3]);
  if (listen(3, &options) != 0) {
    assert_true(rig.dispatcher.is_closed);
    actors[3].handle = NULL;
    return;
  }
  (void)rig_synced(&rig);
  (void)rig_put(&rig, "a");
  (void)rig_put(&rig, "c");
  rig_run(&rig);
  (void)rig_put(&rig, "a");
  (void)rig_put(&rig, "c");
  (void)rig_delete(&rig, "c");
  (void)rig_relisted(&rig, "n", "9", 2);
  rig_run(&rig);
  if (!rig.dispatcher.is_closed) {
    rig_advance(&rig, 1000);
  }
}

static void test_close_in_callback_k(void **state) {
  (void)state;
  for (close_at = 1;; close_at++) {
    begin(close_dispatcher);
    scenario_for_close();
    if (calls < close_at) {
      assert_in_range(close_at, 30, 60); /* the scenario did what it should */
      rig_finish(&rig);
      break;
    }
    assert_int_equal(calls, close_at);
    size_t count = 0;
    while (kin__dispatcher_close_step(&rig.dispatcher, 1)) {
      assert_true(++count < 100);
    }
    assert_false(kin__sched_has_work(&rig.sched));
    for (size_t i = 0; i < LISTENERS; i++) {
      if (actors[i].handle != NULL) {
        assert_int_equal(kin_listener_pending(actors[i].handle), 0);
        kin_listener_resume(actors[i].handle);
        close_actor(&actors[i]);
      }
    }
    rig_advance(&rig, 5000);
    assert_int_equal(calls, close_at);
    rig_finish(&rig);
  }
}

/* A listener that was closed and one that holds a lot, closed from outside. */
static void test_close_step_is_bounded(void **state) {
  (void)state;
  begin(NULL);
  for (size_t i = 0; i < LISTENERS; i++) {
    kin_listener_pause(actors[i].handle);
  }
  for (char c = 'a'; c <= 'z'; c++) {
    char name[] = {c, '\0'};
    put(name);
  }
  close_actor(&actors[0]); /* its step has not run */
  assert_true(kin__dispatcher_close_step(&rig.dispatcher, 10));
  int steps = 1;
  while (kin__dispatcher_close_step(&rig.dispatcher, 10)) {
    steps++;
  }
  assert_int_equal(steps, LISTENERS * 26 / 10);
  assert_int_equal(calls, 0);
  assert_int_equal(rig_put(&rig, "a"), 0); /* nobody hears of it */
  assert_int_equal(kin_listener_pending(actors[1].handle), 0);
  rig_finish(&rig);
}

/* Runs until nothing is scheduled and nothing waits for memory. */
static void settle(void) {
  do {
    kin__sched_add(&rig.sched, &rig.driver);
    rig_run(&rig);
  } while (kin__dispatcher_is_sending(&rig.dispatcher));
  while (kin__timers_next_ms(&rig.timers) <= rig.now_ns / 1000000 + 100) {
    rig_advance(&rig, 100);
  }
}

/* Does it again if there was no memory: nothing must have changed then. */
#define PERSIST(expression)                                                    \
  do {                                                                         \
    int err_ = (expression);                                                   \
    assert_true(err_ == 0 || err_ == KIN_ENOMEM);                              \
    if (err_ != 0) {                                                           \
      assert_int_equal((expression), 0);                                       \
    }                                                                          \
  } while (0)

static void scenario_for_memory(void) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  PERSIST(listen(0, &options));
  options.exact_limit = 2;
  PERSIST(listen(1, &options));
  for (char c = 'a'; c <= 'f'; c++) {
    char name[] = {c, '\0'};
    PERSIST(rig_put(&rig, name));
    PERSIST(rig_put(&rig, name));
  }
  PERSIST(rig_synced(&rig));
  settle();
  options.resync_ms = 2000;
  PERSIST(listen(2, &options)); /* replays */
  settle();
  PERSIST(rig_recreate(&rig, "a"));
  PERSIST(rig_delete(&rig, "b"));
  PERSIST(rig_relisted(&rig, "n", "7", 5));
  settle();
  rig_advance(&rig, 2000); /* resyncs */
  settle();
  PERSIST(listen(3, &options)); /* synced at the replay's end */
  settle();
}

/* Whichever allocation fails, all is as if none had, only later. `pieces`: of a
 * step. */
static void let_each_allocation_fail(uint32_t pieces) {
  static char expected[LISTENERS][sizeof actors[0].log.text];
  act = NULL;
  size_t n = 0;
  for (bool has_failed = true; has_failed; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n); /* 0: none, for comparison */
    memset(actors, 0, sizeof actors);
    if (rig_init(&rig, &memory.allocator) != 0) {
      assert_int_equal(n, 1);
      continue;
    }
    rig.sched.max_pieces = pieces;
    scenario_for_memory();
    for (size_t i = 0; i < LISTENERS; i++) {
      if (n == 0) {
        strcpy(expected[i], actors[i].log.text);
        assert_non_null(strstr(expected[i], "S:"));
      }
      assert_string_equal(actors[i].log.text, expected[i]);
    }
    has_failed = n == 0 || fail_alloc_has_failed(&memory);
    rig_finish(&rig);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
  assert_in_range(n, 50, 500);
}

static void test_each_allocation_may_fail(void **state) {
  (void)state;
  let_each_allocation_fail(UINT32_MAX);
}

/* The same where no change is told to all in one step. */
static void test_each_allocation_may_fail_in_steps(void **state) {
  (void)state;
  let_each_allocation_fail(1);
}

/* SY-02 without memory: joining a synced empty informer fails as a whole. */
static void test_joining_fails_as_a_whole(void **state) {
  (void)state;
  act = NULL;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  assert_int_equal(rig_init(&rig, &memory.allocator), 0);
  assert_int_equal(rig_synced(&rig), 0);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  size_t failures = 0;
  size_t live = atomic_load(&memory.live_blocks);
  memory.fail_at = atomic_load(&memory.calls) + 1;
  while (listen(0, &options) != 0) {
    assert_null(actors[0].handle);
    assert_int_equal(atomic_load(&memory.live_blocks), live);
    failures++;
    memory.fail_at = atomic_load(&memory.calls) + failures + 1;
  }
  assert_int_equal(failures, 3); /* the listener, its queue, the marker */
  rig_run(&rig);
  event_log_expect(&actors[0].log, "S:0#0");
  rig_finish(&rig);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

/* Memory runs out for good at any point: no crash, no leak, and closing needs
 * none. */
static void test_memory_may_run_out_for_good(void **state) {
  (void)state;
  act = NULL;
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    memory.keeps_failing = true;
    memset(actors, 0, sizeof actors);
    if (rig_init(&rig, &memory.allocator) != 0) {
      assert_int_equal(atomic_load(&memory.live_blocks), 0);
      continue;
    }
    kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
    (void)listen(0, &options);
    (void)rig_put(&rig, "a");
    (void)rig_put(&rig, "b");
    (void)rig_synced(&rig);
    rig_run(&rig);
    options.resync_ms = 1000;
    (void)listen(1, &options);
    rig_run(&rig);
    rig_advance(&rig, 1000);
    rig_advance(&rig, 1000);
    (void)rig_delete(&rig, "a");
    (void)rig_relisted(&rig, "n", "7", 1);
    bool has_failed = fail_alloc_has_failed(&memory);
    rig_finish(&rig);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    if (!has_failed) {
      assert_in_range(n, 10, 200);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listener_closes_itself),
      cmocka_unit_test(test_listener_closes_the_next),
      cmocka_unit_test(test_listener_closes_the_previous),
      cmocka_unit_test(test_listener_closes_all),
      cmocka_unit_test(test_listener_pauses_itself),
      cmocka_unit_test(test_pause_and_resume_inside),
      cmocka_unit_test(test_adding_inside_a_callback),
      cmocka_unit_test(test_close_in_callback_k),
      cmocka_unit_test(test_close_step_is_bounded),
      cmocka_unit_test(test_each_allocation_may_fail),
      cmocka_unit_test(test_each_allocation_may_fail_in_steps),
      cmocka_unit_test(test_joining_fails_as_a_whole),
      cmocka_unit_test(test_memory_may_run_out_for_good),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
