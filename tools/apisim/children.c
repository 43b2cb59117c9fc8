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

/* Appends {"key":value,...} and returns NULL, or the key that lacks. */
static const char *put_keys(buf *out, schema s, yyjson_mut_val *element) {
  const char *keys[SCHEMA_KEYS_MAX];
  size_t count = sorted_keys(s, keys);
  for (size_t i = 0; i < count; i++) {
    yyjson_mut_val *value = yyjson_mut_obj_get(element, keys[i]);
    const char *otherwise =
        schema_default(schema_member(schema_items(s), keys[i]));
    if ((value == NULL || yyjson_mut_is_ctn(value)) && otherwise == NULL) {
      return keys[i];
    }
    buf_putc(out, i == 0 ? '{' : ',');
    buf_put_json(out, keys[i], strlen(keys[i]));
    buf_putc(out, ':');
    if (value != NULL) {
      put_value(out, value);
    } else {
      buf_put_json(out, otherwise, strlen(otherwise));
    }
  }
  buf_putc(out, '}');
  return NULL;
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
    const char *lacking = put_keys(out, s, item->value);
    if (lacking != NULL) {
      if (c->problem.len == 0) {
        buf_printf(&c->problem,
                   "element %zu: associative list with keys has an element "
                   "that omits key field \"%s\"",
                   item->index, lacking);
      }
      out->len = start;
      buf_printf(out, "i:%zu", item->index);
    }
  }
  item->element_len = c->text.len - start;
  buf_append(out, "", 1);
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
      buf_printf(&out->problem, "duplicate entries for key %s", b->element + 2);
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
