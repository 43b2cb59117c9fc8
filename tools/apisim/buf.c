/* SPDX-License-Identifier: MIT */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

void buf_free(buf *b) {
  free(b->data);
  *b = (buf){0};
}

void buf_clear(buf *b) {
  b->len = 0;
}

void buf_reserve(buf *b, size_t extra) {
  size_t need = b->len + extra + 1;
  if (need <= b->cap) {
    return;
  }
  size_t cap = b->cap != 0 ? b->cap : 128;
  while (cap < need) {
    cap += cap < (64u << 20) ? cap : (64u << 20);
  }
  b->data = xrealloc(b->data, cap, 1);
  b->cap = cap;
}

void buf_append(buf *b, const void *bytes, size_t len) {
  buf_reserve(b, len);
  if (len != 0) {
    memcpy(b->data + b->len, bytes, len);
  }
  b->len += len;
  b->data[b->len] = '\0';
}

void buf_puts(buf *b, const char *str) {
  buf_append(b, str, strlen(str));
}

void buf_putc(buf *b, char c) {
  buf_append(b, &c, 1);
}

void buf_put_u64(buf *b, uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  buf_append(b, digits + at, sizeof digits - at);
}

void buf_printf(buf *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  buf_reserve(b, 0);
  size_t room = b->cap - b->len;
  int len = vsnprintf(b->data + b->len, room, format, args);
  va_end(args);
  if (len >= 0 && (size_t)len >= room) {
    buf_reserve(b, (size_t)len);
    vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
  }
  va_end(again);
  b->len += len > 0 ? (size_t)len : 0;
}

/* The length of the UTF-8 character at text, 0 if there is none. */
static size_t character(const char *text, size_t len) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x80) {
    return 1;
  }
  size_t need = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
  /* Overlong forms, surrogates, and what is above U+10FFFF. */
  if (c[0] < 0xc2 || c[0] > 0xf4 || need > len ||
      (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
      (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) {
    return 0;
  }
  for (size_t i = 1; i < need; i++) {
    if ((c[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  return need;
}

void buf_put_utf8(buf *b, const char *text, size_t len) {
  for (size_t i = 0; i < len;) {
    size_t n = character(text + i, len - i);
    buf_append(b, n != 0 ? text + i : "\xef\xbf\xbd", n != 0 ? n : 3);
    i += n != 0 ? n : 1;
  }
}

static void put_escaped(buf *b, unsigned char c) {
  switch (c) {
  case '"':
    buf_append(b, "\\\"", 2);
    break;
  case '\\':
    buf_append(b, "\\\\", 2);
    break;
  case '\n':
    buf_append(b, "\\n", 2);
    break;
  case '\r':
    buf_append(b, "\\r", 2);
    break;
  case '\t':
    buf_append(b, "\\t", 2);
    break;
  default:
    buf_printf(b, "\\u%04x", c);
  }
}

void buf_put_json(buf *b, const char *str, size_t len) {
  buf_putc(b, '"');
  size_t from = 0;
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)str[i];
    if (c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' &&
        c != '&') {
      continue;
    }
    buf_put_utf8(b, str + from, i - from);
    put_escaped(b, c);
    from = i + 1;
  }
  buf_put_utf8(b, str + from, len - from);
  buf_putc(b, '"');
}

void buf_consume(buf *b, size_t len) {
  if (len >= b->len) {
    b->len = 0;
    return;
  }
  memmove(b->data, b->data + len, b->len - len);
  b->len -= len;
}

slice slice_of(const char *str) {
  return (slice){str, strlen(str)};
}

bool slice_equal(slice a, slice b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool slice_is(slice a, const char *str) {
  return slice_equal(a, slice_of(str));
}

bool slice_to_u64(slice text, uint64_t *out) {
  uint64_t value = 0;
  if (text.len == 0) {
    return false;
  }
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (c < '0' || c > '9') {
      return false;
    }
    uint64_t digit = (uint64_t)(c - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *out = value;
  return true;
}
