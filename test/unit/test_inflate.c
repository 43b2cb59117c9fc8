/* SPDX-License-Identifier: MIT */
/* Proves the inflating of TR-07: any split, members that follow each other,
 * every kind of damage, bounded slices and memory, no memory, and a thousand
 * streams with random damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/fail_alloc.h"
#include "support/packed.h"
#include "transport/inflate.h"

typedef struct run {
  fail_alloc memory;
  kin__inflate *inflate;
  char *text;
  size_t length;
  size_t steps;
  int err;
} run;

static void begin(run *r, size_t fail_at) {
  *r = (run){.err = 0};
  fail_alloc_init(&r->memory, fail_at);
  r->err = kin__inflate_new(&r->inflate, &r->memory.allocator);
}

static void keep(run *r, kin_str out) {
  r->text = realloc(r->text, r->length + out.length + 1);
  assert_non_null(r->text);
  memcpy(r->text + r->length, out.data, out.length);
  r->length += out.length;
  r->text[r->length] = '\0';
}

/* A copy of exactly these bytes, so that the sanitizer sees more being read. */
static void feed(run *r, const char *bytes, size_t length) {
  if (r->err != 0) {
    return;
  }
  char *copy = malloc(length > 0 ? length : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, length);
  r->err = kin__inflate_push(r->inflate, copy, length);
  free(copy);
  while (r->err == 0 && kin__inflate_has_work(r->inflate)) {
    kin_str out;
    r->err = kin__inflate_step(r->inflate, &out);
    assert_true(out.length <= KIN__INFLATE_BYTES);
    r->steps++;
    if (r->err == 0) {
      keep(r, out);
    }
  }
}

static void end(run *r) {
  if (r->err == 0) {
    r->err = kin__inflate_end(r->inflate);
  }
  assert_true(r->err == 0 || r->err == KIN_EHTTP || r->err == KIN_ENOMEM);
}

static void finish(run *r) {
  kin__inflate_free(r->inflate);
  free(r->text);
  assert_int_equal(atomic_load(&r->memory.live_blocks), 0);
}

static const char hello[] = "{\"kind\":\"PodList\",\"items\":[{\"a\":1},"
                            "{\"a\":1},{\"a\":1},{\"a\":1},{\"a\":2}]}";

/* Whole, and in two pieces at every offset. */
static void check_text(const packed *p, const char *text, size_t length) {
  for (size_t i = 0; i <= p->length; i++) {
    run r;
    begin(&r, 0);
    feed(&r, p->bytes, i);
    feed(&r, p->bytes + i, p->length - i);
    end(&r);
    assert_int_equal(r.err, 0);
    assert_int_equal(r.length, length);
    if (length > 0) {
      assert_memory_equal(r.text, text, length);
    }
    finish(&r);
  }
}

/* Fails with this reason, however it is split. */
static void check_damaged(const packed *p, const char *reason) {
  for (size_t i = 0; i <= p->length; i++) {
    run r;
    begin(&r, 0);
    feed(&r, p->bytes, i);
    feed(&r, p->bytes + i, p->length - i);
    end(&r);
    assert_int_equal(r.err, KIN_EHTTP);
    assert_string_equal(kin__inflate_reason(r.inflate), reason);
    finish(&r);
  }
}

static void test_inflate_split(void **state) {
  (void)state;
  packed p = packed_make(hello, strlen(hello));
  check_text(&p, hello, strlen(hello));
  run r;
  begin(&r, 0);
  for (size_t i = 0; i < p.length; i++) {
    feed(&r, p.bytes + i, 1);
  }
  end(&r);
  assert_int_equal(r.err, 0);
  assert_string_equal(r.text, hello);
  finish(&r);
  packed_finish(&p);
}

/* RFC 1952, 2.2: a stream is members, one after the other; an empty one counts,
 * and so does none. */
static void test_inflate_members(void **state) {
  (void)state;
  packed p = {NULL, 0};
  packed_add(&p, hello, 20, 0);
  packed_add(&p, "", 0, 0);
  packed_add(&p, hello + 20, strlen(hello) - 20, 7);
  check_text(&p, hello, strlen(hello));
  packed_finish(&p);
  packed_add(&p, "", 0, 0);
  check_text(&p, "", 0);
  packed_finish(&p);
  packed_add_bytes(&p, "", 0);
  check_text(&p, "", 0);
  packed_finish(&p);
}

/* Extra field, name, comment and header sum, none of which zlib writes. */
static void test_inflate_header_fields(void **state) {
  (void)state;
  static const char head[] = "\x1f\x8b\x08\x1c\0\0\0\0\0\xff"
                             "\x03\0abcname\0comment";
  packed plain = packed_make(hello, strlen(hello));
  packed p = {NULL, 0};
  packed_add_bytes(&p, head, sizeof head); /* with its last zero */
  packed_add_bytes(&p, plain.bytes + 10, plain.length - 10);
  check_text(&p, hello, strlen(hello));
  packed_finish(&p);
  packed_finish(&plain);
}

static void test_inflate_damaged(void **state) {
  (void)state;
  packed good = packed_make(hello, strlen(hello));
  packed p = {NULL, 0};
  packed_add_bytes(&p, good.bytes, good.length);
  p.bytes[p.length - 8] ^= 1;
  check_damaged(&p, "incorrect data check");
  p.bytes[p.length - 8] ^= 1;
  p.bytes[p.length - 4] ^= 1;
  check_damaged(&p, "incorrect length check");
  p.bytes[p.length - 4] ^= 1;
  p.bytes[2] = 7;
  check_damaged(&p, "unknown compression method");
  p.bytes[2] = 8;
  p.bytes[3] = (char)0xe0;
  check_damaged(&p, "unknown header flags set");
  p.bytes[3] = 0;
  p.bytes[10] = 0x07;
  check_damaged(&p, "invalid block type");
  packed_finish(&p);

  packed_add_bytes(&p, hello, strlen(hello));
  check_damaged(&p, "the body is none");
  packed_finish(&p);
  /* What browsers call deflate, and a raw stream. */
  packed_add_bytes(&p, "\x78\x9c\x03\0\0\0\0\x01", 8);
  check_damaged(&p, "the body is none");
  packed_finish(&p);

  packed_add_bytes(&p, good.bytes, good.length);
  packed_add_bytes(&p, "trailing", 8);
  check_damaged(&p, "bytes follow that are none");
  packed_finish(&p);
  packed_add_bytes(&p, good.bytes, good.length);
  packed_add_bytes(&p, "\0\0\0\0", 4);
  check_damaged(&p, "bytes follow that are none");
  packed_finish(&p);
  packed_finish(&good);
}

/* Cut at every byte, in the first member and in the second. */
static void test_inflate_cut(void **state) {
  (void)state;
  packed p = {NULL, 0};
  packed_add(&p, hello, strlen(hello), 0);
  size_t first = p.length;
  packed_add(&p, hello, strlen(hello), 5);
  for (size_t i = 1; i < p.length; i++) {
    run r;
    begin(&r, 0);
    feed(&r, p.bytes, i);
    end(&r);
    if (i == first) {
      assert_int_equal(r.err, 0);
    } else {
      assert_int_equal(r.err, KIN_EHTTP);
      assert_string_equal(kin__inflate_reason(r.inflate), "it is cut off");
    }
    finish(&r);
  }
  packed_finish(&p);
}

/* What was flushed comes out at once, though the stream goes on. */
static void test_inflate_flush(void **state) {
  (void)state;
  packed p = {NULL, 0};
  packed_add(&p, hello, strlen(hello), 10);
  size_t seen = 0;
  run r;
  begin(&r, 0);
  for (size_t i = 0; i + 9 < p.length; i++) {
    feed(&r, p.bytes + i, 1);
    /* Z_SYNC_FLUSH ends with an empty stored block. */
    if (i >= 4 && memcmp(p.bytes + i - 3, "\0\0\xff\xff", 4) == 0) {
      seen++;
      size_t due = seen * 10 < strlen(hello) ? seen * 10 : strlen(hello);
      assert_int_equal(r.length, due);
    }
  }
  assert_int_equal(seen, (strlen(hello) + 9) / 10);
  finish(&r);
  packed_finish(&p);
}

/* 64 MiB from 64 KiB: in slices, in little memory. */
static void test_inflate_bomb(void **state) {
  (void)state;
  size_t size = 64u << 20;
  packed p = packed_bomb(size);
  assert_true(p.length < 80u << 10);
  run r;
  begin(&r, 0);
  assert_int_equal(kin__inflate_push(r.inflate, p.bytes, p.length), 0);
  size_t length = 0;
  size_t steps = 0;
  while (kin__inflate_has_work(r.inflate)) {
    kin_str out;
    assert_int_equal(kin__inflate_step(r.inflate, &out), 0);
    assert_true(out.length <= KIN__INFLATE_BYTES);
    length += out.length;
    steps++;
  }
  assert_int_equal(kin__inflate_end(r.inflate), 0);
  assert_int_equal(length, size);
  assert_true(steps >= size / KIN__INFLATE_BYTES);
  assert_true(atomic_load(&r.memory.peak_bytes) < 256u << 10);
  finish(&r);
  packed_finish(&p);
}

/* Input that yields nothing is bounded by step, too. */
static void test_inflate_empty_members(void **state) {
  (void)state;
  packed p = {NULL, 0};
  for (int i = 0; i < 2000; i++) {
    packed_add(&p, "", 0, 0);
  }
  run r;
  begin(&r, 0);
  feed(&r, p.bytes, p.length);
  end(&r);
  assert_int_equal(r.err, 0);
  assert_int_equal(r.length, 0);
  assert_true(r.steps >= p.length / KIN__INFLATE_INPUT_BYTES);
  finish(&r);
  packed_finish(&p);
}

static void test_inflate_too_much_waits(void **state) {
  (void)state;
  char *zeros = calloc(1, (1u << 20) + 1);
  assert_non_null(zeros);
  run r;
  begin(&r, 0);
  assert_int_equal(kin__inflate_push(r.inflate, zeros, (1u << 20) + 1),
                   KIN_ETOOBIG);
  finish(&r);
  free(zeros);
}

static void test_inflate_out_of_memory(void **state) {
  (void)state;
  /* Long enough for zlib to want its window. */
  char text[3000];
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = (char)(i * i >> 3);
  }
  packed p = {NULL, 0};
  packed_add(&p, text, sizeof text, 1000);
  size_t n = 1;
  for (;; n++) {
    run r;
    begin(&r, n);
    for (size_t i = 0; i < p.length; i++) {
      feed(&r, p.bytes + i, 1);
    }
    end(&r);
    bool has_failed = fail_alloc_has_failed(&r.memory);
    assert_int_equal(r.err, has_failed ? KIN_ENOMEM : 0);
    finish(&r);
    if (!has_failed) {
      break;
    }
  }
  assert_true(n > 4); /* ours, zlib's state and window, the input */
  packed_finish(&p);
}

static uint32_t next(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* Changes, drops or doubles some bytes. */
static void damage(packed *p, uint32_t *seed) {
  for (uint32_t count = next(seed) % 4 + 1; count > 0 && p->length > 1;
       count--) {
    size_t at = next(seed) % p->length;
    switch (next(seed) % 3) {
    case 0:
      p->bytes[at] ^= (char)(1u << next(seed) % 8);
      break;
    case 1:
      memmove(p->bytes + at, p->bytes + at + 1, p->length - at - 1);
      p->length--;
      break;
    default:
      p->length = at + 1;
      break;
    }
  }
}

/* Damage is found, or did none: the sums see to that. */
static void test_inflate_random_damage(void **state) {
  (void)state;
  size_t failed = 0;
  for (uint32_t seed = 1; seed <= 1000; seed++) {
    uint32_t random = seed;
    packed p = {NULL, 0};
    packed_add(&p, hello, strlen(hello), next(&random) % 9);
    packed_add(&p, hello, strlen(hello), 0);
    damage(&p, &random);
    run r;
    begin(&r, 0);
    for (size_t i = 0, piece; i < p.length; i += piece) {
      piece = next(&random) % 40 + 1;
      piece = piece < p.length - i ? piece : p.length - i;
      feed(&r, p.bytes + i, piece);
    }
    end(&r);
    failed += r.err != 0;
    if (r.err == 0) { /* a header's time, or a member was cut off whole */
      assert_true(r.length % strlen(hello) == 0);
    }
    finish(&r);
    packed_finish(&p);
  }
  assert_true(failed > 800 && failed < 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inflate_split),
      cmocka_unit_test(test_inflate_members),
      cmocka_unit_test(test_inflate_header_fields),
      cmocka_unit_test(test_inflate_damaged),
      cmocka_unit_test(test_inflate_cut),
      cmocka_unit_test(test_inflate_flush),
      cmocka_unit_test(test_inflate_bomb),
      cmocka_unit_test(test_inflate_empty_members),
      cmocka_unit_test(test_inflate_too_much_waits),
      cmocka_unit_test(test_inflate_out_of_memory),
      cmocka_unit_test(test_inflate_random_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
