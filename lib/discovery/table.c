/* SPDX-License-Identifier: MIT */
#include "discovery/table.h"

#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "listwatch/target.h"

#define CHUNK_BYTES 8192u
/* Servers list a subresource behind its resource, sorted by name. */
#define PARENTS_SEARCHED 64u

struct kin__api_chunk {
  struct kin__api_chunk *next;
  size_t used;
  size_t size;
  _Alignas(void *) char bytes[];
};

static const char *const no_names[] = {NULL};

void kin__api_table_init(kin__api_table *table,
                         const kin_allocator *allocator) {
  *table = (kin__api_table){.allocator = allocator};
}

void kin__api_table_finish(kin__api_table *table) {
  for (uint32_t i = 0; i < table->version_count; i++) {
    kin__free(table->allocator, table->versions[i]->resources);
  }
  kin__free(table->allocator, table->versions);
  while (table->chunks != NULL) {
    struct kin__api_chunk *next = table->chunks->next;
    kin__free(table->allocator, table->chunks);
    table->chunks = next;
  }
  kin__api_table_init(table, table->allocator);
}

/* --- Memory of strings and lists ------------------------------------------ */

static bool add_chunk(kin__api_table *table, size_t size) {
  size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
  struct kin__api_chunk *chunk =
      kin__malloc(table->allocator, sizeof *chunk + room);
  if (chunk == NULL) {
    return false;
  }
  chunk->used = 0;
  chunk->size = room;
  chunk->next = table->chunks;
  table->chunks = chunk;
  return true;
}

/* NULL without memory. Lives as long as the table. */
static void *take_bytes(kin__api_table *table, size_t size) {
  size = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
  struct kin__api_chunk *chunk = table->chunks;
  if (chunk == NULL || chunk->size - chunk->used < size) {
    if (!add_chunk(table, size)) {
      return NULL;
    }
    chunk = table->chunks;
  }
  void *taken = chunk->bytes + chunk->used;
  chunk->used += size;
  table->bytes += size;
  return taken;
}

static const char *copy_text(kin__api_table *table, kin_str text) {
  char *copy = take_bytes(table, text.length + 1);
  if (copy != NULL) {
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
  }
  return copy;
}

/* --- Names ---------------------------------------------------------------- */

static bool is_name(kin_str text) {
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return text.length > 0 && text.length <= KIN__API_NAME_MAX;
}

static bool is_segment(kin_str text) {
  char copy[KIN__API_NAME_MAX + 1];
  if (!is_name(text)) {
    return false;
  }
  memcpy(copy, text.data, text.length);
  copy[text.length] = '\0';
  return kin__segment_is_valid(copy);
}

void kin__api_names_add(kin__api_names *names, kin_str name) {
  if (names->count < KIN__API_LIST_MAX && is_name(name)) {
    names->items[names->count++] = name;
  }
}

static bool has_names(const char *const *list, const kin__api_names *names) {
  size_t i = 0;
  while (i < names->count && list[i] != NULL &&
         kin__str_equal(kin__cstr(list[i]), names->items[i])) {
    i++;
  }
  return i == names->count && list[i] == NULL;
}

/* `like` is the same list of another resource, or NULL: most resources of a
 * server have the same verbs. NULL without memory. */
static const char *const *copy_names(kin__api_table *table,
                                     const kin__api_names *names,
                                     const char *const *like) {
  if (names->count == 0) {
    return no_names;
  }
  if (like != NULL && has_names(like, names)) {
    return like;
  }
  const char **list = take_bytes(table, (names->count + 1) * sizeof *list);
  if (list == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < names->count; i++) {
    list[i] = copy_text(table, names->items[i]);
    if (list[i] == NULL) {
      return NULL;
    }
  }
  list[names->count] = NULL;
  return list;
}

/* --- Versions ------------------------------------------------------------- */

static bool is_full(kin__api_table *table) {
  bool full = table->version_count >= KIN__API_VERSIONS_MAX ||
              table->resource_count >= KIN__API_RESOURCES_MAX ||
              table->bytes >= KIN__API_BYTES_MAX;
  table->is_cut = table->is_cut || full;
  return full;
}

int kin__api_table_add_version(kin__api_table *table, kin_str group,
                               kin_str version, kin__api_state state,
                               kin__api_version **out) {
  *out = NULL;
  bool is_core = group.length == 0;
  if ((!is_core && !is_segment(group)) || !is_segment(version) ||
      is_full(table)) {
    return 0;
  }
  int err =
      kin__reserve_one(table->allocator, &table->versions, table->version_count,
                       &table->version_capacity, sizeof(kin__api_version *));
  kin__api_version *made =
      err == 0 ? take_bytes(table, sizeof(kin__api_version)) : NULL;
  if (made == NULL) {
    return KIN_ENOMEM;
  }
  *made = (kin__api_version){.group = is_core ? "" : copy_text(table, group),
                             .version = copy_text(table, version),
                             .state = state};
  if (made->group == NULL || made->version == NULL) {
    return KIN_ENOMEM;
  }
  uint32_t at = is_core ? table->core_count++ : table->version_count;
  memmove(table->versions + at + 1, table->versions + at,
          (table->version_count - at) * sizeof(kin__api_version *));
  table->versions[at] = made;
  table->version_count++;
  *out = made;
  return 0;
}

void kin__api_version_clear(kin__api_table *table, kin__api_version *version) {
  table->resource_count -= version->count;
  version->count = 0;
}

void kin__api_version_fail(kin__api_version *version, const char *why) {
  version->state = KIN__API_FAILED;
  snprintf(version->failure, sizeof version->failure, "%.*s",
           (int)sizeof version->failure - 1, why);
  kin__put_on_one_line(version->failure);
}

/* --- Resources ------------------------------------------------------------ */

/* The kind in lower case, as client-go guesses. */
static const char *guess_singular(kin__api_table *table, kin_str kind) {
  char *copy = (char *)copy_text(table, kind);
  for (char *c = copy; c != NULL && *c != '\0'; c++) {
    *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
  }
  return copy;
}

static bool is_complete(const kin_api_resource *made) {
  return made->plural != NULL && made->singular != NULL && made->kind != NULL &&
         made->short_names != NULL && made->categories != NULL &&
         made->verbs != NULL && made->subresources != NULL;
}

int kin__api_table_add(kin__api_table *table, kin__api_version *version,
                       const kin__api_entry *entry) {
  if (!is_segment(entry->plural) || !is_name(entry->kind) || is_full(table)) {
    return 0;
  }
  int err =
      kin__reserve_one(table->allocator, &version->resources, version->count,
                       &version->capacity, sizeof(kin_api_resource));
  if (err != 0) {
    return err;
  }
  const kin_api_resource *last =
      version->count > 0 ? &version->resources[version->count - 1] : NULL;
  kin_api_resource made = {
      .size = sizeof made,
      .group = version->group,
      .version = version->version,
      .plural = copy_text(table, entry->plural),
      .singular = is_name(entry->singular) ? copy_text(table, entry->singular)
                                           : guess_singular(table, entry->kind),
      .kind = copy_text(table, entry->kind),
      .is_namespaced = entry->is_namespaced,
      .short_names = copy_names(table, &entry->short_names, NULL),
      .categories = copy_names(table, &entry->categories,
                               last != NULL ? last->categories : NULL),
      .verbs =
          copy_names(table, &entry->verbs, last != NULL ? last->verbs : NULL),
      .subresources = copy_names(table, &entry->subresources, NULL)};
  if (!is_complete(&made)) {
    return KIN_ENOMEM;
  }
  version->resources[version->count++] = made;
  table->resource_count++;
  return 0;
}

int kin__api_table_add_subresource(kin__api_table *table,
                                   kin__api_version *version, kin_str plural,
                                   kin_str subresource) {
  uint32_t at = version->count;
  uint32_t end = at > PARENTS_SEARCHED ? at - PARENTS_SEARCHED : 0;
  while (
      at > end &&
      !kin__str_equal(kin__cstr(version->resources[at - 1].plural), plural)) {
    at--;
  }
  if (at == end || is_full(table)) {
    return 0;
  }
  kin_api_resource *parent = &version->resources[at - 1];
  kin__api_names names = {.count = 0};
  for (size_t i = 0; parent->subresources[i] != NULL; i++) {
    kin__api_names_add(&names, kin__cstr(parent->subresources[i]));
  }
  kin__api_names_add(&names, subresource);
  const char *const *list = copy_names(table, &names, parent->subresources);
  if (list == NULL) {
    return KIN_ENOMEM;
  }
  parent->subresources = list;
  return 0;
}

/* --- Resources of another table ------------------------------------------- */

static void take_names(kin__api_names *names, const char *const *list) {
  names->count = 0;
  for (; *list != NULL; list++) {
    kin__api_names_add(names, kin__cstr(*list));
  }
}

static int add_copy(kin__api_table *table, kin__api_version *version,
                    const kin_api_resource *resource) {
  kin__api_entry entry;
  entry.plural = kin__cstr(resource->plural);
  entry.singular = kin__cstr(resource->singular);
  entry.kind = kin__cstr(resource->kind);
  entry.is_namespaced = resource->is_namespaced;
  take_names(&entry.short_names, resource->short_names);
  take_names(&entry.categories, resource->categories);
  take_names(&entry.verbs, resource->verbs);
  take_names(&entry.subresources, resource->subresources);
  return kin__api_table_add(table, version, &entry);
}

static bool is_same_version(const kin__api_version *a,
                            const kin__api_version *b) {
  return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0;
}

static int add_copies(kin__api_table *table, kin__api_version *version,
                      const kin__api_version *before) {
  int err = 0;
  for (uint32_t i = 0; err == 0 && i < before->count; i++) {
    err = add_copy(table, version, &before->resources[i]);
  }
  return err;
}

int kin__api_table_inherit(kin__api_table *table, kin__api_version *version,
                           const kin__api_table *before) {
  uint32_t at = 0;
  while (at < before->version_count &&
         !is_same_version(before->versions[at], version)) {
    at++;
  }
  if (at == before->version_count) {
    return 0;
  }
  const kin__api_version *known = before->versions[at];
  version->was_asked |= known->was_asked || known->state == KIN__API_KNOWN;
  return add_copies(table, version, known);
}

int kin__api_table_inherit_version(kin__api_table *table,
                                   const kin__api_version *before) {
  kin__api_version *version;
  int err = kin__api_table_add_version(table, kin__cstr(before->group),
                                       kin__cstr(before->version),
                                       before->state, &version);
  if (version == NULL) {
    return err;
  }
  version->was_asked = before->was_asked;
  memcpy(version->failure, before->failure, sizeof version->failure);
  return add_copies(table, version, before);
}
