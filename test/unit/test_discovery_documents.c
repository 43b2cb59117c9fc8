/* SPDX-License-Identifier: MIT */

/* Discovery documents of both forms: those of a real API server, those with one
 * value changed, and those over a limit. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "discovery/document.h"
#include "support/documents.h"
#include "support/fail_alloc.h"
#include "support/json_mutations.h"
#include "support/wire.h"

#define LIST(items)                                                            \
  "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"                        \
  "\"apidiscovery.k8s.io/v2\",\"items\":[" items "]}"
#define GROUP(name, versions)                                                  \
  "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define VERSION(name, resources)                                               \
  "{\"version\":\"" name "\",\"resources\":[" resources "],\"freshness\":"     \
  "\"Current\"}"
#define RESOURCE(plural, kind)                                                 \
  "{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind            \
  "\"},\"scope\":\"Namespaced\",\"singularResource\":\"\",\"verbs\":[\"list\"" \
  "],\"shortNames\":[\"s\"],\"subresources\":[{\"subresource\":\"status\"}]}"

static kin__api_table fresh(void) {
  kin__api_table table;
  kin__api_table_init(&table, kin__default_allocator());
  return table;
}

static int read_root(kin__api_table *table, const char *text, bool is_core) {
  return read_root_document(table, kin__cstr(text), is_core);
}

/* "apps/v1: deployments Deployment ns [s] [all] [list] [status]; " and so on.
 * Versions that are not known: "apps/v1?". */
static void append_names(char *out, size_t size, const char *const *names) {
  size_t length = strlen(out);
  length += (size_t)snprintf(out + length, size - length, " [");
  for (size_t i = 0; names[i] != NULL; i++) {
    length += (size_t)snprintf(out + length, size - length, "%s%s",
                               i == 0 ? "" : ",", names[i]);
  }
  snprintf(out + length, size - length, "]");
}

static const char *told(const kin__api_table *table) {
  static char out[8192];
  const size_t size = sizeof out;
  out[0] = '\0';
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    size_t length = strlen(out);
    snprintf(out + length, size - length, "%s/%s%s", version->group,
             version->version,
             version->state == KIN__API_KNOWN     ? ":"
             : version->state == KIN__API_PENDING ? "?"
                                                  : "!");
    for (uint32_t r = 0; r < version->count; r++) {
      const kin_api_resource *made = &version->resources[r];
      assert_ptr_equal(made->group, version->group);
      assert_ptr_equal(made->version, version->version);
      length = strlen(out);
      snprintf(out + length, size - length, " %s %s %s%s", made->plural,
               made->singular, made->kind, made->is_namespaced ? " ns" : "");
      append_names(out, size, made->short_names);
      append_names(out, size, made->categories);
      append_names(out, size, made->verbs);
      append_names(out, size, made->subresources);
    }
    length = strlen(out);
    snprintf(out + length, size - length, "; ");
  }
  return out;
}

/* --- Real documents ------------------------------------------------------- */

static const kin_api_resource *find_plural(const kin__api_table *table,
                                           const char *group,
                                           const char *version,
                                           const char *plural) {
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *from = table->versions[v];
    for (uint32_t r = 0; r < from->count; r++) {
      if (strcmp(from->group, group) == 0 &&
          strcmp(from->version, version) == 0 &&
          strcmp(from->resources[r].plural, plural) == 0) {
        return &from->resources[r];
      }
    }
  }
  fail_msg("no %s of %s/%s", plural, group, version);
  return NULL;
}

static size_t count_of(const char *const *list) {
  size_t count = 0;
  while (list[count] != NULL) {
    count++;
  }
  return count;
}

static void test_recorded_aggregated(void **state) {
  (void)state;
  kin__api_table table = fresh();
  kin_str body = wire_body("discovery-aggregated.http");
  assert_int_equal(read_root_document(&table, body, false), 0);
  free((void *)body.data); /* the table has copies */
  assert_string_equal(table.versions[0]->group, "apiregistration.k8s.io");
  assert_string_equal(table.versions[1]->group, "apps");
  assert_int_equal(table.core_count, 0);
  assert_false(table.is_cut);
  const kin_api_resource *found =
      find_plural(&table, "apps", "v1", "deployments");
  assert_string_equal(found->singular, "deployment");
  assert_string_equal(found->kind, "Deployment");
  assert_true(found->is_namespaced);
  assert_string_equal(found->short_names[0], "deploy");
  assert_string_equal(found->categories[0], "all");
  assert_int_equal(count_of(found->verbs), 8);
  assert_int_equal(count_of(found->subresources), 2);
  assert_string_equal(found->subresources[0], "scale");
  /* The lists of verbs are shared. */
  assert_ptr_equal(found->verbs,
                   find_plural(&table, "apps", "v1", "daemonsets")->verbs);
  assert_false(
      find_plural(&table, "rbac.authorization.k8s.io", "v1", "clusterroles")
          ->is_namespaced);
  kin__api_table_finish(&table);
}

static void test_recorded_core(void **state) {
  (void)state;
  kin__api_table table = fresh();
  assert_int_equal(read_root(&table,
                             "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}",
                             true),
                   0);
  assert_string_equal(told(&table), "/v1?; ");
  kin_str body = wire_body("discovery-core.http");
  assert_int_equal(read_version_document(&table, table.versions[0], body), 0);
  free((void *)body.data);
  const kin_api_resource *pods = find_plural(&table, "", "v1", "pods");
  assert_string_equal(pods->short_names[0], "po");
  assert_string_equal(pods->categories[0], "all");
  assert_true(count_of(pods->subresources) >= 8);
  const kin_api_resource *nodes = find_plural(&table, "", "v1", "nodes");
  assert_false(nodes->is_namespaced);
  assert_int_equal(count_of(nodes->subresources), 2);
  assert_string_equal(nodes->subresources[1], "status");
  kin__api_table_finish(&table);
}

/* --- What documents mean -------------------------------------------------- */

static void expect_root(const char *text, bool is_core, int code,
                        const char *expected) {
  kin__api_table table = fresh();
  assert_int_equal(read_root(&table, text, is_core), code);
  assert_string_equal(told(&table), expected);
  kin__api_table_finish(&table);
}

#define ONE " [s] [] [list] [status]"

static void test_aggregated(void **state) {
  (void)state;
  expect_root(
      LIST(GROUP("a",
                 VERSION("v2", RESOURCE("xs", "X")) "," VERSION(
                     "v1", RESOURCE("xs", "X"))) "," GROUP("b.c",
                                                           VERSION("v1", ""))),
      false, 0, "a/v2: xs x X ns" ONE "; a/v1: xs x X ns" ONE "; b.c/v1:; ");
  /* Both versions of the form; no other. */
  expect_root("{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
              "\"apidiscovery.k8s.io/v2beta1\",\"items\":[" GROUP(
                  "a", VERSION("v1", "")) "]}",
              false, 0, "a/v1:; ");
  expect_root("{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
              "\"apidiscovery.k8s.io/v3\",\"items\":[" GROUP(
                  "a", VERSION("v1", "")) "]}",
              false, KIN_EUNEXPECTED, "");
  /* The core group is that of /api, and of nothing else. */
  expect_root(
      LIST("{\"metadata\":{},\"versions\":[" VERSION(
          "v1", RESOURCE("pods", "Pod")) "]}," GROUP("a", VERSION("v1", ""))),
      true, 0, "/v1: pods pod Pod ns" ONE "; ");
  expect_root(LIST(GROUP("", VERSION("v1", RESOURCE("pods", "Pod")))), false, 0,
              "");
}

/* client-go's TestAggregatedServerGroups, stale versions. They are asked by
 * themselves here. */
static void test_stale_and_broken_versions(void **state) {
  (void)state;
  expect_root(
      LIST(GROUP(
          "a",
          "{\"version\":\"v2\",\"freshness\":\"Stale\"},"
          "{\"version\":\"v3\",\"resources\":{}}," VERSION(
              "v1", RESOURCE("xs", "X"))) ",7,{\"metadata\":[]},"
                                          "{\"metadata\":{\"name\":\"b\"},"
                                          "\"versions\":{}}," GROUP(
                                              "c",
                                              "null,{\"version\":1}," VERSION(
                                                  "v1", "7,{},[]"))),
      false, 0, "a/v2?; a/v3?; a/v1: xs x X ns" ONE "; c/v1:; ");
}

/* Names that no request could have, and kinds that no message should. */
static void test_bad_names_are_left_out(void **state) {
  (void)state;
  expect_root(
      LIST(GROUP(
          "a",
          VERSION(
              "v1",
              RESOURCE("x/y", "X") "," RESOURCE("", "X") "," RESOURCE("..", "X") "," RESOURCE("Xs", "X") "," RESOURCE("x\\u0000s", "X") "," RESOURCE(
                  "xs",
                  "") "," RESOURCE("xs",
                                   "X\\n") "," RESOURCE("ys",
                                                        "Y"))) "," GROUP("A",
                                                                         VERSION(
                                                                             "v"
                                                                             "1",
                                                                             "")) "," GROUP("../b",
                                                                                            VERSION(
                                                                                                "v1",
                                                                                                "")) "," GROUP("b",
                                                                                                               VERSION("", "") "," VERSION(
                                                                                                                   "v/1",
                                                                                                                   ""))),
      false, 0, "a/v1: ys y Y ns" ONE "; ");
}

/* As by client-go's discovery mapper, the preferred version comes first. */
static void test_old_roots(void **state) {
  (void)state;
  expect_root("{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"a\","
              "\"versions\":[{\"version\":\"v1\"},{\"version\":\"v2\"},"
              "{\"version\":\"v3\"}],\"preferredVersion\":{\"version\":"
              "\"v2\"}},{\"name\":\"b\",\"versions\":[{\"version\":\"v1\"}]},"
              "{\"name\":\"\",\"versions\":[{\"version\":\"v1\"}]},9]}",
              false, 0, "a/v2?; a/v1?; a/v3?; b/v1?; ");
  expect_root("{\"kind\":\"APIVersions\",\"versions\":[\"v1\",2,\"v2\"]}", true,
              0, "/v1?; /v2?; ");
  expect_root("{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}", false,
              KIN_EUNEXPECTED, "");
  expect_root("{\"kind\":\"APIGroupList\",\"groups\":[]}", true,
              KIN_EUNEXPECTED, "");
  expect_root("{\"kind\":\"Status\"}", true, KIN_EUNEXPECTED, "");
  expect_root("[]", true, KIN_EUNEXPECTED, "");
  expect_root("", true, KIN_EJSON, "");
  expect_root("{\"kind\":\"APIVersions\"", true, KIN_EJSON, "");
}

/* The core group comes first, whichever answer is read first. */
static void test_core_comes_first(void **state) {
  (void)state;
  kin__api_table table = fresh();
  assert_int_equal(
      read_root(&table, LIST(GROUP("a", VERSION("v1", ""))), false), 0);
  assert_int_equal(read_root(&table,
                             "{\"kind\":\"APIVersions\",\"versions\":["
                             "\"v1\",\"v2\"]}",
                             true),
                   0);
  assert_string_equal(told(&table), "/v1?; /v2?; a/v1:; ");
  kin__api_table_finish(&table);
}

static const char old_resources[] =
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"a/v1\",\"resources\":[{"
    "\"name\":\"xs\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"X\","
    "\"verbs\":[\"get\",\"list\"],\"shortNames\":[\"s\"],\"categories\":["
    "\"all\"]},{\"name\":\"xs/scale\",\"kind\":\"Scale\"},{\"name\":"
    "\"xs/status\",\"kind\":\"X\"},{\"name\":\"ys\",\"singularName\":\"why\","
    "\"namespaced\":false,\"kind\":\"Y\"},{\"name\":\"zs/status\",\"kind\":"
    "\"Z\"}]}";
#define OLD_TOLD                                                               \
  "a/v1: xs x X ns [s] [all] [get,list] [scale,status] ys why Y [] [] [] []; "

static void test_old_resources(void **state) {
  (void)state;
  kin__api_table table = fresh();
  kin__api_version *version;
  assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                              KIN__LIT("v1"), KIN__API_PENDING,
                                              &version),
                   0);
  for (int i = 0; i < 2; i++) { /* a second answer replaces the first */
    assert_int_equal(
        read_version_document(&table, version, kin__cstr(old_resources)), 0);
    assert_string_equal(told(&table), OLD_TOLD);
    assert_int_equal(table.resource_count, 2);
  }
  assert_int_equal(
      read_version_document(&table, version, KIN__LIT("{\"kind\":7}")),
      KIN_EUNEXPECTED);
  kin__api_version_fail(version, "no\nanswer");
  assert_string_equal(version->failure, "no answer");
  kin__api_table_finish(&table);
}

/* --- One change away ------------------------------------------------------ */

static void check_resource(const kin_api_resource *made) {
  assert_true(made->plural[0] != '\0' && made->kind[0] != '\0' &&
              made->singular[0] != '\0');
  assert_null(strchr(made->plural, '/'));
  assert_true(strlen(made->plural) <= KIN__API_NAME_MAX);
  const char *const *const lists[] = {made->short_names, made->categories,
                                      made->verbs, made->subresources};
  for (size_t i = 0; i < 4; i++) {
    size_t count = count_of(lists[i]);
    assert_true(count <= KIN__API_LIST_MAX);
    for (size_t k = 0; k < count; k++) {
      assert_true(lists[i][k][0] != '\0');
    }
  }
}

static void check_table(const kin__api_table *table) {
  uint32_t resources = 0;
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    assert_true((version->group[0] == '\0') == (v < table->core_count));
    resources += version->count;
    for (uint32_t r = 0; r < version->count; r++) {
      check_resource(&version->resources[r]);
    }
  }
  assert_int_equal(resources, table->resource_count);
}

/* Reads each mutation of a root, and of the answer for a version. */
static void mutate(const char *text, bool is_root, bool is_core) {
  json_mutations m;
  json_mutations_init(&m, text);
  for (size_t i = 0; i < m.count; i++) {
    kin__api_table table = fresh();
    const char *mutation = json_mutation(&m, i);
    kin__api_version *version;
    int err;
    if (is_root) {
      err = read_root(&table, mutation, is_core);
    } else {
      assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                                  KIN__LIT("v1"),
                                                  KIN__API_PENDING, &version),
                       0);
      err = read_version_document(&table, version, kin__cstr(mutation));
    }
    assert_true(err == 0 || err == KIN_EUNEXPECTED);
    check_table(&table);
    kin__api_table_finish(&table);
  }
  json_mutations_finish(&m);
}

static const char two_groups[] = LIST(GROUP(
    "a",
    VERSION("v2", RESOURCE("xs", "X")) "," VERSION(
        "v1", RESOURCE("xs", "X"))) "," GROUP("b",
                                              VERSION("v1",
                                                      RESOURCE("ys", "Y"))));

static void test_one_change_away(void **state) {
  (void)state;
  mutate(two_groups, true, false);
  mutate(LIST("{\"metadata\":{},\"versions\":[" VERSION(
             "v1", RESOURCE("pods", "Pod")) "]}"),
         true, true);
  mutate("{\"kind\":\"APIVersions\",\"versions\":[\"v1\",\"v2\"]}", true, true);
  mutate("{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"a\",\"versions\":"
         "[{\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}}]}",
         true, false);
  mutate(old_resources, false, false);
}

/* A change in one group leaves the other one as it is. */
static void test_groups_do_not_spoil_each_other(void **state) {
  (void)state;
  static const char whole[] = GROUP("a", VERSION("v1", RESOURCE("xs", "X")));
  static char text[8192];
  json_mutations m;
  json_mutations_init(&m, whole);
  for (size_t i = 0; i < m.count; i++) {
    snprintf(text, sizeof text,
             LIST("%s," GROUP("b", VERSION("v1", RESOURCE("ys", "Y")))),
             json_mutation(&m, i));
    kin__api_table table = fresh();
    assert_int_equal(read_root(&table, text, false), 0);
    (void)find_plural(&table, "b", "v1", "ys");
    kin__api_table_finish(&table);
  }
  json_mutations_finish(&m);
}

/* --- Limits --------------------------------------------------------------- */

static void test_long_names(void **state) {
  (void)state;
  char plural[KIN__API_NAME_MAX + 2];
  char text[1024];
  for (size_t length = KIN__API_NAME_MAX; length < KIN__API_NAME_MAX + 2;
       length++) {
    memset(plural, 'x', length);
    plural[length] = '\0';
    snprintf(text, sizeof text,
             LIST(GROUP("a", VERSION("v1", RESOURCE("%s", "X")))), plural);
    kin__api_table table = fresh();
    assert_int_equal(read_root(&table, text, false), 0);
    assert_int_equal(table.resource_count, length == KIN__API_NAME_MAX);
    kin__api_table_finish(&table);
  }
}

static void test_long_lists(void **state) {
  (void)state;
  kin__api_entry entry = {.plural = KIN__LIT("xs"), .kind = KIN__LIT("X")};
  for (unsigned i = 0; i < KIN__API_LIST_MAX + 1; i++) {
    kin__api_names_add(&entry.verbs, KIN__LIT("v"));
  }
  assert_int_equal(entry.verbs.count, KIN__API_LIST_MAX);
  kin__api_table table = fresh();
  kin__api_version *version;
  assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                              KIN__LIT("v1"), KIN__API_KNOWN,
                                              &version),
                   0);
  assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
  for (unsigned i = 0; i < KIN__API_LIST_MAX + 1; i++) {
    assert_int_equal(kin__api_table_add_subresource(
                         &table, version, KIN__LIT("xs"), KIN__LIT("s")),
                     0);
  }
  assert_int_equal(count_of(version->resources[0].subresources),
                   KIN__API_LIST_MAX);
  kin__api_table_finish(&table);
}

static void test_too_many(void **state) {
  (void)state;
  kin__api_entry entry = {.plural = KIN__LIT("xs"), .kind = KIN__LIT("X")};
  kin__api_table table = fresh();
  kin__api_version *version;
  assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                              KIN__LIT("v1"), KIN__API_KNOWN,
                                              &version),
                   0);
  for (unsigned i = 0; i < KIN__API_RESOURCES_MAX; i++) {
    assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
  }
  assert_false(table.is_cut);
  assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
  assert_int_equal(version->count, KIN__API_RESOURCES_MAX);
  assert_true(table.is_cut);
  kin__api_table_finish(&table);
  for (unsigned i = 0; i < KIN__API_VERSIONS_MAX; i++) {
    assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                                KIN__LIT("v1"), KIN__API_KNOWN,
                                                &version),
                     0);
    assert_non_null(version);
  }
  assert_false(table.is_cut);
  assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                              KIN__LIT("v1"), KIN__API_KNOWN,
                                              &version),
                   0);
  assert_null(version);
  assert_true(table.is_cut);
  kin__api_table_finish(&table);
}

/* Strings and lists together. */
static void test_too_many_bytes(void **state) {
  (void)state;
  char name[KIN__API_NAME_MAX + 1];
  kin__api_entry entry = {.plural = KIN__LIT("xs"), .kind = KIN__LIT("X")};
  memset(name, 'n', sizeof name);
  for (unsigned i = 0; i < KIN__API_LIST_MAX; i++) {
    kin__api_names_add(&entry.short_names, kin__str(name, sizeof name - 1));
  }
  kin__api_table table = fresh();
  kin__api_version *version;
  assert_int_equal(kin__api_table_add_version(&table, KIN__LIT("a"),
                                              KIN__LIT("v1"), KIN__API_KNOWN,
                                              &version),
                   0);
  while (!table.is_cut) {
    assert_int_equal(kin__api_table_add(&table, version, &entry), 0);
  }
  assert_true(version->count < KIN__API_RESOURCES_MAX);
  assert_true(table.bytes >= KIN__API_BYTES_MAX);
  assert_true(table.bytes < KIN__API_BYTES_MAX + (64u << 10));
  kin__api_table_finish(&table);
}

/* --- Steps ---------------------------------------------------------------- */

/* Pretty-printed, with the list first, in several spans and parts. */
typedef struct long_text {
  kin__buf buf;
  size_t groups;
} long_text;

static void long_text_make(long_text *text, size_t groups, const char *last) {
  text->groups = groups;
  kin__buf_init(&text->buf, kin__default_allocator(), SIZE_MAX);
  assert_int_equal(kin__buf_append_cstr(&text->buf, "{ \"items\" : [\n"), 0);
  for (size_t i = 0; i < groups; i++) {
    assert_int_equal(kin__buf_printf(&text->buf,
                                     "  {\"metadata\": {\"name\": \"g%zu\"}, "
                                     "\"versions\": [{\"version\": \"v1\", "
                                     "\"resources\": [%s, %s]}]},\n",
                                     i, RESOURCE("xs", "X"),
                                     RESOURCE("ys", "Y")),
                     0);
  }
  assert_int_equal(kin__buf_printf(&text->buf,
                                   "  %s], \"kind\": "
                                   "\"APIGroupDiscoveryList\", \"apiVersion\":"
                                   " \"apidiscovery.k8s.io/v2\",\n"
                                   "  \"items\": [], \"kind\": \"Other\"}",
                                   last),
                   0);
}

static kin_str text_of(const long_text *text) {
  return kin__str(text->buf.data, text->buf.length);
}

static void expect_groups(const kin__api_table *table, size_t groups) {
  assert_int_equal(table->version_count, groups);
  assert_int_equal(table->resource_count, 2 * groups);
  for (uint32_t i = 0; i < groups; i++) {
    char name[16];
    snprintf(name, sizeof name, "g%u", i);
    assert_string_equal(table->versions[i]->group, name);
    assert_string_equal(table->versions[i]->resources[1].plural, "ys");
  }
}

/* A step of one piece adds at most one resource. */
static void test_small_steps(void **state) {
  (void)state;
  long_text text;
  long_text_make(&text, 800, "7");
  assert_true(text.buf.length > 200000);
  kin__api_table table = fresh();
  size_t steps;
  assert_int_equal(read_document_in(&table, KIN__DOCUMENT_GROUPS, NULL,
                                    text_of(&text), 1, &steps),
                   0);
  expect_groups(&table, 800);
  assert_true(steps > (size_t)4 * 800);
  kin__api_table_finish(&table);
  kin__buf_finish(&text.buf);
}

/* A text whose end, or whose last part, is malformed adds nothing. */
static void test_malformed_at_its_end(void **state) {
  (void)state;
  static const char *const lasts[] = {"{\"metadata\":tru}",
                                      "{\"metadata\":]}",
                                      "{\"a\" 1}",
                                      ",",
                                      "}",
                                      "\"\\q\"",
                                      "-"};
  for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
    long_text text;
    long_text_make(&text, 100, lasts[i]);
    kin__api_table table = fresh();
    assert_int_equal(read_root_document(&table, text_of(&text), false),
                     KIN_EJSON);
    assert_int_equal(table.version_count, 0);
    kin__api_table_finish(&table);
    kin__buf_finish(&text.buf);
  }
  long_text text;
  long_text_make(&text, 100, "7");
  for (size_t cut = 1; cut <= 300; cut++) {
    kin__api_table table = fresh();
    kin_str short_text = kin__str(text.buf.data, text.buf.length - cut);
    assert_int_equal(read_root_document(&table, short_text, false), KIN_EJSON);
    assert_int_equal(table.version_count, 0);
    kin__api_table_finish(&table);
  }
  kin__buf_finish(&text.buf);
}

/* White space moves every token over the end of a span. */
static void test_spans_end_anywhere(void **state) {
  (void)state;
  long_text text;
  long_text_make(&text, 4, "7");
  for (size_t pad = 32768 - text.buf.length; pad <= 32768; pad++) {
    kin__buf padded;
    kin__buf_init(&padded, kin__default_allocator(), SIZE_MAX);
    assert_int_equal(kin__buf_printf(&padded, "%*s", (int)pad, ""), 0);
    assert_int_equal(kin__buf_append_str(&padded, text_of(&text)), 0);
    kin__api_table table = fresh();
    assert_int_equal(
        read_root_document(&table, kin__str(padded.data, padded.length), false),
        0);
    expect_groups(&table, 4);
    kin__api_table_finish(&table);
    kin__buf_finish(&padded);
  }
  kin__buf_finish(&text.buf);
}

/* --- Memory --------------------------------------------------------------- */

static void read_with(fail_alloc *memory, bool *has_failed) {
  kin__api_table table;
  kin__api_table_init(&table, &memory->allocator);
  int err = read_root(&table, two_groups, false);
  if (err == 0) {
    err = read_version_document(&table, table.versions[0],
                                kin__cstr(old_resources));
  }
  assert_true(err == 0 || err == KIN_ENOMEM);
  *has_failed = fail_alloc_has_failed(memory);
  assert_int_equal(err == KIN_ENOMEM, *has_failed);
  check_table(&table);
  kin__api_table_finish(&table);
  assert_int_equal(atomic_load(&memory->live_blocks), 0);
}

static void test_documents_without_memory(void **state) {
  (void)state;
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    read_with(&memory, &has_failed);
    assert_true(n < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_recorded_aggregated),
      cmocka_unit_test(test_recorded_core),
      cmocka_unit_test(test_aggregated),
      cmocka_unit_test(test_stale_and_broken_versions),
      cmocka_unit_test(test_bad_names_are_left_out),
      cmocka_unit_test(test_old_roots),
      cmocka_unit_test(test_core_comes_first),
      cmocka_unit_test(test_old_resources),
      cmocka_unit_test(test_one_change_away),
      cmocka_unit_test(test_groups_do_not_spoil_each_other),
      cmocka_unit_test(test_long_names),
      cmocka_unit_test(test_long_lists),
      cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_too_many_bytes),
      cmocka_unit_test(test_small_steps),
      cmocka_unit_test(test_malformed_at_its_end),
      cmocka_unit_test(test_spans_end_anywhere),
      cmocka_unit_test(test_documents_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
