/* SPDX-License-Identifier: MIT */

/* An informer for one shard of a resource, with a server that knows shards and
 * with one that ignores them (KEP-5866). Ported by meaning from Kubernetes'
 * test/integration/apiserver/sharding_test.go: lists, watches, the gate switched
 * off, completeness. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/scope.h"
#include "support/hand_source.h"
#include "support/informer_world.h"

enum { OBJECTS = MINI_OBJECTS };

static kin_informer_options options_of(iw_world *w, uint32_t index,
                                       uint32_t count) {
  kin_informer_options options = iw_options(w);
  options.shard_index = index;
  options.shard_count = count;
  return options;
}

static void begin(iw_world *w, bool knows_shards, bool streams) {
  iw_init(w, 0);
  mini_put_first(&w->server, OBJECTS);
  w->server.knows_shards = knows_shards;
  if (streams) {
    script_use_streams(&w->script);
  }
}

static void open_shard(iw_world *w, bool knows_shards, bool streams,
                       uint32_t index, uint32_t count) {
  begin(w, knows_shards, streams);
  kin_informer_options options = options_of(w, index, count);
  assert_int_equal(iw_open(w, &options), 0);
  mini_serve(&w->server);
}

static int set_shard(iw_world *w, uint32_t index, uint32_t count) {
  return kin_informer_set_shard(w->informer, index, count);
}

static bool is_own(const iw_world *w, int object, uint32_t index,
                   uint32_t count) {
  const kin__shard shard = {index, count};
  char uid[32];
  snprintf(uid, sizeof uid, "uid-%d-%d", object,
           w->server.incarnations[object]);
  return w->server.versions[object] != 0 &&
         kin__shard_has(&shard, kin__cstr(uid));
}

/* The store has the shard's objects as they are on the server, and no other. */
static size_t assert_shard(const iw_world *w, uint32_t index, uint32_t count) {
  const kin_store *store = kin_informer_store(w->informer);
  size_t own = 0;
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    char version[32];
    snprintf(key, sizeof key, "%s/p%d", i % 2 == 0 ? "even" : "odd", i);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)w->server.versions[i]);
    const kin_object *object = kin_store_get_key(store, key);
    if (is_own(w, i, index, count)) {
      assert_non_null(object);
      assert_true(kin__str_equal(kin_object_resource_version(object),
                                 kin__cstr(version)));
      own++;
    } else {
      assert_null(object);
    }
  }
  assert_int_equal(kin_store_count(store), own);
  recorder_assert_folds_to(&w->rec, store);
  return own;
}

static void forget_log(iw_world *w) {
  w->rec.log[0] = '\0';
  w->rec.used = 0;
}

static int lines_with(const iw_world *w, const char *part) {
  int count = 0;
  for (const char *at = w->rec.log; (at = strstr(at, part)) != NULL; at++) {
    count++;
  }
  return count;
}

/* A server that ignores the selector sends all. */
static void test_by_client(void **state) {
  (void)state;
  for (int streams = 0; streams < 2; streams++) {
    iw_world w;
    open_shard(&w, false, streams != 0, 2, 4);
    assert_non_null(strstr(w.script.last_target,
                           "shardSelector=shardRange%28object.metadata.uid%2C"
                           "%20%270x8000000000000000%27%2C%20%27"
                           "0xc000000000000000%27%29"));
    size_t own = assert_shard(&w, 2, 4);
    assert_in_range(own, 1, OBJECTS - 1);
    kin_status status = iw_status(&w, "");
    assert_int_equal(status.shard_filter, KIN_SHARD_CLIENT);
    assert_int_equal(status.shard_count, 4);
    assert_int_equal(status.other_shards, OBJECTS - own);
    iw_finish(&w);
  }
}

static void test_by_server(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, true, false, 2, 4);
  size_t own = assert_shard(&w, 2, 4);
  assert_in_range(own, 1, OBJECTS - 1);
  assert_int_equal(iw_status(&w, "").shard_filter, KIN_SHARD_SERVER);
  assert_int_equal(iw_status(&w, "").other_shards, 0);
  iw_finish(&w);
}

/* A stream of few objects does not tell; an object of another shard does. */
static void test_by_server_streamed(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, true, true, 2, 4);
  assert_shard(&w, 2, 4);
  assert_int_equal(iw_status(&w, "").shard_filter, KIN_SHARD_UNKNOWN);
  w.server.knows_shards = false;
  for (int i = 0; i < OBJECTS; i++) {
    mini_put(&w.server, i);
  }
  mini_serve(&w.server);
  assert_shard(&w, 2, 4);
  assert_int_equal(iw_status(&w, "").shard_filter, KIN_SHARD_CLIENT);
  iw_finish(&w);
}

/* Events of other shards move the position, so that a watch never resumes from
 * where the server has forgotten. */
static void test_events_of_others(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, false, false, 2, 4);
  forget_log(&w);
  for (int i = 0; i < OBJECTS; i++) {
    if (!is_own(&w, i, 2, 4)) {
      mini_put(&w.server, i);
      mini_recreate(&w.server, i);
    }
  }
  mini_serve(&w.server);
  char version[32];
  snprintf(version, sizeof version, "%llu",
           (unsigned long long)w.server.version);
  assert_string_equal(iw_status(&w, "").resource_version, version);
  assert_shard(&w, 2, 4);
  mini_compact(&w.server);
  mini_end_watches(&w.server);
  mini_pass(&w.server, 10000);
  assert_int_equal(iw_status(&w, "").relists, 0);
  assert_int_equal(w.errors, 0);
  iw_finish(&w);
}

/* The server is restarted without shards, and with them again, and so on. */
static void test_server_changes(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, true, false, 3, 4);
  for (int i = 0; i < 4; i++) {
    bool knows = i % 2 != 0;
    w.server.knows_shards = knows;
    mini_break_watches(&w.server);
    for (int j = 0; j < OBJECTS; j++) {
      mini_put(&w.server, j);
    }
    mini_pass(&w.server, 60000);
    assert_shard(&w, 3, 4);
    if (!knows) {
      assert_int_equal(iw_status(&w, "").shard_filter, KIN_SHARD_CLIENT);
    }
    mini_delete(&w.server, 5 + i);
    mini_delete(&w.server, i);
    mini_compact(&w.server);
    mini_expire_watches(&w.server);
    mini_pass(&w.server, 60000);
    assert_shard(&w, 3, 4);
    assert_int_equal(iw_status(&w, "").shard_filter,
                     knows ? KIN_SHARD_SERVER : KIN_SHARD_CLIENT);
  }
  iw_finish(&w);
}

/* Nothing is told of what stays. */
static void test_set(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    iw_world w;
    open_shard(&w, i % 2 != 0, i / 2 != 0, 2, 4);
    int own = (int)assert_shard(&w, 2, 4);
    forget_log(&w);
    assert_int_equal(set_shard(&w, 2, 4), 0);
    mini_serve(&w.server);
    assert_string_equal(w.rec.log, "");
    assert_int_equal(set_shard(&w, 1, 2), 0);
    mini_serve(&w.server);
    int half = (int)assert_shard(&w, 1, 2);
    assert_in_range(own, 1, half - 1);
    assert_int_equal(lines_with(&w, "add "), half - own);
    assert_int_equal(lines_with(&w, "\n"), half - own + 1);
    assert_int_equal(w.rec.relisted, 1);
    forget_log(&w);
    assert_int_equal(set_shard(&w, 3, 4), 0);
    mini_serve(&w.server);
    assert_shard(&w, 3, 4);
    assert_int_equal(lines_with(&w, " resharded"), own);
    assert_int_equal(lines_with(&w, "\n"), own + 1);
    forget_log(&w);
    assert_int_equal(set_shard(&w, 0, 0), 0);
    mini_serve(&w.server);
    assert_null(strstr(w.script.last_target, "shardSelector"));
    assert_int_equal(assert_shard(&w, 0, 1), OBJECTS);
    assert_int_equal(lines_with(&w, "add "), OBJECTS - (half - own));
    assert_int_equal(iw_status(&w, "").shard_filter, KIN_SHARD_NONE);
    assert_int_equal(w.errors, 0);
    iw_finish(&w);
  }
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  (void)version;
  assert_int_equal(code, 0);
  ++*(int *)data;
}

static void wait_for_shard(iw_world *w, uint32_t index, int *reached) {
  assert_int_equal(set_shard(w, index, 4), 0);
  assert_int_equal(
      kin_informer_wait_version(w->informer, "", "1", 0, on_version, reached),
      0);
}

/* The server's version is reached when the new shard is there, twice. */
static void test_set_and_wait(void **state) {
  (void)state;
  for (int streams = 0; streams < 2; streams++) {
    iw_world w;
    open_shard(&w, true, streams != 0, 2, 4);
    for (uint32_t i = 0; i < 2; i++) {
      int reached = 0;
      wait_for_shard(&w, i, &reached);
      script_run(&w.script);
      assert_int_equal(reached, 0);
      mini_serve(&w.server);
      assert_int_equal(reached, 1);
      assert_shard(&w, i, 4);
    }
    iw_finish(&w);
  }
}

typedef struct applied_shard {
  iw_world *w;
  int reached;
  bool has_new; /* an object that only the new shard has was stored */
} applied_shard;

static void on_new_version(kin_informer *informer, int code,
                           const char *version, void *data) {
  applied_shard *a = data;
  on_version(informer, code, version, &a->reached);
  a->has_new = assert_shard(a->w, 3, 4) > 0;
}

static void on_first_call(recorder *rec, kin_informer *informer) {
  applied_shard *a = rec->data;
  rec->on_call = NULL;
  assert_int_equal(kin_informer_set_shard(informer, 3, 4), 0);
  assert_int_equal(
      kin_informer_wait_version(informer, "", "1", 0, on_new_version, a), 0);
}

/* The shard changes while the list of another one is applied: that list is not
 * the new shard's. */
static void test_set_and_wait_in_apply(void **state) {
  (void)state;
  for (int streams = 0; streams < 2; streams++) {
    iw_world w;
    open_shard(&w, true, streams != 0, 2, 4);
    applied_shard a = {.w = &w};
    w.rec.on_call = on_first_call;
    w.rec.data = &a;
    assert_int_equal(set_shard(&w, 1, 4), 0);
    mini_serve(&w.server);
    assert_int_equal(a.reached, 1);
    assert_true(a.has_new);
    iw_finish(&w);
  }
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  assert_int_not_equal(to, KIN_STATE_RECONNECTING);
}

/* A shard that is set before the first list is a setting like others. */
static void test_set_before_the_start(void **state) {
  (void)state;
  iw_world w;
  begin(&w, true, false);
  kin_informer_options options = options_of(&w, 0, 4);
  options.on_state = on_state;
  iw_open_only(&w, &options);
  assert_int_equal(set_shard(&w, 2, 4), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  assert_int_equal(set_shard(&w, 1, 4), 0); /* and while it is listed */
  mini_serve(&w.server);
  assert_int_equal(w.state, KIN_STATE_LIVE);
  assert_int_equal(w.states, 2);
  iw_finish(&w);
}

/* All shards together are the resource. */
static void test_complete(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 3, 4, 5, 16, 100};
  iw_world w;
  open_shard(&w, true, false, 0, 1);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    size_t all = 0;
    for (uint32_t j = 0; j < counts[i]; j++) {
      assert_int_equal(set_shard(&w, j, counts[i]), 0);
      mini_serve(&w.server);
      all += assert_shard(&w, j, counts[i]);
      forget_log(&w);
    }
    assert_int_equal(all, OBJECTS);
  }
  iw_finish(&w);
}

/* An object that is gone is told as gone, not as one of another shard. */
static void test_reasons(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, true, false, 1, 2);
  int half = (int)assert_shard(&w, 1, 2);
  forget_log(&w);
  script_request *watch = script_expect(&w.script, "watch=true");
  watch->is_paused = true;
  mini_delete(&w.server, 5); /* in shard 3 of 4 */
  assert_int_equal(set_shard(&w, 3, 4), 0);
  mini_serve(&w.server);
  assert_non_null(strstr(w.rec.log, "delete odd/p5 "));
  assert_int_equal(lines_with(&w, " relist\n"), 1);
  assert_int_equal(lines_with(&w, " resharded\n"),
                   half - 1 - (int)assert_shard(&w, 3, 4));
  iw_finish(&w);
}

/* In each state that a run comes through: after k answers the shard changes,
 * twice. */
static void change_after(int k, bool streams, bool pages) {
  iw_world w;
  begin(&w, k % 2 == 0, streams);
  w.server.honours_limit = pages;
  kin_informer_options options = options_of(&w, 1, 2);
  options.page_size = pages ? 5 : 0;
  assert_int_equal(iw_open(&w, &options), 0);
  for (int i = 0; i < 200; i++) {
    if (i == k) {
      assert_int_equal(set_shard(&w, 2, 4), 0);
    }
    if (i == k + 3) {
      assert_int_equal(set_shard(&w, 3, 4), 0);
    }
    if (i == 12) {
      mini_put(&w.server, 4);
      mini_put(&w.server, 9);
      mini_break_watches(&w.server);
    }
    if (i == 20) {
      mini_put(&w.server, 9);
      mini_compact(&w.server);
      mini_expire_watches(&w.server);
    }
    script_advance(&w.script, i % 4 == 3 ? 400 : 0);
    if (i % 2 == 1) {
      mini_serve(&w.server);
    }
  }
  mini_pass(&w.server, 60000);
  assert_shard(&w, 3, 4);
  assert_int_equal(w.rec.synced, 1);
  iw_finish(&w);
}

static void test_set_at_any_time(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    for (int k = 0; k < 60; k++) {
      change_after(k, way % 2 != 0, way / 2 != 0);
    }
  }
}

/* In the middle of an apply, of a streamed list and of a paged one. */
static void on_call_in_turn(recorder *rec, kin_informer *informer) {
  int *left = rec->data;
  if (--*left == 0) {
    assert_int_equal(kin_informer_set_shard(informer, 3, 4), 0);
  }
}

static bool set_in_callback(int k, bool streams) {
  iw_world w;
  int left = k;
  begin(&w, true, streams);
  w.rec.on_call = on_call_in_turn;
  w.rec.data = &left;
  kin_informer_options options = options_of(&w, 1, 2);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  assert_shard(&w, left > 0 ? 1 : 3, left > 0 ? 2 : 4);
  iw_finish(&w);
  return left <= 0;
}

static void test_set_in_callback(void **state) {
  (void)state;
  int k = 1;
  while (set_in_callback(k, false) && set_in_callback(k, true)) {
    k++;
  }
  assert_in_range(k, 10, OBJECTS + 2); /* one for each object, and synced */
}

static void test_close_in_callback(void **state) {
  (void)state;
  for (unsigned id = 0; id < 40; id++) {
    iw_world w;
    open_shard(&w, id % 2 == 0, id % 4 < 2, 1, 2);
    assert_int_equal(set_shard(&w, 2, 4), 0);
    for (unsigned i = 0; i < id / 4; i++) {
      script_run_deferred(&w.script);
    }
    iw_close(&w);
    iw_finish(&w);
  }
}

/* Split at every byte: what is dropped ends where it ends. */
static void test_split(void **state) {
  (void)state;
  for (size_t split = 1; split < 400; split++) {
    iw_world w;
    begin(&w, false, split % 2 == 0);
    w.script.split = split;
    w.server.padding[1] = 900;
    kin_informer_options options = options_of(&w, 2, 4);
    options.max_object_bytes = split % 3 == 0 ? 300 : 0;
    assert_int_equal(iw_open(&w, &options), 0);
    mini_put(&w.server, 1);
    mini_delete(&w.server, 2);
    mini_recreate(&w.server, 7);
    mini_serve(&w.server);
    assert_shard(&w, 2, 4);
    iw_finish(&w);
  }
}

static bool run_without_memory(size_t fail_at) {
  iw_world w;
  iw_init(&w, fail_at);
  mini_put_first(&w.server, OBJECTS);
  kin_informer_options options = options_of(&w, 2, 4);
  bool is_open = iw_open(&w, &options) == 0;
  if (is_open) {
    mini_pass(&w.server, 5000);
    assert_int_equal(set_shard(&w, 3, 4), 0);
    mini_pass(&w.server, 60000);
    assert_shard(&w, 3, 4);
  }
  bool has_failed = atomic_load(&w.memory.calls) >= fail_at;
  iw_finish(&w);
  return has_failed;
}

static void test_without_memory(void **state) {
  (void)state;
  for (size_t n = 1; run_without_memory(n); n++) {
  }
}

/* Each namespace is listed again. */
static void test_namespaces(void **state) {
  (void)state;
  iw_world w;
  begin(&w, true, false);
  kin_informer_options options = iw_even_and_odd(&w);
  options.shard_index = 2;
  options.shard_count = 4;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  assert_shard(&w, 2, 4);
  iw_drop_odd(&w);
  assert_int_equal(set_shard(&w, 3, 4), 0);
  iw_add_odd(&w);
  mini_pass(&w.server, 1000);
  assert_shard(&w, 3, 4);
  assert_int_equal(iw_status(&w, "even").lists, 2);
  assert_int_equal(iw_status(&w, "odd").lists, 1);
  iw_finish(&w);
}

/* Of the hand's objects "u-KEY". */
static void test_own_source(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  hand_source source;
  hand_source_init(&source, &w.script);
  const kin__shard shard = {0, 2};
  kin_informer_options options = options_of(&w, 0, 2);
  options.source = &source.lister_watcher;
  options.no_watch_list = true;
  assert_int_equal(iw_open(&w, &options), 0);
  hand_source_list(&source, "n/a@1 n/b@2 n/c@3 n/d@4", "4");
  hand_source_event(&source, KIN_WATCH_MODIFIED, "n/a@5");
  hand_source_event(&source, KIN_WATCH_MODIFIED, "n/b@6");
  hand_source_event(&source, KIN_WATCH_DELETED, "n/c@7");
  hand_source_event(&source, KIN_WATCH_DELETED, "n/d@8");
  assert_string_equal(iw_status(&w, "").resource_version, "8");
  static const char *const keys[] = {"n/a", "n/b"};
  size_t own = 0;
  for (size_t i = 0; i < 2; i++) {
    char uid[16];
    snprintf(uid, sizeof uid, "u-%s", keys[i]);
    bool has = kin__shard_has(&shard, kin__cstr(uid));
    own += has;
    assert_int_equal(
        kin_store_get_key(kin_informer_store(w.informer), keys[i]) != NULL,
        has);
  }
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), own);
  iw_finish(&w);
}

/* WL-09: objects of other shards are progress of a stream, from a source that
 * does not count its bytes, too. */
static void test_own_stream(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  script_use_streams(&w.script);
  hand_source source;
  hand_source_init(&source, &w.script);
  source.lister_watcher.watch_list = true;
  const kin__shard shard = {0, 2};
  kin_informer_options options = options_of(&w, 0, 2);
  options.source = &source.lister_watcher;
  assert_int_equal(iw_open(&w, &options), 0);
  for (unsigned i = 0, sent = 0; sent < 5; i++) {
    char object[16];
    char uid[16];
    snprintf(object, sizeof object, "n/%u@1", i);
    snprintf(uid, sizeof uid, "u-n/%u", i);
    if (!kin__shard_has(&shard, kin__cstr(uid))) {
      hand_source_event(&source, KIN_WATCH_ADDED, object);
      script_advance(&w.script, 4000);
      sent++;
    }
  }
  hand_source_expect(&source, "I:>");
  iw_finish(&w);
}

static int open_code(iw_world *w, uint32_t index, uint32_t count,
                     const char *parameter) {
  kin_informer_options options = options_of(w, index, count);
  const kin_parameter parameters[] = {{parameter, "x"}};
  options.parameters = parameters;
  options.parameter_count = parameter != NULL;
  kin_informer *informer = NULL;
  int err = kin__informer_open(&informer, &w->script.env, &options);
  if (err == 0) {
    assert_int_equal(kin_informer_set_shard(informer, 0, 2),
                     parameter != NULL &&
                             strcmp(parameter, "shardSelector") == 0
                         ? KIN_EINVAL
                         : 0);
    assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
    assert_int_equal(kin_informer_set_shard(informer, 0, 2), KIN_ECLOSED);
    script_run(&w->script);
  } else {
    assert_null(informer);
  }
  return err;
}

static void test_refused(void **state) {
  (void)state;
  iw_world w;
  open_shard(&w, true, false, 2, 4);
  assert_int_equal(set_shard(&w, 4, 4), KIN_EINVAL);
  assert_int_equal(set_shard(&w, 1, 0), KIN_EINVAL);
  assert_int_equal(set_shard(&w, 0, 4097), KIN_EINVAL);
  mini_serve(&w.server);
  assert_shard(&w, 2, 4);
  assert_int_equal(iw_status(&w, "").lists, 1);
  assert_int_equal(open_code(&w, 0, 4097, NULL), KIN_EINVAL);
  assert_int_equal(open_code(&w, 2, 2, NULL), KIN_EINVAL);
  assert_int_equal(open_code(&w, 1, 0, NULL), KIN_EINVAL);
  assert_int_equal(open_code(&w, 4095, 4096, NULL), 0);
  assert_int_equal(open_code(&w, 1, 2, "shardSelector"), KIN_EINVAL);
  assert_int_equal(open_code(&w, 0, 1, "shardSelector"), 0);
  assert_int_equal(open_code(&w, 1, 2, "other"), 0);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_client),
      cmocka_unit_test(test_by_server),
      cmocka_unit_test(test_by_server_streamed),
      cmocka_unit_test(test_events_of_others),
      cmocka_unit_test(test_server_changes),
      cmocka_unit_test(test_set),
      cmocka_unit_test(test_set_and_wait),
      cmocka_unit_test(test_set_and_wait_in_apply),
      cmocka_unit_test(test_set_before_the_start),
      cmocka_unit_test(test_complete),
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_set_at_any_time),
      cmocka_unit_test(test_set_in_callback),
      cmocka_unit_test(test_close_in_callback),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_namespaces),
      cmocka_unit_test(test_own_source),
      cmocka_unit_test(test_own_stream),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
