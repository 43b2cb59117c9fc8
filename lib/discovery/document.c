/* SPDX-License-Identifier: MIT */
#include "discovery/document.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/json.h"

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
static int read_discovered_version(kin__api_table *table, kin_str group,
                                   kin__json *item) {
  kin__json *resources = kin__json_member(item, "resources");
  bool is_usable = !is_string_equal(item, "freshness", "Stale") &&
                   (resources == NULL || kin__json_is_array(resources));
  kin__api_version *version;
  int err = kin__api_table_add_version(
      table, group, kin__json_string(item, "version"),
      is_usable ? KIN__API_KNOWN : KIN__API_PENDING, &version);
  if (version == NULL || !is_usable) {
    return err;
  }
  kin__json_elements elements = kin__json_elements_of(resources);
  kin__json *element;
  while (err == 0 && (element = kin__json_next(&elements)) != NULL) {
    err = read_discovered(table, version, element);
  }
  return err;
}

static int read_discovered_groups(kin__api_table *table, kin__json *root,
                                  bool is_core) {
  kin__json_elements groups =
      kin__json_elements_of(kin__json_member(root, "items"));
  kin__json *item;
  int err = 0;
  while (err == 0 && (item = kin__json_next(&groups)) != NULL) {
    kin_str group =
        kin__json_string(kin__json_member(item, "metadata"), "name");
    kin__json_elements versions =
        kin__json_elements_of(kin__json_member(item, "versions"));
    kin__json *version;
    while (err == 0 && is_core == (group.length == 0) &&
           (version = kin__json_next(&versions)) != NULL) {
      err = read_discovered_version(table, group, version);
    }
  }
  return err;
}

/* --- Old ------------------------------------------------------------------ */

static int add_pending(kin__api_table *table, kin_str group, kin_str version) {
  kin__api_version *made;
  return kin__api_table_add_version(table, group, version, KIN__API_PENDING,
                                    &made);
}

/* APIVersions. */
static int read_core_versions(kin__api_table *table, kin__json *root) {
  kin__json_elements versions =
      kin__json_elements_of(kin__json_member(root, "versions"));
  kin__json *element;
  int err = 0;
  while (err == 0 && (element = kin__json_next(&versions)) != NULL) {
    kin_str version;
    if (kin__json_to_string(element, &version)) {
      err = add_pending(table, kin__str(NULL, 0), version);
    }
  }
  return err;
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

/* APIGroupList. */
static int read_groups(kin__api_table *table, kin__json *root) {
  kin__json_elements groups =
      kin__json_elements_of(kin__json_member(root, "groups"));
  kin__json *item;
  int err = 0;
  while (err == 0 && (item = kin__json_next(&groups)) != NULL) {
    err = read_group(table, item);
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

static int read_resources(kin__api_table *table, kin__api_version *version,
                          kin__json *root) {
  kin__json_elements resources =
      kin__json_elements_of(kin__json_member(root, "resources"));
  kin__json *item;
  int err = 0;
  kin__api_version_clear(table, version);
  while (err == 0 && (item = kin__json_next(&resources)) != NULL) {
    err = read_resource(table, version, item);
  }
  if (err == 0) {
    version->state = KIN__API_KNOWN;
  }
  return err;
}

/* --- Which document ------------------------------------------------------- */

static bool is_aggregated(kin__json *root) {
  return is_string_equal(root, "kind", "APIGroupDiscoveryList") &&
         (is_string_equal(root, "apiVersion", "apidiscovery.k8s.io/v2") ||
          is_string_equal(root, "apiVersion", "apidiscovery.k8s.io/v2beta1"));
}

static int read_root(kin__api_table *table, kin__json *root, bool is_core) {
  if (is_aggregated(root)) {
    return read_discovered_groups(table, root, is_core);
  }
  if (is_core && is_string_equal(root, "kind", "APIVersions")) {
    return read_core_versions(table, root);
  }
  if (!is_core && is_string_equal(root, "kind", "APIGroupList")) {
    return read_groups(table, root);
  }
  return KIN_EUNEXPECTED;
}

/* Nothing here recurses, so the depth is not bounded. */
static int parse_document(struct yyjson_doc **out,
                          const kin_allocator *allocator, kin_str body) {
  int err = kin__json_read(out, allocator, body);
  return err == KIN_ETRUNCATED ? KIN_EJSON : err;
}

int kin__document_read_root(kin__api_table *table, kin_str body, bool is_core) {
  struct yyjson_doc *doc;
  int err = parse_document(&doc, table->allocator, body);
  if (err == 0) {
    err = read_root(table, kin__json_root(doc), is_core);
    kin__json_free(table->allocator, doc);
  }
  return err;
}

int kin__document_read_version(kin__api_table *table, kin__api_version *version,
                               kin_str body) {
  struct yyjson_doc *doc;
  int err = parse_document(&doc, table->allocator, body);
  if (err == 0) {
    kin__json *root = kin__json_root(doc);
    err = is_string_equal(root, "kind", "APIResourceList")
              ? read_resources(table, version, root)
              : KIN_EUNEXPECTED;
    kin__json_free(table->allocator, doc);
  }
  return err;
}
