/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_STORE_H
#define KIN_REFLECTOR_STORE_H

/** @file
 * The target of a reflector. */

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

/** The target of a reflector's writes (client-go's ReflectorStore): a store, a
 * queue, or functions of the program. All but add, update, delete_ and replace
 * may be NULL. Objects are borrowed for the call; a store that keeps one takes
 * a reference.
 *
 * The functions are called in the order of the list and the watch, in the
 * middle of the library's own work. Of this library they may call functions of
 * their own store, kin_object_*, kin_reflector_* and the close functions.
 *
 * A negative result of KIN_ENOMEM loses nothing: the watch is given up and
 * resumed at this change, a list is put in again 100 ms later. Any other
 * negative result for a single change is logged, and the change is lost until
 * the next list. Such a result of replace is reported, and the reflector lists
 * again. A positive result counts as KIN_EINVAL. */
typedef struct kin_reflector_store {
  size_t size; /**< set by the INIT macro */
  /** A change of one object; `object` of delete_ is its last state. */
  int (*add)(void *ctx, const kin_object *object);
  int (*update)(void *ctx, const kin_object *object);
  int (*delete_)(void *ctx, const kin_object *object);

  /** A whole list: all objects that exist, as of `version`. */
  int (*replace)(void *ctx, const kin_object *const *objects, size_t count,
                 kin_str version);

  /** Resync: look at all objects again. A failure is reported and changes
   * nothing; the next resync is due after resync_ms. NULL: nothing to do. */
  int (*resync)(void *ctx);

  /** Nothing more has changed up to this version (client-go's
   * ReflectorBookmarkStore). A failure is treated like that of a change. */
  int (*bookmark)(void *ctx, kin_str version);

  /** The version that a watch has come to, called after the change or the
   * bookmark that brought it (client-go's ResourceVersionUpdater). */
  void (*update_version)(void *ctx, kin_str version);

  /** Asked when a watch begins, after each change and bookmark, before a list
   * is put in and by kin_reflector_resume: whether to pause until
   * kin_reflector_resume is called. Changes and bookmarks that have been read
   * already still come. NULL: never. */
  bool (*is_full)(void *ctx);
  void *ctx; /**< passed to all of them */
} kin_reflector_store;
/** Sets the size, and each member to its default. */
#define KIN_REFLECTOR_STORE_INIT                                               \
  {                                                                            \
    sizeof(kin_reflector_store), NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL, NULL                                                             \
  }

/** Fills a target that writes to a store other than an informer's, with
 * kin_store_put (add and update), kin_store_delete_object, kin_store_replace
 * and kin_store_bookmark. The store must outlive the reflector. `target` begins
 * as KIN_REFLECTOR_STORE_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. */
KIN_EXTERN int kin_store_reflector_store(kin_store *store,
                                         kin_reflector_store *target);

/** Fills a target that writes to a queue of any kind. kin_queue_is_full pauses
 * reading; the consumer calls kin_reflector_resume after a pop. A resync of
 * everything (SYNC_ALL) that falls due while one is queued is left out. The
 * queue must outlive the reflector. `target` begins as
 * KIN_REFLECTOR_STORE_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. */
KIN_EXTERN int kin_queue_reflector_store(kin_queue *queue,
                                         kin_reflector_store *target);

#ifdef __cplusplus
}
#endif

#endif /* KIN_REFLECTOR_STORE_H */
