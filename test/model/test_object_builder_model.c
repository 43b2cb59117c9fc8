/* SPDX-License-Identifier: MIT */

/* Random edits of random documents, compared after each run with a naive model:
 * a parsed tree that every edit walks as a whole. Numbers, names that occur
 * twice and the order of members count; white space does not.
 *
 * usage: test_object_builder_model [SEEDS [FIRST]]; a failure names its
 * seed. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/seeds.h"

#define MAX_EDITS 12
#define MAX_TOKENS 5
#define MAX_KEPT 4

static struct {
  uint64_t changed;
  uint64_t unchanged;
  uint64_t refused;
  uint64_t failures;
} seen;

/* --- The model
 * ------------------------------------------------------------- */

typedef struct value {
  char kind; /* '{', '[', or 's' */
  char *name;
  size_t name_length;
  char *scalar; /* its JSON text */
  struct value **children;
  size_t count;
} value;

static void free_value(value *v) {
  for (size_t i = 0; i < v->count; i++) {
    free_value(v->children[i]);
  }
  free(v->children);
  free(v->scalar);
  free(v->name);
  free(v);
}

static void insert(value *parent, value *child) {
  parent->children =
      realloc(parent->children, (parent->count + 1) * sizeof *parent->children);
  assert_non_null(parent->children);
  parent->children[parent->count++] = child;
}

static void drop(value *parent, size_t i) {
  free_value(parent->children[i]);
  parent->count--;
  memmove(&parent->children[i], &parent->children[i + 1],
          (parent->count - i) * sizeof *parent->children);
}

static void set_name(value *v, const char *name, size_t length) {
  v->name = calloc(1, length + 1);
  memcpy(v->name, name, length);
  v->name_length = length;
}

static value *from_yyjson(yyjson_val *from) {
  value *v = calloc(1, sizeof *v);
  size_t at;
  size_t count;
  yyjson_val *name;
  yyjson_val *child;
  if (yyjson_is_obj(from)) {
    v->kind = '{';
    yyjson_obj_foreach(from, at, count, name, child) {
      insert(v, from_yyjson(child));
      set_name(v->children[v->count - 1], yyjson_get_str(name),
               yyjson_get_len(name));
    }
  } else if (yyjson_is_arr(from)) {
    v->kind = '[';
    yyjson_arr_foreach(from, at, count, child) {
      insert(v, from_yyjson(child));
    }
  } else {
    v->kind = 's';
    v->scalar = yyjson_val_write(from, 0, NULL);
    assert_non_null(v->scalar);
  }
  return v;
}

static value *parse(const char *text, size_t length) {
  yyjson_doc *doc = yyjson_read_opts((char *)text, length,
                                     YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
  if (doc == NULL) {
    fail_msg("is no JSON: %.*s", (int)length, text);
  }
  value *v = from_yyjson(yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  return v;
}

static value *copy(const value *from) {
  value *v = calloc(1, sizeof *v);
  v->kind = from->kind;
  v->scalar = from->scalar != NULL ? strdup(from->scalar) : NULL;
  if (from->name != NULL) {
    set_name(v, from->name, from->name_length);
  }
  for (size_t i = 0; i < from->count; i++) {
    insert(v, copy(from->children[i]));
  }
  return v;
}

static bool same(const value *a, const value *b) {
  if (a->kind != b->kind || a->count != b->count ||
      a->name_length != b->name_length ||
      (a->name != NULL && memcmp(a->name, b->name, a->name_length) != 0) ||
      (a->scalar != NULL && strcmp(a->scalar, b->scalar) != 0)) {
    return false;
  }
  for (size_t i = 0; i < a->count; i++) {
    if (!same(a->children[i], b->children[i])) {
      return false;
    }
  }
  return true;
}

static void become(value *v, const char *text) {
  value *new_ = parse(text, strlen(text));
  value was = *v;
  *v = *new_;
  v->name = was.name;
  v->name_length = was.name_length;
  *new_ = was;
  new_->name = NULL;
  free_value(new_);
}

/* Pointers are arrays of tokens here, ended by NULL. */
static bool is_all(const char *token) {
  return strcmp(token, "*") == 0;
}

static bool leads_to(const value *parent, size_t i, const char *token) {
  const value *child = parent->children[i];
  char index[24];
  snprintf(index, sizeof index, "%zu", i);
  return is_all(token) ||
         (parent->kind == '['
              ? strcmp(index, token) == 0
              : child->name_length == strlen(token) &&
                    memcmp(child->name, token, child->name_length) == 0);
}

static void model_remove(value *v, const char *const *tokens) {
  size_t removed = 0;
  size_t count = v->count;
  for (size_t i = 0; i < count; i++) {
    /* An element keeps its number while the others go. */
    value shifted = *v;
    shifted.children = v->children - removed;
    if (!leads_to(&shifted, i, tokens[0])) {
      continue;
    }
    if (tokens[1] == NULL) {
      drop(v, i - removed++);
    } else {
      model_remove(v->children[i - removed], tokens + 1);
    }
  }
}

typedef const char *pointer_tokens[MAX_TOKENS + 1];

static void model_keep(value *v, const char *const *const *pointers,
                       size_t count) {
  size_t removed = 0;
  size_t children = v->count;
  for (size_t i = 0; i < children; i++) {
    value shifted = *v;
    shifted.children = v->children - removed;
    const char *const *rests[MAX_KEPT + 8];
    size_t rest_count = 0;
    bool is_whole = false;
    for (size_t k = 0; k < count; k++) {
      if (leads_to(&shifted, i, pointers[k][0])) {
        is_whole = is_whole || pointers[k][1] == NULL;
        rests[rest_count++] = pointers[k] + 1;
      }
    }
    value *child = v->children[i - removed];
    if (rest_count == 0 || (!is_whole && child->kind == 's')) {
      drop(v, i - removed++);
    } else if (!is_whole) {
      model_keep(child, rests, rest_count);
    }
  }
}

static int model_set(value *v, const char *const *tokens, const char *text) {
  if (tokens[0] == NULL) {
    become(v, text);
    return 0;
  }
  bool has_all = false;
  for (size_t i = 0; tokens[i] != NULL; i++) {
    has_all = has_all || is_all(tokens[i]);
  }
  if (v->kind == 's' && strcmp(v->scalar, "null") == 0) {
    if (has_all) {
      return 0;
    }
    become(v, "{}");
  }
  if (v->kind == 's') {
    return KIN_ETYPE;
  }
  for (size_t i = 0; i < v->count; i++) {
    if (leads_to(v, i, tokens[0])) {
      int err = model_set(v->children[i], tokens + 1, text);
      if (err != 0 || !is_all(tokens[0])) {
        return err;
      }
    }
  }
  if (has_all) {
    return 0;
  }
  if (v->kind == '[' && strcmp(tokens[0], "-") != 0) {
    char count[24];
    snprintf(count, sizeof count, "%zu", v->count);
    if (strcmp(count, tokens[0]) != 0) {
      bool is_number = strspn(tokens[0], "0123456789") == strlen(tokens[0]) &&
                       tokens[0][0] != '\0' &&
                       (tokens[0][0] != '0' || tokens[0][1] == '\0');
      return is_number ? KIN_ENOENT : KIN_ETYPE;
    }
  }
  insert(v, parse("{}", 2));
  value *made = v->children[v->count - 1];
  if (v->kind == '{') {
    set_name(made, tokens[0], strlen(tokens[0]));
  }
  return model_set(made, tokens + 1, text);
}

/* --- Random edits
 * ---------------------------------------------------------- */

typedef struct pointer {
  char text[256];
  char storage[MAX_TOKENS][64];
  pointer_tokens tokens;
} pointer;

static void add_token(pointer *p, size_t i, const char *token, size_t length) {
  assert_true(length < sizeof p->storage[i]);
  memcpy(p->storage[i], token, length);
  p->storage[i][length] = '\0';
  p->tokens[i] = p->storage[i];
  p->tokens[i + 1] = NULL;
  char *to = p->text + strlen(p->text);
  *to++ = '/';
  for (size_t k = 0; k < length; k++) {
    if (token[k] == '~' || token[k] == '/') {
      *to++ = '~';
      *to++ = token[k] == '~' ? '0' : '1';
    } else {
      *to++ = token[k];
    }
  }
  *to = '\0';
}

/* Mostly to what is there. */
static void any_pointer(json_gen *gen, pointer *p, const value *v) {
  static const char *const others[] = {"*", "0",  "1",    "-",        "a",
                                       "b", "c",  "spec", "metadata", "name",
                                       "",  "07", "~/",   "\xc3\xa9"};
  memset(p, 0, sizeof *p);
  uint32_t length = 1 + json_gen_below(gen, MAX_TOKENS);
  for (uint32_t i = 0; i < length; i++) {
    const value *child =
        v != NULL && v->count > 0
            ? v->children[json_gen_below(gen, (uint32_t)v->count)]
            : NULL;
    if (child == NULL || json_gen_one_in(gen, 6) ||
        (v->kind == '{' && (child->name_length > 40 ||
                            memchr(child->name, 0, child->name_length)))) {
      const char *token =
          others[json_gen_below(gen, sizeof others / sizeof *others)];
      add_token(p, i, token, strlen(token));
      v = child;
      continue;
    }
    char index[24];
    size_t at = 0;
    while (v->children[at] != child) {
      at++;
    }
    snprintf(index, sizeof index, "%zu", at);
    add_token(p, i, v->kind == '{' ? child->name : index,
              v->kind == '{' ? child->name_length : strlen(index));
    v = child;
  }
}

static int random_keep(json_gen *gen, kin_object_builder *builder,
                       value *model) {
  static const pointer_tokens always[] = {
      {"apiVersion", NULL},         {"kind", NULL},
      {"metadata", "name", NULL},   {"metadata", "namespace", NULL},
      {"metadata", "uid", NULL},    {"metadata", "resourceVersion", NULL},
      {"metadata", "labels", NULL},
  };
  pointer kept[MAX_KEPT];
  const char *texts[MAX_KEPT];
  const char *const *tokens[MAX_KEPT + 8];
  size_t count = json_gen_below(gen, MAX_KEPT + 1);
  size_t token_count = 0;
  for (size_t i = 0; i < count; i++) {
    any_pointer(gen, &kept[i], model);
    texts[i] = kept[i].text;
    tokens[token_count++] = kept[i].tokens;
  }
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
    tokens[token_count++] = always[i];
  }
  int err = kin_object_builder_keep(builder, texts, count);
  if (err == 0) {
    model_keep(model, tokens, token_count);
  }
  return err;
}

static void fail_edit(const char *what, int err, int expected) {
  fail_msg("%s: %s, expected %s", what, kin_err_name(err),
           kin_err_name(expected));
}

/* Most of what would be refused is not tried: it ends the run. */
static bool is_worth_trying(json_gen *gen, const value *model, const pointer *p,
                            const char *text) {
  value *trial = copy(model);
  int err = model_set(trial, p->tokens, text);
  free_value(trial);
  return err == 0 || json_gen_one_in(gen, 30);
}

/* Returns the builder's error, which is also the model's, or KIN_ENOMEM. */
static int random_edit(json_gen *gen, kin_object_builder *builder,
                       value *model) {
  pointer p;
  any_pointer(gen, &p, model);
  if (json_gen_one_in(gen, 8)) {
    return random_keep(gen, builder, model);
  }
  if (json_gen_one_in(gen, 2)) {
    int err = kin_object_builder_remove(builder, p.text);
    if (err == 0) {
      model_remove(model, p.tokens);
    }
    return err;
  }
  kin__buf text;
  kin__buf_init(&text, kin__default_allocator(), 1u << 20);
  json_gen values = *gen;
  values.out = &text;
  json_gen_value(&values, 2);
  gen->state = values.state;
  assert_int_equal(kin__buf_append(&text, "", 1), 0);
  if (!is_worth_trying(gen, model, &p, text.data)) {
    kin__buf_finish(&text);
    return 0;
  }
  int err =
      kin_object_builder_set_json(builder, p.text, text.data, text.length - 1);
  if (err != KIN_ENOMEM) {
    int expected = model_set(model, p.tokens, text.data);
    if (err != expected) {
      fail_edit(p.text, err, expected);
    }
  }
  kin__buf_finish(&text);
  return err;
}

/* --- Runs
 * ------------------------------------------------------------------ */

static kin_object *random_object(json_gen *gen, kin__memory *memory) {
  kin__buf text;
  kin__buf_init(&text, kin__default_allocator(), 1u << 20);
  gen->out = &text;
  json_gen_object(gen, 5);
  kin__object_parts parts = {.name = KIN__LIT("p"),
                             .body = {text.data, text.length}};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  kin__buf_finish(&text);
  return object;
}

static void compare(const kin_object *made, const value *model) {
  kin_str body = kin__object_body(made);
  value *found = parse(body.data, body.length);
  if (!same(found, model)) {
    fail_msg("made " KIN_STR_FORMAT, KIN_STR_ARG(body));
  }
  free_value(found);
}

static void finish(kin_object_builder *builder, const kin_object *from,
                   value *model, int err) {
  kin_object *made;
  int result = kin_object_builder_finish(builder, &made);
  if (err != 0) {
    assert_int_equal(result, err);
    seen.refused += err != KIN_ENOMEM;
    seen.failures += err == KIN_ENOMEM;
  } else if (result == 0) {
    compare(made, model);
    seen.changed += made != from;
    seen.unchanged += made == from;
  } else {
    /* The document itself may be no object of ours. */
    seen.failures += result == KIN_ENOMEM;
    assert_true(result == KIN_EKEY || result == KIN_ENOMEM);
  }
  kin_object_unref(made);
}

/* It may be gone, or never have been there. */
static int set_name_of(kin_object_builder *builder, value *model) {
  static const char *const name[] = {"metadata", "name", NULL};
  int err = kin_object_builder_set_string(builder, "/metadata/name", "p");
  if (err != KIN_ENOMEM) {
    assert_int_equal(err, model_set(model, name, "\"p\""));
  }
  return err;
}

static void run_seed(uint64_t seed) {
  json_gen gen;
  json_gen_init(&gen, seed, NULL);
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__memory *objects = kin__memory_new(NULL);
  kin_object *from = random_object(&gen, objects);
  kin_str body = kin__object_body(from);
  value *model = parse(body.data, body.length);
  if (json_gen_one_in(&gen, 4)) {
    memory.fail_at = 1 + json_gen_below(&gen, 20);
  }
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, &memory.allocator, from);
  if (err == 0) {
    uint32_t edits = json_gen_below(&gen, MAX_EDITS);
    for (uint32_t i = 0; i < edits && err == 0; i++) {
      err = random_edit(&gen, builder, model);
    }
    if (err == 0 && edits > 0 && !json_gen_one_in(&gen, 6)) {
      err = set_name_of(builder, model);
    }
    finish(builder, from, model, err);
  }
  free_value(model);
  kin_object_unref(from);
  kin__memory_unref(objects);
  assert_int_equal(memory.live_blocks, 0);
}

static void test_object_builder_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  print_message("%" PRIu64 " changed, %" PRIu64 " unchanged, %" PRIu64
                " refused, %" PRIu64 " without memory\n",
                seen.changed, seen.unchanged, seen.refused, seen.failures);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(seen.changed >= seeds_count / 2);
    assert_true(seen.unchanged >= seeds_count / 50);
    assert_true(seen.refused >= seeds_count / 50);
    assert_true(seen.failures >= seeds_count / 20);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 1000, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_object_builder_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
