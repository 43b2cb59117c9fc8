/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORK_QUEUE_H
#define KIN_WORK_QUEUE_H

/** @file
 * Work queues: the part of a controller that calls a program for each key that
 * has changed, and again after a failure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/histogram.h>
#include <kin/informer.h>
#include <kin/metrics_text.h>
#include <kin/rate_limiter.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A work queue holds keys that need work (client-go's workqueue). A key is any
 * bytes, "namespace/name" of an object for example; the queue copies it.
 *
 * - A key that is added again before its work begins is worked on once.
 * - A key that is added while a worker has it comes once more, when this work
 *   is done. No key is ever worked on twice at once.
 * - A key that failed comes again after a wait of its own (kin/rate_limiter.h),
 *   so one bad object delays no other.
 *
 * A worker is a callback that may answer later: `concurrency` is the number of
 * keys without an answer, and needs no threads. doc/work-queue.md shows a whole
 * controller.
 *
 * There are two ways to use a queue. kin_work_queue_open attaches it to a
 * client, whose loop calls the worker and has the timers. kin_work_queue_new
 * makes one that stands alone: the program takes keys with kin_work_queue_get
 * and tells the time with kin_work_queue_advance. All other functions serve
 * both. One thread at a time; for an attached queue the loop's.
 *
 * Memory: 108 bytes and a copy of the key for each key that is queued, waits or
 * is worked on, besides what the allocator needs. Of a key whose work is done
 * 20 bytes are kept, for the next key. */
typedef struct kin_work_queue kin_work_queue;

/** Longest key, in bytes: every key of an object fits. */
#define KIN_WORK_KEY_MAX 131072

/** Keys of a higher priority come first; within a priority the key that was
 * added first. Keys of a low priority wait as long as there are others. */
typedef enum kin_work_priority {
  KIN_WORK_PRIORITY_MIN = -128,  /**< the lowest */
  KIN_WORK_PRIORITY_LOW = -100,  /**< initial adds and resyncs of informers */
  KIN_WORK_PRIORITY_DEFAULT = 0, /**< all else */
  KIN_WORK_PRIORITY_MAX = 127    /**< the highest */
} kin_work_priority;

/** A key that is worked on. The struct and the key are valid until
 * kin_work_done or kin_work_done_after, or until the queue is gone. */
typedef struct kin_work_item {
  size_t size;           /**< see KIN_HAS */
  kin_work_queue *queue; /**< the queue that the key came from */
  kin_str key;           /**< the key */
  uint32_t retries; /**< answers KIN_WORK_RETRY in a row before this work */
  int32_t priority; /**< with which the key was queued */
} kin_work_item;

/** Works on a key; an event callback. The answer is kin_work_done or
 * kin_work_done_after, once for each call, inside the callback or at any time
 * later. Until then the key counts as one of the `concurrency`.
 *
 * For an object's key, look the object up in the informer's store. If the store
 * does not have it, it has been deleted. */
typedef void (*kin_work_cb)(kin_work_queue *queue, const kin_work_item *item,
                            void *data);

/** Called once when an attached queue is gone. */
typedef void (*kin_work_queue_close_cb)(void *data);

/** Options of kin_work_queue_new and kin_work_queue_open. */
typedef struct kin_work_queue_options {
  size_t size; /**< set by the INIT macro */

  /** Memory of a queue that stands alone; NULL: the C library's. Must be NULL
   * for an attached queue, which uses the client's. */
  const kin_allocator *allocator;

  /** For the log and the label `name` of metrics: letters, digits, '.', '-',
   * '_', '/', at most 255; copied. NULL: "work". */
  const char *name;

  /** How long a failed key waits. On success the queue owns the limiter. NULL:
   * kin_rate_limiter_new_default. */
  kin_rate_limiter *limiter;

  /** Most keys at a time; 0: 16,777,216, which is the most. A further key is
   * refused; an informer that is followed waits until there is room. */
  uint32_t max_keys;

  /** Called for each key; required for an attached queue, must be NULL for one
   * that stands alone. */
  kin_work_cb worker;
  /** Most keys that the worker has at a time; 0: 1. At most 65,536. */
  uint32_t concurrency;

  /** Called once when an attached queue is gone, also if the client closed it;
   * may be NULL. Must be NULL for a queue that stands alone. */
  kin_work_queue_close_cb on_closed;
  void *data; /**< passed to worker and on_closed */
} kin_work_queue_options;
/** Sets the size, and each member to its default. */
#define KIN_WORK_QUEUE_OPTIONS_INIT                                            \
  { sizeof(kin_work_queue_options), NULL, NULL, NULL, 0, NULL, 0, NULL, NULL }

/* --- Life ----------------------------------------------------------------- */

/** Makes a queue that stands alone; its time is 0. Options are copied.
 * Errors: KIN_EINVAL (name, a range, a worker), KIN_ENOTSUP (options of a newer
 * version), KIN_ENOMEM; the limiter is the program's then. */
KIN_EXTERN int kin_work_queue_new(kin_work_queue **out,
                                  const kin_work_queue_options *options);

/** Frees a queue that stands alone, with its limiter and whatever is in it;
 * items are invalid then. Does nothing to an attached queue. NULL is allowed.
 * Cost: O(keys). */
KIN_EXTERN void kin_work_queue_free(kin_work_queue *queue);

/** Opens a queue that is attached to a client, on its loop. Options are copied.
 * Errors: KIN_EINVAL (no worker, name, a range, an allocator), KIN_ENOTSUP
 * (options of a newer version), KIN_ECLOSED (the client is closing),
 * KIN_ENOMEM; the limiter is the program's then. kin_client_problem has the
 * member at fault. */
KIN_EXTERN int kin_work_queue_open(kin_work_queue **out, kin_client *client,
                                   const kin_work_queue_options *options);

/** Closes an attached queue at once. Keys that are queued or wait are dropped.
 * No callback comes after this call except cb (may be NULL), from a later loop
 * iteration; then the queue and all items are gone. Until then kin_work_done
 * answers KIN_ECLOSED and does nothing. After cb an item must not be answered:
 * a request that answers later must know that the queue is gone. Legal in every
 * event callback. Closing the client closes its queues. To finish the work
 * first, see kin_work_queue_shut_down_with_drain.
 * Errors: KIN_EINVAL (the queue stands alone), KIN_EALREADY (closing; cb is not
 * called). Cost: O(1); memory is freed in later loop iterations. */
KIN_EXTERN int kin_work_queue_close(kin_work_queue *queue,
                                    kin_work_queue_close_cb cb, void *data);

/* --- Adding --------------------------------------------------------------- */

/** Adds a key at KIN_WORK_PRIORITY_DEFAULT. A key that is queued stays where it
 * is. A key that is worked on is queued when this work is done.
 * Errors: KIN_ECLOSED (shut down or closing), KIN_EKEY (empty), KIN_ETOOBIG
 * (over KIN_WORK_KEY_MAX bytes; the queue has max_keys), KIN_ENOMEM; nothing has
 * changed then. */
KIN_EXTERN int kin_work_queue_add(kin_work_queue *queue, kin_str key);

/** Adds a key when `delay_ms` have passed; 0: now. A key that waits already
 * keeps the earlier of the two times. Waiting does not keep kin_work_queue_add
 * from adding the key at once; the wait goes on then (client-go's AddAfter).
 * UINT64_MAX is a wait without an end.
 * Errors: as kin_work_queue_add. Cost: O(log waiting keys). */
KIN_EXTERN int kin_work_queue_add_after(kin_work_queue *queue, kin_str key,
                                        uint64_t delay_ms);

/** Adds a key after the wait that the limiter tells, and counts a failure of
 * the key (client-go's AddRateLimited). After the success of a key,
 * kin_work_queue_forget ends its failures; kin_work_done does all of this.
 * Errors and cost: as kin_work_queue_add_after. */
KIN_EXTERN int kin_work_queue_add_rate_limited(kin_work_queue *queue,
                                               kin_str key);

/** As kin_work_queue_add_after, with a priority of -128 to 127. A key that is
 * queued or waits has the higher one of the two priorities from now on; a key
 * whose priority rises goes behind all others of its new one.
 * Errors: as kin_work_queue_add, and KIN_EINVAL (priority).
 * Cost: O(log waiting keys). */
KIN_EXTERN int kin_work_queue_add_with_priority(kin_work_queue *queue,
                                                kin_str key, int32_t priority,
                                                uint64_t delay_ms);

/** The failures of a key no longer count. The key stays where it is. */
KIN_EXTERN void kin_work_queue_forget(kin_work_queue *queue, kin_str key);

/** Returns how many failures of a key the limiter counts. */
KIN_EXTERN uint32_t kin_work_queue_requeues(const kin_work_queue *queue,
                                            kin_str key);

/* --- Working -------------------------------------------------------------- */

/** How the work on a key has ended. */
typedef enum kin_work_result {
  KIN_WORK_SUCCESS = 0, /**< done; the key's failures no longer count */
  KIN_WORK_RETRY,       /**< failed: the key comes again after the wait that the
                         * limiter tells */
  KIN_WORK_KEEP         /**< done; the key's failures still count */
} kin_work_result;

/** Ends the work on a key; the item is invalid afterwards. A key that was added
 * meanwhile is queued again, at the end. After a shutdown KIN_WORK_RETRY is as
 * KIN_WORK_KEEP. Legal everywhere, also inside the worker.
 * Errors: KIN_EINVAL (result), KIN_EALREADY (the item has been answered, and
 * its memory has not been used for another), KIN_ECLOSED (the queue is
 * closing; the item stays valid until the queue is gone).
 * Cost: O(log waiting keys). */
KIN_EXTERN int kin_work_done(const kin_work_item *item, kin_work_result result);

/** Ends the work on a key with success, and adds the key when `delay_ms` have
 * passed: for work that has to be looked at again though nothing changes
 * (controller-runtime's RequeueAfter). Errors and cost: as kin_work_done. */
KIN_EXTERN int kin_work_done_after(const kin_work_item *item,
                                   uint64_t delay_ms);

/** Tells a queue that stands alone the time, in nanoseconds since any moment; a
 * time before the last one counts as the last one. Up to 1,024 keys that are
 * due are added. *next_ns, unless `next_ns` is NULL, gets the time at which the
 * next key is due: up to now_ns if this function should be called again,
 * UINT64_MAX if no key waits, or only keys whose time is that or later. After a
 * shutdown keys that wait are dropped here, too.
 * Errors: KIN_EINVAL (an attached queue). */
KIN_EXTERN int kin_work_queue_advance(kin_work_queue *queue, uint64_t now_ns,
                                      uint64_t *next_ns);

/** Takes the next key of a queue that stands alone; its work ends with
 * kin_work_done. Any number of keys may be worked on.
 * Errors: KIN_EINVAL (an attached queue), KIN_ENOENT (nothing is queued),
 * KIN_ECLOSED (nothing is queued, and the queue is shut down), KIN_ENOMEM;
 * nothing is taken then. */
KIN_EXTERN int kin_work_queue_get(kin_work_queue *queue,
                                  const kin_work_item **item);

/* --- The end of the work -------------------------------------------------- */

/** No key is added from now on. Keys that wait are dropped; keys that are
 * queued are still worked on. Ends a wait of
 * kin_work_queue_shut_down_with_drain. May be called again; does nothing to a
 * queue that is closing. */
KIN_EXTERN void kin_work_queue_shut_down(kin_work_queue *queue);

/** Called once, when all work is done: `code` is 0. KIN_ECLOSED: a later
 * kin_work_queue_shut_down has ended the wait. An event callback. */
typedef void (*kin_work_queue_drained_cb)(kin_work_queue *queue, int code,
                                          void *data);

/** As kin_work_queue_shut_down; calls `cb` when nothing is queued or worked on.
 * A key that was added during its work, before this call, is worked on again.
 * No call comes after kin_work_queue_close. A queue that stands alone takes no
 * callback: its program asks kin_work_queue_is_drained.
 * Errors: KIN_EINVAL (a callback for a queue that stands alone), KIN_EALREADY
 * (another call's callback is still to come), KIN_ECLOSED (closing). */
KIN_EXTERN int kin_work_queue_shut_down_with_drain(kin_work_queue *queue,
                                                   kin_work_queue_drained_cb cb,
                                                   void *data);

/** Returns whether the queue is shut down or closing. */
KIN_EXTERN bool kin_work_queue_is_shut_down(const kin_work_queue *queue);

/** Returns whether the queue is shut down, nothing is queued, and nothing is
 * worked on. */
KIN_EXTERN bool kin_work_queue_is_drained(const kin_work_queue *queue);

/** Number of keys that are queued: neither waiting nor worked on. */
KIN_EXTERN size_t kin_work_queue_count(const kin_work_queue *queue);

/* --- Informers ------------------------------------------------------------ */

/** The keys that a key function emits. */
typedef struct kin_work_keys kin_work_keys;

/** A key function: calls kin_work_emit for each key that a change of the object
 * means work for, the key of its owner for example, or not at all. Pure: may
 * call kin_object_* only, and must give the same keys for the same object. */
typedef void (*kin_work_keys_cb)(const kin_object *object, kin_work_keys *keys,
                                 void *data);

/** Emits a key; the bytes are copied.
 * Errors: KIN_EKEY (empty), KIN_ETOOBIG (over KIN_WORK_KEY_MAX bytes): the key
 * is left out and counted as `refused`; the log tells of such keys at level
 * WARN, at most once a minute for each queue. KIN_ENOMEM: the queue asks the key
 * function again later, for all keys; nothing is lost. The key function may
 * ignore the result. */
KIN_EXTERN int kin_work_emit(kin_work_keys *keys, kin_str key);

/** Options of kin_work_queue_follow. */
typedef struct kin_work_follow_options {
  size_t size; /**< set by the INIT macro */

  kin_work_keys_cb keys; /**< NULL: the object's own key */
  kin_filter_cb filter;  /**< as in kin_listener_options; NULL: all objects */
  void *data;            /**< passed to keys and filter */

  /** Priority of changes: -128 to 127. */
  int32_t priority;
  /** Priority of initial adds and resyncs: -128 to 127. If both are 0, this one
   * is KIN_WORK_PRIORITY_LOW, so that changes do not wait until everything was
   * looked at once. */
  int32_t initial_priority;

  /** Also adds the keys of objects that a relist found unchanged. */
  bool relist_updates;
  /** Adds the keys of every state of an object, also of those that came and
   * went while the queue was full: as exact_limit KIN_NEVER of
   * kin_listener_options. Changes that wait for room have no bound then. */
  bool exact;
  /** Time after which all keys are added again, as in kin_listener_options. 0:
   * the informer's own period. KIN_NEVER: no resyncs. */
  uint32_t resync_ms;
} kin_work_follow_options;
/** Sets the size, and each member to its default. */
#define KIN_WORK_FOLLOW_OPTIONS_INIT                                           \
  { sizeof(kin_work_follow_options), NULL, NULL, NULL, 0, 0, false, false, 0 }

/** Adds the key of each object of an informer that is added, changed or
 * deleted, from now until either is closed; the informer's objects so far come
 * as adds. An update adds the keys of the old and of the new object, so that
 * both owners learn of an object that changed hands. A queue may follow
 * informers of its loop 256 times in all, also one repeatedly. Of the changes
 * that wait for room when the informer closes, the first is still added when
 * there is room, and the others are dropped. So `keys` may be called until the
 * queue is closed, and what `data` points to must live until then.
 *
 * Nothing is lost while the informer is open: without memory, or while the
 * queue has max_keys, the listener waits, and goes on when there is room.
 * Changes of one object are joined meanwhile, and beyond 4,096 waiting ones:
 * from its first old to its last new state. Of an object that came and went
 * meanwhile the delete is told, up to a limit (doc/limits.md), because the
 * worker may have seen the object in the store. So with `keys`, the owner that
 * an object had in between, or before the object was deleted, may not be told,
 * unless `exact` is set; a queue that also follows the owners with resync_ms
 * works on that owner at the next resync. `options` may be NULL.
 * Errors: KIN_EINVAL (the queue stands alone, a priority), KIN_ENOTSUP (options
 * of a newer version), KIN_ECLOSED (the queue is shut down, either is closing),
 * KIN_ETOOBIG (256 times), KIN_ENOMEM. */
KIN_EXTERN int kin_work_queue_follow(kin_work_queue *queue,
                                     kin_informer *informer,
                                     const kin_work_follow_options *options);

/* --- Metrics -------------------------------------------------------------- */

/** Numbers about a queue: client-go's workqueue metrics. */
typedef struct kin_work_queue_metrics {
  size_t size; /**< set by the INIT macro */

  /** Keys that are queued, and keys that were added again while they are worked
   * on: these count here before kin_work_queue_get can give them. */
  uint64_t depth;
  uint64_t waiting;    /**< keys that wait for their time */
  uint64_t processing; /**< keys that are worked on */
  uint64_t keys;       /**< keys in memory: of the three above, each once */

  uint64_t adds;    /**< keys that were queued, so far */
  uint64_t retries; /**< adds with a delay or a rate limit, so far */
  uint64_t done;    /**< answers, so far */
  uint64_t failed;  /**< of these: KIN_WORK_RETRY */
  uint64_t refused; /**< unusable keys of key functions, so far */

  uint64_t unfinished_us; /**< work that has no answer: the sum of its times */
  uint64_t longest_us;    /**< the longest of these times */

  kin_histogram queue_us; /**< time from add to work */
  kin_histogram work_us;  /**< time from work to answer */
} kin_work_queue_metrics;
/** Sets the size, and each member to its default. */
#define KIN_WORK_QUEUE_METRICS_INIT                                            \
  {                                                                            \
    sizeof(kin_work_queue_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,           \
        KIN_HISTOGRAM_INIT, KIN_HISTOGRAM_INIT                                 \
  }

/** Reads the metrics. `metrics` begins as KIN_WORK_QUEUE_METRICS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. Cost: O(1). */
KIN_EXTERN int kin_work_queue_get_metrics(const kin_work_queue *queue,
                                          kin_work_queue_metrics *metrics);

/** Writes the metrics of `count` queues in Prometheus' text format, with
 * client-go's names (workqueue_depth, workqueue_adds_total, ...) and the queue's
 * name as the label `name`; two queues of one name would write the same time
 * series. To be written once in an exposition, after kin_metrics_write for
 * example. `write` as there.
 * Errors: KIN_EINVAL (a NULL queue; nothing has been written), the result of
 * `write`. Cost: O(queues), some 45 lines for each. */
KIN_EXTERN int kin_work_queue_metrics_write(kin_work_queue *const *queues,
                                            size_t count,
                                            kin_metrics_write_cb write,
                                            void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_WORK_QUEUE_H */
