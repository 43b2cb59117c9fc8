/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_TABLE_H
#define KIN_DISCOVERY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/discovery.h>
#include <kin/str.h>

/* The resources of a server: versions of groups, in kubectl's order, each with
 * its resources. The core group comes first, then the groups as the server
 * lists them; the preferred version of a group comes before its others. A
 * repeated version or resource is kept twice, and look-ups take the first
 * one. */

#define KIN__API_VERSIONS_MAX 4096u
#define KIN__API_RESOURCES_MAX 16384u
/* Of all strings and lists of a table. */
#define KIN__API_BYTES_MAX (32u << 20)
/* Of a name, as of any path segment. */
#define KIN__API_NAME_MAX 253u
/* Short names, categories, verbs, subresources of one resource. */
#define KIN__API_LIST_MAX 64u

typedef enum kin__api_state {
  KIN__API_KNOWN = 0,
  KIN__API_PENDING, /* the server is to be asked for its resources */
  KIN__API_FAILED
} kin__api_state;

typedef struct kin__api_version {
  const char *group; /* "" for the core group */
  const char *version;
  kin__api_state state;
  bool was_asked;    /* in this load or before, and had time to answer */
  char failure[160]; /* KIN__API_FAILED: why, on one line */
  kin_api_resource *resources;
  uint32_t count;
  uint32_t capacity;
} kin__api_version;

struct kin__api_chunk;

typedef struct kin__api_table {
  const kin_allocator *allocator;
  struct kin__api_chunk *chunks; /* strings, lists and versions */
  size_t bytes;
  kin__api_version **versions; /* those of the core group first */
  uint32_t version_count;
  uint32_t version_capacity;
  uint32_t core_count;
  uint32_t resource_count; /* of all versions */
  bool is_cut;             /* something was over a limit, and is left out */
  bool is_late;            /* some versions were never asked in time */
  /* The version that the next load asks first: the first one that had no time in
   * this load. */
  uint32_t ask_from;
} kin__api_table;

/* Allocates nothing. */
void kin__api_table_init(kin__api_table *table, const kin_allocator *allocator);
void kin__api_table_finish(kin__api_table *table);

/* Adds a version without resources. `group` may be empty. *out is NULL if the
 * names cannot be path segments, or a limit is reached. Errors: KIN_ENOMEM. */
int kin__api_table_add_version(kin__api_table *table, kin_str group,
                               kin_str version, kin__api_state state,
                               kin__api_version **out);

/* A resource to add. Strings that are no names (empty, too long, with control
 * characters) are left out of lists. */
typedef struct kin__api_names {
  kin_str items[KIN__API_LIST_MAX];
  size_t count;
} kin__api_names;

typedef struct kin__api_entry {
  kin_str plural;
  kin_str singular;
  kin_str kind;
  bool is_namespaced;
  kin__api_names short_names;
  kin__api_names categories;
  kin__api_names verbs;
  kin__api_names subresources;
} kin__api_entry;

/* Appends `name` unless it is none, or the list is full. */
void kin__api_names_add(kin__api_names *names, kin_str name);

/* Adds a resource; leaves it out if its plural cannot be a path segment, its
 * kind is no name, or a limit is reached. Errors: KIN_ENOMEM. */
int kin__api_table_add(kin__api_table *table, kin__api_version *version,
                       const kin__api_entry *entry);
/* Adds a subresource to the resource of that plural, if it is among the last
 * ones that were added. Errors: KIN_ENOMEM. */
int kin__api_table_add_subresource(kin__api_table *table,
                                   kin__api_version *version, kin_str plural,
                                   kin_str subresource);

/* Adds the resources that `before` has of the same version, and whether the
 * version was asked. Errors: KIN_ENOMEM. */
int kin__api_table_inherit(kin__api_table *table, kin__api_version *version,
                           const kin__api_table *before);
/* Adds a version of another table, with its resources. Errors: KIN_ENOMEM. */
int kin__api_table_inherit_version(kin__api_table *table,
                                   const kin__api_version *before);

/* Forgets the resources of a version. */
void kin__api_version_clear(kin__api_table *table, kin__api_version *version);

/* The resources of a version are not known. `why` is cut, and put on one
 * line. */
void kin__api_version_fail(kin__api_version *version, const char *why);

#endif /* KIN_DISCOVERY_TABLE_H */
