/* SPDX-License-Identifier: MIT */
#ifndef KIN_HEAP_H
#define KIN_HEAP_H

/** @file
 * A priority queue by key. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A priority queue by key: an item that is put under an existing key replaces
 * the old item and moves to its new place. Items are the caller's: any pointers
 * but NULL, never looked into or freed. Keys are copied. One thread at a time;
 * the heap uses no loop. */
typedef struct kin_heap kin_heap;

/** Returns whether a comes out before b: a strict weak order; equal items come
 * out in any order. Pure: must not call the heap. */
typedef bool (*kin_less_cb)(const void *a, const void *b, void *data);

/** Options of kin_heap_new. */
typedef struct kin_heap_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */
  kin_less_cb less;               /**< required */
  void *data;                     /**< passed to less */
} kin_heap_options;
/** Sets the size, and each member to its default. */
#define KIN_HEAP_OPTIONS_INIT                                                  \
  { sizeof(kin_heap_options), NULL, NULL, NULL }

/** Makes an empty heap. Options are copied.
 * Errors: KIN_EINVAL (options, or no less), KIN_ENOTSUP (options of a newer
 * version), KIN_ENOMEM. */
KIN_EXTERN int kin_heap_new(kin_heap **out, const kin_heap_options *options);

/** Frees a heap. NULL is allowed. Cost: O(items). */
KIN_EXTERN void kin_heap_free(kin_heap *heap);

/** Puts an item in, or replaces the item with its key; *old, unless `old` is
 * NULL, gets the replaced item, or NULL. If the order of an item has changed,
 * put it again before any other use of the heap.
 * Errors: KIN_EINVAL (NULL item), KIN_EKEY (empty key), KIN_ECLOSED,
 * KIN_ENOMEM; nothing has changed then and *old is NULL.
 * Cost: O(log n). */
KIN_EXTERN int kin_heap_put(kin_heap *heap, kin_str key, void *item,
                            void **old);

/** Puts an item in, unless its key exists: then KIN_EEXIST, and the item in the
 * heap stays. Other errors and cost as kin_heap_put. */
KIN_EXTERN int kin_heap_put_new(kin_heap *heap, kin_str key, void *item);

/** An item to put in. */
typedef struct kin_heap_entry {
  kin_str key; /**< not empty */
  void *item;  /**< not NULL */
} kin_heap_entry;

/** Puts several items in, in order, as by kin_heap_put, up to the first error,
 * which is the result. *done, unless `done` is NULL, gets the number of items
 * put in. A closed heap answers KIN_ECLOSED also if there are no entries.
 * Replaced items are not reported: a caller that must free them uses
 * kin_heap_put. */
KIN_EXTERN int kin_heap_put_all(kin_heap *heap, const kin_heap_entry *entries,
                                size_t count, size_t *done);

/** Takes the item with that key out, wherever it stands; `item` may be NULL.
 * Errors: KIN_ENOENT. Cost: O(log n). */
KIN_EXTERN int kin_heap_delete(kin_heap *heap, kin_str key, void **item);

/** Takes the first item out; `item` may be NULL.
 * Errors: KIN_ENOENT (empty, but items may still come), KIN_ECLOSED (empty and
 * closed). Cost: O(log n). */
KIN_EXTERN int kin_heap_pop(kin_heap *heap, void **item);

/** The first item, left where it is, or NULL. */
KIN_EXTERN void *kin_heap_peek(const kin_heap *heap);

/** The item with that key, or NULL. */
KIN_EXTERN void *kin_heap_get(const kin_heap *heap, kin_str key);

/** Number of items. */
KIN_EXTERN size_t kin_heap_count(const kin_heap *heap);

/** Scans all items, in no particular order: begin with a zero-initialized
 * cursor. A scan may be paused like one of kin_store_next. Returns false at the
 * end. *key is borrowed until its item is taken out; `key` and `item` may be
 * NULL. */
KIN_EXTERN bool kin_heap_next(const kin_heap *heap, kin_cursor *cursor,
                              kin_str *key, void **item);

/** After kin_heap_close no item can be put in; items in the heap can be taken
 * out. */
KIN_EXTERN void kin_heap_close(kin_heap *heap);
KIN_EXTERN bool kin_heap_is_closed(const kin_heap *heap);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HEAP_H */
