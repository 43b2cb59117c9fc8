/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_STAGE_H
#define KIN_REFLECTOR_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/object.h>

#include "base/chunkq.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/sched.h"
#include "base/slots.h"
#include "decode/sink.h"

/* The objects of a list that is not complete yet: 8 bytes each, invisible to
 * everybody. An object that is cached unchanged is the cached object itself. A
 * failed list drops its stage and has changed nothing.
 *
 * A list that comes as a watch may change while it comes: what a later entry
 * has made void is skipped (kin__stage_is_void), so what is left is the final
 * content (WL-03). Only keys with changes are remembered for that, about 30
 * bytes each, while an entry of theirs is staged. */
typedef struct kin__stage {
  kin__chunkq objects; /* of kin_object *, one reference each, with the type in
                        * the lowest two bits */
  size_t stale;        /* of these, at the front: discarded, not freed yet */
  uint64_t popped;     /* so far; the number of the entry in front */
  kin__slots changed;  /* keys that were changed, with their last entry */
  kin__map changed_map;
  kin__hash_seed seed; /* of the map, made before the first change */
  bool has_seed;
} kin__stage;

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator);

/* Takes the reference over, also on failure. Errors: KIN_ENOMEM. */
int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object);

/* The oldest object that is not stale, borrowed, or NULL. Stale ones must have
 * been freed. */
kin_object *kin__stage_peek(const kin__stage *stage);
/* Its type; there must be one. */
kin__decoded_type kin__stage_type(const kin__stage *stage);
/* Whether that object is no part of what the list has come to: it was deleted,
 * or a later entry has changed or deleted it. An object without a text, which
 * could not be transformed, changes none. There must be one. */
bool kin__stage_is_void(const kin__stage *stage);
/* Drops that object. */
void kin__stage_pop(kin__stage *stage);

/* Discards all objects: O(1), kin__stage_free_step frees them. What is pushed
 * from now on is another list. */
void kin__stage_discard(kin__stage *stage);
/* Frees up to `count` stale objects. Returns whether any is left. When the
 * stage is empty nothing is allocated. */
bool kin__stage_free_step(kin__stage *stage, size_t count);
/* The same as one step of a task, bounded in objects and in time. */
bool kin__stage_free_slice(kin__stage *stage, const kin__sched *sched,
                           uint32_t count);

/* Number of objects that are not stale. */
size_t kin__stage_count(const kin__stage *stage);

#endif /* KIN_REFLECTOR_STAGE_H */
