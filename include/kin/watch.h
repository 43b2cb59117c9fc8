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

/* Watches as streams of events, for programs that want to see what happens and
 * keep no cache (client-go's tools/watch). Two things make such a stream: a
 * retry watcher, which shows every change after a version; and an informer
 * watcher, which shows how a cache comes about and changes. kin/until.h waits
 * on either until conditions hold. */

/* One event, valid during the callback. */
typedef struct kin_watch_event {
  kin_watch_event_type type;

  /* ADDED, MODIFIED, DELETED: the object, deleted in its last state; never
   * NULL. NULL for BOOKMARK and ERROR. */
  const kin_object *object;

  /* The object's; of a bookmark: nothing has changed up to this version. Empty
   * for ERROR. */
  kin_str resource_version;

  /* ERROR: why there will be no more events, as in kin_error_event. Else 0 and
   * "". */
  int code;
  kin_error_class error_class;
  int status;
  const char *reason;
  const char *message;
} kin_watch_event;

/* Told of each event, one at a time, in order. An event callback. */
typedef void (*kin_watch_event_cb)(const kin_watch_event *event, void *data);

/* Told of each failure that is followed by another attempt; an event callback.
 * It may answer through the event. */
typedef void (*kin_watch_error_cb)(kin_error_event *event, void *data);

/* Told once that a watch has ended by itself and nothing more will come, except
 * what closing brings; an event callback. `code` says why. */
typedef void (*kin_watch_end_cb)(int code, void *data);

/* Called once when a watcher is gone. */
typedef void (*kin_watch_close_cb)(void *data);

/* --- Retry watcher
 * ---------------------------------------------------------- */

/* Watches from a version that the caller has, from a list for instance, without
 * listing, and resumes after every failure that can be mended, so that no
 * change is missed and none is seen twice (client-go's RetryWatcher).
 *
 * A watch that ends or breaks is resumed after the last event, at once if it
 * had been asked for a second ago or longer, else when that second is over; if
 * an answer asks for a longer wait (Retry-After, retryAfterSeconds), then after
 * that, an hour at most.
 *
 * It is over, with an ERROR event and then on_end, when another attempt cannot
 * help: the watch is refused with 401 or 403; the version is too old (410, as
 * an event of the watch: KIN_EGONE); or an event has no version or is of an
 * unknown type, or its object has no name, so that resuming might skip another
 * (status 500, reason "InternalError"). An object over max_object_bytes is
 * shown with its key only (kin_object_is_key_only), and on_error is told. */
typedef struct kin_retry_watcher kin_retry_watcher;

typedef struct kin_retry_watcher_options {
  size_t size;

  /* What is watched; required, copied. Used are group, version, plural,
   * namespaces (at most one), label_selector, field_selector, max_object_bytes,
   * keep_managed_fields, fields, metadata_only, source, parameters, and modify
   * with its data; no_watch_list, data and transform_data have no effect; the
   * rest must be as KIN_INFORMER_OPTIONS_INIT has it. */
  const kin_informer_options *resource;

  /* The changes after this one are shown; required, at most 63 bytes, not "" or
   * "0", with which the server would begin with what there is, in no order. */
  const char *resource_version;

  bool forward_bookmarks; /* give BOOKMARK events, too */

  /* A plain watch: the first end or failure of any kind is the last. A failure
   * comes as an ERROR event; then, or after a proper end, on_end. */
  bool without_retry;

  /* Each watch is to end after so many seconds, and is given up 30 s later if
   * the server does not end it; 0: no limit, as client-go. At most a day. */
  uint32_t timeout_s;

  kin_watch_event_cb on_event;  /* required */
  kin_watch_error_cb on_error;  /* may be NULL: retried all the same */
  kin_watch_end_cb on_end;      /* may be NULL */
  kin_watch_close_cb on_closed; /* may be NULL: gone, whoever closed it */
  void *data;                   /* passed to all four */
} kin_retry_watcher_options;
#define KIN_RETRY_WATCHER_OPTIONS_INIT                                         \
  {                                                                            \
    sizeof(kin_retry_watcher_options), NULL, NULL, false, false, 0, NULL,      \
        NULL, NULL, NULL, NULL                                                 \
  }

/* Opens a retry watcher and sends its first request. The client closes it if it
 * is still open then.
 * Errors: KIN_EINVAL (names, fields, more than one namespace, options that do
 * not count, a source without its functions, the version, no on_event, the
 * time-out), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED (client),
 * KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_retry_watcher_open(kin_retry_watcher **out,
                                      kin_client *client,
                                      const kin_retry_watcher_options *options);

/* Ends it. No callback comes after this call except cb (may be NULL) and
 * on_closed, from a later loop iteration; then it is gone. What had been
 * received and not been shown is dropped. Legal in every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_retry_watcher_close(kin_retry_watcher *watcher,
                                       kin_watch_close_cb cb, void *data);

/* Stops or continues events, ERROR and the end included. Nothing is lost: some
 * 256 events wait, then nothing is read from the server any more (a source of
 * the program's own is paused, if it can be). A server gives up on a client
 * that does not read for long; then the watch is resumed like any other. */
KIN_EXTERN void kin_retry_watcher_pause(kin_retry_watcher *watcher);
KIN_EXTERN void kin_retry_watcher_resume(kin_retry_watcher *watcher);

/* The version of the newest event given or bookmark passed, at first the one in
 * the options: another watcher that begins with it goes on where this one is.
 * Borrowed until the next event or the close callback. */
KIN_EXTERN const char *
kin_retry_watcher_resource_version(const kin_retry_watcher *watcher);

/* Reads the state: has_synced and state SYNCING say whether a watch has ever
 * been granted; IDLE that it is over. resource_version is the newest one
 * received. */
KIN_EXTERN void kin_retry_watcher_get_status(const kin_retry_watcher *watcher,
                                             kin_status *status);

/* --- Informer watcher
 * -------------------------------------------------------- */

/* An informer of its own, whose changes are shown as watch events: ADDED for
 * each object of the first list and each new one, MODIFIED, and DELETED with a
 * real object, also for one that a later list lacks (client-go's
 * NewIndexerInformerWatcher). It survives everything an informer does, 410
 * included; for that it may pass over states between two lists. There are no
 * bookmarks, no errors and no resyncs. Per object the order is that of the
 * changes. */
typedef struct kin_informer_watcher kin_informer_watcher;

typedef struct kin_informer_watcher_options {
  size_t size;

  /* The informer's; required, copied. Everything counts, on_error, on_state and
   * on_mutation with their `data` too, but that resync_ms and on_closed must be
   * as KIN_INFORMER_OPTIONS_INIT has them. */
  const kin_informer_options *resource;

  /* As in kin_listener_options: so many events wait exactly as they came,
   * further ones are coalesced per object; 0: 4096, KIN_NEVER: never coalesce,
   * which is client-go's buffer without a bound. */
  uint32_t exact_limit;

  kin_watch_event_cb on_event;  /* required */
  kin_watch_close_cb on_closed; /* may be NULL: gone, with its informer */
  void *data;                   /* passed to both */
} kin_informer_watcher_options;
#define KIN_INFORMER_WATCHER_OPTIONS_INIT                                      \
  { sizeof(kin_informer_watcher_options), NULL, 0, NULL, NULL, NULL }

/* Opens an informer and starts it. Errors: those of kin_informer_open, and
 * KIN_EINVAL (no on_event, options that do not count). *out is NULL then. */
KIN_EXTERN int
kin_informer_watcher_open(kin_informer_watcher **out, kin_client *client,
                          const kin_informer_watcher_options *options);

/* Closes the informer. No callback comes after this call except cb (may be
 * NULL) and on_closed, when informer and watcher are gone. Closing the informer
 * by itself, or the client, has the same effect. Legal in every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_informer_watcher_close(kin_informer_watcher *watcher,
                                          kin_watch_close_cb cb, void *data);

/* Stops or continues events. While it is paused changes are coalesced per
 * object, so that it may be paused for any time, unless exact_limit is
 * KIN_NEVER; see kin_listener_pause. */
KIN_EXTERN void kin_informer_watcher_pause(kin_informer_watcher *watcher);
KIN_EXTERN void kin_informer_watcher_resume(kin_informer_watcher *watcher);

/* Its informer: for the store, for indices, for whether it has synced. */
KIN_EXTERN kin_informer *
kin_informer_watcher_informer(const kin_informer_watcher *watcher);

#ifdef __cplusplus
}
#endif

#endif /* KIN_WATCH_H */
