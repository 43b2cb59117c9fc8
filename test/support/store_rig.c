/* SPDX-License-Identifier: MIT */
#include "support/store_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/indices.h"
#include "support/objects.h"

enum { LIST_MAX = 16 };

void store_rig_setup_with(store_rig *f, kin_transform_cb transform,
                          void *data) {
  fail_alloc_init(&f->memory, 0);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.transform = transform;
  options.data = data;
  assert_int_equal(kin_store_new(&f->store, &options), 0);
}

void store_rig_setup(store_rig *f) {
  store_rig_setup_with(f, NULL, NULL);
}

void store_rig_teardown(store_rig *f) {
  kin_store_free(f->store);
  assert_int_equal(f->memory.live_blocks, 0);
}

kin_object *object_of_user(const char *name, const char *users,
                           const char *version) {
  return object_format(NULL,
                       "{'metadata':{'name':'%s','resourceVersion':'%s',"
                       "'labels':{'users':'%s'}}}",
                       name, version, users);
}

int replace_users(kin_store *store, const char *words, const char *version) {
  kin_object *objects[LIST_MAX];
  size_t count = 0;
  char name[64];
  char users[64];
  int length;
  for (; sscanf(words, " %63[^=]=%63s%n", name, users, &length) == 2;
       words += length) {
    assert_true(count < LIST_MAX);
    objects[count++] = object_of_user(name, users, "1");
  }
  const kin_object *list[LIST_MAX];
  memcpy(list, objects, count * sizeof *list);
  int err = kin_store_replace(store, list, count, kin__cstr(version));
  while (count > 0) {
    kin_object_unref(objects[--count]);
  }
  return err;
}

void assert_users(const kin_store *store, const char *expected) {
  kin_object_list *list;
  char text[1024] = "";
  size_t at = 0;
  assert_int_equal(kin_store_list(store, &list), 0);
  assert_int_equal(list->count, kin_store_count(store));
  uint64_t bytes = 0;
  const char *last = "";
  for (size_t n = 0; n < list->count; n++) {
    const kin_object *least = NULL;
    for (size_t i = 0; i < list->count; i++) {
      const char *key = kin_object_key(list->objects[i]).data;
      if (strcmp(key, last) > 0 &&
          (least == NULL || strcmp(key, kin_object_key(least).data) < 0)) {
        least = list->objects[i];
      }
    }
    assert_non_null(least);
    last = kin_object_key(least).data;
    kin_str users = {"", 0};
    kin_object_label(least, "users", &users);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s=" KIN_STR_FORMAT,
                           n > 0 ? " " : "", last, KIN_STR_ARG(users));
    assert_ptr_equal(kin_store_get_key(store, last), least);
    bytes += kin_object_memory(least);
  }
  assert_string_equal(text, expected);
  assert_int_equal(kin_store_bytes(store), bytes);
  kin_object_list_free(list);
}

void assert_store_version(const kin_store *store, const char *expected) {
  kin_str version = kin_store_resource_version(store);
  assert_int_equal(version.length, strlen(expected));
  assert_memory_equal(version.data, expected, version.length);
}

void assert_list_keys(kin_object_list *list, const char *expected) {
  char text[1024] = "";
  for (size_t i = 0; i < list->count; i++) {
    strcat(text, i > 0 ? " " : "");
    strcat(text, kin_object_key(list->objects[i]).data);
  }
  assert_string_equal(text, expected);
  kin_object_list_free(list);
}

void run_store_story(kin_store *store) {
  assert_int_equal(put_users(store, "foo", "bar"), 0);
  assert_users(store, "foo=bar");
  assert_int_equal(put_users(store, "foo", "baz"), 0);
  assert_users(store, "foo=baz");
  assert_int_equal(kin_store_delete(store, KIN__LIT("foo")), 0);
  assert_null(kin_store_get_key(store, "foo"));
  assert_int_equal(put_users(store, "a", "b"), 0);
  assert_int_equal(put_users(store, "c", "d"), 0);
  assert_int_equal(put_users(store, "e", "e"), 0);
  assert_users(store, "a=b c=d e=e");
  assert_int_equal(replace_users(store, "foo=foo bar=bar", "0"), 0);
  assert_users(store, "bar=bar foo=foo");
}
