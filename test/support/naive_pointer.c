/* SPDX-License-Identifier: MIT */
#include "support/naive_pointer.h"

#include <stdlib.h>

typedef struct each {
  void (*emit)(void *ctx, kin_str value);
  void *ctx;
} each;

static void emit_scalar(const each *e, yyjson_val *value) {
  if (yyjson_is_str(value) || yyjson_is_raw(value)) {
    const char *bytes =
        yyjson_is_str(value) ? yyjson_get_str(value) : yyjson_get_raw(value);
    e->emit(e->ctx, kin__str(bytes, yyjson_get_len(value)));
  } else if (yyjson_is_num(value) || yyjson_is_bool(value)) {
    size_t length;
    char *text = yyjson_val_write(value, 0, &length);
    e->emit(e->ctx, kin__str(text, length));
    free(text);
  }
}

static bool is_wildcard(const char *pointer) {
  return pointer[1] == '*' && (pointer[2] == '/' || pointer[2] == '\0');
}

static void each_below(const each *e, yyjson_val *value, const char *pointer) {
  if (*pointer == '\0') {
    emit_scalar(e, value);
    return;
  }
  const char *rest = pointer + 1 + strcspn(pointer + 1, "/");
  if (!is_wildcard(pointer)) {
    yyjson_val *child =
        yyjson_ptr_getn(value, pointer, (size_t)(rest - pointer));
    each_below(e, child, rest);
    return;
  }
  size_t at;
  size_t count;
  yyjson_val *name;
  yyjson_val *child;
  if (yyjson_is_arr(value)) {
    yyjson_arr_foreach(value, at, count, child) {
      each_below(e, child, rest);
    }
  } else if (yyjson_is_obj(value)) {
    yyjson_obj_foreach(value, at, count, name, child) {
      each_below(e, child, rest);
    }
  }
}

void naive_pointer_each(yyjson_val *root, const char *pointer,
                        void (*emit)(void *ctx, kin_str value), void *ctx) {
  each e = {emit, ctx};
  each_below(&e, root, pointer);
}

static void append(kin__buf *out, const char *bytes, size_t length) {
  if (kin__buf_append(out, bytes, length) != 0) {
    abort();
  }
}

/* A pointer ends at a NUL, so a name that has one is cut there. */
static void append_token(kin__buf *out, const char *name) {
  for (; *name != '\0'; name++) {
    if (*name == '~' || *name == '/') {
      append(out, *name == '~' ? "~0" : "~1", 2);
    } else {
      append(out, name, 1);
    }
  }
}

/* Appends a token for a random child and returns the child, or NULL. */
static yyjson_val *append_child(json_gen *gen, yyjson_val *value,
                                kin__buf *out) {
  uint32_t count = (uint32_t)yyjson_get_len(value);
  uint32_t chosen = count > 0 ? json_gen_below(gen, count) : 0;
  bool is_wildcard = json_gen_one_in(gen, 4);
  yyjson_val *child = NULL;
  if (yyjson_is_arr(value) && count > 0) {
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)chosen);
    append_token(out, is_wildcard ? "*" : number);
    child = yyjson_arr_get(value, chosen);
  } else if (yyjson_is_obj(value) && count > 0) {
    yyjson_obj_iter members = yyjson_obj_iter_with(value);
    yyjson_val *name = yyjson_obj_iter_next(&members);
    for (uint32_t i = 0; i < chosen; i++) {
      name = yyjson_obj_iter_next(&members);
    }
    append_token(out, is_wildcard ? "*" : yyjson_get_str(name));
    child = yyjson_obj_iter_get_val(name);
  }
  return child;
}

void naive_pointer_random(json_gen *gen, yyjson_val *root, kin__buf *out) {
  static const char *const strange[] = {"*", "", "0", "00", "-", "1", "no"};
  yyjson_val *value = root;
  for (uint32_t left = 32; left > 0 && yyjson_is_ctn(value); left--) {
    append(out, "/", 1);
    if (json_gen_one_in(gen, 16)) {
      append_token(out, strange[json_gen_below(gen, 7)]);
      value = NULL;
    } else {
      value = append_child(gen, value, out);
    }
  }
  append(out, "", 1);
}
