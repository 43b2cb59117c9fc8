/* SPDX-License-Identifier: MIT */

/* Random items, cut anywhere and reduced to random fields: what is stored is
 * valid JSON and means what a plain walk over a tree leaves of the item. Where
 * a member occurs twice the first counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/list.h"
#include "support/json_gen.h"
#include "support/list_run.h"

enum { FIELDS_MAX = 6 };

static yyjson_mut_val *naive_project(yyjson_mut_doc *doc, yyjson_val *value,
                                     const char *const *fields, size_t count);

/* The index that a pointer begins with, or -1. */
static long first_index(const char *pointer) {
  char token[16];
  long index = strtol(pointer + 1, NULL, 10);
  int length = snprintf(token, sizeof token, "/%ld", index);
  bool is_index = strncmp(pointer, token, (size_t)length) == 0 &&
                  (pointer[length] == '\0' || pointer[length] == '/');
  return is_index ? index : -1;
}

/* Element by element, up to the last one that is named. */
static yyjson_mut_val *naive_array(yyjson_mut_doc *doc, yyjson_val *value,
                                   const char *const *fields, size_t count) {
  yyjson_mut_val *array = yyjson_mut_arr(doc);
  for (size_t i = 0; i < yyjson_arr_size(value); i++) {
    yyjson_val *element = yyjson_arr_get(value, i);
    const char *below[FIELDS_MAX + 7];
    size_t below_count = 0;
    bool is_before = false;
    for (size_t k = 0; k < count; k++) {
      long index = first_index(fields[k]);
      is_before = is_before || index > (long)i;
      if (index == (long)i) {
        below[below_count++] = fields[k] + 1 + strcspn(fields[k] + 1, "/");
      }
    }
    if (below_count > 0) {
      yyjson_mut_arr_append(array,
                            naive_project(doc, element, below, below_count));
    } else if (is_before) {
      yyjson_mut_arr_append(array, yyjson_is_obj(element) ? yyjson_mut_obj(doc)
                                   : yyjson_is_arr(element)
                                       ? yyjson_mut_arr(doc)
                                       : yyjson_val_mut_copy(doc, element));
    }
  }
  return array;
}

/* Whether no field is, or can be, in the value of a member. */
static bool is_bare(yyjson_val *value, const char *const *below, size_t count) {
  bool is_whole = false;
  for (size_t i = 0; i < count; i++) {
    is_whole = is_whole || below[i][0] == '\0';
  }
  return !is_whole && !yyjson_is_ctn(value);
}

/* What is left of a value of which only `fields` are kept: pointers relative to
 * it. The plainest way, on a tree. */
static yyjson_mut_val *naive_project(yyjson_mut_doc *doc, yyjson_val *value,
                                     const char *const *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (fields[i][0] == '\0') {
      return yyjson_val_mut_copy(doc, value);
    }
  }
  if (count == 0) {
    return NULL;
  }
  if (yyjson_is_arr(value)) {
    return naive_array(doc, value, fields, count);
  }
  if (!yyjson_is_obj(value)) {
    return yyjson_val_mut_copy(doc, value);
  }
  yyjson_mut_val *object = yyjson_mut_obj(doc);
  yyjson_obj_iter members = yyjson_obj_iter_with(value);
  yyjson_val *name;
  while ((name = yyjson_obj_iter_next(&members)) != NULL) {
    const char *below[FIELDS_MAX + 7];
    size_t below_count = 0;
    for (size_t i = 0; i < count; i++) {
      size_t length = strcspn(fields[i] + 1, "/");
      if (yyjson_equals_strn(name, fields[i] + 1, length)) {
        below[below_count++] = fields[i] + 1 + length;
      }
    }
    yyjson_val *member = yyjson_obj_iter_get_val(name);
    yyjson_mut_val *kept = is_bare(member, below, below_count)
                               ? NULL
                               : naive_project(doc, member, below, below_count);
    if (kept != NULL) {
      yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, name), kept);
    }
  }
  return object;
}

static char *naive_text(yyjson_val *item, const char *const *fields,
                        size_t count) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_doc_set_root(doc, naive_project(doc, item, fields, count));
  char *text = yyjson_mut_write(doc, 0, NULL);
  yyjson_mut_doc_free(doc);
  return text;
}

/* Members of metadata in random order among others, some missing, some twice,
 * some of a wrong type. */
static void gen_metadata(json_gen *gen) {
  static const char *const names[] = {"\"name\"",         "\"namespace\"",
                                      "\"uid\"",          "\"resourceVersion\"",
                                      "\"labels\"",       "\"annotations\"",
                                      "\"managedFields\""};
  json_gen_text(gen, "\"metadata\":{");
  json_gen_space(gen);
  uint32_t first = json_gen_below(gen, 7);
  uint32_t step = 1 + json_gen_below(gen, 6); /* 7 is prime: visits all */
  for (uint32_t i = 0; i < 7; i++) {
    uint32_t which = (first + i * step) % 7;
    json_gen_text(gen, i > 0 ? "," : "");
    json_gen_space(gen);
    json_gen_text(gen, names[which]);
    json_gen_space(gen);
    json_gen_text(gen, ":");
    json_gen_space(gen);
    if (json_gen_one_in(gen, 20)) {
      json_gen_value(gen, 2);
    } else if (which == 0) {
      json_gen_text(gen, json_gen_one_in(gen, 3) ? "\"n\\u006f\\\"de\""
                                                 : "\"node\"");
    } else if (which < 4) {
      json_gen_string(gen);
    } else {
      json_gen_object(gen, 2);
    }
    json_gen_space(gen);
    if (json_gen_one_in(gen, 5)) {
      json_gen_text(gen, ",\"uid\":\"second\",\"x\":");
      json_gen_value(gen, 1);
    }
  }
  json_gen_text(gen, "}");
}

static void gen_item(json_gen *gen) {
  static const char *const names[] = {"a", "b", "spec", "status", "kind"};
  json_gen_text(gen, "{");
  json_gen_space(gen);
  uint32_t members = 1 + json_gen_below(gen, 6);
  uint32_t metadata = json_gen_below(gen, members);
  for (uint32_t i = 0; i < members; i++) {
    json_gen_text(gen, i > 0 ? "," : "");
    json_gen_space(gen);
    if (i == metadata) {
      gen_metadata(gen);
    } else {
      json_gen_text(gen, "\"");
      json_gen_text(gen, names[json_gen_below(gen, 5)]);
      json_gen_text(gen, "\"");
      json_gen_space(gen);
      json_gen_text(gen, ":");
      json_gen_space(gen);
      json_gen_value(gen, 4);
    }
    json_gen_space(gen);
  }
  json_gen_text(gen, "}");
}

/* Picks fields, and puts those that are always kept behind them. */
static size_t pick_fields(json_gen *gen, const char **fields) {
  static const char *const choice[] = {"/spec",
                                       "/spec/a",
                                       "/spec/b/c",
                                       "/a",
                                       "/status/name",
                                       "/kind",
                                       "/metadata/annotations/a",
                                       "/a/a/a",
                                       "/metadata/x",
                                       "/b/name",
                                       "/spec/0",
                                       "/spec/2",
                                       "/spec/1/0",
                                       "/spec/a/1",
                                       "/a/1/a",
                                       "/a/0/0/1"};
  size_t count = json_gen_below(gen, FIELDS_MAX + 1);
  for (size_t i = 0; i < count; i++) {
    fields[i] = choice[json_gen_below(gen, 16)];
  }
  static const char *const always[] = {
      "/apiVersion",         "/kind",         "/metadata/name",
      "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion",
      "/metadata/labels"};
  memcpy(fields + count, always, sizeof always);
  return count;
}

static bool has_name(yyjson_val *item) {
  yyjson_val *name = yyjson_obj_get(yyjson_obj_get(item, "metadata"), "name");
  return json_str(name).length > 0;
}

static void check_random_item(list_run *r, const char *expected, kin_str text,
                              yyjson_val *item) {
  int err = has_name(item) ? 0 : KIN_EKEY;
  for (int cut = BYTEWISE; cut < (int)text.length; cut += 29) {
    if (list_run_decode(r, text, cut) != err) {
      fail_msg("%s: " KIN_STR_FORMAT, kin_err_name(err), KIN_STR_ARG(text));
    }
    assert_int_equal(r->got.count, err == 0 ? 1 : 0);
    if (err == 0) {
      assert_object(r->got.objects[0], item, expected);
    }
    list_run_again(r);
  }
}

static void test_list_projections_of_random_items(void **state) {
  (void)state;
  size_t named = 0;
  for (uint64_t seed = 1; seed < 700; seed++) {
    kin__buf text;
    kin__buf_init(&text, kin__default_allocator(), 1 << 24);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    json_gen_text(&gen, "{\"metadata\":{},\"items\":[");
    size_t item_at = text.length;
    gen_item(&gen);
    size_t item_length = text.length - item_at;
    json_gen_text(&gen, "]}");

    yyjson_doc *doc = yyjson_read(text.data + item_at, item_length, 0);
    assert_non_null(doc);
    yyjson_val *item = yyjson_doc_get_root(doc);
    const char *fields[FIELDS_MAX + 7];
    size_t count = pick_fields(&gen, fields);
    list_run r;
    list_run_init(&r);
    assert_int_equal(kin__projection_new_fields(&r.projection,
                                                kin__default_allocator(),
                                                fields, count),
                     0);
    char *expected = naive_text(item, fields, count + 7);
    check_random_item(&r, expected, kin__str(text.data, text.length), item);
    named += has_name(item);
    free(expected);
    list_run_finish(&r);
    yyjson_doc_free(doc);
    kin__buf_finish(&text);
  }
  assert_true(named > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_projections_of_random_items),
  };
  return cmocka_run_group_tests_name("list_projection", tests, NULL, NULL);
}
