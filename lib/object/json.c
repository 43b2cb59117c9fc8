/* SPDX-License-Identifier: MIT */
#include "object/json.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"
#include "object/text.h"

enum {
  /* yyjson's writer asks for one block of less than this for a number or a
   * boolean. */
  SCALAR_POOL = 1024,
  PLAIN_DIGITS = 18 /* fit an int64_t, whatever they are */
};

/* kin_allocator and yyjson_alc have the same functions. */
static yyjson_alc adapt(const kin_allocator *allocator) {
  yyjson_alc alc = {.malloc = allocator->malloc,
                    .realloc = allocator->realloc,
                    .free = allocator->free,
                    .ctx = allocator->ctx};
  return alc;
}

/* Inline functions of yyjson's header read its values, so the release must not
 * be older. */
kin__library kin__json_library(void) {
  uint32_t found = yyjson_version();
  kin__library library = {.name = "yyjson",
                          .built_for = YYJSON_VERSION_STRING,
                          .fits = found >> 16 == YYJSON_VERSION_MAJOR &&
                                  found >= YYJSON_VERSION_HEX};
  snprintf(library.found, sizeof library.found, "%u.%u.%u",
           (unsigned)(found >> 16), (unsigned)(found >> 8 & 0xff),
           (unsigned)(found & 0xff));
  return library;
}

size_t kin__json_depth(kin_str text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      depth++;
      deepest = depth > deepest ? depth : deepest;
    } else if ((c == '}' || c == ']') && depth > 0) {
      depth--;
    }
  }
  return deepest;
}

bool kin__json_depth_is_bounded(kin_str text) {
  return kin__json_depth(text) <= KIN__JSON_DEPTH_MAX;
}

/* A number that no machine word holds stays text, so that one such number does
 * not make an object unreadable. */
int kin__json_read(yyjson_doc **out, const kin_allocator *allocator,
                   kin_str text) {
  *out = NULL;
  if (text.length == 0) {
    return KIN_ETRUNCATED;
  }
  yyjson_alc alc = adapt(allocator);
  yyjson_read_err err;
  /* yyjson does not write to it without YYJSON_READ_INSITU. */
  *out = yyjson_read_opts((char *)text.data, text.length,
                          YYJSON_READ_BIGNUM_AS_RAW, &alc, &err);
  if (*out != NULL) {
    return 0;
  }
  if (err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
    return KIN_ENOMEM;
  }
  return err.code == YYJSON_READ_ERROR_UNEXPECTED_END ||
                 err.code == YYJSON_READ_ERROR_EMPTY_CONTENT
             ? KIN_ETRUNCATED
             : KIN_EJSON;
}

int kin__json_parse(yyjson_doc **out, const kin_allocator *allocator,
                    kin_str text) {
  *out = NULL;
  if (!kin__json_depth_is_bounded(text)) {
    return KIN_EDEPTH;
  }
  int err = kin__json_read(out, allocator, text);
  return err == KIN_ETRUNCATED ? KIN_EJSON : err;
}

void kin__json_free(const kin_allocator *allocator, yyjson_doc *doc) {
  (void)allocator; /* the document holds the allocator */
  yyjson_doc_free(doc);
}

/* Typed reading. yyjson's own getters take any value, too. For a value of
 * another type they return an invalid combination (a length without a string),
 * so the type is checked first. */

kin__json *kin__json_root(struct yyjson_doc *doc) {
  return yyjson_doc_get_root(doc);
}

kin__json *kin__json_member(kin__json *object, const char *name) {
  return yyjson_obj_get(object, name);
}

kin__json *kin__json_at(kin__json *value, const char *pointer) {
  return yyjson_ptr_get(value, pointer);
}

bool kin__json_to_string(kin__json *value, kin_str *out) {
  if (!yyjson_is_str(value)) {
    return false;
  }
  *out = kin__str(yyjson_get_str(value), yyjson_get_len(value));
  return true;
}

bool kin__json_to_int(kin__json *value, int64_t *out) {
  if (!yyjson_is_int(value) ||
      (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)) {
    return false;
  }
  *out = yyjson_get_sint(value);
  return true;
}

bool kin__json_to_bool(kin__json *value, bool *out) {
  if (!yyjson_is_bool(value)) {
    return false;
  }
  *out = yyjson_get_bool(value);
  return true;
}

bool kin__json_is_object(kin__json *value) {
  return yyjson_is_obj(value);
}

bool kin__json_is_array(kin__json *value) {
  return yyjson_is_arr(value);
}

bool kin__json_is_null(kin__json *value) {
  return yyjson_is_null(value);
}

kin_str kin__json_string(kin__json *object, const char *name) {
  kin_str text = KIN__LIT("");
  (void)kin__json_to_string(kin__json_member(object, name), &text);
  return text;
}

int64_t kin__json_int(kin__json *object, const char *name, int64_t fallback) {
  int64_t value = fallback;
  (void)kin__json_to_int(kin__json_member(object, name), &value);
  return value;
}

kin__json_elements kin__json_elements_of(kin__json *array) {
  return (kin__json_elements){.next = yyjson_arr_get_first(array),
                              .left = yyjson_arr_size(array)};
}

kin__json *kin__json_next(kin__json_elements *elements) {
  kin__json *element = elements->left > 0 ? elements->next : NULL;
  if (element != NULL && --elements->left > 0) {
    elements->next = unsafe_yyjson_get_next(element);
  }
  return element;
}

int kin__json_number(kin_str text, double *out) {
  if (text.length > KIN__JSON_NUMBER_MAX) {
    return KIN_ETOOBIG;
  }
  char ended[KIN__JSON_NUMBER_MAX + 1]; /* yyjson needs a NUL */
  memcpy(ended, text.data, text.length);
  ended[text.length] = '\0';
  yyjson_val value;
  const char *end = yyjson_read_number(
      ended, &value, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL);
  if (end != ended + text.length || text.length == 0) {
    return KIN_EJSON;
  }
  double number = yyjson_get_num(&value);
  if (!(number >= -DBL_MAX && number <= DBL_MAX)) {
    return KIN_ETOOBIG;
  }
  *out = number;
  return 0;
}

/* Pointers. */

bool kin__json_pointer_is_valid(const char *pointer) {
  if (*pointer != '\0' && *pointer != '/') {
    return false;
  }
  for (; *pointer != '\0'; pointer++) {
    if (*pointer == '~' && pointer[1] != '0' && pointer[1] != '1') {
      return false;
    }
  }
  return true;
}

size_t kin__json_pointer_tokens(const char *pointer) {
  size_t count = 0;
  for (; *pointer != '\0'; pointer++) {
    count += *pointer == '/';
  }
  return count;
}

bool kin__json_pointer_is_usable(const char *pointer) {
  return pointer != NULL && kin__json_pointer_is_valid(pointer) &&
         kin__json_pointer_tokens(pointer) <= KIN__JSON_POINTER_TOKENS;
}

size_t kin__json_token_unescape(char *to, kin_str token) {
  size_t written = 0;
  for (size_t i = 0; i < token.length; i++) {
    char c = token.data[i];
    if (c == '~') {
      c = token.data[++i] == '1' ? '/' : '~';
    }
    to[written++] = c;
  }
  return written;
}

bool kin__json_token_to_element(kin_str token, uint64_t *element) {
  return (token.length == 1 || (token.length > 1 && token.data[0] != '0')) &&
         kin__str_to_u64(token, element);
}

/* The value of a number or a boolean as yyjson writes it: of two ways to write
 * one number, one. A number that no machine word holds stays as it is. */
static int write_scalar(yyjson_val *value,
                        int (*emit)(void *ctx, kin_str value), void *ctx) {
  if (yyjson_is_raw(value)) {
    return emit(ctx, kin__str(yyjson_get_raw(value), yyjson_get_len(value)));
  }
  if (!yyjson_is_num(value) && !yyjson_is_bool(value)) {
    return 0;
  }
  char pool[SCALAR_POOL];
  yyjson_alc alc;
  size_t length;
  if (!yyjson_alc_pool_init(&alc, pool, sizeof pool)) {
    return KIN_ENOMEM;
  }
  char *text =
      yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
  return text != NULL ? emit(ctx, kin__str(text, length)) : KIN_ENOMEM;
}

/* Whether the text is an integer that is written in one way only. */
static bool is_plain_integer(kin_str text) {
  size_t at = text.data[0] == '-';
  size_t digits = text.length - at;
  if (digits == 0 || digits > PLAIN_DIGITS || text.data[at] == '0') {
    return false;
  }
  while (at < text.length && kin__is_digit(text.data[at])) {
    at++;
  }
  return at == text.length;
}

static int emit_unescaped(const kin_allocator *allocator, kin_str raw,
                          int (*emit)(void *ctx, kin_str value), void *ctx) {
  char *bytes = kin__malloc(allocator, raw.length);
  if (bytes == NULL) {
    return KIN_ENOMEM;
  }
  size_t length;
  int result = 0;
  if (kin__text_unescape(bytes, &length, raw) == 0) {
    result = emit(ctx, kin__str(bytes, length));
  }
  kin__free(allocator, bytes);
  return result;
}

int kin__json_scalar(const kin_allocator *allocator, kin_str text,
                     int (*emit)(void *ctx, kin_str value), void *ctx) {
  kin_str raw;
  if (kin__text_string(text, &raw)) {
    return kin__text_is_escaped(raw) ? emit_unescaped(allocator, raw, emit, ctx)
                                     : emit(ctx, raw);
  }
  if (is_plain_integer(text)) {
    return emit(ctx, text);
  }
  yyjson_doc *doc;
  int err = kin__json_read(&doc, allocator, text);
  if (err != 0) {
    return err == KIN_ENOMEM ? err : 0;
  }
  int result = write_scalar(kin__json_root(doc), emit, ctx);
  kin__json_free(allocator, doc);
  return result;
}
