/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include <kin/delta.h>
#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cache/queue.h"
#include "object/object.h"

/* A kin_delta is a view; a queue holds the data in a smaller form. A copy of
 * views is the program's, and so are its references. It is one block:
 *
 *   deltas_copy | a kin_delta each | listed objects | strings
 *
 * A key is a part of its object. Only a key without an object is a string. */

typedef struct deltas_copy {
  kin_deltas deltas; /* first member */
  kin_allocator allocator;
  kin_delta items[];
} deltas_copy;

/* The places for the next listed object and the next string byte. */
typedef struct copy_target {
  const kin_object **objects;
  char *bytes;
} copy_target;

const char *kin_delta_type_name(kin_delta_type type) {
  static const char *const names[] = {
      [KIN_DELTA_ADDED] = "Added",
      [KIN_DELTA_UPDATED] = "Updated",
      [KIN_DELTA_DELETED] = "Deleted",
      [KIN_DELTA_REPLACED] = "Replaced",
      [KIN_DELTA_SYNC] = "Sync",
      [KIN_DELTA_REPLACED_ALL] = "ReplacedAll",
      [KIN_DELTA_SYNC_ALL] = "SyncAll",
      [KIN_DELTA_BOOKMARK] = "Bookmark",
  };
  size_t i = (size_t)type;
  return i > 0 && i < sizeof names / sizeof names[0] ? names[i] : "";
}

const kin_delta *kin_deltas_oldest(const kin_deltas *deltas) {
  if (deltas == NULL) {
    return NULL;
  }
  return deltas->count > 0 ? &deltas->items[0] : NULL;
}

const kin_delta *kin_deltas_newest(const kin_deltas *deltas) {
  if (deltas == NULL) {
    return NULL;
  }
  return deltas->count > 0 ? &deltas->items[deltas->count - 1] : NULL;
}

int kin_delta_key(const kin_delta *delta, kin_str *key) {
  if (key == NULL) {
    return KIN_EINVAL;
  }
  if (delta == NULL) {
    return KIN_EKEY;
  }
  kin_str own = kin__str_given(delta->key);
  if (own.length > 0) {
    *key = own;
  } else if (delta->object != NULL) {
    *key = kin_object_key(delta->object);
  } else {
    return KIN_EKEY;
  }
  return 0;
}

int kin_deltas_key(const kin_deltas *deltas, kin_str *key) {
  if (key == NULL) {
    return KIN_EINVAL;
  }
  const kin_delta *newest = kin_deltas_newest(deltas);
  return newest != NULL ? kin_delta_key(newest, key) : KIN_EKEY;
}

void kin__queue_view_delta(kin_delta *view, const kin__delta *delta) {
  *view = (kin_delta){
      .type = (kin_delta_type)delta->type,
      .is_tombstone = delta->is_tombstone,
      .key = kin_object_key(delta->object),
      .object = delta->is_key_only ? NULL : delta->object,
  };
}

kin_str kin__record_key(const kin__record *record) {
  return kin_object_key(record->of.object);
}

void kin__queue_view_record(kin_delta *view, const kin__record *record) {
  *view = (kin_delta){.type = (kin_delta_type)record->type,
                      .is_tombstone = record->is_tombstone};
  const kin__payload *payload;
  switch (view->type) {
  case KIN_DELTA_SYNC_ALL:
    break;
  case KIN_DELTA_REPLACED_ALL:
  case KIN_DELTA_BOOKMARK:
    payload = record->of.payload;
    view->resource_version =
        kin__str(payload->version, payload->version_length);
    view->objects = payload->count > 0 ? payload->objects : NULL;
    view->object_count = payload->count;
    break;
  default:
    view->key = kin__record_key(record);
    view->object = record->is_key_only ? NULL : record->of.object;
    break;
  }
}

static bool are_valid(const kin_deltas *deltas) {
  if (deltas == NULL || (deltas->count > 0 && deltas->items == NULL)) {
    return false;
  }
  for (size_t i = 0; i < deltas->count; i++) {
    const kin_delta *delta = &deltas->items[i];
    if (delta->object_count > 0 && delta->objects == NULL) {
      return false;
    }
  }
  return true;
}

/* Adds count * size; false if that overflows. */
static bool add_bytes(size_t *total, size_t count, size_t size) {
  if (count > (SIZE_MAX - *total) / size) {
    return false;
  }
  *total += count * size;
  return true;
}

static bool measure(const kin_deltas *deltas, size_t *objects, size_t *bytes) {
  *objects = *bytes = 0;
  for (size_t i = 0; i < deltas->count; i++) {
    const kin_delta *d = &deltas->items[i];
    if (!add_bytes(objects, d->object_count, 1) ||
        !add_bytes(bytes, kin__str_given(d->key).length, 1) ||
        !add_bytes(bytes, kin__str_given(d->resource_version).length, 1) ||
        !add_bytes(bytes, 2, 1)) {
      return false;
    }
  }
  return true;
}

static kin_str copy_string(copy_target *target, kin_str s) {
  char *to = target->bytes;
  s = kin__str_given(s);
  if (s.length > 0) {
    memcpy(to, s.data, s.length);
  }
  to[s.length] = '\0';
  target->bytes += s.length + 1;
  return kin__str(to, s.length);
}

static void copy_delta(kin_delta *to, const kin_delta *from,
                       copy_target *target) {
  *to = *from;
  if (from->object == NULL) {
    to->key = copy_string(target, from->key);
  } else {
    kin_object_ref(from->object);
    to->key = kin_object_key(from->object);
  }
  to->resource_version = copy_string(target, from->resource_version);
  to->objects = from->object_count > 0 ? target->objects : NULL;
  for (size_t i = 0; i < from->object_count; i++) {
    *target->objects++ = kin_object_ref(from->objects[i]);
  }
}

int kin_deltas_copy(kin_deltas **out, const kin_deltas *deltas,
                    const kin_allocator *allocator) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (!are_valid(deltas)) {
    return KIN_EINVAL;
  }
  if (allocator == NULL) {
    allocator = kin__default_allocator();
  }
  size_t objects;
  size_t bytes;
  size_t total = sizeof(deltas_copy);
  if (!measure(deltas, &objects, &bytes) ||
      !add_bytes(&total, deltas->count, sizeof(kin_delta)) ||
      !add_bytes(&total, objects, sizeof(kin_object *)) ||
      !add_bytes(&total, bytes, 1)) {
    return KIN_ENOMEM;
  }
  deltas_copy *copy = kin__malloc(allocator, total);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  copy->allocator = *allocator;
  copy->deltas = (kin_deltas){copy->items, deltas->count};
  const kin_object **list = (void *)(copy->items + deltas->count);
  copy_target target = {list, (char *)(list + objects)};
  for (size_t i = 0; i < deltas->count; i++) {
    copy_delta(&copy->items[i], &deltas->items[i], &target);
  }
  *out = &copy->deltas;
  return 0;
}

void kin_deltas_free(kin_deltas *deltas) {
  if (deltas == NULL) {
    return;
  }
  deltas_copy *copy = (deltas_copy *)(void *)deltas;
  for (size_t i = 0; i < deltas->count; i++) {
    const kin_delta *d = &copy->items[i];
    kin_object_unref(d->object);
    for (size_t k = 0; k < d->object_count; k++) {
      kin_object_unref(d->objects[k]);
    }
  }
  kin_allocator allocator = copy->allocator;
  kin__free(&allocator, copy);
}
