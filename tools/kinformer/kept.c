/* SPDX-License-Identifier: MIT */
#include "kept.h"

#include "values.h"

static const char managed_fields[] = "/metadata/managedFields";

/* The library keeps these whatever else is asked for. */
static const char *const always[] = {
    "/apiVersion",         "/kind",         "/metadata/name",
    "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion",
    "/metadata/labels",
};

static const char *const of_metadata_only[] = {"/apiVersion", "/kind",
                                               "/metadata"};

static bool is_among(const char *pointer, const char *const *fields,
                     size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (is_within(pointer, fields[i])) {
      return true;
    }
  }
  return false;
}

const char *index_complaint(const options *o) {
  const char *pointer = o->index_pointer;
  if (!pointer) {
    return NULL;
  }
  if (o->metadata_only &&
      !is_among(pointer, of_metadata_only,
                sizeof of_metadata_only / sizeof of_metadata_only[0])) {
    return "--metadata-only does not ask for it";
  }
  if (o->field_count > 0) {
    return is_among(pointer, always, sizeof always / sizeof always[0]) ||
                   is_among(pointer, o->fields, o->field_count)
               ? NULL
               : "--fields has to name it, too";
  }
  return is_within(pointer, managed_fields) && !o->keep_managed_fields
             ? "needs --keep-managed-fields"
             : NULL;
}
