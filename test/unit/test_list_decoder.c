/* SPDX-License-Identifier: MIT */

/* Cutting lists into objects: RL-08 and RL-10 (what a list is), KY-01 (keys),
 * and everything that may be wrong with one, however its body is cut. */
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
#include <kin/yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/list.h"
#include "support/fail_alloc.h"
#include "support/list_run.h"
#include "support/wire.h"

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define LIST(items) "{\"metadata\":{},\"items\":" items "}"

static const struct {
  const char *text;
  int error;
} outcomes[] = {
    {LIST("[]"), 0},
    {LIST("[" ITEM("a") "]"), 0},
    {" \n" LIST(" [ " ITEM("a") " , " ITEM("b") " ] ") "\r\n\t ", 0},
    {LIST("null"), 0},
    {"{\"items\":null,\"metadata\":{}}", 0},
    {"{\"items\":[" ITEM("a") "],\"metadata\":{},\"kind\":\"XList\"}", 0},
    {"{\"metadata\":{},\"x\":[{\"items\":1}],\"y\":\"z\",\"items\":[]}", 0},
    {"{\"\\u0069tems\":[" ITEM("a") "],\"m\\u0065tadata\":{}}", 0},
    {LIST("[{\"m\\u0065tadata\":{\"n\\u0061me\":\"a\\n\\ud83d\\ude00\"}}]"), 0},

    {"", KIN_ETRUNCATED},
    {" ", KIN_ETRUNCATED},
    {"{}", KIN_EUNEXPECTED},
    {"{\"metadata\":{}}", KIN_EUNEXPECTED},
    {"{\"items\":[]}", KIN_EUNEXPECTED},
    {"{\"items\":[],\"metadata\":null}", KIN_EUNEXPECTED},
    {"{\"items\":[],\"metadata\":[]}", KIN_EUNEXPECTED},
    {"[]", KIN_EUNEXPECTED},
    {"\"items\"", KIN_EUNEXPECTED},
    {"7 ", KIN_EUNEXPECTED},
    {LIST("{}"), KIN_EUNEXPECTED},
    {LIST("\"a\""), KIN_EUNEXPECTED},
    {LIST("1"), KIN_EUNEXPECTED},
    {LIST("false"), KIN_EUNEXPECTED},
    {LIST("[null]"), KIN_EUNEXPECTED},
    {LIST("[[]]"), KIN_EUNEXPECTED},
    {LIST("[\"a\"]"), KIN_EUNEXPECTED},
    {LIST("[],\"items\":[]"), KIN_EUNEXPECTED},
    {LIST("[],\"kind\":\"Table\""), KIN_EUNEXPECTED},
    {"{\"kind\":\"Table\",\"metadata\":{},\"rows\":[]}", KIN_EUNEXPECTED},
    {"{\"kind\":\"Status\",\"metadata\":{},\"items\":[]}", KIN_EUNEXPECTED},
    {"{\"metadata\":{\"continue\":\"\\u0000a\"},\"items\":[]}",
     KIN_EUNEXPECTED},
    {"{\"metadata\":{\"continue\":\"a\\u0000\"},\"items\":[]}",
     KIN_EUNEXPECTED},
    {"{\"metadata\":{\"resourceVersion\":\"7\\u0000\"},\"items\":[]}",
     KIN_EUNEXPECTED},
    {"{\"metadata\":{\"x\":\"\\u0000\"},\"y\":\"\\u0000\",\"items\":[]}", 0},

    {LIST("[{}]"), KIN_EKEY},
    {LIST("[{\"metadata\":null}]"), KIN_EKEY},
    {LIST("[{\"metadata\":{}}]"), KIN_EKEY},
    {LIST("[{\"metadata\":{\"name\":\"\"}}]"), KIN_EKEY},
    {LIST("[{\"metadata\":{\"name\":7}}]"), KIN_EKEY},
    {LIST("[{\"metadata\":{\"name\":{\"name\":\"a\"}}}]"), KIN_EKEY},
    {LIST("[{\"name\":\"a\"}]"), KIN_EKEY},

    {"garbage", KIN_EJSON},
    {"<html>", KIN_EJSON},
    {"\xef\xbb\xbf" LIST("[]"), KIN_EJSON},
    {LIST("[]") "}", KIN_EJSON},
    {LIST("[]") "{}", KIN_EJSON},
    {LIST("[" ITEM("a") " " ITEM("b") "]"), KIN_EJSON},
    {LIST("[" ITEM("a") ",]"), KIN_EJSON},
    {LIST("[" ITEM("a") "}"), KIN_EJSON},
    {LIST("[{\"a\":1}}]"), KIN_EKEY},
    {LIST("[{\"a\":1]}]"), KIN_EJSON},
    {LIST("[{\"a\" \"b\"}]"), KIN_EJSON},
    {LIST("[{\"a\":nope}]"), KIN_EJSON},
    {LIST("[{\"metadata\":{\"name\":\"a\nb\"}}]"), KIN_EJSON},
    {LIST("[{\"metadata\":{\"name\":\"\\x\"}}]"), KIN_EJSON},
    {LIST("[{\"metadata\":{\"name\":\"\\udead\"}}]"), KIN_EJSON},
    {LIST("[{\"spec\":{\"a\":\"b\nc\"}}]"), KIN_EJSON},
    {LIST("[{\"spec\":{\"a\":\"b}]}"), KIN_ETRUNCATED},
};

static void test_list_outcomes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
    kin_str text = kin__cstr(outcomes[i].text);
    list_run whole;
    list_run_init(&whole);
    list_run_decode(&whole, text, 0);
    list_run cut;
    list_run_init(&cut);
    for (int at = BYTEWISE; at <= (int)text.length; at++) {
      int err = list_run_decode(&cut, text, at);
      if (err != outcomes[i].error) {
        fail_msg("%s cut at %d: %s, expected %s", outcomes[i].text, at,
                 kin_err_name(err), kin_err_name(outcomes[i].error));
      }
      decoded_assert_same(&cut.got, &whole.got, outcomes[i].text);
      list_run_again(&cut);
    }
    list_run_finish(&cut);
    list_run_finish(&whole);
  }
}

/* Half of a surrogate pair is no Unicode. Where it would be a part of what the
 * library reads by itself (name, namespace, uid, resourceVersion) the list is
 * refused; elsewhere the text is kept as it is, and a view of it says so. */
static void test_list_half_surrogate_pairs(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int error;
    int view_error;
  } rows[] = {
      {LIST("[" ITEM("a\\ud800") "]"), KIN_EJSON, 0},
      {LIST("[{\"metadata\":{\"name\":\"a\",\"uid\":\"\\udc00\"}}]"), KIN_EJSON,
       0},
      {LIST("[{\"metadata\":{\"name\":\"a\",\"namespace\":\"\\ud800n\"}}]"),
       KIN_EJSON, 0},
      {LIST(
           "[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"\\udc00\"}}]"),
       KIN_EJSON, 0},
      {LIST("[{\"metadata\":{\"name\":\"a\"},\"s\":\"\\udc00\"}]"), 0,
       KIN_EJSON},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    list_run r;
    list_run_init(&r);
    assert_int_equal(list_run_decode(&r, kin__cstr(rows[i].text), 0),
                     rows[i].error);
    if (rows[i].error == 0) {
      kin_object_view *view;
      int err = 0;
      assert_int_equal(kin_object_view_open(&view, r.got.objects[0]), 0);
      assert_null(kin_object_view_document(view, &err));
      assert_int_equal(err, rows[i].view_error);
      kin_object_view_close(view);
    }
    list_run_finish(&r);
  }
}

/* A number that no double holds is text like any other. */
static void test_list_huge_number(void **state) {
  (void)state;
  list_run r;
  list_run_init(&r);
  assert_int_equal(
      list_run_decode(
          &r,
          kin__cstr(LIST("[{\"metadata\":{\"name\":\"a\"},\"n\":-21e999}]")),
          0),
      0);
  assert_int_equal(r.got.count, 1);
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, r.got.objects[0]), 0);
  assert_non_null(strstr(kin_object_view_json(view).data, "\"n\":-21e999"));
  assert_non_null(kin_object_view_document(view, NULL));
  kin_object_view_close(view);
  list_run_finish(&r);
}

/* Where a member occurs twice the first counts. */
static void test_list_duplicate_members(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{\"resourceVersion\":\"1\",\"resourceVersion\":\"2\","
      "\"continue\":\"x\",\"continue\":\"y\"},\"metadata\":{"
      "\"resourceVersion\":"
      "\"3\",\"remainingItemCount\":4},\"kind\":\"PodList\",\"kind\":\"Table\","
      "\"items\":[{\"metadata\":{\"name\":\"a\",\"name\":\"b\",\"uid\":\"1\","
      "\"labels\":{\"k\":\"1\"},\"labels\":{\"k\":\"2\"},\"uid\":\"2\"},"
      "\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"managedFields\":[]}}]"
      "}";
  list_run r;
  list_run_init(&r);
  r.projection = list_run_default_projection();
  assert_int_equal(list_run_decode(&r, kin__cstr(text), 0), 0);
  assert_string_equal(r.result.version, "1");
  assert_string_equal(r.result.token, "x");
  assert_int_equal(r.got.count, 1);
  assert_string_equal(kin_object_key(r.got.objects[0]).data, "a");
  assert_str(kin_object_uid(r.got.objects[0]), KIN__LIT("1"));
  kin_str value;
  assert_true(kin_object_label(r.got.objects[0], "k", &value));
  assert_str(value, KIN__LIT("1"));
  /* What is dropped is dropped wherever it is. */
  assert_null(strstr(decoded_log(&r.got), "managedFields"));
  list_run_finish(&r);
}

/* After identity and labels nothing is missing of metadata, and its rest is
 * skipped, but for an item without a namespace. Members behind metadata are
 * read: one may be the kind. */
static void test_list_rest_of_an_item(void **state) {
  (void)state;
  static const struct {
    const char *namespace_;
    const char *rest;
    int error;
  } rows[] = {
      {"\"namespace\":\"n\",", ",\"uid\":\"2\"},\"metadata\":{}}", 0},
      {"\"namespace\":\"n\",", ",\"x\":nope}}", 0},
      {"\"namespace\":\"n\",", ",\"x\":\"\n\"}}", KIN_EJSON},
      {"\"namespace\":\"n\",", "}]", KIN_EJSON},
      {"", ",\"uid\":\"2\"},\"metadata\":{}}", 0},
      {"", ",\"x\":nope}}", KIN_EJSON},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[300];
    int length = snprintf(text, sizeof text,
                          LIST("[{\"metadata\":{%s\"name\":\"a\",\"uid\":\"1\","
                               "\"resourceVersion\":\"3\",\"labels\":{}%s]"),
                          rows[i].namespace_, rows[i].rest);
    for (int at = 0; at <= length; at++) {
      list_run r;
      list_run_init(&r);
      int err = list_run_decode(&r, kin__str(text, (size_t)length), at);
      assert_int_equal(err, rows[i].error);
      assert_int_equal(r.got.count, err == 0);
      if (err == 0) {
        assert_str(kin_object_uid(r.got.objects[0]), KIN__LIT("1"));
      }
      list_run_finish(&r);
    }
  }
}

static void test_list_own_strings(void **state) {
  (void)state;
  static char text[20000];
  static const struct {
    const char *member;
    int length;
    int error;
  } rows[] = {
      {"resourceVersion", 63, 0},
      {"resourceVersion", 64, KIN_ETOOBIG},
      {"continue", 16384, 0},
      {"continue", 16385, KIN_ETOOBIG},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int length =
        snprintf(text, sizeof text,
                 "{\"metadata\":{\"%s\":\"%0*d\",\"remainingItemCount\":%s},"
                 "\"items\":[]}",
                 rows[i].member, rows[i].length, 0, i < 2 ? "12" : "-12");
    for (int at = 0; at < length; at += 97) {
      list_run r;
      list_run_init(&r);
      assert_int_equal(list_run_decode(&r, kin__str(text, (size_t)length), at),
                       rows[i].error);
      if (rows[i].error == 0) {
        const char *got = i < 2 ? r.result.version : r.result.token;
        assert_int_equal(strlen(got), rows[i].length);
      }
      list_run_finish(&r);
    }
  }
}

/* An item that is not even kept by its key: over the second limit, to the byte,
 * or without a name. Its key is known. */
static void test_list_item_too_big(void **state) {
  (void)state;
  static const char item[] =
      "{\"metadata\":{\"name\":\"big\",\"namespace\":\"ns\",\"managedFields\":["
      "1,2,"
      "3]},\"data\":{\"x\":\"0123456789012345678901234567890123456789\"}}";
  char text[400];
  size_t length = (size_t)snprintf(text, sizeof text, LIST("[%s]"), item);
  size_t known_from = (size_t)(strstr(text, "ns\"") + 3 - text);
  for (int at = BYTEWISE; at <= (int)length; at++) {
    list_run r;
    list_run_init(&r);
    r.projection = list_run_default_projection();
    r.limits.max_object_bytes = 20;
    r.limits.max_passed_bytes = sizeof item - 1;
    assert_int_equal(list_run_decode(&r, kin__str(text, length), at), 0);
    list_run_finish(&r);

    list_run_init(&r);
    r.projection = list_run_default_projection();
    r.limits.max_object_bytes = at % 3 == 0 ? 20 : sizeof item - 2;
    r.limits.max_passed_bytes = sizeof item - 2;
    assert_int_equal(list_run_decode(&r, kin__str(text, length), at),
                     KIN_ETOOBIG);
    assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "ns/big");
    assert_int_equal(r.got.count, 0);
    list_run_finish(&r);
  }
  /* Long before its end. */
  list_run r;
  list_run_init(&r);
  r.limits.max_object_bytes = 20;
  r.limits.max_passed_bytes = (uint32_t)known_from;
  list_run_open(&r);
  assert_int_equal(list_run_feed(&r, text, length - 20), KIN_ETOOBIG);
  assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "ns/big");
  list_run_finish(&r);
}

/* The key was noted when the error was found: the bytes, which were borrowed,
 * may be gone. */
static void test_list_key_in_hand_outlives_the_bytes(void **state) {
  (void)state;
  static const char text[] = "{\"metadata\":{},\"items\":[{\"metadata\":{"
                             "\"name\":\"a\",\"namespace\":\"ns\"},\"x\":!";
  list_run r;
  list_run_init(&r);
  list_run_open(&r);
  char *bytes = malloc(sizeof text - 1);
  assert_non_null(bytes);
  memcpy(bytes, text, sizeof text - 1);
  assert_int_equal(kin__list_decoder_parse(r.decoder, bytes, sizeof text - 1),
                   KIN_EJSON);
  memset(bytes, 'z', sizeof text - 1);
  free(bytes);
  assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "ns/a");
  list_run_finish(&r);
}

static void test_list_key_in_hand(void **state) {
  (void)state;
  static const char *const parts[] = {
      "{\"metadata\":{},\"items\":[",
      "{\"kind\":\"X\",\"metadata\":{\"name\":\"a\\n\"",
      ",\"namespace\":\"ns\"",
      "}",
      "},{\"metadata\":",
      "{\"namespace\":\"other\",\"name\":\"b",
      "\"}},",
      "{\"metadata\":{\"name\":\"c\"}}]}",
  };
  static const char *const keys[] = {"", "a\n",   "ns/a\n", "ns/a\n",
                                     "", "other", "",       ""};
  list_run r;
  list_run_init(&r);
  list_run_open(&r);
  assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    assert_int_equal(list_run_feed(&r, parts[i], strlen(parts[i])), 0);
    assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), keys[i]);
  }
  assert_int_equal(kin__list_decoder_end(r.decoder, &r.result), 0);
  list_run_finish(&r);
}

/* Each object is asked for once, with what identifies it, as soon as that is
 * complete; one that is known costs nothing more. */
static void test_list_known(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":["
      "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1\","
      "\"resourceVersion\":\"5\",\"labels\":{\"x\":\"]}\"}},\"spec\":{\"y\":"
      "\"\\\"}"
      "\"},\"s\":[{}]},"
      "{\"spec\":{},\"metadata\":{\"managedFields\":[],\"name\":\"b\\u0062\","
      "\"uid\":\"2\\n\",\"resourceVersion\":\"6\"},\"status\":{\"p\":{}}},"
      "{\"metadata\":{\"namespace\":\"n\",\"name\":\"c\",\"resourceVersion\":"
      "null,"
      "\"uid\":\"3\",\"uid\":\"4\",\"z\":{}},\"spec\":[]},"
      "{\"metadata\":{\"name\":\"d\"}}]}";
  static const char expected[] =
      "known? [n/a] uid 1 version 5 yes\n"
      "listed [n/a] uid 1 version 5 known\n"
      "known? [/bb] uid 2\n version 6 yes\n"
      "listed [/bb] uid 2\n version 6 known\n"
      "known? [n/c] uid 3 version  yes\n"
      "listed [n/c] uid 3 version  known\n"
      "known? [/d] uid  version  no\n"
      "listed [/d] uid  version  labels  {\"metadata\":{\"name\":\"d\"}}\n";
  static const char *const known[] = {"a", "bb", "c"};
  list_run r;
  list_run_init(&r);
  r.projection = list_run_default_projection();
  r.got.known = known;
  r.got.known_count = 3;
  for (int at = BYTEWISE; at < (int)sizeof text; at++) {
    assert_int_equal(list_run_decode(&r, kin__str(text, sizeof text - 1), at),
                     0);
    assert_string_equal(decoded_log(&r.got), expected);
    assert_int_equal(r.got.questions, 4);
    list_run_again(&r);
  }
  list_run_finish(&r);

  list_run_init(&r);
  r.got.sink.known = NULL;
  assert_int_equal(list_run_decode(&r, kin__str(text, sizeof text - 1), 0), 0);
  assert_int_equal(r.got.count, 4);
  list_run_finish(&r);
}

/* The answer comes before the rest of the object. */
static void test_list_known_is_asked_early(void **state) {
  (void)state;
  list_run r;
  list_run_init(&r);
  list_run_open(&r);
  static const char first[] = "{\"metadata\":{},\"items\":[{\"metadata\":{"
                              "\"name\":\"a\",\"namespace\":\"n\","
                              "\"uid\":\"1\",\"resourceVersion\":\"5\"";
  assert_int_equal(list_run_feed(&r, first, sizeof first - 1), 0);
  assert_int_equal(r.got.questions, 1);
  list_run_finish(&r);
}

/* A known object is not kept anyway, so that only the second limit counts. */
static void test_list_known_too_big(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\"},\"x\":["
      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}";
  static const char *const known[] = {"a"};
  for (int at = BYTEWISE; at < (int)sizeof text; at++) {
    list_run r;
    list_run_init(&r);
    r.limits.max_object_bytes = 20;
    r.got.known = known;
    r.got.known_count = 1;
    assert_int_equal(list_run_decode(&r, kin__str(text, sizeof text - 1), at),
                     0);
    assert_int_equal(r.got.count, 0);
    assert_int_equal(r.got.calls, 1);
    list_run_finish(&r);

    list_run_init(&r);
    r.limits.max_object_bytes = 20;
    r.limits.max_passed_bytes = 60;
    r.got.known = known;
    r.got.known_count = 1;
    assert_int_equal(list_run_decode(&r, kin__str(text, sizeof text - 1), at),
                     KIN_ETOOBIG);
    assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "a");
    list_run_finish(&r);
  }
}

/* client-go TestListPager_EachListItem; PG-05: items are handed over one by
 * one, in order, and the first that is refused ends it. */
static void test_list_sink_ends_it(void **state) {
  (void)state;
  kin_str body = wire_body("list-pods.http");
  static const int answers[] = {KIN_ENOMEM, 17};
  for (size_t i = 0; i < 2; i++) {
    for (size_t n = 1; n <= 5; n++) {
      list_run r;
      list_run_init(&r);
      r.got.fail_at = n;
      r.got.fail_with = answers[i];
      assert_int_equal(list_run_decode(&r, body, 3000), answers[i]);
      assert_int_equal(r.got.calls, n);
      assert_int_equal(r.got.count, n - 1);
      assert_int_equal(list_run_feed(&r, "x", 1), answers[i]);
      assert_int_equal(kin__list_decoder_end(r.decoder, &r.result), answers[i]);
      char key[32];
      snprintf(key, sizeof key, "default/p%zu", n);
      assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), key);
      r.got.fail_at = 0;
      list_run_again(&r);
      assert_string_equal(kin__list_decoder_key_in_hand(r.decoder), "");
      assert_int_equal(list_run_decode(&r, body, 1), 0);
      assert_int_equal(r.got.count, 5);
      list_run_finish(&r);
    }
  }
  free((char *)body.data);
}

/* The levels of an object count from itself. Of the list's other members no
 * level is counted. */
static void test_list_depth(void **state) {
  (void)state;
  static char text[6 * 10000 + 200];
  for (size_t over = 0; over <= 1; over++) {
    size_t arrays = 10000 - 1 + over;
    size_t at = strlen(strcpy(text, "{\"metadata\":{},\"x\":"));
    memset(text + at, '[', 2 * arrays);
    memset(text + at + 2 * arrays, ']', 2 * arrays);
    at += 4 * arrays;
    at += strlen(
        strcpy(text + at, ",\"items\":[{\"metadata\":{\"name\":\"a\"},\"x\":"));
    memset(text + at, '[', arrays);
    memset(text + at + arrays, ']', arrays);
    strcpy(text + at + 2 * arrays, "},{\"metadata\":{\"name\":\"b\"}}]}");
    kin_str s = kin__cstr(text);
    for (int cut = 0; cut < (int)s.length; cut += 997) {
      list_run r;
      list_run_init(&r);
      assert_int_equal(list_run_decode(&r, s, cut), 0);
      assert_int_equal(r.got.count, 2);
      assert_int_equal(kin_object_is_key_only(r.got.objects[0]), over);
      assert_false(kin_object_is_key_only(r.got.objects[1]));
      list_run_finish(&r);
    }
  }
}

/* What is made of one that is too deep is not. */
static void test_list_deep_labels(void **state) {
  (void)state;
  static char text[2 * 20000 + 200];
  for (size_t levels = 9997; levels <= 20000; levels += 10003 - 9997) {
    size_t at = strlen(strcpy(
        text, "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\","
              "\"labels\":{\"k\":\"v\",\"x\":"));
    memset(text + at, '[', levels);
    memset(text + at + levels, ']', levels);
    strcpy(text + at + 2 * levels, "}}}]}");
    list_run r;
    list_run_init(&r);
    assert_int_equal(list_run_decode(&r, kin__cstr(text), 70), 0);
    bool is_over = levels > 9997;
    kin_object *object = r.got.objects[0];
    assert_int_equal(kin_object_is_key_only(object), is_over);
    kin_str value;
    assert_int_equal(kin_object_label(object, "k", &value), !is_over);
    kin_object *again;
    kin_str json = kin__object_body(object);
    assert_int_equal(kin_object_parse(&again, NULL, json.data, json.length), 0);
    kin_object_unref(again);
    list_run_finish(&r);
  }
}

/* A long name is one that nobody looks for; a string that identifies an object
 * is none of an API if it is long; others may be as long as they like. */
static void test_list_long_strings(void **state) {
  (void)state;
  static char text[80000];
  static const struct {
    const char *format;
    int length;
    int error;
    const char *log; /* how it begins */
  } rows[] = {
      {LIST("[{\"metadata\":{\"name\":\"%0*d\"}}]"), 65535, 0, "known? [/0"},
      {LIST("[{\"metadata\":{\"name\":\"%0*d\"}}]"), 65536, 0,
       "bad KIN_EKEY [/] uid  version  \n"},
      {LIST("[{\"metadata\":{\"name\":\"a\",\"uid\":\"%0*d\"}}]"), 65536, 0,
       "bad KIN_EKEY [/a] uid  version  \n"},
      {LIST("[{\"metadata\":{\"name\":\"a\",\"namespace\":\"%0*d\"}}]"), 65536,
       0, "bad KIN_EKEY [/a] uid  version  \n"},
      {LIST("[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"%0*d\"}}]"),
       65536, 0, "bad KIN_EKEY [/a] uid  version  \n"},
      {LIST("[{\"kind\":\"%0*d\",\"metadata\":{\"name\":\"a\"}}]"), 65536, 0,
       "known? [/a] uid  version  no\nlisted [/a]"},
      {LIST("[{\"%0*d\":1,\"metadata\":{\"name\":\"a\"}}]"), 65535, 0,
       "known? [/a] uid  version  no\nlisted [/a]"},
      {LIST("[{\"%0*d\":1,\"metadata\":{\"name\":\"a\"}}]"), 65536, 0,
       "known? [/a] uid  version  no\nlisted [/a]"},
      {LIST("[{\"x\":\"%0*d\",\"metadata\":{\"name\":\"a\"}}]"), 70000, 0,
       "known? [/a] uid  version  no\nlisted [/a]"},
      {"{\"%0*d\":0,\"metadata\":{},\"items\":[]}", 65536, 0, ""},
      {"{\"x\":\"%0*d\",\"metadata\":{},\"items\":[]}", 70000, 0, ""},
      {"{\"kind\":\"%0*d\",\"metadata\":{},\"items\":[]}", 70000, 0, ""},
      {"{\"metadata\":{\"continue\":\"%0*d\"},\"items\":[]}", 70000,
       KIN_ETOOBIG, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t length =
        (size_t)snprintf(text, sizeof text, rows[i].format, rows[i].length, 1);
    for (size_t cut = 0; cut < length; cut += 9001) {
      list_run r;
      list_run_init(&r);
      r.got.skips_bad = true;
      assert_int_equal(list_run_decode(&r, kin__str(text, length), (int)cut),
                       rows[i].error);
      const char *log = decoded_log(&r.got);
      if (strncmp(log, rows[i].log, strlen(rows[i].log)) != 0) {
        fail_msg("row %zu: %.100s", i, log);
      }
      list_run_finish(&r);
    }
  }
}

/* Every allocation fails once, here and in the sink. */
static void test_list_out_of_memory(void **state) {
  (void)state;
  kin_str body = wire_body("list-custom-resource.http");
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    decoded got;
    decoded_init(&got, NULL);
    kin__projection *projection = NULL;
    kin__list_decoder *decoder = NULL;
    kin__list_result result;
    kin__decode_limits limits = {0};
    int err = kin__projection_new(&projection, &memory.allocator, false);
    if (err == 0) {
      err = kin__list_decoder_new(&decoder, &memory.allocator, &limits,
                                  projection, &got.sink);
    }
    for (size_t at = 0; at < body.length && err == 0; at += 100) {
      size_t span = body.length - at < 100 ? body.length - at : 100;
      err = kin__list_decoder_parse(decoder, body.data + at, span);
    }
    if (err == 0) {
      err = kin__list_decoder_end(decoder, &result);
    }
    assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
    if (decoder != NULL) {
      assert_non_null(kin__list_decoder_key_in_hand(decoder));
    }
    kin__list_decoder_free(decoder);
    kin__projection_free(projection);
    decoded_finish(&got);
    assert_int_equal(memory.live_blocks, 0);
    if (err == 0) {
      assert_true(n > 7);
      break;
    }
  }
  free((char *)body.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_outcomes),
      cmocka_unit_test(test_list_half_surrogate_pairs),
      cmocka_unit_test(test_list_huge_number),
      cmocka_unit_test(test_list_duplicate_members),
      cmocka_unit_test(test_list_rest_of_an_item),
      cmocka_unit_test(test_list_own_strings),
      cmocka_unit_test(test_list_item_too_big),
      cmocka_unit_test(test_list_key_in_hand),
      cmocka_unit_test(test_list_key_in_hand_outlives_the_bytes),
      cmocka_unit_test(test_list_known),
      cmocka_unit_test(test_list_known_is_asked_early),
      cmocka_unit_test(test_list_known_too_big),
      cmocka_unit_test(test_list_sink_ends_it),
      cmocka_unit_test(test_list_depth),
      cmocka_unit_test(test_list_deep_labels),
      cmocka_unit_test(test_list_long_strings),
      cmocka_unit_test(test_list_out_of_memory),
  };
  return cmocka_run_group_tests_name("list_decoder", tests, NULL, NULL);
}
