/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_LISTENER_QUEUE_H
#define KIN_DISPATCH_LISTENER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chunkq.h"
#include "base/map.h"
#include "base/slots.h"
#include "dispatch/notification.h"

/* The undelivered notifications of one listener, oldest first.
 *
 * The exact part holds them as they came. When it has reached its limit, if it
 * has one, or while the listener is paused, notifications go to the overflow
 * part, where those of one key are merged, until the overflow is empty again:
 *
 *   add + update    = add(newest), initial if the add was
 *   add + delete    = nothing
 *   update + update = update(last delivered -> newest), a resync if both are
 *   update + delete = delete
 *   delete + add    = both; what follows is merged into the add
 *
 * So the overflow has at most two entries for a key, the older of which is a
 * delete. A merged entry stays where the older one was, hence no change is
 * ever moved behind a marker that it was queued before. Markers are neither
 * merged nor dropped.
 *
 * Notifications of a type that nobody wants are not kept, with one exception:
 * an unwanted add in the overflow stays as a hidden entry, because a later
 * delete of its key must annul it. Without that a paused listener for deletes
 * alone would collect a delete for each object that came and went.
 *
 * The rules hold for what a store sends. A store that its user also writes to
 * may give an add of what is known or an update of what is not; such a pair is
 * merged into the nearest legal one, and the bound stays. */
typedef struct kin__listener_queue {
  const kin_allocator *allocator;
  kin__chunkq exact;  /* of kin__notification */
  kin__slots entries; /* the overflow */
  kin__map map;       /* entries by key, without markers */
  uint32_t first;     /* oldest entry, KIN__NO_SLOT if there is none */
  uint32_t last;
  uint32_t hidden;    /* entries that are not to be delivered */
  size_t exact_limit; /* the overflow begins here */
  uint8_t wanted;     /* KIN__WANTS of each type to be delivered */
  bool is_paused;
  kin__slots retired; /* of a drained overflow, on its way out */
} kin__listener_queue;

#define KIN__WANTS(type) (1u << (type))

/* Allocates nothing. exact_limit SIZE_MAX: nothing is coalesced. Synced
 * markers are always kept, whether wanted or not. */
void kin__listener_queue_init(kin__listener_queue *queue,
                              const kin_allocator *allocator, uint8_t wanted,
                              size_t exact_limit);
/* Drops what is left; O(n), see kin__listener_queue_clear_step. */
void kin__listener_queue_finish(kin__listener_queue *queue);

/* While paused, everything is coalesced, unless nothing ever is. */
void kin__listener_queue_pause(kin__listener_queue *queue, bool is_paused);

/* Whether the next push goes to the overflow and so needs the key's hash. */
static inline bool
kin__listener_queue_is_coalescing(const kin__listener_queue *queue) {
  return (queue->is_paused && queue->exact_limit != SIZE_MAX) ||
         queue->first != KIN__NO_SLOT ||
         queue->exact.count >= queue->exact_limit;
}

/* Makes sure that there is memory for two pushes. Errors: KIN_ENOMEM. */
int kin__listener_queue_reserve(kin__listener_queue *queue);

/* Appends or merges; takes references of its own. `hash` is the key's, by any
 * function that does not change; read only if the queue was coalescing. Must be
 * covered by a reserve. */
void kin__listener_queue_push(kin__listener_queue *queue,
                              const kin__notification *notification,
                              uint32_t hash);

/* Whether a notification of that type is to be delivered. */
static inline bool kin__listener_queue_wants(const kin__listener_queue *queue,
                                             uint8_t type) {
  return (queue->wanted & KIN__WANTS(type)) != 0;
}

/* Moves the oldest notification and its references to *notification; false if
 * there is none. A hidden one (an unwanted add) comes too, to be ignored. */
bool kin__listener_queue_pop(kin__listener_queue *queue,
                             kin__notification *notification);

/* Whether nothing is left to pop. */
static inline bool
kin__listener_queue_is_empty(const kin__listener_queue *queue) {
  return queue->exact.count == 0 && queue->first == KIN__NO_SLOT;
}

/* Number of notifications to be delivered. */
static inline size_t
kin__listener_queue_count(const kin__listener_queue *queue) {
  return queue->exact.count + queue->entries.live - queue->hidden;
}

/* Drops up to `count` notifications and returns how many. */
size_t kin__listener_queue_clear_step(kin__listener_queue *queue, size_t count);

/* Whether there is memory that only a drained overflow needed. */
static inline bool
kin__listener_queue_wants_trim(const kin__listener_queue *queue) {
  return queue->retired.segments != NULL ||
         (queue->first == KIN__NO_SLOT && queue->entries.segment_count > 1);
}

/* Frees some of it and returns whether there is more. Not between a reserve and
 * its pushes. */
bool kin__listener_queue_trim_step(kin__listener_queue *queue);

#endif /* KIN_DISPATCH_LISTENER_QUEUE_H */
