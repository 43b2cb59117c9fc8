/* SPDX-License-Identifier: MIT */

/* Parameters, modifiers and the consistency of lists reach whatever is opened
 * with an informer's options: factories, reflectors, controllers. Proves LW-02,
 * LW-05, FA-01, FA-05, RF-14 (the first list's version). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/controller_world.h"
#include "support/factory_world.h"
#include "support/reflector_rig.h"

static const kin_parameter tenant = {"tenant", "t/1"};

static int modified;

static int on_modify(kin_request_options *options, void *data) {
  modified++;
  options->label_selector = data;
  return 0;
}

static void tweak(kin_informer_options *options, void *data) {
  (void)data;
  options->no_watch_list = true;
  options->parameters = &tenant;
  options->parameter_count = 1;
  options->modify = on_modify;
  options->modify_data = (void *)"a!=b";
}

static void assert_asks(const script_env *script, const char *part) {
  if (strstr(script->last_target, part) == NULL) {
    fail_msg("%s is not in %s", part, script->last_target);
  }
}

/* TestFilteredDynamicSharedInformerFactory; LW-05, FA-05: what a factory's
 * tweak says holds for lists and watches of each informer. */
static void test_factory(void **state) {
  (void)state;
  factory_world w;
  memset(&w, 0, sizeof w);
  vh_init(&w.vh, 0);
  kin_factory_options options = fw_options(&w);
  options.tweak = tweak;
  assert_int_equal(fw_open(&w, &options), 0);
  kin_informer *pods = fw_informer(&w, "pods");
  modified = 0;
  assert_int_equal(kin_factory_start(w.factory), 0);
  script_run(&w.vh.script);
  assert_asks(&w.vh.script, "?labelSelector=a%21%3Db&limit=500&");
  assert_asks(&w.vh.script, "&tenant=t%2F1");
  mini_serve(&w.vh.server);
  assert_true(kin_informer_has_synced(pods));
  assert_asks(&w.vh.script, "&labelSelector=a%21%3Db&");
  assert_asks(&w.vh.script, "&tenant=t%2F1&");
  assert_asks(&w.vh.script, "&watch=true");
  assert_int_equal(modified, 2);
  fw_finish(&w);
}

static void test_controller(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_IN_ORDER, 0);
  tweak(&w.resource, NULL);
  assert_int_equal(cw_open(&w), 0);
  script_run(&w.vh.script);
  assert_asks(&w.vh.script, "labelSelector=a%21%3Db&");
  mini_serve(&w.vh.server);
  assert_int_equal(w.synced, 1);
  assert_asks(&w.vh.script, "&tenant=t%2F1&");
  assert_asks(&w.vh.script, "&watch=true");
  cw_finish(&w);
}

/* A modifier that fails is told, and asked again after the backoff. */
static int fail_once(kin_request_options *options, void *data) {
  (void)options;
  return ++*(int *)data == 1 ? KIN_ETIMEDOUT : 0;
}

static void test_reflector(void **state) {
  (void)state;
  int calls = 0;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.modify = fail_once;
  f.resource.modify_data = &calls;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_expect(&f.source, "");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_code, KIN_ETIMEDOUT);
  script_advance(&f.vh.script, 3000);
  hand_source_expect(&f.source, "L:0/500");
  assert_int_equal(calls, 2);
  reflector_rig_finish(&f);
}

/* How new the first list of a reflector has to be, also if it comes as a
 * watch. */
static void test_consistency(void **state) {
  (void)state;
  static const struct {
    kin_consistency consistency;
    const char *start_version;
    const char *list;
    const char *stream;
  } cases[] = {
      {KIN_CONSISTENCY_ANY, NULL, "L:0/500", "I:>"},
      {KIN_CONSISTENCY_AT_LEAST, "77", "L:77>", "I:77>"},
      {KIN_CONSISTENCY_MOST_RECENT, NULL, "L:/500", "I:>"},
  };
  for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    bool is_stream = i % 2 == 1;
    reflector_rig f;
    reflector_rig_init(&f, 0);
    script_use_streams(&f.vh.script);
    f.source.lister_watcher.watch_list = is_stream;
    f.resource.consistency = cases[i / 2].consistency;
    f.resource.start_version = cases[i / 2].start_version;
    assert_int_equal(reflector_rig_open(&f), 0);
    hand_source_expect(&f.source,
                       is_stream ? cases[i / 2].stream : cases[i / 2].list);
    reflector_rig_finish(&f);
  }
}

/* A silent watch is asked about after stale_after_ms. */
static void test_stale_after(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.stale_after_ms = 20000;
  reflector_rig_open_watching(&f);
  script_advance(&f.vh.script, 19000);
  assert_string_equal(f.states, "syncing live ");
  hand_source_bookmark(&f.source, "6");
  script_advance(&f.vh.script, 19000);
  assert_string_equal(f.states, "syncing live ");
  script_advance(&f.vh.script, 2000);
  assert_string_equal(f.states, "syncing live stale ");
  reflector_rig_finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factory),     cmocka_unit_test(test_controller),
      cmocka_unit_test(test_reflector),   cmocka_unit_test(test_consistency),
      cmocka_unit_test(test_stale_after),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
