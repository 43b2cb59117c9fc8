/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/random.h"
#include "base/str.h"
#include "store/replacement.h"
#include "support/change_log.h"
#include "support/fail_alloc.h"
#include "support/indices.h"
#include "support/objects.h"

/* A list that becomes a store's content in steps; what it comes to is in
 * test_process and test_store_bulk. Here: what can happen between two steps. */

#define MAX_LIST 3000

typedef struct rig {
  fail_alloc memory;
  kin_store *store;
  change_log log;
  kin_object *list[MAX_LIST];
  size_t count;
  kin__replacement replacement;
} rig;

static void put(kin_store *store, const char *key, unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_object_unref(object);
}

/* The program's own writes, which handlers are taken to know. */
static void put_own(rig *r, const char *key, unsigned version) {
  put(r->store, key, version);
  put(r->log.told, key, version);
}

static void delete_own(rig *r, const char *key) {
  (void)kin_store_delete(r->store, kin__cstr(key));
  (void)kin_store_delete(r->log.told, kin__cstr(key));
}

/* A store of "<from>" to "<to>" at version 1, known to the handlers. */
static void rig_begin(rig *r, unsigned from, unsigned to) {
  memset(r, 0, sizeof *r);
  fail_alloc_init(&r->memory, 0);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &r->memory.allocator;
  assert_int_equal(kin_store_new(&r->store, &options), 0);
  assert_int_equal(add_pointer(r->store, "name", "/metadata/name"), 0);
  change_log_init(&r->log, r->store);
  r->log.is_terse = to - from > 10;
  for (unsigned i = from; i < to; i++) {
    char key[16];
    snprintf(key, sizeof key, "%u", i);
    put_own(r, key, 1);
  }
}

/* The list: "<from>" to "<to>" at that version. */
static void rig_list(rig *r, unsigned from, unsigned to, unsigned version) {
  for (unsigned i = from; i < to; i++) {
    char key[16];
    snprintf(key, sizeof key, "%u", i);
    r->list[r->count++] = object_keyed(NULL, key, version);
  }
  kin__replacement_begin(&r->replacement, r->store,
                         (const kin_object *const *)r->list, r->count,
                         kin__cstr("77"), false);
}

static int step(rig *r, uint32_t count) {
  return kin__replacement_step(&r->replacement, count, &r->log.handlers);
}

static void step_until(rig *r, kin__replacement_phase phase) {
  while (r->replacement.phase < phase) {
    assert_int_equal(step(r, 1), 1);
  }
}

static void rig_clear(rig *r) {
  while (kin__replacement_clear_step(&r->replacement, 1)) {
  }
  for (size_t i = 0; i < r->count; i++) {
    kin_object_unref(r->list[i]);
  }
  r->count = 0;
}

static void rig_end(rig *r) {
  rig_clear(r);
  change_log_finish(&r->log);
  kin_store_free(r->store);
  assert_int_equal(r->memory.live_blocks, 0);
}

static bool is_shown(const rig *r) {
  return r->replacement.phase >= KIN__REPLACEMENT_MARKING;
}

/* PD-06: nothing is seen before it is ready, all at once then, and nobody is
 * told before. */
static void test_replacement_is_shown_at_once(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 0, 2000);
  rig_list(&r, 1000, 3000, 2);
  unsigned steps = 0;
  while (!is_shown(&r)) {
    assert_int_equal(step(&r, 1), 1);
    if (!is_shown(&r)) {
      assert_int_equal(r.log.calls, 0);
      assert_int_equal(kin_store_count(r.store), 2000);
      assert_non_null(kin_store_get_key(r.store, "0"));
    }
    steps++;
  }
  assert_in_range(steps, 2000, 8000 + 10);
  assert_null(kin_store_get_key(r.store, "0"));
  assert_int_equal(kin_store_index_count(r.store, "name", kin__cstr("2999")),
                   1);
  while (step(&r, 1) > 0) {
    assert_int_equal(kin_store_count(r.store), 2000);
  }
  assert_int_equal(r.log.deletes, 1000);
  assert_int_equal(r.log.updates, 1000);
  assert_int_equal(r.log.adds, 1000);
  change_log_assert_folds_to(&r.log, r.store);
  rig_end(&r);
}

/* The slot of "<number>" in the store, or KIN__NO_SLOT. */
static uint32_t slot_of(const rig *r, unsigned number) {
  char key[16];
  snprintf(key, sizeof key, "%u", number);
  kin_str k = kin__cstr(key);
  return kin__store_find(r->store, k, kin__store_hash(r->store, k));
}

/* Slots of "0" to "<count>". */
static void note_slots(const rig *r, unsigned count, uint32_t *slots) {
  for (unsigned i = 0; i < count; i++) {
    slots[i] = slot_of(r, i);
  }
}

/* Objects that stay keep their slots, so that a scan may be continued; also if
 * the program puts or deletes an object while the list is going in. */
static void test_replacement_keeps_slots(void **state) {
  (void)state;
  enum { UNTOUCHED, PUT, PUT_NEW, DELETED, WRITES };
  for (int write = UNTOUCHED; write < WRITES; write++) {
    rig r;
    rig_begin(&r, 0, 100);
    r.log.is_ahead = write != UNTOUCHED;
    uint32_t slots[100];
    note_slots(&r, 100, slots);
    rig_list(&r, 30, 150, 2);
    step_until(&r, KIN__REPLACEMENT_FILLING);
    assert_int_equal(step(&r, 10), 1);
    if (write == PUT) {
      put_own(&r, "60", 3);
    } else if (write == PUT_NEW) {
      put_own(&r, "120", 3);
    } else if (write == DELETED) {
      delete_own(&r, "99");
    }
    while (step(&r, 7) > 0) {
    }
    for (unsigned i = 30; i < (write == DELETED ? 99 : 100); i++) {
      assert_int_equal(slot_of(&r, i), slots[i]);
    }
    rig_end(&r);
  }
}

/* A scan that pauses while the program writes meets what stays just once. */
static void test_replacement_scan_across_a_write(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 0, 100);
  r.log.is_ahead = true;
  kin_cursor cursor = {0};
  unsigned met[100] = {0};
  for (int i = 0; i < 50; i++) {
    met[atoi(kin_object_key(kin_store_next(r.store, &cursor)).data)]++;
  }
  for (unsigned i = 100; i > 0; i--) { /* in the other order */
    char key[16];
    snprintf(key, sizeof key, "%u", i - 1);
    r.list[r.count++] = object_keyed(NULL, key, 2);
  }
  rig_list(&r, 0, 0, 0);
  step_until(&r, KIN__REPLACEMENT_FILLING);
  assert_int_equal(step(&r, 10), 1);
  put_own(&r, "5", 3);
  while (step(&r, 7) > 0) {
  }
  const kin_object *object;
  while ((object = kin_store_next(r.store, &cursor)) != NULL) {
    met[atoi(kin_object_key(object).data)]++;
  }
  for (unsigned i = 0; i < 100; i++) {
    assert_int_equal(met[i], 1);
  }
  rig_end(&r);
}

/* Another content altogether, and the same for what has been told. */
static void swap_content(rig *r, kin__random *random, unsigned version) {
  kin_object *objects[90];
  size_t count = 0;
  for (unsigned i = 0; i < 90; i++) {
    if (kin__random_below(random, 3) > 0) {
      char key[16];
      snprintf(key, sizeof key, "%u", i);
      objects[count++] = object_keyed(NULL, key, version);
    }
  }
  kin_store *stores[] = {r->store, r->log.told};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(kin_store_replace(stores[i],
                                       (const kin_object *const *)objects,
                                       count, kin__cstr("50")),
                     0);
  }
  while (count > 0) {
    kin_object_unref(objects[--count]);
  }
}

/* Forgets the slots of keys that have left the store. */
static void forget_gone(const rig *r, unsigned count, uint32_t *slots) {
  for (unsigned i = 0; i < count; i++) {
    slots[i] = slot_of(r, i) != KIN__NO_SLOT ? slots[i] : KIN__NO_SLOT;
  }
}

/* What others write before it is shown is lost, and told of as gone if it was
 * not in the list; so is a whole content that kin_store_replace has put there
 * meanwhile (ST-02). What they write afterwards stays. Whatever they do, what is
 * told fits, and objects that are there all the time keep their slots. */
static void test_replacement_between_writes(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    kin__random random = {seed};
    rig r;
    rig_begin(&r, 0, 40);
    r.log.is_ahead = true;
    uint32_t slots[60];
    note_slots(&r, 60, slots);
    rig_list(&r, 10, 60, 2);
    unsigned written = 0;
    while (!is_shown(&r)) {
      if (kin__random_below(&random, 10) == 0) {
        char key[16];
        snprintf(key, sizeof key, "%u",
                 (unsigned)kin__random_below(&random, 70));
        if (kin__random_below(&random, 10) == 0) {
          swap_content(&r, &random, 100 + written);
        } else if (kin__random_below(&random, 2) == 0) {
          put_own(&r, key, 100 + written);
        } else {
          delete_own(&r, key);
        }
        written++;
        forget_gone(&r, 60, slots);
      }
      assert_int_equal(step(&r, 1), 1);
    }
    assert_int_equal(kin_store_count(r.store), 50);
    for (unsigned i = 10; i < 60; i++) {
      assert_true(slots[i] == KIN__NO_SLOT || slots[i] == slot_of(&r, i));
    }
    while (step(&r, 1) > 0) {
    }
    change_log_assert_folds_to(&r.log, r.store);
    for (unsigned i = 10; i < 60; i++) {
      char key[16];
      snprintf(key, sizeof key, "%u", i);
      assert_names(r.store, "name", key, key);
    }
    rig_end(&r);
  }
}

/* Some keys of the list are listed again, with a higher version. */
static void list_again(rig *r, kin__random *random, unsigned from,
                       unsigned to) {
  for (unsigned version = 3; version < 53; version++) {
    char key[16];
    unsigned number = from + (unsigned)kin__random_below(random, to - from);
    snprintf(key, sizeof key, "%u", number);
    r->list[r->count++] = object_keyed(NULL, key, version);
  }
}

static void check_listed_twice(uint64_t seed, size_t fail_at,
                               bool *has_failed) {
  kin__random random = {seed};
  rig r;
  rig_begin(&r, 0, 40);
  r.log.is_ahead = true;
  list_again(&r, &random, 10, 60);
  rig_list(&r, 10, 60, 2);
  kin_object *first = r.list[0];
  r.list[0] = r.list[r.count - 1];
  r.list[r.count - 1] = first;
  r.memory.fail_at = fail_at > 0 ? r.memory.calls + fail_at : 0;
  int result;
  while ((result = step(&r, 1)) != 0) {
    assert_true(result > 0 || result == KIN_ENOMEM);
    if (fail_at == 0 && !is_shown(&r) && kin__random_below(&random, 10) == 0) {
      char key[16];
      snprintf(key, sizeof key, "%u", (unsigned)kin__random_below(&random, 70));
      kin__random_below(&random, 2) == 0 ? put_own(&r, key, 100)
                                         : delete_own(&r, key);
    }
  }
  *has_failed = fail_alloc_has_failed(&r.memory);
  r.memory.fail_at = 0;
  assert_int_equal(kin_store_count(r.store), 50);
  assert_int_equal(r.log.adds + r.log.updates, 50);
  change_log_assert_folds_to(&r.log, r.store);
  rig_end(&r);
}

/* ST-02, PD-06: a key that is listed several times is told once, with its last
 * state: whatever others write meanwhile, and with scarce memory. */
static void test_replacement_listed_twice(void **state) {
  (void)state;
  bool has_failed = true;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    check_listed_twice(seed, 0, &has_failed);
  }
  has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    check_listed_twice(1, n, &has_failed);
  }
}

/* New keys take the slots of what is gone, also when somebody writes during each
 * replacement: the table does not get longer from one to the next. */
static void test_replacement_does_not_lengthen_the_table(void **state) {
  (void)state;
  for (int is_written = 0; is_written < 2; is_written++) {
    rig r;
    rig_begin(&r, 0, 50);
    r.log.is_ahead = true;
    for (unsigned i = 0; i < 40; i++) {
      unsigned from = i % 2 == 0 ? 100 : 0;
      rig_list(&r, from, from + 50, 2 + i);
      for (unsigned n = 0; n < 10; n++) {
        assert_int_equal(step(&r, 7), 1);
      }
      if (is_written) {
        put_own(&r, "7", 1000 + i);
      }
      while (step(&r, 7) > 0) {
      }
      change_log_assert_folds_to(&r.log, r.store);
      assert_int_equal(kin_store_count(r.store), 50);
      assert_in_range(kin__slots_limit(&r.store->slots), 50, 100);
      rig_clear(&r);
    }
    rig_end(&r);
  }
}

/* The program deletes an object that is listed, and another that comes later in
 * the list gets its slot: in the new table the other goes elsewhere, and the
 * table does not get longer from one replacement to the next. */
static void test_replacement_of_a_slot_that_changes_hands(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 0, 10);
  r.log.is_ahead = true;
  for (unsigned round = 0; round < 40; round++) {
    char key[16];
    snprintf(key, sizeof key, "%u", 100 + round);
    for (unsigned i = 0; i < 10; i++) {
      char listed[16];
      snprintf(listed, sizeof listed, "%u", i);
      r.list[r.count++] = object_keyed(NULL, listed, 2 + round);
    }
    rig_list(&r, 100 + round, 101 + round, 2 + round);
    step_until(&r, KIN__REPLACEMENT_FILLING);
    assert_int_equal(step(&r, 5), 1);
    uint32_t slot = slot_of(&r, 0);
    delete_own(&r, "0");
    put_own(&r, key, 1);
    assert_int_equal(slot_of(&r, 100 + round), slot);
    while (step(&r, 7) > 0) {
    }
    change_log_assert_folds_to(&r.log, r.store);
    assert_int_equal(kin_store_count(r.store), 11);
    assert_in_range(kin__slots_limit(&r.store->slots), 11, 13);
    rig_clear(&r);
  }
  rig_end(&r);
}

/* An index that is added in the meantime covers the list, too. Names of indices
 * that were borrowed before are still good afterwards. */
static void test_replacement_late_index(void **state) {
  (void)state;
  for (int phase = KIN__REPLACEMENT_TAKING; phase <= KIN__REPLACEMENT_INDEXING;
       phase++) {
    rig r;
    rig_begin(&r, 0, 5);
    rig_list(&r, 3, 8, 2);
    step_until(&r, (kin__replacement_phase)phase);
    assert_int_equal(add_pointer(r.store, "late", "/metadata/name"), 0);
    const char *names[2];
    kin_cursor cursor = {0};
    for (int i = 0; i < 2; i++) {
      names[i] = kin_store_next_index(r.store, &cursor);
    }
    while (step(&r, 1) > 0) {
    }
    while (kin__replacement_clear_step(&r.replacement, 1)) {
    }
    assert_string_equal(names[0], "name");
    assert_string_equal(names[1], "late");
    assert_true(kin_store_index_ready(r.store, "late"));
    assert_names(r.store, "late", "7", "7");
    assert_names(r.store, "late", "0", "");
    put(r.store, "9", 3);
    assert_names(r.store, "late", "9", "9");
    rig_end(&r);
  }
}

/* It may be given up in every phase before it is shown, and stopped in every
 * later one; the next one is not led astray by its marks. */
static void test_replacement_given_up(void **state) {
  (void)state;
  for (unsigned n = 1; n < 40; n++) {
    rig r;
    rig_begin(&r, 0, 5);
    rig_list(&r, 3, 8, 2);
    for (unsigned i = 0; i < n; i++) {
      (void)step(&r, 1);
    }
    bool was_shown = is_shown(&r);
    r.replacement.is_stopped = true;
    assert_int_equal(step(&r, 100), 0);
    rig_clear(&r);
    assert_int_equal(kin_store_count(r.store), 5);
    assert_names(r.store, "name", "0", was_shown ? "" : "0");
    if (!was_shown) {
      assert_int_equal(r.log.calls, 0);
      rig_list(&r, 0, 1, 3);
      while (step(&r, 100) > 0) {
      }
      assert_int_equal(r.log.deletes, 4);
      change_log_assert_folds_to(&r.log, r.store);
    }
    rig_end(&r);
  }
}

/* Each allocation fails once: the step is repeated, or the rest given up; till
 * it is shown nothing has changed. */
static void test_replacement_without_memory(void **state) {
  (void)state;
  for (int is_repeated = 0; is_repeated <= 1; is_repeated++) {
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
      rig r;
      rig_begin(&r, 0, 5);
      rig_list(&r, 3, 8, 2);
      r.memory.fail_at = r.memory.calls + n;
      int result;
      while ((result = step(&r, 2)) != 0) {
        if (result < 0) {
          assert_int_equal(result, KIN_ENOMEM);
          assert_false(is_shown(&r));
          assert_int_equal(r.log.calls, 0);
          assert_names(r.store, "name", "0", "0");
          assert_names(r.store, "name", "7", "");
          if (!is_repeated) {
            break;
          }
        }
      }
      has_failed = fail_alloc_has_failed(&r.memory);
      r.memory.fail_at = 0;
      if (result == 0) {
        change_log_assert_folds_to(&r.log, r.store);
        assert_names(r.store, "name", "7", "7");
      }
      rig_end(&r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replacement_is_shown_at_once),
      cmocka_unit_test(test_replacement_keeps_slots),
      cmocka_unit_test(test_replacement_scan_across_a_write),
      cmocka_unit_test(test_replacement_between_writes),
      cmocka_unit_test(test_replacement_listed_twice),
      cmocka_unit_test(test_replacement_does_not_lengthen_the_table),
      cmocka_unit_test(test_replacement_of_a_slot_that_changes_hands),
      cmocka_unit_test(test_replacement_late_index),
      cmocka_unit_test(test_replacement_given_up),
      cmocka_unit_test(test_replacement_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
