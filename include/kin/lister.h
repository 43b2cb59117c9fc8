/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTER_H
#define KIN_LISTER_H

/** @file
 * Lists and look-ups in stores, by namespace and selector. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/selector.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lists and gets from a store, such as an informer's, or from one namespace of
 * it. A lister is a plain value that owns nothing and may be copied. The store
 * and the namespace must outlive the lister. */
typedef struct kin_lister {
  const kin_store *store; /**< the listed store */
  kin_str namespace_;     /**< empty: all namespaces, and objects without one */
} kin_lister;

/** A lister of all namespaces. */
KIN_EXTERN kin_lister kin_lister_of(const kin_store *store);

/** A lister of one namespace; `namespace_` is borrowed, and empty means all. */
KIN_EXTERN kin_lister kin_lister_in(kin_lister lister, kin_str namespace_);

/** The object of that name, borrowed until the store changes. With a lister of
 * all namespaces `name` is the whole key: "namespace/name", or the name of an
 * object without a namespace.
 * Errors: KIN_ENOENT (*object is NULL), KIN_EKEY (malformed name), KIN_ENOMEM
 * (only for keys of KIN_KEY_SIZE and more).
 * Cost: O(1). */
KIN_EXTERN int kin_lister_get(const kin_lister *lister, kin_str name,
                              const kin_object **object);

/** A scan over the objects that match a selector. Its fields are private. */
typedef struct kin_lister_scan {
  /** Private. */
  kin_lister lister;
  const kin_selector *selector;
  kin_cursor cursor;
  kin_index_cursor found;
  bool uses_index;
  bool is_over;
} kin_lister_scan;

/** Begins a scan. `selector` is borrowed until the scan ends; NULL matches
 * everything. For one namespace the scan uses the store's index of
 * "/metadata/namespace", whatever the index is called, if there is one and it
 * is ready (kin_store_index_ready). Without one, the scan visits all objects. A
 * selector that matches nothing visits none. */
KIN_EXTERN kin_lister_scan kin_lister_list(const kin_lister *lister,
                                           const kin_selector *selector);

/** The next object, borrowed until the store changes, or NULL at the end, in no
 * particular order. After the store has changed, only a scan of all namespaces
 * may be continued (see kin_store_next).
 * A whole scan costs O(objects of the namespace), or O(the most objects the
 * store ever had), times the cost of matching. */
KIN_EXTERN const kin_object *kin_lister_next(kin_lister_scan *scan);

/** The object of the lister that has `value` in the index `index`, borrowed
 * until the store changes; of several objects any one. Allocates nothing.
 * Errors: KIN_ENOENT (no such object; *object is NULL), KIN_EINVAL (no index of
 * that name; kin_store_by_index, kin_store_list_by_index and
 * kin_lingering_index_open return KIN_ENOENT for that). An index that is not
 * ready (kin_store_index_ready) finds what it covers so far.
 * Cost: O(objects with the value in namespaces that are not the lister's). */
KIN_EXTERN int kin_lister_find(const kin_lister *lister, const char *index,
                               kin_str value, const kin_object **object);

/** All of them: writes the first `size` to `objects`, in no particular order,
 * and the number of all to *count, which may be larger. `objects` may be NULL
 * if `size` is 0. The objects are borrowed until the store changes. Allocates
 * nothing; for a list that outlives changes see kin_store_list_by_index.
 * Errors: KIN_EINVAL (no index of that name).
 * Cost: O(objects with the value). */
KIN_EXTERN int kin_lister_find_all(const kin_lister *lister, const char *index,
                                   kin_str value, const kin_object **objects,
                                   size_t size, size_t *count);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LISTER_H */
