/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_FILTER_H
#define KIN_DISPATCH_FILTER_H

#include <stdbool.h>

#include "dispatch/notification.h"

/* What a listener that sees only some objects gets to hear of a change (EH-03):
 *
 *             old accepted   old not accepted
 *   new       update         add
 *   new not   delete         nothing
 *
 * Its objects are borrowed. The filter is asked for the new object first; for a
 * delete it is asked about what was cached, not about the last state that the
 * server sent, because that decides whether the listener has the object. */
bool kin__filter_apply(kin_filter_cb filter, void *data,
                       const kin__notification *change,
                       kin__notification *seen);

#endif /* KIN_DISPATCH_FILTER_H */
