/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/chunkq.h"
#include "base/random.h"
#include "support/fail_alloc.h"

#define PER_CHUNK 64

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

/* A long queue gives its memory back while it drains, all but one chunk. */
static void test_chunkq_gives_memory_back(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  for (int i = 0; i < 100 * PER_CHUNK; i++) {
    assert_true(push(&f));
  }
  assert_int_equal(f.memory.live_blocks, 100);
  for (int i = 0; i < 50 * PER_CHUNK; i++) {
    pop(&f);
  }
  assert_int_equal(f.memory.live_blocks, 51);
  while (f.queue.count > 0) {
    pop(&f);
  }
  assert_int_equal(f.memory.live_blocks, 1);
  /* A queue that is empty most of the time allocates no more. */
  size_t calls = f.memory.calls;
  for (int i = 0; i < 10 * PER_CHUNK; i++) {
    assert_true(push(&f));
    pop(&f);
  }
  assert_int_equal(f.memory.calls, calls);
  teardown(&f);
}

static void test_chunkq_push_fails_cleanly(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  f.memory.fail_at = 2;
  for (int i = 0; i < PER_CHUNK; i++) {
    assert_true(push(&f));
  }
  assert_false(push(&f));
  assert_int_equal(f.queue.count, PER_CHUNK);
  assert_true(push(&f));
  while (f.queue.count > 0) {
    pop(&f);
  }
  teardown(&f);
}

/* From any fill level, also when elements are popped in between. */
static void test_chunkq_reserve_is_kept(void **state) {
  (void)state;
  for (unsigned filled = 0; filled <= PER_CHUNK + 1; filled++) {
    for (unsigned count = 0; count <= PER_CHUNK; count += 9) {
      for (unsigned pops = 0; pops <= filled; pops += 13) {
        fixture f;
        setup(&f);
        for (unsigned i = 0; i < filled; i++) {
          assert_true(push(&f));
        }
        assert_int_equal(kin__chunkq_reserve(&f.queue, count), 0);
        f.memory.fail_at = f.memory.calls + 1;
        f.memory.keeps_failing = true;
        for (unsigned i = 0; i < pops; i++) {
          pop(&f);
        }
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
      cmocka_unit_test(test_chunkq_push_fails_cleanly),
      cmocka_unit_test(test_chunkq_reserve_is_kept),
      cmocka_unit_test(test_chunkq_reserve_fails_cleanly),
      cmocka_unit_test(test_chunkq_cursor_and_rewind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
