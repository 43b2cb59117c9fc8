/* SPDX-License-Identifier: MIT */

/* JSON Pointers: the first line is a pointer, the rest a document. Oracles:
 *  - what is valid is what RFC 6901 says
 *  - several pointers that are read in one pass over the text give what each
 *    gives in the parsed document; any other text is no crash and no error
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
#include "object/pointer_set.h"
#include "support/naive_pointer.h"

/* The values of one reading, in their order: a hash of all, and a count. */
typedef struct found {
  uint64_t hash;
  size_t count;
} found;

static void on_value(void *ctx, kin_str value) {
  found *f = ctx;
  f->count++;
  for (size_t i = 0; i < value.length; i++) {
    f->hash = (f->hash ^ (unsigned char)value.data[i]) * 1099511628211u;
  }
  f->hash = (f->hash ^ value.length) * 1099511628211u;
}

static int on_scalar_value(void *ctx, kin_str value) {
  on_value(ctx, value);
  return 0;
}

static int on_scalar(void *ctx, uint32_t id, kin_str scalar) {
  FUZZ_CHECK(id < 3);
  return kin__json_scalar(kin__default_allocator(), scalar, on_scalar_value,
                          (found *)ctx + id);
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

/* The pointer three times: alone, and together with one that meets the same
 * values by `*`, and with itself. */
static void check_values(yyjson_doc *doc, const char *pointer, kin_str text) {
  const char *const pointers[] = {pointer, "/*/*", pointer};
  kin__pointer_set set;
  found together[3] = {{0, 0}};
  kin__pointer_set_init(&set, kin__default_allocator());
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t id = 0;
    int err = kin__pointer_set_add(&set, pointers[i], &id);
    FUZZ_CHECK(err == (is_usable(pointers[i]) ? 0 : KIN_EINVAL));
    FUZZ_CHECK(err != 0 || id == i);
    if (err != 0) {
      break;
    }
  }
  int err = kin__pointer_set_read(&set, text, on_scalar, together);
  FUZZ_CHECK(err == 0);
  for (uint32_t i = 0; doc != NULL && i < set.count; i++) {
    found naive = {0, 0};
    naive_pointer_each(yyjson_doc_get_root(doc), pointers[i], on_value, &naive);
    FUZZ_CHECK(together[i].count == naive.count);
    FUZZ_CHECK(together[i].hash == naive.hash);
  }
  kin__pointer_set_finish(&set);
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

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* An object's text has no white space around it. */
static kin_str trimmed(kin_str text) {
  while (text.length > 0 && is_space(text.data[0])) {
    text.data++;
    text.length--;
  }
  while (text.length > 0 && is_space(text.data[text.length - 1])) {
    text.length--;
  }
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  char *pointer = fuzz_string(fuzz_line(&in));
  kin_str text = fuzz_rest(&in);
  FUZZ_CHECK(kin__json_pointer_is_valid(pointer) == is_valid(pointer));
  yyjson_doc *doc;
  (void)kin__json_parse(&doc, kin__default_allocator(), text);
  check_values(doc, pointer, trimmed(text));
  kin__json_free(kin__default_allocator(), doc);
  check_projection(pointer);
  check_builder(pointer);
  check_view(pointer, text);
  free(pointer);
  return 0;
}
