/* SPDX-License-Identifier: MIT */
#include "base/limiter.h"

#include <assert.h>

#define TOKEN UINT64_C(1000000000000)
#define NS_PER_MS 1000000u

/* --- The bucket ----------------------------------------------------------- */

/* A token is taken in the nanosecond after it came. Credit that comes in the
 * rest of this nanosecond is kept, also if the bucket is full. */
void kin__bucket_init(kin__bucket *bucket, uint32_t qps_milli, uint32_t burst,
                      uint64_t now_ns) {
  assert(qps_milli > 0 && qps_milli <= KIN__BUCKET_MAX_QPS_MILLI);
  assert(burst > 0 && burst <= KIN__BUCKET_MAX_BURST);
  *bucket = (kin__bucket){.per_ns = qps_milli,
                          .capacity = burst * TOKEN + qps_milli - 1,
                          .credit = burst * TOKEN,
                          .at_ns = now_ns};
}

/* The credit since at_ns fits, unless the bucket is full before. */
static void refill(kin__bucket *bucket, uint64_t now_ns) {
  if (now_ns <= bucket->at_ns) {
    return;
  }
  uint64_t elapsed_ns = now_ns - bucket->at_ns;
  uint64_t room = bucket->capacity - bucket->credit;
  bucket->credit = elapsed_ns > room / bucket->per_ns
                       ? bucket->capacity
                       : bucket->credit + elapsed_ns * bucket->per_ns;
  bucket->at_ns = now_ns;
}

bool kin__bucket_try(kin__bucket *bucket, uint64_t now_ns) {
  refill(bucket, now_ns);
  if (bucket->credit < TOKEN) {
    return false;
  }
  bucket->credit -= TOKEN;
  return true;
}

uint64_t kin__bucket_wait_ns(kin__bucket *bucket, uint64_t now_ns) {
  refill(bucket, now_ns);
  if (bucket->credit >= TOKEN) {
    return 0;
  }
  uint64_t lacking = TOKEN - bucket->credit;
  return (lacking + bucket->per_ns - 1) / bucket->per_ns;
}

/* --- The queue before it -------------------------------------------------- */

static uint64_t now_ns(const kin__limiter *limiter) {
  return limiter->sched->now_ns(limiter->sched->ctx);
}

static void on_timer(kin__timer *timer) {
  kin__limiter *limiter = KIN__CONTAINER_OF(timer, kin__limiter, timer);
  kin__sched_add(limiter->sched, &limiter->task);
}

static void await_token(kin__limiter *limiter, uint64_t now) {
  limiter->due_ns = now + kin__bucket_wait_ns(&limiter->bucket, now);
  kin__timer_start(limiter->timers, &limiter->timer,
                   (limiter->due_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* A timer is up to a millisecond late. A full bucket would lose the credit of
 * this time, so the token is taken as of when it came. */
static uint64_t token_time(kin__limiter *limiter, uint64_t now) {
  uint64_t due_ns = limiter->due_ns;
  limiter->due_ns = 0;
  return due_ns <= now && now - due_ns < NS_PER_MS ? due_ns : now;
}

static bool let_one_pass(kin__task *task) {
  kin__limiter *limiter = KIN__CONTAINER_OF(task, kin__limiter, task);
  uint64_t now = now_ns(limiter);
  if (kin__link_is_empty(&limiter->waiting)) {
    return false;
  }
  if (!kin__bucket_try(&limiter->bucket, token_time(limiter, now))) {
    await_token(limiter, now);
    return false;
  }
  kin__limiter_visitor *visitor =
      KIN__CONTAINER_OF(limiter->waiting.next, kin__limiter_visitor, node);
  kin__link_remove(&visitor->node);
  uint64_t waited_ns = now - visitor->since_ns;
  limiter->delayed++;
  limiter->delayed_ns += waited_ns;
  visitor->pass(visitor, waited_ns);
  return !kin__link_is_empty(&limiter->waiting);
}

void kin__limiter_init(kin__limiter *limiter, kin__sched *sched,
                       kin__timers *timers, uint32_t qps_milli,
                       uint32_t burst) {
  *limiter = (kin__limiter){.sched = sched, .timers = timers};
  kin__bucket_init(&limiter->bucket, qps_milli, burst, now_ns(limiter));
  kin__task_init(&limiter->task, let_one_pass);
  kin__timer_init(&limiter->timer, on_timer);
  kin__link_init(&limiter->waiting);
}

void kin__limiter_finish(kin__limiter *limiter) {
  assert(kin__link_is_empty(&limiter->waiting));
  kin__timer_stop(limiter->timers, &limiter->timer);
  kin__sched_cancel(limiter->sched, &limiter->task);
}

void kin__limiter_visitor_init(kin__limiter_visitor *visitor,
                               void (*pass)(kin__limiter_visitor *visitor,
                                            uint64_t waited_ns)) {
  *visitor = (kin__limiter_visitor){.pass = pass};
  kin__link_init(&visitor->node);
}

bool kin__limiter_enter(kin__limiter *limiter, kin__limiter_visitor *visitor) {
  assert(kin__link_is_empty(&visitor->node));
  uint64_t now = now_ns(limiter);
  bool is_first = kin__link_is_empty(&limiter->waiting);
  if (is_first && kin__bucket_try(&limiter->bucket, now)) {
    return true;
  }
  visitor->since_ns = now;
  kin__link_push(&limiter->waiting, &visitor->node);
  if (is_first) {
    await_token(limiter, now);
  }
  return false;
}

void kin__limiter_leave(kin__limiter *limiter, kin__limiter_visitor *visitor) {
  kin__link_remove(&visitor->node);
  if (kin__link_is_empty(&limiter->waiting)) {
    kin__timer_stop(limiter->timers, &limiter->timer);
    kin__sched_cancel(limiter->sched, &limiter->task);
  }
}
