/* SPDX-License-Identifier: MIT */
#include "support/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

static kin_object *parse(const kin_allocator *allocator, char *text) {
  for (char *c = text; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  kin_object *object;
  int err = kin_object_parse(&object, allocator, text, strlen(text));
  if (err != 0) {
    fprintf(stderr, "%s: %s\n", kin_err_name(err), text);
    abort();
  }
  free(text);
  return object;
}

kin_object *object_of(const kin_allocator *allocator, const char *json) {
  return parse(allocator, strdup(json));
}

kin_object *object_format(const kin_allocator *allocator, const char *format,
                          ...) {
  char *text;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  if (length < 0) {
    abort();
  }
  return parse(allocator, text);
}

kin_object *object_keyed(const kin_allocator *allocator, const char *key,
                         unsigned version) {
  const char *slash = strchr(key, '/');
  if (slash == NULL) {
    return object_format(allocator,
                         "{'metadata':{'name':'%s','resourceVersion':'%u'}}",
                         key, version);
  }
  return object_format(
      allocator,
      "{'metadata':{'namespace':'%.*s','name':'%s','resourceVersion':'%u'}}",
      (int)(slash - key), key, slash + 1, version);
}

char *object_nested(size_t arrays) {
  static const char head[] = "{\"metadata\":{\"name\":\"a\"},\"x\":";
  char *json = malloc(sizeof head + arrays * 2 + 1);
  size_t at = strlen(strcpy(json, head));
  memset(json + at, '[', arrays);
  memset(json + at + arrays, ']', arrays);
  memcpy(json + at + 2 * arrays, "}", 2);
  return json;
}

char *objects_added(const char *prefix, int count, int first_version) {
  size_t size = (size_t)count * 200 + 1;
  const char *slash = strchr(prefix, '/');
  char *text = malloc(size);
  if (slash == NULL || text == NULL) {
    abort();
  }
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    used += (size_t)snprintf(
        text + used, size - used,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"%s%d\","
        "\"namespace\":\"%.*s\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\","
        "\"labels\":{\"app\":\"a%d\"}}}}\n",
        slash + 1, i, (int)(slash - prefix), prefix, i, first_version + i,
        i % 3);
    if (used >= size) {
      abort();
    }
  }
  return text;
}
