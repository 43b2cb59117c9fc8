/* SPDX-License-Identifier: MIT */
#include <kin/meta.h>

#include "values/value.h"

/* Reads the members of these names. Of two members of one name the first
 * counts. A member that is not there is KIN_ENOENT. */
static void read_members(kin_value element, const kin_str *names,
                         kin_value **values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    *values[i] = kin__value_failed(KIN_ENOENT);
  }
  kin_value_iterator members = kin_value_iterate(element);
  kin_value name;
  kin_value value;
  while (kin_value_next_member(&members, &name, &value)) {
    size_t i = 0;
    while (i < count &&
           !(values[i]->error != 0 && kin_value_string_is(name, names[i]))) {
      i++;
    }
    if (i < count) {
      *values[i] = value;
    }
  }
}

kin_value kin_object_labels(const kin_object *object) {
  return kin_object_at(object, "/metadata/labels");
}

kin_value kin_object_annotations(const kin_object *object) {
  return kin_object_at(object, "/metadata/annotations");
}

kin_value kin_object_annotation(const kin_object *object, kin_str key) {
  return kin_value_member(kin_object_annotations(object), key);
}

kin_value_iterator kin_object_owner_references(const kin_object *object) {
  return kin_value_iterate(kin_object_at(object, "/metadata/ownerReferences"));
}

bool kin_owner_reference_next(kin_value_iterator *iterator,
                              kin_owner_reference *out) {
  if (out == NULL) {
    return false;
  }
  *out = (kin_owner_reference){.is_controller = false};
  kin_value element;
  if (!kin_value_next(iterator, &element)) {
    return false;
  }
  static const kin_str names[] = {
      KIN_STR_INIT("apiVersion"), KIN_STR_INIT("kind"),
      KIN_STR_INIT("name"),       KIN_STR_INIT("uid"),
      KIN_STR_INIT("controller"), KIN_STR_INIT("blockOwnerDeletion")};
  kin_value controller;
  kin_value blocks;
  kin_value *values[] = {&out->api_version, &out->kind,  &out->name,
                         &out->uid,         &controller, &blocks};
  read_members(element, names, values, sizeof names / sizeof *names);
  (void)kin_value_bool(controller, &out->is_controller);
  (void)kin_value_bool(blocks, &out->blocks_owner_deletion);
  return true;
}

int kin_object_controller(const kin_object *object, kin_owner_reference *out) {
  if (object == NULL || out == NULL) {
    return KIN_EINVAL;
  }
  kin_value_iterator references = kin_object_owner_references(object);
  kin_owner_reference reference;
  while (kin_owner_reference_next(&references, &reference)) {
    if (reference.is_controller) {
      *out = reference;
      return 0;
    }
  }
  return references.error != 0 ? references.error : KIN_ENOENT;
}

kin_value_iterator kin_object_conditions(const kin_object *object) {
  return kin_value_iterate(kin_object_at(object, "/status/conditions"));
}

bool kin_condition_next(kin_value_iterator *iterator, kin_condition *out) {
  if (out == NULL) {
    return false;
  }
  *out = (kin_condition){.type = kin__value_failed(KIN_ENOENT)};
  kin_value element;
  if (!kin_value_next(iterator, &element)) {
    return false;
  }
  static const kin_str names[] = {KIN_STR_INIT("type"),
                                  KIN_STR_INIT("status"),
                                  KIN_STR_INIT("reason"),
                                  KIN_STR_INIT("message"),
                                  KIN_STR_INIT("lastTransitionTime"),
                                  KIN_STR_INIT("observedGeneration")};
  kin_value *values[] = {&out->type,
                         &out->status,
                         &out->reason,
                         &out->message,
                         &out->last_transition_time,
                         &out->observed_generation};
  read_members(element, names, values, sizeof names / sizeof *names);
  return true;
}

int kin_object_condition(const kin_object *object, kin_str type,
                         kin_condition *out) {
  if (object == NULL || out == NULL) {
    return KIN_EINVAL;
  }
  kin_value_iterator conditions = kin_object_conditions(object);
  kin_condition condition;
  while (kin_condition_next(&conditions, &condition)) {
    if (kin_value_string_is(condition.type, type)) {
      *out = condition;
      return 0;
    }
  }
  return conditions.error != 0 ? conditions.error : KIN_ENOENT;
}

bool kin_object_condition_is_true(const kin_object *object, kin_str type) {
  kin_condition condition;
  return kin_object_condition(object, type, &condition) == 0 &&
         kin_value_string_is(condition.status, KIN_STR("True"));
}
