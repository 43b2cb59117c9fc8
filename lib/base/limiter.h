/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LIMITER_H
#define KIN_BASE_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"

/* --- The bucket ----------------------------------------------------------- */

/* Tokens that come at a steady rate and are kept up to a number, the burst; it
 * starts full (RR-12). Time is an argument. It is exact: credit is counted in
 * trillionths of a token, of which a whole number comes each nanosecond, so
 * nothing is rounded and nothing lost, however often it is asked. */
typedef struct kin__bucket {
  uint64_t per_ns; /* credit; thousandths of a token a second */
  uint64_t capacity;
  uint64_t credit; /* at at_ns */
  uint64_t at_ns;
} kin__bucket;

#define KIN__BUCKET_MAX_QPS_MILLI 1000000000u
#define KIN__BUCKET_MAX_BURST 1000000u

/* Both are at least 1 and at most the above. */
void kin__bucket_init(kin__bucket *bucket, uint32_t qps_milli, uint32_t burst,
                      uint64_t now_ns);
/* Takes a token if there is one; never waits. Time that goes back brings
 * none. */
bool kin__bucket_try(kin__bucket *bucket, uint64_t now_ns);
/* Until there is one; 0: now. */
uint64_t kin__bucket_wait_ns(kin__bucket *bucket, uint64_t now_ns);

/* --- The queue before it -------------------------------------------------- */

/* Who finds no token waits, in order of arrival, and is let through from a
 * task, so never inside a call of its own. */
typedef struct kin__limiter {
  kin__bucket bucket;
  kin__sched *sched;
  kin__timers *timers; /* run on sched's clock, in ms */
  kin__task task;
  kin__timer timer;
  uint64_t due_ns;     /* what the timer is for, exactly; 0: nothing */
  kin__link waiting;   /* of kin__limiter_visitor */
  uint64_t delayed;    /* were let through after a wait, so far */
  uint64_t delayed_ns; /* all these waits together */
} kin__limiter;

typedef struct kin__limiter_visitor {
  kin__link node; /* in limiter->waiting iff it waits */
  uint64_t since_ns;
  /* It has waited, and has a token. */
  void (*pass)(struct kin__limiter_visitor *visitor, uint64_t waited_ns);
} kin__limiter_visitor;

void kin__limiter_init(kin__limiter *limiter, kin__sched *sched,
                       kin__timers *timers, uint32_t qps_milli, uint32_t burst);
/* Nobody may wait. */
void kin__limiter_finish(kin__limiter *limiter);

void kin__limiter_visitor_init(kin__limiter_visitor *visitor,
                               void (*pass)(kin__limiter_visitor *visitor,
                                            uint64_t waited_ns));

/* Whether the visitor, which does not wait, has got a token; otherwise it waits
 * from now on, and pass comes later unless it leaves before. Nobody overtakes
 * those who wait. */
bool kin__limiter_enter(kin__limiter *limiter, kin__limiter_visitor *visitor);
/* It waits no longer; or did not. Its place costs no token. */
void kin__limiter_leave(kin__limiter *limiter, kin__limiter_visitor *visitor);

#endif /* KIN_BASE_LIMITER_H */
