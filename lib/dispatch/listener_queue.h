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
 * The exact part holds notifications as they came. Notifications go to the
 * overflow part when the exact part has reached its limit, and while the
 * listener is paused, until the overflow is empty again. The overflow merges
 * notifications of one key:
 *
 *   add + update    = add(newest), initial if the add was
 *   add + delete    = nothing, see max_gone
 *   update + update = update(last delivered -> newest), a resync if both are
 *   update + delete = delete
 *   delete + add    = both; later changes are merged into the add
 *
 * So the overflow has at most two entries for a key, and the older one is a
 * delete. A merged entry keeps the place of the older one, so no change moves
 * behind a marker that was queued after it. The marker of a relist replaces the
 * one of an earlier relist of its namespace if only markers are in between, also
 * when the last change in between has become nothing. So there are as many
 * relists behind each change as namespaces at most. No other marker is dropped.
 *
 * Notifications of unwanted types are not kept, with one exception. An unwanted
 * add in the overflow stays as a hidden entry, because a later delete of its
 * key must cancel it. Without hidden entries a paused listener for deletes
 * alone would collect a delete for each object that came and went.
 *
 * These rules hold for changes of a store, also for those that the program
 * makes. Any other pair, such as two adds, would be merged into the nearest
 * legal one; the bound of two entries holds. */
typedef struct kin__listener_overflow {
  kin__slots entries;
  kin__map map;       /* entries by key, without markers */
  kin__slots retired; /* entries of a drained overflow, being freed */
} kin__listener_overflow;

typedef struct kin__listener_queue {
  kin__chunkq exact;                /* of kin__notification */
  kin__listener_overflow *overflow; /* NULL: none was needed so far */
  uint32_t first; /* oldest entry of the overflow; KIN__NO_SLOT: none */
  uint32_t last;
  uint32_t merged;   /* entries without hidden ones */
  uint16_t gone;     /* entries with is_gone */
  uint16_t max_gone; /* up to so many adds with their deletes are a delete each,
                       * and not nothing; 0 at first */
  size_t exact_limit; /* the overflow begins here */
  uint8_t wanted;     /* KIN__WANTS of each type to be delivered */
  bool is_paused;
} kin__listener_queue;

/* max_gone of a listener that has to tell of objects that came and went. */
#define KIN__LISTENER_MAX_GONE 4096u

#define KIN__WANTS(type) (1u << (type))

/* Allocates nothing. exact_limit SIZE_MAX: never coalesces. Synced markers are
 * always kept. */
void kin__listener_queue_init(kin__listener_queue *queue,
                              const kin_allocator *allocator, uint8_t wanted,
                              size_t exact_limit);
/* Drops the rest; O(n), see kin__listener_queue_clear_step. */
void kin__listener_queue_finish(kin__listener_queue *queue);

/* While paused, all notifications are coalesced, unless exact_limit is
 * SIZE_MAX. */
void kin__listener_queue_set_paused(kin__listener_queue *queue, bool is_paused);

/* Whether the next push goes to the overflow and needs the key's hash. */
static inline bool
kin__listener_queue_is_coalescing(const kin__listener_queue *queue) {
  return (queue->is_paused && queue->exact_limit != SIZE_MAX) ||
         queue->first != KIN__NO_SLOT ||
         queue->exact.count >= queue->exact_limit;
}

/* Reserves memory for two pushes. Errors: KIN_ENOMEM. */
int kin__listener_queue_reserve(kin__listener_queue *queue);

/* Appends or merges; takes its own references. `hash` is the key's hash, always
 * by the same function; read only if the queue was coalescing. Must be covered
 * by a reserve. */
void kin__listener_queue_push(kin__listener_queue *queue,
                              const kin__notification *notification,
                              uint32_t hash);

/* Whether notifications of that type are delivered. */
static inline bool kin__listener_queue_wants(const kin__listener_queue *queue,
                                             uint8_t type) {
  return (queue->wanted & KIN__WANTS(type)) != 0;
}

/* Moves the oldest notification with its references to *notification; false if
 * there is none. The caller ignores a hidden one (an unwanted add). */
bool kin__listener_queue_pop(kin__listener_queue *queue,
                             kin__notification *notification);

/* Whether no notification is left to pop. */
static inline bool
kin__listener_queue_is_empty(const kin__listener_queue *queue) {
  return queue->exact.count == 0 && queue->first == KIN__NO_SLOT;
}

/* Number of notifications to deliver. */
static inline size_t
kin__listener_queue_count(const kin__listener_queue *queue) {
  return queue->exact.count + queue->merged;
}

/* Drops up to `count` notifications and returns how many. */
size_t kin__listener_queue_clear_step(kin__listener_queue *queue, size_t count);

/* Whether memory of a drained overflow is left. */
static inline bool
kin__listener_queue_wants_trim(const kin__listener_queue *queue) {
  const kin__listener_overflow *overflow = queue->overflow;
  return overflow != NULL &&
         (overflow->retired.segments.places != NULL ||
          (queue->first == KIN__NO_SLOT &&
           kin__segments_room(&overflow->entries.segments) > KIN__SEGMENT_MAX));
}

/* Frees a part of that memory and returns whether there is more. Not between a
 * reserve and its pushes. */
bool kin__listener_queue_trim_step(kin__listener_queue *queue);

#endif /* KIN_DISPATCH_LISTENER_QUEUE_H */
