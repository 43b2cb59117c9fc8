/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_REQUEST_H
#define KIN_FEED_FEED_REQUEST_H

#include <kin/lister_watcher.h>

#include "listwatch/target.h"

/* Puts the resource's selectors and parameters into a request and calls the
 * program's modifier. Strings that the modifier sets belong to the program and
 * are valid until its next call. Errors: KIN_EINVAL (invalid values from the
 * modifier), the modifier's own. */
int kin__feed_request_complete(kin_feed_request *request,
                               const kin__resource *resource);

#endif /* KIN_FEED_FEED_REQUEST_H */
