/* SPDX-License-Identifier: MIT */
#include "toolkit/field_set.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"
#include "object/text_equal.h"

static bool has_wildcard(const char *pointer) {
  for (const char *token = strstr(pointer, "/*"); token != NULL;
       token = strstr(token + 2, "/*")) {
    if (token[2] == '\0' || token[2] == '/') {
      return true;
    }
  }
  return false;
}

int kin__field_set_init(kin__field_set *set, const kin_allocator *allocator,
                        const char *const *fields, size_t count, size_t *bad) {
  kin__pointer_set_init(&set->pointers, allocator);
  set->pointers.emits_containers = true;
  set->values = NULL;
  *bad = 0;
  if (count == 0) {
    return 0;
  }
  if (count > KIN__FIELDS_MAX || fields == NULL) {
    return KIN_EINVAL;
  }
  set->values = kin__calloc(allocator, 2 * count, sizeof *set->values);
  int err = set->values != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; err == 0 && i < count; i++) {
    uint32_t id;
    *bad = i;
    err = fields[i] == NULL || has_wildcard(fields[i])
              ? KIN_EINVAL
              : kin__pointer_set_add(&set->pointers, fields[i], &id);
  }
  return err;
}

void kin__field_set_finish(kin__field_set *set) {
  kin__free(set->pointers.allocator, set->values);
  set->values = NULL;
  kin__pointer_set_finish(&set->pointers);
}

static int take(void *ctx, uint32_t id, kin_str value) {
  kin_str *values = ctx;
  values[id] = value;
  return 0;
}

static void read_values(kin__field_set *set, const kin_object *object,
                        kin_str *values) {
  memset(values, 0, set->pointers.count * sizeof *values);
  (void)kin__pointer_set_read(&set->pointers, kin__object_body(object), take,
                              values);
}

bool kin__field_set_is_same(kin__field_set *set, const kin_object *a,
                            const kin_object *b) {
  uint32_t count = set->pointers.count;
  if (a == b) {
    return true;
  }
  if (count == 0) {
    return kin__str_equal(kin__object_body(a), kin__object_body(b));
  }
  kin_str *of_a = set->values;
  kin_str *of_b = set->values + count;
  read_values(set, a, of_a);
  read_values(set, b, of_b);
  for (uint32_t i = 0; i < count; i++) {
    if (!kin__text_equal(of_a[i], of_b[i])) {
      return false;
    }
  }
  return true;
}
