/* SPDX-License-Identifier: MIT */
#include "workqueue/work_queue.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "toolkit/metrics_writer.h"
#include "workqueue/rate_limiter.h"

/* The public functions, for queues of both kinds. */

#define DUE_STEP 1024u
#define NS_PER_MS 1000000u

/* --- Options -------------------------------------------------------------- */

/* A text about a fault of the options, or NULL. */
static const char *fault_of(const kin_work_queue_options *o, bool is_attached) {
  if (o->name != NULL && !kin__metrics_is_name(o->name)) {
    return "name: has 1 to 255 letters, digits, '.', '-', '_', '/'";
  }
  if (o->limiter != NULL && o->limiter->is_owned) {
    return "limiter: has another owner";
  }
  if (o->max_keys > KIN__KEY_TABLE_MAX) {
    return "max_keys: is over 16,777,216";
  }
  if (o->concurrency > KIN__WORK_MAX_CONCURRENCY) {
    return "concurrency: is over 65,536";
  }
  if (!is_attached) {
    bool is_plain =
        o->worker == NULL && o->on_closed == NULL && o->concurrency == 0;
    return is_plain ? NULL : "worker, concurrency, on_closed: need a client";
  }
  if (o->allocator != NULL) {
    return "allocator: is the client's";
  }
  return o->worker != NULL ? NULL : "worker: is required";
}

static void free_queue(kin_work_queue *queue) {
  kin_allocator allocator = queue->allocator;
  while (kin__work_finish_step(&queue->work)) {
  }
  kin__free(&allocator, queue->name);
  kin__free(&allocator, queue);
}

/* Makes a queue of checked options. The limiter stays the program's on an
 * error. `memory` is for keys. */
static int make(kin_work_queue **out, const kin_allocator *allocator,
                const kin_allocator *memory, kin__hash_seed seed,
                const kin_work_queue_options *o) {
  kin_work_queue *queue = kin__calloc(allocator, 1, sizeof *queue);
  if (queue == NULL) {
    return KIN_ENOMEM;
  }
  queue->allocator = *allocator;
  queue->options = *o;
  queue->name = kin__strdup(allocator, kin__or_default(o->name, "work"));
  kin_rate_limiter *limiter = o->limiter;
  int err = queue->name != NULL ? 0 : KIN_ENOMEM;
  if (err == 0 && limiter == NULL) {
    err = kin_rate_limiter_new_default(&limiter, allocator);
  }
  if (err != 0) {
    kin__free(allocator, queue->name);
    kin__free(allocator, queue);
    return err;
  }
  limiter->is_owned = true;
  if (limiter->ops->use_memory != NULL) {
    limiter->ops->use_memory(limiter, memory);
  }
  queue->memory = *memory;
  queue->options.name = queue->name;
  queue->options.concurrency = o->concurrency != 0 ? o->concurrency : 1;
  kin__work_init(&queue->work, &queue->memory, queue, limiter, seed,
                 o->max_keys != 0 ? o->max_keys : KIN__KEY_TABLE_MAX);
  kin__link_init(&queue->follows);
  kin__link_init(&queue->line);
  *out = queue;
  return 0;
}

/* --- A queue that stands alone -------------------------------------------- */

int kin_work_queue_new(kin_work_queue **out,
                       const kin_work_queue_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_work_queue_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_work_queue_options));
  if (err == 0) {
    err = kin__options_check_common(o.allocator, KIN_LOG_ERROR, NULL);
  }
  if (err == 0 && fault_of(&o, false) != NULL) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      o.allocator != NULL ? o.allocator : kin__default_allocator();
  return make(out, allocator, allocator, kin__hash_make_seed(out), &o);
}

void kin_work_queue_free(kin_work_queue *queue) {
  if (queue == NULL || queue->env != NULL) {
    return;
  }
  while (kin__work_clear_step(&queue->work, UINT32_MAX)) {
  }
  free_queue(queue);
}

int kin_work_queue_advance(kin_work_queue *queue, uint64_t now_ns,
                           uint64_t *next_ns) {
  if (queue == NULL || queue->env != NULL) {
    return KIN_EINVAL;
  }
  kin__work *work = &queue->work;
  work->now_ns = now_ns > work->now_ns ? now_ns : work->now_ns;
  (void)kin__work_advance(work, DUE_STEP);
  if (next_ns != NULL) {
    uint64_t next_ms = kin__work_next_ms(work);
    *next_ns =
        next_ms <= UINT64_MAX / NS_PER_MS ? next_ms * NS_PER_MS : UINT64_MAX;
  }
  return 0;
}

int kin_work_queue_get(kin_work_queue *queue, const kin_work_item **item) {
  if (item == NULL) {
    return KIN_EINVAL;
  }
  *item = NULL;
  return queue != NULL && queue->env == NULL ? kin__work_get(&queue->work, item)
                                             : KIN_EINVAL;
}

/* --- An attached queue ---------------------------------------------------- */

static void on_close(kin__member *member) {
  kin_work_queue *queue = KIN__CONTAINER_OF(member, kin_work_queue, member);
  kin__work_follows_close(queue);
  kin__work_loop_close(queue);
}

static void on_free(kin__member *member) {
  kin_work_queue *queue = KIN__CONTAINER_OF(member, kin_work_queue, member);
  kin__work_follows_free(queue);
  free_queue(queue);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin__work_queue_open(kin_work_queue **out, kin__host *host,
                         const kin_work_queue_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  const kin__env *env = host->env;
  kin_work_queue_options o;
  err = kin__options_take(&o, sizeof o, options,
                          KIN__FIRST_SIZE(kin_work_queue_options),
                          "kin_work_queue_options", env->log);
  if (err != 0) {
    return err;
  }
  const char *fault = fault_of(&o, true);
  if (fault != NULL) {
    return kin__log_problem(env->log, KIN_EINVAL, "%s", fault);
  }
  err = make(out, env->allocator, &env->memory->cells,
             kin__random_hash_seed(env->random), &o);
  if (err != 0) {
    return err;
  }
  kin_work_queue *queue = *out;
  queue->env = env;
  kin__member_init(&queue->member, &member_ops, env);
  queue->member.on_closed = o.on_closed;
  queue->member.data = o.data;
  kin__work_loop_init(queue);
  kin__member_join(&queue->member, host);
  return 0;
}

int kin_work_queue_open(kin_work_queue **out, kin_client *client,
                        const kin_work_queue_options *options) {
  return kin__work_queue_open(out, kin__client_host(client), options);
}

int kin_work_queue_close(kin_work_queue *queue, kin_work_queue_close_cb cb,
                         void *data) {
  return queue != NULL && queue->env != NULL
             ? kin__member_close(&queue->member, cb, data)
             : KIN_EINVAL;
}

void kin__work_queue_look(kin_work_queue *queue) {
  if (queue->env != NULL) {
    queue->work.now_ns = kin__clock_ns(&queue->env->clock);
  }
}

void kin__work_queue_wake(kin_work_queue *queue) {
  if (queue->env != NULL) {
    kin__sched_add(queue->env->sched, &queue->task);
  }
}

/* --- Adding --------------------------------------------------------------- */

static int add(kin_work_queue *queue, kin_str key, int priority,
               uint64_t delay_ms, bool is_retry) {
  if (kin__work_queue_is_closing(queue)) {
    return KIN_ECLOSED;
  }
  kin__work_queue_look(queue);
  int err =
      kin__work_add(&queue->work, kin__str_given(key), priority, delay_ms);
  if (err == 0) {
    queue->work.metrics.retries += is_retry;
    kin__work_queue_wake(queue);
  }
  return err;
}

int kin_work_queue_add(kin_work_queue *queue, kin_str key) {
  return queue != NULL ? add(queue, key, KIN_WORK_PRIORITY_DEFAULT, 0, false)
                       : KIN_EINVAL;
}

int kin_work_queue_add_after(kin_work_queue *queue, kin_str key,
                             uint64_t delay_ms) {
  return queue != NULL
             ? add(queue, key, KIN_WORK_PRIORITY_DEFAULT, delay_ms, true)
             : KIN_EINVAL;
}

int kin_work_queue_add_with_priority(kin_work_queue *queue, kin_str key,
                                     int32_t priority, uint64_t delay_ms) {
  if (queue == NULL || priority < KIN_WORK_PRIORITY_MIN ||
      priority > KIN_WORK_PRIORITY_MAX) {
    return KIN_EINVAL;
  }
  return add(queue, key, priority, delay_ms, delay_ms > 0);
}

int kin_work_queue_add_rate_limited(kin_work_queue *queue, kin_str key) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  if (kin__work_queue_is_closing(queue)) {
    return KIN_ECLOSED;
  }
  kin__work_queue_look(queue);
  int err = kin__work_add_rate_limited(&queue->work, kin__str_given(key));
  if (err == 0) {
    kin__work_queue_wake(queue);
  }
  return err;
}

void kin_work_queue_forget(kin_work_queue *queue, kin_str key) {
  if (queue != NULL && !kin__work_queue_is_closing(queue)) {
    kin_rate_limiter_forget(queue->work.limiter, key);
  }
}

uint32_t kin_work_queue_requeues(const kin_work_queue *queue, kin_str key) {
  return queue != NULL && !kin__work_queue_is_closing(queue)
             ? kin_rate_limiter_requeues(queue->work.limiter, key)
             : 0;
}

/* --- Answers -------------------------------------------------------------- */

/* Finds the record of an item. Errors: see kin_work_done. */
static int begin_answer(const kin_work_item *item, kin__work_record **record) {
  if (item == NULL) {
    return KIN_EINVAL;
  }
  *record = kin__work_record_of(item);
  if (*record == NULL) {
    return KIN_EALREADY;
  }
  if (kin__work_queue_is_closing(item->queue)) {
    return KIN_ECLOSED;
  }
  kin__work_queue_look(item->queue);
  kin__work_queue_wake(item->queue);
  return 0;
}

int kin_work_done(const kin_work_item *item, kin_work_result result) {
  if ((int)result < KIN_WORK_SUCCESS || (int)result > KIN_WORK_KEEP) {
    return KIN_EINVAL;
  }
  kin__work_record *record;
  int err = begin_answer(item, &record);
  if (err == 0) {
    kin__work_done(&record->item.queue->work, record, result);
  }
  return err;
}

int kin_work_done_after(const kin_work_item *item, uint64_t delay_ms) {
  kin__work_record *record;
  int err = begin_answer(item, &record);
  if (err == 0) {
    kin__work_done_after(&record->item.queue->work, record, delay_ms);
  }
  return err;
}

/* --- Shutdown ------------------------------------------------------------- */

void kin_work_queue_shut_down(kin_work_queue *queue) {
  if (queue == NULL || kin__work_queue_is_closing(queue)) {
    return;
  }
  queue->is_drain_ended = queue->drained != NULL;
  queue->work.is_shut_down = true;
  kin__work_queue_wake(queue);
}

int kin_work_queue_shut_down_with_drain(kin_work_queue *queue,
                                        kin_work_queue_drained_cb cb,
                                        void *data) {
  if (queue == NULL || (queue->env == NULL && cb != NULL)) {
    return KIN_EINVAL;
  }
  if (kin__work_queue_is_closing(queue)) {
    return KIN_ECLOSED;
  }
  if (queue->drained != NULL) {
    return KIN_EALREADY;
  }
  queue->drained = cb;
  queue->drained_data = data;
  queue->is_drain_ended = false;
  queue->work.is_shut_down = true;
  kin__work_queue_wake(queue);
  return 0;
}

bool kin_work_queue_is_shut_down(const kin_work_queue *queue) {
  return queue != NULL &&
         (queue->work.is_shut_down || kin__work_queue_is_closing(queue));
}

bool kin_work_queue_is_drained(const kin_work_queue *queue) {
  return queue != NULL && kin__work_is_drained(&queue->work);
}

size_t kin_work_queue_count(const kin_work_queue *queue) {
  return queue != NULL && !kin__work_queue_is_closing(queue)
             ? queue->work.ready.count
             : 0;
}
