/* SPDX-License-Identifier: MIT */
#ifndef KIN_MUTATION_CACHE_H
#define KIN_MUTATION_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_list.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program that has written an object, and whose informer has not seen the
 * write yet, would read its own past. This cache stands in front of a store and
 * knows the answers of the program's writes: it gives whichever of the two is
 * newer. It keeps the most recent of them, for a while. client-go calls it
 * NewIntegerResourceVersionMutationCache (MC rows), since versions have to be
 * compared: as decimal numbers, of any length, "" being 0.
 *
 * Tell it what was written with kin_mutation_cache_mutation, and, from the
 * handlers of the store's informer, what has arrived there. One thread at a
 * time; it uses no loop. */
typedef struct kin_mutation_cache kin_mutation_cache;

typedef struct kin_mutation_cache_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */

  /* Required: what is stood in front of, such as kin_informer_store. Borrowed:
   * it must outlive the cache. It is never written to. */
  const kin_store *store;

  /* Required: milliseconds since any moment, monotonic; called with now_ctx. */
  uint64_t (*now_ms)(void *ctx);
  void *now_ctx;

  uint64_t ttl_ms; /* how long a write is remembered; 0: 5 minutes */

  /* Also answer with written objects that the store does not have. One that was
   * created and deleted before the informer saw either is then shown until
   * kin_mutation_cache_on_delete or the end of ttl_ms. */
  bool include_adds;

  uint32_t max_entries; /* the least recently used go first; 0: 100 */
} kin_mutation_cache_options;
#define KIN_MUTATION_CACHE_OPTIONS_INIT                                        \
  { sizeof(kin_mutation_cache_options), NULL, NULL, NULL, NULL, 0, false, 0 }

/* Options are copied. Errors: KIN_EINVAL (options, no store or no clock),
 * KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int
kin_mutation_cache_new(kin_mutation_cache **out,
                       const kin_mutation_cache_options *options);

/* NULL is allowed. */
KIN_EXTERN void kin_mutation_cache_free(kin_mutation_cache *cache);

/* Remembers what the server answered to a write. Ignored if something newer is
 * known, or that the object (its uid) has been deleted. Errors: KIN_EINVAL
 * (NULL, or its version is no number), KIN_ENOMEM; nothing has changed. Cost:
 * O(1). */
KIN_EXTERN int kin_mutation_cache_mutation(kin_mutation_cache *cache,
                                           const kin_object *object);

/* To be called when an object has come into the store: a write that is not
 * newer is forgotten. Calling it is optional; it saves memory. NULL, and an
 * object whose version is no number, do nothing. */
KIN_EXTERN void kin_mutation_cache_on_put(kin_mutation_cache *cache,
                                          const kin_object *object);

/* To be called with the last state of what was deleted: a write of the same
 * object, or one that is not newer, is forgotten, and later ones of the same
 * object are ignored for ttl_ms. With include_adds it is needed; without, it is
 * optional. Errors: as kin_mutation_cache_mutation. */
KIN_EXTERN int kin_mutation_cache_on_delete(kin_mutation_cache *cache,
                                            const kin_object *object);

/* The newer of what the store has and what was written, borrowed until cache or
 * store are used again; NULL if neither is there, if only the write is and
 * include_adds is off, or if what the store has is known to be deleted. If the
 * store's version is no number, the store is right. Cost: O(1). */
KIN_EXTERN const kin_object *kin_mutation_cache_get(kin_mutation_cache *cache,
                                                    kin_str key);

/* What kin_mutation_cache_get gives for each object that the store finds by its
 * index; with include_adds also written objects that have the value, but are
 * not among those and are newer than what the store has. By key in ascending
 * order; free the list with kin_object_list_free. A written object that the
 * index function fails on is left out.
 * Errors: KIN_ENOENT (no index of that name), KIN_ENOMEM.
 * Cost: O(n log n) for n objects found, and O(max_entries). */
KIN_EXTERN int kin_mutation_cache_by_index(kin_mutation_cache *cache,
                                           const char *name, kin_str value,
                                           kin_object_list **out);

/* Number of writes and deletions remembered, those out of date included. */
KIN_EXTERN size_t kin_mutation_cache_count(const kin_mutation_cache *cache);

/* Compares two resource versions of one object as decimal numbers of any
 * length: *order becomes -1, 0 or 1. "" is 0. Errors: KIN_EINVAL (one is no
 * number). */
KIN_EXTERN int kin_resource_version_compare(kin_str a, kin_str b, int *order);

#ifdef __cplusplus
}
#endif

#endif /* KIN_MUTATION_CACHE_H */
