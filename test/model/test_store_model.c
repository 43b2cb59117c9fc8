/* SPDX-License-Identifier: MIT */
/* Random runs against a naive store, which is an array: whatever is put,
 * deleted, indexed, scanned and fails in whatever order, content, indices and
 * scans are what the array says (TS-01 to TS-04, TS-06 to TS-10, TS-12, ST-02,
 * ST-05).
 *
 * usage: test_store_model [SEEDS [FIRST]]; a failure names its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "store/index.h"
#include "support/naive_store.h"
#include "support/seeds.h"

static void check_content(void) {
  uint64_t bytes = 0;
  for (unsigned key = 0; key < naive.keys; key++) {
    const kin_object *object = naive.rows[key].object;
    assert_ptr_equal(kin_store_get_key(&naive.store, naive_key_of(key)),
                     object);
    bytes += object != NULL ? kin_object_memory(object) : 0;
  }
  assert_int_equal(kin_store_count(&naive.store), naive.count);
  assert_int_equal(naive.store.slots.live, naive.count);
  assert_int_equal(kin_store_bytes(&naive.store), bytes);
  kin_str version = kin_store_resource_version(&naive.store);
  assert_true(kin__str_equal(version, kin__cstr(naive.version)));
}

static bool row_has(const naive_row *r, unsigned which, unsigned key,
                    const char *value) {
  switch (which) {
  case BY_TAG:
    return strchr(r->tags, value[0]) != NULL;
  case BY_NODE:
    return r->node > 0 && r->node == (unsigned)(value[1] - '0');
  case BY_SPACE:
    return key % SPACES == (unsigned)(value[1] - '0');
  default:
    return strcmp(value, naive_name_of(key)) == 0;
  }
}

static uint32_t slot_of(unsigned key) {
  kin_str text = kin__cstr(naive_key_of(key));
  return kin__store_find(&naive.store, text,
                         kin__store_hash(&naive.store, text));
}

/* Compares what one value finds with what the rows say; returns how many. */
static unsigned check_value(const kin__index *index, unsigned which,
                            const char *value) {
  static bool is_found[NAIVE_KEYS];
  memset(is_found, 0, sizeof is_found);
  kin_index_cursor cursor;
  kin_str text = kin__cstr(value);
  assert_int_equal(kin_store_by_index(&naive.store, index->name, text, &cursor),
                   0);
  const kin_object *object;
  unsigned found = 0;
  while ((object = kin_store_by_index_next(&naive.store, &cursor)) != NULL) {
    unsigned key = naive_number_of(object);
    assert_ptr_equal(object, naive.rows[key].object);
    assert_false(is_found[key]);
    is_found[key] = true;
    found++;
  }
  for (unsigned key = 0; key < naive.keys; key++) {
    const naive_row *r = &naive.rows[key];
    bool is_expected = r->object != NULL && row_has(r, which, key, value) &&
                       kin__index_covers(index, slot_of(key));
    assert_int_equal(is_found[key], is_expected);
  }
  assert_int_equal(kin_store_index_count(&naive.store, index->name, text),
                   found);
  return found;
}

/* The union of what an object's tags find, in order and without duplicates. */
static void check_like(const kin__index *index) {
  naive_row probe = {.node = 0};
  naive_change_tags(&probe);
  kin_object *object = naive_make_object(0, &probe);
  kin_object_list *list;
  assert_int_equal(
      kin_store_list_like(&naive.store, index->name, object, &list), 0);
  unsigned expected = 0;
  for (unsigned key = 0; key < naive.keys; key++) {
    const naive_row *r = &naive.rows[key];
    expected += r->object != NULL && strpbrk(r->tags, probe.tags) != NULL &&
                        kin__index_covers(index, slot_of(key))
                    ? 1
                    : 0;
  }
  assert_int_equal(list->count, expected);
  for (unsigned i = 0; i < list->count; i++) {
    const char *key = kin_object_key(list->objects[i]).data;
    assert_ptr_equal(naive.rows[naive_number_of(list->objects[i])].object,
                     list->objects[i]);
    assert_true(i == 0 ||
                strcmp(kin_object_key(list->objects[i - 1]).data, key) < 0);
  }
  kin_object_list_free(list);
  kin_object_unref(object);
}

/* Every value is checked, so the index holds no others if the sums agree. */
static void check_index(const kin__index *index) {
  unsigned which = 0;
  while (strcmp(naive_index_names[which], index->name) != 0) {
    which++;
  }
  unsigned bounds[] = {TAGS, NODES - 1, SPACES, naive.keys};
  unsigned postings = 0;
  unsigned values = 0;
  for (unsigned i = 0; i < bounds[which]; i++) {
    char value[16];
    switch (which) {
    case BY_TAG:
      snprintf(value, sizeof value, "%c", 'a' + i);
      break;
    case BY_NODE:
      snprintf(value, sizeof value, "n%u", i + 1);
      break;
    case BY_SPACE:
      snprintf(value, sizeof value, "s%u", i);
      break;
    default:
      snprintf(value, sizeof value, "k%u", i);
      break;
    }
    unsigned found = check_value(index, which, value);
    postings += found;
    values += found > 0 ? 1 : 0;
  }
  assert_int_equal(index->postings.live, postings);
  assert_int_equal(index->values.live, values);
  kin_cursor cursor = {0};
  kin_str value;
  while (
      kin_store_index_next_value(&naive.store, index->name, &cursor, &value)) {
    assert_true(kin_store_index_count(&naive.store, index->name, value) > 0);
    values--;
  }
  assert_int_equal(values, 0);
}

/* A unique index of many keys takes quadratic time to check. */
static void check_all(void) {
  check_content();
  for (const kin__index *i = naive.store.indices; i != NULL; i = i->next) {
    if (naive.keys < 100 || strcmp(i->name, naive_index_names[BY_NAME]) != 0) {
      check_index(i);
      if (strcmp(i->name, naive_index_names[BY_TAG]) == 0) {
        check_like(i);
      }
    }
  }
}

static void do_step(void) {
  unsigned what = naive_below(100);
  unsigned key = naive_below(naive.keys);
  if (what < 45) {
    naive_put(key);
  } else if (what < 65) {
    naive_delete(key);
  } else if (what < 69) {
    naive_delete_object(key);
  } else if (what < 70) {
    naive_replace();
  } else if (what < 75) {
    naive_transact();
  } else if (what < 80) {
    naive_add_index(naive_below(INDICES));
  } else if (what < 88) {
    naive_build();
  } else {
    naive_scan(&naive.scans[naive_below(SCANS)]);
  }
}

/* Swings between full and empty, so that slots are reused in any order. */
static void do_burst(void) {
  bool is_put = naive_chance(55);
  for (unsigned i = naive_below(naive.keys / 2); i > 0; i--) {
    unsigned key = naive_below(naive.keys);
    if (is_put) {
      naive_put(key);
    } else {
      naive_delete(key);
    }
  }
}

static void count_added(void *ctx) {
  (*(unsigned *)ctx)++;
}

static const kin__log *no_log(void *ctx) {
  (void)ctx;
  return NULL;
}

static void begin_run(uint64_t seed) {
  memset(&naive, 0, sizeof naive);
  naive.random = (kin__random){seed};
  fail_alloc_init(&naive.memory, 0);
  fail_alloc_init(&naive.objects, 0);
  static const unsigned sizes[] = {3, 12, 40};
  bool is_large = seed % 50 == 0;
  naive.keys = is_large ? NAIVE_KEYS : sizes[naive_below(3)];
  kin__memory *memory = kin__memory_new(&naive.memory.allocator);
  kin__store_init(&naive.store, memory, kin__random_hash_seed(&naive.random),
                  naive_chance(70));
  kin__memory_unref(memory);
  static const kin__store_owner owner = {.index_added = count_added,
                                         .log = no_log};
  naive.store.owner = &owner;
  naive.store.owner_ctx = &naive.added;
}

static void end_run(void) {
  if (naive_chance(50)) {
    while (kin__store_clear_step(&naive.store, 1 + naive_below(naive.keys))) {
    }
  }
  kin__store_finish(&naive.store);
  assert_int_equal(naive.memory.live_blocks, 0);
  for (unsigned key = 0; key < naive.keys; key++) {
    kin_object_unref(naive.rows[key].object);
  }
  assert_int_equal(naive.objects.live_blocks, 0);
}

static void run_seed(uint64_t seed) {
  begin_run(seed);
  bool is_large = naive.keys == NAIVE_KEYS;
  /* Checking takes most of the time: some runs check after each step, which
   * says exactly where it went wrong; the others get further. */
  unsigned often = is_large ? 10 : naive_chance(20) ? 100 : 20;
  unsigned steps = is_large ? 100 : 40 + naive_below(160);
  for (unsigned step = 0; step < steps; step++) {
    if (is_large || naive_chance(2)) {
      do_burst();
    }
    do_step();
    if (naive_chance(often)) {
      check_all();
    }
  }
  check_all();
  end_run();
}

static void test_store_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(naive_totals.failures >= seeds_count);
    assert_true(naive_totals.scans >= seeds_count);
    assert_true(naive_totals.replacements >= seeds_count / 4);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 1000, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_store_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
