/* SPDX-License-Identifier: MIT */
#include "support/extreme_objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAME_BYTES = 1024 };

static char *room(size_t bytes) {
  char *text = malloc(bytes + FRAME_BYTES);
  assert_non_null(text);
  return text;
}

static size_t put_metadata(char *to, const char *name, const char *version) {
  return (size_t)sprintf(to,
                         "\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
                         "\"uid\":\"u-%s\",\"resourceVersion\":\"%s\","
                         "\"labels\":{\"app\":\"a\"}}",
                         name, name, version);
}

char *extreme_deep(unsigned levels, const char *version, int metadata_is_last) {
  char *text = room((size_t)levels * 6);
  size_t at = (size_t)sprintf(text, "{");
  if (!metadata_is_last) {
    at += put_metadata(text + at, "deep", version);
    text[at++] = ',';
  }
  at += (size_t)sprintf(text + at, "\"x\":");
  for (unsigned i = 1; i < levels; i++) {
    at += (size_t)sprintf(text + at, i % 2 == 0 ? "[" : "{\"]\":");
  }
  text[at++] = '7';
  for (unsigned i = levels - 1; i >= 1; i--) {
    text[at++] = i % 2 == 0 ? ']' : '}';
  }
  if (metadata_is_last) {
    text[at++] = ',';
    at += put_metadata(text + at, "deep", version);
  }
  sprintf(text + at, "}");
  return text;
}

/* A member with a name of so many bytes. */
static size_t put_member(char *to, size_t bytes, const char *value) {
  to[0] = '"';
  memset(to + 1, 'n', bytes);
  return bytes + 1 + (size_t)sprintf(to + 1 + bytes, "\":%s", value);
}

char *extreme_name(size_t bytes, const char *version) {
  char *text = room(bytes * 5);
  size_t at = (size_t)sprintf(text, "{");
  at += put_member(text + at, bytes, "[{}]");
  at += (size_t)sprintf(text + at,
                        ",\"metadata\":{\"name\":\"long\",\"namespace\":\"ns\","
                        "\"labels\":{\"app\":\"a\",");
  at += put_member(text + at, bytes, "\"v\"},\"annotations\":{");
  at += put_member(text + at, bytes, "\"v\"},");
  at += put_member(text + at, bytes, "1");
  at += (size_t)sprintf(text + at,
                        ",\"uid\":\"u-long\",\"resourceVersion\":\"%s\"},"
                        "\"spec\":{",
                        version);
  at += put_member(text + at, bytes, "{\"y\":1},\"z\":2}}");
  return text;
}

char *extreme_number(size_t digits, const char *version) {
  char *text = room(digits);
  size_t at = (size_t)sprintf(text, "{");
  at += put_metadata(text + at, "number", version);
  at += (size_t)sprintf(text + at, ",\"x\":0.");
  memset(text + at, '1', digits);
  sprintf(text + at + digits, "}");
  return text;
}
