/* SPDX-License-Identifier: MIT */

/* Objects that are sealed when they are made: checksums that notice every byte,
 * pages that nobody can write to, and what happens when the system has none.
 * Proves TS-14 for objects of a client that looks for writes. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/sealed.h"
#include "base/str.h"
#include "object/object.h"
#include "object/seal.h"
#include "support/fail_alloc.h"
#include "support/signal_of_write.h"

/* --- A system that refuses, see test_link_args ---------------------------- */

static bool refuse_mmap;
static bool refuse_mprotect;
static bool refuse_munmap;
static void *left_mapped;
static size_t left_bytes;

/* With large files glibc has another name for the first. */
#ifdef __GLIBC__
#define REAL_MMAP __real_mmap64
#else
#define REAL_MMAP __real_mmap
#endif
void *REAL_MMAP(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t);
int __real_mprotect(void *, size_t, int);
int __wrap_mprotect(void *, size_t, int);
int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);

void *__wrap_mmap(void *address, size_t length, int protection, int flags,
                  int fd, off_t offset) {
  if (refuse_mmap) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return REAL_MMAP(address, length, protection, flags, fd, offset);
}

void *__wrap_mmap64(void *address, size_t length, int protection, int flags,
                    int fd, off_t offset) {
  return __wrap_mmap(address, length, protection, flags, fd, offset);
}

int __wrap_mprotect(void *address, size_t length, int protection) {
  if (refuse_mprotect) {
    errno = ENOMEM;
    return -1;
  }
  return __real_mprotect(address, length, protection);
}

int __wrap_munmap(void *address, size_t length) {
  if (refuse_munmap) {
    left_mapped = address;
    left_bytes = length;
    errno = ENOMEM;
    return -1;
  }
  return __real_munmap(address, length);
}

/* --- Objects -------------------------------------------------------------- */

#define LABELS "{\"app\":\"a\\\"b\",\"tier\":\"web\"}"
#define BODY                                                                   \
  "{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\",\"uid\":\"u-1\","  \
  "\"resourceVersion\":\"41\",\"labels\":" LABELS "},\"spec\":{\"nodeName\":"  \
  "\"node-7\",\"containers\":[{\"name\":\"main\",\"image\":\"shop:1\"}]}}"

static int make(kin_object **out, kin__memory *memory) {
  static const char body[] = BODY;
  kin_str text = kin__str(body, sizeof body - 1);
  kin__object_parts parts = {
      .namespace_ = KIN__LIT("shop"),
      .name = KIN__LIT("web-0"),
      .uid = kin__str(strstr(body, "u-1"), 3),
      .version = kin__str(strstr(body, "41"), 2),
      .labels = kin__str(strstr(body, LABELS), sizeof LABELS - 1),
      .body = text};
  return kin__object_new(out, memory, &parts);
}

static void assert_readable(const kin_object *object) {
  assert_true(kin__str_equal(kin_object_key(object), KIN__LIT("shop/web-0")));
  assert_true(kin__str_equal(kin_object_uid(object), KIN__LIT("u-1")));
  assert_true(
      kin__str_equal(kin_object_resource_version(object), KIN__LIT("41")));
  kin_str value;
  assert_true(kin_object_label(object, "app", &value));
  assert_true(kin__str_equal(value, KIN__LIT("a\"b")));
  assert_true(kin__str_equal(kin__object_body(object), KIN__LIT(BODY)));
}

typedef struct fixture {
  fail_alloc blocks;
  kin__memory *memory;
  kin_object *object;
} fixture;

static void setup(fixture *f, kin_mutation_check check) {
  fail_alloc_init(&f->blocks, 0);
  f->memory = kin__memory_new(&f->blocks.allocator);
  assert_non_null(f->memory);
  kin__memory_use_seals(f->memory, check);
  assert_int_equal(make(&f->object, f->memory), 0);
}

static void teardown(fixture *f) {
  kin_object_unref(f->object);
  assert_int_equal(atomic_load(&f->memory->protected_cells), 0);
  kin__memory_unref(f->memory);
  assert_int_equal(atomic_load(&f->blocks.live_blocks), 0);
}

static const uint64_t *sums(const kin_object *object) {
  return kin__object_seal(object)->sums;
}

static kin__comparison compare(const kin_object *object, size_t *block) {
  *block = 0;
  return kin__object_compare(object, sums(object), block, SIZE_MAX);
}

/* --- Checksums ------------------------------------------------------------ */

/* An object has no byte more than without this, and what lies around it neither
 * if the check is off. */
static void test_seal_costs_nothing_when_off(void **state) {
  (void)state;
  size_t memory = 0;
  for (int check = KIN_MUTATION_CHECK_OFF; check <= KIN_MUTATION_CHECK_PROTECT;
       check++) {
    fixture f;
    setup(&f, (kin_mutation_check)check);
    assert_readable(f.object);
    if (check == KIN_MUTATION_CHECK_OFF) {
      memory = kin_object_memory(f.object);
      assert_null(kin__object_seal(f.object));
      assert_int_equal(atomic_load(&f.blocks.live_bytes),
                       sizeof *f.memory + kin__cell_head_bytes() + memory);
    }
    assert_int_equal(kin_object_memory(f.object), memory);
    teardown(&f);
  }
}

static kin_mutation_part part_at(const kin_object *object, const char *place) {
  for (int part = KIN_MUTATION_HEADER; part < KIN_MUTATION_JSON; part++) {
    kin_str bytes = kin__object_part(object, (kin_mutation_part)part);
    if (place < bytes.data + bytes.length) {
      return (kin_mutation_part)part;
    }
  }
  return KIN_MUTATION_JSON;
}

static void assert_found(const kin_object *object, const char *place,
                         kin_mutation_part part) {
  size_t block;
  assert_int_equal(compare(object, &block), KIN__DIFFERENT);
  kin_mutation m =
      kin__object_mutation(object, sums(object), block, strlen("shop/web-0"));
  assert_ptr_equal(m.object, object);
  assert_int_equal(m.part, part);
  assert_ptr_equal(m.key.data, kin__object_bytes(object));
  assert_int_equal(m.key.length, strlen("shop/web-0"));
  if (part == KIN_MUTATION_HEADER) {
    assert_int_equal(m.bytes.length, 0);
    return;
  }
  assert_true(m.bytes.data <= place && place < m.bytes.data + m.bytes.length);
  assert_true(m.bytes.length <= KIN__SUM_BLOCK);
  assert_ptr_equal(m.bytes.data,
                   kin__object_part(object, part).data + m.offset);
}

/* TS-14: each bit but for those of the count of references. */
static void test_seal_notices_every_bit(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_CHECKSUM);
  kin_str body = kin__object_body(f.object);
  char *begin = (char *)kin__object_part(f.object, KIN_MUTATION_HEADER).data;
  char *end = (char *)body.data + body.length;
  assert_ptr_equal(end, (char *)f.object + kin_object_memory(f.object));
  assert_int_equal(begin - (char *)f.object,
                   sizeof(void *) + sizeof(atomic_uint));
  size_t block;
  for (char *place = begin; place < end; place++) {
    kin_mutation_part part = part_at(f.object, place);
    for (int bit = 0; bit < 8; bit++) {
      *place ^= (char)(1 << bit);
      assert_found(f.object, place, part);
      *place ^= (char)(1 << bit);
    }
    assert_int_equal(compare(f.object, &block), KIN__SAME);
  }
  kin_object_ref(f.object);
  assert_int_equal(compare(f.object, &block), KIN__SAME);
  kin_object_unref(f.object);
  teardown(&f);
}

/* Bytes that change places, or by the same amount in several words. */
static void test_seal_notices_patterns(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_CHECKSUM);
  kin_str body = kin__object_body(f.object);
  char *bytes = (char *)body.data;
  char saved[sizeof BODY];
  memcpy(saved, bytes, body.length);
  size_t block;
  for (size_t at = 0; at + 16 <= 64; at += 8) {
    memcpy(bytes + at, saved + at + 8, 8);
    memcpy(bytes + at + 8, saved + at, 8);
    assert_int_equal(compare(f.object, &block), KIN__DIFFERENT);
    memcpy(bytes, saved, body.length);
    for (int bit = 0; bit < 8; bit++) {
      bytes[at + 7] ^= (char)(1 << bit);
      bytes[at + 15] ^= (char)(1 << bit);
      assert_int_equal(compare(f.object, &block), KIN__DIFFERENT);
      memcpy(bytes, saved, body.length);
    }
  }
  memset(bytes, 0, body.length);
  assert_int_equal(compare(f.object, &block), KIN__DIFFERENT);
  memcpy(bytes, saved, body.length);
  assert_int_equal(compare(f.object, &block), KIN__SAME);
  teardown(&f);
}

static void test_seal_compares_in_steps(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_CHECKSUM);
  size_t count = kin__object_seal(f.object)->sum_count;
  assert_int_equal(count,
                   kin__object_sum_count(
                       kin__object_part(f.object, KIN_MUTATION_STRINGS).length,
                       kin__object_body(f.object).length));
  assert_true(count > 4);
  for (size_t max = 1; max <= count; max++) {
    size_t block = 0;
    size_t steps = 1;
    kin__comparison result;
    while ((result = kin__object_compare(f.object, sums(f.object), &block,
                                         max)) == KIN__UNFINISHED) {
      assert_int_equal(block, 1 + steps * max);
      steps++;
    }
    assert_int_equal(result, KIN__SAME);
    assert_int_equal(block, count);
    assert_int_equal(steps, (count - 1 + max - 1) / max);
  }
  /* The header comes first in each, so that nothing is read by a wrong one. */
  size_t block = count - 1;
  char *header = (char *)kin__object_part(f.object, KIN_MUTATION_HEADER).data;
  memset(header, 0xff, kin__object_part(f.object, KIN_MUTATION_HEADER).length);
  assert_int_equal(kin__object_compare(f.object, sums(f.object), &block, 1),
                   KIN__DIFFERENT);
  assert_int_equal(block, 0);
  assert_int_equal(kin__object_mutation(f.object, sums(f.object), 3, 10).part,
                   KIN_MUTATION_HEADER);
  teardown(&f);
}

/* --- Pages ---------------------------------------------------------------- */

static void test_seal_protected_bytes_fault(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_PROTECT);
  assert_null(sums(f.object));
  assert_int_equal(atomic_load(&f.memory->protected_cells), 1);
  assert_readable(f.object);
  char *first = (char *)f.object + KIN__CELL_OPEN_BYTES;
  kin_str body = kin__object_body(f.object);
  assert_int_equal(signal_of_write(first - 1), 0);
  assert_int_equal(signal_of_write(first), SIGSEGV);
  assert_int_equal(signal_of_write((char *)kin_object_key(f.object).data),
                   SIGSEGV);
  assert_int_equal(signal_of_write((char *)body.data), SIGSEGV);
  assert_int_equal(signal_of_write((char *)body.data + body.length - 1),
                   SIGSEGV);
  /* The system will not do it either. */
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "!", 1), 1);
  assert_int_equal(read(ends[0], (char *)body.data, 1), -1);
  assert_int_equal(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
  assert_readable(f.object);
  teardown(&f);
}

static void *unref(void *object) {
  kin_object *another = kin_object_ref(object);
  kin_object_unref(object);
  kin_object_unref(another);
  return NULL;
}

static void test_seal_protected_objects_are_counted(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_PROTECT);
  for (int i = 0; i < 100; i++) {
    kin_object_ref(f.object);
  }
  for (int i = 0; i < 100; i++) {
    kin_object_unref(f.object);
  }
  assert_readable(f.object);
  kin_object *other;
  assert_int_equal(make(&other, f.memory), 0);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, unref, other), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(atomic_load(&f.memory->protected_cells), 1);
  teardown(&f);
}

/* What is not protected has checksums. */
static void assert_has_checksums(kin_object *object) {
  assert_readable(object);
  assert_non_null(sums(object));
  size_t block;
  assert_int_equal(compare(object, &block), KIN__SAME);
  char *byte = (char *)kin__object_body(object).data + 5;
  *byte ^= 1;
  assert_found(object, byte, KIN_MUTATION_JSON);
  *byte ^= 1;
}

static void test_seal_protects_so_many_only(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_PROTECT);
  atomic_fetch_add(&f.memory->protected_cells, KIN__MAX_PROTECTED - 2);
  kin_object *last;
  kin_object *more[2];
  assert_int_equal(make(&last, f.memory), 0);
  assert_null(sums(last));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(make(&more[i], f.memory), 0);
    assert_has_checksums(more[i]);
  }
  kin_object_unref(last);
  assert_int_equal(make(&last, f.memory), 0);
  assert_null(sums(last));
  kin_object_unref(last);
  kin_object_unref(more[0]);
  kin_object_unref(more[1]);
  atomic_fetch_sub(&f.memory->protected_cells, KIN__MAX_PROTECTED - 2);
  teardown(&f);
}

static void test_seal_does_without_pages(void **state) {
  (void)state;
  bool *refusals[] = {&refuse_mmap, &refuse_mprotect};
  for (int i = 0; i < 2; i++) {
    *refusals[i] = true;
    fixture f;
    setup(&f, KIN_MUTATION_CHECK_PROTECT);
    *refusals[i] = false;
    assert_has_checksums(f.object);
    assert_int_equal(atomic_load(&f.memory->protected_cells), 0);
    teardown(&f);
  }
}

/* A process with too many mappings cannot unmap in the middle of one. */
static void test_seal_pages_that_cannot_be_unmapped(void **state) {
  (void)state;
  fixture f;
  setup(&f, KIN_MUTATION_CHECK_PROTECT);
  kin_object *object;
  assert_int_equal(make(&object, f.memory), 0);
  refuse_munmap = true;
  kin_object_unref(object);
  refuse_munmap = false;
  assert_int_equal(atomic_load(&f.memory->protected_cells), 2);
  assert_int_equal(((char *)object)[sizeof(void *)], 0); /* given back */
  atomic_fetch_sub(&f.memory->protected_cells, 1);
  assert_int_equal(munmap(left_mapped, left_bytes), 0);
  teardown(&f);
}

/* The allocator fails at each call in turn, with and without pages. */
static void test_seal_fails_cleanly(void **state) {
  (void)state;
  static const struct {
    kin_mutation_check check;
    bool refuse_mprotect;
    size_t blocks; /* that an object takes */
  } cases[] = {{KIN_MUTATION_CHECK_CHECKSUM, false, 1},
               {KIN_MUTATION_CHECK_PROTECT, false, 0},
               {KIN_MUTATION_CHECK_PROTECT, true, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t n = 1; n <= 2; n++) {
      fail_alloc blocks;
      fail_alloc_init(&blocks, 0);
      kin__memory *memory = kin__memory_new(&blocks.allocator);
      kin__memory_use_seals(memory, cases[i].check);
      atomic_store(&blocks.calls, 0);
      blocks.fail_at = n;
      refuse_mprotect = cases[i].refuse_mprotect;
      kin_object *object;
      int err = make(&object, memory);
      refuse_mprotect = false;
      assert_int_equal(err, n <= cases[i].blocks ? KIN_ENOMEM : 0);
      assert_true((object == NULL) == (err != 0));
      kin_object_unref(object);
      assert_int_equal(atomic_load(&memory->protected_cells), 0);
      kin__memory_unref(memory);
      assert_int_equal(atomic_load(&blocks.live_blocks), 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_seal_costs_nothing_when_off),
      cmocka_unit_test(test_seal_notices_every_bit),
      cmocka_unit_test(test_seal_notices_patterns),
      cmocka_unit_test(test_seal_compares_in_steps),
      cmocka_unit_test(test_seal_protected_bytes_fault),
      cmocka_unit_test(test_seal_protected_objects_are_counted),
      cmocka_unit_test(test_seal_protects_so_many_only),
      cmocka_unit_test(test_seal_does_without_pages),
      cmocka_unit_test(test_seal_pages_that_cannot_be_unmapped),
      cmocka_unit_test(test_seal_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
