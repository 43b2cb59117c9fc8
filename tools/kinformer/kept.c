/* SPDX-License-Identifier: MIT */
#include "kept.h"

#include <stdio.h>
#include <string.h>

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

static bool is_always(const char *pointer) {
  return is_among(pointer, always, sizeof(always) / sizeof(always[0]));
}

/* Says which option leaves the field of --index out; NULL: none does. */
static const char *index_complaint(const options *o) {
  const char *pointer = o->index_pointer;
  if (!pointer) {
    return NULL;
  }
  if (o->on_max_bytes == KIN_MEMORY_DROP_BODIES && !is_always(pointer)) {
    return "--on-max-bytes drop leaves it out";
  }
  if (o->metadata_only && !is_metadata(pointer)) {
    return "--metadata-only does not ask for it";
  }
  if (o->field_count > 0) {
    return is_always(pointer) || is_among(pointer, o->fields, o->field_count)
               ? NULL
               : "--fields has to name it, too";
  }
  return is_within(pointer, managed_fields) && !o->keep_managed_fields
             ? "needs --keep-managed-fields"
             : NULL;
}

/* In --index it is all elements of an array. */
static bool has_star(const char *pointer) {
  for (const char *at = pointer; (at = strstr(at, "/*")) != NULL; at++) {
    if (at[2] == '/' || at[2] == '\0') {
      return true;
    }
  }
  return false;
}

bool kept_complaint(const options *o, char *text, size_t size) {
  if (o->keep_managed_fields && o->field_count > 0) {
    snprintf(text, size, "--keep-managed-fields: with --fields, name it there");
    return true;
  }
  for (size_t i = 0; i < o->field_count; i++) {
    if (has_star(o->fields[i])) {
      snprintf(text, size,
               "--fields %s: has a *; the array before it is a field",
               o->fields[i]);
      return true;
    }
    if (o->metadata_only && !is_metadata(o->fields[i])) {
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
