/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_BACKOFF_H
#define KIN_LISTWATCH_BACKOFF_H

#include <stdint.h>

#include "base/random.h"

/* client-go's listwatch backoff (CN-01, RF-05, RF-06): 800 ms, doubled up to a
 * cap, each delay uniform in [d, 2d). A series begins again at the first step
 * more than two minutes after its last beginning. So a long outage is probed
 * quickly every two minutes. Pure: time and randomness are arguments. */
typedef struct kin__backoff {
  uint64_t began_ms; /* of the current series */
  uint32_t base_ms;  /* next delay without jitter */
  uint32_t cap_ms;   /* of base_ms */
} kin__backoff;

#define KIN__BACKOFF_INITIAL_MS 800u
#define KIN__BACKOFF_RESET_MS 120000u

/* client-go has one series for lists, and one for refused connections and
 * throttled watches (OQ-06), both up to 30 s. Here each kind has its own
 * series, so that no kind pays for another's failures. Three kinds have lower
 * caps: with a cap of 30 s an informer could stay out of date for a minute
 * after its server is back. */
typedef enum kin__backoff_kind {
  KIN__BACKOFF_ORDINARY = 0, /* everything else */
  KIN__BACKOFF_THROTTLED,    /* 429 to a watch */
  KIN__BACKOFF_UNREACHED,    /* no answer; 5xx to a cheap request; or a watch
                              * that ended within a second in good order */
  KIN__BACKOFF_REFUSED,      /* 404; Retry-After; after the first list also 401,
                              * 403, no credential and a refused list */
  KIN__BACKOFF_LOST,         /* the position is lost */
  KIN__BACKOFF_KINDS
} kin__backoff_kind;

#define KIN__BACKOFF_CAP_MS 30000u
#define KIN__BACKOFF_UNREACHED_CAP_MS 2000u /* so at most 4 s */
#define KIN__BACKOFF_REFUSED_CAP_MS 5000u   /* so at most 10 s */

void kin__backoff_init(kin__backoff *backoff, kin__backoff_kind kind,
                       uint64_t now_ms);

/* Returns the next delay and advances the series. */
uint32_t kin__backoff_next_ms(kin__backoff *backoff, uint64_t now_ms,
                              kin__random *random);

/* The longer of `delay_ms` and the server's Retry-After, of which an hour
 * counts. Less than 1: the server did not say. */
uint64_t kin__backoff_at_least(uint64_t delay_ms, int64_t retry_after_s);

#endif /* KIN_LISTWATCH_BACKOFF_H */
