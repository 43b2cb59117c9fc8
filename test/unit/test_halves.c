/* SPDX-License-Identifier: MIT */

/* Texts that are packed in halves: read back whatever lies before and behind
 * the front; a front that has not changed keeps its frame, any other does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/halves.h"
#include "support/like_pods.h"

#define TEXT_BYTES 8192u
#define PREFIX "\"kind\":\"Pod\",\"apiVersion\":\"v1\","

/* "{", prefix, metadata, a spec with `filling` bytes, status, "}". */
static size_t make(char *to, const char *prefix, size_t filling, char filled,
                   const char *status) {
  int head = snprintf(to, TEXT_BYTES,
                      "{%s\"metadata\":{\"name\":\"a\"},"
                      "\"spec\":{\"text\":\"",
                      prefix);
  memset(to + head, filled, filling);
  int tail = snprintf(to + (size_t)head + filling,
                      TEXT_BYTES - (size_t)head - filling, "\"}%s}", status);
  return (size_t)head + filling + (size_t)tail;
}

typedef struct kept {
  char bytes[TEXT_BYTES];
  size_t length;
  kin__halves_place place;
} kept;

static kin_str str_of(const kept *k) {
  return kin__str(k->bytes, k->length);
}

/* Packs a copy of the text. A length of 0: it is to be packed whole. */
static void pack(kept *to, like_pods *l, kin_str text, kin_str before) {
  char *room = kin__packer_room(l->packer);
  memcpy(room, text.data, text.length);
  to->length = 0;
  to->place = kin__halves_find(kin__str(room, text.length), before);
  if (to->place.length > 0) {
    kin_str packed =
        kin__halves_pack(l->packer, room, text.length, to->place, before);
    assert_true(packed.length > 0);
    memcpy(to->bytes, packed.data, packed.length);
    to->length = packed.length;
  }
}

static int inflate(like_pods *l, kin_str packed, char *to, size_t length) {
  return kin__halves_inflate(kin__packer_dictionary(l->packer), packed, to,
                             length);
}

static void assert_reads(like_pods *l, const kept *k, kin_str text) {
  char *back = malloc(text.length); /* its bounds are watched */
  assert_int_equal(inflate(l, str_of(k), back, text.length), 0);
  assert_memory_equal(back, text.data, text.length);
  free(back);
}

static void init(like_pods *l) {
  assert_int_equal(like_pods_init(l, 0, 0, 64), 0);
  assert_null(kin__packer_known(l->packer));
}

static void test_every_length_is_read_back(void **state) {
  (void)state;
  static const char *const prefixes[] = {"", PREFIX};
  static const char *const statuses[] = {",\"status\":{}",
                                         ",\"status\":{\"phase\":\"Running\"}"};
  like_pods l;
  init(&l);
  for (size_t filling = 0; filling < 2000; filling++) {
    char text[TEXT_BYTES];
    size_t length = make(text, prefixes[filling % 2], filling, 'x',
                         statuses[filling / 2 % 2]);
    kept k;
    pack(&k, &l, kin__str(text, length), kin__str(NULL, 0));
    size_t front =
        strlen("\"metadata\":{\"name\":\"a\"},\"spec\":{\"text\":\"\"}") +
        filling;
    assert_int_equal(k.place.length, front >= 512 ? front : 0);
    if (k.length > 0) {
      assert_int_equal(k.place.begin, 1 + strlen(prefixes[filling % 2]));
      assert_reads(&l, &k, kin__str(text, length));
    }
  }
  like_pods_finish(&l);
}

/* metadata has to begin within the first 255 bytes, and the status comes behind
 * it. */
static void test_what_is_packed_whole(void **state) {
  (void)state;
  like_pods l;
  init(&l);
  for (size_t before = 240; before < 270; before++) {
    char prefix[300] = "\"k\":\"";
    memset(prefix + 5, 'k', before - 5);
    memcpy(prefix + before - 3, "\",", 3);
    char text[TEXT_BYTES];
    size_t length = make(text, prefix, 1000, 'x', ",\"status\":{}");
    kept k;
    pack(&k, &l, kin__str(text, length), kin__str(NULL, 0));
    assert_int_equal(k.length > 0, before - 1 + 1 <= 255);
    if (k.length > 0) {
      assert_reads(&l, &k, kin__str(text, length));
    }
  }
  static const char *const rows[] = {"", ",\"status\":\"text\"",
                                     ",\"status\": {}", ",\"status\":null"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TEXT_BYTES];
    size_t length = make(text, "", 1000, 'x', rows[i]);
    kept k;
    pack(&k, &l, kin__str(text, length), kin__str(NULL, 0));
    assert_int_equal(k.length, 0);
  }
  like_pods_finish(&l);
}

/* The frame of the state before is recognised in the next one. */
static bool takes_over(like_pods *l, const kept *before, kin_str text) {
  kept next;
  kept marked = *before;
  uint32_t frame;
  memcpy(&frame, before->bytes + before->length - sizeof frame, sizeof frame);
  assert_true(frame > 8 && frame < before->length);
  memset(marked.bytes, 'm', frame);
  pack(&next, l, text, str_of(&marked));
  bool is_taken =
      next.length > frame && memcmp(next.bytes, marked.bytes, frame) == 0;
  /* Taken or packed, the same comes out. */
  kept with;
  kept without;
  pack(&with, l, text, str_of(before));
  pack(&without, l, text, kin__str(NULL, 0));
  assert_int_equal(with.length, without.length);
  assert_memory_equal(with.bytes, without.bytes, with.length);
  assert_reads(l, &with, text);
  return is_taken;
}

static void test_same_front_keeps_its_frame(void **state) {
  (void)state;
  like_pods l;
  init(&l);
  char text[TEXT_BYTES];
  size_t length = make(text, "", 1500, 'x', ",\"status\":{\"n\":1}");
  kept first;
  pack(&first, &l, kin__str(text, length), kin__str(NULL, 0));
  static const struct {
    const char *prefix;
    const char *status;
  } rows[] = {{"", ",\"status\":{\"n\":2}"},
              {"", ",\"status\":{}"},
              {"", ",\"status\":{\"n\":1},\"more\":[1,2,3]"},
              {PREFIX, ",\"status\":{\"n\":1}"}, /* an event after a list */
              {PREFIX, ",\"status\":{\"n\":3}"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    length = make(text, rows[i].prefix, 1500, 'x', rows[i].status);
    assert_true(takes_over(&l, &first, kin__str(text, length)));
    /* And from that state on. */
    kept second;
    pack(&second, &l, kin__str(text, length), str_of(&first));
    length = make(text, "", 1500, 'x', ",\"status\":{\"n\":44}");
    assert_true(takes_over(&l, &second, kin__str(text, length)));
  }
  like_pods_finish(&l);
}

/* Each byte of the front, and its length. */
static void test_any_other_front_is_packed(void **state) {
  (void)state;
  like_pods l;
  init(&l);
  char text[TEXT_BYTES];
  const char *status = ",\"status\":{\"n\":1}";
  size_t length = make(text, "", 600, 'x', status);
  kept first;
  pack(&first, &l, kin__str(text, length), kin__str(NULL, 0));
  for (size_t i = 0; i < 600; i++) {
    char changed[TEXT_BYTES];
    memcpy(changed, text, length);
    char *spec = strstr(changed, "xxxx");
    spec[i] = 'y';
    assert_false(takes_over(&l, &first, kin__str(changed, length)));
  }
  length = make(text, "", 601, 'x', status);
  assert_false(takes_over(&l, &first, kin__str(text, length)));
  length = make(text, "", 599, 'x', status);
  assert_false(takes_over(&l, &first, kin__str(text, length)));
  like_pods_finish(&l);
}

static void test_damaged(void **state) {
  (void)state;
  like_pods l;
  init(&l);
  char text[TEXT_BYTES];
  size_t length = make(text, PREFIX, 900, 'x', ",\"status\":{\"n\":1}");
  kept k;
  pack(&k, &l, kin__str(text, length), kin__str(NULL, 0));
  char *back = malloc(length);
  for (size_t cut = 0; cut < k.length; cut++) {
    (void)inflate(&l, kin__str(k.bytes, cut), back, length);
    kin_str end = kin__str_from(str_of(&k), k.length - cut);
    (void)inflate(&l, end, back, length);
  }
  for (size_t bit = 0; bit < 8 * k.length; bit++) {
    kept damaged = k;
    damaged.bytes[bit / 8] = (char)(damaged.bytes[bit / 8] ^ 1 << bit % 8);
    (void)inflate(&l, str_of(&damaged), back, length);
  }
  assert_int_equal(inflate(&l, kin__str(NULL, 0), back, length),
                   KIN_EUNEXPECTED);
  for (size_t shorter = 0; shorter < length; shorter++) {
    assert_int_equal(inflate(&l, str_of(&k), back, shorter), KIN_EUNEXPECTED);
  }
  assert_int_equal(inflate(&l, str_of(&k), back, length), 0);
  free(back);
  like_pods_finish(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_length_is_read_back),
      cmocka_unit_test(test_what_is_packed_whole),
      cmocka_unit_test(test_same_front_keeps_its_frame),
      cmocka_unit_test(test_any_other_front_is_packed),
      cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
