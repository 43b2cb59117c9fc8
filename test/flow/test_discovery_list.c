/* SPDX-License-Identifier: MIT */

/* All resources of the server at once: which versions, what is missing, and
 * ends in each state. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "base/str.h"
#include "discovery/discovery.h"
#include "discovery/table.h"
#include "support/find_world.h"

#define VERSION(name, resources)                                               \
  "{\"version\":\"" name "\",\"resources\":[" resources                        \
  "],\"freshness\":\"Current\"}"
#define VERSIONS_OF(group, versions)                                           \
  "{\"metadata\":{\"name\":\"" group "\"},\"versions\":[" versions "]}"
#define HPA RESOURCE("hpas", "HPA", NAMESPACED)
/* v2 is preferred; v1 has a resource more, and one of them twice. */
#define TWO_VERSIONS                                                           \
  VERSIONS_OF("autoscaling",                                                   \
              VERSION("v2", HPA) "," VERSION(                                  \
                  "v1", HPA "," RESOURCE("olds", "Old", CLUSTER) "," HPA))

/* --- Which resources ------------------------------------------------------ */

static void test_preferred(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  find_world_answer(&w, CORE, LIST(TWO_VERSIONS "," WIDGETS));
  find_world_expect(&w, 0,
                    "pods.v1. hpas.v2.autoscaling olds.v1.autoscaling "
                    "widgets.v1.example.com ");
  assert_string_equal(w.message, "");
  assert_string_equal(w.word, "");
  assert_string_equal(w.name, "");
  assert_false(w.is_category);
  find_world_find(&w, "po"); /* the same table */
  find_world_expect(&w, 0, "pods.v1. ");
  assert_int_equal(find_world_requests(&w), 2);
  find_world_finish(&w);
}

static void test_all_versions(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_list(&w, KIN_DISCOVERY_ALL_VERSIONS);
  find_world_answer(&w, CORE, LIST(TWO_VERSIONS));
  find_world_expect(&w, 0,
                    "pods.v1. hpas.v2.autoscaling hpas.v1.autoscaling "
                    "olds.v1.autoscaling ");
  find_world_finish(&w);
}

static void keep_verbs(find_world *w, const kin_discovery_result *result) {
  (void)w;
  for (size_t i = 0; i < result->resource_count; i++) {
    const kin_api_resource *resource = result->resources[i];
    bool is_review = strcmp(resource->plural, "reviews") == 0;
    assert_true(kin_api_resource_has_verb(resource, "watch") != is_review);
    assert_true(kin_api_resource_has_verb(resource, "create") == is_review);
  }
}

static void test_verbs(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  w.then = keep_verbs;
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  find_world_answer(&w, CORE, APPS);
  find_world_expect(&w, 0,
                    "pods.v1. deployments.v1.apps nodes.v1.apps "
                    "reviews.v1.apps ");
  assert_false(kin_api_resource_has_verb(NULL, "list"));
  static const char *const none[] = {NULL};
  const kin_api_resource resource = {.size = sizeof resource, .verbs = none};
  assert_false(kin_api_resource_has_verb(&resource, "list"));
  assert_false(kin_api_resource_has_verb(&resource, NULL));
  find_world_finish(&w);
}

static void test_nothing(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_list(&w, KIN_DISCOVERY_ALL_VERSIONS);
  find_world_answer(&w, LIST(""), LIST(""));
  find_world_expect(&w, 0, "");
  assert_int_equal(w.resource_count, 0);
  assert_string_equal(w.message, "");
  find_world_finish(&w);
}

/* `groups` groups with `each` resources, in two versions. The caller frees the
 * document. */
static char *many_groups(unsigned groups, unsigned each) {
  size_t size = 512 + (size_t)groups * (256 + (size_t)each * 2 * 160);
  char *text = malloc(size);
  size_t length = 0;
  assert_non_null(text);
#define ADD(...)                                                               \
  length += (size_t)snprintf(text + length, size - length, __VA_ARGS__)
  ADD("{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
      "\"apidiscovery.k8s.io/v2\",\"items\":[");
  for (unsigned g = 0; g < groups; g++) {
    ADD("%s{\"metadata\":{\"name\":\"g%u.io\"},\"versions\":[",
        g > 0 ? "," : "", g);
    for (unsigned v = 0; v < 2; v++) {
      ADD("%s{\"version\":\"v%u\",\"resources\":[", v > 0 ? "," : "", 2 - v);
      for (unsigned r = 0; r < each; r++) {
        ADD("%s{\"resource\":\"r%u\",\"responseKind\":{\"kind\":\"R%u\"}}",
            r > 0 ? "," : "", r, r);
      }
      ADD("]}");
    }
    ADD("]}");
  }
  ADD("]}");
#undef ADD
  assert_true(length < size);
  return text;
}

/* More than a word may find, and as many as a table may have. */
static void test_more_than_a_word_finds(void **state) {
  (void)state;
  static const struct {
    unsigned groups;
    unsigned each;
    size_t preferred;
    size_t all;
    const char *message;
  } cases[] = {
      {1000, 2, 2001, 4001, ""},
      /* The limit cuts the table in the second version of group 81. */
      {90, 100, 8201, KIN__API_RESOURCES_MAX,
       "the server has more resources than the limits of this library allow"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    find_world w;
    char *groups = many_groups(cases[i].groups, cases[i].each);
    find_world_init(&w, 0);
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    find_world_answer(&w, CORE, groups);
    assert_int_equal(w.code, 0);
    assert_int_equal(w.resource_count, cases[i].preferred);
    assert_string_equal(w.message, cases[i].message);
    find_world_list(&w, KIN_DISCOVERY_ALL_VERSIONS);
    assert_int_equal(w.resource_count, cases[i].all);
    find_world_finish(&w);
    free(groups);
  }
}

/* --- What is missing ------------------------------------------------------ */

#define STALE                                                                  \
  "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":"    \
  "\"v1\",\"resources\":[],\"freshness\":\"Stale\"}]}"

static void test_a_version_fails(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    find_world_answer(&w, CORE, LIST(STALE "," WIDGETS));
    script_respond(&w.vh.script, "/apis/metrics.k8s.io/v1?", 503, "down");
    find_world_expect(&w, 0, "pods.v1. widgets.v1.example.com ");
    if (strncmp(w.message, "not known: metrics.k8s.io/v1 (", 30) != 0) {
      fail_msg("%s", w.message);
    }
    assert_int_equal(w.status, 0);
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  }
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  find_world_answer(&w, CORE, LIST(STALE "," WIDGETS));
  script_respond(&w.vh.script, "/apis/metrics.k8s.io/v1?", 200,
                 RESOURCES("pods", "PodMetrics"));
  find_world_expect(&w, 0,
                    "pods.v1. pods.v1.metrics.k8s.io widgets.v1.example.com ");
  assert_string_equal(w.message, "");
  find_world_finish(&w);
}

/* A list that lacks resources asks the server again, but not at once. */
static void test_asks_again(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  for (int round = 0; round < 2; round++) {
    find_world_answer(&w, CORE, LIST(STALE "," WIDGETS));
    script_respond(&w.vh.script, "/apis/metrics.k8s.io/v1?", 503, "down");
    find_world_expect(&w, 0, "pods.v1. widgets.v1.example.com ");
    size_t requests = find_world_requests(&w);
    script_advance(&w.vh.script, 9000);
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    script_run(&w.vh.script);
    find_world_expect(&w, 0, "pods.v1. widgets.v1.example.com ");
    assert_true(w.message[0] != '\0');
    assert_int_equal(find_world_requests(&w), requests);
    script_advance(&w.vh.script, 1000);
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    script_run(&w.vh.script);
  }
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0,
                    "pods.v1. deployments.v1.apps widgets.v1.example.com ");
  assert_string_equal(w.message, "");
  size_t requests = find_world_requests(&w);
  script_advance(&w.vh.script, 20000);
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  script_run(&w.vh.script);
  find_world_expect(&w, 0,
                    "pods.v1. deployments.v1.apps widgets.v1.example.com ");
  assert_int_equal(find_world_requests(&w), requests);
  find_world_finish(&w);
}

static void test_a_root_fails(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    script_respond(&w.vh.script, API, 200, CORE);
    script_respond(&w.vh.script, APIS, 403, "no");
    find_world_expect(&w, 0, "pods.v1. ");
    assert_int_equal(w.error_class, KIN_CLASS_FORBIDDEN);
    assert_int_equal(w.status, 403);
    assert_non_null(strstr(w.message, "/apis"));
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  }
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0,
                    "pods.v1. deployments.v1.apps widgets.v1.example.com ");
  assert_string_equal(w.message, "");
  assert_int_equal(w.status, 0);
  /* The table stays when the server fails later. */
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  script_respond(&w.vh.script, API, 500, "no");
  script_respond(&w.vh.script, APIS, 500, "no");
  find_world_expect(&w, 0,
                    "pods.v1. deployments.v1.apps widgets.v1.example.com ");
  assert_int_equal(w.status, 500);
  assert_true(w.message[0] != '\0');
  find_world_finish(&w);
}

static void test_all_fails(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    find_world_list(&w, KIN_DISCOVERY_ALL_VERSIONS);
    script_respond(&w.vh.script, API, 403, "no");
    script_respond(&w.vh.script, APIS, 403, "no");
    find_world_expect(&w, KIN_ESTATUS, "");
    assert_int_equal(w.error_class, KIN_CLASS_FORBIDDEN);
  }
  find_world_finish(&w);
}

/* --- Refusals and ends ---------------------------------------------------- */

static void test_refused(void **state) {
  (void)state;
  find_world w;
  kin_discovery *out = (kin_discovery *)&w;
  find_world_init(&w, 0);
  assert_int_equal(kin__discovery_list(&out, &w.vh.host,
                                       KIN_DISCOVERY_PREFERRED, NULL, NULL),
                   KIN_EINVAL);
  assert_null(out);
  assert_non_null(strstr(w.vh.text, "cb: is required"));
  assert_int_equal(find_world_try_list(&w, (kin_discovery_versions)2),
                   KIN_EINVAL);
  assert_non_null(strstr(w.vh.text, "versions: "));
  assert_int_equal(find_world_requests(&w), 0);
  find_world_finish(&w);
}

static void test_cancelled(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  assert_int_equal(kin_discovery_cancel(w.finds[0], UV_ECANCELED), 0);
  assert_int_equal(w.ended, 0);
  script_run(&w.vh.script);
  find_world_expect(&w, UV_ECANCELED, "");
  assert_string_equal(
      w.message, "discovery of all resources: the program has cancelled it");
  find_world_answer(&w, CORE, APPS);
  find_world_finish(&w);
}

static void close_in_callback(find_world *w,
                              const kin_discovery_result *result) {
  w->then = NULL;
  assert_int_equal(result->resource_count, 4);
  vh_close(&w->vh);
  assert_string_equal(result->resources[0]->plural, "pods");
}

static void test_closed(void **state) {
  (void)state;
  find_world w;
  for (int is_answered = 0; is_answered < 2; is_answered++) {
    find_world_init(&w, 0);
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    find_world_list(&w, KIN_DISCOVERY_ALL_VERSIONS);
    if (is_answered != 0) {
      w.then = close_in_callback;
      find_world_answer(&w, CORE, APPS);
    } else {
      vh_close(&w.vh);
      script_run(&w.vh.script);
    }
    find_world_expect(&w, KIN_ECLOSED, "");
    assert_int_equal(w.ended, 2);
    find_world_finish(&w);
  }
}

static void again_in_callback(find_world *w,
                              const kin_discovery_result *result) {
  w->then = NULL;
  assert_int_equal(kin__discovery_refresh(&w->vh.host), 0);
  assert_int_equal(find_world_try_list(w, KIN_DISCOVERY_PREFERRED), 0);
  assert_string_equal(result->resources[0]->plural, "pods");
}

static void test_again_in_callback(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  w.then = again_in_callback;
  find_world_list(&w, KIN_DISCOVERY_PREFERRED);
  find_world_answer(&w, CORE, APPS);
  find_world_answer(&w, CORE, LIST(WIDGETS));
  find_world_expect(&w, 0, "pods.v1. widgets.v1.example.com ");
  find_world_finish(&w);
}

/* --- Memory --------------------------------------------------------------- */

/* A list that lacks a version never looks complete. */
static bool story(size_t fail_at) {
  find_world w;
  find_world_init(&w, fail_at);
  for (int versions = 0; versions < 2; versions++) {
    if (find_world_try_list(&w, (kin_discovery_versions)versions) != 0) {
      continue;
    }
    script_run(&w.vh.script);
    find_world_respond_if_open(&w, API, 200, CORE);
    find_world_respond_if_open(&w, APIS, 200, LIST(STALE "," WIDGETS));
    find_world_respond_if_open(&w, "/apis/metrics.k8s.io/v1?", 503, "down");
    assert_int_equal(w.ended, w.begun);
    assert_true(w.code == 0 || w.code == KIN_ENOMEM);
    assert_true(w.message[0] != '\0');
    if (w.code == 0 && !fail_alloc_has_failed(&w.vh.memory)) {
      assert_string_equal(w.found, "pods.v1. widgets.v1.example.com ");
    }
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  find_world_finish(&w);
  return has_failed;
}

static void test_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(story, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_preferred),
      cmocka_unit_test(test_all_versions),
      cmocka_unit_test(test_verbs),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_more_than_a_word_finds),
      cmocka_unit_test(test_a_version_fails),
      cmocka_unit_test(test_asks_again),
      cmocka_unit_test(test_a_root_fails),
      cmocka_unit_test(test_all_fails),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_cancelled),
      cmocka_unit_test(test_closed),
      cmocka_unit_test(test_again_in_callback),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
