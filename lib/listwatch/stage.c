/* SPDX-License-Identifier: MIT */
#include "listwatch/stage.h"

#include <assert.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/chunkq.h"
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

/* Of a stage that is not empty. */
typedef struct kin__stage_content {
  kin__chunkq objects; /* of kin_object *, one reference each, with the type in
                        * the lowest two bits */
  size_t stale;        /* discarded and not freed yet: the first ones */
  size_t voids;        /* void places after the stale ones */
  uintptr_t *first_void;        /* free list of void places */
  uintptr_t *last;              /* see kin__stage_last */
  uintptr_t *sample;            /* place of a listed object; NULL: none yet */
  unsigned repeats;             /* how often its key has come again */
  struct kin__stage_keys *keys; /* NULL: no merge was made so far */
} content;

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
  *stage = (kin__stage){.allocator = allocator};
}

/* The content, which is made if need be; NULL if out of memory. */
static content *have_content(kin__stage *stage) {
  if (stage->content == NULL) {
    content *made = kin__calloc(stage->allocator, 1, sizeof *made);
    if (made != NULL) {
      kin__chunkq_init(&made->objects, stage->allocator, sizeof(uintptr_t));
    }
    stage->content = made;
  }
  return stage->content;
}

/* Errors: KIN_ENOMEM. */
static int have_keys(content *c) {
  if (c->keys != NULL) {
    return 0;
  }
  const kin_allocator *allocator = c->objects.allocator;
  kin__stage_keys *keys = kin__malloc(allocator, sizeof *keys);
  if (keys == NULL) {
    return KIN_ENOMEM;
  }
  init_keys(keys, allocator);
  kin__slots_init(&keys->old_keys, allocator, sizeof(staged_key));
  kin__map_init(&keys->old_map, allocator, &keys->old_keys);
  keys->seed = kin__hash_make_seed(c);
  c->keys = keys;
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

static void retire_keys(content *c) {
  kin__stage_keys *keys = c->keys;
  if (keys == NULL ||
      (keys->keys.segments.places == NULL && keys->map.heads.places == NULL)) {
    return;
  }
  finish_old_keys(keys);
  keys->old_keys = keys->keys;
  keys->old_map = keys->map;
  keys->old_map.slots = &keys->old_keys;
  init_keys(keys, c->objects.allocator);
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

static void free_keys(content *c) {
  if (c->keys != NULL) {
    retire_keys(c);
    finish_old_keys(c->keys);
    kin__free(c->objects.allocator, c->keys);
    c->keys = NULL;
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

static bool is_void(const content *c, uintptr_t entry) {
  return c->keys != NULL && (entry & TYPE_BITS) == VOID_BITS;
}

static kin_object *object_in(uintptr_t entry) {
  return (kin_object *)(entry & ~TYPE_BITS);
}

static uintptr_t make_entry(kin__decoded_type type, const kin_object *object) {
  assert(((uintptr_t)object & TYPE_BITS) == 0);
  return (uintptr_t)object | (uintptr_t)(type - KIN__DECODED_LISTED);
}

static uintptr_t *take_place(content *c) {
  uintptr_t *place = c->first_void;
  if (place == NULL) {
    return kin__chunkq_push(&c->objects);
  }
  c->first_void = (uintptr_t *)(*place & ~TYPE_BITS);
  c->voids--;
  return place;
}

static void void_place(content *c, uintptr_t *place) {
  *place = (uintptr_t)c->first_void | VOID_BITS;
  c->first_void = place;
  c->voids++;
}

/* An empty stage holds no memory, because no function finishes a stage. */
static void free_if_empty(kin__stage *stage) {
  content *old = stage->content;
  if (old != NULL && old->objects.count == 0) {
    kin__chunkq_finish(&old->objects);
    free_keys(old);
    kin__free(stage->allocator, old);
    stage->content = NULL;
  }
}

/* --- Keys ----------------------------------------------------------------- */

static staged_key *key_at(const content *c, uint32_t id) {
  return kin__slots_at(&c->keys->keys, id);
}

/* KIN__NO_SLOT if there is none. */
static uint32_t find(const content *c, kin_str key, uint32_t hash,
                     bool of_refused) {
  uint32_t id = kin__map_first(&c->keys->map, hash);
  for (; id != KIN__NO_SLOT; id = kin__map_next(&c->keys->map, id)) {
    const kin_object *object = object_in(*key_at(c, id)->place);
    if (kin__str_equal(kin_object_key(object), key) &&
        kin__object_has_no_text(object) == of_refused) {
      break;
    }
  }
  return id;
}

static void drop_key(content *c, uint32_t id) {
  kin__map_remove(&c->keys->map, id);
  kin__slots_give(&c->keys->keys, id);
}

static void take_out(const content *c, uint32_t id, kin__stage_merged *merged) {
  merged->replaced[merged->count++] = object_in(*key_at(c, id)->place);
}

static void void_key(content *c, uint32_t id, kin__stage_merged *merged) {
  if (id != KIN__NO_SLOT) {
    take_out(c, id, merged);
    void_place(c, key_at(c, id)->place);
    drop_key(c, id);
  }
}

static int push_keyed(content *c, uint32_t hash, uintptr_t entry) {
  uint32_t id;
  int err = kin__slots_take(&c->keys->keys, &id);
  if (err != 0) {
    return err;
  }
  err = kin__map_insert(&c->keys->map, hash, id);
  if (err != 0) {
    kin__slots_give(&c->keys->keys, id);
    return err;
  }
  uintptr_t *place = take_place(c);
  if (place == NULL) {
    drop_key(c, id);
    return KIN_ENOMEM;
  }
  *place = entry;
  c->last = place;
  key_at(c, id)->place = place;
  return 0;
}

/* --- Entries -------------------------------------------------------------- */

/* A list has each key once. A sample shows a list that does not, for one
 * comparison an object: after 1,024 objects, and after each doubling, the last
 * object is the new sample. If its key comes a third time after that, so do most
 * others: the stage then has at most nine objects for each key, or 2,047. Fewer
 * repeats are no fault. A source of the program's own may join two lists. */
#define SAMPLES_FROM 1024u
#define MAX_REPEATS 3u

static int watch_for_repeats(content *c) {
  size_t count = c->objects.count - c->stale;
  if (c->sample != NULL &&
      kin__str_equal(kin_object_key(object_in(*c->sample)),
                     kin_object_key(object_in(*c->last)))) {
    c->repeats++;
  }
  if (c->repeats >= MAX_REPEATS) {
    return KIN_EUNEXPECTED;
  }
  if (count >= SAMPLES_FROM && (count & (count - 1)) == 0) {
    c->sample = c->last;
    c->repeats = 0;
  }
  return 0;
}

int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object) {
  content *to = have_content(stage);
  uintptr_t *place = to != NULL ? kin__chunkq_push(&to->objects) : NULL;
  if (place == NULL) {
    kin__object_unref(take_object);
    free_if_empty(stage);
    return KIN_ENOMEM;
  }
  *place = make_entry(type, take_object);
  to->last = place;
  return type == KIN__DECODED_LISTED ? watch_for_repeats(to) : 0;
}

/* A refused state is kept beside the last good one. A good state replaces both;
 * a deletion removes both. */
static int merge(content *c, kin__decoded_type type, kin_object *take_object,
                 kin__stage_merged *merged) {
  kin_str key = kin_object_key(take_object);
  uint32_t hash = kin__hash(&c->keys->seed, key);
  uint32_t last = find(c, key, hash, false);
  uint32_t refused = find(c, key, hash, true);
  merged->is_new = last == KIN__NO_SLOT && refused == KIN__NO_SLOT &&
                   type != KIN__DECODED_DELETED;
  if (type == KIN__DECODED_DELETED) {
    void_key(c, last, merged);
    void_key(c, refused, merged);
    kin__object_unref(take_object);
    return 0;
  }
  uint32_t same = kin__object_has_no_text(take_object) ? refused : last;
  uintptr_t entry = make_entry(type, take_object);
  if (same == KIN__NO_SLOT) {
    int err = push_keyed(c, hash, entry);
    if (err != 0) {
      kin__object_unref(take_object);
      return err;
    }
  } else {
    uintptr_t *place = key_at(c, same)->place;
    take_out(c, same, merged);
    *place = entry;
    c->last = place;
  }
  if (same != refused) {
    void_key(c, refused, merged);
  }
  return 0;
}

int kin__stage_merge(kin__stage *stage, kin__decoded_type type,
                     kin_object *take_object, kin__stage_merged *merged) {
  *merged = (kin__stage_merged){.is_new = false};
  content *to = have_content(stage);
  int err = to != NULL ? have_keys(to) : KIN_ENOMEM;
  if (err == 0) {
    err = merge(to, type, take_object, merged);
  } else {
    kin__object_unref(take_object);
  }
  free_if_empty(stage);
  return err;
}

kin__stage_place *kin__stage_last(const kin__stage *stage) {
  return stage->content->last;
}

bool kin__stage_has(const kin__stage_place *place, const kin_object *object) {
  return (*place & TYPE_BITS) != VOID_BITS && object_in(*place) == object;
}

void kin__stage_replace(kin__stage_place *place, kin_object *take_object) {
  uintptr_t type = *place & TYPE_BITS;
  kin__object_unref(object_in(*place));
  *place = (uintptr_t)take_object | type;
}

static uintptr_t *first_place(const kin__stage *stage) {
  return stage->content != NULL ? kin__chunkq_peek(&stage->content->objects)
                                : NULL;
}

bool kin__stage_is_void(const kin__stage *stage) {
  const uintptr_t *place = first_place(stage);
  return place != NULL && is_void(stage->content, *place);
}

kin_object *kin__stage_peek(const kin__stage *stage) {
  assert(!kin__stage_is_stale(stage) && !kin__stage_is_void(stage));
  const uintptr_t *place = first_place(stage);
  return place != NULL ? object_in(*place) : NULL;
}

kin__decoded_type kin__stage_type(const kin__stage *stage) {
  const uintptr_t *place = first_place(stage);
  return (kin__decoded_type)((*place & TYPE_BITS) + KIN__DECODED_LISTED);
}

static void pop(content *from) {
  const uintptr_t *place = kin__chunkq_peek(&from->objects);
  if (!is_void(from, *place)) {
    kin__object_unref(object_in(*place));
  }
  kin__chunkq_pop(&from->objects);
  free_some_old_keys(from->keys);
}

/* Popped places must not be used, so the free list and the sample end here. */
void kin__stage_pop(kin__stage *stage) {
  content *from = stage->content;
  assert(from->stale == 0);
  from->voids -= kin__stage_is_void(stage);
  from->first_void = NULL;
  from->sample = NULL;
  retire_keys(from);
  pop(from);
  free_if_empty(stage);
}

void kin__stage_look_ahead(const kin__stage *stage, kin__chunkq_cursor *cursor,
                           unsigned count) {
  const content *from = stage->content;
  const uintptr_t *place;
  if (from == NULL || from->objects.count == 0) {
    return; /* the cursor's chunk may be gone */
  }
  while (count-- > 0 &&
         (place = kin__chunkq_next(&from->objects, cursor)) != NULL) {
    if (!is_void(from, *place)) {
      kin__object_prefetch(object_in(*place));
    }
  }
}

void kin__stage_discard(kin__stage *stage) {
  content *old = stage->content;
  if (old != NULL) {
    old->stale = old->objects.count;
    old->first_void = NULL;
    old->sample = NULL;
    old->repeats = 0;
    old->voids = 0;
    retire_keys(old);
  }
}

bool kin__stage_is_stale(const kin__stage *stage) {
  return stage->content != NULL && stage->content->stale > 0;
}

bool kin__stage_free_step(kin__stage *stage, size_t count) {
  for (; count > 0 && kin__stage_is_stale(stage); count--) {
    pop(stage->content);
    stage->content->stale--;
    free_if_empty(stage);
  }
  return kin__stage_is_stale(stage);
}

bool kin__stage_free_slice(kin__stage *stage, const kin__sched *sched,
                           uint32_t count) {
  if (kin__stage_is_stale(stage)) {
    kin__slice slice = kin__slice_begin(sched, count);
    while (kin__slice_next(&slice) && kin__stage_free_step(stage, 1)) {
    }
  }
  return kin__stage_is_stale(stage);
}

size_t kin__stage_places(const kin__stage *stage) {
  return stage->content != NULL ? stage->content->objects.count : 0;
}

size_t kin__stage_key_count(const kin__stage *stage) {
  const content *of = stage->content;
  return of != NULL && of->keys != NULL ? of->keys->keys.live : 0;
}

size_t kin__stage_count(const kin__stage *stage) {
  const content *of = stage->content;
  return of != NULL ? of->objects.count - of->stale - of->voids : 0;
}
