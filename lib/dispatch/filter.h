/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_FILTER_H
#define KIN_DISPATCH_FILTER_H

#include <stdbool.h>

#include "dispatch/notification.h"

/* Turns a change into what a listener with a filter sees (EH-03):
 *
 *             old accepted   old not accepted
 *   new       update         add
 *   new not   delete         nothing
 *
 * Objects in `seen` are borrowed. The filter is called for the new object
 * first. For a delete it is called for the cached object, because that object
 * decides whether the listener has the key. The server's last state does
 * not. */
bool kin__filter_apply(kin_filter_cb filter, void *data,
                       const kin__notification *change,
                       kin__notification *seen);

#endif /* KIN_DISPATCH_FILTER_H */
