/* SPDX-License-Identifier: MIT */
#include "object/object_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "base/str.h"

kin__object_list *kin__object_list_new(const kin_allocator *allocator,
                                       size_t capacity) {
  kin__object_list *list = kin__calloc(allocator, 1, sizeof *list);
  if (list == NULL) {
    return NULL;
  }
  list->allocator = *allocator;
  if (kin__object_list_reserve(list, capacity) != 0) {
    kin__free(allocator, list);
    return NULL;
  }
  return list;
}

int kin__object_list_reserve(kin__object_list *list, size_t extra) {
  size_t count = list->list.count;
  if (extra <= list->capacity - count) {
    return 0;
  }
  size_t capacity = count + extra;
  if (capacity < extra) {
    return KIN_ENOMEM;
  }
  if (capacity < 2 * list->capacity) {
    capacity = 2 * list->capacity;
  }
  const kin_object **items = kin__realloc_array(
      &list->allocator, list->items, list->capacity, capacity, sizeof *items);
  if (items == NULL) {
    return KIN_ENOMEM;
  }
  list->items = items;
  list->list.objects = count > 0 ? items : NULL;
  list->capacity = capacity;
  return 0;
}

int kin__object_list_add(kin__object_list *list, const kin_object *object) {
  size_t count = list->list.count;
  if (count == list->capacity &&
      kin__object_list_reserve(list, count < 8 ? 8 : count) != 0) {
    return KIN_ENOMEM;
  }
  list->items[list->list.count++] = kin_object_ref(object);
  list->list.objects = list->items;
  return 0;
}

void kin__object_list_clear(kin__object_list *list) {
  while (list->list.count > 0) {
    kin_object_unref(list->items[--list->list.count]);
  }
  list->list.objects = NULL;
}

static bool is_less(void *ctx, size_t a, size_t b) {
  const kin_object **items = ctx;
  kin_str left = kin_object_key(items[a]);
  kin_str right = kin_object_key(items[b]);
  size_t common = left.length < right.length ? left.length : right.length;
  int order = memcmp(left.data, right.data, common);
  return order != 0 ? order < 0 : left.length < right.length;
}

static void swap(void *ctx, size_t a, size_t b) {
  const kin_object **items = ctx;
  const kin_object *moved = items[a];
  items[a] = items[b];
  items[b] = moved;
}

void kin__object_list_sort(kin__object_list *list) {
  const kin_object **items = list->items;
  size_t count = list->list.count;
  kin__sort(&(kin__row){.ctx = (void *)items, .is_less = is_less, .swap = swap},
            count);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && items[kept - 1] == items[i]) {
      kin_object_unref(items[i]);
    } else {
      items[kept++] = items[i];
    }
  }
  list->list.count = kept;
}

void kin_object_list_free(kin_object_list *list) {
  if (list == NULL) {
    return;
  }
  kin__object_list *made = (kin__object_list *)(void *)list;
  kin_allocator allocator = made->allocator;
  kin__object_list_clear(made);
  kin__free(&allocator, made->items);
  kin__free(&allocator, made);
}
