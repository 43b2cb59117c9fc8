/* SPDX-License-Identifier: MIT */

/* The bound of an informer's objects: what does not fit is never stored, the
 * program decides, nothing is lost, and when there is room the cache is what
 * the server has. Proves RL-08, RW-10 and RE-03 for informers with max_bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/lingering_index.h>
#include <kin/metrics.h>
#include <kin/sized.h>

#include "base/str.h"
#include "support/hand_source.h"
#include "support/informer_world.h"

#define PADDING 1000      /* of an object */
#define OBJECT_BYTES 1300 /* at most, with that padding */
#define LEAST_BYTES 1000  /* at least */
#define KEY_BYTES 400     /* at most, of an object without its body */

/* A world whose bound is checked after each step. */
typedef struct bw_world {
  iw_world w;
  kin__byte_bound clients; /* of the client, if used */
  kin_informer *informer;  /* is bounded; NULL: no check */
  uint64_t max_bytes;
  int asked;
  kin_memory_event event; /* the last */
  kin_memory_decision decision;
  bool sets_bound; /* the callback sets bound */
  uint64_t bound;
  bool closes;
} bw_world;

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  bw_world *b = data;
  b->asked++;
  b->event = *event;
  assert_true(KIN_HAS(event, kin_memory_event, state));
  assert_true(event->max_bytes > 0);
  assert_true(event->needed_bytes > 0);
  assert_true(event->bytes <= event->max_bytes);
  if (b->sets_bound) {
    b->max_bytes = b->bound;
    assert_int_equal(kin_informer_set_max_bytes(informer, b->bound), 0);
  }
  if (b->closes) {
    b->informer = NULL;
    assert_int_equal(kin_informer_close(informer, iw_on_closed, &b->w), 0);
  }
  return b->decision;
}

/* Objects in the store and staged are within the bound, always. */
static void after_step(void *ctx, bool is_before) {
  const bw_world *b = ctx;
  if (is_before || b->informer == NULL) {
    return;
  }
  uint64_t used = b->informer->max_bytes.own.used;
  assert_true(b->max_bytes == 0 || used <= b->max_bytes);
  assert_true(b->max_bytes == 0 ||
              kin_store_bytes(&b->informer->store) <= b->max_bytes);
  assert_true(b->clients.max == 0 || b->clients.used <= b->clients.max);
}

static kin_informer_options bw_init(bw_world *b, uint64_t max_bytes,
                                    kin_memory_decision decision) {
  memset(b, 0, sizeof *b);
  iw_init(&b->w, 0);
  b->max_bytes = max_bytes;
  b->decision = decision;
  b->w.script.env.object_bytes = &b->clients;
  b->w.script.on_step = after_step;
  b->w.script.on_step_ctx = b;
  kin_informer_options options = iw_options(&b->w);
  options.max_bytes = max_bytes;
  options.on_max_bytes = on_max_bytes;
  return options;
}

static void put(bw_world *b, int from, int to) {
  for (int i = from; i < to; i++) {
    b->w.server.padding[i] = PADDING;
    mini_put(&b->w.server, i);
  }
}

static void bw_open(bw_world *b, const kin_informer_options *options) {
  assert_int_equal(iw_open(&b->w, options), 0);
  b->informer = b->w.informer;
  mini_serve(&b->w.server);
}

static void set_bound(bw_world *b, uint64_t max_bytes) {
  b->max_bytes = max_bytes;
  assert_int_equal(kin_informer_set_max_bytes(b->w.informer, max_bytes), 0);
  mini_pass(&b->w.server, 10000);
}

static kin_memory_state memory_state(const bw_world *b) {
  return iw_status(&b->w, "").memory_state;
}

static size_t bodies(const bw_world *b) {
  size_t count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  kin_store *store = kin_informer_store(b->w.informer);
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    count += !kin_object_is_key_only(object);
    kin_str app;
    assert_true(kin_object_label(object, "app", &app));
  }
  return count;
}

static void assert_live(bw_world *b) {
  iw_assert_truth(&b->w);
  recorder_assert_folds_to(&b->w.rec, kin_informer_store(b->w.informer));
  assert_int_equal(iw_status(&b->w, "").state, KIN_STATE_LIVE);
  assert_int_equal(b->w.informer->max_bytes.listed, 0);
  assert_int_equal(b->w.informer->max_bytes.own.used,
                   kin_store_bytes(kin_informer_store(b->w.informer)));
  assert_int_equal(b->clients.used, b->w.informer->max_bytes.own.used);
}

static void bw_finish(bw_world *b) {
  b->informer = NULL;
  iw_finish(&b->w);
  assert_int_equal(b->clients.used, 0);
}

/* --- Pause ---------------------------------------------------------------- */

static void assert_paused(const bw_world *b, int asked) {
  assert_int_equal(b->asked, asked);
  assert_int_equal(memory_state(b), KIN_MEMORY_STATE_PAUSED);
  assert_int_equal(script_open_requests(&b->w.script), 0);
  assert_int_equal(b->w.last_code, KIN_EMAXBYTES);
  assert_int_equal(b->w.last_class, KIN_CLASS_MEMORY);
  assert_non_null(strstr(b->w.last_message, "max_bytes"));
}

/* A first list that does not fit: one request, one question, then silence on
 * the network for as long as it takes. Twice. */
static void test_first_list(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    bw_world b;
    kin_informer_options options = bw_init(&b, 5 * OBJECT_BYTES, 0);
    bool is_asked = way % 2 == 0;
    options.on_max_bytes = is_asked ? on_max_bytes : NULL;
    if (way >= 2) {
      script_use_streams(&b.w.script);
    }
    put(&b, 0, 12);
    bw_open(&b, &options);
    assert_paused(&b, is_asked);
    assert_false(kin_informer_has_synced(b.w.informer));
    if (is_asked) {
      assert_int_equal(b.event.bytes, 0);
      assert_true(b.event.needed_bytes > 5 * LEAST_BYTES);
      assert_true(b.event.needed_bytes <= 6 * OBJECT_BYTES);
      assert_int_equal(b.event.bound, KIN_MEMORY_BOUND_INFORMER);
    }
    mini_pass(&b.w.server, 600000);
    assert_paused(&b, is_asked);
    assert_int_equal(b.w.server.lists + b.w.server.streams, 1);
    assert_true(iw_status(&b.w, "").failures > 5);
    assert_int_equal(iw_status(&b.w, "").over_max_bytes,
                     iw_status(&b.w, "").failures);

    set_bound(&b, 8 * OBJECT_BYTES);
    assert_paused(&b, 2 * is_asked);
    assert_int_equal(b.w.server.lists + b.w.server.streams, 2);
    assert_int_equal(iw_metrics(&b.w).max_bytes_reached, 2);
    set_bound(&b, 20 * OBJECT_BYTES);
    assert_int_equal(b.asked, 2 * is_asked);
    assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_WHOLE);
    assert_live(&b);
    bw_finish(&b);
  }
}

/* A watch keeps its position: the event comes again, and nothing is listed. */
static void test_watch(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 5 * OBJECT_BYTES, 0);
  put(&b, 0, 3);
  bw_open(&b, &options);
  assert_live(&b);
  for (int round = 1; round <= 2; round++) {
    mini_pass(&b.w.server, 5000);
    put(&b, 3 * round, 3 * round + 3);
    mini_pass(&b.w.server, 5000);
    assert_paused(&b, round);
    mini_pass(&b.w.server, 300000);
    assert_paused(&b, round);
    assert_int_equal(iw_status(&b.w, "").state, KIN_STATE_STALE);
    set_bound(&b, (round == 1 ? 7u : 12u) * OBJECT_BYTES);
    assert_live(&b);
  }
  assert_int_equal(b.w.server.lists, 1);
  bw_finish(&b);
}

/* Updates of what is cached, and deletions, need no room of their own. */
static void test_full_cache_lives(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 0, 0);
  put(&b, 0, 8);
  bw_open(&b, &options);
  set_bound(&b, kin_store_bytes(kin_informer_store(b.w.informer)) + 8);
  for (int round = 0; round < 20; round++) {
    put(&b, 0, 8);
    mini_delete(&b.w.server, 7);
    put(&b, 7, 8);
    mini_serve(&b.w.server);
    assert_int_equal(b.asked, 0);
  }
  mini_expire_watches(&b.w.server);
  mini_pass(&b.w.server, 60000);
  assert_true(b.w.rec.relisted >= 1);
  assert_int_equal(b.asked, 0);
  assert_live(&b);
  bw_finish(&b);
}

/* Events in one read are counted without what they free, as long as the bound is
 * far. Nothing is refused for that. */
static void test_far_from_the_bound(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 16 * OBJECT_BYTES, 0);
  put(&b, 0, 5);
  bw_open(&b, &options);
  b.w.server.sends_together = true;
  for (int round = 0; round < 2; round++) {
    put(&b, 0, 14);
    mini_serve(&b.w.server);
    assert_int_equal(b.asked, 0);
    assert_int_equal(iw_metrics(&b.w).max_bytes_reached, 0);
    assert_int_equal(iw_status(&b.w, "").over_max_bytes, 0);
    assert_live(&b);
    for (int i = 5; i < 14; i++) {
      mini_delete(&b.w.server, i);
    }
    mini_serve(&b.w.server);
    assert_live(&b);
  }
  put(&b, 5, 24); /* too much in truth */
  mini_pass(&b.w.server, 5000);
  assert_paused(&b, 1);
  bw_finish(&b);
}

/* There is room again, without a word of the program. */
static void test_room_by_itself(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 9 * OBJECT_BYTES, 0);
  kin_informer_options names = iw_even_and_odd(&b.w);
  options.namespaces = names.namespaces;
  options.namespace_count = names.namespace_count;
  put(&b, 0, 6);
  bw_open(&b, &options);
  put(&b, 6, 12);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(iw_status(&b.w, "odd").memory_state,
                   KIN_MEMORY_STATE_PAUSED);
  iw_drop_odd(&b.w);
  mini_pass(&b.w.server, 120000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(iw_status(&b.w, "even").memory_state,
                   KIN_MEMORY_STATE_WHOLE);
  assert_int_equal(kin_store_count(kin_informer_store(b.w.informer)), 6);
  assert_int_equal(iw_status(&b.w, "even").state, KIN_STATE_LIVE);
  bw_finish(&b);
}

/* A scope that has got room, and then fails for another reason, keeps the wait
 * that the program has answered. */
static void test_other_failure_waits(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 9 * OBJECT_BYTES, 0);
  kin_informer_options names = iw_even_and_odd(&b.w);
  options.namespaces = names.namespaces;
  options.namespace_count = names.namespace_count;
  put(&b, 0, 6);
  bw_open(&b, &options);
  put(&b, 6, 12);
  mini_pass(&b.w.server, 5000);
  put(&b, 12, 13);
  mini_serve(&b.w.server);
  assert_int_equal(script_open_requests(&b.w.script), 0);
  b.w.server.is_absent = true;
  b.w.answer = KIN_RETRY_AFTER;
  b.w.retry_after_ms = 600000;
  iw_drop_odd(&b.w);
  mini_pass(&b.w.server, 120000);
  assert_int_equal(b.w.last_status, 404);
  unsigned requests = b.w.script.request_count;
  set_bound(&b, 0);
  assert_int_equal(b.w.script.request_count, requests);
  b.w.server.is_absent = false;
  mini_pass(&b.w.server, 600000);
  assert_int_equal(iw_status(&b.w, "even").state, KIN_STATE_LIVE);
  bw_finish(&b);
}

/* --- Bodies --------------------------------------------------------------- */

static size_t indexed(const bw_world *b) {
  return kin_store_index_count(kin_informer_store(b->w.informer), "node",
                               KIN__LIT("n1"));
}

static void add_index(bw_world *b, const char *name, const char *pointer) {
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = name;
  index.pointer = pointer;
  assert_int_equal(
      kin_store_add_index(kin_informer_store(b->w.informer), &index), 0);
}

/* All events come, with the keys only; the bodies come back as updates. */
static void test_drop_bodies(void **state) {
  (void)state;
  for (int is_stream = 0; is_stream < 2; is_stream++) {
    bw_world b;
    kin_informer_options options =
        bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
    options.skip_unchanged = true;
    if (is_stream) {
      script_use_streams(&b.w.script);
    }
    put(&b, 0, 6);
    bw_open(&b, &options);
    assert_int_equal(bodies(&b), 6);
    kin_store *store = kin_informer_store(b.w.informer);
    kin_object *held = kin_object_ref(kin_store_get_key(store, "even/p0"));
    int calls = b.w.rec.calls;

    put(&b, 6, 14);
    mini_pass(&b.w.server, 5000);
    assert_int_equal(b.asked, 1);
    assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_KEYS_ONLY);
    assert_int_equal(bodies(&b), 0);
    assert_int_equal(b.w.rec.calls, calls + 8); /* the adds, and no more */
    assert_false(kin_object_is_key_only(held));
    kin_object_unref(held);
    assert_true(kin_store_bytes(store) <= 14 * KEY_BYTES);
    assert_live(&b);

    put(&b, 0, 14);
    mini_recreate(&b.w.server, 1);
    mini_delete(&b.w.server, 2);
    mini_pass(&b.w.server, 5000);
    assert_int_equal(b.w.rec.updates, 14); /* skip_unchanged cannot tell */
    assert_int_equal(bodies(&b), 0);
    assert_live(&b);
    mini_expire_watches(&b.w.server);
    mini_pass(&b.w.server, 60000);
    assert_int_equal(bodies(&b), 0);
    assert_live(&b);
    assert_int_equal(iw_metrics(&b.w).dropped_bodies, 6 + 8 + 14 + 1);

    int lists = b.w.server.lists + b.w.server.streams;
    set_bound(&b, 0);
    assert_int_equal(bodies(&b), 13);
    assert_int_equal(b.w.rec.updates, 14 + 13);
    assert_int_equal(b.w.server.lists + b.w.server.streams, lists + 1);
    assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_WHOLE);
    assert_live(&b);
    bw_finish(&b);
  }
}

/* A first list; then even the keys do not fit, and the informer pauses. Whole
 * again into too little room: asked again. */
static void test_drop_bodies_twice(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options =
      bw_init(&b, 5 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
  put(&b, 0, 20);
  bw_open(&b, &options);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(bodies(&b), 0);
  assert_live(&b);

  set_bound(&b, 7 * OBJECT_BYTES); /* whole again: they do not fit */
  assert_int_equal(b.asked, 2);
  assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_KEYS_ONLY);
  assert_int_equal(bodies(&b), 0);
  assert_live(&b);

  /* The keys have less room than they need. */
  b.max_bytes = 0;
  b.w.informer->max_bytes.own.max =
      kin_store_bytes(kin_informer_store(b.w.informer)) + 10;
  put(&b, 20, 23);
  mini_pass(&b.w.server, 5000);
  assert_paused(&b, 3);
  assert_int_equal(b.event.state, KIN_MEMORY_STATE_KEYS_ONLY);
  set_bound(&b, 40 * OBJECT_BYTES);
  assert_int_equal(bodies(&b), 23);
  assert_live(&b);
  bw_finish(&b);
}

static bool has_body_in_filter(const kin_object *object, void *data) {
  (void)data;
  return !kin_object_is_key_only(object);
}

/* Who filters by the body is told that the objects have left, and that they are
 * back. */
static void test_drop_bodies_filters(void **state) {
  (void)state;
  for (int pieces = 1; pieces <= 64; pieces += 63) {
    bw_world b;
    kin_informer_options options =
        bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
    b.w.script.sched.max_pieces = (uint32_t)pieces;
    put(&b, 0, 6);
    bw_open(&b, &options);
    recorder whole[2];
    for (int i = 0; i < 2; i++) {
      recorder_init(&whole[i]);
      kin_listener_options listener = recorder_options(&whole[i]);
      listener.filter = has_body_in_filter;
      assert_int_equal(kin_informer_listen(b.w.informer, &listener, NULL), 0);
    }
    mini_serve(&b.w.server);
    assert_int_equal(whole[1].count, 6);
    put(&b, 6, 14);
    mini_pass(&b.w.server, 5000);
    assert_int_equal(b.asked, 1);
    assert_int_equal(whole[1].count, 0);
    assert_int_equal(whole[0].deletes, whole[1].deletes);
    assert_live(&b);
    set_bound(&b, 0);
    assert_int_equal(whole[0].count, 14);
    assert_int_equal(whole[1].count, 14);
    assert_live(&b);
    bw_finish(&b);
  }
}

static kin_store *fed; /* by put_another */
static unsigned fed_count;

static void put_another(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  (void)data;
  if (fed_count == 50) {
    return;
  }
  char text[OBJECT_BYTES];
  snprintf(text, sizeof text,
           "{\"metadata\":{\"namespace\":\"own\",\"name\":\"o%u\","
           "\"uid\":\"o%u\",\"labels\":{\"app\":\"own\"}},\"x\":\"%0*d\"}",
           fed_count, fed_count, PADDING / 10, 0);
  fed_count++;
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, text, strlen(text)), 0);
  assert_int_equal(kin_store_put(fed, object), 0);
  kin_object_unref(object);
}

/* A handler that puts an object for each body that is dropped: dropping ends
 * with the objects that were there. */
static void test_drop_bodies_ends(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options =
      bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
  b.w.script.sched.max_pieces = 1;
  put(&b, 0, 6);
  bw_open(&b, &options);
  b.informer = NULL; /* the program's own objects are not bounded */
  fed = kin_informer_store(b.w.informer);
  fed_count = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.filter = has_body_in_filter;
  listener.on_delete = put_another;
  assert_int_equal(kin_informer_listen(b.w.informer, &listener, NULL), 0);
  mini_serve(&b.w.server);
  put(&b, 6, 14);
  mini_pass(&b.w.server, 10000);
  assert_in_range(fed_count, 6, 8);
  assert_int_equal(b.w.informer->max_bytes.phase, KIN__BOUND_OPEN);
  bw_finish(&b);
}

/* Indices say what the stored objects say. */
static void test_drop_bodies_indices(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options =
      bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
  put(&b, 0, 6);
  bw_open(&b, &options);
  kin_store *store = kin_informer_store(b.w.informer);
  add_index(&b, "node", "/spec/nodeName");
  add_index(&b, "app", "/metadata/labels/app");
  script_run(&b.w.script);
  assert_true(indexed(&b) > 0);
  size_t apps = kin_store_index_count(store, "app", KIN__LIT("a1"));
  assert_int_equal(apps, 2);
  put(&b, 6, 9);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(indexed(&b), 0);
  assert_int_equal(kin_store_index_count(store, "app", KIN__LIT("a1")), 3);
  set_bound(&b, 0);
  assert_true(indexed(&b) > 0);
  bw_finish(&b);
}

/* The bodies are gone, so their values do not linger: that would hold the
 * bodies, and nothing has left the cluster. */
static void test_drop_bodies_lingering(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options =
      bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
  put(&b, 0, 6);
  bw_open(&b, &options);
  add_index(&b, "node", "/spec/nodeName");
  kin_lingering_index_options lingering = KIN_LINGERING_INDEX_OPTIONS_INIT;
  lingering.name = "node";
  lingering.linger_ms = 3600000;
  kin_lingering_index *index;
  assert_int_equal(kin_lingering_index_open(&index, b.w.informer, &lingering),
                   0);
  script_run(&b.w.script);
  mini_delete(&b.w.server, 5);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(kin_lingering_index_count(index), 1);
  for (int round = 1; round <= 2; round++) {
    put(&b, 8 * round - 2, 8 * round + 6);
    mini_pass(&b.w.server, 5000);
    assert_int_equal(b.asked, round);
    assert_int_equal(bodies(&b), 0);
    assert_int_equal(kin_lingering_index_count(index), 1);
    set_bound(&b, 16 * OBJECT_BYTES);
  }
  assert_live(&b);
  bw_finish(&b);
}

/* --- Stop ----------------------------------------------------------------- */

static int waits_ended;

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  (void)version;
  (void)data;
  assert_int_equal(code, KIN_ECLOSED);
  waits_ended++;
}

static void test_stop(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 5 * OBJECT_BYTES, KIN_MEMORY_STOP);
  put(&b, 0, 3);
  bw_open(&b, &options);
  waits_ended = 0;
  assert_int_equal(
      kin_informer_wait_version(b.w.informer, "", "999", 0, on_version, NULL),
      0);
  put(&b, 3, 9);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(waits_ended, 1);
  assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_STOPPED);
  assert_int_equal(iw_status(&b.w, "").state, KIN_STATE_IDLE);
  assert_int_equal(b.w.last_code, KIN_EMAXBYTES);
  kin_store *store = kin_informer_store(b.w.informer);
  size_t count = kin_store_count(store);
  assert_true(count >= 3 && count <= 5);
  set_bound(&b, 0);
  mini_pass(&b.w.server, 300000);
  assert_int_equal(kin_store_count(store), count);
  assert_int_equal(script_open_requests(&b.w.script), 0);
  assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_STOPPED);
  bw_finish(&b);
}

/* A namespace that is added after the stop is refused, told so once, and stops,
 * too: nobody waits for ever for a version of it. The message names
 * the request that was not made. */
static void test_added_after_the_stop(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 3 * OBJECT_BYTES, KIN_MEMORY_STOP);
  options.namespaces = iw_even_and_odd(&b.w).namespaces;
  options.namespace_count = 1;
  put(&b, 0, 24);
  bw_open(&b, &options);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  int errors = b.w.errors;
  iw_add_odd(&b.w);
  waits_ended = 0;
  assert_int_equal(
      kin_informer_verify(b.w.informer, "odd", 0, on_version, NULL), 0);
  set_bound(&b, 0);
  mini_pass(&b.w.server, 300000);
  assert_int_equal(b.w.errors, errors + 1);
  assert_int_equal(b.w.last_code, KIN_EMAXBYTES);
  assert_string_equal(b.w.last_message,
                      "list of pods in odd: objects need more than max_bytes");
  assert_int_equal(iw_status(&b.w, "odd").state, KIN_STATE_IDLE);
  assert_int_equal(waits_ended, 1);
  bw_finish(&b);
}

/* --- The callback --------------------------------------------------------- */

static void test_callback_closes(void **state) {
  (void)state;
  for (int decision = KIN_MEMORY_PAUSE; decision <= KIN_MEMORY_STOP;
       decision++) {
    for (int is_first = 0; is_first < 2; is_first++) {
      bw_world b;
      kin_informer_options options =
          bw_init(&b, 5 * OBJECT_BYTES, (kin_memory_decision)decision);
      b.closes = true;
      put(&b, 0, is_first ? 9 : 3);
      bw_open(&b, &options);
      put(&b, 0, 9);
      mini_pass(&b.w.server, 5000);
      assert_int_equal(b.asked, 1);
      assert_int_equal(b.w.closed, 1);
      bw_finish(&b);
    }
  }
}

/* A bound that the callback sets counts, and its answer does not. */
static void test_callback_sets_bound(void **state) {
  (void)state;
  for (int decision = KIN_MEMORY_PAUSE; decision <= KIN_MEMORY_STOP;
       decision++) {
    bw_world b;
    kin_informer_options options =
        bw_init(&b, 5 * OBJECT_BYTES, (kin_memory_decision)decision);
    b.sets_bound = true;
    b.bound = 20 * OBJECT_BYTES;
    put(&b, 0, 9);
    bw_open(&b, &options);
    mini_pass(&b.w.server, 5000);
    assert_int_equal(b.asked, 1);
    assert_int_equal(bodies(&b), 9);
    assert_live(&b);
    bw_finish(&b);
  }
}

/* --- One object, and what is received ------------------------------------- */

/* Whatever a read brings, and however it is cut: at most one object is over the
 * bound, and it is gone when the read ends. */
static void test_overshoot(void **state) {
  (void)state;
  for (size_t split = 1; split < 4000; split += 37) {
    bw_world b;
    kin_informer_options options = bw_init(&b, 5 * OBJECT_BYTES, 0);
    b.w.script.split = split;
    put(&b, 0, 24);
    bw_open(&b, &options);
    assert_int_equal(b.asked, 1);
    assert_int_equal(iw_metrics(&b.w).bounded_bytes, 0);
    set_bound(&b, 40 * OBJECT_BYTES);
    assert_live(&b);
    bw_finish(&b);
  }
}

/* States that are replaced while a list comes as a watch do not count. */
static void test_stream_that_changes(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 12 * OBJECT_BYTES, 0);
  script_use_streams(&b.w.script);
  b.w.server.holds_bookmark = true;
  put(&b, 0, 4);
  bw_open(&b, &options);
  put(&b, 0, 4);
  mini_delete(&b.w.server, 3);
  mini_serve(&b.w.server);
  assert_in_range(b.w.informer->max_bytes.listed, 3 * LEAST_BYTES,
                  3 * OBJECT_BYTES);
  b.w.server.holds_bookmark = false;
  mini_bookmark(&b.w.server);
  mini_serve(&b.w.server);
  assert_int_equal(b.w.server.streams, 1);
  assert_int_equal(b.asked, 0);
  assert_live(&b);
  bw_finish(&b);
}

/* An object that fits into no bound of the informer. */
static void test_single_object(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options =
      bw_init(&b, LEAST_BYTES, KIN_MEMORY_DROP_BODIES);
  put(&b, 0, 1);
  bw_open(&b, &options);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(bodies(&b), 0);
  assert_live(&b);
  bw_finish(&b);
}

/* --- Other ways to objects ------------------------------------------------- */

static int drop_text(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/spec/text");
}

/* What counts is what is stored, not what came. */
static void test_transform(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 24 * KEY_BYTES, 0);
  options.transform = drop_text;
  put(&b, 0, 24);
  bw_open(&b, &options);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 0);
  assert_live(&b);
  set_bound(&b, 0);
  bw_finish(&b);
}

/* Objects of other shards need no room. */
static void test_shard(void **state) {
  (void)state;
  for (int knows = 0; knows < 2; knows++) {
    bw_world b;
    kin_informer_options options =
        bw_init(&b, 12 * OBJECT_BYTES, KIN_MEMORY_STOP);
    b.w.server.knows_shards = knows != 0;
    options.shard_index = 1;
    options.shard_count = 4;
    put(&b, 0, 24);
    bw_open(&b, &options);
    assert_int_equal(b.asked, 0);
    assert_int_equal(iw_status(&b.w, "").state, KIN_STATE_LIVE);
    size_t count = kin_store_count(kin_informer_store(b.w.informer));
    assert_true(count > 0 && count < 12);
    bw_finish(&b);
  }
}

/* A source of the program's own, which is told the code. It cannot pause. */
static void test_source(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 0, 0);
  hand_source source;
  hand_source_init(&source, &b.w.script);
  source.lister_watcher.pause = NULL;
  source.lister_watcher.resume = NULL;
  options.source = &source.lister_watcher;
  kin_object *object = hand_source_object("a@1");
  options.max_bytes = 2 * kin_object_memory(object) + 10;
  kin_object_unref(object);
  assert_int_equal(iw_open(&b.w, &options), 0);
  script_run(&b.w.script);
  hand_source_list(&source, "a@1 b@2", "3");
  object = hand_source_object("c@4");
  assert_int_equal(kin_feed_event(source.feed, KIN_WATCH_ADDED, object),
                   KIN_EMAXBYTES);
  kin_object_unref(object);
  script_advance(&b.w.script, 100000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(kin_store_count(kin_informer_store(b.w.informer)), 2);
  source.is_open = false;
  assert_int_equal(kin_informer_set_max_bytes(b.w.informer, 0), 0);
  script_advance(&b.w.script, 1);
  hand_source_list(&source, "", "3"); /* the position still stands */
  hand_source_event(&source, KIN_WATCH_ADDED, "c@4");
  assert_int_equal(kin_store_count(kin_informer_store(b.w.informer)), 3);
  bw_finish(&b);
}

/* --- Without memory ------------------------------------------------------- */

static bool run_without_memory(size_t fail_at) {
  bw_world b;
  kin_informer_options options =
      bw_init(&b, 8 * OBJECT_BYTES, KIN_MEMORY_DROP_BODIES);
  put(&b, 0, 6);
  b.w.memory.fail_at = fail_at;
  atomic_store(&b.w.memory.calls, 0);
  if (iw_open(&b.w, &options) == 0) {
    b.informer = b.w.informer;
    mini_pass(&b.w.server, 60000);
    put(&b, 6, 14);
    mini_pass(&b.w.server, 60000);
    put(&b, 14, 16);
    mini_pass(&b.w.server, 60000);
    assert_true(b.asked >= 1);
    set_bound(&b, 0);
    mini_pass(&b.w.server, 60000);
    iw_assert_truth(&b.w);
    assert_int_equal(bodies(&b), 16);
  }
  bool has_failed = fail_alloc_has_failed(&b.w.memory);
  bw_finish(&b);
  return has_failed;
}

static void test_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 50);
}

/* --- The client's bound --------------------------------------------------- */

/* Two informers: the one that grows is paused, the other lives, and when one
 * closes the other has room. */
static void test_client_bound(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 0, 0);
  b.clients.max = 16 * OBJECT_BYTES;
  put(&b, 0, 6);
  bw_open(&b, &options);
  iw_world other;
  memset(&other, 0, sizeof other);
  kin_informer_options small = iw_options(&other);
  const char *const even[] = {"even"};
  small.namespaces = even;
  small.namespace_count = 1;
  assert_int_equal(kin__informer_open(&other.informer, &b.w.script.env, &small),
                   0);
  assert_int_equal(kin_informer_start(other.informer), 0);
  mini_pass(&b.w.server, 1000);
  assert_int_equal(kin_store_count(kin_informer_store(other.informer)), 3);
  assert_int_equal(b.clients.used,
                   kin_store_bytes(kin_informer_store(other.informer)) +
                       kin_store_bytes(kin_informer_store(b.w.informer)));

  for (int i = 7; i < 24; i += 2) { /* odd ones, which only the first sees */
    put(&b, i, i + 1);
  }
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  assert_int_equal(b.event.bound, KIN_MEMORY_BOUND_CLIENT);
  assert_int_equal(b.event.max_bytes, b.clients.max);
  assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_PAUSED);
  assert_int_equal(other.errors, 0);
  put(&b, 2, 3); /* the other one goes on */
  mini_pass(&b.w.server, 5000);
  assert_int_equal(iw_status(&other, "even").memory_state,
                   KIN_MEMORY_STATE_WHOLE);
  assert_int_equal(iw_status(&other, "even").state, KIN_STATE_LIVE);
  assert_string_equal(iw_status(&other, "even").resource_version, "116");

  b.clients.max = 19 * OBJECT_BYTES; /* as kin_client_set_max_bytes */
  assert_int_equal(kin_informer_close(other.informer, NULL, NULL), 0);
  mini_pass(&b.w.server, 120000);
  assert_int_equal(b.asked, 1);
  assert_live(&b);
  bw_finish(&b);
}

/* Bodies come back when the program says so, not with the client's bound. */
static void test_client_bound_is_lifted(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 0, KIN_MEMORY_DROP_BODIES);
  b.clients.max = 6 * OBJECT_BYTES;
  put(&b, 0, 9);
  bw_open(&b, &options);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(b.asked, 1);
  b.clients.max = 0; /* as kin_client_set_max_bytes */
  put(&b, 0, 12);
  mini_pass(&b.w.server, 5000);
  assert_int_equal(bodies(&b), 0);
  assert_int_equal(memory_state(&b), KIN_MEMORY_STATE_KEYS_ONLY);
  set_bound(&b, 0);
  assert_int_equal(bodies(&b), 12);
  assert_live(&b);
  bw_finish(&b);
}

/* --- Metrics and names ---------------------------------------------------- */

static void test_numbers(void **state) {
  (void)state;
  bw_world b;
  kin_informer_options options = bw_init(&b, 5 * OBJECT_BYTES, 0);
  put(&b, 0, 3);
  bw_open(&b, &options);
  kin_informer_metrics metrics = iw_metrics(&b.w);
  assert_int_equal(metrics.max_bytes, 5 * OBJECT_BYTES);
  assert_int_equal(metrics.bounded_bytes, metrics.object_bytes);
  assert_int_equal(metrics.max_bytes_reached, 0);
  assert_string_equal(kin_memory_state_name(memory_state(&b)), "whole");
  assert_string_equal(kin_memory_state_name(KIN_MEMORY_STATE_KEYS_ONLY),
                      "keys_only");
  assert_string_equal(kin_memory_state_name(KIN_MEMORY_STATE_PAUSED), "paused");
  assert_string_equal(kin_memory_state_name(KIN_MEMORY_STATE_STOPPED),
                      "stopped");
  assert_string_equal(kin_memory_state_name((kin_memory_state)99), "unknown");
  bw_finish(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_list),
      cmocka_unit_test(test_watch),
      cmocka_unit_test(test_full_cache_lives),
      cmocka_unit_test(test_far_from_the_bound),
      cmocka_unit_test(test_room_by_itself),
      cmocka_unit_test(test_other_failure_waits),
      cmocka_unit_test(test_drop_bodies),
      cmocka_unit_test(test_drop_bodies_twice),
      cmocka_unit_test(test_drop_bodies_filters),
      cmocka_unit_test(test_drop_bodies_ends),
      cmocka_unit_test(test_drop_bodies_indices),
      cmocka_unit_test(test_drop_bodies_lingering),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_added_after_the_stop),
      cmocka_unit_test(test_callback_closes),
      cmocka_unit_test(test_callback_sets_bound),
      cmocka_unit_test(test_overshoot),
      cmocka_unit_test(test_stream_that_changes),
      cmocka_unit_test(test_single_object),
      cmocka_unit_test(test_transform),
      cmocka_unit_test(test_shard),
      cmocka_unit_test(test_source),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_client_bound),
      cmocka_unit_test(test_client_bound_is_lifted),
      cmocka_unit_test(test_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
