/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPACITY = 4096 };

/* One libuv buffer must be able to hold it. */
static const size_t most_capacity = (size_t)1 << 31;

void text_finish(text *t) {
  free(t->data);
  *t = (text){0};
}

void text_truncate(text *t, size_t length) {
  t->length = length;
  t->failed = false;
}

void text_drop(text *t, size_t length) {
  t->length -= length;
  memmove(t->data, t->data + length, t->length);
}

static bool reserve(text *t, size_t more) {
  if (t->failed) {
    return false;
  }
  if (more <= t->capacity - t->length) {
    return true;
  }
  size_t capacity = t->capacity ? t->capacity : LEAST_CAPACITY;
  while (capacity - t->length < more && capacity < most_capacity) {
    capacity *= 2;
  }
  char *data = capacity - t->length < more ? NULL : realloc(t->data, capacity);
  if (!data) {
    t->failed = true;
    return false;
  }
  t->data = data;
  t->capacity = capacity;
  return true;
}

void text_append(text *t, const char *bytes, size_t length) {
  if (length > 0 && reserve(t, length)) {
    memcpy(t->data + t->length, bytes, length);
    t->length += length;
  }
}

void text_append_string(text *t, const char *string) {
  text_append(t, string, strlen(string));
}

void text_append_char(text *t, char c) {
  text_append(t, &c, 1);
}

void text_append_spaces(text *t, size_t count) {
  if (count > 0 && reserve(t, count)) {
    memset(t->data + t->length, ' ', count);
    t->length += count;
  }
}

void text_append_u64(text *t, uint64_t value) {
  char digits[24];
  int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
  text_append(t, digits, (size_t)length);
}

size_t utf8_decode(const char *bytes, size_t length, uint32_t *codepoint) {
  const unsigned char *p = (const unsigned char *)bytes;
  if (p[0] < 0x80) {
    *codepoint = p[0];
    return 1;
  }
  size_t need = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || need > length) {
    return 0;
  }
  uint32_t c = p[0] & (0x7fU >> need);
  for (size_t i = 1; i < need; i++) {
    if ((p[i] & 0xc0) != 0x80) {
      return 0;
    }
    c = c << 6 | (p[i] & 0x3f);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < least[need] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
    return 0;
  }
  *codepoint = c;
  return need;
}

bool codepoint_is_unsafe(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e ||
         c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

size_t text_append_visible(text *t, kin_str s) {
  size_t columns = 0;
  for (size_t i = 0; i < s.length;) {
    uint32_t c;
    size_t n = utf8_decode(s.data + i, s.length - i, &c);
    char escape[12];
    int escaped = 0;
    if (n == 0) {
      n = 1;
      escaped = snprintf(escape, sizeof(escape), "\\x%02x",
                         (unsigned)(unsigned char)s.data[i]);
    } else if (codepoint_is_unsafe(c)) {
      escaped = snprintf(escape, sizeof(escape),
                         c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
    } else if (c == '\\') {
      escaped = snprintf(escape, sizeof(escape), "\\\\");
    }
    if (escaped > 0) {
      text_append(t, escape, (size_t)escaped);
      columns += (size_t)escaped;
    } else {
      text_append(t, s.data + i, n);
      columns++;
    }
    i += n;
  }
  return columns;
}
