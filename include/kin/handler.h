/* SPDX-License-Identifier: MIT */
#ifndef KIN_HANDLER_H
#define KIN_HANDLER_H

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

/* For options that can be switched off where 0 means the default. */
#define KIN_NEVER UINT32_MAX

/* A listener is one registration of handlers with an informer. Any number may
 * listen, from any moment on; each has a queue of its own, so a slow or paused
 * one delays nobody. */
typedef struct kin_listener kin_listener;

typedef enum kin_event_type {
  KIN_EVENT_ADD = 1,
  KIN_EVENT_UPDATE,
  KIN_EVENT_DELETE,
  KIN_EVENT_SYNCED,  /* after this listener's last initial add */
  KIN_EVENT_RELISTED /* after the last change that a later list brought, or
                      * the first one of a namespace that was added later */
} kin_event_type;

/* Why an object was deleted. */
typedef enum kin_delete_reason {
  KIN_DELETE_NONE = 0,
  KIN_DELETE_WATCH,         /* the server said so */
  KIN_DELETE_RELIST,        /* it was missing in a later list */
  KIN_DELETE_RECREATED,     /* same name, new uid: an add follows */
  KIN_DELETE_SCOPE_REMOVED, /* its namespace is no longer watched */
  KIN_DELETE_FILTERED,      /* a filter no longer accepts it */
  KIN_DELETE_CLEARED        /* the resource has vanished, see
                             * kin_informer_options.clear_when_absent */
} kin_delete_reason;

/* Returns "watch", "relist", "recreated", "scope_removed", "filtered",
 * "cleared" or "". Static. */
KIN_EXTERN const char *kin_delete_reason_name(kin_delete_reason reason);

/* One change, valid during the callback. */
typedef struct kin_event {
  kin_event_type type;

  /* add, update: what is cached now. delete: the last state, as the server
   * sent it or as it was cached; never NULL. NULL for synced and relisted. */
  const kin_object *object;
  const kin_object *old_object; /* update: what this listener had before */

  bool is_initial;          /* add: part of the initial state */
  bool is_resync;           /* update: nothing changed, a resync was due */
  kin_delete_reason reason; /* delete */

  /* relisted: the scope and the version of its list. synced: empty, except
   * that an informer with one scope gives the version of its list. */
  kin_str namespace_;
  kin_str resource_version;
  /* synced, relisted: number of objects this listener has been shown (in the
   * store, if it does not ask for adds and deletes). */
  size_t objects;
} kin_event;

/* An event callback: called by the loop, never inside a kin_ call, and free to
 * call anything of this library. Per listener one at a time, in order; per
 * object in the order of its changes, between objects in no promised order; the
 * store already shows the change, and may show later ones. */
typedef void (*kin_event_cb)(struct kin_informer *informer,
                             const kin_event *event, void *data);

/* Whether a listener is to see an object. Pure: may call kin_object_* only, and
 * must give the same answer for the same object. */
typedef bool (*kin_filter_cb)(const kin_object *object, void *data);

typedef struct kin_listener_options {
  size_t size;
  kin_event_cb on_add; /* each may be NULL: not interested */
  kin_event_cb on_update;
  kin_event_cb on_delete;
  kin_event_cb on_synced;
  kin_event_cb on_relisted;

  /* NULL: all objects. An object that a change brings into the filter is added
   * (not as initial), one that a change takes out of it is deleted with the
   * reason KIN_DELETE_FILTERED, given as it was last seen. */
  kin_filter_cb filter;

  /* Also get an update for each object that a relist found unchanged. */
  bool relist_updates;

  void *data; /* passed to the callbacks and the filter */

  /* Every this often an update with is_resync comes for each object; 0: the
   * informer's period, KIN_NEVER: none. Less than a second is raised to it. */
  uint32_t resync_ms;

  /* Up to this many undelivered notifications are kept exactly; further ones
   * are coalesced per object, which bounds the queue by the number of objects.
   * 0: 4096. KIN_NEVER: nothing is ever coalesced, nor while the listener is
   * paused; the queue then has no bound. */
  uint32_t exact_limit;

  /* What the log calls it, at most 255 bytes; copied. NULL or "": "handler@"
   * and an address. */
  const char *name;
} kin_listener_options;
#define KIN_LISTENER_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(kin_listener_options), NULL, NULL, NULL, NULL, NULL, NULL, false,   \
        NULL, 0, 0, NULL                                                       \
  }

/* Registers handlers, before or after start, from any event callback. One that
 * joins late gets an add with is_initial for each cached object, in bounded
 * steps and without gap or duplicate, then synced. Options are copied; out may
 * be NULL if the listener is to live as long as the informer. A handler that is
 * called while more than 1,024 notifications wait, and takes over 100 ms, is
 * logged as a warning, at most once a minute.
 * Errors: KIN_EINVAL (also a name that is too long), KIN_ENOTSUP (options of a
 * newer version), KIN_ECLOSED (the informer is closing), KIN_ENOMEM; *out is
 * NULL then. Cost: O(1); the replay is work of later loop iterations. */
KIN_EXTERN int kin_informer_listen(struct kin_informer *informer,
                                   const kin_listener_options *options,
                                   kin_listener **out);

/* Ends a registration at once, before the start, in use, or while the informer
 * is closing: what is queued is dropped and no callback comes any more, so when
 * this returns, what `data` points to may go; called from one of the listener's
 * own callbacks, when that has returned. There is nothing to wait for. The
 * pointer is dead, as after free: it is to be closed at most once, and not
 * after the informer's close callback. NULL is allowed. Other listeners, of
 * this informer or another, are not touched. Cost: O(1); what was queued is
 * freed in later loop iterations. */
KIN_EXTERN void kin_listener_close(kin_listener *listener);

/* Stops or continues delivery. While paused, changes are coalesced per object,
 * unless exact_limit is KIN_NEVER; none is lost. */
KIN_EXTERN void kin_listener_pause(kin_listener *listener);
KIN_EXTERN void kin_listener_resume(kin_listener *listener);

/* Whether synced has been delivered. */
KIN_EXTERN bool kin_listener_has_synced(const kin_listener *listener);

/* The name given in the options, or the one made up for it. Borrowed until the
 * listener is closed. */
KIN_EXTERN const char *kin_listener_name(const kin_listener *listener);

/* Number of undelivered notifications. */
KIN_EXTERN size_t kin_listener_pending(const kin_listener *listener);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HANDLER_H */
