/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_SYNC_WATCH_H
#define KIN_DISPATCH_SYNC_WATCH_H

#include "base/link.h"

/* Waits until an informer or a listener has synced, without polling. `notify`
 * is called once, after the watch has left its list: with 0 after the sync,
 * with KIN_ECLOSED after a close before the sync. To stop waiting, remove the
 * node.
 *
 * `notify` is called inside calls of the program and inside tasks. It may note
 * work and schedule it. It must not close or free anything. */
typedef struct kin__sync_watch {
  kin__link node; /* in the dispatcher's or the listener's sync_watches */
  void (*notify)(struct kin__sync_watch *watch, int result);
} kin__sync_watch;

/* Notifies all watches of the list and empties it. */
static inline void kin__sync_watches_tell(kin__link *watches, int result) {
  while (!kin__link_is_empty(watches)) {
    kin__sync_watch *watch =
        KIN__CONTAINER_OF(watches->next, kin__sync_watch, node);
    kin__link_remove(&watch->node);
    watch->notify(watch, result);
  }
}

#endif /* KIN_DISPATCH_SYNC_WATCH_H */
