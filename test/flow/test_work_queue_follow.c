/* SPDX-License-Identifier: MIT */

/* Work queues that follow informers: each key that is added, changed or deleted
 * comes to the worker, which looks it up in the store. On a virtual clock, with
 * the source for programs' tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/testing/fake_source.h>

#include "base/str.h"
#include "informer/informer.h"
#include "support/objects.h"
#include "support/virtual_host.h"
#include "workqueue/work_queue.h"

typedef struct world {
  virtual_host vh;
  kin_fake_source *source;
  kin_lister_watcher lister_watcher;
  kin_informer_options informer_options;
  kin_informer *informer;
  kin_work_queue_options options;
  kin_work_queue *queue; /* NULL once it is gone */
  kin_work_follow_options follow;
  char text[8192]; /* "a@3 " worked on at this version, "a- " deleted */
  int calls;
  int key_calls; /* of owner_keys */
  int informer_closed;
  bool is_bad;      /* the worker fails "bad" */
  bool keeps_items; /* the worker never answers */
  bool is_key;      /* keys are no objects' */
} world;

static void may_close(world *w);

static void note(world *w, const kin_work_item *item) {
  size_t length = strlen(w->text);
  const kin_object *object =
      w->informer != NULL && !w->is_key
          ? kin_store_get(kin_informer_store(w->informer), item->key)
          : NULL;
  kin_str version =
      object != NULL ? kin_object_resource_version(object) : kin__cstr("");
  snprintf(w->text + length, sizeof w->text - length,
           KIN_STR_FORMAT "%s" KIN_STR_FORMAT " ", KIN_STR_ARG(item->key),
           w->is_key        ? ""
           : object != NULL ? "@"
                            : "-",
           KIN_STR_ARG(version));
}

static void on_work(kin_work_queue *queue, const kin_work_item *item,
                    void *data) {
  world *w = data;
  (void)queue;
  w->calls++;
  note(w, item);
  bool is_bad = w->is_bad && kin__str_equal(item->key, kin__cstr("bad"));
  if (!w->keeps_items) {
    assert_int_equal(
        kin_work_done(item, is_bad ? KIN_WORK_RETRY : KIN_WORK_SUCCESS), 0);
  }
  may_close(w);
}

static void on_queue_closed(void *data) {
  ((world *)data)->queue = NULL;
}

static void on_informer_closed(void *data) {
  world *w = data;
  w->informer_closed++;
  w->informer = NULL;
}

static void init(world *w, size_t fail_at) {
  *w = (world){.options = KIN_WORK_QUEUE_OPTIONS_INIT,
               .follow = KIN_WORK_FOLLOW_OPTIONS_INIT,
               .informer_options = KIN_INFORMER_OPTIONS_INIT};
  vh_init(&w->vh, fail_at);
  assert_int_equal(kin_fake_source_new(&w->source, NULL), 0);
  w->lister_watcher = kin_fake_source_lister_watcher(w->source);
  w->informer_options.plural = "pods";
  w->informer_options.source = &w->lister_watcher;
  w->informer_options.on_closed = on_informer_closed;
  w->informer_options.data = w;
  w->options.worker = on_work;
  w->options.on_closed = on_queue_closed;
  w->options.data = w;
}

static int try_open(world *w) {
  int err =
      kin__informer_open_on(&w->informer, &w->vh.host, &w->informer_options);
  if (err == 0) {
    err = kin__work_queue_open(&w->queue, &w->vh.host, &w->options);
  }
  if (err == 0) {
    err = kin_work_queue_follow(w->queue, w->informer, &w->follow);
  }
  return err == 0 ? kin_informer_start(w->informer) : err;
}

static void run(world *w) {
  do {
    script_run(&w->vh.script);
  } while (kin_fake_source_run(w->source) > 0);
  script_run(&w->vh.script);
}

static void pass(world *w, uint64_t ms) {
  for (uint64_t passed = 0; passed < ms; passed += 50) {
    run(w);
    script_advance(&w->vh.script, ms - passed < 50 ? ms - passed : 50);
  }
  run(w);
}

static void begin(world *w) {
  assert_int_equal(try_open(w), 0);
  run(w);
}

static void finish(world *w) {
  if (!w->vh.host.members.is_closing) {
    vh_close(&w->vh);
  }
  run(w);
  kin_fake_source_free(w->source);
  vh_finish(&w->vh);
  assert_null(w->queue);
}

static void change(world *w, kin_watch_event_type type, const char *key) {
  kin_object *object = object_keyed(NULL, key, 0);
  assert_int_equal(kin_fake_source_change(w->source, type, object, false), 0);
  kin_object_unref(object);
}

static void add(world *w, const char *key) {
  change(w, KIN_WATCH_ADDED, key);
}

static void modify(world *w, const char *key) {
  change(w, KIN_WATCH_MODIFIED, key);
}

static void delete_(world *w, const char *key) {
  change(w, KIN_WATCH_DELETED, key);
}

static void expect(world *w, const char *text) {
  run(w);
  assert_string_equal(w->text, text);
  w->text[0] = '\0';
}

/* The state of most tests is a world after init. */
static int set_up(void **state) {
  static world w;
  init(&w, 0);
  *state = &w;
  return 0;
}

static int tear_down(void **state) {
  finish(*state);
  return 0;
}

#define WORLD_TEST(test)                                                       \
  cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* --- Events --------------------------------------------------------------- */

/* Adds, changes and deletions come to one function; a deletion is a key that
 * the store does not have. */
static void test_all_changes(void **state) {
  world *w = *state;
  add(w, "s/a");
  add(w, "s/b");
  begin(w);
  expect(w, "s/a@1 s/b@2 ");
  add(w, "s/c");
  modify(w, "s/a");
  run(w);
  delete_(w, "s/b");
  expect(w, "s/c@3 s/a@4 s/b- ");
  delete_(w, "s/a");
  add(w, "s/a");
  expect(w, "s/a@7 "); /* once */
}

/* A deletion that the watch missed is found by the next list, and comes. */
static void test_missed_deletion(void **state) {
  world *w = *state;
  add(w, "a");
  add(w, "b");
  begin(w);
  expect(w, "a@1 b@2 ");
  kin_object *b = object_keyed(NULL, "b", 0);
  assert_int_equal(
      kin_fake_source_change(w->source, KIN_WATCH_DELETED, b, true), 0);
  kin_object_unref(b);
  run(w);
  kin_fake_source_reset_watch(w->source);
  pass(w, 60000);
  expect(w, "b- ");
}

/* One bad pod: its tries are 11 in 10 s, and the good pod's changes come at
 * once (kin_controller had 379 tries with one backoff for all keys). */
static void test_bad_pod(void **state) {
  world *w = *state;
  w->is_bad = true;
  add(w, "bad");
  begin(w);
  add(w, "good");
  pass(w, 10000);
  assert_int_equal(w->calls, 11 + 1);
  w->text[0] = '\0';
  modify(w, "good");
  expect(w, "good@3 ");
  delete_(w, "bad");
  expect(w, "bad- ");
}

/* A change overtakes the objects that were there at first, and resyncs. */
static void test_priorities(void **state) {
  world *w = *state;
  w->keeps_items = true; /* the first item occupies the worker */
  add(w, "a");
  add(w, "b");
  add(w, "c");
  w->follow.resync_ms = 5000;
  begin(w);
  modify(w, "c");
  expect(w, "a@1 ");
  assert_int_equal(kin_work_queue_count(w->queue), 2);
  kin__work_record *record =
      KIN__CONTAINER_OF(w->queue->work.processing.next, kin__work_record, node);
  assert_int_equal(record->item.priority, KIN_WORK_PRIORITY_LOW);
  w->keeps_items = false;
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
  expect(w, "c@4 b@2 ");
  pass(w, 5000);
  expect(w, "a@1 b@2 c@4 ");
  w->keeps_items = true;
  pass(w, 5000);
  expect(w, "a@1 ");
  modify(w, "c");
  run(w);
  w->keeps_items = false;
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
  expect(w, "c@5 b@2 ");
}

static bool is_wanted(const kin_object *object, void *data) {
  world *w = data;
  assert_ptr_equal(w->follow.filter, is_wanted);
  return kin_object_name(object).data[0] != 'x';
}

static void test_follow_filter(void **state) {
  world *w = *state;
  w->follow.filter = is_wanted;
  w->follow.data = w;
  add(w, "x");
  add(w, "a");
  begin(w);
  add(w, "xx");
  modify(w, "x");
  add(w, "b");
  expect(w, "a@2 b@5 ");
}

/* --- Key functions -------------------------------------------------------- */

static const kin_object *owned(world *w, const char *name, const char *owner,
                               kin_watch_event_type type) {
  kin_object *object =
      object_format(NULL,
                    "{'metadata':{'name':'%s','uid':'u-%s','labels':{"
                    "'owner':'%s'}}}",
                    name, name, owner);
  assert_int_equal(kin_fake_source_change(w->source, type, object, false), 0);
  kin_object_unref(object);
  return kin_fake_source_get(w->source, name);
}

/* Emits "owner/x" for each letter of the label. */
static void owner_keys(const kin_object *object, kin_work_keys *keys,
                       void *data) {
  world *w = data;
  assert_true(w->is_key);
  w->key_calls++;
  kin_str owners = {"", 0};
  (void)kin_object_label(object, "owner", &owners);
  for (size_t i = 0; i < owners.length; i++) {
    char key[] = "owner/?";
    key[6] = owners.data[i];
    (void)kin_work_emit(keys, kin__cstr(key));
  }
}

/* An object that changes hands concerns both owners; one without an owner
 * concerns none; one with two concerns both, and each of them once. */
static void test_owners(void **state) {
  world *w = *state;
  w->is_key = true;
  w->follow.keys = owner_keys;
  w->follow.data = w;
  owned(w, "p", "a", KIN_WATCH_ADDED);
  owned(w, "q", "a", KIN_WATCH_ADDED);
  begin(w);
  expect(w, "owner/a ");
  owned(w, "p", "b", KIN_WATCH_MODIFIED);
  expect(w, "owner/a owner/b ");
  owned(w, "p", "", KIN_WATCH_MODIFIED);
  expect(w, "owner/b ");
  owned(w, "p", "cd", KIN_WATCH_MODIFIED);
  expect(w, "owner/c owner/d ");
  owned(w, "p", "cd", KIN_WATCH_DELETED);
  expect(w, "owner/c owner/d ");
}

static void bad_keys(const kin_object *object, kin_work_keys *keys,
                     void *data) {
  static char text[KIN_WORK_KEY_MAX + 1];
  (void)data;
  assert_int_equal(kin_work_emit(keys, kin__cstr("")), KIN_EKEY);
  assert_int_equal(kin_work_emit(keys, kin__str(NULL, 5)), KIN_EKEY);
  assert_int_equal(kin_work_emit(keys, kin__str(text, sizeof text)),
                   KIN_ETOOBIG);
  assert_int_equal(kin_work_emit(keys, kin_object_name(object)), 0);
}

/* Unusable keys are counted and logged; the others of the object come. */
static void test_bad_keys(void **state) {
  world *w = *state;
  w->follow.keys = bad_keys;
  add(w, "a");
  begin(w);
  expect(w, "a@1 ");
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w->queue, &m), 0);
  assert_int_equal(m.refused, 3);
}

typedef struct warnings {
  int lines;
  char last[256];
} warnings;

static void on_log(kin_log_level level, const char *line, void *data) {
  warnings *w = data;
  if (level == KIN_LOG_WARN && strstr(line, "key functions") != NULL) {
    w->lines++;
    snprintf(w->last, sizeof w->last, "%s", line);
  }
}

/* A key function that is wrong for all objects is a line a minute. */
static void test_bad_keys_are_told_rarely(void **state) {
  world *w = *state;
  warnings seen = {.lines = 0};
  w->vh.log.cb = on_log;
  w->vh.log.data = &seen;
  w->follow.keys = bad_keys;
  w->follow.resync_ms = 1000;
  add(w, "a");
  begin(w);
  assert_string_equal(seen.last,
                      "work queue work: unusable keys of key functions: 1; the "
                      "last one has 0 bytes, of object a");
  pass(w, 59000);
  assert_int_equal(seen.lines, 1);
  pass(w, 2000);
  assert_int_equal(seen.lines, 2);
  assert_string_equal(seen.last,
                      "work queue work: unusable keys of key functions: 180; "
                      "the last one has 0 bytes, of object a");
}

/* --- Waiting for room ----------------------------------------------------- */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The worker has been given these keys, in whatever order, at least once. */
static void expect_keys(world *w, const char *const *keys, size_t count) {
  char text[sizeof w->text];
  memcpy(text, w->text, sizeof text);
  const char *given[256];
  size_t n = 0;
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    assert_true(n < 256);
    given[n++] = word;
  }
  qsort(given, n, sizeof *given, by_text);
  for (size_t i = 0; i < count; i++) {
    assert_non_null(bsearch(&keys[i], given, n, sizeof *given, by_text));
  }
}

/* A queue that is full keeps its informer's listener waiting. Deletions that
 * come meanwhile come in the end, too. */
static void test_follow_full_queue(void **state) {
  world *w = *state;
  w->options.max_keys = 2;
  w->keeps_items = true;
  char key[8];
  for (int i = 0; i < 20; i++) {
    snprintf(key, sizeof key, "p%d", i);
    add(w, key);
  }
  begin(w);
  assert_int_equal(kin_work_queue_count(w->queue), 1);
  expect(w, "p0@1 ");
  modify(w, "p1");
  delete_(w, "p19");
  delete_(w, "p0");
  pass(w, 1000);
  expect(w, "");
  kin__work_record *record =
      KIN__CONTAINER_OF(w->queue->work.processing.next, kin__work_record, node);
  w->keeps_items = false;
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
  pass(w, 5000);
  static const char *const keys[] = {"p0-", "p1@21", "p2@3", "p9@10", "p18@19"};
  expect_keys(w, keys, 5);
  assert_null(strstr(w->text, "p19@"));
}

static void answer_first(world *w) {
  kin__work_record *record =
      KIN__CONTAINER_OF(w->queue->work.processing.next, kin__work_record, node);
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
}

/* PL-07: an object comes and goes while the queue is full. The worker has seen
 * it all the same, because the program added its key, so the worker is told that
 * the object has gone. */
static void test_came_and_went_while_full(void **state) {
  world *w = *state;
  w->options.max_keys = 2;
  w->keeps_items = true;
  add(w, "a");
  begin(w);
  expect(w, "a@1 ");
  assert_int_equal(kin_work_queue_add(w->queue, KIN_STR("d")), 0);
  add(w, "c"); /* finds no room */
  expect(w, "");
  add(w, "d"); /* waits behind it */
  expect(w, "");
  answer_first(w);
  expect(w, "d@3 ");
  delete_(w, "d");
  expect(w, "");
  w->keeps_items = false;
  answer_first(w);
  pass(w, 1000);
  expect(w, "c@2 d- ");
}

/* An update that waits for room still concerns both owners. */
static void test_owners_wait_for_room(void **state) {
  world *w = *state;
  w->is_key = true;
  w->options.max_keys = 2;
  w->follow.keys = owner_keys;
  w->follow.data = w;
  begin(w);
  owned(w, "p", "a", KIN_WATCH_ADDED);
  expect(w, "owner/a ");
  w->keeps_items = true;
  owned(w, "q", "yz", KIN_WATCH_ADDED); /* one is worked on, one queued */
  expect(w, "owner/y ");
  owned(w, "p", "b", KIN_WATCH_MODIFIED);
  pass(w, 300);
  expect(w, "");
  kin__work_record *record =
      KIN__CONTAINER_OF(w->queue->work.processing.next, kin__work_record, node);
  w->keeps_items = false;
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
  pass(w, 1000);
  expect(w, "owner/z owner/a owner/b ");
}

/* While the queue is full, an object has two owners in turn. The one in between
 * is told only if every change is. */
static void test_owner_in_between(void **state) {
  (void)state;
  for (int is_exact = 0; is_exact < 2; is_exact++) {
    world w;
    init(&w, 0);
    w.is_key = true;
    w.keeps_items = true;
    w.options.max_keys = 1;
    w.follow.keys = owner_keys;
    w.follow.data = &w;
    w.follow.exact = is_exact != 0;
    begin(&w);
    owned(&w, "q", "y", KIN_WATCH_ADDED);
    expect(&w, "owner/y ");
    owned(&w, "p", "a", KIN_WATCH_ADDED);
    expect(&w, ""); /* waits for room */
    owned(&w, "p", "b", KIN_WATCH_MODIFIED);
    owned(&w, "p", "c", KIN_WATCH_MODIFIED);
    pass(&w, 300);
    expect(&w, "");
    kin__work_record *record = KIN__CONTAINER_OF(w.queue->work.processing.next,
                                                 kin__work_record, node);
    w.keeps_items = false;
    assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
    pass(&w, 1000);
    assert_int_equal(strstr(w.text, "owner/b ") != NULL, is_exact != 0);
    assert_non_null(strstr(w.text, "owner/a "));
    assert_non_null(strstr(w.text, "owner/c "));
    finish(&w);
  }
}

/* An event with more keys than the queue may have: each is worked on, once. */
static void test_more_keys_than_room(void **state) {
  world *w = *state;
  w->is_key = true;
  w->options.max_keys = 1;
  w->follow.keys = owner_keys;
  w->follow.data = w;
  owned(w, "q", "yz", KIN_WATCH_ADDED);
  begin(w);
  pass(w, 2000);
  static const char *const keys[] = {"owner/y", "owner/z"};
  expect_keys(w, keys, 2);
  assert_int_equal(w->calls, 2);
  owned(w, "q", "xv", KIN_WATCH_MODIFIED); /* the old ones, too */
  pass(w, 2000);
  static const char *const all[] = {"owner/y", "owner/z", "owner/x", "owner/v"};
  expect_keys(w, all, 4);
  assert_int_equal(w->calls, 6);
}

/* A key that leaves the table makes room at once, not at a later time. */
static void test_goes_on_with_room(void **state) {
  world *w = *state;
  char key[8];
  w->options.max_keys = 1;
  for (int i = 0; i < 200; i++) {
    snprintf(key, sizeof key, "p%d", i);
    add(w, key);
  }
  uint64_t start_ns = w->vh.script.now_ns;
  begin(w);
  assert_int_equal(w->calls, 200);
  assert_true(w->vh.script.now_ns - start_ns < 100000000);
}

/* With two owners, and room for one, which is kept. */
static void begin_full_of_owners(world *w) {
  w->is_key = true;
  w->options.max_keys = 1;
  w->keeps_items = true;
  w->follow.keys = owner_keys;
  w->follow.data = w;
  owned(w, "p", "a", KIN_WATCH_ADDED);
  owned(w, "q", "b", KIN_WATCH_ADDED);
  begin(w);
  expect(w, "owner/a ");
}

/* While the queue is full, nothing is tried in vain. */
static void test_full_queue_sleeps(void **state) {
  world *w = *state;
  begin_full_of_owners(w);
  int calls = w->key_calls;
  pass(w, 10000);
  assert_int_equal(w->key_calls, calls);
}

/* `data` is the number of the follow. */
static void numbered_keys(const kin_object *object, kin_work_keys *keys,
                          void *data) {
  const char *number = data;
  char key[] = {*number, '-', kin_object_name(object).data[0], '\0'};
  (void)kin_work_emit(keys, kin__cstr(key));
}

/* Where keys of several follows wait for room, the follows take turns. */
static void test_follows_take_turns(void **state) {
  world *w = *state;
  char numbers[] = "12";
  w->is_key = true;
  w->options.max_keys = 1;
  for (char name[] = "a"; name[0] <= 'j'; name[0]++) {
    add(w, name);
  }
  w->follow.keys = numbered_keys;
  w->follow.data = &numbers[0];
  assert_int_equal(
      kin__informer_open_on(&w->informer, &w->vh.host, &w->informer_options),
      0);
  assert_int_equal(kin__work_queue_open(&w->queue, &w->vh.host, &w->options),
                   0);
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, &w->follow), 0);
  w->follow.data = &numbers[1];
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, &w->follow), 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
  run(w);
  assert_int_equal(w->calls, 20);
  int lead = 0; /* of the first one */
  for (const char *key = w->text; *key != '\0'; key += 4) {
    lead += key[0] == '1' ? 1 : -1;
    assert_in_range(lead + 3, 0, 6);
  }
}

/* With the objects from "a" on, and room for the key of one, which is kept. */
static void begin_full(world *w, const char *last) {
  w->options.max_keys = 1;
  w->keeps_items = true;
  for (char name[] = "a"; name[0] <= *last; name[0]++) {
    add(w, name);
  }
  begin(w);
  expect(w, "a@1 ");
}

/* A shutdown ends the wait for room: the listeners go on, and nothing is kept. */
static void test_shut_down_while_full(void **state) {
  world *w = *state;
  begin_full(w, "c");
  assert_false(kin__link_is_empty(&w->queue->line));
  kin_work_queue_shut_down(w->queue);
  expect(w, "");
  assert_true(kin__link_is_empty(&w->queue->line));
  assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  run(w);
  assert_int_equal(w->queue->follow_count, 0);
}

/* No key is lost, whichever allocation fails. */
static bool allocation_story(size_t fail_at) {
  world w;
  init(&w, fail_at);
  add(&w, "a");
  add(&w, "b");
  int err = try_open(&w);
  if (err == 0) {
    pass(&w, 2000);
    modify(&w, "b");
    add(&w, "c");
    run(&w);
    delete_(&w, "a");
    pass(&w, 60000);
    static const char *const keys[] = {"a-", "b@3", "c@4"};
    expect_keys(&w, keys, 3);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  finish(&w);
  return fail_alloc_has_failed(&w.vh.memory);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(allocation_story, 30);
}

/* An event that waits survives its informer, and comes when there is room. */
static void test_informer_goes_while_full(void **state) {
  world *w = *state;
  begin_full(w, "d");
  assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  run(w);
  assert_int_equal(w->informer_closed, 1);
  assert_int_equal(w->queue->follow_count, 1);
  kin__work_record *record =
      KIN__CONTAINER_OF(w->queue->work.processing.next, kin__work_record, node);
  w->keeps_items = false;
  assert_int_equal(kin_work_done(&record->item, KIN_WORK_SUCCESS), 0);
  pass(w, 200);
  expect(w, "b- ");
  assert_int_equal(w->queue->follow_count, 0);
}

/* A key function is called for a change that waits when its informer has gone. */
static void test_keys_of_a_gone_informer(void **state) {
  world *w = *state;
  begin_full_of_owners(w);
  assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  run(w);
  assert_int_equal(w->informer_closed, 1);
  int calls = w->key_calls;
  w->keeps_items = false;
  answer_first(w);
  pass(w, 200);
  expect(w, "owner/b ");
  assert_true(w->key_calls > calls);
  calls = w->key_calls;
  pass(w, 1000);
  assert_int_equal(w->key_calls, calls);
}

/* --- Life ----------------------------------------------------------------- */

/* A shutdown ends the following; nothing is added, and nothing is held up. */
static void test_shut_down(void **state) {
  world *w = *state;
  add(w, "a");
  begin(w);
  expect(w, "a@1 ");
  kin_work_queue_shut_down(w->queue);
  modify(w, "a");
  add(w, "b");
  expect(w, "");
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL),
                   KIN_ECLOSED);
  assert_int_equal(kin_store_count(kin_informer_store(w->informer)), 2);
}

/* The informer goes first: the queue stays, and may follow another. */
static void test_informer_goes_first(void **state) {
  world *w = *state;
  add(w, "a");
  begin(w);
  expect(w, "a@1 ");
  kin_informer *gone = w->informer;
  assert_int_equal(kin_informer_close(gone, NULL, NULL), 0);
  assert_int_equal(kin_work_queue_follow(w->queue, gone, NULL), KIN_ECLOSED);
  run(w);
  assert_int_equal(w->queue->follow_count, 0);
  assert_int_equal(
      kin__informer_open_on(&w->informer, &w->vh.host, &w->informer_options),
      0);
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL), 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
  expect(w, "a@1 ");
}

/* The queue goes first: the informer goes on, without its listener. */
static void test_queue_goes_first(void **state) {
  world *w = *state;
  add(w, "a");
  begin(w);
  assert_int_equal(kin_work_queue_close(w->queue, NULL, NULL), 0);
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL),
                   KIN_ECLOSED);
  w->text[0] = '\0';
  modify(w, "a");
  expect(w, "");
  assert_null(w->queue);
  assert_true(kin__link_is_empty(&w->informer->dispatcher.listeners));
}

/* A queue follows up to 256 informers, or one of them as often. */
static void test_follow_many(void **state) {
  world *w = *state;
  add(w, "a");
  begin(w);
  for (uint32_t i = 1; i < KIN__WORK_MAX_FOLLOWS; i++) {
    assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL), 0);
  }
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL),
                   KIN_ETOOBIG);
  run(w);
  w->text[0] = '\0';
  modify(w, "a");
  run(w);
  assert_in_range(w->calls, 2, 2 + 3 * KIN__WORK_MAX_FOLLOWS);
  assert_non_null(strstr(w->text, "a@2 "));
}

static void test_bad_options(void **state) {
  world *w = *state;
  begin(w);
  char problem[KIN__PROBLEM_SIZE] = "";
  w->vh.log.problem = problem;
  kin_work_follow_options o = KIN_WORK_FOLLOW_OPTIONS_INIT;
  o.priority = 128;
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, &o),
                   KIN_EINVAL);
  assert_non_null(strstr(w->vh.text, "priority, initial_priority"));
  o.priority = 0;
  o.initial_priority = -129;
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, &o),
                   KIN_EINVAL);
  kin_work_queue_options alone = KIN_WORK_QUEUE_OPTIONS_INIT;
  kin_work_queue *queue;
  assert_int_equal(kin_work_queue_new(&queue, &alone), 0);
  assert_int_equal(kin_work_queue_follow(queue, w->informer, NULL), KIN_EINVAL);
  kin_work_queue_free(queue);
  assert_non_null(strstr(problem, "priority, initial_priority"));
  kin_work_queue_shut_down(w->queue);
  assert_int_equal(kin_work_queue_follow(w->queue, w->informer, NULL),
                   KIN_ECLOSED);
  assert_string_equal(problem, "");
  w->vh.log.problem = NULL;
}

/* --- Sweeps --------------------------------------------------------------- */

/* Call number close_at of the worker closes one of these. */
static enum { NOTHING, QUEUE, INFORMER, CLIENT } closes;
static int close_at;

static void may_close(world *w) {
  if (closes == NOTHING || w->calls != close_at + 1) {
    return;
  }
  if (closes == QUEUE) {
    assert_int_equal(kin_work_queue_close(w->queue, NULL, NULL), 0);
  } else if (closes == INFORMER) {
    assert_int_equal(kin_informer_close(w->informer, NULL, NULL), 0);
  } else {
    vh_close(&w->vh);
  }
}

static void close_story(world *w, uint32_t max_keys) {
  init(w, 0);
  w->is_bad = true;
  w->options.max_keys = max_keys;
  add(w, "a");
  add(w, "bad");
  add(w, "b");
  begin(w);
  modify(w, "a");
  delete_(w, "b");
  pass(w, 100);
}

static void sweep_closes(uint32_t max_keys) {
  for (closes = QUEUE; closes <= CLIENT; closes++) {
    bool was_reached = true;
    for (close_at = 0; was_reached; close_at++) {
      world w;
      close_story(&w, max_keys);
      was_reached = w.calls > close_at;
      bool ends = was_reached && closes != INFORMER;
      assert_true(!ends || w.calls == close_at + 1);
      assert_int_equal(w.queue == NULL, ends);
      finish(&w);
    }
    assert_true(close_at > 6);
  }
  closes = NOTHING;
}

static void test_sweep_closes(void **state) {
  (void)state;
  sweep_closes(0);
  sweep_closes(1); /* events wait for room */
}

/* The same keys come, at whatever byte the server's answers are cut. */
static void test_sweep_splits(void **state) {
  (void)state;
  char whole[sizeof((world *)0)->text] = "";
  for (size_t split = 0; split < 400;
       split = split < 8 ? split + 1 : split + 97) {
    world w;
    init(&w, 0);
    w.informer_options.source = NULL;
    w.informer_options.no_watch_list = true;
    w.vh.script.split = split;
    mini_put_first(&w.vh.server, 3);
    assert_int_equal(try_open(&w), 0);
    mini_serve(&w.vh.server);
    mini_put(&w.vh.server, 1);
    mini_serve(&w.vh.server);
    mini_delete(&w.vh.server, 2);
    mini_serve(&w.vh.server);
    if (split == 0) {
      memcpy(whole, w.text, sizeof whole);
      assert_string_equal(whole, "even/p0@101 odd/p1@102 even/p2@103 "
                                 "odd/p1@104 even/p2- ");
    }
    assert_string_equal(w.text, whole);
    finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_all_changes),
      WORLD_TEST(test_missed_deletion),
      WORLD_TEST(test_bad_pod),
      WORLD_TEST(test_priorities),
      WORLD_TEST(test_follow_filter),
      WORLD_TEST(test_owners),
      WORLD_TEST(test_bad_keys),
      WORLD_TEST(test_bad_keys_are_told_rarely),
      WORLD_TEST(test_follow_full_queue),
      WORLD_TEST(test_came_and_went_while_full),
      WORLD_TEST(test_owners_wait_for_room),
      cmocka_unit_test(test_owner_in_between),
      WORLD_TEST(test_more_keys_than_room),
      WORLD_TEST(test_goes_on_with_room),
      WORLD_TEST(test_full_queue_sleeps),
      WORLD_TEST(test_follows_take_turns),
      WORLD_TEST(test_shut_down_while_full),
      cmocka_unit_test(test_sweep_allocations),
      WORLD_TEST(test_informer_goes_while_full),
      WORLD_TEST(test_keys_of_a_gone_informer),
      WORLD_TEST(test_shut_down),
      WORLD_TEST(test_informer_goes_first),
      WORLD_TEST(test_queue_goes_first),
      WORLD_TEST(test_follow_many),
      WORLD_TEST(test_bad_options),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_splits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
