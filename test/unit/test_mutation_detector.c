/* SPDX-License-Identifier: MIT */

/* The detector that is used alone. Proves MD-01, MD-02, TS-14, CN-07, NR-13. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/mutation_detector.h>

#include "base/str.h"
#include "check/mutation_detector.h"
#include "object/object.h"
#include "object/seal.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

typedef struct fixture {
  fail_alloc memory;
  uint64_t now;
  kin_mutation_detector *detector;
  int reports;
  char log[512]; /* "key part offset;" of each report */
  kin_mutation last;
  char last_bytes[65];
  const kin_object *to_add; /* by the callback */
} fixture;

static uint64_t clock_of(void *ctx) {
  return ((fixture *)ctx)->now;
}

static void on_mutation(const kin_mutation *mutation, void *data) {
  fixture *f = data;
  size_t used = strlen(f->log);
  snprintf(f->log + used, sizeof f->log - used, KIN_STR_FORMAT " %s %zu;",
           KIN_STR_ARG(mutation->key), kin_mutation_part_name(mutation->part),
           mutation->offset);
  f->last = *mutation;
  assert_true(mutation->bytes.length < sizeof f->last_bytes);
  memset(f->last_bytes, 0, sizeof f->last_bytes);
  if (mutation->bytes.length > 0) {
    memcpy(f->last_bytes, mutation->bytes.data, mutation->bytes.length);
  }
  f->reports++;
  if (f->to_add != NULL) {
    assert_int_equal(kin_mutation_detector_add(f->detector, f->to_add), 0);
  }
}

static kin_mutation_detector_options options_of(fixture *f) {
  kin_mutation_detector_options options = KIN_MUTATION_DETECTOR_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.now_ms = clock_of;
  options.now_ctx = f;
  options.on_mutation = on_mutation;
  options.data = f;
  return options;
}

static void setup(fixture *f) {
  *f = (fixture){.now = UINT64_C(0x1fffffff0)};
  fail_alloc_init(&f->memory, 0);
  kin_mutation_detector_options options = options_of(f);
  assert_int_equal(kin_mutation_detector_new(&f->detector, &options), 0);
  memset(&options, 0xff, sizeof options); /* there is a copy */
}

static void teardown(fixture *f) {
  kin_mutation_detector_free(f->detector);
  assert_int_equal(atomic_load(&f->memory.live_blocks), 0);
}

static void add(fixture *f, const kin_object *object) {
  assert_int_equal(kin_mutation_detector_add(f->detector, object), 0);
}

static void check_all(fixture *f) {
  assert_false(kin_mutation_detector_check(f->detector, SIZE_MAX));
}

static kin_object *pod(const char *name) {
  return object_format(
      NULL,
      "{'metadata':{'namespace':'shop','name':'%s','uid':'u-%s',"
      "'resourceVersion':'7','labels':{'app':'web'}},'spec':{'nodeName':"
      "'node-1','restartPolicy':'Always','serviceAccountName':'default'}}",
      name, name);
}

/* What a handler must not do. */
static void write_to(const kin_object *object, const char *what,
                     const char *with) {
  kin_str body = kin__object_body(object);
  char *place = memmem(body.data, body.length, what, strlen(what));
  assert_non_null(place);
  assert_int_equal(strlen(what), strlen(with));
  memcpy(place, with, strlen(with));
}

/* client-go TestMutationDetector: a label of a cached pod is written to, and
 * found at the next comparison. MD-01, MD-02, TS-14. */
static void test_mutation_detector_finds_a_write(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_object *pods[] = {pod("a"), pod("b"), pod("c")};
  for (int i = 0; i < 3; i++) {
    add(&f, pods[i]);
  }
  check_all(&f);
  assert_int_equal(f.reports, 0);
  write_to(pods[1], "\"app\":\"web\"", "\"app\":\"job\"");
  check_all(&f);
  assert_string_equal(f.log, "shop/b json 64;");
  assert_ptr_equal(f.last.object, pods[1]);
  assert_non_null(strstr(f.last_bytes, "\"app\":\"job\""));
  /* Once, although it goes on. */
  write_to(pods[1], "node-1", "node-2");
  f.now += 1000;
  check_all(&f);
  assert_int_equal(f.reports, 1);
  /* And the others are still looked at. */
  write_to(pods[2], "Always", "Alwayz");
  check_all(&f);
  assert_string_equal(f.log, "shop/b json 64;shop/c json 128;");
  for (int i = 0; i < 3; i++) {
    kin_object_unref(pods[i]);
  }
  teardown(&f);
}

/* A wild pointer does not spare names and lengths. */
static void test_mutation_detector_finds_damage(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_object *a = pod("a");
  kin_object *b = pod("b");
  add(&f, a);
  add(&f, b);
  *(char *)kin_object_name(a).data = 'x';
  kin_str header = kin__object_part(b, KIN_MUTATION_HEADER);
  char saved[64];
  assert_true(header.length <= sizeof saved);
  memcpy(saved, header.data, header.length);
  memset((char *)header.data, 0xff, header.length);
  check_all(&f);
  assert_string_equal(f.log, "shop/x strings 0;shop/b header 0;");
  assert_int_equal(f.last.bytes.length, 0);
  memcpy((char *)header.data, saved, header.length);
  kin_object_unref(a);
  kin_object_unref(b);
  teardown(&f);
}

static kin_object *sealed(kin__memory *memory, const kin_object *like) {
  kin__object_parts parts = {.namespace_ = kin_object_namespace(like),
                             .name = kin_object_name(like),
                             .body = kin__object_body(like)};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  return object;
}

/* A client's objects know what they were, also before they were added; those
 * that cannot be written to are not compared. */
static void test_mutation_detector_and_sealed_objects(void **state) {
  (void)state;
  kin_object *like = pod("a");
  for (int check = KIN_MUTATION_CHECK_CHECKSUM;
       check <= KIN_MUTATION_CHECK_PROTECT; check++) {
    fixture f;
    setup(&f);
    kin__memory *memory = kin__memory_new(NULL);
    kin__memory_use_seals(memory, (kin_mutation_check)check);
    kin_object *object = sealed(memory, like);
    kin__memory_unref(memory);
    bool is_protected = check == KIN_MUTATION_CHECK_PROTECT;
    if (!is_protected) {
      write_to(object, "node-1", "node-2");
    }
    size_t blocks = atomic_load(&f.memory.live_blocks);
    add(&f, object);
    /* Segments of the set, but no checksums. */
    size_t set = atomic_load(&f.memory.live_blocks) - blocks;
    kin_object *other = sealed(kin__object_seal(object)->memory, like);
    add(&f, other);
    assert_int_equal(atomic_load(&f.memory.live_blocks), blocks + set);
    check_all(&f);
    assert_int_equal(f.reports, is_protected ? 0 : 1);
    kin_object_unref(object);
    kin_object_unref(other);
    teardown(&f);
  }
  kin_object_unref(like);
}

/* MD-02, CN-07: two to four minutes, and compared once more at the end. */
static void test_mutation_detector_forgets(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  uint64_t begin = f.now;
  kin_object *first = pod("first");
  kin_object *second = pod("second");
  add(&f, first);
  f.now = begin + 119999;
  add(&f, second);
  f.now = begin + 239999;
  check_all(&f);
  assert_int_equal(kin_mutation_detector_count(f.detector), 2);
  write_to(first, "node-1", "node-2");
  f.now = begin + 240000;
  check_all(&f);
  assert_int_equal(kin_mutation_detector_count(f.detector), 0);
  assert_string_equal(f.log, "shop/first json 128;");
  /* A second one lives as long from when it is added again. */
  add(&f, second);
  f.now = begin + 240000 + 200000;
  add(&f, second);
  assert_int_equal(kin_mutation_detector_count(f.detector), 1);
  f.now = begin + 240000 + 359999;
  check_all(&f);
  f.now = begin + 240000 + 480000 - 120001;
  check_all(&f);
  assert_int_equal(kin_mutation_detector_count(f.detector), 1);
  write_to(second, "node-1", "node-2");
  /* Nobody looked for an hour. */
  f.now += 3600000;
  check_all(&f);
  assert_int_equal(kin_mutation_detector_count(f.detector), 0);
  assert_int_equal(f.reports, 2);
  kin_object_unref(first);
  kin_object_unref(second);
  teardown(&f);
}

static void test_mutation_detector_keeps_for(void **state) {
  (void)state;
  static const struct {
    uint64_t retain_ms;
    uint64_t after_ms;
    bool is_kept;
  } cases[] = {
      {0, 239999, true},   {0, 240000, false}, {1000, 1999, true},
      {1000, 2000, false}, {1, 1, true},       {1, 2, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fixture f = {.now = 5};
    fail_alloc_init(&f.memory, 0);
    kin_mutation_detector_options options = options_of(&f);
    options.retain_ms = cases[i].retain_ms;
    assert_int_equal(kin_mutation_detector_new(&f.detector, &options), 0);
    kin_object *object = pod("a");
    add(&f, object);
    kin_object_unref(object); /* the detector's is the last reference */
    f.now += cases[i].after_ms;
    check_all(&f);
    assert_int_equal(kin_mutation_detector_count(f.detector),
                     cases[i].is_kept ? 1 : 0);
    teardown(&f);
  }
}

/* A clock that goes back does no harm. */
static void test_mutation_detector_clock_goes_back(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_object *object = pod("a");
  add(&f, object);
  f.now -= 1000000;
  check_all(&f);
  assert_int_equal(kin_mutation_detector_count(f.detector), 1);
  kin_object_unref(object);
  teardown(&f);
}

/* An object counts once, however many informers tell of it, and is compared
 * with what it was at first. */
static void test_mutation_detector_adds_once(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_object *object = pod("a");
  add(&f, object);
  write_to(object, "node-1", "node-2");
  add(&f, object);
  assert_int_equal(kin_mutation_detector_count(f.detector), 1);
  check_all(&f);
  assert_int_equal(f.reports, 1);
  kin_object_unref(object);
  teardown(&f);
}

/* Bytes of the checksums of one of the three parts of an object. */
static size_t sums_of(const kin_object *object, kin_mutation_part part) {
  return (kin__object_part(object, part).length + 63) / 64 * 8;
}

/* An object costs a reference, 46 bytes (34 with pointers of 32 bits), and 8
 * bytes for each begun 64 bytes of its parts; only the first if its client seals
 * objects. */
static void test_mutation_detector_costs(void **state) {
  (void)state;
  enum { COUNT = 33000 };
  kin_object *like = pod("a");
  for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
    fixture f;
    setup(&f);
    kin__memory *memory = kin__memory_new(NULL);
    if (is_sealed != 0) {
      kin__memory_use_seals(memory, KIN_MUTATION_CHECK_CHECKSUM);
    }
    size_t before = atomic_load(&f.memory.live_bytes);
    size_t sums = 0;
    for (unsigned i = 0; i < COUNT; i++) {
      kin_object *object = sealed(memory, like);
      for (int part = KIN_MUTATION_HEADER;
           part <= KIN_MUTATION_JSON && is_sealed == 0; part++) {
        sums += sums_of(object, (kin_mutation_part)part);
      }
      add(&f, object);
      kin_object_unref(object);
    }
    kin__memory_unref(memory);
    size_t grown = atomic_load(&f.memory.live_bytes) - before;
    unsigned most = sizeof(void *) == 8 ? 47 : 35;
    assert_in_range(grown - sums, COUNT * (most - 6), COUNT * most);
    teardown(&f);
  }
  kin_object_unref(like);
}

/* 100,000 objects, 1,000 a call: all are compared in a pass, also the last. */
static void test_mutation_detector_bounded_steps(void **state) {
  (void)state;
  enum { COUNT = 100000, STEP = 1000 };
  fixture f;
  setup(&f);
  kin_object **objects = calloc(COUNT, sizeof *objects);
  for (unsigned i = 0; i < COUNT; i++) {
    char key[32];
    snprintf(key, sizeof key, "shop/p%u", i);
    objects[i] = object_keyed(NULL, key, i);
    add(&f, objects[i]);
  }
  assert_int_equal(kin_mutation_detector_count(f.detector), COUNT);
  write_to(objects[0], "shop", "shoe");
  write_to(objects[COUNT / 2], "shop", "shoe");
  write_to(objects[COUNT - 1], "shop", "shoe");
  for (int pass = 0; pass < 2; pass++) {
    unsigned calls = 1;
    while (kin_mutation_detector_check(f.detector, STEP)) {
      calls++;
      assert_true(calls <= COUNT / STEP);
    }
    assert_int_equal(calls, COUNT / STEP);
    assert_int_equal(f.reports, 3);
  }
  /* A step of nothing does nothing. */
  assert_true(kin_mutation_detector_check(f.detector, 0));
  for (int i = 0; i < COUNT; i++) {
    kin_object_unref(objects[i]);
  }
  free(objects);
  teardown(&f);
}

/* Objects, then the table: one piece a call, and little is left to the end. */
static void test_mutation_detector_drops_in_steps(void **state) {
  (void)state;
  enum { COUNT = 20000, SEGMENT_BYTES = 1024 * 40, LITTLE = 28 << 10 };
  fixture f;
  setup(&f);
  for (unsigned i = 0; i < COUNT; i++) {
    char key[32];
    snprintf(key, sizeof key, "shop/p%u", i);
    kin_object *object = object_keyed(NULL, key, i);
    add(&f, object);
    kin_object_unref(object);
  }
  size_t before = atomic_load(&f.memory.live_bytes);
  unsigned calls = 1;
  while (kin__mutation_detector_drop(f.detector, 1)) {
    size_t now = atomic_load(&f.memory.live_bytes);
    assert_true(before - now <= SEGMENT_BYTES);
    before = now;
    calls++;
  }
  assert_in_range(calls, COUNT, COUNT + 30);
  assert_true(atomic_load(&f.memory.live_bytes) < LITTLE);
  teardown(&f);
}

static void test_mutation_detector_callback_adds(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_object *object = pod("a");
  kin_object *other = pod("b");
  add(&f, object);
  kin_object_unref(object);
  f.to_add = other;
  write_to(object, "node-1", "node-2");
  f.now += 240000; /* it is dropped by the same step */
  check_all(&f);
  assert_int_equal(f.reports, 1);
  assert_int_equal(kin_mutation_detector_count(f.detector), 1);
  kin_object_unref(other);
  teardown(&f);
}

static void test_mutation_detector_bad_input(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  kin_mutation_detector *none = f.detector;
  kin_mutation_detector_options options = options_of(&f);
  options.now_ms = NULL;
  assert_int_equal(kin_mutation_detector_new(&none, &options), KIN_EINVAL);
  assert_null(none);
  options = options_of(&f);
  options.on_mutation = NULL;
  assert_int_equal(kin_mutation_detector_new(&none, &options), KIN_EINVAL);
  options = options_of(&f);
  options.size -= sizeof(uint64_t);
  assert_int_equal(kin_mutation_detector_new(&none, &options), KIN_EINVAL);
  assert_int_equal(kin_mutation_detector_new(&none, NULL), KIN_EINVAL);
  assert_int_equal(kin_mutation_detector_add(f.detector, NULL), KIN_EINVAL);
  assert_false(kin_mutation_detector_check(f.detector, 10));
  kin_mutation_detector_free(NULL);
  assert_string_equal(kin_mutation_part_name((kin_mutation_part)3), "unknown");
  teardown(&f);
}

static void test_mutation_detector_fails_cleanly(void **state) {
  (void)state;
  kin_object *a = pod("a");
  kin_object *b = pod("b");
  for (size_t n = 1;; n++) {
    fixture f = {.now = 1};
    fail_alloc_init(&f.memory, n);
    kin_mutation_detector_options options = options_of(&f);
    int err = kin_mutation_detector_new(&f.detector, &options);
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_null(f.detector);
      assert_int_equal(atomic_load(&f.memory.live_blocks), 0);
      continue;
    }
    while ((err = kin_mutation_detector_add(f.detector, a)) != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_int_equal(kin_mutation_detector_count(f.detector), 0);
    }
    while ((err = kin_mutation_detector_add(f.detector, b)) != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_int_equal(kin_mutation_detector_count(f.detector), 1);
    }
    check_all(&f);
    assert_int_equal(f.reports, 0);
    bool has_failed = fail_alloc_has_failed(&f.memory);
    teardown(&f);
    if (!has_failed) {
      assert_true(n > 3);
      break;
    }
  }
  kin_object_unref(a);
  kin_object_unref(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutation_detector_finds_a_write),
      cmocka_unit_test(test_mutation_detector_finds_damage),
      cmocka_unit_test(test_mutation_detector_and_sealed_objects),
      cmocka_unit_test(test_mutation_detector_forgets),
      cmocka_unit_test(test_mutation_detector_keeps_for),
      cmocka_unit_test(test_mutation_detector_clock_goes_back),
      cmocka_unit_test(test_mutation_detector_adds_once),
      cmocka_unit_test(test_mutation_detector_costs),
      cmocka_unit_test(test_mutation_detector_bounded_steps),
      cmocka_unit_test(test_mutation_detector_drops_in_steps),
      cmocka_unit_test(test_mutation_detector_callback_adds),
      cmocka_unit_test(test_mutation_detector_bad_input),
      cmocka_unit_test(test_mutation_detector_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
