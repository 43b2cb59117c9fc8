/* SPDX-License-Identifier: MIT */
#include "cache/queue.h"

#include <string.h>

#include <kin/error.h>
#include <kin/handler.h>
#include <kin/key.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "object/key.h"
#include "object/object.h"

/* The parts that all kinds of queue share.
 *
 * Calls may nest: a process callback may add, and on_synced may call anything.
 * Each mutating function is between enter and leave, which count such calls.
 * The outermost leave calls on_synced and carries out a kin_queue_free that
 * came in between. So no operation finds the queue gone or changed while it
 * runs, with one exception: while a process callback runs, its item is out of
 * the queue, and all else is as between two calls. */

#define DEFAULT_BATCH_LIMIT 1000u
#define MAX_BATCH_LIMIT 65536u
#define MAX_NAME_LENGTH 255u
#define MAX_VERSION_LENGTH 65535u

static bool are_valid(const kin_queue_options *o, const kin__queue_ops *ops) {
  bool has_known = o->known.get != NULL;
  return has_known == (o->known.next != NULL) &&
         (!has_known || ops->has_known) &&
         (!o->emit_bookmarks || (ops->has_bookmarks && !has_known)) &&
         (!o->emit_replaced || ops->has_replaced) &&
         (o->batch_limit == 0 || ops->has_batches) &&
         o->batch_limit <= MAX_BATCH_LIMIT &&
         (o->name == NULL ||
          memchr(o->name, '\0', MAX_NAME_LENGTH + 1) != NULL);
}

static void set_up(kin_queue *queue, const kin_queue_options *o,
                   const kin__queue_ops *ops) {
  queue->ops = ops;
  queue->allocator = &queue->memory->allocator;
  queue->seed = kin__hash_make_seed(queue);
  queue->known = o->known;
  queue->on_synced = o->on_synced;
  queue->data = o->data;
  queue->emit_replaced = o->emit_replaced;
  queue->emit_bookmarks = o->emit_bookmarks;
  queue->pending_limit = o->pending_limit > 0 ? o->pending_limit : KIN_NEVER;
  if (!ops->has_batches) {
    kin__delta_fifo_init(&queue->as.keyed.fifo, queue->allocator, queue->seed);
    queue->as.keyed.in_flight = KIN__NO_SLOT;
    return;
  }
  kin__in_order *q = &queue->as.in_order;
  kin__chunkq_init(&q->records, queue->allocator, sizeof(kin__record));
  q->batch_limit = o->batch_limit > 0 ? o->batch_limit : DEFAULT_BATCH_LIMIT;
  if (o->pending_limit == 0) {
    queue->pending_limit = 2 * q->batch_limit;
  }
}

static int make(kin_queue **out, const kin_queue_options *options,
                const kin__queue_ops *ops) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_queue_options o = KIN_QUEUE_OPTIONS_INIT;
  int err = options != NULL
                ? kin__options_copy(&o, sizeof o, options,
                                    KIN__FIRST_SIZE(kin_queue_options))
                : 0;
  if (err != 0 || !are_valid(&o, ops)) {
    return err != 0 ? err : KIN_EINVAL;
  }
  kin__memory *memory = kin__memory_new(o.allocator);
  if (memory == NULL) {
    return KIN_ENOMEM;
  }
  bool has_name = kin__has_text(o.name);
  char *name = kin__strdup(&memory->allocator, has_name ? o.name : ops->name);
  kin_queue *queue = kin__calloc(&memory->allocator, 1, sizeof *queue);
  if (name == NULL || queue == NULL ||
      kin__transform_init(&queue->transform, memory, o.transform, o.data) !=
          0) {
    kin__free(&memory->allocator, name);
    kin__free(&memory->allocator, queue);
    kin__memory_unref(memory);
    return KIN_ENOMEM;
  }
  queue->memory = memory;
  queue->name = name;
  set_up(queue, &o, ops);
  *out = queue;
  return 0;
}

int kin_queue_new_fifo(kin_queue **out, const kin_queue_options *options) {
  return make(out, options, &kin__fifo_ops);
}

int kin_queue_new_delta(kin_queue **out, const kin_queue_options *options) {
  return make(out, options, &kin__delta_queue_ops);
}

int kin_queue_new_in_order(kin_queue **out, const kin_queue_options *options) {
  return make(out, options, &kin__in_order_ops);
}

static void destroy(kin_queue *queue) {
  kin__memory *memory = queue->memory;
  queue->ops->finish(queue);
  kin__transform_finish(&queue->transform);
  kin__free(&memory->allocator, queue->views);
  kin__free(&memory->allocator, queue->name);
  kin__free(&memory->allocator, queue);
  kin__memory_unref(memory);
}

void kin_queue_free(kin_queue *queue) {
  if (queue == NULL) {
    return;
  }
  if (queue->calls > 0) {
    queue->is_dead = true;
  } else {
    destroy(queue);
  }
}

static int enter(kin_queue *queue) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  if (queue->is_locked) {
    return KIN_EALREADY;
  }
  queue->calls++;
  return 0;
}

/* The same for calls that concern the whole queue. */
static int enter_alone(kin_queue *queue) {
  return queue != NULL && queue->is_processing ? KIN_EALREADY : enter(queue);
}

void kin__queue_settle(kin_queue *queue) {
  if (queue->is_populated && queue->initial == 0) {
    queue->is_synced = true;
  }
}

/* Returns `err`. The queue may be gone afterwards. */
static int leave(kin_queue *queue, int err) {
  kin__queue_settle(queue);
  if (queue->calls == 1 && queue->is_synced && !queue->is_told &&
      !queue->is_dead) {
    queue->is_told = true;
    if (queue->on_synced != NULL) {
      queue->on_synced(queue, queue->data);
    }
  }
  queue->calls--;
  if (queue->calls > 0) {
    return err;
  }
  if (queue->is_dead) {
    destroy(queue);
  } else if (queue->changed != NULL) {
    queue->changed(queue->changed_ctx);
  }
  return err;
}

int kin__queue_transform(kin_queue *queue, const kin_object *object,
                         kin_object **out) {
  queue->is_locked = true;
  int err = kin__transform_run(&queue->transform, object, 0, out);
  queue->is_locked = false;
  return err;
}

int kin__queue_key_object(kin_queue *queue, kin_str key, kin_object **out) {
  kin__object_parts parts = {0};
  *out = NULL;
  int err = kin_key_split(key, &parts.namespace_, &parts.name);
  return err != 0 ? err : kin__object_new(out, queue->memory, &parts);
}

int kin__queue_get_known(kin_queue *queue, kin_str key,
                         const kin_object **object) {
  *object = NULL;
  queue->is_locked = true;
  int err = queue->known.get(queue->known.ctx, key, object);
  queue->is_locked = false;
  if (err != 0 ||
      (*object != NULL && !kin__str_equal(kin_object_key(*object), key))) {
    *object = NULL;
  }
  return err;
}

bool kin__queue_next_known(kin_queue *queue, uintptr_t *place, kin_str *key) {
  queue->is_locked = true;
  bool has_more = queue->known.next(queue->known.ctx, place, key);
  queue->is_locked = false;
  return has_more;
}

int kin__queue_take_known(kin_queue *queue, kin_str key, kin_object **object,
                          bool *is_key_only) {
  const kin_object *known;
  *is_key_only = kin__queue_get_known(queue, key, &known) != 0 || known == NULL;
  if (*is_key_only) {
    return kin__queue_key_object(queue, key, object);
  }
  *object = kin__object_ref(known);
  return 0;
}

int kin__queue_reserve_views(kin_queue *queue, size_t count) {
  if (count <= queue->view_capacity) {
    return 0;
  }
  size_t capacity = queue->view_capacity > 0 ? queue->view_capacity : 4;
  while (capacity < count) {
    if (capacity > SIZE_MAX / 2) {
      return KIN_ENOMEM;
    }
    capacity *= 2;
  }
  kin_delta *views =
      kin__realloc_array(queue->allocator, queue->views, queue->view_capacity,
                         capacity, sizeof *views);
  if (views == NULL) {
    return KIN_ENOMEM;
  }
  queue->views = views;
  queue->view_capacity = capacity;
  return 0;
}

static int put(kin_queue *queue, kin_delta_type type,
               const kin_object *object) {
  int err = enter(queue);
  if (err != 0) {
    return err;
  }
  kin_object *made = NULL;
  err = kin__object_check_key(object);
  if (err == 0) {
    err = kin__queue_transform(queue, object, &made);
  }
  if (err == 0) {
    err = queue->ops->put(queue, type, made);
  }
  kin__object_unref(made);
  if (err == 0 || (err != KIN_ENOMEM && queue->ops->counts_refused_puts)) {
    queue->is_populated = true;
  }
  return leave(queue, err);
}

int kin_queue_add(kin_queue *queue, const kin_object *object) {
  return queue != NULL ? put(queue, KIN_DELTA_ADDED, object) : KIN_EINVAL;
}

int kin_queue_update(kin_queue *queue, const kin_object *object) {
  return queue != NULL ? put(queue, KIN_DELTA_UPDATED, object) : KIN_EINVAL;
}

/* `bad_key` is the key's error, or 0. */
static int take_away(kin_queue *queue, int bad_key, kin_str key,
                     const kin_object *object, bool is_tombstone) {
  int err = enter(queue);
  if (err != 0) {
    return err;
  }
  err = bad_key;
  if (err == 0) {
    err = queue->ops->remove(queue, key, object, is_tombstone);
  }
  if (bad_key != 0 ? queue->ops->counts_refused_keys : err != KIN_ENOMEM) {
    queue->is_populated = true;
  }
  return leave(queue, err);
}

int kin_queue_delete(kin_queue *queue, const kin_object *object) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  int err = kin__object_check_key(object);
  kin_str key = err == 0 ? kin_object_key(object) : KIN__LIT("");
  return take_away(queue, err, key, object, false);
}

int kin_queue_delete_tombstone(kin_queue *queue, kin_str key,
                               const kin_object *object) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  int err = kin_key_split(key, NULL, NULL);
  if (err == 0 && object != NULL) {
    err = kin__str_equal(kin_object_key(object), key)
              ? kin__object_check_key(object)
              : KIN_EKEY;
  }
  return take_away(queue, err, key, object, true);
}

static int check_version(kin_str version) {
  return version.length > MAX_VERSION_LENGTH ? KIN_ETOOBIG : 0;
}

int kin_queue_replace(kin_queue *queue, const kin_object *const *objects,
                      size_t count, kin_str version) {
  version = kin__str_given(version);
  int err = enter_alone(queue);
  if (err != 0) {
    return err;
  }
  err = check_version(version);
  if (err == 0 && count > 0 && objects == NULL) {
    err = KIN_EINVAL;
  }
  size_t initial = 0;
  if (err == 0) {
    err = queue->ops->replace(queue, objects, count, version, &initial);
  }
  if (err == 0 && !queue->is_populated) {
    queue->is_populated = true;
    queue->initial = initial;
  }
  return leave(queue, err);
}

int kin_queue_resync(kin_queue *queue) {
  int err = enter_alone(queue);
  return err != 0 ? err : leave(queue, queue->ops->resync(queue));
}

int kin_queue_bookmark(kin_queue *queue, kin_str version) {
  version = kin__str_given(version);
  int err = enter(queue);
  if (err != 0) {
    return err;
  }
  err = check_version(version);
  if (err == 0 && queue->emit_bookmarks) {
    err = queue->ops->bookmark(queue, version);
  }
  return leave(queue, err);
}

static int check_delta(const kin_delta *delta, kin_str key) {
  bool is_deletion = delta->type == KIN_DELTA_DELETED;
  if (delta->type < KIN_DELTA_ADDED || delta->type > KIN_DELTA_SYNC ||
      (delta->is_tombstone && !is_deletion) ||
      (delta->object == NULL && !delta->is_tombstone)) {
    return KIN_EINVAL;
  }
  kin_str own;
  int err = kin_delta_key(delta, &own);
  if (err == 0 && !kin__str_equal(own, key)) {
    err = KIN_EKEY;
  }
  if (err == 0 && delta->object != NULL &&
      !kin__str_equal(kin_object_key(delta->object), key)) {
    err = KIN_EKEY;
  }
  return err;
}

static int check_deltas(const kin_deltas *deltas, kin_str *key) {
  if (deltas == NULL || (deltas->count > 0 && deltas->items == NULL)) {
    return KIN_EINVAL;
  }
  int err = kin_deltas_key(deltas, key);
  if (err == 0) {
    err = kin_key_split(*key, NULL, NULL);
  }
  for (size_t i = 0; i < deltas->count && err == 0; i++) {
    err = check_delta(&deltas->items[i], *key);
  }
  return err;
}

int kin_queue_add_if_not_present(kin_queue *queue, const kin_deltas *deltas) {
  int err = enter(queue);
  if (err != 0) {
    return err;
  }
  kin_str key;
  err = check_deltas(deltas, &key);
  if (err == 0) {
    err = queue->ops->restore(queue, key, deltas);
  }
  if (err == 0) {
    queue->is_populated = true;
  }
  return leave(queue, err);
}

static int pop(kin_queue *queue, bool is_batch,
               kin_queue_process_cb process_batch, kin_queue_process_cb process,
               void *data) {
  int err = queue->has_taken_whole ? KIN_EALREADY : enter_alone(queue);
  if (err != 0) {
    return err;
  }
  if (process == NULL || (is_batch && process_batch == NULL)) {
    return leave(queue, KIN_EINVAL);
  }
  kin_queue_item item = {.size = sizeof item, .is_initial = !queue->is_synced};
  err = queue->ops->begin(queue, is_batch, &item.deltas.count);
  /* The last initial key may have been skipped. */
  item.is_initial &= !queue->ops->skips_keys || !queue->is_synced;
  if (err == 0 && item.deltas.count == 0) {
    err = queue->is_closed ? KIN_ECLOSED : KIN_EAGAIN;
  }
  if (err != 0) {
    return leave(queue, err);
  }
  item.deltas.items = queue->views;
  bool is_several =
      is_batch && queue->ops->has_batches && item.deltas.count > 1;
  queue->is_processing = true;
  err = (is_several ? process_batch : process)(queue, &item, data);
  queue->is_processing = false;
  queue->ops->end(queue, item.requeue);
  return leave(queue, err > 0 ? KIN_EINVAL : err);
}

int kin_queue_pop(kin_queue *queue, kin_queue_process_cb process, void *data) {
  return queue != NULL ? pop(queue, false, NULL, process, data) : KIN_EINVAL;
}

int kin_queue_pop_batch(kin_queue *queue, kin_queue_process_cb process_batch,
                        kin_queue_process_cb process, void *data) {
  return queue != NULL ? pop(queue, true, process_batch, process, data)
                       : KIN_EINVAL;
}

/* --- Whole lists in steps ------------------------------------------------- */

int kin__queue_begin_list(kin_queue *queue, size_t count, kin_str version,
                          kin__payload **out) {
  *out = NULL;
  int err = check_version(version);
  if (err == 0) {
    *out = kin__in_order_payload(queue, version, count);
    err = *out != NULL ? 0 : KIN_ENOMEM;
  }
  return err;
}

int kin__queue_add_to_list(kin_queue *queue, kin__payload *list,
                           const kin_object *object, bool is_ready) {
  int err = enter_alone(queue);
  if (err != 0) {
    return err;
  }
  kin_object *made;
  err = kin__object_check_key(object);
  if (err == 0 && is_ready) {
    made = kin__object_ref(object);
  } else if (err == 0) {
    err = kin__queue_transform(queue, object, &made);
  }
  if (err == 0) {
    list->objects[list->count++] = made;
  }
  return leave(queue, err);
}

int kin__queue_end_list(kin_queue *queue, kin__payload *list) {
  int err = enter_alone(queue);
  if (err != 0) {
    return err;
  }
  if (list != NULL) {
    err = kin__in_order_append_list(queue, list);
  } else {
    queue->as.keyed.has_list = false;
  }
  if (err == 0 && !queue->is_populated) {
    queue->is_populated = true;
    queue->initial = queue->ops->count(queue);
  }
  return leave(queue, err);
}

bool kin__queue_clear_step(kin_queue *queue, size_t count) {
  return queue->ops == &kin__in_order_ops
             ? kin__in_order_clear_step(queue, count)
             : kin__delta_fifo_clear_step(&queue->as.keyed.fifo, count);
}

int kin__queue_take_whole(kin_queue *queue, kin__whole *whole) {
  *whole = (kin__whole){.is_initial = !queue->is_synced,
                        .is_counted = queue->initial > 0};
  if (queue->is_processing || queue->is_locked || queue->has_taken_whole) {
    return KIN_EALREADY;
  }
  if (queue->ops != &kin__in_order_ops ||
      !kin__in_order_take_whole(queue, whole)) {
    return KIN_EAGAIN;
  }
  queue->has_taken_whole = true;
  return 0;
}

void kin__queue_end_whole(kin_queue *queue, const kin__whole *whole) {
  queue->calls++;
  queue->has_taken_whole = false;
  queue->initial -= whole->is_counted ? 1 : 0;
  (void)leave(queue, 0);
}

bool kin_queue_has_synced(const kin_queue *queue) {
  return queue != NULL && queue->is_synced;
}

void kin_queue_close(kin_queue *queue) {
  if (queue != NULL) {
    queue->is_closed = true;
  }
}

bool kin_queue_is_closed(const kin_queue *queue) {
  return queue != NULL && queue->is_closed;
}

const char *kin_queue_name(const kin_queue *queue) {
  return queue != NULL ? queue->name : "";
}

kin_transform_cb kin_queue_transform(const kin_queue *queue, void **data) {
  if (queue == NULL) {
    return NULL;
  }
  if (data != NULL) {
    *data = queue->transform.data;
  }
  return queue->transform.cb;
}

size_t kin_queue_count(const kin_queue *queue) {
  return queue != NULL ? queue->ops->count(queue) : 0;
}

bool kin_queue_is_full(const kin_queue *queue) {
  return queue != NULL && queue->pending_limit != KIN_NEVER &&
         kin__queue_depth(queue) >= queue->pending_limit;
}

int kin_queue_get(const kin_queue *queue, kin_str key, kin_deltas **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  *out = NULL;
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  return queue->ops->get(queue, key, out);
}

bool kin_queue_next(const kin_queue *queue, kin_queue_cursor *cursor,
                    kin_delta *delta) {
  if (queue == NULL || cursor == NULL || delta == NULL) {
    return false;
  }
  return queue->ops->next(queue, cursor, delta);
}
