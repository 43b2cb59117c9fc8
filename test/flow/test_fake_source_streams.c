/* SPDX-License-Identifier: MIT */

/* The test double for programs, with lists that come as watches: informers and
 * controllers over it. TD-01, TD-02, WL-01, WL-03, WL-04, WL-06, WL-07, LW-04,
 * RF-14. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/testing/fake_source.h>

#include "base/str.h"
#include "informer/informer.h"
#include "support/objects.h"
#include "support/recorder.h"
#include "support/virtual_host.h"
#include "cache/controller.h"

typedef struct rig {
  virtual_host vh;
  fail_alloc memory; /* of the source */
  kin_fake_source *source;
  kin_informer *informer;
  recorder rec;
  int errors;
  int calls;
  int close_at; /* the call that closes the client; < 0: none */
} rig;

static void change(rig *f, kin_watch_event_type type, const char *key) {
  kin_object *object = object_keyed(NULL, key, 0);
  int err = kin_fake_source_change(f->source, type, object, false);
  kin_object_unref(object);
  assert_true(err == 0 || (err == KIN_ENOMEM && f->memory.fail_at > 0));
}

static void put(rig *f, const char *key) {
  change(f,
         kin_fake_source_get(f->source, key) != NULL ? KIN_WATCH_MODIFIED
                                                     : KIN_WATCH_ADDED,
         key);
}

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
  (void)event;
  f->errors++;
  count_call(f);
}

static void on_recorded(recorder *rec, kin_informer *informer) {
  (void)informer;
  count_call(rec->data);
}

static int open_rig(rig *f, bool watch_list, size_t fail_at,
                    size_t source_fail_at) {
  memset(f, 0, sizeof *f);
  vh_init(&f->vh, 0);
  fail_alloc_init(&f->memory, source_fail_at);
  script_use_streams(&f->vh.script);
  f->close_at = -1;
  recorder_init(&f->rec);
  f->rec.on_call = on_recorded;
  f->rec.data = f;
  kin_fake_source_options options = KIN_FAKE_SOURCE_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.watch_list = watch_list;
  int err = kin_fake_source_new(&f->source, &options);
  f->vh.memory.fail_at = fail_at;
  return err;
}

static int start(rig *f, const kin_lister_watcher *source, size_t namespaces) {
  static const char *const names[] = {"even", "odd"};
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = source;
  options.namespaces = names;
  options.namespace_count = namespaces;
  options.on_error = on_error;
  options.data = f;
  int err = kin__informer_open_on(&f->informer, &f->vh.host, &options);
  if (err == 0) {
    err = recorder_listen(&f->rec, f->informer);
  }
  if (err == 0) {
    err = kin_informer_start(f->informer);
  }
  script_run(&f->vh.script);
  return err;
}

static int start_plain(rig *f) {
  kin_lister_watcher source = kin_fake_source_lister_watcher(f->source);
  return start(f, &source, 0);
}

static bool step(rig *f) {
  bool did = kin_fake_source_step(f->source);
  script_run(&f->vh.script);
  return did;
}

static void pass(rig *f, uint64_t ms) {
  for (uint64_t passed = 0; passed <= ms; passed += 500) {
    while (step(f)) {
    }
    script_advance(&f->vh.script, 500);
  }
}

static void assert_store_is_source(const rig *f, kin_store *store) {
  assert_int_equal(kin_store_count(store), kin_fake_source_count(f->source));
  kin_cursor cursor = {0};
  for (const kin_object *object; (object = kin_store_next(store, &cursor));) {
    const kin_object *there =
        kin_fake_source_get(f->source, kin_object_key(object).data);
    assert_non_null(there);
    assert_true(kin__str_equal(kin_object_resource_version(object),
                               kin_object_resource_version(there)));
  }
}

static void assert_truth(const rig *f) {
  assert_true(kin_informer_has_synced(f->informer));
  assert_store_is_source(f, kin_informer_store(f->informer));
  recorder_assert_folds_to(&f->rec, kin_informer_store(f->informer));
}

static void close_rig(rig *f) {
  vh_finish(&f->vh);
  kin_fake_source_free(f->source);
  assert_int_equal(atomic_load(&f->memory.live_blocks), 0);
}

/* WL-04: a list and the watch after it are one request. */
static void test_one_stream(void **state) {
  (void)state;
  rig f;
  assert_int_equal(open_rig(&f, true, 0, 0), 0);
  put(&f, "a");
  put(&f, "b");
  assert_int_equal(start_plain(&f), 0);
  pass(&f, 0);
  assert_truth(&f);
  put(&f, "c");
  put(&f, "a");
  change(&f, KIN_WATCH_DELETED, "b");
  kin_fake_source_bookmark(f.source);
  pass(&f, 0);
  assert_truth(&f);
  assert_int_equal(kin_fake_source_lists(f.source), 0);
  assert_int_equal(kin_fake_source_watches(f.source), 1);
  assert_int_equal(kin_fake_source_streams(f.source), 1);
  assert_int_equal(f.errors, 0);
  close_rig(&f);
}

/* WL-03: what changes between two steps is part of the list, or comes after
 * it. */
static void test_changes_inside(void **state) {
  (void)state;
  for (int before = 0; before < 4; before++) {
    rig f;
    assert_int_equal(open_rig(&f, true, 0, 0), 0);
    put(&f, "a");
    put(&f, "b");
    put(&f, "c");
    assert_int_equal(start_plain(&f), 0);
    for (int i = 0; i < before; i++) {
      assert_true(step(&f));
    }
    assert_int_equal(kin_informer_has_synced(f.informer), before == 3);
    put(&f, "a");
    change(&f, KIN_WATCH_DELETED, "b");
    put(&f, "d");
    pass(&f, 0);
    assert_truth(&f);
    const char *synced = strstr(f.rec.log, "synced");
    const char *changed = strstr(f.rec.log, "add d 6");
    assert_non_null(synced);
    assert_non_null(changed);
    assert_int_equal(changed < synced, before < 3);
    assert_int_equal(f.rec.synced, 1);
    assert_int_equal(kin_fake_source_watches(f.source), 1);
    close_rig(&f);
  }
}

/* TestDoesClientNotSupportWatchListSemantics; WL-01, LW-04, TD-02, WL-07: by
 * default it says that it knows no streams, and refuses one that is asked for
 * all the same. */
static void test_unsupported(void **state) {
  (void)state;
  for (int is_asked = 0; is_asked < 2; is_asked++) {
    rig f;
    assert_int_equal(open_rig(&f, false, 0, 0), 0);
    put(&f, "a");
    kin_lister_watcher source = kin_fake_source_lister_watcher(f.source);
    assert_false(source.watch_list);
    source.watch_list = is_asked;
    assert_int_equal(start(&f, &source, 0), 0);
    pass(&f, 0);
    assert_truth(&f);
    assert_int_equal(kin_fake_source_lists(f.source), 1);
    assert_int_equal(kin_fake_source_streams(f.source), is_asked);
    assert_int_equal(f.errors, 0);
    assert_false(f.vh.script.stream_refused);
    close_rig(&f);
  }
}

/* WL-06: a reset in the middle ends the stream; what it brought is not told. */
static void test_reset_inside(void **state) {
  (void)state;
  for (int before = 1; before < 3; before++) {
    rig f;
    assert_int_equal(open_rig(&f, true, 0, 0), 0);
    put(&f, "a");
    put(&f, "b");
    assert_int_equal(start_plain(&f), 0);
    for (int i = 0; i < before; i++) {
      assert_true(step(&f));
    }
    change(&f, KIN_WATCH_DELETED, "a");
    kin_fake_source_reset_watch(f.source);
    assert_true(step(&f));
    assert_int_equal(f.calls, 0);
    pass(&f, 5000);
    assert_truth(&f);
    assert_int_equal(f.rec.adds, 1);
    close_rig(&f);
  }
}

/* RF-14: a lost position is found again by a stream from the last version; each
 * namespace has one of its own. */
static void test_relist(void **state) {
  (void)state;
  rig f;
  assert_int_equal(open_rig(&f, true, 0, 0), 0);
  put(&f, "even/a");
  put(&f, "odd/b");
  put(&f, "other/c");
  kin_lister_watcher source = kin_fake_source_lister_watcher(f.source);
  assert_int_equal(start(&f, &source, 2), 0);
  pass(&f, 0);
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 2);
  put(&f, "even/a");
  put(&f, "odd/b");
  pass(&f, 0);
  kin_fake_source_end_watches(f.source);
  change(&f, KIN_WATCH_DELETED, "other/c");
  change(&f, KIN_WATCH_DELETED, "odd/b");
  put(&f, "even/d");
  kin_fake_source_reset_watch(f.source);
  pass(&f, 60000);
  assert_truth(&f);
  assert_int_equal(kin_fake_source_lists(f.source), 0);
  assert_int_equal(kin_fake_source_streams(f.source), 4);
  close_rig(&f);
}

/* A controller over it. */
static void test_controller(void **state) {
  (void)state;
  rig f;
  assert_int_equal(open_rig(&f, true, 0, 0), 0);
  kin_lister_watcher source = kin_fake_source_lister_watcher(f.source);
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  resource.source = &source;
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &resource;
  kin_controller *controller;
  assert_int_equal(kin__controller_open(&controller, &f.vh.host, &options), 0);
  for (int i = 0; i < 300; i++) {
    char key[16];
    snprintf(key, sizeof key, "ns/p%d", i);
    put(&f, key);
  }
  assert_int_equal(kin_controller_start(controller), 0);
  script_run(&f.vh.script);
  assert_true(step(&f));
  assert_true(step(&f));
  for (int i = 0; i < 300; i += 2) {
    char key[16];
    snprintf(key, sizeof key, "ns/p%d", i);
    change(&f, i % 3 == 0 ? KIN_WATCH_DELETED : KIN_WATCH_MODIFIED, key);
  }
  pass(&f, 0);
  assert_true(kin_controller_has_synced(controller));
  assert_store_is_source(&f, kin_controller_store(controller));
  assert_int_equal(kin_fake_source_watches(f.source), 1);
  close_rig(&f);
}

/* --- Sweeps --------------------------------------------------------------- */

static int run_story(rig *f) {
  put(f, "even/a");
  put(f, "odd/b");
  kin_lister_watcher source = kin_fake_source_lister_watcher(f->source);
  int err = start(f, &source, 2);
  if (err != 0) {
    return err;
  }
  for (int i = 0; i < 12; i++) {
    step(f);
    put(f, i % 2 == 0 ? "even/a" : "odd/c");
    if (i % 4 == 3) {
      change(f, KIN_WATCH_DELETED, "odd/c");
    }
  }
  pass(f, 3000);
  put(f, "odd/d");
  kin_fake_source_reset_watch(f->source);
  change(f, KIN_WATCH_DELETED, "odd/b");
  pass(f, 500);
  put(f, "odd/e");
  pass(f, 100000);
  return 0;
}

static bool run_without_memory(size_t n) {
  rig f;
  assert_int_equal(open_rig(&f, true, n, 0), 0);
  int err = run_story(&f);
  bool has_failed = fail_alloc_has_failed(&f.vh.memory);
  if (err == 0) {
    assert_truth(&f);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  close_rig(&f);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

static bool run_without_memory_of_the_source(size_t n) {
  rig f;
  int err = open_rig(&f, true, 0, n);
  if (err == 0) {
    assert_int_equal(run_story(&f), 0);
    assert_truth(&f);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  bool has_failed = fail_alloc_has_failed(&f.memory);
  close_rig(&f);
  return has_failed;
}

static void test_sweep_source_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory_of_the_source, 20);
}

/* The client is closed in the k-th callback. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (int close_at = 0;; close_at++) {
    rig f;
    assert_int_equal(open_rig(&f, true, 0, 0), 0);
    f.close_at = close_at;
    assert_int_equal(run_story(&f), 0);
    bool was_reached = f.calls > close_at;
    close_rig(&f);
    if (!was_reached) {
      assert_true(close_at > 5);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_stream),
      cmocka_unit_test(test_changes_inside),
      cmocka_unit_test(test_unsupported),
      cmocka_unit_test(test_reset_inside),
      cmocka_unit_test(test_relist),
      cmocka_unit_test(test_controller),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_source_allocations),
      cmocka_unit_test(test_sweep_closes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
