/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_WATCH_H
#define KIN_TOOLKIT_WATCH_H

#include <kin/until.h>
#include <kin/watch.h>

#include "client/host.h"

/* The public functions without `host`, for any host. The opened handle is a
 * member of the host, which must outlive it. The same errors. */

int kin__retry_watcher_open(kin_retry_watcher **out, kin__host *host,
                            const kin_retry_watcher_options *options);

int kin__informer_watcher_open(kin_informer_watcher **out, kin__host *host,
                               const kin_informer_watcher_options *options);

/* `is_synced`: as kin_until_open_synced, else as kin_until_open. */
int kin__until_open(kin_until **out, kin__host *host,
                    const kin_until_options *options, bool is_synced);

#endif /* KIN_TOOLKIT_WATCH_H */
