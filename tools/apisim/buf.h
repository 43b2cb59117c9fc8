/* SPDX-License-Identifier: MIT */
#ifndef APISIM_BUF_H
#define APISIM_BUF_H

/* A growing byte buffer, and slices of bytes. A zeroed buf is empty and valid.
 * The bytes are followed by a NUL that is not counted in len. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct slice {
  const char *ptr;
  size_t len;
} slice;

typedef struct buf {
  char *data;
  size_t len;
  size_t cap;
} buf;

/* Frees the bytes and leaves an empty buf. */
void buf_free(buf *b);
/* Empties b but keeps its memory. */
void buf_clear(buf *b);
/* Makes room for extra more bytes and the NUL. */
void buf_reserve(buf *b, size_t extra);
void buf_append(buf *b, const void *bytes, size_t len);
void buf_puts(buf *b, const char *str);
void buf_putc(buf *b, char c);
void buf_put_u64(buf *b, uint64_t value);
void buf_printf(buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
/* Appends text with U+FFFD for each byte that is not UTF-8, as Go does. */
void buf_put_utf8(buf *b, const char *text, size_t len);
/* Appends str as a JSON string with its quotes, escaping as Go's encoder does
 * (<, > and & too). */
void buf_put_json(buf *b, const char *str, size_t len);
/* Removes the first len bytes. */
void buf_consume(buf *b, size_t len);

slice slice_of(const char *str);
bool slice_equal(slice a, slice b);
bool slice_is(slice a, const char *str);
/* Parses a whole decimal number without sign. False on anything else and on
 * overflow. */
bool slice_to_u64(slice text, uint64_t *out);

#endif
