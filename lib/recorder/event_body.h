/* SPDX-License-Identifier: MIT */
#ifndef KIN_RECORDER_EVENT_BODY_H
#define KIN_RECORDER_EVENT_BODY_H

#include "recorder/correlator.h"

/* Copies `from` to `to`, at most `max_bytes` of it and no part of a character.
 * Bytes that are no UTF-8 become '?'. Returns the length. */
size_t kin__utf8_clean(char *to, kin_str from, size_t max_bytes);

/* Appends the body of the entry's request: an Event of events.k8s.io/v1, or a
 * merge patch of its series. Errors: those of kin__buf. */
int kin__event_body(kin__buf *out, const kin__event_entry *entry,
                    kin_str controller, kin_str instance);

#endif /* KIN_RECORDER_EVENT_BODY_H */
