/* SPDX-License-Identifier: MIT */
#include "informer/compact_list.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "informer/compact.h"
#include "informer/scope.h"

/* Images are smaller than texts; one that finds no room is made again by the
 * loop's thread. */
#define IMAGE_BYTES KIN__BATCH_MAX_BYTES

typedef enum batch_state {
  BATCH_FREE = 0,
  BATCH_OPEN,    /* being filled */
  BATCH_RUNNING, /* another thread's */
  BATCH_DONE
} batch_state;

typedef struct batch_entry {
  kin_object *object; /* a reference */
  kin__scope *scope;  /* whose stage has it; NULL: gone */
  kin__stage_place *place;
  uint32_t dropped_lists; /* of the scope, when the place was given */
  size_t image;           /* offset */
  size_t size;            /* of the image; 0: none */
  bool is_tried;          /* and cannot be packed */
} batch_entry;

typedef struct kin__batch {
  kin__pool_work work;
  kin__compact_list *list;
  kin__packer *packer;
  batch_state state;
  unsigned count;
  unsigned taken; /* of the entries, from the first on */
  size_t text_bytes;
  batch_entry entries[KIN__BATCH_MAX_OBJECTS];
  alignas(max_align_t) char images[IMAGE_BYTES];
} kin__batch;

/* --- On another thread ------------------------------------------------------ */

static void on_run(kin__pool_work *work) {
  kin__batch *batch = KIN__CONTAINER_OF(work, kin__batch, work);
  size_t used = 0;
  for (unsigned i = 0; i < batch->count; i++) {
    batch_entry *entry = &batch->entries[i];
    size_t room = IMAGE_BYTES - used;
    size_t size = kin__object_pack_to(batch->images + used, room, entry->object,
                                      batch->packer);
    entry->image = used;
    entry->size = size <= room ? size : 0;
    entry->is_tried = size == 0 && !kin__packer_lacks_memory(batch->packer);
    size_t align = alignof(max_align_t);
    used += (entry->size + align - 1) / align * align;
  }
}

/* --- Back ------------------------------------------------------------------- */

static void on_done(kin__pool_work *work) {
  kin__batch *batch = KIN__CONTAINER_OF(work, kin__batch, work);
  kin__compact_list *list = batch->list;
  kin_informer *informer = list->informer;
  batch->state = BATCH_DONE;
  list->running--;
  kin__sched_add(informer->env->sched, informer->member.is_closing
                                           ? &informer->close_task
                                           : &list->task);
}

/* The list may have been dropped, or the object replaced by a later one. */
static bool is_staged(const batch_entry *entry) {
  return entry->scope != NULL &&
         entry->scope->dropped_lists == entry->dropped_lists &&
         kin__stage_has(entry->place, entry->object);
}

static void replace(const kin__batch *batch, const batch_entry *entry) {
  kin_informer *informer = batch->list->informer;
  kin_object *packed = NULL;
  if (entry->size > 0) {
    packed = kin__object_of_image(informer->env->memory,
                                  batch->images + entry->image, entry->size);
  }
  if (packed == NULL) {
    packed = kin__object_ref(entry->object);
  }
  if (entry->is_tried) {
    kin__packed_note_tried(packed, batch->packer);
  }
  kin__compact_take_packed(informer, &packed);
  kin__stage_replace(entry->place, packed);
}

static void take_entry(const kin__batch *batch, const batch_entry *entry) {
  kin__scope *scope = entry->scope;
  if (is_staged(entry)) {
    replace(batch, entry);
  }
  kin__object_unref(entry->object);
  if (scope != NULL && --scope->packing == 0) {
    kin__apply_wake(scope);
  }
}

static void empty(kin__batch *batch) {
  batch->state = BATCH_FREE;
  batch->count = 0;
  batch->taken = 0;
  batch->text_bytes = 0;
}

/* Returns whether all of the batch is taken. */
static bool take_back(kin__batch *batch) {
  kin__slice slice = kin__slice_begin(batch->list->informer->env->sched,
                                      KIN__BATCH_MAX_OBJECTS);
  while (batch->taken < batch->count) {
    if (!kin__slice_next(&slice)) {
      return false;
    }
    take_entry(batch, &batch->entries[batch->taken++]);
  }
  empty(batch);
  return true;
}

static void free_batch(kin__compact_list *list, unsigned i) {
  kin__batch *batch = list->batches[i];
  if (batch != NULL) {
    for (unsigned j = batch->taken; j < batch->count; j++) {
      kin__object_unref(batch->entries[j].object);
    }
    kin__packer_free(batch->packer);
    kin__free(list->informer->env->allocator, batch);
    list->batches[i] = NULL;
  }
}

/* One batch a step, or part of one: an object without an image takes long. After
 * a list, the memory of batches goes. */
static bool take_step(kin__task *task) {
  kin__compact_list *list = KIN__CONTAINER_OF(task, kin__compact_list, task);
  bool is_used = false;
  bool is_taken = false;
  for (unsigned i = 0; i < KIN__BATCHES_MAX; i++) {
    kin__batch *batch = list->batches[i];
    if (batch != NULL && batch->state == BATCH_DONE && !is_taken) {
      is_used = !take_back(batch) || is_used;
      is_taken = true;
    } else if (batch != NULL && batch->state != BATCH_FREE) {
      is_used = true;
    }
  }
  for (unsigned i = 0; !is_used && !list->is_listing && i < KIN__BATCHES_MAX;
       i++) {
    free_batch(list, i);
  }
  return is_taken && is_used;
}

/* --- Going ------------------------------------------------------------------ */

static void start(kin__compact_list *list, kin__batch *batch) {
  const kin__env *env = list->informer->env;
  list->open = NULL;
  batch->state = BATCH_RUNNING;
  list->running++;
  if (env->start_work == NULL ||
      env->start_work(env->work_ctx, &batch->work) != 0) {
    on_run(&batch->work);
    on_done(&batch->work);
  }
}

static kin__batch *new_batch(kin__compact_list *list) {
  const kin_allocator *allocator = list->informer->env->allocator;
  kin__batch *batch = kin__malloc(allocator, sizeof *batch);
  if (batch == NULL) {
    return NULL;
  }
  batch->packer = kin__packer_new(allocator);
  if (batch->packer == NULL) {
    kin__free(allocator, batch);
    return NULL;
  }
  batch->work = (kin__pool_work){.run = on_run, .done = on_done};
  batch->list = list;
  empty(batch);
  return batch;
}

bool kin__compact_list_has_room(kin__compact_list *list,
                                kin__dictionary *dictionary) {
  for (unsigned i = 0; list->open == NULL && i < KIN__BATCHES_MAX; i++) {
    if (list->batches[i] == NULL) {
      list->batches[i] = new_batch(list);
    }
    kin__batch *batch = list->batches[i];
    if (batch == NULL) {
      break;
    }
    if (batch->state == BATCH_FREE) {
      list->open = batch;
      batch->state = BATCH_OPEN;
      kin__packer_use(batch->packer, dictionary);
    }
  }
  return list->open != NULL;
}

void kin__compact_list_add(kin__compact_list *list, kin__scope *scope,
                           kin_object *object) {
  kin__batch *batch = list->open;
  list->is_listing = true;
  scope->packing++;
  batch->text_bytes += kin__object_text_length(object);
  batch->entries[batch->count++] =
      (batch_entry){.object = kin__object_ref(object),
                    .scope = scope,
                    .place = kin__stage_last(&scope->feed.stage),
                    .dropped_lists = scope->dropped_lists};
  if (batch->count == list->batch_objects ||
      batch->text_bytes + KIN__BATCH_MAX_BYTES / 4 > KIN__BATCH_MAX_BYTES) {
    start(list, batch);
  }
}

void kin__compact_list_flush(kin__compact_list *list) {
  list->is_listing = false;
  if (list->open != NULL) {
    start(list, list->open);
  } else {
    kin__sched_add(list->informer->env->sched, &list->task);
  }
}

void kin__compact_list_forget(kin__compact_list *list, kin__scope *scope) {
  for (unsigned i = 0; i < KIN__BATCHES_MAX; i++) {
    kin__batch *batch = list->batches[i];
    for (unsigned j = 0; batch != NULL && j < batch->count; j++) {
      if (batch->entries[j].scope == scope) {
        batch->entries[j].scope = NULL;
      }
    }
  }
}

/* --- Life ------------------------------------------------------------------- */

void kin__compact_list_init(kin__compact_list *list, kin_informer *informer,
                            unsigned batch_objects) {
  *list = (kin__compact_list){.informer = informer,
                              .batch_objects =
                                  batch_objects < KIN__BATCH_MAX_OBJECTS
                                      ? batch_objects
                                      : KIN__BATCH_MAX_OBJECTS};
  kin__task_init(&list->task, take_step);
}

void kin__compact_list_cancel(kin__compact_list *list) {
  for (unsigned i = 0; i < KIN__BATCHES_MAX; i++) {
    kin__batch *batch = list->batches[i];
    if (batch != NULL && batch->state == BATCH_RUNNING) {
      kin__env_cancel_work(list->informer->env, &batch->work);
    }
  }
}

bool kin__compact_list_free_step(kin__compact_list *list) {
  for (unsigned i = 0; i < KIN__BATCHES_MAX; i++) {
    kin__batch *batch = list->batches[i];
    if (batch != NULL && batch->state != BATCH_RUNNING) {
      free_batch(list, i);
      return true;
    }
  }
  return false;
}
