/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_STORE_H
#define KIN_REFLECTOR_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/queue.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a reflector writes to (client-go's ReflectorStore): a store, a queue, or
 * functions of the program. All but add, update, delete_ and replace may be
 * NULL. Objects are borrowed for the call; a store that keeps one takes a
 * reference.
 *
 * They are called in the order of the list and the watch, in the middle of the
 * library's own work: of this library they may call what belongs to their own
 * store, kin_object_*, kin_reflector_* and the close functions.
 *
 * A negative result of KIN_ENOMEM loses nothing: the watch is given up and
 * resumed at this change, a list is put in again 100 ms later. Any other of a
 * single change is logged, and the change is lost until the next list; of
 * replace, it is reported, and a new list is made. A positive result counts as
 * KIN_EINVAL. */
typedef struct kin_reflector_store {
  size_t size;
  int (*add)(void *ctx, const kin_object *object);
  int (*update)(void *ctx, const kin_object *object);
  int (*delete_)(void *ctx, const kin_object *object); /* its last state */

  /* These are all there are, as of `version`. */
  int (*replace)(void *ctx, const kin_object *const *objects, size_t count,
                 kin_str version);

  /* Look at everything again. A failure is reported, changes nothing, and it is
   * due again after resync_ms. NULL: nothing to do. */
  int (*resync)(void *ctx);

  /* Nothing has changed up to this version (client-go's
   * ReflectorBookmarkStore). Failing is like a change's. */
  int (*bookmark)(void *ctx, kin_str version);

  /* The version that a watch has come to, after the change or the bookmark that
   * brought it (client-go's ResourceVersionUpdater). */
  void (*update_version)(void *ctx, kin_str version);

  /* Asked after each change, and by kin_reflector_resume: whether reading is to
   * pause until that is called. What has been read already still comes. NULL:
   * never. */
  bool (*is_full)(void *ctx);
  void *ctx;
} kin_reflector_store;
#define KIN_REFLECTOR_STORE_INIT                                               \
  {                                                                            \
    sizeof(kin_reflector_store), NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL, NULL                                                             \
  }

/* A store that is not an informer's: put, put, kin_store_delete_object,
 * kin_store_replace, kin_store_bookmark. It must outlive the reflector. */
KIN_EXTERN kin_reflector_store kin_store_reflector_store(kin_store *store);

/* A queue of any kind; kin_queue_is_full pauses reading, and whoever pops calls
 * kin_reflector_resume. It must outlive the reflector. */
KIN_EXTERN kin_reflector_store kin_queue_reflector_store(kin_queue *queue);

#ifdef __cplusplus
}
#endif

#endif /* KIN_REFLECTOR_STORE_H */
