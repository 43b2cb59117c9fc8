/* SPDX-License-Identifier: MIT */

/* Texts without their residents: the same text comes back, whatever lies in it;
 * damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/dictionary.h"
#include "object/strip.h"
#include "support/like_pods.h"

#define UID "0f0e0d0c-1111-2222-3333-444455556666"

typedef struct row {
  const char *name;
  const char *metadata; /* without its braces */
  unsigned mask;
} row;

#define BIT(resident) (1u << (resident))
#define ALL                                                                    \
  (BIT(KIN__RESIDENT_NAME) | BIT(KIN__RESIDENT_PREFIX) |                       \
   BIT(KIN__RESIDENT_UID) | BIT(KIN__RESIDENT_VERSION) |                       \
   BIT(KIN__RESIDENT_LABELS))

static const row rows[] = {
    {"web-7d9f8c6b5-x2x4z",
     "\"name\":\"web-7d9f8c6b5-x2x4z\",\"generateName\":\"web-7d9f8c6b5-\","
     "\"uid\":\"" UID "\",\"resourceVersion\":\"123456\",\"labels\":"
     "{\"app\":\"web\",\"own\":\"x\"}",
     ALL},
    /* Another order; no prefix, because it is not behind the name. */
    {"web-7d9f8c6b5-x2x4z",
     "\"labels\":{\"app\":\"web\"},\"resourceVersion\":\"123456\",\"uid\":"
     "\"" UID "\",\"generateName\":\"other-\",\"name\":"
     "\"web-7d9f8c6b5-x2x4z\"",
     ALL & ~BIT(KIN__RESIDENT_PREFIX)},
    /* The namespace, behind a prefix that has the same letters; and alone. */
    {"shop-7d9f8c6b5-x2x4z",
     "\"name\":\"shop-7d9f8c6b5-x2x4z\",\"generateName\":"
     "\"shop-7d9f8c6b5-\",\"namespace\":\"shop\"",
     BIT(KIN__RESIDENT_NAME) | BIT(KIN__RESIDENT_PREFIX) |
         BIT(KIN__RESIDENT_NAMESPACE)},
    {"web-0", "\"name\":\"web-0\",\"namespace\":\"shop\"",
     BIT(KIN__RESIDENT_NAME) | BIT(KIN__RESIDENT_NAMESPACE)},
    /* Before the name, or far behind the name, the namespace stays. */
    {"web-0", "\"namespace\":\"shop\",\"name\":\"web-0\"",
     BIT(KIN__RESIDENT_NAME)},
    {"web-0",
     "\"name\":\"web-0\",\"selfLink\":\"/api/v1/namespaces/default/pods/"
     "some-long-name-of-a-pod-that-fills-the-line\",\"namespace\":\"shop\"",
     BIT(KIN__RESIDENT_NAME)},
    /* White space in labels; short strings. */
    {"abc",
     "\"name\":\"abc\",\"uid\":\"" UID "\",\"resourceVersion\":\"12\","
     "\"labels\":{\"app\": \"web\"}",
     BIT(KIN__RESIDENT_UID)},
    /* A mark in the text: nothing is left out. */
    {"web-7d9f8c6b5-x2x4z",
     "\"name\":\"web-7d9f8c6b5-x2x4z\",\"x\":\"\x01"
     "b\",\"uid\":\"" UID "\"",
     0},
};

static size_t make(char *to, const row *r, int padding) {
  return (size_t)sprintf(to, "{\"metadata\":{%s},\"text\":\"%0*d\"}",
                         r->metadata, padding, 0);
}

static kin_str find(kin_str text, const char *what) {
  const char *at = strstr(text.data, what);
  return at != NULL ? kin__str(at, strlen(what)) : kin__str(NULL, 0);
}

/* The text's labels are coded with an empty table, so all are raw. */
static void check(const row *r, int padding, unsigned expected) {
  static char empty[1];
  const kin__samples none = {.bytes = empty};
  const kin__hash_seed seed = {1, 2};
  kin__label_table table;
  assert_int_equal(
      kin__label_table_init(&table, kin__default_allocator(), &seed, &none), 0);
  char bytes[4096];
  char stripped[4096];
  kin_str text = kin__str(bytes, make(bytes, r, padding));
  const char *labels = strstr(bytes, "{\"app\"");
  kin_str raw = labels != NULL ? kin__str(labels, strcspn(labels, "}") + 1)
                               : kin__str(NULL, 0);
  char codes[256];
  size_t coded = kin__label_table_encode(&table, raw, codes, sizeof codes);
  kin_str code = kin__str(codes, coded);
  bool is_whole = kin__label_table_write(&table, code, NULL) == raw.length;
  kin_str name = kin__cstr(r->name);
  const kin_str version = find(text, "123456");
  const kin_str strings[KIN__RESIDENTS] = {
      [KIN__RESIDENT_NAME] = name,
      [KIN__RESIDENT_PREFIX] = kin__strip_prefix(name),
      [KIN__RESIDENT_NAMESPACE] = KIN__LIT("shop"),
      [KIN__RESIDENT_UID] = find(text, UID),
      [KIN__RESIDENT_VERSION] = version,
      [KIN__RESIDENT_LABELS] = is_whole ? raw : kin__str(NULL, 0)};
  unsigned mask;
  size_t length = kin__strip(stripped, text, strings, &mask);
  assert_int_equal(mask, expected);
  const kin__residents residents = {
      .strings = {[KIN__RESIDENT_NAME] = name,
                  [KIN__RESIDENT_PREFIX] = kin__strip_prefix(name),
                  [KIN__RESIDENT_NAMESPACE] = KIN__LIT("shop"),
                  [KIN__RESIDENT_UID] = kin__cstr(UID),
                  [KIN__RESIDENT_VERSION] = KIN__LIT("123456"),
                  [KIN__RESIDENT_LABELS] = code},
      .table = &table};
  assert_int_equal(kin__stripped_length(&residents, mask, text.length), length);
  char back[4096];
  memcpy(back + text.length - length, stripped, length);
  assert_true(mask == 0 || kin__unstrip(back, text.length, length, &residents));
  assert_memory_equal(back, bytes, text.length);
  /* Any byte may be damaged: never beyond the text. */
  for (size_t i = 0; mask != 0 && i < length; i++) {
    memcpy(back + text.length - length, stripped, length);
    back[text.length - length + i] = KIN__STRIP_MARK;
    (void)kin__unstrip(back, text.length, length, &residents);
  }
  kin__label_table_finish(&table, kin__default_allocator());
}

static void test_strip_and_back(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int padding = 300; padding < 310; padding++) {
      check(&rows[i], padding, rows[i].mask);
    }
    check(&rows[i], 1, rows[i].mask);
  }
}

/* Samples are stripped as texts are, and lie one behind the other then. */
static void test_samples(void **state) {
  (void)state;
  static char bytes[8192];
  static kin__samples samples;
  samples = (kin__samples){.bytes = bytes};
  size_t used = 0;
  for (unsigned i = 0; i < 4; i++) {
    samples.sizes[i] = make(bytes + used, &rows[0], 300);
    used += samples.sizes[i];
    samples.count++;
  }
  kin__strip_samples(&samples);
  assert_true(samples.sizes[0] < 430);
  static const char begin[] = "{\"metadata\":{\"name\":\"\x01";
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(samples.sizes[i], samples.sizes[0]);
    assert_memory_equal(bytes + i * samples.sizes[0], begin, sizeof begin - 1);
  }
}

/* An object with all residents is packed, copied and read. */
static void test_packed_object(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, 64), 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[4096];
    size_t length = make(text, &rows[i], 400);
    kin_object *object;
    if (like_pods_make(&object, l.memory, text, length) != 0) {
      continue; /* a mark is no JSON */
    }
    assert_true(kin__object_pack(&object, NULL, l.memory, l.packer));
    kin_object *copy;
    assert_int_equal(kin__object_copy(&copy, l.memory, object, 0), 0);
    kin_object_unref(object);
    kin_str back;
    assert_int_equal(kin__object_text(copy, &back), 0);
    assert_int_equal(back.length, length);
    assert_memory_equal(back.data, text, length);
    kin_object_unref(copy);
  }
  like_pods_finish(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strip_and_back),
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_packed_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
