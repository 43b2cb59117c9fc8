/* SPDX-License-Identifier: MIT */

/* The ends of factories: closed by the program or by their client, with
 * informers that somebody else has closed, from inside every callback, and
 * without memory. Proves FA-02, FA-03, FA-04, SI-18. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/factory_world.h"
#include "support/recorder.h"

/* An informer of its own callbacks, with `data` the world. */
static kin_informer *closing_informer(factory_world *w, const char *plural,
                                      kin_informer_close_cb on_closed) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = plural;
  options.on_closed = on_closed;
  options.data = w;
  kin_informer *informer;
  assert_int_equal(kin_factory_informer_with(w->factory, &options, &informer),
                   0);
  return informer;
}

/* FA-04: the informers first, then the factory, never inside the call. */
static void test_factory_close(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  fw_close(&w);
  assert_int_equal(w.factories_closed, 0);
  script_run(&w.vh.script);
  assert_int_equal(w.factories_closed, 1); /* one without informers */

  w.factories_closed = 0;
  assert_int_equal(fw_open(&w, NULL), 0);
  closing_informer(&w, "pods", fw_on_informer_closed);
  closing_informer(&w, "nodes", fw_on_informer_closed);
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_put(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  closing_informer(&w, "secrets", fw_on_informer_closed); /* never started */
  fw_close(&w);
  assert_int_equal(w.informers_closed, 0);
  script_run(&w.vh.script);
  assert_int_equal(w.informers_closed, 3);
  assert_int_equal(w.factories_closed, 1);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  fw_finish(&w);
}

/* One that is closed by itself is not found any more, from that moment on; the
 * next who asks gets a new one. */
static void test_factory_informer_is_closed(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  kin_informer *first = closing_informer(&w, "pods", fw_on_informer_closed);
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(kin_informer_close(first, fw_on_informer_closed, &w), 0);
  kin_informer *second = closing_informer(&w, "pods", fw_on_informer_closed);
  assert_ptr_not_equal(first, second);
  assert_false(kin_informer_has_synced(second));
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 0), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.informers_closed, 2); /* both of its callbacks */
  assert_int_equal(w.waits_ended, 1);
  assert_string_equal(w.wait_text, "pods.v1");
  assert_ptr_equal(fw_informer(&w, "pods"), second);

  /* Closed by both, at once: the factory waits for it. */
  assert_int_equal(kin_informer_close(second, fw_on_informer_closed, &w), 0);
  fw_close(&w);
  script_run(&w.vh.script);
  assert_int_equal(w.informers_closed, 4);
  assert_int_equal(w.factories_closed, 1);
  fw_finish(&w);
}

/* FA-03: a wait whose informers are closed one by one ends when none is left to
 * wait for. */
static void test_factory_informers_are_closed_during_a_wait(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  kin_informer *pods = fw_informer(&w, "pods");
  kin_informer *nodes = fw_informer(&w, "nodes");
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 0), 0);
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  script_run(&w.vh.script);
  assert_int_equal(w.waits_ended, 0);
  assert_int_equal(kin_informer_close(nodes, NULL, NULL), 0);
  script_run(&w.vh.script);
  assert_int_equal(w.waits_ended, 1);
  assert_int_equal(w.wait_code, KIN_ECLOSED);
  assert_string_equal(w.wait_text, "!pods.v1 !nodes.v1");
  fw_finish(&w);
}

/* The client closes what is open: factories with their informers and waits.
 * on_closed comes whoever closed it. */
static void test_factory_client_closes(void **state) {
  (void)state;
  for (int is_closing = 0; is_closing < 2; is_closing++) {
    factory_world w = {0};
    vh_init(&w.vh, 0);
    kin_factory_options told = fw_options(&w);
    told.on_closed = fw_on_factory_closed;
    assert_int_equal(fw_open(&w, &told), 0);
    kin_factory *factory = w.factory;
    closing_informer(&w, "pods", fw_on_informer_closed);
    assert_int_equal(kin_factory_start(factory), 0);
    assert_int_equal(fw_wait(&w, 0), 0);
    if (is_closing) {
      fw_close(&w);
    }
    vh_close(&w.vh);
    assert_int_equal(w.informers_closed + w.waits_ended, 0);
    assert_int_equal(kin_factory_start(factory), KIN_ECLOSED);
    kin_informer *informer;
    assert_int_equal(
        kin_factory_informer(factory, "", "v1", "nodes", &informer),
        KIN_ECLOSED);
    assert_int_equal(kin_factory_close(factory, NULL, NULL), KIN_EALREADY);
    kin_factory_options options = fw_options(&w);
    assert_int_equal(fw_open(&w, &options), KIN_ECLOSED);
    fw_finish(&w);
    assert_int_equal(w.informers_closed, 1);
    assert_int_equal(w.waits_ended, 1);
    assert_int_equal(w.wait_code, KIN_ECLOSED);
    assert_int_equal(w.factories_closed, is_closing + 1);
  }
}

/* --- Sweeps
 * ----------------------------------------------------------------- */

static int close_at;
static bool closes_client;
static int calls;

static void close_factory_or_client(factory_world *w) {
  if (closes_client) {
    vh_close(&w->vh);
  } else {
    int err = kin_factory_close(w->factory, fw_on_factory_closed, w);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
}

static void may_close(factory_world *w) {
  if (calls++ == close_at && w->factory != NULL &&
      !w->vh.host.members.is_closing) {
    close_factory_or_client(w);
  }
}

static void on_record(recorder *rec, kin_informer *informer) {
  (void)informer;
  may_close(rec->data);
}

static void on_error_close(kin_informer *informer, kin_error_event *event,
                           void *data) {
  (void)informer;
  (void)event;
  may_close(data);
}

static void on_state_close(kin_informer *informer, const char *namespace_,
                           kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  may_close(data);
}

static void on_closed_close(void *data) {
  factory_world *w = data;
  w->informers_closed++;
  may_close(w);
}

static void on_wait_close(const kin_wait_result *result, void *data) {
  (void)result;
  factory_world *w = data;
  w->waits_ended++;
  may_close(w);
}

static kin_factory_options story_options(factory_world *w) {
  static const char *const namespaces[] = {"even", "odd"};
  static const kin_factory_resync resyncs[] = {{"", "v1", "pods", 1000}};
  kin_factory_options options = fw_options(w);
  options.namespaces = namespaces;
  options.namespace_count = 2;
  options.resyncs = resyncs;
  options.resync_count = 1;
  options.on_error = on_error_close;
  options.on_state = on_state_close;
  return options;
}

static int open_one(factory_world *w, const char *plural, recorder *rec) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = plural;
  options.on_error = on_error_close;
  options.on_state = on_state_close;
  options.on_closed = on_closed_close;
  options.data = w;
  kin_informer *informer;
  int err = kin_factory_informer_with(w->factory, &options, &informer);
  recorder_init(rec);
  rec->on_call = on_record;
  rec->data = w;
  return err == 0 ? recorder_listen(rec, informer) : err;
}

/* What can happen to a factory, in short: `opened` counts its informers. */
static int run_story(factory_world *w, recorder *recs, int *opened) {
  kin_factory_options options = story_options(w);
  mini_put_first(&w->vh.server, 4);
  int err = fw_open(w, &options);
  for (int i = 0; i < 2 && err == 0; i++) {
    err = open_one(w, i == 0 ? "pods" : "nodes", &recs[i]);
    *opened += err == 0;
  }
  if (err == 0) {
    err = kin_factory_start(w->factory);
  }
  if (err == 0) {
    err = kin_factory_wait(w->factory, 30000, on_wait_close, w, NULL);
  }
  if (err != 0) {
    return err;
  }
  mini_serve(&w->vh.server);
  mini_put(&w->vh.server, 1);
  mini_break_watches(&w->vh.server);
  mini_pass(&w->vh.server, 3000);
  if (w->factory == NULL || w->vh.host.members.is_closing) {
    return 0;
  }
  err = open_one(w, "secrets", &recs[2]);
  if (err == KIN_ECLOSED) {
    return 0;
  }
  *opened += err == 0;
  if (err == 0) {
    err = kin_factory_start(w->factory);
  }
  mini_pass(&w->vh.server, 30000);
  return err;
}

/* The factory, or its client, is closed in the k-th callback, whichever it is:
 * everything ends, each with its callback. */
static void test_factory_sweep_closes(void **state) {
  (void)state;
  static recorder recs[3];
  for (int both = 0; both < 2; both++) {
    closes_client = both == 1;
    for (close_at = 0;; close_at++) {
      factory_world w = {0};
      vh_init(&w.vh, 0);
      calls = 0;
      int opened = 0;
      assert_int_equal(run_story(&w, recs, &opened), 0);
      bool was_reached = calls > close_at;
      if (!was_reached) {
        close_at = -1; /* none of the callbacks that follow */
        close_factory_or_client(&w);
      }
      fw_finish(&w);
      assert_int_equal(w.waits_ended, 1);
      assert_int_equal(w.informers_closed, opened);
      assert_int_equal(w.factories_closed, !closes_client);
      if (!was_reached) {
        assert_int_equal(opened, 3);
        assert_true(calls > 40);
        break;
      }
    }
  }
}

/* Any one allocation may fail: what fails says so, and nothing of it is left;
 * what does not, works. */
static void test_factory_sweep_allocations(void **state) {
  (void)state;
  static recorder recs[3];
  close_at = -1;
  for (size_t n = 1;; n++) {
    factory_world w = {0};
    vh_init(&w.vh, n);
    calls = 0;
    int opened = 0;
    int err = run_story(&w, recs, &opened);
    bool has_failed = fail_alloc_has_failed(&w.vh.memory);
    if (err == 0) {
      assert_int_equal(opened, 3);
      assert_int_equal(w.waits_ended, 1);
    } else {
      assert_int_equal(err, KIN_ENOMEM);
    }
    fw_finish(&w);
    if (!has_failed) {
      assert_true(n > 60);
      break;
    }
  }
}

/* An informer whose opening failed half-way was never anybody's: its on_closed
 * is not called, and the next attempt gets a new one. */
static void test_factory_open_fails_half_way(void **state) {
  (void)state;
  int failures = 0;
  for (size_t n = 1;; n++) {
    factory_world w = {0};
    vh_init(&w.vh, 0);
    assert_int_equal(fw_open(&w, NULL), 0);
    atomic_store(&w.vh.memory.calls, 0);
    w.vh.memory.fail_at = n;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.plural = "pods";
    options.on_closed = fw_on_informer_closed;
    options.data = &w;
    kin_informer *informer;
    int err = kin_factory_informer_with(w.factory, &options, &informer);
    w.vh.memory.fail_at = 0;
    if (err != 0) {
      failures++;
      assert_int_equal(err, KIN_ENOMEM);
      assert_null(informer);
      assert_int_equal(
          kin_factory_informer_with(w.factory, &options, &informer), 0);
    }
    fw_close(&w);
    fw_finish(&w);
    assert_int_equal(w.informers_closed, 1);
    assert_int_equal(w.factories_closed, 1);
    if (err == 0) {
      break;
    }
  }
  assert_true(failures > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factory_close),
      cmocka_unit_test(test_factory_informer_is_closed),
      cmocka_unit_test(test_factory_informers_are_closed_during_a_wait),
      cmocka_unit_test(test_factory_client_closes),
      cmocka_unit_test(test_factory_sweep_closes),
      cmocka_unit_test(test_factory_sweep_allocations),
      cmocka_unit_test(test_factory_open_fails_half_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
