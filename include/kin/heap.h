/* SPDX-License-Identifier: MIT */
#ifndef KIN_HEAP_H
#define KIN_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A priority queue in which everything has a key: what is put under a key that
 * is there replaces it and moves to where it belongs (HP rows). Items are the
 * caller's: any pointers but NULL, never looked into or freed. Keys are copied.
 * One thread at a time; it uses no loop. */
typedef struct kin_heap kin_heap;

/* Whether a comes out before b: a strict weak order; of equal items any comes
 * first. Pure: must not call the heap. */
typedef bool (*kin_less_cb)(const void *a, const void *b, void *data);

typedef struct kin_heap_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */
  kin_less_cb less;               /* required */
  void *data;                     /* passed to less */
} kin_heap_options;
#define KIN_HEAP_OPTIONS_INIT                                                  \
  { sizeof(kin_heap_options), NULL, NULL, NULL }

/* Options are copied. Errors: KIN_EINVAL (options, or no less), KIN_ENOTSUP
 * (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int kin_heap_new(kin_heap **out, const kin_heap_options *options);

/* NULL is allowed. Cost: O(items). */
KIN_EXTERN void kin_heap_free(kin_heap *heap);

/* Puts an item in, or in the place of the one with its key; *old, unless NULL,
 * gets that one, or NULL. An item whose order has changed is put again, before
 * anything else is done with the heap. Errors: KIN_EINVAL (NULL item), KIN_EKEY
 * (empty key), KIN_ECLOSED, KIN_ENOMEM; nothing has changed and *old is NULL.
 * Cost: O(log n). */
KIN_EXTERN int kin_heap_put(kin_heap *heap, kin_str key, void *item,
                            void **old);

/* Puts an item in unless its key is there: then KIN_EEXIST, and the item in the
 * heap stays. Other errors and cost as kin_heap_put. */
KIN_EXTERN int kin_heap_put_new(kin_heap *heap, kin_str key, void *item);

typedef struct kin_heap_entry {
  kin_str key;
  void *item;
} kin_heap_entry;

/* Puts several items in, in order, as by kin_heap_put, up to the first error,
 * which is the result. *done, unless NULL, gets the number of those that are
 * in. Of a closed heap it is KIN_ECLOSED also if there are none. Items that are
 * replaced are not told: use kin_heap_put to own them. */
KIN_EXTERN int kin_heap_put_all(kin_heap *heap, const kin_heap_entry *entries,
                                size_t count, size_t *done);

/* Takes the item with that key out, wherever it stands; *item may be NULL.
 * Errors: KIN_ENOENT. Cost: O(log n). */
KIN_EXTERN int kin_heap_delete(kin_heap *heap, kin_str key, void **item);

/* Takes the first item out; *item may be NULL. Errors: KIN_ENOENT (empty, but
 * something may still come), KIN_ECLOSED (empty for good). Cost: O(log n). */
KIN_EXTERN int kin_heap_pop(kin_heap *heap, void **item);

/* The first item, left where it is, or NULL. */
KIN_EXTERN void *kin_heap_peek(const kin_heap *heap);

/* The item with that key, or NULL. */
KIN_EXTERN void *kin_heap_get(const kin_heap *heap, kin_str key);

/* Number of items. */
KIN_EXTERN size_t kin_heap_count(const kin_heap *heap);

/* Scans all items, in no particular order; begin with a zero-initialized
 * cursor, which may be paused like one of kin_store_next. Returns false at the
 * end; else *key, borrowed until its item is taken out, and *item; both may be
 * NULL. */
KIN_EXTERN bool kin_heap_next(const kin_heap *heap, kin_cursor *cursor,
                              kin_str *key, void **item);

/* From now on nothing can be put in; what is in can be taken out. */
KIN_EXTERN void kin_heap_close(kin_heap *heap);
KIN_EXTERN bool kin_heap_is_closed(const kin_heap *heap);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HEAP_H */
