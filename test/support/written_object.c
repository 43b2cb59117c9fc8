/* SPDX-License-Identifier: MIT */
#include "support/written_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define METADATA "\"metadata\":{"

void wo_quote(char *text) {
  for (char *c = text; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
}

static const char *version_at(const char *object) {
  const char *at = strstr(object, WO_VERSION);
  return at != NULL ? at + strlen(WO_VERSION) : NULL;
}

void wo_store(char *to, size_t size, const char *body, unsigned version) {
  const char *at = version_at(body);
  if (at != NULL) {
    snprintf(to, size, "%.*s%u%s", (int)(at - body), body, version,
             strchr(at, '"'));
    return;
  }
  at = strstr(body, METADATA);
  assert_non_null(at);
  at += strlen(METADATA);
  snprintf(to, size, "%.*s" WO_VERSION "%u\",\"uid\":\"u\",%s",
           (int)(at - body), body, version, at);
}

unsigned wo_version(const char *object) {
  const char *at = version_at(object);
  return at != NULL ? (unsigned)strtoul(at, NULL, 10) : 0;
}

const char *wo_value(const char *object, const char *member) {
  static char value[512];
  char name[64];
  value[0] = '\0';
  snprintf(name, sizeof name, "\"%s\":", member);
  const char *at = strstr(object, name);
  if (at != NULL) {
    at += strlen(name);
    bool is_string = *at == '"';
    at += is_string;
    snprintf(value, sizeof value, "%.*s",
             (int)strcspn(at, is_string ? "\"" : ",}"), at);
  }
  return value;
}

const char *wo_reason(int status, const char *method) {
  switch (status) {
  case 403:
    return "Forbidden";
  case 404:
    return "NotFound";
  case 409:
    return strcmp(method, "POST") == 0 ? "AlreadyExists" : "Conflict";
  case 422:
    return "Invalid";
  default:
    return "InternalError";
  }
}
