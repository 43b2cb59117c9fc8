/* SPDX-License-Identifier: MIT */
#include "kept.h"

#include <stdio.h>

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

static bool is_metadata(const char *pointer) {
  return is_among(pointer, of_metadata_only,
                  sizeof(of_metadata_only) / sizeof(of_metadata_only[0]));
}

/* Says which option leaves the field of --index out; NULL: none does. */
static const char *index_complaint(const options *o) {
  const char *pointer = o->index_pointer;
  if (!pointer) {
    return NULL;
  }
  if (o->metadata_only && !is_metadata(pointer)) {
    return "--metadata-only does not ask for it";
  }
  if (o->field_count > 0) {
    return is_among(pointer, always, sizeof(always) / sizeof(always[0])) ||
                   is_among(pointer, o->fields, o->field_count)
               ? NULL
               : "--fields has to name it, too";
  }
  return is_within(pointer, managed_fields) && !o->keep_managed_fields
             ? "needs --keep-managed-fields"
             : NULL;
}

bool kept_complaint(const options *o, char *text, size_t size) {
  if (o->keep_managed_fields && o->field_count > 0) {
    snprintf(text, size, "--keep-managed-fields: with --fields, name it there");
    return true;
  }
  for (size_t i = 0; i < o->field_count && o->metadata_only; i++) {
    if (!is_metadata(o->fields[i])) {
      snprintf(text, size, "--fields %s: --metadata-only does not ask for it",
               o->fields[i]);
      return true;
    }
  }
  const char *problem = index_complaint(o);
  if (problem) {
    snprintf(text, size, "--index %s: %s", o->index_pointer, problem);
  }
  return problem != NULL;
}
