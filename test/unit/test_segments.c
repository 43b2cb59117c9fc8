/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/segments.h"
#include "support/fail_alloc.h"

typedef uint64_t element;

/* The lengths of the first segments; all later ones are as the last here. */
static const uint32_t lengths[] = {32, 32, 64, 128, 256, 512, 1024, 1024};

typedef struct fixture {
  fail_alloc memory;
  kin__segments segments;
} fixture;

static void setup(fixture *f, size_t fail_at) {
  fail_alloc_init(&f->memory, fail_at);
  f->segments = (kin__segments){.places = NULL};
}

static void teardown(fixture *f) {
  kin__segments_finish(&f->segments, &f->memory.allocator);
  assert_int_equal(f->memory.live_blocks, 0);
  assert_int_equal(kin__segments_room(&f->segments), 0);
}

static int add(fixture *f) {
  return kin__segments_add(&f->segments, &f->memory.allocator, sizeof(element));
}

static element *at(const fixture *f, uint32_t i) {
  return kin__segments_at(&f->segments, i, sizeof(element));
}

static uint32_t length_of(size_t segment) {
  size_t last = sizeof lengths / sizeof *lengths - 1;
  return lengths[segment < last ? segment : last];
}

/* Every element has a place of its own, which stays. */
static void test_growth(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  enum { SEGMENTS = 40, MOST = SEGMENTS * KIN__SEGMENT_MAX };
  static element *places[MOST];
  uint32_t room = 0;
  for (size_t segment = 0; segment < SEGMENTS; segment++) {
    assert_int_equal(add(&f), 0);
    assert_int_equal(kin__segments_last(&f.segments), room);
    for (uint32_t i = 0; i < length_of(segment); i++, room++) {
      places[room] = at(&f, room);
      *places[room] = room;
    }
    assert_int_equal(kin__segments_room(&f.segments), room);
    assert_int_equal(f.memory.live_bytes,
                     room * sizeof(element) +
                         f.segments.capacity * sizeof *f.segments.places);
  }
  for (uint32_t i = 0; i < room; i++) {
    assert_ptr_equal(at(&f, i), places[i]);
    assert_int_equal(*places[i], i);
  }
  teardown(&f);
}

/* Segments go in the reverse order, and come again as they were: twice. */
static void test_drop(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  for (int round = 0; round < 2; round++) {
    enum { SEGMENTS = 10 };
    for (int i = 0; i < SEGMENTS; i++) {
      assert_int_equal(add(&f), 0);
    }
    uint32_t room = kin__segments_room(&f.segments);
    for (size_t segment = SEGMENTS; segment-- > 0;) {
      size_t blocks = f.memory.live_blocks;
      kin__segments_drop(&f.segments, &f.memory.allocator);
      room -= length_of(segment);
      assert_int_equal(kin__segments_room(&f.segments), room);
      assert_int_equal(f.memory.live_blocks, blocks - 1);
    }
    assert_int_equal(room, 0);
    assert_int_equal(kin__segments_last(&f.segments), 0);
    kin__segments_drop(&f.segments, &f.memory.allocator);
  }
  teardown(&f);
}

static bool run_without_memory(size_t n) {
  fixture f;
  setup(&f, n);
  uint32_t room = 0;
  for (size_t segment = 0; segment < 12; segment++) {
    int err = add(&f);
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_int_equal(kin__segments_room(&f.segments), room);
      assert_int_equal(add(&f), 0); /* the next try is like the first */
    }
    room += length_of(segment);
    assert_int_equal(kin__segments_room(&f.segments), room);
    *at(&f, room - 1) = room;
  }
  bool has_failed = fail_alloc_has_failed(&f.memory);
  teardown(&f);
  return has_failed;
}

static void test_add_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 12);
}

/* No element is numbered UINT32_MAX, which means none. */
static void test_full(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  f.segments.count = (UINT32_MAX >> KIN__SEGMENTS_SHIFT) - 31;
  f.segments.capacity = f.segments.count;
  assert_int_equal(add(&f), KIN_ENOMEM);
  assert_int_equal(f.memory.calls, 0);
  f.segments = (kin__segments){.places = NULL};
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_growth),
      cmocka_unit_test(test_drop),
      cmocka_unit_test(test_add_fails_cleanly),
      cmocka_unit_test(test_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
