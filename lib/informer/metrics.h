/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_METRICS_H
#define KIN_INFORMER_METRICS_H

#include <kin/metrics.h>

#include "feed/feed.h"

/* Reads an informer's numbers; all but `size`. */
void kin__metrics_read(const kin_informer *informer,
                       kin_informer_metrics *metrics);

/* Adds a feed's counters. */
void kin__metrics_add_feed(kin_informer_metrics *to, const kin_feed *feed);

#endif /* KIN_INFORMER_METRICS_H */
