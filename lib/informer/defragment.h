/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_DEFRAGMENT_H
#define KIN_INFORMER_DEFRAGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sched.h"
#include "base/slab.h"

/* Moves an informer's objects together, so that memory goes back to the system
 * after many objects have been deleted. A slab (base/slab.h) goes back with its
 * last object: with 46 objects in each, one tenth of all objects at random
 * keeps 99 % of the slabs.
 *
 * One pass over the store when a quarter of the slabs' memory is not in use,
 * but only if an eighth has changed since the last pass. Informers of a client
 * share slabs: when one has moved its objects away, another's may lie alone. An
 * object is moved if only the store holds it. Moving makes another kin_object
 * with the same content; objects that the store lends are borrowed until the
 * store changes, and an informer's store may change in each turn of the loop.
 * With compact storage, a pass packs what is plain. */
typedef struct kin__defragmenter {
  kin__task task;
  uint32_t next; /* the pass's next slot */
  bool is_passing;
  kin__arena_fill last; /* used before the last pass, bytes after that pass, or
                        * before it if it gave an eighth back */
} kin__defragmenter;

struct kin_informer;

void kin__defragment_init(kin__defragmenter *defragmenter);

/* Begins a pass in any case: a dictionary has come (compact.h). */
void kin__defragment_pass(struct kin_informer *informer);

/* The informer has no change in hand: begins a pass if there is a need, or
 * continues one. O(1). */
void kin__defragment_wake(struct kin_informer *informer);

#endif /* KIN_INFORMER_DEFRAGMENT_H */
