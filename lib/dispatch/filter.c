/* SPDX-License-Identifier: MIT */
#include "dispatch/filter.h"

static bool filter_update(kin_filter_cb filter, void *data,
                          const kin__notification *change,
                          kin__notification *seen) {
  bool is_in = filter(change->object, data);
  bool was_in = filter(change->old_object, data);
  if (is_in && was_in) {
    return true;
  }
  if (is_in) {
    *seen =
        (kin__notification){.type = KIN_EVENT_ADD, .object = change->object};
  } else if (was_in) {
    *seen = (kin__notification){.type = KIN_EVENT_DELETE,
                                .reason = KIN_DELETE_FILTERED,
                                .object = change->old_object};
  }
  return is_in || was_in;
}

bool kin__filter_apply(kin_filter_cb filter, void *data,
                       const kin__notification *change,
                       kin__notification *seen) {
  *seen = *change;
  switch (change->type) {
  case KIN_EVENT_ADD:
    return filter(change->object, data);
  case KIN_EVENT_UPDATE:
    return filter_update(filter, data, change, seen);
  case KIN_EVENT_DELETE:
    return filter(change->cached != NULL ? change->cached : change->object,
                  data);
  default:
    return true;
  }
}
