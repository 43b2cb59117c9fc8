/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_STAGE_H
#define KIN_REFLECTOR_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/object.h>

#include "base/chunkq.h"
#include "decode/sink.h"

/* The objects of a list that is not complete yet: 8 bytes each, invisible to
 * everybody. An object that is cached unchanged is the cached object itself. A
 * failed list drops its stage and has changed nothing. */
typedef struct kin__stage {
  kin__chunkq objects; /* of kin_object *, one reference each, with the type in
                        * the lowest two bits */
  size_t stale;        /* of these, at the front: discarded, not freed yet */
} kin__stage;

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator);

/* Takes the reference over, also on failure. Errors: KIN_ENOMEM. */
int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object);

/* The oldest object that is not stale, borrowed, or NULL. Stale ones must have
 * been freed. */
kin_object *kin__stage_peek(const kin__stage *stage);
/* Its type; there must be one. A list that came as a watch may have changed
 * while it came, so that it has objects twice, and deleted ones. */
kin__decoded_type kin__stage_type(const kin__stage *stage);
/* Drops that object. */
void kin__stage_pop(kin__stage *stage);

/* Discards all objects: O(1), kin__stage_free_step frees them. What is pushed
 * from now on is another list. */
void kin__stage_discard(kin__stage *stage);
/* Frees up to `count` stale objects. Returns whether any is left. When the
 * stage is empty nothing is allocated. */
bool kin__stage_free_step(kin__stage *stage, size_t count);

/* Number of objects that are not stale. */
size_t kin__stage_count(const kin__stage *stage);

#endif /* KIN_REFLECTOR_STAGE_H */
