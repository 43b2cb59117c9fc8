/* SPDX-License-Identifier: MIT */

/* Cells from slabs: reuse, classes, giving memory back, other threads, and
 * running out of memory. */

#include <pthread.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/slab_core.h"
#include "support/fail_alloc.h"
#include "support/resident.h"

static int owner;

static kin__cell *take(kin__arena *arena, const kin_allocator *allocator,
                       size_t size) {
  kin__cell *cell = kin__cell_take(arena, allocator, &owner, size);
  if (cell != NULL) {
    assert_int_equal((uintptr_t)cell % alignof(max_align_t), 0);
    assert_ptr_equal(kin__cell_owner(cell), &owner);
    memset((char *)cell + sizeof cell->slab, 0x5a, size - sizeof cell->slab);
  }
  return cell;
}

static size_t region_bytes(uint32_t size) {
  return kin__slab_class_region_bytes(kin__slab_class_of(size));
}

static size_t slab_bytes(uint32_t size) {
  return region_bytes(size) / KIN__REGION_SLABS;
}

static void test_freed_cells_are_reused(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__arena *arena = kin__arena_new(&memory.allocator, false);
  for (int i = 0; i < 10000; i++) {
    kin__cell_give(take(arena, &memory.allocator, 5000 + i % 2));
  }
  assert_true(arena->bytes <= 65536);
  kin__arena_free(arena);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

static void test_memory_comes_back(void **state) {
  (void)state;
  enum { COUNT = 2000 };
  static kin__cell *cells[COUNT];
  fail_alloc memory;
  for (int maps = 0; maps < 2; maps++) {
    fail_alloc_init(&memory, 0);
    kin__arena *arena = kin__arena_new(&memory.allocator, maps);
    for (int i = 0; i < COUNT; i++) {
      cells[i] = take(arena, &memory.allocator, 3000);
    }
    assert_true(arena->bytes >= COUNT * 3000);
    for (int i = 0; i < COUNT; i++) {
      kin__cell_give(cells[i]);
    }
    while (kin__arena_collect(arena, 16)) {
    }
    assert_true(arena->bytes <= 4 * (maps ? slab_bytes(3000) : 65536));
    kin__arena_free(arena);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

/* Cells of random sizes, each filled with its own pattern, never overlap. */
static void test_random_sizes(void **state) {
  (void)state;
  enum { COUNT = 300 };
  struct {
    kin__cell *cell;
    size_t size;
    unsigned char mark;
  } all[COUNT] = {{0}};
  kin__random random = {5};
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  for (int i = 0; i < 30000; i++) {
    size_t at = (size_t)kin__random_below(&random, COUNT);
    if (all[at].cell != NULL) {
      const unsigned char *bytes = (const unsigned char *)all[at].cell;
      for (size_t k = sizeof(void *); k < all[at].size; k++) {
        assert_int_equal(bytes[k], all[at].mark);
      }
      kin__cell_give(all[at].cell);
      all[at].cell = NULL;
      continue;
    }
    bool is_small = kin__random_below(&random, 3) > 0;
    all[at].size =
        16 + (size_t)kin__random_below(&random, is_small ? 1200 : 12000);
    if (i % 50 == 0) {
      all[at].size += (size_t)kin__random_below(&random, 300000);
    }
    all[at].mark = (unsigned char)i;
    all[at].cell = take(arena, kin__default_allocator(), all[at].size);
    memset((char *)all[at].cell + sizeof(void *), all[at].mark,
           all[at].size - sizeof(void *));
  }
  for (size_t i = 0; i < COUNT; i++) {
    if (all[i].cell != NULL) {
      kin__cell_give(all[i].cell);
    }
  }
  kin__arena_free(arena);
}

/* Large cells of a mapped arena are never the allocator's: what giving one back
 * takes is bounded by a slab, or by the cell, whatever else is free. */
static void test_large_cells_are_mapped(void **state) {
  (void)state;
  enum {
    COUNT = 60,
    SPARE = 4,
    SLAB = KIN__REGION_MAX_BYTES / KIN__REGION_SLABS
  };
  static const size_t sizes[] = {8193, 20000, 65536, 65537, 1000000};
  kin__cell *cells[COUNT];
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__arena *arena = kin__arena_new(&memory.allocator, true);
  long blocks = (long)atomic_load(&memory.live_blocks);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    for (int i = 0; i < COUNT; i++) {
      cells[i] = take(arena, &memory.allocator, sizes[s]);
      assert_non_null(cells[i]);
    }
    size_t regions = (size_t)((long)atomic_load(&memory.live_blocks) - blocks);
    if (sizes[s] <= KIN__CELL_MAX_BYTES) {
      /* A region has a block for what it knows of its slabs. */
      assert_true(regions > 0 &&
                  regions <= COUNT / KIN__REGION_SLABS + 1 + SPARE);
      assert_true(arena->bytes >= COUNT * sizes[s]);
      assert_true(arena->bytes <= COUNT * sizes[s] * 65 / 64 + 5 * SLAB);
    } else {
      assert_true(regions <= SPARE);
    }
    for (int i = 0; i < COUNT; i++) {
      kin__cell_give(cells[i]);
    }
    while (kin__arena_collect(arena, 16)) {
    }
    assert_true(arena->bytes <= SPARE * SLAB);
  }
  kin__arena_free(arena);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

static void *give_all(void *cells) {
  for (kin__cell **cell = cells; *cell != NULL; cell++) {
    kin__cell_give(*cell);
  }
  return NULL;
}

static void test_given_back_on_other_threads(void **state) {
  (void)state;
  enum { COUNT = 2000, THREADS = 4 };
  static kin__cell *cells[THREADS][COUNT + 1];
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    for (int i = 0; i < COUNT; i++) {
      cells[t][i] = take(arena, kin__default_allocator(), 200);
    }
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_create(&threads[t], NULL, give_all, cells[t]), 0);
  }
  kin__cell *kept[500];
  for (int i = 0; i < 500; i++) {
    kept[i] = take(arena, kin__default_allocator(), 200);
  }
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
  }
  for (int i = 0; i < 500; i++) {
    kin__cell_give(kept[i]);
  }
  kin__arena_free(arena);
}

static void close_arena(kin__arena *arena) {
  while (kin__arena_close_step(arena)) {
  }
}

/* What is kept holds its own slab and no other; a slab that is empty goes at
 * once, whatever others hold. */
static void test_slabs_go_one_by_one(void **state) {
  (void)state;
  enum { COUNT = 2000, KEPT = 3 };
  static kin__cell *cells[COUNT];
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__arena *arena = kin__arena_new(&memory.allocator, false);
  for (int i = 0; i < COUNT; i++) {
    cells[i] = take(arena, &memory.allocator, 3000);
  }
  for (int i = 0; i < COUNT; i++) {
    if (i % (COUNT / KEPT) != 0 || i / (COUNT / KEPT) >= KEPT) {
      kin__cell_give(cells[i]); /* half of them before the close */
      cells[i] = NULL;
    }
    if (i == COUNT / 2) {
      close_arena(arena);
    }
  }
  for (int left = KEPT; left > 0; left--) {
    assert_int_equal(atomic_load(&memory.live_blocks), 1 + left);
    kin__cell_give(cells[(left - 1) * (COUNT / KEPT)]);
  }
  assert_int_equal(atomic_load(&memory.live_blocks), 1);
  kin__cell *late = take(arena, &memory.allocator, 3000);
  assert_non_null(late);
  kin__cell_give(late);
  kin__arena_free(arena);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

/* The cell that was given back last is in the processor's cache still. */
static void test_last_given_is_taken_first(void **state) {
  (void)state;
  enum { SIZE = 6000, IN_SLAB = 8, COUNT = 3 * IN_SLAB };
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *cells[COUNT];
  for (int i = 0; i < COUNT; i++) {
    cells[i] = take(arena, kin__default_allocator(), SIZE);
  }
  assert_int_equal(arena->bytes, COUNT / IN_SLAB * slab_bytes(SIZE));
  static const int given[] = {IN_SLAB, 0, 2 * IN_SLAB, 1};
  for (size_t i = 0; i < 4; i++) {
    kin__cell_give_here(cells[given[i]]);
  }
  /* Cell 1 went to the slab of cell 0, which is behind another in the list. */
  static const int taken[] = {2 * IN_SLAB, 1, 0, IN_SLAB};
  for (size_t i = 0; i < 4; i++) {
    kin__cell *cell = take(arena, kin__default_allocator(), SIZE);
    assert_ptr_equal(cell, cells[taken[i]]);
  }
  for (int i = 0; i < COUNT; i++) {
    kin__cell_give_here(cells[i]);
  }
  kin__arena_free(arena);
}

/* A step of the close frees one slab at most. */
static void test_close_steps_are_small(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static kin__cell *cells[COUNT];
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__arena *arena = kin__arena_new(&memory.allocator, false);
  for (int i = 0; i < COUNT; i++) {
    cells[i] = take(arena, &memory.allocator, 3000);
  }
  for (int i = 0; i < COUNT; i++) {
    kin__cell_give(cells[i]);
  }
  size_t before = (size_t)atomic_load(&memory.live_blocks);
  assert_true(before > 40);
  while (kin__arena_close_step(arena)) {
    size_t now = (size_t)atomic_load(&memory.live_blocks);
    assert_true(before - now <= 1);
    before = now;
  }
  assert_int_equal(atomic_load(&memory.live_blocks), 1);
  assert_int_equal(arena->bytes, 0);
  kin__arena_free(arena);
}

/* Threads give back what they have while the arena is being closed. */
static void test_closed_while_others_give_back(void **state) {
  (void)state;
  enum { COUNT = 2000, THREADS = 4 };
  static kin__cell *cells[THREADS][COUNT + 1];
  fail_alloc memory;
  for (int maps = 0; maps < 2; maps++) {
    fail_alloc_init(&memory, 0);
    kin__arena *arena = kin__arena_new(&memory.allocator, maps);
    pthread_t threads[THREADS];
    for (int i = 0; i < COUNT; i++) {
      for (int t = 0; t < THREADS; t++) {
        cells[t][i] = take(arena, &memory.allocator, 200);
      }
    }
    for (int t = 0; t < THREADS; t++) {
      assert_int_equal(pthread_create(&threads[t], NULL, give_all, cells[t]),
                       0);
    }
    close_arena(arena);
    for (int t = 0; t < THREADS; t++) {
      pthread_join(threads[t], NULL);
    }
    assert_int_equal(atomic_load(&memory.live_blocks), 1);
    kin__arena_free(arena);
  }
}

/* The owner's own cells are of use again at once. */
static void test_given_here_is_not_collected(void **state) {
  (void)state;
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *first = take(arena, kin__default_allocator(), 200);
  kin__cell_give_here(first);
  assert_false(kin__arena_has_given(arena));
  assert_ptr_equal(take(arena, kin__default_allocator(), 200), first);
  kin__cell_give(first);
  assert_true(kin__arena_has_given(arena));
  kin__arena_free(arena);
}

/* For each size: the cell is little larger, a mapped region is whole pages full
 * of cells, as many in each slab, and the size before is of this class or the one
 * before. */
static void test_classes_fit_sizes_and_slabs(void **state) {
  (void)state;
  uint32_t last = 0;
  for (uint32_t size = 1; size <= KIN__CELL_MAX_BYTES; size++) {
    uint32_t class_index = kin__slab_class_of(size);
    uint32_t cell = kin__slab_class_cell_bytes(class_index);
    uint32_t region = kin__slab_class_region_bytes(class_index);
    assert_true(class_index == last || class_index == last + 1);
    last = class_index;
    assert_true(cell >= size);
    assert_int_equal(kin__slab_class_of(cell), class_index);
    assert_true(cell - size < 16 || cell - size <= size / 32);
    assert_int_equal(cell % 16, 0);
    assert_int_equal(region % 4096, 0);
    assert_int_equal(region % (KIN__REGION_SLABS * cell), 0);
    assert_true(region >= KIN__REGION_MIN_BYTES &&
                region <= KIN__REGION_MAX_BYTES);
  }
  assert_int_equal(last, KIN__SLAB_CLASSES - 1);
}

/* A cell takes as many bytes of an arena as the cell's class says. */
static void test_cells_are_of_their_class(void **state) {
  (void)state;
  for (int maps = 0; maps < 2; maps++) {
    kin__arena *arena = kin__arena_new(kin__default_allocator(), maps);
    for (uint32_t size = 16; size <= (maps ? 65536 : 8192); size += 7) {
      size_t used = arena->used_bytes;
      kin__cell *cell = take(arena, kin__default_allocator(), size);
      assert_int_equal(arena->used_bytes - used,
                       kin__slab_class_cell_bytes(kin__slab_class_of(size)));
      kin__cell_give_here(cell);
      while (kin__arena_close_step(arena)) {
      }
      kin__arena_free(arena);
      arena = kin__arena_new(kin__default_allocator(), maps);
    }
    kin__arena_free(arena);
  }
}

/* Objects change their sizes back and forth: a class that has no free cell takes
 * one of a larger class, so that no class keeps what it needed at its most. */
static void test_free_cells_serve_smaller_sizes(void **state) {
  (void)state;
  enum { COUNT = 640, LARGE = 6000, SMALL = 5500, TOO_SMALL = 5000 };
  static kin__cell *cells[COUNT];
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  for (int i = 0; i < COUNT; i++) {
    cells[i] = take(arena, kin__default_allocator(), LARGE);
  }
  size_t bytes = arena->bytes;
  for (int round = 0; round < 2; round++) {
    for (int i = 1; i < COUNT; i += 2) { /* each slab keeps half of them */
      kin__cell_give_here(cells[i]);
    }
    for (int i = 1; i < COUNT; i += 2) {
      cells[i] = take(arena, kin__default_allocator(), SMALL);
    }
    assert_int_equal(arena->bytes, bytes);
  }
  for (int i = 1; i < COUNT; i += 2) {
    kin__cell_give_here(cells[i]);
  }
  for (int i = 1; i < COUNT; i += 2) {
    cells[i] = take(arena, kin__default_allocator(), TOO_SMALL);
  }
  assert_true(arena->bytes > bytes);
  for (int i = 0; i < COUNT; i++) {
    kin__cell_give_here(cells[i]);
  }
  kin__arena_free(arena);
}

/* Cells that no object has had cost memory: a larger class does not lend them. */
static void test_new_cells_serve_their_class_only(void **state) {
  (void)state;
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *large = take(arena, kin__default_allocator(), 6000);
  kin__cell *small = take(arena, kin__default_allocator(), 5500);
  assert_int_equal(arena->bytes, slab_bytes(6000) + slab_bytes(5500));
  kin__cell_give_here(large);
  kin__cell_give_here(small);
  kin__arena_free(arena);
}

/* Regions of all sizes are cut from prepared memory. What is too short for one
 * goes back to the system. */
static void test_regions_are_cut_from_ready_pages(void **state) {
  (void)state;
  static const uint32_t sizes[] = {16384, 100, 5000, 16200, 3000};
  enum { COUNT = sizeof sizes / sizeof sizes[0] };
  atomic_bool must_stop;
  atomic_init(&must_stop, false);
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *cells[COUNT];
  for (int i = 0; i < 2; i++) {
    kin__arena_add_ready(
        arena, kin__ready_prepare(2 * KIN__READY_STEP_BYTES, &must_stop));
  }
  for (int i = 0; i < COUNT; i++) {
    size_t ready = kin__arena_ready_bytes(arena);
    cells[i] = take(arena, kin__default_allocator(), sizes[i]);
    assert_true(ready == 0 || ready - kin__arena_ready_bytes(arena) >=
                                  region_bytes(sizes[i]));
  }
  size_t ready = kin__arena_ready_bytes(arena);
  assert_true(ready > 0 && ready < KIN__READY_STEP_BYTES);
  assert_false(kin__arena_drop_ready(arena));
  assert_int_equal(kin__arena_ready_bytes(arena), 0);
  for (int i = 0; i < COUNT; i++) {
    kin__cell_give_here(cells[i]);
  }
  kin__arena_free(arena);
}

static size_t region_pages(uint32_t size) {
  return region_bytes(size) / page_bytes();
}

static void trim(kin__arena *arena) {
  unsigned steps = 1;
  while (kin__arena_trim_step(arena)) {
    steps++;
  }
  assert_int_equal(steps, KIN__SLAB_CLASSES);
}

/* The pages of a prepared region that no cell has used go back, twice. The pages
 * of cells stay, with their bytes. */
static void test_prepared_pages_go_back(void **state) {
  (void)state;
  enum { SIZE = 5000, COUNT = 10 };
  atomic_bool must_stop;
  atomic_init(&must_stop, false);
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__arena_add_ready(arena,
                       kin__ready_prepare(KIN__READY_STEP_BYTES, &must_stop));
  char *pages =
      (char *)arena->ready + KIN__READY_STEP_BYTES - region_bytes(SIZE);
  assert_int_equal(resident_pages(pages, region_pages(SIZE)),
                   region_pages(SIZE));
  kin__cell *cells[2 * COUNT];
  for (int round = 1; round <= 2; round++) {
    for (int i = (round - 1) * COUNT; i < round * COUNT; i++) {
      cells[i] = take(arena, kin__default_allocator(), SIZE);
    }
    assert_ptr_equal(cells[0], pages);
    trim(arena);
    assert_int_equal(resident_pages(pages, region_pages(SIZE)),
                     (arena->used_bytes + page_bytes() - 1) / page_bytes());
  }
  for (int i = 0; i < 2 * COUNT; i++) {
    const char *bytes = (const char *)cells[i];
    for (size_t k = sizeof(void *); k < SIZE; k++) {
      assert_int_equal(bytes[k], 0x5a);
    }
    kin__cell_give_here(cells[i]);
  }
  kin__arena_free(arena);
}

/* Of several regions of a size the one with slabs that have never been in use is
 * trimmed, though others got room later. */
static void test_the_newest_region_is_trimmed(void **state) {
  (void)state;
  enum { SIZE = 5000, IN_REGION = 64, COUNT = IN_REGION + 3 };
  atomic_bool must_stop;
  atomic_init(&must_stop, false);
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *cells[COUNT];
  kin__arena_add_ready(
      arena, kin__ready_prepare(2 * KIN__READY_STEP_BYTES, &must_stop));
  for (int i = 0; i < COUNT; i++) {
    cells[i] = take(arena, kin__default_allocator(), SIZE);
  }
  assert_int_equal(arena->bytes, region_bytes(SIZE) + slab_bytes(SIZE));
  size_t pages = region_pages(SIZE);
  assert_int_equal(resident_pages((char *)cells[IN_REGION], pages), pages);
  kin__cell_give_here(cells[1]);
  trim(arena);
  assert_int_equal(resident_pages((char *)cells[0], pages), pages);
  assert_int_equal(resident_pages((char *)cells[IN_REGION], pages),
                   3 * SIZE / page_bytes() + 1);
  assert_ptr_equal(take(arena, kin__default_allocator(), SIZE), cells[1]);
  for (int i = 0; i < COUNT; i++) {
    kin__cell_give_here(cells[i]);
  }
  kin__arena_free(arena);
}

/* A slab whose cells have all been in use, with others free, is left alone; so is
 * an arena of the allocator's blocks. */
static void test_used_pages_stay(void **state) {
  (void)state;
  enum { SIZE = 6000, IN_REGION = 64 };
  kin__arena *arena = kin__arena_new(kin__default_allocator(), true);
  kin__cell *cells[2 * IN_REGION];
  for (int i = 0; i < 2 * IN_REGION; i++) {
    cells[i] = take(arena, kin__default_allocator(), SIZE);
  }
  kin__cell_give_here(cells[1]);
  kin__cell_give_here(cells[IN_REGION + 1]);
  trim(arena);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(
        resident_pages((char *)cells[i * IN_REGION], region_pages(SIZE)),
        region_pages(SIZE));
  }
  for (int i = 0; i < 2 * IN_REGION; i++) {
    if (i % IN_REGION != 1) {
      kin__cell_give_here(cells[i]);
    }
  }
  kin__arena_free(arena);
  arena = kin__arena_new(kin__default_allocator(), false);
  kin__cell *cell = take(arena, kin__default_allocator(), SIZE / 10);
  assert_false(kin__arena_trim_step(arena));
  kin__cell_give(cell);
  kin__arena_free(arena);
}

/* A region of cells of 5,056 bytes, and the arena's spare slabs of other
 * classes: a slab that becomes empty then goes back at once. */
typedef struct one_region {
  kin__arena *arena;
  kin__cell *cells[64];
} one_region;

enum { CELL = 5000, IN_SLAB = 8 };

static void fill_slabs(one_region *r, int begin, int end) {
  for (int i = begin * IN_SLAB; i < end * IN_SLAB; i++) {
    r->cells[i] = take(r->arena, kin__default_allocator(), CELL);
  }
}

static void empty_slabs(one_region *r, int begin, int end) {
  for (int i = begin * IN_SLAB; i < end * IN_SLAB; i++) {
    kin__cell_give_here(r->cells[i]);
  }
}

static one_region full_region(void) {
  one_region r = {.arena = kin__arena_new(kin__default_allocator(), true)};
  kin__cell *spare[4];
  for (int i = 0; i < 4; i++) {
    spare[i] = take(r.arena, kin__default_allocator(), 100 * (i + 1));
  }
  for (int i = 0; i < 4; i++) {
    kin__cell_give_here(spare[i]);
  }
  fill_slabs(&r, 0, KIN__REGION_SLABS);
  return r;
}

/* The whole pages between the begin of slab `begin` and that of slab `end`. */
static size_t pages_between(size_t begin, size_t end) {
  size_t first = (begin * slab_bytes(CELL) + page_bytes() - 1) / page_bytes();
  return end * slab_bytes(CELL) / page_bytes() - first;
}

/* An empty slab's pages go back. A page at a border goes when the slabs on both
 * sides are empty. The second round finds the first one's slabs again. */
static void test_slabs_of_a_region_share_pages(void **state) {
  (void)state;
  one_region r = full_region();
  size_t all = region_pages(CELL);
  char *pages = (char *)r.cells[0];
  assert_int_equal(resident_pages(pages, all), all);
  for (int round = 0; round < 2; round++) {
    empty_slabs(&r, 2, 3);
    assert_int_equal(resident_pages(pages, all), all - pages_between(2, 3));
    empty_slabs(&r, 4, 5);
    assert_int_equal(resident_pages(pages, all),
                     all - pages_between(2, 3) - pages_between(4, 5));
    empty_slabs(&r, 3, 4);
    assert_int_equal(resident_pages(pages, all), all - pages_between(2, 5));
    empty_slabs(&r, 0, 1);
    empty_slabs(&r, 7, 8);
    assert_int_equal(resident_pages(pages, all), all - pages_between(0, 1) -
                                                     pages_between(2, 5) -
                                                     pages_between(7, 8));
    size_t bytes = r.arena->bytes;
    fill_slabs(&r, 0, 1);
    fill_slabs(&r, 2, 5);
    fill_slabs(&r, 7, 8);
    assert_int_equal(r.arena->bytes, bytes + 5 * slab_bytes(CELL));
    assert_int_equal(resident_pages(pages, all), all);
  }
  for (int i = 0; i < 64; i++) {
    for (size_t k = sizeof(void *); k < CELL; k++) {
      assert_int_equal(((const char *)r.cells[i])[k], 0x5a);
    }
  }
  empty_slabs(&r, 0, KIN__REGION_SLABS);
  unsigned char resident;
  assert_int_equal(mincore(pages, page_bytes(), (void *)&resident), -1);
  kin__arena_free(r.arena);
}

/* After the close each slab goes by itself, and the region with the last one. */
static void test_closed_regions_go(void **state) {
  (void)state;
  one_region r = full_region();
  size_t all = region_pages(CELL);
  char *pages = (char *)r.cells[0];
  empty_slabs(&r, 0, 1);
  while (kin__arena_close_step(r.arena)) {
  }
  assert_int_equal(resident_pages(pages, all), all - pages_between(0, 1));
  for (int slab = 1; slab < 7; slab++) {
    empty_slabs(&r, slab, slab + 1);
    assert_int_equal(resident_pages(pages, all),
                     all - pages_between(0, (size_t)slab + 1));
  }
  empty_slabs(&r, 7, 8);
  unsigned char resident;
  assert_int_equal(mincore(pages, page_bytes(), (void *)&resident), -1);
  kin__arena_free(r.arena);
}

static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t n = 1; n < 6; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin__arena *arena = kin__arena_new(&memory.allocator, false);
    static const size_t sizes[] = {100, 100, 3000, 20000, 100};
    kin__cell *cells[5] = {NULL};
    for (int i = 0; i < 5 && arena != NULL; i++) {
      cells[i] = take(arena, &memory.allocator, sizes[i]);
    }
    for (int i = 0; i < 5; i++) {
      if (cells[i] != NULL) {
        kin__cell_give(cells[i]);
      }
    }
    kin__arena_free(arena);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_freed_cells_are_reused),
      cmocka_unit_test(test_memory_comes_back),
      cmocka_unit_test(test_random_sizes),
      cmocka_unit_test(test_large_cells_are_mapped),
      cmocka_unit_test(test_given_back_on_other_threads),
      cmocka_unit_test(test_slabs_go_one_by_one),
      cmocka_unit_test(test_last_given_is_taken_first),
      cmocka_unit_test(test_close_steps_are_small),
      cmocka_unit_test(test_closed_while_others_give_back),
      cmocka_unit_test(test_given_here_is_not_collected),
      cmocka_unit_test(test_classes_fit_sizes_and_slabs),
      cmocka_unit_test(test_cells_are_of_their_class),
      cmocka_unit_test(test_free_cells_serve_smaller_sizes),
      cmocka_unit_test(test_new_cells_serve_their_class_only),
      cmocka_unit_test(test_regions_are_cut_from_ready_pages),
      cmocka_unit_test(test_prepared_pages_go_back),
      cmocka_unit_test(test_the_newest_region_is_trimmed),
      cmocka_unit_test(test_used_pages_stay),
      cmocka_unit_test(test_slabs_of_a_region_share_pages),
      cmocka_unit_test(test_closed_regions_go),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
