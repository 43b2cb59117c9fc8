/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_JSON_H
#define KINFORMER_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

#include "text.h"

/* Writes one JSON value of known shape, on one line, to a text. What it writes
 * is always valid JSON in valid UTF-8, whatever the strings hold: bytes that
 * are not UTF-8 become U+FFFD. Characters that could drive a terminal are
 * escaped too. Whether the shape is right (brackets in pairs, a key before each
 * member) is the caller's business. */
typedef struct json_writer {
  text *out;
  bool needs_comma;
} json_writer;

/* '{' or '[', as a value. */
void json_open(json_writer *w, char bracket);

/* '}' or ']'. */
void json_close(json_writer *w, char bracket);

/* The name of the member whose value comes next. */
void json_key(json_writer *w, kin_str name);

void json_string(json_writer *w, kin_str value);
void json_u64(json_writer *w, uint64_t value);
void json_bool(json_writer *w, bool value);

/* A value that should be JSON text already. White space between tokens is
 * dropped, so that it stays on the line; numbers and escapes keep their
 * spelling. False: the text is no JSON, and null was written. */
bool json_raw(json_writer *w, kin_str value);

/* A member with a fixed name. */
void json_member_string(json_writer *w, const char *name, kin_str value);
void json_member_z(json_writer *w, const char *name, const char *value);
void json_member_u64(json_writer *w, const char *name, uint64_t value);
void json_member_bool(json_writer *w, const char *name, bool value);

#endif /* KINFORMER_JSON_H */
