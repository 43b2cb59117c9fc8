/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_STAGE_H
#define KIN_LISTWATCH_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/object.h>

#include "base/chunkq.h"
#include "base/sched.h"
#include "decode/sink.h"

/* The objects of an incomplete list: 8 bytes each, invisible outside the feed.
 * An object that is cached unchanged is the cached object itself. A failed list
 * drops its stage and changes nothing.
 *
 * A list that comes as a watch may change while it comes, for as long as its
 * server likes. So its events are merged: the stage has each key once, in its
 * last state (WL-03). A merged key costs 28 bytes more. A deletion leaves a
 * void place, which the next key takes. */
typedef struct kin__stage {
  const kin_allocator *allocator;
  struct kin__stage_content *content; /* NULL: empty */
} kin__stage;

/* The place of one object: until the first pop, or the next discard. */
typedef uintptr_t kin__stage_place;

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator);

/* Takes over the reference, also on failure. Errors: KIN_ENOMEM;
 * KIN_EUNEXPECTED: a list brings the same keys again and again, and must be
 * given up. */
int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object);

/* The result of a merge. A list that changes brings a key again with another
 * state, and a key has two states at most. */
typedef struct kin__stage_merged {
  bool is_new;             /* the key was not there */
  unsigned count;          /* of replaced */
  kin_object *replaced[2]; /* left the stage; references of the caller's */
} kin__stage_merged;

/* As kin__stage_push, for a list that changes. The new state replaces the key's
 * old one; a deletion removes the key. An object without a text (its transform
 * failed) is staged beside the key's last good state. In either order the cache
 * ends with the last good state, and the failure is reported. After a merge, do
 * not push before the stage is discarded or empty. Errors: KIN_ENOMEM, nothing
 * changed. */
int kin__stage_merge(kin__stage *stage, kin__decoded_type type,
                     kin_object *take_object, kin__stage_merged *merged);

/* The place that the last push or merge gave an object. */
kin__stage_place *kin__stage_last(const kin__stage *stage);
/* Whether the place still has this object, which the caller has a reference
 * to. */
bool kin__stage_has(const kin__stage_place *place, const kin_object *object);
/* Puts another object with the same key into the place, which has one, and takes
 * the reference over. */
void kin__stage_replace(kin__stage_place *place, kin_object *take_object);

/* Whether the first place is void and has to be popped. Stale objects must have
 * been freed. */
bool kin__stage_is_void(const kin__stage *stage);
/* The first object, borrowed, or NULL. The place must not be void; stale
 * objects must have been freed. */
kin_object *kin__stage_peek(const kin__stage *stage);
/* Type of the first object; there must be one. */
kin__decoded_type kin__stage_type(const kin__stage *stage);
/* Drops the first place. Do not merge before the stage is empty. */
void kin__stage_pop(kin__stage *stage);

/* Prefetches the next `count` objects of a walk, which a zeroed cursor begins:
 * objects of a large list have left the processor's caches before they are
 * applied. The cursor stays valid until the place that it has passed last is
 * popped. */
void kin__stage_look_ahead(const kin__stage *stage, kin__chunkq_cursor *cursor,
                           unsigned count);

/* Discards all objects in O(1); kin__stage_free_step frees them. Objects pushed
 * later belong to another list. */
void kin__stage_discard(kin__stage *stage);
/* Frees up to `count` stale objects. Returns whether any is left. An empty
 * stage holds no memory. */
bool kin__stage_free_step(kin__stage *stage, size_t count);
/* As one step of a task: bounded in objects and in time. */
bool kin__stage_free_slice(kin__stage *stage, const kin__sched *sched,
                           uint32_t count);

/* Whether discarded objects are left that are not freed yet. */
bool kin__stage_is_stale(const kin__stage *stage);

/* Number of places, void and stale ones too. */
size_t kin__stage_places(const kin__stage *stage);

/* Number of keys of merged objects. */
size_t kin__stage_key_count(const kin__stage *stage);

/* Number of objects that are not stale and not void. */
size_t kin__stage_count(const kin__stage *stage);

#endif /* KIN_LISTWATCH_STAGE_H */
