/* SPDX-License-Identifier: MIT */
#include "listwatch/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"

#define MAX_SEGMENT 253u
#define MAX_SELECTOR_BYTES (64u << 10)
#define MAX_PARAMETER_BYTES (16u << 10)

static bool is_unreserved(char c) {
  return kin__is_alphanumeric(c) || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

int kin__target_append_escaped(kin__buf *out, kin_str s) {
  static const char digits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < s.length; i++) {
    unsigned char c = (unsigned char)s.data[i];
    char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
    int err = is_unreserved(s.data[i]) ? kin__buf_append(out, s.data + i, 1)
                                       : kin__buf_append(out, escaped, 3);
    if (err != 0) {
      return err;
    }
  }
  return 0;
}

static int append_path(kin__buf *out, const kin__resource *resource,
                       const char *namespace_) {
  bool is_core = resource->group[0] == '\0';
  const char *parts[] = {is_core ? "/api" : "/apis/",
                         resource->group,
                         "/",
                         resource->version,
                         namespace_[0] != '\0' ? "/namespaces/" : "",
                         namespace_,
                         "/",
                         resource->plural};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    int err = kin__buf_append_cstr(out, parts[i]);
    if (err != 0) {
      return err;
    }
  }
  return 0;
}

/* Place after all names that do not sort behind `name`. */
static size_t find_place(const kin_parameter *sorted, size_t count,
                         const char *name) {
  while (count > 0 && strcmp(sorted[count - 1].name, name) > 0) {
    count--;
  }
  return count;
}

void kin__parameters_insert(kin_parameter *sorted, size_t *count,
                            const kin_parameter *parameter) {
  size_t at = find_place(sorted, *count, parameter->name);
  memmove(&sorted[at + 1], &sorted[at], (*count - at) * sizeof *sorted);
  sorted[at] = *parameter;
  (*count)++;
}

int kin__parameters_append(kin__buf *out, const kin_parameter *sorted,
                           size_t count, char first) {
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__buf_append(out, i == 0 ? &first : "&", 1);
    if (err == 0) {
      err = kin__target_append_escaped(out, kin__cstr(sorted[i].name));
    }
    if (err == 0) {
      err = kin__buf_append(out, "=", 1);
    }
    if (err == 0) {
      err = kin__target_append_escaped(
          out, kin__cstr(kin__or_default(sorted[i].value, "")));
    }
  }
  return err;
}

/* Sorted. */
static const char *const own_names[] = {
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
};
#define OWN_NAMES (sizeof own_names / sizeof own_names[0])

int kin__target_write(kin__buf *out, const kin__resource *resource,
                      const char *namespace_, const kin__query *query) {
  char limit[16] = "";
  char timeout_s[16] = "";
  if (query->limit > 0) {
    snprintf(limit, sizeof limit, "%" PRIu32, query->limit);
  }
  if (query->timeout_s > 0) {
    snprintf(timeout_s, sizeof timeout_s, "%" PRIu32, query->timeout_s);
  }
  const char *is_watch = query->is_watch ? "true" : "";
  const char *const values[OWN_NAMES] = {is_watch,
                                         query->token,
                                         query->field_selector,
                                         query->label_selector,
                                         limit,
                                         query->version,
                                         query->version_match,
                                         query->sends_initial_events ? "true"
                                                                     : "",
                                         timeout_s,
                                         is_watch};
  char shard[KIN__SHARD_SELECTOR_SIZE];
  kin_parameter sorted[OWN_NAMES + 1 + KIN__MAX_PARAMETERS];
  size_t count = 0;
  for (size_t i = 0; i < OWN_NAMES; i++) {
    if (values[i] != NULL && values[i][0] != '\0') {
      sorted[count++] = (kin_parameter){own_names[i], values[i]};
    }
  }
  kin__shard_selector(&resource->shard, shard);
  if (shard[0] != '\0') {
    kin__parameters_insert(sorted, &count,
                           &(kin_parameter){KIN__SHARD_PARAMETER, shard});
  }
  for (size_t i = 0; i < query->parameter_count; i++) {
    kin__parameters_insert(sorted, &count, &query->parameters[i]);
  }
  kin__buf_reset(out, SIZE_MAX);
  int err = append_path(out, resource, namespace_);
  if (err == 0) {
    err = kin__parameters_append(out, sorted, count, '?');
  }
  return err == 0 ? kin__buf_append(out, "", 1) : err;
}

bool kin__selector_is_valid(const char *selector) {
  return selector == NULL || strlen(selector) <= MAX_SELECTOR_BYTES;
}

bool kin__target_is_own_parameter(const char *name) {
  for (size_t i = 0; i < OWN_NAMES; i++) {
    if (strcmp(own_names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

bool kin__parameters_are_valid(const kin_parameter *parameters, size_t count) {
  if (count > KIN__MAX_PARAMETERS || (count > 0 && parameters == NULL)) {
    return false;
  }
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = parameters[i].name;
    if (!kin__has_text(name) || kin__target_is_own_parameter(name)) {
      return false;
    }
    bytes += strlen(name) + strlen(kin__or_default(parameters[i].value, ""));
  }
  return bytes <= MAX_PARAMETER_BYTES;
}

const char *kin__target_accept(const kin__resource *resource, bool is_watch) {
  if (!resource->metadata_only) {
    return "application/json";
  }
  return is_watch
             ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
             : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;"
               "v=v1";
}

bool kin__segment_is_valid(const char *s) {
  size_t length = strlen(s);
  if (length == 0 || length > MAX_SEGMENT || strcmp(s, ".") == 0 ||
      strcmp(s, "..") == 0) {
    return false;
  }
  for (; *s != '\0'; s++) {
    if (!kin__is_lower(*s) && !kin__is_digit(*s) && *s != '-' && *s != '.') {
      return false;
    }
  }
  return true;
}
