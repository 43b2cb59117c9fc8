/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONTROLLER_H
#define KIN_CONTROLLER_H

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

/* A controller is a reflector, a queue and whoever empties it (client-go's
 * Controller). There are two ways to use one:
 *
 * - With a queue and a function of the program, which processes what is popped:
 *   client-go's New(&Config{...}). kin_process_deltas is one such function.
 * - With nothing but handlers: it keeps a store and tells them of each change,
 *   right after the store has made it (client-go's NewInformer). There is one
 *   set of handlers, no queue behind it, and no event is left out: what a list
 *   or a resync brings is an update, be it the same object, or one with another
 *   uid that was made after the deletion of the first was missed. A
 *   kin_informer, which tells a delete and an add then, is more: several
 *   listeners, any time, each at its own pace.
 *
 * It belongs to the loop's thread. Work is done in small steps, between which
 * the loop goes on, lists of any size included; only into a queue of the
 * program's a list is put at once, as kin_queue_replace does it. */
typedef struct kin_controller kin_controller;

/* Asked when a resync is due; an event callback. */
typedef bool (*kin_controller_should_resync_cb)(kin_controller *controller,
                                                void *data);

/* Told of each failure to list or watch; an event callback. It may answer
 * through the event. */
typedef void (*kin_controller_error_cb)(kin_controller *controller,
                                        kin_error_event *event, void *data);

/* Told that an item could not be processed; an event callback. `error` is
 * negative. `key` is the first one's of the item, cut after 511 bytes, or
 * empty. is_retried: it has been put back, otherwise it is lost. */
typedef void (*kin_controller_process_error_cb)(kin_controller *controller,
                                                int error, kin_str key,
                                                bool is_retried, void *data);

/* Told once, right after the last item of the first list; an event callback. */
typedef void (*kin_controller_synced_cb)(kin_controller *controller,
                                         void *data);

/* Called once when a controller is gone. */
typedef void (*kin_controller_close_cb)(void *data);

typedef enum kin_controller_queue_kind {
  KIN_CONTROLLER_IN_ORDER = 0, /* every change, in the order of all */
  KIN_CONTROLLER_DELTA         /* the changes of one key together */
} kin_controller_queue_kind;

typedef struct kin_controller_options {
  size_t size;

  /* What is listed and watched, as in kin_reflector_options; required,
   * copied. */
  const kin_informer_options *resource;

  /* For logs, at most 255 bytes, copied. NULL or "": the resource. */
  const char *name;

  /* How long after a list or a resync all objects are looked at again; 0:
   * never. should_resync may say no (client-go's FullResyncPeriod,
   * ShouldResync). */
  uint32_t resync_ms;
  kin_controller_should_resync_cb should_resync; /* NULL: always */

  /* First way: a queue, which must outlive the controller and which nobody else
   * pops, and what to do with an item. What `data` is for them: the `data`
   * below. They are called inside kin_queue_pop, see kin_queue_process_cb, and
   * may close the controller or the client. process_batch NULL: one by one. */
  kin_queue *queue;
  kin_queue_process_cb process;
  kin_queue_process_cb process_batch;

  /* An item whose processing failed is put back as by kin_queue_item.requeue:
   * FIFO and delta at the end, unless its key is queued, in order in front.
   * Once nothing else is queued, or at once if in order, there is a wait before
   * it is tried again: 0.1 s, and up to 6.4 s as it goes on; FIFO and delta,
   * until something else is queued. */
  bool retry_on_error;

  /* Second way: handlers, copied; NULL: only the store is kept. They may call
   * anything but what belongs to the controller's queue, see
   * kin_controller_queue. No item is ever lost then: when memory is out it is
   * tried again. */
  const kin_process_handlers *handlers;
  kin_controller_queue_kind queue_kind;
  kin_transform_cb transform; /* as in kin_queue_options; NULL: none */
  void *transform_data;

  kin_controller_error_cb on_error; /* may be NULL: retried all the same */
  kin_controller_process_error_cb on_process_error; /* may be NULL: logged */
  kin_controller_synced_cb on_synced;               /* may be NULL */

  /* Called once when the controller is gone, whoever closed it; may be NULL. */
  kin_controller_close_cb on_closed;
  void *data; /* passed to all callbacks but handlers and transform */
} kin_controller_options;
#define KIN_CONTROLLER_OPTIONS_INIT                                            \
  {                                                                            \
    sizeof(kin_controller_options), NULL, NULL, 0, NULL, NULL, NULL, NULL,     \
        false, NULL, KIN_CONTROLLER_IN_ORDER, NULL, NULL, NULL, NULL, NULL,    \
        NULL, NULL                                                             \
  }

/* Opens a controller; nothing is requested before kin_controller_start.
 * Errors: KIN_EINVAL (the resource, see kin_reflector_open; a mixture of the
 * two ways, or half of the first; a queue of another controller), KIN_ETOOBIG
 * (name), KIN_ENOTSUP (options or handlers of a newer version), KIN_ECLOSED
 * (client, queue), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_controller_open(kin_controller **out, kin_client *client,
                                   const kin_controller_options *options);

/* Begins to list, to watch and to process (client-go's Run). Errors:
 * KIN_EALREADY (started before), KIN_ECLOSED. */
KIN_EXTERN int kin_controller_start(kin_controller *controller);

/* Ends a controller: nothing more is popped, and what is queued stays so; a
 * queue of the program's is closed, and the program's to free. No callback
 * comes after this call except cb (may be NULL), from a later loop iteration;
 * then the controller and its store are gone. Legal in every callback but
 * `transform`. If the client is closed it is closed with it. Errors:
 * KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_controller_close(kin_controller *controller,
                                    kin_controller_close_cb cb, void *data);

/* Whether the first list has been processed: kin_queue_has_synced of its
 * queue. */
KIN_EXTERN bool kin_controller_has_synced(const kin_controller *controller);

/* The version that the queue has come to, "" before the first list. Borrowed
 * until the controller reads on. What the store has come to, which may be less,
 * is kin_store_resource_version. */
KIN_EXTERN const char *
kin_controller_last_sync_version(const kin_controller *controller);

/* The store, or NULL if there is a queue of the program's. It lives until the
 * close callback, though empty soon after kin_controller_close, and must not be
 * freed. It may be written to, which is wise
 * only to show one's own write early: the next event of the key overwrites it,
 * and a list all.
 *
 * Indices may be added at any time. As in an informer's, those of a filled
 * store are built in steps, and an object that an index function fails for has
 * no values in that index.
 *
 * A list replaces the content in O(1) when all of it is ready; till then
 * nothing of it is seen. A scan that is running goes on, and meets what stays
 * once. */
KIN_EXTERN kin_store *kin_controller_store(kin_controller *controller);

/* The queue, the program's or its own. Of its own no item may be popped, and
 * while handlers are called neither kin_queue_replace nor kin_queue_resync is
 * allowed (KIN_EALREADY). What is put in by others is processed, too. */
KIN_EXTERN kin_queue *kin_controller_queue(kin_controller *controller);

/* Reads the state of listing and watching. */
KIN_EXTERN void kin_controller_get_status(const kin_controller *controller,
                                          kin_status *status);

/* What has been processed. */
typedef struct kin_controller_stats {
  uint64_t items;    /* popped; a batch counts once */
  uint64_t failures; /* of these, that could not be processed */
  uint64_t retries;  /* of these, that were put back */
} kin_controller_stats;

/* Reads them. Cost: O(1). */
KIN_EXTERN void kin_controller_get_stats(const kin_controller *controller,
                                         kin_controller_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* KIN_CONTROLLER_H */
