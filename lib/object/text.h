/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TEXT_H
#define KIN_OBJECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/str.h>

/* JSON text read in place, without a parsed document: for the few members that
 * are looked up in text whose raw bytes matter. Any bytes may be given;
 * malformed text ends a walk, it is never read beyond its length. */

/* A walk over the members of one JSON object. */
typedef struct kin__text_members {
  kin_str text;  /* begins with '{' unless there is nothing to walk */
  size_t at;     /* 0 before the first call */
  kin_str name;  /* between the quotes, as written */
  kin_str value; /* JSON text of the value, no white space around it */
} kin__text_members;

/* Steps to the next member. Returns false at the end, and for text that is not
 * a JSON object from where it stops being one. */
bool kin__text_next(kin__text_members *members);

/* Whether a name as written (escapes and all) spells `plain`, which is at most
 * 64 bytes. */
bool kin__text_name_is(kin_str raw, kin_str plain);

/* The bytes between the quotes of a value; false if it is no string. */
bool kin__text_string(kin_str value, kin_str *raw);

/* Whether the bytes between the quotes of a string contain an escape. */
bool kin__text_is_escaped(kin_str raw);

/* Writes what a string's bytes between the quotes stand for: at most
 * raw.length bytes. `to` may be raw.data. Errors: KIN_EJSON (an escape that
 * JSON does not have, or half a surrogate pair). */
int kin__text_unescape(char *to, size_t *length, kin_str raw);

/* Writes `plain` as a JSON string, quotes included, and returns its length: at
 * most the bound, which SIZE_MAX stands for if it overflows. */
size_t kin__text_quote(char *to, kin_str plain);
size_t kin__text_quoted_bound(size_t length);

#endif /* KIN_OBJECT_TEXT_H */
