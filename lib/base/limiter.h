/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LIMITER_H
#define KIN_BASE_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"

/* --- The bucket ----------------------------------------------------------- */

/* A token bucket: tokens come at a steady rate, up to `burst` of them. The
 * bucket starts full (RR-12). Time is an argument.
 *
 * Credit is counted in trillionths of a token; a whole number of them comes
 * each nanosecond. So no call rounds, and credit is exact however often the
 * bucket is asked. */
typedef struct kin__bucket {
  uint64_t per_ns; /* credit; thousandths of a token a second */
  uint64_t capacity;
  uint64_t credit; /* as of at_ns */
  uint64_t at_ns;
} kin__bucket;

#define KIN__BUCKET_MAX_QPS_MILLI 1000000000u
#define KIN__BUCKET_MAX_BURST 1000000u

/* Both are at least 1 and at most the maxima above. */
void kin__bucket_init(kin__bucket *bucket, uint32_t qps_milli, uint32_t burst,
                      uint64_t now_ns);
/* Takes a token if there is one; never waits. If time goes back, no token is
 * added. */
bool kin__bucket_try(kin__bucket *bucket, uint64_t now_ns);
/* Time until the next token; 0: a token is there. */
uint64_t kin__bucket_wait_ns(kin__bucket *bucket, uint64_t now_ns);

/* --- The queue before it -------------------------------------------------- */

/* A visitor that finds no token waits in order of arrival. It is let through
 * from a task, so never inside a call of its own. */
typedef struct kin__limiter {
  kin__bucket bucket;
  kin__sched *sched;
  kin__timers *timers; /* they use sched's clock, in ms */
  kin__task task;
  kin__timer timer;
  uint64_t due_ns;     /* when the timer is due, in ns; 0: the timer is off */
  kin__link waiting;   /* of kin__limiter_visitor */
  uint64_t delayed;    /* visitors let through after a wait, so far */
  uint64_t delayed_ns; /* the sum of these waits */
} kin__limiter;

typedef struct kin__limiter_visitor {
  kin__link node; /* in limiter->waiting iff the visitor waits */
  uint64_t since_ns;
  /* The visitor has waited and has got a token. */
  void (*pass)(struct kin__limiter_visitor *visitor, uint64_t waited_ns);
} kin__limiter_visitor;

void kin__limiter_init(kin__limiter *limiter, kin__sched *sched,
                       kin__timers *timers, uint32_t qps_milli, uint32_t burst);
/* No visitor may be waiting. */
void kin__limiter_finish(kin__limiter *limiter);

void kin__limiter_visitor_init(kin__limiter_visitor *visitor,
                               void (*pass)(kin__limiter_visitor *visitor,
                                            uint64_t waited_ns));

/* Returns whether the visitor, which is not waiting, has got a token. If not,
 * the visitor waits, and `pass` is called later unless it leaves before. No
 * visitor overtakes one that waits. */
bool kin__limiter_enter(kin__limiter *limiter, kin__limiter_visitor *visitor);
/* The visitor stops waiting, and costs no token. Does nothing if the visitor
 * does not wait. */
void kin__limiter_leave(kin__limiter *limiter, kin__limiter_visitor *visitor);

#endif /* KIN_BASE_LIMITER_H */
