/* SPDX-License-Identifier: MIT */

/* The public reflector over lists that come as watches: closed anywhere,
 * without memory, over HTTP in pieces of every size. Proves WL-03, WL-04,
 * WL-07, WL-11, RF-10. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/reflector_rig.h"
#include "support/targets.h"

static int close_at;
static int calls;

static void close_when_due(reflector_rig *rig) {
  if (++calls == close_at) {
    assert_int_equal(
        kin_reflector_close(rig->reflector, reflector_rig_on_close, rig), 0);
  } else {
    assert_true(calls < close_at);
  }
}

/* Feeds as long as somebody listens. */
static void feed_raw(reflector_rig *f, kin_watch_event_type type,
                     const char *text) {
  kin_object *object = hand_source_object(text);
  int err = kin_feed_event(f->source.feed, type, object);
  kin_object_unref(object);
  assert_true(err == 0 || err == KIN_ECLOSED);
}

/* RF-10, WL-11: closed inside each function of the store and each callback, and
 * with events held. */
static void test_closed_in_each_call(void **state) {
  (void)state;
  for (close_at = 1;; close_at++) {
    reflector_rig f;
    reflector_rig_init_streaming(&f, 0);
    calls = 0;
    f.during = close_when_due;
    assert_int_equal(reflector_rig_open(&f), 0);
    if (f.source.is_open) {
      feed_raw(&f, KIN_WATCH_ADDED, "a@1");
      feed_raw(&f, KIN_WATCH_ADDED, "b@1");
      feed_raw(&f, KIN_WATCH_DELETED, "b@2");
      int err = kin_feed_bookmark(f.source.feed, kin__cstr("3"), true);
      assert_true(err == 0 || err == KIN_ECLOSED);
      feed_raw(&f, KIN_WATCH_MODIFIED, "a@4");
      feed_raw(&f, KIN_WATCH_ADDED, "c@5");
      script_run(&f.vh.script);
    }
    if (f.source.is_open) {
      feed_raw(&f, KIN_WATCH_MODIFIED, "a@6");
      script_run(&f.vh.script);
    }
    if (f.source.is_open) {
      hand_source_fail(&f.source, 410, "Expired", true);
      script_advance(&f.vh.script, 3000);
    }
    bool was_closed = calls >= close_at;
    reflector_rig_finish(&f);
    if (!was_closed) {
      assert_true(close_at > 8);
      break;
    }
    assert_int_equal(f.closed, 11);
  }
}

static void assert_equals_server(const reflector_rig *f,
                                 const kin_store *store) {
  const mini_server *server = &f->vh.server;
  assert_int_equal(kin_store_count(store), mini_count(server, ""));
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    char version[32];
    snprintf(key, sizeof key, "%s/p%d", i % 2 == 0 ? "even" : "odd", i);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)server->versions[i]);
    const kin_object *object = kin_store_get_key(store, key);
    assert_int_equal(object != NULL, server->versions[i] != 0);
    if (object != NULL) {
      assert_true(kin__str_equal(kin_object_resource_version(object),
                                 kin__cstr(version)));
    }
  }
}

/* Over HTTP, into a store: what changes during a stream, after it, and while
 * nobody looks. Ends with the truth unless opening failed. */
static int run_story(reflector_rig *f, kin_store *store) {
  mini_server *server = &f->vh.server;
  f->store = store_target(store);
  f->resource.source = NULL;
  mini_put_first(server, 6);
  server->holds_bookmark = true;
  int err = reflector_rig_open(f);
  if (err != 0) {
    return err;
  }
  mini_serve(server);
  mini_put(server, 1);
  mini_delete(server, 2);
  mini_recreate(server, 3);
  mini_put(server, 9);
  mini_serve(server);
  assert_int_equal(kin_store_count(store), 0);
  server->holds_bookmark = false;
  mini_pass(server, 5000);
  mini_put(server, 2);
  mini_delete(server, 1);
  mini_pass(server, 60000);
  mini_break_watches(server);
  mini_put(server, 5);
  mini_delete(server, 0);
  mini_compact(server);
  mini_pass(server, 120000);
  assert_true(kin_reflector_has_synced(f->reflector));
  assert_equals_server(f, store);
  return 0;
}

static void close_story(reflector_rig *f, kin_store *store) {
  if (f->reflector != NULL) {
    assert_int_equal(
        kin_reflector_close(f->reflector, reflector_rig_on_close, f), 0);
    script_run(&f->vh.script);
  }
  kin_store_free(store); /* the objects are of the host's memory */
  reflector_rig_finish(f);
}

static void test_over_http(void **state) {
  (void)state;
  for (size_t split = 0; split < 700; split += split < 40 ? 1 : 61) {
    reflector_rig f;
    reflector_rig_init_streaming(&f, 0);
    f.vh.script.split = split;
    kin_store *store;
    assert_int_equal(kin_store_new(&store, NULL), 0);
    assert_int_equal(run_story(&f, store), 0);
    assert_int_equal(f.vh.server.lists, 0);
    assert_int_equal(f.vh.server.streams, 2);
    close_story(&f, store);
  }
}

/* What an HTTP server refuses is remembered for all that ask it. */
static void test_server_refuses(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init_streaming(&f, 0);
  f.vh.server.refuses_streams = true;
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  f.store = store_target(store);
  f.resource.source = NULL;
  mini_put(&f.vh.server, 1);
  assert_int_equal(reflector_rig_open(&f), 0);
  mini_serve(&f.vh.server);
  assert_true(f.vh.script.stream_refused);
  assert_int_equal(f.vh.server.lists, 1);
  assert_equals_server(&f, store);
  close_story(&f, store);
}

static bool run_without_memory(size_t n) {
  reflector_rig f;
  reflector_rig_init_streaming(&f, n);
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  int err = run_story(&f, store);
  assert_true(err == 0 || err == KIN_ENOMEM);
  bool has_failed = fail_alloc_has_failed(&f.vh.memory);
  close_story(&f, store);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 30);
}

/* Closed after each step of the scheduler, with a list that takes many: none
 * has to do with more than a few objects. */
static void test_closed_between_steps(void **state) {
  (void)state;
  enum { COUNT = 400 };
  for (unsigned steps = 0; steps < 60; steps++) {
    reflector_rig f;
    reflector_rig_init_streaming(&f, 0);
    assert_int_equal(reflector_rig_open(&f), 0);
    for (int i = 0; i < COUNT; i++) {
      char text[32];
      snprintf(text, sizeof text, "p%d@%d", i, i + 1);
      feed_raw(&f, KIN_WATCH_ADDED, text);
      if (i % 3 == 0) {
        feed_raw(&f, KIN_WATCH_DELETED, text);
      }
    }
    assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("900"), true),
                     0);
    for (unsigned i = 0; i < steps; i++) {
      kin__sched_run(&f.vh.script.sched, 0); /* one step */
    }
    reflector_rig_finish(&f);
    /* 64 objects a step: five to gather it. */
    assert_true(steps >= 5 || f.log[0] == '\0');
    assert_true(steps < 20 || f.log[0] != '\0');
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_in_each_call),
      cmocka_unit_test(test_over_http),
      cmocka_unit_test(test_server_refuses),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_closed_between_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
