/* SPDX-License-Identifier: MIT */
#include "reflector/backoff.h"

void kin__backoff_init(kin__backoff *backoff, uint64_t now_ms) {
  backoff->began_ms = now_ms;
  backoff->base_ms = KIN__BACKOFF_INITIAL_MS;
}

uint32_t kin__backoff_next_ms(kin__backoff *backoff, uint64_t now_ms,
                              kin__random *random) {
  if (now_ms - backoff->began_ms > KIN__BACKOFF_RESET_MS) {
    kin__backoff_init(backoff, now_ms);
  }
  uint32_t base = backoff->base_ms;
  backoff->base_ms =
      base * 2 < KIN__BACKOFF_CAP_MS ? base * 2 : KIN__BACKOFF_CAP_MS;
  return base + (uint32_t)kin__random_below(random, base);
}
