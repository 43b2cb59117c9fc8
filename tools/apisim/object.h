/* SPDX-License-Identifier: MIT */
#ifndef APISIM_OBJECT_H
#define APISIM_OBJECT_H

/* Objects as JSON trees on their way into the store. */

#include <stdbool.h>
#include <yyjson.h>

#include "blob.h"
#include "registry.h"
#include "rng.h"
#include "store.h"

enum { OBJECT_DEPTH_MAX = 500 };

/* False if the text is nested deeper than OBJECT_DEPTH_MAX; checked before
 * parsing, because merging and sorting recurse. */
bool object_depth_ok(const char *text, size_t len);
/* Parses a stored version into a tree of its own. */
yyjson_mut_doc *object_of(const rev *r);

/* The object's metadata, made if it is missing or not an object. */
yyjson_mut_val *object_meta(yyjson_mut_doc *doc);
/* A string member, NULL if absent or not a string. */
const char *object_text(yyjson_mut_val *object, const char *key);
/* Sets a member, replacing any of that name. The text is copied. */
void object_set_text(yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const char *key, const char *text);
void object_set_number(yyjson_mut_doc *doc, yyjson_mut_val *object,
                       const char *key, uint64_t number);
void object_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value);
void object_remove(yyjson_mut_val *object, const char *key);
/* A number kept as raw text. */
uint64_t object_number(yyjson_mut_val *object, const char *key);

/* Members of typed metadata in the order Go writes them. */
enum { OBJECT_META_COUNT = 15 };
extern const char *const OBJECT_META_ORDER[OBJECT_META_COUNT];

/* Leaves of members of one name the last, as Go's decoder does, in all objects
 * of the value. What is stored has each member once. */
void object_drop_repeats(yyjson_mut_val *value);
/* Whether finalizers hold the object with this metadata. */
bool object_is_held(yyjson_mut_val *meta);
/* Sorts the members of all objects in the value. */
void object_sort(yyjson_mut_val *value);
/* Whether the two differ in content, so that the object gets a new generation.
 * metadata never counts. status counts for a custom resource without the status
 * subresource. Source: PrepareForUpdate of apiextensions-apiserver. */
bool object_content_differs(const resource *res, yyjson_mut_doc *a,
                            yyjson_mut_doc *b);
/* Fills in what a real server adds to a new object of the kind. */
void object_default(yyjson_mut_doc *doc, const resource *res);
/* Writes the object as the store keeps it: kind, apiVersion and ordered
 * metadata first, or everything alphabetical for custom resources; with Go's
 * escapes. */
blob *object_render(yyjson_mut_doc *doc, const resource *res);

#endif
