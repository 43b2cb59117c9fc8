/* SPDX-License-Identifier: MIT */

/* Which members are kept, by the tree alone; that the rest of an object stays
 * valid JSON is shown in test_list_decoder.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/projection.h"
#include "support/fail_alloc.h"

/* What becomes of the value at a path of member names separated by spaces. */
static kin__project fate(const kin__projection *projection, const char *path) {
  const struct kin__projection_node *node = kin__projection_root(projection);
  kin__project result = node == NULL ? KIN__KEEP_ALL : KIN__DESCEND;
  while (*path != '\0' && result == KIN__DESCEND) {
    size_t length = strcspn(path, " ");
    const struct kin__projection_node *child;
    result = kin__projection_member(node, kin__str(path, length), &child);
    assert_int_equal(child != NULL, result == KIN__DESCEND);
    node = child;
    path += length + (path[length] == ' ');
  }
  return result;
}

static kin__projection *of_fields(const char *const *fields, size_t count) {
  kin__projection *projection;
  assert_int_equal(kin__projection_new_fields(
                       &projection, kin__default_allocator(), fields, count),
                   0);
  return projection;
}

static void assert_default(const kin__projection *p) {
  assert_int_equal(fate(p, "metadata managedFields"), KIN__DROP_ALL);
  assert_int_equal(fate(p, "metadata managedFieldss"), KIN__KEEP_ALL);
  assert_int_equal(fate(p, "metadata name"), KIN__KEEP_ALL);
  assert_int_equal(fate(p, "managedFields"), KIN__KEEP_ALL);
  assert_int_equal(fate(p, "spec template metadata managedFields"),
                   KIN__KEEP_ALL);
}

/* A string in the place of metadata is stored unless fields say which of its
 * members are. */
static void test_projection_scalar(void **state) {
  (void)state;
  static const char *const fields[] = {"/metadata", "/spec/a"};
  kin__projection *of_two = of_fields(fields, 2);
  kin__projection *without_labels = of_fields(fields, 1);
  assert_int_equal(kin__projection_drop_labels(without_labels), 0);
  const struct {
    const kin__projection *projection;
    const char *name;
    bool is_kept;
  } rows[] = {
      {kin__projection_default(false), "metadata", true},
      {without_labels, "metadata", true},
      {of_two, "spec", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct kin__projection_node *child;
    kin_str name = kin__str(rows[i].name, strlen(rows[i].name));
    assert_int_equal(
        kin__projection_member(kin__projection_root(rows[i].projection), name,
                               &child),
        KIN__DESCEND);
    assert_int_equal(kin__projection_keeps_scalar(child), rows[i].is_kept);
  }
  kin__projection_free(of_two);
  kin__projection_free(without_labels);
}

static void test_projection_default(void **state) {
  (void)state;
  assert_default(kin__projection_default(false));
  assert_ptr_equal(kin__projection_default(false),
                   kin__projection_default(false));
  kin__projection_free(kin__projection_default(false)); /* no effect */
  assert_default(kin__projection_default(false));
  assert_null(kin__projection_default(true));
  kin__projection *p;
  assert_int_equal(kin__projection_new(&p, kin__default_allocator(), false), 0);
  assert_default(p);
  kin__projection_free(p);

  assert_int_equal(kin__projection_new(&p, kin__default_allocator(), true), 0);
  assert_int_equal(fate(p, "metadata managedFields"), KIN__KEEP_ALL);
  assert_int_equal(fate(p, "x"), KIN__KEEP_ALL);
  kin__projection_free(p);
  kin__projection_free(NULL);

  assert_null(kin__projection_root(NULL));
  const struct kin__projection_node *child;
  assert_int_equal(kin__projection_member(NULL, KIN__LIT("a"), &child),
                   KIN__KEEP_ALL);
  assert_null(child);
}

/* Of many fields each is found, and no other. */
static void test_projection_of_many_fields(void **state) {
  (void)state;
  enum { MANY = 3000, STEP = 7 }; /* without a common factor */
  static char names[MANY][24];
  static const char *fields[MANY];
  for (uint32_t i = 0; i < MANY; i++) {
    uint32_t at = i * STEP % MANY; /* in no order */
    snprintf(names[i], sizeof names[i], "/d/%s%u", at % 2 == 0 ? "k" : "", at);
    fields[i] = names[i];
  }
  kin__projection *p = of_fields(fields, MANY);
  const struct kin__projection_node *node;
  const struct kin__projection_node *child;
  assert_int_equal(
      kin__projection_member(kin__projection_root(p), KIN__LIT("d"), &node),
      KIN__DESCEND);
  for (uint32_t i = 0; i < MANY + 2; i++) {
    char path[24];
    bool is_named = i < MANY;
    kin__project even = is_named && i % 2 == 0 ? KIN__KEEP_ALL : KIN__DROP_ALL;
    kin__project odd = is_named && i % 2 == 1 ? KIN__KEEP_ALL : KIN__DROP_ALL;
    snprintf(path, sizeof path, "d k%u", i);
    assert_int_equal(fate(p, path), even);
    snprintf(path, sizeof path, "d %u", i);
    assert_int_equal(fate(p, path), odd);
    assert_int_equal(kin__projection_element(node, i, &child),
                     odd == KIN__KEEP_ALL ? KIN__KEEP_ALL
                     : is_named           ? KIN__DESCEND
                                          : KIN__DROP_ALL);
    assert_int_equal(child != NULL, is_named && odd != KIN__KEEP_ALL);
  }
  kin__projection_free(p);
}

static void test_projection_fields(void **state) {
  (void)state;
  static const char *const fields[] = {
      "/spec/nodeName",
      "/status",
      "/status/phase",
      "/metadata/annotations/example.com~1team~0x",
      "/spec/containers/0/image",
      "/a//b"};
  kin__projection *p = of_fields(fields, 6);
  static const char *const kept[] = {
      "apiVersion",      "kind",
      "metadata name",   "metadata namespace",
      "metadata uid",    "metadata resourceVersion",
      "metadata labels", "metadata annotations example.com/team~x",
      "spec nodeName",   "status",
      "status phase",    "spec containers 0 image",
  };
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    if (fate(p, kept[i]) != KIN__KEEP_ALL) {
      fail_msg("%s is not kept", kept[i]);
    }
  }
  static const char *const dropped[] = {
      "metadata managedFields",
      "metadata annotations example.com~1team~0x",
      "spec x",
      "x",
      "spec containers 1",
      "a b",
  };
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
    if (fate(p, dropped[i]) != KIN__DROP_ALL) {
      fail_msg("%s is not dropped", dropped[i]);
    }
  }
  assert_int_equal(fate(p, "spec"), KIN__DESCEND);
  assert_int_equal(fate(p, "spec containers"), KIN__DESCEND);
  kin__projection_free(p);

  /* A field that was named first and one below it. */
  static const char *const nested[] = {"/spec/a", "/spec"};
  p = of_fields(nested, 2);
  assert_int_equal(fate(p, "spec"), KIN__KEEP_ALL);
  kin__projection_free(p);

  static const char *const all[] = {""};
  p = of_fields(all, 1);
  assert_int_equal(fate(p, "metadata"), KIN__KEEP_ALL);
  assert_null(kin__projection_root(p));
  kin__projection_free(p);

  p = of_fields(NULL, 0);
  assert_int_equal(fate(p, "metadata name"), KIN__KEEP_ALL);
  assert_int_equal(fate(p, "spec"), KIN__DROP_ALL);
  kin__projection_free(p);
}

/* What becomes of the first elements of /a. */
static void assert_elements(const char *const *fields, size_t count,
                            const char *want) {
  kin__projection *p = of_fields(fields, count);
  const struct kin__projection_node *array;
  assert_int_equal(
      kin__projection_member(kin__projection_root(p), KIN__LIT("a"), &array),
      KIN__DESCEND);
  for (uint32_t i = 0; want[i] != '\0'; i++) {
    const struct kin__projection_node *child;
    kin__project project = kin__projection_element(array, i, &child);
    const struct kin__projection_node *below;
    char got =
        project == KIN__KEEP_ALL   ? 'k'
        : project == KIN__DROP_ALL ? 'd'
        : kin__projection_member(child, KIN__LIT("x"), &below) == KIN__KEEP_ALL
            ? 'x'
            : 'e'; /* stays as an empty one */
    if (got != want[i]) {
      fail_msg("element %u: %c instead of %c", i, got, want[i]);
    }
  }
  kin__projection_free(p);
}

static void test_projection_of_elements(void **state) {
  (void)state;
  assert_elements((const char *[]){"/a/0/x"}, 1, "xddd");
  assert_elements((const char *[]){"/a/2/x"}, 1, "eexd");
  assert_elements((const char *[]){"/a/3", "/a/1/x"}, 2, "exekd");
  assert_elements((const char *[]){"/a/x"}, 1, "dd");
  /* Members of an object, but no indices. */
  assert_elements((const char *[]){"/a/01", "/a/+1", "/a/-", "/a/1x"}, 4, "dd");
  assert_elements((const char *[]){"/a/1234567890"}, 1, "dd");
  assert_elements((const char *[]){"/a/10"}, 1, "eeeeeeeeeekd");
  /* The default drops nothing of an array. */
  kin__projection *p;
  assert_int_equal(kin__projection_new(&p, kin__default_allocator(), false), 0);
  const struct kin__projection_node *child;
  assert_int_equal(kin__projection_element(kin__projection_root(p), 0, &child),
                   KIN__KEEP_ALL);
  assert_null(child);
  kin__projection_free(p);
}

static void test_projection_errors(void **state) {
  (void)state;
  char long_pointer[2 * 65 + 1];
  for (size_t i = 0; i < 65; i++) {
    memcpy(long_pointer + 2 * i, "/a", 3);
  }
  const char *const rows[] = {"spec", "/a~", "/a~2", NULL, long_pointer};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__projection *p = (kin__projection *)&p;
    assert_int_equal(
        kin__projection_new_fields(&p, kin__default_allocator(), &rows[i], 1),
        KIN_EINVAL);
    assert_null(p);
  }
  long_pointer[2 * 64] = '\0';
  kin__projection *p = of_fields(&rows[4], 1);
  kin__projection_free(p);
}

static void test_projection_out_of_memory(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec/a/b", "/status"};
  for (int kind = 0; kind < 3; kind++) {
    for (size_t n = 1;; n++) {
      fail_alloc memory;
      fail_alloc_init(&memory, n);
      kin__projection *p;
      int err = kind == 0 ? kin__projection_new(&p, &memory.allocator, false)
                          : kin__projection_new_fields(&p, &memory.allocator,
                                                       fields, 2);
      if (err == 0 && kind == 2) {
        err = kin__projection_drop_labels(p);
      }
      bool has_failed = fail_alloc_has_failed(&memory);
      assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
      assert_true(kind == 2 || (p == NULL) == has_failed);
      kin__projection_free(p);
      assert_int_equal(memory.live_blocks, 0);
      if (!has_failed) {
        assert_true(n > 4);
        break;
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_projection_default),
      cmocka_unit_test(test_projection_scalar),
      cmocka_unit_test(test_projection_fields),
      cmocka_unit_test(test_projection_of_many_fields),
      cmocka_unit_test(test_projection_of_elements),
      cmocka_unit_test(test_projection_errors),
      cmocka_unit_test(test_projection_out_of_memory),
  };
  return cmocka_run_group_tests_name("projection", tests, NULL, NULL);
}
