/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_LIST_H
#define KIN_OBJECT_LIST_H

/** @file
 * Lists of objects. */

#include <stddef.h>

#include <kin/export.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Objects that a function has gathered. The list has references of its own, so
 * the source of the objects may change while the list is in use. Only the
 * library makes lists; the caller frees those that are handed out. */
typedef struct kin_object_list {
  size_t count;                     /**< of objects */
  const kin_object *const *objects; /**< NULL if count is 0 */
} kin_object_list;

/** Drops the references and the list. NULL is allowed. Cost: O(count). */
KIN_EXTERN void kin_object_list_free(kin_object_list *list);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OBJECT_LIST_H */
