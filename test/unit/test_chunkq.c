/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/chunkq.h"
#include "base/random.h"
#include "support/fail_alloc.h"

#define PER_CHUNK 32
static_assert(PER_CHUNK == KIN__CHUNK_NEXT, "as in the header");

typedef struct fixture {
  fail_alloc memory;
  kin__chunkq queue;
  uint64_t pushed;
  uint64_t popped;
} fixture;

static void setup(fixture *f) {
  *f = (fixture){0};
  fail_alloc_init(&f->memory, 0);
  kin__chunkq_init(&f->queue, &f->memory.allocator, sizeof(uint64_t));
}

static void teardown(fixture *f) {
  kin__chunkq_finish(&f->queue);
  assert_int_equal(f->memory.live_blocks, 0);
}

static bool push(fixture *f) {
  uint64_t *element = kin__chunkq_push(&f->queue);
  if (element != NULL) {
    *element = f->pushed++;
  }
  return element != NULL;
}

static void pop(fixture *f) {
  const uint64_t *element = kin__chunkq_peek(&f->queue);
  assert_non_null(element);
  assert_int_equal(*element, f->popped);
  kin__chunkq_pop(&f->queue);
  f->popped++;
}

static void test_chunkq_is_first_in_first_out(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin__random random = {7};
  for (int round = 0; round < 2000; round++) {
    uint64_t n = kin__random_below(&random, 3 * PER_CHUNK);
    bool is_push = kin__random_below(&random, 2) == 0;
    for (uint64_t i = 0; i < n; i++) {
      if (is_push) {
        assert_true(push(&f));
      } else if (f.queue.count > 0) {
        pop(&f);
      }
      assert_int_equal(f.queue.count, f.pushed - f.popped);
    }
  }
  while (f.queue.count > 0) {
    pop(&f);
  }
  assert_null(kin__chunkq_peek(&f.queue));
  teardown(&f);
}

/* A long queue gives its memory back while it drains, all but one small
 * chunk. */
static void test_chunkq_gives_memory_back(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  for (size_t i = 0; i < KIN__CHUNK_FIRST; i++) {
    assert_true(push(&f));
  }
  size_t small = f.memory.live_bytes;
  assert_true(small < KIN__CHUNK_FIRST * sizeof(uint64_t) + 64);
  for (size_t i = KIN__CHUNK_FIRST; i < 100 * PER_CHUNK; i++) {
    assert_true(push(&f));
  }
  assert_int_equal(f.memory.live_blocks, 101);
  for (int i = 0; i < 50 * PER_CHUNK; i++) {
    pop(&f);
  }
  assert_int_equal(f.memory.live_blocks, 52);
  while (f.queue.count > 0) {
    pop(&f);
  }
  assert_int_equal(f.memory.live_blocks, 1);
  assert_int_equal(f.memory.live_bytes, small);
  /* A queue that is empty most of the time allocates no more. */
  size_t calls = f.memory.calls;
  for (int i = 0; i < 10 * PER_CHUNK; i++) {
    assert_true(push(&f));
    pop(&f);
  }
  assert_int_equal(f.memory.calls, calls);
  teardown(&f);
}

/* A chunk that a reserve made and no push used does not stay with an empty
 * queue, unless it is a small one. */
static void test_chunkq_empties_to_a_small_chunk(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  for (size_t filled = 1; filled < 3 * PER_CHUNK; filled++) {
    for (size_t i = 0; i < filled; i++) {
      assert_true(push(&f));
    }
    assert_int_equal(kin__chunkq_reserve(&f.queue, 2), 0);
    while (f.queue.count > 0) {
      pop(&f);
    }
    assert_int_equal(f.memory.live_blocks, 1);
    assert_true(f.memory.live_bytes < PER_CHUNK * sizeof(uint64_t));
  }
  teardown(&f);
}

static void test_chunkq_push_fails_cleanly(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  f.memory.fail_at = 2;
  for (size_t i = 0; i < KIN__CHUNK_FIRST; i++) {
    assert_true(push(&f));
  }
  assert_false(push(&f));
  assert_int_equal(f.queue.count, KIN__CHUNK_FIRST);
  assert_true(push(&f));
  while (f.queue.count > 0) {
    pop(&f);
  }
  teardown(&f);
}

/* From any fill level, also when elements were popped before. */
static void test_chunkq_reserve_is_kept(void **state) {
  (void)state;
  for (unsigned filled = 0; filled <= 2 * PER_CHUNK; filled++) {
    for (unsigned count = 0; count <= KIN__CHUNK_FIRST; count++) {
      for (unsigned pops = 0; pops <= filled; pops += 13) {
        fixture f;
        setup(&f);
        for (unsigned i = 0; i < filled; i++) {
          assert_true(push(&f));
        }
        for (unsigned i = 0; i < pops; i++) {
          pop(&f);
        }
        assert_int_equal(kin__chunkq_reserve(&f.queue, count), 0);
        f.memory.fail_at = f.memory.calls + 1;
        f.memory.keeps_failing = true;
        for (unsigned i = 0; i < count; i++) {
          assert_true(push(&f));
        }
        while (f.queue.count > 0) {
          pop(&f);
        }
        teardown(&f);
      }
    }
  }
}

static void test_chunkq_reserve_fails_cleanly(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  f.memory.fail_at = 1;
  assert_int_equal(kin__chunkq_reserve(&f.queue, 1), KIN_ENOMEM);
  assert_int_equal(kin__chunkq_reserve(&f.queue, 1), 0);
  assert_null(kin__chunkq_peek(&f.queue));
  teardown(&f);
}

/* A cursor meets every element once, also those pushed while it waits at the
 * end, and what is taken back leaves the rest as it was. */
static void test_chunkq_cursor_and_rewind(void **state) {
  (void)state;
  for (unsigned kept = 0; kept < 3 * PER_CHUNK; kept += 7) {
    for (unsigned more = 0; more < 2 * PER_CHUNK + 2; more += 13) {
      fixture f;
      setup(&f);
      while (f.pushed < kept + kept / 3) {
        assert_true(push(&f));
      }
      while (f.popped < kept / 3) {
        pop(&f);
      }
      kin__chunkq_cursor end = kin__chunkq_end(&f.queue);
      for (unsigned i = 0; i < more; i++) {
        assert_true(push(&f));
      }
      kin__chunkq_cursor cursor = {0};
      for (uint64_t i = f.popped; i < f.pushed; i++) {
        const uint64_t *element = kin__chunkq_next(&f.queue, &cursor);
        assert_non_null(element);
        assert_int_equal(*element, i);
      }
      assert_null(kin__chunkq_next(&f.queue, &cursor));
      assert_null(kin__chunkq_next(&f.queue, &cursor));
      kin__chunkq_rewind(&f.queue, end, more);
      f.pushed -= more;
      assert_int_equal(f.queue.count, f.pushed - f.popped);
      assert_null(kin__chunkq_next(&f.queue, &end));
      assert_true(push(&f));
      const uint64_t *element = kin__chunkq_next(&f.queue, &end);
      assert_non_null(element);
      assert_int_equal(*element, f.pushed - 1);
      while (f.popped < f.pushed) {
        pop(&f);
      }
      assert_null(kin__chunkq_peek(&f.queue));
      teardown(&f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chunkq_is_first_in_first_out),
      cmocka_unit_test(test_chunkq_gives_memory_back),
      cmocka_unit_test(test_chunkq_empties_to_a_small_chunk),
      cmocka_unit_test(test_chunkq_push_fails_cleanly),
      cmocka_unit_test(test_chunkq_reserve_is_kept),
      cmocka_unit_test(test_chunkq_reserve_fails_cleanly),
      cmocka_unit_test(test_chunkq_cursor_and_rewind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
