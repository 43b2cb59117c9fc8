/* SPDX-License-Identifier: MIT */
#ifndef KIN_RATE_LIMITER_H
#define KIN_RATE_LIMITER_H

/** @file
 * Rate limiters of work queues: how long a key waits before its next try. */

#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A rate limiter tells how long a key waits before it is tried again
 * (client-go's TypedRateLimiter). Time is an argument, in nanoseconds since any
 * moment; a limiter reads no clock. One thread at a time.
 *
 * A limiter has one owner: the program that made it, until the program gives it
 * to a work queue or to another limiter. */
typedef struct kin_rate_limiter kin_rate_limiter;

/** Returns the wait of a key in milliseconds, and counts the failure that the
 * wait follows. A pure callback: must not call the limiter or its queue. */
typedef uint64_t (*kin_rate_limiter_when_cb)(kin_str key, uint64_t now_ns,
                                             void *data);
/** The key has succeeded, or is given up: its failures no longer count. A pure
 * callback. */
typedef void (*kin_rate_limiter_forget_cb)(kin_str key, void *data);
/** Returns how many failures of the key count. A pure callback. */
typedef uint32_t (*kin_rate_limiter_requeues_cb)(kin_str key, void *data);
/** Called once when the limiter is freed. A pure callback. */
typedef void (*kin_rate_limiter_free_cb)(void *data);

/** A program's own limiter. */
typedef struct kin_rate_limiter_callbacks {
  size_t size;                           /**< set by the INIT macro */
  kin_rate_limiter_when_cb when_ms;      /**< required */
  kin_rate_limiter_forget_cb forget;     /**< NULL: nothing to forget */
  kin_rate_limiter_requeues_cb requeues; /**< NULL: 0 for every key */
  kin_rate_limiter_free_cb free;         /**< NULL: nothing to free */
  void *data;                            /**< passed to the callbacks */
} kin_rate_limiter_callbacks;
/** Sets the size, and each member to its default. */
#define KIN_RATE_LIMITER_CALLBACKS_INIT                                        \
  { sizeof(kin_rate_limiter_callbacks), NULL, NULL, NULL, NULL, NULL }

/** Makes a limiter of the program's callbacks, which are copied. `allocator` as
 * in each function below: NULL is the C library's; copied.
 * Errors: KIN_EINVAL (no when_ms), KIN_ENOTSUP (callbacks of a newer version),
 * KIN_ENOMEM. `free` is not called then. */
KIN_EXTERN int
kin_rate_limiter_new(kin_rate_limiter **out, const kin_allocator *allocator,
                     const kin_rate_limiter_callbacks *callbacks);

/** Each failure of a key doubles its wait: base_ms times 2 to the power of the
 * failures before, and at most max_ms (client-go's
 * NewTypedItemExponentialFailureRateLimiter). A key that fails costs memory
 * until kin_rate_limiter_forget: 32 bytes and the key. Of at most 16,777,216
 * keys; a further one, or one without memory, waits base_ms each time.
 * base_ms: at least 1. max_ms: at least 1; if below base_ms, every wait is
 * max_ms.
 * Errors: KIN_EINVAL (a 0), KIN_ENOMEM. */
KIN_EXTERN int kin_rate_limiter_new_exponential(kin_rate_limiter **out,
                                                const kin_allocator *allocator,
                                                uint32_t base_ms,
                                                uint32_t max_ms);

/** The first `fast_tries` failures of a key wait fast_ms, all later ones
 * slow_ms (client-go's NewTypedItemFastSlowRateLimiter). Memory as above; a key
 * that has none waits fast_ms, or slow_ms if fast_tries is 0.
 * Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_rate_limiter_new_fast_slow(kin_rate_limiter **out,
                                              const kin_allocator *allocator,
                                              uint32_t fast_ms,
                                              uint32_t slow_ms,
                                              uint32_t fast_tries);

/** A token bucket for all keys together, which starts full: each call takes a
 * token and waits until this token exists (client-go's TypedBucketRateLimiter).
 * qps_milli: thousandths of a token a second, 1 to 1,000,000,000. burst: tokens
 * that the bucket holds, 1 to 1,000,000. forget does nothing, requeues is 0.
 * Errors: KIN_EINVAL (a range), KIN_ENOMEM. */
KIN_EXTERN int kin_rate_limiter_new_bucket(kin_rate_limiter **out,
                                           const kin_allocator *allocator,
                                           uint32_t qps_milli, uint32_t burst);

/** The longest wait of `count` limiters, 1 to 16. Each of them counts each
 * failure; requeues is the largest (client-go's NewTypedMaxOfRateLimiter). On
 * success the new limiter owns all of them, so no limiter may be given twice.
 * Errors: KIN_EINVAL (a NULL, no limiter), KIN_ETOOBIG (over 16; over 8 limiters
 * inside each other), KIN_ENOMEM; the limiters are the program's then. */
KIN_EXTERN int kin_rate_limiter_new_max_of(kin_rate_limiter **out,
                                           const kin_allocator *allocator,
                                           kin_rate_limiter *const *limiters,
                                           size_t count);

/** The waits of a limiter, and at most max_wait_ms (client-go's
 * NewTypedWithMaxWaitRateLimiter). On success the new limiter owns `limiter`.
 * Errors: KIN_EINVAL, KIN_ETOOBIG (over 8 limiters inside each other),
 * KIN_ENOMEM; `limiter` is the program's then. */
KIN_EXTERN int kin_rate_limiter_new_max_wait(kin_rate_limiter **out,
                                             const kin_allocator *allocator,
                                             kin_rate_limiter *limiter,
                                             uint32_t max_wait_ms);

/** The limiter of client-go's controllers: the longer wait of an exponential
 * one of 5 ms to 1,000 s and a bucket of 10 tokens a second and 100 at once
 * (DefaultTypedControllerRateLimiter).
 * Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_rate_limiter_new_default(kin_rate_limiter **out,
                                            const kin_allocator *allocator);

/** Frees a limiter that no queue and no other limiter owns, with those that it
 * owns. NULL is allowed. Cost: O(keys). */
KIN_EXTERN void kin_rate_limiter_free(kin_rate_limiter *limiter);

/** Returns how long `key` waits before its next try, in milliseconds, rounded
 * up, and counts a failure. UINT64_MAX is a wait without an end. `now_ns` must
 * not go back; if it does, no token comes. */
KIN_EXTERN uint64_t kin_rate_limiter_when_ms(kin_rate_limiter *limiter,
                                             kin_str key, uint64_t now_ns);

/** The failures of `key` no longer count. */
KIN_EXTERN void kin_rate_limiter_forget(kin_rate_limiter *limiter, kin_str key);

/** Returns how many failures of `key` count. */
KIN_EXTERN uint32_t kin_rate_limiter_requeues(const kin_rate_limiter *limiter,
                                              kin_str key);

#ifdef __cplusplus
}
#endif

#endif /* KIN_RATE_LIMITER_H */
