/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_H
#define KIN_REFLECTOR_H

/** @file
 * Reflectors: a resource into a store of the program's. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/reflector_store.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A reflector lists and watches a resource and writes the objects to a store
 * or queue of the program (client-go's Reflector). It is the part of an
 * informer that talks to the server, for programs that build the rest
 * themselves. Like an informer, it retries every failure until it is closed.
 *
 * Objects over max_object_bytes are written with their key only, and objects
 * without a name are skipped, as informers do: see kin_error_cb. If the store
 * refuses a list with KIN_EKEY, its objects with a slash in name or namespace
 * are skipped, too. A list that has no others fails with KIN_EKEY.
 *
 * A reflector has one scope: all namespaces, or one. It belongs to the loop's
 * thread. */
typedef struct kin_reflector kin_reflector;

/** Asked when a resync is due, whether to resync the store; an event
 * callback. */
typedef bool (*kin_reflector_should_resync_cb)(kin_reflector *reflector,
                                               void *data);

/** Called for each failure; an event callback. The callback may answer through
 * the event (client-go's WatchErrorHandler). */
typedef void (*kin_reflector_error_cb)(kin_reflector *reflector,
                                       kin_error_event *event, void *data);

/** Called for each change of state; an event callback. */
typedef void (*kin_reflector_state_cb)(kin_reflector *reflector, kin_state from,
                                       kin_state to, void *data);

/** Called once when a reflector is gone. */
typedef void (*kin_reflector_close_cb)(void *data);

/** Options of kin_reflector_open. */
typedef struct kin_reflector_options {
  size_t size; /**< set by the INIT macro */

  /** The listed and watched resource, and what is kept of its objects;
   * required, copied. Used are group, version, plural, namespaces (at most
   * one), label_selector, field_selector, page_size, max_object_bytes,
   * keep_managed_fields, fields, metadata_only, no_watch_list, source,
   * parameters, modify and its data, consistency, start_version, stale_after_ms
   * and internal_error_retry_ms. data and transform_data have no effect. The
   * rest must be as KIN_INFORMER_OPTIONS_INIT has it.
   *
   * A list that comes as a watch is gathered. When it is complete, the store
   * gets its final state in one call of replace. */
  const kin_informer_options *resource;

  /** The target of the writes; required, the struct is copied. The target of
   * its ctx must outlive the reflector. */
  const kin_reflector_store *store;

  /** For logs and error messages, at most 255 bytes, copied. NULL or "": the
   * resource, as kin_reflector_description. */
  const char *name;

  /** The store is resynced this long after its last list or resync; 0:
   * never. */
  uint32_t resync_ms;
  kin_reflector_should_resync_cb should_resync; /**< NULL: always */

  kin_reflector_error_cb on_error; /**< may be NULL: retried all the same */
  kin_reflector_state_cb on_state; /**< may be NULL */

  /** Called once when the reflector is gone, also if the client closed it; may
   * be NULL. */
  kin_reflector_close_cb on_closed;
  void *data; /**< passed to all four */
} kin_reflector_options;
/** Sets the size, and each member to its default. */
#define KIN_REFLECTOR_OPTIONS_INIT                                             \
  {                                                                            \
    sizeof(kin_reflector_options), NULL, NULL, NULL, 0, NULL, NULL, NULL,      \
        NULL, NULL                                                             \
  }

/** Opens a reflector; nothing is requested before kin_reflector_start.
 * Errors: KIN_EINVAL (names, fields, more than one namespace, options of the
 * resource that must not be set, a store or source without its functions),
 * KIN_ETOOBIG (name), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED
 * (client), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_reflector_open(kin_reflector **out, kin_client *client,
                                  const kin_reflector_options *options);

/** Begins to list and watch.
 * Errors: KIN_EALREADY (started before), KIN_ECLOSED. */
KIN_EXTERN int kin_reflector_start(kin_reflector *reflector);

/** Tells the reflector that the store may have room again. If reading was
 * paused and is_full says no, reading goes on soon. Legal everywhere, also in
 * the functions of the store.
 * Errors: KIN_ECLOSED. Cost: O(1). */
KIN_EXTERN int kin_reflector_resume(kin_reflector *reflector);

/** Ends a reflector: its request is cancelled, the store keeps its objects. No
 * callback and no call of the store comes after this call except cb (may be
 * NULL), from a later loop iteration; then the reflector is gone. Legal in
 * every event callback and in the functions of the store. Closing the client
 * closes its reflectors.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_reflector_close(kin_reflector *reflector,
                                   kin_reflector_close_cb cb, void *data);

/** Reads the state. `status` begins as KIN_STATUS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. */
KIN_EXTERN int kin_reflector_get_status(const kin_reflector *reflector,
                                        kin_status *status);

/** Returns whether the first list is in the store. */
KIN_EXTERN bool kin_reflector_has_synced(const kin_reflector *reflector);

/** The version that the store has come to, "" before the first list: that of
 * the list once replace has taken it, then of each change and bookmark.
 * Borrowed until the reflector reads on. */
KIN_EXTERN const char *
kin_reflector_last_sync_version(const kin_reflector *reflector);

/** Returns whether the server said that it does not have that version (expired,
 * or newer than its own), or its lists have no version at all. The next list
 * then asks for the newest version. */
KIN_EXTERN bool
kin_reflector_is_last_sync_version_unavailable(const kin_reflector *reflector);

/** The name, and the resource, such as "pods.v1" or "deployments.v1.apps". They
 * live as long as the reflector. */
KIN_EXTERN const char *kin_reflector_name(const kin_reflector *reflector);
KIN_EXTERN const char *
kin_reflector_description(const kin_reflector *reflector);

#ifdef __cplusplus
}
#endif

#endif /* KIN_REFLECTOR_H */
