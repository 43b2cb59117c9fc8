/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_TOLD_FAILURES_H
#define KIN_ELECTION_TOLD_FAILURES_H

#include <stdint.h>

#include <kin/error.h>

#include "base/log.h"

/* Failures of one kind that were told one after the other. The log has the
 * first ones, whatever failures of another kind came before. */
typedef struct kin__told_failures {
  kin_error_class error_class;
  int status;
  uint32_t count; /* 0: none since the last success */
} kin__told_failures;

/* Counts a failure. Returns the level of its line in the log. */
kin_log_level kin__told_failures_add(kin__told_failures *told,
                                     const kin_error_event *event);

#endif /* KIN_ELECTION_TOLD_FAILURES_H */
