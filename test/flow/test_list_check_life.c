/* SPDX-License-Identifier: MIT */

/* The check of lists that come as watches, with much else going on: later
 * lists, changes, scopes that go, an informer that is closed, no memory,
 * thousands of objects, a source of the program's own. Proves WL-12. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"
#include "informer/scope.h"
#include "informer/scopes.h"
#include "support/check_world.h"
#include "support/hand_source.h"

/* --- What else happens meanwhile ------------------------------------------ */

static void lose_position(check_world *c) {
  script_expire(&c->w.script, "sendInitialEvents");
  for (int i = 0; script_find(&c->w.script, "watch=true") == NULL; i++) {
    assert_true(i < 100);
    script_advance(&c->w.script, 100);
  }
}

/* Where it fails on a state the one before is kept; that is no difference. */
static void test_consistency_of_kept_states(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  c.options.transform = ck_keep_text;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
  ck_answer(&c, 200, CK_LIST(CK_A "," CK_B));
  lose_position(&c);
  ck_stream(&c,
            CK_ADDED(CK_OBJECT("a", "u1", "13")) CK_ADDED(CK_B) CK_END("14"));
  assert_int_equal(kin_store_count(kin_informer_store(c.w.informer)), 2);
  assert_int_equal(ck_status(&c).transform_failures, 1);
  ck_answer(&c, 200,
            CK_LIST_AT("14", CK_OBJECT("a", "u1", "13") "," CK_B "," CK_OBJECT(
                                 "a", "u1", "13")));
  ck_expect_counts(&c, 2, 0);
  iw_finish(&c.w);
}

/* A list that comes as a watch while another one is being checked, or waits to
 * be, is checked in its place. */
static void test_consistency_of_the_newest(void **state) {
  (void)state;
  for (int how = 0; how < 5; how++) {
    check_world c;
    ck_open(&c);
    script_env *script = &c.w.script;
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    if (how == 1) {
      script_head(script, "Exact", 200);
      script_body(script, "Exact", CK_LIST(CK_A), 60);
    } else if (how == 2) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    } else if (how == 3) {
      ck_answer(&c, 200, CK_LIST(CK_A "," CK_B));
    }
    lose_position(&c);
    if (how == 4) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    }
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_C) CK_END("11"));
    if (how == 4) {
      script_advance(script, 2000); /* when it would have tried again */
    }
    script_expect(script, "resourceVersion=11&resourceVersionMatch=Exact");
    ck_answer(&c, 200, CK_LIST_AT("11", CK_C "," CK_A));
    ck_expect_counts(&c, how == 3 ? 2 : 1, 0);
    script_advance(script, 5000);
    assert_false(ck_is_asked(&c));
    ck_expect_counts(&c, how == 3 ? 2 : 1, 0);
    iw_finish(&c.w);
  }
}

/* Changes that come while it lists are none of its business. */
static void test_consistency_beside_changes(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
  static const char more[] = "{\"type\":\"DELETED\",\"object\":" CK_OBJECT(
      "a", "u1", "10") "}\n" CK_ADDED(CK_C);
  script_body(&c.w.script, "sendInitialEvents", more, sizeof more - 1);
  assert_int_equal(kin_store_count(kin_informer_store(c.w.informer)), 2);
  ck_answer(&c, 200, CK_LIST(CK_A));
  /* b is told, a is gone. */
  assert_non_null(strstr(c.told, "1 of 2 cached"));
  assert_non_null(strstr(c.told, "cached so: ns/b"));
  iw_finish(&c.w);
}

/* --- Writes of the program ------------------------------------------------ */

typedef enum own_write { WRITES_NONE, WRITES_PUT, WRITES_DELETE } own_write;

static own_write now_written;

/* Writes over the object "a" that it is given. */
static void write_over(kin_informer *informer, const kin_event *event,
                       void *data) {
  (void)data;
  static const char newer[] = CK_OBJECT("a", "u1", "20");
  kin_store *store = kin_informer_store(informer);
  kin_str key = kin_object_key(event->object);
  if (!kin__str_equal(key, KIN__LIT("ns/a"))) {
    return;
  }
  if (now_written == WRITES_PUT) {
    kin_object *object;
    assert_int_equal(kin_object_parse(&object, NULL, newer, strlen(newer)), 0);
    assert_int_equal(kin_store_put(store, object), 0);
    kin_object_unref(object);
  } else if (now_written == WRITES_DELETE) {
    assert_int_equal(kin_store_delete(store, key), 0);
  }
}

/* A handler that is told of the list writes before the check has looked at the
 * cache. Nothing is compared then. A later list without writes is compared. */
static void test_consistency_after_own_writes(void **state) {
  (void)state;
  for (own_write first = WRITES_PUT; first <= WRITES_DELETE; first++) {
    check_world c;
    ck_open(&c);
    kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
    options.on_add = write_over;
    options.on_update = write_over;
    assert_int_equal(kin_informer_listen(c.w.informer, &options, NULL), 0);
    now_written = first;
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    assert_false(ck_is_asked(&c));
    assert_non_null(strstr(c.said, "the program has written to the store"));
    lose_position(&c);
    now_written = first == WRITES_PUT ? WRITES_DELETE : WRITES_PUT;
    ck_stream(&c,
              CK_ADDED(CK_OBJECT("a", "u1", "10")) CK_ADDED(CK_B) CK_END("11"));
    assert_false(ck_is_asked(&c));
    lose_position(&c);
    now_written = WRITES_NONE;
    ck_stream(&c,
              CK_ADDED(CK_OBJECT("a", "u1", "12")) CK_ADDED(CK_B) CK_END("13"));
    ck_answer(&c, 200, CK_LIST_AT("13", CK_B "," CK_OBJECT("a", "u1", "12")));
    ck_expect_counts(&c, 1, 0);
    iw_finish(&c.w);
  }
}

/* --- Scopes and shards ---------------------------------------------------- */

/* Two scopes are two checks. */
static void test_consistency_of_scopes(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  const char *const namespaces[] = {"even", "odd"};
  c.options.namespaces = namespaces;
  c.options.namespace_count = 2;
  mini_put_first(&c.w.server, 6);
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  mini_serve(&c.w.server);
  ck_expect_counts(&c, 2, 0);
  assert_int_equal(c.w.server.lists, 2);
  iw_assert_truth(&c.w);
  iw_finish(&c.w);
}

/* A namespace is removed in each state of its check. */
static void test_consistency_of_a_scope_that_goes(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    check_world c;
    ck_init(&c, 0);
    const char *const namespaces[] = {"ns"};
    c.options.namespaces = namespaces;
    c.options.namespace_count = 1;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    if (how == 1) {
      script_head(&c.w.script, "Exact", 200);
      script_body(&c.w.script, "Exact", CK_LIST(CK_A), 110);
    } else if (how == 2) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    }
    assert_int_equal(kin_informer_remove_namespace(c.w.informer, "ns"), 0);
    script_run(&c.w.script);
    assert_int_equal(script_open_requests(&c.w.script), 0);
    assert_int_equal(kin_store_count(kin_informer_store(c.w.informer)), 0);
    script_advance(&c.w.script, 5000);
    assert_int_equal(c.times_told, 0);
    iw_finish(&c.w);
  }
}

#define OTHER CK_OBJECT("d", "uid-4", "8") /* of the second of two shards */

static void rest_of_list(check_world *c, const char *rest) {
  if (ck_is_asked(c)) {
    script_body(&c->w.script, "Exact", rest, strlen(rest));
    script_end(&c->w.script, "Exact");
  }
}

/* Another shard is another list, so a change of the shard ends the check: while
 * the same is listed, before it is tried again, and if its answer is not read;
 * also if the shard is soon the first one again. */
static void test_consistency_of_another_shard(void **state) {
  (void)state;
  static const char list[] = CK_LIST(CK_A "," OTHER);
  for (int how = 0; how < 4; how++) {
    check_world c;
    ck_init(&c, 0);
    c.options.shard_count = 2;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(OTHER) CK_END("9"));
    kin_store *store = kin_informer_store(c.w.informer);
    assert_non_null(kin_store_get(store, KIN__LIT("ns/a")));
    if (how == 1) {
      script_head(&c.w.script, "Exact", 200);
      script_body(&c.w.script, "Exact", list, 60);
    } else if (how >= 2) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    }
    assert_int_equal(kin_informer_set_shard(c.w.informer, 1, 2), 0);
    script_advance(&c.w.script, 2000);
    if (how == 3) {
      assert_int_equal(kin_informer_set_shard(c.w.informer, 0, 2), 0);
      script_run(&c.w.script);
      rest_of_list(&c, CK_LIST(OTHER));
      assert_int_equal(kin_informer_set_shard(c.w.informer, 1, 2), 0);
    }
    assert_false(ck_is_asked(&c));
    ck_expect_counts(&c, 0, 0);
    assert_non_null(strstr(c.said, "cannot be checked: its shard has changed"));
    /* The next one is compared. */
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(OTHER) CK_END("9"));
    ck_answer(&c, 200, list);
    ck_expect_counts(&c, 1, 0);
    assert_null(kin_store_get(store, KIN__LIT("ns/a")));
    assert_int_equal(kin_store_count(store), 1);
    iw_finish(&c.w);
  }
}

/* Wherever the list is, also in an item whose bytes are dropped because the
 * first shard does not have it. */
static void test_consistency_resharded_anywhere(void **state) {
  (void)state;
  static const char list[] = CK_LIST(OTHER "," CK_A);
  for (size_t at = 0; at < sizeof list; at++) {
    check_world c;
    ck_init(&c, 0);
    c.options.shard_count = 2;
    c.options.transform = ck_keep_text;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
    script_head(&c.w.script, "Exact", 200);
    script_body(&c.w.script, "Exact", list, at);
    assert_int_equal(kin_informer_set_shard(c.w.informer, 1, 2), 0);
    rest_of_list(&c, list + at);
    ck_expect_counts(&c, 0, 0);
    iw_finish(&c.w);
  }
}

static void try_at_once(kin_informer *informer, kin_error_event *event,
                        void *data) {
  (void)informer;
  (void)data;
  event->answer = KIN_RETRY_AFTER;
}

static void give(check_world *c, int status, const char *body) {
  script_request *request = script_expect(&c->w.script, "/pods");
  const kin__response_head head = {
      .status = status, .retry_after_s = -1, .is_identity = true};
  request->callbacks->on_head(request->ctx, &head);
  request->callbacks->on_body(request->ctx, body, strlen(body));
}

/* A list that is complete before the shard changes, but applied after, is the
 * first shard's: it is not compared with the second one's. */
static void test_consistency_of_an_outdated_list(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  c.options.shard_count = 2;
  c.options.clear_when_absent = true;
  c.options.on_error = try_at_once;
  script_env *script = &c.w.script;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
  ck_answer(&c, 200, CK_LIST(CK_A));
  script_advance(script, 1500);
  static const char absent[] =
      "{\"type\":\"ERROR\",\"object\":" CK_STATUS("404", "NotFound") "}\n";
  script_request *watch = script_expect(script, "sendInitialEvents");
  watch->callbacks->on_body(watch->ctx, absent, sizeof absent - 1);
  for (int i = 0; script_open_requests(script) == 0; i++) {
    assert_true(i < 100);
    (void)kin__sched_run(&script->sched, 0);
    (void)kin__timers_run(&script->timers, script->now_ns / 1000000, 1);
  }
  give(&c, 200, CK_ADDED(CK_A) CK_END("11"));
  const kin__scope *scope = kin__scopes_find(&c.w.informer->scopes, "");
  assert_true(scope->apply.has_list);
  assert_int_equal(kin_informer_set_shard(c.w.informer, 1, 2), 0);
  script_run(script);
  assert_false(ck_is_asked(&c));
  ck_expect_counts(&c, 1, 0);
  iw_finish(&c.w);
}

static void stop_at_once(kin_informer *informer, kin_error_event *event,
                         void *data) {
  check_world *c = data;
  (void)informer;
  c->others_told++;
  event->answer = KIN_STOP;
}

/* A check of an informer that the program has stopped asks for nothing more:
 * while it lists, and while it waits for its next try. */
static void test_consistency_after_a_stop(void **state) {
  (void)state;
  static const char forbidden[] =
      "{\"type\":\"ERROR\",\"object\":" CK_STATUS("403", "Forbidden") "}\n";
  for (int how = 0; how < 2; how++) {
    check_world c;
    ck_init(&c, 0);
    c.options.on_error = stop_at_once;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
    if (how == 1) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    }
    script_body(&c.w.script, "sendInitialEvents", forbidden,
                sizeof forbidden - 1);
    assert_int_equal(c.others_told, 1);
    for (int i = 0; i < 5; i++) {
      assert_int_equal(script_open_requests(&c.w.script), 0);
      script_advance(&c.w.script, 1000);
    }
    assert_int_equal(c.others_told, 1);
    iw_finish(&c.w);
  }
}

/* The informer is closed wherever it is. */
static void test_consistency_closed_anywhere(void **state) {
  (void)state;
  static const char body[] = CK_LIST(CK_A "," CK_C);
  for (size_t at = 0; at < sizeof body + 1; at++) {
    check_world c;
    ck_open(&c);
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    if (at == sizeof body) {
      ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
    } else if (at > 0) {
      script_head(&c.w.script, "Exact", 200);
      script_body(&c.w.script, "Exact", body, at - 1);
    }
    iw_finish(&c.w);
  }
}

static void close_and_stop(kin_informer *informer, kin_error_event *event,
                           void *data) {
  check_world *c = data;
  assert_int_equal(event->code, KIN_EINCONSISTENT);
  assert_int_equal(kin_informer_close(informer, iw_on_closed, &c->w), 0);
  event->answer = KIN_STOP;
}

static void test_consistency_closed_when_told(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  c.options.on_error = close_and_stop;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
  ck_answer(&c, 200, CK_LIST(CK_B));
  assert_int_equal(c.w.closed, 1);
  iw_finish(&c.w);
}

/* --- Memory and time ------------------------------------------------------ */

/* Whichever allocation fails, the informer ends with the truth; a check is made
 * or not, and finds nothing. */
static void test_consistency_without_memory(void **state) {
  (void)state;
  bool has_failed = true;
  unsigned unchecked = 0;
  for (size_t n = 1; has_failed; n++) {
    check_world c;
    ck_init(&c, n);
    mini_put_first(&c.w.server, 9);
    c.options.transform = ck_keep_text;
    int err = iw_open(&c.w, &c.options);
    if (err == 0) {
      mini_pass(&c.w.server, 3000);
      mini_put(&c.w.server, 3);
      mini_pass(&c.w.server, 3000);
      iw_assert_truth(&c.w);
      kin_informer_metrics metrics = iw_metrics(&c.w);
      unchecked += metrics.checked_lists == 0;
      assert_int_equal(metrics.inconsistent_lists, 0);
      assert_int_equal(c.times_told, 0);
    }
    has_failed = fail_alloc_has_failed(&c.w.memory);
    iw_finish(&c.w);
  }
  assert_in_range(unchecked, 3, 60);
}

typedef struct other_task {
  kin__task task;
  const check_world *c;
  unsigned steps; /* until it has synced */
} other_task;

static bool other_step(kin__task *task) {
  other_task *other = KIN__CONTAINER_OF(task, other_task, task);
  other->steps++;
  return !kin_informer_has_synced(other->c->w.informer);
}

#define MANY 5000

static void make_many(char *frames, char *list, size_t size) {
  size_t used = 0;
  size_t listed = (size_t)snprintf(list, size,
                                   "{\"metadata\":{\"resourceVersion\":\"9\"},"
                                   "\"items\":[");
  for (int i = 0; i < MANY; i++) {
    char object[128];
    snprintf(object, sizeof object,
             "{\"metadata\":{\"name\":\"p%d\",\"uid\":\"u%d\","
             "\"resourceVersion\":\"%d\"}}",
             i, i, i + 1);
    used += (size_t)snprintf(frames + used, size - used,
                             "{\"type\":\"ADDED\",\"object\":%s}\n", object);
    listed += (size_t)snprintf(list + listed, size - listed, "%s%s",
                               i > 0 ? "," : "", object);
  }
  snprintf(list + listed, size - listed, "]}");
}

/* Thousands of objects are gathered in slices, between which others come. */
static void test_consistency_in_steps(void **state) {
  (void)state;
  static char frames[1 << 20];
  static char list[1 << 20];
  make_many(frames, list, sizeof frames);
  unsigned steps[2];
  for (int is_on = 0; is_on < 2; is_on++) {
    check_world c;
    ck_init(&c, 0);
    c.w.script.env.check_watch_lists = is_on != 0;
    assert_int_equal(
        kin__informer_open(&c.w.informer, &c.w.script.env, &c.options), 0);
    assert_int_equal(kin_informer_start(c.w.informer), 0);
    ck_stream(&c, frames);
    other_task other = {.c = &c};
    kin__task_init(&other.task, other_step);
    kin__sched_add(&c.w.script.sched, &other.task);
    script_body(&c.w.script, "sendInitialEvents", CK_END("9"),
                sizeof CK_END("9") - 1);
    steps[is_on] = other.steps;
    if (is_on != 0) {
      ck_answer(&c, 200, list);
    }
    ck_expect_counts(&c, (unsigned)is_on, 0);
    iw_finish(&c.w);
  }
  assert_in_range(steps[1] - steps[0], MANY / 256, MANY / 256 + 10);
}

/* --- Sources of the program's own ----------------------------------------- */

typedef struct twin_source {
  hand_source watch;
  hand_source list;
  kin_lister_watcher both;
} twin_source;

static int twin_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                     void **out) {
  twin_source *twin = ctx;
  hand_source *one = request->is_watch ? &twin->watch : &twin->list;
  return one->lister_watcher.open(one, request, feed, out);
}

static void twin_cancel(void *ctx, void *answer_) {
  (void)ctx;
  hand_source *one = answer_;
  one->lister_watcher.cancel(one, one);
}

static void twin_ignore(void *ctx, void *answer_) {
  (void)ctx;
  (void)answer_;
}

static void test_consistency_of_an_own_source(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  twin_source twin;
  hand_source_init(&twin.watch, &c.w.script);
  hand_source_init(&twin.list, &c.w.script);
  twin.both = (kin_lister_watcher){.size = sizeof twin.both,
                                   .open = twin_open,
                                   .cancel = twin_cancel,
                                   .pause = twin_ignore,
                                   .resume = twin_ignore,
                                   .watch_list = true,
                                   .ctx = &twin};
  c.options.source = &twin.both;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  hand_source_event(&twin.watch, KIN_WATCH_ADDED, "a@1");
  hand_source_event(&twin.watch, KIN_WATCH_ADDED, "b@2");
  assert_int_equal(kin_feed_bookmark(twin.watch.feed, kin__cstr("7"), true), 0);
  script_run(&c.w.script);
  hand_source_expect(&twin.list, "L:7=");
  hand_source_list(&twin.list, "b@2 a@3", "7");
  assert_non_null(strstr(c.told, "1 of 2 cached"));
  assert_non_null(strstr(c.told, ": a, a"));
  ck_expect_counts(&c, 1, 1);
  iw_finish(&c.w);
}

/* The informer's or a namespace's end, from inside the open of the list that it
 * is checked with; what was stored of the namespace still goes (SI-11). */
static check_world *ending;

static void close_informer(hand_source *source) {
  source->inside_open = NULL;
  assert_int_equal(
      kin_informer_close(ending->w.informer, iw_on_closed, &ending->w), 0);
}

static void remove_namespace(hand_source *source) {
  source->inside_open = NULL;
  assert_int_equal(kin_informer_remove_namespace(ending->w.informer, "ns"), 0);
}

static void test_consistency_ended_by_its_source(void **state) {
  (void)state;
  for (int is_removal = 0; is_removal < 2; is_removal++) {
    check_world c;
    ck_init(&c, 0);
    ending = &c;
    twin_source twin;
    hand_source_init(&twin.watch, &c.w.script);
    hand_source_init(&twin.list, &c.w.script);
    twin.list.inside_open = is_removal ? remove_namespace : close_informer;
    twin.both = (kin_lister_watcher){.size = sizeof twin.both,
                                     .open = twin_open,
                                     .cancel = twin_cancel,
                                     .pause = twin_ignore,
                                     .resume = twin_ignore,
                                     .watch_list = true,
                                     .ctx = &twin};
    c.options.source = &twin.both;
    const char *name = "ns";
    c.options.namespaces = &name;
    c.options.namespace_count = 1;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    hand_source_event(&twin.watch, KIN_WATCH_ADDED, "a@1");
    hand_source_event(&twin.watch, KIN_WATCH_ADDED, "b@2");
    (void)kin_feed_bookmark(twin.watch.feed, kin__cstr("7"), true);
    script_run(&c.w.script);
    if (is_removal) {
      assert_int_equal(c.w.rec.deletes, c.w.rec.adds);
      assert_int_equal(kin_store_count(kin_informer_store(c.w.informer)), 0);
      assert_true(kin_informer_has_synced(c.w.informer));
    }
    iw_finish(&c.w);
  }
}

static void close_in_cancel(hand_source *source) {
  source->inside_cancel = NULL;
  close_informer(source);
}

/* The same from inside the end of that list, because the shard has changed. */
static void test_consistency_closed_by_its_source(void **state) {
  (void)state;
  check_world c;
  ck_init(&c, 0);
  ending = &c;
  twin_source twin;
  hand_source_init(&twin.watch, &c.w.script);
  hand_source_init(&twin.list, &c.w.script);
  twin.list.inside_cancel = close_in_cancel;
  twin.both = (kin_lister_watcher){.size = sizeof twin.both,
                                   .open = twin_open,
                                   .cancel = twin_cancel,
                                   .pause = twin_ignore,
                                   .resume = twin_ignore,
                                   .watch_list = true,
                                   .ctx = &twin};
  c.options.source = &twin.both;
  c.options.shard_count = 2;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  hand_source_event(&twin.watch, KIN_WATCH_ADDED, "a@1");
  (void)kin_feed_bookmark(twin.watch.feed, kin__cstr("7"), true);
  script_run(&c.w.script);
  hand_source_expect(&twin.list, "L:7=");
  assert_int_equal(kin_informer_set_shard(c.w.informer, 1, 2), 0);
  script_run(&c.w.script);
  assert_int_equal(c.w.closed, 1);
  iw_finish(&c.w);
}

static kin_memory_decision
drop_bodies(kin_informer *informer, const kin_memory_event *event, void *data) {
  (void)informer;
  (void)event;
  (void)data;
  return KIN_MEMORY_DROP_BODIES;
}

#define FAT(name, uid, version, padding)                                       \
  "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid   \
  "\",\"resourceVersion\":\"" version "\"},\"x\":\"%" padding "s\"}"

/* WL-12: an object that has lost its body since the list came is compared by its
 * uid and version, for its text is gone. */
static void test_consistency_of_dropped_bodies(void **state) {
  (void)state;
  for (int is_other = 0; is_other < 2; is_other++) {
    static char text[20000];
    check_world c;
    ck_init(&c, 0);
    c.options.transform = ck_keep_text;
    c.options.max_bytes = 8000;
    c.options.on_max_bytes = drop_bodies;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    int length = snprintf(text, sizeof text,
                          CK_ADDED(FAT("a", "u1", "5", "2000"))
                              CK_ADDED(FAT("b", "u2", "6", "2000")) CK_END("9")
                                  CK_ADDED(FAT("c", "u3", "10", "9000")),
                          "", "", "");
    assert_true(length > 0 && (size_t)length < sizeof text);
    ck_stream(&c, text);
    assert_int_equal(ck_status(&c).memory_state, KIN_MEMORY_STATE_KEYS_ONLY);
    assert_true(ck_is_asked(&c));
    length = snprintf(
        text, sizeof text,
        CK_LIST(FAT("a", "u1", "5", "2000") "," FAT("b", "u2", "%s", "2000")),
        "", is_other ? "7" : "6", "");
    assert_true(length > 0 && (size_t)length < sizeof text);
    ck_answer(&c, 200, text);
    ck_expect_counts(&c, 1, (unsigned)is_other);
    iw_finish(&c.w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_consistency_of_kept_states),
      cmocka_unit_test(test_consistency_of_the_newest),
      cmocka_unit_test(test_consistency_beside_changes),
      cmocka_unit_test(test_consistency_after_own_writes),
      cmocka_unit_test(test_consistency_of_scopes),
      cmocka_unit_test(test_consistency_of_a_scope_that_goes),
      cmocka_unit_test(test_consistency_of_another_shard),
      cmocka_unit_test(test_consistency_resharded_anywhere),
      cmocka_unit_test(test_consistency_of_an_outdated_list),
      cmocka_unit_test(test_consistency_after_a_stop),
      cmocka_unit_test(test_consistency_closed_anywhere),
      cmocka_unit_test(test_consistency_closed_when_told),
      cmocka_unit_test(test_consistency_without_memory),
      cmocka_unit_test(test_consistency_in_steps),
      cmocka_unit_test(test_consistency_of_an_own_source),
      cmocka_unit_test(test_consistency_ended_by_its_source),
      cmocka_unit_test(test_consistency_closed_by_its_source),
      cmocka_unit_test(test_consistency_of_dropped_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
