/* SPDX-License-Identifier: MIT */
#include "workqueue/work.h"

#include <stddef.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/histogram.h"
#include "base/str.h"
#include "workqueue/rate_limiter.h"

#define NS_PER_MS 1000000u
#define NS_PER_US 1000u

static kin_str key_of(const kin__work *work, const kin__work_entry *e) {
  return kin__key_table_key(&work->table, e);
}

void kin__work_init(kin__work *work, const kin_allocator *allocator,
                    kin_work_queue *queue, kin_rate_limiter *limiter,
                    kin__hash_seed seed, uint32_t max_keys) {
  *work =
      (kin__work){.allocator = allocator, .queue = queue, .limiter = limiter};
  work->metrics = (kin_work_queue_metrics)KIN_WORK_QUEUE_METRICS_INIT;
  kin__key_table_init(&work->table, allocator, seed, sizeof(kin__work_entry),
                      max_keys);
  kin__ready_init(&work->ready);
  kin__timers_init(&work->waiting);
  kin__slots_init(&work->records, allocator, sizeof(kin__work_record));
  kin__link_init(&work->processing);
}

bool kin__work_clear_step(kin__work *work, uint32_t count) {
  if (kin__key_table_clear_step(&work->table, count) ||
      kin__rate_limiter_free_step(work->limiter, count)) {
    return true;
  }
  work->limiter = NULL;
  return false;
}

bool kin__work_finish_step(kin__work *work) {
  kin__link *first = work->processing.next;
  if (first != &work->processing) {
    kin__link_remove(first);
    kin__free(work->allocator,
              KIN__CONTAINER_OF(first, kin__work_record, node)->entry);
  } else if (work->records.segments.count > 0) {
    kin__slots_drop_segment(&work->records);
  } else {
    kin__slots_finish(&work->records);
    return false;
  }
  return true;
}

/* --- Entries -------------------------------------------------------------- */

static bool is_ready(const kin__work_entry *e) {
  return e->is_dirty && !e->head.is_held;
}

/* Frees the entry if nothing is to be done with its key. */
static void release(kin__work *work, kin__work_entry *e) {
  if (!e->is_dirty && !e->head.is_held && !e->wait.is_active) {
    kin__key_table_give(&work->table, e);
  }
}

/* A key that is wanted twice has the higher priority. */
static void set_priority(kin__work *work, kin__work_entry *e, int8_t priority) {
  bool is_new = !e->is_dirty && !e->wait.is_active;
  if (!is_new && priority <= e->priority) {
    return;
  }
  if (is_ready(e)) {
    kin__ready_remove(&work->ready, e->priority, &e->link);
    kin__ready_push(&work->ready, priority, &e->link);
  }
  e->priority = priority;
}

/* WQ-01 */
static void make_dirty(kin__work *work, kin__work_entry *e) {
  if (e->is_dirty) {
    return;
  }
  e->is_dirty = true;
  e->added_ns = work->now_ns;
  work->metrics.adds++;
  work->metrics.depth++;
  if (!e->head.is_held) {
    kin__ready_push(&work->ready, e->priority, &e->link);
  }
}

static uint64_t now_ms_up(const kin__work *work) {
  return work->now_ns / NS_PER_MS + (work->now_ns % NS_PER_MS != 0);
}

/* WQ-07, WQ-08: of two due times the earlier counts. */
static void schedule(kin__work *work, kin__work_entry *e, int8_t priority,
                     uint64_t delay_ms) {
  set_priority(work, e, priority);
  if (delay_ms == 0) {
    make_dirty(work, e);
    return;
  }
  uint64_t due_ms = kin__deadline_ms(now_ms_up(work), delay_ms);
  if (e->wait.is_active && e->wait.due_ms <= due_ms) {
    return;
  }
  work->waiting_count += !e->wait.is_active;
  kin__timer_start(&work->waiting, &e->wait, due_ms);
}

/* --- Adding --------------------------------------------------------------- */

static int take(kin__work *work, kin_str key, kin__work_entry **e) {
  if (work->is_shut_down) {
    return KIN_ECLOSED;
  }
  if (key.length == 0) {
    return KIN_EKEY;
  }
  if (key.length > KIN_WORK_KEY_MAX) {
    return KIN_ETOOBIG;
  }
  void *element = NULL;
  int err = kin__key_table_take(&work->table, key, &element);
  *e = element;
  return err;
}

int kin__work_add(kin__work *work, kin_str key, int priority,
                  uint64_t delay_ms) {
  kin__work_entry *e;
  int err = take(work, key, &e);
  if (err == 0) {
    schedule(work, e, (int8_t)priority, delay_ms);
  }
  return err;
}

/* WQ-10 */
int kin__work_add_rate_limited(kin__work *work, kin_str key) {
  kin__work_entry *e;
  int err = take(work, key, &e);
  if (err == 0) {
    uint64_t delay_ms =
        kin_rate_limiter_when_ms(work->limiter, key, work->now_ns);
    work->metrics.retries++;
    schedule(work, e, KIN_WORK_PRIORITY_DEFAULT, delay_ms);
  }
  return err;
}

/* --- Waiting -------------------------------------------------------------- */

static bool has_due(const kin__work *work) {
  const kin__timer *first = work->waiting.root;
  return first != NULL &&
         (work->is_shut_down || first->due_ms <= work->now_ns / NS_PER_MS);
}

/* WQ-09 */
bool kin__work_advance(kin__work *work, uint32_t count) {
  for (; has_due(work); count--) {
    if (count == 0) {
      return true;
    }
    kin__timer *first = work->waiting.root;
    kin__work_entry *e = KIN__CONTAINER_OF(first, kin__work_entry, wait);
    kin__timer_stop(&work->waiting, first);
    work->waiting_count--;
    if (!work->is_shut_down) {
      make_dirty(work, e);
    }
    release(work, e);
  }
  return false;
}

uint64_t kin__work_next_ms(const kin__work *work) {
  return work->is_shut_down && work->waiting.root != NULL
             ? 0
             : kin__timers_next_ms(&work->waiting);
}

/* --- Working -------------------------------------------------------------- */

static uint64_t us_since(const kin__work *work, uint64_t then_ns) {
  return work->now_ns > then_ns ? (work->now_ns - then_ns) / NS_PER_US : 0;
}

/* WQ-02 */
int kin__work_get(kin__work *work, const kin_work_item **item) {
  kin__link *first = kin__ready_first(&work->ready);
  if (first == NULL) {
    return work->is_shut_down ? KIN_ECLOSED : KIN_ENOENT;
  }
  uint32_t record_id;
  int err = kin__slots_take(&work->records, &record_id);
  if (err != 0) {
    return err;
  }
  kin__work_entry *e = KIN__CONTAINER_OF(first, kin__work_entry, link);
  kin__ready_remove(&work->ready, e->priority, &e->link);
  e->is_dirty = false;
  work->metrics.depth--;
  e->head.is_held = true;
  kin__histogram_add(&work->metrics.queue_us, us_since(work, e->added_ns), 1);
  kin__work_record *record = kin__slots_at(&work->records, record_id);
  record->id = record_id;
  record->entry = e;
  record->started_ns = work->now_ns;
  work->started_us += work->now_ns / NS_PER_US;
  kin__link_push(&work->processing, &record->node);
  record->item = (kin_work_item){.size = sizeof record->item,
                                 .queue = work->queue,
                                 .key = key_of(work, e),
                                 .retries = e->retries,
                                 .priority = e->priority};
  *item = &record->item;
  return 0;
}

kin__work_record *kin__work_record_of(const kin_work_item *item) {
  return item->queue != NULL ? KIN__CONTAINER_OF(item, kin__work_record, item)
                             : NULL;
}

/* WQ-03: a key that is dirty goes to the end. */
static void end(kin__work *work, kin__work_record *record) {
  kin__work_entry *e = record->entry;
  work->metrics.done++;
  e->retries = 0;
  kin__histogram_add(&work->metrics.work_us, us_since(work, record->started_ns),
                     1);
  work->started_us -= record->started_ns / NS_PER_US;
  kin__link_remove(&record->node);
  e->head.is_held = false;
  if (e->is_dirty) {
    kin__ready_push(&work->ready, e->priority, &e->link);
  }
}

/* Frees the record, and the entry unless it is in use. */
static void end_record(kin__work *work, const kin__work_record *record) {
  release(work, record->entry);
  kin__slots_give(&work->records, record->id);
}

void kin__work_done(kin__work *work, kin__work_record *record,
                    kin_work_result result) {
  kin_str key = record->item.key;
  end(work, record);
  if (result == KIN_WORK_SUCCESS) {
    kin_rate_limiter_forget(work->limiter, key);
  } else if (result == KIN_WORK_RETRY) {
    work->metrics.failed++;
    uint32_t before = record->item.retries;
    record->entry->retries = before < UINT32_MAX ? before + 1 : before;
    if (!work->is_shut_down) {
      work->metrics.retries++;
      schedule(work, record->entry, (int8_t)record->item.priority,
               kin_rate_limiter_when_ms(work->limiter, key, work->now_ns));
    }
  }
  end_record(work, record);
}

void kin__work_done_after(kin__work *work, kin__work_record *record,
                          uint64_t delay_ms) {
  end(work, record);
  kin_rate_limiter_forget(work->limiter, record->item.key);
  if (!work->is_shut_down) {
    work->metrics.retries++;
    schedule(work, record->entry, (int8_t)record->item.priority, delay_ms);
  }
  end_record(work, record);
}

/* --- Metrics -------------------------------------------------------------- */

/* WQ-13 */
void kin__work_read_metrics(const kin__work *work,
                            kin_work_queue_metrics *metrics) {
  *metrics = work->metrics;
  metrics->waiting = work->waiting_count;
  metrics->processing = work->records.live;
  metrics->keys = kin__key_table_count(&work->table);
  metrics->unfinished_us =
      work->records.live * (work->now_ns / NS_PER_US) - work->started_us;
  if (!kin__link_is_empty(&work->processing)) {
    const kin__work_record *oldest =
        KIN__CONTAINER_OF(work->processing.next, kin__work_record, node);
    metrics->longest_us = us_since(work, oldest->started_ns);
  }
}
