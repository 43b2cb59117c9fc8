/* SPDX-License-Identifier: MIT */
#include "managed_fields.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conn.h"
#include "mem.h"
#include "object.h"
#include "sim.h"

/* As in the real server: more managers that updated are joined into one. */
enum { UPDATERS_MAX = 10, NAME_MAX_BYTES = 128 };
static const char ANCIENT[] = "ancient-changes";

/* ----------------------------------------------------------------- entries */

static const char *text_of(yyjson_mut_val *entry, const char *key) {
  const char *text = object_text(entry, key);
  return text != NULL ? text : "";
}

yyjson_mut_val *managed_read(yyjson_mut_doc *doc, yyjson_mut_val *object) {
  yyjson_mut_val *entries = yyjson_mut_arr(doc);
  yyjson_mut_val *from = yyjson_mut_obj_get(
      yyjson_mut_obj_get(object, "metadata"), "managedFields");
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(from, i, max, entry) {
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, entry);
    if (fields_normalize(managed_set(copy))) {
      yyjson_mut_arr_append(entries, copy);
    }
  }
  return entries;
}

static int by_age(const void *a, const void *b) {
  static const char *const KEYS[] = {"operation", "time", "manager",
                                     "apiVersion", "subresource"};
  yyjson_mut_val *const *one = a;
  yyjson_mut_val *const *two = b;
  int order = 0;
  for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0] && order == 0; i++) {
    order = strcmp(text_of(*one, KEYS[i]), text_of(*two, KEYS[i]));
  }
  return order;
}

void managed_write(yyjson_mut_doc *doc, yyjson_mut_val *object,
                   yyjson_mut_val *entries) {
  size_t count = 0;
  yyjson_mut_val **kept =
      xcalloc(yyjson_mut_arr_size(entries) + 1, sizeof(yyjson_mut_val *));
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(entries, i, max, entry) {
    if (!fields_is_empty(managed_set(entry))) {
      kept[count++] = entry;
    }
  }
  qsort(kept, count, sizeof(yyjson_mut_val *), by_age);
  yyjson_mut_val *sorted = yyjson_mut_arr(doc);
  for (i = 0; i < count; i++) {
    yyjson_mut_arr_append(sorted, kept[i]);
  }
  free(kept);
  yyjson_mut_val *meta = yyjson_mut_obj_get(object, "metadata");
  if (count != 0) {
    object_set(doc, meta, "managedFields", sorted);
  } else {
    object_remove(meta, "managedFields");
  }
}

fields *managed_set(yyjson_mut_val *entry) {
  return yyjson_mut_obj_get(entry, "fieldsV1");
}

yyjson_mut_val *managed_find(yyjson_mut_val *entries, const manager_id *id) {
  bool apply = strcmp(id->operation, "Apply") == 0;
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(entries, i, max, entry) {
    if (strcmp(text_of(entry, "manager"), id->name) == 0 &&
        strcmp(text_of(entry, "operation"), id->operation) == 0 &&
        strcmp(text_of(entry, "subresource"), id->sub) == 0 &&
        (apply || strcmp(text_of(entry, "apiVersion"), id->api_version) == 0)) {
      return entry;
    }
  }
  return NULL;
}

static void put_now(yyjson_mut_doc *doc, yyjson_mut_val *entry) {
  char now[RFC3339_LEN + 1];
  format_rfc3339(time(NULL), now);
  yyjson_mut_val *value = yyjson_mut_strcpy(doc, now);
  if (yyjson_mut_obj_get(entry, "time") != NULL) {
    yyjson_mut_obj_replace(entry, yyjson_mut_str(doc, "time"), value);
  } else {
    object_set(doc, entry, "time", value);
  }
}

yyjson_mut_val *managed_ensure(yyjson_mut_doc *doc, yyjson_mut_val *entries,
                               const manager_id *id) {
  yyjson_mut_val *entry = managed_find(entries, id);
  if (entry != NULL) {
    return entry;
  }
  entry = yyjson_mut_obj(doc);
  object_set_text(doc, entry, "manager", id->name);
  object_set_text(doc, entry, "operation", id->operation);
  object_set_text(doc, entry, "apiVersion", id->api_version);
  put_now(doc, entry);
  object_set_text(doc, entry, "fieldsType", "FieldsV1");
  object_set(doc, entry, "fieldsV1", fields_empty(doc));
  if (*id->sub != '\0') {
    object_set_text(doc, entry, "subresource", id->sub);
  }
  yyjson_mut_arr_append(entries, entry);
  return entry;
}

void managed_put(yyjson_mut_doc *doc, yyjson_mut_val *entry, fields *set,
                 bool now) {
  yyjson_mut_obj_replace(entry, yyjson_mut_str(doc, "fieldsV1"), set);
  if (now) {
    put_now(doc, entry);
  }
}

fields *managed_all(yyjson_mut_doc *doc, yyjson_mut_val *entries) {
  fields *all = fields_empty(doc);
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(entries, i, max, entry) {
    all = fields_combine(doc, FIELDS_UNION, all, managed_set(entry));
  }
  return all;
}

void managed_take(yyjson_mut_doc *doc, yyjson_mut_val *entries,
                  yyjson_mut_val *except, fields *set) {
  if (fields_is_empty(set)) {
    return;
  }
  size_t i, max;
  yyjson_mut_val *entry;
  yyjson_mut_arr_foreach(entries, i, max, entry) {
    if (entry != except) {
      managed_put(
          doc, entry,
          fields_combine(doc, FIELDS_DIFFERENCE, managed_set(entry), set),
          false);
    }
  }
}

fields *managed_strip(yyjson_mut_doc *doc, fields *set) {
  static const char OWN[] =
      "{\"f:apiVersion\":{},\"f:kind\":{},\"f:metadata\":{\".\":{},"
      "\"f:creationTimestamp\":{},\"f:generation\":{},\"f:managedFields\":{},"
      "\"f:name\":{},\"f:namespace\":{},\"f:resourceVersion\":{},"
      "\"f:selfLink\":{},\"f:uid\":{}}}";
  yyjson_doc *own = yyjson_read(OWN, sizeof OWN - 1, 0);
  fields *without =
      fields_combine(doc, FIELDS_DIFFERENCE, set,
                     yyjson_val_mut_copy(doc, yyjson_doc_get_root(own)));
  yyjson_doc_free(own);
  return without;
}

/* ----------------------------------------------------------------- updates */

char *managed_name(const api_call *call) {
  const char *given = request_query(&call->c->req, "fieldManager");
  if (given != NULL && *given != '\0') {
    return xstrdup(given);
  }
  slice agent = request_header(&call->c->req, "User-Agent");
  buf name = {0};
  for (size_t i = 0; i < agent.len && agent.ptr[i] != '/' && i < NAME_MAX_BYTES;
       i++) {
    if (agent.ptr[i] >= ' ' && agent.ptr[i] <= '~') {
      buf_putc(&name, agent.ptr[i]);
    }
  }
  if (name.len == 0) {
    buf_puts(&name, "unknown");
  }
  return name.data;
}

/* The oldest entry of an update, besides `except`; *count is how many there
 * are. */
static yyjson_mut_val *oldest_update(yyjson_mut_val *entries,
                                     yyjson_mut_val *except, size_t *count) {
  yyjson_mut_val *oldest = NULL;
  size_t i, max;
  yyjson_mut_val *entry;
  *count = 0;
  yyjson_mut_arr_foreach(entries, i, max, entry) {
    if (strcmp(text_of(entry, "operation"), "Update") != 0 ||
        fields_is_empty(managed_set(entry))) {
      continue;
    }
    *count += 1;
    if (entry != except &&
        (oldest == NULL ||
         strcmp(text_of(entry, "time"), text_of(oldest, "time")) < 0)) {
      oldest = entry;
    }
  }
  return oldest;
}

static void join_old_updates(yyjson_mut_doc *doc, yyjson_mut_val *entries,
                             const char *api_version) {
  size_t count;
  manager_id id = {ANCIENT, "Update", api_version, ""};
  yyjson_mut_val *ancient = managed_find(entries, &id);
  yyjson_mut_val *oldest = oldest_update(entries, ancient, &count);
  while (count > UPDATERS_MAX && oldest != NULL) {
    ancient = managed_ensure(doc, entries, &id);
    managed_put(doc, ancient,
                fields_combine(doc, FIELDS_UNION, managed_set(ancient),
                               managed_set(oldest)),
                false);
    managed_put(doc, oldest, fields_empty(doc), false);
    oldest = oldest_update(entries, ancient, &count);
  }
}

/* A list of one empty entry is how a client takes all managedFields away. */
static bool is_reset(yyjson_mut_val *object) {
  yyjson_mut_val *list = yyjson_mut_obj_get(
      yyjson_mut_obj_get(object, "metadata"), "managedFields");
  yyjson_mut_val *first = yyjson_mut_arr_get_first(list);
  return yyjson_mut_arr_size(list) == 1 && yyjson_mut_is_obj(first) &&
         yyjson_mut_obj_size(first) == 0;
}

/* What the request gave as managedFields, else what the object had. */
static yyjson_mut_val *entries_of(yyjson_mut_doc *doc, yyjson_mut_val *old,
                                  yyjson_mut_val *now) {
  yyjson_mut_val *given = managed_read(doc, now);
  return yyjson_mut_arr_size(given) != 0 ? given : managed_read(doc, old);
}

void managed_record(const api_call *call, yyjson_mut_doc *old_doc,
                    yyjson_mut_doc *doc) {
  yyjson_mut_val *old = yyjson_mut_doc_get_root(old_doc);
  yyjson_mut_val *now = yyjson_mut_doc_get_root(doc);
  if (is_reset(now)) {
    object_remove(object_meta(doc), "managedFields");
    return;
  }
  yyjson_mut_val *entries = entries_of(doc, old, now);
  if (yyjson_mut_arr_size(entries) == 0) {
    return;
  }
  schema s = schema_of(&call->c->sim->schemas, call->res);
  fields_change change = fields_compare(doc, s, old, now);
  fields *set = managed_strip(
      doc, fields_combine(doc, FIELDS_UNION, change.added, change.modified));
  managed_take(doc, entries, NULL, set);
  managed_take(doc, entries, NULL, change.removed);
  if (!fields_is_empty(set)) {
    char *name = managed_name(call);
    manager_id id = {name, "Update", call->res->api_version,
                     call->sub != NULL ? call->sub : ""};
    yyjson_mut_val *entry = managed_ensure(doc, entries, &id);
    managed_put(doc, entry,
                fields_combine(doc, FIELDS_UNION, managed_set(entry), set),
                true);
    free(name);
    join_old_updates(doc, entries, call->res->api_version);
  }
  managed_write(doc, now, entries);
}

/* Gives all that is in the object to a manager, but not the status: who makes
 * an object does not own that. */
static void own_all(yyjson_mut_doc *doc, schema s, const manager_id *id,
                    yyjson_mut_val *object, yyjson_mut_val *entries) {
  /* What every object has is not of anyone's making. */
  static const char *const OWN[] = {"metadata", "spec"};
  yyjson_mut_val *empty = yyjson_mut_obj(doc);
  for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++) {
    if (yyjson_mut_is_obj(yyjson_mut_obj_get(object, OWN[i]))) {
      yyjson_mut_obj_add_val(doc, empty, OWN[i], yyjson_mut_obj(doc));
    }
  }
  yyjson_mut_val *status = yyjson_mut_obj_get(object, "status");
  if (status != NULL) {
    object_set(doc, empty, "status", yyjson_mut_val_mut_copy(doc, status));
  }
  fields_change change = fields_compare(doc, s, empty, object);
  managed_put(doc, managed_ensure(doc, entries, id),
              managed_strip(doc, change.added), false);
}

void managed_begin(yyjson_mut_doc *doc, schema s, const char *api_version,
                   yyjson_mut_val *object, yyjson_mut_val *entries) {
  manager_id id = {"before-first-apply", "Update", api_version, ""};
  own_all(doc, s, &id, object, entries);
}

void managed_record_new(const api_call *call, yyjson_mut_doc *doc) {
  const char *name = request_query(&call->c->req, "fieldManager");
  yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *meta = object_meta(doc);
  if (name == NULL || *name == '\0' ||
      yyjson_mut_obj_get(meta, "managedFields") != NULL) {
    return;
  }
  yyjson_mut_val *entries = yyjson_mut_arr(doc);
  manager_id id = {name, "Update", call->res->api_version, ""};
  own_all(doc, schema_of(&call->c->sim->schemas, call->res), &id, object,
          entries);
  managed_write(doc, object, entries);
}
