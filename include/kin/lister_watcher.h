/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTER_WATCHER_H
#define KIN_LISTER_WATCHER_H

/** @file
 * Sources of objects other than the API server, and requests. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/error.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A source of objects other than the API server: a directory of files, a
 * message bus, a test (client-go's ListerWatcher). An informer
 * (kin_informer_options.source), a reflector or a controller asks its
 * lister-watcher for a list, then for a watch from the list's version, and
 * again as the protocol has it. Backoff, relists, verified positions and states
 * are the same as over HTTP.
 *
 * A feed receives the answers of the source. It belongs to the loop's thread,
 * and lives until its informer (reflector, ...) calls its close callback. If a
 * namespace is removed from an informer, its feed is gone soon after its
 * request was cancelled. */
typedef struct kin_feed kin_feed;

/** A query parameter. NULL as a value stands for "". */
typedef struct kin_parameter {
  const char *name;  /**< not empty */
  const char *value; /**< percent-encoded by the library */
} kin_parameter;

/** A request. Strings are never NULL, "" for nothing, and valid during the
 * call. */
typedef struct kin_feed_request {
  size_t size;            /**< see KIN_HAS */
  bool is_watch;          /**< else a list */
  const char *namespace_; /**< "" for all */
  /** Both selectors are as in kin_informer_options, or as its modifier has set
   * them. */
  const char *label_selector;
  const char *field_selector;

  /** List: "" the newest version; "0" any; else by resource_version_match
   * ("Exact", "NotOlderThan"). Watch: the changes after this version. */
  const char *resource_version;
  const char *resource_version_match;

  const char *continue_token; /**< list: continue where a page ended */
  uint32_t limit;             /**< list: at most this many items; 0: all */
  uint32_t timeout_s;         /**< seconds until the answer ends; 0: never */

  /** Watch: first each current object as ADDED, then a bookmark with
   * is_initial_end, then changes. Set only if watch_list is set. */
  bool send_initial_events;

  /** kin_informer_options.parameters, or as its modifier has set them; valid
   * during the call. */
  const kin_parameter *parameters;
  size_t parameter_count;
} kin_feed_request;

/** A request that is about to be made, for a modifier. The fields that a
 * modifier may change come last. Changes of the others have no effect, since
 * lists, pages and watches would no longer fit together. Strings are never
 * NULL. */
typedef struct kin_request_options {
  size_t size; /**< see KIN_HAS */
  /** As in kin_feed_request. A list with a limit of 1 from the start asks
   * whether the server still has that version. */
  bool is_watch;
  bool send_initial_events;
  const char *namespace_;
  const char *resource_version;
  const char *resource_version_match;
  const char *continue_token;

  /** A list and the watch after it must select the same objects: the store
   * follows a changed selector only at the next list. NULL stands for "". */
  const char *label_selector;
  const char *field_selector;

  uint32_t limit; /**< list: at most this many items; 0: all */

  /** List: 0: as long as the server likes. Watch: 0, or more than before,
   * leaves the value as it was, because that is how long the library waits. */
  uint32_t timeout_s;
  const kin_parameter *parameters;
  size_t parameter_count;
} kin_request_options;

/** Changes a request before it is made (client-go's optionsModifier and
 * TweakListOptionsFunc). Called for each page of a list, each watch and each
 * question for a version, each time. A pure callback: it must not call the
 * library for anything of the client.
 *
 * The values that the callback sets are not copied. Strings and arrays must
 * live until it is called again with the same data, or until the informer,
 * reflector, ... that has it is gone. The limits are those of
 * kin_informer_options.
 *
 * Returns 0. A negative code fails the request. Selectors or parameters over
 * their limits, or a parameter with a name of the library's, fail it with
 * KIN_EINVAL. The failure is reported, and the request is repeated after the
 * backoff. KIN_EGONE means the same as from open of a kin_lister_watcher: a watch
 * is followed by a consistent list, and a retry watcher ends. */
typedef int (*kin_modify_request_cb)(kin_request_options *options, void *data);

/** A lister-watcher: functions of the program, and their context.
 *
 * open begins to answer a request. It returns 0 with *out set to a handle of
 * the answer, or a negative code, and feeds nothing before it has returned. A
 * positive code counts as KIN_EINVAL. KIN_EGONE says that no version counts any
 * more: a watch is followed by a consistent list, and a retry watcher ends. A
 * feed has one open request at a time.
 *
 * cancel ends an answer that is no longer wanted: feed nothing after it. It can
 * come inside a call of kin_feed_*, which then returns KIN_ECLOSED; open for
 * the next request can come there, too. The library sets no time limit: it waits
 * for a source that neither feeds nor fails.
 *
 * All four may close the informer (reflector, ...), or another. open may also
 * change the shard or max_bytes. If open does any of this, cancel comes when
 * open has returned.
 *
 * pause and resume, both or none: feed no objects from pause until resume,
 * because there is no room. pause can come inside a call of kin_feed_*. Objects
 * that are fed nevertheless are taken, and have no bound: those that come while
 * the list of a watch_list is applied are handled in one step afterwards. */
typedef struct kin_lister_watcher {
  size_t size; /**< set by the INIT macro */
  /** The functions, as said above. pause and resume may be NULL. */
  int (*open)(void *ctx, const kin_feed_request *request, kin_feed *feed,
              void **out);
  void (*cancel)(void *ctx, void *answer);
  void (*pause)(void *ctx, void *answer);
  void (*resume)(void *ctx, void *answer);

  /** The source supports send_initial_events, and pause and resume are set: an
   * informer then asks for a watch instead of a list. */
  bool watch_list;
  void *ctx; /**< passed to all four */
} kin_lister_watcher;
/** Sets the size, and each member to its default. */
#define KIN_LISTER_WATCHER_INIT                                                \
  { sizeof(kin_lister_watcher), NULL, NULL, NULL, NULL, false, NULL }

/* The following functions feed an answer. They are called from event callbacks
 * or other code of the loop, never inside open, cancel, pause, resume or a pure
 * callback. A negative result means that the answer is over; it is cancelled,
 * unless the call itself ends it. KIN_ECLOSED: the answer was over before, or
 * no longer wanted. Any other code is the failure, which the feed's owner has
 * reported. */

/** The request is granted: a list follows, or a watch has begun. Call this
 * before everything else but kin_feed_fail. */
KIN_EXTERN int kin_feed_open(kin_feed *feed);

/** Bytes have arrived. Only for kin_status, and so that the answer does not
 * count as silent. */
KIN_EXTERN int kin_feed_received(kin_feed *feed, size_t bytes);

/** An item of the list. The feed takes a reference of its own. If its cached
 * object has the same uid and version, the feed may keep that one instead. NULL
 * ends the answer with KIN_EINVAL, here and in kin_feed_event. A list that
 * brings the same objects again and again has no end: it fails
 * (KIN_EUNEXPECTED), and the call returns KIN_ECLOSED. */
KIN_EXTERN int kin_feed_item(kin_feed *feed, const kin_object *object);

/** Ends the answer to a list: its version (NULL stands for ""), and the token
 * for the next page; NULL or "" if the list is complete. The token that this
 * page was asked for with would bring the same page for ever: it fails the list
 * (KIN_EUNEXPECTED). So do 10,000 pages in a row without an object. Returns 0,
 * or KIN_ETOOBIG: a version of 64 bytes and more, a token over 16 KiB. */
KIN_EXTERN int kin_feed_list_end(kin_feed *feed, const char *version,
                                 const char *continue_token);

/** The types of events of a watch. */
typedef enum kin_watch_event_type {
  KIN_WATCH_ADDED = 1,
  KIN_WATCH_MODIFIED,
  KIN_WATCH_DELETED,
  KIN_WATCH_BOOKMARK, /**< this and ERROR: not for kin_feed_event */
  KIN_WATCH_ERROR
} kin_watch_event_type;

/** An event of the watch: added, modified or deleted; any other type ends the
 * answer with KIN_EINVAL. A deleted object is in its last state, with the
 * version of its deletion. The feed takes a reference of its own. */
KIN_EXTERN int kin_feed_event(kin_feed *feed, kin_watch_event_type type,
                              const kin_object *object);

/** Nothing more has changed up to this version. `is_initial_end` marks the end
 * of the initial events that the request asked for. Such an end with a version
 * of 64 bytes and more ends the answer with KIN_ETOOBIG. */
KIN_EXTERN int kin_feed_bookmark(kin_feed *feed, kin_str version,
                                 bool is_initial_end);

/** Ends the answer to a watch normally, for instance after its timeout. Returns
 * 0. */
KIN_EXTERN int kin_feed_watch_end(kin_feed *feed);

/** The failure of an answer. NULL stands for "". */
typedef struct kin_feed_error {
  size_t size; /**< set by the INIT macro */
  /** An HTTP status if there is one. 410 says that the version is no longer
   * available, but not beside another reason of API servers, such as
   * "Conflict". The reasons "Expired" and "Gone" say so with any status. */
  int status;
  /** The least wait before the next request, an hour at most; 0: none. */
  uint32_t retry_after_s;
  const char *reason; /**< a Status reason such as "Expired" */
  const char *message;

  /** Used without a status, and without a reason that stands for one as
   * "Forbidden" does. code: a negative code; any other value stands for
   * KIN_ESTATUS. error_class: NONE stands for the class that fits the code.
   * KIN_EGONE says that the version is no longer available, and is reported as
   * status 410. */
  int code;
  kin_error_class error_class;
} kin_feed_error;
/** Sets the size, and each member to its default. */
#define KIN_FEED_ERROR_INIT                                                    \
  { sizeof(kin_feed_error), 0, 0, NULL, NULL, 0, KIN_CLASS_NONE }

/** Ends the answer with a failure. A watch that sends an ERROR event
 * (`is_event`) was granted before. Returns 0; or KIN_EINVAL, KIN_ENOTSUP (of an
 * error of a newer version), and then the answer has failed all the same. */
KIN_EXTERN int kin_feed_fail(kin_feed *feed, const kin_feed_error *error,
                             bool is_event);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LISTER_WATCHER_H */
