/* SPDX-License-Identifier: MIT */

/* Which resource a word names: kubectl's answers on a real server's resources,
 * on groups that share words, and the words that are like an unknown one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "discovery/document.h"
#include "support/documents.h"
#include "discovery/lookup.h"
#include "discovery/near.h"
#include "support/fail_alloc.h"
#include "support/wire.h"

/* Rows "group/version plural singular Kind short category". "-": none. */
typedef struct row {
  const char *group;
  const char *version;
  const char *plural;
  const char *singular;
  const char *kind;
  const char *short_name;
  const char *category;
} row;

static void add_name(kin__api_names *names, const char *name) {
  if (strcmp(name, "-") != 0) {
    kin__api_names_add(names, kin__cstr(name));
  }
}

static void add_row(kin__api_table *table, const row *from) {
  kin__api_version *version = NULL;
  for (uint32_t v = 0; v < table->version_count; v++) {
    if (strcmp(table->versions[v]->group, from->group) == 0 &&
        strcmp(table->versions[v]->version, from->version) == 0) {
      version = table->versions[v];
    }
  }
  if (version == NULL) {
    assert_int_equal(kin__api_table_add_version(table, kin__cstr(from->group),
                                                kin__cstr(from->version),
                                                KIN__API_KNOWN, &version),
                     0);
  }
  kin__api_entry entry = {.plural = kin__cstr(from->plural),
                          .singular = kin__cstr(from->singular),
                          .kind = kin__cstr(from->kind),
                          .is_namespaced = true};
  add_name(&entry.short_names, from->short_name);
  add_name(&entry.categories, from->category);
  assert_int_equal(kin__api_table_add(table, version, &entry), 0);
}

static void fill(kin__api_table *table, const row *rows, size_t count) {
  kin__api_table_init(table, kin__default_allocator());
  for (size_t i = 0; i < count; i++) {
    add_row(table, &rows[i]);
  }
}

static void fill_recorded(kin__api_table *table) {
  kin__api_table_init(table, kin__default_allocator());
  kin_str body = wire_body("discovery-aggregated.http");
  assert_int_equal(read_root_document(table, body, false), 0);
  free((void *)body.data);
  assert_int_equal(
      read_root_document(
          table, KIN__LIT("{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"),
          true),
      0);
  body = wire_body("discovery-core.http");
  assert_int_equal(read_version_document(table, table->versions[0], body), 0);
  free((void *)body.data);
}

/* "deployments.v1.apps events.v1." and so on: what was found, in order. */
static int look(const kin__api_table *table, const char *text, char *out,
                size_t size, bool *is_category) {
  kin__word word;
  kin__found found;
  assert_null(kin__word_split(&word, kin__cstr(text)));
  int err = kin__lookup(&found, table, &word);
  out[0] = '\0';
  for (uint32_t i = 0; i < found.count; i++) {
    const kin_api_resource *resource = found.resources[i];
    size_t length = strlen(out);
    snprintf(out + length, size - length, "%s%s.%s.%s", i == 0 ? "" : " ",
             resource->plural, resource->version, resource->group);
  }
  *is_category = found.is_category;
  kin__found_finish(&found);
  return err;
}

static void expect(const kin__api_table *table, const char *word, int code,
                   const char *expected) {
  char found[2048];
  bool is_category;
  int err = look(table, word, found, sizeof found, &is_category);
  if (err != code || strcmp(found, expected) != 0 || is_category) {
    fail_msg("%s: %s, \"%s\", not \"%s\"%s", word, kin_err_name(err), found,
             expected, is_category ? ", a category" : "");
  }
}

static void expect_category(const kin__api_table *table, const char *word,
                            const char *expected) {
  char found[2048];
  bool is_category;
  assert_int_equal(look(table, word, found, sizeof found, &is_category), 0);
  assert_true(is_category);
  assert_string_equal(found, expected);
}

/* --- A real server -------------------------------------------------------- */

static void test_words_of_a_server(void **state) {
  (void)state;
  static const struct {
    const char *word;
    const char *found;
  } rows[] = {
      {"pods", "pods.v1."},
      {"pod", "pods.v1."},
      {"po", "pods.v1."},
      {"Pod", "pods.v1."},
      {"PODS", "pods.v1."},
      {"pods/web", "pods.v1."},
      {"pods.v1.", "pods.v1."},
      {"deploy", "deployments.v1.apps"},
      {"deployments/web", "deployments.v1.apps"},
      {"Deployment", "deployments.v1.apps"},
      {"deployment.apps", "deployments.v1.apps"},
      {"Deployment.apps", "deployments.v1.apps"},
      {"deploy.v1.apps", "deployments.v1.apps"},
      {"Deployment.v1.apps", "deployments.v1.apps"},
      {"deploy.v1.apps/web", "deployments.v1.apps"},
      {"hpa", "horizontalpodautoscalers.v2.autoscaling"},
      {"hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling"},
      {"hpa.autoscal", "horizontalpodautoscalers.v2.autoscaling"},
      {"Widget", "widgets.v1.example.com"},
      {"widgets.example.com", "widgets.v1.example.com"},
      {"widgets.v1.example.com", "widgets.v1.example.com"},
      {"ingresses.networking", "ingresses.v1.networking.k8s.io"},
      {"ing", "ingresses.v1.networking.k8s.io"},
      {"ing.networking.k8s.io", "ingresses.v1.networking.k8s.io"},
      {"events", "events.v1. events.v1.events.k8s.io"},
      {"ev", "events.v1. events.v1.events.k8s.io"},
      {"events.events.k8s.io", "events.v1.events.k8s.io"},
      {"crd", "customresourcedefinitions.v1.apiextensions.k8s.io"},
      {"endpoints", "endpoints.v1."},
  };
  kin__api_table table;
  fill_recorded(&table);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect(&table, rows[i].word, 0, rows[i].found);
  }
  static const char *const unknown[] = {"podz",
                                        "pods.apps",
                                        "deploy.v2.apps",
                                        "pods.v2.",
                                        "x",
                                        "pods/",
                                        "deploy.v1.app2",
                                        ".apps",
                                        ".",
                                        "..",
                                        "status",
                                        "pods.v1.apps",
                                        "all/web",
                                        "scale",
                                        "v1",
                                        "widgets.e.",
                                        "widgets.v1.example.com.org"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    if (strcmp(unknown[i], "pods/") != 0) {
      expect(&table, unknown[i], KIN_ENOENT, "");
    }
  }
  kin__api_table_finish(&table);
}

static void test_categories(void **state) {
  (void)state;
  kin__api_table table;
  fill_recorded(&table);
  expect_category(
      &table, "all",
      "pods.v1. replicationcontrollers.v1. services.v1. daemonsets.v1.apps "
      "deployments.v1.apps replicasets.v1.apps statefulsets.v1.apps "
      "horizontalpodautoscalers.v2.autoscaling cronjobs.v1.batch "
      "jobs.v1.batch");
  expect_category(
      &table, "API-extensions",
      "apiservices.v1.apiregistration.k8s.io "
      "mutatingadmissionpolicies.v1.admissionregistration.k8s.io "
      "mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io "
      "mutatingwebhookconfigurations.v1.admissionregistration.k8s.io "
      "validatingadmissionpolicies.v1.admissionregistration.k8s.io "
      "validatingadmissionpolicybindings.v1.admissionregistration.k8s.io "
      "validatingwebhookconfigurations.v1.admissionregistration.k8s.io "
      "customresourcedefinitions.v1.apiextensions.k8s.io");
  expect(&table, "all/web", KIN_ENOENT, "");
  kin__api_table_finish(&table);
}

/* --- Groups that share words ---------------------------------------------- */

static const row shared[] = {
    {"", "v1", "pods", "pod", "Pod", "po", "all"},
    {"", "v1", "events", "event", "Event", "ev", "-"},
    {"extensions", "v1beta1", "deployments", "deployment", "Deployment",
     "deploy", "-"},
    {"apps", "v1", "deployments", "deployment", "Deployment", "deploy", "-"},
    {"apps", "v1beta1", "deployments", "deployment", "Deployment", "deploy",
     "-"},
    {"apps", "v1beta1", "rollbacks", "rollback", "Rollback", "-", "-"},
    {"metrics.k8s.io", "v1beta1", "pods", "", "PodMetrics", "-", "-"},
    {"a.io", "v1", "foos", "foo", "Foo", "po", "-"},
    {"a.io", "v1", "po", "bar", "Bar", "fu", "-"},
    {"b.io", "v1", "twos", "same", "Two", "tw", "-"},
    {"b.io", "v1", "threes", "same", "Three", "tw", "-"},
    {"b.io", "v1", "fours", "twos", "Four", "-", "-"},
    {"b.io", "v1", "fives", "five", "Same", "-", "pods"},
    {"b.io", "v1", "sixes", "six", "Same", "-", "-"},
    {"b.io", "v1", "sevens", "both", "Seven", "-", "-"},
    {"b.io", "v1", "eights", "both", "Eight", "-", "-"},
    {"b.io", "v1", "both", "nine", "Nine", "-", "-"},
    {"apps.b.io", "v1", "widgets", "widget", "Widget", "-", "-"},
    {"apps", "v2", "widgets", "widget", "Widget", "-", "-"},
};

/* apimachinery's TestPriorityRESTMapperResourceForErrorHandling and
 * TestPriorityRESTMapperRESTMappingHonorsUserVersion: the server's order
 * decides, unless the word has a version. */
static void test_order_of_groups(void **state) {
  (void)state;
  kin__api_table table;
  fill(&table, shared, sizeof shared / sizeof *shared);
  expect(&table, "deployments", 0,
         "deployments.v1beta1.extensions deployments.v1.apps");
  expect(&table, "deployments.apps", 0, "deployments.v1.apps");
  expect(&table, "deployments.v1beta1.apps", 0, "deployments.v1beta1.apps");
  /* Only an older version of the group has it. */
  expect(&table, "rollbacks", 0, "rollbacks.v1beta1.apps");
  expect(&table, "pods.metrics", 0, "pods.v1beta1.metrics.k8s.io");
  expect(&table, "podmetrics", 0, "pods.v1beta1.metrics.k8s.io");
  expect(&table, "PodMetrics.metrics.k8s.io", 0, "pods.v1beta1.metrics.k8s.io");
  /* The version that is wanted, of any group. */
  expect(&table, "deployments.v1.", 0, "deployments.v1.apps");
  /* A group's own name beats the beginning of another. */
  expect(&table, "widgets.apps", 0, "widgets.v2.apps");
  expect(&table, "widgets.apps.b", 0, "widgets.v1.apps.b.io");
  kin__api_table_finish(&table);
}

/* client-go's TestReplaceAliases, TestKindFor of the shortcut expander: a short
 * name counts only if no resource has the word as its name. */
static void test_short_names(void **state) {
  (void)state;
  static const row rows[] = {
      {"", "v1", "pods", "pod", "Pod", "-", "-"},
      {"acme.com", "v1", "poddlers", "poddler", "Poddler", "pods", "-"},
      {"acme.com", "v1", "poodles", "poodle", "Poodle", "pod", "-"},
      {"autoscaling", "v1", "superhorizontalpodautoscalers", "-", "Super",
       "hpa", "-"},
      {"autoscaling", "v1", "horizontalpodautoscalers", "-", "Auto", "hpa",
       "-"},
      {"foo", "v1", "deployments", "deployment", "Deployment", "dpl", "-"},
      {"extension", "v1beta1", "deployments", "deployment", "Deployment",
       "deploy", "-"},
      {"storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass",
       "sc", "-"},
  };
  kin__api_table named;
  fill(&named, rows, sizeof rows / sizeof *rows);
  expect(&named, "storageclasses", 0, "storageclasses.v1.storage.k8s.io");
  expect(&named, "hpa", 0,
         "superhorizontalpodautoscalers.v1.autoscaling "
         "horizontalpodautoscalers.v1.autoscaling");
  expect(&named, "dpl", 0, "deployments.v1.foo");
  expect(&named, "deploy", 0, "deployments.v1beta1.extension");
  expect(&named, "pods", 0, "pods.v1.");
  expect(&named, "pod", 0, "pods.v1.");
  expect(&named, "sc", 0, "storageclasses.v1.storage.k8s.io");
  expect(&named, "sc.storage.k8s.io", 0, "storageclasses.v1.storage.k8s.io");
  kin__api_table_finish(&named);
  kin__api_table table;
  fill(&table, shared, sizeof shared / sizeof *shared);
  expect(&table, "po", 0, "po.v1.a.io");
  expect(&table, "po.a.io", 0, "po.v1.a.io");
  expect(&table, "fu", 0, "po.v1.a.io");
  expect(&table, "fu.a", 0, "po.v1.a.io");
  expect(&table, "fu.b", KIN_ENOENT, "");
  kin__api_table_finish(&table);
}

/* apimachinery's TestPriorityRESTMapperKindForErrorHandling, "ambiguous
 * match". */
static void test_ambiguous(void **state) {
  (void)state;
  kin__api_table table;
  fill(&table, shared, sizeof shared / sizeof *shared);
  expect(&table, "same", KIN_EAMBIGUOUS, "twos.v1.b.io threes.v1.b.io");
  expect(&table, "tw", 0, "twos.v1.b.io threes.v1.b.io");
  /* A plural is never ambiguous. */
  expect(&table, "twos", 0, "twos.v1.b.io fours.v1.b.io");
  expect(&table, "fives", 0, "fives.v1.b.io");
  expect(&table, "both", 0, "both.v1.b.io sevens.v1.b.io eights.v1.b.io");
  expect_category(&table, "pods", "fives.v1.b.io");
  expect(&table, "pods/x", 0, "pods.v1. pods.v1beta1.metrics.k8s.io");
  kin__api_table_finish(&table);
}

static void test_ambiguous_kind(void **state) {
  (void)state;
  static const row rows[] = {
      {"b.io", "v1", "fives", "five", "Same", "-", "-"},
      {"b.io", "v1", "sixes", "six", "Same", "-", "-"},
      {"c.io", "v1", "sevens", "seven", "Same", "-", "-"}};
  kin__api_table table;
  fill(&table, rows, 3);
  expect(&table, "Same", KIN_EAMBIGUOUS, "fives.v1.b.io sixes.v1.b.io");
  expect(&table, "same.c", 0, "sevens.v1.c.io");
  kin__api_table_finish(&table);
}

/* As kubectl's shortcut expander before its mapper: a short name of a group that
 * begins like the word's goes before a plural of such a group. And
 * schema.ParseResourceArg: two dots are first read with a version. */
static void test_order_of_readings(void **state) {
  (void)state;
  static const row rows[] = {{"abc.io", "v1", "xs", "x", "X", "-", "-"},
                             {"abd.io", "v1", "ones", "one", "One", "xs", "-"},
                             {"v1.g", "v2", "ys", "y", "Y", "-", "-"},
                             {"g", "v1", "ys", "y", "Y", "-", "-"}};
  kin__api_table table;
  fill(&table, rows, sizeof rows / sizeof *rows);
  expect(&table, "xs.ab", 0, "ones.v1.abd.io");
  expect(&table, "xs.abc", 0, "xs.v1.abc.io");
  expect(&table, "ys.v1.g", 0, "ys.v1.g");
  expect(&table, "ys.v2.v1.g", 0, "ys.v2.v1.g");
  kin__api_table_finish(&table);
}

/* A repeated group or resource is the same one. */
static void test_repeated(void **state) {
  (void)state;
  static const row rows[] = {{"a", "v1", "xs", "x", "X", "s", "all"},
                             {"a", "v1", "xs", "x", "X", "s", "all"},
                             {"a", "v2", "xs", "x", "X", "s", "all"}};
  kin__api_table table;
  fill(&table, rows, 3);
  expect(&table, "xs", 0, "xs.v1.a");
  expect(&table, "x", 0, "xs.v1.a");
  expect(&table, "s", 0, "xs.v1.a");
  expect_category(&table, "all", "xs.v1.a");
  kin__api_table_finish(&table);
}

/* --- Words ---------------------------------------------------------------- */

static void test_split(void **state) {
  (void)state;
  kin__word word;
  static const char *const refused[] = {"",      "/",    "a/",   "/a",
                                        "a/b/c", "a//b", "a\nb", "a/b\x7f"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_non_null(kin__word_split(&word, kin__cstr(refused[i])));
  }
  assert_null(kin__word_split(&word, KIN__LIT("deploy.apps/web.1")));
  assert_true(kin__str_equal(word.resource, KIN__LIT("deploy.apps")));
  assert_true(kin__str_equal(word.name, KIN__LIT("web.1")));
  static char text[KIN__WORD_MAX + 2];
  memset(text, 'a', sizeof text - 1);
  assert_non_null(kin__word_split(&word, kin__cstr(text)));
  text[KIN__WORD_MAX] = '\0';
  assert_null(kin__word_split(&word, kin__cstr(text)));
  assert_int_equal(word.name.length, 0);
}

/* --- Near words ----------------------------------------------------------- */

static void test_distance(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    unsigned limit;
    unsigned distance;
  } rows[] = {
      {"", "", 3, 0},
      {"pods", "pods", 3, 0},
      {"pods", "PODS", 3, 0},
      {"pods", "pod", 3, 1},
      {"pods", "poods", 3, 1},
      {"pods", "pdos", 3, 1},
      {"pods", "nods", 3, 1},
      {"pods", "nodes", 3, 2},
      {"abcd", "badc", 3, 2},
      {"pods", "secrets", 2, 3},
      {"abc", "", 3, 3},
      {"", "abc", 2, 3},
      {"kitten", "sitting", 3, 3},
      {"kitten", "sitting", 2, 3},
      {"abcdefghij", "cdefghijab", 3, 4},
      {"abcdefghij", "abcdefgxyz", 3, 3},
      {"abcdefghij", "abcdefghijklm", 3, 3},
      {"abcdefghij", "xbacdefghijk", 3, 3},
      {"abcdefghij", "abcdefghji", 0, 1},
      {"abcdefghij", "abcdefghji", 1, 1},
  };
  unsigned work = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_str a = kin__cstr(rows[i].a);
    kin_str b = kin__cstr(rows[i].b);
    assert_int_equal(kin__near_distance(a, b, rows[i].limit, &work),
                     rows[i].distance);
    assert_int_equal(kin__near_distance(b, a, rows[i].limit, &work),
                     rows[i].distance);
  }
  static char text[KIN__NEAR_WORD_MAX + 2];
  memset(text, 'a', sizeof text - 1);
  kin_str longest = kin__str(text, KIN__NEAR_WORD_MAX);
  kin_str too_long = kin__str(text, KIN__NEAR_WORD_MAX + 1);
  assert_int_equal(kin__near_distance(longest, longest, 3, &work), 0);
  assert_int_equal(kin__near_distance(too_long, too_long, 3, &work), 4);
}

static void expect_near(const kin__api_table *table, const char *word,
                        const char *expected) {
  kin__near near;
  char found[4096] = "";
  kin__near_find(&near, table, kin__cstr(word));
  for (size_t i = 0; i < near.count; i++) {
    size_t length = strlen(found);
    snprintf(found + length, sizeof found - length, "%s%s", i == 0 ? "" : " ",
             near.words[i]);
  }
  if (strcmp(found, expected) != 0) {
    fail_msg("%s: near \"%s\", not \"%s\"", word, found, expected);
  }
}

static void test_near_words(void **state) {
  (void)state;
  kin__api_table table;
  fill_recorded(&table);
  expect_near(&table, "podz", "pods nodes");
  expect_near(&table, "dpeloyments", "deployments");
  expect_near(&table, "deployme", "deployments");
  expect_near(&table, "widgetss", "widgets");
  expect_near(&table, "widgets.example.org", "widgets.example.com");
  expect_near(&table, "Deploymnet.v1.apps", "deployments.apps");
  expect_near(&table, "xx", "");
  expect_near(&table, "zzzzzzzzzz", "");
  expect_near(&table, "", "");
  expect_near(&table, ".apps", "");
  static char text[KIN__NEAR_WORD_MAX + 2];
  memset(text, 'p', sizeof text - 1);
  expect_near(&table, text, "");
  kin__api_table_finish(&table);
}

/* No more than five, the best first; a group where the plural needs one. */
static void test_near_words_are_bounded(void **state) {
  (void)state;
  static const row rows[] = {
      {"a", "v1", "thingabc", "1", "A", "-", "-"},
      {"a", "v1", "thingab", "2", "B", "-", "-"},
      {"a", "v1", "thinga", "3", "C", "-", "-"},
      {"b", "v1", "thinga", "3", "C", "-", "-"},
      {"b", "v2", "thinga", "3", "C", "-", "-"},
      {"b", "v1", "thingb", "4", "D", "-", "-"},
      {"b", "v1", "thingc", "5", "E", "-", "-"},
  };
  kin__api_table table;
  fill(&table, rows, sizeof rows / sizeof *rows);
  expect_near(&table, "things", "thinga thinga.b thingb thingc thingab");
  kin__api_table_finish(&table);
}

/* A table with g/v1, which has no resource yet. */
static kin__api_version *init_with_version(kin__api_table *table) {
  kin__api_version *version;
  kin__api_table_init(table, kin__default_allocator());
  assert_int_equal(kin__api_table_add_version(table, KIN__LIT("g"),
                                              KIN__LIT("v1"), KIN__API_KNOWN,
                                              &version),
                   0);
  return version;
}

/* All names begin as the word does, for 58 letters, and most are longer than a
 * word that is compared. So only some resources are compared, and for the second
 * word nothing says that the plural alone would be enough. */
static void test_long_names_cost_little(void **state) {
  (void)state;
  kin__api_table table;
  kin__api_version *version = init_with_version(&table);
  kin__api_entry entry = {.kind = KIN__LIT("Widget"),
                          .singular = KIN__LIT("widget")};
  char plural[KIN__API_NAME_MAX + 1];
  memset(plural, 'a', 100);
  for (int i = 0; i < 600; i++) {
    bool is_near = i == 500 || i == 501 || i == 580;
    if (is_near) {
      snprintf(plural + 58, sizeof plural - 58, "b%d", i);
    } else {
      memset(plural + 58, 'a', 42);
      snprintf(plural + 100, sizeof plural - 100, "%0150d", i);
    }
    entry.plural = kin__cstr(plural);
    assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
  }
  assert_int_equal(table.resource_count, 600);
  char word[64];
  char expected[256];
  memset(word, 'a', 58);
  strcpy(word + 58, "b5");
  snprintf(expected, sizeof expected, "%s00 %s01.g", word, word);
  expect_near(&table, word, expected);
  kin__api_table_finish(&table);
}

/* A table of the most resources, each with the most short names, which differ
 * from the word only in their last letters. The first resources are compared;
 * a name behind the bound is not. */
static void test_near_words_cost_little(void **state) {
  (void)state;
  kin__api_table table;
  kin__api_version *version = init_with_version(&table);
  kin__api_entry entry = {.kind = KIN__LIT("Widget"),
                          .singular = KIN__LIT("widget")};
  for (unsigned i = 0; i < KIN__API_LIST_MAX; i++) {
    kin__api_names_add(&entry.short_names,
                       KIN__LIT("validatingadmissionpolicybind0000"));
  }
  for (unsigned i = 0; i < KIN__API_RESOURCES_MAX; i++) {
    char plural[32];
    snprintf(plural, sizeof plural, "widgets%u", i);
    entry.plural = i == 1 ? KIN__LIT("validatingadmissionpolicybindinga")
                   : i + 1 == KIN__API_RESOURCES_MAX
                       ? KIN__LIT("validatingadmissionpolicybindingb")
                       : kin__cstr(plural);
    assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
    if (table.bytes > KIN__API_BYTES_MAX / 2) {
      entry.short_names.count = 0;
    }
  }
  assert_int_equal(table.resource_count, KIN__API_RESOURCES_MAX);
  expect_near(&table, "validatingadmissionpolicybindings",
              "validatingadmissionpolicybindinga");
  kin__api_table_finish(&table);
}

/* --- Bounds and memory ---------------------------------------------------- */

static void test_large_category(void **state) {
  (void)state;
  kin__api_table table;
  kin__word word;
  kin__found found;
  char plural[32];
  kin__api_table_init(&table, kin__default_allocator());
  for (unsigned i = 0; i < KIN__FOUND_MAX + 1; i++) {
    snprintf(plural, sizeof plural, "x%u", i);
    row one = {"a", "v1", plural, "x", "X", "-", "managed"};
    row other = {"a", "v2", plural, "x", "X", "-", "managed"};
    add_row(&table, &one);
    add_row(&table, &one);
    add_row(&table, &other);
  }
  assert_null(kin__word_split(&word, KIN__LIT("managed")));
  assert_int_equal(kin__lookup(&found, &table, &word), 0);
  assert_int_equal(found.count, KIN__FOUND_MAX);
  for (unsigned i = 0; i < KIN__FOUND_MAX; i++) { /* each once */
    snprintf(plural, sizeof plural, "x%u", i);
    assert_string_equal(found.resources[i]->plural, plural);
    assert_string_equal(found.resources[i]->version, "v1");
  }
  kin__found_finish(&found);
  kin__api_table_finish(&table);
}

static void test_lookup_without_memory(void **state) {
  (void)state;
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    kin__api_table table;
    fail_alloc memory;
    kin__word word;
    kin__found found;
    fill(&table, shared, sizeof shared / sizeof *shared);
    fail_alloc_init(&memory, n);
    const kin_allocator *before = table.allocator;
    table.allocator = &memory.allocator;
    assert_null(kin__word_split(&word, KIN__LIT("deployments")));
    int err = kin__lookup(&found, &table, &word);
    has_failed = fail_alloc_has_failed(&memory);
    assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
    kin__found_finish(&found);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    table.allocator = before;
    kin__api_table_finish(&table);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_of_a_server),
      cmocka_unit_test(test_categories),
      cmocka_unit_test(test_order_of_groups),
      cmocka_unit_test(test_short_names),
      cmocka_unit_test(test_ambiguous),
      cmocka_unit_test(test_ambiguous_kind),
      cmocka_unit_test(test_order_of_readings),
      cmocka_unit_test(test_repeated),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_distance),
      cmocka_unit_test(test_near_words),
      cmocka_unit_test(test_near_words_are_bounded),
      cmocka_unit_test(test_near_words_cost_little),
      cmocka_unit_test(test_long_names_cost_little),
      cmocka_unit_test(test_large_category),
      cmocka_unit_test(test_lookup_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
