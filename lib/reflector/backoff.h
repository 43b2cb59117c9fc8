/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_BACKOFF_H
#define KIN_REFLECTOR_BACKOFF_H

#include <stdint.h>

#include "base/random.h"

/* client-go's reflector backoff (CN-01, RF-05, RF-06): 800 ms, doubled up to
 * 30 s, each delay uniform in [d, 2d). The series begins again when a step
 * comes more than two minutes after it last began, so a long outage is probed
 * quickly every two minutes. Pure: time and randomness are arguments. */
typedef struct kin__backoff {
  uint64_t began_ms; /* of the current series */
  uint32_t base_ms;  /* next delay without jitter */
} kin__backoff;

#define KIN__BACKOFF_INITIAL_MS 800u
#define KIN__BACKOFF_CAP_MS 30000u
#define KIN__BACKOFF_RESET_MS 120000u

void kin__backoff_init(kin__backoff *backoff, uint64_t now_ms);

/* The next delay; advances the series. */
uint32_t kin__backoff_next_ms(kin__backoff *backoff, uint64_t now_ms,
                              kin__random *random);

#endif /* KIN_REFLECTOR_BACKOFF_H */
