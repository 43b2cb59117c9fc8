/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_H
#define KIN_INFORMER_H

/** @file
 * Informers: a current copy of a resource. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/compact.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/lister_watcher.h>
#include <kin/max_bytes.h>
#include <kin/mutation_detector.h>
#include <kin/object_builder.h>
#include <kin/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An informer keeps a complete, indexed, current copy of one resource: it
 * lists, watches, and calls handlers on every change. It covers all namespaces
 * or a set of them. Each of these is a scope with a version, a watch and a
 * state of its own. */
typedef struct kin_informer kin_informer;

/** The state of a scope. */
typedef enum kin_state {
  KIN_STATE_IDLE = 0,     /**< not started, stopped by an answer, or closed */
  KIN_STATE_SYNCING,      /**< no complete list yet, or no watch after it */
  KIN_STATE_LIVE,         /**< a watch is open, or was until a moment ago */
  KIN_STATE_RECONNECTING, /**< synced once; watch or list is being reopened */
  KIN_STATE_STALE,        /**< reconnecting without success for a minute; or the
                           * watch is silent (stale_after_ms) and has not proved
                           * since that it is up to date; or the watch is
                           * behind, until there is a new list */
  KIN_STATE_DENIED,       /**< the server answers 401 or 403 */
  KIN_STATE_ABSENT        /**< the server answers 404 */
} kin_state;

/** Returns "idle", "syncing", "live", ... Static. */
KIN_EXTERN const char *kin_state_name(kin_state state);

/** Where the objects of other shards are left out: kin_status.shard_filter. */
typedef enum kin_shard_filter {
  KIN_SHARD_NONE = 0, /**< the informer is for all objects */
  KIN_SHARD_UNKNOWN, /**< no list yet; or the last list does not say so, and had
                       * fewer than 64 objects, all of this shard: lists that
                       * come as watches, and those of custom resources */
  KIN_SHARD_SERVER,  /**< by the API server: other shards' objects do not
                       * come */
  KIN_SHARD_CLIENT   /**< here: the server sends the objects of all shards */
} kin_shard_filter;

/** A scope as it is now. Ages are milliseconds since then; UINT64_MAX:
 * never. */
typedef struct kin_status {
  size_t size; /**< set by the INIT macro */

  /* --- State --- */
  kin_state state; /**< now */
  bool has_synced; /**< its first list is in the store */
  /** Last one seen, of up to 63 bytes; "" for none. */
  char resource_version[64];
  uint64_t staged; /**< objects of a list that is not complete yet */

  /* --- Failures --- */
  uint32_t failures;                /**< in a row */
  kin_error_class last_error_class; /**< of the last failure */
  int last_error_status;            /**< its HTTP or Status code; 0: none */

  /* --- How fresh --- */
  uint64_t byte_age_ms;     /**< of the last byte of an answer */
  uint64_t event_age_ms;    /**< of the last event */
  uint64_t bookmark_age_ms; /**< of the last bookmark */

  /* --- What it waits for --- */

  /** Time that the scope has waited for its turn to list, behind max_lists
   * others of its client; UINT64_MAX: it does not wait. */
  uint64_t turn_wait_ms;
  /** The same for the client's own limit of requests (qps_milli). */
  uint64_t limit_wait_ms;

  /* --- Requests so far --- */
  uint64_t lists;      /**< complete lists */
  uint64_t relists;    /**< complete lists after the first */
  uint64_t slow_lists; /**< lists of over 10 s, from request to applied */
  /** Lists that were not complete after list_turn_ms of the client, so that
   * waiting lists went on. */
  uint64_t overdue_lists;
  uint64_t watches; /**< watches opened */

  /* --- What has come --- */
  uint64_t events;    /**< ADDED, MODIFIED and DELETED received, except initial
                    * events of a WatchList */
  uint64_t bookmarks; /**< received */
  uint64_t unchanged; /**< listed or watched objects that were cached already,
                       * and updates that were not told (skip_unchanged) */
  uint64_t received_bytes; /**< of response bodies, inflated */

  /* --- Objects that are not stored as they came --- */
  uint64_t transform_failures; /**< states on which the transform failed */
  uint64_t oversized;          /**< states kept with their key only: over
                                * max_object_bytes, or over 10,000 levels */
  uint64_t bad_objects;        /**< skipped objects: see kin_error_cb */

  /* --- See check_watch_lists of a client --- */
  uint64_t checked_lists;      /**< compared lists */
  uint64_t inconsistent_lists; /**< lists that differed */

  /* --- See shard_count of kin_informer_options --- */

  uint64_t other_shards; /**< objects of other shards that came and were
                          * dropped, in lists and events */
  uint32_t shard_count;  /**< of shards; 1: the informer has all objects */
  kin_shard_filter shard_filter; /**< as of the last list, or of the last object
                                  * of another shard that came after it */

  /* --- See max_bytes of kin_informer_options --- */

  kin_memory_state memory_state; /**< of the whole informer */
  uint32_t over_max_bytes; /**< requests of this scope that ended, or were not
                            * made, because objects did not fit */
} kin_status;
/** Sets the size, and each member to its default. */
#define KIN_STATUS_INIT                                                        \
  {                                                                            \
    sizeof(kin_status), KIN_STATE_IDLE, false, "", 0, 0, KIN_CLASS_NONE, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,            \
        KIN_SHARD_NONE, KIN_MEMORY_STATE_WHOLE, 0                              \
  }

/** Called for each change of a scope's state; an event callback. `namespace_`
 * is "" for all namespaces. If more than four changes happen before the
 * callback can be called, the middle ones are left out. */
typedef void (*kin_state_cb)(kin_informer *informer, const char *namespace_,
                             kin_state from, kin_state to, void *data);

/** Called for each failure; an event callback. The callback may answer through
 * the event. If failures follow each other before the callback can be called,
 * only the last is reported; kin_error_event.attempt counts all. Example: a
 * watch breaks and its successor cannot be requested.
 *
 * A single object that cannot be stored as it is does not stop the rest of its
 * list or watch. Nothing is requested again: retry_in_ms is 0, and of the
 * answers only KIN_STOP counts. Such an object is reported with
 * KIN_CLASS_DECODE and its key, once for each uid and resourceVersion; if a
 * scope has over 1,000 or so, again with later lists. At most one event a second
 * and scope comes, about the first object and with the number of the others:
 *
 *   KIN_ETOOBIG      over max_object_bytes: see there
 *   KIN_EDEPTH       nested over 10,000 levels deep: as if over
 *                    max_object_bytes
 *   KIN_EKEY         no metadata.name, or a name, namespace, uid or
 *                    resourceVersion of over 65,535 bytes; skipped
 *   KIN_EUNEXPECTED  a Table instead of an object; skipped
 *   any other code   the result of the transform: see there
 *
 * A list that has objects but no usable one is not an empty list: it fails with
 * KIN_EKEY, deletes nothing, and is made again. */
typedef void (*kin_error_cb)(kin_informer *informer, kin_error_event *event,
                             void *data);

/** Called once for each object of the informer that was written to, if the
 * client looks for such writes (kin_client_options.mutation_check); an event
 * callback. `mutation` is valid during the call. */
typedef void (*kin_informer_mutation_cb)(kin_informer *informer,
                                         const kin_mutation *mutation,
                                         void *data);

/** Called once when an informer is gone. */
typedef void (*kin_informer_close_cb)(void *data);

/** The required freshness of lists. No list may be older than the data that the
 * scope has seen. */
typedef enum kin_consistency {
  KIN_CONSISTENCY_ANY = 0,  /**< the data in the server's cache */
  KIN_CONSISTENCY_AT_LEAST, /**< the first list: not older than start_version */
  KIN_CONSISTENCY_MOST_RECENT /**< each list: the newest version */
} kin_consistency;

/** Options of kin_informer_open. */
typedef struct kin_informer_options {
  size_t size; /**< set by the INIT macro */

  /* --- What to follow --- */

  /** The resource, in lower case: {"", "v1", "pods"}, {"apps", "v1",
   * "deployments"}. group NULL or "": the core group; version NULL: "v1". */
  const char *group;
  const char *version;
  const char *plural; /**< required */

  /** The scopes. None: all namespaces (or a cluster-scoped resource). At most
   * 1,024, each named once. Copied. See kin_informer_add_namespace. */
  const char *const *namespaces;
  size_t namespace_count;

  /** At most 64 KiB each; NULL or "": all. The server parses them. */
  const char *label_selector; /**< such as "app=web,tier!=cache" */
  const char *field_selector; /**< such as "spec.nodeName=n1" */

  /* --- Callbacks --- */

  kin_error_cb on_error; /**< may be NULL: retried all the same */
  kin_state_cb on_state; /**< may be NULL */
  kin_informer_mutation_cb on_mutation; /**< may be NULL: logged all the same */

  /** Called once when the informer is gone, also if the client closed it; may
   * be NULL. */
  kin_informer_close_cb on_closed;
  void *data; /**< passed to all callbacks but transform and modify */

  /* --- What is stored of an object: memory --- */

  bool metadata_only; /**< ask for metadata only (PartialObjectMetadata) */
  bool keep_managed_fields; /**< metadata.managedFields, too; see fields */

  /** Limit of one object's JSON as received, before any field is dropped; 0:
   * 16 MiB; at most 1 GiB. An object over the limit is stored with its key,
   * uid, version and labels only (kin_object_is_key_only): events, updates,
   * deletions and lists are as usual. on_error is called for it. An object over
   * 1 GiB fails the request as if it could not be decoded. */
  uint32_t max_object_bytes;

  /** Only these fields are stored, by JSON Pointer of at most 64 tokens of at
   * most 65,535 bytes. apiVersion, kind and metadata's name, namespace, uid,
   * resourceVersion and labels are always stored. None: all fields. Copied.
   * managedFields are stored if a field names them, all of metadata or the
   * whole object; keep_managed_fields has no effect then.
   *
   * A number in a pointer names a member of that name in an object, and an
   * element by its index in an array: "/spec/containers/0/image". In an array
   * on the way to a field, all elements behind the last named one are dropped.
   * Elements before it keep their places, so that indices stay right: objects
   * and arrays as empty ones, other values as they are. */
  const char *const *fields;
  size_t field_count;

  /** Labels are not stored, but those that `fields` names one by one; none if
   * the object has its key only. kin_object_label finds none, and selectors of
   * the program match objects as if they had none. kin_object_at and an index by
   * "/metadata/labels/..." find stored labels. label_selector works as ever. */
  bool drop_labels;

  /** An update after which the stored text differs in nothing but the
   * resourceVersion is stored, but listeners are not told. Such updates are
   * most of what Nodes and Leases send, if `fields` leaves heartbeats out. The
   * next update's old_object is the one that the store had, not the one that
   * the listener was shown. A list tells them to listeners that ask for
   * relist_updates. kin_status.unchanged counts them. */
  bool skip_unchanged;

  /** Makes what is stored of each object; NULL: all that the options above
   * leave. The transform runs before the store and all handlers, once for each
   * received state (uid and resourceVersion). A state that is cached is not
   * transformed again, neither for a list nor for a resync. The last state of a
   * deleted object is transformed, too; an object that is kept with its key
   * only is not.
   *
   * An object on which the transform fails stops nothing else. The state before
   * stays in the store if it is of the same object (uid); otherwise the store
   * has none. A deletion then comes with the cached state. The failure is
   * reported through on_error, as kin_error_cb says, with KIN_CLASS_DECODE; the
   * log names each as KIN_LOG_DEBUG. If the namespace is removed before, only
   * the log has them. The object is tried again when it changes. Only
   * KIN_ENOMEM fails the request, which is repeated. */
  kin_transform_cb transform;
  void *transform_data; /**< passed to transform */

  /* --- How fresh --- */

  kin_consistency consistency; /**< of lists */

  uint32_t resync_ms; /**< listeners' default period; 0: none */

  /** For KIN_CONSISTENCY_AT_LEAST, else NULL: a resourceVersion of this
   * resource that the program has seen; shorter than 64 bytes, not "" and not
   * "0". Copied. */
  const char *start_version;

  /** A watch that has received no byte for this long is STALE. The informer
   * then asks the server whether the watch's position still stands, as by
   * kin_informer_verify and at the same cost; or lists, if the server refuses
   * to answer or has no resourceVersion. 0: never; at most an hour. */
  uint32_t stale_after_ms;

  /** Delete the stored objects if the resource has vanished (404), as after the
   * removal of its definition. The deletions have the reason "cleared" and come
   * in bounded steps. The informer stays synced. When the resource is back, the
   * informer lists it anew and calls on_relisted. An answer of KIN_STOP to the
   * error keeps all objects. By default all objects are kept. */
  bool clear_when_absent;

  /* --- How it is requested --- */

  /** Set: only lists. By default a list comes as a watch that begins with the
   * current objects (WatchList). The server then makes no list, and the state
   * is never older than the one before. If the server refuses such a watch, the
   * informer lists. If it then grants the list (after a 405 also the watch), no
   * informer of the client asks for such a watch again. */
  bool no_watch_list;

  /** Objects per page of a list; 0: 500, KIN_NEVER: unlimited. The server
   * answers the first list from its cache and ignores the page size there. */
  uint32_t page_size;

  /** Time for which a watch that ends with an internal error (500) is repeated
   * without a wait; then the informer lists. 0: such a watch is repeated after
   * waits, without a limit; at most a day. */
  uint32_t internal_error_retry_ms;

  /** Added to the query of each request, also to `source`: at most 64, of at
   * most 16 KiB together, copied and percent-encoded. A name may occur more
   * than once. A name must not be empty nor one that the library sets itself:
   * allowWatchBookmarks, continue, fieldSelector, labelSelector, limit,
   * resourceVersion, resourceVersionMatch, sendInitialEvents, timeoutSeconds,
   * watch. */
  const kin_parameter *parameters;
  size_t parameter_count;

  kin_modify_request_cb modify; /**< NULL: requests are made as they are */
  void *modify_data;            /**< passed to modify */

  /* --- Rarely needed --- */

  /** Set: after kin_informer_start, adding an index fails with KIN_EALREADY, as
   * in older client-go. */
  bool fixed_indices;

  /** How objects are kept in memory; KIN_ENOTSUP in a build without zstd. */
  kin_compact compact;

  /** The source of objects instead of the API server; NULL: the API server. The
   * struct is copied. The names above are only passed on to the source, and its
   * objects are stored as they are: keep_managed_fields, fields,
   * metadata_only and drop_labels have no effect. */
  const kin_lister_watcher *source;

  /* --- Past one process --- */

  /** Only the objects of one shard: shard_index of shard_count shards, counted
   * from 0; at most 4,096. shard_count 0 or 1: all objects. Each object is in
   * exactly one shard, by the FNV-1a hash of its uid: in equal ranges of the
   * 64-bit hash, as KEP-5866 has them. So programs that agree on shard_count
   * divide a resource among them, in whichever language.
   *
   * Each list and watch names the shard (shardSelector). An API server with the
   * feature gate ShardedListAndWatch sends its objects only. Any other server
   * ignores the parameter and sends all objects; then those of other shards are
   * dropped as their bytes arrive, which costs the scan but no memory. The
   * result is the same, also if the server changes while the informer runs;
   * kin_status.shard_filter says which. Objects of a source of the program's
   * own are dropped likewise. doc/scale.md has the costs.
   *
   * kin_reflector, kin_pager and kin_retry_watcher refuse a shard_count. */
  uint32_t shard_index;
  uint32_t shard_count; /**< see shard_index */

  /* --- A bound of memory --- */

  kin_max_bytes_cb on_max_bytes; /**< NULL: KIN_MEMORY_PAUSE */

  /** Bound of the informer's objects in bytes, as kin_object_memory counts them;
   * 0: none. Objects count that are cached, queued for the cache, or staged
   * for an incomplete list; a state that is replaced does not count beside its
   * successor. An object that does not fit is not stored: see kin_max_bytes_cb.
   * Deletions are always taken.
   *
   * Beside these bytes there may be one received object, and, in the queue, the
   * objects of one read of 64 KiB. Not counted: objects that the program or a
   * listener's queue holds (exact_limit bounds the queue), 28 bytes for each
   * object, indices, and the allocator's rounding. doc/memory.md has how much
   * that is. */
  uint64_t max_bytes;
} kin_informer_options;
/** Sets the size, and each member to its default. */
#define KIN_INFORMER_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(kin_informer_options), NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, false, false, 0, NULL, 0, false, false, NULL,  \
        NULL, KIN_CONSISTENCY_ANY, 0, NULL, 0, false, false, 0, 0, NULL, 0,    \
        NULL, NULL, false, KIN_COMPACT_OFF, NULL, 0, 0, NULL, 0                \
  }

/** Opens an informer; nothing is requested before kin_informer_start.
 * Errors: KIN_EINVAL (names, fields, a namespace named twice, more than 1,024
 * namespaces, a selector, parameters or a number over its limit, a parameter's
 * name, a shard that does not exist or comes with a parameter shardSelector, a
 * start_version that does not go with the consistency, a source without its
 * functions), KIN_ENOTSUP (options of a newer version; compact, in a build
 * without zstd), KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then.
 * Cost: O(namespaces). */
KIN_EXTERN int kin_informer_open(kin_informer **out, kin_client *client,
                                 const kin_informer_options *options);

/** Begins to list and watch. A source of the program's own (and `modify`) is
 * called for the first time inside this call; handlers and other event
 * callbacks come from later loop iterations.
 * Errors: KIN_EALREADY (started before), KIN_ECLOSED.
 * Cost: O(namespaces). */
KIN_EXTERN int kin_informer_start(kin_informer *informer);

/** Opens an informer, adds one listener and starts the informer. More listeners
 * may be added later. If `out` is NULL, the informer ends with the client.
 * Errors: those of kin_informer_open and kin_informer_listen. After an error no
 * informer is open, no callback comes, and *out is NULL.
 * Cost: O(namespaces). */
KIN_EXTERN int kin_informer_follow(kin_informer **out, kin_client *client,
                                   const kin_informer_options *options,
                                   const kin_listener_options *listener);

/** Ends an informer and its listeners. No callback comes after this call except
 * those of waits for versions (kin_version_cb) and then cb (may be NULL) and
 * on_closed, from a later loop iteration. Then the informer, its store and its
 * listeners are gone. Objects kept with kin_object_ref live on. Legal in every
 * event callback.
 * Errors: KIN_EALREADY (closing; cb is not called).
 * Cost: O(namespaces); the objects are freed in later loop iterations. */
KIN_EXTERN int kin_informer_close(kin_informer *informer,
                                  kin_informer_close_cb cb, void *data);

/** Adds a namespace to an informer that has a set of them, before its start or
 * later. The namespace is listed and watched like the others, with a version, a
 * state and relists of its own.
 *
 * If its first list is complete before the informer has synced, its objects are
 * part of the initial state, and the initial state waits for that list. After
 * that its objects are ordinary adds, and `relisted` with the namespace says
 * that they are complete; kin_status.has_synced says the same.
 *
 * A namespace whose removal is not complete may be added again: it is idle
 * until its old objects have been deleted, then begins anew.
 *
 * Legal in every event callback.
 * Errors: KIN_EINVAL (no name of a namespace, or the informer is for all; see
 * kin_client_problem), KIN_EEXIST, KIN_ETOOBIG (it has 1,024, unfinished
 * removals included), KIN_ECLOSED, KIN_ENOMEM. Nothing has changed then.
 * Cost: O(namespaces), with a small factor. */
KIN_EXTERN int kin_informer_add_namespace(kin_informer *informer,
                                          const char *namespace_);

/** Removes a namespace. Its request ends at once; on_error, on_state and its
 * status end with it. Objects received but not stored are dropped. Its stored
 * objects are deleted with the reason KIN_DELETE_SCOPE_REMOVED, in bounded
 * steps of later loop iterations; until then they stay readable. Every listener
 * gets a delete for each object that it knows, and then nothing more of this
 * namespace. If memory runs out meanwhile, the deletion is tried again, which
 * only the log says.
 *
 * The last namespace may be removed, too: the informer then does nothing until
 * one is added. An informer that has not synced does so when all remaining
 * namespaces have and nothing is left of the removed ones, also if no namespace
 * remains.
 *
 * Legal in every event callback, also in one about this namespace.
 * Errors: KIN_EINVAL (as above), KIN_ENOENT (no such namespace, or removed
 * already), KIN_ECLOSED.
 * Cost: O(namespaces), with a small factor; then O(n) for the objects of the
 * informer, in steps. */
KIN_EXTERN int kin_informer_remove_namespace(kin_informer *informer,
                                             const char *namespace_);

/** Changes the shard of an informer, before its start or later: see
 * kin_informer_options.shard_count. Open requests end, and each namespace is
 * listed again. Objects of both shards stay, and nothing is told of them. The
 * others of the old one are deleted with the reason KIN_DELETE_RESHARDED when
 * that list is applied; those of the new one come as adds. `relisted` then says
 * that the change is complete. Until then the store keeps the old shard and
 * gets no changes. With the present shard only a paused informer lists.
 *
 * An informer that waits after a failure lists when its wait ends, a paused one
 * at once. A list being applied comes first. To hand objects over without a gap,
 * change the programs that get objects before those that give them away.
 *
 * Legal in every event callback.
 * Errors: KIN_EINVAL (no such shard, more than 4,096 shards, or the informer
 * has a parameter shardSelector; see kin_client_problem), KIN_ECLOSED. Nothing
 * has changed then. Cost: O(namespaces); then a list. */
KIN_EXTERN int kin_informer_set_shard(kin_informer *informer, uint32_t index,
                                      uint32_t count);

/** The cache. It lives until the informer's close callback. It may change in
 * each turn of the loop, and objects of which the program holds no reference may
 * become others with the same content: after many deletions the rest is moved
 * together, so that memory goes back to the system. */
KIN_EXTERN kin_store *kin_informer_store(kin_informer *informer);

/** Returns whether the first lists of all scopes are in the store, or once
 * were: a namespace that is added later does not change true to false. */
KIN_EXTERN bool kin_informer_has_synced(const kin_informer *informer);

/** Reads the state of a scope; `namespace_` "" (or NULL) is the scope of all
 * namespaces. `status` begins as KIN_STATUS_INIT.
 * Errors: KIN_EINVAL (the size), KIN_ENOENT (no such scope, or it has been
 * removed); nothing is written then.
 * Cost: O(namespaces), with a small factor. */
KIN_EXTERN int kin_informer_get_status(const kin_informer *informer,
                                       const char *namespace_,
                                       kin_status *status);

/** The result of a wait for a version or of a verification; an event callback,
 * called exactly once for each call below that returned 0. `code`:
 *
 *   0              everything up to `version` is in the store; handlers may
 *                  not have been called for the last of it yet
 *   KIN_ETIMEDOUT  not within timeout_ms
 *   KIN_ENOTSUP    the lists of this resource have no resourceVersion, as
 *                  with some aggregated APIs, so nothing says how far the
 *                  store has come. Such a scope is listed again after each
 *                  watch, and after a request that is answered so
 *   KIN_ECLOSED    the informer or its client closes, the scope was removed,
 *                  or an answer to an error stopped the scope. Apart from the
 *                  close callbacks, only this callback may come after
 *                  kin_informer_close; it comes before them, and may do with
 *                  the informer only what is legal while it closes.
 *
 * `version` is valid during the call. For a wait it is the version waited for;
 * for a verification the version that was found, "" if the verification
 * failed. */
typedef void (*kin_version_cb)(kin_informer *informer, int code,
                               const char *version, void *data);

/** Waits until the store holds everything up to `version` in a scope. Example:
 * the program has written an object, got this resourceVersion in the answer,
 * and wants to read its own write. cb comes from a later loop iteration, also
 * if the version has been reached already. Legal before the start; the wait
 * goes on as long as there is no watch. `namespace_` is a scope, as for
 * kin_informer_get_status; a version belongs to a server and a resource.
 * timeout_ms 0: none.
 *
 * Versions are compared as decimal numbers; a version that is no number is
 * found only if the watch or a list comes to exactly that version. The server
 * is asked only if the version has not come after 500 ms, as happens where a
 * selector hides the change. The request is then made once for all waits of the
 * scope, as by kin_informer_verify and at the same cost. If the server does not
 * know the version yet, the request is repeated after 1 s, 2 s, ... and at last
 * every minute.
 *
 * If the transform refused an object, the store holds its earlier state.
 *
 * Errors: KIN_EINVAL (no cb, version NULL, "" or of 64 bytes and more),
 * KIN_ENOENT (no such scope), KIN_ECLOSED (closing), KIN_EAGAIN (4,096 such
 * waits and verifications of this informer have not been called back, or 64
 * whose version is no number of 64 bits), KIN_ENOMEM.
 * Cost: O(log n) for n waits, and O(namespaces), with a small factor. */
KIN_EXTERN int kin_informer_wait_version(kin_informer *informer,
                                         const char *namespace_,
                                         const char *version,
                                         uint64_t timeout_ms, kin_version_cb cb,
                                         void *data);

/** Checks that a scope is up to date, and repairs it if not. The server is
 * asked for its newest version by a consistent list of one item, and the watch
 * must come to that version. The watch is opened again for 3 s, so that pending
 * events come, or the server says where it is, or its silence proves that
 * nothing is left. If none of these happens twice, as when a proxy has lost the
 * events, on_error is called (KIN_EGONE, class server) and a consistent list is
 * made.
 *
 * Then cb gets the version that the store has come to. That version is at least
 * the newest of the time of this call, and may be beyond
 * kin_status.resource_version. Without a watch, the verification waits until
 * there is one. One request that was made after this call answers all
 * verifications that waited for it, so this may be called often; each request
 * interrupts the watch. A refused request is reported (on_error) and made again
 * after 500 ms, 1 s, 2 s, ... and at last every minute. timeout_ms 0: none.
 *
 * Silence is a proof only on the connection of a list that was at the version;
 * a source of the program's own that gives no bookmarks is asked for a list.
 * The answer 0 means that the watch says so. This answer is wrong
 *
 *   - behind a proxy that spreads the requests of one connection over several
 *     API servers, one of which is stuck;
 *   - if the server, or a proxy, has more events but sends nothing for the
 *     3 s, or leaves out the rest, and yet ends the watch in good order.
 *     Until then the position is kept, and the next watch brings the rest;
 *   - if a single event was left out before one that came, or before a
 *     bookmark. No later watch brings that event: only a list does.
 *
 * Errors: KIN_EINVAL (no cb), else as for kin_informer_wait_version.
 * Cost: O(log n) and O(namespaces) here, as there. */
KIN_EXTERN int kin_informer_verify(kin_informer *informer,
                                   const char *namespace_, uint64_t timeout_ms,
                                   kin_version_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_INFORMER_H */
