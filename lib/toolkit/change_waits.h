/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_CHANGE_WAITS_H
#define KIN_TOOLKIT_CHANGE_WAITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <kin/handler.h>
#include <kin/object.h>

#include "base/hash.h"
#include "base/link.h"
#include "base/map.h"
#include "base/sched.h"
#include "base/slab.h"
#include "base/slots.h"
#include "base/timers.h"

/* The keys of which a change is not told yet: what was told last, and what is
 * now. The timers are nodes of a heap of the table's own, so a client has one
 * timer for all of them. */
typedef struct kin__change_wait {
  kin__link node; /* in the table's `waiting` or `stale` */
  kin__timer timer;
  kin_object *told;   /* one reference; NULL: nothing was told */
  kin_object *newest; /* one reference; never NULL */
  uint64_t first_ms;  /* time of the first change */
  uint32_t id;        /* in slots */
  uint32_t changes;
  uint32_t batch;   /* in which the wait began */
  bool is_deleted;  /* `newest` is the last state */
  uint8_t reason;   /* of the last delete */
  uint8_t net_type; /* for batches: the kin_event_type that would be told; 0:
                     * none */
} kin__change_wait;

/* An entry in its cell, its slot and its share of the map. */
static_assert(sizeof(kin__cell) + sizeof(kin__change_wait) +
                      sizeof(kin__slot_head) + sizeof(void *) +
                      sizeof(uint32_t) <=
                  200,
              "a waiting key must not cost more than kin/change_filter.h says");

typedef struct kin__change_waits {
  const kin_allocator *allocator;
  kin__hash_seed seed;
  kin__slots slots;
  kin__slots old; /* after a burst: emptied, to be freed */
  kin__map map;
  kin__timers due;
  kin__link waiting; /* the oldest first */
  kin__link stale;   /* of earlier batches, to be freed */
  uint32_t count;    /* of `waiting` */
  uint32_t batch;    /* the present one */
} kin__change_waits;

/* Allocates nothing. A table must not be moved in memory. `allocator` should be
 * one of cells (base/memory.h): with a general allocator, freeing one segment
 * may merge the blocks of all waits in one call, which took 6 ms. */
void kin__change_waits_init(kin__change_waits *waits,
                            const kin_allocator *allocator,
                            kin__hash_seed seed);
/* The table must be empty. */
void kin__change_waits_finish(kin__change_waits *waits);

/* The wait of the object's key in the present batch, or NULL. Frees one of an
 * earlier batch. */
kin__change_wait *kin__change_waits_find(kin__change_waits *waits,
                                         const kin_object *object);
/* Adds a wait for a key that has none; takes references of its own. `told` may
 * be NULL. The timer is not started. NULL if out of memory. */
kin__change_wait *kin__change_waits_add(kin__change_waits *waits,
                                        const kin_object *told,
                                        const kin_object *newest);
void kin__change_wait_set_newest(kin__change_wait *wait,
                                 const kin_object *newest);
/* Frees the wait. After the last one kin__change_waits_drop may have work. */
void kin__change_waits_remove(kin__change_waits *waits, kin__change_wait *wait);

/* The wait whose timer is due first, or NULL. */
kin__change_wait *kin__change_waits_first(const kin__change_waits *waits);
/* The wait of the present batch that began first, or NULL. */
kin__change_wait *kin__change_waits_oldest(const kin__change_waits *waits);

/* Makes all waits stale, and begins a new batch. O(1). */
void kin__change_waits_turn(kin__change_waits *waits);

/* Frees stale waits for a slice, and then the segments of `old`; the other
 * waits too if `all`. Returns whether there is more. */
bool kin__change_waits_drop(kin__change_waits *waits, kin__slice *slice,
                            bool all);

#endif /* KIN_TOOLKIT_CHANGE_WAITS_H */
