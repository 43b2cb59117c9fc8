/* SPDX-License-Identifier: MIT */

/* What a factory gives its informers: periods, callbacks, an index,
 * identifiers; and what it refuses. Proves FA-01, FA-04, IM-02, LI-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "base/str.h"
#include "support/factory_world.h"
#include "support/recorder.h"

static int count_resyncs(const recorder *rec) {
  int count = 0;
  const char *at = rec->log;
  while ((at = strstr(at, " resync\n")) != NULL) {
    count++;
    at++;
  }
  return count;
}

static void resync_secrets(kin_informer_options *options, void *data) {
  fw_ask_for_lists(options, data);
  if (strcmp(options->plural, "secrets") == 0) {
    options->resync_ms = 4000;
  }
}

/* FA-01: the default period, one of its own for a resource, the one that is
 * asked for, and tweak's, in this order. */
static void test_factory_resync(void **state) {
  (void)state;
  static const kin_factory_resync resyncs[] = {
      {"", "v1", "configmaps", 2000}, {NULL, NULL, "nodes", 0},
      {"apps", "v1", "pods", 1000},   {"", "v2", "pods", 1000},
      {"", "v1", "configmaps", 5000}, {"", "v1", "endpoints", 5000},
      {"", "v1", "secrets", 1000},
  };
  static const struct {
    const char *plural;
    uint32_t resync_ms; /* asked for */
    int resyncs;        /* in 10 s */
  } cases[] = {{"pods", 0, 1},       {"configmaps", 0, 5},
               {"nodes", 0, 0},      {"endpoints", 2500, 4},
               {"secrets", 2500, 2}, {"events", 5000, 2}};
  enum { COUNT = sizeof cases / sizeof cases[0] };
  factory_world w = {0};
  vh_init(&w.vh, 0);
  mini_put(&w.vh.server, 1);
  kin_factory_options options = fw_options(&w);
  options.resync_ms = 10000;
  options.resyncs = resyncs;
  options.resync_count = sizeof resyncs / sizeof resyncs[0];
  options.tweak = resync_secrets;
  assert_int_equal(fw_open(&w, &options), 0);
  recorder recs[COUNT];
  for (int i = 0; i < COUNT; i++) {
    kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
    io.plural = cases[i].plural;
    io.resync_ms = cases[i].resync_ms;
    kin_informer *informer;
    assert_int_equal(kin_factory_informer_with(w.factory, &io, &informer), 0);
    recorder_init(&recs[i]);
    assert_int_equal(recorder_listen(&recs[i], informer), 0);
  }
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_pass(&w.vh.server, 10000);
  for (int i = 0; i < COUNT; i++) {
    if (count_resyncs(&recs[i]) != cases[i].resyncs) {
      fail_msg("%s: %d resyncs, should be %d\n%s", cases[i].plural,
               count_resyncs(&recs[i]), cases[i].resyncs, recs[i].log);
    }
  }
  fw_finish(&w);
}

static void count_error(kin_informer *informer, kin_error_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  ++*(int *)data;
}

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  (void)informer;
  (void)event;
  (void)data;
  return KIN_MEMORY_PAUSE;
}

/* Callbacks are the factory's unless an informer brings its own, of any
 * kind. */
static void test_factory_callbacks(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  fw_informer(&w, "pods");
  int own = 0;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "nodes";
  options.on_error = count_error;
  options.data = &own;
  kin_informer *nodes;
  assert_int_equal(kin_factory_informer_with(w.factory, &options, &nodes), 0);
  options = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  options.plural = "events";
  options.max_bytes = 100000;
  options.on_max_bytes = on_max_bytes;
  kin_informer *events;
  assert_int_equal(kin_factory_informer_with(w.factory, &options, &events), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  int states = w.states; /* one: of pods */
  assert_int_equal(states, 1);
  script_respond(&w.vh.script, "/pods", 503, "");
  script_run(&w.vh.script);
  assert_int_equal(w.errors, 1);
  assert_int_equal(own, 0);
  script_respond(&w.vh.script, "/nodes", 503, "");
  script_run(&w.vh.script);
  assert_int_equal(w.errors, 1);
  assert_int_equal(own, 1);
  script_respond(&w.vh.script, "/events", 503, "");
  script_run(&w.vh.script);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.states, states);
  fw_finish(&w);
}

/* Counts, and keeps objects as they are. */
static int count_object(const kin_object *in, kin_object_builder *out,
                        void *data) {
  (void)in;
  (void)out;
  ++*(int *)data;
  return 0;
}

/* A transform is the factory's unless an informer brings its own. */
static void test_factory_transform(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  mini_put(&w.vh.server, 1);
  mini_put(&w.vh.server, 2);
  int of_factory = 0;
  int own = 0;
  kin_factory_options options = fw_options(&w);
  options.transform = count_object;
  options.transform_data = &of_factory;
  assert_int_equal(fw_open(&w, &options), 0);
  fw_informer(&w, "pods");
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(of_factory, 2);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "nodes";
  io.transform = count_object;
  io.transform_data = &own;
  kin_informer *nodes;
  assert_int_equal(kin_factory_informer_with(w.factory, &io, &nodes), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(kin_store_count(kin_informer_store(nodes)), 2);
  assert_int_equal(of_factory, 2);
  assert_int_equal(own, 2);
  fw_finish(&w);
}

static kin_str first_in(const kin_lister *lister) {
  kin_lister_scan scan = kin_lister_list(lister, NULL);
  const kin_object *object = kin_lister_next(&scan);
  assert_null(kin_lister_next(&scan));
  return object != NULL ? kin_object_key(object) : kin__cstr("");
}

/* FA-01, LI-03 (TestNamespaceGetMethod, TestListerGetMethod,
 * TestListerListMethod for a dynamic lister): stores have an index of
 * namespaces, which listers use. */
static void test_factory_listers(void **state) {
  (void)state;
  static const char *const both[] = {"even", "odd"};
  for (int i = 0; i < 4; i++) {
    factory_world w = {0};
    vh_init(&w.vh, 0);
    mini_put(&w.vh.server, 2);
    mini_put(&w.vh.server, 1);
    kin_factory_options options = fw_options(&w);
    options.namespaces = both;
    options.namespace_count = i < 3 ? (size_t)i : 2;
    options.no_namespace_index = i == 3;
    assert_int_equal(fw_open(&w, &options), 0);
    kin_informer *pods = fw_informer(&w, "pods");
    assert_int_equal(kin_factory_start(w.factory), 0);
    mini_serve(&w.vh.server);
    const kin_store *store = kin_informer_store(pods);
    assert_int_equal(kin_store_index_ready(store, "namespace"),
                     i == 0 || i == 2);
    kin_lister all = kin_lister_of(store);
    kin_lister even = kin_lister_in(all, kin__cstr("even"));
    assert_true(kin__str_equal(first_in(&even), kin__cstr("even/p2")));
    const kin_object *object;
    assert_int_equal(kin_lister_get(&even, kin__cstr("p2"), &object), 0);
    const kin_object *same;
    assert_int_equal(kin_lister_get(&all, kin__cstr("even/p2"), &same), 0);
    assert_ptr_equal(object, same); /* the cached one itself */
    assert_int_equal(kin_lister_get(&even, kin__cstr("p1"), &object),
                     KIN_ENOENT);
    assert_null(object);
    fw_finish(&w);
  }
}

/* IM-02, FA-01: informers get identifiers under the factory's name. */
static void test_factory_names(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  kin_informer_names *names;
  kin_informer_name *name;
  assert_int_equal(kin_informer_names_new(&names, NULL), 0);
  assert_int_equal(kin_informer_name_new(&name, names, "mine"), 0);
  kin_factory_options options = fw_options(&w);
  options.name = name;
  assert_int_equal(fw_open(&w, &options), 0);
  kin_informer *pods = fw_informer(&w, "pods");
  const kin_informer_id *id = kin_factory_informer_id(w.factory, pods);
  assert_true(kin_informer_id_is_reserved(id));
  assert_string_equal(kin_informer_id_name(id), "mine");
  assert_string_equal(kin_informer_id_group(id), "");
  assert_string_equal(kin_informer_id_version(id), "v1");
  assert_string_equal(kin_informer_id_plural(id), "pods");
  assert_string_equal(w.vh.text, "");

  /* The second of the same resource: metadata only. */
  kin_informer *partial = fw_informer_of(&w, NULL, NULL, "pods", true);
  const kin_informer_id *second = kin_factory_informer_id(w.factory, partial);
  assert_false(kin_informer_id_is_reserved(second));
  assert_string_equal(w.vh.text,
                      "W pods.v1 (metadata) is not the first informer of its "
                      "resource under the name mine, or the name was "
                      "released\n");

  /* When the first is gone, the next may be reserved. */
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  script_run(&w.vh.script);
  assert_null(kin_factory_informer_id(w.factory, pods));
  pods = fw_informer(&w, "pods");
  assert_true(
      kin_informer_id_is_reserved(kin_factory_informer_id(w.factory, pods)));

  /* It need not be gone: who asks while it is closing gets a new one. */
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  kin_informer *again = fw_informer(&w, "pods");
  assert_ptr_not_equal(again, pods);
  assert_true(
      kin_informer_id_is_reserved(kin_factory_informer_id(w.factory, again)));

  /* FA-04: after a close the name is free. */
  kin_informer_name *next;
  assert_int_equal(kin_informer_name_new(&next, names, "mine"), KIN_EEXIST);
  fw_close(&w);
  assert_int_equal(kin_informer_name_new(&next, names, "mine"), KIN_EEXIST);
  script_run(&w.vh.script);
  assert_int_equal(w.factories_closed, 1);
  assert_int_equal(kin_informer_name_new(&next, names, "mine"), 0);
  kin_informer_name_unref(next);
  kin_informer_name_unref(name);
  kin_informer_names_free(names);

  /* Without a name there are none. */
  assert_int_equal(fw_open(&w, NULL), 0);
  pods = fw_informer(&w, "pods");
  assert_null(kin_factory_informer_id(w.factory, pods));
  fw_finish(&w);
}

/* The own options of an informer count when it is first asked for. Options with
 * data alone turn the callbacks off. */
static void test_factory_own_options(void **state) {
  (void)state;
  static const char *const even[] = {"even"};
  static const char *const odd[] = {"odd"};
  factory_world w = {0};
  vh_init(&w.vh, 0);
  kin_factory_options options = fw_options(&w);
  options.namespaces = even;
  options.namespace_count = 1;
  assert_int_equal(fw_open(&w, &options), 0);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.namespaces = odd;
  io.namespace_count = 1;
  io.data = &io;
  kin_informer *pods;
  assert_int_equal(kin_factory_informer_with(w.factory, &io, &pods), 0);
  io.namespaces = even;
  io.label_selector = "late=1";
  kin_informer *same;
  assert_int_equal(kin_factory_informer_with(w.factory, &io, &same), 0);
  assert_ptr_equal(same, pods);
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  assert_string_equal(w.vh.script.last_target,
                      "/api/v1/namespaces/odd/pods?limit=500&"
                      "resourceVersion=0");
  script_respond(&w.vh.script, "/pods", 503, "");
  assert_int_equal(w.errors, 0);
  assert_int_equal(w.states, 0);
  assert_null(kin_factory_informer_id(w.factory, pods));
  fw_finish(&w);
}

static void count_call(void *data) {
  ++*(int *)data;
}

/* The factory copies its options, and takes a reference of the name. It accepts
 * 4,096 periods. A refused close makes no callback. */
static void test_factory_copies(void **state) {
  (void)state;
  static kin_factory_resync resyncs[4096];
  char plural[] = "pods";
  for (size_t i = 0; i < 4096; i++) {
    resyncs[i] = (kin_factory_resync){"", "v1", "others", 5000};
  }
  resyncs[4095] = (kin_factory_resync){"", "v1", plural, 1000};
  factory_world w = {0};
  vh_init(&w.vh, 0);
  mini_put(&w.vh.server, 1);
  kin_informer_names *names;
  kin_informer_name *name;
  assert_int_equal(kin_informer_names_new(&names, NULL), 0);
  assert_int_equal(kin_informer_name_new(&name, names, "mine"), 0);
  kin_factory_options options = fw_options(&w);
  options.resyncs = resyncs;
  options.resync_count = 4096;
  options.name = name;
  assert_int_equal(fw_open(&w, &options), 0);
  kin_informer_name_unref(name);
  memset(plural, 'x', sizeof plural - 1);
  memset(resyncs, 0, sizeof resyncs);
  memset(&options, 0xff, sizeof options);
  kin_informer *pods = fw_informer(&w, "pods");
  assert_string_equal(
      kin_informer_id_name(kin_factory_informer_id(w.factory, pods)), "mine");
  recorder rec;
  recorder_init(&rec);
  assert_int_equal(recorder_listen(&rec, pods), 0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  mini_pass(&w.vh.server, 3500);
  assert_int_equal(count_resyncs(&rec), 3);
  int refused = 0;
  fw_close(&w);
  assert_int_equal(kin_factory_close(w.factory, count_call, &refused),
                   KIN_EALREADY);
  script_run(&w.vh.script); /* it is gone before its client closes */
  assert_int_equal(w.factories_closed, 1);
  assert_int_equal(refused, 0);
  fw_finish(&w);
  kin_informer_names_free(names);
}

static void test_factory_bad_input(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  static const char *const bad[] = {"no/slash", "twice", "twice"};
  static const kin_factory_resync resyncs[] = {{.plural = "Pods"},
                                               {.version = "v1"},
                                               {"", "", "pods", 0},
                                               {"a/b", "v1", "pods", 0}};
  for (size_t i = 0; i < 7; i++) {
    kin_factory_options options = fw_options(&w);
    if (i < 4) {
      options.resyncs = &resyncs[i];
      options.resync_count = 1;
    } else if (i < 6) {
      options.namespaces = i == 4 ? bad : bad + 1;
      options.namespace_count = i == 4 ? 1 : 2;
    } else {
      options.namespace_count = 1;
    }
    assert_int_equal(fw_open(&w, &options), KIN_EINVAL);
    assert_null(w.factory);
  }
  kin_factory_options options = fw_options(&w);
  options.resync_count = 4097;
  assert_int_equal(fw_open(&w, &options), KIN_ETOOBIG);

  assert_int_equal(fw_open(&w, NULL), 0);
  kin_informer *informer;
  static const char *const plurals[] = {NULL, "", "Pods", "a/b"};
  for (size_t i = 0; i < 4; i++) {
    informer = (kin_informer *)&w;
    assert_int_equal(
        kin_factory_informer(w.factory, "", "v1", plurals[i], &informer),
        KIN_EINVAL);
    assert_null(informer);
  }
  assert_int_equal(
      kin_factory_informer(w.factory, "A", "v1", "pods", &informer),
      KIN_EINVAL);
  assert_int_equal(kin_factory_informer_with(w.factory, NULL, &informer),
                   KIN_EINVAL);
  kin_informer_options small = KIN_INFORMER_OPTIONS_INIT;
  small.size = 8;
  assert_int_equal(kin_factory_informer_with(w.factory, &small, &informer),
                   KIN_EINVAL);
  assert_int_equal(kin_factory_wait(w.factory, 0, NULL, NULL, NULL),
                   KIN_EINVAL);
  assert_int_equal(kin_factory_start(w.factory), 0);
  fw_close(&w);
  assert_int_equal(kin_factory_close(w.factory, NULL, NULL), KIN_EALREADY);
  assert_int_equal(kin_factory_informer(w.factory, "", "v1", "pods", &informer),
                   KIN_ECLOSED);
  fw_finish(&w);
  assert_int_equal(w.vh.script.request_count, 0);
}

/* There is a bound, and one that is closed makes room. */
static void test_factory_full(void **state) {
  (void)state;
  factory_world w = {0};
  vh_init(&w.vh, 0);
  assert_int_equal(fw_open(&w, NULL), 0);
  char plural[16];
  for (int i = 0; i < 4096; i++) {
    snprintf(plural, sizeof plural, "r%d", i);
    fw_informer(&w, plural);
  }
  kin_informer *first = fw_informer(&w, "r0");
  kin_informer *informer;
  assert_int_equal(
      kin_factory_informer(w.factory, NULL, NULL, "pods", &informer),
      KIN_ETOOBIG);
  assert_null(informer);
  assert_int_equal(kin_informer_close(first, NULL, NULL), 0);
  script_run(&w.vh.script);
  fw_informer(&w, "pods");
  fw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factory_resync),
      cmocka_unit_test(test_factory_callbacks),
      cmocka_unit_test(test_factory_transform),
      cmocka_unit_test(test_factory_listers),
      cmocka_unit_test(test_factory_names),
      cmocka_unit_test(test_factory_own_options),
      cmocka_unit_test(test_factory_copies),
      cmocka_unit_test(test_factory_bad_input),
      cmocka_unit_test(test_factory_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
