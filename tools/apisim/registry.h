/* SPDX-License-Identifier: MIT */
#ifndef APISIM_REGISTRY_H
#define APISIM_REGISTRY_H

/* The resources this server knows: a built-in table, --resource options, and
 * CustomResourceDefinitions. */

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "buf.h"
#include "store.h"

struct watch;

typedef struct resource {
  struct resource *next;
  char *group; // "" = core
  char *version;
  char *plural;
  char *singular;
  char *kind;
  char *api_version;    // "v1" or "apps/v1"
  char *qualified;      // "pods" or "deployments.apps"
  char *short_names;    // JSON array members, "" = none
  const char *category; // "" = none
  const char *zero;     // members after metadata in an object without content
  bool namespaced;
  bool custom;         // unstructured: members in alphabetical order
  bool has_generation; // metadata.generation is kept
  bool has_status;     // the status subresource exists
  bool put_creates;    // an update creates an object that does not exist
  bool needs_version;  // an update has to name the version that it changes
  bool label_names;    // names are labels: at most 63 characters, no dot
  bool one_by_one;     // has no deletecollection
  bool has_pod_fields; // field selectors know spec.nodeName, status.phase
  bool defined;        // by a CustomResourceDefinition
  bool served;         // false after its definition was deleted
  yyjson_doc *schema;  // of a definition's version; NULL = none
  table *table;
  struct watch *watches;
  bool dirty; // watches have to catch up
  struct resource *next_dirty;
} resource;

typedef struct registry {
  resource *first; // in order of declaration
  store *store;
} registry;

void registry_init(registry *reg, store *st);
void registry_finish(registry *reg);
/* A served resource, or NULL. */
resource *registry_find(const registry *reg, const char *group,
                        const char *version, const char *plural);
/* Of this plural, served or not, the next one after `after`; NULL = the first.
 * Core and built-in come first. NULL if there is none. */
resource *registry_next_of_plural(const registry *reg, const resource *after,
                                  const char *plural);
/* Adds plural.version.group[:Kind][:namespaced|cluster]. False and a message
 * if it is malformed or already there. */
bool registry_add_text(registry *reg, const char *text, buf *error);
/* Adds or serves again, stops serving, what a CustomResourceDefinition object
 * declares. Malformed parts are skipped. */
void registry_apply_crd(registry *reg, yyjson_val *crd);
/* Serves what is built in or declared by option, and no definition's. */
void registry_forget_crds(registry *reg);
/* The resources a definition declares are found by group and plural. */
resource *registry_next_of_group(const registry *reg, const resource *after,
                                 const char *group, const char *plural);

#endif
