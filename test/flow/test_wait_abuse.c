/* SPDX-License-Identifier: MIT */

/* The ends of waits: callbacks that do anything, clients that close, memory
 * that is out, and input that is wrong. Proves SY-08 and SY-09 under them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include <kin/error.h>
#include <kin/wait.h>

#include "support/wait_rig.h"
#include "toolkit/wait.h"

/* The callback may do anything, also to what was waited for. */
static kin_wait *ended_wait;

static void cancel_close_and_wait_again(wait_ending *e) {
  wait_ending *next = e->data;
  assert_int_equal(kin_wait_cancel(ended_wait, UV_ECANCELED), KIN_EALREADY);
  kin_informer *pods = next->data;
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  kin_wait *wait;
  assert_int_equal(wait_rig_open(e->vh, &wait, NULL, 0, NULL, 0, next), 0);
}

static void test_wait_callback_does_anything(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  wait_ending next = {.data = pods};
  wait_ending e = {.then = cancel_close_and_wait_again, .data = &next};
  const kin_wait_for thing = {.informer = pods};
  assert_int_equal(wait_rig_open(&vh, &ended_wait, &thing, 1, NULL, 500, &e),
                   0);
  script_advance(&vh.script, 1000);
  wait_ending_expect(&e, KIN_ETIMEDOUT, NULL);
  wait_ending_expect(&next, 0, NULL);
  vh_finish(&vh);
}

/* So may a check, though it should not. */
typedef struct meddler {
  virtual_host *vh;
  kin_wait *wait;
  kin_informer *informer;
  int how;
  int asked;
} meddler;

static bool meddle(void *data) {
  meddler *m = data;
  if (m->asked++ == 0) {
    if (m->how == 0) {
      assert_int_equal(kin_wait_cancel(m->wait, UV_ECANCELED), 0);
    } else if (m->how == 1) {
      assert_int_equal(kin_informer_close(m->informer, NULL, NULL), 0);
    } else {
      vh_close(m->vh);
    }
  }
  return m->how == 1;
}

static void test_wait_check_meddles(void **state) {
  (void)state;
  static const int codes[] = {UV_ECANCELED, KIN_ECLOSED, KIN_ECLOSED};
  for (int how = 0; how < 3; how++) {
    virtual_host vh;
    vh_init(&vh, 0);
    meddler m = {.vh = &vh, .how = how};
    assert_int_equal(vh_open_informer(&vh, &m.informer, "pods"), 0);
    const kin_wait_for things[] = {{.name = "x", .check = meddle, .data = &m},
                                   {.informer = m.informer}};
    wait_ending e = {0};
    assert_int_equal(wait_rig_open(&vh, &m.wait, things, 2, NULL, 0, &e), 0);
    script_advance(&vh.script, 1000);
    wait_ending_expect(&e, codes[how], NULL);
    vh_finish(&vh);
  }
}

static bool count_question(void *data) {
  ++*(int *)data;
  return false;
}

/* What a check looks at may go when the client has been closed, also after the
 * wait was given up. */
static void test_wait_asks_nothing_after_close(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    virtual_host vh;
    vh_init(&vh, 0);
    int asked = 0;
    const kin_wait_for thing = {
        .name = "x", .check = count_question, .data = &asked};
    kin_wait *wait;
    wait_ending e = {0};
    assert_int_equal(wait_rig_open(&vh, &wait, &thing, 1, NULL, 0, &e), 0);
    if (how > 0) {
      script_advance(&vh.script, 250);
      assert_int_equal(asked, 3);
    }
    if (how > 1) {
      assert_int_equal(kin_wait_cancel(wait, UV_ECANCELED), 0);
    }
    vh_close(&vh);
    script_advance(&vh.script, 1000);
    assert_int_equal(asked, how > 0 ? 3 : 0);
    wait_ending_expect(&e, how > 1 ? UV_ECANCELED : KIN_ECLOSED, NULL);
    vh_finish(&vh);
  }
}

/* Once a check has given up, the others are not asked any more: what they look
 * at may be gone. */
static void test_wait_check_gives_up(void **state) {
  (void)state;
  for (int how = 0; how < 3; how += 2) {
    virtual_host vh;
    vh_init(&vh, 0);
    meddler m = {.vh = &vh, .how = how};
    wait_timed other = {.vh = &vh};
    const kin_wait_for things[] = {
        {.name = "x", .check = meddle, .data = &m},
        {.name = "y", .check = wait_timed_is_due, .data = &other}};
    wait_ending e = {0};
    assert_int_equal(wait_rig_open(&vh, &m.wait, things, 2, NULL, 0, &e), 0);
    script_advance(&vh.script, 1000);
    assert_int_equal(e.calls, 1);
    assert_string_equal(e.done, "nn");
    assert_int_equal(m.asked, 1);
    assert_int_equal(other.asked, 0);
    vh_finish(&vh);
  }
}

/* One event of the story below closes everything, whichever. */
static int close_at;
static int events;

static void may_close(virtual_host *vh) {
  if (events++ == close_at) {
    vh_close(vh);
  }
}

static void close_on_end(wait_ending *e) {
  may_close(e->vh);
}

static bool close_on_check(void *data) {
  may_close(data);
  return false;
}

static void close_on_event(kin_informer *informer, const kin_event *event,
                           void *data) {
  (void)informer;
  (void)event;
  may_close(data);
}

/* Two waits end in different ways while an informer syncs. */
static int run_story(virtual_host *vh, wait_ending *first,
                     wait_ending *second) {
  mini_put_first(&vh->server, 3);
  kin_informer *pods;
  kin_listener *listener = NULL;
  int err = vh_open_informer(vh, &pods, "pods");
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_synced = close_on_event;
  options.data = vh;
  if (err == 0) {
    err = kin_informer_listen(pods, &options, &listener);
  }
  first->then = second->then = close_on_end;
  const kin_wait_for things[] = {
      {.informer = pods},
      {.listener = listener},
      {.name = "x", .check = close_on_check, .data = vh}};
  kin_wait *wait;
  if (err == 0) {
    err = wait_rig_open(vh, &wait, things, 2, "all of it", 0, first);
  }
  if (err == 0) {
    err = wait_rig_open(vh, &wait, things, 3, NULL, 250, second);
  }
  if (err == 0) {
    err = kin_informer_start(pods);
  }
  if (err == 0) {
    mini_pass(&vh->server, 20000);
  }
  return err;
}

static void test_wait_sweep_closes(void **state) {
  (void)state;
  for (close_at = 0;; close_at++) {
    virtual_host vh;
    vh_init(&vh, 0);
    events = 0;
    wait_ending first = {0};
    wait_ending second = {0};
    assert_int_equal(run_story(&vh, &first, &second), 0);
    bool was_reached = events > close_at;
    assert_int_equal(vh.host.members.is_closing, was_reached);
    vh_finish(&vh);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    if (!was_reached) {
      assert_int_equal(first.code, 0);
      assert_int_equal(second.code, KIN_ETIMEDOUT);
      assert_string_equal(second.done, "yyn");
      assert_true(close_at > 8);
      break;
    }
  }
}

static void test_wait_sweep_allocations(void **state) {
  (void)state;
  close_at = -1;
  for (size_t n = 1;; n++) {
    virtual_host vh;
    vh_init(&vh, n);
    wait_ending first = {0};
    wait_ending second = {0};
    int err = run_story(&vh, &first, &second);
    bool has_failed = fail_alloc_has_failed(&vh.memory);
    vh_finish(&vh);
    if (err == 0) {
      assert_int_equal(first.calls, 1);
      assert_int_equal(second.calls, 1);
      assert_int_equal(first.code, 0);
    } else {
      assert_int_equal(err, KIN_ENOMEM);
    }
    if (!has_failed) {
      assert_true(n > 20);
      break;
    }
  }
}

static void test_wait_bad_input(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  wait_timed t = {.vh = &vh};
  static char name[1026];
  memset(name, 'x', sizeof name - 1);
  wait_ending e = {0};
  kin_wait *wait;
  const kin_wait_for cases[] = {
      {.name = "nothing"},
      {.check = wait_timed_is_due, .data = &t}, /* without a name */
      {.name = "two", .informer = pods, .check = wait_timed_is_due, .data = &t},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(wait_rig_open(&vh, &wait, &cases[i], 1, NULL, 0, &e),
                     KIN_EINVAL);
    assert_null(wait);
  }
  assert_int_equal(wait_rig_open(&vh, &wait, NULL, 1, NULL, 0, &e), KIN_EINVAL);
  const kin_wait_for good = {.name = name, .informer = pods};
  assert_int_equal(wait_rig_open(&vh, &wait, &good, 1, NULL, 0, &e),
                   KIN_ETOOBIG);
  assert_int_equal(wait_rig_open(&vh, &wait, NULL, 0, name, 0, &e),
                   KIN_ETOOBIG);
  assert_int_equal(wait_rig_open(&vh, &wait, &good, 4097, NULL, 0, &e),
                   KIN_ETOOBIG);
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  assert_int_equal(kin__wait_open(&wait, &vh.host, &options, ""), KIN_EINVAL);
  assert_int_equal(e.calls, 0);

  name[1024] = '\0';
  assert_int_equal(wait_rig_open(&vh, &wait, &good, 1, name, UINT64_MAX, &e),
                   0);
  assert_int_equal(kin_wait_cancel(wait, 0), KIN_EINVAL);
  assert_int_equal(kin_wait_cancel(wait, 1), KIN_EINVAL);
  script_run(&vh.script);
  assert_int_equal(e.calls, 0);
  vh_finish(&vh);
  assert_int_equal(e.calls, 1);
}

#define MANY 4096

/* The names in an error text are all there, in order. */
static void expect_many_sorted(const kin_wait_result *result, void *data) {
  ++*(int *)data;
  assert_int_equal(result->code, KIN_EGONE);
  const char *at = result->error;
  assert_memory_equal(at, "failed: ", 8);
  at += 8;
  for (int i = 0; i < MANY; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%04d%s", i, i + 1 < MANY ? ", " : ": ");
    assert_memory_equal(at, name, 7);
    at += 7;
  }
  assert_string_equal(at, kin_strerror(KIN_EGONE));
}

/* As many as there may be, in any order. */
static void test_wait_for_many(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  static kin_wait_for things[MANY];
  static char names[MANY][8];
  wait_timed never = {.vh = &vh, .at_ms = UINT64_MAX};
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "n%04d", i * 2731 % MANY);
    things[i] = (kin_wait_for){
        .name = names[i], .check = wait_timed_is_due, .data = &never};
  }
  int calls = 0;
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  options.things = things;
  options.count = MANY;
  options.cb = expect_many_sorted;
  options.data = &calls;
  kin_wait *wait;
  assert_int_equal(kin__wait_open(&wait, &vh.host, &options, "failed"), 0);
  assert_int_equal(kin_wait_cancel(wait, KIN_EGONE), 0);
  script_run(&vh.script);
  assert_int_equal(calls, 1);
  assert_int_equal(never.asked, MANY);
  vh_finish(&vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wait_callback_does_anything),
      cmocka_unit_test(test_wait_check_meddles),
      cmocka_unit_test(test_wait_asks_nothing_after_close),
      cmocka_unit_test(test_wait_check_gives_up),
      cmocka_unit_test(test_wait_sweep_closes),
      cmocka_unit_test(test_wait_sweep_allocations),
      cmocka_unit_test(test_wait_bad_input),
      cmocka_unit_test(test_wait_for_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
