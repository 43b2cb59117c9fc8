/* SPDX-License-Identifier: MIT */
#include "listwatch/retry_deadline.h"

void kin__retry_deadline_init(kin__retry_deadline *deadline, uint32_t max_ms) {
  *deadline = (kin__retry_deadline){.max_ms = max_ms};
}

void kin__retry_deadline_after(kin__retry_deadline *deadline, bool is_matching,
                               uint64_t now_ms) {
  if (!is_matching) {
    return;
  }
  if (!deadline->has_last ||
      now_ms - deadline->last_ms >= KIN__RETRY_DEADLINE_RESET_MS) {
    deadline->has_first = false;
  }
  if (!deadline->has_first) {
    deadline->has_first = true;
    deadline->first_ms = now_ms;
  }
  deadline->has_last = true;
  deadline->last_ms = now_ms;
}

bool kin__retry_deadline_should_retry(kin__retry_deadline *deadline,
                                      uint64_t now_ms) {
  if (deadline->max_ms == 0) {
    return false;
  }
  if (deadline->has_first && now_ms - deadline->first_ms <= deadline->max_ms) {
    return true;
  }
  kin__retry_deadline_init(deadline, deadline->max_ms);
  return false;
}
