/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_REFERENCE_H
#define KIN_OBJECT_REFERENCE_H

/** @file
 * Naming an object, for Events and owners. */

#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Names an object (core/v1 ObjectReference). All members are borrowed during a
 * call, and each may be empty, unless a function says otherwise. */
typedef struct kin_object_reference {
  kin_str api_version; /**< "apps/v1" */
  kin_str kind;        /**< "Deployment" */
  kin_str namespace_;  /**< empty: it lies in none */
  kin_str name;        /**< "web" */
  kin_str uid;         /**< tells it from another object of the same name */
  kin_str resource_version; /**< the state that was seen */
  kin_str field_path;       /**< "spec.containers{web}" */
} kin_object_reference;

/** Fills a reference from an object: kind and apiVersion as given, because
 * items of a list have none, the rest from the object. The texts are those of
 * the arguments. NULL for `api_version` or `kind` gives "". Cost: O(1). */
KIN_EXTERN void kin_object_reference_of(kin_object_reference *reference,
                                        const kin_object *object,
                                        const char *api_version,
                                        const char *kind);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OBJECT_REFERENCE_H */
