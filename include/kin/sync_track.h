/* SPDX-License-Identifier: MIT */
#ifndef KIN_SYNC_TRACK_H
#define KIN_SYNC_TRACK_H

/** @file
 * Whether handlers that work on have synced. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For handlers that hand objects to slower work and need to know when all of
 * the initial state has passed through that work, too (client-go's synctrack).
 * A tracker has synced when upstream has synced and nothing of the initial
 * state is under way. After that it stays synced.
 *
 * Report "upstream has synced" only when the whole initial state has been
 * handed over: at the synced event of a listener. Earlier, there can be a
 * moment with nothing under way, and the tracker would be synced too early.
 *
 * There is no callback: has_synced becomes true inside the last call that was
 * missing. One thread at a time; no loop is used. */

/** A counter of the work under way, for work that ends in order.
 * Zero-initialize it to begin. It owns nothing. Its fields are private. */
typedef struct kin_sync_counter {
  /** Private. */
  size_t under_way;
  bool upstream_has_synced;
  bool has_synced;
} kin_sync_counter;

/** One more object is under way: call this for each add with is_initial. */
KIN_EXTERN void kin_sync_counter_start(kin_sync_counter *counter);

/** One object is done. Errors: KIN_EINVAL (none is under way): nothing has
 * changed. */
KIN_EXTERN int kin_sync_counter_finish(kin_sync_counter *counter);

/** Everything has been started: call this from the handler's on_synced. From
 * then on the counter has synced as soon as nothing is under way. */
KIN_EXTERN void kin_sync_counter_upstream_synced(kin_sync_counter *counter);
KIN_EXTERN bool kin_sync_counter_has_synced(const kin_sync_counter *counter);

/** A set of the keys under way, for work that ends in any order. */
typedef struct kin_sync_set kin_sync_set;

/** Makes an empty set. `allocator` may be NULL. Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_sync_set_new(kin_sync_set **out,
                                const kin_allocator *allocator);

/** Frees a set. NULL is allowed. Cost: O(keys). */
KIN_EXTERN void kin_sync_set_free(kin_sync_set *set);

/** The key is under way. The key is copied, and counts once however often it is
 * started. Errors: KIN_ENOMEM: nothing has changed. Cost: O(1). */
KIN_EXTERN int kin_sync_set_start(kin_sync_set *set, kin_str key);

/** The key is done, if it was under way. */
KIN_EXTERN void kin_sync_set_finish(kin_sync_set *set, kin_str key);

/** As for a counter. */
KIN_EXTERN void kin_sync_set_upstream_synced(kin_sync_set *set);
KIN_EXTERN bool kin_sync_set_has_synced(const kin_sync_set *set);

/** Number of keys under way. */
KIN_EXTERN size_t kin_sync_set_count(const kin_sync_set *set);

/** A value that is made on request, and made again on the first request after a
 * notice of a change. */
typedef struct kin_lazy kin_lazy;

/** Makes the value: sets *value, which then belongs to the kin_lazy. The
 * callback may call kin_lazy_notify, but not kin_lazy_get or kin_lazy_free, for
 * the same kin_lazy. A non-zero result means that there is no value. */
typedef int (*kin_lazy_evaluate_cb)(void **value, void *data);
/** Frees a value. May call what kin_lazy_evaluate_cb may. */
typedef void (*kin_lazy_release_cb)(void *value, void *data);

/** Options of kin_lazy_new. */
typedef struct kin_lazy_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */
  kin_lazy_evaluate_cb evaluate;  /**< required */
  kin_lazy_release_cb release;    /**< NULL: values need no freeing */
  void *data;                     /**< passed to both */
} kin_lazy_options;
/** Sets the size, and each member to its default. */
#define KIN_LAZY_OPTIONS_INIT                                                  \
  { sizeof(kin_lazy_options), NULL, NULL, NULL, NULL }

/** Makes a lazy value. Options are copied; evaluates nothing.
 * Errors: KIN_EINVAL (options, or no evaluate), KIN_ENOTSUP (options of a newer
 * version), KIN_ENOMEM. */
KIN_EXTERN int kin_lazy_new(kin_lazy **out, const kin_lazy_options *options);

/** Frees a lazy value and releases its current value. NULL is allowed. */
KIN_EXTERN void kin_lazy_free(kin_lazy *lazy);

/** The value, evaluated unless there is a current one; borrowed until the next
 * call that is given `lazy`.
 * Errors: KIN_EALREADY (from inside evaluate or release), the result of
 * evaluate. *value is left alone then, nothing is remembered, and the next call
 * tries again. */
KIN_EXTERN int kin_lazy_get(kin_lazy *lazy, void **value);

/** Reports that the value's inputs have changed: there is no current value from
 * now on. If evaluate is running, the kin_lazy_get that called it returns the
 * result, but no later call does. */
KIN_EXTERN void kin_lazy_notify(kin_lazy *lazy);

/** For values that are made elsewhere and arrive later, by a thread pool for
 * instance. Remember the generation when the work begins, and offer the result
 * with that generation. If there has been no notice since and there is no
 * current value, kin_lazy_offer makes it the current value, takes ownership and
 * returns true. Else, and inside evaluate and release, it returns false, and the
 * value stays the caller's. */
KIN_EXTERN uint64_t kin_lazy_generation(const kin_lazy *lazy);
KIN_EXTERN bool kin_lazy_offer(kin_lazy *lazy, uint64_t generation,
                               void *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_SYNC_TRACK_H */
