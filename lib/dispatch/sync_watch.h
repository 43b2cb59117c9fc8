/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_SYNC_WATCH_H
#define KIN_DISPATCH_SYNC_WATCH_H

#include "base/link.h"

/* Waits until an informer or a listener has synced, without polling. It is told
 * once, and is out of the list then: 0 when it has synced, KIN_ECLOSED when it
 * is closed before that. To stop waiting, take the node out of its list.
 *
 * Notified inside calls of the user and inside tasks: notify may note what is
 * to be done and schedule it, and must not call anything that closes or
 * frees. */
typedef struct kin__sync_watch {
  kin__link node; /* in the dispatcher's or the listener's sync_watches */
  void (*notify)(struct kin__sync_watch *watch, int result);
} kin__sync_watch;

/* Tells all that are in the list. */
static inline void kin__sync_watches_tell(kin__link *watches, int result) {
  while (!kin__link_is_empty(watches)) {
    kin__sync_watch *watch =
        KIN__CONTAINER_OF(watches->next, kin__sync_watch, node);
    kin__link_remove(&watch->node);
    watch->notify(watch, result);
  }
}

#endif /* KIN_DISPATCH_SYNC_WATCH_H */
