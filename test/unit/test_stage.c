/* SPDX-License-Identifier: MIT */

/* Staged lists, and what those that came as a watch come to, against a plain
 * array of keys. Proves WL-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/slab_core.h"
#include "base/str.h"
#include "listwatch/stage.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

#define KEYS 3000

/* Without the objects that it has replaced. */
static int merge(kin__stage *stage, kin__decoded_type type, kin_object *object,
                 bool *is_new) {
  kin__stage_merged merged;
  int err = kin__stage_merge(stage, type, object, &merged);
  for (unsigned i = 0; i < merged.count; i++) {
    kin_object_unref(merged.replaced[i]);
  }
  *is_new = merged.is_new;
  return err;
}

static int push(kin__stage *stage, int key, int version,
                kin__decoded_type type) {
  char text[32];
  snprintf(text, sizeof text, "n/p%d", key);
  kin_object *object = object_keyed(NULL, text, (unsigned)version);
  bool is_new;
  return type == KIN__DECODED_LISTED ? kin__stage_push(stage, type, object)
                                     : merge(stage, type, object, &is_new);
}

static void change(kin__stage *stage, int key, int version,
                   kin__decoded_type type) {
  assert_int_equal(push(stage, key, version, type), 0);
}

static int number(kin_str s, size_t skipped) {
  int n = 0;
  for (size_t i = skipped; i < s.length; i++) {
    n = 10 * n + (s.data[i] - '0');
  }
  return n;
}

/* The next entry that counts: its key, or -1; *version is set. */
static int take(kin__stage *stage, int *version) {
  while (kin__stage_is_void(stage)) {
    kin__stage_pop(stage);
  }
  const kin_object *object = kin__stage_peek(stage);
  if (object == NULL) {
    return -1;
  }
  int key = number(kin_object_key(object), 3);
  *version = number(kin_object_resource_version(object), 0);
  kin__stage_pop(stage);
  return key;
}

static void init(kin__stage *stage, fail_alloc *memory, size_t fail_at) {
  fail_alloc_init(memory, fail_at);
  kin__stage_init(stage, &memory->allocator);
}

static void assert_freed(const kin__stage *stage, fail_alloc *memory) {
  assert_int_equal(kin__stage_count(stage), 0);
  assert_int_equal(atomic_load(&memory->live_blocks), 0);
}

static void fill(kin__stage *stage, kin__random *random, int *versions) {
  memset(versions, 0, KEYS * sizeof *versions);
  for (int i = 1; i < 4 * KEYS; i++) {
    int key = (int)(kin__random_next(random) % KEYS);
    kin__decoded_type type = KIN__DECODED_MODIFIED;
    if (kin__random_next(random) % 3 == 0) {
      type = KIN__DECODED_DELETED;
    } else if (versions[key] == 0) {
      type = KIN__DECODED_ADDED;
    }
    change(stage, key, i, type);
    versions[key] = type == KIN__DECODED_DELETED ? 0 : i;
  }
}

/* Each key once, with its last state; also when part of the stage before it was
 * discarded, and is freed meanwhile. */
static void test_model(void **state) {
  (void)state;
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  kin__random random = {7};
  static int versions[KEYS];
  for (int round = 0; round < 4; round++) {
    if (round >= 2) {
      fill(&stage, &random, versions);
      kin__stage_discard(&stage);
      (void)kin__stage_free_step(&stage, round == 2 ? 1 : KEYS);
    }
    fill(&stage, &random, versions);
    while (kin__stage_free_step(&stage, 64)) {
    }
    int key;
    int version;
    while ((key = take(&stage, &version)) >= 0) {
      assert_int_equal(version, versions[key]);
      versions[key] = 0;
    }
    for (int i = 0; i < KEYS; i++) {
      assert_int_equal(versions[i], 0);
    }
    assert_freed(&stage, &memory);
  }
}

/* A stage that was discarded says nothing about the next one's objects. */
/* A walk ahead of the pops meets void places, its end, and an empty stage whose
 * keys are not freed yet; it changes nothing. */
static void test_look_ahead(void **state) {
  (void)state;
  for (unsigned ahead = 4; ahead <= 60; ahead += 4) {
    for (int is_merged = 0; is_merged <= 1; is_merged++) {
      fail_alloc memory;
      kin__stage stage;
      init(&stage, &memory, 0);
      kin__decoded_type type =
          is_merged != 0 ? KIN__DECODED_ADDED : KIN__DECODED_LISTED;
      for (int key = 0; key < 50; key++) {
        change(&stage, key, key, type);
      }
      if (is_merged != 0) {
        change(&stage, 1, 60, KIN__DECODED_DELETED);
        change(&stage, 49, 61, KIN__DECODED_DELETED);
      }
      kin__chunkq_cursor cursor = {0};
      kin__stage_look_ahead(&stage, &cursor, ahead);
      int taken = 0;
      int version;
      while (take(&stage, &version) >= 0) {
        taken++;
        kin__stage_look_ahead(&stage, &cursor, 1);
      }
      assert_int_equal(taken, is_merged != 0 ? 48 : 50);
      kin__stage_look_ahead(&stage, &cursor, 1);
      while (kin__stage_free_step(&stage, 64)) {
      }
      assert_freed(&stage, &memory);
    }
  }
}

static void test_discarded(void **state) {
  (void)state;
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  change(&stage, 1, 1, KIN__DECODED_ADDED);
  change(&stage, 2, 2, KIN__DECODED_ADDED);
  change(&stage, 1, 3, KIN__DECODED_DELETED);
  change(&stage, 2, 4, KIN__DECODED_MODIFIED);
  kin__stage_discard(&stage);
  change(&stage, 1, 1, KIN__DECODED_LISTED);
  change(&stage, 2, 4, KIN__DECODED_LISTED);
  assert_true(kin__stage_free_step(&stage, 1));
  assert_false(kin__stage_free_step(&stage, 3));
  int version;
  assert_int_equal(take(&stage, &version), 1);
  assert_int_equal(take(&stage, &version), 2);
  assert_int_equal(version, 4);
  assert_int_equal(take(&stage, &version), -1);
  assert_freed(&stage, &memory);
}

/* A list has 8 bytes for each object, a stream 28 more for its key, and for
 * nothing else, however many changes come: states of one key, and keys that
 * come and go. What is superseded is freed at once. */
static void test_costs_of_keys_alone(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    fail_alloc memory;
    kin__stage stage;
    init(&stage, &memory, 0);
    kin_object *first = object_keyed(NULL, "n/p0", 1);
    bool is_new = false;
    assert_int_equal(
        merge(&stage, KIN__DECODED_ADDED, kin_object_ref(first), &is_new), 0);
    assert_true(is_new);
    for (int i = 1; i < 10 * KEYS; i++) {
      int key = way < 2 ? i % KEYS : i;
      change(&stage, way == 0 ? 0 : key, i, KIN__DECODED_ADDED);
      change(&stage, way == 0 ? 0 : key, i, KIN__DECODED_MODIFIED);
      if (way >= 2) {
        change(&stage, key, i, KIN__DECODED_DELETED);
      }
      if (way == 3) {
        change(&stage, 0, i, KIN__DECODED_DELETED);
        change(&stage, 0, i, KIN__DECODED_ADDED);
      }
    }
    size_t keys = way == 1 ? KEYS : 1;
    assert_int_equal(kin__stage_count(&stage), keys);
    assert_true(kin__stage_places(&stage) <= keys + 2);
    assert_int_equal(kin__stage_key_count(&stage), keys);
    assert_true(atomic_load(&memory.live_bytes) <= 45000 + keys * 37);
    int version;
    if (way == 2) {
      assert_int_equal(take(&stage, &version), 0);
      assert_int_equal(version, 1);
    }
    kin_object_unref(first);
    kin__stage_discard(&stage);
    assert_false(kin__stage_free_step(&stage, SIZE_MAX));
    assert_freed(&stage, &memory);
  }
}

/* The memory of a large stage's keys goes back a piece with each object,
 * whether the stage is taken, discarded, or one after the other; no step frees
 * much, the last one included. */
static void test_keys_go_in_pieces(void **state) {
  (void)state;
  enum { MANY = 200000 };
  for (int way = 0; way < 3; way++) {
    fail_alloc memory;
    kin__stage stage;
    init(&stage, &memory, 0);
    for (int i = 0; i < MANY; i++) {
      change(&stage, i, i + 1, KIN__DECODED_ADDED);
    }
    size_t taken = way == 0 ? MANY : way * 10;
    size_t before = atomic_load(&memory.live_blocks);
    for (size_t i = 0; i < MANY; i++) {
      if (i < taken) {
        kin__stage_pop(&stage);
      } else {
        if (i == taken) {
          kin__stage_discard(&stage);
        }
        (void)kin__stage_free_step(&stage, 1);
      }
      size_t after = atomic_load(&memory.live_blocks);
      assert_true(after <= before && before - after <= 6);
      before = after;
    }
    assert_freed(&stage, &memory);
  }
}

/* What was superseded is not kept by anything. */
static void test_superseded_is_freed(void **state) {
  (void)state;
  fail_alloc objects;
  fail_alloc_init(&objects, 0);
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  size_t base = 0;
  for (unsigned i = 1; i <= 1000; i++) {
    kin_object *object = object_keyed(&objects.allocator, "n/p0", i);
    bool is_new;
    assert_int_equal(merge(&stage, KIN__DECODED_MODIFIED, object, &is_new), 0);
    assert_int_equal(is_new, i == 1);
    base = i == 10 ? atomic_load(&objects.live_bytes) : base;
  }
  assert_true(atomic_load(&objects.live_bytes) < base + 64);
  change(&stage, 0, 1001, KIN__DECODED_DELETED);
  assert_int_equal(kin__stage_count(&stage), 0);
  kin__stage_discard(&stage);
  assert_false(kin__stage_free_step(&stage, SIZE_MAX));
  assert_freed(&stage, &memory);
  assert_int_equal(atomic_load(&objects.live_blocks), 0);
}

/* A push that failed has changed nothing: what is there can be taken. */
static void test_no_memory(void **state) {
  (void)state;
  bool has_failed = true;
  size_t n = 1;
  for (; has_failed; n++) {
    fail_alloc memory;
    kin__stage stage;
    init(&stage, &memory, n);
    int last = 0;
    for (int i = 1; i <= 3; i++) {
      kin__decoded_type type =
          i == 1 ? KIN__DECODED_ADDED : KIN__DECODED_MODIFIED;
      last = push(&stage, 1, i, type) == 0 ? i : last;
    }
    int version;
    assert_int_equal(take(&stage, &version), 1);
    assert_int_equal(version, last);
    has_failed = fail_alloc_has_failed(&memory);
    assert_int_equal(take(&stage, &version), -1);
    assert_freed(&stage, &memory);
  }
  assert_true(n > 3);
}

/* An object without a body, as one is on which the transform failed. */
static void refuse(kin__stage *stage, int version, kin__decoded_type type) {
  char text[16];
  snprintf(text, sizeof text, "%d", version);
  kin__memory *memory = kin__memory_new(NULL);
  assert_non_null(memory);
  kin__object_parts parts = {.namespace_ = KIN__LIT("n"),
                             .name = KIN__LIT("p1"),
                             .uid = KIN__LIT("u"),
                             .version = kin__cstr(text)};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  kin__memory_unref(memory);
  bool is_new;
  assert_int_equal(merge(stage, type, object, &is_new), 0);
}

/* A state that was refused leaves the one before, but a deletion is one
 * whatever its last state was. */
static void test_refused(void **state) {
  (void)state;
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  int version;
  change(&stage, 1, 1, KIN__DECODED_ADDED);
  refuse(&stage, 2, KIN__DECODED_MODIFIED);
  assert_int_equal(take(&stage, &version), 1);
  assert_int_equal(version, 1);
  assert_int_equal(take(&stage, &version), 1);
  assert_int_equal(version, 2);
  assert_int_equal(take(&stage, &version), -1);
  change(&stage, 1, 1, KIN__DECODED_ADDED);
  for (int i = 2; i < 9; i++) { /* of those only the last one */
    refuse(&stage, i, KIN__DECODED_MODIFIED);
  }
  assert_int_equal(kin__stage_count(&stage), 2);
  change(&stage, 1, 9, KIN__DECODED_MODIFIED);
  assert_int_equal(kin__stage_count(&stage), 1);
  assert_int_equal(take(&stage, &version), 1);
  assert_int_equal(version, 9);
  assert_int_equal(take(&stage, &version), -1);
  refuse(&stage, 1, KIN__DECODED_ADDED);
  refuse(&stage, 2, KIN__DECODED_DELETED);
  assert_int_equal(take(&stage, &version), -1);
  assert_freed(&stage, &memory);
}

/* Nor is any memory left if it was the first. */
static void test_no_memory_at_first(void **state) {
  (void)state;
  bool has_failed = true;
  size_t n = 1;
  for (; has_failed; n++) {
    fail_alloc memory;
    kin__stage stage;
    init(&stage, &memory, n);
    int err = push(&stage, 1, 1, KIN__DECODED_MODIFIED);
    has_failed = fail_alloc_has_failed(&memory);
    assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
    int version;
    assert_int_equal(take(&stage, &version), has_failed ? -1 : 1);
    assert_freed(&stage, &memory);
  }
  assert_true(n > 3);
}

/* Memory goes back to the system slab by slab with what is popped: no pop gives
 * back more than the slabs of one chunk and of one segment of keys. The last pop
 * also frees the stage's six small blocks: two structs, two chunks, and the
 * first segments of the keys and of their map. With 64 bits they lie in at most
 * four slabs. The C library would give all of it back with the last one. */
static void give_back_in_pieces(bool is_merged) {
  enum {
    COUNT = 200000,
    SLAB = 64 << 10,
    SPARE = 4 * SLAB,
    LAST = sizeof(void *) == 8 ? 4 : 6
  };
  kin__memory *memory = kin__memory_new(NULL);
  assert_non_null(memory);
  assert_int_equal(kin__memory_use_slabs(memory), 0);
  kin__stage stage;
  kin__stage_init(&stage, &memory->cells);
  kin_object *objects[2] = {object_keyed(NULL, "n/a", 1),
                            object_keyed(NULL, "n/b", 1)};
  for (int i = 0; i < COUNT; i++) {
    if (is_merged) {
      change(&stage, i, 1, KIN__DECODED_ADDED);
    } else {
      assert_int_equal(kin__stage_push(&stage, KIN__DECODED_ADDED,
                                       kin_object_ref(objects[i % 2])),
                       0);
    }
  }
  size_t bytes = memory->arena->bytes;
  /* A key has its hash, its successor, its place, and four bytes of the map. */
  size_t of_key = is_merged ? 12 + sizeof(void *) : 0;
  assert_true(bytes >= COUNT * (of_key + sizeof(void *)));
  for (int i = 0; i < COUNT; i++) {
    kin__stage_pop(&stage);
    size_t left = memory->arena->bytes;
    assert_true(bytes - left <= (i == COUNT - 1 ? LAST : 2) * SLAB);
    bytes = left;
  }
  assert_true(bytes <= SPARE);
  kin_object_unref(objects[0]);
  kin_object_unref(objects[1]);
  kin__memory_unref(memory);
}

static void test_memory_goes_back_in_pieces(void **state) {
  (void)state;
  give_back_in_pieces(false);
  give_back_in_pieces(true);
}

/* --- Lists that repeat ---------------------------------------------------- */

/* Pushes keys 0 to `keys` - 1 in turns until the stage calls it a circle; the
 * number of objects by then, or `most`. */
static size_t push_in_turns(kin__stage *stage, int keys, size_t most) {
  for (size_t i = 0; i < most; i++) {
    int err = push(stage, (int)(i % (size_t)keys), 1, KIN__DECODED_LISTED);
    if (err != 0) {
      assert_int_equal(err, KIN_EUNEXPECTED);
      return i + 1;
    }
  }
  return most;
}

/* A circle is found within nine times its length, or 2,047 objects; a list of
 * any length is none; what was discarded is another list. */
static void test_repeats(void **state) {
  (void)state;
  static const struct {
    int keys;
    size_t found_at;
  } rows[] = {{1, 1027},     {2, 1030},      {300, 1924},  {341, 2047},
              {342, 3074},   {1000, 7096},   {1365, 8191}, {1366, 12290},
              {3000, 25384}, {20000, 125536}};
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t most = 9 * (size_t)rows[i].keys;
    most = most > 2047 ? most : 2047;
    for (int round = 0; round < 2; round++) {
      assert_int_equal(push_in_turns(&stage, rows[i].keys, most),
                       rows[i].found_at);
      kin__stage_discard(&stage);
      (void)kin__stage_free_step(&stage, 100 * (size_t)round);
    }
  }
  assert_int_equal(push_in_turns(&stage, 100000, 100000), 100000);
  kin__stage_discard(&stage);
  (void)kin__stage_free_step(&stage, SIZE_MAX);
  assert_freed(&stage, &memory);
}

/* Events repeat keys, and a queue of items forgets its sample with the first
 * item that is taken. */
static void test_no_repeats(void **state) {
  (void)state;
  fail_alloc memory;
  kin__stage stage;
  init(&stage, &memory, 0);
  kin_object *object = object_keyed(NULL, "n/a", 1);
  for (int i = 0; i < 3000; i++) {
    assert_int_equal(
        kin__stage_push(&stage, KIN__DECODED_MODIFIED, kin_object_ref(object)),
        0);
  }
  kin__stage_discard(&stage);
  for (int i = 0; i < 3000; i++) {
    if (i % 2 == 0 && i > 1000) {
      while (kin__stage_free_step(&stage, SIZE_MAX)) {
      }
      kin__stage_pop(&stage);
    }
    assert_int_equal(
        kin__stage_push(&stage, KIN__DECODED_LISTED, kin_object_ref(object)),
        0);
  }
  kin_object_unref(object);
  kin__stage_discard(&stage);
  (void)kin__stage_free_step(&stage, SIZE_MAX);
  assert_freed(&stage, &memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_model),
      cmocka_unit_test(test_look_ahead),
      cmocka_unit_test(test_discarded),
      cmocka_unit_test(test_costs_of_keys_alone),
      cmocka_unit_test(test_keys_go_in_pieces),
      cmocka_unit_test(test_superseded_is_freed),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_no_memory_at_first),
      cmocka_unit_test(test_memory_goes_back_in_pieces),
      cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_no_repeats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
