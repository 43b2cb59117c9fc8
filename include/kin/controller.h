/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONTROLLER_H
#define KIN_CONTROLLER_H

/** @file
 * Controllers: a reflector, a queue and a consumer. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/object_builder.h>
#include <kin/process.h>
#include <kin/queue.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A controller is a reflector, a queue and a consumer of the queue
 * (client-go's Controller). There are two ways to use one:
 *
 * - With a queue and a function of the program, which processes the popped
 *   items: client-go's New(&Config{...}). kin_process_deltas is one such
 *   function.
 * - With handlers only: the controller keeps a store and calls the handlers for
 *   each change, right after the store has changed (client-go's NewInformer).
 *   There is one set of handlers, with no queue behind it. No event is left
 *   out: an object that the store has, and that a list or a resync brings
 *   again, is an update. The old and the new object may be the same, or have
 *   different uids, if a deletion was missed. A kin_informer gives a delete and
 *   an add then, and offers more: several listeners, at any time, each at its
 *   own pace.
 *
 * Do not use one to write a controller in the sense of Kubernetes, which brings
 * a cluster to a wanted state. Failed items share one backoff, whatever their
 * key (retry_on_error), an item must be processed before `process` returns, and
 * a deletion is one of the deltas of an item. An informer and a work queue have
 * a wait for each key, any number of keys at a time, and one function for
 * changes and deletions: <kin/work_queue.h>, examples/controller.c.
 *
 * A controller belongs to the loop's thread. It works in small steps, between
 * which the loop runs, for lists of any size. Only a queue of the program's
 * gets a list at once, by kin_queue_replace. */
typedef struct kin_controller kin_controller;

/** Asked when a resync is due; an event callback. */
typedef bool (*kin_controller_should_resync_cb)(kin_controller *controller,
                                                void *data);

/** Called for each failure to list or watch; an event callback. The callback
 * may answer through the event. */
typedef void (*kin_controller_error_cb)(kin_controller *controller,
                                        kin_error_event *event, void *data);

/** Called when an item could not be processed; an event callback. `error` is
 * negative. `key` is the item's first key, cut after 511 bytes, or empty.
 * is_retried: the item has been put back, otherwise it is lost. */
typedef void (*kin_controller_process_error_cb)(kin_controller *controller,
                                                int error, kin_str key,
                                                bool is_retried, void *data);

/** Called once, right after the last item of the first list; an event
 * callback. */
typedef void (*kin_controller_synced_cb)(kin_controller *controller,
                                         void *data);

/** Called once when a controller is gone. */
typedef void (*kin_controller_close_cb)(void *data);

/** The queue of a controller with handlers. */
typedef enum kin_controller_queue_kind {
  KIN_CONTROLLER_IN_ORDER = 0, /**< every change, in the order of all */
  KIN_CONTROLLER_DELTA         /**< the changes of one key together */
} kin_controller_queue_kind;

/** Options of kin_controller_open. */
typedef struct kin_controller_options {
  size_t size; /**< set by the INIT macro */

  /** The listed and watched resource, as in kin_reflector_options; required,
   * copied. */
  const kin_informer_options *resource;

  /** For logs, at most 255 bytes, copied. NULL or "": the resource. */
  const char *name;

  /** Time after a list or a resync until all objects are resynced; 0: never.
   * should_resync may refuse (client-go's FullResyncPeriod, ShouldResync). A
   * resync that falls due before the last one has been processed is left
   * out. */
  uint32_t resync_ms;
  kin_controller_should_resync_cb should_resync; /**< NULL: always */

  /** First way: a queue of the program's and the functions that process an
   * item. The queue must outlive the controller, and only the controller pops
   * it. The functions get the `data` below. They are called inside
   * kin_queue_pop, see kin_queue_process_cb, and may close the controller or
   * the client. process_batch NULL: one by one. */
  kin_queue *queue;
  kin_queue_process_cb process;
  kin_queue_process_cb process_batch;

  /** Put back an item whose processing failed, as by kin_queue_item.requeue:
   * FIFO and delta at the end, unless its key is queued; in order in front. The
   * item is tried again after a wait of 0.1 s, then up to 6.4 s as failures go
   * on. FIFO and delta: the wait begins when nothing else is queued, and ends
   * early when something is. In order: the wait begins at once. */
  bool retry_on_error;

  /** Second way: handlers, copied; NULL: the controller only keeps the store.
   * The handlers may not call the controller's queue, see kin_controller_queue.
   * No item is lost for lack of memory. A listed object on which `transform`
   * fails is reported and left out, or keeps its last state. */
  const kin_process_handlers *handlers;
  kin_controller_queue_kind queue_kind;
  kin_transform_cb transform; /**< as in kin_queue_options; NULL: none */
  void *transform_data;

  kin_controller_error_cb on_error; /**< may be NULL: retried all the same */
  kin_controller_process_error_cb on_process_error; /**< may be NULL: logged */
  kin_controller_synced_cb on_synced;               /**< may be NULL */

  /** Called once when the controller is gone, also if the client closed it; may
   * be NULL. */
  kin_controller_close_cb on_closed;
  void *data; /**< passed to all callbacks but handlers and transform */
} kin_controller_options;
/** Sets the size, and each member to its default. */
#define KIN_CONTROLLER_OPTIONS_INIT                                            \
  {                                                                            \
    sizeof(kin_controller_options), NULL, NULL, 0, NULL, NULL, NULL, NULL,     \
        false, NULL, KIN_CONTROLLER_IN_ORDER, NULL, NULL, NULL, NULL, NULL,    \
        NULL, NULL                                                             \
  }

/** Opens a controller; nothing is requested before kin_controller_start.
 * Errors: KIN_EINVAL (the resource, see kin_reflector_open; a mixture of the
 * two ways, or half of the first; a queue of another controller), KIN_ETOOBIG
 * (name), KIN_ENOTSUP (options or handlers of a newer version), KIN_ECLOSED
 * (client, queue), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_controller_open(kin_controller **out, kin_client *client,
                                   const kin_controller_options *options);

/** Begins to list, to watch and to process (client-go's Run).
 * Errors: KIN_EALREADY (started before), KIN_ECLOSED. */
KIN_EXTERN int kin_controller_start(kin_controller *controller);

/** Ends a controller. Nothing more is popped, and queued items stay queued. A
 * queue of the program's is closed, and the program frees it. No callback comes
 * after this call except cb (may be NULL), from a later loop iteration; then
 * the controller and its store are gone. Legal in every callback but
 * `transform`. Closing the client closes its controllers.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_controller_close(kin_controller *controller,
                                    kin_controller_close_cb cb, void *data);

/** Returns whether the first list has been processed: kin_queue_has_synced of
 * the controller's queue. In handlers of the last item a delta queue may say so
 * already, and take that back if the rest of the item has to wait. */
KIN_EXTERN bool kin_controller_has_synced(const kin_controller *controller);

/** The version that the queue has come to, "" before the first list. Borrowed
 * until the controller reads on. The store's version, which may be older, is
 * kin_store_resource_version. */
KIN_EXTERN const char *
kin_controller_last_sync_version(const kin_controller *controller);

/** The store, or NULL if the queue is the program's. The store lives until the
 * close callback, though empty soon after kin_controller_close, and must not be
 * freed. The program may write to it: the next event of the key overwrites the
 * change, and a list overwrites all but what has the uid and the version of the
 * listed object, which is taken for that object. The only good reason is to show
 * the program's own write early, as the server's answer has it.
 *
 * Indices may be added at any time. As with an informer's store, the indices of
 * a filled store are built in steps. An object on which an index function fails
 * has no values in that index.
 *
 * A list replaces the content in O(1) when all of it is ready; until then
 * nothing of it is visible. A running scan goes on, and returns each object
 * that stays once. A scan may miss or repeat an object that the program itself
 * adds while the list goes in. */
KIN_EXTERN kin_store *kin_controller_store(kin_controller *controller);

/** The queue: the program's or the controller's own. The controller's own queue
 * lives until the close callback, and must not be freed. Only the controller
 * may pop its own queue. While handlers are called, kin_queue_replace and
 * kin_queue_resync of the own queue answer KIN_EALREADY. So does
 * kin_queue_replace of a KIN_CONTROLLER_DELTA queue while the server's list goes
 * in. Changes that others put in are processed, too. */
KIN_EXTERN kin_queue *kin_controller_queue(kin_controller *controller);

/** Reads the state of listing and watching. `status` begins as KIN_STATUS_INIT.
 * While the controller closes, the status may be that of one that has not begun:
 * the counters are 0 then.
 * Errors: KIN_EINVAL (the size); nothing is written then. */
KIN_EXTERN int kin_controller_get_status(const kin_controller *controller,
                                         kin_status *status);

/** Counts of processed items. */
typedef struct kin_controller_stats {
  size_t size;       /**< set by the INIT macro */
  uint64_t items;    /**< popped; a batch counts once, an item that is processed
                      * in several steps once for each */
  uint64_t failures; /**< items that could not be processed */
  uint64_t retries;  /**< failed items that were put back */
} kin_controller_stats;
/** Sets the size, and each member to its default. */
#define KIN_CONTROLLER_STATS_INIT                                              \
  { sizeof(kin_controller_stats), 0, 0, 0 }

/** Copies the counts. `stats` begins as KIN_CONTROLLER_STATS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. Cost: O(1). */
KIN_EXTERN int kin_controller_get_stats(const kin_controller *controller,
                                        kin_controller_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* KIN_CONTROLLER_H */
