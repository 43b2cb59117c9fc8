/* SPDX-License-Identifier: MIT */

/* JSON Pointers: the first line is a pointer, the rest a document. Oracles:
 *  - what is valid is what RFC 6901 says
 *  - a pointer without wildcards gives what yyjson's gives; one with them gives
 *    no more values than the document has
 *  - whoever else takes pointers (views, projections, builders) takes the valid
 *    ones and refuses the others */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include <yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/projection.h"
#include "fuzz/fuzz.h"
#include "object/json.h"

typedef struct found {
  size_t count;
  size_t bytes;
  kin_str first;
} found;

static int on_value(void *ctx, kin_str value) {
  found *f = ctx;
  if (f->count++ == 0) {
    f->first = value;
  }
  f->bytes += value.length;
  return 0;
}

static int stop(void *ctx, kin_str value) {
  (void)value;
  ++*(int *)ctx;
  return 1;
}

static bool is_valid(const char *pointer) {
  if (pointer[0] != '\0' && pointer[0] != '/') {
    return false;
  }
  for (size_t i = 0; pointer[i] != '\0'; i++) {
    if (pointer[i] == '~' && pointer[i + 1] != '0' && pointer[i + 1] != '1') {
      return false;
    }
  }
  return true;
}

static bool has_wildcard(const char *pointer) {
  for (const char *at = pointer; (at = strstr(at, "/*")) != NULL; at++) {
    if (at[2] == '/' || at[2] == '\0') {
      return true;
    }
  }
  return false;
}

static size_t token_count(const char *pointer) {
  size_t count = 0;
  for (; *pointer != '\0'; pointer++) {
    count += *pointer == '/';
  }
  return count;
}

/* Whether it may be used where something recurses along it. */
static bool is_usable(const char *pointer) {
  return is_valid(pointer) && token_count(pointer) <= KIN__JSON_POINTER_TOKENS;
}

static void check_values(yyjson_doc *doc, const char *pointer) {
  yyjson_val *root = yyjson_doc_get_root(doc);
  found f = {0};
  int err = kin__json_each(root, pointer, on_value, &f);
  FUZZ_CHECK(err == (is_usable(pointer) ? 0 : KIN_EINVAL));
  FUZZ_CHECK(f.count <= yyjson_doc_get_val_count(doc));
  int calls = 0;
  err = kin__json_each(root, pointer, stop, &calls);
  FUZZ_CHECK(f.count == 0 ? calls == 0 : calls == 1 && err == 1);
  if (!is_usable(pointer) || has_wildcard(pointer)) {
    return;
  }
  yyjson_val *value = yyjson_ptr_get(root, pointer);
  bool is_scalar = yyjson_is_str(value) || yyjson_is_num(value) ||
                   yyjson_is_raw(value) || yyjson_is_bool(value);
  FUZZ_CHECK(f.count == (is_scalar ? 1 : 0));
  if (yyjson_is_str(value)) {
    FUZZ_CHECK(f.bytes == yyjson_get_len(value));
  }
}

static void check_projection(const char *pointer) {
  kin__projection *projection;
  const char *const fields[] = {pointer, "/spec", pointer};
  int err = kin__projection_new_fields(&projection, kin__default_allocator(),
                                       fields, 3);
  FUZZ_CHECK(err == (is_usable(pointer) ? 0 : KIN_EINVAL));
  kin__projection_free(projection);
}

static void check_builder(const char *pointer) {
  kin_object_builder *builder;
  FUZZ_CHECK(kin_object_builder_new(&builder, NULL, NULL) == 0);
  (void)kin_object_builder_remove(builder, pointer);
  (void)kin_object_builder_keep(builder, &pointer, 1);
  (void)kin_object_builder_set_json(builder, pointer, "[1]", 3);
  kin_object_builder_free(builder);
}

static void check_view(const char *pointer, kin_str text) {
  kin_object *object;
  if (kin_object_parse(&object, NULL, text.data, text.length) != 0) {
    return;
  }
  kin_object_view *view;
  FUZZ_CHECK(kin_object_view_open(&view, object) == 0);
  kin_str value;
  int64_t number;
  bool flag;
  int err = kin_object_view_string(view, pointer, &value);
  FUZZ_CHECK(err <= 0);
  FUZZ_CHECK(is_valid(pointer) || err != 0);
  int types = (err == 0) + (kin_object_view_int(view, pointer, &number) == 0) +
              (kin_object_view_bool(view, pointer, &flag) == 0);
  FUZZ_CHECK(types <= 1);
  kin_object_view_close(view);
  kin_object_unref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  char *pointer = fuzz_string(fuzz_line(&in));
  kin_str text = fuzz_rest(&in);
  FUZZ_CHECK(kin__json_pointer_is_valid(pointer) == is_valid(pointer));
  yyjson_doc *doc;
  if (kin__json_parse(&doc, kin__default_allocator(), text) == 0) {
    check_values(doc, pointer);
    kin__json_free(kin__default_allocator(), doc);
  }
  check_projection(pointer);
  check_builder(pointer);
  check_view(pointer, text);
  free(pointer);
  return 0;
}
