/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/key.h>
#include <kin/object.h>

#include "base/random.h"
#include "base/str.h"
#include "support/objects.h"

static void assert_str(kin_str s, const char *expected) {
  assert_int_equal(s.length, strlen(expected));
  assert_memory_equal(s.data != NULL ? s.data : "", expected, s.length);
}

/* KY-03, KY-04: what is taken apart is put together again, byte by byte; what
 * cannot be is refused, and nothing is written. */
static void check_round_trip(const char *text) {
  char to[KIN_KEY_SIZE];
  const char *slash = strchr(text, '/');
  bool is_valid = text[0] != '\0' && text[0] != '/' &&
                  text[strlen(text) - 1] != '/' &&
                  (slash == NULL || strchr(slash + 1, '/') == NULL);
  kin_str namespace_ = KIN__LIT("untouched");
  kin_str name = KIN__LIT("untouched");
  int err = kin_key_split(kin__cstr(text), &namespace_, &name);
  assert_int_equal(err, is_valid ? 0 : KIN_EKEY);
  if (!is_valid) {
    assert_str(namespace_, "untouched");
    assert_str(name, "untouched");
    return;
  }
  assert_int_equal(namespace_.length, slash != NULL ? slash - text : 0);
  assert_str(name, slash != NULL ? slash + 1 : text);
  kin_str key;
  assert_int_equal(kin_key_make(to, sizeof to, namespace_, name, &key), 0);
  assert_string_equal(to, text);
  assert_str(key, text);
  assert_ptr_equal(key.data, to);
}

/* client-go TestObjectNames; KY-03, KY-04. */
static void test_key_split_and_make(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",     "a",     "a/b",  "/",    "/b",    "a/",           "//",
      "a//b", "a/b/c", "/a/b", "a/b/", "ä/.-_", "kube-system/x"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    check_round_trip(texts[i]);
  }
  static const char letters[] = "abcdefghi/";
  kin__random random = {1};
  for (unsigned count = 0; count < 1000; count++) {
    char text[11];
    for (unsigned i = 0; i < 10; i++) {
      text[i] = letters[kin__random_below(&random, sizeof letters - 1)];
    }
    text[10] = '\0';
    check_round_trip(text);
  }
}

/* KY-03: both results may be left out. */
static void test_key_split_into_nothing(void **state) {
  (void)state;
  kin_str part;
  assert_int_equal(kin_key_split(KIN__LIT("a/b"), &part, NULL), 0);
  assert_str(part, "a");
  assert_int_equal(kin_key_split(KIN__LIT("a/b"), NULL, &part), 0);
  assert_str(part, "b");
  assert_int_equal(kin_key_split(KIN__LIT("a/b"), NULL, NULL), 0);
  assert_int_equal(kin_key_split(kin__str(NULL, 0), NULL, NULL), KIN_EKEY);
}

static void test_key_make_refuses_malformed_parts(void **state) {
  (void)state;
  static const struct {
    const char *namespace_;
    const char *name;
  } rows[] = {{"", ""}, {"a", ""}, {"a/b", "c"}, {"a", "b/c"}, {"/", "a"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char to[KIN_KEY_SIZE] = "untouched";
    kin_str key = KIN__LIT("untouched");
    assert_int_equal(kin_key_make(to, sizeof to, kin__cstr(rows[i].namespace_),
                                  kin__cstr(rows[i].name), &key),
                     KIN_EKEY);
    assert_string_equal(to, "untouched");
    assert_str(key, "untouched");
  }
}

/* Room is checked to the byte, and so is the longest key of an API server. */
static void test_key_make_needs_room(void **state) {
  (void)state;
  char to[KIN_KEY_SIZE];
  kin_str a = KIN__LIT("ab");
  kin_str b = KIN__LIT("cde");
  for (size_t size = 0; size < 10; size++) {
    memset(to, 'x', sizeof to);
    int err = kin_key_make(to, size, a, b, NULL);
    assert_int_equal(err, size >= 7 ? 0 : KIN_ETOOBIG);
    assert_int_equal(to[size < 7 ? 0 : 7], 'x');
    assert_int_equal(kin_key_make(to, size, kin__str(NULL, 0), b, NULL),
                     size >= 4 ? 0 : KIN_ETOOBIG);
  }
  char namespace_[63];
  char name[254];
  memset(namespace_, 'n', sizeof namespace_);
  memset(name, 'o', sizeof name);
  assert_int_equal(kin_key_make(to, sizeof to,
                                kin__str(namespace_, sizeof namespace_),
                                kin__str(name, 253), NULL),
                   0);
  assert_int_equal(strlen(to), KIN_KEY_SIZE - 1);
  assert_int_equal(kin_key_make(to, sizeof to,
                                kin__str(namespace_, sizeof namespace_),
                                kin__str(name, 254), NULL),
                   KIN_ETOOBIG);
}

/* client-go TestDeletionHandlingObjectToName; KY-01, KY-02: an object's key,
 * which is also that of its last state when it was deleted, is made of its name
 * and namespace. */
static void test_key_of_an_object(void **state) {
  (void)state;
  static const char *const keys[] = {"name", "namespace/name"};
  for (size_t i = 0; i < 2; i++) {
    kin_object *object = object_keyed(NULL, keys[i], 1);
    assert_str(kin_object_key(object), keys[i]);
    char to[KIN_KEY_SIZE];
    assert_int_equal(kin_key_make(to, sizeof to, kin_object_namespace(object),
                                  kin_object_name(object), NULL),
                     0);
    assert_string_equal(to, keys[i]);
    kin_object_unref(object);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_split_and_make),
      cmocka_unit_test(test_key_split_into_nothing),
      cmocka_unit_test(test_key_make_refuses_malformed_parts),
      cmocka_unit_test(test_key_make_needs_room),
      cmocka_unit_test(test_key_of_an_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
