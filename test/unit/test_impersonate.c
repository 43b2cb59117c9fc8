/* SPDX-License-Identifier: MIT */

/* TR-05, TR-06: the header fields that say whom a request is made for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "support/fail_alloc.h"
#include "transport/impersonate.h"

/* Renders into `out`, NUL-terminated. */
static int render(char *out, size_t size, const kin__impersonation *whom) {
  kin__buf fields;
  const char *reason;
  kin__buf_init(&fields, kin__default_allocator(), KIN__IMPERSONATE_MAX_BYTES);
  int err = kin__impersonate_render(&fields, whom, &reason);
  assert_true(fields.length < size);
  if (fields.length > 0) {
    memcpy(out, fields.data, fields.length);
  }
  out[fields.length] = '\0';
  assert_int_equal(reason != NULL, err == KIN_EINVAL);
  kin__buf_finish(&fields);
  return err;
}

static const char *const groups[] = {"system:masters", "a group",
                                     "system:masters"};
static const kin_impersonate_extra extra[] = {
    {"scopes", "view"}, {"scopes", "dev, \xc3\xa4"}, {"example.com/x y%", ""}};

static const kin__impersonation everything = {.user = "Ada Lovelace",
                                              .uid = "06f6-6eb3",
                                              .groups = groups,
                                              .group_count = 3,
                                              .extra = extra,
                                              .extra_count = 3};

/* client-go TestImpersonationRoundTripper; TR-05, TR-06. */
static void test_impersonate_everything(void **state) {
  (void)state;
  char out[1024];
  assert_int_equal(render(out, sizeof out, &everything), 0);
  assert_string_equal(out, "Impersonate-User: Ada Lovelace\r\n"
                           "Impersonate-Uid: 06f6-6eb3\r\n"
                           "Impersonate-Group: system:masters\r\n"
                           "Impersonate-Group: a group\r\n"
                           "Impersonate-Group: system:masters\r\n"
                           "Impersonate-Extra-scopes: view\r\n"
                           "Impersonate-Extra-scopes: dev, \xc3\xa4\r\n"
                           "Impersonate-Extra-example.com%2Fx%20y%25: \r\n");
}

static void test_impersonate_nobody(void **state) {
  (void)state;
  char out[64];
  const kin__impersonation nobody = {.user = NULL};
  assert_int_equal(render(out, sizeof out, &nobody), 0);
  assert_string_equal(out, "");
  const kin__impersonation user = {.user = "u"};
  assert_int_equal(render(out, sizeof out, &user), 0);
  assert_string_equal(out, "Impersonate-User: u\r\n");
}

/* client-go TestHeaderEscapeRoundTrip; TR-06: every byte of a key, and what a
 * server makes of it again. */
static void test_impersonate_key_escapes(void **state) {
  (void)state;
  static const char name[] = "Impersonate-Extra-";
  static const char token[] =
      "!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
      "abcdefghijklmnopqrstuvwxyz";
  for (int c = 1; c < 256; c++) {
    char key[2] = {(char)c, '\0'};
    const kin_impersonate_extra pair = {key, "v"};
    const kin__impersonation whom = {
        .user = "u", .extra = &pair, .extra_count = 1};
    char out[128];
    assert_int_equal(render(out, sizeof out, &whom), 0);
    const char *at = strstr(out, name);
    assert_non_null(at);
    at += sizeof name - 1;
    if (strchr(token, c) != NULL) {
      assert_int_equal((unsigned char)at[0], c);
      assert_string_equal(at + 1, ": v\r\n");
    } else {
      unsigned value;
      assert_int_equal(sscanf(at, "%%%2X", &value), 1);
      assert_int_equal(value, c);
      assert_string_equal(at + 3, ": v\r\n");
    }
  }
}

/* TR-06: all but a user need one. */
static void test_impersonate_without_a_user(void **state) {
  (void)state;
  const kin__impersonation rows[] = {
      {.uid = "1"},
      {.groups = groups, .group_count = 1},
      {.extra = extra, .extra_count = 1},
      {.uid = "1", .groups = groups, .group_count = 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char out[64];
    assert_int_equal(render(out, sizeof out, &rows[i]), KIN_EINVAL);
    assert_string_equal(out, "");
  }
}

/* Nothing that would be read as another field, or as another name. */
static void test_impersonate_bad_values(void **state) {
  (void)state;
  static const char *const values[] = {
      "",  "a\r\nImpersonate-Group: x", "a\n", "a\tb", "\x7f", "\x1b[0m", " a",
      "a "};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    const char *const two[] = {"good", values[i]};
    const kin_impersonate_extra pair = {"k", values[i]};
    const kin__impersonation rows[] = {
        {.user = values[i]},
        {.user = "u", .uid = values[i]},
        {.user = "u", .groups = two, .group_count = 2},
        {.user = "u", .extra = &pair, .extra_count = 1},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
      char out[128];
      bool is_extra = k == 3;
      int expected = is_extra && values[i][0] == '\0' ? 0 : KIN_EINVAL;
      assert_int_equal(render(out, sizeof out, &rows[k]), expected);
    }
  }
}

static void test_impersonate_nulls(void **state) {
  (void)state;
  const char *const hole[] = {"a", NULL};
  const kin_impersonate_extra no_key = {NULL, "v"};
  const kin_impersonate_extra empty_key = {"", "v"};
  const kin_impersonate_extra no_value = {"k", NULL};
  const kin__impersonation rows[] = {
      {.user = "u", .group_count = 1},
      {.user = "u", .extra_count = 1},
      {.user = "u", .groups = hole, .group_count = 2},
      {.user = "u", .extra = &no_key, .extra_count = 1},
      {.user = "u", .extra = &empty_key, .extra_count = 1},
      {.user = "u", .extra = &no_value, .extra_count = 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char out[64];
    assert_int_equal(render(out, sizeof out, &rows[i]), KIN_EINVAL);
  }
}

/* The sum is bounded, so an endless array ends. */
static void test_impersonate_too_big(void **state) {
  (void)state;
  static char value[4096];
  static const char *many[17];
  memset(value, 'g', sizeof value - 1);
  for (size_t i = 0; i < 17; i++) {
    many[i] = value;
  }
  kin__impersonation whom = {.user = "u", .groups = many, .group_count = 15};
  static char out[KIN__IMPERSONATE_MAX_BYTES + 1];
  assert_int_equal(render(out, sizeof out, &whom), 0);
  whom.group_count = 17;
  assert_int_equal(render(out, sizeof out, &whom), KIN_ETOOBIG);
}

static void test_impersonate_without_memory(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin__buf fields;
    const char *reason;
    kin__buf_init(&fields, &memory.allocator, KIN__IMPERSONATE_MAX_BYTES);
    int err = kin__impersonate_render(&fields, &everything, &reason);
    kin__buf_finish(&fields);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    assert_null(reason);
    if (!fail_alloc_has_failed(&memory)) {
      assert_int_equal(err, 0);
      assert_true(n > 1);
      break;
    }
    assert_int_equal(err, KIN_ENOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_impersonate_everything),
      cmocka_unit_test(test_impersonate_nobody),
      cmocka_unit_test(test_impersonate_key_escapes),
      cmocka_unit_test(test_impersonate_without_a_user),
      cmocka_unit_test(test_impersonate_bad_values),
      cmocka_unit_test(test_impersonate_nulls),
      cmocka_unit_test(test_impersonate_too_big),
      cmocka_unit_test(test_impersonate_without_memory),
  };
  return cmocka_run_group_tests_name("impersonate", tests, NULL, NULL);
}
