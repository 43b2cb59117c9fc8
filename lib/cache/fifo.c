/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "cache/queue.h"
#include "object/key.h"
#include "object/object.h"

/* client-go's FIFO (FF rows): each key has one delta, the newest.
 *
 * A key that is deleted before its turn keeps its place in the queue, with a
 * deletion that is never shown (a skipped key). If the key is added again, it
 * takes that place (FF-02). client-go queues the key twice and skips the second
 * entry. So adding and deleting in turns makes its queue grow without bound,
 * and a change may take the second place ahead of its turn. Here a key is
 * queued once. If only skipped keys are left, they go at once. */

static bool is_skipped(const kin__deltas *deltas) {
  return deltas->items[0].type == KIN_DELTA_DELETED;
}

static size_t fifo_count(const kin_queue *queue) {
  return queue->as.keyed.fifo.depth - queue->as.keyed.skipped;
}

/* Sets the object of a key, queued or not. */
static int set(kin_queue *queue, kin_delta_type type,
               const kin_object *object) {
  kin__keyed *q = &queue->as.keyed;
  kin__deltas old;
  bool was_skipped =
      q->skipped > 0 &&
      kin__delta_fifo_find(&q->fifo, kin_object_key(object), &old) &&
      is_skipped(&old);
  kin__delta delta = {.object = (kin_object *)object, .type = (uint8_t)type};
  int err = kin__delta_fifo_set(&q->fifo, &delta);
  if (err == 0 && was_skipped) {
    q->skipped--;
  }
  q->has_news |= err == 0;
  return err;
}

/* Up to the first key that is shown. They count as popped; an item that is being
 * processed does not yet. */
static void drop_skipped(kin_queue *queue) {
  kin__keyed *q = &queue->as.keyed;
  kin__deltas oldest;
  while (q->skipped > 0 && kin__delta_fifo_peek(&q->fifo, &oldest) &&
         is_skipped(&oldest)) {
    kin__delta_fifo_drop(&q->fifo);
    q->skipped--;
    queue->initial -= queue->initial > queue->is_processing ? 1 : 0;
  }
}

/* Nobody pops a queue that shows nothing. */
static void drop_skipped_rest(kin_queue *queue) {
  if (fifo_count(queue) == 0) {
    drop_skipped(queue);
  }
}

static int fifo_put(kin_queue *queue, kin_delta_type type, kin_object *object) {
  return set(queue, type, object);
}

/* Frees the object before its turn, unless memory for an object with the key
 * only is out. */
static int fifo_remove(kin_queue *queue, kin_str key, const kin_object *object,
                       bool is_tombstone) {
  (void)object;
  (void)is_tombstone;
  kin__keyed *q = &queue->as.keyed;
  kin__deltas old;
  if (!kin__delta_fifo_find(&q->fifo, key, &old) || is_skipped(&old)) {
    return 0;
  }
  kin_object *place;
  if (kin__queue_key_object(queue, key, &place) != 0) {
    place = kin__object_ref(old.items[0].object);
  }
  kin__delta skip = {
      .object = place, .type = KIN_DELTA_DELETED, .is_key_only = true};
  int err = kin__delta_fifo_set(&q->fifo, &skip);
  kin__object_unref(place);
  q->skipped++;
  drop_skipped_rest(queue);
  return err;
}

/* The new content is made beside the old one, so an error changes nothing. */
static int fifo_replace(kin_queue *queue, const kin_object *const *objects,
                        size_t count, kin_str version, size_t *initial) {
  (void)version;
  kin__keyed *q = &queue->as.keyed;
  kin__delta_fifo fresh;
  kin__delta_fifo_init(&fresh, queue->allocator, queue->seed);
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    kin_object *made = NULL;
    err = kin__object_check_key(objects[i]);
    if (err == 0) {
      err = kin__queue_transform(queue, objects[i], &made);
    }
    if (err == 0) {
      kin__delta delta = {.object = made, .type = KIN_DELTA_REPLACED};
      err = kin__delta_fifo_set(&fresh, &delta);
    }
    kin__object_unref(made);
  }
  if (err != 0) {
    kin__delta_fifo_finish(&fresh);
    return err;
  }
  kin__delta_fifo_swap(&q->fifo, &fresh);
  kin__delta_fifo_finish(&fresh);
  q->skipped = 0;
  q->has_news = true;
  *initial = q->fifo.depth;
  if (!queue->is_synced) {
    queue->initial = q->fifo.depth; /* the old count is void */
  }
  return 0;
}

/* Every stored key is queued already (FF-05). */
static int fifo_resync(kin_queue *queue) {
  (void)queue;
  return 0;
}

static bool fifo_find(const kin_queue *queue, kin_str key,
                      kin__deltas *deltas) {
  return kin__delta_fifo_find(&queue->as.keyed.fifo, key, deltas) &&
         !is_skipped(deltas);
}

static int fifo_restore(kin_queue *queue, kin_str key,
                        const kin_deltas *deltas) {
  const kin_delta *newest = kin_deltas_newest(deltas);
  kin__deltas queued;
  if (newest->type == KIN_DELTA_DELETED) {
    return KIN_EINVAL;
  }
  return fifo_find(queue, key, &queued)
             ? 0
             : set(queue, newest->type, newest->object);
}

static int fifo_begin(kin_queue *queue, bool is_batch, size_t *count) {
  (void)is_batch;
  int err = kin__queue_reserve_views(queue, 1);
  if (err != 0) {
    return err;
  }
  drop_skipped(queue);
  kin__queue_settle(queue);
  return kin__keyed_begin(queue, count);
}

static void fifo_end(kin_queue *queue, bool requeue) {
  kin__keyed *q = &queue->as.keyed;
  const kin_delta *item = &queue->views[0];
  kin__deltas queued;
  if (requeue && q->skipped > 0 &&
      kin__delta_fifo_find(&q->fifo, item->key, &queued) &&
      is_skipped(&queued)) {
    /* The item's own processing added and deleted its key, which has taken the
     * place. */
    set(queue, item->type, item->object);
    requeue = false;
  }
  kin__keyed_end(queue, requeue);
  queue->initial -= queue->initial > 0 ? 1 : 0;
  drop_skipped_rest(queue);
}

static int fifo_get(const kin_queue *queue, kin_str key, kin_deltas **out) {
  kin__deltas queued;
  return fifo_find(queue, key, &queued) ? kin__keyed_copy(queue, &queued, out)
                                        : KIN_ENOENT;
}

static bool fifo_next(const kin_queue *queue, kin_queue_cursor *cursor,
                      kin_delta *delta) {
  bool has_more;
  do {
    has_more = kin__keyed_next(queue, cursor, delta);
  } while (has_more && delta->type == KIN_DELTA_DELETED);
  return has_more;
}

const kin__queue_ops kin__fifo_ops = {
    .name = "FIFO",
    .skips_keys = true,
    .finish = kin__keyed_finish,
    .count = fifo_count,
    .put = fifo_put,
    .remove = fifo_remove,
    .replace = fifo_replace,
    .resync = fifo_resync,
    .restore = fifo_restore,
    .begin = fifo_begin,
    .end = fifo_end,
    .get = fifo_get,
    .next = fifo_next,
};
