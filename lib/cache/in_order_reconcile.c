/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "base/map.h"
#include "base/str.h"
#include "cache/queue.h"
#include "object/key.h"
#include "object/object.h"

/* An in-order queue with known objects splits a list or a resync into records
 * of single keys.
 *
 * Both need the queued records by key. The queue has no such table, because
 * adding and popping would pay for it. So each call makes a plan in O(queued).
 * On an error the appended records are removed. */

typedef struct planned_key {
  kin__slot_head head;
  kin_str key;      /* borrowed from a queued or a listed object */
  kin__record last; /* borrowed; type 0: the key is not queued */
  bool is_listed;
} planned_key;

/* Ids are in order of the keys' first records. */
typedef struct plan {
  const kin_queue *queue;
  kin__slots keys;
  kin__map map;
} plan;

static planned_key *find(const plan *p, kin_str key, uint32_t hash) {
  for (uint32_t id = kin__map_first(&p->map, hash); id != KIN__NO_SLOT;
       id = kin__map_next(&p->map, id)) {
    planned_key *k = kin__slots_at(&p->keys, id);
    if (kin__str_equal(k->key, key)) {
      return k;
    }
  }
  return NULL;
}

static bool has(const plan *p, kin_str key) {
  return find(p, key, kin__hash(&p->queue->seed, key)) != NULL;
}

/* Finds or adds a key. Errors: KIN_ENOMEM. */
static int note(plan *p, kin_str key, planned_key **out) {
  uint32_t hash = kin__hash(&p->queue->seed, key);
  *out = find(p, key, hash);
  if (*out != NULL) {
    return 0;
  }
  uint32_t id = KIN__NO_SLOT;
  int err = kin__map_reserve(&p->map);
  if (err == 0) {
    err = kin__slots_take(&p->keys, &id);
  }
  if (err == 0) {
    err = kin__map_insert(&p->map, hash, id);
  }
  if (err == 0) {
    *out = kin__slots_at(&p->keys, id);
    (*out)->key = key;
  }
  return err;
}

/* Notes all queued records. Also after an error the caller must finish the
 * plan. */
static int plan_init(plan *p, const kin_queue *queue) {
  p->queue = queue;
  kin__slots_init(&p->keys, queue->allocator, sizeof(planned_key));
  kin__map_init(&p->map, queue->allocator, &p->keys);
  kin__chunkq_cursor cursor = kin__in_order_begin(queue);
  const kin__record *record;
  int err = 0;
  while (err == 0 && (record = kin__chunkq_next(&queue->as.in_order.records,
                                                &cursor)) != NULL) {
    planned_key *k;
    err = note(p, kin__record_key(record), &k);
    if (err == 0) {
      k->last = *record;
    }
  }
  return err;
}

static void plan_finish(plan *p) {
  kin__map_finish(&p->map);
  kin__slots_finish(&p->keys);
}

static int note_listed(plan *p, const kin_object *const *objects,
                       size_t count) {
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__object_check_key(objects[i]);
    planned_key *k;
    if (err == 0) {
      err = note(p, kin_object_key(objects[i]), &k);
    }
    if (err == 0) {
      k->is_listed = true;
    }
  }
  return err;
}

static int append_tombstone(kin_queue *queue, kin_object *object,
                            bool is_key_only) {
  kin__record record = {.of = {.object = object},
                        .type = KIN_DELTA_DELETED,
                        .is_tombstone = true,
                        .is_key_only = is_key_only};
  return kin__in_order_append(queue, &record);
}

/* Deletes queued keys that are not listed, unless their last record is a
 * deletion. */
static int delete_queued(kin_queue *queue, const plan *p, uint32_t queued) {
  int err = 0;
  for (uint32_t id = 0; id < queued && err == 0; id++) {
    const planned_key *k = kin__slots_at(&p->keys, id);
    if (!k->is_listed && k->last.type != KIN_DELTA_DELETED) {
      err = append_tombstone(queue, k->last.of.object, false);
    }
  }
  return err;
}

/* Deletes known keys that are neither listed nor queued. */
static int delete_known(kin_queue *queue, const plan *p) {
  uintptr_t place = 0;
  kin_str key;
  int err = 0;
  while (err == 0 && kin__queue_next_known(queue, &place, &key)) {
    if (has(p, key)) {
      continue;
    }
    kin_object *object;
    bool is_key_only;
    err = kin__queue_take_known(queue, key, &object, &is_key_only);
    if (err == 0) {
      err = append_tombstone(queue, object, is_key_only);
      kin__object_unref(object);
    }
  }
  return err;
}

static int append_listed(kin_queue *queue, const kin_object *const *objects,
                         size_t count) {
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    kin__record record = {.type = KIN_DELTA_REPLACED};
    err = kin__queue_transform(queue, objects[i], &record.of.object);
    if (err == 0) {
      err = kin__in_order_append(queue, &record);
      kin__object_unref(record.of.object);
    }
  }
  return err;
}

/* QF-06. */
int kin__in_order_reconcile(kin_queue *queue, const kin_object *const *objects,
                            size_t count) {
  plan p;
  kin__chunkq_cursor end = kin__chunkq_end(&queue->as.in_order.records);
  int err = plan_init(&p, queue);
  uint32_t queued = kin__slots_limit(&p.keys);
  if (err == 0) {
    err = note_listed(&p, objects, count);
  }
  if (err == 0) {
    err = delete_queued(queue, &p, queued);
  }
  if (err == 0) {
    err = delete_known(queue, &p);
  }
  if (err == 0) {
    err = append_listed(queue, objects, count);
  }
  plan_finish(&p);
  if (err != 0) {
    kin__in_order_rewind(queue, end);
  }
  return err;
}

/* QF-12. */
int kin__in_order_sync_known(kin_queue *queue) {
  plan p;
  kin__chunkq_cursor end = kin__chunkq_end(&queue->as.in_order.records);
  int err = plan_init(&p, queue);
  uintptr_t place = 0;
  kin_str key;
  while (err == 0 && kin__queue_next_known(queue, &place, &key)) {
    const kin_object *known;
    if (has(&p, key) || kin__queue_get_known(queue, key, &known) != 0 ||
        known == NULL) {
      continue;
    }
    kin__record record = {.of = {.object = (kin_object *)known},
                          .type = KIN_DELTA_SYNC};
    err = kin__in_order_append(queue, &record);
  }
  plan_finish(&p);
  if (err != 0) {
    kin__in_order_rewind(queue, end);
  }
  return err;
}
