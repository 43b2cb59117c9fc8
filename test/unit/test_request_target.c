/* SPDX-License-Identifier: MIT */

/* Request targets: paths, sorted and escaped queries, and which parameters a
 * program may set. Proves RQ-02 to RQ-06, LW-02 (fields go with each
 * request). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "listwatch/target.h"
#include "support/fail_alloc.h"

static fail_alloc memory; /* which never fails */

static int set_up(void **state) {
  (void)state;
  fail_alloc_init(&memory, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return atomic_load(&memory.live_blocks) == 0 ? 0 : -1;
}

static const kin__resource pods = {
    .group = "", .version = "v1", .plural = "pods"};

static void assert_target(const kin__query *query, const char *expected) {
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1u << 20);
  assert_int_equal(kin__target_write(&out, &pods, "", query), 0);
  assert_string_equal(out.data, expected);
  kin__buf_finish(&out);
}

/* RQ-02: TestRequestOrdersNamespaceInPath, as far as lists go. */
static void test_paths(void **state) {
  (void)state;
  const kin__resource deployments = {
      .group = "apps", .version = "v1", .plural = "deployments"};
  const kin__query query = {0};
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1024);
  assert_int_equal(kin__target_write(&out, &pods, "a-b", &query), 0);
  assert_string_equal(out.data, "/api/v1/namespaces/a-b/pods");
  assert_int_equal(kin__target_write(&out, &deployments, "", &query), 0);
  assert_string_equal(out.data, "/apis/apps/v1/deployments");
  kin__buf_finish(&out);
}

/* RQ-04: TestRequestVersionedParamsFromListOptions. */
static void test_sorted(void **state) {
  (void)state;
  const kin_parameter parameters[] = {
      {"zeta", "1"},      {"shardSelector", "s"}, {"Upper", "u"},
      {"again", "2nd"},   {"again", "1st"},       {"empty", ""},
      {"nothing", NULL},  {"continueAt", "x"},    {"again", "3rd"},
      {"watchdog", "no"},
  };
  const kin__query query = {.label_selector = "l",
                            .field_selector = "f",
                            .parameters = parameters,
                            .parameter_count =
                                sizeof parameters / sizeof parameters[0],
                            .version = "5",
                            .version_match = "NotOlderThan",
                            .token = "t",
                            .limit = 7,
                            .is_watch = true,
                            .sends_initial_events = true,
                            .timeout_s = 300};
  assert_target(&query,
                "/api/v1/pods?Upper=u&again=2nd&again=1st&again=3rd"
                "&allowWatchBookmarks=true&continue=t&continueAt=x&empty="
                "&fieldSelector=f&labelSelector=l&limit=7&nothing="
                "&resourceVersion=5&resourceVersionMatch=NotOlderThan"
                "&sendInitialEvents=true&shardSelector=s&timeoutSeconds=300"
                "&watch=true&watchdog=no&zeta=1");
  const kin__query empty = {.label_selector = "", .version = ""};
  assert_target(&empty, "/api/v1/pods");
}

/* RQ-04: every byte that could mean something else in a query is escaped. */
static void test_escaped(void **state) {
  (void)state;
  static const struct {
    const char *raw;
    const char *escaped;
  } cases[] = {
      {"app=web,tier!=cache", "app%3Dweb%2Ctier%21%3Dcache"},
      {"a in (b, c)", "a%20in%20%28b%2C%20c%29"},
      {"!a", "%21a"},
      {"x=100%", "x%3D100%25"},
      {"metadata.name=\"a'b\"", "metadata.name%3D%22a%27b%22"},
      {"k8s.io/a-b_c~d=1", "k8s.io%2Fa-b_c~d%3D1"},
      {"a&watch=true#f?g+h;i", "a%26watch%3Dtrue%23f%3Fg%2Bh%3Bi"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8b", "%C3%A9%E2%82%AC%F0%9F%90%8B"},
      {"\r\n\t\x7f\x01\\", "%0D%0A%09%7F%01%5C"},
      {"\xff\xc3", "%FF%C3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[256];
    const kin__query query = {.label_selector = cases[i].raw,
                              .field_selector = cases[i].raw};
    snprintf(text, sizeof text,
             "/api/v1/pods?fieldSelector=%s&labelSelector=%s", cases[i].escaped,
             cases[i].escaped);
    assert_target(&query, text);
    const kin_parameter parameter = {cases[i].raw, cases[i].raw};
    const kin__query with = {.parameters = &parameter, .parameter_count = 1};
    snprintf(text, sizeof text, "/api/v1/pods?%s=%s", cases[i].escaped,
             cases[i].escaped);
    assert_target(&with, text);
  }
}

static void test_bounds(void **state) {
  (void)state;
  static char long_text[(64u << 10) + 2];
  memset(long_text, 'a', sizeof long_text - 1);
  assert_false(kin__selector_is_valid(long_text));
  long_text[64u << 10] = '\0';
  assert_true(kin__selector_is_valid(long_text));
  assert_true(kin__selector_is_valid(NULL));

  kin_parameter many[KIN__MAX_PARAMETERS + 1];
  for (size_t i = 0; i <= KIN__MAX_PARAMETERS; i++) {
    many[i] = (kin_parameter){"n", NULL};
  }
  assert_true(kin__parameters_are_valid(many, KIN__MAX_PARAMETERS));
  assert_false(kin__parameters_are_valid(many, KIN__MAX_PARAMETERS + 1));
  assert_true(kin__parameters_are_valid(NULL, 0));
  assert_false(kin__parameters_are_valid(NULL, 1));
  long_text[16u << 10] = '\0';
  kin_parameter one = {"n", long_text};
  assert_false(kin__parameters_are_valid(&one, 1));
  long_text[(16u << 10) - 1] = '\0';
  assert_true(kin__parameters_are_valid(&one, 1));
  one.name = long_text;
  assert_false(kin__parameters_are_valid(&one, 1));
  const kin__query query = {.parameters = many,
                            .parameter_count = KIN__MAX_PARAMETERS};
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1024);
  assert_int_equal(kin__target_write(&out, &pods, "", &query), 0);
  kin__buf_finish(&out);
}

/* RQ-04: what the library says itself has one value. */
static void test_names(void **state) {
  (void)state;
  static const char *const refused[] = {NULL,
                                        "",
                                        "allowWatchBookmarks",
                                        "continue",
                                        "limit",
                                        "fieldSelector",
                                        "watch",
                                        "timeoutSeconds",
                                        "labelSelector",
                                        "resourceVersion",
                                        "resourceVersionMatch",
                                        "sendInitialEvents"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    const kin_parameter parameters[] = {{"fine", "1"}, {refused[i], "1"}};
    assert_false(kin__parameters_are_valid(parameters, 2));
    assert_true(kin__parameters_are_valid(parameters, 1));
  }
  const kin_parameter fine[] = {{"Watch", "1"}, {"pretty", ""}, {"=&", "="}};
  assert_true(kin__parameters_are_valid(fine, 3));
}

/* Without memory, or room, there is no target. */
static void test_no_room(void **state) {
  (void)state;
  const kin_parameter parameter = {"name", "value of it"};
  const kin__query query = {.label_selector = "a=b",
                            .parameters = &parameter,
                            .parameter_count = 1,
                            .is_watch = true};
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1u << 20);
  assert_int_equal(kin__target_write(&out, &pods, "n", &query), 0);
  size_t length = out.length;
  kin__buf_finish(&out);
  for (size_t room = 0; room < length; room++) {
    kin__buf_init(&out, &memory.allocator, room);
    assert_int_equal(kin__target_write(&out, &pods, "n", &query), KIN_ETOOBIG);
    kin__buf_finish(&out);
  }
  for (size_t n = 1;; n++) {
    fail_alloc failing;
    fail_alloc_init(&failing, n);
    kin__buf_init(&out, &failing.allocator, 1u << 20);
    int err = kin__target_write(&out, &pods, "n", &query);
    bool has_failed = fail_alloc_has_failed(&failing);
    assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
    kin__buf_finish(&out);
    assert_int_equal(atomic_load(&failing.live_blocks), 0);
    if (!has_failed) {
      assert_true(n > 1);
      break;
    }
  }
}

/* client-go TestInvalidSegments; RQ-03: stricter on purpose than there, where a
 * segment may be anything without "/" and "%" that is not "." or "..": no name
 * of a group, version, resource or namespace needs more than these letters. */
static void test_segments(void **state) {
  (void)state;
  static const char *const good[] = {
      "a", "pods", "v1beta1", "apps", "a.b-c.example.com", "...", "0", "-"};
  static const char *const bad[] = {"",      ".",   "..",   "a/b",      "/",
                                    "a%2fb", "%",   "Pods", "a b",      "a\n",
                                    "?",     "a#b", "a_b",  "\xc3\xa4", "a\\b"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_true(kin__segment_is_valid(good[i]));
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    if (kin__segment_is_valid(bad[i])) {
      fail_msg("\"%s\"", bad[i]);
    }
  }
  char text[255];
  memset(text, 'a', sizeof text - 1);
  text[254] = '\0';
  assert_false(kin__segment_is_valid(text));
  text[253] = '\0';
  assert_true(kin__segment_is_valid(text));
}

/* RQ-05: nothing is put into the URL that would make a server end a request
 * early; the time of a watch is its own parameter. */
static void test_times(void **state) {
  (void)state;
  assert_target(&(kin__query){.timeout_s = 300, .is_watch = true},
                "/api/v1/pods?allowWatchBookmarks=true&timeoutSeconds=300&"
                "watch=true");
  assert_target(&(kin__query){.is_watch = true},
                "/api/v1/pods?allowWatchBookmarks=true&watch=true");
  assert_target(&(kin__query){.limit = 1}, "/api/v1/pods?limit=1");
}

/* client-go TestNewRequestSetsAccept; RQ-06: JSON is all that is understood, so
 * nothing else is asked for. */
static void test_accept(void **state) {
  (void)state;
  const kin__resource metadata = {
      .group = "", .version = "v1", .plural = "pods", .metadata_only = true};
  assert_string_equal(kin__target_accept(&pods, false), "application/json");
  assert_string_equal(kin__target_accept(&pods, true), "application/json");
  assert_string_equal(kin__target_accept(&metadata, false),
                      "application/json;as=PartialObjectMetadataList;"
                      "g=meta.k8s.io;v=v1");
  assert_string_equal(kin__target_accept(&metadata, true),
                      "application/json;as=PartialObjectMetadata;"
                      "g=meta.k8s.io;v=v1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_paths),    cmocka_unit_test(test_sorted),
      cmocka_unit_test(test_escaped),  cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_names),    cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_segments), cmocka_unit_test(test_times),
      cmocka_unit_test(test_accept),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
