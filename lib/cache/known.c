/* SPDX-License-Identifier: MIT */
#include <kin/queue.h>

#include "store/store.h"

/* A store as the known objects of a queue. The place of a scan is a store's
 * cursor. */

static int get(void *ctx, kin_str key, const kin_object **object) {
  *object = kin_store_get(ctx, key);
  return 0;
}

static bool next(void *ctx, uintptr_t *place, kin_str *key) {
  kin_cursor cursor = {(uint32_t)*place};
  const kin_object *object = kin_store_next(ctx, &cursor);
  *place = cursor.next;
  if (object != NULL) {
    *key = kin_object_key(object);
  }
  return object != NULL;
}

kin_known_objects kin_store_known_objects(const kin_store *store) {
  kin_known_objects known = {get, next, (kin_store *)store};
  return store != NULL ? known : (kin_known_objects){NULL, NULL, NULL};
}
