/* SPDX-License-Identifier: MIT */

/* Objects over the limit in lists: only the key is kept of them, wherever
 * metadata is, and the rest of the body is not touched by it. RL-08. */
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
#include "decode/cursor.h"
#include "decode/key_only.h"
#include "object/object.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/list_run.h"
#include "support/oversized.h"

/* Small objects around it, or two of them in a row. */
static void write_list(kin__buf *text, kin__buf *log, size_t shape, int place) {
  const char *object = shapes[shape].object;
  text->length = log->length = 0;
  kin__buf_append_cstr(text, "{\"metadata\":{},\"items\":[");
  if (place != 0) {
    kin__buf_append_cstr(text, SMALL("a") ",");
    kin__buf_append_cstr(log, SMALL_LOG("a"));
  }
  for (int i = 0; i < (place == 1 ? 2 : 1); i++) {
    kin__buf_printf(text, "%s%s", i > 0 ? "," : "", object);
    kin__buf_append_cstr(log, "known? " IDENTITY "no\n");
    expect_parts(log, "listed", shape);
  }
  if (place != 2) {
    kin__buf_append_cstr(text, "," SMALL("b"));
    kin__buf_append_cstr(log, SMALL_LOG("b"));
  }
  kin__buf_append_cstr(text, "]}");
}

/* First, in the middle (and two of them), last; cut at every byte; with limits
 * that are passed in every part of it: what is given is the same. */
static void test_list_of_shapes(void **state) {
  (void)state;
  kin__buf text;
  kin__buf log;
  init_buf(&text);
  init_buf(&log);
  for (size_t shape = 0; shape < SHAPES; shape++) {
    size_t length = strlen(shapes[shape].object);
    for (int place = 0; place < 3; place++) {
      write_list(&text, &log, shape, place);
      for (uint32_t limit = 30; limit < length; limit += place == 1 ? 1 : 17) {
        list_run r;
        list_run_init(&r);
        r.projection = list_run_default_projection();
        r.limits.max_object_bytes = limit;
        for (int at = BYTEWISE; at <= (int)text.length;
             at += place == 1 && limit % 4 != 0 ? 23 : 1) {
          kin_str body = kin__str(text.data, text.length);
          assert_int_equal(list_run_decode(&r, body, at), 0);
          assert_log(&r.got, &log, shapes[shape].object);
          list_run_again(&r);
        }
        list_run_finish(&r);
      }
    }
  }
  kin__buf_finish(&log);
  kin__buf_finish(&text);
}

/* The limit is on the object as it came, to the byte, whatever is dropped of
 * it. */
static void test_limit_to_the_byte(void **state) {
  (void)state;
  for (size_t shape = 0; shape < SHAPES; shape++) {
    for (int over = 0; over <= 1; over++) {
      kin__buf text;
      kin__buf log;
      init_buf(&text);
      init_buf(&log);
      write_list(&text, &log, shape, 1);
      for (int at = BYTEWISE; at <= (int)text.length; at++) {
        list_run r;
        list_run_init(&r);
        r.projection = list_run_default_projection();
        r.limits.max_object_bytes =
            (uint32_t)strlen(shapes[shape].object) - (uint32_t)over;
        kin_str body = kin__str(text.data, text.length);
        assert_int_equal(list_run_decode(&r, body, at), 0);
        assert_int_equal(r.got.count, 4);
        for (size_t i = 1; i <= 2; i++) {
          const kin_object *object = r.got.objects[i];
          assert_int_equal(kin_object_is_key_only(object), over);
          assert_string_equal(kin_object_key(object).data, "ns/big");
          assert_str(kin_object_uid(object), KIN__LIT("u-1"));
          assert_str(kin_object_resource_version(object), KIN__LIT("7"));
        }
        assert_false(kin_object_is_key_only(r.got.objects[0]));
        assert_false(kin_object_is_key_only(r.got.objects[3]));
        list_run_finish(&r);
      }
      kin__buf_finish(&log);
      kin__buf_finish(&text);
    }
  }
}

/* One that is known goes by as any other that is, early or late. */
static void test_known_over_the_limit(void **state) {
  (void)state;
  static const char *const known[] = {"big"};
  for (size_t shape = 0; shape < SHAPES; shape++) {
    char text[1024];
    int length = snprintf(text, sizeof text,
                          "{\"metadata\":{},\"items\":[%s," SMALL("a") "]}",
                          shapes[shape].object);
    for (int at = BYTEWISE; at <= length; at++) {
      list_run r;
      list_run_init(&r);
      r.limits.max_object_bytes = 50;
      r.got.known = known;
      r.got.known_count = 1;
      assert_int_equal(list_run_decode(&r, kin__str(text, (size_t)length), at),
                       0);
      assert_string_equal(decoded_log(&r.got),
                          "known? " IDENTITY "yes\n"
                          "listed " IDENTITY "known\n" SMALL_LOG("a"));
      list_run_finish(&r);
    }
  }
}

/* Labels are kept up to 65,535 bytes, wherever they are cut and wherever the
 * limit is passed. */
static void test_long_labels(void **state) {
  (void)state;
  for (int over = 0; over <= 1; over++) {
    int length = 65535 - (int)strlen("{\"a\":\"\"}") + over;
    for (int is_last = 0; is_last <= 1; is_last++) {
      kin__buf text;
      init_buf(&text);
      kin__buf_append_cstr(&text, "{\"metadata\":{},\"items\":[{");
      kin__buf_append_cstr(&text, is_last ? "\"data\":\"" X40 "\"," : "");
      kin__buf_printf(&text,
                      "\"metadata\":{" IDS ",\"labels\":{\"a\":\"%0*d\"}}",
                      length, 0);
      kin__buf_append_cstr(&text, "}," SMALL("a") "]}");
      for (uint32_t limit = 50; limit < 66000; limit += 9001) {
        for (int at = 0; at < (int)text.length; at += 4001) {
          list_run r;
          list_run_init(&r);
          r.limits.max_object_bytes = limit;
          assert_int_equal(
              list_run_decode(&r, kin__str(text.data, text.length), at), 0);
          assert_int_equal(r.got.count, 2);
          kin_str value;
          assert_true(kin_object_is_key_only(r.got.objects[0]));
          assert_string_equal(kin_object_key(r.got.objects[0]).data, "ns/big");
          assert_int_equal(kin_object_label(r.got.objects[0], "a", &value),
                           !over);
          if (!over) {
            assert_int_equal(value.length, length);
          }
          list_run_finish(&r);
        }
      }
      kin__buf_finish(&text);
    }
  }
}

/* 20 MB before metadata, and after it: as much memory as for none. */
static void test_bytes_go_by(void **state) {
  (void)state;
  static char junk[64 * 1024];
  memset(junk, 'j', sizeof junk);
  for (int is_last = 0; is_last <= 1; is_last++) {
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    decoded got;
    decoded_init(&got, NULL);
    kin__decode_limits limits = {.max_object_bytes = 1000};
    kin__list_decoder *decoder;
    kin__list_result result;
    assert_int_equal(kin__list_decoder_new(&decoder, &memory.allocator, &limits,
                                           NULL, &got.sink),
                     0);
    const char *begin = is_last
                            ? "{\"metadata\":{},\"items\":[{\"data\":[\""
                            : "{\"metadata\":{},\"items\":[{\"metadata\":{" IDS
                              "},\"data\":[\"";
    const char *end = is_last ? "\"],\"metadata\":{" IDS "}}]}" : "\"]}]}";
    assert_int_equal(kin__list_decoder_parse(decoder, begin, strlen(begin)), 0);
    for (int i = 0; i < 320; i++) {
      assert_int_equal(kin__list_decoder_parse(decoder, junk, sizeof junk), 0);
    }
    assert_int_equal(kin__list_decoder_parse(decoder, end, strlen(end)), 0);
    assert_int_equal(kin__list_decoder_end(decoder, &result), 0);
    assert_int_equal(got.count, 1);
    assert_true(kin_object_is_key_only(got.objects[0]));
    assert_true(kin_object_memory(got.objects[0]) < 200);
    assert_non_null(strstr(decoded_log(&got), IDENTITY "key-only of 20971"));
    assert_true(atomic_load(&memory.peak_bytes) < 8192 + sizeof junk);
    kin__list_decoder_free(decoder);
    decoded_finish(&got);
    assert_int_equal(memory.live_blocks, 0);
  }
}

/* What may be asked of such an object, and its copy. */
static void test_key_only_object(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":[{\"metadata\":{" IDS
      ",\"labels\":{\"app\":\"web\"},\"annotations\":{\"a\":\"b\"}},\"spec\":{"
      "\"x\":\"" X40 "\"},\"apiVersion\":\"v1\"}]}";
  list_run r;
  list_run_init(&r);
  r.limits.max_object_bytes = 100;
  assert_int_equal(list_run_decode(&r, kin__cstr(text), 40), 0);
  kin_object *copy;
  assert_int_equal(kin__object_copy(&copy, r.got.memory, r.got.objects[0], 0),
                   0);
  const kin_object *objects[] = {r.got.objects[0], copy};
  for (size_t i = 0; i < 2; i++) {
    const kin_object *object = objects[i];
    assert_true(kin_object_is_key_only(object));
    kin_str value;
    assert_true(kin_object_label(object, "app", &value));
    assert_str(value, KIN__LIT("web"));
    kin_object_view *view;
    assert_int_equal(kin_object_view_open(&view, object), 0);
    assert_int_equal(kin_object_view_string(view, "/metadata/name", &value), 0);
    assert_str(value, KIN__LIT("big"));
    assert_int_equal(kin_object_view_string(view, "/apiVersion", &value), 0);
    assert_str(value, KIN__LIT("v1"));
    assert_int_equal(
        kin_object_view_string(view, "/metadata/labels/app", &value), 0);
    assert_int_equal(
        kin_object_view_string(view, "/metadata/annotations/a", &value),
        KIN_ENOENT);
    assert_int_equal(kin_object_view_string(view, "/spec/x", &value),
                     KIN_ENOENT);
    kin_str json = kin_object_view_json(view);
    kin_object *parsed;
    assert_int_equal(kin_object_parse(&parsed, NULL, json.data, json.length),
                     0);
    assert_false(kin_object_is_key_only(parsed));
    assert_string_equal(kin_object_key(parsed).data, "ns/big");
    kin_object_unref(parsed);
    kin_object_view_close(view);
  }
  kin_object_unref(copy);
  list_run_finish(&r);
}

/* Strings that JSON writes with escapes are the same in the text that is made
 * of them. */
static void test_key_only_escapes(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":[{\"data\":\"" X40 X40
      "\",\"metadata\":{\"name\":\"a\\u0062\",\"uid\":\"u\\\"1\","
      "\"resourceVersion\":\"\\\\7\\t\",\"labels\":{\"k\\u0031\":\"\\u0076\"}"
      "}}]}";
  for (int at = BYTEWISE; at < (int)sizeof text; at++) {
    list_run r;
    list_run_init(&r);
    r.limits.max_object_bytes = 70;
    assert_int_equal(list_run_decode(&r, kin__cstr(text), at), 0);
    const kin_object *object = r.got.objects[0];
    assert_true(kin_object_is_key_only(object));
    assert_string_equal(kin_object_key(object).data, "ab");
    assert_str(kin_object_uid(object), KIN__LIT("u\"1"));
    assert_str(kin_object_resource_version(object), KIN__LIT("\\7\t"));
    kin_str value;
    assert_true(kin_object_label(object, "k1", &value));
    assert_str(value, KIN__LIT("v"));
    kin_object_view *view;
    assert_int_equal(kin_object_view_open(&view, object), 0);
    assert_int_equal(kin_object_view_string(view, "/metadata/uid", &value), 0);
    assert_str(value, kin_object_uid(object));
    assert_int_equal(
        kin_object_view_string(view, "/metadata/resourceVersion", &value), 0);
    assert_str(value, kin_object_resource_version(object));
    kin_object_view_close(view);
    list_run_finish(&r);
  }
}

/* Labels that are not stored are not kept by the key either, wherever the limit
 * is passed. */
static void test_dropped_labels(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":[{\"metadata\":{\"annotations\":{\"a\":"
      "\"" X40 "\"}," IDS ",\"labels\":{\"app\":\"web\"}}}]}";
  for (uint32_t limit = 30; limit < 120; limit += 10) {
    for (int at = BYTEWISE; at < (int)sizeof text; at++) {
      list_run r;
      list_run_init(&r);
      r.projection = list_run_default_projection();
      assert_int_equal(kin__projection_drop_labels(r.projection), 0);
      r.limits.max_object_bytes = limit;
      assert_int_equal(list_run_decode(&r, kin__cstr(text), at), 0);
      assert_true(kin_object_is_key_only(r.got.objects[0]));
      assert_false(kin_object_label(r.got.objects[0], "app", NULL));
      list_run_finish(&r);
    }
  }
}

/* A member of metadata whose name is empty is none of those that are read. */
static void test_empty_name(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{},\"items\":[{\"metadata\":{\"\":\"" X40 "\"," IDS
      "},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}]}";
  list_run r;
  list_run_init(&r);
  r.limits.max_object_bytes = 100;
  assert_int_equal(list_run_decode(&r, kin__cstr(text), BYTEWISE), 0);
  kin_object_view *view;
  kin_str value;
  assert_int_equal(kin_object_view_open(&view, r.got.objects[0]), 0);
  assert_int_equal(kin_object_view_string(view, "/apiVersion", &value), 0);
  assert_str(value, KIN__LIT("v1"));
  assert_int_equal(kin_object_view_string(view, "/kind", &value), 0);
  assert_str(value, KIN__LIT("Pod"));
  kin_object_view_close(view);
  list_run_finish(&r);
}

/* Of an object that is made small later, too, the first of several members of
 * one name counts. */
static void test_made_small_later(void **state) {
  (void)state;
  static const char text[] =
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{" IDS
      ",\"labels\":{\"a\":\"1\"}},\"metadata\":{\"labels\":{\"a\":\"2\"}},"
      "\"kind\":\"B\",\"apiVersion\":\"v2\",\"data\":\"" X40 "\"}";
  kin__memory *memory = kin__memory_new(NULL);
  kin_object *whole;
  kin_object *small;
  assert_int_equal(kin_object_parse(&whole, NULL, text, strlen(text)), 0);
  assert_int_equal(kin__key_only_make(&small, memory, whole, true), 0);
  kin_str value;
  assert_true(kin_object_label(small, "a", &value));
  assert_str(value, KIN__LIT("1"));
  assert_str(kin__object_body(small),
             KIN__LIT("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," MINIMAL_META
                      ",\"labels\":{\"a\":\"1\"}}}"));
  kin_object_unref(small);
  kin_object_unref(whole);
  kin__memory_unref(memory);
}

/* Expects the small object of `text` to have the members in `type`, and these
 * labels. */
static void expect_small(const char *text, const char *type,
                         const char *labels) {
  kin__memory *memory = kin__memory_new(NULL);
  kin_object *whole;
  kin_object *small;
  char want[200];
  snprintf(want, sizeof want, "{%s" MINIMAL_META "%s}}", type, labels);
  assert_int_equal(kin_object_parse(&whole, NULL, text, strlen(text)), 0);
  assert_int_equal(kin__key_only_make(&small, memory, whole, true), 0);
  assert_str(kin__object_body(small), kin__cstr(want));
  kin_object_unref(small);
  kin_object_unref(whole);
  kin__memory_unref(memory);
}

/* As a decoder: a first member that is no string hides a later one, names may
 * have escapes, and strings that no API object has are left out. */
static void test_made_small_of_odd_members(void **state) {
  (void)state;
  expect_small("{\"kind\":1,\"kind\":\"B\",\"apiVersion\":null,"
               "\"apiVersion\":\"v2\",\"metadata\":{" IDS "}}",
               "", "");
  expect_small("{\"k\\u0069nd\":\"Pod\",\"kind\":\"B\",\"meta\\u0064ata\":{" IDS
               ",\"label\\u0073\":{\"a\":\"1\"},\"labels\":{\"a\":\"2\"}},"
               "\"metadata\":{\"labels\":{\"a\":\"3\"}}}",
               "\"kind\":\"Pod\",", ",\"labels\":{\"a\":\"1\"}");
  static char text[2 * (KIN__CURSOR_TEXT_MAX + 1) + 200];
  static char kind[KIN__CURSOR_TEXT_MAX + 2];
  memset(kind, 'k', sizeof kind - 1);
  snprintf(text, sizeof text,
           "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{" IDS "}}",
           kind, kind);
  expect_small(text, "", "");
}

/* Every allocation fails once, while labels are in two pieces. */
static void test_out_of_memory(void **state) {
  (void)state;
  kin_str text = kin__cstr(
      "{\"metadata\":{},\"items\":[{\"metadata\":{\"managedFields\":"
      "[],\"n\\u0061me\":\"big\",\"labels\":{\"a\":\"" X40
      "\"},\"uid\":\"1\"},\"data\":\"" X40 X40 "\"}," SMALL("b") "]}");
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    decoded got;
    decoded_init(&got, &memory.allocator);
    kin__projection *projection = list_run_default_projection();
    kin__list_decoder *decoder = NULL;
    kin__decode_limits limits = {.max_object_bytes = 80};
    int err = got.memory != NULL
                  ? kin__list_decoder_new(&decoder, &memory.allocator, &limits,
                                          projection, &got.sink)
                  : KIN_ENOMEM;
    for (size_t at = 0; at < text.length && err == 0; at += 11) {
      size_t rest = text.length - at;
      err = kin__list_decoder_parse(decoder, text.data + at,
                                    rest < 11 ? rest : 11);
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
      assert_true(n > 6);
      break;
    }
  }
}

/* --- Random bodies -------------------------------------------------------- */

typedef struct random_object {
  size_t begin;
  size_t length;
  char uid[16];
  bool has_name;
  bool has_labels;
} random_object;

static void gen_metadata(json_gen *gen, random_object *o, unsigned i) {
  const char *members[5];
  char uid[40];
  snprintf(o->uid, sizeof o->uid, "u%u", i);
  snprintf(uid, sizeof uid, "\"uid\":\"%s\"", o->uid);
  size_t count = 0;
  members[count++] = uid;
  members[count++] = "\"resourceVersion\":\"5\"";
  o->has_name = !json_gen_one_in(gen, 12);
  if (o->has_name) {
    members[count++] = "\"n\\u0061me\":\"x\"";
  }
  o->has_labels = json_gen_one_in(gen, 2);
  if (o->has_labels) {
    members[count++] = "\"labels\": {\"k\":\"v}\"}";
  }
  members[count++] = "\"managedFields\":[{\"a\":[1]}]";
  json_gen_text(gen, "\"metadata\":{");
  for (; count > 0; count--) {
    size_t pick = json_gen_below(gen, (uint32_t)count);
    json_gen_space(gen);
    json_gen_text(gen, members[pick]);
    members[pick] = members[count - 1];
    json_gen_text(gen, ",\"y\":");
    json_gen_value(gen, json_gen_below(gen, 3));
    json_gen_text(gen, count > 1 ? "," : "");
  }
  json_gen_text(gen, "}");
}

static void gen_object(json_gen *gen, random_object *o, unsigned i) {
  o->begin = gen->out->length;
  json_gen_text(gen, "{");
  uint32_t before = json_gen_below(gen, 4);
  uint32_t after = json_gen_below(gen, 4);
  for (uint32_t n = 0; n < before; n++) {
    json_gen_text(gen, "\"z\":");
    json_gen_value(gen, 4);
    json_gen_text(gen, ",");
  }
  gen_metadata(gen, o, i);
  for (uint32_t n = 0; n < after; n++) {
    json_gen_text(gen, ",\"z\":");
    json_gen_value(gen, 4);
  }
  json_gen_text(gen, "}");
  o->length = gen->out->length - o->begin;
}

/* Sizes around the limit, in random spans: which are kept whole, by their key
 * or not at all depends on their length and on nothing else. */
static void test_random_sizes(void **state) {
  (void)state;
  size_t seen[3] = {0};
  for (uint64_t seed = 1; seed < 1500; seed++) {
    kin__buf text;
    init_buf(&text);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    random_object objects[8];
    size_t count = 1 + json_gen_below(&gen, 8);
    json_gen_text(&gen, "{\"items\":[");
    for (size_t i = 0; i < count; i++) {
      json_gen_text(&gen, i > 0 ? "," : "");
      gen_object(&gen, &objects[i], (unsigned)i);
    }
    json_gen_text(&gen, "],\"metadata\":{}}");
    list_run r;
    list_run_init(&r);
    r.projection = seed % 3 == 0 ? NULL : list_run_default_projection();
    r.got.skips_bad = true;
    const random_object *pivot =
        &objects[json_gen_below(&gen, (uint32_t)count)];
    r.limits.max_object_bytes =
        (uint32_t)pivot->length + 1 - json_gen_below(&gen, 3);
    list_run_open(&r);
    int err = 0;
    for (size_t at = 0; at < text.length && err == 0;) {
      size_t span = 1 + json_gen_below(&gen, seed % 2 == 1 ? 20 : 400);
      span = span < text.length - at ? span : text.length - at;
      err = list_run_feed(&r, text.data + at, span);
      at += span;
    }
    size_t given = 0;
    for (size_t i = 0; i < count; i++) {
      const random_object *o = &objects[i];
      bool is_over = o->length > r.limits.max_object_bytes;
      if (!o->has_name) {
        seen[0]++;
        continue;
      }
      assert_true(given < r.got.count);
      const kin_object *object = r.got.objects[given++];
      kin_str value;
      assert_str(kin_object_name(object), KIN__LIT("x"));
      assert_str(kin_object_uid(object), kin__cstr(o->uid));
      assert_str(kin_object_resource_version(object), KIN__LIT("5"));
      assert_int_equal(kin_object_label(object, "k", &value), o->has_labels);
      assert_int_equal(kin_object_is_key_only(object), is_over);
      seen[is_over ? 1 : 2]++;
      if (!is_over && r.projection == NULL) {
        kin_str json = kin__object_body(object);
        assert_int_equal(json.length, o->length);
        assert_memory_equal(json.data, text.data + o->begin, o->length);
      }
    }
    assert_int_equal(err, 0);
    assert_int_equal(given, r.got.count);
    list_run_finish(&r);
    kin__buf_finish(&text);
  }
  assert_true(seen[0] > 50 && seen[1] > 500 && seen[2] > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_of_shapes),
      cmocka_unit_test(test_limit_to_the_byte),
      cmocka_unit_test(test_known_over_the_limit),
      cmocka_unit_test(test_long_labels),
      cmocka_unit_test(test_bytes_go_by),
      cmocka_unit_test(test_key_only_object),
      cmocka_unit_test(test_key_only_escapes),
      cmocka_unit_test(test_dropped_labels),
      cmocka_unit_test(test_empty_name),
      cmocka_unit_test(test_made_small_later),
      cmocka_unit_test(test_made_small_of_odd_members),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_random_sizes),
  };
  return cmocka_run_group_tests_name("oversized_list", tests, NULL, NULL);
}
