/* SPDX-License-Identifier: MIT */
#ifndef KIN_EXPIRING_STORE_H
#define KIN_EXPIRING_STORE_H

/** @file
 * A store whose objects expire. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Objects by key that expire: client-go's ExpirationCache. Nothing runs in the
 * background. A look-up finds that an object has expired, and removes it. A
 * scan with kin_expiring_store_next removes expired objects that no look-up
 * asks for; one call removes all of them up to the next object that is not
 * expired.
 *
 * The store uses no loop. The clock is the caller's and need not be monotonic:
 * an object from the future has age 0. One thread at a time. */
typedef struct kin_expiring_store kin_expiring_store;

/** Returns whether an object that was put `age_ms` ago is expired. Pure: may
 * call kin_object_* only; changing the store from here is refused with
 * KIN_EALREADY. */
typedef bool (*kin_expired_cb)(const kin_object *object, uint64_t age_ms,
                               void *data);

/** Options of kin_expiring_store_new. */
typedef struct kin_expiring_store_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */

  /** Required: milliseconds since any moment. Called with now_ctx at most
   * once by each function that puts objects or looks at them, and by no
   * other. */
  uint64_t (*now_ms)(void *ctx);
  void *now_ctx;

  /** Objects older than this are expired, objects of exactly this age are not;
   * 0: objects do not expire. Not used with is_expired. */
  uint64_t ttl_ms;
  kin_expired_cb is_expired;
  void *data; /**< passed to is_expired */
} kin_expiring_store_options;
/** Sets the size, and each member to its default. */
#define KIN_EXPIRING_STORE_OPTIONS_INIT                                        \
  { sizeof(kin_expiring_store_options), NULL, NULL, NULL, 0, NULL, NULL }

/** Makes an empty store. Options are copied.
 * Errors: KIN_EINVAL (options, or no clock), KIN_ENOTSUP (options of a newer
 * version), KIN_ENOMEM. */
KIN_EXTERN int
kin_expiring_store_new(kin_expiring_store **out,
                       const kin_expiring_store_options *options);

/** Frees a store. NULL is allowed. Cost: O(objects). */
KIN_EXTERN void kin_expiring_store_free(kin_expiring_store *store);

/** As kin_store_put, kin_store_delete, kin_store_delete_object,
 * kin_store_replace and kin_store_bookmark, errors included. Putting and
 * replacing set the objects' age to 0. */
KIN_EXTERN int kin_expiring_store_put(kin_expiring_store *store,
                                      const kin_object *object);
KIN_EXTERN int kin_expiring_store_delete(kin_expiring_store *store,
                                         kin_str key);
KIN_EXTERN int kin_expiring_store_delete_object(kin_expiring_store *store,
                                                const kin_object *object);
KIN_EXTERN int kin_expiring_store_replace(kin_expiring_store *store,
                                          const kin_object *const *objects,
                                          size_t count, kin_str version);
KIN_EXTERN int kin_expiring_store_bookmark(kin_expiring_store *store,
                                           kin_str version);

/** The object with that key, borrowed until the store is used again, or NULL.
 * An expired object is removed. */
KIN_EXTERN const kin_object *kin_expiring_store_get(kin_expiring_store *store,
                                                    kin_str key);

/** The next object that is not expired, borrowed until the store is used again,
 * or NULL at the end. Expired objects on the way are removed. Begin with a
 * zero-initialized cursor; see kin_store_next.
 * Cost: O(expired objects on the way). */
KIN_EXTERN const kin_object *kin_expiring_store_next(kin_expiring_store *store,
                                                     kin_cursor *cursor);

/** The next key, also of an expired object that has not been removed yet;
 * removes nothing. Returns false at the end. */
KIN_EXTERN bool kin_expiring_store_next_key(const kin_expiring_store *store,
                                            kin_cursor *cursor, kin_str *key);

/** Number of objects, expired ones that have not been removed yet included. */
KIN_EXTERN size_t kin_expiring_store_count(const kin_expiring_store *store);

/** As kin_store_resource_version. The version follows every put, unlike
 * client-go's, and no expiry. */
KIN_EXTERN kin_str
kin_expiring_store_resource_version(const kin_expiring_store *store);

#ifdef __cplusplus
}
#endif

#endif /* KIN_EXPIRING_STORE_H */
