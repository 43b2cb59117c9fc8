/* SPDX-License-Identifier: MIT */
#include "election/told_failures.h"

kin_log_level kin__told_failures_add(kin__told_failures *told,
                                     const kin_error_event *event) {
  if (event->error_class != told->error_class ||
      event->status != told->status) {
    *told = (kin__told_failures){event->error_class, event->status, 0};
  }
  return kin__log_level_of_failure(++told->count);
}
