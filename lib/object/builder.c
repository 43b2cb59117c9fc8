/* SPDX-License-Identifier: MIT */

/* A kin_object_builder is a tree of edits (edit.h) of one object's text, and
 * the first error. This file has the builder's life and the edits, which are
 * checked as they come. builder_make.c makes the object.
 *
 * A builder that is lent to a transform keeps namespace, name, uid and version.
 * Edits that name one of the four, or remove their parent, are refused at once.
 * Metadata or the whole object can be set; then the four are compared or put
 * back when the object is made. */
#include "object/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"
#include "object/text.h"

enum {
  EDITS_MAX = 4096,
  KEEP_MAX = 1024,
  BYTES_MAX = 1 << 30,
  SCRATCH_KEPT = 64 * 1024 /* kept between objects */
};

/* Life. */

kin_object_builder *kin__builder_new(kin__memory *memory) {
  const kin_allocator *allocator = &memory->allocator;
  kin_object_builder *builder = kin__malloc(allocator, sizeof *builder);
  if (builder == NULL) {
    return NULL;
  }
  *builder = (kin_object_builder){.memory = kin__memory_ref(memory)};
  kin__edit_init(&builder->edit, allocator);
  kin__buf_init(&builder->out, allocator, BYTES_MAX);
  return builder;
}

void kin__builder_free(kin_object_builder *builder) {
  if (builder == NULL) {
    return;
  }
  kin__memory *memory = builder->memory;
  kin__edit_finish(&builder->edit);
  kin__buf_finish(&builder->out);
  kin_object_unref(builder->from);
  kin__free(&memory->allocator, builder);
  kin__memory_unref(memory);
}

static int begin(kin_object_builder *builder, const kin_object *from) {
  kin_str text = KIN__LIT("{}");
  builder->from = from;
  builder->error = 0;
  builder->edits = 0;
  int err = from != NULL ? kin__object_text(from, &text) : 0;
  if (err != 0) {
    return err;
  }
  bool has_only_key = text.length == 0;
  err = kin__edit_begin(&builder->edit, has_only_key ? KIN__LIT("{}") : text);
  return err == 0 && has_only_key ? kin__builder_set_key(builder) : err;
}

int kin_object_builder_new(kin_object_builder **out,
                           const kin_allocator *allocator,
                           const kin_object *from) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin__memory *memory = kin__memory_new(allocator);
  kin_object_builder *builder =
      memory != NULL ? kin__builder_new(memory) : NULL;
  kin__memory_unref(memory);
  int err = builder != NULL ? begin(builder, kin_object_ref(from)) : KIN_ENOMEM;
  if (err != 0) {
    kin__builder_free(builder);
    return err;
  }
  *out = builder;
  return 0;
}

static void end_lending(kin_object_builder *builder) {
  kin_object_unref(builder->from);
  builder->from = NULL;
  builder->is_lent = false;
}

/* The reference counts as the program's, so that the text stays in place. */
int kin__builder_lend(kin_object_builder *builder, const kin_object *from) {
  if (builder->is_lent) {
    return KIN_EALREADY;
  }
  builder->is_lent = true;
  int err = begin(builder, kin_object_ref(from));
  if (err != 0) {
    end_lending(builder);
  }
  return err;
}

void kin_object_builder_free(kin_object_builder *builder) {
  if (builder != NULL && !builder->is_lent) {
    kin__builder_free(builder);
  }
}

/* Edits. */

static int fail(kin_object_builder *builder, int err) {
  if (builder->error == 0) {
    builder->error = err;
  }
  return builder->error;
}

/* Whether the first token is `name` or stands for every name; if so, steps over
 * it. Names of metadata need no escapes. */
static bool skip_token(const char **pointer, const char *name) {
  size_t length = strcspn(*pointer + 1, "/");
  const char *token = *pointer + 1;
  *pointer = token + length;
  return (length == 1 && *token == '*') ||
         (length == strlen(name) && memcmp(token, name, length) == 0);
}

/* Whether an edit at the pointer could change key, uid or version. */
static bool names_identity(const char *pointer, bool is_removal) {
  static const char *const names[] = {"namespace", "name", "uid",
                                      "resourceVersion"};
  if (*pointer == '\0') {
    return is_removal;
  }
  if (!skip_token(&pointer, "metadata")) {
    return false;
  }
  if (*pointer == '\0') {
    return is_removal;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = pointer;
    if (skip_token(&at, names[i])) {
      return true;
    }
  }
  return false;
}

static bool is_ascii(kin_str s) {
  for (size_t i = 0; i < s.length; i++) {
    if ((unsigned char)s.data[i] >= 0x80) {
      return false;
    }
  }
  return true;
}

/* `text` is a string in quotes; without data, there was no memory for it.
 * Errors: KIN_EINVAL (not UTF-8), KIN_ENOMEM. */
static int check_utf8(const kin_object_builder *builder, kin_str text) {
  if (text.data == NULL) {
    return KIN_ENOMEM;
  }
  if (is_ascii(text)) {
    return 0;
  }
  struct yyjson_doc *doc;
  int err = kin__json_read(&doc, builder->edit.allocator, text);
  kin__json_free(builder->edit.allocator, doc);
  return err == 0 || err == KIN_ENOMEM ? err : KIN_EINVAL;
}

/* The checks that all edits begin with. */
static int check(kin_object_builder *builder, const char *pointer,
                 bool is_removal) {
  if (builder->error != 0) {
    return builder->error;
  }
  if (!kin__json_pointer_is_usable(pointer) ||
      (builder->is_lent && names_identity(pointer, is_removal))) {
    return fail(builder, KIN_EINVAL);
  }
  if (builder->edits++ >= EDITS_MAX) {
    return fail(builder, KIN_ETOOBIG);
  }
  kin_str plain = kin__cstr(pointer);
  int err = is_ascii(plain)
                ? 0
                : check_utf8(builder, kin__edit_quote(&builder->edit, plain));
  return err == 0 ? 0 : fail(builder, err);
}

int kin_object_builder_remove(kin_object_builder *builder,
                              const char *pointer) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  int err = check(builder, pointer, true);
  if (err == 0) {
    err = *pointer != '\0' ? kin__edit_remove(&builder->edit, pointer)
                           : KIN_EINVAL;
  }
  return err == 0 ? 0 : fail(builder, err);
}

int kin_object_builder_keep(kin_object_builder *builder,
                            const char *const *pointers, size_t count) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  static const char *const always[] = {
      "/apiVersion",         "/kind",         "/metadata/name",
      "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion",
      "/metadata/labels",
  };
  const size_t always_count = sizeof always / sizeof *always;
  if (builder->error != 0) {
    return builder->error;
  }
  if (count > KEEP_MAX || (count > 0 && pointers == NULL)) {
    return fail(builder, KIN_EINVAL);
  }
  for (size_t i = 0; i < count; i++) {
    if (!kin__json_pointer_is_usable(pointers[i])) {
      return fail(builder, KIN_EINVAL);
    }
  }
  if (builder->edits++ >= EDITS_MAX) {
    return fail(builder, KIN_ETOOBIG);
  }
  const char **all =
      kin__edit_alloc(&builder->edit, (count + always_count) * sizeof *all);
  if (all == NULL) {
    return fail(builder, KIN_ENOMEM);
  }
  memcpy(all, always, sizeof always);
  if (count > 0) {
    memcpy(all + always_count, pointers, count * sizeof *all);
  }
  int err = kin__edit_keep(&builder->edit, all, count + always_count);
  return err == 0 ? 0 : fail(builder, err);
}

/* `text` must live as long as the tree's text. */
static int set(kin_object_builder *builder, const char *pointer, kin_str text) {
  int err = text.data != NULL ? kin__edit_set(&builder->edit, pointer, text)
                              : KIN_ENOMEM;
  return err == 0 ? 0 : fail(builder, err);
}

static int check_json(kin_object_builder *builder, const char *pointer,
                      kin_str text) {
  if (text.length > BYTES_MAX) {
    return KIN_ETOOBIG;
  }
  if (kin__json_depth(text) >
      KIN__JSON_DEPTH_MAX - kin__json_pointer_tokens(pointer)) {
    return KIN_EDEPTH;
  }
  const kin_allocator *allocator = &builder->memory->allocator;
  struct yyjson_doc *doc;
  int err = kin__json_read(&doc, allocator, text);
  if (err == 0) {
    bool is_object = kin__json_is_object(kin__json_root(doc));
    err = *pointer == '\0' && !is_object ? KIN_ETYPE : 0;
    kin__json_free(allocator, doc);
  }
  return err;
}

/* `text` is a JSON value with white space around it. */
static kin_str trim(kin_str text) {
  text = kin__str_from(text, kin__text_skip_space(text, 0));
  while (kin__is_json_space(text.data[text.length - 1])) {
    text.length--;
  }
  return text;
}

int kin_object_builder_set_json(kin_object_builder *builder,
                                const char *pointer, const char *json,
                                size_t length) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  int err = check(builder, pointer, false);
  if (err == 0) {
    err = json != NULL ? check_json(builder, pointer, kin__str(json, length))
                       : KIN_EINVAL;
  }
  if (err != 0) {
    return fail(builder, err);
  }
  kin_str text = trim(kin__str(json, length)); /* not empty, as it is JSON */
  char *copy = kin__edit_alloc(&builder->edit, text.length);
  if (copy != NULL) {
    memcpy(copy, text.data, text.length);
  }
  return set(builder, pointer, kin__str(copy, text.length));
}

int kin_object_builder_set_str(kin_object_builder *builder, const char *pointer,
                               kin_str value) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  value = kin__str_given(value);
  int err = check(builder, pointer, false);
  if (err != 0) {
    return err;
  }
  if (*pointer == '\0') {
    return fail(builder, KIN_ETYPE);
  }
  if (value.length > BYTES_MAX) {
    return fail(builder, KIN_ETOOBIG);
  }
  kin_str text = kin__edit_quote(&builder->edit, value);
  err = check_utf8(builder, text);
  return err == 0 ? set(builder, pointer, text) : fail(builder, err);
}

int kin_object_builder_set_string(kin_object_builder *builder,
                                  const char *pointer, const char *value) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  return value != NULL
             ? kin_object_builder_set_str(builder, pointer, kin__cstr(value))
             : fail(builder, KIN_EINVAL);
}

/* A number or a boolean. */
static int set_scalar(kin_object_builder *builder, const char *pointer,
                      const char *scalar) {
  int err = check(builder, pointer, false);
  if (err == 0 && *pointer == '\0') {
    err = KIN_ETYPE;
  }
  if (err != 0) {
    return fail(builder, err);
  }
  size_t length = strlen(scalar);
  char *copy = kin__edit_alloc(&builder->edit, length);
  if (copy != NULL) {
    memcpy(copy, scalar, length);
  }
  return set(builder, pointer, kin__str(copy, length));
}

int kin_object_builder_set_int(kin_object_builder *builder, const char *pointer,
                               int64_t value) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  return set_scalar(builder, pointer, text);
}

int kin_object_builder_set_bool(kin_object_builder *builder,
                                const char *pointer, bool value) {
  if (builder == NULL) {
    return KIN_EINVAL;
  }
  return set_scalar(builder, pointer, value ? "true" : "false");
}

/* The end. */

int kin_object_builder_finish(kin_object_builder *builder, kin_object **out) {
  if (out != NULL) {
    *out = NULL;
  }
  if (builder == NULL || builder->is_lent) {
    return KIN_EINVAL;
  }
  if (out == NULL) {
    kin__builder_free(builder);
    return KIN_EINVAL;
  }
  int err = kin__builder_make(builder, 0, out);
  kin__object_hand_out(*out);
  kin__builder_free(builder);
  return err;
}

int kin__builder_take(kin_object_builder *builder, int err, size_t headroom,
                      kin_object **out) {
  *out = NULL;
  if (err == 0) {
    err = kin__builder_make(builder, headroom, out);
  }
  end_lending(builder);
  kin__edit_reset(&builder->edit);
  kin__buf_reset(&builder->out, SCRATCH_KEPT);
  return err;
}
