/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_JSON_H
#define KIN_OBJECT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/library.h"

/* Random access to small documents, or to documents that a program asks for.
 * Only this module calls the JSON parser and reads its results. The hot path
 * has its own scanner (decode/).
 *
 * A body may have any JSON type anywhere. A function that reads a value also
 * takes NULL and values of every type. A value of another type counts as
 * absent, so a caller never checks twice. */
struct yyjson_doc;
struct yyjson_val;

/* A value, borrowed from its document; NULL if absent. */
typedef struct yyjson_val kin__json;

kin__library kin__json_library(void);

/* The levels of a text that is parsed or kept. A Kubernetes API server accepts
 * as many in a request. */
#define KIN__JSON_DEPTH_MAX 10000u

/* The tokens of a JSON Pointer. This bounds every recursion along a pointer,
 * however deep the document is. */
#define KIN__JSON_POINTER_TOKENS 64u

/* Parses a whole document. Free it with kin__json_free and the same allocator.
 * Errors: KIN_EJSON, KIN_EDEPTH (over KIN__JSON_DEPTH_MAX), KIN_ENOMEM. */
int kin__json_parse(struct yyjson_doc **out, const kin_allocator *allocator,
                    kin_str text);
void kin__json_free(const kin_allocator *allocator, struct yyjson_doc *doc);

/* The two halves of kin__json_parse. Reading neither recurses nor bounds the
 * depth. Errors of kin__json_read: KIN_ETRUNCATED (the text ends early),
 * KIN_EJSON (otherwise malformed), KIN_ENOMEM. */
int kin__json_read(struct yyjson_doc **out, const kin_allocator *allocator,
                   kin_str text);
bool kin__json_depth_is_bounded(kin_str text);
/* The largest number of brackets that are open at once. The text need not be
 * JSON. */
size_t kin__json_depth(kin_str text);

/* The outermost value; the first member of that name; the value that a valid
 * JSON Pointer names below a value. NULL if absent. `doc` may be NULL. */
kin__json *kin__json_root(struct yyjson_doc *doc);
kin__json *kin__json_member(kin__json *object, const char *name);
kin__json *kin__json_at(kin__json *value, const char *pointer);

/* Returns whether the value is of this type; if so, sets *out. An integer that
 * does not fit an int64_t counts as absent. */
bool kin__json_to_string(kin__json *value, kin_str *out);
bool kin__json_to_int(kin__json *value, int64_t *out);
bool kin__json_to_bool(kin__json *value, bool *out);
bool kin__json_is_object(kin__json *value);
bool kin__json_is_array(kin__json *value);
bool kin__json_is_null(kin__json *value);

/* The string of a member. If the member is absent or of another type: an empty
 * string, or `fallback`. */
kin_str kin__json_string(kin__json *object, const char *name);
int64_t kin__json_int(kin__json *object, const char *name, int64_t fallback);

/* A walk over the elements of an array. There are none if the value is no
 * array. */
typedef struct kin__json_elements {
  kin__json *next;
  size_t left;
} kin__json_elements;
kin__json_elements kin__json_elements_of(kin__json *array);
kin__json *kin__json_next(kin__json_elements *elements);

/* Calls emit with the value of a scalar that is written as `text`: a string
 * unescaped, a number or a boolean as JSON text. Does not call emit for null, a
 * container, and text that is not JSON. Returns emit's result.
 * Errors: KIN_ENOMEM. */
int kin__json_scalar(const kin_allocator *allocator, kin_str text,
                     int (*emit)(void *ctx, kin_str value), void *ctx);

/* The bytes of a number that is read as a double. */
#define KIN__JSON_NUMBER_MAX 1024u

/* Reads a number of JSON, rounded correctly. Errors: KIN_ETOOBIG (infinite as a
 * double, or over KIN__JSON_NUMBER_MAX bytes), KIN_EJSON (no number). */
int kin__json_number(kin_str text, double *out);

/* Whether `pointer` is "" or a sequence of "/token" with valid ~0 and ~1. */
bool kin__json_pointer_is_valid(const char *pointer);
/* The number of tokens. */
size_t kin__json_pointer_tokens(const char *pointer);
/* Whether `pointer` is not NULL, valid, and of at most KIN__JSON_POINTER_TOKENS
 * tokens. */
bool kin__json_pointer_is_usable(const char *pointer);

/* Writes a token of a valid pointer without its escapes, and returns the length
 * of what is written: at most token.length. `to` may be token.data. */
size_t kin__json_token_unescape(char *to, kin_str token);
/* Reads a token as the place of an element: decimal digits, no zero before
 * them. */
bool kin__json_token_to_element(kin_str token, uint64_t *element);

#endif /* KIN_OBJECT_JSON_H */
