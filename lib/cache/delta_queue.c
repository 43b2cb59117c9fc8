/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "cache/queue.h"
#include "object/key.h"
#include "object/object.h"

/* client-go's DeltaFIFO (DF rows) on the queue that informers run.
 *
 * Replace must know the listed keys. These are the queued keys whose newest
 * delta has the number of this Replace as its generation: every listed key has
 * just been queued. So no set of keys is made. One walk over the queue and one
 * over the known objects find the keys to delete. */

static int append_delta(kin_queue *queue, const kin__delta *delta) {
  int err = kin__delta_fifo_append(&queue->as.keyed.fifo, delta);
  queue->as.keyed.has_news |= err == 0;
  return err;
}

static int append(kin_queue *queue, kin_delta_type type, kin_object *object,
                  uint32_t generation) {
  kin__delta delta = {
      .object = object, .type = (uint8_t)type, .generation = generation};
  return append_delta(queue, &delta);
}

/* A change that comes during a list is newer than the list, and counts as
 * listed. */
static int delta_put(kin_queue *queue, kin_delta_type type,
                     kin_object *object) {
  const kin__keyed *q = &queue->as.keyed;
  return append(queue, type, object, q->has_list ? q->lists : 0);
}

/* DF-03. If the look-up fails, the key counts as known. */
static bool is_known(kin_queue *queue, kin_str key) {
  const kin_object *known;
  return queue->known.get != NULL &&
         (kin__queue_get_known(queue, key, &known) != 0 || known != NULL);
}

static int delta_remove(kin_queue *queue, kin_str key, const kin_object *object,
                        bool is_tombstone) {
  kin__keyed *q = &queue->as.keyed;
  if (!kin__delta_fifo_has(&q->fifo, key) && !is_known(queue, key)) {
    return 0;
  }
  kin__delta delta = {.type = KIN_DELTA_DELETED,
                      .is_tombstone = is_tombstone,
                      .is_key_only = object == NULL};
  int err = 0;
  if (object == NULL) {
    err = kin__queue_key_object(queue, key, &delta.object);
  } else if (is_tombstone) {
    delta.object = kin__object_ref(object);
  } else {
    err = kin__queue_transform(queue, object, &delta.object);
  }
  if (err == 0) {
    err = append_delta(queue, &delta);
  }
  kin__object_unref(delta.object);
  return err;
}

int kin__delta_add_to_list(kin_queue *queue, const kin_object *object,
                           bool is_ready) {
  kin_delta_type type =
      queue->emit_replaced ? KIN_DELTA_REPLACED : KIN_DELTA_SYNC;
  kin_object *made = NULL;
  int err = kin__object_check_key(object);
  if (err == 0 && is_ready) {
    made = kin__object_ref(object);
  } else if (err == 0) {
    err = kin__queue_transform(queue, object, &made);
  }
  if (err == 0) {
    err = append(queue, type, made, queue->as.keyed.lists);
  }
  kin__object_unref(made);
  return err;
}

/* Both functions below check up to *count keys and continue where they stopped.
 * A key that fails is checked again. They return 1 if more are left. */

/* Adds a tombstone for each queued key that was not listed. */
static int delete_queued(kin_queue *queue, size_t *count) {
  kin__keyed *q = &queue->as.keyed;
  for (; *count > 0; (*count)--) {
    uint32_t id = q->list_id;
    kin__deltas deltas;
    if (!kin__delta_fifo_next(&q->fifo, &id, &deltas)) {
      return 0;
    }
    int err = 0;
    const kin__delta *newest = &deltas.items[deltas.count - 1];
    if (newest->generation != q->lists) {
      kin__delta tombstone = {.object = newest->object,
                              .generation = q->lists,
                              .type = KIN_DELTA_DELETED,
                              .is_tombstone = true,
                              .is_key_only = newest->is_key_only};
      kin__object_ref(tombstone.object); /* `newest` may be overwritten */
      err = append_delta(queue, &tombstone);
      kin__object_unref(tombstone.object);
    }
    if (err != 0) {
      return err;
    }
    q->list_id = id;
  }
  return 1;
}

/* Adds a tombstone for a known key that is not queued. All listed keys are
 * queued. */
static int delete_known_key(kin_queue *queue, kin_str key) {
  kin__keyed *q = &queue->as.keyed;
  if (kin__delta_fifo_has(&q->fifo, key)) {
    return 0;
  }
  kin__delta tombstone = {
      .generation = q->lists, .type = KIN_DELTA_DELETED, .is_tombstone = true};
  int err = kin__queue_take_known(queue, key, &tombstone.object,
                                  &tombstone.is_key_only);
  if (err == 0) {
    err = append_delta(queue, &tombstone);
  }
  kin__object_unref(tombstone.object);
  return err;
}

static int delete_known(kin_queue *queue, size_t *count) {
  kin__keyed *q = &queue->as.keyed;
  for (; *count > 0; (*count)--) {
    uintptr_t place = q->list_place;
    kin_str key;
    if (queue->known.next == NULL ||
        !kin__queue_next_known(queue, &place, &key)) {
      return 0;
    }
    int err = delete_known_key(queue, key);
    if (err != 0) {
      return err;
    }
    q->list_place = place;
  }
  return 1;
}

void kin__delta_begin_list(kin_queue *queue) {
  kin__keyed *q = &queue->as.keyed;
  q->lists = q->lists < UINT32_MAX ? q->lists + 1 : 1;
  q->list_id = KIN__NO_SLOT;
  q->list_place = 0;
  q->has_list = true;
}

int kin__delta_delete_unlisted(kin_queue *queue, size_t count) {
  int result = delete_queued(queue, &count);
  return result == 0 ? delete_known(queue, &count) : result;
}

/* Afterwards every queued key is listed or deleted by this Replace. So DF-07
 * counts all of them. */
static int delta_replace(kin_queue *queue, const kin_object *const *objects,
                         size_t count, kin_str version, size_t *initial) {
  (void)version;
  kin__keyed *q = &queue->as.keyed;
  if (q->has_list) {
    return KIN_EALREADY;
  }
  kin__delta_begin_list(queue);
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__delta_add_to_list(queue, objects[i], false);
  }
  if (err == 0) {
    err = kin__delta_delete_unlisted(queue, SIZE_MAX);
  }
  q->has_list = false;
  *initial = q->fifo.depth;
  return err;
}

/* DF-09. Pending deltas are newer than the known object. */
static int sync_known_key(kin_queue *queue, kin_str key) {
  const kin_object *known;
  if (kin__delta_fifo_has(&queue->as.keyed.fifo, key) ||
      kin__queue_get_known(queue, key, &known) != 0 || known == NULL) {
    return 0;
  }
  return append(queue, KIN_DELTA_SYNC, (kin_object *)known, 0);
}

int kin__delta_resync_step(kin_queue *queue, uintptr_t *place, uintptr_t end,
                           size_t count) {
  for (; count > 0; count--) {
    uintptr_t next = *place;
    kin_str key;
    if (queue->known.next == NULL ||
        !kin__queue_next_known(queue, &next, &key) || next > end) {
      return 0;
    }
    int err = sync_known_key(queue, key);
    if (err != 0) {
      return err;
    }
    *place = next;
  }
  return 1;
}

static int delta_resync(kin_queue *queue) {
  kin__keyed *q = &queue->as.keyed;
  uint32_t last = q->fifo.last;
  uintptr_t place = 0;
  int err = kin__delta_resync_step(queue, &place, UINTPTR_MAX, SIZE_MAX);
  if (err != 0) {
    kin__delta_fifo_truncate(&q->fifo, last);
  }
  return err;
}

static int delta_restore(kin_queue *queue, kin_str key,
                         const kin_deltas *deltas) {
  kin__keyed *q = &queue->as.keyed;
  if (kin__delta_fifo_has(&q->fifo, key)) {
    return 0;
  }
  uint32_t last = q->fifo.last;
  int err = 0;
  for (size_t i = 0; i < deltas->count && err == 0; i++) {
    const kin_delta *from = &deltas->items[i];
    kin__delta delta = {.object = kin__object_ref(from->object),
                        .type = (uint8_t)from->type,
                        .is_tombstone = from->is_tombstone,
                        .is_key_only = from->object == NULL};
    if (delta.is_key_only) {
      err = kin__queue_key_object(queue, key, &delta.object);
    }
    if (err == 0) {
      err = append_delta(queue, &delta);
    }
    kin__object_unref(delta.object);
  }
  if (err != 0) {
    kin__delta_fifo_truncate(&q->fifo, last);
  }
  return err;
}

/* DF-08: the count goes down before the item is processed. */
static int delta_begin(kin_queue *queue, bool is_batch, size_t *count) {
  (void)is_batch;
  int err = kin__keyed_begin(queue, count);
  if (err == 0 && *count > 0 && queue->initial > 0) {
    queue->initial--;
    kin__queue_settle(queue);
  }
  return err;
}

void kin__delta_retry_initial(kin_queue *queue) {
  queue->as.keyed.is_next = true;
  queue->initial++;
  queue->is_synced = false;
}

static size_t delta_count(const kin_queue *queue) {
  return queue->as.keyed.fifo.depth;
}

static int delta_get(const kin_queue *queue, kin_str key, kin_deltas **out) {
  kin__deltas deltas;
  return kin__delta_fifo_find(&queue->as.keyed.fifo, key, &deltas)
             ? kin__keyed_copy(queue, &deltas, out)
             : KIN_ENOENT;
}

const kin__queue_ops kin__delta_queue_ops = {
    .name = "DeltaFIFO",
    .has_known = true,
    .has_replaced = true,
    .counts_refused_puts = true,
    .finish = kin__keyed_finish,
    .count = delta_count,
    .put = delta_put,
    .remove = delta_remove,
    .replace = delta_replace,
    .resync = delta_resync,
    .restore = delta_restore,
    .begin = delta_begin,
    .end = kin__keyed_end,
    .get = delta_get,
    .next = kin__keyed_next,
};
