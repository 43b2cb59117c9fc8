/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_REQUEST_H
#define KIN_FEED_FEED_REQUEST_H

#include <kin/lister_watcher.h>

#include "listwatch/request.h"

/* Puts the resource's selectors and parameters into a request, and has the
 * program's modifier change it. What it has set is the program's, valid until
 * the modifier is called again.
 * Errors: KIN_EINVAL (of what the modifier has set), the modifier's. */
int kin__feed_request_complete(kin_feed_request *request,
                               const kin__resource *resource);

#endif /* KIN_FEED_FEED_REQUEST_H */
