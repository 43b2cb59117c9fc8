/* SPDX-License-Identifier: MIT */
/* Makes JSON Schemas of the text in schema_types.c. The text is the program's
 * own: a mistake in it is found by an assertion when the server starts. */
#include "schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "schema_types.h"

enum { WORD_MAX = 128, TYPES_MAX = 300 };

typedef struct reader {
  yyjson_mut_doc *doc;
  char *names[TYPES_MAX]; // full names, in the order of the text
  size_t count;
} reader;

/* ----------------------------------------------------------------- names */

/* Copies the characters up to one of stop, and moves *text behind them. */
static void take_word(const char **text, const char *stop, char *word) {
  size_t len = strcspn(*text, stop);
  assert(len < WORD_MAX);
  memcpy(word, *text, len);
  word[len] = '\0';
  *text += len;
}

static const char *short_name(const char *name) {
  return strrchr(name, '.') + 1;
}

static void collect_names(reader *r) {
  const char *prefix = "";
  char word[WORD_MAX];
  for (const char *const *line = SCHEMA_TYPES; *line != NULL; line++) {
    const char *text = *line;
    if (*text == '@') {
      prefix = text + 1;
      continue;
    }
    take_word(&text, " !", word);
    buf name = {0};
    buf_printf(&name, "%s%s", prefix, word);
    assert(r->count < TYPES_MAX);
    r->names[r->count++] = name.data;
  }
}

static const char *full_name(const reader *r, const char *word) {
  for (size_t i = 0; i < r->count; i++) {
    if (strcmp(short_name(r->names[i]), word) == 0) {
      return r->names[i];
    }
  }
  assert(false);
  return NULL;
}

/* ----------------------------------------------------------------- forms */

static void set_text(reader *r, yyjson_mut_val *to, const char *key,
                     const char *text) {
  yyjson_mut_obj_add_val(r->doc, to, key, yyjson_mut_strcpy(r->doc, text));
}

static yyjson_mut_val *plain(reader *r, const char *type, const char *format) {
  yyjson_mut_val *form = yyjson_mut_obj(r->doc);
  set_text(r, form, "type", type);
  if (format != NULL) {
    set_text(r, form, "format", format);
  }
  return form;
}

static yyjson_mut_val *either(reader *r, const char *one, const char *two) {
  yyjson_mut_val *form = yyjson_mut_obj(r->doc);
  yyjson_mut_val *forms = yyjson_mut_arr(r->doc);
  yyjson_mut_arr_append(forms, plain(r, one, NULL));
  yyjson_mut_arr_append(forms, plain(r, two, NULL));
  yyjson_mut_obj_add_val(r->doc, form, "oneOf", forms);
  return form;
}

static yyjson_mut_val *reference(reader *r, const char *word) {
  buf ref = {0};
  buf_printf(&ref, "#/components/schemas/%s", full_name(r, word));
  yyjson_mut_val *target = yyjson_mut_obj(r->doc);
  set_text(r, target, "$ref", ref.data);
  buf_free(&ref);
  yyjson_mut_val *all = yyjson_mut_arr(r->doc);
  yyjson_mut_arr_append(all, target);
  yyjson_mut_val *form = yyjson_mut_obj(r->doc);
  yyjson_mut_obj_add_val(r->doc, form, "allOf", all);
  return form;
}

static yyjson_mut_val *letter_form(reader *r, char letter) {
  switch (letter) {
  case 's':
    return plain(r, "string", NULL);
  case 'y':
    return plain(r, "string", "byte");
  case 'd':
    return plain(r, "string", "date-time");
  case 'i':
    return plain(r, "integer", "int32");
  case 'l':
    return plain(r, "integer", "int64");
  case 'n':
    return plain(r, "number", "double");
  case 'b':
    return plain(r, "boolean", NULL);
  case 'q':
    return either(r, "string", "number");
  case 'o': {
    yyjson_mut_val *form = either(r, "integer", "string");
    set_text(r, form, "format", "int-or-string");
    return form;
  }
  default:
    assert(letter == '*');
    return yyjson_mut_obj(r->doc);
  }
}

static void put_keys(reader *r, yyjson_mut_val *form, const char **text) {
  yyjson_mut_val *keys = yyjson_mut_arr(r->doc);
  char word[WORD_MAX];
  do {
    (*text)++;
    take_word(text, ",%~+]", word);
    yyjson_mut_arr_append(keys, yyjson_mut_strcpy(r->doc, word));
  } while (**text == ',');
  yyjson_mut_obj_add_val(r->doc, form, "x-kubernetes-list-map-keys", keys);
  set_text(r, form, "x-kubernetes-list-type", "map");
}

static void put_patch_key(reader *r, yyjson_mut_val *form, const char **text) {
  char word[WORD_MAX];
  (*text)++;
  take_word(text, "+]", word);
  if (*word != '\0') {
    set_text(r, form, "x-kubernetes-patch-merge-key", word);
  }
  set_text(r, form, "x-kubernetes-patch-strategy",
           **text == '+' ? "merge,retainKeys" : "merge");
  *text += **text == '+' ? 1 : 0;
}

static yyjson_mut_val *read_form(reader *r, const char **text);

static yyjson_mut_val *read_list(reader *r, const char **text) {
  yyjson_mut_val *form = plain(r, "array", NULL);
  yyjson_mut_obj_add_val(r->doc, form, "items", read_form(r, text));
  if (**text == '/') {
    put_keys(r, form, text);
  } else {
    set_text(r, form, "x-kubernetes-list-type",
             **text == '%' ? "set" : "atomic");
    *text += **text == '%' ? 1 : 0;
  }
  if (**text == '~') {
    put_patch_key(r, form, text);
  }
  assert(**text == ']');
  (*text)++;
  return form;
}

static yyjson_mut_val *read_map(reader *r, const char **text) {
  yyjson_mut_val *form = plain(r, "object", NULL);
  if (**text != '}') {
    yyjson_mut_obj_add_val(r->doc, form, "additionalProperties",
                           read_form(r, text));
  }
  assert(**text == '}');
  (*text)++;
  return form;
}

static yyjson_mut_val *read_form(reader *r, const char **text) {
  char word[WORD_MAX];
  if (**text == '[' || **text == '{') {
    char bracket = *(*text)++;
    return bracket == '[' ? read_list(r, text) : read_map(r, text);
  }
  take_word(text, " /%~+!=]}", word);
  return word[1] == '\0' ? letter_form(r, word[0]) : reference(r, word);
}

/* ----------------------------------------------------------------- types */

static void put_marks(reader *r, yyjson_mut_val *form, const char **text) {
  char word[WORD_MAX];
  for (; **text != ' ' && **text != '\0';) {
    char mark = *(*text)++;
    if (mark == '!') {
      set_text(r, form, "x-kubernetes-map-type", "atomic");
    } else if (mark == '+') {
      set_text(r, form, "x-kubernetes-patch-strategy", "retainKeys");
    } else {
      assert(mark == '=');
      take_word(text, " ", word);
      set_text(r, form, "default", word);
    }
  }
}

static void read_fields(reader *r, yyjson_mut_val *type, const char *text) {
  yyjson_mut_val *fields = yyjson_mut_obj(r->doc);
  yyjson_mut_val *required = yyjson_mut_arr(r->doc);
  char word[WORD_MAX];
  while (*text == ' ') {
    text++;
    take_word(&text, "*:", word);
    if (*text == '*') {
      yyjson_mut_arr_append(required, yyjson_mut_strcpy(r->doc, word));
      text++;
    }
    assert(*text == ':');
    text++;
    yyjson_mut_val *key = yyjson_mut_strcpy(r->doc, word);
    yyjson_mut_val *form = read_form(r, &text);
    put_marks(r, form, &text);
    yyjson_mut_obj_add(fields, key, form);
  }
  yyjson_mut_obj_add_val(r->doc, type, "properties", fields);
  if (yyjson_mut_arr_size(required) != 0) {
    yyjson_mut_obj_add_val(r->doc, type, "required", required);
  }
}

static yyjson_mut_val *read_type(reader *r, const char *text) {
  char word[WORD_MAX];
  take_word(&text, " !", word);
  if (text[0] == ' ' && text[1] == '=') {
    text += 2;
    return read_form(r, &text);
  }
  yyjson_mut_val *type = plain(r, "object", NULL);
  if (*text == '!') {
    set_text(r, type, "x-kubernetes-map-type", "atomic");
    text++;
  }
  read_fields(r, type, text);
  return type;
}

void schema_set_init(schema_set *set) {
  reader r = {.doc = yyjson_mut_doc_new(NULL)};
  collect_names(&r);
  yyjson_mut_val *root = yyjson_mut_obj(r.doc);
  yyjson_mut_doc_set_root(r.doc, root);
  size_t next = 0;
  for (const char *const *line = SCHEMA_TYPES; *line != NULL; line++) {
    if (**line != '@') {
      yyjson_mut_obj_add(root, yyjson_mut_strcpy(r.doc, r.names[next++]),
                         read_type(&r, *line));
    }
  }
  for (size_t i = 0; i < r.count; i++) {
    free(r.names[i]);
  }
  set->doc = yyjson_mut_doc_imut_copy(r.doc, NULL);
  yyjson_mut_doc_free(r.doc);
}

void schema_set_free(schema_set *set) {
  yyjson_doc_free(set->doc);
  *set = (schema_set){0};
}

yyjson_val *schema_set_get(const schema_set *set, const char *name) {
  return yyjson_obj_get(yyjson_doc_get_root(set->doc), name);
}

/* Built-in kinds have types of the same name, which no other type has. */
const char *schema_set_name(const schema_set *set, const resource *res) {
  size_t i, max;
  yyjson_val *key, *type;
  yyjson_obj_foreach(yyjson_doc_get_root(set->doc), i, max, key, type) {
    if (strcmp(short_name(yyjson_get_str(key)), res->kind) == 0) {
      return yyjson_get_str(key);
    }
  }
  return NULL;
}
