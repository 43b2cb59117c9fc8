/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/informer_name.h>

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/link.h"
#include "base/str.h"

/* Three objects that may be freed in any order: a registry knows the held
 * names, a name knows its reserved identifiers, and an identifier keeps its
 * name alive.
 *
 * Invariants: a name is in its registry iff it is held. An identifier is in its
 * name's list iff it is reserved; then the name is held. */

#define MAX_TEXT_BYTES 1024u

struct kin_informer_names {
  kin_allocator allocator;
  kin__link held; /* of kin_informer_name */
};

struct kin_informer_name {
  kin_allocator allocator;
  kin__link node; /* in registry->held, or in no list */
  kin__link ids;  /* reserved ones */
  size_t refs;
  char text[];
};

struct kin_informer_id {
  kin_allocator allocator;
  kin__link node; /* in name->ids, or in no list */
  kin_informer_name *name;
  const char *group; /* the three point into strings */
  const char *version;
  const char *plural;
  char strings[];
};

int kin_informer_names_new(kin_informer_names **out,
                           const kin_allocator *allocator) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  allocator = allocator != NULL ? allocator : kin__default_allocator();
  kin_informer_names *names = kin__malloc(allocator, sizeof *names);
  *out = names;
  if (names == NULL) {
    return KIN_ENOMEM;
  }
  names->allocator = *allocator;
  kin__link_init(&names->held);
  return 0;
}

void kin_informer_names_free(kin_informer_names *names) {
  if (names == NULL) {
    return;
  }
  while (!kin__link_is_empty(&names->held)) {
    kin_informer_name_release(
        KIN__CONTAINER_OF(names->held.next, kin_informer_name, node));
  }
  kin_allocator allocator = names->allocator;
  kin__free(&allocator, names);
}

static bool is_held(const kin_informer_name *name) {
  return !kin__link_is_empty(&name->node);
}

int kin_informer_name_new(kin_informer_name **out, kin_informer_names *names,
                          const char *text) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (names == NULL || !kin__has_text(text)) {
    return KIN_EINVAL;
  }
  size_t size = strlen(text) + 1;
  if (size > MAX_TEXT_BYTES + 1) {
    return KIN_ETOOBIG;
  }
  for (const kin__link *node = names->held.next; node != &names->held;
       node = node->next) {
    if (strcmp(KIN__CONTAINER_OF(node, kin_informer_name, node)->text, text) ==
        0) {
      return KIN_EEXIST;
    }
  }
  kin_informer_name *name = kin__malloc(&names->allocator, sizeof *name + size);
  if (name == NULL) {
    return KIN_ENOMEM;
  }
  name->allocator = names->allocator;
  name->refs = 1;
  memcpy(name->text, text, size);
  kin__link_init(&name->ids);
  kin__link_push(&names->held, &name->node);
  *out = name;
  return 0;
}

kin_informer_name *kin_informer_name_ref(kin_informer_name *name) {
  if (name != NULL) {
    name->refs++;
  }
  return name;
}

void kin_informer_name_unref(kin_informer_name *name) {
  if (name != NULL && --name->refs == 0) {
    kin_informer_name_release(name);
    kin_allocator allocator = name->allocator;
    kin__free(&allocator, name);
  }
}

void kin_informer_name_release(kin_informer_name *name) {
  if (name == NULL) {
    return;
  }
  kin__link_remove(&name->node);
  while (!kin__link_is_empty(&name->ids)) {
    kin__link_remove(name->ids.next);
  }
}

const char *kin_informer_name_text(const kin_informer_name *name) {
  return name != NULL ? name->text : "";
}

static bool is_taken(const kin_informer_name *name, const kin_informer_id *id) {
  for (const kin__link *node = name->ids.next; node != &name->ids;
       node = node->next) {
    const kin_informer_id *other =
        KIN__CONTAINER_OF(node, kin_informer_id, node);
    if (strcmp(other->plural, id->plural) == 0 &&
        strcmp(other->version, id->version) == 0 &&
        strcmp(other->group, id->group) == 0) {
      return true;
    }
  }
  return false;
}

int kin_informer_id_new(kin_informer_id **out, kin_informer_name *name,
                        const char *group, const char *version,
                        const char *plural) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (!kin__has_text(plural)) {
    return KIN_EINVAL;
  }
  const char *parts[] = {group != NULL ? group : "",
                         version != NULL ? version : "v1", plural};
  const char *copies[3];
  size_t total = 0;
  for (size_t i = 0; i < 3; i++) {
    size_t size = strlen(parts[i]) + 1;
    if (size > MAX_TEXT_BYTES + 1) {
      return KIN_ETOOBIG;
    }
    total += size;
  }
  const kin_allocator *allocator =
      name != NULL ? &name->allocator : kin__default_allocator();
  kin_informer_id *id = kin__malloc(allocator, sizeof *id + total);
  if (id == NULL) {
    return KIN_ENOMEM;
  }
  char *next = id->strings;
  for (size_t i = 0; i < 3; i++) {
    size_t size = strlen(parts[i]) + 1;
    copies[i] = memcpy(next, parts[i], size);
    next += size;
  }
  id->allocator = *allocator;
  id->group = copies[0];
  id->version = copies[1];
  id->plural = copies[2];
  id->name = kin_informer_name_ref(name);
  kin__link_init(&id->node);
  if (name != NULL && is_held(name) && !is_taken(name, id)) {
    kin__link_push(&name->ids, &id->node);
  }
  *out = id;
  return 0;
}

void kin_informer_id_free(kin_informer_id *id) {
  if (id == NULL) {
    return;
  }
  kin__link_remove(&id->node);
  kin_informer_name_unref(id->name);
  kin_allocator allocator = id->allocator;
  kin__free(&allocator, id);
}

bool kin_informer_id_is_reserved(const kin_informer_id *id) {
  return id != NULL && !kin__link_is_empty(&id->node);
}

const char *kin_informer_id_name(const kin_informer_id *id) {
  return id != NULL ? kin_informer_name_text(id->name) : "";
}

const char *kin_informer_id_group(const kin_informer_id *id) {
  return id != NULL ? id->group : "";
}

const char *kin_informer_id_version(const kin_informer_id *id) {
  return id != NULL ? id->version : "";
}

const char *kin_informer_id_plural(const kin_informer_id *id) {
  return id != NULL ? id->plural : "";
}
