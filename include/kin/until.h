/* SPDX-License-Identifier: MIT */
#ifndef KIN_UNTIL_H
#define KIN_UNTIL_H

/** @file
 * Waiting until conditions hold for a resource. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/export.h>
#include <kin/store.h>
#include <kin/watch.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Watches a resource until conditions hold, one after the other, and then
 * calls back once (client-go's Until, UntilWithSync and UntilWithoutRetry). */
typedef struct kin_until kin_until;

/** Returns whether a condition holds, judged by one event: 1 yes, 0 not yet; a
 * negative code if it never will, which ends the wait. A good condition asks
 * what the object is (the pod is ready), not what has changed (it became
 * ready). A DELETED event shows the last state, in which a condition may well
 * hold. ERROR events (kin_until_open only) come, too, and have no object. An
 * event callback. */
typedef int (*kin_until_condition_cb)(const kin_watch_event *event, void *data);

/** Called once, when the cache is complete: whether the wait is over already. 1
 * yes, 0 wait for the conditions, or a negative code. An event callback; the
 * store must not be changed. */
typedef int (*kin_until_precondition_cb)(kin_store *store, void *data);

/** A condition, and what its callback is given. */
typedef struct kin_until_condition {
  kin_until_condition_cb cb; /**< required */
  void *data;                /**< passed to cb */
} kin_until_condition;

/** The result; valid during the callback. */
typedef struct kin_until_result {
  size_t size; /**< see KIN_HAS */
  /** 0: the conditions hold, or the precondition did. KIN_ETIMEDOUT.
   * KIN_ECLOSED: the client was closed, or the informer was. The code that a
   * condition or the precondition returned, or that kin_until_cancel was given.
   * If the watch is over: see kin_retry_watcher; KIN_EEOF, if a watch without
   * retry ended normally; the failure's code, if on_error answered KIN_STOP. */
  int code;

  /** The last event that a condition was asked about; NULL if there was
   * none. */
  const kin_watch_event *event;

  size_t held; /**< conditions that held, from the first */
} kin_until_result;

/** An event callback. When the callback is called, the watch is gone already,
 * with its source and store. When the callback returns, the kin_until is
 * gone. */
typedef void (*kin_until_cb)(const kin_until_result *result, void *data);

/** Options of kin_until_open and kin_until_open_synced. */
typedef struct kin_until_options {
  size_t size; /**< set by the INIT macro */

  /** The watched resource; as for a retry watcher or for an informer
   * watcher. */
  const kin_informer_options *resource;

  /** At most 256; copied. An event that fulfils one condition is shown to the
   * next as well. Without conditions the wait is over at once, or with the
   * precondition. */
  const kin_until_condition *conditions;
  size_t condition_count;

  kin_until_cb cb; /**< required */
  void *data;      /**< passed to cb and on_error */

  /** For kin_until_open: see kin_retry_watcher_options. With
   * kin_until_open_synced, resource->on_error gets the failures. */
  const char *resource_version;
  bool without_retry;
  kin_watch_error_cb on_error; /**< may be NULL */

  /** For kin_until_open_synced; may be NULL. */
  kin_until_precondition_cb precondition;
  void *precondition_data; /**< passed to precondition */

  uint64_t timeout_ms; /**< of all together; 0: none */
} kin_until_options;
/** Sets the size, and each member to its default. */
#define KIN_UNTIL_OPTIONS_INIT                                                 \
  {                                                                            \
    sizeof(kin_until_options), NULL, NULL, 0, NULL, NULL, NULL, false, NULL,   \
        NULL, NULL, 0                                                          \
  }

/** Watches with a retry watcher after resource_version. Every change is seen,
 * in order, or the wait fails with KIN_EGONE. cb comes exactly once, from a
 * later loop iteration; if the client is closed, before its close callback.
 * `out` may be NULL if there is no need to cancel.
 * Errors: those of kin_retry_watcher_open; KIN_EINVAL (no cb, a condition
 * without one, a precondition); KIN_ETOOBIG (conditions). *out is NULL then. */
KIN_EXTERN int kin_until_open(kin_until **out, kin_client *client,
                              const kin_until_options *options);

/** Watches with an informer watcher: begins with the current objects, as ADDED
 * events, and survives every failure, but may skip states between two lists.
 * With a precondition, no condition is asked before the first list is complete
 * and the precondition has been asked. Without one, conditions are asked about
 * events as they come. Events that wait for the precondition, and those beyond
 * 4,096 that wait, are coalesced per object: no condition is shown an object
 * that comes and goes meanwhile. The rest is as with kin_until_open.
 * Errors: those of kin_informer_watcher_open; KIN_EINVAL (no cb, a condition
 * without one, a version, without_retry, on_error); KIN_ETOOBIG
 * (conditions). */
KIN_EXTERN int kin_until_open_synced(kin_until **out, kin_client *client,
                                     const kin_until_options *options);

/** Gives up: cb comes from a later loop iteration with `code`, a negative code
 * that says why (UV_ECANCELED, for instance). Legal in every event callback,
 * but not once cb has returned.
 * Errors: KIN_EINVAL (code), KIN_EALREADY (the wait has ended: cb is to come or
 * is being called). */
KIN_EXTERN int kin_until_cancel(kin_until *until, int code);

#ifdef __cplusplus
}
#endif

#endif /* KIN_UNTIL_H */
