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
  KIN_STATE_LIVE,         /* a watch is open */
  KIN_STATE_RECONNECTING, /* synced once; watch or list is being reopened */
  KIN_STATE_STALE,        /* reconnecting without success for a minute */
  KIN_STATE_DENIED,       /* the server answers 401 or 403 */
  KIN_STATE_ABSENT        /* the server answers 404 */
} kin_state;

/* Returns "idle", "syncing", "live", ... Static. */
KIN_EXTERN const char *kin_state_name(kin_state state);

/* A scope as it is now. Ages are milliseconds since, UINT64_MAX for never. */
typedef struct kin_status {
  kin_state state;
  bool has_synced;           /* its first list is in the store */
  char resource_version[64]; /* last one seen; "" for none, cut if longer */
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
  uint64_t events;  /* ADDED, MODIFIED and DELETED received */
  uint64_t bookmarks;
  uint64_t unchanged; /* listed or watched objects that were cached already */
  uint64_t received_bytes;     /* of response bodies */
  uint64_t transform_failures; /* states that the transform failed on */
} kin_status;

/* Told of each change of a scope's state; an event callback. `namespace_` is ""
 * for all namespaces. */
typedef void (*kin_state_cb)(kin_informer *informer, const char *namespace_,
                             kin_state from, kin_state to, void *data);

/* Told of each failure; an event callback. It may answer through the event. */
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

typedef struct kin_informer_options {
  size_t size;

  /* The resource, in lower case: {"", "v1", "pods"}, {"apps", "v1",
   * "deployments"}. group NULL or "" is the core group; version NULL is
   * "v1". */
  const char *group;
  const char *version;
  const char *plural; /* required */

  /* The scopes. None: all namespaces (or a cluster-scoped resource). Each must
   * be named once; at most 1,024. Copied. */
  const char *const *namespaces;
  size_t namespace_count;

  /* At most 64 KiB each; NULL or "": all. The server parses them. */
  const char *label_selector; /* such as "app=web,tier!=cache" */
  const char *field_selector; /* such as "spec.nodeName=n1" */

  /* Objects per page of a list; 0: 500, KIN_NEVER: unlimited. The first list is
   * answered from the server's cache, which ignores it (RL-01). */
  uint32_t page_size;

  uint32_t resync_ms; /* listeners' default period; 0: none */

  /* Of one object's JSON as it is received; 0: 16 MiB; at most 1 GiB. */
  uint32_t max_object_bytes;

  /* What is stored of each object. By default everything except
   * metadata.managedFields. */
  bool keep_managed_fields;

  /* Only these fields are stored, by JSON Pointer, besides apiVersion, kind
   * and metadata's name, namespace, uid, resourceVersion and labels. None: all.
   * Copied. */
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
   * KIN_EALREADY, as it was in older client-go (OQ-08). */
  bool fixed_indices;

  kin_error_cb on_error; /* may be NULL: retried all the same */
  kin_state_cb on_state; /* may be NULL */
  void *data;            /* passed to all callbacks but transform */

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
   * object is transformed, too.
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
} kin_informer_options;
#define KIN_INFORMER_OPTIONS_INIT                                              \
  {                                                                            \
    sizeof(kin_informer_options), NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, 0, \
        0, false, NULL, 0, false, false, false, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, NULL                                                       \
  }

/* Opens an informer; nothing is requested before kin_informer_start.
 * Errors: KIN_EINVAL (names, fields, a namespace named twice, more than 1,024
 * namespaces, a selector or max_object_bytes over its limit, a source without
 * its functions), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED
 * (client), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_informer_open(kin_informer **out, kin_client *client,
                                 const kin_informer_options *options);

/* Begins to list and watch in a later loop iteration. Errors: KIN_EALREADY
 * (started before; SI-02), KIN_ECLOSED. */
KIN_EXTERN int kin_informer_start(kin_informer *informer);

/* Ends an informer and its listeners. No callback comes after this call except
 * cb (may be NULL), from a later loop iteration; then the informer, its store
 * and its listeners are gone. Kept objects live on. Legal in every event
 * callback.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_informer_close(kin_informer *informer,
                                  kin_informer_close_cb cb, void *data);

/* The cache. Lives until the informer's close callback. */
KIN_EXTERN kin_store *kin_informer_store(kin_informer *informer);

/* Whether the first lists of all scopes are in the store (SI-16). */
KIN_EXTERN bool kin_informer_has_synced(const kin_informer *informer);

/* Reads the state of a scope; `namespace_` "" (or NULL) is the scope of all
 * namespaces. Errors: KIN_ENOENT (no such scope). */
KIN_EXTERN int kin_informer_get_status(const kin_informer *informer,
                                       const char *namespace_,
                                       kin_status *status);

#ifdef __cplusplus
}
#endif

#endif /* KIN_INFORMER_H */
