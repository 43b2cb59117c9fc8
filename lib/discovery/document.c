/* SPDX-License-Identifier: MIT */
#include "discovery/document.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"

/* How it goes: the text is scanned, its list is cut into parts that are parsed
 * (parts.h), and then the parts are added to the table, a group or a resource a
 * piece. */

static bool is_string_equal(kin__json *object, const char *name,
                            const char *expected) {
  return kin__str_equal(kin__json_string(object, name), kin__cstr(expected));
}

static void read_names(kin__api_names *names, kin__json *array) {
  kin__json_elements elements = kin__json_elements_of(array);
  kin__json *element;
  names->count = 0;
  while ((element = kin__json_next(&elements)) != NULL) {
    kin_str name;
    if (kin__json_to_string(element, &name)) {
      kin__api_names_add(names, name);
    }
  }
}

/* --- Aggregated ----------------------------------------------------------- */

static void read_subresources(kin__api_names *names, kin__json *array) {
  kin__json_elements elements = kin__json_elements_of(array);
  kin__json *element;
  names->count = 0;
  while ((element = kin__json_next(&elements)) != NULL) {
    kin__api_names_add(names, kin__json_string(element, "subresource"));
  }
}

/* An APIResourceDiscovery. Without a kind it is left out, as by client-go. */
static int read_discovered(kin__api_table *table, kin__api_version *version,
                           kin__json *item) {
  kin__api_entry entry; /* 4 KiB: only counts and names are written */
  entry.plural = kin__json_string(item, "resource");
  entry.singular = kin__json_string(item, "singularResource");
  entry.kind = kin__json_string(kin__json_member(item, "responseKind"), "kind");
  entry.is_namespaced = is_string_equal(item, "scope", "Namespaced");
  read_names(&entry.short_names, kin__json_member(item, "shortNames"));
  read_names(&entry.categories, kin__json_member(item, "categories"));
  read_names(&entry.verbs, kin__json_member(item, "verbs"));
  read_subresources(&entry.subresources,
                    kin__json_member(item, "subresources"));
  return kin__api_table_add(table, version, &entry);
}

/* An APIVersionDiscovery. */
static int begin_version(kin__document *document, kin__json *item) {
  kin__json *resources = kin__json_member(item, "resources");
  bool is_usable = !is_string_equal(item, "freshness", "Stale") &&
                   (resources == NULL || kin__json_is_array(resources));
  int err = kin__api_table_add_version(
      document->table, document->group, kin__json_string(item, "version"),
      is_usable ? KIN__API_KNOWN : KIN__API_PENDING, &document->into);
  document->resources = kin__json_elements_of(
      document->into != NULL && is_usable ? resources : NULL);
  return err;
}

/* An APIGroupDiscovery. */
static void begin_group(kin__document *document, kin__json *item) {
  bool wants_core = document->kind == KIN__DOCUMENT_CORE;
  document->group =
      kin__json_string(kin__json_member(item, "metadata"), "name");
  document->versions =
      kin__json_elements_of(wants_core == (document->group.length == 0)
                                ? kin__json_member(item, "versions")
                                : NULL);
}

/* Adds the next resource, version or group of the part in hand. Returns false
 * if there is none. */
static bool add_discovered(kin__document *document) {
  kin__json *next = kin__json_next(&document->resources);
  if (next != NULL) {
    document->error = read_discovered(document->table, document->into, next);
    return true;
  }
  next = kin__json_next(&document->versions);
  if (next != NULL) {
    document->error = begin_version(document, next);
    return true;
  }
  next = kin__json_next(&document->items);
  if (next != NULL) {
    begin_group(document, next);
  }
  return next != NULL;
}

/* --- Old ------------------------------------------------------------------ */

static int add_pending(kin__api_table *table, kin_str group, kin_str version) {
  kin__api_version *made;
  return kin__api_table_add_version(table, group, version, KIN__API_PENDING,
                                    &made);
}

/* A version of APIVersions. */
static int read_core_version(kin__api_table *table, kin__json *item) {
  kin_str version;
  return kin__json_to_string(item, &version)
             ? add_pending(table, kin__str(NULL, 0), version)
             : 0;
}

/* An APIGroup. The preferred version comes first, if it is listed. */
static int read_group(kin__api_table *table, kin__json *item) {
  kin_str group = kin__json_string(item, "name");
  kin_str preferred =
      kin__json_string(kin__json_member(item, "preferredVersion"), "version");
  int err = 0;
  for (int pass = 0; pass < 2 && group.length > 0; pass++) {
    kin__json_elements versions =
        kin__json_elements_of(kin__json_member(item, "versions"));
    kin__json *element;
    while (err == 0 && (element = kin__json_next(&versions)) != NULL) {
      kin_str version = kin__json_string(element, "version");
      if (kin__str_equal(version, preferred) == (pass == 0)) {
        err = add_pending(table, group, version);
      }
    }
  }
  return err;
}

/* An APIResource. */
static int read_resource(kin__api_table *table, kin__api_version *version,
                         kin__json *item) {
  kin_str name = kin__json_string(item, "name");
  const char *slash =
      name.length > 0 ? memchr(name.data, '/', name.length) : NULL;
  if (slash != NULL) {
    size_t length = (size_t)(slash - name.data);
    return kin__api_table_add_subresource(
        table, version, kin__str(name.data, length),
        kin__str(slash + 1, name.length - length - 1));
  }
  kin__api_entry entry;
  entry.plural = name;
  entry.singular = kin__json_string(item, "singularName");
  entry.kind = kin__json_string(item, "kind");
  kin__json *namespaced = kin__json_member(item, "namespaced");
  if (!kin__json_to_bool(namespaced, &entry.is_namespaced)) {
    entry.is_namespaced = false;
  }
  read_names(&entry.short_names, kin__json_member(item, "shortNames"));
  read_names(&entry.categories, kin__json_member(item, "categories"));
  read_names(&entry.verbs, kin__json_member(item, "verbs"));
  entry.subresources.count = 0;
  return kin__api_table_add(table, version, &entry);
}

/* The next item of the part in hand; as add_discovered. */
static bool add_old(kin__document *document) {
  kin__api_table *table = document->table;
  kin__json *item = kin__json_next(&document->items);
  if (item == NULL) {
    return false;
  }
  switch (document->kind) {
  case KIN__DOCUMENT_CORE:
    document->error = read_core_version(table, item);
    break;
  case KIN__DOCUMENT_GROUPS:
    document->error = read_group(table, item);
    break;
  default:
    document->error = read_resource(table, document->version, item);
    break;
  }
  return true;
}

/* --- Which document ------------------------------------------------------- */

static bool is_aggregated(const kin__parts *parts) {
  return strcmp(parts->kind, "APIGroupDiscoveryList") == 0 &&
         (strcmp(parts->api_version, "apidiscovery.k8s.io/v2") == 0 ||
          strcmp(parts->api_version, "apidiscovery.k8s.io/v2beta1") == 0);
}

/* Errors: KIN_EUNEXPECTED. */
static int choose_list(kin__document *document) {
  static const struct {
    const char *name;
    kin__parts_list list;
  } old[] = {
      [KIN__DOCUMENT_CORE] = {"APIVersions", KIN__LIST_VERSIONS},
      [KIN__DOCUMENT_GROUPS] = {"APIGroupList", KIN__LIST_GROUPS},
      [KIN__DOCUMENT_VERSION] = {"APIResourceList", KIN__LIST_RESOURCES}};
  kin__parts *parts = &document->parts;
  document->is_aggregated =
      document->kind != KIN__DOCUMENT_VERSION && is_aggregated(parts);
  if (document->is_aggregated) {
    kin__parts_choose(parts, KIN__LIST_ITEMS);
    return 0;
  }
  if (strcmp(parts->kind, old[document->kind].name) != 0) {
    return KIN_EUNEXPECTED;
  }
  kin__parts_choose(parts, old[document->kind].list);
  return 0;
}

/* --- The steps ------------------------------------------------------------ */

void kin__document_begin(kin__document *document, kin__api_table *table,
                         kin__document_kind kind, kin__api_version *version,
                         kin__buf *text) {
  *document = (kin__document){.table = table, .kind = kind, .version = version};
  kin__parts_init(&document->parts, table->allocator, text);
}

void kin__document_finish(kin__document *document) {
  kin__parts_finish(&document->parts);
}

static void begin_adding(kin__document *document) {
  document->state = KIN__DOCUMENT_ADDING;
  if (document->version != NULL) {
    kin__api_version_clear(document->table, document->version);
  }
}

/* Errors as those of the parts. */
static int prepare(kin__document *document) {
  kin__parts *parts = &document->parts;
  if (document->state == KIN__DOCUMENT_SCANNING) {
    int left = kin__parts_scan(parts);
    if (left != 0) {
      return left < 0 ? left : 0;
    }
    document->state = KIN__DOCUMENT_CUTTING;
    return choose_list(document);
  }
  int left = kin__parts_cut(parts);
  if (left == 0) {
    begin_adding(document);
  }
  return left < 0 ? left : 0;
}

/* Returns false at the end of the last part. */
static bool begin_part(kin__document *document) {
  kin__parts *parts = &document->parts;
  if (document->part > 0) {
    kin__parts_drop(parts, document->part - 1);
  }
  if (document->part == parts->count) {
    return false;
  }
  document->items =
      kin__json_elements_of(kin__json_root(parts->docs[document->part++]));
  return true;
}

/* Returns whether more is left. */
static bool do_piece(kin__document *document) {
  if (document->state != KIN__DOCUMENT_ADDING) {
    document->error = prepare(document);
    return true;
  }
  bool has_added =
      document->is_aggregated ? add_discovered(document) : add_old(document);
  if (has_added || begin_part(document)) {
    return true;
  }
  if (document->version != NULL) {
    document->version->state = KIN__API_KNOWN;
  }
  return false;
}

bool kin__document_step(kin__document *document, kin__slice *slice) {
  bool has_more = true;
  while (has_more && document->error == 0 && kin__slice_next(slice)) {
    has_more = do_piece(document);
  }
  return has_more && document->error == 0;
}
