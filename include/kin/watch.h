/* SPDX-License-Identifier: MIT */
#ifndef KIN_WATCH_H
#define KIN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/lister_watcher.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Watches as streams of events, for programs that want to see what happens and
 * keep no cache (client-go's tools/watch). A retry watcher shows every change
 * after a version. An informer watcher shows how a cache fills and changes.
 * kin/until.h waits on either until conditions hold. */

/** One event, valid during the callback. */
typedef struct kin_watch_event {
  size_t size;               /**< see KIN_HAS */
  kin_watch_event_type type; /**< what has happened */

  /** ADDED, MODIFIED, DELETED: the object, a deleted one in its last state;
   * never NULL. NULL for BOOKMARK and ERROR. */
  const kin_object *object;

  /** The object's version. BOOKMARK: nothing more has changed up to this
   * version. Empty for ERROR. */
  kin_str resource_version;

  /** ERROR: why there will be no more events, as in kin_error_event. Else 0 and
   * "". */
  int code;
  kin_error_class error_class;
  int status;
  const char *reason;
  const char *message;
} kin_watch_event;

/** Called for each event, one at a time, in order. An event callback. */
typedef void (*kin_watch_event_cb)(const kin_watch_event *event, void *data);

/** Called for each failure that is followed by another attempt, and for objects
 * over a limit as kin_error_cb says; an event callback. Objects that are not
 * told of when the watch ends are told of right before the end. The callback
 * may answer through the event. KIN_STOP ends the watch without an ERROR event;
 * if the watch has ended normally and on_end is still to come, on_end gets the
 * code of the failure, too. */
typedef void (*kin_watch_error_cb)(kin_error_event *event, void *data);

/** Called once when a watch has ended by itself; an event callback. Nothing
 * more comes, except the close callbacks. `code` says why. */
typedef void (*kin_watch_end_cb)(int code, void *data);

/** Called once when a watcher is gone. */
typedef void (*kin_watch_close_cb)(void *data);

/* --- Retry watcher --- */

/** Watches from a version that the caller has, from a list for instance,
 * without listing (client-go's RetryWatcher). The watcher resumes after every
 * failure that another attempt can repair, so that no change is missed and none
 * is seen twice.
 *
 * A watch that ends or breaks is resumed after the last event: at once if it
 * was requested a second ago or longer, else when that second is over. If an
 * answer asks for a longer wait (Retry-After, retryAfterSeconds), the watch is
 * resumed after that, an hour at most.
 *
 * The watcher ends, with an ERROR event and then on_end, when another attempt
 * cannot help:
 *
 *   - the watch is refused with 401 or 403;
 *   - the version is too old (410, or the reason "Expired" or "Gone", as an
 *     event of the watch: KIN_EGONE);
 *   - the server has another address, and may be another cluster
 *     (kin_client_open_kubeconfig): KIN_EGONE, status 0. The address of the
 *     first server that grants the watch is the one compared. A start version
 *     of another cluster is not noticed;
 *   - an event has no version or is of an unknown type, or its object has no
 *     name, so that resuming might skip another (status 500, reason
 *     "InternalError").
 *
 * An object over max_object_bytes is shown with its key only
 * (kin_object_is_key_only), and on_error is called. */
typedef struct kin_retry_watcher kin_retry_watcher;

/** Options of kin_retry_watcher_open. */
typedef struct kin_retry_watcher_options {
  size_t size; /**< set by the INIT macro */

  /** The watched resource; required, copied. Used are group, version, plural,
   * namespaces (at most one), label_selector, field_selector, max_object_bytes,
   * keep_managed_fields, fields, metadata_only, source, parameters, and modify
   * with its data. no_watch_list, data and transform_data have no effect. The
   * rest must be as KIN_INFORMER_OPTIONS_INIT has it. */
  const kin_informer_options *resource;

  /** The changes after this version are shown; required, at most 63 bytes. Not
   * "" or "0": with these the server would begin with the current objects, in
   * no order. */
  const char *resource_version;

  bool forward_bookmarks; /**< give BOOKMARK events, too */

  /** A plain watch: the first end or failure of any kind is the last. A failure
   * comes as an ERROR event and then on_end; a normal end as on_end only. */
  bool without_retry;

  /** Each watch is to end after this many seconds, and is given up 30 s later
   * if the server does not end it; 0: no limit, as client-go. At most a day. */
  uint32_t timeout_s;

  kin_watch_event_cb on_event; /**< required */
  kin_watch_error_cb on_error; /**< may be NULL: retried all the same */
  kin_watch_end_cb on_end;     /**< may be NULL */
  /** May be NULL; also if the client closed it. */
  kin_watch_close_cb on_closed;
  void *data; /**< passed to all four */
} kin_retry_watcher_options;
/** Sets the size, and each member to its default. */
#define KIN_RETRY_WATCHER_OPTIONS_INIT                                         \
  {                                                                            \
    sizeof(kin_retry_watcher_options), NULL, NULL, false, false, 0, NULL,      \
        NULL, NULL, NULL, NULL                                                 \
  }

/** Opens a retry watcher and sends its first request. The client closes the
 * watcher if it is still open when the client is closed.
 * Errors: KIN_EINVAL (names, fields, more than one namespace, options that must
 * not be set, a source without its functions, the version, no on_event, the
 * time-out), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED (client),
 * KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_retry_watcher_open(kin_retry_watcher **out,
                                      kin_client *client,
                                      const kin_retry_watcher_options *options);

/** Ends a watcher. No callback comes after this call except cb (may be NULL)
 * and on_closed, from a later loop iteration; then the watcher is gone. Events
 * that were received but not shown are dropped. Legal in every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_retry_watcher_close(kin_retry_watcher *watcher,
                                       kin_watch_close_cb cb, void *data);

/** Stops or continues events, ERROR and the end included. Nothing is lost: some
 * 256 events wait, then nothing more is read from the server (a source of the
 * program's own is paused, if it supports that). A server gives up on a client
 * that does not read for long; then the watch is resumed like any other. */
KIN_EXTERN void kin_retry_watcher_pause(kin_retry_watcher *watcher);
KIN_EXTERN void kin_retry_watcher_resume(kin_retry_watcher *watcher);

/** The version of the newest event given or bookmark passed; at first the
 * version in the options. Another watcher that begins with this version
 * continues where this one is. Borrowed until the next event or the close
 * callback. */
KIN_EXTERN const char *
kin_retry_watcher_resource_version(const kin_retry_watcher *watcher);

/** Reads the state. has_synced and state SYNCING say whether a watch has ever
 * been granted; IDLE says that the watcher has ended. resource_version is the
 * newest one received. `status` begins as KIN_STATUS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. */
KIN_EXTERN int kin_retry_watcher_get_status(const kin_retry_watcher *watcher,
                                            kin_status *status);

/* --- Informer watcher --- */

/** An informer of its own, whose changes are shown as watch events (client-go's
 * NewIndexerInformerWatcher). ADDED comes for each object of the first list and
 * each new one, then MODIFIED, and DELETED with a real object, also for an
 * object that a later list lacks. The watcher survives every failure that an
 * informer survives, 410 included; so it may skip states between two lists.
 * There are no bookmarks, no errors and no resyncs. Events of one object come
 * in the order of its changes. */
typedef struct kin_informer_watcher kin_informer_watcher;

/** Options of kin_informer_watcher_open. */
typedef struct kin_informer_watcher_options {
  size_t size; /**< set by the INIT macro */

  /** The informer's options; required, copied. All options are used, on_error,
   * on_state and on_mutation with their `data` too; but resync_ms and on_closed
   * must be as KIN_INFORMER_OPTIONS_INIT has them. */
  const kin_informer_options *resource;

  /** As in kin_listener_options: up to this many events wait exactly as they
   * came, further ones are coalesced per object; 0: 4096. KIN_NEVER: never
   * coalesce, which is client-go's buffer without a bound. */
  uint32_t exact_limit;

  kin_watch_event_cb on_event;  /**< required */
  kin_watch_close_cb on_closed; /**< may be NULL: gone, with its informer */
  void *data;                   /**< passed to both */
} kin_informer_watcher_options;
/** Sets the size, and each member to its default. */
#define KIN_INFORMER_WATCHER_OPTIONS_INIT                                      \
  { sizeof(kin_informer_watcher_options), NULL, 0, NULL, NULL, NULL }

/** Opens an informer and starts it.
 * Errors: those of kin_informer_open, and KIN_EINVAL (no on_event, options that
 * must not be set). *out is NULL then. */
KIN_EXTERN int
kin_informer_watcher_open(kin_informer_watcher **out, kin_client *client,
                          const kin_informer_watcher_options *options);

/** Closes the informer. No callback comes after this call except cb (may be
 * NULL) and on_closed, when informer and watcher are gone. Closing the informer
 * itself, or the client, has the same effect. Legal in every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_informer_watcher_close(kin_informer_watcher *watcher,
                                          kin_watch_close_cb cb, void *data);

/** Stops or continues events. While the watcher is paused, changes are
 * coalesced per object, unless exact_limit is KIN_NEVER; so a pause may last
 * any time. See kin_listener_pause. */
KIN_EXTERN void kin_informer_watcher_pause(kin_informer_watcher *watcher);
KIN_EXTERN void kin_informer_watcher_resume(kin_informer_watcher *watcher);

/** The watcher's informer: for its store, for indices, and to ask whether it
 * has synced. The informer lives until shortly before the watcher's close
 * callback; NULL once it is gone. */
KIN_EXTERN kin_informer *
kin_informer_watcher_informer(const kin_informer_watcher *watcher);

#ifdef __cplusplus
}
#endif

#endif /* KIN_WATCH_H */
