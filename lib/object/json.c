/* SPDX-License-Identifier: MIT */
#include "object/json.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

enum {
  DEPTH_MAX = 512,
  /* yyjson's writer asks for one block of less than this for a number or a
   * boolean. */
  SCALAR_POOL = 1024
};

/* kin_allocator and yyjson_alc have the same functions. */
static yyjson_alc adapt(const kin_allocator *allocator) {
  yyjson_alc alc = {.malloc = allocator->malloc,
                    .realloc = allocator->realloc,
                    .free = allocator->free,
                    .ctx = allocator->ctx};
  return alc;
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
  return kin__json_depth(text) <= DEPTH_MAX;
}

/* A number that no machine word holds stays text: one of them must not make an
 * object unreadable. */
int kin__json_read(yyjson_doc **out, const kin_allocator *allocator,
                   kin_str text) {
  *out = NULL;
  if (text.length == 0) {
    return KIN_ETRUNCATED;
  }
  yyjson_alc alc = adapt(allocator);
  yyjson_read_err err;
  /* Not written to without YYJSON_READ_INSITU. */
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
  (void)allocator; /* the document carries it */
  yyjson_doc_free(doc);
}

yyjson_val *kin__json_member(yyjson_val *object, const char *name) {
  return yyjson_obj_get(object, name);
}

kin_str kin__json_string(yyjson_val *object, const char *name) {
  yyjson_val *value = yyjson_obj_get(object, name);
  return kin__str(yyjson_get_str(value), yyjson_get_len(value));
}

int64_t kin__json_int(yyjson_val *object, const char *name, int64_t fallback) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (!yyjson_is_int(value) ||
      (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)) {
    return fallback;
  }
  return yyjson_get_sint(value);
}

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

typedef struct each {
  int (*emit)(void *ctx, kin_str value);
  void *ctx;
} each;

static int emit_scalar(const each *e, yyjson_val *value) {
  if (yyjson_is_str(value)) {
    return e->emit(e->ctx,
                   kin__str(yyjson_get_str(value), yyjson_get_len(value)));
  }
  if (yyjson_is_raw(value)) {
    return e->emit(e->ctx,
                   kin__str(yyjson_get_raw(value), yyjson_get_len(value)));
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
  return text != NULL ? e->emit(e->ctx, kin__str(text, length)) : KIN_ENOMEM;
}

/* The first "/" + "*" that is a whole token, or the pointer's end. */
static const char *find_wildcard(const char *pointer) {
  const char *at = pointer;
  while ((at = strstr(at, "/*")) != NULL) {
    if (at[2] == '/' || at[2] == '\0') {
      return at;
    }
    at += 2;
  }
  return pointer + strlen(pointer);
}

/* Recursion is as deep as the document at most. */
static int each_below(const each *e, yyjson_val *value, const char *pointer) {
  const char *wildcard = find_wildcard(pointer);
  if (wildcard > pointer) {
    value = yyjson_ptr_getn(value, pointer, (size_t)(wildcard - pointer));
  }
  if (*wildcard == '\0') {
    return emit_scalar(e, value);
  }
  const char *rest = wildcard + 2;
  int result = 0;
  if (yyjson_is_arr(value)) {
    yyjson_arr_iter elements = yyjson_arr_iter_with(value);
    while (result == 0 && yyjson_arr_iter_has_next(&elements)) {
      result = each_below(e, yyjson_arr_iter_next(&elements), rest);
    }
  } else if (yyjson_is_obj(value)) {
    yyjson_obj_iter members = yyjson_obj_iter_with(value);
    while (result == 0 && yyjson_obj_iter_has_next(&members)) {
      yyjson_val *name = yyjson_obj_iter_next(&members);
      result = each_below(e, yyjson_obj_iter_get_val(name), rest);
    }
  }
  return result;
}

int kin__json_each(yyjson_val *root, const char *pointer,
                   int (*emit)(void *ctx, kin_str value), void *ctx) {
  if (!kin__json_pointer_is_valid(pointer)) {
    return KIN_EINVAL;
  }
  each e = {emit, ctx};
  return each_below(&e, root, pointer);
}
