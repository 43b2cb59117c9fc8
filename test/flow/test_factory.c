/* SPDX-License-Identifier: MIT */

/* Factories: informers that are shared, started, waited for and closed
 * together, on a virtual clock. Proves FA-01 to FA-03, FA-05 to FA-07, FG-05,
 * LW-05, SY-09. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/factory_world.h"
#include "support/recorder.h"

/* FA-01, FA-05: one informer for each group, version, resource and kind of
 * object; any resource will do. */
static void test_factory_shares(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  kin_informer *pods = fw_informer(&w, "pods");
  assert_ptr_equal(fw_informer(&w, "pods"), pods);
  assert_ptr_equal(fw_informer_of(&w, "", "v1", "pods", false), pods);
  kin_informer *others[] = {fw_informer_of(&w, "", "v1", "pods", true),
                            fw_informer_of(&w, "", "v2", "pods", false),
                            fw_informer_of(&w, "x.io", "v1", "pods", false),
                            fw_informer_of(&w, "", "v1", "configmaps", false)};
  for (size_t i = 0; i < 4; i++) {
    assert_ptr_not_equal(others[i], pods);
    for (size_t j = 0; j < i; j++) {
      assert_ptr_not_equal(others[i], others[j]);
    }
  }
  assert_ptr_equal(fw_informer_of(&w, "x.io", NULL, "pods", false), others[2]);
  assert_ptr_equal(fw_informer_of(&w, NULL, NULL, "pods", true), others[0]);
  fw_finish(&w);
}

/* What happens on the server after the sync, and what a handler is told. */
typedef struct trigger {
  const char *name;
  bool exists; /* before */
  char what;   /* 'A', 'M' or 'D' */
  const char *log;
} trigger;

static void run_trigger(const trigger *t) {
  factory_world w = {0};
  vh_init(&w.vh, 0);
  if (t->exists) {
    mini_put(&w.vh.server, 1);
  }
  assert_int_equal(fw_open(&w, NULL), 0);
  kin_informer *informer =
      fw_informer_of(&w, "apps", "v1", "deployments", false);
  recorder rec;
  recorder_init(&rec);
  assert_int_equal(recorder_listen(&rec, informer), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 10000), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.waits_ended, 1);
  assert_string_equal(w.wait_text, "deployments.v1.apps");
  if (t->what == 'D') {
    mini_delete(&w.vh.server, 1);
  } else {
    mini_put(&w.vh.server, 1);
  }
  mini_serve(&w.vh.server);
  assert_string_equal(rec.log, t->log);
  recorder_assert_folds_to(&rec, kin_informer_store(informer));
  fw_finish(&w);
}

/* TestDynamicSharedInformerFactory: add, update and delete; FA-02, FA-05. */
static void test_factory_triggers(void **state) {
  (void)state;
  static const trigger triggers[] = {
      {"add", false, 'A', "synced 0\nadd odd/p1 101\n"},
      {"update", true, 'M',
       "add odd/p1 101 initial\nsynced 1\nupdate odd/p1 101 -> 102\n"},
      {"delete", true, 'D',
       "add odd/p1 101 initial\nsynced 1\ndelete odd/p1 watch\n"},
  };
  for (size_t i = 0; i < sizeof triggers / sizeof triggers[0]; i++) {
    run_trigger(&triggers[i]);
  }
}

static void select_some(kin_informer_options *options, void *data) {
  assert_int_equal(options->size, sizeof *options);
  fw_ask_for_lists(options, data);
  options->field_selector = "metadata.name=p1";
  options->label_selector = "app=a1";
  options->page_size = 7;
  /* Not its to change. */
  options->group = "elsewhere";
  options->version = "v9";
  options->plural = "secrets";
  options->metadata_only = !options->metadata_only;
}

static void expect_in_target(factory_world *w, const char *part) {
  if (strstr(w->vh.script.last_target, part) == NULL) {
    fail_msg("%s is not in %s", part, w->vh.script.last_target);
  }
}

/* TestFilteredDynamicSharedInformerFactory; LW-05, FA-01: a factory of one
 * namespace sees no other, and what tweak sets holds for list and watch. */
static void test_factory_filtered(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  char odd[] = "odd";
  const char *namespaces[] = {odd};
  kin_factory_options options = fw_options(&w);
  options.namespaces = namespaces;
  options.namespace_count = 1;
  options.tweak = select_some;
  assert_int_equal(fw_open(&w, &options), 0);
  odd[0] = 'x'; /* they were copied */
  namespaces[0] = NULL;
  kin_informer *informer =
      fw_informer_of(&w, "apps", "v1", "deployments", false);
  assert_ptr_equal(fw_informer_of(&w, "apps", "v1", "deployments", false),
                   informer);
  recorder rec;
  recorder_init(&rec);
  assert_int_equal(recorder_listen(&rec, informer), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  for (int i = 0; i < 2; i++) { /* the list, then the watch */
    script_run(&w.vh.script);
    expect_in_target(&w, "/apis/apps/v1/namespaces/odd/deployments?");
    expect_in_target(&w, "fieldSelector=metadata.name%3Dp1");
    expect_in_target(&w, "labelSelector=app%3Da1");
    expect_in_target(&w, i == 0 ? "limit=7" : "watch=true");
    mini_serve(&w.vh.server);
  }
  mini_put(&w.vh.server, 2); /* even/p2 */
  mini_serve(&w.vh.server);
  assert_int_equal(rec.adds, 0);
  mini_put(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  assert_int_equal(rec.adds, 1);
  fw_finish(&w);
}

static void select_in_streams(kin_informer_options *options, void *data) {
  (void)data;
  options->field_selector = "metadata.name=p1";
  options->label_selector = "app=a1";
}

/* LW-05: a list that comes as a watch has the namespace and the selectors, too,
 * without a modifier of requests. */
static void test_factory_filtered_stream(void **state) {
  (void)state;
  static const char *const namespaces[] = {"odd"};
  factory_world w = {0};
  vh_init(&w.vh, 0);
  script_use_streams(&w.vh.script);
  kin_factory_options options = fw_options(&w);
  options.namespaces = namespaces;
  options.namespace_count = 1;
  options.tweak = select_in_streams;
  assert_int_equal(fw_open(&w, &options), 0);
  fw_informer_of(&w, "apps", "v1", "deployments", false);
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  expect_in_target(&w, "/apis/apps/v1/namespaces/odd/deployments?");
  expect_in_target(&w, "fieldSelector=metadata.name%3Dp1");
  expect_in_target(&w, "labelSelector=app%3Da1");
  expect_in_target(&w, "sendInitialEvents=true");
  fw_finish(&w);
}

/* TestMetadataSharedInformerFactory; FA-05, FA-07: a metadata factory asks for
 * partial objects; in any factory both kinds can live side by side. */
static void test_factory_metadata(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  mini_put(&w.vh.server, 1);
  kin_factory_options options = fw_options(&w);
  options.metadata_only = true;
  assert_int_equal(fw_open(&w, &options), 0);
  kin_informer *partial = fw_informer(&w, "pods");
  assert_ptr_equal(fw_informer_of(&w, "", "v1", "pods", true), partial);
  recorder rec;
  recorder_init(&rec);
  assert_int_equal(recorder_listen(&rec, partial), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  assert_string_equal(script_expect(&w.vh.script, "/pods")->accept,
                      "application/json;as=PartialObjectMetadataList;"
                      "g=meta.k8s.io;v=v1");
  mini_serve(&w.vh.server);
  assert_string_equal(script_expect(&w.vh.script, "/pods")->accept,
                      "application/json;as=PartialObjectMetadata;"
                      "g=meta.k8s.io;v=v1");
  mini_put(&w.vh.server, 1);
  mini_delete(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  assert_string_equal(rec.log, "add odd/p1 101 initial\nsynced 1\n"
                               "update odd/p1 101 -> 102\n"
                               "delete odd/p1 watch\n");
  kin_informer *full = fw_informer_of(&w, "", "v1", "pods", false);
  assert_ptr_not_equal(full, partial);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 0), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.waits_ended, 1);
  assert_string_equal(w.wait_text, "pods.v1 (metadata) pods.v1");
  fw_finish(&w);
}

static void set_streams(kin_informer_options *options, void *data) {
  options->no_watch_list = *(bool *)data;
}

/* TestWatchListSemanticsSimple, TestUnSupportWatchListSemantics; FA-06: a
 * server that only streams is enough for both kinds of informers, one that does
 * not stream is asked for lists, and an option decides which is tried. */
static void test_factory_streams(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    factory_world w = {0};
    vh_init(&w.vh, 0);
    mini_put(&w.vh.server, 1);
    w.vh.server.refuses_streams = i == 1;
    script_use_streams(&w.vh.script);
    bool no_watch_list = i == 2;
    kin_factory_options options = KIN_FACTORY_OPTIONS_INIT;
    options.tweak = set_streams;
    options.data = &no_watch_list;
    assert_int_equal(fw_open(&w, &options), 0);
    kin_informer *full = fw_informer_of(&w, "apps", "v1", "deployments", false);
    kin_informer *partial =
        fw_informer_of(&w, "apps", "v1", "deployments", true);
    assert_int_equal(kin_factory_start(w.factory), 0);
    assert_int_equal(fw_wait(&w, 5000), 0);
    mini_pass(&w.vh.server, 5000);
    assert_int_equal(w.waits_ended, 1);
    assert_int_equal(w.wait_code, 0);
    assert_int_equal(kin_store_count(kin_informer_store(full)), 1);
    assert_int_equal(kin_store_count(kin_informer_store(partial)), 1);
    assert_int_equal(w.vh.server.lists, i == 0 ? 0 : 2);
    assert_int_equal(w.vh.server.streams, i == 0 ? 2 : 0);
    assert_int_equal(w.vh.script.stream_refused, i == 1);
    fw_finish(&w);
  }
}

/* FA-02: start is idempotent, takes what has come since, and leaves alone what
 * was started or closed otherwise. */
static void test_factory_start(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  kin_informer *pods = fw_informer(&w, "pods");
  script_run(&w.vh.script);
  assert_int_equal(w.vh.script.request_count, 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(kin_informer_start(pods), KIN_EALREADY);
  script_run(&w.vh.script);
  assert_int_equal(w.vh.script.request_count, 1);
  fw_informer(&w, "configmaps");
  kin_informer *secrets = fw_informer(&w, "secrets");
  assert_int_equal(kin_informer_start(secrets), 0);
  kin_informer *nodes = fw_informer(&w, "nodes");
  assert_int_equal(kin_informer_close(nodes, NULL, NULL), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  assert_int_equal(w.vh.script.request_count, 3);
  assert_true(w.states > 0);
  fw_close(&w);
  assert_int_equal(kin_factory_start(w.factory), KIN_ECLOSED);
  fw_finish(&w);
}

/* TestSyncResult; FA-03, SY-09: those started when it is called, by name. */
static void test_factory_wait(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  /* none */
  assert_int_equal(fw_wait(&w, 0), 0);
  assert_int_equal(w.waits_ended, 0);
  script_run(&w.vh.script);
  assert_int_equal(w.waits_ended, 1);
  assert_int_equal(w.wait_code, 0);
  assert_string_equal(w.wait_text, "");
  assert_string_equal(w.wait_error, "");

  /* all; the last one is not started, and one is closed */
  fw_informer(&w, "pods");
  fw_informer(&w, "configmaps");
  kin_informer *nodes = fw_informer(&w, "nodes");
  assert_int_equal(kin_factory_start(w.factory), 0);
  fw_informer(&w, "secrets");
  assert_int_equal(kin_informer_close(nodes, NULL, NULL), 0);
  assert_int_equal(fw_wait(&w, 1000), 0);
  assert_int_equal(kin_factory_start(w.factory), 0); /* too late for it */
  mini_serve(&w.vh.server);
  assert_int_equal(w.waits_ended, 2);
  assert_int_equal(w.wait_code, 0);
  assert_string_equal(w.wait_text, "pods.v1 configmaps.v1");

  /* one, then many that do not */
  fw_informer_of(&w, "apps", "v1", "deployments", false);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 1000), 0);
  script_advance(&w.vh.script, 1000);
  assert_int_equal(w.waits_ended, 3);
  assert_int_equal(w.wait_code, KIN_ETIMEDOUT);
  assert_string_equal(w.wait_text,
                      "pods.v1 configmaps.v1 secrets.v1 !deployments.v1.apps");
  assert_string_equal(
      w.wait_error,
      "failed to sync all caches: deployments.v1.apps: timed out");
  fw_informer(&w, "bindings");
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(fw_wait(&w, 1000), 0);
  script_advance(&w.vh.script, 1000);
  assert_string_equal(w.wait_error, "failed to sync all caches: bindings.v1, "
                                    "deployments.v1.apps: timed out");

  /* the factory is closed meanwhile */
  assert_int_equal(fw_wait(&w, 0), 0);
  fw_close(&w);
  assert_int_equal(fw_wait(&w, 0), KIN_ECLOSED);
  script_run(&w.vh.script);
  assert_int_equal(w.waits_ended, 5);
  assert_int_equal(w.wait_code, KIN_ECLOSED);
  assert_string_equal(w.wait_error,
                      "failed to sync all caches: bindings.v1, "
                      "deployments.v1.apps: already closed or closing");
  assert_int_equal(w.factories_closed, 1);
  fw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factory_shares),
      cmocka_unit_test(test_factory_triggers),
      cmocka_unit_test(test_factory_filtered),
      cmocka_unit_test(test_factory_filtered_stream),
      cmocka_unit_test(test_factory_metadata),
      cmocka_unit_test(test_factory_streams),
      cmocka_unit_test(test_factory_start),
      cmocka_unit_test(test_factory_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
