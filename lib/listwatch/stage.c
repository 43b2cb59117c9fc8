/* SPDX-License-Identifier: MIT */
#include "listwatch/stage.h"

#include <assert.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/str.h"
#include "object/object.h"

/* Place of a key's object in a merged stage. A key may have two places: of its
 * last good state, and of the last state whose transform failed. */
typedef struct staged_key {
  kin__slot_head head;
  uintptr_t *place;
} staged_key;

/* Of a merged stage. */
typedef struct kin__stage_keys {
  kin__slots keys;
  kin__map map;
  kin__slots old_keys; /* of taken or discarded objects, being freed */
  kin__map old_map;
  kin__hash_seed seed; /* of the map */
} kin__stage_keys;

static void init_keys(kin__stage_keys *keys, const kin_allocator *allocator) {
  kin__slots_init(&keys->keys, allocator, sizeof(staged_key));
  kin__map_init(&keys->map, allocator, &keys->keys);
}

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator) {
  *stage = (kin__stage){0};
  kin__chunkq_init(&stage->objects, allocator, sizeof(uintptr_t));
}

/* Errors: KIN_ENOMEM. */
static int have_keys(kin__stage *stage) {
  if (stage->keys != NULL) {
    return 0;
  }
  const kin_allocator *allocator = stage->objects.allocator;
  kin__stage_keys *keys = kin__malloc(allocator, sizeof *keys);
  if (keys == NULL) {
    return KIN_ENOMEM;
  }
  init_keys(keys, allocator);
  kin__slots_init(&keys->old_keys, allocator, sizeof(staged_key));
  kin__map_init(&keys->old_map, allocator, &keys->old_keys);
  keys->seed = kin__hash_make_seed(stage);
  stage->keys = keys;
  return 0;
}

/* --- Old keys ------------------------------------------------------------- */

/* When the stage is taken or discarded, its keys are no longer needed. Each
 * popped object frees one segment of the keys; there are more objects than
 * segments. */

static void finish_old_keys(kin__stage_keys *keys) {
  kin__map_finish(&keys->old_map);
  kin__slots_finish(&keys->old_keys);
}

static void retire_keys(kin__stage *stage) {
  kin__stage_keys *keys = stage->keys;
  if (keys == NULL ||
      (keys->keys.segments.places == NULL && keys->map.heads.places == NULL)) {
    return;
  }
  finish_old_keys(keys);
  keys->old_keys = keys->keys;
  keys->old_map = keys->map;
  keys->old_map.slots = &keys->old_keys;
  init_keys(keys, stage->objects.allocator);
}

static void free_some_old_keys(kin__stage_keys *keys) {
  if (keys == NULL) {
    return;
  }
  if (keys->old_map.heads.count > 0) {
    (void)kin__map_drop_segment(&keys->old_map);
  } else if (keys->old_keys.segments.count > 0) {
    (void)kin__slots_drop_segment(&keys->old_keys);
  }
}

static void free_keys(kin__stage *stage) {
  if (stage->keys != NULL) {
    retire_keys(stage);
    finish_old_keys(stage->keys);
    kin__free(stage->objects.allocator, stage->keys);
    stage->keys = NULL;
  }
}

/* --- Places --------------------------------------------------------------- */

/* A place holds an object and its type. In a merged stage, type DELETED marks a
 * void place. A void place holds the address of the next void place, if the
 * free list is still in use. */
#define TYPE_BITS ((uintptr_t)3)
#define VOID_BITS ((uintptr_t)(KIN__DECODED_DELETED - KIN__DECODED_LISTED))
static_assert(KIN__DECODED_DELETED - KIN__DECODED_LISTED <= TYPE_BITS,
              "a type must fit into the bits that alignment leaves");

static bool is_void(const kin__stage *stage, uintptr_t entry) {
  return stage->keys != NULL && (entry & TYPE_BITS) == VOID_BITS;
}

static kin_object *object_in(uintptr_t entry) {
  return (kin_object *)(entry & ~TYPE_BITS);
}

static uintptr_t make_entry(kin__decoded_type type, const kin_object *object) {
  assert(((uintptr_t)object & TYPE_BITS) == 0);
  return (uintptr_t)object | (uintptr_t)(type - KIN__DECODED_LISTED);
}

static uintptr_t *take_place(kin__stage *stage) {
  uintptr_t *place = stage->first_void;
  if (place == NULL) {
    return kin__chunkq_push(&stage->objects);
  }
  stage->first_void = (uintptr_t *)(*place & ~TYPE_BITS);
  stage->voids--;
  return place;
}

static void void_place(kin__stage *stage, uintptr_t *place) {
  kin_object_unref(object_in(*place));
  *place = (uintptr_t)stage->first_void | VOID_BITS;
  stage->first_void = place;
  stage->voids++;
}

/* An empty stage holds no memory, because no function finishes a stage. */
static void free_if_empty(kin__stage *stage) {
  if (stage->objects.count > 0) {
    return;
  }
  kin__chunkq_finish(&stage->objects);
  free_keys(stage);
  stage->first_void = NULL;
  stage->voids = 0;
}

/* --- Keys ----------------------------------------------------------------- */

static staged_key *key_at(const kin__stage *stage, uint32_t id) {
  return kin__slots_at(&stage->keys->keys, id);
}

static bool is_refused(const kin_object *object) {
  return kin__object_body(object).length == 0;
}

/* KIN__NO_SLOT if there is none. */
static uint32_t find(const kin__stage *stage, kin_str key, uint32_t hash,
                     bool of_refused) {
  uint32_t id = kin__map_first(&stage->keys->map, hash);
  for (; id != KIN__NO_SLOT; id = kin__map_next(&stage->keys->map, id)) {
    const kin_object *object = object_in(*key_at(stage, id)->place);
    if (kin__str_equal(kin_object_key(object), key) &&
        is_refused(object) == of_refused) {
      break;
    }
  }
  return id;
}

static void drop_key(kin__stage *stage, uint32_t id) {
  kin__map_remove(&stage->keys->map, id);
  kin__slots_give(&stage->keys->keys, id);
}

static void void_key(kin__stage *stage, uint32_t id) {
  if (id != KIN__NO_SLOT) {
    void_place(stage, key_at(stage, id)->place);
    drop_key(stage, id);
  }
}

static int push_keyed(kin__stage *stage, uint32_t hash, uintptr_t entry) {
  uint32_t id;
  int err = kin__slots_take(&stage->keys->keys, &id);
  if (err != 0) {
    return err;
  }
  err = kin__map_insert(&stage->keys->map, hash, id);
  if (err != 0) {
    kin__slots_give(&stage->keys->keys, id);
    return err;
  }
  uintptr_t *place = take_place(stage);
  if (place == NULL) {
    drop_key(stage, id);
    return KIN_ENOMEM;
  }
  *place = entry;
  key_at(stage, id)->place = place;
  return 0;
}

/* --- Entries -------------------------------------------------------------- */

int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object) {
  uintptr_t *place = kin__chunkq_push(&stage->objects);
  if (place == NULL) {
    kin_object_unref(take_object);
    free_if_empty(stage);
    return KIN_ENOMEM;
  }
  *place = make_entry(type, take_object);
  return 0;
}

/* A refused state is kept beside the last good one. A good state replaces both;
 * a deletion removes both. */
static int merge(kin__stage *stage, kin__decoded_type type,
                 kin_object *take_object, bool *is_new) {
  kin_str key = kin_object_key(take_object);
  uint32_t hash = kin__hash(&stage->keys->seed, key);
  uint32_t last = find(stage, key, hash, false);
  uint32_t refused = find(stage, key, hash, true);
  *is_new = last == KIN__NO_SLOT && refused == KIN__NO_SLOT &&
            type != KIN__DECODED_DELETED;
  if (type == KIN__DECODED_DELETED) {
    void_key(stage, last);
    void_key(stage, refused);
    kin_object_unref(take_object);
    return 0;
  }
  uint32_t same = is_refused(take_object) ? refused : last;
  uintptr_t entry = make_entry(type, take_object);
  if (same == KIN__NO_SLOT) {
    int err = push_keyed(stage, hash, entry);
    if (err != 0) {
      kin_object_unref(take_object);
      return err;
    }
  } else {
    uintptr_t *place = key_at(stage, same)->place;
    kin_object_unref(object_in(*place));
    *place = entry;
  }
  if (same != refused) {
    void_key(stage, refused);
  }
  return 0;
}

int kin__stage_merge(kin__stage *stage, kin__decoded_type type,
                     kin_object *take_object, bool *is_new) {
  int err = have_keys(stage);
  if (err != 0) {
    kin_object_unref(take_object);
    return err;
  }
  err = merge(stage, type, take_object, is_new);
  free_if_empty(stage);
  return err;
}

bool kin__stage_is_void(const kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return place != NULL && is_void(stage, *place);
}

kin_object *kin__stage_peek(const kin__stage *stage) {
  assert(stage->stale == 0 && !kin__stage_is_void(stage));
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return place != NULL ? object_in(*place) : NULL;
}

kin__decoded_type kin__stage_type(const kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return (kin__decoded_type)((*place & TYPE_BITS) + KIN__DECODED_LISTED);
}

static void pop(kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  if (!is_void(stage, *place)) {
    kin_object_unref(object_in(*place));
  }
  kin__chunkq_pop(&stage->objects);
  free_some_old_keys(stage->keys);
}

/* Popped places must not be reused, so the free list ends here. */
void kin__stage_pop(kin__stage *stage) {
  assert(stage->stale == 0);
  stage->voids -= kin__stage_is_void(stage);
  stage->first_void = NULL;
  retire_keys(stage);
  pop(stage);
  free_if_empty(stage);
}

void kin__stage_discard(kin__stage *stage) {
  stage->stale = stage->objects.count;
  stage->first_void = NULL;
  stage->voids = 0;
  retire_keys(stage);
}

bool kin__stage_free_step(kin__stage *stage, size_t count) {
  for (; count > 0 && stage->stale > 0; count--) {
    pop(stage);
    stage->stale--;
    free_if_empty(stage);
  }
  return stage->stale > 0;
}

bool kin__stage_free_slice(kin__stage *stage, const kin__sched *sched,
                           uint32_t count) {
  if (stage->stale > 0) {
    kin__slice slice = kin__slice_begin(sched, count);
    while (kin__slice_next(&slice) && kin__stage_free_step(stage, 1)) {
    }
  }
  return stage->stale > 0;
}

size_t kin__stage_key_count(const kin__stage *stage) {
  return stage->keys != NULL ? stage->keys->keys.live : 0;
}

size_t kin__stage_count(const kin__stage *stage) {
  return stage->objects.count - stage->stale - stage->voids;
}
