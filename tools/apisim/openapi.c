/* SPDX-License-Identifier: MIT */
#include "openapi.h"

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "media.h"
#include "mem.h"
#include "schema.h"
#include "sim.h"
#include "status.h"

static const char OBJECT_META[] =
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/* -------------------------------------------------------------- operations */

typedef struct operation {
  const char *method;
  const char *action;
  const char *takes;  // media types of the body, with commas; NULL = no body
  const char *params; // of the query, with commas
} operation;

#define WRITE_PARAMS "dryRun,fieldManager,fieldValidation"
#define LIST_PARAMS                                                            \
  "allowWatchBookmarks,continue,fieldSelector,labelSelector,limit,"            \
  "resourceVersion,resourceVersionMatch,sendInitialEvents,timeoutSeconds,"     \
  "watch"
#define MERGE_TYPES "application/json-patch+json,application/merge-patch+json"

static const char JSON_TYPE[] = "application/json";
static const char CUSTOM_PATCHES[] =
    MERGE_TYPES ",application/apply-patch+yaml";
static const char BUILTIN_PATCHES[] =
    MERGE_TYPES ",application/strategic-merge-patch+json,"
                "application/apply-patch+yaml";

static const operation COLLECTION[] = {
    {"get", "list", NULL, LIST_PARAMS},
    {"post", "post", JSON_TYPE, WRITE_PARAMS},
    {"delete", "deletecollection", NULL, "fieldSelector,labelSelector,dryRun"},
    {NULL, NULL, NULL, NULL},
};
static const operation ITEM[] = {
    {"get", "get", NULL, "resourceVersion"},
    {"put", "put", JSON_TYPE, WRITE_PARAMS},
    {"patch", "patch", BUILTIN_PATCHES, WRITE_PARAMS ",force"},
    {"delete", "delete", NULL, "dryRun"},
    {NULL, NULL, NULL, NULL},
};

static void put_params(buf *out, const char *params) {
  const char *separator = "";
  while (*params != '\0') {
    size_t len = strcspn(params, ",");
    buf_printf(out,
               "%s{\"name\":\"%.*s\",\"in\":\"query\",\"schema\":{\"type\":"
               "\"string\",\"uniqueItems\":true}}",
               separator, (int)len, params);
    params += len + (params[len] == ',' ? 1 : 0);
    separator = ",";
  }
}

static void put_body(buf *out, const char *types, const char *action,
                     const char *name) {
  buf_puts(out, ",\"requestBody\":{\"content\":{");
  const char *separator = "";
  while (*types != '\0') {
    size_t len = strcspn(types, ",");
    buf_printf(out, "%s\"%.*s\":{\"schema\":", separator, (int)len, types);
    if (strcmp(action, "patch") == 0) {
      buf_puts(out, "{}}");
    } else {
      buf_printf(out, "{\"$ref\":\"#/components/schemas/%s\"}}", name);
    }
    types += len + (types[len] == ',' ? 1 : 0);
    separator = ",";
  }
  buf_puts(out, "},\"required\":true}");
}

static void put_operation(buf *out, const operation *op, const resource *res,
                          const char *name) {
  bool patch = strcmp(op->method, "patch") == 0;
  buf_printf(out, "\"%s\":{\"parameters\":[", op->method);
  put_params(out, op->params);
  buf_puts(out, "]");
  if (op->takes != NULL) {
    put_body(out, patch && res->custom ? CUSTOM_PATCHES : op->takes, op->action,
             name);
  }
  buf_printf(out,
             ",\"responses\":{\"%s\":{\"description\":\"OK\",\"content\":{"
             "\"application/json\":{}}}},\"x-kubernetes-action\":\"%s\","
             "\"x-kubernetes-group-version-kind\":{\"group\":\"%s\","
             "\"kind\":\"%s\",\"version\":\"%s\"}}",
             strcmp(op->method, "post") == 0 ? "201" : "200", op->action,
             res->group, res->kind, res->version);
}

/* {"get":...,"parameters":[those of the path]} */
static void put_path(buf *out, const operation *ops, const resource *res,
                     const char *name, bool named, const char *suffix) {
  buf_printf(out, "%s\"%s/%s/%s%s%s%s\":{",
             out->data[out->len - 1] == '{' ? "" : ",",
             *res->group == '\0' ? "/api" : "/apis", res->api_version,
             res->namespaced ? "namespaces/{namespace}/" : "", res->plural,
             named ? "/{name}" : "", suffix);
  for (; ops->method != NULL; ops++) {
    bool none = strcmp(ops->method, "delete") == 0 &&
                (*suffix != '\0' || (!named && res->one_by_one));
    if (!none) {
      put_operation(out, ops, res, name);
      buf_putc(out, ',');
    }
  }
  buf_puts(out, "\"parameters\":[");
  const char *separator = "";
  for (int i = 0; i < 2; i++) {
    if (i == 0 ? res->namespaced : named) {
      buf_printf(out,
                 "%s{\"name\":\"%s\",\"in\":\"path\",\"required\":true,"
                 "\"schema\":{\"type\":\"string\",\"uniqueItems\":true}}",
                 separator, i == 0 ? "namespace" : "name");
      separator = ",";
    }
  }
  buf_puts(out, "]}");
}

static void put_paths(buf *out, const resource *res, const char *name) {
  put_path(out, COLLECTION, res, name, false, "");
  put_path(out, ITEM, res, name, true, "");
  if (res->has_status) {
    put_path(out, ITEM, res, name, true, "/status");
  }
}

/* ------------------------------------------------------------------ schemas */

/* Adds the schema of a type and of all that it refers to. */
static void add_type(yyjson_mut_doc *doc, yyjson_mut_val *schemas,
                     const schema_set *set, const char *name);

static void add_referred(yyjson_mut_doc *doc, yyjson_mut_val *schemas,
                         const schema_set *set, yyjson_val *in) {
  static const char PREFIX[] = "#/components/schemas/";
  size_t i, max;
  yyjson_val *key, *value;
  yyjson_arr_foreach(in, i, max, value) {
    add_referred(doc, schemas, set, value);
  }
  yyjson_obj_foreach(in, i, max, key, value) {
    const char *text = yyjson_get_str(value);
    if (yyjson_equals_str(key, "$ref") && text != NULL &&
        strncmp(text, PREFIX, sizeof PREFIX - 1) == 0) {
      add_type(doc, schemas, set, text + sizeof PREFIX - 1);
    } else {
      add_referred(doc, schemas, set, value);
    }
  }
}

static void add_type(yyjson_mut_doc *doc, yyjson_mut_val *schemas,
                     const schema_set *set, const char *name) {
  yyjson_val *type = schema_set_get(set, name);
  if (type != NULL && yyjson_mut_obj_get(schemas, name) == NULL) {
    yyjson_mut_obj_add(schemas, yyjson_mut_strcpy(doc, name),
                       yyjson_val_mut_copy(doc, type));
    add_referred(doc, schemas, set, type);
  }
}

/* com.example.v1.Widget for example.com/v1, as a real server names it. */
static char *custom_name(const resource *res) {
  buf out = {0};
  size_t end = strlen(res->group);
  while (end > 0) {
    size_t from = end;
    while (from > 0 && res->group[from - 1] != '.') {
      from--;
    }
    buf_append(&out, res->group + from, end - from);
    buf_putc(&out, '.');
    end = from > 0 ? from - 1 : 0;
  }
  buf_printf(&out, "%s.%s", res->version, res->kind);
  return out.data;
}

static yyjson_mut_val *ensure_object(yyjson_mut_doc *doc, yyjson_mut_val *in,
                                     const char *key) {
  yyjson_mut_val *value = yyjson_mut_obj_get(in, key);
  if (!yyjson_mut_is_obj(value)) {
    value = yyjson_mut_obj(doc);
    yyjson_mut_obj_put(in, yyjson_mut_strcpy(doc, key), value);
  }
  return value;
}

/* A custom resource's own schema, or one of any members, with the members that
 * all objects have. */
static yyjson_mut_val *custom_type(yyjson_mut_doc *doc, const resource *res) {
  yyjson_val *own = yyjson_doc_get_root(res->schema);
  yyjson_mut_val *type =
      own != NULL ? yyjson_val_mut_copy(doc, own) : yyjson_mut_obj(doc);
  if (own == NULL) {
    yyjson_mut_obj_add_str(doc, type, "type", "object");
    yyjson_mut_obj_add_bool(doc, type, "x-kubernetes-preserve-unknown-fields",
                            true);
  }
  yyjson_mut_val *fields = ensure_object(doc, type, "properties");
  static const char *const TEXTS[] = {"apiVersion", "kind"};
  for (size_t i = 0; i < 2; i++) {
    yyjson_mut_val *text = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, text, "type", "string");
    yyjson_mut_obj_put(fields, yyjson_mut_str(doc, TEXTS[i]), text);
  }
  yyjson_mut_val *target = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(
      doc, target, "$ref",
      "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  yyjson_mut_val *all = yyjson_mut_arr(doc);
  yyjson_mut_arr_append(all, target);
  yyjson_mut_val *meta = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_val(doc, meta, "allOf", all);
  yyjson_mut_obj_put(fields, yyjson_mut_str(doc, "metadata"), meta);
  return type;
}

static void mark_kind(yyjson_mut_doc *doc, yyjson_mut_val *type,
                      const resource *res) {
  yyjson_mut_val *kind = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_strcpy(doc, kind, "group", res->group);
  yyjson_mut_obj_add_strcpy(doc, kind, "kind", res->kind);
  yyjson_mut_obj_add_strcpy(doc, kind, "version", res->version);
  yyjson_mut_val *kinds = yyjson_mut_arr(doc);
  yyjson_mut_arr_append(kinds, kind);
  yyjson_mut_obj_add_val(doc, type, "x-kubernetes-group-version-kind", kinds);
}

/* Adds the resource's type. Returns its name, to be freed. */
static char *add_resource(yyjson_mut_doc *doc, yyjson_mut_val *schemas,
                          const schema_set *set, const resource *res) {
  char *name;
  if (res->custom) {
    name = custom_name(res);
    yyjson_mut_obj_add(schemas, yyjson_mut_strcpy(doc, name),
                       custom_type(doc, res));
    add_type(doc, schemas, set, OBJECT_META);
  } else {
    name = xstrdup(schema_set_name(set, res));
    add_type(doc, schemas, set, name);
  }
  mark_kind(doc, yyjson_mut_obj_get(schemas, name), res);
  return name;
}

/* ---------------------------------------------------------------- documents */

/* The document of a group and version, appended to out. False if it has no
 * resource that is served. */
static bool put_document(const struct sim *s, const char *group,
                         const char *version, buf *out) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *schemas = yyjson_mut_obj(doc);
  bool any = false;
  buf_puts(out, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\","
                "\"version\":\"v1.36.3+apisim\"},\"paths\":{");
  for (const resource *r = s->registry.first; r != NULL; r = r->next) {
    if (r->served && strcmp(r->group, group) == 0 &&
        strcmp(r->version, version) == 0) {
      char *name = add_resource(doc, schemas, &s->schemas, r);
      put_paths(out, r, name);
      free(name);
      any = true;
    }
  }
  size_t len = 0;
  char *text = yyjson_mut_val_write(schemas, YYJSON_WRITE_NOFLAG, &len);
  buf_puts(out, "},\"components\":{\"schemas\":");
  buf_puts(out, text != NULL ? text : "{}");
  buf_puts(out, "}}\n");
  free(text);
  yyjson_mut_doc_free(doc);
  return any;
}

/* Each group and version at its first served resource. */
static bool is_first(const struct sim *s, const resource *res) {
  const resource *r = s->registry.first;
  while (r != res &&
         !(r->served && strcmp(r->api_version, res->api_version) == 0)) {
    r = r->next;
  }
  return r == res && res->served;
}

/* The hash lets a client keep a document until the document changes. */
static uint64_t document_hash(const struct sim *s, const resource *res) {
  buf text = {0};
  put_document(s, res->group, res->version, &text);
  uint64_t hash = 0;
  for (size_t i = 0; i < text.len; i++) {
    hash = rng_mix(hash ^ (unsigned char)text.data[i]);
  }
  buf_free(&text);
  return hash;
}

static void answer_index(conn *c) {
  buf body = {0};
  const char *separator = "";
  buf_puts(&body, "{\"paths\":{");
  for (const resource *r = c->sim->registry.first; r != NULL; r = r->next) {
    if (is_first(c->sim, r)) {
      const char *root = *r->group == '\0' ? "api" : "apis";
      buf_printf(&body,
                 "%s\"%s/%s\":{\"serverRelativeURL\":\"/openapi/v3/%s/%s?hash="
                 "%016llX\"}",
                 separator, root, r->api_version, root, r->api_version,
                 (unsigned long long)document_hash(c->sim, r));
      separator = ",";
    }
  }
  buf_puts(&body, "}}\n");
  resp_send(c, 200, "application/json", body.data, body.len);
  buf_free(&body);
}

static void answer_document(conn *c, const char *group, const char *version) {
  buf body = {0};
  if (put_document(c->sim, group, version, &body)) {
    resp_send(c, 200, "application/json", body.data, body.len);
  } else {
    status_unknown_path(c);
  }
  buf_free(&body);
}

bool openapi_answer(conn *c) {
  const request *r = &c->req;
  const char *second = request_segment(r, 1);
  const char *third = request_segment(r, 2);
  if (second == NULL || strcmp(second, "v3") != 0) {
    return false;
  }
  bool core = r->path_count == 4 && strcmp(third, "api") == 0;
  bool group = r->path_count == 5 && strcmp(third, "apis") == 0;
  if (r->path_count != 2 && !core && !group) {
    return false;
  }
  if (!media_takes_plain(request_header(r, "Accept"))) {
    status_not_acceptable(
        c, "only the following media types are accepted: application/json");
  } else if (core) {
    answer_document(c, "", request_segment(r, 3));
  } else if (group) {
    answer_document(c, request_segment(r, 3), request_segment(r, 4));
  } else {
    answer_index(c);
  }
  return true;
}
