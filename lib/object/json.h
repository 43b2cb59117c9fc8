/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_JSON_H
#define KIN_OBJECT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* The only place that calls the JSON parser, or reads what it has made:
 * on-demand reading of small or asked-for documents. The hot path has its own
 * scanner (decode/).
 *
 * Every body may have any JSON type anywhere. A function that reads a value
 * takes NULL and a value of any type, and says "absent" for another type than
 * its own; so what is absent needs no second look. */
struct yyjson_doc;
struct yyjson_val;

/* A value: borrowed from its document, NULL if it is absent. */
typedef struct yyjson_val kin__json;

/* The levels of a text that is parsed or kept: what a Kubernetes API server
 * accepts in a request. */
#define KIN__JSON_DEPTH_MAX 10000u

/* The tokens of a JSON Pointer: what recurses along a pointer is bounded by
 * that, however deep the document is. */
#define KIN__JSON_POINTER_TOKENS 64u

/* Parses a whole document. Free it with kin__json_free and the same allocator.
 * Errors: KIN_EJSON, KIN_EDEPTH (over KIN__JSON_DEPTH_MAX), KIN_ENOMEM. */
int kin__json_parse(struct yyjson_doc **out, const kin_allocator *allocator,
                    kin_str text);
void kin__json_free(const kin_allocator *allocator, struct yyjson_doc *doc);

/* The two halves of kin__json_parse. Reading does not recurse and does not
 * bound the depth; it tells text that ends early (KIN_ETRUNCATED) from other
 * malformed text (KIN_EJSON), also KIN_ENOMEM. */
int kin__json_read(struct yyjson_doc **out, const kin_allocator *allocator,
                   kin_str text);
bool kin__json_depth_is_bounded(kin_str text);
/* The most brackets that are open at once; the text need not be JSON. */
size_t kin__json_depth(kin_str text);

/* The outermost value, the first member of that name, and what a valid JSON
 * Pointer names below a value. NULL if there is none. `doc` may be NULL. */
kin__json *kin__json_root(struct yyjson_doc *doc);
kin__json *kin__json_member(kin__json *object, const char *name);
kin__json *kin__json_at(kin__json *value, const char *pointer);

/* Whether the value is of this type; then *out is set. An integer that no
 * int64_t holds is none. */
bool kin__json_to_string(kin__json *value, kin_str *out);
bool kin__json_to_int(kin__json *value, int64_t *out);
bool kin__json_to_bool(kin__json *value, bool *out);
bool kin__json_is_object(kin__json *value);
bool kin__json_is_null(kin__json *value);

/* Of a member: empty, or `fallback`, if it is absent or of another type. */
kin_str kin__json_string(kin__json *object, const char *name);
int64_t kin__json_int(kin__json *object, const char *name, int64_t fallback);

/* A walk over the elements of an array: none if the value is no array. */
typedef struct kin__json_elements {
  kin__json *next;
  size_t left;
} kin__json_elements;
kin__json_elements kin__json_elements_of(kin__json *array);
kin__json *kin__json_next(kin__json_elements *elements);

/* Calls emit with the text of each scalar that `pointer` names; `*` as a whole
 * token means every array element or object member (see kin_index_options).
 * Strings are given unescaped, numbers and booleans as JSON text, null and
 * containers not at all. Returns emit's first non-zero result.
 * Errors: KIN_EINVAL (malformed pointer, or over KIN__JSON_POINTER_TOKENS). */
int kin__json_each(kin__json *root, const char *pointer,
                   int (*emit)(void *ctx, kin_str value), void *ctx);

/* Whether `pointer` is "" or a sequence of "/token" with valid ~0 and ~1. */
bool kin__json_pointer_is_valid(const char *pointer);
/* How many tokens it has. */
size_t kin__json_pointer_tokens(const char *pointer);

#endif /* KIN_OBJECT_JSON_H */
