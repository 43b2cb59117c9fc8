/* SPDX-License-Identifier: MIT */
#ifndef KIN_EVENT_RECORDER_H
#define KIN_EVENT_RECORDER_H

/** @file
 * Events: what a controller did with an object, for people who ask
 * `kubectl describe`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/object_reference.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Writes Events of events.k8s.io/v1 (client-go's tools/events).
 *
 * Occurrences of the same type, reason, action, regarding and related object
 * are one Event, whatever their notes and whatever the object's
 * resourceVersion. The first one creates the Event. The second one makes it a
 * series of 2. Later ones are counted; the count is written every 30 minutes,
 * and when none came for 6 minutes.
 *
 * Three limits keep a controller that fails again and again from flooding the
 * server: new Events about one object (burst and interval_s), Events that wait
 * to be written (max_queued), and Events that are remembered (max_series). What
 * is dropped is counted.
 *
 * A try without an answer, or with 429 or 5xx, is repeated up to 11 times, 10 s
 * to 12.5 s apart. A server that asks for a longer wait (Retry-After) gets it,
 * up to an hour. */
typedef struct kin_event_recorder kin_event_recorder;

/** Called for each request that fails; an event callback. `retry_in_ms` is 0
 * if the Event is given up. Of the answers none counts. */
typedef void (*kin_event_recorder_error_cb)(kin_error_event *event, void *data);

/** An event callback; the recorder is gone. */
typedef void (*kin_event_recorder_close_cb)(void *data);

/** Options of kin_event_recorder_open. The library copies everything. */
typedef struct kin_event_recorder_options {
  size_t size; /**< set by the INIT macro */

  /** Required: the controller's name, "example.com/web-controller"; at most 128
   * bytes. */
  const char *controller;
  /** The name of this copy of the controller, at most 128 bytes. NULL: the
   * controller's name, '-' and the machine's. */
  const char *instance;

  uint32_t max_series; /**< Events that are remembered; 0: 4,096; at most
                        * 1,048,576 */
  uint32_t max_queued; /**< Events that wait to be written; 0: 1,000; at most
                        * 65,536 */
  /** New Events about one object and of one type: so many at once, and one more
   * each interval_s. 0: 25 and 300 s; at most 65,536 and a day. */
  uint32_t burst;
  uint32_t interval_s; /**< see burst */

  /** How long kin_event_recorder_close goes on to write what is waiting. An
   * Event that waits for its next try is tried once more at once, and the last
   * counts of series are written; a try that fails now is the last one. 0:
   * nothing is written; at most a minute. A client that closes writes nothing
   * more. */
  uint32_t flush_ms;

  kin_event_recorder_error_cb on_error;  /**< may be NULL */
  kin_event_recorder_close_cb on_closed; /**< may be NULL; comes after the
                                          * callback of
                                          * kin_event_recorder_close */
  void *data;                            /**< passed to the callbacks */
} kin_event_recorder_options;
/** Sets the size, and each member to its default. */
#define KIN_EVENT_RECORDER_OPTIONS_INIT                                        \
  {                                                                            \
    sizeof(kin_event_recorder_options), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, \
        NULL                                                                   \
  }

/** Opens a recorder; nothing is sent.
 * Errors: KIN_EINVAL (a name that is missing or too long, a number over its
 * limit; kin_client_problem says which), KIN_ENOTSUP (members of a newer
 * version), KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then. Cost:
 * O(max_series) with an allocator of the program's, else O(1). */
KIN_EXTERN int
kin_event_recorder_open(kin_event_recorder **out, kin_client *client,
                        const kin_event_recorder_options *options);

/** Records an occurrence. The Event lies in the namespace of `regarding`, or in
 * "default" if that has none. Never waits, and may be called in every event
 * callback.
 *
 * `regarding` is required, with kind and name; `related` is NULL or another
 * object that was involved, with kind and name. `type` is "Normal" or "Warning".
 * `reason` ("Scaled") and `action` ("Scaling") are required, of at most 128
 * bytes. `note` is for people, may be NULL, and is cut to 1,024 bytes between
 * two characters. Bytes that are no UTF-8 become '?'.
 * Errors: KIN_EINVAL (arguments; a text of a reference over 1,024 bytes, or
 * with a NUL; kin_client_problem says which), KIN_EAGAIN (dropped by one of the
 * three limits, and counted), KIN_ECLOSED (the recorder), KIN_ENOMEM. Cost:
 * O(length of the texts). */
KIN_EXTERN int kin_event_recorder_record(kin_event_recorder *recorder,
                                         const kin_object_reference *regarding,
                                         const kin_object_reference *related,
                                         const char *type, const char *reason,
                                         const char *action, const char *note);

/** Ends the recorder, after flush_ms at most. `cb` comes from a later loop
 * iteration. Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_event_recorder_close(kin_event_recorder *recorder,
                                        kin_event_recorder_close_cb cb,
                                        void *data);

/** Counters of a recorder, for metrics; may be read at any time. */
typedef struct kin_event_recorder_metrics {
  size_t size; /**< set by the INIT macro */

  uint64_t recorded;       /**< occurrences that were accepted */
  uint64_t created;        /**< Events that were created */
  uint64_t patched;        /**< writes of a series */
  uint64_t retries;        /**< tries after the first */
  uint64_t dropped_spam;   /**< occurrences: too many about one object */
  uint64_t dropped_full;   /**< occurrences: max_queued or max_series,
                            * which also drops those that were counted and
                            * not written yet */
  uint64_t dropped_writes; /**< writes that were rejected, or given up after 12
                            * tries */
  uint32_t series;         /**< Events that are remembered now */
  uint32_t queued;         /**< Events that wait to be written now, those that
                            * are being written included */
} kin_event_recorder_metrics;
/** Sets the size, and each member to its default. */
#define KIN_EVENT_RECORDER_METRICS_INIT                                        \
  { sizeof(kin_event_recorder_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Copies the counters. `metrics` begins as KIN_EVENT_RECORDER_METRICS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. Cost: O(1). */
KIN_EXTERN int
kin_event_recorder_get_metrics(const kin_event_recorder *recorder,
                               kin_event_recorder_metrics *metrics);

#ifdef __cplusplus
}
#endif

#endif /* KIN_EVENT_RECORDER_H */
