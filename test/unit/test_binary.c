/* SPDX-License-Identifier: MIT */

/* Texts that are packed without their hashes, UUIDs, addresses and times: which
 * values these are, that each text is read back, that the side has a bound, and
 * that damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/binary.h"
#include "support/like_pods.h"

#define HEX16 "0123456789abcdef"
#define HEX64 HEX16 HEX16 HEX16 HEX16
#define HEX128 HEX64 HEX64

/* --- Values ----------------------------------------------------------------- */

typedef struct row {
  const char *string;
  char kind;    /* 0: no value */
  size_t begin; /* in the string */
} row;

static const row rows[] = {
    {"2026-06-05T10:59:33Z", 't', 0},
    {"1970-01-01T00:00:00Z", 't', 0},
    {"2106-02-07T06:28:15Z", 't', 0},
    {"1969-12-31T23:59:59Z", 0, 0},
    {"2106-02-07T06:28:16Z", 0, 0},
    {"2026-02-29T10:59:33Z", 0, 0},
    {"2026-06-05T10:59:60Z", 0, 0},
    {"2026-06-05t10:59:33Z", 0, 0},
    {"2026-06-05T10:59:33z", 0, 0},
    {"2026-06-05T10:59:33+", 0, 0},
    {"2026-06-05T10:59:33.5Z", 0, 0},
    {"2026-06-05T10:59.33Z", 0, 0},
    {"99aa8ec1-731d-41b6-b920-5a502ce8e287", 'u', 0},
    {"99aa8ec1-731d-41b6-b920-5a502ce8e28A", 0, 0},
    {"99Aa8ec1-731d-41b6-b920-5a502ce8e287", 0, 0},
    {"99aa8ec1-731d-41b6-b9205-a502ce8e287", 0, 0},
    {"99aa8ec1-731d-41b6-b920-5a502ce8e28", 0, 0},
    {"{99aa8ec1-731d-41b6-b920-5a502ce8e287}", 0, 0},
    {"0.0.0.0", 'a', 0},
    {"255.255.255.255", 'a', 0},
    {"10.244.3.1", 'a', 0},
    {"256.1.1.1", 0, 0},
    {"1.1.1.256", 0, 0},
    {"01.1.1.1", 0, 0},
    {"1.1.1.00", 0, 0},
    {"1.1.1.1.1", 0, 0},
    {"1.1.1234", 0, 0},
    {"1..1.1.1", 0, 0},
    {".1.1.1.1", 0, 0},
    {"1.1.1.a", 0, 0},
    {"1.1.1.1/8", 0, 0},
    {"abcdefabcdefabcdefabcdef", 'h', 0},
    {"abcdefabcdefabcdefabcde", 0, 0},
    {"1abcdefabcdefabcdefabcdef", 'h', 1},
    {"abcdefabcdefabcdefabcdefg", 0, 0},
    {"Abcdefabcdefabcdefabcdef", 0, 0},
    {"sha256:" HEX64, 'h', 7},
    {"registry.example.com/web@sha256:" HEX64, 'h', 32},
    {HEX128, 'h', 0},
    {"12" HEX128, 'h', 2},
    {"123" HEX128, 'h', 3},
    {HEX64 "-", 0, 0},
    {"", 0, 0},
    {"0", 0, 0},
};

/* The string as a text, in memory whose bounds are watched. */
static kin_str quoted(const char *string) {
  size_t length = strlen(string) + 2;
  char *text = malloc(length);
  text[0] = '"';
  memcpy(text + 1, string, length - 2);
  text[length - 1] = '"';
  return kin__str(text, length);
}

static void test_what_is_a_value(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *r = &rows[i];
    kin_str text = quoted(r->string);
    const char *end = text.data + text.length;
    const char *at = kin__binary_first(text.data, text.length);
    assert_ptr_equal(at, text.data);
    kin__binary_value v;
    bool is_value = kin__binary_next(&at, end, &v);
    if (is_value != (r->kind != 0)) {
      fail_msg("%s", r->string);
    }
    if (is_value) {
      assert_int_equal(v.kind, r->kind);
      assert_int_equal(v.begin - text.data - 1, r->begin);
      assert_ptr_equal(v.end, end - 1);
      assert_ptr_equal(at, end - 1);
      char written[KIN__BINARY_WRITTEN_BYTES];
      size_t length = kin__binary_write(written, &v);
      assert_int_equal(length, v.end - v.begin);
      assert_memory_equal(written, v.begin, length);
      assert_false(kin__binary_next(&at, end, &v));
    }
    assert_null(at);
    free((char *)text.data);
  }
  assert_null(kin__binary_first(NULL, 0));
  assert_null(kin__binary_first("abc", 3));
}

/* --- Texts ------------------------------------------------------------------ */

#define TEXT_BYTES (64u << 10)

typedef struct kept {
  char bytes[TEXT_BYTES];
  size_t length;
  bool is_whole;
} kept;

/* The last bytes of a kept text: the lengths of the side, and of all bytes that
 * the values save. */
typedef struct tail {
  uint32_t side : 12;
  uint32_t saved : 20;
} tail;

static tail tail_of(const kept *k) {
  tail t;
  memcpy(&t, k->bytes + k->length - sizeof t, sizeof t);
  return t;
}

static void init(like_pods *l) {
  assert_int_equal(like_pods_init(l, 0, 0, 64), 0);
  l->is_small = true;
  assert_int_equal(like_pods_renew(l, 0, 64, false), 0);
}

static void pack(kept *to, like_pods *l, kin_str text) {
  char *room = kin__packer_room(l->packer);
  memcpy(room, text.data, text.length);
  kin_str packed = kin__binary_pack(l->packer, kin__packer_known(l->packer),
                                    room, text.length, &to->is_whole);
  memcpy(to->bytes, packed.data, packed.length);
  to->length = packed.length;
}

/* Reads what is kept, in memory whose bounds are watched. */
static int inflate(like_pods *l, const char *bytes, size_t kept_length,
                   char *to, size_t length) {
  char *copy = malloc(kept_length > 0 ? kept_length : 1);
  memcpy(copy, bytes, kept_length);
  int err = kin__binary_inflate(kin__packer_dictionary(l->packer),
                                kin__str(copy, kept_length), to, length);
  free(copy);
  return err;
}

static void assert_reads(like_pods *l, const kept *k, kin_str text) {
  char *back = malloc(text.length);
  if (k->is_whole) {
    assert_int_equal(kin__dictionary_inflate(kin__packer_dictionary(l->packer),
                                             kin__str(k->bytes, k->length),
                                             back, text.length),
                     0);
  } else {
    assert_int_equal(inflate(l, k->bytes, k->length, back, text.length), 0);
  }
  assert_memory_equal(back, text.data, text.length);
  free(back);
}

/* A JSON text of strings, written one by one. */
typedef struct writer {
  char bytes[TEXT_BYTES];
  size_t length;
} writer;

static void put(writer *w, const char *format, unsigned number) {
  w->length += (size_t)snprintf(w->bytes + w->length,
                                sizeof w->bytes - w->length, format, number);
  assert_true(w->length < sizeof w->bytes);
}

static kin_str text_of(writer *w) {
  put(w, "]%c", '}');
  return kin__str(w->bytes, w->length);
}

/* Filling that is easily packed, so that the text is packed at all. */
static void begin(writer *w) {
  w->length = 0;
  put(w, "{\"text\":\"%-200u\",\"values\":[null", 0);
}

static void test_rows_are_read_back(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    begin(&w);
    put(&w, ",\"", 0);
    put(&w, rows[i].string, 0);
    put(&w, "\"", 0);
    kin_str text = text_of(&w);
    pack(&k, &l, text);
    assert_true(k.length > 0);
    assert_int_equal(k.is_whole, rows[i].kind == 0);
    assert_reads(&l, &k, text);
  }
  like_pods_finish(&l);
}

/* A value that was there before takes no bytes of the side again, if its place
 * is among the first 256. */
static void test_repeated_values_are_kept_once(void **state) {
  (void)state;
  static kept once;
  static kept often;
  static kept different;
  static writer w;
  like_pods l;
  init(&l);
  begin(&w);
  put(&w, ",\"%064x\"", 0x12345678u);
  pack(&once, &l, text_of(&w));
  begin(&w);
  for (unsigned i = 0; i < 20; i++) {
    put(&w, ",\"%064x\"", 0x12345678u);
  }
  kin_str text = text_of(&w);
  pack(&often, &l, text);
  assert_reads(&l, &often, text);
  begin(&w);
  for (unsigned i = 0; i < 20; i++) {
    put(&w, ",\"%064x\"", 0x12345678u + i * 0x1010101u);
  }
  text = text_of(&w);
  pack(&different, &l, text);
  assert_reads(&l, &different, text);
  assert_true(often.length < once.length + 32);
  assert_true(different.length > once.length + 19 * 32);
  like_pods_finish(&l);
}

/* The side has at most 4,095 bytes. What has no room there stays in the text. */
static void test_the_side_has_a_bound(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  for (unsigned count = 120; count < 140; count++) {
    begin(&w);
    for (unsigned i = 0; i < count; i++) {
      put(&w, ",\"%064x\"", i * 2654435761u);
    }
    put(&w, ",\"2026-06-05T10:00:%02uZ\",\"2026-06-05T10:00:59Z\"", 0);
    kin_str text = text_of(&w);
    pack(&k, &l, text);
    unsigned places = count < 127 ? count : 127;
    assert_int_equal(tail_of(&k).side,
                     places * 32 + (places * 32 + 4 <= 4095 ? 4 : 0));
    assert_reads(&l, &k, text);
  }
  like_pods_finish(&l);
}

/* Of a text with more values than any object has, the first 1,024 leave the
 * text. So such a text does not hold up the loop. */
static void test_values_have_a_bound(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  for (unsigned count = 1020; count < 2000; count += count < 1030 ? 1 : 300) {
    begin(&w);
    for (unsigned i = 0; i < count; i++) {
      put(&w, ",\"1970-01-01T00:00:%02uZ\"", i * 59 / count);
    }
    kin_str text = text_of(&w);
    pack(&k, &l, text);
    unsigned values = count < 1024 ? count : 1024;
    assert_int_equal(tail_of(&k).saved, values * (20 - 3));
    assert_reads(&l, &k, text);
  }
  like_pods_finish(&l);
}

/* Texts of 16 KiB and more, whose values count before, are packed with other
 * tables of the same dictionary. */
static void test_long_texts_are_read_back(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  for (size_t length = 16380; length < 16500; length++) {
    begin(&w);
    put(&w, ",\"99aa8ec1-731d-41b6-b920-5a502ce8%04x\",\"", 1);
    while (w.length < length) {
      put(&w, "%c", 'g' + (unsigned)(w.length * w.length) % 7);
    }
    put(&w, "\"", 0);
    kin_str text = text_of(&w);
    pack(&k, &l, text);
    assert_false(k.is_whole);
    assert_reads(&l, &k, text);
  }
  like_pods_finish(&l);
}

/* Times go up and down, by less and more than a byte of seconds. */
static void test_times_are_read_back(void **state) {
  (void)state;
  static kept k;
  static writer w;
  static const char *const times[] = {
      "2026-06-05T10:59:33Z", "2026-06-05T10:59:33Z", "2026-06-05T11:03:48Z",
      "2026-06-05T11:08:04Z", "2026-06-05T11:08:03Z", "1970-01-01T00:00:00Z",
      "1970-01-01T00:00:02Z", "2106-02-07T06:28:15Z", "1970-01-01T00:00:01Z",
      "2106-02-07T06:28:14Z", "2106-02-07T06:28:15Z"};
  like_pods l;
  init(&l);
  begin(&w);
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    put(&w, ",\"", 0);
    put(&w, times[i], 0);
    put(&w, "\"", 0);
  }
  kin_str text = text_of(&w);
  pack(&k, &l, text);
  assert_false(k.is_whole);
  assert_reads(&l, &k, text);
  like_pods_finish(&l);
}

/* A mark stands in no JSON text. If one does, the text is packed as it is. */
static void test_a_text_with_a_mark_is_whole(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  begin(&w);
  put(&w, ",\"10.1.2.3\",\"\x02t\"", 0);
  kin_str text = text_of(&w);
  pack(&k, &l, text);
  assert_true(k.is_whole);
  assert_reads(&l, &k, text);
  like_pods_finish(&l);
}

/* --- Damage ----------------------------------------------------------------- */

/* Whatever is kept, nothing is read or written out of bounds, and what has
 * another length is refused. */
static void test_damaged_texts_are_refused(void **state) {
  (void)state;
  static kept k;
  static writer w;
  like_pods l;
  init(&l);
  begin(&w);
  put(&w, ",\"%064x\",\"10.1.2.3\",\"99aa8ec1-731d-41b6-b920-5a502ce8e287\"",
      1);
  put(&w, ",\"2026-06-05T10:00:%02uZ\",\"2026-06-05T10:00:59Z\"", 0);
  put(&w, ",\"%064x\",\"10.1.2.3\"", 1);
  kin_str text = text_of(&w);
  pack(&k, &l, text);
  assert_false(k.is_whole);
  char *back = malloc(text.length + 1);
  for (size_t length = 0; length < k.length; length++) {
    assert_true(inflate(&l, k.bytes, length, back, text.length) < 0);
  }
  for (size_t i = 0; i < k.length; i++) {
    char before = k.bytes[i];
    for (unsigned change = 1; change < 256; change++) {
      k.bytes[i] = (char)(before ^ (char)change);
      int err = inflate(&l, k.bytes, k.length, back, text.length);
      assert_true(err == 0 || err == KIN_EUNEXPECTED);
    }
    k.bytes[i] = before;
  }
  char *shorter = malloc(text.length - 1);
  assert_int_equal(inflate(&l, k.bytes, k.length, shorter, text.length - 1),
                   KIN_EUNEXPECTED);
  assert_int_equal(inflate(&l, k.bytes, k.length, back, text.length + 1),
                   KIN_EUNEXPECTED);
  free(shorter);
  free(back);
  like_pods_finish(&l);
}

/* Marks that no text has: every letter, with all that may follow. */
static void test_foreign_marks_are_refused(void **state) {
  (void)state;
  static kept k;
  like_pods l;
  init(&l);
  const uint32_t saved = 200;
  unsigned read = 0;
  for (unsigned letter = 0; letter < 256; letter++) {
    for (unsigned next = 0; next < 256; next += next < 130 ? 1 : 25) {
      char text[64];
      size_t length = (size_t)snprintf(text, sizeof text, "[\"\x02%c%c%c\"]",
                                       letter, next, 'a');
      char *room = kin__packer_room(l.packer);
      memcpy(room, text, length);
      kin__packer_begin(l.packer);
      (void)kin__packer_put_frame(l.packer, kin__str(room, length));
      kin__packer_put(l.packer, KIN__LIT("0123456789"));
      tail t = {.side = 10, .saved = saved};
      kin__packer_put(l.packer, kin__str((const char *)&t, sizeof t));
      kin_str packed = kin__packer_end(l.packer, 1000);
      memcpy(k.bytes, packed.data, packed.length);
      char *back = malloc(length + saved);
      int err = inflate(&l, k.bytes, packed.length, back, length + saved);
      assert_true(err == 0 || err == KIN_EUNEXPECTED);
      read += err == 0;
      free(back);
    }
  }
  assert_int_equal(read, 0); /* none gets 200 characters back */
  like_pods_finish(&l);
}

/* --- What samples repeat ---------------------------------------------------- */

#define MANY 5000u

static bool is_known(const kin__binary_known *known, const char *string) {
  kin_str text = quoted(string);
  const char *at = kin__binary_first(text.data, text.length);
  kin__binary_value v;
  assert_true(kin__binary_next(&at, text.data + text.length, &v));
  bool result = kin__binary_is_known(known, &v);
  free((char *)text.data);
  return result;
}

/* Two samples with the same text, and one with a text of its own. */
static void init_known(kin__binary_known *known, like_pods *l, writer *twice,
                       const char *once) {
  static kin__samples samples;
  static char bytes[3 * TEXT_BYTES * 8];
  const kin__hash_seed seed = {1, 2};
  samples = (kin__samples){.bytes = bytes};
  size_t used = 0;
  for (unsigned i = 0; i < 3; i++) {
    size_t length = i < 2 ? twice->length : strlen(once);
    memcpy(bytes + used, i < 2 ? twice->bytes : once, length);
    used += length;
    samples.sizes[samples.count++] = length;
  }
  assert_int_equal(
      kin__binary_known_init(known, &l->memory->allocator, &seed, &samples), 0);
}

static void test_what_samples_repeat_is_known(void **state) {
  (void)state;
  static writer w;
  like_pods l;
  init(&l);
  begin(&w);
  put(&w, ",\"10.0.0.%u\",\"2026-06-05T10:59:33Z\",\"sha256:" HEX64 "\"", 7);
  (void)text_of(&w);
  kin__binary_known known;
  init_known(&known, &l, &w, "[\"10.0.0.8\",\"10.0.0.8\",\"10.0.0.9\"]");
  assert_true(is_known(&known, "10.0.0.7"));
  assert_true(is_known(&known, "sha256:" HEX64));
  assert_true(is_known(&known, "other@" HEX64));
  assert_false(is_known(&known, "10.0.0.8")); /* twice in one sample */
  assert_false(is_known(&known, "10.0.0.9"));
  assert_false(is_known(&known, "2026-06-05T10:59:33Z"));
  kin__binary_known_finish(&known, &l.memory->allocator);
  like_pods_finish(&l);
}

/* A table of which half is in use takes no more. */
static void test_what_is_known_has_a_bound(void **state) {
  (void)state;
  static writer w;
  like_pods l;
  init(&l);
  w.length = 0;
  for (unsigned i = 0; i < MANY; i++) {
    put(&w, "\"10.1.%u", i >> 8);
    put(&w, ".%u\"", i & 255u);
  }
  kin__binary_known known;
  init_known(&known, &l, &w, "[]");
  unsigned count = 0;
  for (unsigned i = 0; i < MANY; i++) {
    char string[32];
    snprintf(string, sizeof string, "10.1.%u.%u", i >> 8, i & 255u);
    count += is_known(&known, string);
  }
  assert_int_equal(count, 2048);
  kin__binary_known_finish(&known, &l.memory->allocator);
  like_pods_finish(&l);
}

/* --- Failing allocations ---------------------------------------------------- */

static bool renew(size_t fail_at) {
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, 16), 0);
  l.is_small = true;
  l.fail.fail_at = fail_at > 0 ? l.fail.calls + fail_at : 0;
  int err = like_pods_renew(&l, 0, 16, false);
  bool has_failed = fail_alloc_has_failed(&l.fail);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  like_pods_finish(&l);
  return has_failed;
}

static void test_failing_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(renew, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_a_value),
      cmocka_unit_test(test_rows_are_read_back),
      cmocka_unit_test(test_repeated_values_are_kept_once),
      cmocka_unit_test(test_the_side_has_a_bound),
      cmocka_unit_test(test_values_have_a_bound),
      cmocka_unit_test(test_long_texts_are_read_back),
      cmocka_unit_test(test_times_are_read_back),
      cmocka_unit_test(test_a_text_with_a_mark_is_whole),
      cmocka_unit_test(test_damaged_texts_are_refused),
      cmocka_unit_test(test_foreign_marks_are_refused),
      cmocka_unit_test(test_what_samples_repeat_is_known),
      cmocka_unit_test(test_what_is_known_has_a_bound),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
