/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/map.h"
#include "base/random.h"
#include "support/fail_alloc.h"

typedef struct element {
  kin__slot_head head;
  uint32_t number; /* 0 iff free */
} element;

typedef struct fixture {
  fail_alloc memory; /* of the map */
  fail_alloc slots_memory;
  kin__slots slots;
  kin__map map;
} fixture;

static void setup(fixture *f) {
  fail_alloc_init(&f->memory, 0);
  fail_alloc_init(&f->slots_memory, 0);
  kin__slots_init(&f->slots, &f->slots_memory.allocator, sizeof(element));
  kin__map_init(&f->map, &f->memory.allocator, &f->slots);
}

static void teardown(fixture *f) {
  kin__map_finish(&f->map);
  kin__slots_finish(&f->slots);
  assert_int_equal(f->memory.live_blocks, 0);
  assert_int_equal(f->slots_memory.live_blocks, 0);
}

static uint32_t insert(fixture *f, uint32_t hash, uint32_t number) {
  uint32_t id;
  assert_int_equal(kin__slots_take(&f->slots, &id), 0);
  assert_int_equal(kin__map_insert(&f->map, hash, id), 0);
  element *e = kin__slots_at(&f->slots, id);
  assert_int_equal(e->head.hash, hash);
  e->number = number;
  return id;
}

static void drop(fixture *f, uint32_t id) {
  kin__map_remove(&f->map, id);
  kin__slots_give(&f->slots, id);
}

static element *find(fixture *f, uint32_t hash, uint32_t number) {
  uint32_t id = kin__map_first(&f->map, hash);
  while (id != KIN__NO_SLOT) {
    element *e = kin__slots_at(&f->slots, id);
    assert_int_equal(e->head.hash, hash);
    if (e->number == number) {
      return e;
    }
    id = kin__map_next(&f->map, id);
  }
  return NULL;
}

/* Scatters numbers over the hash's 32 bits, reversibly. */
static uint32_t scatter(uint32_t x) {
  x ^= x >> 16;
  x *= 0x45d9f3bu;
  x ^= x >> 16;
  return x;
}

/* 32 elements, 64, 128, ... 1,024, and 1,024 more for each further one. */
static size_t segments_of(const kin__segments *segments) {
  uint32_t room = kin__segments_room(segments);
  size_t count = 0;
  for (; room > KIN__SEGMENT_MAX; room -= KIN__SEGMENT_MAX) {
    count++;
  }
  for (; room > 0; room = room > KIN__SEGMENTS_STEP ? room / 2 : 0) {
    count++;
  }
  return count;
}

static void check_invariants(const fixture *f) {
  const kin__map *m = &f->map;
  if (m->buckets > 0) {
    assert_true(m->mask >> 1 < m->buckets);
    assert_true(m->buckets - 1 <= m->mask);
    assert_int_equal(m->mask & (m->mask + 1), 0);
  }
  /* The segments and their directory. */
  assert_int_equal(f->memory.live_blocks,
                   segments_of(&m->heads) + (m->heads.capacity > 0));
}

static void test_map_empty(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  assert_int_equal(kin__map_first(&f.map, 0), KIN__NO_SLOT);
  assert_int_equal(f.memory.calls, 0);
  assert_int_equal(kin__map_reserve(&f.map), 0);
  assert_int_equal(kin__map_first(&f.map, 0), KIN__NO_SLOT);
  teardown(&f);
}

static void test_map_grows_and_shrinks(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  static uint32_t ids[COUNT];
  fixture f;
  setup(&f);
  for (uint32_t i = 0; i < COUNT; i++) {
    ids[i] = insert(&f, scatter(i), i + 1);
    if (i % 97 == 0) {
      check_invariants(&f);
    }
  }
  assert_int_equal(f.map.count, COUNT);
  assert_true(f.map.buckets >= COUNT); /* chains of one on average */
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_non_null(find(&f, scatter(i), i + 1));
    assert_null(find(&f, scatter(COUNT + i), COUNT + i + 1));
  }
  size_t full = f.memory.live_bytes;
  for (uint32_t i = 0; i < COUNT; i++) {
    drop(&f, ids[i]);
    if (i % 97 == 0) {
      check_invariants(&f);
      assert_null(find(&f, scatter(i), i + 1));
      for (uint32_t k = i + 1; k < COUNT && k < i + 20; k++) {
        assert_non_null(find(&f, scatter(k), k + 1));
      }
    }
  }
  assert_int_equal(f.map.count, 0);
  assert_true(f.memory.live_bytes < full);
  assert_true(kin__segments_room(&f.map.heads) <= 2 * KIN__SEGMENT_MAX);
  teardown(&f);
}

/* Elements with one and the same hash share a chain that no split can part. */
static void test_map_keeps_equal_hashes_apart(void **state) {
  (void)state;
  enum { COUNT = 300 };
  uint32_t ids[COUNT];
  fixture f;
  setup(&f);
  for (uint32_t i = 0; i < COUNT; i++) {
    ids[i] = insert(&f, i % 2 == 0 ? 0xffffffffu : 0x7fffffffu, i + 1);
  }
  for (uint32_t i = 0; i < COUNT; i += 3) {
    drop(&f, ids[i]);
  }
  unsigned even = 0;
  for (uint32_t id = kin__map_first(&f.map, 0xffffffffu); id != KIN__NO_SLOT;
       id = kin__map_next(&f.map, id)) {
    const element *e = kin__slots_at(&f.slots, id);
    assert_int_equal((e->number - 1) % 2, 0);
    assert_int_not_equal((e->number - 1) % 3, 0);
    even++;
  }
  assert_int_equal(even, COUNT / 2 - COUNT / 6);
  teardown(&f);
}

/* Against an array, with deletions in any order; the count swings. */
static void test_map_random_operations(void **state) {
  (void)state;
  enum { COUNT = 4000, STEPS = 60000 };
  static uint32_t ids[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    ids[i] = KIN__NO_SLOT;
  }
  fixture f;
  setup(&f);
  kin__random random = {42};
  uint32_t live = 0;
  for (uint32_t step = 0; step < STEPS; step++) {
    bool is_growing = step / 10000 % 2 == 0;
    uint32_t i = (uint32_t)kin__random_below(&random, COUNT);
    bool wants = kin__random_below(&random, 4) < (is_growing ? 3 : 1);
    if (wants && ids[i] == KIN__NO_SLOT) {
      ids[i] = insert(&f, scatter(i), i + 1);
      live++;
    } else if (!wants && ids[i] != KIN__NO_SLOT) {
      drop(&f, ids[i]);
      ids[i] = KIN__NO_SLOT;
      live--;
    }
    assert_int_equal(f.map.count, live);
    i = (uint32_t)kin__random_below(&random, COUNT);
    element *e = find(&f, scatter(i), i + 1);
    assert_ptr_equal(e, ids[i] != KIN__NO_SLOT ? kin__slots_at(&f.slots, ids[i])
                                               : NULL);
  }
  check_invariants(&f);
  teardown(&f);
}

/* Only the first segment of heads is indispensable. */
static void test_map_works_without_memory_to_grow(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  fixture f;
  setup(&f);
  f.memory.fail_at = 1;
  f.memory.keeps_failing = true;
  uint32_t id;
  assert_int_equal(kin__slots_take(&f.slots, &id), 0);
  assert_int_equal(kin__map_insert(&f.map, 1, id), KIN_ENOMEM);
  assert_int_equal(f.map.count, 0);
  assert_int_equal(kin__map_first(&f.map, 1), KIN__NO_SLOT);
  f.memory.fail_at = 0;
  assert_int_equal(kin__map_reserve(&f.map), 0);
  f.memory.fail_at = f.memory.calls + 1;
  for (uint32_t i = 0; i < COUNT; i++) {
    insert(&f, scatter(i), i + 1);
  }
  assert_true(fail_alloc_has_failed(&f.memory));
  check_invariants(&f);
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_non_null(find(&f, scatter(i), i + 1));
  }
  teardown(&f);
}

static void test_map_drops_one_segment_at_a_time(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  for (uint32_t i = 0; i < 5000; i++) {
    insert(&f, scatter(i), i + 1);
  }
  size_t blocks = f.memory.live_blocks;
  while (kin__map_drop_segment(&f.map)) {
    assert_int_equal(f.memory.live_blocks, --blocks);
  }
  assert_int_equal(f.memory.live_blocks, 1); /* the directory */
  assert_false(kin__map_drop_segment(&f.map));
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_map_empty),
      cmocka_unit_test(test_map_grows_and_shrinks),
      cmocka_unit_test(test_map_keeps_equal_hashes_apart),
      cmocka_unit_test(test_map_random_operations),
      cmocka_unit_test(test_map_works_without_memory_to_grow),
      cmocka_unit_test(test_map_drops_one_segment_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
