/* SPDX-License-Identifier: MIT */

/* A process that has too many mappings: the system cannot take addresses back,
 * but takes the memory. And a system whose pages are larger than slabs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/pages.h"
#include "base/random.h"
#include "base/slab_core.h"
#include "support/resident.h"

enum { MAX_LEFT = 8 };

static bool refuses_munmap;
static struct {
  void *pages;
  size_t bytes;
} left[MAX_LEFT];
static unsigned left_count;

int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);

int __wrap_munmap(void *pages, size_t bytes) {
  if (!refuses_munmap) {
    return __real_munmap(pages, bytes);
  }
  assert_true(left_count < MAX_LEFT);
  left[left_count].pages = pages;
  left[left_count++].bytes = bytes;
  errno = ENOMEM;
  return -1;
}

static long large_page_bytes; /* 0: the system's */

long __real_sysconf(int);
long __wrap_sysconf(int);

long __wrap_sysconf(int name) {
  return name == _SC_PAGESIZE && large_page_bytes != 0 ? large_page_bytes
                                                       : __real_sysconf(name);
}

/* No page that munmap refused is resident. The pages are unmapped now. */
static void expect_given_back(unsigned count) {
  refuses_munmap = false;
  assert_int_equal(left_count, count);
  while (left_count > 0) {
    char *pages = left[--left_count].pages;
    size_t bytes = left[left_count].bytes;
    for (size_t at = 0; at < bytes; at += page_bytes()) {
      assert_int_equal(resident_pages(pages + at, 1), 0);
    }
    assert_int_equal(__real_munmap(pages, bytes), 0);
  }
}

static void test_unmap(void **state) {
  (void)state;
  size_t bytes = 5 * page_bytes();
  char *pages = kin__pages_map(bytes);
  assert_non_null(pages);
  memset(pages, 1, bytes);
  refuses_munmap = true;
  assert_false(kin__pages_unmap(pages, bytes));
  expect_given_back(1);

  pages = kin__pages_map(bytes);
  assert_non_null(pages);
  assert_true(kin__pages_unmap(pages, bytes));
  assert_int_equal(left_count, 0);
}

/* Two slabs, a prepared one, and a block of a size that no slab has. */
static void test_cells(void **state) {
  (void)state;
  enum { CELL = 60000, CELLS = 16, BLOCK = 200001 };
  static int owner;
  const kin_allocator *allocator = kin__default_allocator();
  kin__arena *arena = kin__arena_new(allocator, true);
  assert_non_null(arena);
  kin__cell *cells[CELLS + 1];
  for (int i = 0; i <= CELLS; i++) {
    size_t size = i < CELLS ? CELL : BLOCK;
    cells[i] = kin__cell_take(arena, allocator, &owner, size);
    assert_non_null(cells[i]);
    memset((char *)cells[i] + sizeof(void *), 1, size - sizeof(void *));
  }
  atomic_bool must_stop;
  atomic_init(&must_stop, false);
  kin__ready_pages *ready =
      kin__ready_prepare(KIN__READY_STEP_BYTES, &must_stop);
  assert_non_null(ready);
  kin__arena_add_ready(arena, ready);

  refuses_munmap = true;
  assert_false(kin__arena_drop_ready(arena));
  for (int i = 0; i <= CELLS; i++) {
    kin__cell_give(cells[i]);
  }
  kin__arena_free(arena);
  expect_given_back(4);
}

typedef struct marked_cell {
  kin__cell *cell;
  size_t size;
} marked_cell;

/* The bytes are as they were written: no page of the cell was given back. */
static void give_marked(marked_cell *marked) {
  const unsigned char *bytes = (const unsigned char *)marked->cell;
  for (size_t i = sizeof(void *); i < marked->size; i++) {
    if (bytes[i] != (marked->size & 0xff)) {
      fail_msg("byte %zu of a cell of %zu bytes", i, marked->size);
    }
  }
  kin__cell_give_here(marked->cell);
  marked->cell = NULL;
}

/* Most cells come and go. Then most slabs are empty sometimes, and share pages
 * with slabs that are not. */
static void cells_come_and_go(long bytes_of_a_page) {
  enum { COUNT = 600, ROUNDS = 12 };
  static marked_cell all[COUNT];
  static int owner;
  kin__random random = {7};
  large_page_bytes = bytes_of_a_page;
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  assert_non_null(arena);
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < COUNT; i++) {
      bool is_kept = kin__random_below(&random, 10) == 0;
      if (all[i].cell != NULL && !is_kept) {
        give_marked(&all[i]);
      }
    }
    static const size_t sizes[] = {900, 1500, 3000, 5000, 9000};
    for (size_t i = 0; i < COUNT; i++) {
      if (all[i].cell == NULL) {
        all[i].size = sizes[kin__random_below(&random, 5)] + i % 3;
        all[i].cell = kin__cell_take(arena, kin__default_allocator(), &owner,
                                     all[i].size);
        assert_non_null(all[i].cell);
        memset((char *)all[i].cell + sizeof(void *), all[i].size & 0xff,
               all[i].size - sizeof(void *));
      }
    }
    while (kin__arena_trim_step(arena)) {
    }
  }
  while (kin__arena_close_step(arena)) {
  }
  for (size_t i = 0; i < COUNT; i++) {
    give_marked(&all[i]);
  }
  kin__arena_free(arena);
  large_page_bytes = 0;
}

static void test_page_sizes(void **state) {
  (void)state;
  for (long bytes = 4096; bytes <= 65536; bytes *= 4) {
    cells_come_and_go(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unmap),
      cmocka_unit_test(test_cells),
      cmocka_unit_test(test_page_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
