/* SPDX-License-Identifier: MIT */

/* RW-08: an object of as many levels as are kept is read like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/object.h>

#include "base/alloc.h"
#include "object/pointer_set.h"
#include "support/objects.h"

static int count_value(void *ctx, uint32_t id, kin_str scalar) {
  (void)id;
  (void)scalar;
  ++*(int *)ctx;
  return 0;
}

/* What is nested as deeply as may be is read, by pointers of any length; a
 * pointer with wildcards, along which is recursed, has 64 tokens at most. */
static void test_object_deepest(void **state) {
  (void)state;
  char *json = object_nested(9999);
  kin_object *object;
  kin_object_view *view;
  assert_int_equal(kin_object_parse(&object, NULL, json, strlen(json)), 0);
  assert_int_equal(kin_object_view_open(&view, object), 0);
  static char pointer[4 + 2 * 10000];
  strcpy(pointer, "/x");
  for (int i = 0; i < 9998; i++) {
    memcpy(pointer + 2 + 2 * i, "/0", 3);
  }
  kin_str value;
  assert_int_equal(kin_object_view_string(view, pointer, &value), KIN_ETYPE);
  strcat(pointer, "/0");
  assert_int_equal(kin_object_view_string(view, pointer, &value), KIN_ENOENT);
  char wildcards[3 + 2 * 65];
  strcpy(wildcards, "/x");
  for (int i = 1; i < 65; i++) {
    memcpy(wildcards + 2 * i, "/*", 3);
  }
  kin__pointer_set set;
  uint32_t id;
  int count = 0;
  kin__pointer_set_init(&set, kin__default_allocator());
  assert_int_equal(kin__pointer_set_add(&set, wildcards, &id), KIN_EINVAL);
  wildcards[2 * 64] = '\0';
  assert_int_equal(kin__pointer_set_add(&set, wildcards, &id), 0);
  assert_int_equal(kin__pointer_set_read(&set, kin_object_view_json(view),
                                         count_value, &count),
                   0);
  assert_int_equal(count, 0);
  kin__pointer_set_finish(&set);
  kin_object_view_close(view);
  kin_object_unref(object);
  free(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_object_deepest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
