/* SPDX-License-Identifier: MIT */

/* A change filter that tells key by key, on a virtual clock: what is a change,
 * when it is told, and what many changes become. The random stories are in
 * test/model/test_change_filter_model.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/filter_rig.h"
#include "support/idle_callbacks.h"
#include "support/objects.h"

/* Initial: k1=1. */
static void open_with(filter_rig *rig, uint32_t debounce_ms,
                      uint32_t max_wait_ms) {
  filter_rig_init(rig, 0);
  rig->options.debounce_ms = debounce_ms;
  rig->options.max_wait_ms = max_wait_ms;
  filter_rig_change(rig, KIN_WATCH_ADDED, "k1", "u1", 1);
  filter_rig_open(rig);
  filter_rig_expect(rig, "i:k1=1 synced(1) ");
}

/* --- Without a wait ------------------------------------------------------- */

static void test_fields_decide(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  filter_rig_put(&rig, "k1", 1); /* a new version, but the same field */
  filter_rig_expect(&rig, "");
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k2", 7);
  filter_rig_put(&rig, "k2", 7);
  filter_rig_delete(&rig, "k1");
  filter_rig_expect(&rig, "U:k1=1>2 A:k2=7 D:k1=2 ");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
  filter_rig_close(&rig);
}

static void test_no_fields_means_all(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  rig.options.field_count = 0;
  filter_rig_change(&rig, KIN_WATCH_ADDED, "k1", "u1", 1);
  filter_rig_open(&rig);
  filter_rig_put(&rig, "k1", 1);
  filter_rig_expect(&rig, "i:k1=1 synced(1) U:k1=1>1 ");
  filter_rig_close(&rig);
}

static void test_recreation_is_told(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  filter_rig_recreate(&rig, "k1", "u2", 1);
  filter_rig_expect(&rig, "D:k1=0 A:k1=1 ");
  filter_rig_close(&rig);
}

/* What a later list has and lacks is told; what it has unchanged is not. */
static void test_relist_tells_differences(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  filter_rig_put(&rig, "k2", 2);
  filter_rig_put(&rig, "k3", 3);
  filter_rig_expect(&rig, "A:k2=2 A:k3=3 ");
  kin_fake_source_reset_watch(rig.source);
  filter_rig_change(&rig, KIN_WATCH_MODIFIED, "k1", "u1", 9);
  filter_rig_change(&rig, KIN_WATCH_MODIFIED, "k2", "u1", 2);
  filter_rig_change(&rig, KIN_WATCH_DELETED, "k3", "u1", 3);
  kin_fake_source_reset_watch(rig.source);
  for (int second = 0; second < 60; second++) {
    filter_rig_pass(&rig, 1000);
  }
  assert_true(kin_fake_source_lists(rig.source) > 1);
  filter_rig_expect(&rig, "U:k1=1>9 D:k3=3 ");
  filter_rig_close(&rig);
}

/* A resync of the informer shows nothing to a change filter. */
static void test_resyncs_are_not_told(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  kin_lister_watcher lister_watcher =
      kin_fake_source_lister_watcher(rig.source);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &lister_watcher;
  options.resync_ms = 1000;
  filter_rig_change(&rig, KIN_WATCH_ADDED, "k1", "u1", 1);
  assert_int_equal(kin__informer_open_on(&rig.informer, &rig.vh.host, &options),
                   0);
  assert_int_equal(kin_informer_start(rig.informer), 0);
  rig.options.field_count = 0;
  assert_int_equal(filter_rig_open_filter(&rig), 0);
  filter_rig_run(&rig);
  filter_rig_expect(&rig, "i:k1=1 synced(1) ");
  filter_rig_pass(&rig, 10000);
  filter_rig_expect(&rig, "");
  filter_rig_close(&rig);
}

/* An own write, and what is told of it. */
static void put_own(filter_rig *rig, const char *name, kin_str version,
                    int value, const char *told) {
  kin_object *object =
      object_format(NULL,
                    "{'metadata':{'name':'%s','namespace':'d','uid':'u1',"
                    "'resourceVersion':'" KIN_STR_FORMAT "'},'spec':{'a':%d}}",
                    name, KIN_STR_ARG(version), value);
  assert_int_equal(kin_store_put(kin_informer_store(rig->informer), object), 0);
  kin_object_unref(object);
  filter_rig_run(rig);
  filter_rig_expect(rig, told);
}

/* SI-13: own writes are changes like others, and what follows is compared with
 * them. An object under the stored version is none, but stands for what was
 * told. */
static void test_own_writes_are_changes(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  kin_store *store = kin_informer_store(rig.informer);
  put_own(&rig, "k2", KIN__LIT("1000"), 2, "A:k2=2 ");
  filter_rig_put(&rig, "k2", 2);
  filter_rig_delete(&rig, "k2");
  filter_rig_expect(&rig, "D:k2=2 ");
  put_own(&rig, "k1", KIN__LIT("1000"), 5, "U:k1=1>5 ");
  filter_rig_put(&rig, "k1", 6);
  filter_rig_expect(&rig, "U:k1=5>6 ");
  kin_object *told = kin_object_ref(kin_store_get_key(store, "d/k1"));
  put_own(&rig, "k1", kin_object_resource_version(told), 7, "");
  kin_object_unref(told);
  filter_rig_put(&rig, "k1", 7);
  filter_rig_expect(&rig, "");
  filter_rig_put(&rig, "k1", 8);
  filter_rig_expect(&rig, "U:k1=7>8 ");
  assert_int_equal(kin_store_delete(store, KIN__LIT("d/k1")), 0);
  filter_rig_delete(&rig, "k1");
  filter_rig_expect(&rig, "D:k1=8 ");
  filter_rig_close(&rig);
}

static bool is_even(const kin_object *object, void *data) {
  filter_rig *rig = data;
  assert_non_null(rig->source);
  return filter_rig_value(object) % 2 == 0;
}

/* Into the filter: added; out of it: deleted. In one wait: as if nothing
 * was. */
static void test_transitions_of_a_filter(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  rig.options.filter = is_even;
  filter_rig_change(&rig, KIN_WATCH_ADDED, "k1", "u1", 1);
  filter_rig_open(&rig);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k1", 4);
  filter_rig_put(&rig, "k1", 5);
  filter_rig_expect(&rig, "synced(0) A:k1=2 U:k1=2>4 D:k1=4 ");
  filter_rig_close(&rig);

  filter_rig_init(&rig, 0);
  rig.options.filter = is_even;
  rig.options.debounce_ms = 100;
  filter_rig_change(&rig, KIN_WATCH_ADDED, "k1", "u1", 2);
  filter_rig_open(&rig);
  filter_rig_put(&rig, "k1", 3);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_pass(&rig, 1000);
  filter_rig_expect(&rig, "i:k1=2 synced(1) ");
  filter_rig_put(&rig, "k1", 3);
  filter_rig_put(&rig, "k1", 4);
  filter_rig_pass(&rig, 1000);
  filter_rig_expect(&rig, "U:k1=2>4x2 ");
  filter_rig_close(&rig);
}

/* --- The wait ------------------------------------------------------------- */

static void test_debounce(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 200, 0);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_pass(&rig, 199);
  filter_rig_put(&rig, "k1", 3);
  filter_rig_put(&rig, "k1", 3); /* no change: prolongs nothing */
  filter_rig_pass(&rig, 199);
  filter_rig_expect(&rig, "");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 1);
  filter_rig_pass(&rig, 1);
  filter_rig_expect(&rig, "U:k1=1>3x2 ");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
  /* The next wait begins anew. */
  filter_rig_put(&rig, "k1", 4);
  filter_rig_pass(&rig, 199);
  filter_rig_expect(&rig, "");
  filter_rig_pass(&rig, 1);
  filter_rig_expect(&rig, "U:k1=3>4 ");
  filter_rig_close(&rig);
}

/* Each key has a wait of its own. */
static void test_debounce_is_per_key(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 200, 0);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_pass(&rig, 100);
  filter_rig_put(&rig, "k2", 5);
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "U:k1=1>2 ");
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "A:k2=5 ");
  filter_rig_close(&rig);
}

static void test_max_wait(void **state) {
  (void)state;
  static const struct {
    uint32_t max_wait_ms;
    uint64_t told_after_ms; /* the first change, with one each 100 ms */
  } cases[] = {{500, 500}, {0, 2000}, {KIN_NEVER, 5200}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    filter_rig rig;
    open_with(&rig, 200, cases[i].max_wait_ms);
    uint64_t ms = 0;
    for (int value = 2; ms <= 5000 && rig.log[0] == '\0'; value++) {
      filter_rig_put(&rig, "k1", value);
      filter_rig_pass(&rig, 100);
      ms += 100;
    }
    while (rig.log[0] == '\0') {
      filter_rig_pass(&rig, 100);
      ms += 100;
    }
    assert_int_equal(ms, cases[i].told_after_ms);
    filter_rig_close(&rig);
  }
}

/* The table of kin/change_filter.h. */
static void test_what_many_changes_become(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 100, 0);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k1", 1); /* as told last */
  filter_rig_put(&rig, "k2", 1);
  filter_rig_delete(&rig, "k2"); /* never told */
  filter_rig_put(&rig, "k3", 1);
  filter_rig_put(&rig, "k3", 2);
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "A:k3=2x2 ");
  filter_rig_delete(&rig, "k1");
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "D:k1=1 ");
  /* The same name and fields, another uid. */
  filter_rig_recreate(&rig, "k3", "u2", 2);
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "R:k3=0>2x2 ");
  filter_rig_recreate(&rig, "k3", "u3", 2);
  filter_rig_delete(&rig, "k3");
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "D:k3=2x3 ");
  filter_rig_close(&rig);
}

/* The last state that came with a delete stands for what was told, also if it
 * has an older uid. Without a wait both changes are told. */
static void test_delete_of_an_older_object(void **state) {
  (void)state;
  for (uint32_t debounce_ms = 0; debounce_ms <= 100; debounce_ms += 100) {
    filter_rig rig;
    open_with(&rig, debounce_ms, 0);
    filter_rig_change(&rig, KIN_WATCH_DELETED, "k1", "u0", 7);
    filter_rig_change(&rig, KIN_WATCH_ADDED, "k1", "u1", 1);
    filter_rig_run(&rig);
    filter_rig_pass(&rig, debounce_ms);
    filter_rig_expect(&rig,
                      debounce_ms == 0 ? "D:k1=7 A:k1=1 " : "R:k1=7>1x2 ");
    filter_rig_close(&rig);
  }
}

/* A state that is no change is what is told when the wait is over. */
static void test_newest_object_is_told(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 100, 0);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k1", 2);
  const kin_store *store = kin_informer_store(rig.informer);
  assert_non_null(kin_store_get_key(store, "d/k1"));
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "U:k1=1>2 ");
  filter_rig_close(&rig);
}

static void test_flush(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 1000, 0);
  kin_change_filter_flush(rig.filter); /* nothing waits */
  filter_rig_put(&rig, "k1", 2);
  filter_rig_put(&rig, "k2", 3);
  filter_rig_expect(&rig, "");
  kin_change_filter_flush(rig.filter);
  filter_rig_expect(&rig, ""); /* not inside the call */
  filter_rig_run(&rig);
  filter_rig_expect(&rig, "U:k1=1>2 A:k2=3 ");
  filter_rig_put(&rig, "k1", 4);
  filter_rig_pass(&rig, 999);
  filter_rig_expect(&rig, "");
  filter_rig_pass(&rig, 1);
  filter_rig_expect(&rig, "U:k1=2>4 ");
  filter_rig_close(&rig);
}

/* A flush is of the keys that wait then. A key that follows in the course of it
 * waits; one of them that changes again is told. */
static void test_flush_beside_changes(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  rig.options.debounce_ms = 1000;
  filter_rig_open(&rig);
  filter_rig_expect(&rig, "synced(0) ");
  for (char name[] = "k1"; name[1] <= '9'; name[1]++) {
    filter_rig_put(&rig, name, 1);
  }
  filter_rig_expect(&rig, "");
  rig.vh.script.sched.max_pieces = 1;
  filter_rig_change(&rig, KIN_WATCH_ADDED, "new", "u1", 1);
  filter_rig_change(&rig, KIN_WATCH_MODIFIED, "k9", "u1", 2);
  (void)kin_fake_source_run(rig.source);
  kin_change_filter_flush(rig.filter);
  script_run(&rig.vh.script);
  filter_rig_expect(&rig, "A:k1=1 A:k2=1 A:k3=1 A:k4=1 A:k5=1 A:k6=1 A:k7=1 "
                          "A:k8=1 A:k9=2x2 ");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 1);
  filter_rig_pass(&rig, 999);
  filter_rig_expect(&rig, "");
  filter_rig_pass(&rig, 1);
  filter_rig_expect(&rig, "A:new=1 ");
  filter_rig_close(&rig);
}

/* Further keys are told at once. */
static void test_max_waiting(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  rig.options.debounce_ms = 100;
  rig.options.max_waiting = 2;
  filter_rig_open(&rig);
  filter_rig_put(&rig, "k1", 1);
  filter_rig_put(&rig, "k2", 2);
  filter_rig_put(&rig, "k3", 3);
  filter_rig_put(&rig, "k3", 4);
  filter_rig_put(&rig, "k1", 5); /* waits already */
  filter_rig_expect(&rig, "synced(0) A:k3=3 U:k3=3>4 ");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 2);
  filter_rig_pass(&rig, 100);
  filter_rig_expect(&rig, "A:k2=2 A:k1=5x2 ");
  filter_rig_close(&rig);
}

/* Many keys at once: in steps, and the table's memory is given back. */
static void test_burst(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  rig.options.debounce_ms = 100;
  filter_rig_open(&rig);
  filter_rig_put(&rig, "first", 0);
  filter_rig_pass(&rig, 100);
  for (int i = 0; i < 3000; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    filter_rig_change(&rig, KIN_WATCH_ADDED, name, "u1", i);
  }
  filter_rig_run(&rig);
  size_t before = atomic_load(&rig.vh.memory.live_blocks);
  assert_int_equal(kin_change_filter_waiting(rig.filter), 3000);
  filter_rig_pass(&rig, 100);
  assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
  assert_int_equal(rig.calls, 3002);
  assert_true(atomic_load(&rig.vh.memory.live_blocks) <= before - 3000);
  filter_rig_close(&rig);
}

/* --- Options -------------------------------------------------------------- */

static void expect_refused(filter_rig *rig, const char *why) {
  rig->vh.text[0] = '\0';
  kin_change_filter *filter = (kin_change_filter *)(void *)rig;
  assert_int_equal(
      kin_change_filter_open(&filter, rig->informer, &rig->options),
      KIN_EINVAL);
  assert_null(filter);
  if (strstr(rig->vh.text, why) == NULL) {
    fail_msg("\"%s\" is not in \"%s\"", why, rig->vh.text);
  }
}

static void test_bad_options(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  assert_int_equal(filter_rig_open_informer(&rig), 0);
  const kin_change_filter_options good = rig.options;
  filter_rig other = {.options = KIN_CHANGE_FILTER_OPTIONS_INIT};
  filter_rig_for_all(&other, 100, 0);
  rig.options.on_change = NULL;
  expect_refused(&rig, "on_change, on_changes");
  rig.options = good;
  rig.options.on_changes = other.options.on_changes;
  expect_refused(&rig, "on_change, on_changes");
  rig.options.on_change = NULL;
  expect_refused(&rig, "on_synced");
  rig.options.on_synced = NULL;
  expect_refused(&rig, "requires debounce_ms");
  rig.options = good;
  rig.options.debounce_ms = 86400001;
  expect_refused(&rig, "debounce_ms");
  rig.options.debounce_ms = 100;
  rig.options.max_wait_ms = 99;
  expect_refused(&rig, "max_wait_ms");
  rig.options.max_wait_ms = 864000001;
  expect_refused(&rig, "max_wait_ms");
  rig.options.debounce_ms = 0;
  rig.options.max_wait_ms = 100;
  expect_refused(&rig, "max_wait_ms");
  rig.options = good;
  rig.options.max_waiting = 262145;
  expect_refused(&rig, "max_waiting");
  rig.options = good;
  static const char *const bad[] = {"spec", "/a/*/b", "/*", "/a~2"};
  const char *fields[] = {"/spec", NULL};
  rig.options.fields = fields;
  rig.options.field_count = 2;
  expect_refused(&rig, "fields: is NULL");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char why[64];
    snprintf(why, sizeof why, "fields: \"%s\" is no JSON Pointer without *",
             bad[i]);
    fields[1] = bad[i];
    expect_refused(&rig, why);
  }
  rig.options.fields = NULL;
  expect_refused(&rig, "fields");
  static const char *many[65];
  for (size_t i = 0; i < 65; i++) {
    many[i] = "/spec";
  }
  rig.options.fields = many;
  rig.options.field_count = 65;
  expect_refused(&rig, "fields");
  /* At the limits. */
  rig.options = good;
  rig.options.fields = many;
  rig.options.field_count = 64;
  rig.options.debounce_ms = 86400000;
  rig.options.max_wait_ms = 864000000;
  rig.options.max_waiting = 262144;
  assert_int_equal(filter_rig_open_filter(&rig), 0);
  filter_rig_close(&rig);
}

/* A field that the informer does not keep would never change. */
static int open_on(filter_rig *rig, const kin_informer_options *informer,
                   const char *field) {
  kin_informer *over;
  assert_int_equal(kin__informer_open_on(&over, &rig->vh.host, informer), 0);
  kin_change_filter_options options = rig->options;
  options.fields = &field;
  options.field_count = 1;
  options.on_closed = NULL;
  rig->vh.text[0] = '\0';
  int err = kin_change_filter_open(NULL, over, &options);
  char said[128];
  snprintf(said, sizeof said, "fields: \"%s\" is not stored", field);
  bool is_said = strstr(rig->vh.text, said) != NULL;
  assert_int_equal(is_said, err != 0);
  return err;
}

static void test_fields_that_are_not_stored(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec/a", "/status/list/2",
                                       "/metadata/labels/app",
                                       "/metadata/annotations/x.y~1z"};
  static const struct {
    const char *field;
    bool is_stored;           /* with `fields` */
    bool is_without_labels;   /* and drop_labels */
    bool is_of_metadata_only; /* with metadata_only */
  } rows[] = {
      {"/spec/a", true, true, false},
      {"/spec/a/b/0", true, true, false},
      {"/spec", true, true, false},
      {"/spec/b", false, false, false},
      {"/data", false, false, false},
      {"/status/list/2/c", true, true, false},
      {"/status/list/1", true, true, false},
      {"/status/list/1/c", false, false, false},
      {"/status/list/3", false, false, false},
      {"/status/list/x", false, false, false},
      {"/metadata/name", true, true, true},
      {"/metadata/labels/app", true, true, true},
      {"/metadata/labels/tier", true, false, true},
      {"/metadata/annotations/x.y~1z", true, true, true},
      {"/metadata/annotations/x.y", false, false, true},
      {"/metadata/managedFields", false, false, false},
      {"/metadatas", false, false, false},
      {"/kind", true, true, true},
      {"", true, true, true},
  };
  filter_rig rig;
  filter_rig_init(&rig, 0);
  assert_int_equal(filter_rig_open_informer(&rig), 0);
  kin_informer_options of_fields = KIN_INFORMER_OPTIONS_INIT;
  of_fields.plural = "pods";
  of_fields.fields = fields;
  of_fields.field_count = sizeof fields / sizeof *fields;
  kin_informer_options without_labels = of_fields;
  without_labels.drop_labels = true;
  kin_informer_options transformed = without_labels;
  transformed.transform = change_nothing; /* may set any field */
  kin_informer_options metadata = KIN_INFORMER_OPTIONS_INIT;
  metadata.plural = "pods";
  metadata.metadata_only = true;
  kin_informer_options whole = KIN_INFORMER_OPTIONS_INIT;
  whole.plural = "pods";
  whole.keep_managed_fields = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *field = rows[i].field;
    assert_int_equal(open_on(&rig, &of_fields, field) == 0, rows[i].is_stored);
    assert_int_equal(open_on(&rig, &without_labels, field) == 0,
                     rows[i].is_without_labels);
    assert_int_equal(open_on(&rig, &metadata, field) == 0,
                     rows[i].is_of_metadata_only);
    assert_int_equal(open_on(&rig, &transformed, field), 0);
    assert_int_equal(open_on(&rig, &whole, field), 0);
  }
  filter_rig_close(&rig);
}

static void test_stored_fields_without_memory(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec/a"};
  filter_rig rig;
  filter_rig_init(&rig, 0);
  assert_int_equal(filter_rig_open_informer(&rig), 0);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.fields = fields;
  io.field_count = 1;
  kin_informer *over;
  assert_int_equal(kin__informer_open_on(&over, &rig.vh.host, &io), 0);
  fail_alloc *memory = &rig.vh.memory;
  size_t n = 0;
  int err;
  do {
    size_t before = atomic_load(&memory->live_blocks);
    memory->fail_at = memory->calls + ++n;
    rig.options.on_closed = NULL;
    err = kin_change_filter_open(NULL, over, &rig.options);
    memory->fail_at = 0;
    assert_true(err == 0 || err == KIN_ENOMEM);
    assert_true(err == 0 || atomic_load(&memory->live_blocks) == before);
  } while (err != 0);
  assert_true(n > 4); /* the filter, its fields twice, the pointer's copy */
  filter_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields_decide),
      cmocka_unit_test(test_no_fields_means_all),
      cmocka_unit_test(test_recreation_is_told),
      cmocka_unit_test(test_relist_tells_differences),
      cmocka_unit_test(test_resyncs_are_not_told),
      cmocka_unit_test(test_own_writes_are_changes),
      cmocka_unit_test(test_transitions_of_a_filter),
      cmocka_unit_test(test_debounce),
      cmocka_unit_test(test_debounce_is_per_key),
      cmocka_unit_test(test_max_wait),
      cmocka_unit_test(test_what_many_changes_become),
      cmocka_unit_test(test_delete_of_an_older_object),
      cmocka_unit_test(test_newest_object_is_told),
      cmocka_unit_test(test_flush),
      cmocka_unit_test(test_flush_beside_changes),
      cmocka_unit_test(test_max_waiting),
      cmocka_unit_test(test_burst),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_fields_that_are_not_stored),
      cmocka_unit_test(test_stored_fields_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
