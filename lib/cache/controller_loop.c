/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>

#include "base/log.h"
#include "cache/process.h"
#include "cache/controller.h"
#include "object/object.h"

/* The process loop (client-go's processLoop), in slices (base/sched.h). Time in
 * handlers is not counted as the library's, but a slow handler ends the
 * slice. */

#define PIECES_PER_STEP 1024u
#define MAX_DOUBLINGS 6u

/* --- Calls of the program ------------------------------------------------- */

static uint64_t begin_call(const kin_controller *c) {
  return kin__clock_ns(&c->env->clock);
}

static void end_call(const kin_controller *c, uint64_t start_ns) {
  kin__env_add_handler_time(c->env, start_ns);
}

static kin__slice begin_slice(const kin_controller *c) {
  return kin__slice_begin(c->env->sched, PIECES_PER_STEP);
}

static void on_add(const kin_object *object, bool is_initial, void *data) {
  kin_controller *c = data;
  uint64_t start_ns = begin_call(c);
  c->handlers.on_add(object, is_initial, c->handlers.data);
  end_call(c, start_ns);
}

static void on_update(const kin_object *old_object, const kin_object *object,
                      void *data) {
  kin_controller *c = data;
  uint64_t start_ns = begin_call(c);
  c->handlers.on_update(old_object, object, c->handlers.data);
  end_call(c, start_ns);
}

static void on_delete(kin_str key, const kin_object *object, bool is_tombstone,
                      void *data) {
  kin_controller *c = data;
  uint64_t start_ns = begin_call(c);
  c->handlers.on_delete(key, object, is_tombstone, c->handlers.data);
  end_call(c, start_ns);
}

/* --- Failures ------------------------------------------------------------- */

static void note_key(kin_controller *c, const kin_deltas *deltas) {
  kin_str key = {"", 0};
  (void)kin_delta_key(&deltas->items[0], &key);
  c->key_length = key.length < sizeof c->key ? (uint32_t)key.length
                                             : (uint32_t)sizeof c->key - 1;
  memcpy(c->key, key.data, c->key_length);
  c->key[c->key_length] = '\0';
}

static void pause_for(kin_controller *c, uint64_t ms) {
  kin__timer_start(c->env->timers, &c->timer, kin__env_now_ms(c->env) + ms);
}

static void tell_failure(kin_controller *c, int err, bool is_retried) {
  c->stats.failures++;
  c->stats.retries += is_retried ? 1 : 0;
  kin__log_write(c->env->log, is_retried ? KIN_LOG_WARN : KIN_LOG_ERROR,
                 "%s: processing %s: %s; %s", kin_reflector_name(c->reflector),
                 c->key_length > 0 ? c->key : "everything", kin_strerror(err),
                 is_retried ? "put back" : "lost");
  if (c->options.on_process_error != NULL) {
    kin_str key = {c->key, c->key_length};
    uint64_t start_ns = begin_call(c);
    c->options.on_process_error(c, err, key, is_retried, c->options.data);
    end_call(c, start_ns);
  }
}

static bool is_in_order(const kin_controller *c) {
  return c->queue->ops == &kin__in_order_ops;
}

/* A failed item goes to the end, so the others come first, but for an item of
 * the first list in a queue of the controller's. There is a wait if the queue is
 * in order, or if all items have failed. */
static void wait_if_fruitless(kin_controller *c) {
  c->fruitless++;
  if (!is_in_order(c) && c->fruitless < kin_queue_count(c->queue)) {
    return;
  }
  pause_for(c, (uint64_t)KIN__MEMORY_RETRY_MS
                   << (c->waits < MAX_DOUBLINGS ? c->waits : MAX_DOUBLINGS));
  c->waits++;
  c->fruitless = 0;
}

/* --- Popping -------------------------------------------------------------- */

/* For the controller's own queue. If memory or the slice is out, what is left of
 * the item is put back, so that nothing is lost and nothing is told twice. After
 * a slice it comes next. */
static int process_own(kin_queue *queue, kin_queue_item *item, void *data) {
  kin_controller *c = data;
  const kin_deltas *deltas = &item->deltas;
  uint32_t done = 0;
  int err;
  c->was_called = true;
  do {
    err = kin__handle_deltas_one(&c->store, &c->timed, &deltas->items[done],
                                 item->is_initial);
    done += err == 0 ? 1 : 0;
  } while (err == 0 && done < deltas->count && !c->member.is_closing &&
           kin__slice_next(&c->slice));
  if (err != 0) {
    note_key(c, deltas);
  }
  item->requeue = err == KIN_ENOMEM || (err == 0 && done < deltas->count);
  c->was_put_back = item->requeue && err != 0;
  if (!item->requeue || is_in_order(c)) {
    return err;
  }
  if (done > 0) {
    kin__delta_fifo_forget(&queue->as.keyed.fifo, queue->as.keyed.in_flight,
                           done);
  }
  queue->as.keyed.is_next = err == 0;
  if (item->is_initial) {
    kin__delta_retry_initial(queue);
    c->fruitless = kin_queue_count(queue); /* no other item comes first */
  }
  return err;
}

static int call_process(kin_controller *c, kin_queue_process_cb process,
                        kin_queue *queue, kin_queue_item *item) {
  c->was_called = true;
  note_key(c, &item->deltas);
  uint64_t start_ns = begin_call(c);
  int err = process(queue, item, c->options.data);
  end_call(c, start_ns);
  if (err != 0 && c->options.retry_on_error) {
    item->requeue = true;
  }
  c->was_put_back = item->requeue;
  return err;
}

static int process_one(kin_queue *queue, kin_queue_item *item, void *data) {
  kin_controller *c = data;
  return call_process(c, c->options.process, queue, item);
}

static int process_batch(kin_queue *queue, kin_queue_item *item, void *data) {
  kin_controller *c = data;
  return call_process(c, c->options.process_batch, queue, item);
}

static int pop(kin_controller *c) {
  c->was_called = false;
  c->was_put_back = false;
  c->is_popping = true;
  int err;
  if (c->owns_queue) {
    err = kin_queue_pop(c->queue, process_own, c);
  } else if (c->options.process_batch != NULL) {
    err = kin_queue_pop_batch(c->queue, process_batch, process_one, c);
  } else {
    err = kin_queue_pop(c->queue, process_one, c);
  }
  c->is_popping = false;
  return err;
}

/* A list or a resync of everything is not popped, but processed in slices. */
static bool take_whole(kin_controller *c) {
  if (!c->owns_queue || kin__queue_take_whole(c->queue, &c->whole) != 0) {
    return false;
  }
  c->stats.items++;
  c->key_length = 0;
  const kin_delta *delta = &c->whole.delta;
  if (delta->type == KIN_DELTA_SYNC_ALL) {
    c->phase = KIN__CONTROLLER_SYNCING;
    c->sync = (kin_cursor){0};
    c->resync_end = kin__slots_limit(&c->store.slots);
  } else {
    c->phase = KIN__CONTROLLER_REPLACING;
    c->has_replacement = true;
    kin__replacement_begin(&c->replacement, &c->store,
                           c->whole.payload->objects, delta->object_count,
                           delta->resource_version, c->whole.is_initial);
  }
  return true;
}

/* Returns whether popping goes on. */
static bool pop_next(kin_controller *c) {
  int err = pop(c);
  if (!c->was_called) {
    if (err == KIN_ENOMEM) {
      pause_for(c, KIN__MEMORY_RETRY_MS);
    }
    return false;
  }
  c->stats.items++;
  if (c->member.is_closing) {
    return false;
  }
  if (err == 0 && !c->was_put_back) {
    c->fruitless = 0;
    c->waits = 0;
    return true;
  }
  bool is_put_back = c->was_put_back;
  if (is_put_back) {
    wait_if_fruitless(c);
  }
  if (err != 0) {
    tell_failure(c, err, is_put_back);
  }
  return !c->member.is_closing && !c->timer.is_active;
}

/* Returns whether the controller is still open. */
static bool tell_synced(kin_controller *c) {
  if (!c->is_synced_told && kin_queue_has_synced(c->queue)) {
    c->is_synced_told = true;
    if (c->options.on_synced != NULL) {
      uint64_t start_ns = begin_call(c);
      c->options.on_synced(c, c->options.data);
      end_call(c, start_ns);
    }
  }
  return !c->member.is_closing;
}

/* While a list is added by key, no item may leave the queue: the list's
 * deletions depend on the queued items. */
static bool is_held(const kin_controller *c) {
  return c->owns_queue && !is_in_order(c) && c->queue->as.keyed.has_list;
}

void kin__controller_give_list_up(kin_controller *c) {
  c->queue->as.keyed.has_list = false;
  kin__controller_wake(c);
}

void kin__controller_begin_resync(kin_controller *c) {
  if (!c->is_resyncing) {
    c->resync = 0;
    c->resync_end = kin__slots_limit(&c->store.slots);
    c->is_resyncing = true;
  }
  kin__controller_wake(c);
}

/* Queues more keys of a resync, if there is room. */
static void resync_some(kin_controller *c) {
  if (!c->is_resyncing || kin_queue_is_full(c->queue)) {
    return;
  }
  int left = kin__delta_resync_step(
      c->queue, &c->resync, c->resync_end,
      kin__sched_pieces(c->env->sched, KIN__CONTROLLER_LIST_STEP));
  if (left == 0) {
    c->is_resyncing = false;
  } else if (left < 0) {
    pause_for(c, KIN__MEMORY_RETRY_MS);
  }
}

static bool pop_step(kin_controller *c) {
  if (is_held(c)) {
    return false;
  }
  resync_some(c);
  bool has_more = true;
  c->slice = begin_slice(c);
  while (has_more && kin__slice_next(&c->slice)) {
    if (take_whole(c)) {
      break;
    }
    has_more = pop_next(c);
    if (c->member.is_closing || !tell_synced(c)) {
      return true;
    }
  }
  if (!kin_queue_is_full(c->queue)) {
    (void)kin_reflector_resume(c->reflector);
  }
  return has_more || (c->is_resyncing && !c->timer.is_active);
}

/* --- Whole lists and resyncs ---------------------------------------------- */

/* The item has been processed, or has failed for good. */
static bool end_whole(kin_controller *c, int err) {
  c->phase = KIN__CONTROLLER_FREEING;
  c->is_popping = true;
  kin__queue_end_whole(c->queue, &c->whole);
  c->is_popping = false;
  if (tell_synced(c) && err != 0) {
    tell_failure(c, err, false);
  }
  return true;
}

/* The transform failed on a listed object: what the store has of it now stays.
 * Returns whether there was such an object. */
static bool keep_stored(kin_controller *c) {
  kin__payload *list = c->whole.payload;
  const kin_object *object = kin__payload_take_refused(list);
  if (object == NULL) {
    return false;
  }
  const kin_object *stored = kin_store_get(&c->store, kin_object_key(object));
  if (kin__controller_is_same(stored, object)) {
    list->objects[list->count++] = kin__object_ref(stored);
    c->replacement.count = list->count;
  }
  kin__object_unref(object);
  return true;
}

static bool replace_step(kin_controller *c) {
  kin__slice slice = begin_slice(c);
  while (kin__slice_next(&slice)) {
    if (keep_stored(c)) {
      continue;
    }
    c->queue->is_processing = true; /* as inside a pop */
    int more = kin__replacement_step(&c->replacement, 1, &c->timed);
    c->queue->is_processing = false;
    if (c->member.is_closing) {
      return true;
    }
    if (more == KIN_ENOMEM) {
      c->stats.items++; /* as if it was put back and popped again */
      pause_for(c, KIN__MEMORY_RETRY_MS);
      tell_failure(c, more, true);
      return c->member.is_closing;
    }
    if (more <= 0) {
      return end_whole(c, more);
    }
  }
  return true;
}

static bool sync_step(kin_controller *c) {
  kin__slice slice = begin_slice(c);
  while (kin__slice_next(&slice)) {
    c->queue->is_processing = true;
    bool has_more =
        kin__handle_deltas_sync_step(&c->store, &c->sync, c->resync_end, 1,
                                     &c->member.is_closing, &c->timed);
    c->queue->is_processing = false;
    if (c->member.is_closing) {
      return true;
    }
    if (!has_more) {
      return end_whole(c, 0);
    }
  }
  return true;
}

/* Frees part of the current item. Returns whether any is left. */
static bool free_piece_of_item(kin_controller *c) {
  if (c->whole.payload != NULL &&
      kin__payload_free_step(c->whole.payload, c->queue->allocator, 1)) {
    return true;
  }
  c->whole.payload = NULL;
  if (c->has_replacement && kin__replacement_clear_step(&c->replacement, 1)) {
    return true;
  }
  c->has_replacement = false;
  return kin__arena_collect(c->env->memory->arena, 1);
}

/* Frees in a slice. Returns whether anything is left. */
static bool free_slice(kin_controller *c, bool (*some)(kin_controller *c)) {
  bool has_more = true;
  kin__slice slice = begin_slice(c);
  while (has_more && kin__slice_next(&slice)) {
    has_more = some(c);
  }
  return has_more;
}

static bool free_step(kin_controller *c) {
  if (!free_slice(c, free_piece_of_item)) {
    c->phase = KIN__CONTROLLER_POPPING;
  }
  return true;
}

/* --- The end -------------------------------------------------------------- */

static bool free_piece(kin_controller *c) {
  if (free_piece_of_item(c)) {
    return true;
  }
  if (c->list != NULL &&
      kin__payload_free_step(c->list, c->queue->allocator, 1)) {
    return true;
  }
  c->list = NULL;
  return c->owns_queue && (kin__queue_clear_step(c->queue, 1) ||
                           kin__store_clear_step(&c->doomed, 1) ||
                           kin__arena_collect(c->env->memory->arena, 1));
}

/* The program may read the store until the end, so its content moves to
 * `doomed` before it is freed in steps. The close call must not do this: it may
 * come from a handler that uses a slot of the store. */
static void empty_store(kin_controller *c) {
  if (c->owns_queue && !c->is_emptied) {
    c->is_emptied = true;
    kin__store_init(&c->doomed, c->store.memory, c->store.seed, false);
    kin__store_swap(&c->store, &c->doomed);
  }
}

static bool close_step(kin_controller *c) {
  empty_store(c);
  if (free_slice(c, free_piece)) {
    return true;
  }
  kin__controller_ended(c);
  return false;
}

void kin__controller_loop_close(kin_controller *c) {
  c->replacement.is_stopped = true;
  kin__timer_stop(c->env->timers, &c->timer);
  kin__timer_stop(c->env->timers, &c->index_timer);
  kin__sched_cancel(c->env->sched, &c->index_task);
  kin__sched_add(c->env->sched, &c->task);
}

/* --- Tasks ---------------------------------------------------------------- */

static bool step(kin__task *task) {
  kin_controller *c = KIN__CONTAINER_OF(task, kin_controller, task);
  if (c->member.is_closing) {
    return close_step(c);
  }
  if (!tell_synced(c)) {
    return true;
  }
  if (c->timer.is_active) {
    return false;
  }
  switch (c->phase) {
  case KIN__CONTROLLER_POPPING:
    return pop_step(c);
  case KIN__CONTROLLER_REPLACING:
    return replace_step(c);
  case KIN__CONTROLLER_SYNCING:
    return sync_step(c);
  case KIN__CONTROLLER_FREEING:
    return free_step(c);
  }
  return false;
}

void kin__controller_wake(kin_controller *c) {
  if (c->is_started && !c->member.is_closing) {
    kin__sched_add(c->env->sched, &c->task);
  }
}

/* A new item is tried at once, unless the queue is in order. Calls that queue
 * nothing do not end a wait. */
static void on_queue_changed(void *ctx) {
  kin_controller *c = ctx;
  kin__keyed *keyed = is_in_order(c) ? NULL : &c->queue->as.keyed;
  bool has_news = keyed != NULL && keyed->has_news;
  if (has_news) {
    keyed->has_news = false;
  }
  if (c->is_popping) {
    return;
  }
  if (has_news) {
    c->fruitless = 0;
    kin__timer_stop(c->env->timers, &c->timer);
  }
  kin__controller_wake(c);
}

static void on_timer(kin__timer *timer) {
  kin__controller_wake(KIN__CONTAINER_OF(timer, kin_controller, timer));
}

static bool index_step(kin__task *task) {
  kin_controller *c = KIN__CONTAINER_OF(task, kin_controller, index_task);
  int err;
  bool has_more = kin__store_index_slice(&c->store, c->env->sched, &err);
  if (err != 0) {
    kin__timer_start(c->env->timers, &c->index_timer,
                     kin__env_now_ms(c->env) + KIN__MEMORY_RETRY_MS);
    return false;
  }
  return has_more;
}

static void on_index_added(void *ctx) {
  kin_controller *c = ctx;
  if (!c->member.is_closing) {
    kin__sched_add(c->env->sched, &c->index_task);
  }
}

static const kin__log *log_of(void *ctx) {
  const kin_controller *c = ctx;
  return c->env->log;
}

static const kin__store_owner store_owner = {.index_added = on_index_added,
                                             .log = log_of};

static void on_index_timer(kin__timer *timer) {
  on_index_added(KIN__CONTAINER_OF(timer, kin_controller, index_timer));
}

void kin__controller_loop_init(kin_controller *c) {
  kin__task_init(&c->task, step);
  kin__task_init(&c->index_task, index_step);
  kin__timer_init(&c->timer, on_timer);
  kin__timer_init(&c->index_timer, on_index_timer);
  c->timed = (kin_process_handlers){
      .size = sizeof c->timed,
      .on_add = c->handlers.on_add != NULL ? on_add : NULL,
      .on_update = c->handlers.on_update != NULL ? on_update : NULL,
      .on_delete = c->handlers.on_delete != NULL ? on_delete : NULL,
      .data = c};
  c->store.is_indexed_in_steps = true;
  c->store.owner = &store_owner;
  c->store.owner_ctx = c;
  c->queue->changed = on_queue_changed;
  c->queue->changed_ctx = c;
}
