/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TEXT_H
#define KIN_OBJECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/str.h>

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

/* The same over the elements of one JSON array. */
typedef struct kin__text_elements {
  kin_str text; /* begins with '[', or the walk is empty */
  size_t at;    /* 0 before the first call */
  kin_str value;
} kin__text_elements;

bool kin__text_next_element(kin__text_elements *elements);

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
 * kin__text_quote_bound is the maximum, or SIZE_MAX if the maximum
 * overflows. */
size_t kin__text_quote(char *to, kin_str plain);
size_t kin__text_quoted_bound(size_t length);

#endif /* KIN_OBJECT_TEXT_H */
