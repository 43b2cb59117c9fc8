/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_H
#define KIN_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/lister_watcher.h>
#include <kin/mutation_detector.h>
#include <kin/object_builder.h>
#include <kin/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An informer keeps a complete, indexed, current copy of one resource: it
 * lists, watches, and calls handlers on every change. It covers all namespaces
 * or a set of them; each is a scope with a version, a watch and a state of its
 * own. */
typedef struct kin_informer kin_informer;

/* What a scope is doing. */
typedef enum kin_state {
  KIN_STATE_IDLE = 0,     /* not started, stopped by an answer, or closed */
  KIN_STATE_SYNCING,      /* no complete list yet, or no watch after it */
  KIN_STATE_LIVE,         /* a watch is open, or was until a moment ago */
  KIN_STATE_RECONNECTING, /* synced once; watch or list is being reopened */
  KIN_STATE_STALE,        /* reconnecting without success for a minute; a watch
                           * that is silent (stale_after_ms) and has not shown
                           * since that it is up to date; one that is behind,
                           * until there is a new list */
  KIN_STATE_DENIED,       /* the server answers 401 or 403 */
  KIN_STATE_ABSENT        /* the server answers 404 */
} kin_state;

/* Returns "idle", "syncing", "live", ... Static. */
KIN_EXTERN const char *kin_state_name(kin_state state);

/* A scope as it is now. Ages are milliseconds since, UINT64_MAX for never. */
typedef struct kin_status {
  kin_state state;
  bool has_synced;           /* its first list is in the store */
  char resource_version[64]; /* last one seen of up to 63 bytes; "" for none */
  uint64_t byte_age_ms;
  uint64_t event_age_ms;
  uint64_t bookmark_age_ms;
  uint32_t failures; /* in a row */
  kin_error_class last_error_class;
  int last_error_status;
  uint64_t staged;  /* objects of a list that is not complete yet */
  uint64_t lists;   /* complete lists */
  uint64_t relists; /* of these, after the first */
  uint64_t watches; /* watches opened */
  uint64_t events;  /* ADDED, MODIFIED and DELETED received, but for those
                     * that stand for a list */
  uint64_t bookmarks;
  uint64_t unchanged; /* listed or watched objects that were cached already */
  uint64_t received_bytes;     /* of response bodies, inflated */
  uint64_t transform_failures; /* states that the transform failed on */
  uint64_t oversized;          /* states of which only the key was kept: over
                                * max_object_bytes, or over 10,000 levels */
  uint64_t bad_objects;        /* skipped: see kin_error_cb */
  uint64_t slow_lists;         /* lists of over 10 s, from request to applied */
  uint64_t checked_lists;      /* compared: see check_watch_lists of a client */
  uint64_t inconsistent_lists; /* of these, that differed */

  /* For how long the scope has been waiting for its turn to list, behind
   * max_lists others of its client; UINT64_MAX: it does not wait. */
  uint64_t turn_wait_ms;
  /* The same for the client's own limit of requests (qps_milli). */
  uint64_t limit_wait_ms;
  /* Lists that were not complete after list_turn_ms of the client, so that
   * others that waited went on. */
  uint64_t overdue_lists;
} kin_status;

/* Told of each change of a scope's state; an event callback. `namespace_` is ""
 * for all namespaces. Of more than four changes before it can be called the
 * middle ones are left out. */
typedef void (*kin_state_cb)(kin_informer *informer, const char *namespace_,
                             kin_state from, kin_state to, void *data);

/* Told of each failure; an event callback. It may answer through the event. Of
 * failures that follow each other before it can be called, as when a watch
 * breaks and its successor cannot even be asked for, the last is told;
 * kin_error_event.attempt counts all.
 *
 * Single objects that cannot be taken as they are stop nothing else: the rest
 * of the list or watch goes on, nothing is asked for again, retry_in_ms is 0,
 * and of the answers only KIN_STOP counts. They are told with KIN_CLASS_DECODE
 * and the key, once for each uid and resourceVersion; at most one event a
 * second and scope, about the first one, says how many more there were:
 *
 *   KIN_ETOOBIG      it is over max_object_bytes: see there
 *   KIN_EDEPTH       it is nested over 10,000 levels deep: as if it were over
 *                    max_object_bytes
 *   KIN_EKEY         it has no metadata.name, or a name, namespace, uid or
 *                    resourceVersion of over 65,535 bytes; skipped
 *   KIN_EUNEXPECTED  a Table instead of an object; skipped
 *
 * A list that has objects, but not one that can be used, is no empty list: it
 * fails with KIN_EKEY, deletes nothing, and is made again. */
typedef void (*kin_error_cb)(kin_informer *informer, kin_error_event *event,
                             void *data);

/* Told once of each object of the informer that somebody has written to, if the
 * client looks for that (kin_client_options.mutation_check); an event callback.
 * What `mutation` points to is valid during the call. */
typedef void (*kin_informer_mutation_cb)(kin_informer *informer,
                                         const kin_mutation *mutation,
                                         void *data);

/* Called once when an informer is gone. */
typedef void (*kin_informer_close_cb)(void *data);

/* How new a list has to be. None is older than what has been seen before. */
typedef enum kin_consistency {
  KIN_CONSISTENCY_ANY = 0,    /* what the server has in its cache */
  KIN_CONSISTENCY_AT_LEAST,   /* the first: not older than start_version */
  KIN_CONSISTENCY_MOST_RECENT /* each: the newest there is */
} kin_consistency;

typedef struct kin_informer_options {
  size_t size;

  /* The resource, in lower case: {"", "v1", "pods"}, {"apps", "v1",
   * "deployments"}. group NULL or "" is the core group; version NULL is
   * "v1". */
  const char *group;
  const char *version;
  const char *plural; /* required */

  /* The scopes. None: all namespaces (or a cluster-scoped resource). Each must
   * be named once; at most 1,024. Copied. See kin_informer_add_namespace. */
  const char *const *namespaces;
  size_t namespace_count;

  /* At most 64 KiB each; NULL or "": all. The server parses them. */
  const char *label_selector; /* such as "app=web,tier!=cache" */
  const char *field_selector; /* such as "spec.nodeName=n1" */

  /* Objects per page of a list; 0: 500, KIN_NEVER: unlimited. The first list is
   * answered from the server's cache, which ignores it. */
  uint32_t page_size;

  uint32_t resync_ms; /* listeners' default period; 0: none */

  /* Of one object's JSON as it is received, before anything is dropped of it;
   * 0: 16 MiB; at most 1 GiB. An object over the limit is there all the same,
   * with its key, uid, version and labels, and nothing else
   * (kin_object_is_key_only): events, updates, deletions and lists are as
   * usual. It is told through on_error. One over 1 GiB fails the request as if
   * it could not be decoded. */
  uint32_t max_object_bytes;

  /* What is stored of each object. By default everything except
   * metadata.managedFields. */
  bool keep_managed_fields;

  /* Only these fields are stored, by JSON Pointer of at most 64 tokens of at
   * most 65,535 bytes, besides apiVersion, kind and metadata's name, namespace,
   * uid, resourceVersion and labels. None: all. Copied.
   *
   * A number in a pointer names a member of that name in an object, and an
   * element by its index in an array: "/spec/containers/0/image". Of an array
   * on the way to a field, all behind the last element that is named is
   * dropped. What is before it keeps its place, so that indices stay right:
   * objects and arrays as empty ones, other values as they are. */
  const char *const *fields;
  size_t field_count;

  /* Ask for metadata only (PartialObjectMetadata). */
  bool metadata_only;

  /* By default a list comes as a watch that begins with what there is
   * (WatchList): no list for the server to make, and no older state than the
   * one before. A server that refuses that is asked for lists. Set: only
   * lists. */
  bool no_watch_list;

  /* Indices are added before kin_informer_start or not at all: later it is
   * KIN_EALREADY, as it was in older client-go. */
  bool fixed_indices;

  kin_error_cb on_error; /* may be NULL: retried all the same */
  kin_state_cb on_state; /* may be NULL */
  void *data;            /* passed to all callbacks but transform and modify */

  /* Called once when the informer is gone, whoever closed it; may be NULL. */
  kin_informer_close_cb on_closed;

  /* Where objects come from instead of the API server; NULL: from there. The
   * struct is copied. The names above are only passed on to it, and its objects
   * are stored as they are: keep_managed_fields, fields and metadata_only have
   * no effect. */
  const kin_lister_watcher *source;

  kin_informer_mutation_cb on_mutation; /* may be NULL: logged all the same */

  /* What is kept of each object; NULL: all that the options above leave. It
   * runs before the store and all handlers, once for each state that comes in,
   * told by uid and resourceVersion: one that is cached is not transformed
   * again, neither for a list nor for a resync. The last state of a deleted
   * object is transformed, too; one of which only the key is kept is not.
   *
   * An object on which it fails stops nothing else. The state before stays in
   * the store if it is of the same object (uid), else there is none; a deletion
   * then comes with the state that was cached. It is told once for each state,
   * through on_error with KIN_CLASS_DECODE, retry_in_ms 0 and the key in the
   * message (of several at once the first one's, and how many more there are;
   * the log names each). Nothing is asked for again: of the answers only
   * KIN_STOP counts, and the object is tried again when it changes. Only
   * KIN_ENOMEM fails the request, which is repeated. */
  kin_transform_cb transform;
  void *transform_data; /* passed to transform */

  /* Passed on in the query of each request, also to `source`: at most 64, of at
   * most 16 KiB together, copied and percent-encoded. A name may occur more
   * than once, but must not be empty nor one that the library sets by itself:
   * allowWatchBookmarks, continue, fieldSelector, labelSelector, limit,
   * resourceVersion, resourceVersionMatch, sendInitialEvents, timeoutSeconds,
   * watch. */
  const kin_parameter *parameters;
  size_t parameter_count;

  kin_modify_request_cb modify; /* NULL: requests are made as they are */
  void *modify_data;            /* passed to modify */

  kin_consistency consistency;

  /* A watch that has brought no byte for so long is STALE, and the server is
   * asked whether its position still stands, as by kin_informer_verify and at
   * the same cost. 0: never; at most an hour. */
  uint32_t stale_after_ms;

  /* For how long a watch that ends with an internal error (500) is repeated
   * without a wait; then there is a list. 0: it is repeated after waits, for as
   * long as it takes; at most a day. */
  uint32_t internal_error_retry_ms;

  /* What is stored is deleted if the resource has vanished (404), as it does
   * when its definition is removed; the deletions have the reason "cleared",
   * and come in bounded steps. It stays synced; when the resource is back, it
   * is listed anew, and `relisted` told. An answer of KIN_STOP to the error
   * keeps everything. By default it is kept. */
  bool clear_when_absent;

  /* For KIN_CONSISTENCY_AT_LEAST, else NULL: a resourceVersion of this resource
   * that the program has seen; shorter than 64 bytes, not "" and not "0".
   * Copied. */
  const char *start_version;
} kin_informer_options;
#define KIN_INFORMER_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(kin_informer_options), NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, 0, \
        0, false, NULL, 0, false, false, false, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, NULL, NULL, 0, NULL, NULL, KIN_CONSISTENCY_ANY, 0, 0,      \
        false, NULL                                                            \
  }

/* Opens an informer; nothing is requested before kin_informer_start.
 * Errors: KIN_EINVAL (names, fields, a namespace named twice, more than 1,024
 * namespaces, a selector, parameters or a number over its limit, a parameter's
 * name, a start_version that does not go with the consistency, a source without
 * its functions), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED
 * (client), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_informer_open(kin_informer **out, kin_client *client,
                                 const kin_informer_options *options);

/* Begins to list and watch. A source of the program's own (and `modify`) is
 * asked for the first time inside this call; handlers and other event callbacks
 * come from later loop iterations. Errors: KIN_EALREADY (started before),
 * KIN_ECLOSED. */
KIN_EXTERN int kin_informer_start(kin_informer *informer);

/* Opens an informer, adds one listener and starts the informer. More listeners
 * may be added later. `out` may be NULL: the informer ends with the client then.
 * Errors: those of kin_informer_open and kin_informer_listen. After an error no
 * informer is open, no callback comes, and *out is NULL. */
KIN_EXTERN int kin_informer_follow(kin_informer **out, kin_client *client,
                                   const kin_informer_options *options,
                                   const kin_listener_options *listener);

/* Ends an informer and its listeners. No callback comes after this call except
 * those of waits for versions (kin_version_cb) and then cb (may be NULL) and
 * on_closed, from a later loop iteration; then the informer, its store and its
 * listeners are gone. Kept objects live on. Legal in every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_informer_close(kin_informer *informer,
                                  kin_informer_close_cb cb, void *data);

/* Adds a namespace to an informer that has a set of them, before its start or
 * later: it is listed and watched like the others, with a version, a state and
 * relists of its own. Objects of a first list that is complete before the
 * informer has synced are part of its initial state, which comes to wait for
 * that list. After that they are ordinary adds, and `relisted` with the
 * namespace says that they are complete; kin_status.has_synced says the same.
 *
 * A namespace that is just being removed may be added again: it is idle until
 * its old objects have been deleted, then begins anew.
 *
 * Legal in every event callback. Errors: KIN_EINVAL (no name of a namespace, or
 * the informer is for all namespaces), KIN_EEXIST, KIN_ETOOBIG (it has 1,024,
 * those that are being removed included), KIN_ECLOSED, KIN_ENOMEM: nothing has
 * changed. Cost: O(namespaces), with a small factor. */
KIN_EXTERN int kin_informer_add_namespace(kin_informer *informer,
                                          const char *namespace_);

/* Removes a namespace. Its request ends at once, and with it on_error, on_state
 * and its status. What has been received but is not stored yet is dropped; what
 * is stored is deleted with the reason KIN_DELETE_SCOPE_REMOVED, in bounded
 * steps of later loop iterations, so every listener gets a delete for each
 * object that it knows, and then nothing of this namespace any more. Until then
 * these objects stay readable. Should memory run out meanwhile it is tried
 * again, which only the log tells.
 *
 * The last one may be removed, too: the informer then has nothing to do until
 * one is added. An informer that has not synced does so when all namespaces
 * that are left have, and nothing is left of those that are not, also if there
 * is none at all.
 *
 * Legal in every event callback, also in one that tells of this namespace.
 * Errors: KIN_EINVAL (as above), KIN_ENOENT (it has no such namespace, or not
 * any more), KIN_ECLOSED. Cost: O(namespaces), with a small factor; then O(n)
 * for the objects of the informer, in steps. */
KIN_EXTERN int kin_informer_remove_namespace(kin_informer *informer,
                                             const char *namespace_);

/* The cache. Lives until the informer's close callback. */
KIN_EXTERN kin_store *kin_informer_store(kin_informer *informer);

/* Whether the first lists of all scopes are in the store, or once were: it
 * stays true whatever is added later. */
KIN_EXTERN bool kin_informer_has_synced(const kin_informer *informer);

/* Reads the state of a scope; `namespace_` "" (or NULL) is the scope of all
 * namespaces. Errors: KIN_ENOENT (no such scope, or it has been removed). */
KIN_EXTERN int kin_informer_get_status(const kin_informer *informer,
                                       const char *namespace_,
                                       kin_status *status);

/* How a wait for a version, or a verification, ended; an event callback, called
 * exactly once for each call below that returned 0. `code`:
 *
 *   0              everything up to `version` is in the store; handlers may
 *                  not have been told of the last of it yet
 *   KIN_ETIMEDOUT  not within timeout_ms
 *   KIN_ENOTSUP    the lists of this resource have no resourceVersion, as those
 *                  of some aggregated APIs: nothing says how far anything has
 *                  come. Such a scope is listed again after each watch, and
 *                  after a question that is answered so
 *   KIN_ECLOSED    the informer or its client closes, the scope was removed, or
 *                  it was stopped by an answer to an error. This is the one
 *                  callback besides the close callbacks that may come after
 *                  kin_informer_close; it comes before them, and only what is
 *                  legal while it closes may be done with the informer.
 *
 * `version` is valid during the call: what was waited for; for a verification
 * the version that was found, "" if it failed. */
typedef void (*kin_version_cb)(kin_informer *informer, int code,
                               const char *version, void *data);

/* Waits until the store holds everything up to `version` in a scope; the
 * program has written an object, say, was answered with this resourceVersion,
 * and wants to read its own write. cb comes from a later loop iteration, also
 * if the version has been reached already. It may be called before the start,
 * and waits as long as there is no watch. `namespace_` is a scope, as for
 * kin_informer_get_status; a version belongs to a server and a resource.
 * timeout_ms 0: none.
 *
 * Versions are compared as decimal numbers; one that is no number is found only
 * if the watch or a list comes to exactly it. Nothing is asked of the server
 * unless the version has not come after 500 ms, as happens where a selector
 * hides the change; then once for all waits of the scope, as by
 * kin_informer_verify and at the same cost. If the server does not know the
 * version yet, that is repeated after 1 s, 2 s, ... and at last every minute.
 *
 * Of an object that the transform refused it is the state before that is
 * stored.
 *
 * Errors: KIN_EINVAL (no cb, version NULL, "" or of 64 bytes and more),
 * KIN_ENOENT (no such scope), KIN_ECLOSED (closing), KIN_EAGAIN (4,096 such
 * waits and verifications of this informer have not been called back, or 64
 * whose version is no number of 64 bits), KIN_ENOMEM. Cost: O(log n) for n
 * waits. */
KIN_EXTERN int kin_informer_wait_version(kin_informer *informer,
                                         const char *namespace_,
                                         const char *version,
                                         uint64_t timeout_ms, kin_version_cb cb,
                                         void *data);

/* Finds out whether a scope is up to date, and mends it if not: the server is
 * asked for its newest version by a consistent list of one item, and the watch
 * must come to that. It is opened again for 3 s, so that what there is comes,
 * or the server says where it is, or its silence proves that nothing is left.
 * If none of these happens twice, as when something in between has lost the
 * events, on_error is told (KIN_EGONE, class server) and a consistent list is
 * made. Then cb is told the version that the store has come to, which is at
 * least the newest of the time of this call, and may be beyond
 * kin_status.resource_version. Without a watch it waits until there is one. A
 * question that was asked after this call answers all that have been waiting
 * for it, so it may be called often; the watch is interrupted each time.
 *
 * Silence is a proof only on the connection of a list that was at the version;
 * a source of the program's own that gives no bookmarks is asked for a list.
 * The answer 0 means that the watch says so. It is wrong
 *
 *   - behind a proxy that spreads the requests of one connection over several
 *     API servers, one of which is stuck;
 *   - if the server, or a proxy, sends nothing for the 3 s though it has more,
 *     or leaves the rest of it out, and yet ends the watch in good order.
 *     Until then the position is kept, and the next watch brings the rest;
 *   - if a single event was left out before one that came, or before a
 *     bookmark. No later watch brings it: only a list does.
 *
 * timeout_ms 0: none.
 *
 * Errors: KIN_EINVAL (no cb), else as for kin_informer_wait_version. Cost:
 * O(log n) here. */
KIN_EXTERN int kin_informer_verify(kin_informer *informer,
                                   const char *namespace_, uint64_t timeout_ms,
                                   kin_version_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_INFORMER_H */
