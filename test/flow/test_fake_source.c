/* SPDX-License-Identifier: MIT */

/* The test double for programs: watches one by one through feeds, and informers
 * over it. TD-01, TD-02, NR-15. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/pager.h>
#include <kin/testing/fake_source.h>

#include "base/str.h"
#include "feed/feed.h"
#include "informer/informer.h"
#include "support/objects.h"
#include "support/recorder.h"
#include "support/virtual_host.h"
#include "toolkit/pager.h"

static void change(kin_fake_source *source, kin_watch_event_type type,
                   const char *key, bool is_dropped) {
  kin_object *object = object_keyed(NULL, key, 0);
  assert_int_equal(kin_fake_source_change(source, type, object, is_dropped), 0);
  kin_object_unref(object);
}

static void add(kin_fake_source *source, const char *key) {
  change(source, KIN_WATCH_ADDED, key, false);
}

static void modify(kin_fake_source *source, const char *key) {
  change(source, KIN_WATCH_MODIFIED, key, false);
}

static void delete (kin_fake_source *source, const char *key) {
  change(source, KIN_WATCH_DELETED, key, false);
}

/* Its versions are 1, 2 and 3. */
static void change_foo(kin_fake_source *source) {
  add(source, "foo");
  modify(source, "foo");
  modify(source, "foo");
}

static kin_fake_source *open_source(virtual_host *vh) {
  kin_fake_source *source;
  vh_init(vh, 0);
  assert_int_equal(kin_fake_source_new(&source, NULL), 0);
  return source;
}

static void close_source(virtual_host *vh, kin_fake_source *source) {
  kin_fake_source_free(source);
  vh_finish(vh);
}

/* --- One watch ------------------------------------------------------------ */

/* Sees a watch from a version until its first end: "A1 M2 D3 B3", and how it
 * ended, as "end" or the reason of the failure. */
typedef struct watcher {
  kin_feed feed;
  kin_lister_watcher source;
  char log[512];
} watcher;

static const kin__resource pods = {"", "v1", "pods", "", "", false};

static void note(watcher *w, const char *what, kin_str version) {
  size_t length = strlen(w->log);
  snprintf(w->log + length, sizeof w->log - length, "%s%s" KIN_STR_FORMAT,
           length > 0 ? " " : "", what, KIN_STR_ARG(version));
}

static int on_event(kin_feed *feed, kin__decoded_type type,
                    kin_object *object) {
  const char *what = type == KIN__DECODED_ADDED     ? "A"
                     : type == KIN__DECODED_DELETED ? "D"
                                                    : "M";
  note(KIN__CONTAINER_OF(feed, watcher, feed), what,
       kin_object_resource_version(object));
  return 0;
}

static int on_bookmark(kin_feed *feed, kin_str version) {
  note(KIN__CONTAINER_OF(feed, watcher, feed), "B", version);
  return 0;
}

static void on_apply(kin_feed *feed) {
  (void)feed;
  fail_msg("a watch makes no list");
}

static void on_ended(kin_feed *feed, const kin__failure *failure) {
  note(KIN__CONTAINER_OF(feed, watcher, feed),
       failure != NULL ? failure->reason : "end", kin__cstr(""));
}

static const kin__feed_owner owner = {.event = on_event,
                                      .bookmark = on_bookmark,
                                      .apply = on_apply,
                                      .ended = on_ended};

static void watch(watcher *w, virtual_host *vh, kin_fake_source *source,
                  const char *version, const char *namespace_) {
  *w = (watcher){0};
  w->source = kin_fake_source_lister_watcher(source);
  kin__feed_options options = {
      .env = &vh->script.env,
      .owner = &owner,
      .source = &w->source,
      .source_ctx = w->source.ctx,
      .resource = &pods,
      .namespace_ = namespace_,
      .listwatch = {.mode = KIN__WATCH_ONLY,
                    .watch_only = {.version = version, .is_single = true}}};
  kin__feed_init(&w->feed, &options);
  kin__feed_start(&w->feed);
}

static void unwatch(watcher *w, const char *seen) {
  assert_string_equal(w->log, seen);
  kin__feed_close(&w->feed);
  kin__feed_finish(&w->feed);
}

/* client-go TestRCNumber; TD-01, TD-02, NR-15: the version counts the changes,
 * is that of a list, and a watch is told what came after the one it names. */
static void test_versions_count_changes(void **state) {
  (void)state;
  virtual_host vh;
  kin_fake_source *source = open_source(&vh);
  change_foo(source);
  assert_int_equal(kin_fake_source_version(source), 3);
  assert_int_equal(kin_fake_source_count(source), 1);
  kin_str version =
      kin_object_resource_version(kin_fake_source_get(source, "foo"));
  assert_true(kin__str_equal(version, kin__cstr("3")));
  watcher w[3];
  watch(&w[0], &vh, source, "1", "");
  watch(&w[1], &vh, source, "2", "");
  watch(&w[2], &vh, source, "3", "");
  kin_fake_source_run(source);
  assert_int_equal(kin_fake_source_open_watches(source), 3);
  assert_string_equal(w[2].log, "");
  delete (source, "foo");
  kin_fake_source_bookmark(source);
  kin_fake_source_end_watches(source);
  kin_fake_source_run(source);
  assert_int_equal(kin_fake_source_open_watches(source), 0);
  assert_int_equal(kin_fake_source_watches(source), 3);
  unwatch(&w[0], "M2 M3 D4 end");
  unwatch(&w[1], "M3 D4 end");
  unwatch(&w[2], "D4 end");
  assert_null(kin_fake_source_get(source, "foo"));
  watcher again; /* who still asks is answered */
  watch(&again, &vh, source, "3", "");
  kin_fake_source_run(source);
  unwatch(&again, "D4");
  close_source(&vh, source);
}

/* client-go TestResetWatch; TD-02: who watches from before the reset is told
 * that the version has expired; watches that were open end. */
static void test_reset_forgets_the_past(void **state) {
  (void)state;
  virtual_host vh;
  kin_fake_source *source = open_source(&vh);
  change_foo(source);
  watcher before;
  watch(&before, &vh, source, "1", "");
  kin_fake_source_run(source);
  kin_fake_source_reset_watch(source);
  watcher w[5];
  watch(&w[0], &vh, source, "1", "");
  watch(&w[1], &vh, source, "3", "");
  watch(&w[2], &vh, source, "4", "");
  watch(&w[3], &vh, source, "abc", "");
  watch(&w[4], &vh, source, "99999999999999999999", "");
  kin_fake_source_run(source);
  unwatch(&before, "M2 M3 end");
  unwatch(&w[0], "Expired");
  assert_string_equal(w[1].log, "");
  unwatch(&w[2], "Timeout"); /* too large a version */
  unwatch(&w[3], "BadRequest");
  unwatch(&w[4], "BadRequest");
  modify(source, "foo");
  kin_fake_source_bookmark(source);
  kin_fake_source_run(source);
  unwatch(&w[1], "M4 B4");
  close_source(&vh, source);
}

/* TD-01: what is dropped is hidden from the watches that are open, and from no
 * other. A watch of a namespace sees that only. */
static void test_dropped_changes_and_namespaces(void **state) {
  (void)state;
  virtual_host vh;
  kin_fake_source *source = open_source(&vh);
  add(source, "x/a");
  watcher early;
  watcher other;
  watcher late;
  watch(&early, &vh, source, "1", "");
  watch(&other, &vh, source, "1", "y");
  kin_fake_source_run(source);
  change(source, KIN_WATCH_ADDED, "x/b", true);
  change(source, KIN_WATCH_MODIFIED, "x/a", true);
  change(source, KIN_WATCH_DELETED, "x/b", true);
  watch(&late, &vh, source, "1", "x");
  add(source, "y/c");
  modify(source, "x/a");
  kin_fake_source_run(source);
  unwatch(&early, "A5 M6");
  unwatch(&other, "A5");
  unwatch(&late, "A2 M3 D4 M6");
  assert_int_equal(kin_fake_source_open_watches(source), 0);
  close_source(&vh, source);
}

/* --- Informers over it ---------------------------------------------------- */

typedef struct rig {
  virtual_host vh;
  kin_fake_source *source;
  kin_informer *informer;
  recorder rec;
  int errors;
  char reasons[256];
  int close_at; /* the callback that closes; -1: none */
  int calls;
  int wakes;
} rig;

static void count_call(rig *f) {
  if (f->calls++ == f->close_at) {
    vh_close(&f->vh);
  } else {
    assert_true(f->close_at < 0 || f->calls <= f->close_at);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  rig *f = data;
  (void)informer;
  f->errors++;
  size_t length = strlen(f->reasons);
  snprintf(f->reasons + length, sizeof f->reasons - length, "%s ",
           event->reason);
  count_call(f);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  assert_int_not_equal(from, to);
  count_call(data);
}

static void on_recorded(recorder *rec, kin_informer *informer) {
  (void)informer;
  count_call(rec->data);
}

static void on_wake(void *data) {
  ((rig *)data)->wakes++;
}

static int open_rig(rig *f, size_t fail_at, int close_at) {
  memset(f, 0, sizeof *f);
  vh_init(&f->vh, 0);
  kin_fake_source_options options = KIN_FAKE_SOURCE_OPTIONS_INIT;
  options.wake = on_wake;
  options.data = f;
  assert_int_equal(kin_fake_source_new(&f->source, &options), 0);
  recorder_init(&f->rec);
  f->rec.on_call = on_recorded;
  f->rec.data = f;
  f->close_at = close_at;
  f->vh.memory.fail_at = fail_at;
  return 0;
}

static int start(rig *f, const char *const *namespaces, size_t count,
                 uint32_t page_size) {
  kin_lister_watcher source = kin_fake_source_lister_watcher(f->source);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.namespaces = namespaces;
  options.namespace_count = count;
  options.page_size = page_size;
  options.source = &source;
  options.on_error = on_error;
  options.on_state = on_state;
  options.data = f;
  kin__host *host = &f->vh.host;
  int err = kin__informer_open_on(&f->informer, host, &options);
  if (err == 0) {
    err = recorder_listen(&f->rec, f->informer);
  }
  return err == 0 ? kin_informer_start(f->informer) : err;
}

/* Serves until nothing happens any more; then lets time pass. */
static void pass(rig *f, uint64_t ms) {
  uint64_t step_ms = 500;
  for (uint64_t passed = 0; passed <= ms; passed += step_ms) {
    do {
      script_run(&f->vh.script);
    } while (kin_fake_source_run(f->source) > 0);
    script_advance(&f->vh.script, step_ms);
  }
}

static void assert_truth(const rig *f) {
  const kin_store *store = kin_informer_store(f->informer);
  assert_true(kin_informer_has_synced(f->informer));
  assert_int_equal(kin_store_count(store), kin_fake_source_count(f->source));
  kin_cursor cursor = {0};
  for (const kin_object *object; (object = kin_store_next(store, &cursor));) {
    const kin_object *there =
        kin_fake_source_get(f->source, kin_object_key(object).data);
    assert_non_null(there);
    assert_true(kin__str_equal(kin_object_resource_version(object),
                               kin_object_resource_version(there)));
  }
  recorder_assert_folds_to(&f->rec, store);
}

static void close_rig(rig *f) {
  vh_finish(&f->vh);
  assert_int_equal(kin_fake_source_open_watches(f->source), 0);
  kin_fake_source_free(f->source);
}

/* TD-01: lists in pages, failing lists, a watch that goes on, a relist after a
 * reset finds what was dropped. PG-03: a list whose next page has expired is
 * made in one piece. */
static void test_informer(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 0, -1);
  for (int i = 0; i < 7; i++) {
    char key[16];
    snprintf(key, sizeof key, "ns/p%d", i);
    add(f.source, key);
  }
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = 500;
  error.reason = "Injected";
  assert_int_equal(kin_fake_source_fail_lists(f.source, &error), 0);
  assert_int_equal(start(&f, NULL, 0, 3), 0);
  int wakes = f.wakes;
  assert_true(wakes > 7);
  pass(&f, 3000);
  assert_true(f.errors >= 1);
  assert_non_null(strstr(f.reasons, "Injected"));
  assert_int_equal(kin_fake_source_fail_lists(f.source, NULL), 0);
  size_t lists = kin_fake_source_lists(f.source);
  pass(&f, 10000);
  assert_int_equal(kin_fake_source_lists(f.source) - lists, 3);
  assert_truth(&f);
  assert_true(f.wakes > wakes);

  add(f.source, "ns/q");
  delete (f.source, "ns/p0");
  pass(&f, 0);
  assert_truth(&f);
  change(f.source, KIN_WATCH_ADDED, "ns/hidden", true);
  change(f.source, KIN_WATCH_DELETED, "ns/p1", true);
  pass(&f, 0);
  const kin_store *store = kin_informer_store(f.informer);
  assert_null(kin_store_get_key(store, "ns/hidden"));
  assert_non_null(kin_store_get_key(store, "ns/p1"));
  kin_fake_source_reset_watch(f.source);
  f.reasons[0] = '\0';
  pass(&f, 10000);
  assert_string_equal(f.reasons, "Expired ");
  assert_truth(&f);
  assert_non_null(strstr(f.rec.log, "delete ns/p1 relist"));
  close_rig(&f);
}

/* TD-01: lists fail with the error of a program that was compiled with a newer
 * header, as long as the program uses nothing that is new. */
static void test_error_of_newer_header(void **state) {
  (void)state;
  struct {
    kin_feed_error error;
    char newer[16];
  } made = {KIN_FEED_ERROR_INIT, {0}};
  made.error.size = sizeof made;
  made.error.status = 500;
  made.error.reason = "Injected";
  rig f;
  open_rig(&f, 0, -1);
  assert_int_equal(kin_fake_source_fail_lists(f.source, &made.error), 0);
  assert_int_equal(start(&f, NULL, 0, 3), 0);
  pass(&f, 0);
  assert_string_equal(f.reasons, "Injected ");
  close_rig(&f);
}

/* Two namespaces at once, each with a watch of its own. */
static void test_scopes(void **state) {
  (void)state;
  static const char *const namespaces[] = {"a", "b"};
  rig f;
  open_rig(&f, 0, -1);
  add(f.source, "a/1");
  add(f.source, "a/2");
  add(f.source, "b/1");
  add(f.source, "c/1");
  assert_int_equal(start(&f, namespaces, 2, 1), 0);
  pass(&f, 0);
  change(f.source, KIN_WATCH_DELETED, "c/1", false);
  pass(&f, 0);
  assert_truth(&f);
  assert_int_equal(kin_fake_source_open_watches(f.source), 2);
  close_rig(&f);
}

/* RL-06, PG-03: a list whose next page has expired is made again in one
 * piece. */
static void test_expired_page(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 0, -1);
  add(f.source, "a");
  add(f.source, "b");
  assert_int_equal(start(&f, NULL, 0, 1), 0);
  assert_true(kin_fake_source_step(f.source));
  assert_int_equal(kin_fake_source_lists(f.source), 2); /* the second page */
  kin_fake_source_reset_watch(f.source);
  add(f.source, "c");
  pass(&f, 0);
  assert_string_equal(f.reasons, "Expired ");
  assert_int_equal(kin_fake_source_lists(f.source), 3);
  assert_truth(&f);
  close_rig(&f);
}

/* --- A paused list -------------------------------------------------------- */

#define MANY 5000u

static int count_item(const kin_object *object, void *data) {
  (void)object;
  ++*(unsigned *)data;
  return 0;
}

static void on_pager_end(const kin_pager_result *result, void *data) {
  (void)data;
  assert_int_equal(result->code, 0);
}

/* PG-06: of a page that is larger than asked for, no object comes from the pause
 * until the reading goes on. */
static void test_paused_list(void **state) {
  (void)state;
  virtual_host vh;
  kin_fake_source *source = open_source(&vh);
  for (unsigned i = 0; i < MANY; i++) {
    char key[16];
    snprintf(key, sizeof key, "p%u", i);
    add(source, key);
  }
  kin_lister_watcher lister_watcher = kin_fake_source_lister_watcher(source);
  kin_informer_options pods_of_source = KIN_INFORMER_OPTIONS_INIT;
  pods_of_source.plural = "pods";
  pods_of_source.source = &lister_watcher;
  pods_of_source.page_size = KIN_NEVER;
  unsigned items = 0;
  kin_pager_options options = KIN_PAGER_OPTIONS_INIT;
  options.resource = &pods_of_source;
  options.on_item = count_item;
  options.on_end = on_pager_end;
  options.data = &items;
  kin_pager *pager;
  assert_int_equal(kin__pager_open(&pager, &vh.host, &options), 0);
  kin_pager_pause(pager);
  script_run(&vh.script);
  assert_int_equal(kin_fake_source_run(source), 1);
  script_run(&vh.script);
  assert_int_equal(items, 0);
  unsigned steps = 0;
  kin_pager_resume(pager);
  script_run(&vh.script);
  while (kin_fake_source_step(source)) {
    steps++;
    script_run(&vh.script);
  }
  assert_int_equal(items, MANY);
  assert_in_range(steps, 3, MANY);
  assert_int_equal(kin_fake_source_lists(source), 1);
  close_source(&vh, source);
}

/* --- Sweeps --------------------------------------------------------------- */

static int run_story(rig *f) {
  static const char *const namespaces[] = {"even", "odd"};
  for (int i = 0; i < 9; i++) {
    char key[16];
    snprintf(key, sizeof key, "%s/p%d", i % 2 == 0 ? "even" : "odd", i);
    add(f->source, key);
  }
  int err = start(f, namespaces, 2, 2);
  if (err != 0) {
    return err;
  }
  pass(f, 0);
  for (int round = 0; round < 3; round++) {
    modify(f->source, "even/p2");
    add(f->source, "odd/new");
    pass(f, 0);
    kin_fake_source_bookmark(f->source);
    delete (f->source, "odd/new");
    pass(f, 2000);
    kin_fake_source_end_watches(f->source);
    pass(f, 2000);
  }
  change(f->source, KIN_WATCH_DELETED, "even/p4", true);
  kin_fake_source_reset_watch(f->source);
  pass(f, 100000);
  return 0;
}

/* Any one allocation of the informer's may fail: opening fails cleanly, or it
 * ends with the truth all the same. */
static bool run_without_memory(size_t n) {
  rig f;
  open_rig(&f, n, -1);
  int err = run_story(&f);
  bool has_failed = fail_alloc_has_failed(&f.vh.memory);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    assert_truth(&f);
  }
  close_rig(&f);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

/* And of the source's: it changes nothing, or the answer fails and is asked for
 * again. */
static bool run_without_memory_of_the_source(size_t n) {
  fail_alloc memory;
  fail_alloc_init(&memory, n);
  kin_fake_source_options options = KIN_FAKE_SOURCE_OPTIONS_INIT;
  options.allocator = &memory.allocator;
  rig f;
  open_rig(&f, 0, -1);
  kin_fake_source_free(f.source);
  int err = kin_fake_source_new(&f.source, &options);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(f.source);
    vh_finish(&f.vh);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    return true;
  }
  kin_object *object = object_keyed(NULL, "ns/a", 0);
  for (int i = 0; i < 40; i++) {
    uint64_t version = kin_fake_source_version(f.source);
    err = kin_fake_source_add(f.source, object);
    assert_true(err == 0 || err == KIN_ENOMEM);
    assert_int_equal(kin_fake_source_version(f.source) - version, err == 0);
  }
  kin_object_unref(object);
  assert_int_equal(start(&f, NULL, 0, 0), 0);
  pass(&f, 10000);
  assert_truth(&f);
  bool has_failed = fail_alloc_has_failed(&memory);
  close_rig(&f);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return has_failed;
}

static void test_sweep_source_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory_of_the_source, 20);
}

/* The client is closed in the k-th callback: none comes after it, and nothing
 * is left, neither here nor in the source. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (int close_at = 0;; close_at++) {
    rig f;
    open_rig(&f, 0, close_at);
    assert_int_equal(run_story(&f), 0);
    bool was_reached = f.calls > close_at;
    close_rig(&f);
    if (!was_reached) {
      assert_true(close_at > 20);
      break;
    }
  }
}

static void test_bad_arguments(void **state) {
  (void)state;
  kin_fake_source_options options = KIN_FAKE_SOURCE_OPTIONS_INIT;
  options.size = 1;
  kin_fake_source *source;
  assert_int_equal(kin_fake_source_new(&source, &options), KIN_EINVAL);
  assert_null(source);
  kin_fake_source_free(NULL);
  assert_int_equal(kin_fake_source_new(&source, NULL), 0);
  assert_int_equal(kin_fake_source_add(source, NULL), KIN_EINVAL);
  assert_int_equal(kin_fake_source_modify(source, NULL), KIN_EINVAL);
  assert_int_equal(kin_fake_source_delete(source, NULL), KIN_EINVAL);
  static const int no_changes[] = {0, KIN_WATCH_BOOKMARK, KIN_WATCH_ERROR, -1};
  kin_object *object = object_keyed(NULL, "a", 0);
  for (size_t i = 0; i < sizeof no_changes / sizeof *no_changes; i++) {
    kin_watch_event_type type = (kin_watch_event_type)no_changes[i];
    assert_int_equal(kin_fake_source_change(source, type, object, false),
                     KIN_EINVAL);
  }
  kin_object_unref(object);
  assert_int_equal(kin_fake_source_count(source), 0);
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.size = 1;
  assert_int_equal(kin_fake_source_fail_lists(source, &error), KIN_EINVAL);
  assert_int_equal(kin_fake_source_version(source), 0);
  assert_int_equal(kin_fake_source_run(source), 0);
  kin_fake_source_free(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions_count_changes),
      cmocka_unit_test(test_reset_forgets_the_past),
      cmocka_unit_test(test_dropped_changes_and_namespaces),
      cmocka_unit_test(test_informer),
      cmocka_unit_test(test_error_of_newer_header),
      cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_expired_page),
      cmocka_unit_test(test_paused_list),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_source_allocations),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
