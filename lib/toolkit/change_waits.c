/* SPDX-License-Identifier: MIT */
#include "toolkit/change_waits.h"

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"

typedef struct place {
  kin__slot_head head;
  kin__change_wait *wait; /* NULL iff the slot is free */
} place;

void kin__change_waits_init(kin__change_waits *waits,
                            const kin_allocator *allocator,
                            kin__hash_seed seed) {
  *waits = (kin__change_waits){.allocator = allocator, .seed = seed};
  kin__slots_init(&waits->slots, allocator, sizeof(place));
  kin__slots_init(&waits->old, allocator, sizeof(place));
  kin__map_init(&waits->map, allocator, &waits->slots);
  kin__timers_init(&waits->due);
  kin__link_init(&waits->waiting);
  kin__link_init(&waits->stale);
}

void kin__change_waits_finish(kin__change_waits *waits) {
  kin__map_finish(&waits->map);
  kin__slots_finish(&waits->slots);
  kin__slots_finish(&waits->old);
}

static uint32_t hash_of(const kin__change_waits *waits,
                        const kin_object *object) {
  return kin__hash(&waits->seed, kin_object_key(object));
}

kin__change_wait *kin__change_waits_find(kin__change_waits *waits,
                                         const kin_object *object) {
  if (waits->map.count == 0) {
    return NULL;
  }
  kin_str key = kin_object_key(object);
  uint32_t id = kin__map_first(&waits->map, hash_of(waits, object));
  for (; id != KIN__NO_SLOT; id = kin__map_next(&waits->map, id)) {
    kin__change_wait *wait = ((place *)kin__slots_at(&waits->slots, id))->wait;
    if (!kin__str_equal(kin_object_key(wait->newest), key)) {
      continue;
    }
    if (wait->batch == waits->batch) {
      return wait;
    }
    kin__change_waits_remove(waits, wait);
    return NULL;
  }
  return NULL;
}

kin__change_wait *kin__change_waits_add(kin__change_waits *waits,
                                        const kin_object *told,
                                        const kin_object *newest) {
  kin__change_wait *wait = kin__calloc(waits->allocator, 1, sizeof *wait);
  if (wait == NULL || kin__map_reserve(&waits->map) != 0 ||
      kin__slots_take(&waits->slots, &wait->id) != 0) {
    kin__free(waits->allocator, wait);
    return NULL;
  }
  /* Cannot fail: it was reserved. */
  (void)kin__map_insert(&waits->map, hash_of(waits, newest), wait->id);
  ((place *)kin__slots_at(&waits->slots, wait->id))->wait = wait;
  kin__timer_init(&wait->timer, NULL);
  wait->told = told != NULL ? kin__object_ref(told) : NULL;
  wait->newest = kin__object_ref(newest);
  wait->batch = waits->batch;
  kin__link_push(&waits->waiting, &wait->node);
  waits->count++;
  return wait;
}

void kin__change_wait_set_newest(kin__change_wait *wait,
                                 const kin_object *newest) {
  kin_object *before = wait->newest;
  wait->newest = kin__object_ref(newest);
  kin__object_unref(before);
}

/* After a burst the slots' segments are given back, in steps. No slot may be
 * taken from an array that is freed in steps, so a new array takes its place.
 * The map has shrunk with each removal. */
static void retire_slots(kin__change_waits *waits) {
  if (waits->map.count == 0 && waits->old.segments.count == 0 &&
      kin__segments_room(&waits->slots.segments) > KIN__SEGMENT_MAX) {
    waits->old = waits->slots;
    kin__slots_init(&waits->slots, waits->allocator, sizeof(place));
  }
}

void kin__change_waits_remove(kin__change_waits *waits,
                              kin__change_wait *wait) {
  waits->count -= wait->batch == waits->batch ? 1 : 0;
  kin__timer_stop(&waits->due, &wait->timer);
  kin__link_remove(&wait->node);
  kin__map_remove(&waits->map, wait->id);
  kin__slots_give(&waits->slots, wait->id);
  kin__object_unref(wait->told);
  kin__object_unref(wait->newest);
  kin__free(waits->allocator, wait);
  retire_slots(waits);
}

kin__change_wait *kin__change_waits_first(const kin__change_waits *waits) {
  kin__timer *root = waits->due.root;
  return root != NULL ? KIN__CONTAINER_OF(root, kin__change_wait, timer) : NULL;
}

void kin__change_waits_turn(kin__change_waits *waits) {
  kin__link_splice(&waits->stale, &waits->waiting);
  waits->batch++;
  waits->count = 0;
}

static kin__change_wait *first_of(const kin__link *list) {
  return kin__link_is_empty(list)
             ? NULL
             : KIN__CONTAINER_OF(list->next, kin__change_wait, node);
}

kin__change_wait *kin__change_waits_oldest(const kin__change_waits *waits) {
  return first_of(&waits->waiting);
}

bool kin__change_waits_drop(kin__change_waits *waits, kin__slice *slice,
                            bool all) {
  for (;;) {
    kin__change_wait *wait = first_of(&waits->stale);
    if (wait == NULL && all) {
      wait = first_of(&waits->waiting);
    }
    if (wait == NULL && waits->old.segments.count == 0) {
      return false;
    }
    if (!kin__slice_next(slice)) {
      return true;
    }
    if (wait != NULL) {
      kin__change_waits_remove(waits, wait);
    } else if (kin__slots_drop_segment(&waits->old) == 0) {
      kin__slots_finish(&waits->old); /* the directory */
      retire_slots(waits);
    }
  }
}
