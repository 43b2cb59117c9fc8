/* SPDX-License-Identifier: MIT */
#include "field_validation.h"

#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "conn.h"
#include "mem.h"
#include "sim.h"
#include "status.h"

/* As many as the real server tells. */
enum { PROBLEMS_MAX = 100 };

typedef struct search {
  bool owned; // told as of an apply: .path: field not declared in schema
  buf path;
  buf *problems;
  size_t count;
} search;

static void report(search *at, const char *what) {
  if (at->owned && strcmp(what, "unknown") == 0) {
    if (at->count++ == 0) {
      buf_printf(at->problems, ".%s: field not declared in schema",
                 at->path.data);
    }
  } else if (at->count++ < PROBLEMS_MAX) {
    buf_printf(at->problems, "%s%s field \"%s\"", at->count > 1 ? ", " : "",
               what, at->path.data);
  }
}

static int by_name(const void *a, const void *b) {
  yyjson_mut_val *const *one = a;
  yyjson_mut_val *const *two = b;
  return strcmp(yyjson_mut_get_str(*one), yyjson_mut_get_str(*two));
}

static void look_in(search *at, schema s, yyjson_mut_val *value);

/* Appends .key, or key at the start. Returns the length before. */
static size_t enter(search *at, const char *key) {
  size_t before = at->path.len;
  buf_printf(&at->path, "%s%s", before != 0 ? "." : "", key);
  return before;
}

static void leave(search *at, size_t before) {
  at->path.len = before;
  at->path.data[before] = '\0';
}

static void look_at_member(search *at, schema s, const char *key,
                           yyjson_mut_val *value) {
  bool directive = *key == '$';
  if (directive || yyjson_mut_is_null(value)) {
    return;
  }
  size_t before = enter(at, key);
  if (schema_is_closed(s) && !schema_names(s, key)) {
    report(at, "unknown");
  } else {
    look_in(at, schema_member(s, key), value);
  }
  leave(at, before);
}

static void look_in_object(search *at, schema s, yyjson_mut_val *object) {
  size_t count = 0;
  yyjson_mut_val **keys =
      xcalloc(yyjson_mut_obj_size(object) + 1, sizeof(yyjson_mut_val *));
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(object, i, max, key, value) {
    look_at_member(at, s, yyjson_mut_get_str(key), value);
    keys[count++] = key;
  }
  qsort(keys, count, sizeof(yyjson_mut_val *), by_name);
  for (i = 1; i < count; i++) {
    if (by_name(&keys[i - 1], &keys[i]) == 0) {
      size_t before = enter(at, yyjson_mut_get_str(keys[i]));
      report(at, "duplicate");
      leave(at, before);
    }
  }
  free(keys);
}

static void look_in(search *at, schema s, yyjson_mut_val *value) {
  size_t i, max;
  yyjson_mut_val *item;
  if (yyjson_mut_is_obj(value)) {
    look_in_object(at, s, value);
  }
  yyjson_mut_arr_foreach(value, i, max, item) {
    if (yyjson_mut_is_ctn(item)) {
      size_t before = at->path.len;
      buf_printf(&at->path, "[%zu]", i);
      look_in(at, schema_items(s), item);
      leave(at, before);
    }
  }
}

void field_validation_find(schema s, yyjson_mut_val *value, buf *problems) {
  search at = {.problems = problems};
  buf_puts(&at.path, "");
  look_in(&at, s, value);
  buf_free(&at.path);
}

static void find_for_apply(schema s, yyjson_mut_val *value, buf *problems) {
  search at = {.problems = problems, .owned = true};
  buf_puts(&at.path, "");
  look_in(&at, s, value);
  buf_free(&at.path);
}

/* ----------------------------------------------------------------- answers */

bool field_validation_is_strict(const api_call *call) {
  const char *text = request_query(&call->c->req, "fieldValidation");
  return text != NULL && strcmp(text, "Strict") == 0;
}

static buf find(const api_call *call, yyjson_mut_doc *doc) {
  buf problems = {0};
  field_validation_find(schema_of(&call->c->sim->schemas, call->res),
                        yyjson_mut_doc_get_root(doc), &problems);
  return problems;
}

bool field_validation_object(const api_call *call, yyjson_mut_doc *doc) {
  if (!field_validation_is_strict(call)) {
    return true;
  }
  buf problems = find(call, doc);
  bool ok = problems.len == 0;
  if (!ok) {
    buf message = {0};
    buf_printf(&message,
               "%s in version \"%s\" cannot be handled as a %s: strict "
               "decoding error: %s",
               call->res->kind, call->res->version, call->res->kind,
               problems.data);
    status_bad_request_take(call->c, &message);
  }
  buf_free(&problems);
  return ok;
}

bool field_validation_patch(const api_call *call, yyjson_mut_doc *patch) {
  if (!field_validation_is_strict(call)) {
    return true;
  }
  buf problems = find(call, patch);
  bool ok = problems.len == 0;
  if (!ok) {
    buf message = {0};
    buf_puts(&message, "Invalid value: ");
    buf_put_json(&message, call->c->req.body.data, call->c->req.body.len);
    buf_printf(&message, ": strict decoding error: %s", problems.data);
    field_error error = {"FieldValueInvalid", message.data, "patch"};
    status_invalid(call->c, call->res->group, call->res->kind, "", &error, 1);
    buf_free(&message);
  }
  buf_free(&problems);
  return ok;
}

bool field_validation_apply(const api_call *call, yyjson_mut_doc *config) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(config);
  buf problems = {0};
  find_for_apply(schema_of(&call->c->sim->schemas, call->res), root, &problems);
  bool ok = problems.len == 0;
  if (!ok) {
    apply_refuse(call, root, problems.data);
  }
  buf_free(&problems);
  return ok;
}
