/* SPDX-License-Identifier: MIT */
/* Every write parses the body into a tree, settles the metadata the server
 * owns, renders the result with the revision it is about to get, and commits
 * it. */
#include "write.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "body.h"
#include "conn.h"
#include "definition.h"
#include "field_validation.h"
#include "list.h"
#include "managed_fields.h"
#include "mem.h"
#include "name.h"
#include "object.h"
#include "render.h"
#include "sim.h"
#include "status.h"
#include "write_options.h"

/* Whether the body is JSON; else the request is answered. */
static bool check_json(const api_call *call) {
  slice type = media_type(request_header(&call->c->req, "Content-Type"));
  if (type.len == 0 || slice_is(type, "application/json")) {
    return true;
  }
  status_unsupported_media(call->c, "application/json");
  return false;
}

/* ------------------------------------------------------------- validation */

static bool check_namespace(const api_call *call, yyjson_mut_val *meta) {
  const char *ns = object_text(meta, "namespace");
  if (ns != NULL && *ns != '\0' &&
      (call->ns == NULL || strcmp(ns, call->ns) != 0)) {
    status_bad_request(call->c, "the namespace of the provided object does not "
                                "match the namespace sent on the request");
    return false;
  }
  return true;
}

/* The version that an object names; 0 is none, as in Go. False if it is no
 * number. */
static bool read_version(yyjson_mut_val *meta, uint64_t *version) {
  const char *text = object_text(meta, "resourceVersion");
  *version = 0;
  return text == NULL || *text == '\0' || slice_to_u64(slice_of(text), version);
}

/* Of a name that is not valid, as the real server words it. */
static const char *name_problem(const resource *res, slice name) {
  if (!res->label_names) {
    return "a lowercase RFC 1123 subdomain must consist of lower case "
           "alphanumeric characters, '-' or '.', and must start and end with "
           "an alphanumeric character (e.g. 'example.com', regex used for "
           "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
           "[a-z0-9])?)*')";
  }
  if (!name_is_subdomain(name)) {
    return "a lowercase RFC 1123 label must consist of lower case alphanumeric "
           "characters or '-', and must start and end with an alphanumeric "
           "character (e.g. 'my-name',  or '123-abc', regex used for "
           "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  }
  return name.len > 63 ? "must be no more than 63 bytes"
                       : "must not contain dots";
}

static bool check_name(const api_call *call, const char *name) {
  slice text = slice_of(name);
  if (call->res->label_names ? name_is_label(text) : name_is_subdomain(text)) {
    return true;
  }
  buf message = {0};
  buf_puts(&message, "Invalid value: ");
  buf_put_json(&message, name, strlen(name));
  buf_printf(&message, ": %s", name_problem(call->res, text));
  field_error error = {"FieldValueInvalid", message.data, "metadata.name"};
  status_invalid(call->c, call->res->group, call->res->kind, name, &error, 1);
  buf_free(&message);
  return false;
}

/* Settles metadata.name, from generateName if need be. */
static bool settle_name(const api_call *call, yyjson_mut_doc *doc,
                        yyjson_mut_val *meta) {
  const char *name = object_text(meta, "name");
  const char *prefix = object_text(meta, "generateName");
  if (name != NULL && *name != '\0') {
    return check_name(call, name);
  }
  if (prefix == NULL || *prefix == '\0') {
    field_error error = {"FieldValueRequired",
                         "Required value: name or generateName is required",
                         "metadata.name"};
    status_invalid(call->c, call->res->group, call->res->kind, "", &error, 1);
    return false;
  }
  static const char LETTERS[] = "bcdfghjklmnpqrstvwxz2456789";
  enum { ENDING = 5, PREFIX_MOST = 63 - ENDING };
  buf made = {0};
  buf_append(&made, prefix, strnlen(prefix, PREFIX_MOST));
  for (int i = 0; i < ENDING; i++) {
    buf_putc(&made,
             LETTERS[rng_below(&call->c->sim->uid_rng, sizeof LETTERS - 1)]);
  }
  object_set_text(doc, meta, "name", made.data);
  bool ok = check_name(call, made.data);
  buf_free(&made);
  return ok;
}

static bool namespace_exists(const api_call *call) {
  if (call->ns == NULL) {
    return true;
  }
  const resource *namespaces =
      registry_find(&call->c->sim->registry, "", "v1", "namespaces");
  if (table_get(namespaces->table, call->ns) != NULL) {
    return true;
  }
  status_not_found(call->c, namespaces, call->ns);
  return false;
}

/* ------------------------------------------------------------------ commit */

/* Renders doc with the next revision and stores it. */
static rev *commit(struct sim *s, const resource *res, const char *key,
                   yyjson_mut_doc *doc) {
  buf digits = {0};
  buf_put_u64(&digits, store_revision(s->store) + 1);
  object_set_text(doc, object_meta(doc), "resourceVersion", digits.data);
  buf_free(&digits);
  rev *r = table_put(res->table, key, object_render(doc, res));
  definition_changed(s, res, r);
  return r;
}

/* Answers with an object that is not stored. */
static void answer_unstored(const api_call *call, int status,
                            yyjson_mut_doc *doc) {
  blob *json = object_render(doc, call->res);
  resp_begin(call->c, status, "application/json");
  resp_write_ref(call->c, json, json->data, json->len);
  resp_write_copy(call->c, "\n", 1);
  resp_end(call->c);
  blob_unref(json);
}

static void put_now(yyjson_mut_doc *doc, yyjson_mut_val *meta,
                    const char *key) {
  char now[RFC3339_LEN + 1];
  format_rfc3339(time(NULL), now);
  object_set_text(doc, meta, key, now);
}

static void settle_new(struct sim *s, const resource *res, const char *ns,
                       yyjson_mut_doc *doc) {
  yyjson_mut_val *meta = object_meta(doc);
  char uid[UUID_LEN + 1];
  rng_uuid(&s->uid_rng, uid);
  object_set_text(doc, meta, "uid", uid);
  object_remove(meta, "selfLink");
  object_remove(meta, "deletionTimestamp");
  object_remove(meta, "deletionGracePeriodSeconds");
  object_remove(meta, "generation");
  if (ns != NULL) {
    object_set_text(doc, meta, "namespace", ns);
  }
  if (res->has_generation) {
    object_set_number(doc, meta, "generation", 1);
  }
  put_now(doc, meta, "creationTimestamp");
  object_default(doc, res);
}

void write_ensure_namespace(struct sim *s, const char *name) {
  const resource *res = registry_find(&s->registry, "", "v1", "namespaces");
  if (table_get(res->table, name) != NULL) {
    return;
  }
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
  object_set_text(doc, object_meta(doc), "name", name);
  settle_new(s, res, NULL, doc);
  commit(s, res, name, doc);
  yyjson_mut_doc_free(doc);
}

/* ------------------------------------------------------------------ create */

void write_create(const api_call *call, yyjson_mut_doc *doc) {
  conn *c = call->c;
  object_drop_repeats(yyjson_mut_doc_get_root(doc));
  yyjson_mut_val *meta = object_meta(doc);
  uint64_t version;
  if (read_version(meta, &version) && version != 0) {
    status_send(c, 500, NULL,
                "resourceVersion should not be set on objects to be created",
                NULL);
    return;
  }
  if (!check_namespace(call, meta) || !namespace_exists(call) ||
      !settle_name(call, doc, meta)) {
    return;
  }
  const char *name = object_text(meta, "name");
  char *key = object_key(call->ns, name);
  if (table_get(call->res->table, key) != NULL) {
    status_exists(c, call->res, name);
  } else {
    settle_new(c->sim, call->res, call->ns, doc);
    managed_record_new(call, doc);
    if (write_options_dry_run(call)) {
      answer_unstored(call, 201, doc);
    } else {
      list_send_one(call, 201, commit(c->sim, call->res, key, doc));
    }
  }
  free(key);
}

static void create(const api_call *call) {
  if (call->name != NULL || (call->res->namespaced && call->ns == NULL)) {
    status_method_not_allowed(call->c);
    return;
  }
  if (!write_options_check(call, false) || !check_json(call)) {
    return;
  }
  yyjson_mut_doc *doc = body_read_object(call);
  if (doc != NULL && body_check_kind(call, doc) &&
      field_validation_object(call, doc)) {
    write_create(call, doc);
  }
  yyjson_mut_doc_free(doc);
}

/* ------------------------------------------------------- update and patch */

/* Members the server owns keep their values. */
static void keep_meta(yyjson_mut_doc *doc, yyjson_mut_val *meta,
                      yyjson_mut_val *old) {
  static const char *const KEPT[] = {"name",
                                     "namespace",
                                     "uid",
                                     "generation",
                                     "creationTimestamp",
                                     "deletionTimestamp",
                                     "deletionGracePeriodSeconds"};
  for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
    yyjson_mut_val *value = yyjson_mut_obj_get(old, KEPT[i]);
    if (value != NULL) {
      object_set(doc, meta, KEPT[i], yyjson_mut_val_mut_copy(doc, value));
    } else {
      object_remove(meta, KEPT[i]);
    }
  }
}

/* A patch cannot change a uid; in an update the uid is a precondition. */
static void refuse_uid(const api_call *call, const char *uid) {
  buf message = {0};
  buf_puts(&message, "Invalid value: ");
  buf_put_json(&message, uid, strlen(uid));
  buf_puts(&message, ": field is immutable");
  field_error error = {"FieldValueInvalid", message.data, "metadata.uid"};
  status_invalid(call->c, call->res->group, call->res->kind, call->name, &error,
                 1);
  buf_free(&message);
}

/* An empty uid is none. `have` is the object's uid, empty if there is no
 * object. */
static bool precondition_failed(const api_call *call, const char *uid,
                                slice have) {
  if (uid == NULL || *uid == '\0' || slice_is(have, uid)) {
    return false;
  }
  if (strcmp(call->verb, "patch") == 0) {
    refuse_uid(call, uid);
    return true;
  }
  buf detail = {0};
  buf_printf(&detail,
             "StorageError: invalid object, Code: 4, Key: /registry/%s/%s%s%s, "
             "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID "
             "in precondition: %s, UID in object meta: %.*s",
             call->res->plural, call->ns != NULL ? call->ns : "",
             call->ns != NULL ? "/" : "", call->name, uid, (int)have.len,
             have.ptr);
  status_conflict(call->c, call->res, call->name, detail.data);
  buf_free(&detail);
  return true;
}

/* Whether the version the client based its change on is the newest. */
static bool check_version(const api_call *call, yyjson_mut_val *meta,
                          const rev *old) {
  uint64_t version;
  if (!read_version(meta, &version)) {
    buf message = {0};
    buf_printf(&message, "strconv.ParseUint: parsing \"%s\": invalid syntax",
               object_text(meta, "resourceVersion"));
    status_send(call->c, 500, NULL, message.data, NULL);
    buf_free(&message);
    return false;
  }
  if (version != 0) {
    uint64_t newest = 0;
    slice_to_u64(rev_text(old, old->rv_text), &newest);
    if (version != newest) {
      status_conflict(call->c, call->res, call->name, NULL);
    }
    return version == newest;
  }
  if (!call->res->needs_version) {
    return true;
  }
  field_error error = {"FieldValueInvalid",
                       "Invalid value: 0: must be specified for an update",
                       "metadata.resourceVersion"};
  /* A real server gives the resource in the place of the kind. */
  status_invalid(call->c, call->res->group, call->res->plural, call->name,
                 &error, 1);
  return false;
}

/* Sorted, two trees with the same members are compared in one pass. */
static bool is_same_tree(yyjson_mut_doc *a, yyjson_mut_doc *b) {
  yyjson_mut_val *one = yyjson_mut_val_mut_copy(a, yyjson_mut_doc_get_root(a));
  yyjson_mut_val *two = yyjson_mut_val_mut_copy(b, yyjson_mut_doc_get_root(b));
  object_sort(one);
  object_sort(two);
  return yyjson_mut_equals(one, two);
}

/* Another order of members is no change. The lengths are compared first, because
 * that is cheap. */
static bool is_changed(const resource *res, yyjson_mut_doc *doc,
                       yyjson_mut_doc *old_doc, const rev *old) {
  blob *json = object_render(doc, res);
  bool same = json->len == old->json->len &&
              (memcmp(json->data, old->json->data, json->len) == 0 ||
               is_same_tree(doc, old_doc));
  blob_unref(json);
  return !same;
}

/* Stores doc as the next version of old and answers, unless nothing changed. */
static void store_change(const api_call *call, yyjson_mut_doc *doc,
                         yyjson_mut_doc *old_doc, rev *old, const char *key) {
  yyjson_mut_val *meta = object_meta(doc);
  if (call->res->has_generation &&
      object_content_differs(call->res, old_doc, doc)) {
    object_set_number(doc, meta, "generation",
                      object_number(object_meta(old_doc), "generation") + 1);
  }
  char *version = xstrndup(rev_text(old, old->rv_text).ptr, old->rv_text.len);
  object_set_text(doc, meta, "resourceVersion", version);
  free(version);
  bool changed = is_changed(call->res, doc, old_doc, old);
  meta = object_meta(doc);
  if (write_options_dry_run(call)) {
    answer_unstored(call, 200, doc);
  } else if (!changed) {
    list_send_one(call, 200, old);
  } else if (object_text(meta, "deletionTimestamp") != NULL &&
             !object_is_held(meta)) {
    /* What held it back is gone: it goes without another version. */
    answer_unstored(call, 200, doc);
    delete_now(call->c->sim, call->res, key, old);
  } else {
    list_send_one(call, 200, commit(call->c->sim, call->res, key, doc));
  }
}

/* The status subresource changes status only; everything else stays. */
static void keep_all_but_status(yyjson_mut_doc *doc, yyjson_mut_doc *old_doc) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *status = yyjson_mut_obj_get(root, "status");
  yyjson_mut_val *merged =
      yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(old_doc));
  yyjson_mut_val *version =
      yyjson_mut_obj_get(object_meta(doc), "resourceVersion");
  if (version != NULL) {
    object_set(doc, yyjson_mut_obj_get(merged, "metadata"), "resourceVersion",
               yyjson_mut_val_mut_copy(doc, version));
  }
  object_remove(merged, "status");
  if (status != NULL) {
    object_set(doc, merged, "status", yyjson_mut_val_mut_copy(doc, status));
  }
  yyjson_mut_doc_set_root(doc, merged);
}

/* Whether the object has the name of the URL; else the request is answered. */
static bool check_url_name(const api_call *call, yyjson_mut_val *meta) {
  const char *name = object_text(meta, "name");
  if (name != NULL && strcmp(name, call->name) == 0) {
    return true;
  }
  buf message = {0};
  if (name == NULL || *name == '\0') {
    buf_printf(&message,
               "the name of the object (%s based on URL) was undeterminable: "
               "name must be provided",
               call->name);
  } else {
    buf_printf(&message,
               "the name of the object (%s) does not match the name on the URL "
               "(%s)",
               name, call->name);
  }
  status_bad_request_take(call->c, &message);
  return false;
}

/* Whether the object is what the URL names; else the request is answered. */
static bool check_identity(const api_call *call, yyjson_mut_doc *doc) {
  yyjson_mut_val *meta = object_meta(doc);
  return body_check_kind(call, doc) && check_namespace(call, meta) &&
         check_url_name(call, meta);
}

static bool has_text(yyjson_mut_val *list, const char *text) {
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(list, i, max, item) {
    if (yyjson_mut_equals_str(item, text)) {
      return true;
    }
  }
  return false;
}

/* A deletion that has begun takes no new finalizers. False if there are any and
 * the request is answered. */
static bool check_finalizers(const api_call *call, yyjson_mut_val *meta,
                             yyjson_mut_val *old) {
  if (object_text(old, "deletionTimestamp") == NULL) {
    return true;
  }
  yyjson_mut_val *had = yyjson_mut_obj_get(old, "finalizers");
  buf added = {0};
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(yyjson_mut_obj_get(meta, "finalizers"), i, max, item) {
    const char *text = yyjson_mut_get_str(item);
    if (text != NULL && !has_text(had, text)) {
      buf_puts(&added, added.len != 0 ? ", " : "");
      buf_put_json(&added, text, strlen(text));
    }
  }
  bool ok = added.len == 0;
  if (!ok) {
    buf message = {0};
    buf_printf(&message,
               "Forbidden: no new finalizers can be added if the object is "
               "being deleted, found new finalizers []string{%s}",
               added.data);
    field_error error = {"FieldValueForbidden", message.data,
                         "metadata.finalizers"};
    status_invalid(call->c, call->res->group, call->res->kind, call->name,
                   &error, 1);
    buf_free(&message);
  }
  buf_free(&added);
  return ok;
}

/* Checks what a request makes of the object, and settles what the server owns.
 * False if the request is answered. */
static bool settle_change(const api_call *call, yyjson_mut_doc *doc,
                          yyjson_mut_doc *old_doc, rev *old) {
  object_drop_repeats(yyjson_mut_doc_get_root(doc));
  yyjson_mut_val *meta = object_meta(doc);
  if (!check_identity(call, doc) ||
      precondition_failed(call, object_text(meta, "uid"),
                          rev_text(old, old->uid)) ||
      !check_version(call, meta, old)) {
    return false;
  }
  if (call->sub != NULL) {
    keep_all_but_status(doc, old_doc);
  }
  keep_meta(doc, object_meta(doc), object_meta(old_doc));
  return check_finalizers(call, object_meta(doc), object_meta(old_doc));
}

void write_change(const api_call *call, yyjson_mut_doc *doc,
                  yyjson_mut_doc *old_doc, rev *old, const char *key) {
  if (settle_change(call, doc, old_doc, old)) {
    managed_record(call, old_doc, doc);
    store_change(call, doc, old_doc, old, key);
  }
}

void write_applied(const api_call *call, yyjson_mut_doc *doc,
                   yyjson_mut_doc *old_doc, rev *old, const char *key) {
  yyjson_mut_val *managed = yyjson_mut_val_mut_copy(
      doc, yyjson_mut_obj_get(object_meta(doc), "managedFields"));
  if (settle_change(call, doc, old_doc, old)) {
    /* A change of the status alone has taken the old ones. */
    object_set(doc, object_meta(doc), "managedFields", managed);
    store_change(call, doc, old_doc, old, key);
  }
}

void write_change_named(const api_call *call, yyjson_mut_doc *doc,
                        write_change_cb *change) {
  char *key = object_key(call->ns, call->name);
  rev *old = table_get(call->res->table, key);
  if (old == NULL) {
    status_not_found(call->c, call->res, call->name);
  } else {
    yyjson_mut_doc *old_doc = object_of(old);
    change(call, doc, old_doc, old, key);
    yyjson_mut_doc_free(old_doc);
  }
  yyjson_mut_doc_free(doc);
  free(key);
}

/* Of an update whose object does not exist. Its version means nothing then. */
static void create_named(const api_call *call, yyjson_mut_doc *doc) {
  yyjson_mut_val *meta = object_meta(doc);
  if (!precondition_failed(call, object_text(meta, "uid"), (slice){"", 0})) {
    object_remove(meta, "resourceVersion");
    write_create(call, doc);
  }
  yyjson_mut_doc_free(doc);
}

static bool exists(const api_call *call) {
  char *key = object_key(call->ns, call->name);
  bool found = table_get(call->res->table, key) != NULL;
  free(key);
  return found;
}

static void update(const api_call *call) {
  if (call->name == NULL) {
    status_method_not_allowed(call->c);
    return;
  }
  if (!write_options_check(call, false) || !check_json(call)) {
    return;
  }
  yyjson_mut_doc *doc = body_read_object(call);
  if (doc == NULL || !field_validation_object(call, doc)) {
    yyjson_mut_doc_free(doc);
    return;
  }
  object_drop_repeats(yyjson_mut_doc_get_root(doc));
  if (!check_identity(call, doc)) {
    yyjson_mut_doc_free(doc);
    return;
  }
  if (call->res->put_creates && !exists(call)) {
    create_named(call, doc);
  } else {
    write_change_named(call, doc, write_change);
  }
}

void write_answer(const api_call *call) {
  if (strcmp(call->verb, "create") == 0) {
    create(call);
  } else if (strcmp(call->verb, "update") == 0) {
    update(call);
  } else if (strcmp(call->verb, "patch") == 0) {
    patch_answer(call);
  } else {
    delete_answer(call);
  }
}
