/* SPDX-License-Identifier: MIT */
#ifndef KIN_METRICS_H
#define KIN_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/histogram.h>
#include <kin/informer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Plain numbers that each informer always keeps. A program may read them at any
 * time; without a reader they cost a few additions. These numbers replace
 * client-go's metrics providers. */

/** Why a scope gave up its position and listed again. */
typedef enum kin_relist_reason {
  KIN_RELIST_EXPIRED = 0, /**< 410: the server no longer has the version */
  KIN_RELIST_TOO_LARGE,   /**< the server does not have the version yet, or no
                           * longer, or has another address */
  KIN_RELIST_STORAGE,     /**< StorageReadError: the server cannot read an
                           * object */
  KIN_RELIST_DECODE,      /**< a frame of the watch could not be decoded */
  KIN_RELIST_REFUSED,     /**< the server calls the request malformed (400,
                           * 422) */
  KIN_RELIST_VERIFY,      /**< the watch is not where the server is */
  KIN_RELIST_INTERNAL     /**< internal errors for internal_error_retry_ms */
} kin_relist_reason;

/** Elements of an array with one for each reason. There are more than reasons,
 * for those of later versions; they are 0. */
#define KIN_RELIST_REASONS 16

/** Returns "expired", "too_large", ..., or "unknown". Static. */
KIN_EXTERN const char *kin_relist_reason_name(kin_relist_reason reason);

/** Elements of an array with one for each kin_error_class. There are more than
 * classes, for those of later versions; they are 0. */
#define KIN_ERROR_CLASSES 32
/** The same for kin_state. */
#define KIN_STATES 16

/** Sums over all scopes of an informer, removed ones included, since it was
 * opened. */
typedef struct kin_informer_metrics {
  size_t size; /**< set by the INIT macro */

  /* --- Lists --- */
  uint64_t lists;         /**< complete and applied, first lists included */
  uint64_t slow_lists;    /**< lists of over 10 s, from request to applied */
  uint64_t checked_lists; /**< compared lists: see check_watch_lists of a
                                * client */
  uint64_t inconsistent_lists; /**< lists that differed */
  kin_histogram list_us;       /**< from the first request to the last byte */
  kin_histogram list_items;    /**< of complete lists */

  /* --- Turns to list --- */
  size_t waiting_lists; /**< scopes that wait for their turn to list, now */
  /** Wait for the turn, of lists that had to wait. */
  kin_histogram list_wait_us;
  uint64_t overdue_lists; /**< not complete after list_turn_ms, while others
                               * waited */

  /* --- Watches --- */
  uint64_t watches;          /**< opened */
  uint64_t short_watches;    /**< ended within a second, and brought nothing */
  kin_histogram watch_us;    /**< from the request to its end */
  kin_histogram watch_items; /**< events of a watch, bookmarks included */

  /* --- What has come --- */
  uint64_t added_events; /**< received, except initial events of a WatchList */
  uint64_t modified_events; /**< received */
  uint64_t deleted_events;  /**< received */
  uint64_t bookmarks;       /**< received */
  uint64_t unchanged;       /**< objects received that were cached already */
  uint64_t received_bytes;  /**< of response bodies, inflated */

  /* --- Failures --- */
  uint64_t failures[KIN_ERROR_CLASSES]; /**< every failure, reported to on_error
                                         * or not, except the next three */
  uint64_t transform_failures; /**< states on which the transform failed */
  uint64_t oversized;          /**< see kin_status */
  uint64_t bad_objects;        /**< skipped objects: see kin_error_cb */
  /** How often the position was lost, by kin_relist_reason. */
  uint64_t lost_positions[KIN_RELIST_REASONS];

  /* --- Queue and store --- */
  size_t queue_depth;       /**< keys waiting now */
  kin_histogram process_us; /**< of up to 64 keys: from the queue to the
                             * listeners' queues */
  size_t objects;           /**< cached now */
  uint64_t object_bytes;    /**< of the cached objects, see kin_store_bytes */

  /* --- Listeners: closed ones count, except in the last two --- */
  uint64_t delivered;       /**< notifications, synced and relisted included */
  uint64_t coalesced;       /**< notifications merged into others */
  kin_histogram handler_us; /**< a callback, averaged over up to 16 in a row */
  size_t listeners;         /**< open now */
  size_t pending;           /**< undelivered notifications */

  /* --- See max_bytes of kin_informer_options --- */
  uint64_t max_bytes;         /**< the informer's own bound; 0: none */
  uint64_t bounded_bytes;     /**< that count for it now; while changes wait in
                               * the queue, also what these free */
  uint64_t max_bytes_reached; /**< objects after which the program was to be
                               * asked */
  uint64_t dropped_bodies;    /**< objects of which only the key was kept */

  /* --- Compact storage, see kin_informer_options.compact; else 0 --- */
  uint64_t packed_objects;    /**< states of objects that were packed */
  uint64_t packed_text_bytes; /**< the JSON texts of these */
  uint64_t packed_bytes;      /**< the same packed */
  uint64_t dictionaries;      /**< made so far */

  /* --- State --- */
  /** How many scopes are in each kin_state now; removed ones do not count. */
  uint64_t scopes[KIN_STATES];
} kin_informer_metrics;
/** Sets the size, and each member to its default. */
#define KIN_INFORMER_METRICS_INIT                                              \
  {                                                                            \
    sizeof(kin_informer_metrics), 0, 0, 0, 0, KIN_HISTOGRAM_INIT,              \
        KIN_HISTOGRAM_INIT, 0, KIN_HISTOGRAM_INIT, 0, 0, 0,                    \
        KIN_HISTOGRAM_INIT, KIN_HISTOGRAM_INIT, 0, 0, 0, 0, 0, 0, {0}, 0, 0,   \
        0, {0}, 0, KIN_HISTOGRAM_INIT, 0, 0, 0, 0, KIN_HISTOGRAM_INIT, 0, 0,   \
        0, 0, 0, 0, 0, 0, 0, 0, {                                              \
      0                                                                        \
    }                                                                          \
  }

/** Copies an informer's numbers, any time before its close callback. `metrics`
 * begins as KIN_INFORMER_METRICS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then.
 * Cost: O(scopes + listeners). */
KIN_EXTERN int kin_informer_get_metrics(const kin_informer *informer,
                                        kin_informer_metrics *metrics);

/** The last version of a scope as a number for a metrics gauge: its last 15
 * digits. `namespace_` "" (or NULL) is the scope of all namespaces. Returns
 * false, and leaves *value alone, if there is no such scope, or the version is
 * no number.
 * Cost: O(namespaces), with a small factor. */
KIN_EXTERN bool kin_informer_version_gauge(const kin_informer *informer,
                                           const char *namespace_,
                                           double *value);

/** Durations of the loop iterations in which the client had work, handlers
 * excluded. */
KIN_EXTERN void kin_client_get_iterations(const kin_client *client,
                                          kin_histogram *iteration_us);

#ifdef __cplusplus
}
#endif

#endif /* KIN_METRICS_H */
