/* SPDX-License-Identifier: MIT */
#include "listwatch/backoff.h"

#include <stdbool.h>

#define MAX_RETRY_AFTER_S 3600

static void begin(kin__backoff *backoff, uint64_t now_ms) {
  backoff->began_ms = now_ms;
  backoff->base_ms = KIN__BACKOFF_INITIAL_MS;
}

void kin__backoff_init(kin__backoff *backoff, kin__backoff_kind kind,
                       uint64_t now_ms) {
  switch (kind) {
  case KIN__BACKOFF_UNREACHED:
    backoff->cap_ms = KIN__BACKOFF_UNREACHED_CAP_MS;
    break;
  case KIN__BACKOFF_REFUSED:
  case KIN__BACKOFF_THROTTLED:
    backoff->cap_ms = KIN__BACKOFF_REFUSED_CAP_MS;
    break;
  default:
    backoff->cap_ms = KIN__BACKOFF_CAP_MS;
    break;
  }
  begin(backoff, now_ms);
}

uint32_t kin__backoff_next_ms(kin__backoff *backoff, uint64_t now_ms,
                              kin__random *random) {
  if (now_ms - backoff->began_ms > KIN__BACKOFF_RESET_MS) {
    begin(backoff, now_ms);
  }
  uint32_t base = backoff->base_ms;
  backoff->base_ms = base * 2 < backoff->cap_ms ? base * 2 : backoff->cap_ms;
  return base + (uint32_t)kin__random_below(random, base);
}

uint64_t kin__backoff_at_least(uint64_t delay_ms, int64_t retry_after_s) {
  if (retry_after_s > MAX_RETRY_AFTER_S) {
    retry_after_s = MAX_RETRY_AFTER_S;
  }
  bool is_more = retry_after_s > 0 && delay_ms < (uint64_t)retry_after_s * 1000;
  return is_more ? (uint64_t)retry_after_s * 1000 : delay_ms;
}
