/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cache/queue.h"
#include "object/key.h"
#include "object/object.h"

/* client-go's RealFIFO (QF rows): a record for each change, in one order.
 *
 * Records that are being processed stay in place: the first `in_flight` ones.
 * All other functions begin behind them. `end` removes them, or makes them the
 * first again. So an item that is put back cannot be overtaken, and putting it
 * back cannot fail.
 *
 * A key is checked when it is put in, not when it is popped. So a batch never
 * meets a key that cannot be computed (QF-10). */

static bool has_key(const kin__record *record) {
  return record->type <= KIN_DELTA_SYNC;
}

static void record_finish(const kin_queue *queue, kin__record *record) {
  kin__payload *payload = record->of.payload;
  if (has_key(record)) {
    kin__object_unref(record->of.object);
  } else if (payload != NULL) {
    (void)kin__payload_free_step(payload, queue->allocator, SIZE_MAX);
  }
}

/* The version is behind the array. */
static const kin_object **end_of(kin__payload *payload) {
  return (const kin_object **)(void *)payload->version;
}

void kin__payload_refuse(kin__payload *list, const kin_object *object) {
  list->refused++;
  *(end_of(list) - list->refused) = kin__object_ref(object);
}

const kin_object *kin__payload_take_refused(kin__payload *list) {
  return list->refused > 0 ? *(end_of(list) - list->refused--) : NULL;
}

bool kin__payload_free_step(kin__payload *payload,
                            const kin_allocator *allocator, size_t count) {
  for (; count > 0 && payload->count > 0; count--) {
    kin__object_unref(payload->objects[--payload->count]);
  }
  for (; count > 0 && payload->refused > 0; count--) {
    kin__object_unref(kin__payload_take_refused(payload));
  }
  if (payload->count + payload->refused > 0) {
    return true;
  }
  kin__free(allocator, payload);
  return false;
}

static void in_order_finish(kin_queue *queue) {
  kin__in_order *q = &queue->as.in_order;
  while (q->records.count > 0) {
    record_finish(queue, kin__chunkq_peek(&q->records));
    kin__chunkq_pop(&q->records);
  }
  kin__chunkq_finish(&q->records);
  kin__free(queue->allocator, q->seen);
}

int kin__in_order_append(kin_queue *queue, const kin__record *record) {
  kin__record *to = kin__chunkq_push(&queue->as.in_order.records);
  if (to == NULL) {
    return KIN_ENOMEM;
  }
  *to = *record;
  if (has_key(record)) {
    kin__object_ref(record->of.object);
  }
  return 0;
}

kin__chunkq_cursor kin__in_order_begin(const kin_queue *queue) {
  const kin__in_order *q = &queue->as.in_order;
  kin__chunkq_cursor cursor = {0};
  for (size_t i = 0; i < q->in_flight; i++) {
    kin__chunkq_next(&q->records, &cursor);
  }
  return cursor;
}

void kin__in_order_rewind(kin_queue *queue, kin__chunkq_cursor end) {
  kin__in_order *q = &queue->as.in_order;
  kin__chunkq_cursor cursor = end;
  kin__record *record;
  size_t count = 0;
  while ((record = kin__chunkq_next(&q->records, &cursor)) != NULL) {
    record_finish(queue, record);
    count++;
  }
  kin__chunkq_rewind(&q->records, end, count);
}

kin__payload *kin__in_order_payload(const kin_queue *queue, kin_str version,
                                    size_t count) {
  size_t fixed = sizeof(kin__payload) + version.length + 1;
  if (count > (SIZE_MAX - fixed) / sizeof(kin_object *)) {
    return NULL;
  }
  kin__payload *payload =
      kin__malloc(queue->allocator, fixed + count * sizeof(kin_object *));
  if (payload != NULL) {
    payload->count = 0;
    payload->refused = 0;
    payload->version = (char *)(payload->objects + count);
    payload->version_length = version.length;
    if (version.length > 0) {
      memcpy(payload->version, version.data, version.length);
    }
    payload->version[version.length] = '\0';
  }
  return payload;
}

int kin__in_order_append_list(kin_queue *queue, kin__payload *list) {
  kin__record record = {.of = {.payload = list},
                        .type = KIN_DELTA_REPLACED_ALL};
  return kin__in_order_append(queue, &record);
}

/* Appends a record that owns the payload. An error frees the payload, too. */
static int append_payload(kin_queue *queue, kin_delta_type type,
                          kin__payload *payload) {
  kin__record record = {.of = {.payload = payload}, .type = (uint8_t)type};
  int err = kin__in_order_append(queue, &record);
  if (err != 0) {
    record_finish(queue, &record);
  }
  return err;
}

static int in_order_put(kin_queue *queue, kin_delta_type type,
                        kin_object *object) {
  kin__record record = {.of = {.object = object}, .type = (uint8_t)type};
  return kin__in_order_append(queue, &record);
}

static int in_order_remove(kin_queue *queue, kin_str key,
                           const kin_object *object, bool is_tombstone) {
  kin__record record = {.type = KIN_DELTA_DELETED,
                        .is_tombstone = is_tombstone,
                        .is_key_only = object == NULL};
  int err = 0;
  if (object == NULL) {
    err = kin__queue_key_object(queue, key, &record.of.object);
  } else if (is_tombstone) {
    record.of.object = kin__object_ref(object);
  } else {
    err = kin__queue_transform(queue, object, &record.of.object);
  }
  if (err == 0) {
    err = kin__in_order_append(queue, &record);
  }
  kin__object_unref(record.of.object);
  return err;
}

/* QF-05. client-go leaves bad keys to the consumer, whose loop then drops the
 * whole list silently. Here bad keys are refused. */
static int replace_all(kin_queue *queue, const kin_object *const *objects,
                       size_t count, kin_str version) {
  kin__payload *payload = kin__in_order_payload(queue, version, count);
  if (payload == NULL) {
    return KIN_ENOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    kin_object *made;
    int err = kin__object_check_key(objects[i]);
    if (err == 0) {
      err = kin__queue_transform(queue, objects[i], &made);
    }
    if (err != 0) {
      kin__record record = {.of = {.payload = payload},
                            .type = KIN_DELTA_REPLACED_ALL};
      record_finish(queue, &record);
      return err;
    }
    payload->objects[payload->count++] = made;
  }
  return append_payload(queue, KIN_DELTA_REPLACED_ALL, payload);
}

/* QF-07: all items that are then queued are initial. */
static int in_order_replace(kin_queue *queue, const kin_object *const *objects,
                            size_t count, kin_str version, size_t *initial) {
  int err = queue->known.get != NULL
                ? kin__in_order_reconcile(queue, objects, count)
                : replace_all(queue, objects, count, version);
  *initial = queue->as.in_order.records.count;
  return err;
}

bool kin__in_order_has_sync_all(const kin_queue *queue) {
  return queue->ops == &kin__in_order_ops && queue->as.in_order.syncs > 0;
}

/* client-go takes any number of SYNC_ALL. Here a full queue takes no second one,
 * so it does not grow without end. */
static int in_order_resync(kin_queue *queue) {
  if (queue->known.get != NULL) {
    return kin__in_order_sync_known(queue);
  }
  if (kin__in_order_has_sync_all(queue) && kin_queue_is_full(queue)) {
    return 0;
  }
  int err = append_payload(queue, KIN_DELTA_SYNC_ALL, NULL);
  queue->as.in_order.syncs += err == 0 ? 1 : 0;
  return err;
}

static int in_order_bookmark(kin_queue *queue, kin_str version) {
  kin__payload *payload = kin__in_order_payload(queue, version, 0);
  return payload != NULL ? append_payload(queue, KIN_DELTA_BOOKMARK, payload)
                         : KIN_ENOMEM;
}

static bool is_of(const kin__record *record, kin_str key) {
  return has_key(record) && kin__str_equal(kin__record_key(record), key);
}

/* The next record with that key, or NULL. */
static const kin__record *next_of(const kin_queue *queue, kin_str key,
                                  kin__chunkq_cursor *cursor) {
  const kin__record *record;
  do {
    record = kin__chunkq_next(&queue->as.in_order.records, cursor);
  } while (record != NULL && !is_of(record, key));
  return record;
}

/* A whole list says of each key what there is, or that there is nothing. */
static bool has_newer(const kin_queue *queue, kin_str key) {
  kin__chunkq_cursor cursor = kin__in_order_begin(queue);
  const kin__record *record;
  while ((record = kin__chunkq_next(&queue->as.in_order.records, &cursor)) !=
         NULL) {
    if (record->type == KIN_DELTA_REPLACED_ALL || is_of(record, key)) {
      return true;
    }
  }
  return false;
}

static int in_order_restore(kin_queue *queue, kin_str key,
                            const kin_deltas *deltas) {
  if (has_newer(queue, key)) {
    return 0;
  }
  kin__chunkq_cursor end = kin__chunkq_end(&queue->as.in_order.records);
  int err = 0;
  for (size_t i = 0; i < deltas->count && err == 0; i++) {
    const kin_delta *from = &deltas->items[i];
    kin__record record = {.of = {.object = kin__object_ref(from->object)},
                          .type = (uint8_t)from->type,
                          .is_tombstone = from->is_tombstone,
                          .is_key_only = from->object == NULL};
    if (record.is_key_only) {
      err = kin__queue_key_object(queue, key, &record.of.object);
    }
    if (err == 0) {
      err = kin__in_order_append(queue, &record);
    }
    kin__object_unref(record.of.object);
  }
  if (err != 0) {
    kin__in_order_rewind(queue, end);
  }
  return err;
}

/* Makes the table of a batch's keys, which is at most half full. */
static int reserve_seen(kin_queue *queue) {
  kin__in_order *q = &queue->as.in_order;
  if (q->seen == NULL) {
    uint32_t size = 2;
    while (size < 2 * q->batch_limit) {
      size *= 2;
    }
    q->seen = kin__calloc(queue->allocator, size, sizeof *q->seen);
    q->seen_mask = size - 1;
  }
  return q->seen != NULL ? 0 : KIN_ENOMEM;
}

/* Forgets all keys. Batches are numbered, so the table is cleared only when the
 * numbers wrap around. */
static void begin_seen(kin__in_order *q) {
  if (q->batch == UINT32_MAX) {
    memset(q->seen, 0, (q->seen_mask + (size_t)1) * sizeof *q->seen);
    q->batch = 0;
  }
  q->batch++;
}

/* Whether the key of queue->views[index] is in the batch. If not, adds it. */
static bool note_key(kin_queue *queue, uint32_t index) {
  kin__in_order *q = &queue->as.in_order;
  kin_str key = queue->views[index].key;
  uint32_t i = kin__hash(&queue->seed, key) & q->seen_mask;
  for (; q->seen[i].batch == q->batch; i = (i + 1) & q->seen_mask) {
    if (kin__str_equal(queue->views[q->seen[i].index].key, key)) {
      return true;
    }
  }
  q->seen[i] = (kin__batch_key){q->batch, index};
  return false;
}

/* QF-09: a batch has different keys, of types that have keys. While there are
 * initial records it has only those. A record of any other type is alone. */
static int begin_batch(kin_queue *queue, size_t *count) {
  kin__in_order *q = &queue->as.in_order;
  size_t limit = q->records.count;
  limit = limit < q->batch_limit ? limit : q->batch_limit;
  if (queue->initial > 0 && limit > queue->initial) {
    limit = queue->initial;
  }
  int err = reserve_seen(queue);
  if (err == 0) {
    err = kin__queue_reserve_views(queue, limit);
  }
  if (err != 0) {
    return err;
  }
  begin_seen(q);
  kin__chunkq_cursor cursor = {0};
  for (*count = 0; *count < limit; ++*count) {
    const kin__record *record = kin__chunkq_next(&q->records, &cursor);
    kin__queue_view_record(&queue->views[*count], record);
    if (!has_key(record)) {
      *count += *count == 0 ? 1 : 0;
      break;
    }
    if (note_key(queue, (uint32_t)*count)) {
      break;
    }
  }
  return 0;
}

static int in_order_begin(kin_queue *queue, bool is_batch, size_t *count) {
  kin__in_order *q = &queue->as.in_order;
  *count = 0;
  if (q->records.count == 0) {
    return 0;
  }
  int err =
      is_batch ? begin_batch(queue, count) : kin__queue_reserve_views(queue, 1);
  if (err == 0 && !is_batch) {
    kin__queue_view_record(queue->views, kin__chunkq_peek(&q->records));
    *count = 1;
  }
  q->in_flight = err == 0 ? *count : 0;
  return err;
}

/* QF-08: the count goes down after the item is processed. */
static void in_order_end(kin_queue *queue, bool requeue) {
  kin__in_order *q = &queue->as.in_order;
  for (; !requeue && q->in_flight > 0; q->in_flight--) {
    kin__record *record = kin__chunkq_peek(&q->records);
    q->syncs -= record->type == KIN_DELTA_SYNC_ALL ? 1 : 0;
    record_finish(queue, record);
    kin__chunkq_pop(&q->records);
    queue->initial -= queue->initial > 0 ? 1 : 0;
  }
  q->in_flight = 0;
}

bool kin__in_order_take_whole(kin_queue *queue, kin__whole *whole) {
  kin__in_order *q = &queue->as.in_order;
  const kin__record *record = kin__chunkq_peek(&q->records);
  if (record == NULL || (record->type != KIN_DELTA_REPLACED_ALL &&
                         record->type != KIN_DELTA_SYNC_ALL)) {
    return false;
  }
  q->syncs -= record->type == KIN_DELTA_SYNC_ALL ? 1 : 0;
  kin__queue_view_record(&whole->delta, record);
  whole->payload = record->of.payload;
  kin__chunkq_pop(&q->records);
  return true;
}

bool kin__in_order_clear_step(kin_queue *queue, size_t count) {
  kin__chunkq *records = &queue->as.in_order.records;
  for (; count > 0 && records->count > 0; count--) {
    kin__record *record = kin__chunkq_peek(records);
    if (has_key(record)) {
      kin__object_unref(record->of.object);
    } else if (record->of.payload != NULL &&
               kin__payload_free_step(record->of.payload, queue->allocator,
                                      1)) {
      continue;
    }
    kin__chunkq_pop(records);
  }
  return records->count > 0;
}

static size_t in_order_count(const kin_queue *queue) {
  const kin__in_order *q = &queue->as.in_order;
  return q->records.count - q->in_flight;
}

static int in_order_get(const kin_queue *queue, kin_str key, kin_deltas **out) {
  kin__chunkq_cursor begin = kin__in_order_begin(queue);
  kin__chunkq_cursor cursor = begin;
  size_t count = 0;
  while (next_of(queue, key, &cursor) != NULL) {
    count++;
  }
  if (count == 0) {
    return KIN_ENOENT;
  }
  kin_delta *views = kin__calloc(queue->allocator, count, sizeof *views);
  if (views == NULL) {
    return KIN_ENOMEM;
  }
  cursor = begin;
  for (size_t i = 0; i < count; i++) {
    kin__queue_view_record(&views[i], next_of(queue, key, &cursor));
  }
  kin_deltas all = {views, count};
  int err = kin_deltas_copy(out, &all, queue->allocator);
  kin__free(queue->allocator, views);
  return err;
}

static bool in_order_next(const kin_queue *queue, kin_queue_cursor *cursor,
                          kin_delta *delta) {
  kin__chunkq_cursor at = {(void *)cursor->chunk, cursor->index};
  if (at.chunk == NULL) {
    at = kin__in_order_begin(queue);
  }
  const kin__record *record =
      kin__chunkq_next(&queue->as.in_order.records, &at);
  if (record == NULL) {
    return false;
  }
  *cursor = (kin_queue_cursor){at.chunk, at.index};
  kin__queue_view_record(delta, record);
  return true;
}

const kin__queue_ops kin__in_order_ops = {
    .name = "RealFIFO",
    .has_known = true,
    .has_bookmarks = true,
    .has_batches = true,
    .counts_refused_puts = true,
    .counts_refused_keys = true,
    .finish = in_order_finish,
    .count = in_order_count,
    .put = in_order_put,
    .remove = in_order_remove,
    .replace = in_order_replace,
    .resync = in_order_resync,
    .bookmark = in_order_bookmark,
    .restore = in_order_restore,
    .begin = in_order_begin,
    .end = in_order_end,
    .get = in_order_get,
    .next = in_order_next,
};
