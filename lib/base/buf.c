/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"

void kin__buf_init(kin__buf *buf, const kin_allocator *allocator,
                   size_t max_length) {
  *buf = (kin__buf){.allocator = allocator, .max_length = max_length};
}

void kin__buf_finish(kin__buf *buf) {
  kin__free(buf->allocator, buf->data);
  buf->data = NULL;
  buf->length = buf->capacity = 0;
}

static bool fits(const kin__buf *buf, size_t extra) {
  return extra <= buf->max_length && buf->length <= buf->max_length - extra;
}

/* Makes the capacity at least `needed`, which may be max_length + 1. */
static int grow(kin__buf *buf, size_t needed) {
  if (needed <= buf->capacity) {
    return 0;
  }
  size_t capacity = buf->capacity > 0 ? buf->capacity : 256;
  while (capacity < needed) {
    capacity = capacity <= SIZE_MAX / 2 ? capacity * 2 : needed;
  }
  char *data =
      kin__realloc_array(buf->allocator, buf->data, buf->capacity, capacity, 1);
  if (data == NULL) {
    return KIN_ENOMEM;
  }
  buf->data = data;
  buf->capacity = capacity;
  return 0;
}

int kin__buf_reserve(kin__buf *buf, size_t extra) {
  return fits(buf, extra) ? grow(buf, buf->length + extra) : KIN_ETOOBIG;
}

int kin__buf_append(kin__buf *buf, const char *data, size_t length) {
  int err = kin__buf_reserve(buf, length);
  if (err == 0 && length > 0) {
    memcpy(buf->data + buf->length, data, length);
    buf->length += length;
  }
  return err;
}

int kin__buf_append_str(kin__buf *buf, kin_str s) {
  return kin__buf_append(buf, s.data, s.length);
}

int kin__buf_append_cstr(kin__buf *buf, const char *s) {
  return kin__buf_append(buf, s, strlen(s));
}

int kin__buf_printf(kin__buf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) {
    return KIN_EINVAL;
  }
  if (!fits(buf, (size_t)length)) {
    return KIN_ETOOBIG;
  }
  int err = grow(buf, buf->length + (size_t)length + 1);
  if (err != 0) {
    return err;
  }
  va_start(args, format);
  vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
  va_end(args);
  buf->length += (size_t)length;
  return 0;
}

void kin__buf_consume(kin__buf *buf, size_t count) {
  buf->length -= count;
  if (buf->length > 0) {
    memmove(buf->data, buf->data + count, buf->length);
  }
}

void kin__buf_reset(kin__buf *buf, size_t keep) {
  if (buf->capacity > keep) {
    kin__buf_finish(buf);
  }
  buf->length = 0;
}
