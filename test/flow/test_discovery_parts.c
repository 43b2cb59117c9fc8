/* SPDX-License-Identifier: MIT */

/* Look-ups while the server does not tell a part of its resources: /api, /apis,
 * or a version of a group. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "discovery/discovery.h"
#include "support/find_world.h"

/* --- One of /api and /apis ------------------------------------------------ */

/* Words of the root that answers are found. A look-up of any other word ends with
 * the failure of the root that is forbidden: that root may have the word. */
static void test_a_part_is_forbidden(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "pods");
  script_respond(&w.vh.script, API, 200, CORE);
  script_respond(&w.vh.script, APIS, 403, "no");
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_find(&w, "deployments");
  find_world_expect(&w, KIN_ESTATUS, "");
  assert_int_equal(w.status, 403);
  find_world_finish(&w);
}

#define PODS_OF_METRICS                                                        \
  GROUP("metrics", RESOURCE("pods", "PodMetrics", NAMESPACED))
#define DEPLOYMENTS(version)                                                   \
  "{\"metadata\":{\"name\":\"apps\"},\"versions\":[{\"version\":\"" version    \
  "\",\"resources\":[" RESOURCE("deployments", "Deployment",                   \
                                NAMESPACED) "]}]}"

/* A part that fails later takes no word away. What the other part brings
 * counts, but a word of it names nothing else first than before. */
static void test_a_part_fails_later(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "deployments");
    script_respond(&w.vh.script, API, 200, CORE);
    script_respond(&w.vh.script, APIS, 500, "no");
    find_world_expect(&w, 0, "deployments.v1.apps ");
    find_world_find(&w, "pods");
    find_world_expect(&w, 0,
                      round == 0 ? "pods.v1. " : "pods.v1. pods.v1.metrics ");
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "po");
    script_respond(&w.vh.script, API, 500, "no");
    script_respond(&w.vh.script, APIS, 200,
                   LIST(PODS_OF_METRICS "," WIDGETS "," DEPLOYMENTS("v1")));
    find_world_expect(&w, 0, "pods.v1. ");
    find_world_find(&w, "pods");
    find_world_expect(&w, 0, "pods.v1. pods.v1.metrics ");
    find_world_find(&w, "widgets");
    find_world_expect(&w, 0, "widgets.v1.example.com ");
  }
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w, "deployments");
  find_world_answer(&w, CORE, LIST(WIDGETS)); /* both: it is gone */
  find_world_expect(&w, KIN_ENOENT, "");
  find_world_finish(&w);
}

static void refresh_and_find(find_world *w, const char *word, int core_status,
                             int groups_status, const char *groups) {
  assert_int_equal(kin__discovery_refresh(&w->vh.host), 0);
  find_world_find(w, word);
  script_respond(&w->vh.script, API, core_status,
                 core_status == 200 ? CORE : "no");
  script_respond(&w->vh.script, APIS, groups_status, groups);
}

/* Each part alone, in turn: both are known then, and stay known. */
static void test_parts_fail_in_turn(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    refresh_and_find(&w, "pods", 200, 500, "no");
    find_world_expect(&w, 0, "pods.v1. ");
    script_advance(&w.vh.script, 10000);
    find_world_find(&w, "widgets");
    script_respond(&w.vh.script, API, 500, "no");
    script_respond(&w.vh.script, APIS, 200, LIST(WIDGETS));
    find_world_expect(&w, 0, "widgets.v1.example.com ");
    find_world_find(&w, "pods");
    find_world_expect(&w, 0, "pods.v1. ");
  }
  refresh_and_find(&w, "widgets", 200, 500, "no");
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  find_world_find(&w, "gadgets");
  find_world_expect(&w, KIN_ESTATUS, ""); /* nobody knows */
  find_world_finish(&w);
}

/* A part that answers counts at once, however long the other one fails. */
static void test_a_part_changes(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  for (int round = 0; round < 2; round++) {
    refresh_and_find(&w, "deployments", 403, 200, LIST(DEPLOYMENTS("v2")));
    find_world_expect(&w, 0, "deployments.v2.apps ");
    find_world_find(&w, "po");
    find_world_expect(&w, 0, "pods.v1. ");
  }
  refresh_and_find(&w, "po", 404, 200, LIST(WIDGETS));
  script_respond(&w.vh.script, API, 404, "no"); /* in the old form */
  find_world_expect(&w, KIN_ENOENT, "");
  find_world_finish(&w);
}

/* A part of another server's resources says more than all of those of the
 * server before. */
static void test_a_part_of_another_server(void **state) {
  (void)state;
  find_world w;
  uint32_t generation = 3;
  find_world_begin_with_table(&w);
  w.vh.script.env.server_generation = &generation;
  find_world_find(&w, "deployments");
  script_respond(&w.vh.script, API, 403, "no");
  script_respond(&w.vh.script, APIS, 200,
                 LIST(GROUP("example.com",
                            RESOURCE("deployments", "Deployment", CLUSTER))));
  find_world_expect(&w, 0, "deployments.v1.example.com ");
  find_world_find(&w, "pods");
  find_world_expect(&w, KIN_ESTATUS, "");
  find_world_finish(&w);
}

/* --- A version ------------------------------------------------------------ */

#define METRICS "/apis/metrics.k8s.io/v1?"
#define STALE_METRICS                                                          \
  LIST("{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{"           \
       "\"version\":\"v1\",\"freshness\":\"Stale\"}]}")

/* A version that fails later takes no word away, unless the server says that it
 * is not there. */
static void test_a_version_fails_later(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "nodemetrics");
  find_world_answer(&w, CORE, STALE_METRICS);
  script_respond(&w.vh.script, METRICS, 200, RESOURCES("nodes", "NodeMetrics"));
  for (int round = 0; round < 2; round++) {
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "nodemetrics");
    find_world_answer(&w, CORE, STALE_METRICS);
    script_respond(&w.vh.script, METRICS, round == 0 ? 503 : 200, "oops");
    find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
  }
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w, "nodemetrics");
  script_respond(&w.vh.script, API, 200, CORE);
  script_respond(&w.vh.script, APIS, 500, "no"); /* still known as a whole */
  find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
  for (int round = 0; round < 2; round++) {
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "nodemetrics");
    find_world_answer(&w, CORE, STALE_METRICS);
    script_respond(&w.vh.script, METRICS, round == 0 ? 503 : 404, "no");
    find_world_expect(&w, round == 0 ? 0 : KIN_ENOENT,
                      round == 0 ? "nodes.v1.metrics.k8s.io " : "");
  }
  find_world_finish(&w);
}

/* A version that was learnt while the other part failed. */
static void test_a_version_of_a_part_fails_later(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  refresh_and_find(&w, "nodemetrics", 500, 200, STALE_METRICS);
  script_respond(&w.vh.script, METRICS, 200, RESOURCES("nodes", "NodeMetrics"));
  find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
  for (int round = 0; round < 2; round++) {
    refresh_and_find(&w, "nodemetrics", 200, 200, STALE_METRICS);
    script_respond(&w.vh.script, METRICS, 503, "no");
    find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
    refresh_and_find(&w, "nodemetrics", 200, 500, "no");
    find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
  }
  find_world_finish(&w);
}

/* --- The time of a load --------------------------------------------------- */

#define STALE(name)                                                            \
  "{\"metadata\":{\"name\":\"" name                                            \
  "\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}]}"
#define NINE_STALE                                                             \
  LIST(STALE("a") "," STALE("b") "," STALE("c") "," STALE("d") "," STALE(      \
      "e") "," STALE("f") "," STALE("g") "," STALE("h") "," STALE("i"))

/* Versions that never answer, four at a time, hold a look-up back for the 32 s
 * of the whole load. The second time counts anew, and the time that the roots
 * take counts, too. */
static void test_versions_hang(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    unsigned before = find_world_requests(&w);
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "pods");
    find_world_list(&w, KIN_DISCOVERY_PREFERRED);
    script_advance(&w.vh.script, 2000);
    find_world_answer(&w, CORE, NINE_STALE);
    script_advance(&w.vh.script, 29999);
    assert_int_equal(w.ended, w.begun - 2);
    assert_int_equal(find_world_requests(&w) - before, 6);
    script_advance(&w.vh.script, 1);
    find_world_expect(&w, 0, "pods.v1. ");
    assert_int_equal(find_world_requests(&w) - before, 6);
    assert_non_null(
        strstr(w.message, round == 0 ? "no answer in time); not known: b/v1 ("
                                     : "not known: a/v1 (not asked in time)"));
    assert_non_null(strstr(w.message, "; and 6 more"));
    script_advance(&w.vh.script, 60000);
  }
  find_world_finish(&w);
}

/* Answers the request for v1 of each group from `first` to `last`. */
static void respond_to_groups(find_world *w, char first, char last, int status,
                              const char *body) {
  for (char group = first; group <= last; group++) {
    char path[] = "/apis/a/v1?";
    path[6] = group;
    script_respond(&w->vh.script, path, status, body);
  }
}

/* A version whose turn does not come keeps the resources that were known. */
static void test_a_version_has_no_turn(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "xs");
  find_world_answer(&w, CORE, NINE_STALE);
  respond_to_groups(&w, 'a', 'h', 200, RESOURCES("ys", "Y"));
  respond_to_groups(&w, 'i', 'i', 200, RESOURCES("xs", "X"));
  find_world_expect(&w, 0, "xs.v1.i ");
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w, "xs");
  find_world_answer(&w, CORE, NINE_STALE);
  respond_to_groups(&w, 'a', 'd', 404, "no");
  script_advance(&w.vh.script, 32000);
  find_world_expect(&w, 0, "xs.v1.i ");
  find_world_finish(&w);
}

static void begin_late_load(find_world *w, const char *word,
                            const char *groups) {
  assert_int_equal(kin__discovery_refresh(&w->vh.host), 0);
  find_world_find(w, word);
  find_world_answer(w, CORE, groups);
}

/* Four that hang, four at a time, hide the fifth in one load only: it is asked
 * first from then on. Until then nobody knows whether it has the word. */
static void test_hanging_versions_hide_none(void **state) {
  (void)state;
  static const char groups[] = LIST(
      STALE("a") "," STALE("b") "," STALE("c") "," STALE("d") "," STALE("e"));
  find_world w;
  find_world_init(&w, 0);
  begin_late_load(&w, "xs", groups);
  script_advance(&w.vh.script, 32000);
  find_world_expect(&w, KIN_ETIMEDOUT, "");
  assert_int_equal(w.error_class, KIN_CLASS_PROTOCOL);
  assert_non_null(strstr(
      w.message, "\"xs\" is none of the known resources; not known: e/v1 (not "
                 "asked in time); not known: a/v1 ("));
  for (int round = 0; round < 3; round++) {
    script_advance(&w.vh.script, 60000);
    begin_late_load(&w, round < 2 ? "xs" : "zs", groups);
    script_respond(&w.vh.script, "/apis/e/v1?", 200, RESOURCES("xs", "X"));
    script_advance(&w.vh.script, 32000);
    find_world_expect(&w, round < 2 ? 0 : KIN_ENOENT,
                      round < 2 ? "xs.v1.e " : "");
  }
  find_world_finish(&w);
}

/* An unknown word is unknown when each version was asked once, if only in
 * different loads: some may hang for ever. */
static void test_all_versions_hang(void **state) {
  (void)state;
  static const int codes[] = {KIN_ETIMEDOUT, KIN_ETIMEDOUT, KIN_ENOENT,
                              KIN_ENOENT};
  find_world w;
  find_world_init(&w, 0);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    begin_late_load(&w, "xs", NINE_STALE);
    script_advance(&w.vh.script, 32000);
    find_world_expect(&w, codes[i], "");
    script_advance(&w.vh.script, 60000);
    if (i == 1) { /* that is not forgotten while /apis fails */
      refresh_and_find(&w, "pods", 200, 500, "no");
      find_world_expect(&w, 0, "pods.v1. ");
    }
  }
  find_world_finish(&w);
}

/* Nor do slow ones: the ninth is asked when 2 s are left, and takes longer. */
static void test_slow_versions_hide_none(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  begin_late_load(&w, "xs", NINE_STALE);
  for (char group = 'a'; group < 'i'; group += 4) {
    script_advance(&w.vh.script, 15000);
    respond_to_groups(&w, group, (char)(group + 3), 200, RESOURCES("ys", "Y"));
  }
  script_advance(&w.vh.script, 2000);
  find_world_expect(&w, KIN_ETIMEDOUT, "");
  assert_non_null(strstr(w.message, "not known: i/v1 ("));
  begin_late_load(&w, "xs", NINE_STALE);
  script_advance(&w.vh.script, 15000);
  respond_to_groups(&w, 'i', 'i', 200, RESOURCES("xs", "X"));
  script_advance(&w.vh.script, 17000);
  find_world_expect(&w, 0, "xs.v1.i ");
  find_world_finish(&w);
}

/* --- Ends and memory ------------------------------------------------------ */

/* A load of all, and one in which /apis and the version fail in turn. */
static void load_in_parts(find_world *w) {
  for (int round = 0; round < 3; round++) {
    if (find_world_try_find(w, "nodemetrics") != 0) {
      continue;
    }
    script_run(&w->vh.script);
    find_world_respond_if_open(w, API, round == 2 ? 500 : 200, CORE);
    find_world_respond_if_open(w, APIS, round == 1 ? 500 : 200, STALE_METRICS);
    find_world_respond_if_open(w, METRICS, round == 0 ? 200 : 503,
                               RESOURCES("nodes", "NodeMetrics"));
    script_run(&w->vh.script);
    assert_int_equal(w->ended, w->begun);
    (void)kin__discovery_refresh(&w->vh.host);
  }
}

/* Two loads that end late, the second with resources that are inherited. */
static void load_late(find_world *w) {
  for (int round = 0; round < 2; round++) {
    if (find_world_try_find(w, "xs") == 0) {
      script_run(&w->vh.script);
      find_world_respond_if_open(w, API, 200, CORE);
      find_world_respond_if_open(w, APIS, 200, NINE_STALE);
      find_world_respond_if_open(w, "/apis/a/v1?", 200, RESOURCES("xs", "X"));
      script_advance(&w->vh.script, 32000);
      (void)kin__discovery_refresh(&w->vh.host);
    }
  }
}

static bool late_story(size_t fail_at) {
  find_world w;
  find_world_init(&w, fail_at);
  load_late(&w);
  assert_true(w.code == 0 || w.code == KIN_ENOMEM);
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  find_world_finish(&w);
  return has_failed;
}

static bool story(size_t fail_at) {
  find_world w;
  find_world_init(&w, fail_at);
  load_in_parts(&w);
  assert_true(w.code == 0 || w.code == KIN_ENOENT || w.code == KIN_ENOMEM ||
              w.code == KIN_ESTATUS); /* if a load before had no memory */
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  find_world_finish(&w);
  return has_failed;
}

static void test_parts_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(story, 50);
  fail_alloc_sweep(late_story, 50);
}

static bool close_after_step(int n, void (*steps)(find_world *w)) {
  find_world w;
  bool is_closed = find_world_close_after_step(&w, n, steps);
  find_world_finish(&w);
  return is_closed;
}

static void expect_closes(void (*steps)(find_world *w), int least) {
  int n = 1;
  while (close_after_step(n, steps)) {
    n++;
  }
  print_message("%d steps\n", n - 1);
  assert_true(n > least);
}

static void test_parts_closed_after_each_step(void **state) {
  (void)state;
  expect_closes(load_in_parts, 50);
  expect_closes(load_late, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_part_is_forbidden),
      cmocka_unit_test(test_a_part_fails_later),
      cmocka_unit_test(test_parts_fail_in_turn),
      cmocka_unit_test(test_a_part_changes),
      cmocka_unit_test(test_a_part_of_another_server),
      cmocka_unit_test(test_a_version_fails_later),
      cmocka_unit_test(test_a_version_of_a_part_fails_later),
      cmocka_unit_test(test_versions_hang),
      cmocka_unit_test(test_a_version_has_no_turn),
      cmocka_unit_test(test_hanging_versions_hide_none),
      cmocka_unit_test(test_all_versions_hang),
      cmocka_unit_test(test_slow_versions_hide_none),
      cmocka_unit_test(test_parts_without_memory),
      cmocka_unit_test(test_parts_closed_after_each_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
