/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/random.h"
#include "base/slots.h"
#include "support/fail_alloc.h"

#define PER_SEGMENT KIN__SEGMENT_MAX

typedef struct element {
  kin__slot_head head;
  uint64_t number; /* 0 iff free */
} element;

typedef struct fixture {
  fail_alloc memory;
  kin__slots slots;
} fixture;

static void setup(fixture *f, size_t fail_at) {
  fail_alloc_init(&f->memory, fail_at);
  kin__slots_init(&f->slots, &f->memory.allocator, sizeof(element));
}

static void teardown(fixture *f) {
  kin__slots_finish(&f->slots);
  assert_int_equal(f->memory.live_blocks, 0);
}

static element *take(fixture *f, uint32_t *id) {
  assert_int_equal(kin__slots_take(&f->slots, id), 0);
  return kin__slots_at(&f->slots, *id);
}

static void test_slots_init_allocates_nothing(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  assert_int_equal(f.memory.calls, 0);
  assert_int_equal(kin__slots_limit(&f.slots), 0);
  assert_int_equal(kin__segments_room(&f.slots.segments), 0);
  teardown(&f);
}

/* Addresses and ids stay while the array grows over several segments. */
static void test_slots_stay_in_place(void **state) {
  (void)state;
  enum { COUNT = 5 * PER_SEGMENT + 7 };
  static element *at[COUNT];
  fixture f;
  setup(&f, 0);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t id;
    at[i] = take(&f, &id);
    assert_int_equal(id, i);
    assert_int_equal(at[i]->number, 0);
    assert_int_equal(at[i]->head.hash, 0);
    assert_int_equal(at[i]->head.next, 0);
    at[i]->number = i + 1;
  }
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_ptr_equal(kin__slots_at(&f.slots, i), at[i]);
    assert_int_equal(at[i]->number, i + 1);
  }
  assert_int_equal(f.slots.live, COUNT);
  assert_int_equal(kin__segments_room(&f.slots.segments), 6 * PER_SEGMENT);
  teardown(&f);
}

static void test_slots_are_reused_zeroed(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  uint32_t ids[3];
  for (int i = 0; i < 3; i++) {
    take(&f, &ids[i])->number = 7;
  }
  element *second = kin__slots_at(&f.slots, ids[1]);
  second->head.hash = 99;
  kin__slots_give(&f.slots, ids[1]);
  assert_int_equal(second->number, 0); /* a walk sees that it is free */
  assert_int_equal(f.slots.live, 2);
  uint32_t again;
  assert_ptr_equal(take(&f, &again), second);
  assert_int_equal(again, ids[1]);
  assert_int_equal(second->head.hash, 0);
  assert_int_equal(second->head.next, 0);
  assert_int_equal(kin__slots_limit(&f.slots), 3);
  teardown(&f);
}

static bool run_slots_take_without_memory(size_t n) {
  fixture f;
  setup(&f, n);
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 4 * PER_SEGMENT + 1; i++) {
    uint32_t id = 12345;
    int err = kin__slots_take(&f.slots, &id);
    assert_true(err == 0 || err == KIN_ENOMEM);
    taken += err == 0 ? 1 : 0;
    assert_int_equal(f.slots.live, taken);
    assert_int_equal(kin__slots_limit(&f.slots), taken);
  }
  bool has_failed = fail_alloc_has_failed(&f.memory);
  assert_int_equal(taken, 4 * PER_SEGMENT + (has_failed ? 0 : 1));
  teardown(&f);
  return has_failed;
}

static void test_slots_take_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_slots_take_without_memory, 5);
}

/* After a reserve of n the next n takes make no allocation, whatever was free
 * before. */
static void test_slots_reserve_is_kept(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  kin__random random = {1};
  for (int round = 0; round < 200; round++) {
    uint32_t count = (uint32_t)kin__random_below(&random, PER_SEGMENT + 1);
    f.memory.fail_at = 0;
    assert_int_equal(kin__slots_reserve(&f.slots, count), 0);
    f.memory.fail_at = f.memory.calls + 1;
    f.memory.keeps_failing = true;
    uint32_t before = kin__slots_limit(&f.slots);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t id;
      take(&f, &id)->number = 1;
    }
    for (uint32_t id = before; id < kin__slots_limit(&f.slots); id++) {
      if (kin__random_below(&random, 3) > 0) {
        kin__slots_give(&f.slots, id);
      }
    }
  }
  assert_false(fail_alloc_has_failed(&f.memory));
  teardown(&f);
}

static void test_slots_reserve_fails_cleanly(void **state) {
  (void)state;
  fixture f;
  setup(&f, 1);
  assert_int_equal(kin__slots_reserve(&f.slots, 1), KIN_ENOMEM);
  assert_int_equal(kin__slots_reserve(&f.slots, 1), 0);
  assert_int_equal(kin__slots_limit(&f.slots), 0);
  teardown(&f);
}

static void test_slots_drop_one_segment_at_a_time(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0);
  for (uint32_t i = 0; i < 2 * PER_SEGMENT + 1; i++) {
    uint32_t id;
    take(&f, &id)->number = 1;
  }
  assert_int_equal(kin__slots_reserve(&f.slots, PER_SEGMENT), 0);
  assert_int_equal(kin__segments_room(&f.slots.segments), 4 * PER_SEGMENT);
  size_t blocks = f.memory.live_blocks;
  const uint32_t left[] = {
      2 * PER_SEGMENT + 1, 2 * PER_SEGMENT,  PER_SEGMENT,
      PER_SEGMENT / 2,     PER_SEGMENT / 4,  PER_SEGMENT / 8,
      PER_SEGMENT / 16,    PER_SEGMENT / 32, 0};
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    assert_int_equal(kin__slots_drop_segment(&f.slots), left[i]);
    assert_int_equal(f.memory.live_blocks, --blocks);
  }
  assert_int_equal(kin__slots_drop_segment(&f.slots), 0);
  teardown(&f);
}

/* --- Segments that are given back ----------------------------------------- */

enum { MANY = 20 * PER_SEGMENT };

static void setup_with_holes(fixture *f, size_t fail_at) {
  setup(f, fail_at);
  f->slots.has_holes = true;
}

static void give(fixture *f, uint32_t id) {
  element *e = kin__slots_at(&f->slots, id);
  assert_true(e->number != 0);
  size_t blocks = f->memory.live_blocks;
  kin__slots_give(&f->slots, id);
  assert_true(blocks - f->memory.live_blocks <= 1); /* no long step */
}

static void take_many(fixture *f, uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    element *e = take(f, &ids[i]);
    assert_int_equal(e->number, 0); /* nobody else has it */
    assert_int_equal(e->head.hash, 0);
    assert_int_equal(e->head.next, 0);
    e->number = i + 1;
  }
}

static void shuffle(uint32_t *ids, uint32_t count, kin__random *random) {
  for (uint32_t i = count - 1; i > 0; i--) {
    uint32_t other = (uint32_t)kin__random_below(random, i + 1);
    uint32_t id = ids[i];
    ids[i] = ids[other];
    ids[other] = id;
  }
}

/* Whatever the order: when all have gone, the first segments are left, of 1,024
 * elements together, and one more at most. Twice, and ids are used again. */
static void test_slots_give_memory_back(void **state) {
  (void)state;
  static uint32_t ids[MANY];
  kin__random random = {3};
  fixture f;
  setup_with_holes(&f, 0);
  for (int round = 0; round < 6; round++) {
    take_many(&f, ids, MANY);
    assert_true(kin__slots_limit(&f.slots) <= MANY + PER_SEGMENT);
    if (round % 3 == 2) {
      shuffle(ids, MANY, &random);
    }
    for (uint32_t i = 0; i < MANY; i++) {
      give(&f, ids[round % 3 == 1 ? MANY - 1 - i : i]);
    }
    assert_int_equal(f.slots.live, 0);
    assert_true(f.memory.live_bytes <=
                2 * PER_SEGMENT * sizeof(element) + 16 * 1024);
  }
  teardown(&f);
}

/* A segment stays as long as one of its elements is in use; no other does. */
static void test_slots_keep_what_is_in_use(void **state) {
  (void)state;
  static uint32_t ids[MANY];
  fixture f;
  setup_with_holes(&f, 0);
  take_many(&f, ids, MANY);
  element *kept = kin__slots_at(&f.slots, ids[10 * PER_SEGMENT]);
  for (uint32_t i = 0; i < MANY; i++) {
    if (i != 10 * PER_SEGMENT) {
      give(&f, ids[i]);
    }
  }
  assert_true(f.memory.live_bytes <=
              3 * PER_SEGMENT * sizeof(element) + 16 * 1024);
  assert_ptr_equal(kin__slots_at(&f.slots, ids[10 * PER_SEGMENT]), kept);
  assert_int_equal(kept->number, 10 * PER_SEGMENT + 1);
  uint32_t found = 0;
  uint32_t walked = 0;
  for (uint32_t id = 0; (id = kin__slots_next(&f.slots, id)) != KIN__NO_SLOT;
       id++) {
    assert_false(kin__slots_is_hole(&f.slots, id));
    const element *e = kin__slots_at(&f.slots, id);
    found += e->number != 0 ? 1 : 0;
    walked++;
  }
  assert_int_equal(found, 1);
  assert_true(walked <= 3 * PER_SEGMENT);
  teardown(&f);
}

/* A count that swings around a segment's border allocates once. */
static void test_slots_do_not_allocate_each_time(void **state) {
  (void)state;
  static uint32_t ids[MANY];
  fixture f;
  setup_with_holes(&f, 0);
  take_many(&f, ids, 3 * PER_SEGMENT - 2); /* two have a counter */
  size_t calls = f.memory.calls;
  for (int i = 0; i < 100; i++) {
    uint32_t id;
    take(&f, &id)->number = 1;
    give(&f, id);
  }
  assert_int_equal(f.memory.calls, calls + 1);
  teardown(&f);
}

static bool run_slots_refill_without_memory(size_t n) {
  static uint32_t ids[MANY];
  fixture f;
  setup_with_holes(&f, 0);
  take_many(&f, ids, MANY);
  for (uint32_t i = 0; i < MANY; i++) {
    give(&f, ids[i]);
  }
  f.memory.fail_at = f.memory.calls + n;
  for (uint32_t i = 0; i < MANY;) {
    int err = kin__slots_take(&f.slots, &ids[i]);
    assert_true(err == 0 || err == KIN_ENOMEM);
    i += err == 0 ? 1 : 0;
    assert_int_equal(f.slots.live, i);
  }
  teardown(&f);
  return fail_alloc_has_failed(&f.memory);
}

static void test_slots_refill_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_slots_refill_without_memory, 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slots_init_allocates_nothing),
      cmocka_unit_test(test_slots_stay_in_place),
      cmocka_unit_test(test_slots_are_reused_zeroed),
      cmocka_unit_test(test_slots_take_fails_cleanly),
      cmocka_unit_test(test_slots_reserve_is_kept),
      cmocka_unit_test(test_slots_reserve_fails_cleanly),
      cmocka_unit_test(test_slots_drop_one_segment_at_a_time),
      cmocka_unit_test(test_slots_give_memory_back),
      cmocka_unit_test(test_slots_keep_what_is_in_use),
      cmocka_unit_test(test_slots_do_not_allocate_each_time),
      cmocka_unit_test(test_slots_refill_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
