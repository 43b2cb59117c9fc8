/* SPDX-License-Identifier: MIT */

/* Shards: the hash, the ranges, the selector. Ported by meaning from the tests of
 * k8s.io/apimachinery/pkg/sharding (hash_test.go, selector_test.go) and
 * Kubernetes' test/integration/apiserver/sharding_test.go, which computes the
 * ranges. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "listwatch/shard.h"

static bool has(uint32_t index, uint32_t count, const char *uid) {
  const kin__shard shard = {index, count};
  return kin__shard_has(&shard, kin__cstr(uid));
}

/* The places of fnv.New64a's results. */
static void test_hash(void **state) {
  (void)state;
  static const struct {
    const char *uid;
    uint32_t of_2, of_3, of_7, of_4096;
  } rows[] = {
      {"", 1, 2, 5, 3263},
      {"a", 1, 2, 4, 2806},
      {"abc-123", 0, 1, 3, 1822},
      {"12345678-1234-1234-1234-123456789012", 0, 0, 2, 1264},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_true(has(rows[i].of_2, 2, rows[i].uid));
    assert_true(has(rows[i].of_3, 3, rows[i].uid));
    assert_true(has(rows[i].of_7, 7, rows[i].uid));
    assert_true(has(rows[i].of_4096, 4096, rows[i].uid));
    assert_true(has(0, 1, rows[i].uid));
    assert_true(has(0, 0, rows[i].uid));
  }
}

static void assert_selector(uint32_t index, uint32_t count,
                            const char *expected) {
  const kin__shard shard = {index, count};
  char selector[KIN__SHARD_SELECTOR_SIZE];
  kin__shard_selector(&shard, selector);
  assert_string_equal(selector, expected);
}

static void test_selector(void **state) {
  (void)state;
  assert_selector(0, 0, "");
  assert_selector(0, 1, "");
  assert_selector(0, 2,
                  "shardRange(object.metadata.uid, '0x0000000000000000', "
                  "'0x8000000000000000')");
  assert_selector(1, 2,
                  "shardRange(object.metadata.uid, '0x8000000000000000', "
                  "'0x10000000000000000')");
  assert_selector(0, 3,
                  "shardRange(object.metadata.uid, '0x0000000000000000', "
                  "'0x5555555555555555')");
  assert_selector(2, 3,
                  "shardRange(object.metadata.uid, '0xaaaaaaaaaaaaaaaa', "
                  "'0x10000000000000000')");
  assert_selector(3, 4,
                  "shardRange(object.metadata.uid, '0xc000000000000000', "
                  "'0x10000000000000000')");
  assert_selector(4095, 4096,
                  "shardRange(object.metadata.uid, '0xfff0000000000000', "
                  "'0x10000000000000000')");
}

static bool is_valid(uint32_t index, uint32_t count) {
  const kin__shard shard = {index, count};
  return kin__shard_is_valid(&shard);
}

/* The limit: 4,096 shards. */
static void test_limits(void **state) {
  (void)state;
  assert_true(is_valid(0, 0));
  assert_true(is_valid(0, 1));
  assert_true(is_valid(4095, 4096));
  assert_false(is_valid(1, 0));
  assert_false(is_valid(1, 1));
  assert_false(is_valid(2, 2));
  assert_false(is_valid(0, 4097));
  assert_false(is_valid(UINT32_MAX, UINT32_MAX));
}

/* Each object is in one shard, whatever the count; shards of random uids are
 * equally large: doc/scale.md takes 5 % for the difference. */
static void test_each_object_in_one_shard(void **state) {
  (void)state;
  enum { SHARDS = 16, UIDS = 160000 };
  uint32_t sizes[SHARDS] = {0};
  uint64_t random = 1;
  for (uint32_t i = 0; i < UIDS; i++) {
    char uid[40];
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t high = random;
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    snprintf(uid, sizeof uid, "%08x-%04x-4%03x-a%03x-%012llx",
             (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
             (unsigned)(high >> 4 & 0xfff), (unsigned)(random >> 52),
             (unsigned long long)(random >> 4 & 0xffffffffffff));
    uint32_t shards = 0;
    for (uint32_t j = 0; j < SHARDS; j++) {
      bool is_own = has(j, SHARDS, uid);
      shards += is_own;
      sizes[j] += is_own;
    }
    assert_int_equal(shards, 1);
    assert_int_equal(has(0, 3, uid) + has(1, 3, uid) + has(2, 3, uid), 1);
  }
  for (uint32_t j = 0; j < SHARDS; j++) {
    assert_in_range(sizes[j], UIDS / SHARDS * 95 / 100,
                    UIDS / SHARDS * 105 / 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash),
      cmocka_unit_test(test_selector),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_each_object_in_one_shard),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
