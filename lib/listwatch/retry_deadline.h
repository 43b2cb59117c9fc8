/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_RETRY_DEADLINE_H
#define KIN_LISTWATCH_RETRY_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* How long errors of one kind are retried in a row (RD-01..04): until `max_ms`
 * after the first error. A minute without an error ends the row. Pure: time is
 * an argument. */
typedef struct kin__retry_deadline {
  uint32_t max_ms; /* 0: no retry */
  bool has_first;
  bool has_last;
  uint64_t first_ms;
  uint64_t last_ms;
} kin__retry_deadline;

#define KIN__RETRY_DEADLINE_RESET_MS 60000u

void kin__retry_deadline_init(kin__retry_deadline *deadline, uint32_t max_ms);

/* Notes an error; `is_matching`: of the counted kind. */
void kin__retry_deadline_after(kin__retry_deadline *deadline, bool is_matching,
                               uint64_t now_ms);

/* Whether to retry once more. If not, the row begins anew. */
bool kin__retry_deadline_should_retry(kin__retry_deadline *deadline,
                                      uint64_t now_ms);

#endif /* KIN_LISTWATCH_RETRY_DEADLINE_H */
