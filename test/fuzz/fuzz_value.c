/* SPDX-License-Identifier: MIT */

/* Values in JSON text: the first line is a pointer, the rest a document.
 * Oracles:
 *  - what a pointer names, and each type that it is read as, is what the parsed
 *    document has
 *  - fields that are read in one pass are what each pointer gives alone
 *  - a walk over the text visits what a walk over the document does
 *  - any other text is no crash, and no byte behind it is read */

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>
#include <kin/fields.h>
#include <kin/value.h>

#include "fuzz/fuzz.h"
#include "object/json.h"

/* Values deeper than that are not walked over. */
enum { WALK_DEPTH = 64 };

/* Reads a value as everything that it may be. */
static void read_all(kin_value value) {
  size_t size = value.json.length + 1;
  char *buffer = malloc(size);
  FUZZ_CHECK(buffer != NULL);
  kin_str s;
  double number;
  kin_time moment;
  kin_quantity quantity;
  kin_int_or_string either;
  int64_t i64;
  size_t length;
  if (kin_value_string(value, buffer, value.json.length, &s) == 0) {
    FUZZ_CHECK(kin_value_string_is(value, s));
    FUZZ_CHECK(s.length <= value.json.length);
  }
  int err = kin_value_copy_string(value, buffer, size, &length);
  FUZZ_CHECK(err != KIN_ETOOBIG);
  FUZZ_CHECK(err != 0 || buffer[length] == '\0');
  (void)kin_value_double(value, &number);
  (void)kin_value_time(value, &moment);
  (void)kin_value_duration(value, &i64);
  (void)kin_value_quantity(value, &quantity);
  FUZZ_CHECK(kin_value_base64(value, buffer, size, &length) != KIN_ETOOBIG);
  (void)kin_value_int_or_string(value, buffer, size, &either);
  free(buffer);
}

static void check_scalar(kin_value value, yyjson_val *want) {
  bool flag;
  int64_t i64;
  uint64_t u64;
  double number;
  if (yyjson_is_str(want)) {
    kin_str text = {yyjson_get_str(want), yyjson_get_len(want)};
    FUZZ_CHECK(kin_value_string_is(value, text));
  } else if (yyjson_is_bool(want)) {
    FUZZ_CHECK(kin_value_bool(value, &flag) == 0);
    FUZZ_CHECK(flag == yyjson_get_bool(want));
  } else if (yyjson_is_sint(want)) {
    FUZZ_CHECK(kin_value_int64(value, &i64) == 0);
    FUZZ_CHECK(i64 == yyjson_get_sint(want));
  } else if (yyjson_is_uint(want)) {
    FUZZ_CHECK(kin_value_uint64(value, &u64) == 0);
    FUZZ_CHECK(u64 == yyjson_get_uint(want));
  } else if (yyjson_is_real(want)) {
    /* "-0" is an integer here and a double there. */
    FUZZ_CHECK(value.json.length > KIN__JSON_NUMBER_MAX ||
               (kin_value_double(value, &number) == 0 &&
                number == yyjson_get_real(want)));
  } else if (yyjson_is_null(want)) {
    FUZZ_CHECK(kin_value_type_of(value) == KIN_VALUE_NULL);
  }
}

static void check_value(kin_value value, yyjson_val *want, int depth);

static void check_container(kin_value value, yyjson_val *want, int depth) {
  kin_value_iterator walk = kin_value_iterate(value);
  kin_value name;
  kin_value child;
  if (yyjson_is_arr(want)) {
    size_t index;
    size_t count;
    yyjson_val *element;
    yyjson_arr_foreach(want, index, count, element) {
      FUZZ_CHECK(kin_value_next(&walk, &child));
      check_value(child, element, depth + 1);
    }
  } else {
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    yyjson_obj_foreach(want, index, count, key, member) {
      FUZZ_CHECK(kin_value_next_member(&walk, &name, &child));
      check_scalar(name, key);
      check_value(child, member, depth + 1);
    }
  }
  FUZZ_CHECK(!kin_value_next(&walk, &child));
  FUZZ_CHECK(walk.error == 0);
}

/* `want` is what the text says, or NULL if there is nothing. */
static void check_value(kin_value value, yyjson_val *want, int depth) {
  FUZZ_CHECK((want != NULL) == (kin_value_type_of(value) != KIN_VALUE_ABSENT));
  if (want == NULL) {
    FUZZ_CHECK(value.error == KIN_ENOENT);
  } else if (!yyjson_is_ctn(want)) {
    check_scalar(value, want);
    read_all(value);
  } else if (depth < WALK_DEPTH) {
    check_container(value, want, depth);
  }
}

/* The same pointer alone and together with others. They agree on JSON; of other
 * text each may read what the other refuses, because neither reads what it can
 * skip. */
static void check_fields(kin_value whole, const char *pointer, bool is_json) {
  const char *const pointers[] = {"/b", pointer, "/metadata/name", pointer, ""};
  enum { COUNT = sizeof pointers / sizeof *pointers };
  kin_fields *fields;
  int err = kin_fields_new(&fields, NULL, pointers, COUNT);
  FUZZ_CHECK((err == 0) == kin__json_pointer_is_usable(pointer));
  if (err != 0) {
    return;
  }
  kin_value values[COUNT];
  err = kin_fields_read_value(fields, whole, values);
  for (size_t i = 0; i < COUNT; i++) {
    kin_value alone = kin_value_at(whole, pointers[i]);
    FUZZ_CHECK(!is_json || alone.error == KIN_EINVAL ||
               (err == 0 && values[i].error == alone.error &&
                kin_str_equal(values[i].json, alone.json)));
  }
  kin_fields_free(fields);
}

static void check_malformed(kin_value whole) {
  kin_value_iterator walk = kin_value_iterate(whole);
  kin_value name;
  kin_value child;
  while (kin_value_next_member(&walk, &name, &child)) {
    read_all(name);
    read_all(child);
  }
  walk = kin_value_iterate(whole);
  while (kin_value_next(&walk, &child)) {
    read_all(child);
  }
  read_all(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  char *pointer = fuzz_string(fuzz_line(&in));
  kin_str rest = fuzz_rest(&in);
  /* In memory of its own, so that reading beyond its end is found. */
  char *bytes = malloc(rest.length + 1);
  FUZZ_CHECK(bytes != NULL);
  memcpy(bytes, rest.data, rest.length);
  bytes = realloc(bytes, rest.length > 0 ? rest.length : 1);
  FUZZ_CHECK(bytes != NULL);
  kin_str text = {bytes, rest.length};
  kin_value whole = kin_value_of(text);
  yyjson_doc *doc = yyjson_read(text.length > 0 ? text.data : "", text.length,
                                YYJSON_READ_BIGNUM_AS_RAW);
  if (doc != NULL) {
    yyjson_val *root = yyjson_doc_get_root(doc);
    check_value(whole, root, 0);
    check_fields(whole, pointer, true);
    kin_value value = kin_value_at(whole, pointer);
    if (value.error != KIN_EINVAL) {
      check_value(value, yyjson_ptr_get(root, pointer), 0);
    }
  } else if (whole.error == 0) {
    check_malformed(whole);
  }
  /* Also text that only begins with a value, as a made-up kin_value may. */
  kin_value odd = {.json = text};
  check_malformed(odd);
  check_fields(odd, pointer, false);
  (void)kin_value_at(odd, pointer);
  yyjson_doc_free(doc);
  free(bytes);
  free(pointer);
  return 0;
}
