/* SPDX-License-Identifier: MIT */
#include "children.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

bool children_mergeable(schema s, yyjson_mut_val *value) {
  if (yyjson_mut_is_obj(value)) {
    return !schema_is_atomic(s);
  }
  return yyjson_mut_is_arr(value) && schema_list_type(s) != SCHEMA_LIST_ATOMIC;
}

int children_compare(const char *a, size_t a_len, const char *b, size_t b_len) {
  int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* -------------------------------------------------------------- elements */

static void put_value(buf *out, yyjson_mut_val *value) {
  size_t len = 0;
  char *text = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, &len);
  buf_append(out, text != NULL ? text : "null", text != NULL ? len : 4);
  free(text);
}

/* The keys of a list's elements in alphabetical order. */
static size_t sorted_keys(schema s, const char *keys[SCHEMA_KEYS_MAX]) {
  size_t count = 0;
  const char *key;
  while ((key = schema_list_key(s, count)) != NULL) {
    size_t at = count++;
    for (; at > 0 && strcmp(keys[at - 1], key) > 0; at--) {
      keys[at] = keys[at - 1];
    }
    keys[at] = key;
  }
  return count;
}

/* Appends {"key":value,...} of the keys that the element has or that have a
 * default. False if there is none. */
static bool put_keys(buf *out, schema s, yyjson_mut_val *element) {
  const char *keys[SCHEMA_KEYS_MAX];
  size_t count = sorted_keys(s, keys);
  bool any = false;
  buf_putc(out, '{');
  for (size_t i = 0; i < count; i++) {
    yyjson_mut_val *value = yyjson_mut_obj_get(element, keys[i]);
    const char *otherwise =
        schema_default(schema_member(schema_items(s), keys[i]));
    if (value == NULL && otherwise == NULL) {
      continue;
    }
    buf_puts(out, any ? "," : "");
    buf_put_json(out, keys[i], strlen(keys[i]));
    buf_putc(out, ':');
    if (value != NULL) {
      put_value(out, value);
    } else {
      buf_put_json(out, otherwise, strlen(otherwise));
    }
    any = true;
  }
  buf_putc(out, '}');
  return any;
}

static void tell_lacking(buf *problem, schema s, size_t index) {
  if (problem->len != 0) {
    return;
  }
  buf_printf(
      problem,
      "element %zu: associative list with keys has an element that omits "
      "all key fields [",
      index);
  const char *key;
  for (size_t i = 0; (key = schema_list_key(s, i)) != NULL; i++) {
    buf_printf(problem, "%s\"%s\"", i > 0 ? " " : "", key);
  }
  buf_puts(problem, "] (and doesn't have default values for any key fields)");
}

static void put_element(children *c, schema s, part *item) {
  size_t start = c->text.len;
  buf *out = &c->text;
  if (item->key != NULL) {
    buf_puts(out, "f:");
    buf_append(out, yyjson_mut_get_str(item->key),
               yyjson_mut_get_len(item->key));
  } else if (schema_list_type(s) == SCHEMA_LIST_SET) {
    buf_puts(out, "v:");
    put_value(out, item->value);
  } else {
    buf_puts(out, "k:");
    if (!put_keys(out, s, item->value)) {
      tell_lacking(&c->problem, s, item->index);
      out->len = start;
      buf_printf(out, "i:%zu", item->index);
    }
  }
  item->element_len = c->text.len - start;
  buf_append(out, "", 1);
}

/* {"port":80} as [port=80] */
static void put_key_path(buf *path, const char *text, size_t len) {
  yyjson_doc *doc = yyjson_read(text, len, YYJSON_READ_NUMBER_AS_RAW);
  size_t i, max;
  yyjson_val *key, *value;
  yyjson_val *keys = yyjson_doc_get_root(doc);
  if (!yyjson_is_obj(keys)) { // a client may send anything as f:k:...
    yyjson_doc_free(doc);
    return;
  }
  yyjson_obj_foreach(keys, i, max, key, value) {
    char *shown = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, NULL);
    buf_printf(path, "%s%s=%s", i > 0 ? "," : "", yyjson_get_str(key),
               shown != NULL ? shown : "");
    free(shown);
  }
  yyjson_doc_free(doc);
}

void children_put_path(buf *path, const char *text, size_t len) {
  if (len < 2 || text[1] != ':') {
    buf_puts(path, "[?]");
  } else if (text[0] == 'f') {
    buf_putc(path, '.');
    buf_append(path, text + 2, len - 2);
  } else if (text[0] == 'k') {
    buf_putc(path, '[');
    put_key_path(path, text + 2, len - 2);
    buf_putc(path, ']');
  } else {
    buf_printf(path, text[0] == 'v' ? "[=%s]" : "[%s]", text + 2);
  }
}

static int by_element(const void *a, const void *b) {
  const part *one = a;
  const part *two = b;
  int order = children_compare(one->element, one->element_len, two->element,
                               two->element_len);
  return order != 0 ? order
                    : (one->index > two->index) - (one->index < two->index);
}

void children_read(children *out, schema s, yyjson_mut_val *value) {
  *out = (children){0};
  size_t size = yyjson_mut_is_obj(value) ? yyjson_mut_obj_size(value)
                                         : yyjson_mut_arr_size(value);
  out->items = xcalloc(size + 1, sizeof *out->items);
  size_t i, max;
  yyjson_mut_val *key, *item;
  yyjson_mut_obj_foreach(value, i, max, key, item) {
    out->items[out->count++] = (part){.key = key, .value = item, .index = i};
  }
  yyjson_mut_arr_foreach(value, i, max, item) {
    out->items[out->count++] = (part){.value = item, .index = i};
  }
  for (i = 0; i < out->count; i++) {
    put_element(out, s, &out->items[i]);
  }
  const char *at = out->text.data;
  for (i = 0; i < out->count; i++) {
    out->items[i].element = at;
    at += out->items[i].element_len + 1;
  }
  qsort(out->items, out->count, sizeof *out->items, by_element);
  for (i = 1; i < out->count; i++) {
    const part *a = &out->items[i - 1];
    const part *b = &out->items[i];
    if (children_compare(a->element, a->element_len, b->element,
                         b->element_len) == 0 &&
        out->problem.len == 0) {
      buf_puts(&out->problem, "duplicate entries for key ");
      children_put_path(&out->problem, b->element, b->element_len);
    }
  }
}

void children_free(children *c) {
  free(c->items);
  buf_free(&c->text);
  buf_free(&c->problem);
  *c = (children){0};
}

static int find_element(const void *key, const void *item) {
  const part *like = key;
  const part *have = item;
  return children_compare(like->element, like->element_len, have->element,
                          have->element_len);
}

const part *children_find(const children *c, const part *like) {
  return c->count == 0 ? NULL
                       : bsearch(like, c->items, c->count, sizeof *c->items,
                                 find_element);
}

schema children_schema(schema s, const part *of) {
  return of->key != NULL ? schema_member(s, yyjson_mut_get_str(of->key))
                         : schema_items(s);
}
