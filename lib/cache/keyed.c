/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "base/alloc.h"
#include "cache/queue.h"

/* Shared by FIFO and the delta queue: keys take turns. A key that is being
 * processed is out of the table until `end`. */

void kin__keyed_finish(kin_queue *queue) {
  kin__delta_fifo_finish(&queue->as.keyed.fifo);
}

int kin__keyed_begin(kin_queue *queue, size_t *count) {
  kin__keyed *q = &queue->as.keyed;
  kin__deltas deltas;
  *count = 0;
  if (!kin__delta_fifo_peek(&q->fifo, &deltas)) {
    return 0;
  }
  int err = kin__queue_reserve_views(queue, deltas.count);
  if (err != 0) {
    return err;
  }
  kin__delta_fifo_take_out(&q->fifo, &q->in_flight, &deltas);
  for (uint32_t i = 0; i < deltas.count; i++) {
    kin__queue_view_delta(&queue->views[i], &deltas.items[i]);
  }
  *count = deltas.count;
  return 0;
}

void kin__keyed_end(kin_queue *queue, bool requeue) {
  kin__keyed *q = &queue->as.keyed;
  if (requeue) {
    kin__delta_fifo_put_back(&q->fifo, q->in_flight, q->is_next);
  } else {
    kin__delta_fifo_release(&q->fifo, q->in_flight);
  }
  q->in_flight = KIN__NO_SLOT;
  q->is_next = false;
}

int kin__keyed_copy(const kin_queue *queue, const kin__deltas *deltas,
                    kin_deltas **out) {
  kin_delta *views =
      kin__calloc(queue->allocator, deltas->count, sizeof *views);
  if (views == NULL) {
    return KIN_ENOMEM;
  }
  for (uint32_t i = 0; i < deltas->count; i++) {
    kin__queue_view_delta(&views[i], &deltas->items[i]);
  }
  kin_deltas all = {views, deltas->count};
  int err = kin_deltas_copy(out, &all, queue->allocator);
  kin__free(queue->allocator, views);
  return err;
}

/* A cursor's index is the id of its current key plus one. */
bool kin__keyed_next(const kin_queue *queue, kin_queue_cursor *cursor,
                     kin_delta *delta) {
  uint32_t id = cursor->index > 0 ? cursor->index - 1 : KIN__NO_SLOT;
  kin__deltas deltas;
  if (!kin__delta_fifo_next(&queue->as.keyed.fifo, &id, &deltas)) {
    return false;
  }
  cursor->index = id + 1;
  kin__queue_view_delta(delta, &deltas.items[deltas.count - 1]);
  return true;
}
