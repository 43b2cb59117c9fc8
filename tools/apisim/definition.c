/* SPDX-License-Identifier: MIT */
#include "definition.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "call.h"
#include "mem.h"
#include "sim.h"
#include "watch.h"

static bool is_definition(const resource *res) {
  return strcmp(res->qualified,
                "customresourcedefinitions.apiextensions.k8s.io") == 0;
}

void definition_changed(struct sim *s, const resource *res, const rev *r) {
  if (!is_definition(res)) {
    return;
  }
  yyjson_doc *doc = yyjson_read(r->json->data, r->json->len, 0);
  registry_apply_crd(&s->registry, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
}

void definitions_restored(struct sim *s) {
  const resource *res = registry_find(&s->registry, "apiextensions.k8s.io",
                                      "v1", "customresourcedefinitions");
  list_query q = {.version = UINT64_MAX, .prefix = "", .start = ""};
  snapshot all = table_list(res->table, &q);
  registry_forget_crds(&s->registry);
  for (size_t i = 0; i < all.count; i++) {
    definition_changed(s, res, all.items[i]);
  }
  snapshot_free(&all);
}

void delete_all_objects(resource *res, const char *ns) {
  char *prefix = ns != NULL ? object_key(ns, "") : xstrdup("");
  list_query q = {.version = UINT64_MAX, .prefix = prefix, .start = ""};
  snapshot all = table_list(res->table, &q);
  for (size_t i = 0; i < all.count; i++) {
    const rev *r = all.items[i];
    slice in = rev_text(r, r->ns);
    slice name = rev_text(r, r->name);
    char *ns_text = in.len != 0 ? xstrndup(in.ptr, in.len) : NULL;
    char *name_text = xstrndup(name.ptr, name.len);
    char *key = object_key(ns_text, name_text);
    table_delete(res->table, key);
    free(key);
    free(name_text);
    free(ns_text);
  }
  snapshot_free(&all);
  free(prefix);
}

void definition_deleted(struct sim *s, const resource *res, const rev *r) {
  if (!is_definition(res)) {
    return;
  }
  yyjson_doc *doc = yyjson_read(r->json->data, r->json->len, 0);
  yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
  const char *group = yyjson_get_str(yyjson_obj_get(spec, "group"));
  const char *plural =
      yyjson_get_str(yyjson_obj_get(yyjson_obj_get(spec, "names"), "plural"));
  resource *gone = NULL;
  while (group != NULL && plural != NULL &&
         (gone = registry_next_of_group(&s->registry, gone, group, plural)) !=
             NULL) {
    if (gone->custom) {
      delete_all_objects(gone, NULL);
      watch_end_all(s, gone, WATCH_END);
      gone->served = false;
    }
  }
  yyjson_doc_free(doc);
}
