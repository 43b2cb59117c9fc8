/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <kin/error.h>
#include <kin/object.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "dispatch/listener.h"
#include "informer/informer.h"
#include "workqueue/work_queue.h"

/* A queue follows an informer with a listener. If a key cannot be added now,
 * the event's objects are kept, and the listener pauses until all keys of the
 * event have been added: each once, in the order of the key function, which
 * gives the same keys each time.
 *
 * A follow that finds the queue full waits in line. The queue's task wakes the
 * first ones when there is room. A follow leaves the line when its event is
 * done, and goes to the end of the line when some of its keys were added. A
 * listener's new event may take the room first; the follows in line keep their
 * places.
 *
 * Invariants: `object` is NULL iff nothing is kept; while it is not, the
 * listener is paused, and the follow is in line, or its timer or task runs.
 * `informer` and `listener` are NULL once the informer is gone. */

#define WARNING_PERIOD_MS 60000u

typedef struct kin__follow {
  kin__link node; /* in queue->follows */
  kin__link turn; /* in queue->line iff the follow waits for room */
  kin_work_queue *queue;
  kin_work_follow_options options;
  kin_informer *informer;
  kin_listener *listener;
  kin__gone_watch watch;
  kin__task task;
  kin__timer timer;
  kin_object *object; /* the event that waits */
  kin_object *old_object;
  int32_t priority;
  size_t added; /* keys of the event in hand */
} kin__follow;

struct kin_work_keys {
  kin__follow *follow;
  const kin_object *object;
  int32_t priority;
  size_t emitted;
  int err; /* a later try may not have it; all later keys wait for that try */
};

/* --- Keys ----------------------------------------------------------------- */

/* A key function may be wrong for each change of each object, so a line a
 * minute tells of all. */
static void warn(const kin_work_keys *keys, kin_str key) {
  kin_work_queue *queue = keys->follow->queue;
  uint64_t now_ms = kin__env_now_ms(queue->env);
  if (now_ms < queue->warning_due_ms) {
    return;
  }
  uint64_t refused = queue->work.metrics.refused;
  kin__log_write(queue->env->log, KIN_LOG_WARN,
                 "work queue %s: unusable keys of key functions: %" PRIu64
                 "; the last one has %zu bytes, of object " KIN_STR_FORMAT,
                 queue->name, refused - queue->refused_told, key.length,
                 KIN_STR_ARG(kin_object_key(keys->object)));
  queue->refused_told = refused;
  queue->warning_due_ms = kin__deadline_ms(now_ms, WARNING_PERIOD_MS);
}

int kin_work_emit(kin_work_keys *keys, kin_str key) {
  if (keys == NULL) {
    return KIN_EINVAL;
  }
  kin__follow *follow = keys->follow;
  kin_work_queue *queue = follow->queue;
  if (keys->err != 0) {
    return KIN_ENOMEM;
  }
  if (keys->emitted++ < follow->added) {
    return 0;
  }
  key = kin__str_given(key);
  if (key.length == 0 || key.length > KIN_WORK_KEY_MAX) {
    int err = key.length == 0 ? KIN_EKEY : KIN_ETOOBIG;
    queue->work.metrics.refused++;
    warn(keys, key);
    follow->added = keys->emitted;
    return err;
  }
  int err = kin_work_queue_add_with_priority(queue, key, keys->priority, 0);
  if (err == KIN_ENOMEM || err == KIN_ETOOBIG) {
    keys->err = err;
    return KIN_ENOMEM;
  }
  follow->added = keys->emitted;
  return 0; /* after a shutdown nothing is added, as documented */
}

static void emit_all(kin_work_keys *keys, const kin_object *object) {
  const kin_work_follow_options *o = &keys->follow->options;
  keys->object = object;
  if (o->keys != NULL) {
    o->keys(object, keys, o->data);
  } else {
    (void)kin_work_emit(keys, kin_object_key(object));
  }
}

/* Returns 0 if all keys have been added, KIN_ETOOBIG, or KIN_ENOMEM. */
static int add_keys(kin__follow *follow, const kin_object *object,
                    const kin_object *old_object, int32_t priority) {
  kin_work_keys keys = {.follow = follow, .priority = priority};
  if (old_object != NULL && old_object != object &&
      follow->options.keys != NULL) {
    emit_all(&keys, old_object);
  }
  emit_all(&keys, object);
  if (keys.err == 0) {
    follow->added = 0; /* of the next event */
  }
  return keys.err;
}

/* --- Events --------------------------------------------------------------- */

/* The follow waits at the end of the line, or for memory. */
static void retry_later(kin__follow *follow, int err) {
  const kin__env *env = follow->queue->env;
  kin__link_remove(&follow->turn);
  if (err == KIN_ETOOBIG) {
    kin__link_push(&follow->queue->line, &follow->turn);
  } else {
    kin__timer_start(
        env->timers, &follow->timer,
        kin__deadline_ms(kin__env_now_ms(env), KIN__MEMORY_RETRY_MS));
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  kin__follow *follow = data;
  (void)informer;
  int32_t priority = event->is_initial || event->is_resync
                         ? follow->options.initial_priority
                         : follow->options.priority;
  int err = add_keys(follow, event->object, event->old_object, priority);
  if (err != 0) {
    follow->object = kin__object_ref(event->object);
    follow->old_object = kin__object_ref(event->old_object);
    follow->priority = priority;
    kin_listener_pause(follow->listener);
    retry_later(follow, err);
  }
}

static void drop_event(kin__follow *follow) {
  kin__object_unref(follow->object);
  kin__object_unref(follow->old_object);
  follow->object = follow->old_object = NULL;
}

static void free_follow(kin__follow *follow) {
  kin__timer_stop(follow->queue->env->timers, &follow->timer);
  kin__sched_cancel(follow->queue->env->sched, &follow->task);
  drop_event(follow);
  kin__link_remove(&follow->node);
  kin__link_remove(&follow->turn);
  follow->queue->follow_count--;
  kin__free(&follow->queue->allocator, follow);
}

/* The event that waits is tried again; without an informer the follow ends
 * after it. The queue's task then wakes others that may use the room. */
static bool step(kin__task *task) {
  kin__follow *follow = KIN__CONTAINER_OF(task, kin__follow, task);
  kin__work_queue_wake(follow->queue);
  if (follow->object != NULL) {
    size_t added = follow->added;
    int err =
        add_keys(follow, follow->object, follow->old_object, follow->priority);
    bool keeps_turn = err == KIN_ETOOBIG && follow->added == added &&
                      !kin__link_is_empty(&follow->turn);
    if (err != 0 && !keeps_turn) {
      retry_later(follow, err);
    }
    if (err != 0) {
      return false;
    }
    kin__link_remove(&follow->turn);
    drop_event(follow);
    kin_listener_resume(follow->listener);
  }
  if (follow->informer == NULL) {
    free_follow(follow);
  }
  return false;
}

static void on_timer(kin__timer *timer) {
  kin__follow *follow = KIN__CONTAINER_OF(timer, kin__follow, timer);
  kin__sched_add(follow->queue->env->sched, &follow->task);
}

static void on_informer_gone(kin__gone_watch *watch) {
  kin__follow *follow = KIN__CONTAINER_OF(watch, kin__follow, watch);
  follow->informer = NULL;
  follow->listener = NULL;
  kin__sched_add(follow->queue->env->sched, &follow->task);
}

void kin__work_follows_wake(kin_work_queue *queue) {
  uint32_t room = kin__work_room(&queue->work);
  for (kin__link *turn = queue->line.next; turn != &queue->line && room > 0;
       turn = turn->next) {
    kin__follow *follow = KIN__CONTAINER_OF(turn, kin__follow, turn);
    kin__sched_add(queue->env->sched, &follow->task);
    room--;
  }
}

/* --- Close ---------------------------------------------------------------- */

void kin__work_follows_close(kin_work_queue *queue) {
  for (kin__link *node = queue->follows.next; node != &queue->follows;
       node = node->next) {
    kin__follow *follow = KIN__CONTAINER_OF(node, kin__follow, node);
    kin__timer_stop(queue->env->timers, &follow->timer);
    kin__sched_cancel(queue->env->sched, &follow->task);
    kin__link_remove(&follow->watch.node);
    kin_listener_close(follow->listener);
    follow->listener = NULL;
  }
}

void kin__work_follows_free(kin_work_queue *queue) {
  while (!kin__link_is_empty(&queue->follows)) {
    free_follow(KIN__CONTAINER_OF(queue->follows.next, kin__follow, node));
  }
}

/* --- Open ----------------------------------------------------------------- */

static int check(const kin_work_queue *queue, const kin_informer *informer) {
  if (kin_work_queue_is_shut_down(queue) || informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  return queue->follow_count < KIN__WORK_MAX_FOLLOWS ? 0 : KIN_ETOOBIG;
}

static bool is_priority(int32_t priority) {
  return priority >= KIN_WORK_PRIORITY_MIN && priority <= KIN_WORK_PRIORITY_MAX;
}

static int take_options(kin_work_follow_options *o,
                        const kin_work_follow_options *options,
                        const kin__log *log) {
  static const kin_work_follow_options defaults = KIN_WORK_FOLLOW_OPTIONS_INIT;
  int err = kin__options_take(
      o, sizeof *o, options != NULL ? options : &defaults,
      KIN__FIRST_SIZE(kin_work_follow_options), "kin_work_follow_options", log);
  if (err != 0) {
    return err;
  }
  if (!is_priority(o->priority) || !is_priority(o->initial_priority)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "priority, initial_priority: are -128 to 127");
  }
  if (o->priority == 0 && o->initial_priority == 0) {
    o->initial_priority = KIN_WORK_PRIORITY_LOW;
  }
  return 0;
}

static bool on_filter(const kin_object *object, void *data) {
  const kin_work_follow_options *o = &((const kin__follow *)data)->options;
  return o->filter(object, o->data);
}

/* The worker may have seen an object whose add waits, because it looks into the
 * store. So it is told of the delete, too. */
static int add_listener(kin__follow *follow) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_event;
  options.on_update = on_event;
  options.on_delete = on_event;
  options.filter = follow->options.filter != NULL ? on_filter : NULL;
  options.data = follow;
  options.relist_updates = follow->options.relist_updates;
  options.resync_ms = follow->options.resync_ms;
  options.exact_limit = follow->options.exact ? KIN_NEVER : 0;
  options.name = follow->queue->name;
  int err = kin_informer_listen(follow->informer, &options, &follow->listener);
  if (err == 0) {
    follow->listener->queue.max_gone = KIN__LISTENER_MAX_GONE;
  }
  return err;
}

int kin_work_queue_follow(kin_work_queue *queue, kin_informer *informer,
                          const kin_work_follow_options *options) {
  if (queue == NULL || informer == NULL || queue->env == NULL) {
    return KIN_EINVAL;
  }
  kin__log_no_problem(queue->env->log);
  kin_work_follow_options o;
  int err = take_options(&o, options, queue->env->log);
  if (err == 0) {
    err = check(queue, informer);
  }
  if (err != 0) {
    return err;
  }
  kin__follow *follow = kin__calloc(&queue->allocator, 1, sizeof *follow);
  if (follow == NULL) {
    return KIN_ENOMEM;
  }
  follow->queue = queue;
  follow->options = o;
  follow->informer = informer;
  err = add_listener(follow);
  if (err != 0) {
    kin__free(&queue->allocator, follow);
    return err;
  }
  kin__link_init(&follow->turn);
  kin__task_init(&follow->task, step);
  kin__timer_init(&follow->timer, on_timer);
  follow->watch.gone = on_informer_gone;
  kin__link_push(&informer->gone_watches, &follow->watch.node);
  kin__link_push(&queue->follows, &follow->node);
  queue->follow_count++;
  return 0;
}
