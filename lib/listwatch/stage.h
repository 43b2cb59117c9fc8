/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_STAGE_H
#define KIN_LISTWATCH_STAGE_H

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
 * A list that comes as a watch may change while it comes, and for as long as
 * its server likes; so it is merged into the stage, which has each key once,
 * with its last state (WL-03). That costs 28 bytes more for each key. What a
 * deletion leaves is void, until another key takes the place. */
typedef struct kin__stage {
  kin__chunkq objects; /* of kin_object *, one reference each, with the type in
                        * the lowest two bits */
  size_t stale;        /* of these, at the front: discarded, not freed yet */
  size_t voids;        /* of the others */
  uintptr_t *first_void; /* that may be used again */
  bool is_merged;        /* something was, since it was empty */
  kin__slots keys;       /* of what was merged */
  kin__map key_map;
  kin__slots old_keys; /* of what was taken or discarded, being freed */
  kin__map old_map;
  kin__hash_seed seed; /* of the map, made before the first key */
  bool has_seed;
} kin__stage;

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator);

/* Takes the reference over, also on failure. Errors: KIN_ENOMEM. */
int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object);

/* The same in a list that changes: the state that the key has is freed, and a
 * deleted object is no part of it any more. An object without a text, which
 * could not be transformed, is staged beside the state before, in either order:
 * both leave the cache with the state before, and tell. *is_new: the key
 * was not there. A stage that is merged into must not be pushed to, until it
 * was discarded or is empty. Errors: KIN_ENOMEM, nothing changed. */
int kin__stage_merge(kin__stage *stage, kin__decoded_type type,
                     kin_object *take_object, bool *is_new);

/* Whether what is first is void: it has to be popped. Stale ones must have been
 * freed. */
bool kin__stage_is_void(const kin__stage *stage);
/* The first object, borrowed, or NULL; it must not be void, and stale ones must
 * have been freed. */
kin_object *kin__stage_peek(const kin__stage *stage);
/* Its type; there must be one. */
kin__decoded_type kin__stage_type(const kin__stage *stage);
/* Drops what is first; nothing may be merged before the stage is empty. */
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

/* Number of objects that are not stale and not void. */
size_t kin__stage_count(const kin__stage *stage);

#endif /* KIN_LISTWATCH_STAGE_H */
