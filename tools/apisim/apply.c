/* SPDX-License-Identifier: MIT */
#include "apply.h"

#include <stdlib.h>
#include <string.h>

#include "apply_merge.h"
#include "conn.h"
#include "managed_fields.h"
#include "mem.h"
#include "object.h"
#include "sim.h"
#include "status.h"

static const char LAST_APPLIED[] =
    "kubectl.kubernetes.io/last-applied-configuration";

/* -------------------------------------------------------------- conflicts */

typedef struct conflicts {
  size_t count;
  const char *manager; // as the messages name it
  buf list;            // "- PATH" for each, after its manager
  buf first;           // the only path, if there is one
  buf causes;          // JSON
} conflicts;

static void put_manager(buf *out, yyjson_mut_val *entry) {
  const char *name = object_text(entry, "manager");
  const char *sub = object_text(entry, "subresource");
  const char *operation = object_text(entry, "operation");
  const char *version = object_text(entry, "apiVersion");
  buf_put_json(out, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
  if (sub != NULL && *sub != '\0') {
    buf_printf(out, " with subresource \"%s\"", sub);
  }
  if (operation != NULL && strcmp(operation, "Update") == 0) {
    buf_printf(out, " using %s", version != NULL ? version : "");
  }
}

static void add_conflict(const char *path, void *data) {
  conflicts *all = data;
  buf message = {0};
  buf_printf(&message, "conflict with %s", all->manager);
  buf_printf(&all->list, "\n- %s", path);
  if (all->count++ == 0) {
    buf_printf(&all->first, "%s: %s", message.data, path);
  }
  buf_puts(&all->causes, all->count > 1 ? "," : "");
  buf_puts(&all->causes, "{\"reason\":\"FieldManagerConflict\",\"message\":");
  buf_put_json(&all->causes, message.data, message.len);
  buf_puts(&all->causes, ",\"field\":");
  buf_put_json(&all->causes, path, strlen(path));
  buf_putc(&all->causes, '}');
  buf_free(&message);
}

/* 409, or nothing if there is no conflict. */
static bool answer_conflicts(const api_call *call, conflicts *all) {
  if (all->count != 0) {
    buf message = {0};
    buf details = {0};
    buf_printf(&message, "Apply failed with %zu conflict%s: ", all->count,
               all->count == 1 ? "" : "s");
    buf_puts(&message, all->count == 1 ? all->first.data : all->list.data);
    buf_printf(&details, "{\"causes\":[%s]}", all->causes.data);
    status_send(call->c, 409, "Conflict", message.data, details.data);
    buf_free(&message);
    buf_free(&details);
  }
  buf_free(&all->list);
  buf_free(&all->first);
  buf_free(&all->causes);
  return all->count != 0;
}

/* ---------------------------------------------- from client-side apply on */

/* What kubectl applied on the client's side and nobody has changed since: its
 * server-side apply may take that over. */
static fields *last_applied(yyjson_mut_doc *doc, schema s,
                            const char *api_version, yyjson_mut_val *live) {
  const char *text = object_text(
      yyjson_mut_obj_get(yyjson_mut_obj_get(live, "metadata"), "annotations"),
      LAST_APPLIED);
  fields *none = fields_empty(doc);
  if (text == NULL || !object_depth_ok(text, strlen(text))) {
    return none;
  }
  yyjson_doc *read = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
  yyjson_mut_val *applied = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
  yyjson_doc_free(read);
  const char *version = object_text(applied, "apiVersion");
  if (version == NULL || strcmp(version, api_version) != 0) {
    return none;
  }
  fields_change change = fields_compare(doc, s, applied, live);
  fields *set = fields_of(doc, s, applied, NULL);
  set = fields_combine(doc, FIELDS_DIFFERENCE, set, change.modified);
  set = fields_combine(doc, FIELDS_DIFFERENCE, set, change.added);
  return fields_combine(doc, FIELDS_DIFFERENCE, set, change.removed);
}

/* kubectl's annotation follows what it applies on the server's side, too. */
static void renew_last_applied(yyjson_mut_doc *doc, yyjson_mut_val *config) {
  yyjson_mut_val *annotations =
      yyjson_mut_obj_get(object_meta(doc), "annotations");
  if (object_text(annotations, LAST_APPLIED) == NULL) {
    return;
  }
  yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, config);
  object_remove(
      yyjson_mut_obj_get(yyjson_mut_obj_get(copy, "metadata"), "annotations"),
      LAST_APPLIED);
  object_sort(copy);
  size_t len = 0;
  char *text = yyjson_mut_val_write(copy, YYJSON_WRITE_NEWLINE_AT_END, &len);
  if (text != NULL) {
    object_set_text(doc, annotations, LAST_APPLIED, text);
  }
  free(text);
}

/* ------------------------------------------------------------------ apply */

typedef struct apply {
  const api_call *call;
  yyjson_mut_doc *doc; // becomes the new object
  schema s;
  manager_id id;
  yyjson_mut_val *live; // unchanged; an empty object if there is none
  yyjson_mut_val *config;
  yyjson_mut_val *entries;
} apply;

/* The changed fields that others must not own: none if the apply is forced, and
 * of kubectl's what it did not apply on the client's side before. */
static fields *contested(const apply *a, fields *changed) {
  if (request_query_bool(&a->call->c->req, "force")) {
    return fields_empty(a->doc);
  }
  if (strcmp(a->id.name, "kubectl") != 0) {
    return changed;
  }
  return fields_combine(a->doc, FIELDS_DIFFERENCE, changed,
                        last_applied(a->doc, a->s, a->id.api_version, a->live));
}

/* False if others own what has changed, and the request is answered. */
static bool check_conflicts(const apply *a, yyjson_mut_val *own,
                            fields *changed) {
  fields *held = contested(a, changed);
  conflicts all = {0};
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(a->entries, i, max, entry) {
    fields *set =
        fields_combine(a->doc, FIELDS_INTERSECTION, managed_set(entry), held);
    if (entry == own || fields_is_empty(set)) {
      continue;
    }
    buf manager = {0};
    put_manager(&manager, entry);
    all.manager = manager.data;
    buf_printf(&all.list, "%sconflicts with %s:", all.count > 0 ? "\n" : "",
               manager.data);
    fields_visit(set, add_conflict, &all);
    buf_free(&manager);
  }
  return !answer_conflicts(a->call, &all);
}

/* Sets the merged object as the document's. False if the request is answered.
 */
static bool merge_config(apply *a, fields *set) {
  yyjson_mut_doc *doc = a->doc;
  yyjson_mut_val *own = managed_ensure(doc, a->entries, &a->id);
  fields *last = yyjson_mut_val_mut_copy(doc, managed_set(own));
  managed_put(doc, own, set, false);
  yyjson_mut_val *merged =
      apply_merge(doc, a->s, yyjson_mut_val_mut_copy(doc, a->live), a->config);
  apply_prune(a->s, merged, last, managed_all(doc, a->entries));
  fields_change change = fields_compare(doc, a->s, a->live, merged);
  fields *changed =
      fields_combine(doc, FIELDS_UNION, change.added, change.modified);
  if (!check_conflicts(a, own, changed)) {
    return false;
  }
  managed_take(doc, a->entries, own, changed);
  managed_take(doc, a->entries, own, change.removed);
  fields *kept = managed_strip(doc, set);
  managed_put(doc, own, kept, !yyjson_mut_equals(kept, last));
  yyjson_mut_doc_set_root(doc, merged);
  return true;
}

void apply_refuse(const api_call *call, yyjson_mut_val *config,
                  const char *problem) {
  yyjson_mut_val *meta = yyjson_mut_obj_get(config, "metadata");
  const char *ns = object_text(meta, "namespace");
  const char *name = object_text(meta, "name");
  buf message = {0};
  buf_printf(&message,
             "failed to create typed patch object (%s/%s; %s/%s, Kind=%s): %s",
             ns != NULL ? ns : "", name != NULL ? name : "", call->res->group,
             call->res->version, call->res->kind, problem);
  status_send(call->c, 500, NULL, message.data, NULL);
  buf_free(&message);
}

/* The set of an apply, or NULL if the configuration cannot be merged and the
 * request is answered. */
static fields *applied_fields(const apply *a) {
  buf problem = {0};
  fields *set = fields_of(a->doc, a->s, a->config, &problem);
  if (problem.len != 0) {
    apply_refuse(a->call, a->config, problem.data);
    set = NULL;
  }
  buf_free(&problem);
  return set;
}

yyjson_mut_doc *apply_object(const api_call *call, yyjson_mut_doc *config,
                             yyjson_mut_doc *old_doc) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  const char *name = request_query(&call->c->req, "fieldManager");
  apply a = {
      .call = call,
      .doc = doc,
      .s = schema_of(&call->c->sim->schemas, call->res),
      .id = {name, "Apply", call->res->api_version,
             call->sub != NULL ? call->sub : ""},
      .config = yyjson_mut_doc_get_root(config),
  };
  a.live = old_doc != NULL
               ? yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(old_doc))
               : yyjson_mut_obj(doc);
  a.entries = managed_read(doc, a.live);
  object_remove(yyjson_mut_obj_get(a.live, "metadata"), "managedFields");
  if (old_doc != NULL && yyjson_mut_arr_size(a.entries) == 0) {
    managed_begin(doc, a.s, call->res->api_version, a.live, a.entries);
  }
  fields *set = applied_fields(&a);
  if (set == NULL || !merge_config(&a, set)) {
    yyjson_mut_doc_free(doc);
    return NULL;
  }
  if (strcmp(name, "kubectl") == 0) {
    renew_last_applied(doc, a.config);
  }
  managed_write(doc, yyjson_mut_doc_get_root(doc), a.entries);
  return doc;
}
