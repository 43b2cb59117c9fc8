/* SPDX-License-Identifier: MIT */
#include "schema.h"

#include <string.h>

static const char REF_PREFIX[] = "#/components/schemas/";
static const char OBJECT_META[] =
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

static yyjson_val *referred(const schema_set *set, yyjson_val *field) {
  yyjson_val *all = yyjson_obj_get(field, "allOf");
  yyjson_val *holder = all != NULL ? yyjson_arr_get_first(all) : field;
  const char *ref = yyjson_get_str(yyjson_obj_get(holder, "$ref"));
  size_t prefix = sizeof REF_PREFIX - 1;
  if (ref == NULL || strncmp(ref, REF_PREFIX, prefix) != 0) {
    return field;
  }
  return schema_set_get(set, ref + prefix);
}

static schema at(const schema_set *set, yyjson_val *field) {
  return (schema){.set = set, .field = field, .type = referred(set, field)};
}

schema schema_of(const schema_set *set, const resource *res) {
  if (res->custom) {
    schema s = {.set = set, .custom_root = true};
    s.field = s.type = yyjson_doc_get_root(res->schema);
    return s;
  }
  const char *name = schema_set_name(set, res);
  return at(set, name != NULL ? schema_set_get(set, name) : NULL);
}

static bool is_own_member(const char *key) {
  return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
         strcmp(key, "metadata") == 0;
}

bool schema_names(schema s, const char *key) {
  if (s.custom_root && is_own_member(key)) {
    return true;
  }
  return yyjson_obj_get(yyjson_obj_get(s.type, "properties"), key) != NULL;
}

schema schema_member(schema s, const char *key) {
  if (s.custom_root && strcmp(key, "metadata") == 0) {
    return at(s.set, schema_set_get(s.set, OBJECT_META));
  }
  yyjson_val *named = yyjson_obj_get(yyjson_obj_get(s.type, "properties"), key);
  if (named == NULL) {
    named = yyjson_obj_get(s.type, "additionalProperties");
  }
  return yyjson_is_obj(named) ? at(s.set, named) : (schema){.set = s.set};
}

bool schema_is_closed(schema s) {
  return yyjson_is_obj(yyjson_obj_get(s.type, "properties")) &&
         yyjson_obj_get(s.type, "additionalProperties") == NULL &&
         !yyjson_is_true(
             yyjson_obj_get(s.type, "x-kubernetes-preserve-unknown-fields"));
}

schema schema_items(schema s) {
  yyjson_val *items = yyjson_obj_get(s.type, "items");
  return yyjson_is_obj(items) ? at(s.set, items) : (schema){.set = s.set};
}

/* A field's own word goes before that of its type. */
static const char *extension(schema s, const char *key) {
  const char *text = yyjson_get_str(yyjson_obj_get(s.field, key));
  return text != NULL ? text : yyjson_get_str(yyjson_obj_get(s.type, key));
}

static bool says(schema s, const char *key, const char *text) {
  const char *have = extension(s, key);
  return have != NULL && strcmp(have, text) == 0;
}

bool schema_is_atomic(schema s) {
  return says(s, "x-kubernetes-map-type", "atomic");
}

schema_list schema_list_type(schema s) {
  if (says(s, "x-kubernetes-list-type", "map") &&
      schema_list_key(s, 0) != NULL) {
    return SCHEMA_LIST_MAP;
  }
  return says(s, "x-kubernetes-list-type", "set") ? SCHEMA_LIST_SET
                                                  : SCHEMA_LIST_ATOMIC;
}

const char *schema_list_key(schema s, size_t i) {
  yyjson_val *keys = yyjson_obj_get(s.type, "x-kubernetes-list-map-keys");
  return i < SCHEMA_KEYS_MAX ? yyjson_get_str(yyjson_arr_get(keys, i)) : NULL;
}

const char *schema_default(schema s) {
  return yyjson_get_str(yyjson_obj_get(s.field, "default"));
}

bool schema_patch_merges(schema s, const char **key) {
  const char *strategy = extension(s, "x-kubernetes-patch-strategy");
  *key = extension(s, "x-kubernetes-patch-merge-key");
  return strategy != NULL && (strcmp(strategy, "merge") == 0 ||
                              strcmp(strategy, "merge,retainKeys") == 0);
}
