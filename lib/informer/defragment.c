/* SPDX-License-Identifier: MIT */
#include "informer/defragment.h"

#include "informer/informer.h"
#include "object/object.h"

#define SLOTS_PER_STEP 64u

/* Cells that are collected for each slot: more than a pass gives. */
#define COLLECT_PER_SLOT 2u

/* Out of memory: the object stays where it is. */
static void move_object(kin__memory *memory, kin__store_slot *slot) {
  kin_object *copy;
  if (slot->object != NULL && kin__object_is_movable(slot->object, memory) &&
      kin__object_copy(&copy, memory, slot->object, 0) == 0) {
    kin_object_unref(slot->object);
    slot->object = copy;
  }
}

static bool begin(kin_informer *informer, kin__arena_fill fill) {
  kin__defragmenter *defragmenter = &informer->defragmenter;
  defragmenter->is_passing = true;
  defragmenter->next = 0;
  defragmenter->last = fill;
  return true;
}

/* Begins a pass if there is a need. */
static bool begin_if_worse(kin_informer *informer) {
  kin__arena_fill fill = kin__arena_get_fill(informer->env->memory->arena);
  return kin__arena_fill_is_worse(fill, informer->defragmenter.last) &&
         begin(informer, fill);
}

/* Objects that were released or moved during the pass may have been beside
 * objects that the pass had seen before. So another pass follows, as long as
 * each gives an eighth of the memory back. */
static bool end(kin_informer *informer) {
  kin__defragmenter *defragmenter = &informer->defragmenter;
  kin__arena_fill fill = kin__arena_get_fill(informer->env->memory->arena);
  size_t before = defragmenter->last.bytes;
  bool has_given = fill.bytes < before - before / 8;
  defragmenter->is_passing = false;
  defragmenter->last.bytes = fill.bytes;
  if (has_given && kin__arena_fill_is_sparse(fill)) {
    return begin(informer, fill);
  }
  return begin_if_worse(informer);
}

static bool step(kin__task *task) {
  kin_informer *informer =
      KIN__CONTAINER_OF(task, kin_informer, defragmenter.task);
  kin__defragmenter *defragmenter = &informer->defragmenter;
  kin_store *store = &informer->store;
  kin__memory *memory = informer->env->memory;
  if (informer->fifo.depth > 0 ||
      kin__dispatcher_is_sending(&informer->dispatcher)) {
    return false; /* the process task wakes us */
  }
  kin__slice slice = kin__slice_begin(informer->env->sched, SLOTS_PER_STEP);
  while (defragmenter->next < kin__slots_limit(&store->slots)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    move_object(memory, kin__store_at(store, defragmenter->next++));
    (void)kin__arena_collect(memory->arena, COLLECT_PER_SLOT);
  }
  return end(informer);
}

void kin__defragment_init(kin__defragmenter *defragmenter) {
  *defragmenter = (kin__defragmenter){.next = 0};
  kin__task_init(&defragmenter->task, step);
}

void kin__defragment_wake(kin_informer *informer) {
  if (informer->defragmenter.is_passing || begin_if_worse(informer)) {
    kin__sched_add(informer->env->sched, &informer->defragmenter.task);
  }
}
