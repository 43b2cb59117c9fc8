/* SPDX-License-Identifier: MIT */
#include "support/indices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/objects.h"

int put_json(kin_store *store, const char *json) {
  kin_object *object = object_of(NULL, json);
  int err = kin_store_put(store, object);
  kin_object_unref(object);
  return err;
}

int put_users(kin_store *store, const char *name, const char *users) {
  kin_object *object = object_format(
      NULL, "{'metadata':{'name':'%s','labels':{'users':'%s'}}}", name, users);
  int err = kin_store_put(store, object);
  kin_object_unref(object);
  return err;
}

int emit_users(const kin_object *object, kin_index_values *values, void *data) {
  (void)data;
  kin_str users;
  if (!kin_object_label(object, "users", &users)) {
    return 0;
  }
  while (users.length > 0) {
    const char *comma = memchr(users.data, ',', users.length);
    size_t length = comma ? (size_t)(comma - users.data) : users.length;
    int err = kin_index_emit(values, kin__str(users.data, length));
    if (err != 0) {
      return err;
    }
    length += comma != NULL ? 1 : 0;
    users = kin__str(users.data + length, users.length - length);
  }
  return 0;
}

int refuse_users(const kin_object *object, kin_index_values *values,
                 void *data) {
  kin_str users = {"", 0};
  kin_object_label(object, "users", &users);
  return kin__str_equal(users, KIN__LIT("refused"))
             ? -1
             : emit_users(object, values, data);
}

int add_callback(kin_store *store, const char *name, kin_index_cb cb,
                 void *data) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  options.cb = cb;
  options.data = data;
  return kin_store_add_index(store, &options);
}

int add_pointer(kin_store *store, const char *name, const char *pointer) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  options.pointer = pointer;
  return kin_store_add_index(store, &options);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Joins texts in ascending order, and frees them. */
static void join(char *to, char **texts, size_t count) {
  qsort(texts, count, sizeof *texts, compare_texts);
  to[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    strcat(strcat(to, i > 0 ? " " : ""), texts[i]);
    free(texts[i]);
  }
}

void names_by(char *to, const kin_store *store, const char *index,
              kin_str value) {
  char *names[64];
  size_t count = 0;
  kin_index_cursor cursor;
  assert_int_equal(kin_store_by_index(store, index, value, &cursor), 0);
  const kin_object *object;
  while ((object = kin_store_by_index_next(store, &cursor)) != NULL) {
    assert_true(count < 64);
    names[count++] = strdup(kin_object_name(object).data);
  }
  assert_int_equal(kin_store_index_count(store, index, value), count);
  join(to, names, count);
}

void assert_names(const kin_store *store, const char *index, const char *value,
                  const char *expected) {
  char names[1024];
  names_by(names, store, index, kin__cstr(value));
  assert_string_equal(names, expected);
}

void assert_values(const kin_store *store, const char *index,
                   const char *expected) {
  char *values[64];
  size_t count = 0;
  kin_cursor cursor = {0};
  kin_str value;
  while (kin_store_index_next_value(store, index, &cursor, &value)) {
    assert_true(count < 64);
    values[count++] = strndup(value.data ? value.data : "", value.length);
  }
  char joined[1024];
  join(joined, values, count);
  assert_string_equal(joined, expected);
}
