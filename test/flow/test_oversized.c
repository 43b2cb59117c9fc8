/* SPDX-License-Identifier: MIT */

/* Informers of objects over max_object_bytes: what is kept of them is their
 * key, all else goes on as always, and nothing is asked again. Proves WS-04,
 * RL-08, RW-10 and RE-03 (what cannot be taken is said) for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"
#include "object/object.h"
#include "support/informer_world.h"
#include "support/json_gen.h"

#define LIMIT 600u
#define BIG 800 /* padding that makes an object larger than that */

typedef struct ow_world {
  iw_world w;
  int told; /* that an object is over the limit */
  char last_message[700];
  kin_retry answer;
  bool is_closing;
} ow_world;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  ow_world *o = data;
  iw_on_error(informer, event, data);
  if (event->code != KIN_ETOOBIG) {
    return;
  }
  o->told++;
  assert_int_equal(event->error_class, KIN_CLASS_DECODE);
  assert_int_equal(event->status, 0);
  assert_int_equal(event->retry_in_ms, 0);
  assert_int_equal(event->attempt, 1);
  snprintf(o->last_message, sizeof o->last_message, "%s", event->message);
  event->answer = o->answer;
  if (o->is_closing) {
    assert_int_equal(kin_informer_close(informer, iw_on_closed, &o->w), 0);
  }
}

static kin_informer_options ow_init(ow_world *o, size_t fail_at) {
  memset(o, 0, sizeof *o);
  iw_init(&o->w, fail_at);
  kin_informer_options options = iw_options(&o->w);
  options.on_error = on_error;
  options.max_object_bytes = LIMIT;
  return options;
}

static void put(ow_world *o, int object, int padding) {
  o->w.server.padding[object] = padding;
  mini_put(&o->w.server, object);
}

static const kin_object *cached(const ow_world *o, int object) {
  char key[32];
  snprintf(key, sizeof key, "%s/p%d", object % 2 == 0 ? "even" : "odd", object);
  return kin_store_get_key(kin_informer_store(o->w.informer), key);
}

/* What is stored is what the server has, whole or by its key. */
static void assert_truth(ow_world *o) {
  iw_assert_truth(&o->w);
  for (int i = 0; i < MINI_OBJECTS; i++) {
    const kin_object *object = cached(o, i);
    if (object == NULL) {
      continue;
    }
    char app[8];
    snprintf(app, sizeof app, "a%d", i % 3);
    kin_str value;
    assert_int_equal(kin_object_is_key_only(object),
                     o->w.server.padding[i] >= BIG);
    assert_true(kin_object_label(object, "app", &value));
    assert_true(kin__str_equal(value, kin__cstr(app)));
    kin_object_view *view;
    assert_int_equal(kin_object_view_open(&view, object), 0);
    assert_int_equal(kin_object_view_string(view, "/spec/nodeName", &value),
                     kin_object_is_key_only(object) ? KIN_ENOENT : 0);
    assert_int_equal(kin_object_view_string(view, "/metadata/uid", &value), 0);
    assert_true(kin__str_equal(value, kin_object_uid(object)));
    kin_object_view_close(view);
  }
}

/* --- A life --------------------------------------------------------------- */

/* It is there from the start, changes, shrinks, grows, and goes; each is an
 * ordinary event. */
static void test_oversized_life(void **state) {
  (void)state;
  ow_world o;
  kin_informer_options options = ow_init(&o, 0);
  put(&o, 0, 0);
  put(&o, 1, BIG); /* 102 */
  put(&o, 2, 0);
  assert_int_equal(iw_open(&o.w, &options), 0);
  mini_serve(&o.w.server);
  assert_true(kin_informer_has_synced(o.w.informer));
  assert_int_equal(o.w.state, KIN_STATE_LIVE);
  assert_truth(&o);
  assert_int_equal(o.told, 1);
  assert_non_null(strstr(o.last_message, "list of pods"));
  assert_non_null(strstr(o.last_message, "odd/p1"));
  assert_non_null(strstr(o.last_message, "the limit is 600"));
  assert_true(kin_object_memory(cached(&o, 1)) < 300);
  o.w.rec.used = 0;

  put(&o, 1, BIG + 1); /* 104: too big still */
  put(&o, 3, BIG);     /* 105: too big from the beginning */
  put(&o, 2, BIG);     /* 106: grows */
  put(&o, 1, 0);       /* 107: shrinks */
  mini_pass(&o.w.server, 3000);
  assert_truth(&o);
  put(&o, 1, BIG); /* 108 */
  mini_serve(&o.w.server);
  mini_delete(&o.w.server, 3);   /* 109: the event is over the limit, too */
  mini_recreate(&o.w.server, 2); /* 110, 111 */
  mini_serve(&o.w.server);
  assert_truth(&o);
  assert_string_equal(o.w.rec.log, "update odd/p1 102 -> 104\n"
                                   "add odd/p3 105\n"
                                   "update even/p2 103 -> 106\n"
                                   "update odd/p1 104 -> 107\n"
                                   "update odd/p1 107 -> 108\n"
                                   "delete odd/p3 watch\n"
                                   "delete even/p2 watch\n"
                                   "add even/p2 111\n");
  assert_string_equal(iw_status(&o.w, "").resource_version, "111");
  assert_int_equal(iw_status(&o.w, "").oversized, 1 + 3 + 4);
  assert_int_equal(iw_status(&o.w, "").relists, 0);
  assert_int_equal(iw_status(&o.w, "").failures, 0);
  assert_int_equal(o.w.server.lists, 1);
  kin_informer_metrics metrics = iw_metrics(&o.w);
  assert_int_equal(metrics.oversized, 8);
  assert_int_equal(metrics.lost_positions[KIN_RELIST_DECODE], 0);
  assert_int_equal(metrics.failures[KIN_CLASS_DECODE], 0);
  iw_finish(&o.w);
}

/* Lists of what is cached, as the whole of them are: silent, and unchanged. */
static void test_oversized_relist(void **state) {
  (void)state;
  for (int is_stream = 0; is_stream <= 1; is_stream++) {
    ow_world o;
    kin_informer_options options = ow_init(&o, 0);
    if (is_stream) {
      script_use_streams(&o.w.script);
    }
    put(&o, 0, BIG);
    put(&o, 1, 0);
    put(&o, 2, BIG);
    assert_int_equal(iw_open(&o.w, &options), 0);
    mini_serve(&o.w.server);
    assert_int_equal(o.w.server.streams, is_stream);
    assert_int_equal(o.told, 1);
    assert_non_null(strstr(o.last_message, "even/p0"));
    /* What comes at once is told at once; else a second later. */
    assert_true((strstr(o.last_message, "and 1 more") == NULL) == is_stream);
    mini_pass(&o.w.server, 5000);
    assert_int_equal(o.told, 1 + is_stream);
    const kin_object *before = cached(&o, 0);
    for (int i = 1; i <= 3; i++) {
      mini_break_watches(&o.w.server);
      put(&o, 1, 0);
      mini_compact(&o.w.server);
      mini_pass(&o.w.server, 40000);
      assert_int_equal(o.w.rec.relisted, i);
    }
    assert_ptr_equal(cached(&o, 0), before);
    assert_int_equal(o.told, 1 + is_stream);
    assert_int_equal(iw_status(&o.w, "").oversized, 2);
    assert_int_equal(iw_status(&o.w, "").unchanged, 3 * 2);
    assert_int_equal(o.w.rec.updates, 3);
    assert_truth(&o);
    iw_finish(&o.w);
  }
}

/* Events that come again after a watch was resumed from before them. */
static void test_oversized_event_again(void **state) {
  (void)state;
  ow_world o;
  kin_informer_options options = ow_init(&o, 0);
  assert_int_equal(iw_open(&o.w, &options), 0);
  mini_serve(&o.w.server);
  char frame[2000];
  int length = snprintf(frame, sizeof frame,
                        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{"
                        "\"name\":\"big\",\"uid\":\"u\",\"resourceVersion\":"
                        "\"200\"},\"x\":\"%*s\"}}\n",
                        1000, "");
  for (int i = 0; i < 5; i++) {
    assert_true(script_body(&o.w.script, "watch=true", frame, (size_t)length));
    mini_pass(&o.w.server, 1500);
  }
  assert_int_equal(o.told, 1);
  assert_int_equal(iw_status(&o.w, "").oversized, 1);
  assert_int_equal(iw_status(&o.w, "").unchanged, 4);
  assert_int_equal(o.w.rec.adds, 1);
  assert_int_equal(o.w.rec.updates, 0);
  iw_finish(&o.w);
}

/* An object that is always over the limit, written all the time: one event a
 * second that counts, no list. */
static void test_oversized_storm(void **state) {
  (void)state;
  ow_world o;
  kin_informer_options options = ow_init(&o, 0);
  put(&o, 0, BIG);
  assert_int_equal(iw_open(&o.w, &options), 0);
  mini_serve(&o.w.server);
  assert_int_equal(o.told, 1);
  for (int i = 0; i < 200; i++) {
    put(&o, 0, BIG);
    mini_serve(&o.w.server);
    script_advance(&o.w.script, 20); /* 4 s in all */
  }
  assert_in_range(o.told, 4, 6);
  assert_non_null(strstr(o.last_message, " more"));
  script_advance(&o.w.script, 1000);
  int told = o.told;
  script_advance(&o.w.script, 10000);
  assert_int_equal(o.told, told);
  assert_int_equal(iw_status(&o.w, "").oversized, 201);
  assert_int_equal(iw_status(&o.w, "").relists, 0);
  assert_int_equal(o.w.server.lists, 1);
  assert_int_equal(o.w.server.watches, 1);
  assert_truth(&o);
  iw_finish(&o.w);
}

/* --- What looks at objects ------------------------------------------------ */

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  assert_false(kin_object_is_key_only(in));
  ++*(int *)data;
  return kin_object_builder_set_string(out, "/spec/seen", "yes");
}

/* A transform has nothing to look at; what becomes of the rest is the same. */
static void test_oversized_is_not_transformed(void **state) {
  (void)state;
  ow_world o;
  kin_informer_options options = ow_init(&o, 0);
  int runs = 0;
  options.transform = transform;
  options.transform_data = &runs;
  put(&o, 0, BIG);
  put(&o, 1, 0);
  assert_int_equal(iw_open(&o.w, &options), 0);
  mini_serve(&o.w.server);
  put(&o, 0, 0);
  put(&o, 1, BIG);
  mini_serve(&o.w.server);
  assert_int_equal(runs, 2);
  assert_truth(&o);
  assert_ptr_equal(kin__object_allocator(cached(&o, 1)),
                   o.w.script.env.allocator);
  mini_delete(&o.w.server, 1);
  mini_serve(&o.w.server);
  assert_int_equal(o.w.rec.deletes, 1);
  assert_truth(&o);
  iw_finish(&o.w);
}

static bool is_whole(const kin_object *object, void *data) {
  ++*(int *)data;
  return !kin_object_is_key_only(object);
}

static int filtered_events;

static void on_filtered(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)data;
  filtered_events++;
  assert_true(event->reason != KIN_DELETE_WATCH);
  assert_false(kin_object_is_key_only(event->object));
}

/* A filter can ask; an index over a field that is not there has no value. */
static void test_oversized_filter_and_index(void **state) {
  (void)state;
  ow_world o;
  kin_informer_options options = ow_init(&o, 0);
  put(&o, 0, BIG);
  put(&o, 4, 0);
  assert_int_equal(iw_open(&o.w, &options), 0);
  kin_store *store = kin_informer_store(o.w.informer);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "node";
  index.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(store, &index), 0);
  int asked = 0;
  filtered_events = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.filter = is_whole;
  listener.on_add = listener.on_update = listener.on_delete = on_filtered;
  listener.data = &asked;
  assert_int_equal(kin_informer_listen(o.w.informer, &listener, NULL), 0);
  mini_serve(&o.w.server);
  assert_int_equal(filtered_events, 1);
  assert_int_equal(kin_store_index_count(store, "node", kin__cstr("n0")), 1);
  put(&o, 0, 0); /* into the filter and the index */
  mini_serve(&o.w.server);
  assert_int_equal(filtered_events, 2);
  assert_int_equal(kin_store_index_count(store, "node", kin__cstr("n0")), 2);
  put(&o, 0, BIG); /* and out */
  mini_serve(&o.w.server);
  assert_int_equal(filtered_events, 3);
  assert_int_equal(kin_store_index_count(store, "node", kin__cstr("n0")), 1);
  assert_true(asked > 0);
  iw_finish(&o.w);
}

/* --- Answers -------------------------------------------------------------- */

static void test_oversized_answers(void **state) {
  (void)state;
  static const kin_retry answers[] = {KIN_RETRY, KIN_RETRY_AFTER, KIN_STOP};
  for (size_t i = 0; i < 3; i++) {
    ow_world o;
    kin_informer_options options = ow_init(&o, 0);
    put(&o, 0, BIG);
    assert_int_equal(iw_open(&o.w, &options), 0);
    o.answer = answers[i];
    mini_serve(&o.w.server);
    mini_pass(&o.w.server, 5000);
    bool is_stopped = answers[i] == KIN_STOP;
    assert_int_equal(o.told, 1);
    assert_int_equal(o.w.state, is_stopped ? KIN_STATE_IDLE : KIN_STATE_LIVE);
    assert_int_equal(script_open_requests(&o.w.script), !is_stopped);
    iw_finish(&o.w);
  }
}

/* Closed while something is to be told, and while it is told. */
static void test_oversized_close(void **state) {
  (void)state;
  for (int is_inside = 0; is_inside <= 1; is_inside++) {
    ow_world o;
    kin_informer_options options = ow_init(&o, 0);
    put(&o, 0, BIG);
    assert_int_equal(iw_open(&o.w, &options), 0);
    o.is_closing = is_inside;
    mini_serve(&o.w.server);
    assert_int_equal(o.w.closed, is_inside);
    if (!is_inside) {
      put(&o, 0, BIG);
      mini_serve(&o.w.server); /* is told in a second */
      iw_close(&o.w);
    }
    script_advance(&o.w.script, 5000);
    assert_int_equal(o.told, 1);
    iw_finish(&o.w);
  }
}

/* --- Sweeps --------------------------------------------------------------- */

static int run_story(ow_world *o, const kin_informer_options *options) {
  for (int i = 0; i < 6; i++) {
    put(o, i, i % 2 == 0 ? BIG : 0);
  }
  int err = iw_open(&o->w, options);
  if (err != 0 || o->w.closed > 0) {
    return err;
  }
  mini_serve(&o->w.server);
  for (int round = 0; round < 3 && o->w.closed == 0; round++) {
    put(o, 1, round % 2 == 0 ? BIG : 0);
    put(o, 2, round % 2 == 0 ? 0 : BIG);
    put(o, 8 + round, BIG);
    mini_pass(&o->w.server, 2000);
    mini_recreate(&o->w.server, 4);
    mini_delete(&o->w.server, 8 + round);
    mini_break_watches(&o->w.server);
    mini_pass(&o->w.server, 2000);
  }
  mini_break_watches(&o->w.server);
  put(o, 3, BIG);
  mini_compact(&o->w.server);
  mini_pass(&o->w.server, 150000);
  return 0;
}

static bool run_oversized_without_memory(size_t n) {
  ow_world o;
  kin_informer_options options = ow_init(&o, n);
  int runs = 0;
  options.transform = n % 2 == 0 ? transform : NULL;
  options.transform_data = &runs;
  int err = run_story(&o, &options);
  bool has_failed = fail_alloc_has_failed(&o.w.memory);
  o.w.memory.fail_at = 0;
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    assert_truth(&o);
    assert_true(o.told > 0);
  }
  iw_finish(&o.w);
  return has_failed;
}

static void test_oversized_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_oversized_without_memory, 40);
}

static void test_oversized_splits(void **state) {
  (void)state;
  uint64_t oversized = 0; /* when nothing is split */
  for (size_t split = 0; split < 1200;
       split = split < 40 ? split + 1 : split + 53) {
    ow_world o;
    kin_informer_options options = ow_init(&o, 0);
    o.w.script.split = split;
    assert_int_equal(run_story(&o, &options), 0);
    assert_truth(&o);
    oversized = split == 0 ? iw_status(&o.w, "").oversized : oversized;
    assert_int_equal(iw_status(&o.w, "").oversized, oversized);
    assert_true(oversized > 10);
    assert_int_equal(iw_status(&o.w, "").relists, 1); /* the compaction's */
    iw_finish(&o.w);
  }
}

/* Anything at random: the same truth, and no list but those that were
 * provoked. */
static void test_oversized_model(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    json_gen gen;
    json_gen_init(&gen, seed, NULL);
    ow_world o;
    kin_informer_options options = ow_init(&o, 0);
    if (seed % 2 == 0) {
      script_use_streams(&o.w.script);
    }
    assert_int_equal(iw_open(&o.w, &options), 0);
    unsigned provoked = 0;
    for (int i = 0; i < 60; i++) {
      int object = (int)json_gen_below(&gen, 8);
      uint32_t what = json_gen_below(&gen, 12);
      if (what < 7) {
        put(&o, object, json_gen_one_in(&gen, 2) ? BIG : 0);
      } else if (what < 9 && o.w.server.versions[object] != 0) {
        mini_delete(&o.w.server, object);
      } else if (what == 9) {
        mini_break_watches(&o.w.server);
      } else if (what == 10 && json_gen_one_in(&gen, 6)) {
        mini_compact(&o.w.server);
        provoked++;
      } else {
        mini_pass(&o.w.server, json_gen_below(&gen, 3000));
      }
    }
    mini_pass(&o.w.server, 200000);
    assert_truth(&o);
    assert_true(iw_status(&o.w, "").relists <= provoked);
    iw_finish(&o.w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_oversized_life),
      cmocka_unit_test(test_oversized_relist),
      cmocka_unit_test(test_oversized_event_again),
      cmocka_unit_test(test_oversized_storm),
      cmocka_unit_test(test_oversized_is_not_transformed),
      cmocka_unit_test(test_oversized_filter_and_index),
      cmocka_unit_test(test_oversized_answers),
      cmocka_unit_test(test_oversized_close),
      cmocka_unit_test(test_oversized_allocations),
      cmocka_unit_test(test_oversized_splits),
      cmocka_unit_test(test_oversized_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
