/* SPDX-License-Identifier: MIT */
#ifndef KIN_HANDLER_H
#define KIN_HANDLER_H

/** @file
 * Listeners and the events that they are given. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kin_informer;

/** For options of which 0 means the default: switches the feature off. */
#define KIN_NEVER UINT32_MAX

/** A listener is one registration of handlers with an informer. Any number of
 * listeners is allowed, and each may join at any time. Each has a queue of its
 * own, so a slow or paused listener does not delay the others. */
typedef struct kin_listener kin_listener;

/** The types of events. */
typedef enum kin_event_type {
  KIN_EVENT_ADD = 1,
  KIN_EVENT_UPDATE,
  KIN_EVENT_DELETE,
  KIN_EVENT_SYNCED,  /**< after this listener's last initial add */
  KIN_EVENT_RELISTED /**< after the last change of a later list, or of the first
                      * list of a namespace that was added later */
} kin_event_type;

/** Why an object was deleted. */
typedef enum kin_delete_reason {
  KIN_DELETE_NONE = 0,
  KIN_DELETE_WATCH,         /**< the server said so */
  KIN_DELETE_RELIST,        /**< it was missing in a later list */
  KIN_DELETE_RECREATED,     /**< same name, new uid: an add follows */
  KIN_DELETE_SCOPE_REMOVED, /**< its namespace is no longer watched */
  KIN_DELETE_FILTERED,      /**< a filter no longer accepts it */
  KIN_DELETE_CLEARED,       /**< the resource has vanished, see
                             * kin_informer_options.clear_when_absent */
  KIN_DELETE_RESHARDED,     /**< the object may well exist, but belongs to
                             * another shard: see kin_informer_set_shard */
  KIN_DELETE_PROGRAM        /**< the program took it out of the informer's
                             * store */
} kin_delete_reason;

/** Returns "watch", "relist", "recreated", "scope_removed", "filtered",
 * "cleared", "resharded", "program" or "". Static. */
KIN_EXTERN const char *kin_delete_reason_name(kin_delete_reason reason);

/** One change, valid during the callback. */
typedef struct kin_event {
  size_t size;         /**< see KIN_HAS */
  kin_event_type type; /**< what has happened */

  /** add, update: the cached object. delete: the last state, as the server sent
   * it or as it was cached; never NULL. NULL for synced and relisted. */
  const kin_object *object;
  /** Update: the state this listener had before, or an object that the program
   * has put in its place under the same uid and version, see kin_store. */
  const kin_object *old_object;

  bool is_initial;          /**< add: part of the initial state */
  bool is_resync;           /**< update: a resync was due. The object is
                             * unchanged, except for what the program has put
                             * under the same uid and version, see kin_store;
                             * with skip_unchanged its version may be another */
  kin_delete_reason reason; /**< delete */

  /** relisted: the scope and the version of its list. synced: empty, except
   * that an informer with one scope gives the version of its list. */
  kin_str namespace_;
  kin_str resource_version;
  /** synced, relisted: number of objects that this listener has been shown. If
   * on_add or on_delete is NULL: number in the store. */
  size_t objects;
} kin_event;

/** An event callback: called by the loop, never inside a kin_ call, and may
 * call anything of this library. A listener gets one call at a time, in order.
 * Changes of one object come in their order; between objects no order is
 * promised. The store already shows the change, and may show later ones. */
typedef void (*kin_event_cb)(struct kin_informer *informer,
                             const kin_event *event, void *data);

/** Returns whether a listener gets the changes of an object. Pure: may call
 * kin_object_* only, and must give the same answer for the same object. */
typedef bool (*kin_filter_cb)(const kin_object *object, void *data);

/** Options of kin_informer_listen. */
typedef struct kin_listener_options {
  size_t size; /**< set by the INIT macro */

  /* --- Callbacks --- */

  /** For each type of event. NULL: not interested. */
  kin_event_cb on_add;
  kin_event_cb on_update;
  kin_event_cb on_delete;
  kin_event_cb on_synced;
  kin_event_cb on_relisted;

  void *data; /**< passed to the callbacks and the filter */

  /* --- What it is called for --- */

  /** NULL: all objects. If a change brings an object into the filter, on_add is
   * called (not as initial). If a change takes an object out of the filter,
   * on_delete is called with the reason KIN_DELETE_FILTERED and the last state
   * that the filter accepted. */
  kin_filter_cb filter;

  /** Also call on_update for each object that a relist found unchanged. */
  bool relist_updates;

  /** Period of resyncs, each of which calls on_update with is_resync for each
   * object; 0: the informer's period, KIN_NEVER: no resyncs. A period under a
   * second counts as a second. */
  uint32_t resync_ms;

  /* --- Rarely needed --- */

  /** Up to this many undelivered notifications are kept exactly; 0: 4096.
   * Further ones are coalesced per object, and relists of a scope without a
   * change between them into the last one; an object that came and went is no
   * change. This bounds the queue by the number of objects, each with one relist
   * of each scope at most. KIN_NEVER: no notification is ever coalesced, even
   * while the listener is paused; the queue then has no bound. */
  uint32_t exact_limit;

  /** Name of the listener in the log, at most 255 bytes; copied. NULL or "":
   * "handler@" and an address. */
  const char *name;
} kin_listener_options;
/** Sets the size, and each member to its default. */
#define KIN_LISTENER_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(kin_listener_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
        false, 0, 0, NULL                                                      \
  }

/** Registers handlers, before or after start, from any event callback. A
 * listener that joins late gets an add with is_initial for each cached object,
 * in bounded steps and without gap or duplicate, then synced. Options are
 * copied. `out` may be NULL if the listener is to live as long as the informer.
 * If a handler takes over 100 ms while more than 1,024 notifications wait, the
 * log has a warning, at most once a minute.
 * Errors: KIN_EINVAL (also a name that is too long), KIN_ENOTSUP (options of a
 * newer version), KIN_ECLOSED (the informer is closing), KIN_ENOMEM; *out is
 * NULL then.
 * Cost: O(1); the replay is work of later loop iterations. */
KIN_EXTERN int kin_informer_listen(struct kin_informer *informer,
                                   const kin_listener_options *options,
                                   kin_listener **out);

/** Ends a registration at once: before the start, in use, or while the informer
 * is closing. Queued notifications are dropped and no further callback comes,
 * so there is nothing to wait for. The target of `data` may be freed when this
 * returns; inside one of the listener's own callbacks, when that callback has
 * returned.
 *
 * The pointer is invalid afterwards, as after free: close a listener at most
 * once, and not after the informer's close callback. NULL is allowed. Other
 * listeners, of this informer or another, are not affected.
 * Cost: O(1); the queue is freed in later loop iterations. */
KIN_EXTERN void kin_listener_close(kin_listener *listener);

/** Stops or continues delivery. While the listener is paused, changes are
 * coalesced, see exact_limit, unless that is KIN_NEVER; no object's change is
 * lost. */
KIN_EXTERN void kin_listener_pause(kin_listener *listener);
KIN_EXTERN void kin_listener_resume(kin_listener *listener);

/** Returns whether the synced event has been delivered. */
KIN_EXTERN bool kin_listener_has_synced(const kin_listener *listener);

/** The name from the options, or the default one. Borrowed until the listener
 * is closed. */
KIN_EXTERN const char *kin_listener_name(const kin_listener *listener);

/** Number of undelivered notifications. */
KIN_EXTERN size_t kin_listener_pending(const kin_listener *listener);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HANDLER_H */
