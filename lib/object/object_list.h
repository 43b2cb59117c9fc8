/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_OBJECT_LIST_H
#define KIN_OBJECT_OBJECT_LIST_H

#include <kin/allocator.h>
#include <kin/object_list.h>

/* The list behind kin_object_list while it is filled. */
typedef struct kin__object_list {
  kin_object_list list; /* first member; its `objects` is `items` */
  kin_allocator allocator;
  const kin_object **items;
  size_t capacity;
} kin__object_list;

/* An empty list with room for `capacity` objects; NULL if out of memory. Free
 * it with kin_object_list_free(&made->list). */
kin__object_list *kin__object_list_new(const kin_allocator *allocator,
                                       size_t capacity);

/* Makes sure that the next `extra` calls of kin__object_list_add succeed.
 * Errors: KIN_ENOMEM. */
int kin__object_list_reserve(kin__object_list *list, size_t extra);

/* Appends the object with a reference. Errors: KIN_ENOMEM, nothing added. */
int kin__object_list_add(kin__object_list *list, const kin_object *object);

/* Drops the references and keeps the memory. */
void kin__object_list_clear(kin__object_list *list);

/* Sorts by key, bytewise ascending, and keeps each object once. Equal keys must
 * be the same pointer. O(n log n), in place. */
void kin__object_list_sort(kin__object_list *list);

#endif /* KIN_OBJECT_OBJECT_LIST_H */
