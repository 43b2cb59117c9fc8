/* SPDX-License-Identifier: MIT */

/* Objects over the limit in watches (WS-04), and objects that are none in lists
 * and watches (RW-08, RL-10): nothing is kept of those, and the rest of the
 * body is not touched by either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"
#include "support/list_run.h"
#include "support/oversized.h"
#include "support/watch_run.h"

static void test_watch_of_shapes(void **state) {
  (void)state;
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
  static const char *const told[] = {"added", "modified", "deleted"};
  kin__buf text;
  kin__buf log;
  init_buf(&text);
  init_buf(&log);
  for (size_t i = 0; i < SHAPES * 6; i++) {
    size_t shape = i / 6;
    const char *type = types[i % 3];
    text.length = log.length = 0;
    for (int n = 0; n < 2; n++) {
      if (i % 6 >= 3) {
        kin__buf_printf(&text, "{\"object\":%s,\"type\":\"%s\"}",
                        shapes[shape].object, type);
      } else {
        kin__buf_printf(&text, "{\"type\":\"%s\",\"object\":%s}\n", type,
                        shapes[shape].object);
      }
      kin__buf_append_cstr(&log, i % 3 < 2 ? "known? " IDENTITY "no\n" : "");
      expect_parts(&log, told[i % 3], shape);
    }
    uint32_t length = (uint32_t)strlen(shapes[shape].object);
    for (uint32_t limit = 35; limit < length; limit += 13) {
      watch_run r;
      watch_run_init_limited(&r, limit);
      for (int at = BYTEWISE; at <= (int)text.length; at++) {
        kin_str body = kin__str(text.data, text.length);
        assert_int_equal(watch_run_decode(&r, body, at), 0);
        assert_log(&r.got, &log, text.data);
        assert_true(kin__watch_decoder_is_between(r.decoder));
        watch_run_again(&r);
      }
      watch_run_finish(&r);
    }
    /* The limit is on the object as in a list, not on the frame. */
    watch_run r;
    watch_run_init_limited(&r, length);
    assert_int_equal(watch_run_decode(&r, kin__str(text.data, text.length), 10),
                     0);
    assert_int_equal(r.got.count, 2);
    assert_false(kin_object_is_key_only(r.got.objects[0]));
    watch_run_finish(&r);
  }
  kin__buf_finish(&log);
  kin__buf_finish(&text);
}

/* A bookmark says no more than its version anyway. */
static void test_watch_bookmark(void **state) {
  (void)state;
  kin_str text = kin__cstr(
      "{\"type\":\"BOOKMARK\",\"object\":{\"x\":\"" X40 X40
      "\",\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":"
      "\"true\"},\"resourceVersion\":\"9\"}}}");
  for (int at = BYTEWISE; at <= (int)text.length; at++) {
    watch_run r;
    watch_run_init_limited(&r, 40);
    assert_int_equal(watch_run_decode(&r, text, at), 0);
    assert_string_equal(decoded_log(&r.got),
                        "bookmark 9 end of initial events\n");
    watch_run_finish(&r);
  }
}

/* No structure is forgiven. */
static void test_not_forgiven(void **state) {
  (void)state;
  static const struct {
    const char *object;
    int error;
  } rows[] = {
      {"{\"metadata\":{" IDS "},\"data\":\"" X40 "\" 1}", KIN_EJSON},
      {"{\"data\":\"" X40 X40 "\",\"metadata\":{\"name\":\"\\x\"}}", KIN_EJSON},
      {"{\"data\":\"" X40 X40 "\n\"}", KIN_EJSON},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char list[512];
    char watch[512];
    snprintf(list, sizeof list, "{\"metadata\":{},\"items\":[%s]}",
             rows[i].object);
    snprintf(watch, sizeof watch, "{\"type\":\"ADDED\",\"object\":%s}",
             rows[i].object);
    for (int at = BYTEWISE; at <= (int)strlen(list); at++) {
      list_run r;
      list_run_init(&r);
      r.limits.max_object_bytes = 40;
      r.got.skips_bad = true;
      assert_int_equal(list_run_decode(&r, kin__cstr(list), at), rows[i].error);
      assert_int_equal(r.got.count, 0);
      list_run_finish(&r);
    }
    for (int at = BYTEWISE; at <= (int)strlen(watch); at++) {
      watch_run r;
      watch_run_init_limited(&r, 40);
      r.got.skips_bad = true;
      assert_int_equal(watch_run_decode(&r, kin__cstr(watch), at),
                       rows[i].error);
      assert_int_equal(r.got.count, 0);
      watch_run_finish(&r);
    }
  }
}

/* --- Objects that are none ------------------------------------------------ */

static const struct {
  const char *object;
  const char *list_log; /* "" : none but its own */
  const char *watch_log;
} bad[] = {
    {"{}", "bad KIN_EKEY [/] uid  version  \n",
     "bad KIN_EKEY [/] uid  version  \n"},
    {"{\"metadata\":null}", "bad KIN_EKEY [/] uid  version  \n",
     "bad KIN_EKEY [/] uid  version  \n"},
    {"{\"metadata\":[{\"name\":\"x\"}],\"spec\":{}}",
     "bad KIN_EKEY [/] uid  version  \n", "bad KIN_EKEY [/] uid  version  \n"},
    {"{\"metadata\":{\"namespace\":\"n\",\"uid\":\"u\",\"name\":7,"
     "\"resourceVersion\":\"5\"}}",
     "known? no bad KIN_EKEY [n/] uid u version 5 \n",
     "bad KIN_EKEY [n/] uid u version 5 \n"},
    {"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
     "\"resourceVersion\":\"5\"},\"rows\":[]}",
     "bad KIN_EKEY [/] uid  version 5 \n",
     "bad KIN_EUNEXPECTED [/] uid  version 5 \n"},
    {"{\"metadata\":{\"name\":\"t\"},\"kind\":\"Table\",\"apiVersion\":"
     "\"meta.k8s.io/v1beta1\"}",
     "", "bad KIN_EUNEXPECTED [/t] uid  version  \n"},
    /* Over the limit, which is 100 here. */
    {"{\"data\":\"" X40 X40 X40 "\"}", "bad KIN_EKEY [/] uid  version  \n",
     "bad KIN_EKEY [/] uid  version  \n"},
    {"{\"metadata\":{\"name\":7,\"uid\":\"1\"},\"data\":\"" X40 X40 X40 "\"}",
     "bad KIN_EKEY [/] uid 1 version  \n",
     "bad KIN_EKEY [/] uid 1 version  \n"},
    {"{\"data\":\"" X40 X40 X40 "\",\"metadata\":{\"name\":\"\"}}",
     "bad KIN_EKEY [/] uid  version  \n", "bad KIN_EKEY [/] uid  version  \n"},
};

/* The log without the questions, which are not what this is about. */
static void strip_questions(decoded *d, char *to) {
  const char *at = decoded_log(d);
  while (*at != '\0') {
    size_t length = strcspn(at, "\n") + 1;
    if (strncmp(at, "known?", 6) != 0) {
      memcpy(to, at, length);
      to += length;
    }
    at += length;
  }
  *to = '\0';
}

/* RW-08, RL-10: it is told and skipped, and what follows is taken. A kind named
 * Table of another group is an object. */
static void test_bad_objects(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char list[512];
    char watch[512];
    char expected[1024];
    char got[1024];
    snprintf(list, sizeof list,
             "{\"metadata\":{},\"items\":[" SMALL("a") ",%s," SMALL("b") "]}",
             bad[i].object);
    snprintf(watch, sizeof watch,
             "{\"type\":\"MODIFIED\",\"object\":%s}\n{\"type\":\"DELETED\","
             "\"object\":{\"kind\":\"Table\",\"metadata\":{\"name\":\"b\"}}}",
             bad[i].object);
    for (int at = BYTEWISE; at <= (int)strlen(list); at++) {
      list_run r;
      list_run_init(&r);
      r.limits.max_object_bytes = 100;
      r.got.skips_bad = true;
      assert_int_equal(list_run_decode(&r, kin__cstr(list), at), 0);
      strip_questions(&r.got, got);
      if (bad[i].list_log[0] != '\0') {
        const char *log = strstr(bad[i].list_log, "bad");
        snprintf(expected, sizeof expected,
                 "listed [/a] uid  version  labels  " SMALL(
                     "a") "\n%s"
                          "listed [/b] uid  version  labels  " SMALL("b") "\n",
                 log);
        assert_string_equal(got, expected);
      }
      assert_int_equal(r.got.count, bad[i].list_log[0] != '\0' ? 2 : 3);
      list_run_finish(&r);
    }
    for (int at = BYTEWISE; at <= (int)strlen(watch); at++) {
      watch_run r;
      watch_run_init_limited(&r, 100);
      r.got.skips_bad = true;
      assert_int_equal(watch_run_decode(&r, kin__cstr(watch), at), 0);
      strip_questions(&r.got, got);
      snprintf(expected, sizeof expected,
               "%sdeleted [/b] uid  version  labels  {\"kind\":\"Table\","
               "\"metadata\":{\"name\":\"b\"}}\n",
               bad[i].watch_log);
      assert_string_equal(got, expected);
      watch_run_finish(&r);
    }
  }
}

/* Who cannot go on without says so. */
static void test_bad_object_ends_it(void **state) {
  (void)state;
  kin_str list = kin__cstr("{\"metadata\":{},\"items\":[{},{}]}");
  kin_str watch = kin__cstr("{\"type\":\"ADDED\",\"object\":{}}");
  list_run r;
  list_run_init(&r);
  r.got.skips_bad = true;
  r.got.fail_at = 2;
  r.got.fail_with = KIN_ENOMEM;
  assert_int_equal(list_run_decode(&r, list, 0), KIN_ENOMEM);
  list_run_finish(&r);
  list_run_init(&r);
  r.got.sink.bad = NULL;
  assert_int_equal(list_run_decode(&r, list, 0), KIN_EKEY);
  list_run_finish(&r);
  watch_run w;
  watch_run_init(&w);
  assert_int_equal(watch_run_decode(&w, watch, 0), KIN_EKEY);
  watch_run_finish(&w);
}

/* The limit that one frame passed is not that of the next. */
static void test_error_behind_it(void **state) {
  (void)state;
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{" IDS "},\"data\":\"" X40
      "\"}}{\"type\":\"ERROR\",\"object\":null}";
  for (int at = BYTEWISE; at < (int)sizeof text; at++) {
    watch_run r;
    watch_run_init_limited(&r, 60);
    assert_int_equal(watch_run_decode(&r, kin__cstr(text), at), 0);
    assert_non_null(strstr(decoded_log(&r.got), "\nerror 500 InternalError"));
    watch_run_finish(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watch_of_shapes),
      cmocka_unit_test(test_watch_bookmark),
      cmocka_unit_test(test_not_forgiven),
      cmocka_unit_test(test_error_behind_it),
      cmocka_unit_test(test_bad_objects),
      cmocka_unit_test(test_bad_object_ends_it),
  };
  return cmocka_run_group_tests_name("oversized_watch", tests, NULL, NULL);
}
