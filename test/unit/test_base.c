/* SPDX-License-Identifier: MIT */
/* The small parts of base: strings, allocation, lists, log, errors, random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/link.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "support/fail_alloc.h"

static void test_str_equal(void **state) {
  (void)state;
  assert_true(kin__str_equal(kin__str(NULL, 0), KIN__LIT("")));
  assert_true(kin__str_equal(kin__cstr(NULL), KIN__LIT("")));
  assert_true(kin__str_equal(kin__cstr("abc"), KIN__LIT("abc")));
  assert_false(kin__str_equal(KIN__LIT("abc"), KIN__LIT("abd")));
  assert_false(kin__str_equal(KIN__LIT("abc"), KIN__LIT("ab")));
  assert_false(kin__str_equal(KIN__LIT("a\0b"), KIN__LIT("a\0c")));
  assert_true(
      kin__str_equal_nocase(KIN__LIT("Retry-After"), KIN__LIT("reTRY-aFTER")));
  assert_false(kin__str_equal_nocase(KIN__LIT("@["), KIN__LIT("`{")));
  assert_false(kin__str_equal_nocase(KIN__LIT("ab"), KIN__LIT("abc")));
  assert_false(kin__str_equal_nocase(KIN__LIT("\xc3"), KIN__LIT("\xe3")));
}

static const kin_str nothing_at_all = {NULL, 9};
static const kin_str of_nine = KIN_STR_INIT("nine byte");

/* <kin/str.h>: a string without bytes is empty, whatever its length. */
static void test_str_compares(void **state) {
  (void)state;
  assert_int_equal(of_nine.length, 9);
  assert_int_equal(KIN_STR("a\0b").length, 3);
  assert_int_equal(kin_str_of(NULL).length, 0);
  assert_true(kin_str_equal(kin_str_of("web"), KIN_STR("web")));
  assert_true(kin_str_equal(nothing_at_all, KIN_STR("")));
  assert_false(kin_str_equal(nothing_at_all, of_nine));
  assert_false(kin_str_equal(KIN_STR("a\0b"), KIN_STR("a\0c")));
  assert_int_equal(kin_str_compare(KIN_STR("b"), KIN_STR("b")), 0);
  assert_int_equal(kin_str_compare(nothing_at_all, KIN_STR("")), 0);
  assert_true(kin_str_compare(KIN_STR("a"), KIN_STR("b")) < 0);
  assert_true(kin_str_compare(KIN_STR("\xc3"), KIN_STR("b")) > 0);
  assert_true(kin_str_compare(KIN_STR("web"), KIN_STR("web-0")) < 0);
  assert_true(kin_str_compare(KIN_STR("web-0"), KIN_STR("web")) > 0);
  assert_true(kin_str_compare(nothing_at_all, of_nine) < 0);
  assert_true(kin_str_begins_with(KIN_STR("web-0"), KIN_STR("web")));
  assert_true(kin_str_begins_with(KIN_STR("web"), nothing_at_all));
  assert_true(kin_str_begins_with(nothing_at_all, KIN_STR("")));
  assert_false(kin_str_begins_with(KIN_STR("we"), KIN_STR("web")));
  assert_false(kin_str_begins_with(nothing_at_all, KIN_STR("n")));
}

static void test_str_copies(void **state) {
  (void)state;
  char to[4] = "xxx";
  assert_int_equal(kin_str_copy(to, sizeof to, KIN_STR("abc")), 3);
  assert_string_equal(to, "abc");
  assert_int_equal(kin_str_copy(to, sizeof to, KIN_STR("12345")), 5);
  assert_string_equal(to, "123");
  assert_int_equal(kin_str_copy(to, 0, KIN_STR("z")), 1);
  assert_string_equal(to, "123");
  assert_int_equal(kin_str_copy(NULL, 0, KIN_STR("four")), 4);
  assert_int_equal(kin_str_copy(to, sizeof to, nothing_at_all), 0);
  assert_string_equal(to, "");
  assert_int_equal(kin_str_copy(to, 1, KIN_STR("abc")), 3);
  assert_string_equal(to, "");
}

/* <kin/str.h>: without bytes nothing is printed, whatever the length. */
static void test_str_is_printed(void **state) {
  (void)state;
  static const struct {
    kin_str text;
    const char *printed;
  } rows[] = {{{"abc", 2}, "<ab>"},
              {{"", 0}, "<>"},
              {{NULL, 0}, "<>"},
              {{NULL, 9}, "<>"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[16];
    snprintf(text, sizeof text, "<" KIN_STR_FORMAT ">",
             KIN_STR_ARG(rows[i].text));
    assert_string_equal(text, rows[i].printed);
  }
}

static void test_str_to_u64(void **state) {
  (void)state;
  uint64_t value = 77;
  static const char *const bad[] = {"",
                                    "-1",
                                    "+1",
                                    " 1",
                                    "1 ",
                                    "0x1",
                                    "1e3",
                                    "18446744073709551616",
                                    "99999999999999999999",
                                    "184467440737095516150"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_false(kin__str_to_u64(kin__cstr(bad[i]), &value));
    assert_int_equal(value, 77);
  }
  assert_true(kin__str_to_u64(KIN__LIT("0"), &value));
  assert_int_equal(value, 0);
  assert_true(kin__str_to_u64(KIN__LIT("0010"), &value));
  assert_int_equal(value, 10);
  assert_true(kin__str_to_u64(KIN__LIT("18446744073709551615"), &value));
  assert_true(value == UINT64_MAX);
  assert_true(kin__str_to_u64(kin__str("1234", 2), &value));
  assert_int_equal(value, 12);
}

static void test_alloc_refuses_overflow(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  const kin_allocator *a = &memory.allocator;
  assert_null(kin__calloc(a, SIZE_MAX / 2, 3));
  assert_null(kin__realloc_array(a, NULL, 0, SIZE_MAX / 4, 8));
  assert_null(kin__strndup(a, "x", SIZE_MAX));
  assert_int_equal(memory.calls, 0);
}

static void test_alloc_copies(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  const kin_allocator *a = &memory.allocator;
  char *s = kin__strndup(a, "abcdef", 3);
  assert_string_equal(s, "abc");
  char *empty = kin__strndup(a, NULL, 0);
  assert_string_equal(empty, "");
  assert_null(kin__strdup(a, NULL));
  uint32_t *zeros = kin__calloc(a, 5, sizeof *zeros);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(zeros[i], 0);
  }
  kin__free(a, s);
  kin__free(a, empty);
  kin__free(a, zeros);
  kin__free(a, NULL);
  assert_int_equal(memory.live_blocks, 0);
}

/* An array that becomes empty stays a block, also with allocators whose
 * realloc(p, 0) frees. */
static void test_alloc_array_may_become_empty(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  const kin_allocator *a = &memory.allocator;
  int *items = kin__realloc_array(a, NULL, 0, 2, sizeof *items);
  items[0] = 11;
  items = kin__realloc_array(a, items, 2, 0, sizeof *items);
  assert_non_null(items);
  assert_int_equal(memory.live_bytes, 1);
  items = kin__realloc_array(a, items, 0, 4, sizeof *items);
  assert_non_null(items);
  assert_int_equal(memory.live_bytes, 4 * sizeof *items);
  kin__free(a, items);
  items = kin__realloc_array(kin__default_allocator(), NULL, 0, 0, 8);
  assert_non_null(items);
  items = kin__realloc_array(kin__default_allocator(), items, 0, 0, 8);
  assert_non_null(items);
  kin__free(kin__default_allocator(), items);
  assert_int_equal(memory.live_blocks, 0);
}

static void test_memory_is_counted(void **state) {
  (void)state;
  fail_alloc fail;
  fail_alloc_init(&fail, 0);
  kin__memory *memory = kin__memory_new(&fail.allocator);
  assert_ptr_equal(kin__memory_ref(memory), memory);
  kin__memory_unref(memory);
  assert_int_equal(fail.live_blocks, 1);
  kin__memory_unref(memory);
  assert_int_equal(fail.live_blocks, 0);
  kin__memory_unref(NULL);
  fail_alloc_init(&fail, 1);
  assert_null(kin__memory_new(&fail.allocator));
  memory = kin__memory_new(NULL);
  assert_ptr_equal(memory->allocator.malloc, kin__default_allocator()->malloc);
  kin__memory_unref(memory);
}

typedef struct node {
  int number;
  kin__link link;
} node;

static void assert_list(const kin__link *head, const char *expected) {
  const kin__link *l = head->next;
  for (; *expected != '\0'; expected++, l = l->next) {
    assert_ptr_not_equal(l, head);
    assert_int_equal(KIN__CONTAINER_OF(l, node, link)->number, *expected - '0');
    assert_ptr_equal(l->next->prev, l);
  }
  assert_ptr_equal(l, head);
}

static void test_list(void **state) {
  (void)state;
  kin__link a;
  kin__link b;
  node nodes[6];
  kin__link_init(&a);
  kin__link_init(&b);
  assert_true(kin__link_is_empty(&a));
  kin__link_splice(&a, &b);
  assert_list(&a, "");
  for (int i = 0; i < 6; i++) {
    nodes[i].number = i;
    kin__link_init(&nodes[i].link);
    kin__link_push(i < 3 ? &a : &b, &nodes[i].link);
  }
  assert_list(&a, "012");
  kin__link_remove(&nodes[1].link);
  kin__link_remove(&nodes[1].link);
  assert_true(kin__link_is_empty(&nodes[1].link));
  assert_list(&a, "02");
  kin__link_splice(&a, &b);
  assert_list(&a, "02345");
  assert_list(&b, "");
  kin__link_splice(&b, &a);
  assert_list(&b, "02345");
  assert_list(&a, "");
}

static struct {
  unsigned calls;
  kin_log_level level;
  char line[600];
} logged;

static void keep_line(kin_log_level level, const char *line, void *data) {
  assert_ptr_equal(data, &logged);
  logged.calls++;
  logged.level = level;
  assert_true(strlen(line) < sizeof logged.line);
  strcpy(logged.line, line);
}

static void test_log_threshold_and_length(void **state) {
  (void)state;
  kin__log log = {keep_line, &logged, KIN_LOG_WARN};
  kin__log_write(NULL, KIN_LOG_ERROR, "nobody");
  kin__log_write(&(kin__log){0}, KIN_LOG_ERROR, "nobody");
  kin__log_write(&log, KIN_LOG_INFO, "not wanted");
  assert_int_equal(logged.calls, 0);
  kin__log_write(&log, KIN_LOG_WARN, "list of %s took %d ms", "pods", 12);
  assert_int_equal(logged.calls, 1);
  assert_int_equal(logged.level, KIN_LOG_WARN);
  assert_string_equal(logged.line, "list of pods took 12 ms");
  kin__log_write(&log, KIN_LOG_ERROR, "%600s", "x");
  assert_int_equal(strlen(logged.line), 511);
}

/* Whatever a name or a key has in it, a line is one line. */
static void test_log_is_one_line(void **state) {
  (void)state;
  char problem[KIN__PROBLEM_SIZE];
  kin__log log = {keep_line, &logged, KIN_LOG_WARN, problem};
  kin__log_write(&log, KIN_LOG_WARN, "%s", "a\nb\r\tc\x7f\x1b[1m\xc3\xa4");
  assert_string_equal(logged.line, "a b  c  [1m\xc3\xa4");
  assert_int_equal(kin__log_problem(&log, -7, "plural: \"%s\"", "a\nb"), -7);
  assert_string_equal(logged.line, "plural: \"a b\"");
  assert_string_equal(problem, logged.line);
}

/* Half a character at the end is dropped; a whole one, and bytes that begin
 * none, stay. */
static void test_str_cut(void **state) {
  (void)state;
  static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (size_t max = 0; max < sizeof kept / sizeof *kept; max++) {
    kin_str cut = kin__str_cut(kin__cstr(text), max);
    assert_ptr_equal(cut.data, text);
    assert_int_equal(cut.length, kept[max]);
  }
  assert_int_equal(kin__str_cut(kin__str("\x80\x80", 2), 9).length, 2);
  assert_int_equal(kin__str_cut(kin__str("z\x80\x80\x80\x80", 5), 5).length, 5);
  assert_int_equal(kin__str_cut(kin__str(NULL, 0), 5).length, 0);
  char line[] = "a\n\xe2\x82";
  kin__put_on_one_line(line);
  assert_string_equal(line, "a ");
  char inner[] = "\"\xe2\x82\" \xf0\x9f\x98\t\xc3 \xe2\x82\xac\xc3\xa4";
  kin__put_on_one_line(inner);
  assert_string_equal(inner, "\"??\" ??? ? \xe2\x82\xac\xc3\xa4");
}

static void test_error_names_and_texts(void **state) {
  (void)state;
  assert_string_equal(kin_err_name(0), "OK");
  assert_string_equal(kin_strerror(0), "success");
#define CHECK(name, value, text)                                               \
  assert_in_range(-KIN_##name, 5000, 5999);                                    \
  assert_string_equal(kin_err_name(value), "KIN_" #name);                      \
  assert_string_equal(kin_strerror(KIN_##name), text);
  KIN_ERRNO_MAP(CHECK)
#undef CHECK
  assert_string_equal(kin_err_name(UV_ECONNREFUSED), "ECONNREFUSED");
  assert_string_equal(kin_strerror(UV_ECONNREFUSED),
                      uv_strerror(UV_ECONNREFUSED));
  /* Codes nobody knows are no reason to fail, nor to allocate. */
  static const int unknown[] = {1, -1234567, -5999, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    assert_string_equal(kin_err_name(unknown[i]), "UNKNOWN");
    assert_string_equal(kin_strerror(unknown[i]), "unknown error");
  }
}

static void test_error_class_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "none",   "dns",       "connect", "tls",      "auth",   "forbidden",
      "absent", "throttled", "server",  "protocol", "decode", "memory"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_string_equal(kin_error_class_name((kin_error_class)i), names[i]);
  }
  assert_int_equal(KIN_CLASS_MEMORY, sizeof names / sizeof names[0] - 1);
  assert_string_equal(kin_error_class_name((kin_error_class)99), "unknown");
}

static void test_random_is_repeatable(void **state) {
  (void)state;
  kin__random a = {0};
  /* The first outputs of splitmix64 for the seed 0. */
  assert_true(kin__random_next(&a) == UINT64_C(0xe220a8397b1dcdaf));
  assert_true(kin__random_next(&a) == UINT64_C(0x6e789e6aa1b965f4));
  assert_int_equal(kin__random_below(&a, 0), 0);
  for (int i = 0; i < 1000; i++) {
    assert_true(kin__random_below(&a, 7) < 7);
  }
  kin__random b = a;
  kin__hash_seed x = kin__random_hash_seed(&a);
  kin__hash_seed y = kin__random_hash_seed(&b);
  assert_true(x.k0 == y.k0 && x.k1 == y.k1 && x.k0 != x.k1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_str_equal),
      cmocka_unit_test(test_str_compares),
      cmocka_unit_test(test_str_copies),
      cmocka_unit_test(test_str_is_printed),
      cmocka_unit_test(test_str_to_u64),
      cmocka_unit_test(test_str_cut),
      cmocka_unit_test(test_alloc_refuses_overflow),
      cmocka_unit_test(test_alloc_copies),
      cmocka_unit_test(test_alloc_array_may_become_empty),
      cmocka_unit_test(test_memory_is_counted),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_log_threshold_and_length),
      cmocka_unit_test(test_log_is_one_line),
      cmocka_unit_test(test_error_names_and_texts),
      cmocka_unit_test(test_error_class_names),
      cmocka_unit_test(test_random_is_repeatable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
