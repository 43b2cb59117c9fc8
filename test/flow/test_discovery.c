/* SPDX-License-Identifier: MIT */

/* Look-ups of words on a virtual clock: one answer for all that wait, what
 * makes a client ask again, refusals, and ends in each state. */

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
#include "discovery/load.h"
#include "support/find_world.h"

/* --- Answers -------------------------------------------------------------- */

static void test_fifty_finds_two_requests(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int i = 0; i < 50; i++) {
    find_world_find(&w, i % 2 == 0 ? "po" : "deployments/web");
  }
  assert_int_equal(find_world_requests(&w), 2);
  script_respond(&w.vh.script, APIS, 200, APPS); /* in any order */
  assert_int_equal(w.ended, 0);
  script_respond(&w.vh.script, API, 200, CORE);
  find_world_expect(&w, 0, "deployments.v1.apps ");
  assert_string_equal(w.word, "deployments");
  assert_string_equal(w.name, "web");
  find_world_find(&w, "Pod");
  find_world_expect(&w, 0, "pods.v1. ");
  assert_string_equal(w.name, "");
  find_world_find(&w, "all");
  find_world_expect(&w, 0, "deployments.v1.apps ");
  assert_true(w.is_category);
  assert_int_equal(find_world_requests(&w), 2);
  find_world_finish(&w);
}

static void test_refused_words(void **state) {
  (void)state;
  find_world w;
  static const char *const words[] = {"", "/", "a/b/c", "a\tb", NULL};
  find_world_init(&w, 0);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    assert_int_equal(find_world_try_find(&w, words[i]), KIN_EINVAL);
  }
  assert_non_null(strstr(w.vh.text, "word: is empty"));
  kin_discovery *unused;
  assert_int_equal(kin__discovery_find(&unused, &w.vh.host, "x", NULL, NULL),
                   KIN_EINVAL);
  assert_int_equal(find_world_requests(&w), 0);
  find_world_finish(&w);
}

static void test_unknown_word(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "poods");
  find_world_answer(&w, CORE, APPS);
  find_world_expect(&w, KIN_ENOENT, "");
  assert_int_equal(w.error_class, KIN_CLASS_NONE);
  assert_string_equal(w.near, "pods ");
  assert_string_equal(
      w.message, "the server has no resource \"poods\"; did you mean pods?");
  find_world_find(&w, "nods");
  assert_string_equal(w.message, "the server has no resource \"nods\"; did "
                                 "you mean pods or nodes?");
  find_world_find(&w, "zzzzz.example.com/x");
  find_world_expect(&w, KIN_ENOENT, "");
  assert_string_equal(w.message,
                      "the server has no resource \"zzzzz.example.com\"");
  find_world_finish(&w);
}

static void test_ambiguous_word(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "Same");
  find_world_answer(
      &w, CORE,
      LIST(GROUP("a.io", RESOURCE("xs", "Same", NAMESPACED) "," RESOURCE(
                             "ys", "Same", NAMESPACED))));
  find_world_expect(&w, KIN_EAMBIGUOUS, "xs.v1.a.io ys.v1.a.io ");
  assert_string_equal(w.message,
                      "\"Same\" names several resources: xs.a.io, ys.a.io");
  find_world_finish(&w);
}

/* --- Failures before the last one ----------------------------------------- */

typedef struct failing {
  find_world *world;
  int count;
  kin_error_class error_class; /* of the last one */
  int status;
  uint32_t attempt;
  uint64_t retry_in_ms;
  kin_retry answer;
  bool closes;
} failing;

static void on_failing(kin_error_event *event, void *data) {
  failing *f = data;
  f->count++;
  f->error_class = event->error_class;
  f->status = event->status;
  f->attempt = event->attempt;
  f->retry_in_ms = event->retry_in_ms;
  event->answer = f->answer;
  assert_non_null(strstr(event->message, "/api"));
  if (f->closes) {
    vh_close(&f->world->vh);
  }
}

static void begin_failing(find_world *w, failing *f) {
  find_world_init(w, 0);
  *f = (failing){.world = w};
  assert_int_equal(kin__discovery_on_error(&w->vh.host, on_failing, f), 0);
  find_world_find(w, "pods");
}

/* The server asks for the request again, in 5 s. */
static void put_off(find_world *w, const char *path) {
  const kin__response_head head = {
      .status = 429, .retry_after_s = 5, .is_identity = true, .connection = 1};
  script_request *request = script_expect(&w->vh.script, path);
  if (script_request_give_head(request, &head)) {
    script_request_end(request);
  }
  script_run(&w->vh.script);
}

static void test_failures_are_told_at_once(void **state) {
  (void)state;
  find_world w;
  failing f;
  begin_failing(&w, &f);
  for (uint32_t i = 1; i <= 3; i++) {
    put_off(&w, API);
    assert_int_equal(f.count, i);
    assert_int_equal(f.error_class, KIN_CLASS_THROTTLED);
    assert_int_equal(f.status, 429);
    assert_int_equal(f.attempt, i);
    assert_int_equal(f.retry_in_ms, 5000);
    assert_int_equal(w.ended, 0);
    script_advance(&w.vh.script, 5000);
  }
  put_off(&w, APIS);
  assert_int_equal(f.count, 4);
  assert_int_equal(kin__discovery_on_error(&w.vh.host, NULL, NULL), 0);
  script_advance(&w.vh.script, 5000);
  put_off(&w, APIS); /* is told to nobody */
  script_advance(&w.vh.script, 5000);
  assert_int_equal(f.count, 4);
  find_world_answer(&w, CORE, APPS);
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

/* A version is asked for by itself, and told the same way. */
static void test_failure_of_a_version_is_told(void **state) {
  (void)state;
  find_world w;
  failing f;
  begin_failing(&w, &f);
  find_world_answer(&w, CORE,
                    LIST("{\"metadata\":{\"name\":\"apps\"},\"versions\":[{"
                         "\"version\":\"v1\",\"freshness\":\"Stale\"}]}"));
  put_off(&w, "/apis/apps/v1?");
  assert_int_equal(f.count, 1);
  script_advance(&w.vh.script, 5000);
  script_respond(&w.vh.script, "/apis/apps/v1?", 200, RESOURCES("xs", "X"));
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

/* KIN_STOP: this failure is the result. */
static void test_failure_is_the_last_one(void **state) {
  (void)state;
  find_world w;
  failing f;
  begin_failing(&w, &f);
  f.answer = KIN_STOP;
  put_off(&w, API);
  put_off(&w, APIS);
  assert_int_equal(f.count, 2);
  find_world_expect(&w, KIN_ESTATUS, "");
  assert_int_equal(w.status, 429);
  find_world_finish(&w);
}

static void test_client_is_closed_by_a_failure(void **state) {
  (void)state;
  find_world w;
  failing f;
  begin_failing(&w, &f);
  f.closes = true;
  put_off(&w, APIS);
  assert_int_equal(f.count, 1);
  find_world_expect(&w, KIN_ECLOSED, "");
  assert_int_equal(kin__discovery_on_error(&w.vh.host, NULL, NULL),
                   KIN_ECLOSED);
  find_world_finish(&w);
}

/* --- Asking again --------------------------------------------------------- */

/* An unknown word asks the server again, but not within 10 s. */
static void test_new_resource(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  find_world_find(&w, "widgets");
  find_world_expect(&w, KIN_ENOENT, "");
  script_advance(&w.vh.script, 9999);
  find_world_find(&w, "widgets");
  find_world_expect(&w, KIN_ENOENT, "");
  assert_int_equal(find_world_requests(&w), 2);
  script_advance(&w.vh.script, 1);
  find_world_find(&w, "widgets");
  find_world_find(&w, "Widget");
  assert_int_equal(find_world_requests(&w), 4);
  int ended = w.ended;
  find_world_find(&w, "pods"); /* needs no answer */
  assert_int_equal(w.ended, ended + 1);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  script_advance(&w.vh.script, 10000);
  find_world_find(&w, "gadgets");
  assert_int_equal(find_world_requests(&w), 6);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, KIN_ENOENT, "");
  assert_string_equal(w.near, "widgets ");
  find_world_finish(&w);
}

static void test_refresh(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0); /* nothing yet */
  find_world_find(&w, "pods");
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w,
                  "widgets"); /* the running load may be too old for this one */
  assert_int_equal(find_world_requests(&w), 2);
  find_world_answer(&w, CORE, APPS);
  assert_int_equal(w.ended, 1);
  assert_int_equal(find_world_requests(&w), 4);
  find_world_find(&w, "po"); /* joins the second load */
  assert_int_equal(w.ended, 1);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0, "pods.v1. ");
  for (int i = 0; i < 3; i++) {
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  }
  script_run(&w.vh.script);
  assert_int_equal(find_world_requests(&w),
                   4); /* a refresh asks nothing by itself */
  find_world_find(&w, "widgets");
  assert_int_equal(find_world_requests(&w), 6);
  find_world_answer(&w, CORE, APPS);
  find_world_expect(&w, KIN_ENOENT, "");
  vh_close(&w.vh);
  assert_int_equal(kin__discovery_refresh(&w.vh.host), KIN_ECLOSED);
  assert_int_equal(find_world_try_find(&w, "x"), KIN_ECLOSED);
  find_world_finish(&w);
}

/* Other settings of the server are in use: before a look-up, and while the
 * server is asked. */
static void test_other_server(void **state) {
  (void)state;
  find_world w;
  uint32_t generation = 3;
  find_world_init(&w, 0);
  w.vh.script.env.server_generation = &generation;
  find_world_find(&w, "pods");
  find_world_answer(&w, CORE, APPS);
  find_world_find(&w, "pods");
  assert_int_equal(w.ended, 2);
  generation++;
  find_world_find(&w, "widgets");
  assert_int_equal(w.ended, 2);
  generation++;
  find_world_find(&w, "widgets");
  find_world_answer(&w, CORE, APPS); /* of the server before */
  assert_int_equal(w.ended, 3);
  assert_int_equal(w.code, KIN_ENOENT);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  assert_int_equal(w.ended, 4);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  find_world_find(&w, "pods");
  assert_int_equal(w.ended, 5);
  find_world_finish(&w);
}

/* Another server that cannot be asked is asked again by the next look-up, for
 * known words, too. */
static void test_other_server_fails(void **state) {
  (void)state;
  find_world w;
  uint32_t generation = 3;
  find_world_begin_with_table(&w);
  w.vh.script.env.server_generation = &generation;
  for (int round = 0; round < 2; round++) {
    find_world_find(&w, "pods");
    script_respond(&w.vh.script, API, 500, "no");
    script_respond(&w.vh.script, APIS, 500, "no");
    find_world_expect(&w, 0, "pods.v1. ");
  }
  find_world_find(&w, "widgets");
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  find_world_find(&w, "pods");
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

/* A load that fails leaves the known words known. */
static void test_failed_refresh(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
    find_world_find(&w, "widgets");
    find_world_find(&w, "pods");
    script_respond(&w.vh.script, API, 500, "no");
    script_respond(&w.vh.script, APIS, 500, "no");
    find_world_expect(&w, 0, "pods.v1. ");
    find_world_find(&w, "pods"); /* the table is still too old */
    script_break(&w.vh.script, API, UV_ECONNREFUSED, KIN_CLASS_CONNECT);
    script_break(&w.vh.script, APIS, UV_ECONNREFUSED, KIN_CLASS_CONNECT);
    find_world_expect(&w, 0, "pods.v1. ");
    find_world_find(&w, "widgets");
    find_world_answer(&w, CORE, APPS);
    find_world_expect(&w, KIN_ENOENT, "");
  }
  find_world_finish(&w);
}

/* --- Refusals ------------------------------------------------------------- */

static const char forbidden[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
    "\"message\":\"not for you\",\"code\":403}";

static void test_all_is_forbidden(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int round = 0; round < 2; round++) {
    find_world_find(&w, "pods");
    script_respond(&w.vh.script, API, 403, forbidden);
    script_respond(&w.vh.script, APIS, 403, forbidden);
    find_world_expect(&w, KIN_ESTATUS, "");
    assert_int_equal(w.error_class, KIN_CLASS_FORBIDDEN);
    assert_int_equal(w.status, 403);
    assert_string_equal(w.reason, "Forbidden");
    assert_non_null(strstr(w.message, "not for you"));
  }
  find_world_finish(&w);
}

/* An aggregated API server has no /api. */
static void test_no_core_group(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "deployments");
  script_respond(&w.vh.script, APIS, 200, APPS);
  script_respond(&w.vh.script, API, 404, "404 page not found");
  script_respond(&w.vh.script, API, 404, "404 page not found");
  find_world_expect(&w, 0, "deployments.v1.apps ");
  find_world_find(&w, "pods");
  find_world_expect(&w, KIN_ENOENT, "");
  find_world_finish(&w);
}

static void test_no_discovery(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "pods");
  for (int i = 0; i < 2; i++) {
    script_respond(&w.vh.script, API, 404, "404 page not found");
    script_respond(&w.vh.script, APIS, 404, "404 page not found");
  }
  find_world_expect(&w, KIN_ENOENT, "");
  assert_int_equal(w.status, 404);
  assert_int_equal(w.error_class, KIN_CLASS_ABSENT);
  assert_string_equal(w.reason, "NotFound");
  find_world_finish(&w);
}

/* An aggregated API server that refuses: the 404 of /api says nothing. */
static void test_no_core_group_and_forbidden(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "pods");
  script_respond(&w.vh.script, API, 404, "404 page not found");
  script_respond(&w.vh.script, API, 404, "404 page not found");
  script_respond(&w.vh.script, APIS, 403, forbidden);
  find_world_expect(&w, KIN_ESTATUS, "");
  assert_int_equal(w.status, 403);
  find_world_finish(&w);
}

static void test_odd_answers(void **state) {
  (void)state;
  static const char *const odd[] = {"", "{", "[]", "{\"kind\":\"PodList\"}"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    find_world w;
    find_world_init(&w, 0);
    find_world_find(&w, "pods");
    for (int k = 0; k < 2; k++) {
      assert_int_equal(w.ended, 0);
      assert_int_equal(strcmp(script_expect(&w.vh.script, API)->accept,
                              "application/json") == 0,
                       k == 1);
      script_respond(&w.vh.script, API, 200, odd[i]);
      script_respond(&w.vh.script, APIS, 200, odd[i]);
    }
    assert_int_equal(w.ended, 1);
    assert_true(w.code == KIN_EJSON || w.code == KIN_EUNEXPECTED);
    assert_int_equal(w.error_class, KIN_CLASS_DECODE);
    assert_non_null(strstr(w.message, "/api"));
    find_world_finish(&w);
  }
}

/* --- The old form --------------------------------------------------------- */

#define VERSIONS "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"
#define GROUPS                                                                 \
  "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{"  \
  "\"version\":\"v1beta1\"},{\"version\":\"v1\"}],\"preferredVersion\":{"      \
  "\"version\":\"v1\"}},{\"name\":\"metrics.k8s.io\",\"versions\":[{"          \
  "\"version\":\"v1\"}]}]}"
static void answer_old_versions(find_world *w) {
  assert_string_equal(script_expect(&w->vh.script, "/api/v1?")->accept,
                      "application/json");
  script_respond(&w->vh.script, "/apis/apps/v1?", 200,
                 RESOURCES("deployments", "Deployment"));
  script_respond(&w->vh.script, "/apis/apps/v1beta1?", 200,
                 RESOURCES("rollbacks", "Rollback"));
  script_respond(&w->vh.script, "/apis/metrics.k8s.io/v1?", 503,
                 "no endpoints");
  script_respond(&w->vh.script, "/api/v1?", 200, RESOURCES("pods", "Pod"));
}

static void expect_old(find_world *w) {
  find_world_expect(w, 0, "deployments.v1.apps ");
  find_world_find(w, "rollback");
  find_world_expect(w, 0, "rollbacks.v1beta1.apps ");
  find_world_find(w, "pods");
  find_world_expect(w, 0, "pods.v1. ");
  find_world_find(w, "nodemetrics");
  find_world_expect(w, KIN_ENOENT, "");
  assert_non_null(strstr(w->message, "not known: metrics.k8s.io/v1 ("));
}

/* An old server ignores what it does not know of the Accept field. */
static void test_old_form(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "deployments");
  find_world_answer(&w, VERSIONS, GROUPS);
  answer_old_versions(&w);
  expect_old(&w);
  find_world_finish(&w);
}

static void test_fall_back(void **state) {
  (void)state;
  static const int statuses[] = {400, 404, 406, 415};
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    find_world w;
    find_world_init(&w, 0);
    find_world_find(&w, "deployments");
    script_respond(&w.vh.script, API, statuses[i], "no");
    assert_string_equal(script_expect(&w.vh.script, API)->accept,
                        "application/json");
    script_respond(&w.vh.script, APIS, statuses[i], "no");
    script_respond(&w.vh.script, APIS, 200, GROUPS);
    script_respond(&w.vh.script, API, 200, VERSIONS);
    answer_old_versions(&w);
    expect_old(&w);
    find_world_finish(&w);
  }
}

/* A stale version of the aggregated form is asked by itself, the others are
 * there already. */
static void test_fall_back_of_a_version(void **state) {
  (void)state;
  static const char stale[] =
      LIST("{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{"
           "\"version\":\"v1\",\"freshness\":\"Stale\"}]}," GROUP(
               "apps", RESOURCE("deployments", "Deployment", NAMESPACED)));
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "nodemetrics");
  find_world_answer(&w, CORE, stale);
  assert_int_equal(w.ended, 0);
  assert_int_equal(script_open_requests(&w.vh.script), 1);
  script_respond(&w.vh.script, "/apis/metrics.k8s.io/v1?", 200,
                 RESOURCES("nodes", "NodeMetrics"));
  find_world_expect(&w, 0, "nodes.v1.metrics.k8s.io ");
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w, "deployments");
  find_world_answer(&w, CORE, stale);
  script_respond(&w.vh.script, "/apis/metrics.k8s.io/v1?", 200, "oops");
  find_world_expect(&w, 0, "deployments.v1.apps ");
  find_world_finish(&w);
}

/* Not more than four requests at a time. */
static void test_many_versions(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  find_world_find(&w, "xs");
  find_world_answer(
      &w,
      "{\"kind\":\"APIVersions\",\"versions\":[\"v1\",\"v2\",\"v3\",\"v4\","
      "\"v5\",\"v6\"]}",
      LIST(""));
  char path[32];
  for (int i = 1; i <= 6; i++) {
    assert_int_equal(script_open_requests(&w.vh.script), i <= 3 ? 4 : 7 - i);
    snprintf(path, sizeof path, "/api/v%d?", i);
    script_respond(&w.vh.script, path, 200, RESOURCES("xs", "X"));
  }
  find_world_expect(&w, 0, "xs.v1. ");
  find_world_finish(&w);
}

/* --- Informers ------------------------------------------------------------ */

static void open_found(find_world *w, const kin_discovery_result *result) {
  static const char *const namespaces[] = {"a"};
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.namespaces = namespaces;
  options.namespace_count = 1;
  options.field_selector = "spec.x=y";
  w->open_code =
      kin__discovery_open_informer(&w->informer, &w->vh.host, result, &options);
}

static void expect_request(find_world *w, const char *word, const char *part) {
  find_world_find(w, word);
  assert_int_equal(w->open_code, 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
  script_run(&w->vh.script);
  if (strstr(w->vh.script.last_target, part) == NULL) {
    fail_msg("%s: %s", word, w->vh.script.last_target);
  }
}

static void test_open_informers(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  w.then = open_found;
  expect_request(&w, "Deployment/web",
                 "/apis/apps/v1/namespaces/a/deployments?fieldSelector="
                 "spec.x%3Dy%2Cmetadata.name%3Dweb&");
  expect_request(&w, "po/a,b=c\\d",
                 "/api/v1/namespaces/a/pods?fieldSelector=spec.x%3Dy%2C"
                 "metadata.name%3Da%5C%2Cb%5C%3Dc%5C%5Cd&");
  /* Without namespaces. */
  expect_request(&w, "nodes", "/apis/apps/v1/nodes?fieldSelector=spec.x%3Dy&");
  find_world_finish(&w);
}

static void open_wrongly(find_world *w, const kin_discovery_result *result) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  assert_int_equal(
      kin__discovery_open_informer(&w->informer, &w->vh.host, result, &options),
      KIN_EINVAL);
  assert_int_equal(
      kin__discovery_open_informer(&w->informer, &w->vh.host, result, NULL),
      KIN_EINVAL);
}

static void test_no_informer(void **state) {
  (void)state;
  static const struct {
    const char *word;
    const char *problem;
  } rows[] = {
      {"poods", "no resource was found"},
      {"all", "\"all\" is a category of 1 resources"},
      {"review", "reviews.apps cannot be listed and watched"},
  };
  find_world w;
  find_world_begin_with_table(&w);
  w.then = open_found;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    find_world_find(&w, rows[i].word);
    assert_int_equal(w.open_code, KIN_EINVAL);
    assert_null(w.informer);
    assert_non_null(strstr(w.vh.text, rows[i].problem));
  }
  w.then = open_wrongly;
  find_world_find(&w, "pods");
  assert_non_null(strstr(w.vh.text, "must be NULL"));
  kin_informer *informer;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  assert_int_equal(
      kin__discovery_open_informer(&informer, &w.vh.host, NULL, &options),
      KIN_EINVAL);
  static char word[300];
  memset(word, 'a', sizeof word - 1); /* cut: the reason needs room */
  const kin_discovery_result category = {
      .is_category = true, .word = word, .resource_count = 2};
  assert_int_equal(
      kin__discovery_open_informer(&informer, &w.vh.host, &category, &options),
      KIN_EINVAL);
  assert_non_null(strstr(w.vh.text, "a\" is a category of 2 resources\n"));
  find_world_finish(&w);
}

static void open_with_long_selector(find_world *w,
                                    const kin_discovery_result *result) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  static char selector[(64u << 10) + 1];
  memset(selector, 'a', sizeof selector - 1);
  options.field_selector = selector;
  w->open_code =
      kin__discovery_open_informer(&w->informer, &w->vh.host, result, &options);
}

static void take_long_result(const kin_discovery_result *result, void *data) {
  find_world *w = data;
  snprintf(w->message, sizeof w->message, "%s", result->message);
}

static void test_long_selector(void **state) {
  (void)state;
  find_world w;
  find_world_begin_with_table(&w);
  w.then = open_with_long_selector;
  find_world_find(&w, "pods");
  assert_int_equal(w.open_code, 0);
  find_world_find(&w, "pods/x");
  assert_int_equal(w.open_code, KIN_EINVAL);
  find_world_finish(&w);
}

/* The message of a cancelled look-up has its reason behind any word. */
static void test_long_word_cancelled(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  char word[1025];
  memset(word, 'x', sizeof word - 1);
  word[sizeof word - 1] = '\0';
  kin_discovery *find;
  assert_int_equal(
      kin__discovery_find(&find, &w.vh.host, word, take_long_result, &w), 0);
  assert_int_equal(kin_discovery_cancel(find, UV_ECANCELED), 0);
  script_run(&w.vh.script);
  assert_non_null(strstr(w.message, "xxx\": the program has cancelled it"));
  find_world_finish(&w);
}

/* --- Ends ----------------------------------------------------------------- */

typedef enum place {
  IN_ROOTS,
  AFTER_ONE_ROOT,
  IN_VERSIONS,
  IN_LATER, /* waits for the next load */
  DUE,      /* known; its step is to come */
  PLACES
} place;

static void go_to(find_world *w, place where) {
  if (where == DUE || where == IN_LATER) {
    find_world_find(w, "pods");
  }
  if (where == DUE) {
    find_world_answer(w, CORE, APPS);
  }
  if (where == IN_LATER) {
    assert_int_equal(kin__discovery_refresh(&w->vh.host), 0);
  }
  assert_int_equal(find_world_try_find(w, "deployments"), 0);
  if (where != DUE) {
    script_run(&w->vh.script);
  }
  if (where == AFTER_ONE_ROOT || where == IN_VERSIONS) {
    script_respond(&w->vh.script, API, 200, VERSIONS);
  }
  if (where == IN_VERSIONS) {
    script_respond(&w->vh.script, APIS, 200, GROUPS);
  }
}

static void end_in_place(place where, bool by_client) {
  find_world w;
  find_world_init(&w, 0);
  go_to(&w, where);
  int ended = w.ended;
  kin_discovery *last = w.finds[w.begun - 1];
  if (by_client) {
    vh_close(&w.vh);
  } else {
    assert_int_equal(kin_discovery_cancel(last, 0), KIN_EINVAL);
    assert_int_equal(kin_discovery_cancel(last, UV_ECANCELED), 0);
    assert_int_equal(kin_discovery_cancel(last, UV_ECANCELED), KIN_EALREADY);
  }
  assert_int_equal(w.ended, ended); /* never inside the call */
  script_run(&w.vh.script);
  assert_int_equal(w.ended, by_client ? w.begun : ended + 1);
  assert_int_equal(w.code, by_client ? KIN_ECLOSED : UV_ECANCELED);
  assert_int_equal(w.error_class, KIN_CLASS_NONE);
  assert_true(by_client == w.vh.is_closed);
  find_world_finish(&w);
}

static void test_find_cancelled_in_each_state(void **state) {
  (void)state;
  assert_int_equal(kin_discovery_cancel(NULL, UV_ECANCELED), KIN_EINVAL);
  for (int where = 0; where < PLACES; where++) {
    end_in_place((place)where, false);
  }
}

static void test_find_closed_in_each_state(void **state) {
  (void)state;
  for (int where = 0; where < PLACES; where++) {
    end_in_place((place)where, true);
  }
}

static void load_in_both_forms(find_world *w) {
  assert_int_equal(find_world_try_find(w, "deployments"), 0);
  script_run(&w->vh.script);
  find_world_respond_if_open(w, API, 200, CORE);
  find_world_respond_if_open(w, APIS, 200, GROUPS);
  find_world_respond_if_open(w, "/apis/apps/v1?", 200,
                             RESOURCES("deployments", "X"));
  find_world_respond_if_open(w, "/apis/apps/v1beta1?", 200,
                             RESOURCES("xs", "X"));
  find_world_respond_if_open(w, "/apis/metrics.k8s.io/v1?", 200,
                             RESOURCES("ys", "Y"));
  script_run(&w->vh.script);
}

/* Answers in both forms are read in steps of one piece. */
static bool close_after_step(int n) {
  find_world w;
  bool is_closed = find_world_close_after_step(&w, n, load_in_both_forms);
  assert_int_equal(w.ended, 1);
  /* The last steps are those after the result. */
  assert_true(w.code == 0 || w.code == KIN_ECLOSED);
  assert_true(is_closed || w.code == 0);
  assert_true(!is_closed || n > 40 || w.code == KIN_ECLOSED);
  find_world_finish(&w);
  return is_closed;
}

static void test_find_closed_after_each_step(void **state) {
  (void)state;
  int n = 1;
  while (close_after_step(n)) {
    n++;
  }
  print_message("%d steps\n", n - 1);
  assert_true(n > 50);
}

static void close_in_callback(find_world *w,
                              const kin_discovery_result *result) {
  (void)result;
  w->then = NULL;
  vh_close(&w->vh);
}

static void find_in_callback(find_world *w,
                             const kin_discovery_result *result) {
  kin_discovery *again;
  w->then = NULL;
  assert_int_equal(kin__discovery_refresh(&w->vh.host), 0);
  assert_int_equal(kin__discovery_find(&again, &w->vh.host, "widgets",
                                       find_world_on_found, w),
                   0);
  w->begun++;
  assert_string_equal(result->resources[0]->plural, "pods");
}

static void cancel_others(find_world *w, const kin_discovery_result *result) {
  (void)result;
  w->then = NULL;
  assert_int_equal(kin_discovery_cancel(w->finds[0], UV_ECANCELED),
                   KIN_EALREADY);
  for (int i = 1; i < w->begun; i++) {
    assert_int_equal(kin_discovery_cancel(w->finds[i], UV_ECANCELED), 0);
  }
}

/* A load that cannot begin has a failure of its own. */
static void fail_in_callback(find_world *w,
                             const kin_discovery_result *result) {
  w->then = NULL;
  w->vh.script.fail_start = 1;
  assert_int_equal(find_world_try_find(w, "pods"), 0);
  w->vh.script.fail_start = 0;
  assert_int_equal(result->code, KIN_ESTATUS);
  assert_int_equal(result->status, 500);
  assert_string_equal(result->message, w->message);
}

static void test_result_is_valid_in_callback(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  w.then = fail_in_callback;
  find_world_find(&w, "pods");
  script_respond(&w.vh.script, API, 500, "no");
  script_respond(&w.vh.script, APIS, 500, "no");
  find_world_expect(&w, KIN_ENOMEM, ""); /* of the second one */
  find_world_finish(&w);
}

static void test_callback_may_do_anything(void **state) {
  (void)state;
  find_world w;
  find_world_init(&w, 0);
  for (int i = 0; i < 3; i++) {
    find_world_find(&w, "pods");
  }
  w.then = close_in_callback;
  find_world_answer(&w, CORE, APPS);
  assert_int_equal(w.code, KIN_ECLOSED); /* of the others */
  find_world_finish(&w);

  find_world_init(&w, 0);
  find_world_find(&w, "pods");
  w.then = find_in_callback;
  find_world_answer(&w, CORE, APPS);
  find_world_answer(&w, CORE, APPS_AND_WIDGETS);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  find_world_finish(&w);

  find_world_init(&w, 0);
  for (int i = 0; i < 3; i++) {
    find_world_find(&w, "pods");
  }
  w.then = cancel_others;
  find_world_answer(&w, CORE, APPS);
  assert_int_equal(w.code, UV_ECANCELED);
  find_world_finish(&w);
}

/* --- Memory --------------------------------------------------------------- */

/* Each of: a find, both roots, the versions, a second find after a refresh, with
 * a version that fails. */
static bool story(size_t fail_at) {
  find_world w;
  find_world_init(&w, fail_at);
  w.then = open_found;
  for (int round = 0; round < 2; round++) {
    if (find_world_try_find(&w, round == 0 ? "deployments/web" : "poods") !=
        0) {
      continue;
    }
    script_run(&w.vh.script);
    find_world_respond_if_open(&w, API, 200, VERSIONS);
    find_world_respond_if_open(&w, APIS, 200, GROUPS);
    find_world_respond_if_open(&w, "/apis/apps/v1?", 200,
                               RESOURCES("deployments", "X"));
    find_world_respond_if_open(&w, "/apis/apps/v1beta1?", 200,
                               RESOURCES("xs", "X"));
    find_world_respond_if_open(&w, "/apis/metrics.k8s.io/v1?", 200,
                               round == 0 ? RESOURCES("ys", "Y") : "no");
    find_world_respond_if_open(&w, "/api/v1?", 200, RESOURCES("pods", "Pod"));
    assert_int_equal(w.ended, w.begun);
    assert_true(w.code == 0 || w.code == KIN_ENOENT || w.code == KIN_ENOMEM);
    assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  find_world_finish(&w);
  return has_failed;
}

static void test_find_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(story, 30);
}

/* A request that cannot be started ends the load, not the client. */
static void test_start_fails(void **state) {
  (void)state;
  for (int refused = 1; refused <= 2; refused++) {
    find_world w;
    find_world_init(&w, 0);
    w.vh.script.fail_start = refused;
    find_world_find(&w, "pods");
    find_world_respond_if_open(&w, API, 200, CORE);
    find_world_respond_if_open(&w, APIS, 200, APPS);
    find_world_expect(&w, KIN_ENOMEM, "");
    assert_int_equal(w.error_class, KIN_CLASS_MEMORY);
    w.vh.script.fail_start = 0;
    find_world_find(&w, "pods");
    find_world_answer(&w, CORE, APPS);
    find_world_expect(&w, 0, "pods.v1. ");
    find_world_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fifty_finds_two_requests),
      cmocka_unit_test(test_refused_words),
      cmocka_unit_test(test_unknown_word),
      cmocka_unit_test(test_ambiguous_word),
      cmocka_unit_test(test_failures_are_told_at_once),
      cmocka_unit_test(test_failure_of_a_version_is_told),
      cmocka_unit_test(test_failure_is_the_last_one),
      cmocka_unit_test(test_client_is_closed_by_a_failure),
      cmocka_unit_test(test_new_resource),
      cmocka_unit_test(test_refresh),
      cmocka_unit_test(test_other_server),
      cmocka_unit_test(test_other_server_fails),
      cmocka_unit_test(test_failed_refresh),
      cmocka_unit_test(test_all_is_forbidden),
      cmocka_unit_test(test_no_core_group),
      cmocka_unit_test(test_no_discovery),
      cmocka_unit_test(test_no_core_group_and_forbidden),
      cmocka_unit_test(test_odd_answers),
      cmocka_unit_test(test_old_form),
      cmocka_unit_test(test_fall_back),
      cmocka_unit_test(test_fall_back_of_a_version),
      cmocka_unit_test(test_many_versions),
      cmocka_unit_test(test_open_informers),
      cmocka_unit_test(test_no_informer),
      cmocka_unit_test(test_long_selector),
      cmocka_unit_test(test_long_word_cancelled),
      cmocka_unit_test(test_find_cancelled_in_each_state),
      cmocka_unit_test(test_find_closed_in_each_state),
      cmocka_unit_test(test_find_closed_after_each_step),
      cmocka_unit_test(test_result_is_valid_in_callback),
      cmocka_unit_test(test_callback_may_do_anything),
      cmocka_unit_test(test_find_without_memory),
      cmocka_unit_test(test_start_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
