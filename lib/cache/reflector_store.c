/* SPDX-License-Identifier: MIT */
#include <kin/reflector_store.h>

#include <kin/error.h>

#include "base/first_size.h"
#include "base/sized.h"
#include "cache/queue.h"

/* The reflector stores for stores and queues of this library. */

static int store_put(void *ctx, const kin_object *object) {
  return kin_store_put(ctx, object);
}

static int store_delete(void *ctx, const kin_object *object) {
  return kin_store_delete_object(ctx, object);
}

static int store_replace(void *ctx, const kin_object *const *objects,
                         size_t count, kin_str version) {
  return kin_store_replace(ctx, objects, count, version);
}

static int store_bookmark(void *ctx, kin_str version) {
  return kin_store_bookmark(ctx, version);
}

static int fill(kin_reflector_store *to, const kin_reflector_store *from) {
  return kin__sized_fill(to, from, sizeof *from,
                         KIN__FIRST_SIZE(kin_reflector_store));
}

int kin_store_reflector_store(kin_store *store, kin_reflector_store *target) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  return fill(target, &(kin_reflector_store){.add = store_put,
                                             .update = store_put,
                                             .delete_ = store_delete,
                                             .replace = store_replace,
                                             .bookmark = store_bookmark,
                                             .ctx = store});
}

static int queue_add(void *ctx, const kin_object *object) {
  return kin_queue_add(ctx, object);
}

static int queue_update(void *ctx, const kin_object *object) {
  return kin_queue_update(ctx, object);
}

static int queue_delete(void *ctx, const kin_object *object) {
  return kin_queue_delete(ctx, object);
}

static int queue_replace(void *ctx, const kin_object *const *objects,
                         size_t count, kin_str version) {
  return kin_queue_replace(ctx, objects, count, version);
}

/* If the program pops more slowly than resyncs fall due, they must not pile
 * up. */
static int queue_resync(void *ctx) {
  return kin__in_order_has_sync_all(ctx) ? 0 : kin_queue_resync(ctx);
}

static int queue_bookmark(void *ctx, kin_str version) {
  return kin_queue_bookmark(ctx, version);
}

static bool queue_is_full(void *ctx) {
  return kin_queue_is_full(ctx);
}

int kin_queue_reflector_store(kin_queue *queue, kin_reflector_store *target) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  return fill(target, &(kin_reflector_store){.add = queue_add,
                                             .update = queue_update,
                                             .delete_ = queue_delete,
                                             .replace = queue_replace,
                                             .resync = queue_resync,
                                             .bookmark = queue_bookmark,
                                             .is_full = queue_is_full,
                                             .ctx = queue});
}
