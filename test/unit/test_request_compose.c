/* SPDX-License-Identifier: MIT */

/* What a program asks for, and the request that is made of it: proves RQ-02 to
 * RQ-06 for single requests, as far as target, types and body go. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "request/compose.h"
#include "support/fail_alloc.h"

static char problem[KIN__PROBLEM_SIZE];
static const kin__log kept_log = {.problem = problem};

static int compose(kin__composed *composed, const kin_request_spec *spec) {
  static fail_alloc memory;
  fail_alloc_init(&memory, 0);
  problem[0] = '\0';
  kin__composed_init(composed, &memory.allocator);
  return kin__compose(composed, spec, &kept_log);
}

/* The request is "METHOD target", with this content type and body. */
static void expect(const kin_request_spec *spec, const char *line,
                   const char *content_type, const char *body) {
  kin__composed composed;
  char made[1024];
  assert_int_equal(compose(&composed, spec), 0);
  assert_string_equal(problem, "");
  snprintf(made, sizeof made, "%s %s", composed.method, composed.target.data);
  assert_string_equal(made, line);
  assert_string_equal(composed.content_type, content_type);
  assert_int_equal(composed.body.length, strlen(body));
  if (body[0] != '\0') {
    assert_memory_equal(composed.body.data, body, strlen(body));
  }
  kin__composed_finish(&composed);
}

static void refuse(const kin_request_spec *spec, int code, const char *text) {
  kin__composed composed;
  assert_int_equal(compose(&composed, spec), code);
  if (strncmp(problem, text, strlen(text)) != 0) {
    fail_msg("\"%s\" does not begin \"%s\"", problem, text);
  }
  kin__composed_finish(&composed);
}

#define SPEC(...)                                                              \
  (&(kin_request_spec){.size = sizeof(kin_request_spec), __VA_ARGS__})
#define JSON "application/json"

/* RQ-02. client-go TestRequestOrdersNamespaceInPath, TestRequestSetsNamespace,
 * TestRequestOrdersSubResource, TestURLTemplate, TestHTTPMethods. */
static void test_composed_paths(void **state) {
  (void)state;
  expect(SPEC(.plural = "nodes"), "GET /api/v1/nodes", JSON, "");
  expect(SPEC(.plural = "pods", .namespace_ = ""), "GET /api/v1/pods", JSON,
         "");
  expect(SPEC(.plural = "pods", .namespace_ = "n", .name = "p"),
         "GET /api/v1/namespaces/n/pods/p", JSON, "");
  expect(SPEC(.group = "apps", .version = "v1beta1", .plural = "deployments",
              .namespace_ = "n", .name = "web", .subresource = "scale"),
         "GET /apis/apps/v1beta1/namespaces/n/deployments/web/scale", JSON, "");
  expect(SPEC(.plural = "services", .namespace_ = "n", .name = "s",
              .subresource = "proxy/a b/c"),
         "GET /api/v1/namespaces/n/services/s/proxy/a%20b/c", JSON, "");
  expect(SPEC(.verb = KIN_VERB_CREATE, .plural = "pods", .namespace_ = "n",
              .body = "{}", .body_length = 2),
         "POST /api/v1/namespaces/n/pods", JSON, "{}");
  expect(SPEC(.verb = KIN_VERB_CREATE, .plural = "pods", .namespace_ = "n",
              .name = "p", .subresource = "eviction", .body = "{}",
              .body_length = 2),
         "POST /api/v1/namespaces/n/pods/p/eviction", JSON, "{}");
  expect(SPEC(.verb = KIN_VERB_UPDATE, .plural = "nodes", .name = "x",
              .subresource = "status", .body = "{}", .body_length = 2),
         "PUT /api/v1/nodes/x/status", JSON, "{}");
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x"),
         "DELETE /api/v1/nodes/x", JSON, "");
  expect(SPEC(.verb = KIN_VERB_DELETE_COLLECTION, .plural = "pods",
              .namespace_ = "n"),
         "DELETE /api/v1/namespaces/n/pods", JSON, "");
}

/* RQ-03. Names that are legal in a URL only when they are encoded. */
static void test_names_are_encoded(void **state) {
  (void)state;
  expect(SPEC(.group = "rbac.authorization.k8s.io", .plural = "clusterroles",
              .name = "system:node? #\xc3\xa4\n"),
         "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/"
         "system%3Anode%3F%20%23%C3%A4%0A",
         JSON, "");
}

/* RQ-02. client-go TestRequestAbsPathPreservesTrailingSlash,
 * TestRequestAbsPathJoins, TestRequestURI: a path is taken as it is. */
static void test_whole_paths(void **state) {
  (void)state;
  expect(SPEC(.path = "/version"), "GET /version", JSON, "");
  expect(SPEC(.path = "/hello/"), "GET /hello/", JSON, "");
  expect(SPEC(.path = "/a%2Fb?c=d&e", .dry_run = true, .verb = KIN_VERB_CREATE),
         "POST /a%2Fb?c=d&e&dryRun=All", JSON, "");
  expect(SPEC(.verb = KIN_VERB_HEAD, .path = "/"), "HEAD /", JSON, "");
  expect(SPEC(.verb = KIN_VERB_OPTIONS, .path = "/x"), "OPTIONS /x", JSON, "");
  expect(SPEC(.verb = KIN_VERB_DELETE, .path = "/x"), "DELETE /x", JSON, "");
}

/* RQ-04. client-go TestRequestParam, TestRequestVersionedParams,
 * TestRequestVersionedParamsFromListOptions: sorted by name, those of one name
 * in order, and encoded. */
static void test_parameters(void **state) {
  (void)state;
  const kin_parameter parameters[] = {{"limit", "1"},
                                      {"labelSelector", "a in (b,c)"},
                                      {"x", "2"},
                                      {"x", "1"},
                                      {"a&b", NULL}};
  expect(SPEC(.plural = "pods", .parameters = parameters, .parameter_count = 5),
         "GET /api/v1/pods?a%26b=&labelSelector=a%20in%20%28b%2Cc%29&limit=1&"
         "x=2&x=1",
         JSON, "");
  expect(SPEC(.verb = KIN_VERB_APPLY, .plural = "nodes", .name = "x",
              .body = "{}", .body_length = 2, .field_manager = "me & co",
              .field_validation = "Strict", .force = true, .dry_run = true,
              .timeout_ms = 423000, .parameters = parameters,
              .parameter_count = 1),
         "PATCH /api/v1/nodes/x?dryRun=All&fieldManager=me%20%26%20co&"
         "fieldValidation=Strict&force=true&limit=1&timeout=7m3s",
         "application/apply-patch+yaml", "{}");
}

/* RQ-05. The timeout as Go writes it; none unless the program sets one. */
static void test_timeouts(void **state) {
  (void)state;
  const struct {
    uint32_t ms;
    const char *query;
  } cases[] = {{0, ""},
               {KIN_NEVER, ""},
               {1, "?timeout=1ms"},
               {999, "?timeout=999ms"},
               {1000, "?timeout=1s"},
               {1500, "?timeout=1.5s"},
               {10010, "?timeout=10.01s"},
               {59999, "?timeout=59.999s"},
               {60000, "?timeout=1m0s"},
               {423000, "?timeout=7m3s"},
               {3600000, "?timeout=1h0m0s"},
               {4294967294, "?timeout=1193h2m47.294s"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char line[128];
    snprintf(line, sizeof line, "GET /api/v1/pods%s", cases[i].query);
    expect(SPEC(.plural = "pods", .timeout_ms = cases[i].ms), line, JSON, "");
  }
}

/* The four kinds of patches, and types of the program's own. */
static void test_types(void **state) {
  (void)state;
  const struct {
    kin_verb verb;
    const char *type;
  } cases[] = {
      {KIN_VERB_PATCH_JSON, "application/json-patch+json"},
      {KIN_VERB_PATCH_MERGE, "application/merge-patch+json"},
      {KIN_VERB_PATCH_STRATEGIC, "application/strategic-merge-patch+json"},
      {KIN_VERB_APPLY, "application/apply-patch+yaml"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    expect(SPEC(.verb = cases[i].verb, .plural = "nodes", .name = "x",
                .field_manager = "m", .body = "[]", .body_length = 2),
           "PATCH /api/v1/nodes/x?fieldManager=m", cases[i].type, "[]");
  }
  expect(SPEC(.verb = KIN_VERB_CREATE, .path = "/x", .content_type = "text/a",
              .body = "a", .body_length = 1),
         "POST /x", "text/a", "a");
}

/* RQ-06. client-go TestNewRequestSetsAccept. */
static void test_composed_accept(void **state) {
  (void)state;
  kin__composed composed;
  assert_int_equal(compose(&composed, SPEC(.path = "/")), 0);
  assert_string_equal(composed.accept, "application/json, */*");
  kin__composed_finish(&composed);
  assert_int_equal(compose(&composed, SPEC(.path = "/", .accept = "a/b")), 0);
  assert_string_equal(composed.accept, "a/b");
  kin__composed_finish(&composed);
}

#define DELETE_IN "DELETE /api/v1/nodes/x"
#define DELETE_BODY(rest)                                                      \
  "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"" rest "}"

/* The options of a deletion are its body. */
static void test_delete_options(void **state) {
  (void)state;
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .precondition_uid = "a\"b", .precondition_version = "7",
              .propagation = KIN_PROPAGATION_FOREGROUND,
              .has_grace_period = true, .dry_run = true),
         DELETE_IN, JSON,
         DELETE_BODY(",\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":"
                     "\"a\\\"b\",\"resourceVersion\":\"7\"},"
                     "\"propagationPolicy\":\"Foreground\",\"dryRun\":["
                     "\"All\"]"));
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .precondition_version = "7"),
         DELETE_IN, JSON,
         DELETE_BODY(",\"preconditions\":{\"resourceVersion\":\"7\"}"));
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .precondition_uid = "u"),
         DELETE_IN, JSON, DELETE_BODY(",\"preconditions\":{\"uid\":\"u\"}"));
  const char *policies[] = {"Orphan", "Background", "Foreground"};
  for (int i = 0; i < 3; i++) {
    char body[128];
    snprintf(body, sizeof body, DELETE_BODY(",\"propagationPolicy\":\"%s\""),
             policies[i]);
    expect(SPEC(.verb = KIN_VERB_DELETE_COLLECTION, .plural = "nodes",
                .propagation = (kin_propagation)(i + 1)),
           "DELETE /api/v1/nodes", JSON, body);
  }
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .has_grace_period = true, .grace_period_s = UINT32_MAX),
         DELETE_IN, JSON, DELETE_BODY(",\"gracePeriodSeconds\":4294967295"));
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .dry_run = true),
         DELETE_IN, JSON, DELETE_BODY(",\"dryRun\":[\"All\"]"));
  expect(SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
              .body = "{}", .body_length = 2),
         DELETE_IN, JSON, "{}");
}

/* RQ-03. client-go TestInvalidSegments, TestRequestPreflightCheck,
 * TestRequestWithErrorWontChange. */
static void test_refused_places(void **state) {
  (void)state;
  static const char *const bad[][2] = {
      {"", ": \"\" is empty"},
      {".", ": \".\" is no name"},
      {"..", ": \"..\" is no name"},
      {"a/b", ": \"a/b\" has a '/' or '%'"},
      {"%2F", ": \"%2F\" has a '/' or '%'"},
      {"a%", ": \"a%\" has a '/' or '%'"},
      {"/", ": \"/\" has a '/' or '%'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[64];
    snprintf(text, sizeof text, "namespace_%s",
             bad[i][0][0] != '\0' ? bad[i][1] : ": is empty");
    refuse(SPEC(.plural = "pods", .namespace_ = bad[i][0], .name = "p"),
           KIN_EINVAL, text);
    snprintf(text, sizeof text, "name%s", bad[i][1]);
    refuse(SPEC(.plural = "pods", .namespace_ = "n", .name = bad[i][0]),
           KIN_EINVAL, text);
    if (strchr(bad[i][0], '/') == NULL) {
      snprintf(text, sizeof text, "subresource%s", bad[i][1]);
      refuse(SPEC(.plural = "pods", .name = "p", .subresource = bad[i][0]),
             KIN_EINVAL, text);
    }
  }
  static const char *const empty[] = {"/", "a//b", "a/"};
  for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
    refuse(SPEC(.plural = "pods", .name = "p", .subresource = empty[i]),
           KIN_EINVAL, "subresource: \"\" is empty");
  }
  refuse(SPEC(.plural = "pods", .name = "p", .subresource = "a/../b"),
         KIN_EINVAL, "subresource: \"..\" is no name");
  refuse(SPEC(.plural = "pods", .subresource = "status"), KIN_EINVAL,
         "subresource: \"status\" needs a name");
  refuse(SPEC(.plural = NULL), KIN_EINVAL, "plural, or path: is required");
  refuse(SPEC(.plural = "Pods"), KIN_EINVAL, "plural: \"Pods\"");
  refuse(SPEC(.plural = "pods", .group = "a/b"), KIN_EINVAL, "group: ");
  refuse(SPEC(.plural = "pods", .version = ""), KIN_EINVAL, "version: ");
  refuse(SPEC(.verb = KIN_VERB_CREATE, .plural = "pods", .namespace_ = ""),
         KIN_EINVAL, "namespace_: is empty");
  refuse(SPEC(.verb = KIN_VERB_DELETE_COLLECTION, .plural = "pods",
              .namespace_ = ""),
         KIN_EINVAL, "namespace_: is empty");
  refuse(SPEC(.verb = KIN_VERB_DELETE, .plural = "pods", .namespace_ = "n"),
         KIN_EINVAL, "name: the verb needs one");
  refuse(SPEC(.verb = KIN_VERB_UPDATE, .plural = "pods"), KIN_EINVAL,
         "name: the verb needs one");
  refuse(SPEC(.verb = KIN_VERB_CREATE, .plural = "pods", .name = "p"),
         KIN_EINVAL, "name: to create");
  refuse(
      SPEC(.verb = KIN_VERB_DELETE_COLLECTION, .plural = "pods", .name = "p"),
      KIN_EINVAL, "name: not with this verb");
  refuse(SPEC(.verb = KIN_VERB_HEAD, .plural = "pods"), KIN_EINVAL,
         "path: the verb needs one");
  static const char *const paths[] = {
      "", "x", "http://a/b", "/a b", "/a#b", "/\xc3\xa4", "/\n", "/a\r\nX: y"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    refuse(SPEC(.path = paths[i]), KIN_EINVAL, "path: ");
  }
  refuse(SPEC(.path = "/", .plural = "pods"), KIN_EINVAL, "path: not together");
  refuse(SPEC(.path = "/", .name = "p"), KIN_EINVAL, "path: not together");
}

/* A value is cut, so that there is room for the reason behind it. */
static void test_refused_long_places(void **state) {
  (void)state;
  static char name[300];
  memset(name, 'N', sizeof name - 1);
  name[200] = '/';
  const struct {
    kin_request_spec spec;
    const char *end;
  } rows[] = {
      {*SPEC(.plural = "pods", .group = name), "\" is no group name"},
      {*SPEC(.plural = "pods", .version = name), "\" is no version"},
      {*SPEC(.plural = name), "\" is no resource name"},
      {*SPEC(.plural = "pods", .namespace_ = name), "\" has a '/' or '%'"},
      {*SPEC(.plural = "pods", .name = name), "\" has a '/' or '%'"},
      {*SPEC(.plural = "pods", .subresource = name), "\" needs a name"},
      {*SPEC(.path = name),
       "\" does not begin with '/', or is not percent-encoded"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    refuse(&rows[i].spec, KIN_EINVAL, "");
    const char *end = strstr(problem, rows[i].end);
    if (end == NULL || strcmp(end, rows[i].end) != 0) {
      fail_msg("\"%s\" does not end %s", problem, rows[i].end);
    }
  }
}

static void test_refused_values(void **state) {
  (void)state;
  refuse(SPEC(.verb = (kin_verb)99, .path = "/"), KIN_EINVAL, "verb: ");
  refuse(SPEC(.verb = (kin_verb)-1, .path = "/"), KIN_EINVAL, "verb: ");
  refuse(SPEC(.path = "/", .body = "a", .body_length = 1), KIN_EINVAL,
         "body: not with GET");
  refuse(SPEC(.verb = KIN_VERB_CREATE, .path = "/", .body_length = 1),
         KIN_EINVAL, "body: is NULL");
  refuse(SPEC(.verb = KIN_VERB_DELETE, .path = "/", .body = "{}",
              .body_length = 2, .dry_run = true),
         KIN_EINVAL, "body: not together");
  refuse(SPEC(.path = "/", .accept = "a\r\nb"), KIN_EINVAL, "accept: ");
  refuse(SPEC(.path = "/", .content_type = ""), KIN_EINVAL, "content_type: ");
  refuse(SPEC(.verb = KIN_VERB_APPLY, .path = "/"), KIN_EINVAL,
         "field_manager: an apply needs one");
  refuse(SPEC(.verb = KIN_VERB_APPLY, .path = "/", .field_manager = ""),
         KIN_EINVAL, "field_manager: an apply needs one");
  refuse(SPEC(.verb = KIN_VERB_PATCH_MERGE, .path = "/", .force = true),
         KIN_EINVAL, "force: ");
  refuse(SPEC(.path = "/", .field_manager = "m"), KIN_EINVAL,
         "field_manager, field_validation: not with GET");
  refuse(SPEC(.verb = KIN_VERB_DELETE, .path = "/", .field_validation = "m"),
         KIN_EINVAL, "field_manager, field_validation: not with DELETE");
  refuse(SPEC(.path = "/", .dry_run = true), KIN_EINVAL, "dry_run: ");
  refuse(SPEC(.path = "/", .precondition_uid = "u"), KIN_EINVAL,
         "preconditions");
  refuse(SPEC(.verb = KIN_VERB_UPDATE, .path = "/", .has_grace_period = true),
         KIN_EINVAL, "preconditions");
  refuse(SPEC(.verb = KIN_VERB_DELETE, .path = "/",
              .propagation = (kin_propagation)4),
         KIN_EINVAL, "propagation: ");
  static const char *const own[] = {"dryRun",
                                    "fieldManager",
                                    "fieldValidation",
                                    "force",
                                    "timeout",
                                    "watch",
                                    "",
                                    NULL};
  size_t own_count = sizeof own / sizeof own[0] - 2;
  for (size_t i = 0; i < own_count + 2; i++) {
    const kin_parameter parameter = {own[i], "true"};
    refuse(SPEC(.path = "/", .parameters = &parameter, .parameter_count = 1),
           KIN_EINVAL,
           i < own_count ? "parameters: \"" : "parameters[0] has no name");
  }
  refuse(SPEC(.path = "/", .parameter_count = 1), KIN_EINVAL, "parameters: ");
}

/* Every bound: the largest that is taken, and one more. */
static void test_bounds(void **state) {
  (void)state;
  kin__composed composed;
  size_t size = (3u << 20) + 2;
  char *big = malloc(size);
  assert_non_null(big);
  memset(big, 'a', size);
  big[size - 1] = '\0';
  refuse(SPEC(.verb = KIN_VERB_CREATE, .path = "/", .body = big,
              .body_length = (3u << 20) + 1),
         KIN_ETOOBIG, "body_length: 3145729 bytes are more than 3145728");
  assert_int_equal(
      compose(&composed, SPEC(.verb = KIN_VERB_CREATE, .path = "/", .body = big,
                              .body_length = 3u << 20)),
      0);
  assert_int_equal(composed.body.length, 3u << 20);
  kin__composed_finish(&composed);
  const kin_parameter parameter = {"x", big + size - 1 - (64u << 10)};
  refuse(SPEC(.path = "/", .parameters = &parameter, .parameter_count = 1),
         KIN_EINVAL, "parameters: 65537 bytes are more than 65536");
  const kin_parameter fits = {"x", parameter.value + 1};
  assert_int_equal(compose(&composed, SPEC(.path = "/", .parameters = &fits,
                                           .parameter_count = 1)),
                   0);
  kin__composed_finish(&composed);
  kin_parameter many[65];
  for (size_t i = 0; i < 65; i++) {
    many[i] = (kin_parameter){"x", "y"};
  }
  refuse(SPEC(.path = "/", .parameters = many, .parameter_count = 65),
         KIN_EINVAL, "parameters: NULL, or more than 64");
  assert_int_equal(compose(&composed, SPEC(.path = "/", .parameters = many,
                                           .parameter_count = 64)),
                   0);
  kin__composed_finish(&composed);
  big[0] = '/';
  refuse(SPEC(.path = big), KIN_ETOOBIG, "path: over 262144 bytes");
  big[0] = 'a';
  refuse(SPEC(.verb = KIN_VERB_DELETE, .path = "/", .precondition_uid = big),
         KIN_ETOOBIG, "preconditions: ");
  refuse(SPEC(.path = "/", .accept = big + size - 1 - 1025), KIN_EINVAL,
         "accept: ");
  assert_int_equal(
      compose(&composed, SPEC(.path = "/", .accept = big + size - 1 - 1024)),
      0);
  kin__composed_finish(&composed);
  free(big);
}

/* The text for messages has no query, and is cut to fit. */
static void test_description(void **state) {
  (void)state;
  kin__composed composed;
  char text[24];
  assert_int_equal(
      compose(&composed, SPEC(.path = "/version", .timeout_ms = 1)), 0);
  kin__composed_describe(&composed, text, sizeof text);
  assert_string_equal(text, "GET /version");
  kin__composed_describe(&composed, text, 8);
  assert_string_equal(text, "GET /ve");
  kin__composed_finish(&composed);
}

static bool compose_with_failure(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin__composed composed;
  kin__composed_init(&composed, &memory.allocator);
  int err =
      kin__compose(&composed,
                   SPEC(.verb = KIN_VERB_DELETE, .plural = "nodes", .name = "x",
                        .precondition_uid = "u", .dry_run = true),
                   NULL);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kin__composed_finish(&composed);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return has_failed;
}

static void test_compose_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(compose_with_failure, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_composed_paths),
      cmocka_unit_test(test_names_are_encoded),
      cmocka_unit_test(test_whole_paths),
      cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_timeouts),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_composed_accept),
      cmocka_unit_test(test_delete_options),
      cmocka_unit_test(test_refused_places),
      cmocka_unit_test(test_refused_long_places),
      cmocka_unit_test(test_refused_values),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_description),
      cmocka_unit_test(test_compose_allocations),
  };
  return cmocka_run_group_tests_name("composed requests", tests, NULL, NULL);
}
