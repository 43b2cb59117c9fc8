/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SCHEMA_H
#define APISIM_SCHEMA_H

/* What kind of value each field of a resource is: JSON Schemas with the
 * x-kubernetes-... extensions. The same schemas are served as OpenAPI documents
 * and direct strategic merge patches and server-side apply, so the documents
 * say what the server does. */

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "registry.h"

/* The built-in types, by full name. Immutable. */
typedef struct schema_set {
  yyjson_doc *doc; // {full name: schema}
} schema_set;

/* In schema_read.c: reads SCHEMA_TYPES. */
void schema_set_init(schema_set *set);
void schema_set_free(schema_set *set);
/* The schema of a full name, or NULL. */
yyjson_val *schema_set_get(const schema_set *set, const char *name);
/* The full name of a built-in resource's type, or NULL. */
const char *schema_set_name(const schema_set *set, const resource *res);

/* A place in a schema. A zeroed one is a place about which nothing is known:
 * its objects are maps of any members, its lists are atomic. */
typedef struct schema {
  const schema_set *set;
  yyjson_val *field; // as the parent declares it
  yyjson_val *type;  // the same, or the type that the field refers to
  bool custom_root;  // an object of a CustomResourceDefinition
} schema;

/* The most keys that identify an element of a list. */
enum { SCHEMA_KEYS_MAX = 8 };

typedef enum schema_list {
  SCHEMA_LIST_ATOMIC,
  SCHEMA_LIST_SET,
  SCHEMA_LIST_MAP,
} schema_list;

/* The schema of a resource's objects. */
schema schema_of(const schema_set *set, const resource *res);
/* The schema of the member, by name or as one of any members. */
schema schema_member(schema s, const char *key);
/* Whether the member is a field of the type; false for one of any members. */
bool schema_names(schema s, const char *key);
/* Whether nothing else than named fields may be in an object. */
bool schema_is_closed(schema s);
/* The schema of an element of a list. */
schema schema_items(schema s);
/* Whether an object is replaced as one value by server-side apply. */
bool schema_is_atomic(schema s);
schema_list schema_list_type(schema s);
/* The i-th key of a list that is a map; NULL past the end. */
const char *schema_list_key(schema s, size_t i);
/* The default of a field, or NULL. */
const char *schema_default(schema s);
/* Whether a strategic merge patch merges the list, not replaces it; *key is the
 * key of its elements, NULL if they are plain values. */
bool schema_patch_merges(schema s, const char **key);

#endif
