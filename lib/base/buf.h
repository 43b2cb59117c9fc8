/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_BUF_H
#define KIN_BASE_BUF_H

#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* A growing byte buffer with an upper bound. */
typedef struct kin__buf {
  const kin_allocator *allocator;
  char *data;
  size_t length;
  size_t capacity;
  size_t max_length;
} kin__buf;

/* Allocates nothing. The allocator must outlive the buffer. */
void kin__buf_init(kin__buf *buf, const kin_allocator *allocator,
                   size_t max_length);
void kin__buf_finish(kin__buf *buf);

/* Makes room for `extra` more bytes. On an error the buffer is unchanged.
 * Errors: KIN_ETOOBIG (over max_length), KIN_ENOMEM. */
int kin__buf_reserve(kin__buf *buf, size_t extra);

/* Appends `length` bytes. Errors as kin__buf_reserve. */
int kin__buf_append(kin__buf *buf, const char *data, size_t length);
int kin__buf_append_str(kin__buf *buf, kin_str s);
int kin__buf_append_cstr(kin__buf *buf, const char *s);
/* printf into the buffer; no NUL is stored. Errors as kin__buf_reserve, and
 * KIN_EINVAL (bad format). */
int kin__buf_printf(kin__buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes the first `count` bytes; O(remaining bytes). */
void kin__buf_consume(kin__buf *buf, size_t count);

/* Empties the buffer. Frees its memory if that is over `keep` bytes. */
void kin__buf_reset(kin__buf *buf, size_t keep);

#endif /* KIN_BASE_BUF_H */
