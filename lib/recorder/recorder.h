/* SPDX-License-Identifier: MIT */
#ifndef KIN_RECORDER_RECORDER_H
#define KIN_RECORDER_RECORDER_H

#include <kin/event_recorder.h>

#include "client/host.h"

/* kin_event_recorder_open on a host. `options` is complete. */
int kin__event_recorder_open(kin_event_recorder **out, kin__host *host,
                             const kin_event_recorder_options *options);

#endif /* KIN_RECORDER_RECORDER_H */
