/* SPDX-License-Identifier: MIT */

/* Rate limiters, on a time that is a number. Proves WQ-11, WQ-12 and the
 * limiter of CN-11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/rate_limiter.h>
#include <kin/work_queue.h>

#include "base/str.h"
#include "support/fail_alloc.h"
#include "workqueue/key_table.h"
#include "workqueue/rate_limiter.h"

#define NS_PER_MS UINT64_C(1000000)

static fail_alloc memory;
static kin_rate_limiter *limiter;

static int setup(void **state) {
  (void)state;
  limiter = NULL;
  fail_alloc_init(&memory, 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  kin_rate_limiter_free(limiter);
  assert_int_equal(memory.live_blocks, 0);
  return 0;
}

static uint64_t when_at(const char *key, uint64_t now_ms) {
  return kin_rate_limiter_when_ms(limiter, kin__cstr(key), now_ms * NS_PER_MS);
}

static uint64_t when(const char *key) {
  return when_at(key, 0);
}

static uint32_t requeues(const char *key) {
  return kin_rate_limiter_requeues(limiter, kin__cstr(key));
}

static void expect_waits(const char *key, const uint64_t *waits_ms,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(when(key), waits_ms[i]);
  }
}

#define EXPECT_WAITS(key, ...)                                                 \
  expect_waits(key, (const uint64_t[]){__VA_ARGS__},                           \
               sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void forget(const char *key, uint64_t next_ms) {
  kin_rate_limiter_forget(limiter, kin__cstr(key));
  assert_int_equal(requeues(key), 0);
  assert_int_equal(when(key), next_ms);
}

static kin_rate_limiter *exponential(uint32_t base_ms, uint32_t max_ms) {
  kin_rate_limiter *made;
  assert_int_equal(kin_rate_limiter_new_exponential(&made, &memory.allocator,
                                                    base_ms, max_ms),
                   0);
  return made;
}

static kin_rate_limiter *fast_slow(uint32_t fast_ms, uint32_t slow_ms,
                                   uint32_t tries) {
  kin_rate_limiter *made;
  assert_int_equal(kin_rate_limiter_new_fast_slow(&made, &memory.allocator,
                                                  fast_ms, slow_ms, tries),
                   0);
  return made;
}

static kin_rate_limiter *bucket(uint32_t qps_milli, uint32_t burst) {
  kin_rate_limiter *made;
  assert_int_equal(
      kin_rate_limiter_new_bucket(&made, &memory.allocator, qps_milli, burst),
      0);
  return made;
}

/* --- Exponential ---------------------------------------------------------- */

/* WQ-11, CN-11. client-go TestItemExponentialFailureRateLimiter: each key has a
 * series of its own, which a forget begins anew. */
static void test_exponential(void **state) {
  (void)state;
  limiter = exponential(1, 1000);
  EXPECT_WAITS("one", 1, 2, 4, 8, 16);
  assert_int_equal(requeues("one"), 5);
  EXPECT_WAITS("two", 1, 2);
  assert_int_equal(requeues("two"), 2);
  forget("one", 1);
  assert_int_equal(requeues("two"), 2);
}

/* WQ-11. client-go TestItemExponentialFailureRateLimiterOverFlow: after any
 * number of failures the wait is the longest one, and never a short one. */
static void test_exponential_overflow(void **state) {
  (void)state;
  limiter = exponential(1, 1000 * 1000);
  for (int i = 0; i < 5; i++) {
    (void)when("one");
  }
  assert_int_equal(when("one"), 32);
  for (int i = 0; i < 1000; i++) {
    assert_true(when("one") >= 64);
  }
  assert_int_equal(when("one"), 1000 * 1000);
  kin_rate_limiter_free(limiter);
  limiter = exponential(60 * 1000, 1000u * 3600 * 1000);
  EXPECT_WAITS("two", 60000, 120000, 240000);
  for (int i = 0; i < 1000; i++) {
    assert_true(when("two") >= 480000);
  }
  assert_int_equal(when("two"), 1000u * 3600 * 1000);
}

/* The largest numbers that the options can have. */
static void test_exponential_ends(void **state) {
  (void)state;
  limiter = exponential(UINT32_MAX, UINT32_MAX);
  EXPECT_WAITS("a", UINT32_MAX, UINT32_MAX, UINT32_MAX);
  kin_rate_limiter_free(limiter);
  limiter = exponential(1, UINT32_MAX);
  for (unsigned i = 0; i < 32; i++) {
    assert_int_equal(when("a"), UINT64_C(1) << i);
  }
  EXPECT_WAITS("a", UINT32_MAX, UINT32_MAX);
  kin_rate_limiter_free(limiter);
  limiter = exponential(7, 3);
  EXPECT_WAITS("a", 3, 3);
  assert_int_equal(
      kin_rate_limiter_new_exponential(&(kin_rate_limiter *){NULL}, NULL, 0, 1),
      KIN_EINVAL);
  assert_int_equal(
      kin_rate_limiter_new_exponential(&(kin_rate_limiter *){NULL}, NULL, 1, 0),
      KIN_EINVAL);
}

/* Keys may be any bytes, also none; one that is too long is not counted. */
static void test_limited_keys(void **state) {
  (void)state;
  limiter = exponential(1, 1000);
  kin_str zero = {"a\0b", 3};
  assert_int_equal(kin_rate_limiter_when_ms(limiter, zero, 0), 1);
  assert_int_equal(kin_rate_limiter_when_ms(limiter, zero, 0), 2);
  EXPECT_WAITS("a", 1);
  EXPECT_WAITS("", 1, 2);
  kin_str none = {NULL, 0};
  assert_int_equal(kin_rate_limiter_when_ms(limiter, none, 0), 4);
  static char text[KIN_WORK_KEY_MAX + 1];
  kin_str longest = {text, KIN_WORK_KEY_MAX};
  kin_str longer = {text, KIN_WORK_KEY_MAX + 1};
  for (uint64_t i = 0; i < 3; i++) {
    assert_int_equal(kin_rate_limiter_when_ms(limiter, longest, 0), 1u << i);
    assert_int_equal(kin_rate_limiter_when_ms(limiter, longer, 0), 1);
  }
  assert_int_equal(kin_rate_limiter_requeues(limiter, longer), 0);
}

/* A key that there is no memory for waits all the same, and the others go on. */
static void test_limiter_without_memory(void **state) {
  (void)state;
  limiter = exponential(1, 1000);
  EXPECT_WAITS("old", 1, 2);
  memory.fail_at = memory.calls + 1;
  memory.keeps_failing = true;
  EXPECT_WAITS("new", 1, 1);
  EXPECT_WAITS("old", 4);
  assert_int_equal(requeues("new"), 0);
  memory.fail_at = 0;
  EXPECT_WAITS("new", 1, 2);
}

/* The number of keys is bounded; here the bound is lowered to reach it. */
static void test_full_table(void **state) {
  (void)state;
  assert_int_equal(KIN__KEY_TABLE_MAX, 16777216);
  kin__key_table table;
  kin__key_table_init(&table, &memory.allocator, (kin__hash_seed){1, 2},
                      sizeof(kin__key_head), 2);
  void *a;
  void *b;
  void *c;
  assert_int_equal(kin__key_table_take(&table, kin__cstr("a"), &a), 0);
  assert_int_equal(kin__key_table_take(&table, kin__cstr("b"), &b), 0);
  assert_int_equal(kin__key_table_take(&table, kin__cstr("c"), &c),
                   KIN_ETOOBIG);
  assert_int_equal(kin__key_table_take(&table, kin__cstr("a"), &c), 0);
  assert_ptr_equal(a, c);
  kin__key_table_give(&table, b);
  assert_int_equal(kin__key_table_take(&table, kin__cstr("c"), &c), 0);
  unsigned steps = 0;
  while (kin__key_table_clear_step(&table, 1)) {
    steps++;
  }
  assert_int_equal(steps + 1, 4); /* two keys, a segment of each kind */
}

/* --- The others ----------------------------------------------------------- */

/* WQ-12. client-go TestItemFastSlowRateLimiter. */
static void test_fast_slow(void **state) {
  (void)state;
  limiter = fast_slow(5, 10000, 3);
  EXPECT_WAITS("one", 5, 5, 5, 10000, 10000);
  assert_int_equal(requeues("one"), 5);
  EXPECT_WAITS("two", 5, 5);
  assert_int_equal(requeues("two"), 2);
  forget("one", 5);
}

/* WQ-12. client-go TestMaxOfRateLimiter: each limiter counts each failure. */
static void test_max_of(void **state) {
  (void)state;
  kin_rate_limiter *parts[] = {fast_slow(5, 3000, 3), exponential(1, 1000)};
  assert_int_equal(
      kin_rate_limiter_new_max_of(&limiter, &memory.allocator, parts, 2), 0);
  EXPECT_WAITS("one", 5, 5, 5, 3000, 3000);
  assert_int_equal(requeues("one"), 5);
  EXPECT_WAITS("two", 5, 5);
  assert_int_equal(requeues("two"), 2);
  forget("one", 5);
  assert_int_equal(kin_rate_limiter_requeues(parts[1], kin__cstr("two")), 2);
}

/* WQ-12: the most requeues of any part count, whichever part that is. */
static void test_requeues_of_max_of(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    kin_rate_limiter *bucket; /* counts no keys */
    assert_int_equal(
        kin_rate_limiter_new_bucket(&bucket, &memory.allocator, 1000, 10), 0);
    kin_rate_limiter *parts[2];
    parts[i] = exponential(1, 1000);
    parts[1 - i] = bucket;
    assert_int_equal(
        kin_rate_limiter_new_max_of(&limiter, &memory.allocator, parts, 2), 0);
    EXPECT_WAITS("one", 1, 2);
    assert_int_equal(requeues("one"), 2);
    kin_rate_limiter_free(limiter);
    limiter = NULL;
  }
}

/* WQ-12. client-go TestWithMaxWaitRateLimiter. */
static void test_max_wait(void **state) {
  (void)state;
  kin_rate_limiter *inner = fast_slow(5, 1000 * 1000, 3);
  assert_int_equal(kin_rate_limiter_new_max_wait(&limiter, &memory.allocator,
                                                 inner, 500 * 1000),
                   0);
  EXPECT_WAITS("one", 5, 5, 5, 500 * 1000, 500 * 1000);
  assert_int_equal(requeues("one"), 5);
  EXPECT_WAITS("two", 5, 5);
  forget("one", 5);
}

/* WQ-12. A bucket for all keys: full at first; then a token each 100 ms, which
 * those that wait take in the order of their calls. */
static void test_bucket(void **state) {
  (void)state;
  limiter = bucket(10000, 3);
  const char *const keys[] = {"a", "b", "a"};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(when_at(keys[i], 50), 0);
  }
  assert_int_equal(when_at("c", 50), 100);
  assert_int_equal(when_at("d", 50), 200);
  assert_int_equal(when_at("e", 150), 200);
  assert_int_equal(when_at("f", 350), 100);
  assert_int_equal(when_at("g", 700), 0); /* 250 ms after the debt was paid */
  assert_int_equal(when_at("g", 700), 0);
  assert_int_equal(when_at("g", 700), 50);
  assert_int_equal(requeues("a"), 0);
  kin_rate_limiter_forget(limiter, kin__cstr("a"));
  assert_int_equal(when_at("a", 700), 150);
  for (size_t i = 0; i < 3; i++) { /* a long time: the bucket holds three */
    assert_int_equal(when_at("a", 1000000), 0);
  }
  assert_int_equal(when_at("a", 1000000), 100);
  assert_int_equal(when_at("a", 0), 200); /* time does not go back */
}

/* A time that is far from 0 is no time that has passed. Waits are exact: no
 * call rounds, so a million of them do not add up to an error. */
static void test_bucket_waits_are_exact(void **state) {
  (void)state;
  limiter = bucket(3000, 1);
  uint64_t start_ns = UINT64_MAX / 2;
  kin_str key = kin__cstr("a");
  assert_int_equal(kin_rate_limiter_when_ms(limiter, key, start_ns), 0);
  for (uint64_t i = 1; i <= 1000000; i++) {
    uint64_t exact_ms = (i * 1000 + 2) / 3; /* rounded up */
    assert_int_equal(kin_rate_limiter_when_ms(limiter, key, start_ns),
                     exact_ms);
  }
}

static void test_bucket_extremes(void **state) {
  (void)state;
  limiter = bucket(1, 1);
  assert_int_equal(when("a"), 0);
  uint64_t last_ms = 0;
  for (unsigned i = 0; i < 1000; i++) {
    last_ms = when("a");
  }
  assert_int_equal(last_ms, 1000u * 1000 * 1000);
  assert_int_equal(
      kin_rate_limiter_when_ms(limiter, kin__cstr("a"), UINT64_MAX), 0);
  kin_rate_limiter_free(limiter);
  limiter = bucket(1000000000, 1000000);
  for (unsigned i = 0; i < 1000000; i++) {
    assert_int_equal(when("a"), 0);
  }
  assert_int_equal(when("a"), 1);
  kin_rate_limiter *out;
  static const uint32_t bad[][2] = {
      {0, 1}, {1, 0}, {1000000001, 1}, {1, 1000001}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(
        kin_rate_limiter_new_bucket(&out, NULL, bad[i][0], bad[i][1]),
        KIN_EINVAL);
    assert_null(out);
  }
}

/* CN-11: 5 ms, doubled up to 1,000 s, and a bucket of 10 a second for all. */
static void test_default(void **state) {
  (void)state;
  assert_int_equal(kin_rate_limiter_new_default(&limiter, &memory.allocator),
                   0);
  EXPECT_WAITS("a", 5, 10, 20, 40);
  char key[8];
  for (unsigned i = 4; i < 100; i++) {
    snprintf(key, sizeof key, "%u", i);
    EXPECT_WAITS(key, 5);
  }
  EXPECT_WAITS("b", 100); /* the bucket is empty */
  EXPECT_WAITS("c", 200);
  EXPECT_WAITS("a", 300);
  for (unsigned i = 0; i < 40; i++) {
    (void)when_at("a", 1000000);
  }
  assert_int_equal(when_at("a", 100000000), 1000000);
}

/* --- A program's own ------------------------------------------------------ */

typedef struct own {
  unsigned when;
  unsigned forgotten;
  unsigned freed;
} own;

static uint64_t own_when(kin_str key, uint64_t now_ns, void *data) {
  own *o = data;
  o->when++;
  return key.length + now_ns;
}

static void own_forget(kin_str key, void *data) {
  own *o = data;
  (void)key;
  o->forgotten++;
}

static uint32_t own_requeues(kin_str key, void *data) {
  (void)data;
  return (uint32_t)key.length;
}

static void own_free(void *data) {
  own *o = data;
  o->freed++;
}

static kin_rate_limiter_callbacks own_callbacks(own *o) {
  kin_rate_limiter_callbacks callbacks = KIN_RATE_LIMITER_CALLBACKS_INIT;
  callbacks.when_ms = own_when;
  callbacks.forget = own_forget;
  callbacks.requeues = own_requeues;
  callbacks.free = own_free;
  callbacks.data = o;
  return callbacks;
}

static void test_own(void **state) {
  (void)state;
  own o = {0};
  kin_rate_limiter_callbacks callbacks = own_callbacks(&o);
  assert_int_equal(
      kin_rate_limiter_new(&limiter, &memory.allocator, &callbacks), 0);
  assert_int_equal(kin_rate_limiter_when_ms(limiter, kin__cstr("abc"), 4), 7);
  assert_int_equal(requeues("ab"), 2);
  kin_rate_limiter_forget(limiter, kin__cstr("abc"));
  kin_rate_limiter_free(limiter);
  assert_int_equal(o.when, 1);
  assert_int_equal(o.forgotten, 1);
  assert_int_equal(o.freed, 1);
  callbacks = (kin_rate_limiter_callbacks)KIN_RATE_LIMITER_CALLBACKS_INIT;
  callbacks.when_ms = own_when;
  callbacks.data = &o;
  assert_int_equal(
      kin_rate_limiter_new(&limiter, &memory.allocator, &callbacks), 0);
  assert_int_equal(requeues("ab"), 0);
  kin_rate_limiter_forget(limiter, kin__cstr("abc"));
  kin_rate_limiter_free(limiter);
  callbacks.when_ms = NULL;
  assert_int_equal(kin_rate_limiter_new(&limiter, NULL, &callbacks),
                   KIN_EINVAL);
  callbacks.size = 1;
  assert_int_equal(kin_rate_limiter_new(&limiter, NULL, &callbacks),
                   KIN_EINVAL);
  assert_int_equal(o.freed, 1);
}

/* --- Ownership ------------------------------------------------------------ */

/* A limiter has one owner: an owned one is refused, and free leaves it. */
static void test_limiter_owners(void **state) {
  (void)state;
  kin_rate_limiter *part = exponential(1, 1000);
  kin_rate_limiter *twice[] = {part, part};
  kin_rate_limiter *null[] = {part, NULL};
  assert_int_equal(kin_rate_limiter_new_max_of(&limiter, NULL, twice, 2),
                   KIN_EINVAL);
  assert_int_equal(kin_rate_limiter_new_max_of(&limiter, NULL, null, 2),
                   KIN_EINVAL);
  assert_int_equal(kin_rate_limiter_new_max_of(&limiter, NULL, twice, 0),
                   KIN_EINVAL);
  assert_int_equal(
      kin_rate_limiter_new_max_wait(&limiter, &memory.allocator, part, 7), 0);
  kin_rate_limiter *other;
  assert_int_equal(kin_rate_limiter_new_max_wait(&other, NULL, part, 7),
                   KIN_EINVAL);
  assert_null(other);
  kin_rate_limiter_free(part);
  EXPECT_WAITS("a", 1, 2, 4, 7);
}

static void test_limiter_bounds(void **state) {
  (void)state;
  kin_rate_limiter *parts[KIN__RATE_LIMITER_MAX_PARTS + 1];
  for (size_t i = 0; i < KIN__RATE_LIMITER_MAX_PARTS + 1; i++) {
    parts[i] = fast_slow((uint32_t)i, (uint32_t)i, 1);
  }
  assert_int_equal(kin_rate_limiter_new_max_of(&limiter, &memory.allocator,
                                               parts,
                                               KIN__RATE_LIMITER_MAX_PARTS + 1),
                   KIN_ETOOBIG);
  assert_int_equal(kin_rate_limiter_new_max_of(&limiter, &memory.allocator,
                                               parts,
                                               KIN__RATE_LIMITER_MAX_PARTS),
                   0);
  EXPECT_WAITS("a", KIN__RATE_LIMITER_MAX_PARTS - 1);
  kin_rate_limiter_free(parts[KIN__RATE_LIMITER_MAX_PARTS]);
  for (uint32_t depth = 2; depth < KIN__RATE_LIMITER_MAX_DEPTH; depth++) {
    assert_int_equal(
        kin_rate_limiter_new_max_wait(&limiter, &memory.allocator, limiter, 10),
        0);
  }
  kin_rate_limiter *deeper;
  assert_int_equal(
      kin_rate_limiter_new_max_wait(&deeper, &memory.allocator, limiter, 10),
      KIN_ETOOBIG);
  EXPECT_WAITS("a", 10);
}

static bool allocation_story(size_t fail_at) {
  fail_alloc_init(&memory, fail_at);
  kin_rate_limiter *of_all;
  if (kin_rate_limiter_new_default(&of_all, &memory.allocator) == 0) {
    kin_str key = kin__cstr("a");
    assert_int_equal(kin_rate_limiter_when_ms(of_all, key, 0), 5);
    assert_in_range(kin_rate_limiter_when_ms(of_all, key, 0), 5, 10);
    kin_rate_limiter_forget(of_all, key);
    kin_rate_limiter_free(of_all);
  } else {
    assert_null(of_all);
  }
  assert_int_equal(memory.live_blocks, 0);
  return fail_alloc_has_failed(&memory);
}

static void test_limiter_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(allocation_story, 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(test_exponential),
                                     TEST(test_exponential_overflow),
                                     TEST(test_exponential_ends),
                                     TEST(test_limited_keys),
                                     TEST(test_limiter_without_memory),
                                     TEST(test_full_table),
                                     TEST(test_fast_slow),
                                     TEST(test_max_of),
                                     TEST(test_requeues_of_max_of),
                                     TEST(test_max_wait),
                                     TEST(test_bucket),
                                     TEST(test_bucket_waits_are_exact),
                                     TEST(test_bucket_extremes),
                                     TEST(test_default),
                                     TEST(test_own),
                                     TEST(test_limiter_owners),
                                     TEST(test_limiter_bounds),
                                     TEST(test_limiter_sweep_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
