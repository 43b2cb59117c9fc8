/* SPDX-License-Identifier: MIT */

/* A server that says that its resources have not changed: ETag, If-None-Match,
 * 304. The table stays, and as a whole only. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/find_world.h"

/* Gives an answer with an ETag, on the condition that is expected. */
static void answer_tagged(find_world *w, const char *path, const char *expected,
                          int status, const char *tag, const char *body) {
  script_request *request = script_expect(&w->vh.script, path);
  assert_string_equal(request->if_none_match, expected);
  const kin__response_head head = {.status = status,
                                   .retry_after_s = -1,
                                   .content_type =
                                       kin__cstr("application/json"),
                                   .etag = kin__cstr(tag),
                                   .is_identity = true,
                                   .connection = 1};
  if (script_request_give_head(request, &head) &&
      (body[0] == '\0' || script_request_body(request, body, strlen(body)))) {
    script_request_end(request);
  }
  script_run(&w->vh.script);
}

static void begin_with_tags(find_world *w) {
  find_world_init(w, 0);
  find_world_find(w, "pods");
  answer_tagged(w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(w, APIS, "", 200, "\"apps-1\"", APPS);
  find_world_expect(w, 0, "pods.v1. ");
}

static void reload(find_world *w) {
  script_advance(&w->vh.script, 10000);
  find_world_find(w, "widgets");
}

/* 304 for both: the table stays. */
static void test_unchanged(void **state) {
  (void)state;
  find_world w;
  begin_with_tags(&w);
  for (unsigned i = 1; i <= 3; i++) {
    reload(&w);
    answer_tagged(&w, APIS, "\"apps-1\"", 304, "", "");
    answer_tagged(&w, API, "\"core-1\"", 304, "", "");
    find_world_expect(&w, KIN_ENOENT, "");
    assert_int_equal(w.status, 0);
    assert_int_equal(find_world_requests(&w), 2 + 2 * i);
    find_world_find(&w, "Deployment");
    find_world_expect(&w, 0, "deployments.v1.apps ");
    assert_int_equal(find_world_requests(&w), 2 + 2 * i);
  }
  assert_int_equal(kin__discovery_refresh(&w.vh.host), 0);
  find_world_find(&w, "pods");
  answer_tagged(&w, API, "\"core-1\"", 304, "", "");
  answer_tagged(&w, APIS, "\"apps-1\"", 304, "", "");
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

/* Only one root has changed: the other is asked for all of its answer. */
static void test_one_root_has_changed(void **state) {
  (void)state;
  find_world w;
  begin_with_tags(&w);
  reload(&w);
  answer_tagged(&w, API, "\"core-1\"", 304, "", "");
  answer_tagged(&w, APIS, "\"apps-1\"", 200, "\"apps-2\"", APPS_AND_WIDGETS);
  assert_int_equal(w.ended, 1);
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  assert_int_equal(find_world_requests(&w), 5);
  find_world_find(&w, "pods");
  find_world_expect(&w, 0, "pods.v1. ");
  script_advance(&w.vh.script, 10000);
  find_world_find(&w, "gadgets");
  answer_tagged(&w, APIS, "\"apps-2\"", 304, "", "");
  answer_tagged(&w, API, "\"core-1\"", 200, "\"core-2\"", CORE);
  answer_tagged(&w, APIS, "", 304, "", ""); /* no answer to that question */
  find_world_expect(&w, KIN_ESTATUS, "");
  assert_int_equal(w.status, 304);
  find_world_find(&w, "pods");
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

/* One root fails, the other is as before: as without tags. */
static void test_unchanged_and_failed(void **state) {
  (void)state;
  find_world w;
  begin_with_tags(&w);
  reload(&w);
  answer_tagged(&w, API, "\"core-1\"", 304, "", "");
  answer_tagged(&w, APIS, "\"apps-1\"", 403, "", "");
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  find_world_expect(&w, KIN_ESTATUS, "");
  find_world_find(&w, "pods");
  find_world_expect(&w, 0, "pods.v1. ");
  reload(&w);
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(&w, APIS, "", 200, "\"apps-1\"", APPS_AND_WIDGETS);
  find_world_expect(&w, 0, "widgets.v1.example.com ");
  find_world_finish(&w);
}

/* No condition where the tags do not stand for the whole table, or are those of
 * another server. */
static void test_no_condition(void **state) {
  (void)state;
  find_world w;
  uint32_t generation = 3;
  begin_with_tags(&w);
  w.vh.script.env.server_generation = &generation;
  find_world_find(&w, "pods");
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(&w, APIS, "", 200, "", APPS); /* without a tag */
  find_world_expect(&w, 0, "pods.v1. ");
  reload(&w);
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(&w, APIS, "", 406, "", ""); /* asked in the old form */
  answer_tagged(&w, APIS, "", 200, "\"old\"",
                "{\"kind\":\"APIGroupList\",\"groups\":[]}");
  find_world_expect(&w, KIN_ENOENT, "");
  reload(&w);
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(&w, APIS, "", 200, "\"apps-1\"", APPS);
  find_world_expect(&w, KIN_ENOENT, "");
  generation++;
  find_world_find(&w, "pods");
  answer_tagged(&w, API, "", 200, "\"core-1\"", CORE);
  answer_tagged(&w, APIS, "", 200, "\"apps-1\"", APPS);
  find_world_expect(&w, 0, "pods.v1. ");
  find_world_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unchanged),
      cmocka_unit_test(test_one_root_has_changed),
      cmocka_unit_test(test_unchanged_and_failed),
      cmocka_unit_test(test_no_condition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
