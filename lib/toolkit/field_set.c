/* SPDX-License-Identifier: MIT */
#include "toolkit/field_set.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"
#include "object/same_content.h"
#include "object/text_equal.h"
#include "values/value.h"

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
  *set = (kin__field_set){.allocator = allocator, .count = count};
  *bad = 0;
  if (count == 0) {
    return 0;
  }
  if (count > KIN__FIELDS_MAX || fields == NULL) {
    return KIN_EINVAL;
  }
  for (; *bad < count; ++*bad) {
    const char *pointer = fields[*bad];
    if (!kin__json_pointer_is_usable(pointer) || has_wildcard(pointer)) {
      return KIN_EINVAL;
    }
  }
  set->values = kin__calloc(allocator, 2 * count, sizeof *set->values);
  return set->values != NULL
             ? kin_fields_new(&set->fields, allocator, fields, count)
             : KIN_ENOMEM;
}

void kin__field_set_finish(kin__field_set *set) {
  kin__free(set->allocator, set->values);
  set->values = NULL;
  kin_fields_free(set->fields);
  set->fields = NULL;
}

static bool is_readable(kin_value value) {
  return value.error == 0 || value.error == KIN_ENOENT;
}

/* A value that is not there is an empty text. */
static kin_str text_of(kin_value value) {
  return kin_value_exists(value) ? value.json : kin__str(NULL, 0);
}

static bool has_same_fields(kin__field_set *set, kin_str a, kin_str b) {
  kin_value *of_a = set->values;
  kin_value *of_b = set->values + set->count;
  (void)kin_fields_read_value(set->fields, kin__value_of_text(a.data, a.length),
                              of_a);
  (void)kin_fields_read_value(set->fields, kin__value_of_text(b.data, b.length),
                              of_b);
  uint64_t bytes_left = kin__text_equal_bound((uint64_t)a.length + b.length);
  for (size_t i = 0; i < set->count; i++) {
    if (!is_readable(of_a[i]) || !is_readable(of_b[i]) ||
        !kin__text_equal(text_of(of_a[i]), text_of(of_b[i]), &bytes_left)) {
      return false;
    }
  }
  return true;
}

/* The texts are not inflated in place: nobody looks at them again, and a text
 * of an object that the program holds would stay, up to the bound of all
 * texts. */
bool kin__field_set_is_same(kin__field_set *set, const kin_object *a,
                            const kin_object *b) {
  if (a == b) {
    return true;
  }
  if (set->fields == NULL) {
    return kin__object_has_same_text(a, b);
  }
  kin_str texts[2];
  void *blocks[2] = {NULL, NULL};
  /* Without memory the fields count as changed. */
  bool is_same = kin__object_open_text(a, &texts[0], &blocks[0]) == 0 &&
                 kin__object_open_text(b, &texts[1], &blocks[1]) == 0 &&
                 has_same_fields(set, texts[0], texts[1]);
  kin__object_close_text(a, blocks[0]);
  kin__object_close_text(b, blocks[1]);
  return is_same;
}
