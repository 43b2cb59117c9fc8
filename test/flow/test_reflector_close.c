/* SPDX-License-Identifier: MIT */

/* How a public reflector ends: in every state, from every callback, also from
 * the functions of its store, and with any allocation failing before. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/testing/fake_source.h>

#include "base/str.h"
#include "cache/public_reflector.h"
#include "support/objects.h"
#include "support/reflector_rig.h"
#include "support/targets.h"

/* --- In every state ------------------------------------------------------- */

static void close_now(reflector_rig *f) {
  f->during = NULL;
  assert_int_equal(kin_reflector_close(f->reflector, reflector_rig_on_close, f),
                   0);
}

static void close_and_check(reflector_rig *f, const char *requests) {
  f->log[0] = '\0';
  f->states[0] = '\0';
  int errors = f->errors;
  close_now(f);
  assert_int_equal(kin_reflector_close(f->reflector, NULL, NULL), KIN_EALREADY);
  assert_int_equal(kin_reflector_start(f->reflector), KIN_ECLOSED);
  assert_int_equal(kin_reflector_resume(f->reflector), KIN_ECLOSED);
  assert_int_equal(f->closed, 0);
  hand_source_expect(&f->source, requests);
  script_run(&f->vh.script);
  assert_int_equal(f->closed, 11);
  assert_string_equal(f->log, "");
  assert_string_equal(f->states, "");
  assert_int_equal(f->errors, errors);
  reflector_rig_finish(f);
}

/* client-go TestRunUntil, TestReflectorWatchStoppedBefore,
 * TestReflectorWatchStoppedAfter, TestReflectorHandleWatchStoppedBefore,
 * TestReflectorHandleWatchStoppedAfter; RF-04, RF-10, RW-12, RW-13: closed in
 * every state it cancels its request, if one is open, exactly once, makes no
 * other, and says nothing more. */
static void test_close_in_every_state(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0); /* not started */
  assert_int_equal(
      kin__public_reflector_open(&f.reflector, &f.vh.host, &f.options), 0);
  close_and_check(&f, "");

  reflector_rig_init(&f, 0); /* a list is requested */
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_item(&f.source, "a@1");
  hand_source_expect(&f.source, "L:0/500");
  close_and_check(&f, "x");

  reflector_rig_init(&f, 0); /* a list is being applied */
  assert_int_equal(reflector_rig_open(&f), 0);
  f.result = KIN_ENOMEM;
  hand_source_list(&f.source, "a@1 b@2", "5");
  hand_source_expect(&f.source, "L:0/500");
  close_and_check(&f, "");

  reflector_rig_init(&f, 0); /* a watch is requested */
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "L:0/500 W:5");
  close_and_check(&f, "x");

  reflector_rig_init(&f, 0); /* it is open */
  reflector_rig_open_watching(&f);
  close_and_check(&f, "x");

  reflector_rig_init(&f, 0); /* it is paused */
  reflector_rig_open_watching(&f);
  f.is_full = true;
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_expect(&f.source, "p");
  close_and_check(&f, "x");

  reflector_rig_init(&f, 0); /* the position is verified */
  reflector_rig_open_watching(&f);
  script_advance(&f.vh.script, 2000);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "L:5>/1");
  close_and_check(&f, "x");

  reflector_rig_init(&f, 0); /* it waits */
  reflector_rig_open_watching(&f);
  hand_source_fail(&f.source, 410, "Expired", true);
  close_and_check(&f, "");
}

/* RF-10: and with its host, which waits for it. */
static void test_host_closes(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  vh_close(&f.vh);
  hand_source_expect(&f.source, "x");
  assert_false(f.vh.is_closed);
  assert_int_equal(f.closed, 0);
  script_run(&f.vh.script);
  assert_true(f.vh.is_closed);
  assert_int_equal(f.closed, 1);
  reflector_rig_finish(&f);
}

/* --- On a client ---------------------------------------------------------- */

static char ends[64]; /* who has ended, in order */

static void on_reflector_closed(void *data) {
  (void)data;
  strcat(ends, "reflector ");
}

static void on_informer_closed(void *data) {
  (void)data;
  strcat(ends, "informer ");
}

static void on_client_closed(void *data) {
  (void)data;
  strcat(ends, "client ");
}

/* A reflector and an informer on a real loop, over one source. The client
 * closes both, each with its own callback, before itself; TD-04: nothing is
 * left on the loop. */
static void test_client_closes(void **state) {
  (void)state;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = "http://127.0.0.1"; /* never asked */
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &loop, &co), 0);
  kin_fake_source *source;
  assert_int_equal(kin_fake_source_new(&source, NULL), 0);
  kin_object *object = object_keyed(NULL, "ns/a", 0);
  assert_int_equal(kin_fake_source_add(source, object), 0);
  kin_object_unref(object);
  kin_lister_watcher lister_watcher = kin_fake_source_lister_watcher(source);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.source = &lister_watcher;
  io.on_closed = on_informer_closed;
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, client, &io), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  kin_reflector_store target = store_target(store);
  kin_reflector_options ro = KIN_REFLECTOR_OPTIONS_INIT;
  io.on_closed = NULL; /* was the informer's */
  ro.resource = &io;
  ro.store = &target;
  ro.on_closed = on_reflector_closed;
  kin_reflector *reflector;
  assert_int_equal(kin_reflector_open(&reflector, client, &ro), 0);
  assert_int_equal(kin_reflector_start(reflector), 0);
  assert_int_equal(kin_reflector_start(reflector), KIN_EALREADY);
  while (!kin_reflector_has_synced(reflector) ||
         !kin_informer_has_synced(informer)) {
    (void)kin_fake_source_run(source);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(kin_store_count(store), 1);
  ends[0] = '\0';
  assert_int_equal(kin_client_close(client, on_client_closed, NULL), 0);
  kin_reflector *late;
  assert_int_equal(kin_reflector_open(&late, client, &ro), KIN_ECLOSED);
  assert_null(late);
  assert_string_equal(ends, "");
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_string_equal(ends, "reflector informer client ");
  assert_int_equal(kin_fake_source_open_watches(source), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  kin_fake_source_free(source);
  kin_store_free(store);
}

/* --- From the functions of the store -------------------------------------- */

/* client-go TestReflectorStopWatch; RW-12, RW-13: closed by a function of its
 * store in the middle of what is being fed, which ends with KIN_ECLOSED;
 * nothing is passed on after it. */
static void test_close_inside_the_store(void **state) {
  (void)state;
  reflector_rig f;
  kin_object *object = hand_source_object("b@6");
  for (int type = KIN_WATCH_ADDED; type <= KIN_WATCH_DELETED; type++) {
    reflector_rig_init(&f, 0);
    reflector_rig_open_watching(&f);
    f.during = close_now;
    kin_feed *feed = f.source.feed;
    assert_int_equal(kin_feed_event(feed, (kin_watch_event_type)type, object),
                     KIN_ECLOSED);
    assert_int_equal(kin_feed_event(feed, (kin_watch_event_type)type, object),
                     KIN_ECLOSED);
    hand_source_expect(&f.source, "x");
    script_run(&f.vh.script);
    assert_int_equal(f.closed, 11);
    assert_int_equal(strlen(f.log), strlen("+b@6"));
    reflector_rig_finish(&f);
  }
  kin_object_unref(object);

  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.during = close_now;
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("7"), false),
                   KIN_ECLOSED);
  script_run(&f.vh.script);
  reflector_rig_expect(&f, "B7");
  reflector_rig_finish(&f);

  reflector_rig_init(&f, 0);
  assert_int_equal(reflector_rig_open(&f), 0);
  f.during = close_now;
  hand_source_list(&f.source, "a@1 b@2", "5");
  reflector_rig_expect(&f, "R(a@1,b@2)#5");
  assert_int_equal(f.closed, 11);
  hand_source_expect(&f.source, "L:0/500");
  reflector_rig_finish(&f);

  reflector_rig_init(&f, 0);
  f.options.resync_ms = 100;
  reflector_rig_open_watching(&f);
  f.during = close_now;
  f.result = KIN_EKEY;
  script_advance(&f.vh.script, 1000);
  reflector_rig_expect(&f, "S");
  assert_int_equal(f.closed, 11);
  assert_int_equal(f.errors, 0);
  reflector_rig_finish(&f);
}

static void close_at_version(reflector_rig *f) {
  if (strchr(f->log, 'V') != NULL) {
    close_now(f);
  }
}

/* The same for the last function that a change is told to. */
static void test_close_inside_update_version(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.during = close_at_version;
  kin_object *object = hand_source_object("b@6");
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object),
                   KIN_ECLOSED);
  kin_object_unref(object);
  reflector_rig_expect(&f, "+b@6 V6");
  hand_source_expect(&f.source, "x");
  reflector_rig_finish(&f);

  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.during = close_at_version;
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("7"), false),
                   KIN_ECLOSED);
  reflector_rig_expect(&f, "B7 V7");
  hand_source_expect(&f.source, "x");
  reflector_rig_finish(&f);
}

/* Over HTTP nothing is passed on of what came in the same piece. */
static void test_close_inside_a_piece(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.source = NULL;
  f.resource.no_watch_list = true;
  assert_int_equal(reflector_rig_open(&f), 0);
  script_respond(&f.vh.script, "/pods", 200,
                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"uid\":\"u\",\"resourceVersion\":\"6\"}}}\n"
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\","
      "\"uid\":\"v\",\"resourceVersion\":\"7\"}}}\n"
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"8\"}}}\n";
  assert_true(script_head(&f.vh.script, "watch=true", 200));
  f.log[0] = '\0';
  f.during = close_at_version;
  assert_false(script_body(&f.vh.script, "watch=true", text, sizeof text - 1));
  reflector_rig_expect(&f, "+a@6 V6");
  reflector_rig_finish(&f);
}

/* --- Sweeps --------------------------------------------------------------- */

typedef struct sweep {
  reflector_rig rig; /* first: its functions get the rig */
  kin_fake_source *source;
  kin_store *store;
  kin_reflector_store inner;
  int calls;
  int close_at; /* the call of anything that closes the host; -1: none */
} sweep;

static void count_call(reflector_rig *rig) {
  sweep *s = (sweep *)rig;
  if (s->calls++ == s->close_at) {
    vh_close(&rig->vh);
  } else {
    assert_true(s->close_at < 0 || s->calls <= s->close_at);
  }
}

/* A store whose functions count, and then do what a store does. */
static int put(void *ctx, const kin_object *object) {
  sweep *s = ctx;
  count_call(&s->rig);
  return s->inner.add(s->store, object);
}

static int delete_(void *ctx, const kin_object *object) {
  sweep *s = ctx;
  count_call(&s->rig);
  return s->inner.delete_(s->store, object);
}

static int replace(void *ctx, const kin_object *const *objects, size_t count,
                   kin_str version) {
  sweep *s = ctx;
  count_call(&s->rig);
  return s->inner.replace(s->store, objects, count, version);
}

static int resync(void *ctx) {
  count_call(&((sweep *)ctx)->rig);
  return 0;
}

static int bookmark(void *ctx, kin_str version) {
  sweep *s = ctx;
  count_call(&s->rig);
  return s->inner.bookmark(s->store, version);
}

static void update_version(void *ctx, kin_str version) {
  (void)version;
  count_call(&((sweep *)ctx)->rig);
}

static bool is_full(void *ctx) {
  sweep *s = ctx;
  count_call(&s->rig);
  return s->calls % 3 == 0;
}

static void change(sweep *s, kin_watch_event_type type, const char *key) {
  kin_object *object = object_keyed(NULL, key, 0);
  assert_int_equal(kin_fake_source_change(s->source, type, object, false), 0);
  kin_object_unref(object);
}

static void pass(sweep *s, uint64_t ms) {
  for (uint64_t passed = 0; passed <= ms; passed += 500) {
    do {
      script_run(&s->rig.vh.script);
      for (int i = 0; i < 3 && s->rig.closed == 0; i++) {
        (void)kin_reflector_resume(s->rig.reflector);
        script_run(&s->rig.vh.script);
      }
    } while (kin_fake_source_run(s->source) > 0);
    script_advance(&s->rig.vh.script, 500);
  }
}

/* Everything that can happen to a reflector, in short. */
static int run_story(sweep *s, size_t fail_at, int close_at) {
  memset(s, 0, sizeof *s);
  reflector_rig *f = &s->rig;
  reflector_rig_init(f, 0);
  s->close_at = close_at;
  assert_int_equal(kin_fake_source_new(&s->source, NULL), 0);
  assert_int_equal(kin_store_new(&s->store, NULL), 0);
  s->inner = store_target(s->store);
  f->store = (kin_reflector_store){.size = sizeof(kin_reflector_store),
                                   .add = put,
                                   .update = put,
                                   .delete_ = delete_,
                                   .replace = replace,
                                   .resync = resync,
                                   .bookmark = bookmark,
                                   .update_version = update_version,
                                   .is_full = is_full,
                                   .ctx = s};
  f->during = count_call;
  f->source.lister_watcher = kin_fake_source_lister_watcher(s->source);
  f->resource.page_size = 2;
  f->options.resync_ms = 5000;
  for (int i = 0; i < 5; i++) {
    char key[8] = {'p', (char)('0' + i), '\0'};
    change(s, KIN_WATCH_ADDED, key);
  }
  f->vh.memory.fail_at = fail_at;
  int err = reflector_rig_open(f);
  if (err != 0) {
    return err;
  }
  pass(s, 0);
  for (int round = 0; round < 2; round++) {
    change(s, KIN_WATCH_ADDED, "new");
    change(s, KIN_WATCH_MODIFIED, "p1");
    pass(s, 0);
    kin_fake_source_bookmark(s->source);
    change(s, KIN_WATCH_DELETED, "new");
    pass(s, 3000);
    kin_fake_source_end_watches(s->source);
    pass(s, 3000);
  }
  kin_fake_source_reset_watch(s->source);
  change(s, KIN_WATCH_DELETED, "p2");
  pass(s, 40000);
  return 0;
}

static void finish_story(sweep *s) {
  reflector_rig_finish(&s->rig);
  assert_int_equal(kin_fake_source_open_watches(s->source), 0);
  kin_fake_source_free(s->source);
  kin_store_free(s->store);
}

static void assert_truth(const sweep *s) {
  assert_int_equal(kin_store_count(s->store), kin_fake_source_count(s->source));
  kin_cursor cursor = {0};
  for (const kin_object *object;
       (object = kin_store_next(s->store, &cursor));) {
    const char *key = kin_object_key(object).data;
    assert_ptr_equal(object, kin_fake_source_get(s->source, key));
  }
  char version[24];
  snprintf(version, sizeof version, "%llu",
           (unsigned long long)kin_fake_source_version(s->source));
  assert_string_equal(kin_reflector_last_sync_version(s->rig.reflector),
                      version);
}

/* Any one allocation may fail: opening fails cleanly, or it ends with the truth
 * all the same. */
static bool run_without_memory(size_t n) {
  sweep s;
  int err = run_story(&s, n, -1);
  bool has_failed = fail_alloc_has_failed(&s.rig.vh.memory);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    assert_truth(&s);
  }
  finish_story(&s);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 8);
}

/* The host is closed in the k-th call of anything of the program's: a function
 * of the store, on_error or on_state. No other follows but the close callbacks,
 * and nothing is left. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (int close_at = 0;; close_at++) {
    sweep s;
    assert_int_equal(run_story(&s, 0, close_at), 0);
    bool was_reached = s.calls > close_at;
    finish_story(&s);
    if (!was_reached) {
      print_message("%d calls\n", close_at);
      assert_true(close_at > 30);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_close_in_every_state),
      cmocka_unit_test(test_host_closes),
      cmocka_unit_test(test_client_closes),
      cmocka_unit_test(test_close_inside_the_store),
      cmocka_unit_test(test_close_inside_update_version),
      cmocka_unit_test(test_close_inside_a_piece),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_closes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
