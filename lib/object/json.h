/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_JSON_H
#define KIN_OBJECT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <yyjson.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* The only place that calls the JSON parser: on-demand reading of small or
 * asked-for documents. The hot path has its own scanner (decode/). */

/* Parses a whole document. Free it with kin__json_free and the same allocator.
 * Errors: KIN_EJSON, KIN_EDEPTH (over 512 levels), KIN_ENOMEM. */
int kin__json_parse(yyjson_doc **out, const kin_allocator *allocator,
                    kin_str text);
void kin__json_free(const kin_allocator *allocator, yyjson_doc *doc);

/* The two halves of kin__json_parse. Reading does not recurse and does not
 * bound the depth; it tells text that ends early (KIN_ETRUNCATED) from other
 * malformed text (KIN_EJSON), also KIN_ENOMEM. */
int kin__json_read(yyjson_doc **out, const kin_allocator *allocator,
                   kin_str text);
bool kin__json_depth_is_bounded(kin_str text);
/* The most brackets that are open at once; the text need not be JSON. */
size_t kin__json_depth(kin_str text);

/* Member look-ups that accept a NULL or non-object value. */
yyjson_val *kin__json_member(yyjson_val *object, const char *name);
/* Empty if there is no such string. */
kin_str kin__json_string(yyjson_val *object, const char *name);
/* `fallback` if there is no such integer. */
int64_t kin__json_int(yyjson_val *object, const char *name, int64_t fallback);

/* Calls emit with the text of each scalar that `pointer` names; `*` as a whole
 * token means every array element or object member (see kin_index_options).
 * Strings are given unescaped, numbers and booleans as JSON text, null and
 * containers not at all. Returns emit's first non-zero result.
 * Errors: KIN_EINVAL (malformed pointer). */
int kin__json_each(yyjson_val *root, const char *pointer,
                   int (*emit)(void *ctx, kin_str value), void *ctx);

/* Whether `pointer` is "" or a sequence of "/token" with valid ~0 and ~1. */
bool kin__json_pointer_is_valid(const char *pointer);

#endif /* KIN_OBJECT_JSON_H */
