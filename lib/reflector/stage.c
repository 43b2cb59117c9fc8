/* SPDX-License-Identifier: MIT */
#include "reflector/stage.h"

#include <assert.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/object.h"

/* The last entry of a key, whose object it borrows: it is gone when that is
 * popped. */
typedef struct changed_key {
  kin__slot_head head;
  const kin_object *object;
  uint64_t number;
} changed_key;

static void init_changed(kin__stage *stage, const kin_allocator *allocator) {
  kin__slots_init(&stage->changed, allocator, sizeof(changed_key));
  kin__map_init(&stage->changed_map, allocator, &stage->changed);
}

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator) {
  *stage = (kin__stage){0};
  kin__chunkq_init(&stage->objects, allocator, sizeof(uintptr_t));
  init_changed(stage, allocator);
}

/* --- Changes -------------------------------------------------------------- */

static changed_key *changed_at(const kin__stage *stage, uint32_t id) {
  return kin__slots_at(&stage->changed, id);
}

/* The key's place, KIN__NO_SLOT if it has none; *hash is set unless there are
 * no changes at all, as in an ordinary list. */
static uint32_t find(const kin__stage *stage, const kin_object *object,
                     uint32_t *hash) {
  if (stage->changed.live == 0) {
    return KIN__NO_SLOT;
  }
  kin_str key = kin_object_key(object);
  *hash = kin__hash(&stage->seed, key);
  uint32_t id = kin__map_first(&stage->changed_map, *hash);
  while (id != KIN__NO_SLOT &&
         !kin__str_equal(kin_object_key(changed_at(stage, id)->object), key)) {
    id = kin__map_next(&stage->changed_map, id);
  }
  return id;
}

static int add_changed(kin__stage *stage, const kin_object *object,
                       uint32_t *id) {
  if (!stage->has_seed) {
    stage->seed = kin__hash_make_seed(stage);
    stage->has_seed = true;
  }
  int err = kin__slots_take(&stage->changed, id);
  if (err != 0) {
    return err;
  }
  uint32_t hash = kin__hash(&stage->seed, kin_object_key(object));
  err = kin__map_insert(&stage->changed_map, hash, *id);
  if (err != 0) {
    kin__slots_give(&stage->changed, *id);
  }
  return err;
}

/* The entry that is pushed next makes those of its key before it void, unless
 * it is a state that the transform failed on: the one before stays. There
 * is room for it, so that it surely comes. Errors: KIN_ENOMEM. */
static int note_change(kin__stage *stage, kin__decoded_type type,
                       const kin_object *object) {
  bool is_delete = type == KIN__DECODED_DELETED;
  bool is_change = type == KIN__DECODED_MODIFIED || is_delete;
  bool is_refused = kin__object_body(object).length == 0;
  if ((!is_change && stage->changed.live == 0) || (is_refused && !is_delete)) {
    return 0;
  }
  uint32_t hash;
  uint32_t id = find(stage, object, &hash);
  if (id == KIN__NO_SLOT) {
    int err = is_change ? add_changed(stage, object, &id) : 0;
    if (err != 0 || !is_change) {
      return err;
    }
  }
  changed_key *changed = changed_at(stage, id);
  changed->object = object;
  changed->number = stage->popped + stage->objects.count;
  return 0;
}

static void forget_change(kin__stage *stage, const kin_object *object) {
  uint32_t hash;
  uint32_t id = find(stage, object, &hash);
  if (id == KIN__NO_SLOT || changed_at(stage, id)->number != stage->popped) {
    return;
  }
  kin__map_remove(&stage->changed_map, id);
  kin__slots_give(&stage->changed, id);
}

/* --- Entries -------------------------------------------------------------- */

#define TYPE_BITS ((uintptr_t)3)
static_assert(KIN__DECODED_DELETED - KIN__DECODED_LISTED <= TYPE_BITS,
              "a type must fit into the bits that alignment leaves");

static kin_object *object_in(uintptr_t entry) {
  return (kin_object *)(entry & ~TYPE_BITS);
}

/* What is empty holds no memory: nobody finishes a stage. */
static void free_if_empty(kin__stage *stage) {
  if (stage->objects.count > 0) {
    return;
  }
  const kin_allocator *allocator = stage->objects.allocator;
  kin__chunkq_finish(&stage->objects);
  kin__map_finish(&stage->changed_map);
  kin__slots_finish(&stage->changed);
  init_changed(stage, allocator);
}

int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object) {
  int err = kin__chunkq_reserve(&stage->objects, 1);
  if (err == 0) {
    err = note_change(stage, type, take_object);
  }
  uintptr_t *place = err == 0 ? kin__chunkq_push(&stage->objects) : NULL;
  if (place == NULL) {
    kin_object_unref(take_object);
    free_if_empty(stage);
    return KIN_ENOMEM;
  }
  assert(((uintptr_t)take_object & TYPE_BITS) == 0);
  *place = (uintptr_t)take_object | (uintptr_t)(type - KIN__DECODED_LISTED);
  return 0;
}

kin_object *kin__stage_peek(const kin__stage *stage) {
  assert(stage->stale == 0);
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return place != NULL ? object_in(*place) : NULL;
}

kin__decoded_type kin__stage_type(const kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return (kin__decoded_type)((*place & TYPE_BITS) + KIN__DECODED_LISTED);
}

bool kin__stage_is_void(const kin__stage *stage) {
  uint32_t hash;
  uint32_t id = find(stage, kin__stage_peek(stage), &hash);
  return kin__stage_type(stage) == KIN__DECODED_DELETED ||
         (id != KIN__NO_SLOT && changed_at(stage, id)->number > stage->popped);
}

static void pop(kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  kin_object *object = object_in(*place);
  forget_change(stage, object);
  kin_object_unref(object);
  kin__chunkq_pop(&stage->objects);
  stage->popped++;
  free_if_empty(stage);
}

void kin__stage_pop(kin__stage *stage) {
  assert(stage->stale == 0);
  pop(stage);
}

void kin__stage_discard(kin__stage *stage) {
  stage->stale = stage->objects.count;
}

bool kin__stage_free_step(kin__stage *stage, size_t count) {
  for (; count > 0 && stage->stale > 0; count--) {
    pop(stage);
    stage->stale--;
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
  return stage->objects.count - stage->stale;
}
