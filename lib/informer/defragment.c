/* SPDX-License-Identifier: MIT */
#include "informer/defragment.h"

#include "informer/informer.h"
#include "object/object.h"

/* Less memory than that is not worth a pass. */
#define MIN_BYTES ((size_t)2 << 20)
#define SLOTS_PER_STEP 64u

/* Cells that are collected for each slot: more than a pass gives. */
#define COLLECT_PER_SLOT 2u

static bool is_sparse(kin__arena_fill fill) {
  return fill.bytes >= MIN_BYTES && fill.used < fill.bytes - fill.bytes / 4;
}

static bool is_worse(kin__arena_fill fill, kin__arena_fill last) {
  return fill.used < last.used - last.used / 8 ||
         fill.bytes > last.bytes + last.bytes / 8;
}

/* Out of memory: the object stays where it is. */
static void move_object(kin__memory *memory, kin__store_slot *slot) {
  kin_object *copy;
  if (slot->object != NULL && kin__object_is_movable(slot->object, memory) &&
      kin__object_copy(&copy, memory, slot->object, 0) == 0) {
    kin_object_unref(slot->object);
    slot->object = copy;
  }
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
  defragmenter->is_passing = false;
  defragmenter->last = kin__arena_get_fill(memory->arena);
  return false;
}

void kin__defragment_init(kin__defragmenter *defragmenter) {
  *defragmenter = (kin__defragmenter){.next = 0};
  kin__task_init(&defragmenter->task, step);
}

void kin__defragment_wake(kin_informer *informer) {
  kin__defragmenter *defragmenter = &informer->defragmenter;
  if (!defragmenter->is_passing) {
    kin__arena_fill fill = kin__arena_get_fill(informer->env->memory->arena);
    if (!is_sparse(fill) || !is_worse(fill, defragmenter->last)) {
      return;
    }
    defragmenter->is_passing = true;
    defragmenter->next = 0;
  }
  kin__sched_add(informer->env->sched, &defragmenter->task);
}
