/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTER_H
#define KIN_LISTER_H

#include <stdbool.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/selector.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A store, or one namespace of it, as something to list and get from (LI rows):
 * such as that of an informer. A plain value that owns nothing: copy it freely;
 * what it borrows must outlive it. */
typedef struct kin_lister {
  const kin_store *store;
  kin_str namespace_; /* empty: all, and those without */
} kin_lister;

/* Of all namespaces. */
KIN_EXTERN kin_lister kin_lister_of(const kin_store *store);

/* The same, of one namespace; `namespace_` is borrowed, and empty means all. */
KIN_EXTERN kin_lister kin_lister_in(kin_lister lister, kin_str namespace_);

/* The object of that name, borrowed until the store changes. Of all namespaces
 * `name` is the whole key: "namespace/name", or the name of what has none.
 * Errors: KIN_ENOENT (*object is NULL), KIN_EKEY (malformed name), KIN_ENOMEM
 * (only for keys of KIN_KEY_SIZE and more). Cost: O(1). */
KIN_EXTERN int kin_lister_get(const kin_lister *lister, kin_str name,
                              const kin_object **object);

/* A scan over the objects that match a selector. Its fields are private. */
typedef struct kin_lister_scan {
  kin_lister lister;
  const kin_selector *selector;
  kin_cursor cursor;
  kin_index_cursor found;
  bool uses_index;
  bool is_over;
} kin_lister_scan;

/* Begins a scan; `selector` is borrowed for as long as it lasts, and NULL
 * matches everything. One namespace is found by the store's index of
 * "/metadata/namespace", whatever that is called, if there is one and it is
 * ready (kin_store_index_ready); without one all objects are looked at. A
 * selector that matches nothing looks at none. */
KIN_EXTERN kin_lister_scan kin_lister_list(const kin_lister *lister,
                                           const kin_selector *selector);

/* The next object, borrowed until the store changes, or NULL at the end, in no
 * particular order. After the store has changed a scan may be continued only if
 * it is of all namespaces (see kin_store_next).
 * A whole scan costs O(objects of the namespace), or O(the most objects there
 * have ever been), times the cost of matching. */
KIN_EXTERN const kin_object *kin_lister_next(kin_lister_scan *scan);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LISTER_H */
