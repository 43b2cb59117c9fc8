/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/str.h"

static uint32_t fold(uint64_t h) {
  return (uint32_t)(h ^ (h >> 32));
}

/* CPython's hash() of bytes is SipHash-1-3; with PYTHONHASHSEED=0 its key is
 * zero. */
static void test_hash_matches_another_implementation(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t hash;
  } cases[] = {
      {"a", UINT64_C(0x407448d2b89b1813)},
      {"ab", UINT64_C(0x555508cbc6add439)},
      {"1234567", UINT64_C(0xa33d651594fdae81)},
      {"12345678", UINT64_C(0x3489982430560a87)},
      {"123456789", UINT64_C(0x0fbc0f0007965fcf)},
      {"default/nginx-7d9b8c6f5-abcde", UINT64_C(0x301fb0b0ab0006f4)},
  };
  const kin__hash_seed zero = {0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(kin__hash(&zero, kin__cstr(cases[i].text)),
                     fold(cases[i].hash));
  }
}

/* The key 00 01 .. 0f and the inputs 00 01 .. of the algorithm's reference
 * tests. */
static void test_hash_uses_both_key_words(void **state) {
  (void)state;
  static const struct {
    size_t length;
    uint64_t hash;
  } cases[] = {
      {0, UINT64_C(0xabac0158050fc4dc)},  {1, UINT64_C(0xc9f49bf37d57ca93)},
      {2, UINT64_C(0x82cb9b024dc7d44d)},  {7, UINT64_C(0xd3927d989bb11140)},
      {8, UINT64_C(0x369095118d299a8e)},  {9, UINT64_C(0x25a48eb36c063de4)},
      {15, UINT64_C(0xd320d86d2a519956)}, {16, UINT64_C(0xcc4fdd1a7d908b66)},
      {63, UINT64_C(0x9d199062b7bbb3a8)},
  };
  const kin__hash_seed seed = {UINT64_C(0x0706050403020100),
                               UINT64_C(0x0f0e0d0c0b0a0908)};
  char bytes[64];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (char)i;
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(kin__hash(&seed, kin__str(bytes, cases[i].length)),
                     fold(cases[i].hash));
  }
}

static void test_hash_of_the_empty_string_needs_no_bytes(void **state) {
  (void)state;
  const kin__hash_seed seed = {1, 2};
  assert_int_equal(kin__hash(&seed, kin__str(NULL, 0)),
                   kin__hash(&seed, KIN__LIT("")));
}

static void test_hash_reads_unaligned_text(void **state) {
  (void)state;
  const kin__hash_seed seed = {3, 4};
  char bytes[80];
  uint32_t expected = kin__hash(&seed, KIN__LIT("kube-system/coredns-0123456"));
  for (size_t shift = 0; shift < 8; shift++) {
    memcpy(bytes + shift, "kube-system/coredns-0123456", 27);
    assert_int_equal(kin__hash(&seed, kin__str(bytes + shift, 27)), expected);
  }
}

/* Seeds that are made differ, so that nobody can choose keys that collide. */
static void test_hash_made_seeds_differ(void **state) {
  (void)state;
  const kin__hash_seed a = kin__hash_make_seed(&state);
  const kin__hash_seed b = kin__hash_make_seed(&state);
  assert_true(a.k0 != b.k0 || a.k1 != b.k1);
}

/* The values are of a program in Python that knows the formula only. */
static void test_hash_long_matches_another_implementation(void **state) {
  (void)state;
  static const struct {
    size_t length;
    uint64_t hash;
  } cases[] = {
      {0, UINT64_C(0x538abf7ee63d0925)},   {1, UINT64_C(0x608b17e87de42e49)},
      {15, UINT64_C(0x7e7e3ca96c30a286)},  {16, UINT64_C(0xbd36dec28d232f5c)},
      {63, UINT64_C(0xaacd6d61582206d6)},  {64, UINT64_C(0x5fc7c03706d035c0)},
      {65, UINT64_C(0x95e3f11711e708bf)},  {200, UINT64_C(0x35c4a3a83b810eb5)},
      {256, UINT64_C(0x7343869ceccc4111)},
  };
  const kin__hash_seed seed = {UINT64_C(0x0706050403020100),
                               UINT64_C(0x0f0e0d0c0b0a0908)};
  char bytes[256];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (char)(i * 7);
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_true(kin__hash_long(&seed, kin__str(bytes, cases[i].length)) ==
                cases[i].hash);
  }
}

/* Every bit counts, also zeros at the end; and the seed. */
static void test_hash_long_tells_texts_apart(void **state) {
  (void)state;
  const kin__hash_seed seed = {5, 6};
  const kin__hash_seed other = {5, 7};
  char bytes[160] = {0};
  uint64_t seen[161];
  for (size_t length = 0; length <= sizeof bytes; length++) {
    seen[length] = kin__hash_long(&seed, kin__str(bytes, length));
    for (size_t i = 0; i < length; i++) {
      assert_true(seen[i] != seen[length]);
    }
  }
  kin_str text = kin__str(bytes, sizeof bytes);
  assert_true(kin__hash_long(&other, text) != seen[sizeof bytes]);
  for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
    bytes[bit / 8] = (char)(1 << bit % 8);
    assert_true(kin__hash_long(&seed, text) != seen[sizeof bytes]);
    bytes[bit / 8] = 0;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash_matches_another_implementation),
      cmocka_unit_test(test_hash_uses_both_key_words),
      cmocka_unit_test(test_hash_of_the_empty_string_needs_no_bytes),
      cmocka_unit_test(test_hash_reads_unaligned_text),
      cmocka_unit_test(test_hash_made_seeds_differ),
      cmocka_unit_test(test_hash_long_matches_another_implementation),
      cmocka_unit_test(test_hash_long_tells_texts_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
