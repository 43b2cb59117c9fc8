/* SPDX-License-Identifier: MIT */

/* Feature gates: defaults, what is set by name, what the environment says, and
 * what is locked. Proves FG-01, FG-02, FG-03, FG-04. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/features.h>

/* An environment of one variable, and a log. */
typedef struct world {
  const char *variable;
  const char *value;
  int asked;
  int asked_right; /* names that begin as they should */
  int lines;
  char last_line[512];
} world;

static const char *get(const char *name, void *data) {
  world *w = data;
  w->asked++;
  w->asked_right += strncmp(name, "KUBE_FEATURE_", 13) == 0;
  return w->variable != NULL && strcmp(name, w->variable) == 0 ? w->value
                                                               : NULL;
}

static void log_line(kin_log_level level, const char *line, void *data) {
  world *w = data;
  assert_int_equal(level, KIN_LOG_ERROR);
  w->lines++;
  snprintf(w->last_line, sizeof w->last_line, "%s", line);
}

static const kin_feature_info *info(const char *name, kin_feature *feature) {
  assert_int_equal(kin_feature_by_name(name, feature), 0);
  return kin_feature_get_info(*feature);
}

/* FG-01: every gate of client-go is known; a gate is locked iff there is one
 * way only; defaults are what this library does. */
static void test_features_are_known(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool is_enabled;
    bool is_locked;
  } cases[] = {
      {"AtomicFIFO", false, true},
      {"ClientsAllowCARotation", true, true},
      {"ClientsAllowCBOR", false, true},
      {"ClientsAllowTLSCacheGC", true, true},
      {"ClientsPreferCBOR", false, true},
      {"InOrderInformers", false, true},
      {"InOrderInformersBatchProcess", true, true},
      {"InformerResourceVersion", true, true},
      {"UnlockWhileProcessingFIFO", true, true},
      {"WatchListClient", true, false},
  };
  size_t count = sizeof cases / sizeof cases[0];
  const kin_features defaults = {0};
  for (size_t i = 0; i < count; i++) {
    kin_feature feature;
    const kin_feature_info *gate = info(cases[i].name, &feature);
    assert_int_equal(feature, i);
    assert_string_equal(gate->name, cases[i].name);
    assert_int_equal(gate->is_enabled, cases[i].is_enabled);
    assert_int_equal(gate->is_locked, cases[i].is_locked);
    assert_int_equal(kin_features_is_enabled(&defaults, feature),
                     cases[i].is_enabled);
  }
  assert_null(kin_feature_get_info((kin_feature)count));
}

typedef struct scenario {
  const char *variable; /* NULL: nothing in the environment */
  const char *value;
  const char *gate;
  const char *set; /* "on", "off", "test on", "test off" or NULL */
  bool is_enabled;
  int lines;
} scenario;

static void set_gate(kin_features *features, const scenario *s) {
  if (s->set != NULL && strncmp(s->set, "test ", 5) == 0) {
    assert_int_equal(kin_features_set_for_testing(
                         features, s->gate, strcmp(s->set + 5, "on") == 0),
                     0);
  } else if (s->set != NULL) {
    assert_int_equal(
        kin_features_set(features, s->gate, strcmp(s->set, "on") == 0), 0);
  }
}

/* TestEnvVarFeatureGates: the table there, and FG-02, FG-03; the order in which
 * the environment is read and a gate is set makes no difference. */
static void test_features_env(void **state) {
  (void)state;
  static const scenario scenarios[] = {
      /* nothing set */
      {NULL, NULL, "WatchListClient", NULL, true, 0},
      {NULL, NULL, "ClientsAllowCBOR", NULL, false, 0},
      /* a variable without the prefix */
      {"WatchListClient", "false", "WatchListClient", NULL, true, 0},
      /* a good one */
      {"KUBE_FEATURE_WatchListClient", "false", "WatchListClient", NULL, false,
       0},
      {"KUBE_FEATURE_WatchListClient", "1", "WatchListClient", NULL, true, 0},
      /* no boolean, or nothing */
      {"KUBE_FEATURE_WatchListClient", "TrueFalse", "WatchListClient", NULL,
       true, 1},
      {"KUBE_FEATURE_WatchListClient", "", "WatchListClient", NULL, true, 1},
      /* locked */
      {"KUBE_FEATURE_ClientsAllowCARotation", "False", "ClientsAllowCARotation",
       NULL, true, 1},
      {"KUBE_FEATURE_ClientsAllowCARotation", "True", "ClientsAllowCARotation",
       NULL, true, 0},
      {"KUBE_FEATURE_AtomicFIFO", "T", "AtomicFIFO", NULL, false, 1},
      /* set by the program, which wins */
      {NULL, NULL, "WatchListClient", "off", false, 0},
      {"KUBE_FEATURE_WatchListClient", "True", "WatchListClient", "off", false,
       0},
      {"KUBE_FEATURE_WatchListClient", "false", "WatchListClient", "on", true,
       0},
      /* locked, but for testing */
      {NULL, NULL, "ClientsAllowCARotation", "test off", false, 0},
      {NULL, NULL, "AtomicFIFO", "test on", true, 0},
  };
  for (size_t i = 0; i < 2 * (sizeof scenarios / sizeof scenarios[0]); i++) {
    const scenario *s = &scenarios[i / 2];
    bool is_set_first = i % 2 == 0;
    world w = {.variable = s->variable, .value = s->value};
    kin_features features = {0};
    if (is_set_first) {
      set_gate(&features, s);
    }
    assert_int_equal(kin_features_read_env(&features, get, log_line, &w), 0);
    if (!is_set_first) {
      set_gate(&features, s);
    }
    assert_int_equal(w.asked, 10);
    assert_int_equal(w.asked_right, 10);
    assert_int_equal(w.lines, s->lines);
    assert_true(s->lines == 0 || strstr(w.last_line, s->gate) != NULL);
    kin_feature feature;
    info(s->gate, &feature);
    if (kin_features_is_enabled(&features, feature) != s->is_enabled) {
      fail_msg("scenario %zu: %s is not %d", i / 2, s->gate, s->is_enabled);
    }
  }
}

/* The log says how a gate is left, which the program may have set before. */
static void test_features_env_log_is_true(void **state) {
  (void)state;
  world w = {.variable = "KUBE_FEATURE_WatchListClient", .value = "maybe"};
  kin_features features = {0};
  assert_int_equal(kin_features_set(&features, "WatchListClient", false), 0);
  assert_int_equal(kin_features_read_env(&features, get, log_line, &w), 0);
  assert_non_null(strstr(w.last_line, "left off"));
  w = (world){.variable = "KUBE_FEATURE_AtomicFIFO", .value = "true"};
  features = (kin_features){0};
  assert_int_equal(kin_features_set_for_testing(&features, "AtomicFIFO", true),
                   0);
  assert_int_equal(kin_features_read_env(&features, get, log_line, &w), 0);
  assert_non_null(strstr(w.last_line, "left on"));
}

/* FG-02: what a boolean looks like. */
static void test_features_boolean(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int value; /* -1: none */
  } cases[] = {{"1", 1},     {"t", 1},     {"T", 1},      {"TRUE", 1},
               {"true", 1},  {"True", 1},  {"0", 0},      {"f", 0},
               {"F", 0},     {"FALSE", 0}, {"false", 0},  {"False", 0},
               {"tRUE", -1}, {"yes", -1},  {" true", -1}, {"true ", -1},
               {"2", -1},    {"on", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    world w = {.variable = "KUBE_FEATURE_WatchListClient",
               .value = cases[i].text};
    kin_features features = {0};
    assert_int_equal(kin_features_read_env(&features, get, log_line, &w), 0);
    assert_int_equal(w.lines, cases[i].value < 0);
    assert_int_equal(
        kin_features_is_enabled(&features, KIN_FEATURE_WATCH_LIST_CLIENT),
        cases[i].value != 0);
  }
}

/* TestHasAlreadyReadEnvVar; FG-02: it is read once, and FG-04: only when asked
 * to, from what is given. */
static void test_features_env_is_read_once(void **state) {
  (void)state;
  world w = {.variable = "KUBE_FEATURE_WatchListClient", .value = "false"};
  kin_features features = {0};
  assert_false(kin_features_has_read_env(&features));
  assert_int_equal(kin_features_read_env(&features, NULL, log_line, &w),
                   KIN_EINVAL);
  assert_false(kin_features_has_read_env(&features));
  assert_true(
      kin_features_is_enabled(&features, KIN_FEATURE_WATCH_LIST_CLIENT));
  assert_int_equal(w.asked, 0);

  assert_int_equal(kin_features_read_env(&features, get, NULL, &w), 0);
  assert_true(kin_features_has_read_env(&features));
  w.value = "true";
  assert_int_equal(kin_features_read_env(&features, get, NULL, &w),
                   KIN_EALREADY);
  assert_int_equal(w.asked, 10);
  assert_false(
      kin_features_is_enabled(&features, KIN_FEATURE_WATCH_LIST_CLIENT));
}

/* TestEnvVarFeatureGatesSetNegative; FG-03. */
static void test_features_set_fails(void **state) {
  (void)state;
  kin_features features = {0};
  assert_int_equal(kin_features_set(&features, "", true), KIN_ENOENT);
  assert_int_equal(kin_features_set(&features, NULL, true), KIN_ENOENT);
  assert_int_equal(kin_features_set(&features, "Unknown", true), KIN_ENOENT);
  assert_int_equal(kin_features_set_for_testing(&features, "Unknown", true),
                   KIN_ENOENT);
  assert_int_equal(
      kin_features_set(&features, "InformerResourceVersion", false),
      KIN_ENOTSUP);
  assert_true(kin_features_is_enabled(&features,
                                      KIN_FEATURE_INFORMER_RESOURCE_VERSION));
  assert_int_equal(kin_features_set(&features, "InformerResourceVersion", true),
                   0);
  kin_feature feature = KIN_FEATURE_CLIENTS_ALLOW_CBOR;
  assert_int_equal(kin_feature_by_name("watchlistclient", &feature),
                   KIN_ENOENT);
  assert_int_equal(feature, KIN_FEATURE_CLIENTS_ALLOW_CBOR);
}

/* TestEnvVarFeatureGatesEnabledPanic; FG-03: an unknown gate is off; nothing
 * here ends the program. */
static void test_features_unknown_is_off(void **state) {
  (void)state;
  kin_features features = {0};
  memset(&features.is_set, 0xff, sizeof features.is_set);
  memset(&features.set_to, 0xff, sizeof features.set_to);
  assert_true(
      kin_features_is_enabled(&features, KIN_FEATURE_WATCH_LIST_CLIENT));
  assert_false(kin_features_is_enabled(&features, (kin_feature)10));
  assert_false(kin_features_is_enabled(&features, (kin_feature)64));
  assert_false(kin_features_is_enabled(&features, (kin_feature)-1));
}

/* FG-05: a gate counts when an informer is opened. */
static void test_features_apply(void **state) {
  (void)state;
  kin_features features = {0};
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  kin_features_apply(&features, &options);
  assert_false(options.no_watch_list);
  assert_int_equal(kin_features_set(&features, "WatchListClient", false), 0);
  kin_informer_options older = KIN_INFORMER_OPTIONS_INIT;
  older.size = offsetof(kin_informer_options, no_watch_list);
  kin_features_apply(&features, &older);
  assert_false(older.no_watch_list);
  kin_features_apply(&features, &options);
  assert_true(options.no_watch_list);
  /* What the program has switched off stays off. */
  assert_int_equal(kin_features_set(&features, "WatchListClient", true), 0);
  kin_features_apply(&features, &options);
  assert_true(options.no_watch_list);
}

/* All other options are left as they are; a set may be copied. */
static void test_features_apply_to_one_option(void **state) {
  (void)state;
  kin_features features = {0};
  assert_int_equal(kin_features_set(&features, "WatchListClient", false), 0);
  kin_features copy = features;
  memset(&features, 0, sizeof features);
  kin_informer_options options;
  memset(&options, 0x5a, sizeof options);
  options.size = sizeof options;
  options.no_watch_list = false;
  kin_informer_options expected;
  memcpy(&expected, &options, sizeof options);
  kin_features_apply(&copy, &options);
  expected.no_watch_list = true;
  assert_memory_equal(&options, &expected, sizeof options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_features_are_known),
      cmocka_unit_test(test_features_env),
      cmocka_unit_test(test_features_env_log_is_true),
      cmocka_unit_test(test_features_boolean),
      cmocka_unit_test(test_features_env_is_read_once),
      cmocka_unit_test(test_features_set_fails),
      cmocka_unit_test(test_features_unknown_is_off),
      cmocka_unit_test(test_features_apply),
      cmocka_unit_test(test_features_apply_to_one_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
