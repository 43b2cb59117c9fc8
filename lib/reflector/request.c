/* SPDX-License-Identifier: MIT */
#include "reflector/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define MAX_SEGMENT 253u

static bool is_unreserved(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

static int append_escaped(kin__buf *out, const char *s) {
  static const char digits[] = "0123456789ABCDEF";
  for (; *s != '\0'; s++) {
    unsigned char c = (unsigned char)*s;
    char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
    int err = is_unreserved(c) ? kin__buf_append(out, s, 1)
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

static int append_parameter(kin__buf *out, char *separator, const char *name,
                            const char *value) {
  if (value == NULL || value[0] == '\0') {
    return 0;
  }
  int err = kin__buf_append(out, separator, 1);
  *separator = '&';
  if (err == 0) {
    err = kin__buf_append_cstr(out, name);
  }
  if (err == 0) {
    err = kin__buf_append(out, "=", 1);
  }
  return err == 0 ? append_escaped(out, value) : err;
}

int kin__request_target(kin__buf *out, const kin__resource *resource,
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
  const struct {
    const char *name;
    const char *value;
  } parameters[] = {
      {"allowWatchBookmarks", is_watch},
      {"continue", query->token},
      {"fieldSelector", resource->field_selector},
      {"labelSelector", resource->label_selector},
      {"limit", limit},
      {"resourceVersion", query->version},
      {"resourceVersionMatch", query->version_match},
      {"sendInitialEvents", query->sends_initial_events ? "true" : ""},
      {"timeoutSeconds", timeout_s},
      {"watch", is_watch},
  };
  kin__buf_reset(out, SIZE_MAX);
  int err = append_path(out, resource, namespace_);
  char separator = '?';
  size_t count = sizeof parameters / sizeof parameters[0];
  for (size_t i = 0; i < count && err == 0; i++) {
    err = append_parameter(out, &separator, parameters[i].name,
                           parameters[i].value);
  }
  return err == 0 ? kin__buf_append(out, "", 1) : err;
}

const char *kin__request_accept(const kin__resource *resource, bool is_watch) {
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
    bool is_allowed = (*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') ||
                      *s == '-' || *s == '.';
    if (!is_allowed) {
      return false;
    }
  }
  return true;
}
