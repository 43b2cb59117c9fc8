/* SPDX-License-Identifier: MIT */
#ifndef KIN_WAIT_H
#define KIN_WAIT_H

/** @file
 * Waiting until informers have synced. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/informer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Waits until any number of things are done, and then calls back once. Things
 * are informers and listeners that are to sync, and conditions of the program.
 * Only the program's conditions are polled. */
typedef struct kin_wait kin_wait;

/** Returns whether a condition of the program holds; once it does, it is not
 * checked again. Called by the loop, at once and then every 100 ms, never
 * inside a kin_ call. */
typedef bool (*kin_wait_check_cb)(void *data);

/** One thing to wait for: exactly one of informer, listener and check is
 * set. */
typedef struct kin_wait_for {
  /** Name in log and error text, required for a check. NULL: the resource, such
   * as "deployments.v1.apps"; for a listener followed by the listener's name.
   * At most 1,024 bytes; copied. */
  const char *name;

  /** Done when the informer or listener has synced (kin_informer_has_synced,
   * kin_listener_has_synced). If it is closed before that, it is never done. */
  kin_informer *informer;
  kin_listener *listener;

  /** Done when it returns true. */
  kin_wait_check_cb check;
  void *data; /**< passed to check */
} kin_wait_for;

/** The result for one thing. */
typedef struct kin_wait_item {
  const char *name; /**< never NULL */
  bool is_done;     /**< in time */
  bool is_closed;   /**< closed before it was done */
} kin_wait_item;

/** The result of a wait; valid during the callback. */
typedef struct kin_wait_result {
  size_t size; /**< see KIN_HAS */
  /** 0: all are done. KIN_ETIMEDOUT. KIN_ECLOSED: the client was closed, or all
   * things that are not done were. Else the code given to kin_wait_cancel. */
  int code;
  const kin_wait_item *items; /**< in the order of kin_wait_options.things */
  size_t count;
  /** "failed to wait for all: NAMES: CAUSE", with the names of the things that
   * are not done, sorted, separated by ", "; "" if all are done. */
  const char *error;
} kin_wait_result;

/** An event callback. The wait is gone when the callback returns. */
typedef void (*kin_wait_cb)(const kin_wait_result *result, void *data);

/** Options of kin_wait_open. */
typedef struct kin_wait_options {
  size_t size;                /**< set by the INIT macro */
  const kin_wait_for *things; /**< at most 4,096; copied; none: done at once */
  size_t count;               /**< of things */
  kin_wait_cb cb;             /**< required */
  void *data;                 /**< passed to cb */

  /** Name of the wait, such as "my controller's caches". The client's log then
   * says at level INFO that the wait begins, when each thing is done, and which
   * were not when the wait ended. NULL or "": nothing is logged. At most 1,024
   * bytes; copied. */
  const char *what;

  uint64_t timeout_ms; /**< 0: none */
} kin_wait_options;
/** Sets the size, and each member to its default. */
#define KIN_WAIT_OPTIONS_INIT                                                  \
  { sizeof(kin_wait_options), NULL, 0, NULL, NULL, NULL, 0 }

/** Begins to wait. cb comes exactly once, from a later loop iteration, even if
 * everything is done already; then the wait ends by itself. If the client is
 * closed, cb comes before the client's close callback. `out` may be NULL if
 * there is no need to cancel.
 * Errors: KIN_EINVAL (options, no cb, a thing with none or several set),
 * KIN_ETOOBIG (things, names), KIN_ENOTSUP (options of a newer version),
 * KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then.
 * Cost: O(n log n). */
KIN_EXTERN int kin_wait_open(kin_wait **out, kin_client *client,
                             const kin_wait_options *options);

/** Gives up: cb comes, not inside this call, with `code`, or with 0 if
 * everything is done by then. `code` is a negative code that says why,
 * UV_ECANCELED for instance. Legal in every event callback, but not once cb has
 * returned.
 * Errors: KIN_EINVAL (code), KIN_EALREADY (given up before, or timed out). */
KIN_EXTERN int kin_wait_cancel(kin_wait *wait, int code);

#ifdef __cplusplus
}
#endif

#endif /* KIN_WAIT_H */
