/* SPDX-License-Identifier: MIT */

/* Objects of a program's own text, the builder and transforms: the first lines
 * are edits, the rest is the text. Oracles:
 *  - a text is taken if and only if yyjson reads it, it is not too deep, and it
 *    has a name; what is resident is what yyjson reads (RL-09)
 *  - whatever is edited, what comes out is an object that reads the same when
 *    its text is parsed, and a value that was just set is there
 *  - a transform keeps key, uid and version */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "base/alloc.h"
#include "base/str.h"
#include "fuzz/decode_options.h"
#include "fuzz/fuzz.h"
#include "object/json.h"
#include "object/object.h"
#include "support/fail_alloc.h"

enum { MAX_EDITS = 12 };

typedef struct edit {
  uint8_t what;
  char *pointer;
  kin_str json;
} edit;

typedef struct edits {
  edit list[MAX_EDITS];
  size_t count;
  bool was_set; /* the last one was, without an error */
} edits;

/* A line: what to do, the pointer, a blank, and JSON text. */
static void read_edit(edits *all, kin_str line) {
  if (line.length == 0) {
    return;
  }
  edit *e = &all->list[all->count++];
  e->what = (uint8_t)line.data[0];
  const char *blank = memchr(line.data, ' ', line.length);
  size_t length = blank != NULL ? (size_t)(blank - line.data) : line.length;
  e->pointer =
      fuzz_string(kin__str(line.data + 1, length > 0 ? length - 1 : 0));
  e->json = blank != NULL ? kin__str(blank + 1, line.length - length - 1)
                          : KIN__LIT("");
}

static int apply_one(const edit *e, kin_object_builder *builder) {
  const char *const pointers[] = {e->pointer, "/spec"};
  switch (e->what % 6) {
  case 0:
    return kin_object_builder_remove(builder, e->pointer);
  case 1:
    return kin_object_builder_keep(builder, pointers, 2);
  case 2:
    return kin_object_builder_set_str(builder, e->pointer, e->json);
  case 3:
    return kin_object_builder_set_int(builder, e->pointer,
                                      -(int64_t)e->json.length);
  default:
    return kin_object_builder_set_json(builder, e->pointer, e->json.data,
                                       e->json.length);
  }
}

static int apply(edits *all, kin_object_builder *builder) {
  int err = 0;
  for (size_t i = 0; i < all->count && err == 0; i++) {
    err = apply_one(&all->list[i], builder);
    all->was_set = err == 0 && all->list[i].what % 6 >= 2;
  }
  return err;
}

static bool is_text_error(int err) {
  return err == KIN_EJSON || err == KIN_EDEPTH || err == KIN_EKEY ||
         err == KIN_ETRUNCATED || err == KIN_ETOOBIG;
}

static void check_parse(kin_str text, const kin_object *object, int err) {
  yyjson_doc *doc = decode_read(text, false);
  FUZZ_CHECK(doc != NULL || err != 0);
  FUZZ_CHECK(err == 0 || is_text_error(err));
  if (doc == NULL) {
    return;
  }
  yyjson_val *root = yyjson_doc_get_root(doc);
  FUZZ_CHECK(err != KIN_EJSON && err != KIN_ETRUNCATED);
  if (err == KIN_EKEY) {
    yyjson_val *name = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "name");
    FUZZ_CHECK(yyjson_get_len(name) == 0 || !yyjson_is_str(name));
  } else if (err == 0) {
    const decode_options all = {.projection = KEEPS_ALL};
    decode_check_object(&all, object, root);
  }
  yyjson_doc_free(doc);
}

/* A value that was set last is there. Without memory it cannot be read. */
static void check_set(const edit *e, kin_object *made, bool has_memory) {
  kin_object_view *view;
  int opened = kin_object_view_open(&view, made);
  FUZZ_CHECK(opened == 0 || (opened == KIN_ENOMEM && !has_memory));
  if (opened != 0) {
    return;
  }
  kin_str string;
  int64_t number;
  const char *last = strrchr(e->pointer, '/');
  if (strchr(e->pointer, '*') != NULL ||
      (last != NULL && strcmp(last, "/-") == 0)) {
    /* It names what there is, or what was not there. */
  } else if (e->what % 6 == 2) {
    int err = kin_object_view_string(view, e->pointer, &string);
    FUZZ_CHECK(err == 0 ? kin__str_equal(string, e->json)
                        : err == KIN_ENOMEM && !has_memory);
  } else if (e->what % 6 == 3) {
    int err = kin_object_view_int(view, e->pointer, &number);
    FUZZ_CHECK(err == 0 ? number == -(int64_t)e->json.length
                        : err == KIN_ENOMEM && !has_memory);
  }
  kin_object_view_close(view);
}

/* What was made reads the same when its text is parsed. */
static void check_made(kin_object *made) {
  kin_str text = kin__object_body(made);
  kin_object *again;
  FUZZ_CHECK(kin_object_parse(&again, NULL, text.data, text.length) == 0);
  FUZZ_CHECK(kin__str_equal(kin_object_key(made), kin_object_key(again)));
  FUZZ_CHECK(kin__str_equal(kin_object_uid(made), kin_object_uid(again)));
  FUZZ_CHECK(kin__str_equal(kin_object_resource_version(made),
                            kin_object_resource_version(again)));
  yyjson_doc *doc = decode_read(text, false);
  FUZZ_CHECK(doc != NULL);
  const decode_options all = {.projection = KEEPS_ALL};
  decode_check_object(&all, made, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  kin_object_unref(again);
}

static void check_builder(edits *all, const kin_allocator *allocator,
                          const kin_object *from) {
  kin_object_builder *builder;
  if (kin_object_builder_new(&builder, allocator, from) != 0) {
    return;
  }
  int err = apply(all, builder);
  kin_object *made;
  int made_err = kin_object_builder_finish(builder, &made);
  FUZZ_CHECK(made_err != 0 || err == 0);
  if (made_err == 0) {
    check_made(made);
    if (all->was_set) {
      check_set(&all->list[all->count - 1], made, allocator == NULL);
    }
    kin_object_unref(made);
  }
}

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  return apply(data, out);
}

static void check_transform(edits *all, const kin_object *object) {
  kin_object *out;
  if (kin_object_transform(object, transform, all, &out) != 0) {
    return;
  }
  FUZZ_CHECK(kin__str_equal(kin_object_key(object), kin_object_key(out)));
  FUZZ_CHECK(kin__str_equal(kin_object_uid(object), kin_object_uid(out)));
  FUZZ_CHECK(kin__str_equal(kin_object_resource_version(object),
                            kin_object_resource_version(out)));
  check_made(out);
  kin_object_unref(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  size_t fail_at = fuzz_byte(&in);
  uint32_t lines = fuzz_below(&in, MAX_EDITS + 1);
  (void)fuzz_take(&in, 2);
  edits all = {.count = 0};
  for (uint32_t i = 0; i < lines; i++) {
    read_edit(&all, fuzz_line(&in));
  }
  kin_str text = fuzz_rest(&in);
  kin_object *object;
  int err = kin_object_parse(&object, NULL, text.data, text.length);
  check_parse(text, object, err);
  if (err == 0) {
    check_builder(&all, NULL, object);
    check_transform(&all, object);
    kin_object_unref(object);
  }
  check_builder(&all, NULL, NULL);
  /* The same without memory. */
  fail_alloc memory;
  fail_alloc_init(&memory, 1 + fail_at);
  if (kin_object_parse(&object, &memory.allocator, text.data, text.length) ==
      0) {
    check_builder(&all, &memory.allocator, object);
    kin_object_unref(object);
  }
  FUZZ_CHECK(atomic_load(&memory.live_blocks) == 0);
  for (size_t i = 0; i < all.count; i++) {
    free(all.list[i].pointer);
  }
  return 0;
}
