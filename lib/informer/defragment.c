/* SPDX-License-Identifier: MIT */
#include "informer/defragment.h"

#include "informer/compact.h"
#include "informer/informer.h"
#include "object/object.h"

#define SLOTS_PER_STEP 64u

/* Cells that are collected for each slot: more than a pass gives. */
#define COLLECT_PER_SLOT 2u

/* Out of memory: the object stays where it is. */
static void move_object(kin_informer *informer, kin__store_slot *slot) {
  kin__memory *memory = informer->env->memory;
  kin_object *old = slot->object;
  if (old == NULL) {
    return;
  }
  kin_object *copy = kin__compact_late(informer, old);
  if (copy != NULL || (kin__object_is_movable(old, memory) &&
                       kin__object_copy(&copy, memory, old, 0) == 0)) {
    informer->store.bytes += kin_object_memory(copy);
    informer->store.bytes -= kin_object_memory(old);
    kin__object_unref(old);
    slot->object = copy;
  }
}

/* Begins a pass if there is a need. */
static bool begin(kin_informer *informer) {
  kin__defragmenter *defragmenter = &informer->defragmenter;
  kin__arena_fill fill = kin__arena_get_fill(informer->env->memory->arena);
  defragmenter->is_passing = kin__arena_fill_is_news(fill, defragmenter->last);
  if (defragmenter->is_passing) {
    defragmenter->next = 0;
    defragmenter->last = fill;
  }
  return defragmenter->is_passing;
}

/* Objects that were released or moved during the pass may have been beside
 * objects that the pass had seen before, or beside those of another informer. So
 * another pass follows, here and there, as long as one gives an eighth of the
 * memory back. */
static bool end(kin_informer *informer) {
  const kin__host *host = informer->member.host;
  size_t *last = &informer->defragmenter.last.bytes;
  size_t bytes = kin__arena_get_fill(informer->env->memory->arena).bytes;
  bool has_given = bytes < *last - *last / 8;
  if (!has_given) {
    *last = bytes;
  }
  bool is_passing = begin(informer);
  if (has_given && host != NULL) {
    kin__members_tell(&host->members, KIN__NEWS_SPARSE);
  }
  return is_passing;
}

static bool step(kin__task *task) {
  kin_informer *informer =
      KIN__CONTAINER_OF(task, kin_informer, defragmenter.task);
  kin__defragmenter *defragmenter = &informer->defragmenter;
  kin_store *store = &informer->store;
  if (informer->fifo.depth > 0 ||
      kin__dispatcher_is_sending(&informer->dispatcher)) {
    return false; /* the process task wakes us */
  }
  kin__slice slice = kin__slice_begin(informer->env->sched, SLOTS_PER_STEP);
  while (defragmenter->next < kin__slots_limit(&store->slots)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    move_object(informer, kin__store_at(store, defragmenter->next++));
    (void)kin__arena_collect(informer->env->memory->arena, COLLECT_PER_SLOT);
  }
  bool has_more = end(informer);
  kin__max_bytes_settle(informer); /* packed objects need less memory */
  kin__compact_passed(informer);
  return has_more;
}

void kin__defragment_init(kin__defragmenter *defragmenter) {
  *defragmenter = (kin__defragmenter){.next = 0};
  kin__task_init(&defragmenter->task, step);
}

void kin__defragment_pass(kin_informer *informer) {
  informer->defragmenter.is_passing = true;
  informer->defragmenter.next = 0;
  kin__sched_add(informer->env->sched, &informer->defragmenter.task);
}

void kin__defragment_wake(kin_informer *informer) {
  if (informer->defragmenter.is_passing || begin(informer)) {
    kin__sched_add(informer->env->sched, &informer->defragmenter.task);
  }
}
