/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/metrics.h>

#include "base/sched.h"
#include "base/str.h"
#include "support/informer_world.h"
#include "support/objects.h"
#include "support/source_rig.h"

/* A program that writes into an informer's store in the middle of a list: while
 * pages arrive, and between any two steps in which the list is applied. A write is
 * told to listeners as any change is. It costs no object that it does not name,
 * and the next list puts everything right (DF-06, SI-13). */

static kin_store *store_of(const source_rig *f) {
  return kin_informer_store(f->informer);
}

static void put(const source_rig *f, const char *text) {
  kin_object *object = hand_source_object(text);
  assert_int_equal(kin_store_put(store_of(f), object), 0);
  kin_object_unref(object);
}

static void assert_stored(const source_rig *f, const char *key,
                          const char *version) {
  const kin_object *object = kin_store_get_key(store_of(f), key);
  if (version == NULL) {
    assert_null(object);
    return;
  }
  assert_non_null(object);
  assert_true(
      kin__str_equal(kin_object_resource_version(object), kin__cstr(version)));
}

/* The position has expired, so that a list is asked for. */
static void lose_the_position(source_rig *f) {
  hand_source_fail(&f->source, 410, "Expired", true);
  script_advance(&f->vh.script, 40000);
  assert_true(f->source.is_open && !f->source.is_watch);
  event_log_clear(&f->log);
}

/* RL-09, DF-06: an object that was taken for unchanged when its page came, and
 * is deleted then, is added by the list; what was put meanwhile is overwritten
 * if it is listed, and swept if not. */
static void test_writes_between_pages(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 2);
  hand_source_list(&f.source, "a@1 b@2 c@3 d@4", "5");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  for (int round = 0; round < 2; round++) {
    const char *version = round == 0 ? "6" : "7";
    lose_the_position(&f);
    hand_source_item(&f.source, "a@1");
    hand_source_item(&f.source, "b@2");
    hand_source_list_end(&f.source, version, "more");
    assert_int_equal(kin_store_delete(store_of(&f), KIN__LIT("a")), 0);
    put(&f, "b@99");
    put(&f, "c@98");
    put(&f, "mine@1");
    hand_source_item(&f.source, "c@3");
    assert_stored(&f, "a", NULL);
    assert_stored(&f, "b", "99");
    hand_source_list_end(&f.source, version, NULL);
    event_log_expect(&f.log,
                     round == 0
                         ? "-a1:program ~b2>99 ~c3>98 +mine1 +a1 ~b99>2 ~c98>3 "
                           "-mine1:relist -d4:relist R:@6#3"
                         : "-a1:program ~b2>99 ~c3>98 +mine1 +a1 ~b99>2 ~c98>3 "
                           "-mine1:relist R:@7#3");
    assert_stored(&f, "a", "1");
    assert_stored(&f, "b", "2");
    assert_stored(&f, "c", "3");
    assert_int_equal(kin_store_count(store_of(&f)), 3);
    assert_int_equal(kin_feed_open(f.source.feed), 0);
  }
  assert_int_equal(f.errors, 2);
  source_rig_close(&f);
}

/* --- Between two steps ---------------------------------------------------- */

enum { CACHED = 150, LISTED = 200 };

/* p0 to p149 are cached at version 1. The list has p50 to p199, of which every
 * third is at version 2. */
static unsigned version_of(unsigned number) {
  return number % 3 == 0 ? 2 : 1;
}

static void feed_list(source_rig *f, unsigned from, unsigned to, bool is_later,
                      const char *version) {
  for (unsigned i = from; i < to; i++) {
    char text[32];
    snprintf(text, sizeof text, "p%u@%u", i, is_later ? version_of(i) : 1);
    kin_object *object = hand_source_object(text);
    assert_int_equal(kin_feed_item(f->source.feed, object), 0);
    kin_object_unref(object);
  }
  f->source.is_open = false;
  assert_int_equal(kin_feed_list_end(f->source.feed, version, NULL), 0);
}

typedef enum write_kind {
  DELETE_LISTED,
  DELETE_UNLISTED,
  PUT_LISTED,
  PUT_UNLISTED,
  PUT_AGAIN,
  PUT_FOREIGN,
  DELETE_ALL,
  WRITE_KINDS
} write_kind;

static void delete_all(const source_rig *f) {
  for (unsigned i = 0; i < LISTED; i++) {
    char key[16];
    snprintf(key, sizeof key, "p%u", i);
    kin_store_op op = {KIN_STORE_DELETE, NULL, kin__cstr(key), 1};
    assert_int_equal(kin_store_transact(store_of(f), &op, 1, NULL), 0);
  }
}

/* Returns the number of the one object that is written, or LISTED if it is none
 * of the list's or all. */
static unsigned write_one(const source_rig *f, write_kind kind) {
  const kin_object *object;
  switch (kind) {
  case DELETE_LISTED:
    (void)kin_store_delete(store_of(f), KIN__LIT("p120"));
    return 120;
  case DELETE_UNLISTED:
    (void)kin_store_delete(store_of(f), KIN__LIT("p7"));
    return 7;
  case PUT_LISTED:
    put(f, "p121@77");
    return 121;
  case PUT_UNLISTED:
    put(f, "p8@77");
    return 8;
  case PUT_AGAIN: /* its very self, or what it was */
    object = kin_store_get_key(store_of(f), "p60");
    assert_non_null(object);
    assert_int_equal(kin_store_put(store_of(f), object), 0);
    return 60;
  case PUT_FOREIGN:
    put(f, "mine@1");
    return LISTED;
  case DELETE_ALL:
    delete_all(f);
    return LISTED;
  case WRITE_KINDS:
    break;
  }
  fail();
  return 0;
}

/* All that is listed is there, but for `written`, as the list has it. */
static void assert_listed(const source_rig *f, unsigned written) {
  for (unsigned i = 0; i < LISTED; i++) {
    char key[16];
    char version[16];
    snprintf(key, sizeof key, "p%u", i);
    snprintf(version, sizeof version, "%u", version_of(i));
    if (i != written) {
      assert_stored(f, key, i < LISTED - CACHED ? NULL : version);
    }
  }
}

/* Writes after so many steps of a list. Returns false if it had been applied
 * before. */
static bool write_after(unsigned steps, write_kind kind) {
  source_rig f;
  source_rig_open(&f, KIN_NEVER);
  feed_list(&f, 0, CACHED, false, "5");
  script_run(&f.vh.script);
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  lose_the_position(&f);
  feed_list(&f, LISTED - CACHED, LISTED, true, "6");
  bool has_work = true;
  for (unsigned i = 0; i < steps && has_work; i++) {
    has_work = kin__sched_has_work(&f.vh.script.sched);
    (void)kin__sched_run(&f.vh.script.sched, 0);
  }
  unsigned written = write_one(&f, kind);
  script_run(&f.vh.script);
  if (kind != DELETE_ALL) {
    assert_listed(&f, written);
  }
  for (int i = 0; i < 2; i++) { /* the second list has nothing to mend */
    assert_int_equal(kin_feed_open(f.source.feed), 0);
    lose_the_position(&f);
    feed_list(&f, LISTED - CACHED, LISTED, true, i == 0 ? "7" : "8");
    script_run(&f.vh.script);
    assert_listed(&f, LISTED);
    assert_int_equal(kin_store_count(store_of(&f)), CACHED);
  }
  event_log_expect(&f.log, "R:@8#150"); /* CACHED, by what was told */
  source_rig_close(&f);
  return has_work;
}

/* DF-06, SI-13: whatever is written and whenever: while objects are pushed into
 * the queue, while they wait there, between two slots of the sweep, while a
 * tombstone waits. */
static void test_writes_between_steps(void **state) {
  (void)state;
  for (int kind = 0; kind < WRITE_KINDS; kind++) {
    unsigned steps = 0;
    while (write_after(steps, (write_kind)kind)) {
      steps++;
    }
    assert_true(steps > 8);
  }
}

/* --- What is told --------------------------------------------------------- */

/* SI-13: writes of the program are told as any change is, and the events of the
 * same writes are not told again. So the count of what a listener was shown is
 * right, also of one that joins in between. */
static void test_own_writes_are_told(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  event_log_clear(&f.log);
  put(&f, "mine@6");
  assert_string_equal(f.log.text, ""); /* never inside the call */
  event_log late = {0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = event_log_cb;
  options.on_relisted = event_log_cb;
  options.data = &late;
  assert_int_equal(kin_informer_listen(f.informer, &options, NULL), 0);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "mine@6");
  event_log_expect(&f.log, "+mine6");
  event_log_expect(&late, "+a1! +mine6!");
  put(&f, "mine@7");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "mine@7");
  put(&f, "mine@7"); /* the same state again */
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "mine@8");
  event_log_expect(&f.log, "~mine6>7 ~mine7>8");
  assert_int_equal(kin_store_delete(store_of(&f), KIN__LIT("mine")), 0);
  hand_source_event(&f.source, KIN_WATCH_DELETED, "mine@9");
  event_log_expect(&f.log, "-mine8:program");
  put(&f, "next@10");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "next@10");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "next@11");
  event_log_expect(&f.log, "+next10 -next11:watch");
  event_log_clear(&late);
  lose_the_position(&f);
  hand_source_list(&f.source, "a@1", "12");
  event_log_expect(&f.log, "R:@12#1");
  event_log_expect(&late, "R:@12#1");
  source_rig_close(&f);
}

/* SI-13: the same for each function that writes, and another uid is a delete and
 * an add. */
static void test_each_own_write_is_told(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  kin_object *mine = hand_source_object("mine@6");
  kin_object *next = hand_source_object("a@7");
  kin_object *other = object_format(
      NULL, "{'metadata':{'name':'a','uid':'u2','resourceVersion':'8'}}");
  kin_store_op ops[] = {
      {.type = KIN_STORE_PUT, .object = mine},
      {.type = KIN_STORE_PUT, .object = next},
      {.type = KIN_STORE_PUT, .object = NULL},
      {.type = KIN_STORE_DELETE, .key = KIN__LIT("mine")},
      {.type = KIN_STORE_DELETE, .key = KIN__LIT("mine")}, /* is absent */
      {.type = KIN_STORE_PUT, .object = other},
  };
  size_t failed = 0;
  size_t count = sizeof ops / sizeof ops[0];
  assert_int_equal(kin_store_transact(store_of(&f), ops, count, &failed),
                   KIN_EINVAL);
  assert_int_equal(failed, 1);
  script_run(&f.vh.script);
  event_log_expect(&f.log, "+mine6 ~a1>7 -mine6:program -a7:recreated +a8");
  assert_int_equal(kin_store_delete_object(store_of(&f), next), 0);
  assert_int_equal(kin_store_delete_object(store_of(&f), mine), 0);
  script_run(&f.vh.script);
  event_log_expect(&f.log, "-a8:program");
  kin_object_unref(mine);
  kin_object_unref(next);
  kin_object_unref(other);
  source_rig_close(&f);
}

/* SI-13: before the start, too: what is listed is an update of what was put, and
 * the rest is taken away. */
static void test_own_writes_before_the_start(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 1);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  static const char *const texts[] = {"odd/p1@7", "odd/mine@8"};
  for (int i = 0; i < 2; i++) {
    kin_object *object = hand_source_object(texts[i]);
    assert_int_equal(kin_store_put(kin_informer_store(w.informer), object), 0);
    kin_object_unref(object);
    if (i == 0) { /* one is replayed, one is told */
      assert_int_equal(recorder_listen(&w.rec, w.informer), 0);
    }
  }
  script_run(&w.script);
  assert_int_equal(w.rec.adds, 2);
  assert_int_equal(w.rec.synced, 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  assert_int_equal(w.rec.count, 1);
  assert_int_equal(w.rec.synced, 1);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static bool is_shown(const kin_object *object, void *data) {
  (void)data;
  kin_str value;
  return kin_object_label(object, "shown", &value);
}

/* SI-13: what the program puts under the uid and version that are stored is no
 * update; but it is an add or a delete for a filter. */
static void test_own_writes_and_filters(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  event_log_clear(&f.log);
  event_log filtered = {0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = event_log_cb;
  options.filter = is_shown;
  options.data = &filtered;
  assert_int_equal(kin_informer_listen(f.informer, &options, NULL), 0);
  script_run(&f.vh.script);
  kin_object *plain = kin_object_ref(kin_store_get_key(store_of(&f), "a"));
  kin_str uid = kin_object_uid(plain);
  for (int i = 0; i < 2; i++) {
    kin_object *shown =
        object_format(NULL,
                      "{'metadata':{'name':'a','uid':'" KIN_STR_FORMAT
                      "','resourceVersion':'1','labels':{'shown':'%d'}}}",
                      KIN_STR_ARG(uid), i);
    assert_int_equal(kin_store_put(store_of(&f), shown), 0);
    kin_object_unref(shown);
  }
  script_run(&f.vh.script);
  event_log_expect(&filtered, "+a1");
  assert_int_equal(kin_store_put(store_of(&f), plain), 0);
  script_run(&f.vh.script);
  event_log_expect(&filtered, "-a1:filtered");
  event_log_expect(&f.log, "");
  kin_object_unref(plain);
  source_rig_close(&f);
}

enum { MANY_LISTENERS = 1500 };

static void count_event(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  ++*(int *)data;
}

/* SI-13: so many listeners are told in steps; each hears of each write. */
static void test_own_writes_with_many_listeners(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  int calls = 0;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_update = count_event;
  options.data = &calls;
  for (int i = 0; i < MANY_LISTENERS; i++) {
    assert_int_equal(kin_informer_listen(f.informer, &options, NULL), 0);
  }
  put(&f, "a@2");
  put(&f, "a@3");
  script_run(&f.vh.script);
  assert_int_equal(calls, 2 * MANY_LISTENERS);
  source_rig_close(&f);
}

/* The versions that one of many listeners has heard of. */
typedef struct hearer {
  int version; /* of "a" */
  int relists;
  int version_at_relist;
} hearer;

static int number_of(const kin_object *object) {
  return atoi(kin_object_resource_version(object).data);
}

static void hear_update(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  hearer *h = data;
  assert_int_equal(number_of(event->old_object), h->version);
  h->version = number_of(event->object);
}

static void hear_relist(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  hearer *h = data;
  h->relists++;
  h->version_at_relist = h->version;
}

typedef struct walk_writer {
  source_rig f;
  hearer hearers[MANY_LISTENERS];
  int version; /* put last */
} walk_writer;

/* While a change is in hand, and once more while a relist is. */
static void put_in_walk(void *ctx, bool is_before) {
  walk_writer *w = ctx;
  const kin__dispatcher *dispatcher = &w->f.informer->dispatcher;
  if (is_before || !kin__dispatcher_is_sending(dispatcher)) {
    return;
  }
  int type = dispatcher->walk->in_hand.notifications[0].type;
  if (w->version == 2 ? type == KIN_EVENT_UPDATE : type == KIN_EVENT_RELISTED) {
    char text[16];
    snprintf(text, sizeof text, "a@%d", ++w->version);
    put(&w->f, text);
  }
}

/* SI-13: a write ends the walk that is under way. So each of many listeners
 * hears all changes and a relist in the order of the store. */
static void test_own_writes_between_steps_of_a_walk(void **state) {
  (void)state;
  static walk_writer w;
  w = (walk_writer){.version = 2};
  source_rig_open_watching(&w.f);
  for (int i = 0; i < MANY_LISTENERS; i++) {
    kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
    options.on_update = hear_update;
    options.on_relisted = hear_relist;
    options.data = &w.hearers[i];
    w.hearers[i].version = 1;
    assert_int_equal(kin_informer_listen(w.f.informer, &options, NULL), 0);
  }
  script_run(&w.f.vh.script);
  lose_the_position(&w.f);
  w.f.vh.script.on_step = put_in_walk;
  w.f.vh.script.on_step_ctx = &w;
  hand_source_list(&w.f.source, "a@2", "6");
  w.f.vh.script.on_step = NULL;
  assert_int_equal(w.version, 4);
  for (int i = 0; i < MANY_LISTENERS; i++) {
    assert_int_equal(w.hearers[i].version, 4);
    assert_int_equal(w.hearers[i].relists, 1);
    assert_int_equal(w.hearers[i].version_at_relist, 3);
  }
  source_rig_close(&w.f);
}

/* SI-13: without memory to tell a listener, nothing is written. */
static void test_own_writes_without_memory(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  event_log_clear(&f.log);
  int calls = 0;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_delete = count_event;
  options.data = &calls;
  for (int i = 0; i < MANY_LISTENERS; i++) {
    assert_int_equal(kin_informer_listen(f.informer, &options, NULL), 0);
  }
  fail_alloc *memory = &f.vh.memory;
  int failures = 0;
  int err = KIN_ENOMEM;
  for (size_t nth = 1; err != 0; nth++) {
    memory->fail_at = atomic_load(&memory->calls) + nth;
    err = kin_store_delete(store_of(&f), KIN__LIT("a"));
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      failures++;
      script_run(&f.vh.script);
      assert_stored(&f, "a", "1");
      event_log_expect(&f.log, "");
    }
  }
  memory->fail_at = 0;
  assert_true(failures > 0);
  script_run(&f.vh.script);
  assert_int_equal(calls, MANY_LISTENERS);
  event_log_expect(&f.log, "-a1:program");
  source_rig_close(&f);
}

/* An object that no list has is taken away again. */
static void test_writes_into_an_empty_cache(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  hand_source_list(&f.source, "", "5");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  for (int round = 0; round < 2; round++) {
    put(&f, "mine@1");
    lose_the_position(&f);
    hand_source_list(&f.source, "", round == 0 ? "6" : "7");
    event_log_expect(&f.log, round == 0 ? "-mine1:relist R:@6#0"
                                        : "-mine1:relist R:@7#0");
    assert_int_equal(kin_feed_open(f.source.feed), 0);
  }
  source_rig_close(&f);
}

/* --- Several namespaces --------------------------------------------------- */

typedef struct two_feeds {
  virtual_host vh;
  kin_informer *informer;
  event_log log;
  kin_feed *feeds[2]; /* of "a" and "b" */
  bool is_watch[2];
} two_feeds;

static int open_two(void *ctx, const kin_feed_request *request, kin_feed *feed,
                    void **out) {
  two_feeds *two = ctx;
  int i = request->namespace_[0] - 'a';
  two->feeds[i] = feed;
  two->is_watch[i] = request->is_watch;
  *out = feed;
  return 0;
}

static void cancel_two(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
}

static void two_open(two_feeds *two) {
  memset(two, 0, sizeof *two);
  vh_init(&two->vh, 0);
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = open_two;
  source.cancel = cancel_two;
  source.ctx = two;
  static const char *const names[] = {"a", "b"};
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.namespaces = names;
  options.namespace_count = 2;
  options.source = &source;
  kin__host *host = &two->vh.host;
  assert_int_equal(kin__informer_open_on(&two->informer, host, &options), 0);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_delete = event_log_cb;
  listener.data = &two->log;
  assert_int_equal(kin_informer_listen(two->informer, &listener, NULL), 0);
  assert_int_equal(kin_informer_start(two->informer), 0);
}

static kin_store *two_store(const two_feeds *two) {
  return kin_informer_store(two->informer);
}

static void two_put(const two_feeds *two, const char *text) {
  kin_object *object = hand_source_object(text);
  assert_int_equal(kin_store_put(two_store(two), object), 0);
  kin_object_unref(object);
}

/* A list of that namespace with this object, or with none if NULL. */
static void two_list(two_feeds *two, int of, const char *text,
                     const char *version) {
  assert_false(two->is_watch[of]);
  if (text != NULL) {
    kin_object *object = hand_source_object(text);
    assert_int_equal(kin_feed_item(two->feeds[of], object), 0);
    kin_object_unref(object);
  }
  assert_int_equal(kin_feed_list_end(two->feeds[of], version, NULL), 0);
  script_run(&two->vh.script);
  assert_true(two->is_watch[of]);
}

/* The same after a 410. */
static void two_relist(two_feeds *two, int of, const char *text,
                       const char *version) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = 410;
  error.reason = "Expired";
  assert_int_equal(kin_feed_open(two->feeds[of]), 0);
  assert_int_equal(kin_feed_fail(two->feeds[of], &error, true), 0);
  script_run(&two->vh.script);
  script_advance(&two->vh.script, 60000);
  two_list(two, of, text, version);
}

static void two_remove(two_feeds *two, const char *namespace_) {
  assert_int_equal(kin_informer_remove_namespace(two->informer, namespace_), 0);
  script_run(&two->vh.script);
}

/* SI-16: the event of the program's own write gives the object to the namespace
 * that it is in, so that the removal of another one leaves it. An object without
 * such an event goes with its namespace. */
static void test_own_writes_in_two_namespaces(void **state) {
  (void)state;
  two_feeds two;
  two_open(&two);
  two_put(&two, "a/early@1");
  two_list(&two, 1, NULL, "5");
  kin_object *mine = hand_source_object("b/mine@6");
  assert_int_equal(kin_store_put(two_store(&two), mine), 0);
  assert_int_equal(kin_feed_event(two.feeds[1], KIN_WATCH_ADDED, mine), 0);
  kin_object_unref(mine);
  script_run(&two.vh.script);
  assert_int_equal(kin_store_count(two_store(&two)), 2);
  two_remove(&two, "a");
  assert_non_null(kin_store_get_key(two_store(&two), "b/mine"));
  assert_int_equal(kin_store_count(two_store(&two)), 1);
  vh_finish(&two.vh);
}

/* SI-16: an object that was put early and was deleted on the server before an
 * event told of it: the next list of its namespace takes it away, or the removal
 * of the namespace, also without the namespace that was first. */
static void test_early_write_that_no_event_confirms(void **state) {
  (void)state;
  two_feeds two;
  two_open(&two);
  two_list(&two, 0, NULL, "5");
  two_put(&two, "b/before_all@4");
  two_list(&two, 1, NULL, "5");
  event_log_expect(&two.log, "-before_all4:relist");
  two_remove(&two, "a");
  two_put(&two, "b/ghost@6");
  two_relist(&two, 1, NULL, "8");
  event_log_expect(&two.log, "-ghost6:relist");
  two_put(&two, "b/ghost@9");
  two_put(&two, "c/elsewhere@9"); /* its namespace is not the informer's */
  two_remove(&two, "b");
  assert_int_equal(kin_store_count(two_store(&two)), 0);
  vh_finish(&two.vh);
}

/* The same where the namespace was never listed. */
static void test_early_write_into_an_unlisted_namespace(void **state) {
  (void)state;
  two_feeds two;
  two_open(&two);
  two_list(&two, 0, NULL, "5");
  two_put(&two, "b/ghost@6");
  two_remove(&two, "b");
  event_log_expect(&two.log, "-ghost6:scope_removed");
  assert_int_equal(kin_store_count(two_store(&two)), 0);
  vh_finish(&two.vh);
}

/* SI-16: neither a list of another namespace nor the removal of it takes an
 * early put away. An object in none of the informer's namespaces goes with the
 * first one's list. */
static void test_early_write_outlives_another_namespace(void **state) {
  (void)state;
  two_feeds two;
  two_open(&two);
  two_put(&two, "b/mine@6");
  two_list(&two, 0, "a/x@3", "5");
  two_list(&two, 1, "b/mine@6", "7");
  two_put(&two, "b/next@8");
  two_put(&two, "c/elsewhere@8");
  two_relist(&two, 0, "a/x@3", "9");
  event_log_expect(&two.log, "-elsewhere8:relist");
  two_remove(&two, "a");
  event_log_expect(&two.log, "-x3:scope_removed");
  assert_int_equal(kin_store_count(two_store(&two)), 2);
  two_relist(&two, 1, "b/next@8", "9");
  event_log_expect(&two.log, "-mine6:relist");
  vh_finish(&two.vh);
}

/* --- Counts, and the end -------------------------------------------------- */

/* An update that is not wanted becomes an add behind a delete. */
static void test_coalesced_counts_what_is_merged(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 2);
  hand_source_list(&f.source, "a@1", "5");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  event_log other;
  memset(&other, 0, sizeof other);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_delete = event_log_cb;
  options.data = &other;
  kin_listener *listener;
  assert_int_equal(kin_informer_listen(f.informer, &options, &listener), 0);
  script_run(&f.vh.script);
  kin_listener_pause(listener);
  hand_source_event(&f.source, KIN_WATCH_DELETED, "a@6");
  put(&f, "a@7");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@7");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@8");
  assert_int_equal(kin_listener_pending(listener), 2);
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(f.informer, &metrics), 0);
  assert_int_equal(metrics.coalesced, 0);
  source_rig_close(&f);
}

/* Puts and deletes are refused alike, and nobody is told. */
static void test_writes_into_a_closing_informer(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  event_log_clear(&f.log);
  kin_object *object = hand_source_object("a@2");
  kin_store_op op = {.type = KIN_STORE_PUT, .object = object};
  assert_int_equal(kin_informer_close(f.informer, NULL, NULL), 0);
  assert_int_equal(kin_store_put(store_of(&f), object), KIN_ECLOSED);
  assert_int_equal(kin_store_transact(store_of(&f), &op, 1, NULL), KIN_ECLOSED);
  kin_object_unref(object);
  assert_stored(&f, "a", "1");
  kin_store_op drop = {.type = KIN_STORE_DELETE, .key = KIN__LIT("a")};
  assert_int_equal(kin_store_delete(store_of(&f), KIN__LIT("a")), KIN_ECLOSED);
  assert_int_equal(kin_store_transact(store_of(&f), &drop, 1, NULL),
                   KIN_ECLOSED);
  assert_stored(&f, "a", "1");
  script_run(&f.vh.script);
  event_log_expect(&f.log, "");
  source_rig_close(&f);
}

enum { SWEPT = 3000 };

typedef struct breeder {
  source_rig f;
  unsigned deletes;
} breeder;

/* One of the two objects takes the slot of the deleted one. */
static void breed(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  breeder *b = data;
  b->deletes++;
  for (unsigned i = 0; i < 2 && b->deletes <= 2 * SWEPT; i++) {
    char text[32];
    snprintf(text, sizeof text, "new%u-%u@1", b->deletes, i);
    put(&b->f, text);
  }
}

/* DF-06: a list deletes the objects that the cache had when the sweep began. It
 * ends although each delete makes the handler put two objects. */
static void test_sweep_ends(void **state) {
  (void)state;
  breeder b = {.deletes = 0};
  source_rig *f = &b.f;
  source_rig_open(f, UINT32_MAX);
  kin_listener_close(f->listener); /* the log has no room for so much */
  for (unsigned i = 0; i < SWEPT; i++) {
    char text[32];
    snprintf(text, sizeof text, "p%u@1", i);
    hand_source_item(&f->source, text);
  }
  hand_source_list_end(&f->source, "5", NULL);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_delete = breed;
  options.data = &b;
  assert_int_equal(kin_informer_listen(f->informer, &options, NULL), 0);
  assert_int_equal(kin_feed_open(f->source.feed), 0);
  lose_the_position(f);
  hand_source_list_end(&f->source, "6", NULL);
  script_run(&f->vh.script);
  assert_true(f->source.is_watch);
  assert_int_equal(b.deletes, SWEPT);
  source_rig_close(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writes_between_pages),
      cmocka_unit_test(test_own_writes_are_told),
      cmocka_unit_test(test_each_own_write_is_told),
      cmocka_unit_test(test_own_writes_before_the_start),
      cmocka_unit_test(test_own_writes_and_filters),
      cmocka_unit_test(test_own_writes_with_many_listeners),
      cmocka_unit_test(test_own_writes_between_steps_of_a_walk),
      cmocka_unit_test(test_own_writes_without_memory),
      cmocka_unit_test(test_writes_into_an_empty_cache),
      cmocka_unit_test(test_writes_between_steps),
      cmocka_unit_test(test_own_writes_in_two_namespaces),
      cmocka_unit_test(test_early_write_that_no_event_confirms),
      cmocka_unit_test(test_early_write_into_an_unlisted_namespace),
      cmocka_unit_test(test_early_write_outlives_another_namespace),
      cmocka_unit_test(test_coalesced_counts_what_is_merged),
      cmocka_unit_test(test_writes_into_a_closing_informer),
      cmocka_unit_test(test_sweep_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
