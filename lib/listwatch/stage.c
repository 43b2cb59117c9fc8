/* SPDX-License-Identifier: MIT */
#include "listwatch/stage.h"

#include <assert.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/object.h"

/* Place of a key's object in a merged stage. A key may have two places: of its
 * last good state, and of the last state whose transform failed. */
typedef struct staged_key {
  kin__slot_head head;
  uintptr_t *place;
} staged_key;

static void init_keys(kin__stage *stage, const kin_allocator *allocator) {
  kin__slots_init(&stage->keys, allocator, sizeof(staged_key));
  kin__map_init(&stage->key_map, allocator, &stage->keys);
}

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator) {
  *stage = (kin__stage){0};
  kin__chunkq_init(&stage->objects, allocator, sizeof(uintptr_t));
  init_keys(stage, allocator);
  kin__slots_init(&stage->old_keys, allocator, sizeof(staged_key));
  kin__map_init(&stage->old_map, allocator, &stage->old_keys);
}

/* --- Old keys ------------------------------------------------------------- */

/* When the stage is taken or discarded, its keys are no longer needed. Each
 * popped object frees one segment of the keys; there are more objects than
 * segments. */

static void finish_old_keys(kin__stage *stage) {
  kin__map_finish(&stage->old_map);
  kin__slots_finish(&stage->old_keys);
}

static void retire_keys(kin__stage *stage) {
  if (stage->keys.segments.places == NULL &&
      stage->key_map.heads.places == NULL) {
    return;
  }
  finish_old_keys(stage);
  stage->old_keys = stage->keys;
  stage->old_map = stage->key_map;
  stage->old_map.slots = &stage->old_keys;
  init_keys(stage, stage->objects.allocator);
}

static void free_some_old_keys(kin__stage *stage) {
  if (stage->old_map.heads.count > 0) {
    (void)kin__map_drop_segment(&stage->old_map);
  } else if (stage->old_keys.segments.count > 0) {
    (void)kin__slots_drop_segment(&stage->old_keys);
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
  return stage->is_merged && (entry & TYPE_BITS) == VOID_BITS;
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
  retire_keys(stage);
  finish_old_keys(stage);
  stage->is_merged = false;
  stage->first_void = NULL;
  stage->voids = 0;
}

/* --- Keys ----------------------------------------------------------------- */

static staged_key *key_at(const kin__stage *stage, uint32_t id) {
  return kin__slots_at(&stage->keys, id);
}

static bool is_refused(const kin_object *object) {
  return kin__object_body(object).length == 0;
}

/* KIN__NO_SLOT if there is none. */
static uint32_t find(const kin__stage *stage, kin_str key, uint32_t hash,
                     bool of_refused) {
  uint32_t id = kin__map_first(&stage->key_map, hash);
  for (; id != KIN__NO_SLOT; id = kin__map_next(&stage->key_map, id)) {
    const kin_object *object = object_in(*key_at(stage, id)->place);
    if (kin__str_equal(kin_object_key(object), key) &&
        is_refused(object) == of_refused) {
      break;
    }
  }
  return id;
}

static void drop_key(kin__stage *stage, uint32_t id) {
  kin__map_remove(&stage->key_map, id);
  kin__slots_give(&stage->keys, id);
}

static void void_key(kin__stage *stage, uint32_t id) {
  if (id != KIN__NO_SLOT) {
    void_place(stage, key_at(stage, id)->place);
    drop_key(stage, id);
  }
}

static int push_keyed(kin__stage *stage, uint32_t hash, uintptr_t entry) {
  uint32_t id;
  int err = kin__slots_take(&stage->keys, &id);
  if (err != 0) {
    return err;
  }
  err = kin__map_insert(&stage->key_map, hash, id);
  if (err != 0) {
    kin__slots_give(&stage->keys, id);
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
  uint32_t hash = kin__hash(&stage->seed, key);
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
  if (!stage->has_seed) {
    stage->seed = kin__hash_make_seed(stage);
    stage->has_seed = true;
  }
  stage->is_merged = true;
  int err = merge(stage, type, take_object, is_new);
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
  free_some_old_keys(stage);
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

size_t kin__stage_count(const kin__stage *stage) {
  return stage->objects.count - stage->stale - stage->voids;
}
