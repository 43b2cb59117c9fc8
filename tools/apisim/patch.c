/* SPDX-License-Identifier: MIT */
/* The four kinds of patches: JSON patch, merge patch, strategic merge patch,
 * and apply. */
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "body.h"
#include "conn.h"
#include "field_validation.h"
#include "jsonpatch.h"
#include "object.h"
#include "sim.h"
#include "status.h"
#include "strategic.h"
#include "write.h"
#include "write_options.h"

typedef enum patch_type {
  PATCH_UNKNOWN,
  PATCH_JSON,
  PATCH_MERGE,
  PATCH_STRATEGIC,
  PATCH_APPLY,
} patch_type;

static patch_type type_of(const api_call *call) {
  static const char *const TYPES[] = {
      [PATCH_JSON] = "application/json-patch+json",
      [PATCH_MERGE] = "application/merge-patch+json",
      [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
      [PATCH_APPLY] = "application/apply-patch+yaml",
  };
  slice type = media_type(request_header(&call->c->req, "Content-Type"));
  for (int i = PATCH_JSON; i <= PATCH_APPLY; i++) {
    if (slice_is(type, TYPES[i])) {
      return (patch_type)i;
    }
  }
  return PATCH_UNKNOWN;
}

/* ------------------------------------------- JSON, merge, strategic merge */

/* Changes doc. False and a message if the patch cannot be applied. */
static bool patch_doc(const api_call *call, yyjson_mut_doc *doc,
                      yyjson_mut_doc *old_doc, yyjson_mut_val *patch,
                      buf *error) {
  switch (type_of(call)) {
  case PATCH_JSON:
    return jsonpatch_apply(doc, patch, error);
  case PATCH_STRATEGIC:
    return strategic_apply(doc, schema_of(&call->c->sim->schemas, call->res),
                           yyjson_mut_doc_get_root(doc), patch, error);
  default:
    yyjson_mut_doc_set_root(
        doc, merge_patch_apply(doc, yyjson_mut_doc_get_root(old_doc), patch));
    return true;
  }
}

static void patch_object(const api_call *call, yyjson_mut_doc *patch,
                         yyjson_mut_doc *old_doc, rev *old, const char *key) {
  yyjson_mut_doc *doc = yyjson_mut_doc_mut_copy(old_doc, NULL);
  buf error = {0};
  patch_type type = type_of(call);
  bool json = type == PATCH_JSON;
  if (type == PATCH_STRATEGIC &&
      !yyjson_mut_is_obj(yyjson_mut_doc_get_root(patch))) {
    status_bad_request(call->c, "error decoding patch: a strategic merge patch "
                                "is an object");
  } else if (!patch_doc(call, doc, old_doc, yyjson_mut_doc_get_root(patch),
                        &error)) {
    status_send(call->c, json ? 422 : 500, json ? "Invalid" : NULL, error.data,
                json ? "{}" : NULL);
  } else if (!yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc))) {
    status_bad_request(call->c, "the patch does not leave an object");
  } else {
    write_change(call, doc, old_doc, old, key);
  }
  buf_free(&error);
  yyjson_mut_doc_free(doc);
}

/* As in the real server: each operation may walk the whole document. */
static bool check_operations(const api_call *call, yyjson_mut_doc *patch) {
  enum { OPERATIONS_MAX = 10000 };
  size_t count = yyjson_mut_arr_size(yyjson_mut_doc_get_root(patch));
  if (count <= OPERATIONS_MAX) {
    return true;
  }
  buf message = {0};
  buf_printf(&message,
             "Request entity is too large: The allowed maximum operations in a "
             "JSON patch is %d, got %zu",
             OPERATIONS_MAX, count);
  status_send(call->c, 413, "RequestEntityTooLarge", message.data, NULL);
  buf_free(&message);
  return false;
}

static void patch_by_request(const api_call *call) {
  yyjson_mut_doc *doc = body_read_patch(call);
  bool json = type_of(call) == PATCH_JSON;
  if (doc == NULL || (json ? !check_operations(call, doc)
                           : !field_validation_patch(call, doc))) {
    yyjson_mut_doc_free(doc);
    return;
  }
  write_change_named(call, doc, patch_object);
}

/* ------------------------------------------------------------------ apply */

static void move_members(yyjson_mut_doc *doc, yyjson_mut_val *to,
                         yyjson_mut_val *from, const char *const *keys) {
  for (; *keys != NULL; keys++) {
    yyjson_mut_val *value = yyjson_mut_obj_remove_key(from, *keys);
    if (value != NULL) {
      object_set(doc, to, *keys, value);
    }
  }
}

/* Leaves of a configuration what names the object, and its status. */
static void keep_status(yyjson_mut_doc *config) {
  static const char *const KEPT[] = {"apiVersion", "kind", "status", NULL};
  static const char *const NAMES[] = {"name", "namespace", "uid",
                                      "resourceVersion", NULL};
  yyjson_mut_val *root = yyjson_mut_obj(config);
  yyjson_mut_val *meta = yyjson_mut_obj(config);
  move_members(config, meta, object_meta(config), NAMES);
  move_members(config, root, yyjson_mut_doc_get_root(config), KEPT);
  object_set(config, root, "metadata", meta);
  yyjson_mut_doc_set_root(config, root);
}

/* Fills in the name that the path gives; a configuration of the status has
 * nothing else than its names and the status. False if the request is answered. */
static bool settle_config(const api_call *call, yyjson_mut_doc *config) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(config);
  yyjson_mut_val *meta = object_meta(config);
  const char *kind = object_text(root, "kind");
  const char *version = object_text(root, "apiVersion");
  if (kind == NULL || version == NULL) {
    bool group = version != NULL && strchr(version, '/') != NULL;
    buf message = {0};
    buf_printf(&message, "invalid object type: %s%s, Kind=%s", group ? "" : "/",
               version != NULL ? version : "", kind != NULL ? kind : "");
    status_bad_request_take(call->c, &message);
    return false;
  }
  if (!body_check_kind(call, config) || !field_validation_apply(call, config)) {
    return false;
  }
  if (yyjson_mut_obj_get(meta, "managedFields") != NULL) {
    status_bad_request(call->c, "metadata.managedFields must be nil");
    return false;
  }
  if (object_text(meta, "name") == NULL) {
    object_set_text(config, meta, "name", call->name);
  }
  if (call->sub != NULL) {
    keep_status(config);
  }
  return true;
}

static void apply_existing(const api_call *call, yyjson_mut_doc *config,
                           yyjson_mut_doc *old_doc, rev *old, const char *key) {
  yyjson_mut_doc *doc = apply_object(call, config, old_doc);
  if (doc != NULL) {
    write_applied(call, doc, old_doc, old, key);
  }
  yyjson_mut_doc_free(doc);
}

static void apply_new(const api_call *call, yyjson_mut_doc *config) {
  const char *name = object_text(object_meta(config), "name");
  if (strcmp(name, call->name) != 0) {
    buf message = {0};
    buf_printf(&message,
               "the name of the object (%s) does not match the name on the URL "
               "(%s)",
               name, call->name);
    status_bad_request_take(call->c, &message);
    return;
  }
  yyjson_mut_doc *doc = apply_object(call, config, NULL);
  if (doc != NULL) {
    write_create(call, doc);
  }
  yyjson_mut_doc_free(doc);
}

/* JSON is YAML; other YAML is told apart by its first character. */
static bool check_is_json(const api_call *call) {
  const buf *body = &call->c->req.body;
  size_t at = 0;
  while (at < body->len && strchr(" \t\r\n", body->data[at]) != NULL) {
    at++;
  }
  if (at == body->len || body->data[at] == '{' || body->data[at] == '[') {
    return true;
  }
  status_bad_request(call->c, "error decoding YAML: kin-apisim reads an apply "
                              "configuration as JSON only");
  return false;
}

static void apply_by_request(const api_call *call) {
  if (!check_is_json(call)) {
    return;
  }
  yyjson_mut_doc *config = body_read_object(call);
  if (config == NULL || !settle_config(call, config)) {
    yyjson_mut_doc_free(config);
    return;
  }
  char *key = object_key(call->ns, call->name);
  bool exists = table_get(call->res->table, key) != NULL;
  free(key);
  if (exists || call->sub != NULL) {
    write_change_named(call, config, apply_existing);
    return;
  }
  apply_new(call, config);
  yyjson_mut_doc_free(config);
}

void patch_answer(const api_call *call) {
  patch_type type = type_of(call);
  if (call->name == NULL) {
    status_method_not_allowed(call->c);
  } else if (type == PATCH_UNKNOWN) {
    status_unsupported_patch(call->c);
  } else if (type == PATCH_STRATEGIC && call->res->custom) {
    status_unsupported_media(call->c, "application/json-patch+json, "
                                      "application/merge-patch+json, "
                                      "application/apply-patch+yaml");
  } else if (write_options_check(call, type == PATCH_APPLY)) {
    if (type == PATCH_APPLY) {
      apply_by_request(call);
    } else {
      patch_by_request(call);
    }
  }
}
