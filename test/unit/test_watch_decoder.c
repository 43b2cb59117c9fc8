/* SPDX-License-Identifier: MIT */

/* Cutting watches into events: WS-02 and WS-03 (frames), WS-04 (their size),
 * WL-03 (the end of initial events), RW-08 (what an object needs), and
 * everything that may be wrong with a frame, however the body is cut. */
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
#include "decode/watch.h"
#include "object/object.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/list_run.h"
#include "support/watch_run.h"
#include "support/wire.h"

#define META(name, version)                                                    \
  "\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}"

typedef struct outcome {
  const char *text;
  int error;
  const char *log;
} outcome;

static const outcome outcomes[] = {
    {"", 0, ""},
    {" \r\n", 0, ""},
    {"{\"type\":\"ADDED\",\"object\":{" META("a", "1") "}}", 0,
     "known? [/a] uid  version 1 no\n"
     "added [/a] uid  version 1 labels  {" META("a", "1") "}\n"},
    {"{\"type\":\"DELETED\",\"object\":{" META("a", "1") "}}", 0,
     "deleted [/a] uid  version 1 labels  {" META("a", "1") "}\n"},
    {"{\"object\":{\"x\":1," META("a", "1") "},\"type\":\"MODIFIED\"}", 0,
     "known? [/a] uid  version 1 no\n"
     "modified [/a] uid  version 1 labels  {\"x\":1," META("a", "1") "}\n"},
    {"{\"object\":{" META("a", "1") "},\"type\":\"DELETED\"}", 0,
     "deleted [/a] uid  version 1 labels  {" META("a", "1") "}\n"},
    {"{\"x\":[{}],\"object\":{" META("a", "1") "},\"y\":\"z\",\"type\":"
                                               "\"DELETED\",\"z\":null}",
     0, "deleted [/a] uid  version 1 labels  {" META("a", "1") "}\n"},
    /* Frames need nothing between them, and may have anything. */
    {"{\"type\":\"BOOKMARK\",\"object\":{" META(
         "", "1") "}}{\"type\":"
                  "\"BOOKMARK\",\"object\":{" META(
                      "", "2") "}}\n\n \t{\"type\":"
                               "\"BOOKMARK\",\"object\":{" META("", "3") "}}",
     0, "bookmark 1\nbookmark 2\nbookmark 3\n"},
    {"{\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}},\"type\":"
     "\"BOOKMARK\"}",
     0, "bookmark 9\n"},
    {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"annotations\":{"
     "\"x\":"
     "\"y\",\"k8s.io/"
     "initial-events-end\":\"true\"},\"resourceVersion\":\"9\"}"
     "}}",
     0, "bookmark 9 end of initial events\n"},
    {"{\"object\":{\"metadata\":{\"annotations\":{\"k8s.io\\/"
     "initial-events-end\":\"tru\\u0065\"},\"resourceVersion\":\"9\"}},"
     "\"type\":\"BOOKMARK\"}",
     0, "bookmark 9 end of initial events\n"},
    {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"annotations\":{"
     "\"k8s.io/initial-events-end\":\"false\"},\"resourceVersion\":\"9\"}}}",
     0, "bookmark 9\n"},
    {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"annotations\":{"
     "\"k8s.io/initial-events-end\":true},\"resourceVersion\":\"9\"}}}",
     0, "bookmark 9\n"},
    {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"annotations\":null,"
     "\"resourceVersion\":\"9\"},\"annotations\":{\"k8s.io/"
     "initial-events-end\":\"true\"}}}",
     0, "bookmark 9\n"},
    {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"
     "\"Failure\",\"message\":\"m\",\"reason\":\"Expired\",\"code\":410}}",
     0, "error 410 Expired: m failure expired\n"},
    {"{\"object\":{\"kind\":\"Status\",\"code\":410},\"type\":\"ERROR\"}", 0,
     "error 410 :  expired\n"},
    {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Pod\"}}", 0,
     "error 500 InternalError: an ERROR event whose object is no Status "
     "failure\n"},
    {"{\"type\":\"ERROR\",\"object\":null}", 0,
     "error 500 InternalError: an ERROR event whose object is no Status "
     "failure\n"},
    {"{\"object\":[1],\"type\":\"ERROR\"}", 0,
     "error 500 InternalError: an ERROR event whose object is no Status "
     "failure\n"},

    /* A member given twice, half of a surrogate pair, a number for nobody. */
    {"{\"type\":\"DELETED\",\"object\":{" META("a", "1") "," META("b",
                                                                  "2") "}}",
     0,
     "deleted [/a] uid  version 1 labels  {" META("a", "1") "," META(
         "b", "2") "}\n"},
    {"{\"type\":\"DELETED\",\"object\":{" META("a", "1") ",\"s\":\"\\udc00\"}}",
     0,
     "deleted [/a] uid  version 1 labels  {" META("a",
                                                  "1") ",\"s\":\"\\udc00\"}\n"},
    {"{\"type\":\"DELETED\",\"object\":{" META("a", "1") ",\"n\":-21e999}}", 0,
     "deleted [/a] uid  version 1 labels  {" META("a",
                                                  "1") ",\"n\":-21e999}\n"},

    {"{}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"ADDED\"}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"BOOKMARK\"}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"ERROR\"}", KIN_EUNEXPECTED, ""},
    {"{\"object\":{" META("a", "1") "}}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"Added\",\"object\":{}}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"\",\"object\":{}}", KIN_EUNEXPECTED, ""},
    {"{\"type\":1,\"object\":{" META("a", "1") "}}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"ADDED\",\"object\":[]}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"ADDED\",\"object\":null}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"BOOKMARK\",\"object\":\"\"}", KIN_EUNEXPECTED, ""},
    {"{\"type\":\"ADDED\",\"type\":\"ADDED\",\"object\":{}}", KIN_EUNEXPECTED,
     ""},
    {"{\"type\":\"DELETED\",\"object\":{" META("a", "1") "},\"object\":{}}",
     KIN_EUNEXPECTED, ""},
    {"[]", KIN_EUNEXPECTED, ""},
    {"\"ADDED\"", KIN_EUNEXPECTED, ""},

    {"{\"type\":\"ADDED\",\"object\":{}}", KIN_EKEY, ""},
    {"{\"type\":\"DELETED\",\"object\":{\"kind\":\"Table\",\"metadata\":{}}}",
     KIN_EKEY, ""},
    {"{\"object\":{\"metadata\":{\"namespace\":\"n\"}},\"type\":\"ADDED\"}",
     KIN_EKEY, ""},

    {"{\"type\":\"ADDED\",\"object\":{" META("\\ud800", "1") "}}", KIN_EJSON,
     ""},
    {"{\"type\":\"ADDED\",\"object\":{" META("a", "\\udc00") "}}", KIN_EJSON,
     ""},
    {"garbage", KIN_EJSON, ""},
    {"<html>", KIN_EJSON, ""},
    {"{\"type\":\"BOOKMARK\",\"object\":{}},", KIN_EJSON, "bookmark \n"},
    {"{\"type\":\"BOOKMARK\",\"object\":{}}}", KIN_EJSON, "bookmark \n"},
    {"{\"type\":\"ADDED\" \"object\":{}}", KIN_EJSON, ""},
    {"{\"type\":\"ADDED\",\"object\":{\"a\":}}", KIN_EJSON, ""},
    {"{\"type\":\"ERROR\",\"object\":{\"a\":\"b\nc\"}}", KIN_EJSON, ""},
};

/* Nothing is missing after these: the rest of the object is skipped. */
#define TYPE "\"kind\":\"Pod\",\"apiVersion\":\"v1\""
#define IDENTITY                                                               \
  "\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\""
#define LABELS "\"labels\":{\"l\":\"}\"}"
#define WHOLE TYPE ",\"metadata\":{" IDENTITY "," LABELS
#define IS_WHOLE " [n/a] uid u version 1 labels {\"l\":\"}\"} "

static const outcome whole_outcomes[] = {
    /* The rest may say what it likes. */
    {"{\"type\":\"DELETED\",\"object\":{" WHOLE "}}}", 0,
     "deleted" IS_WHOLE "{" WHOLE "}}\n"},
    {"{\"type\":\"ADDED\",\"object\":{" WHOLE
     ",\"name\":\"b\",\"labels\":7},\"metadata\":{\"uid\":\"v\"},"
     "\"kind\":\"Table\",\"spec\":[\"}\\\"\",{}]}}",
     0,
     "known? [n/a] uid u version 1 no\n"
     "added" IS_WHOLE "{" WHOLE
     ",\"name\":\"b\",\"labels\":7},\"metadata\":{\"uid\":\"v\"},"
     "\"kind\":\"Table\",\"spec\":[\"}\\\"\",{}]}\n"},
    {"{\"type\":\"DELETED\",\"object\":{" TYPE ",\"metadata\":{" LABELS
     "," IDENTITY ",\"x\" nope}}}",
     0,
     "deleted" IS_WHOLE "{" TYPE ",\"metadata\":{" LABELS "," IDENTITY
     ",\"x\" nope}}\n"},
    {"{\"type\":\"DELETED\",\"object\":{" WHOLE ",\"x\":\"\n\"}}}", KIN_EJSON,
     ""},
    {"{\"type\":\"DELETED\",\"object\":{" WHOLE "}}}}", KIN_EJSON,
     "deleted" IS_WHOLE "{" WHOLE "}}\n"},
    /* Its kind is missing. */
    {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{" IDENTITY "," LABELS
     "},\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}}",
     KIN_EUNEXPECTED, ""},
};

static void try_outcome(watch_run *r, const outcome *o) {
  kin_str text = kin__cstr(o->text);
  for (int at = BYTEWISE; at <= (int)text.length; at++) {
    int err = watch_run_decode(r, text, at);
    if (err != o->error) {
      fail_msg("%s cut at %d: %s, expected %s", o->text, at, kin_err_name(err),
               kin_err_name(o->error));
    }
    assert_string_equal(decoded_log(&r->got), o->log);
    assert_int_equal(kin__watch_decoder_is_between(r->decoder), err == 0);
    watch_run_again(r);
  }
}

/* Frames, and all that may be wrong with them. */
static void test_watch_outcomes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
    watch_run r;
    watch_run_init(&r);
    try_outcome(&r, &outcomes[i]);
    watch_run_finish(&r);
  }
}

/* Objects that are left as soon as nothing is missing; those without
 * managedFields are left behind metadata. */
static void test_watch_rest_of_an_object(void **state) {
  (void)state;
  static const outcome behind_metadata = {
      "{\"type\":\"DELETED\",\"object\":{" WHOLE
      ",\"managedFields\":[1]},\"uid\" nope}}",
      0, "deleted" IS_WHOLE "{" WHOLE "},\"uid\" nope}\n"};
  watch_run cut;
  watch_run_init(&cut);
  try_outcome(&cut, &behind_metadata);
  watch_run_finish(&cut);
  for (size_t i = 0; i < sizeof whole_outcomes / sizeof *whole_outcomes; i++) {
    watch_run r;
    watch_run_init_whole(&r);
    try_outcome(&r, &whole_outcomes[i]);
    watch_run_finish(&r);
  }
}

/* Known objects: asked once, never for a deletion; asked at the end of the
 * frame if only then it is clear that it is none. */
static void test_watch_known(void **state) {
  (void)state;
  static const char text[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"namespace\":"
      "\"n\",\"uid\":\"1\",\"resourceVersion\":\"5\",\"labels\":{\"x\":\"y\"}},"
      "\"spec\":{\"y\":\"\\\"}\"},\"s\":[{}]}}\n"
      "{\"object\":{\"spec\":{},\"metadata\":{\"name\":\"a\",\"uid\":\"2\"}},"
      "\"type\":\"MODIFIED\"}\n"
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
      "{\"object\":{\"metadata\":{\"name\":\"a\"}},\"type\":\"DELETED\"}\n"
      "{\"object\":{\"metadata\":{\"name\":\"a\"}},\"type\":\"BOOKMARK\"}\n";
  static const char expected[] =
      "known? [n/a] uid 1 version 5 yes\n"
      "added [n/a] uid 1 version 5 known\n"
      "known? [/a] uid 2 version  yes\n"
      "modified [/a] uid 2 version  known\n"
      "deleted [/a] uid  version  labels  {\"metadata\":{\"name\":\"a\"}}\n"
      "deleted [/a] uid  version  labels  {\"metadata\":{\"name\":\"a\"}}\n"
      "bookmark \n";
  static const char *const known[] = {"a"};
  watch_run r;
  watch_run_init(&r);
  r.got.known = known;
  r.got.known_count = 1;
  for (int at = BYTEWISE; at < (int)sizeof text; at++) {
    assert_int_equal(watch_run_decode(&r, kin__str(text, sizeof text - 1), at),
                     0);
    assert_string_equal(decoded_log(&r.got), expected);
    watch_run_again(&r);
  }
  watch_run_finish(&r);
}

/* WS-04: what a frame has besides its object is bounded as that is, to the
 * byte, and so is a Status, of which no key would be of use. */
static void test_watch_frame_too_big(void **state) {
  (void)state;
  static const struct {
    const char *frame;
    const char *key;
    size_t beside; /* bytes that do not count */
  } rows[] = {
      {"{\"type\":\"ERROR\",\"object\":{\"metadata\":{\"name\":\"big\"},"
       "\"data\":{\"x\":\"0123456789012345678901234567890123456789\"}}}",
       "", sizeof "{\"type\":\"ERROR\",\"object\":}" - 1},
      {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}},\"x\":"
       "\"01"
       "23456789012345678901234567890123456789\"}",
       "a", sizeof "{\"metadata\":{\"name\":\"a\"}}" - 1},
      {"{\"x\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23],"
       "\"type\":\"ERROR\",\"object\":{}}",
       "", 2},
      {"{\"object\":{\"metadata\":{\"name\":\"b\"},\"x\":[0,1,2,3,4,5,6,7,8,9]}"
       ","
       "\"type\":\"ERROR\"}",
       "b", sizeof "{\"object\":,\"type\":\"ERROR\"}" - 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_str frame = kin__cstr(rows[i].frame);
    uint32_t counted = (uint32_t)(frame.length - rows[i].beside);
    for (int at = BYTEWISE; at <= (int)frame.length; at++) {
      watch_run r;
      watch_run_init_limited(&r, counted);
      assert_int_equal(watch_run_decode(&r, frame, at), 0);
      assert_int_equal(r.got.calls, 1);
      watch_run_again(&r);
      assert_int_equal(watch_run_feed(&r, "\n  ", 3),
                       0); /* belongs to no frame */
      assert_int_equal(watch_run_decode(&r, frame, at), 0);
      watch_run_finish(&r);

      watch_run_init_limited(&r, counted - 1);
      assert_int_equal(watch_run_decode(&r, frame, at), KIN_ETOOBIG);
      assert_int_equal(r.got.calls, 0);
      assert_string_equal(kin__watch_decoder_key_in_hand(r.decoder),
                          rows[i].key);
      assert_int_equal(watch_run_feed(&r, "\n", 1), KIN_ETOOBIG);
      watch_run_finish(&r);
    }
  }
  /* A stream is not bounded, only its frames are. */
  watch_run r;
  watch_run_init_limited(&r, 100);
  for (int i = 0; i < 1000; i++) {
    kin_str frame = kin__cstr(rows[1].frame);
    assert_int_equal(watch_run_feed(&r, frame.data, frame.length), 0);
    assert_int_equal(watch_run_feed(&r, "\n", 1), 0);
  }
  assert_int_equal(r.got.calls, 1000);
  watch_run_finish(&r);
}

static void test_watch_key_in_hand(void **state) {
  (void)state;
  static const char *const parts[] = {
      "{\"type\":\"ADDED\",",
      "\"object\":{\"metadata\":{\"namespace\":\"ns\",",
      "\"name\":\"a\"",
      "}}",
      "}",
      "{\"object\":{" META("b", "2") "}",
      ",\"type\":\"DELETED\"}"};
  static const char *const keys[] = {"", "ns", "ns/a", "ns/a", "", "b", ""};
  watch_run r;
  watch_run_init(&r);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    assert_int_equal(watch_run_feed(&r, parts[i], strlen(parts[i])), 0);
    assert_string_equal(kin__watch_decoder_key_in_hand(r.decoder), keys[i]);
  }
  watch_run_finish(&r);
}

/* The levels of an object count from itself; what is deeper is kept by its key.
 * An error and a bookmark say what they say however deep they are. */
static void test_watch_depth(void **state) {
  (void)state;
  static const char *const types[] = {"ADDED", "ERROR", "BOOKMARK"};
  static const char *const logs[] = {"added [/a] uid  version 1 key-only",
                                     "error 500", "bookmark 1"};
  static char text[2 * 10000 + 200];
  for (size_t i = 0; i < 6; i++) {
    size_t arrays = 10000 - 1 + (i >= 3);
    size_t at = (size_t)sprintf(
        text,
        "{\"type\":\"%s\",\"object\":{" META("a", "1") ",\"x\":", types[i % 3]);
    memset(text + at, '[', arrays);
    memset(text + at + arrays, ']', arrays);
    strcpy(text + at + 2 * arrays, "}}");
    kin_str s = kin__cstr(text);
    for (int cut = 0; cut < (int)s.length; cut += 997) {
      watch_run r;
      watch_run_init(&r);
      assert_int_equal(watch_run_decode(&r, s, cut), 0);
      const char *log = decoded_log(&r.got);
      assert_int_equal(strstr(log, logs[i % 3]) != NULL, i != 0);
      assert_int_equal(r.got.calls, 1);
      watch_run_finish(&r);
    }
  }
}

static void test_watch_sink_ends_it(void **state) {
  (void)state;
  static const char *const files[] = {"watch-bookmarks.http",
                                      "watch-gone.http"};
  for (size_t i = 0; i < 2; i++) {
    kin_str body = wire_body(files[i]);
    for (size_t n = 1; n <= (i == 0 ? 9u : 1u); n++) {
      watch_run r;
      watch_run_init(&r);
      r.got.fail_at = n;
      r.got.fail_with = KIN_ENOMEM;
      assert_int_equal(watch_run_decode(&r, body, 500 % (int)body.length),
                       KIN_ENOMEM);
      assert_int_equal(r.got.calls, n);
      assert_int_equal(watch_run_feed(&r, "x", 1), KIN_ENOMEM);
      assert_false(kin__watch_decoder_is_between(r.decoder));
      watch_run_again(&r);
      assert_true(kin__watch_decoder_is_between(r.decoder));
      assert_int_equal(watch_run_decode(&r, body, 1), 0);
      watch_run_finish(&r);
    }
    free((char *)body.data);
  }
}

/* Random objects in frames of either order, in random spans: the objects come
 * back as they are. */
static void test_watch_random_frames(void **state) {
  (void)state;
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
  for (uint64_t seed = 1; seed < 400; seed++) {
    kin__buf text;
    kin__buf expected;
    kin__buf_init(&text, kin__default_allocator(), 1 << 24);
    kin__buf_init(&expected, kin__default_allocator(), 1 << 24);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    size_t frames = 1 + json_gen_below(&gen, 4);
    for (size_t i = 0; i < frames; i++) {
      const char *type = types[json_gen_below(&gen, 3)];
      bool is_first = json_gen_one_in(&gen, 2);
      json_gen_text(&gen, "{");
      if (is_first) {
        kin__buf_printf(&text, "\"type\":\"%s\",", type);
      }
      json_gen_space(&gen);
      json_gen_text(&gen, "\"object\":");
      size_t begin = text.length;
      json_gen_text(&gen, "{\"metadata\":{\"name\":\"x\",\"y\":");
      json_gen_value(&gen, 3);
      json_gen_text(&gen, "},\"z\":");
      json_gen_value(&gen, 5);
      json_gen_text(&gen, "}");
      kin__buf_printf(&expected, "%.*s\n", (int)(text.length - begin),
                      text.data + begin);
      if (!is_first) {
        kin__buf_printf(&text, ",\"type\":\"%s\"", type);
      }
      json_gen_text(&gen, "}");
      json_gen_space(&gen);
    }
    watch_run r;
    watch_run_init(&r);
    for (size_t at = 0; at < text.length;) {
      size_t span = 1 + json_gen_below(&gen, seed % 2 == 1 ? 20 : 200);
      span = span < text.length - at ? span : text.length - at;
      assert_int_equal(watch_run_feed(&r, text.data + at, span), 0);
      at += span;
    }
    assert_true(kin__watch_decoder_is_between(r.decoder));
    assert_int_equal(r.got.count, frames);
    size_t at = 0;
    for (size_t i = 0; i < r.got.count; i++) {
      kin_str json = kin__object_body(r.got.objects[i]);
      assert_true(at + json.length < expected.length);
      assert_memory_equal(expected.data + at, json.data, json.length);
      at += json.length + 1;
    }
    assert_int_equal(at, expected.length);
    watch_run_finish(&r);
    kin__buf_finish(&expected);
    kin__buf_finish(&text);
  }
}

/* --- Decoders of many watches --------------------------------------------- */

static const kin__decode_limits no_limits = {0};

static kin__watch_decoder *take(kin__watch_decoders *decoders, decoded *got) {
  kin__watch_decoder *decoder = NULL;
  assert_int_equal(kin__watch_decoders_take(decoders, &decoder, &no_limits,
                                            NULL, &got->sink),
                   0);
  return decoder;
}

/* A watch that gives its decoder up between any two frames gets the same events
 * as one that keeps it, without an allocation. */
static void test_watch_decoders_are_alike(void **state) {
  (void)state;
  kin_str body = wire_body("watch-bookmarks.http");
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__watch_decoders decoders;
  kin__watch_decoders_init(&decoders, &memory.allocator);
  decoded kept;
  decoded given;
  decoded_init(&kept, NULL);
  decoded_init(&given, NULL);
  kin__watch_decoder *keeper = take(&decoders, &kept);
  kin__watch_decoder *decoder = NULL;
  size_t taken = 0;
  for (size_t at = 0; at < body.length; at += 7) {
    size_t span = body.length - at < 7 ? body.length - at : 7;
    assert_int_equal(kin__watch_decoder_parse(keeper, body.data + at, span), 0);
    if (decoder == NULL) {
      decoder = take(&decoders, &given);
      taken++;
    }
    assert_int_equal(kin__watch_decoder_parse(decoder, body.data + at, span),
                     0);
    if (kin__watch_decoder_is_between(decoder)) {
      kin__watch_decoders_give(&decoders, decoder);
      decoder = NULL;
    }
  }
  assert_null(decoder);
  assert_true(taken > 1);
  decoded_assert_same(&given, &kept, "given back");
  size_t calls = memory.calls;
  kin__watch_decoders_give(&decoders, take(&decoders, &given));
  assert_int_equal(memory.calls, calls);
  kin__watch_decoders_give(&decoders, keeper);
  kin__watch_decoders_give(&decoders, NULL);
  kin__watch_decoders_finish(&decoders);
  assert_int_equal(memory.live_blocks, 0);
  decoded_finish(&kept);
  decoded_finish(&given);
  free((char *)body.data);
}

/* A decoder that has failed in the middle of a frame serves the next watch with
 * that watch's own limits. A few free decoders are kept. */
static void test_watch_decoders_are_reused(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__watch_decoders decoders;
  kin__watch_decoders_init(&decoders, &memory.allocator);
  decoded got;
  decoded_init(&got, NULL);
  kin__watch_decoder *all[KIN__WATCH_DECODERS_KEPT + 2];
  size_t count = sizeof all / sizeof all[0];
  for (size_t i = 0; i < count; i++) {
    all[i] = take(&decoders, &got);
    static const char cut[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":";
    assert_int_equal(kin__watch_decoder_parse(all[i], cut, sizeof cut - 1), 0);
    assert_int_equal(kin__watch_decoder_parse(all[i], "]", 1), KIN_EJSON);
  }
  for (size_t i = 0; i < count; i++) {
    kin__watch_decoders_give(&decoders, all[i]);
  }
  assert_int_equal(decoders.count, KIN__WATCH_DECODERS_KEPT);
  kin__decode_limits small = {.max_object_bytes = 10, .max_passed_bytes = 20};
  kin__watch_decoder *decoder = NULL;
  assert_int_equal(
      kin__watch_decoders_take(&decoders, &decoder, &small, NULL, &got.sink),
      0);
  static const char frame[] =
      "{\"type\":\"ADDED\",\"object\":{" META("a", "1") "}}";
  assert_int_equal(kin__watch_decoder_parse(decoder, frame, sizeof frame - 1),
                   KIN_ETOOBIG);
  kin__watch_decoders_give(&decoders, decoder);
  decoder = take(&decoders, &got);
  assert_int_equal(kin__watch_decoder_parse(decoder, frame, sizeof frame - 1),
                   0);
  assert_int_equal(got.count, 1);
  kin__watch_decoders_give(&decoders, decoder);
  kin__watch_decoders_finish(&decoders);
  assert_int_equal(memory.live_blocks, 0);
  fail_alloc_init(&memory, 1);
  kin__watch_decoders_init(&decoders, &memory.allocator);
  assert_int_equal(kin__watch_decoders_take(&decoders, &decoder, &no_limits,
                                            NULL, &got.sink),
                   KIN_ENOMEM);
  assert_null(decoder);
  assert_string_equal(kin__watch_decoder_key_in_hand(decoder), "");
  kin__watch_decoders_finish(&decoders);
  decoded_finish(&got);
}

/* Returns whether an allocation failed. An ERROR event that cannot be read for
 * lack of memory is no other error. */
static bool decode_error(const char *frame, const char *expected,
                         size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  decoded got;
  decoded_init(&got, NULL);
  kin__watch_decoder *decoder;
  int err = kin__watch_decoder_new(&decoder, &memory.allocator, &no_limits,
                                   NULL, &got.sink);
  for (size_t i = 0; err == 0 && i < strlen(frame); i++) {
    err = kin__watch_decoder_parse(decoder, frame + i, 1);
  }
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  assert_string_equal(decoded_log(&got), has_failed ? "" : expected);
  kin__watch_decoder_free(decoder);
  assert_int_equal(memory.live_blocks, 0);
  decoded_finish(&got);
  return has_failed;
}

static void test_watch_error_without_memory(void **state) {
  (void)state;
  static const char frame[] =
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"
      "\"Failure\",\"message\":\"m\",\"reason\":\"Expired\",\"code\":410}}";
  size_t n = 1;
  while (decode_error(frame, "error 410 Expired: m failure expired\n", n)) {
    n++;
  }
  assert_true(n > 3);
}

/* An object of 20,000 members, every second of which is dropped, twice: the
 * decoder goes back with no more than it keeps of any buffer. */
static void test_watch_many_dropped_members(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__watch_decoders decoders;
  kin__watch_decoders_init(&decoders, &memory.allocator);
  kin__projection *projection = list_run_default_projection();
  decoded got;
  decoded_init(&got, NULL);
  static const char pair[] = "\"managedFields\":0,\"x\":0,";
  static const char head[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{";
  static const char tail[] = "\"name\":\"a\"}}}";
  for (int round = 1; round <= 2; round++) {
    kin__watch_decoder *decoder = NULL;
    assert_int_equal(kin__watch_decoders_take(&decoders, &decoder, &no_limits,
                                              projection, &got.sink),
                     0);
    assert_int_equal(kin__watch_decoder_parse(decoder, head, sizeof head - 1),
                     0);
    for (int i = 0; i < 10000; i++) {
      assert_int_equal(kin__watch_decoder_parse(decoder, pair, sizeof pair - 1),
                       0);
    }
    assert_int_equal(kin__watch_decoder_parse(decoder, tail, sizeof tail - 1),
                     0);
    assert_int_equal(got.calls, round);
    kin__watch_decoders_give(&decoders, decoder);
    assert_in_range(memory.live_bytes, 1, 80 * 1024);
  }
  kin__watch_decoders_finish(&decoders);
  assert_int_equal(memory.live_blocks, 0);
  kin__projection_free(projection);
  decoded_finish(&got);
}

/* An ERROR event's object is bounded as an error response's body is, because it
 * is parsed in one step. If `type` comes first, nothing beyond the bound is
 * kept. */
static void test_error_event_too_big(void **state) {
  (void)state;
  enum { BOUND = 64 << 10, ROOM = BOUND + 100 };
  static const char begin[] = "{\"kind\":\"Status\",\"code\":410,\"x\":\"";
  static char object[ROOM];
  static char frame[ROOM + 100];
  for (int over = 0; over <= 1; over++) {
    memset(object, 'x', BOUND + (size_t)over);
    memcpy(object, begin, sizeof begin - 1);
    memcpy(object + BOUND + over - 2, "\"}", 3);
    for (int is_last = 0; is_last <= 1; is_last++) {
      int length = snprintf(frame, sizeof frame,
                            is_last != 0 ? "{\"object\":%s,\"type\":\"ERROR\"}"
                                         : "{\"type\":\"ERROR\",\"object\":%s}",
                            object);
      watch_run r;
      watch_run_init(&r);
      assert_int_equal(watch_run_feed(&r, frame, (size_t)length),
                       over != 0 ? KIN_ETOOBIG : 0);
      assert_int_equal(r.got.calls, over != 0 ? 0 : 1);
      watch_run_finish(&r);
    }
  }
  watch_run r;
  watch_run_init(&r);
  (void)snprintf(frame, sizeof frame, "{\"type\":\"ERROR\",\"object\":%s}",
                 object);
  size_t fit = sizeof "{\"type\":\"ERROR\",\"object\":" - 1 + BOUND;
  assert_int_equal(watch_run_feed(&r, frame, fit), 0);
  assert_int_equal(watch_run_feed(&r, frame + fit, 1), KIN_ETOOBIG);
  watch_run_finish(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watch_outcomes),
      cmocka_unit_test(test_watch_rest_of_an_object),
      cmocka_unit_test(test_watch_known),
      cmocka_unit_test(test_watch_frame_too_big),
      cmocka_unit_test(test_error_event_too_big),
      cmocka_unit_test(test_watch_key_in_hand),
      cmocka_unit_test(test_watch_depth),
      cmocka_unit_test(test_watch_sink_ends_it),
      cmocka_unit_test(test_watch_random_frames),
      cmocka_unit_test(test_watch_decoders_are_alike),
      cmocka_unit_test(test_watch_decoders_are_reused),
      cmocka_unit_test(test_watch_error_without_memory),
      cmocka_unit_test(test_watch_many_dropped_members),
  };
  return cmocka_run_group_tests_name("watch_decoder", tests, NULL, NULL);
}
