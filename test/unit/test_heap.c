/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/heap.h>

#include "base/random.h"
#include "base/str.h"
#include "support/fail_alloc.h"

/* Items are numbers, kept in a table so that each has an address. */
enum { NUMBERS = 2000 };
static int numbers[NUMBERS];

static void *number(int value) {
  numbers[value] = value;
  return &numbers[value];
}

static bool less(const void *a, const void *b, void *data) {
  ++*(unsigned *)data;
  return *(const int *)a < *(const int *)b;
}

typedef struct fixture {
  fail_alloc memory;
  unsigned compared;
  kin_heap *heap;
} fixture;

static int make(fixture *f) {
  kin_heap_options options = KIN_HEAP_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.less = less;
  options.data = &f->compared;
  return kin_heap_new(&f->heap, &options);
}

static void setup(fixture *f) {
  *f = (fixture){.compared = 0};
  fail_alloc_init(&f->memory, 0);
  assert_int_equal(make(f), 0);
}

static void teardown(fixture *f) {
  kin_heap_free(f->heap);
  assert_int_equal(f->memory.live_blocks, 0);
}

static int put(fixture *f, const char *key, int value) {
  return kin_heap_put(f->heap, kin__cstr(key), number(value), NULL);
}

static int put_new(fixture *f, const char *key, int value) {
  return kin_heap_put_new(f->heap, kin__cstr(key), number(value));
}

static int drop(fixture *f, const char *key) {
  return kin_heap_delete(f->heap, kin__cstr(key), NULL);
}

/* The value under a key, or -1. */
static int get(fixture *f, const char *key) {
  const int *item = kin_heap_get(f->heap, kin__cstr(key));
  return item != NULL ? *item : -1;
}

static void assert_pop(fixture *f, int expected) {
  void *item = NULL;
  assert_ptr_equal(kin_heap_peek(f->heap), &numbers[expected]);
  assert_int_equal(kin_heap_pop(f->heap, &item), 0);
  assert_int_equal(*(int *)item, expected);
}

static void put_five(fixture *f) {
  put(f, "foo", 10);
  put(f, "bar", 1);
  put(f, "bal", 30);
  put(f, "baz", 11);
  put(f, "faz", 30);
}

/* client-go TestHeapBasic; HP-01, NR-07. */
static void test_heap_pops_in_order(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  enum { AMOUNT = 1500 };
  char key[16];
  for (int i = AMOUNT; i > 0; i--) {
    snprintf(key, sizeof key, "a%d", i);
    assert_int_equal(put(&f, key, i), 0);
    snprintf(key, sizeof key, "b%d", i);
    assert_int_equal(put(&f, key, AMOUNT - i + 1), 0);
  }
  assert_int_equal(kin_heap_count(f.heap), 2 * AMOUNT);
  for (int i = 1; i <= AMOUNT; i++) {
    assert_pop(&f, i);
    assert_pop(&f, i);
  }
  /* Not more than two comparisons for each level on each way. */
  assert_true(f.compared < 2u * AMOUNT * 2 * 2 * 12);
  assert_int_equal(kin_heap_pop(f.heap, NULL), KIN_ENOENT);
  teardown(&f);
}

/* client-go TestHeap_Add; HP-01. */
static void test_heap_put(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  put(&f, "bar", 1);
  put(&f, "baz", 11);
  put(&f, "zab", 30);
  void *old;
  assert_int_equal(kin_heap_put(f.heap, KIN__LIT("foo"), number(13), &old), 0);
  assert_ptr_equal(old, &numbers[10]);
  assert_pop(&f, 1);
  assert_pop(&f, 11);
  assert_int_equal(drop(&f, "baz"), KIN_ENOENT);
  put(&f, "foo", 14);
  assert_pop(&f, 14);
  assert_pop(&f, 30);
  teardown(&f);
}

/* client-go TestHeap_BulkAdd; HP-01: up to the first error. */
static void test_heap_put_all(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  enum { AMOUNT = 500 };
  static char keys[AMOUNT][16];
  kin_heap_entry entries[AMOUNT];
  for (int i = 0; i < AMOUNT; i++) {
    snprintf(keys[i], sizeof keys[i], "a%d", i);
    entries[i] = (kin_heap_entry){kin__cstr(keys[i]), number(AMOUNT - i)};
  }
  size_t done;
  assert_int_equal(kin_heap_put_all(f.heap, entries, AMOUNT, &done), 0);
  assert_int_equal(done, AMOUNT);
  for (int i = 1; i <= AMOUNT; i++) {
    assert_pop(&f, i);
  }
  entries[7].key = KIN__LIT("");
  assert_int_equal(kin_heap_put_all(f.heap, entries, AMOUNT, &done), KIN_EKEY);
  assert_int_equal(done, 7);
  assert_int_equal(kin_heap_count(f.heap), 7);
  assert_int_equal(kin_heap_put_all(f.heap, NULL, 0, NULL), 0);
  teardown(&f);
}

/* client-go TestHeapEmptyPop; HP-03. Pop does not wait: it says which. */
static void test_heap_pop_of_an_empty_heap(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  void *item = &f;
  assert_int_equal(kin_heap_pop(f.heap, &item), KIN_ENOENT);
  assert_null(kin_heap_peek(f.heap));
  kin_heap_close(f.heap);
  assert_int_equal(kin_heap_pop(f.heap, &item), KIN_ECLOSED);
  assert_ptr_equal(item, &f);
  teardown(&f);
}

/* client-go TestHeap_AddIfNotPresent; HP-01. */
static void test_heap_put_new(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  assert_int_equal(put_new(&f, "foo", 10), 0);
  assert_int_equal(put_new(&f, "bar", 1), 0);
  assert_int_equal(put_new(&f, "baz", 11), 0);
  assert_int_equal(put_new(&f, "zab", 30), 0);
  assert_int_equal(put_new(&f, "foo", 13), KIN_EEXIST);
  assert_int_equal(kin_heap_count(f.heap), 4);
  assert_int_equal(get(&f, "foo"), 10);
  assert_pop(&f, 1);
  assert_pop(&f, 10);
  assert_int_equal(put_new(&f, "bar", 14), 0);
  assert_pop(&f, 11);
  assert_pop(&f, 14);
  teardown(&f);
}

/* client-go TestHeap_Delete; HP-02. */
static void test_heap_delete(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  put(&f, "bar", 1);
  put(&f, "bal", 31);
  put(&f, "baz", 11);
  assert_int_equal(drop(&f, "bar"), 0);
  assert_pop(&f, 10);
  put(&f, "zab", 30);
  put(&f, "faz", 30);
  assert_int_equal(drop(&f, "non-existent"), KIN_ENOENT);
  assert_int_equal(kin_heap_count(f.heap), 4);
  void *item;
  assert_int_equal(kin_heap_delete(f.heap, KIN__LIT("bal"), &item), 0);
  assert_ptr_equal(item, &numbers[31]);
  assert_int_equal(drop(&f, "zab"), 0);
  assert_pop(&f, 11);
  assert_pop(&f, 30);
  assert_int_equal(kin_heap_count(f.heap), 0);
  teardown(&f);
}

/* client-go TestHeap_Update; HP-01. */
static void test_heap_update(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  put(&f, "bar", 1);
  put(&f, "bal", 31);
  put(&f, "baz", 11);
  put(&f, "baz", 0);
  assert_pop(&f, 0);
  put(&f, "bar", 100);
  assert_pop(&f, 10);
  assert_pop(&f, 31);
  assert_pop(&f, 100);
  teardown(&f);
}

/* HP-01: an item that has changed in place is put again. */
static void test_heap_put_of_a_changed_item(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put_five(&f);
  int item = 5;
  kin_str key = KIN__LIT("moving");
  static const int values[] = {40, 0, 11, 2};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    void *old;
    assert_int_equal(kin_heap_put(f.heap, key, &item, &old), 0);
    assert_ptr_equal(old, i == 0 ? NULL : &item);
    item = values[i];
  }
  assert_int_equal(kin_heap_put(f.heap, key, &item, NULL), 0);
  assert_pop(&f, 1);
  assert_ptr_equal(kin_heap_peek(f.heap), &item);
  teardown(&f);
}

/* client-go TestHeap_Get, TestHeap_GetByKey; HP-02. */
static void test_heap_get(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put_five(&f);
  assert_int_equal(get(&f, "baz"), 11);
  assert_int_equal(get(&f, "non-existing"), -1);
  assert_int_equal(get(&f, ""), -1);
  assert_int_equal(kin_heap_count(f.heap), 5);
  teardown(&f);
}

/* client-go TestHeap_Close; HP-03: what is in can be had. */
static void test_heap_close(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  put(&f, "bar", 1);
  assert_false(kin_heap_is_closed(f.heap));
  kin_heap_close(f.heap);
  kin_heap_close(f.heap);
  assert_true(kin_heap_is_closed(f.heap));
  assert_int_equal(get(&f, "foo"), 10);
  assert_pop(&f, 1);
  assert_pop(&f, 10);
  assert_int_equal(kin_heap_pop(f.heap, NULL), KIN_ECLOSED);
  teardown(&f);
}

/* client-go TestHeapAddAfterClose; HP-03. */
static void test_heap_put_after_close(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  kin_heap_close(f.heap);
  kin_heap_entry entry = {KIN__LIT("test"), number(1)};
  size_t done = 9;
  assert_int_equal(put(&f, "test", 1), KIN_ECLOSED);
  void *old = &f;
  assert_int_equal(kin_heap_put(f.heap, KIN__LIT("foo"), number(1), &old),
                   KIN_ECLOSED);
  assert_null(old);
  assert_int_equal(put_new(&f, "test", 1), KIN_ECLOSED);
  assert_int_equal(kin_heap_put_all(f.heap, &entry, 1, &done), KIN_ECLOSED);
  assert_int_equal(done, 0);
  /* That nothing can be put in is said to who puts nothing in, too. */
  assert_int_equal(kin_heap_put_all(f.heap, NULL, 0, &done), KIN_ECLOSED);
  assert_int_equal(done, 0);
  assert_int_equal(kin_heap_count(f.heap), 1);
  assert_int_equal(get(&f, "foo"), 10);
  teardown(&f);
}

/* client-go TestHeap_List, TestHeap_ListKeys; HP-02. */
static void test_heap_scan(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_cursor cursor = {0};
  assert_false(kin_heap_next(f.heap, &cursor, NULL, NULL));
  put_five(&f);
  drop(&f, "foo");
  cursor = (kin_cursor){0};
  kin_str key;
  void *item;
  unsigned met = 0;
  int sum = 0;
  while (kin_heap_next(f.heap, &cursor, &key, &item)) {
    assert_ptr_equal(item, kin_heap_get(f.heap, key));
    assert_int_equal(key.data[key.length], '\0');
    sum += *(int *)item;
    met++;
  }
  assert_int_equal(met, 4);
  assert_int_equal(sum, 1 + 30 + 11 + 30); /* each of them once */
  assert_int_equal(kin_heap_count(f.heap), 4);
  teardown(&f);
}

/* A scan may be paused while items come and go: those that stay are met once;
 * a key is borrowed until its item is taken out. */
static void test_heap_paused_scan(void **state) {
  (void)state;
  enum { STAYING = 200 };
  fixture f;
  setup(&f);
  char key[16];
  for (int i = 0; i < STAYING; i++) {
    snprintf(key, sizeof key, "s%d", i);
    put(&f, key, i);
    snprintf(key, sizeof key, "g%d", i);
    put(&f, key, i);
  }
  kin_cursor cursor = {0};
  kin_str first;
  void *item;
  assert_true(kin_heap_next(f.heap, &cursor, &first, &item));
  assert_true(kin__str_equal(first, KIN__LIT("s0")));
  unsigned met[STAYING] = {1};
  kin_str next;
  for (int i = 0; kin_heap_next(f.heap, &cursor, &next, &item); i++) {
    if (next.data[0] == 's') {
      met[*(int *)item]++;
    }
    if (i < STAYING) {
      snprintf(key, sizeof key, "g%d", i);
      assert_int_equal(drop(&f, key), 0);
      snprintf(key, sizeof key, "n%d", i);
      put(&f, key, 1000 + i);
    }
  }
  for (int i = 0; i < STAYING; i++) {
    assert_int_equal(met[i], 1);
  }
  assert_true(kin__str_equal(first, KIN__LIT("s0")));
  teardown(&f);
}

/* Options are copied, the allocator too. */
static void test_heap_copies_options(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  unsigned compared = 0;
  kin_allocator allocator = memory.allocator;
  kin_heap_options options = KIN_HEAP_OPTIONS_INIT;
  options.allocator = &allocator;
  options.less = less;
  options.data = &compared;
  kin_heap *heap;
  assert_int_equal(kin_heap_new(&heap, &options), 0);
  memset(&options, 0xff, sizeof options);
  memset(&allocator, 0, sizeof allocator);
  assert_int_equal(kin_heap_put(heap, KIN__LIT("a"), number(2), NULL), 0);
  assert_int_equal(kin_heap_put(heap, KIN__LIT("b"), number(1), NULL), 0);
  assert_ptr_equal(kin_heap_peek(heap), &numbers[1]);
  assert_true(memory.live_blocks > 0);
  kin_heap_free(heap);
  assert_int_equal(memory.live_blocks, 0);
}

static void test_heap_bad_input(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "foo", 10);
  void *old = &f;
  assert_int_equal(kin_heap_put(f.heap, KIN__LIT("foo"), NULL, &old),
                   KIN_EINVAL);
  assert_null(old);
  old = &f;
  assert_int_equal(kin_heap_put(NULL, KIN__LIT("foo"), number(1), &old),
                   KIN_EINVAL);
  assert_null(old);
  assert_int_equal(kin_heap_put_new(f.heap, KIN__LIT("bar"), NULL), KIN_EINVAL);
  assert_int_equal(put(&f, "", 1), KIN_EKEY);
  assert_int_equal(put_new(&f, "", 1), KIN_EKEY);
  old = &f;
  assert_int_equal(kin_heap_put(f.heap, KIN__LIT(""), number(1), &old),
                   KIN_EKEY);
  assert_null(old);
  assert_int_equal(drop(&f, ""), KIN_ENOENT);
  assert_int_equal(kin_heap_count(f.heap), 1);
  assert_int_equal(get(&f, "foo"), 10);
  teardown(&f);
  kin_heap *heap;
  kin_heap_options options = KIN_HEAP_OPTIONS_INIT;
  assert_int_equal(kin_heap_new(&heap, &options), KIN_EINVAL);
  assert_null(heap);
  assert_int_equal(kin_heap_new(&heap, NULL), KIN_EINVAL);
  kin_heap_free(NULL);
}

/* Random operations against an array; each allocation may fail. */
static void test_heap_random_runs(void **state) {
  (void)state;
  enum { KEYS = 40, STEPS = 400, SEEDS = 200 };
  unsigned failures = 0;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    kin__random random = {seed};
    fixture f;
    setup(&f);
    int values[KEYS];
    size_t count = 0;
    memset(values, 0xff, sizeof values);
    for (unsigned step = 0; step < STEPS; step++) {
      unsigned k = (unsigned)kin__random_below(&random, KEYS);
      int value = (int)kin__random_below(&random, 60);
      char key[8];
      snprintf(key, sizeof key, "k%u", k);
      unsigned what = (unsigned)kin__random_below(&random, 10);
      if (kin__random_below(&random, 5) == 0) {
        f.memory.fail_at = f.memory.calls + 1 + kin__random_below(&random, 3);
      }
      int err = 0;
      if (what < 5) {
        err = put(&f, key, value);
        count += err == 0 && values[k] < 0 ? 1 : 0;
        values[k] = err == 0 ? value : values[k];
      } else if (what < 6) {
        err = put_new(&f, key, value);
        assert_true((err == KIN_EEXIST) == (values[k] >= 0));
        count += err == 0 ? 1 : 0;
        values[k] = err == 0 ? value : values[k];
        err = err == KIN_EEXIST ? 0 : err;
      } else if (what < 8) {
        assert_int_equal(drop(&f, key), values[k] >= 0 ? 0 : KIN_ENOENT);
        count -= values[k] >= 0 ? 1 : 0;
        values[k] = -1;
      } else if (count > 0) {
        unsigned least = KEYS;
        for (unsigned i = 0; i < KEYS; i++) {
          if (values[i] >= 0 && (least == KEYS || values[i] < values[least])) {
            least = i;
          }
        }
        assert_pop(&f, values[least]);
        count--;
        /* Of equal ones any may have come. */
        for (unsigned i = 0; i < KEYS; i++) {
          snprintf(key, sizeof key, "k%u", i);
          if (values[i] == values[least] && get(&f, key) < 0) {
            least = i;
            break;
          }
        }
        values[least] = -1;
      }
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
        failures++;
      }
      f.memory.fail_at = 0;
      assert_int_equal(kin_heap_count(f.heap), count);
      for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(get(&f, key), values[i]);
      }
    }
    teardown(&f);
  }
  assert_true(failures > SEEDS);
}

/* Each allocation of a new heap fails once. */
static bool run_heap_without_memory(size_t n) {
  fixture f = {.compared = 0};
  fail_alloc_init(&f.memory, n);
  int err;
  while ((err = make(&f)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(f.heap);
  }
  while ((err = put(&f, "foo", 10)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_int_equal(kin_heap_count(f.heap), 0);
    assert_null(kin_heap_peek(f.heap));
  }
  while ((err = put_new(&f, "bar", 1)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_int_equal(get(&f, "bar"), -1);
  }
  assert_pop(&f, 1);
  assert_pop(&f, 10);
  bool has_failed = fail_alloc_has_failed(&f.memory);
  teardown(&f);
  return has_failed;
}

static void test_heap_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_heap_without_memory, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_heap_pops_in_order),
      cmocka_unit_test(test_heap_put),
      cmocka_unit_test(test_heap_put_all),
      cmocka_unit_test(test_heap_pop_of_an_empty_heap),
      cmocka_unit_test(test_heap_put_new),
      cmocka_unit_test(test_heap_delete),
      cmocka_unit_test(test_heap_update),
      cmocka_unit_test(test_heap_put_of_a_changed_item),
      cmocka_unit_test(test_heap_get),
      cmocka_unit_test(test_heap_close),
      cmocka_unit_test(test_heap_put_after_close),
      cmocka_unit_test(test_heap_scan),
      cmocka_unit_test(test_heap_paused_scan),
      cmocka_unit_test(test_heap_copies_options),
      cmocka_unit_test(test_heap_bad_input),
      cmocka_unit_test(test_heap_random_runs),
      cmocka_unit_test(test_heap_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
