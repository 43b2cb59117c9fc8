/* SPDX-License-Identifier: MIT */

/* The check of lists that come as watches: what is asked for, what is found,
 * what goes wrong with it. Proves WL-12. What else happens meanwhile is in
 * test_list_check_life.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "support/check_world.h"

/* --- When there is a check ------------------------------------------------ */

/* TestReflectorDataConsistencyDetector: WL-12. Off, nothing is asked for; on,
 * the same is listed at the version of the stream, in full. */
static void test_consistency_asks_for_the_same(void **state) {
  (void)state;
  for (int is_on = 0; is_on < 2; is_on++) {
    check_world c;
    ck_init(&c, 0);
    c.w.script.env.check_watch_lists = is_on != 0;
    const char *const namespaces[] = {"ns"};
    c.options.namespaces = namespaces;
    c.options.namespace_count = 1;
    c.options.label_selector = "app=web";
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    assert_true(kin_informer_has_synced(c.w.informer));
    assert_int_equal(ck_is_asked(&c), is_on);
    if (is_on != 0) {
      assert_string_equal(script_expect(&c.w.script, "Exact")->target,
                          "/api/v1/namespaces/ns/pods?labelSelector=app%3Dweb&"
                          "resourceVersion=9&resourceVersionMatch=Exact");
      ck_answer(&c, 200, CK_LIST(CK_B "," CK_A));
    }
    kin_informer_metrics metrics = iw_metrics(&c.w);
    assert_int_equal(metrics.checked_lists, is_on);
    assert_int_equal(metrics.inconsistent_lists, 0);
    assert_string_equal(c.said, "");
    assert_int_equal(c.others_told, 0);
    assert_int_equal(script_open_requests(&c.w.script), 1);
    iw_finish(&c.w);
  }
}

/* What came before the end counts as it was in the end. */
static void test_consistency_of_changes_before_the_end(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  ck_stream(
      &c,
      CK_ADDED(CK_A) CK_ADDED(CK_B)
          CK_ADDED(CK_C) "{\"type\":\"DELETED\",\"object\":" CK_OBJECT(
              "c", "u3", "8") "}\n"
                              "{\"type\":\"MODIFIED\",\"object\":" CK_OBJECT(
                                  "a", "u1", "9") "}\n" CK_END("9")
      /* and what follows it does not */
      "{\"type\":\"MODIFIED\",\"object\":" CK_OBJECT("b", "u2", "10") "}\n");
  ck_answer(&c, 200, CK_LIST(CK_OBJECT("a", "u1", "9") "," CK_B));
  ck_expect_counts(&c, 1, 0);
  assert_string_equal(ck_status(&c).resource_version, "10");
  iw_finish(&c.w);
}

/* An object that the program has put early into another namespace is not in this
 * namespace's list. The object does not have to be there. */
static void test_consistency_of_early_writes(void **state) {
  (void)state;
  static const char other[] = "{\"metadata\":{\"name\":\"early\",\"namespace\":"
                              "\"other\",\"uid\":\"u4\","
                              "\"resourceVersion\":\"8\"}}";
  check_world c;
  ck_init(&c, 0);
  const char *const namespaces[] = {"ns", "other"};
  c.options.namespaces = namespaces;
  c.options.namespace_count = 2;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  kin_object *early;
  assert_int_equal(kin_object_parse(&early, NULL, other, strlen(other)), 0);
  kin_store *store = kin_informer_store(c.w.informer);
  assert_int_equal(kin_store_put(store, early), 0);
  kin_object_unref(early);
  static const char frames[] = CK_ADDED(CK_A) CK_END("9");
  script_head(&c.w.script, "/ns/pods", 200);
  script_body(&c.w.script, "/ns/pods", frames, strlen(frames));
  assert_int_equal(kin_store_count(store), 2);
  ck_answer(&c, 200, CK_LIST(CK_A));
  ck_expect_counts(&c, 1, 0);
  iw_finish(&c.w);
}

/* WL-12: a list without a version, or with version 0, cannot be asked for
 * again; a plain list is not asked for twice. */
static void test_consistency_skips(void **state) {
  (void)state;
  static const char *const ends[] = {CK_END("0"), CK_END("")};
  for (size_t i = 0; i < 2; i++) {
    check_world c;
    ck_open(&c);
    ck_stream(&c, ends[i]);
    assert_false(ck_is_asked(&c));
    ck_expect_counts(&c, 0, 0);
    iw_finish(&c.w);
  }
  check_world c;
  ck_init(&c, 0);
  c.options.no_watch_list = true;
  assert_int_equal(iw_open(&c.w, &c.options), 0);
  script_respond(&c.w.script, "limit=500", 200, CK_LIST(CK_A));
  assert_true(kin_informer_has_synced(c.w.informer));
  assert_false(ck_is_asked(&c));
  ck_expect_counts(&c, 0, 0);
  iw_finish(&c.w);
}

/* --- What is found -------------------------------------------------------- */

typedef struct comparison {
  const char *name;
  const char *streamed;
  const char *listed;
  const char *told; /* NULL: nothing */
} comparison;

#define DIFFERS                                                                \
  "pods: what came as a watch differs from the list at version 9: "

/* TestDataConsistencyChecker: WL-12. */
static void test_consistency_compares(void **state) {
  (void)state;
  static const comparison cases[] = {
      {"nothing", CK_END("9"), CK_LIST(""), NULL},
      {"the same", CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"),
       CK_LIST(CK_A "," CK_B), NULL},
      {"in another order",
       CK_ADDED(CK_A) CK_ADDED(CK_B) CK_ADDED(CK_C) CK_END("9"),
       CK_LIST(CK_C "," CK_A "," CK_B), NULL},
      {"the list has more", CK_ADDED(CK_A) CK_END("9"), CK_LIST(CK_A "," CK_B),
       DIFFERS "0 of 1 cached objects are not listed so, 1 of 2 listed are not "
               "cached so: ns/b"},
      {"the cache has more", CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"),
       CK_LIST(CK_A),
       DIFFERS "1 of 2 cached objects are not listed so, 0 of 1 listed are not "
               "cached so: ns/b"},
      {"the list is empty", CK_ADDED(CK_A) CK_END("9"), CK_LIST(""),
       DIFFERS "1 of 1 cached objects are not listed so, 0 of 0 listed are not "
               "cached so: ns/a"},
      {"other versions", CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"),
       CK_LIST(CK_A "," CK_OBJECT("b", "u2", "7")),
       DIFFERS "1 of 2 cached objects are not listed so, 1 of 2 listed are not "
               "cached so: ns/b, ns/b"},
      {"other uids", CK_ADDED(CK_A) CK_END("9"),
       CK_LIST(CK_OBJECT("a", "u9", "5")),
       DIFFERS "1 of 1 cached objects are not listed so, 1 of 1 listed are not "
               "cached so: ns/a, ns/a"},
      {"other names", CK_ADDED(CK_A) CK_END("9"),
       CK_LIST(CK_OBJECT("z", "u1", "5")),
       DIFFERS "1 of 1 cached objects are not listed so, 1 of 1 listed are not "
               "cached so: ns/z, ns/a"},
      {"twice", CK_ADDED(CK_A) CK_END("9"), CK_LIST(CK_A "," CK_A),
       DIFFERS "0 of 1 cached objects are not listed so, 1 of 2 listed are not "
               "cached so: ns/a"},
      {"nothing in common",
       CK_ADDED(CK_A) CK_ADDED(CK_B) CK_ADDED(CK_C) CK_END("9"),
       CK_LIST(
           CK_OBJECT("1", "1", "1") "," CK_OBJECT("2", "2", "2") "," CK_OBJECT(
               "3", "3", "3") "," CK_OBJECT("4", "4", "4")),
       DIFFERS "3 of 3 cached objects are not listed so, 4 of 4 listed are not "
               "cached so: ns/1, ns/2, ns/3, ns/4, ns/a"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check_world c;
    ck_open(&c);
    ck_stream(&c, cases[i].streamed);
    ck_answer(&c, 200, cases[i].listed);
    ck_expect_counts(&c, 1, cases[i].told != NULL);
    const char *told = cases[i].told != NULL ? cases[i].told : "";
    if (strcmp(c.told, told) != 0) {
      fail_msg("%s: %s", cases[i].name, c.told);
    }
    assert_int_equal(c.said[0] == 'E', cases[i].told != NULL);
    assert_int_equal(c.others_told, 0);
    iw_finish(&c.w);
  }
}

/* The program may give the informer up for it. */
static void test_consistency_stop(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  c.answer = KIN_STOP;
  ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
  assert_int_equal(ck_status(&c).state, KIN_STATE_LIVE);
  ck_answer(&c, 200, CK_LIST(""));
  ck_expect_counts(&c, 1, 1);
  assert_int_equal(ck_status(&c).state, KIN_STATE_IDLE);
  assert_int_equal(script_open_requests(&c.w.script), 0);
  iw_finish(&c.w);
}

/* Split at each byte. */
static void test_consistency_split_everywhere(void **state) {
  (void)state;
  static const char body[] = CK_LIST(CK_B "," CK_A);
  for (size_t split = 1; split < sizeof body - 1; split++) {
    check_world c;
    ck_open(&c);
    ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
    script_head(&c.w.script, "Exact", 200);
    script_body(&c.w.script, "Exact", body, split);
    script_body(&c.w.script, "Exact", body + split, sizeof body - 1 - split);
    script_end(&c.w.script, "Exact");
    ck_expect_counts(&c, 1, 0);
    iw_finish(&c.w);
  }
}

/* --- Transforms ----------------------------------------------------------- */

#define TYPED(text) "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," text
#define TEXT_A(spec)                                                           \
  "\"metadata\":{\"name\":\"a\",\"uid\":\"u1\",\"resourceVersion\":\"5\"},"    \
  "\"spec\":{" spec "}}"

/* WL-12: what the transform makes is compared; items lack their kind, as those
 * of built-in types do; what it fails on is left out on both sides. */
static void test_consistency_transformed(void **state) {
  (void)state;
  static const char *const lists[] = {
      CK_LIST("{" TEXT_A("\"n\":1,\"secret\":2") "," CK_OBJECT("x", "u7", "7")),
      CK_LIST("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," TEXT_A(
          "\"n\":1") "," CK_OBJECT("x", "u7", "7")),
      CK_LIST("{" TEXT_A("\"n\":2") "," CK_OBJECT("x", "u7", "7"))};
  for (unsigned i = 0; i < 3; i++) {
    check_world c;
    ck_init(&c, 0);
    c.options.transform = ck_keep_text;
    assert_int_equal(iw_open(&c.w, &c.options), 0);
    ck_stream(&c, CK_ADDED(TYPED(TEXT_A("\"n\":1,\"secret\":1")))
                      CK_ADDED(CK_OBJECT("x", "u7", "7")) CK_END("9"));
    c.said[0] = '\0';
    ck_answer(&c, 200, lists[i]);
    ck_expect_counts(&c, 1, i == 2);
    assert_int_equal(strstr(c.told, "cached so: a, a") != NULL, i == 2);
    assert_int_equal(ck_status(&c).transform_failures, 1);
    iw_finish(&c.w);
  }
}

/* --- Retries -------------------------------------------------------------- */

/* TestDataConsistencyCheckerRetry: WL-12. A list that fails is made again each
 * second, from the beginning. */
static void test_consistency_retries(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  script_env *script = &c.w.script;
  ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
  ck_answer(&c, 500, CK_STATUS("500", "InternalError"));
  script_advance(script, 999);
  assert_false(ck_is_asked(&c));
  script_advance(script, 1);
  static const char half[] = "{\"metadata\":{\"resourceVersion\":\"9\"},"
                             "\"items\":[" CK_A "," CK_C ",";
  script_head(script, "Exact", 200);
  script_body(script, "Exact", half, sizeof half - 1);
  script_break(script, "Exact", KIN_EEOF, KIN_CLASS_CONNECT);
  script_advance(script, 1000);
  script_break(script, "Exact", KIN_ETIMEDOUT, KIN_CLASS_CONNECT);
  script_advance(script, 1000);
  ck_answer(&c, 504, CK_STATUS("504", "Timeout"));
  ck_expect_counts(&c, 0, 0);
  script_advance(script, 1000);
  ck_answer(&c, 200, CK_LIST(CK_A "," CK_B));
  ck_expect_counts(&c, 1, 0);
  script_advance(script, 10000);
  assert_false(ck_is_asked(&c));
  assert_int_equal(c.others_told, 0);
  assert_string_equal(c.said, "");
  iw_finish(&c.w);
}

/* A version that is gone does not come back; nor is it asked for for ever. */
static void test_consistency_gives_up(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
  ck_answer(&c, 410, CK_STATUS("410", "Expired"));
  script_advance(&c.w.script, 10000);
  assert_false(ck_is_asked(&c));
  assert_non_null(strstr(c.said, "cannot be checked"));
  ck_expect_counts(&c, 0, 0);
  iw_finish(&c.w);
  ck_open(&c);
  ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
  unsigned tries = 0;
  while (ck_is_asked(&c)) {
    ck_answer(&c, 403, CK_STATUS("403", "Forbidden"));
    tries++;
    script_advance(&c.w.script, 1000);
  }
  assert_int_equal(tries, 300);
  assert_non_null(strstr(c.said, "cannot be checked"));
  ck_expect_counts(&c, 0, 0);
  iw_finish(&c.w);
}

/* A server that does not honour Exact lists another version, which proves
 * nothing. */
static void test_consistency_of_another_version(void **state) {
  (void)state;
  static const char *const lists[] = {CK_LIST_AT("12", CK_B),
                                      CK_LIST_AT("0", CK_B),
                                      CK_LIST_AT("", CK_B), CK_LIST(CK_B)};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    check_world c;
    ck_open(&c);
    ck_stream(&c, CK_ADDED(CK_A) CK_END("9"));
    ck_answer(&c, 200, lists[i]);
    script_advance(&c.w.script, 10000);
    assert_false(ck_is_asked(&c));
    bool is_same = i == 3;
    assert_int_equal(strstr(c.said, "cannot be checked") == NULL, is_same);
    ck_expect_counts(&c, is_same, is_same);
    iw_finish(&c.w);
  }
}

/* KC-12: a server that was found meanwhile may be another cluster's. Its list at
 * the same version says nothing. */
static void test_consistency_of_another_address(void **state) {
  (void)state;
  check_world c;
  ck_open(&c);
  c.w.script.server_address = 1;
  ck_stream(&c, CK_ADDED(CK_A) CK_ADDED(CK_B) CK_END("9"));
  c.w.script.server_address = 2;
  ck_answer(&c, 200, CK_LIST(CK_C));
  ck_expect_counts(&c, 0, 0);
  assert_int_equal(c.times_told, 0);
  assert_non_null(strstr(c.said, "cannot be checked"));
  assert_non_null(strstr(c.said, "another address"));
  iw_finish(&c.w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_consistency_asks_for_the_same),
      cmocka_unit_test(test_consistency_of_changes_before_the_end),
      cmocka_unit_test(test_consistency_of_early_writes),
      cmocka_unit_test(test_consistency_skips),
      cmocka_unit_test(test_consistency_compares),
      cmocka_unit_test(test_consistency_stop),
      cmocka_unit_test(test_consistency_split_everywhere),
      cmocka_unit_test(test_consistency_transformed),
      cmocka_unit_test(test_consistency_retries),
      cmocka_unit_test(test_consistency_gives_up),
      cmocka_unit_test(test_consistency_of_another_version),
      cmocka_unit_test(test_consistency_of_another_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
