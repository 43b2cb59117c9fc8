/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TEXT_H
#define KIN_OBJECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/str.h>

#include "base/ascii.h"

/* JSON text read in place, without a parsed document: to look up a few members
 * whose raw bytes matter. The bytes may be anything. Malformed text ends a
 * walk. No function reads past the text's length. */

/* A walk over the members of one JSON object. */
typedef struct kin__text_members {
  kin_str text;  /* begins with '{', or the walk is empty */
  size_t at;     /* 0 before the first call */
  kin_str name;  /* between the quotes, as written */
  kin_str value; /* JSON text of the value, no white space around it */
} kin__text_members;

/* Steps to the next member. Returns false at the end. If the text is not a JSON
 * object, returns false where it stops being one. */
bool kin__text_next(kin__text_members *members);

/* The value of the first member whose name is written so. Without one, no bytes
 * at the begin of `text`. O(text). */
kin_str kin__text_member(kin_str text, kin_str name);

/* The same over the elements of one JSON array. */
typedef struct kin__text_elements {
  kin_str text; /* begins with '[', or the walk is empty */
  size_t at;    /* 0 before the first call */
  kin_str value;
} kin__text_elements;

bool kin__text_next_element(kin__text_elements *elements);

/* The steps of a walk that enters some values and skips others, so that no byte
 * is read twice. The texts of these functions may go on behind the container or
 * value that they begin with. */

/* Steps to the next member's name. members->at is then the offset of its value,
 * which has not been read; `value` is left alone. Before the next step the
 * caller sets `at` to the offset after the value. */
bool kin__text_next_name(kin__text_members *members);

/* The offset of the next element, which has not been read, or 0 at the end. `at`
 * is the offset after the element before, or 0. */
size_t kin__text_next_place(kin_str text, size_t at);

/* The offset of the first byte from `at` on that is no white space. */
static inline size_t kin__text_skip_space(kin_str text, size_t at) {
  while (at < text.length && kin__is_json_space(text.data[at])) {
    at++;
  }
  return at;
}

/* The offset after the value that begins at `at`, or 0 if it has no end. */
size_t kin__text_skip(kin_str text, size_t at);

/* Where a walk over a container found nothing more: the offset after the closing
 * bracket, or 0 if something else is there. `open` is the container's opening
 * bracket. */
size_t kin__text_close(kin_str text, size_t at, char open);

/* `at` stands between two children of a container. The offset after the
 * container's closing bracket, or 0. The children in between are not checked. */
size_t kin__text_leave(kin_str text, size_t at);

/* Whether a name as written (escapes and all) spells `plain`. */
bool kin__text_name_is(kin_str raw, kin_str plain);

/* Gives the bytes between the quotes of a value; false if the value is no
 * string. */
bool kin__text_string(kin_str value, kin_str *raw);

/* Whether the bytes between the quotes of a string contain an escape. */
bool kin__text_is_escaped(kin_str raw);

/* Unescapes the bytes between a string's quotes; writes at most raw.length
 * bytes. `to` may be raw.data. Errors: KIN_EJSON (an escape that JSON does not
 * have, or half a surrogate pair). */
int kin__text_unescape(char *to, size_t *length, kin_str raw);

/* Writes `plain` as a JSON string, quotes included, and returns its length.
 * kin__text_quoted_bound is the maximum, or SIZE_MAX if the maximum
 * overflows; then kin__text_quoted_length is SIZE_MAX, too. */
size_t kin__text_quote(char *to, kin_str plain);
size_t kin__text_quoted_length(kin_str plain);
size_t kin__text_quoted_bound(size_t length);

#endif /* KIN_OBJECT_TEXT_H */
