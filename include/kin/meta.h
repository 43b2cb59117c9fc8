/* SPDX-License-Identifier: MIT */
#ifndef KIN_META_H
#define KIN_META_H

/** @file
 * What many types of objects have: annotations, owners, conditions. */

#include <stdbool.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>
#include <kin/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The members of the structs below are values, not strings, because a message
 * may well contain escapes: kin_value_string_is compares them, kin_value_string
 * and kin_value_copy_string read them. They live as long as the object; of a
 * compact object see kin_compact. */

/** The maps of labels and annotations, to walk over with kin_value_iterate and
 * kin_value_next_member. For one label see kin_object_label.
 * Cost: O(bytes of the object before the end of the map). */
KIN_EXTERN kin_value kin_object_labels(const kin_object *object);
KIN_EXTERN kin_value kin_object_annotations(const kin_object *object);

/** One annotation, by its key as it is.
 * Cost: O(bytes of the object before the end of the annotation). */
KIN_EXTERN kin_value kin_object_annotation(const kin_object *object,
                                           kin_str key);

/** One of metadata.ownerReferences. */
typedef struct kin_owner_reference {
  kin_value api_version;      /**< such as "apps/v1" */
  kin_value kind;             /**< such as "ReplicaSet" */
  kin_value name;             /**< its name */
  kin_value uid;              /**< its uid */
  bool is_controller;         /**< this owner manages the object */
  bool blocks_owner_deletion; /**< blockOwnerDeletion */
} kin_owner_reference;

/** Begins a walk over the owner references; kin_owner_reference_next steps.
 * Cost: O(bytes of the object before the end of the references). */
KIN_EXTERN kin_value_iterator
kin_object_owner_references(const kin_object *object);

/** Steps to the next owner reference. Returns false at the end. A member that
 * is not there is an absent value, or false. */
KIN_EXTERN bool kin_owner_reference_next(kin_value_iterator *iterator,
                                         kin_owner_reference *out);

/** The owner whose `controller` is true: metav1.GetControllerOf.
 * Errors: KIN_ENOENT (none), KIN_ETYPE, KIN_EJSON, KIN_ENOMEM (compact objects
 * only, see kin_compact); *out is left alone.
 * Cost: O(bytes of the object before the end of the references). */
KIN_EXTERN int kin_object_controller(const kin_object *object,
                                     kin_owner_reference *out);

/** One of status.conditions. */
typedef struct kin_condition {
  kin_value type;                 /**< such as "Ready" */
  kin_value status;               /**< "True", "False" or "Unknown" */
  kin_value reason;               /**< for programs */
  kin_value message;              /**< for people */
  kin_value last_transition_time; /**< for kin_value_time */
  kin_value observed_generation;  /**< for kin_value_int64 */
} kin_condition;

/** Begins a walk over the conditions; kin_condition_next steps.
 * Cost: O(bytes of the object before the end of the conditions). */
KIN_EXTERN kin_value_iterator kin_object_conditions(const kin_object *object);

/** Steps to the next condition. Returns false at the end. A member that is not
 * there is an absent value. */
KIN_EXTERN bool kin_condition_next(kin_value_iterator *iterator,
                                   kin_condition *out);

/** The condition of that type: meta.FindStatusCondition.
 * Errors: KIN_ENOENT (none), KIN_ETYPE, KIN_EJSON, KIN_ENOMEM (compact objects
 * only, see kin_compact); *out is left alone.
 * Cost: O(bytes of the object before the end of the conditions). */
KIN_EXTERN int kin_object_condition(const kin_object *object, kin_str type,
                                    kin_condition *out);

/** Returns whether the condition of that type has the status "True":
 * meta.IsStatusConditionTrue. False for a compact object whose text cannot be
 * read.
 * Cost: O(bytes of the object before the end of the conditions). */
KIN_EXTERN bool kin_object_condition_is_true(const kin_object *object,
                                             kin_str type);

#ifdef __cplusplus
}
#endif

#endif /* KIN_META_H */
