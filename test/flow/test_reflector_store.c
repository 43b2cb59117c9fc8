/* SPDX-License-Identifier: MIT */

/* The public reflector, into stores, queues and functions of the program's. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cache/public_reflector.h"
#include "support/queue_rig.h"
#include "support/reflector_rig.h"
#include "support/store_rig.h"
#include "support/targets.h"

static void assert_version(const reflector_rig *f, const char *version) {
  assert_string_equal(kin_reflector_last_sync_version(f->reflector), version);
}

static void pass(reflector_rig *f, uint64_t ms) {
  script_advance(&f->vh.script, ms);
}

/* --- What is passed on ---------------------------------------------------- */

/* client-go TestReflectorListAndWatch, TestReflectorWatchHandler; RF-07, RF-13,
 * RW-10, RW-11, LW-01, NR-03, NR-10: a list becomes the content of a store, and
 * events change it; the version is that of the list once the store has it, and
 * then moves with each event and bookmark. */
static void test_into_a_store(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  f.store = store_target(store);
  assert_int_equal(reflector_rig_open(&f), 0);
  assert_version(&f, "");
  assert_false(kin_reflector_has_synced(f.reflector));
  hand_source_item(&f.source, "ns/a@1");
  hand_source_item(&f.source, "ns/b@2");
  assert_int_equal(kin_store_count(store), 0);
  hand_source_list_end(&f.source, "5", "");
  assert_true(kin_reflector_has_synced(f.reflector));
  assert_version(&f, "5");
  assert_store_version(store, "5");
  assert_int_equal(kin_store_count(store), 2);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "ns/c@6");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "ns/a@7");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "ns/b@8");
  assert_version(&f, "8");
  assert_store_version(store, "8");
  assert_int_equal(kin_store_count(store), 2);
  assert_null(kin_store_get_key(store, "ns/b"));
  assert_true(kin__str_equal(
      kin_object_resource_version(kin_store_get_key(store, "ns/a")),
      kin__cstr("7")));
  hand_source_bookmark(&f.source, "9");
  assert_version(&f, "9");
  assert_store_version(store, "9");
  hand_source_expect(&f.source, "L:0/500 W:5");
  hand_source_fail(&f.source, 410, "Expired", true);
  pass(&f, 2000);
  hand_source_list(&f.source, "ns/c@6", "10");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  script_run(&f.vh.script);
  assert_int_equal(kin_store_count(store), 1);
  assert_string_equal(f.states, "syncing live reconnecting live ");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.lists, 2);
  assert_int_equal(status.events, 3);
  reflector_rig_finish(&f);
  kin_store_free(store);
}

/* DF-04, DF-06, FF-03, QF-06: what the program puts into the queue while a list
 * is on its way, tombstones among it, counts as queued before the list; what it
 * puts in afterwards, between two events, keeps its place. */
static void test_queue_that_the_program_writes_to(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *known;
    const char *popped;
  } cases[] = {
      {RIG_FIFO, NULL, "R:a@1 | R:b@2 | A:mine@8"},
      {RIG_DELTA, "old@1 gone@1",
       "A:mine@7 X:mine@7 A:mine@8 | X:gone@- | A:a@9 S:a@1 | "
       "A:b@1 D:b@1 S:b@2 D:b@6 | X:old@1"},
      {RIG_IN_ORDER, NULL,
       "A:mine@7 | X:gone@- | A:a@9 | X:b@1 | R*(a@1,b@2)#5 | A:mine@8 | "
       "D:b@6"},
      {RIG_IN_ORDER, "old@1 gone@1",
       "A:mine@7 | X:gone@- | A:a@9 | A:b@1 | D:b@1 | X:mine@7 | X:old@1 | "
       "R:a@1 | R:b@2 | A:mine@8 | D:b@6"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig q;
    queue_rig_open_simple(&q, cases[i].kind, cases[i].known);
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.store = queue_target(q.queue);
    assert_int_equal(reflector_rig_open(&f), 0);
    queue_rig_do(&q, "A:mine@7");
    hand_source_item(&f.source, "a@1");
    queue_rig_do(&q, "X:gone@- A:a@9");
    hand_source_item(&f.source, "b@2");
    queue_rig_do(&q, cases[i].known != NULL ? "A:b@1 D:b@1" : "X:b@1");
    hand_source_list_end(&f.source, "5", "");
    queue_rig_do(&q, "A:mine@8");
    if (cases[i].kind != RIG_FIFO) {
      hand_source_event(&f.source, KIN_WATCH_DELETED, "b@6");
    }
    queue_rig_drain(&q, cases[i].popped);
    assert_int_equal(f.errors, 0);
    reflector_rig_finish(&f);
    queue_rig_close(&q);
  }
}

/* NR-03: each kind of queue, with its own notion of a list. */
static void test_into_queues(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *known;
    const char *first;
    const char *second;
  } cases[] = {
      {RIG_FIFO, NULL, NULL, "R:a@1 | A:c@6"}, /* not popped in between */
      {RIG_DELTA, "old@1", "S:a@1 | S:b@2 | X:old@1", "A:c@6 | U:b@7 D:b@8"},
      {RIG_IN_ORDER, NULL, "R*(a@1,b@2)#5", "A:c@6 | U:b@7 | D:b@8"},
      {RIG_IN_ORDER, "old@1", "X:old@1 | R:a@1 | R:b@2",
       "A:c@6 | U:b@7 | D:b@8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig q;
    queue_rig_open_simple(&q, cases[i].kind, cases[i].known);
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.store = queue_target(q.queue);
    assert_int_equal(reflector_rig_open(&f), 0);
    hand_source_list(&f.source, "a@1 b@2", "5");
    if (cases[i].first != NULL) {
      queue_rig_drain(&q, cases[i].first);
      assert_true(kin_queue_has_synced(q.queue));
      if (cases[i].known != NULL) {
        queue_rig_know(&q, "a@1 b@2");
      }
    } else {
      assert_int_equal(kin_queue_count(q.queue), 2);
    }
    hand_source_event(&f.source, KIN_WATCH_ADDED, "c@6");
    hand_source_event(&f.source, KIN_WATCH_MODIFIED, "b@7");
    hand_source_event(&f.source, KIN_WATCH_DELETED, "b@8");
    hand_source_bookmark(&f.source, "9");
    queue_rig_drain(&q, cases[i].second);
    assert_version(&f, "9");
    assert_int_equal(f.errors, 0);
    reflector_rig_finish(&f);
    queue_rig_close(&q);
  }
}

/* client-go TestReflectorRespectStoreTransformer; RF-16, DF-10, DF-15, NR-03:
 * what is listed and what is watched goes through the transform of the store or
 * queue, each object once. */
static void test_into_a_transforming_queue(void **state) {
  (void)state;
  queue_rig q;
  queue_rig_init(&q);
  queue_rig_transform(&q);
  queue_rig_open(&q, RIG_DELTA);
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.store = queue_target(q.queue);
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1 b@2", "5");
  queue_rig_drain(&q, "S:a@1' | S:b@2'");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "c@6");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "c@7");
  queue_rig_drain(&q, "A:c@6' U:c@7'");
  assert_int_equal(q.transforms, 4);
  reflector_rig_finish(&f);
  queue_rig_close(&q);
}

/* Nobody pops for an hour, and then each resync is processed. */
static void test_resyncs_do_not_pile_up(void **state) {
  (void)state;
  queue_rig q;
  queue_rig_open_simple(&q, RIG_IN_ORDER, NULL);
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.store = queue_target(q.queue);
  f.options.resync_ms = 1000;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1", "5");
  pass(&f, 3600000);
  queue_rig_drain(&q, "R*(a@1)#5 | S*");
  for (int i = 0; i < 3; i++) {
    pass(&f, 1000);
    queue_rig_drain(&q, "S*");
  }
  f.source.log[0] = 0;
  reflector_rig_finish(&f);
  queue_rig_close(&q);
}

/* client-go TestReflectorResourceVersionUpdate; RF-16, RW-09, RW-11, TD-03: a
 * store that wants it is told the version after each event and bookmark; one
 * that does not care leaves the functions out. */
static void test_version_updates(void **state) {
  (void)state;
  for (int has_them = 1; has_them >= 0; has_them--) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    if (!has_them) {
      f.store.update_version = NULL;
      f.store.bookmark = NULL;
      f.store.resync = NULL;
      f.store.is_full = NULL;
    }
    reflector_rig_open_watching(&f);
    hand_source_event(&f.source, KIN_WATCH_ADDED, "b@10");
    hand_source_event(&f.source, KIN_WATCH_MODIFIED, "b@20");
    hand_source_event(&f.source, KIN_WATCH_DELETED, "b@30");
    hand_source_bookmark(&f.source, "40");
    reflector_rig_expect(&f, has_them ? "+b@10 V10 ~b@20 V20 -b@30 V30 B40 V40"
                                      : "+b@10 ~b@20 -b@30");
    assert_version(&f, "40");
    reflector_rig_finish(&f);
  }
}

/* RW-09: after a list without a version the initial ADDED events do not
 * count. */
static void test_unordered_versions(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "", "0");
  hand_source_expect(&f.source, "L:0/500 W:0");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@10");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@7");
  assert_version(&f, "0");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@11");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "c@12");
  reflector_rig_expect(&f, "R()#0 +b@10 +a@7 ~a@11 V11 +c@12 V12");
  reflector_rig_finish(&f);
}

/* --- Full stores ---------------------------------------------------------- */

/* RW-14, QF-16: a store that is full pauses the source until it is told that
 * there is room, and there is. */
static void test_full_store(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  f.is_full = true;
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_expect(&f.source, "p");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "c@7"); /* was under way */
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, ""); /* it is still full */
  f.is_full = false;
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  reflector_rig_expect(&f, "+b@6 V6 +c@7 V7");
  f.is_full = true;
  hand_source_event(&f.source, KIN_WATCH_ADDED, "d@8");
  hand_source_watch_end(&f.source); /* ends while it is paused */
  f.is_full = false;
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  pass(&f, 2000);
  hand_source_expect(&f.source, "p W:8");
  reflector_rig_finish(&f);
}

/* A watch that ends does not let more in: the next one is not read either. */
static void test_stays_full(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.is_full = true;
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_expect(&f.source, "p");
  for (int i = 0; i < 2; i++) {
    pass(&f, 2000);
    hand_source_watch_end(&f.source);
    hand_source_expect(&f.source, i == 0 ? "W:6" : "W:7");
    assert_int_equal(kin_feed_open(f.source.feed), 0);
    hand_source_expect(&f.source, "p");
    hand_source_event(&f.source, KIN_WATCH_ADDED, "c@7"); /* was under way */
  }
  f.is_full = false;
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  reflector_rig_finish(&f);
}

/* QF-16: a list waits for room, too. */
static void test_list_waits_for_room(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.is_full = true;
  hand_source_fail(&f.source, 410, "Expired", false);
  pass(&f, 60000);
  hand_source_list(&f.source, "a@8 b@9", "9");
  for (int i = 0; i < 2; i++) {
    pass(&f, 60000);
    reflector_rig_expect(&f, "");
    assert_int_equal(kin_reflector_resume(f.reflector), 0); /* still full */
  }
  f.is_full = false;
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  reflector_rig_expect(&f, "R(a@8,b@9)#9");
  assert_version(&f, "9");
  f.source.log[0] = '\0';
  reflector_rig_finish(&f);
}

static int pop_one(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  (void)item;
  (void)data;
  return 0;
}

static void test_full_queue(void **state) {
  (void)state;
  queue_rig q;
  queue_rig_init(&q);
  q.options.pending_limit = 2;
  queue_rig_open(&q, RIG_IN_ORDER);
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.store = queue_target(q.queue);
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1", "5");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_expect(&f.source, "L:0/500 W:5 p");
  assert_int_equal(kin_queue_pop(q.queue, pop_one, NULL), 0);
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  reflector_rig_finish(&f);
  queue_rig_close(&q);
}

/* --- Versions that are gone ----------------------------------------------- */

/* client-go TestReflectorExpiredExactResourceVersion,
 * TestReflectorFullListIfTooLarge, TestReflectorResyncWithResourceVersion;
 * RF-13, RF-14, RF-15, RL-04, RL-05, RE-07: a list at the last version that has
 * expired is made anew at once without one, and the version counts as
 * unavailable until a list is there. */
static void test_unavailable_versions(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    const char *message;
  } cases[] = {{410, "Expired", "too old resource version: 5 (9)"},
               {410, "Gone", ""},
               {504, "Timeout", "Too large resource version: 5, current: 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    reflector_rig_open_watching(&f);
    hand_source_fail(&f.source, 410, "Expired", true);
    assert_false(kin_reflector_is_last_sync_version_unavailable(f.reflector));
    pass(&f, 3000);
    hand_source_expect(&f.source, "L:5>");
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.status = cases[i].status;
    error.reason = cases[i].reason;
    error.message = cases[i].message;
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, false), 0);
    assert_true(kin_reflector_is_last_sync_version_unavailable(f.reflector));
    assert_version(&f, "5");
    hand_source_expect(&f.source, "L:");
    hand_source_list(&f.source, "a@1", "2");
    if (cases[i].status == 410) {
      /* Older than the position, which nobody had said: made again, this time
       * without taking the same uid and version for the same object. */
      hand_source_expect(&f.source, "L:");
      hand_source_list(&f.source, "a@1", "2");
    }
    assert_false(kin_reflector_is_last_sync_version_unavailable(f.reflector));
    assert_version(&f, "2");
    reflector_rig_finish(&f);
  }
}

/* --- Options -------------------------------------------------------------- */

/* RF-01, RF-02, RF-17: a name for the
 * log, and what the resource is called. */
static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *group;
    const char *version;
    const char *plural;
    const char *name;
    const char *expected_name;
    const char *description;
  } cases[] = {
      {NULL, NULL, "pods", NULL, "pods.v1", "pods.v1"},
      {"", "v1", "pods", "", "pods.v1", "pods.v1"},
      {"apps", "v1", "deployments", "mine", "mine", "deployments.v1.apps"},
      {"mygroup.io", "v1beta1", "crons", NULL, "crons.v1beta1.mygroup.io",
       "crons.v1beta1.mygroup.io"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.resource.group = cases[i].group;
    f.resource.version = cases[i].version;
    f.resource.plural = cases[i].plural;
    f.options.name = cases[i].name;
    assert_int_equal(reflector_rig_open(&f), 0);
    assert_string_equal(kin_reflector_name(f.reflector),
                        cases[i].expected_name);
    assert_string_equal(kin_reflector_description(f.reflector),
                        cases[i].description);
    reflector_rig_finish(&f);
  }
}

static int try_open(reflector_rig *f, const kin_reflector_options *options) {
  int err = kin__public_reflector_open(&f->reflector, &f->vh.host, options);
  assert_null(f->reflector);
  return err;
}

static int keep_nothing(const kin_object *in, kin_object_builder *out,
                        void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_keep(out, NULL, 0);
}

static void test_bad_options(void **state) {
  (void)state;
  static const char *const two[] = {"a", "b"};
  reflector_rig f;
  reflector_rig_init(&f, 0);
  kin_reflector_options options = f.options;
  assert_int_equal(try_open(&f, NULL), KIN_EINVAL);
  options.resource = NULL;
  assert_int_equal(try_open(&f, &options), KIN_EINVAL);
  options = f.options;
  options.store = NULL;
  assert_int_equal(try_open(&f, &options), KIN_EINVAL);
  options.store = &f.store;
  options.size = 3;
  assert_int_equal(try_open(&f, &options), KIN_EINVAL);
  char name[300];
  memset(name, 'n', sizeof name);
  name[256] = '\0';
  f.options.name = name;
  assert_int_equal(try_open(&f, &f.options), KIN_ETOOBIG);
  f.options.name = NULL;
  f.resource.namespaces = two;
  f.resource.namespace_count = 2;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.namespace_count = 0;
  f.resource.plural = "Pods";
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.plural = "pods";
  f.resource.transform = keep_nothing; /* the store's own is meant */
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.transform = NULL;
  f.resource.drop_labels = true;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.drop_labels = false;
  f.resource.skip_unchanged = true;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.skip_unchanged = false;
  f.resource.clear_when_absent = true;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.resource.clear_when_absent = false;
  kin_reflector_store complete = f.store;
  f.store.add = NULL;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.store = complete;
  f.store.replace = NULL;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  f.store = complete;
  f.store.size = 8;
  assert_int_equal(try_open(&f, &f.options), KIN_EINVAL);
  vh_close(&f.vh);
  f.store = complete;
  assert_int_equal(try_open(&f, &f.options), KIN_ECLOSED);
  reflector_rig_finish(&f);
}

/* The resource of the options is asked for over HTTP if there is no source. */
static void test_over_http(void **state) {
  (void)state;
  static const char *const one[] = {"even"};
  reflector_rig f;
  reflector_rig_init(&f, 0);
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  f.store = store_target(store);
  f.resource.source = NULL;
  f.resource.namespaces = one;
  f.resource.namespace_count = 1;
  f.resource.label_selector = "app=web";
  mini_put_first(&f.vh.server, 6);
  assert_int_equal(reflector_rig_open(&f), 0);
  assert_string_equal(f.vh.script.last_target,
                      "/api/v1/namespaces/even/pods?labelSelector=app%3Dweb&"
                      "limit=500&resourceVersion=0");
  for (size_t split = 0; split < 90; split += 7) {
    f.vh.script.split = split;
    mini_put(&f.vh.server, 2);
    mini_recreate(&f.vh.server, 4);
    mini_pass(&f.vh.server, 1500);
    mini_end_watches(&f.vh.server);
    mini_compact(&f.vh.server);
    mini_delete(&f.vh.server, 0);
    mini_pass(&f.vh.server, 20000);
    assert_int_equal(kin_store_count(store), mini_count(&f.vh.server, "even"));
    mini_put(&f.vh.server, 0);
  }
  assert_int_equal(kin_reflector_close(f.reflector, reflector_rig_on_close, &f),
                   0);
  script_run(&f.vh.script);
  assert_int_equal(f.closed, 11);
  kin_store_free(store); /* the objects are of the host's memory */
  reflector_rig_finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_into_a_store),
      cmocka_unit_test(test_into_queues),
      cmocka_unit_test(test_queue_that_the_program_writes_to),
      cmocka_unit_test(test_into_a_transforming_queue),
      cmocka_unit_test(test_resyncs_do_not_pile_up),
      cmocka_unit_test(test_version_updates),
      cmocka_unit_test(test_unordered_versions),
      cmocka_unit_test(test_full_store),
      cmocka_unit_test(test_list_waits_for_room),
      cmocka_unit_test(test_stays_full),
      cmocka_unit_test(test_full_queue),
      cmocka_unit_test(test_unavailable_versions),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_over_http),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
