/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_TEXT_H
#define KINFORMER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

/* A growing run of bytes to which output is appended. A failed allocation is
 * remembered in `failed` and makes every later append a no-op, so that whoever
 * composes a line checks once, at its end. Zero-initialized it is empty. */
typedef struct text {
  char *data;
  size_t length;
  size_t capacity;
  bool failed;
} text;

/* Frees the bytes; the text is empty and usable again. */
void text_finish(text *t);

/* Makes it `length` long; not for growing. Clears `failed`. */
void text_truncate(text *t, size_t length);

/* Removes the first `length` bytes. */
void text_drop(text *t, size_t length);

void text_append(text *t, const char *bytes, size_t length);
void text_append_string(text *t, const char *string);
void text_append_char(text *t, char c);
void text_append_spaces(text *t, size_t count);
void text_append_u64(text *t, uint64_t value);

/* Decodes the UTF-8 character that begins at `bytes`. Returns its length, 1 to
 * 4, and sets *codepoint; 0 if there is no valid one (overlong forms and
 * surrogates included). `length` is at least 1. */
size_t utf8_decode(const char *bytes, size_t length, uint32_t *codepoint);

/* Whether a terminal could take the character as a command, or could show text
 * in another order than it has: control characters, bidirectional overrides,
 * line and paragraph separators. */
bool codepoint_is_unsafe(uint32_t codepoint);

/* Appends a server's string as it may be shown on a terminal: what is unsafe as
 * \xHH or \uHHHH, bytes that are not UTF-8 as \xHH, a backslash doubled.
 * Returns the number of columns it takes, counting one for each character. */
size_t text_append_visible(text *t, kin_str s);

#endif /* KINFORMER_TEXT_H */
