/* SPDX-License-Identifier: MIT */
#include "informer/apply.h"

#include "informer/process.h"
#include "informer/scope.h"

#define OBJECTS_PER_STEP 64u
#define SLOTS_PER_STEP 1024u

static kin__sched *sched_of(const kin__scope *scope) {
  return scope->informer->env->sched;
}

/* Everything that is in the queue now has been processed when this many keys
 * have. */
static uint64_t queue_end(const kin_informer *informer) {
  return informer->processed_keys + informer->fifo.depth;
}

static void try_later(kin__scope *scope) {
  const kin__env *env = scope->informer->env;
  kin__failure failure;
  kin__failure_from_code(&failure, KIN_ENOMEM, "applying a list", "");
  kin__feed_notice_failure(&scope->feed, &failure, KIN__MEMORY_RETRY_MS);
  kin__timer_start(env->timers, &scope->apply.timer,
                   kin__env_now_ms(env) + KIN__MEMORY_RETRY_MS);
}

/* Each phase does a slice and returns whether the task has more to do now. One
 * that waits for room, or for the queue, returns false: the process task wakes
 * it. */

static bool push_step(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  for (unsigned i = 0; i < OBJECTS_PER_STEP; i++) {
    kin_object *object = kin__stage_peek(&scope->feed.stage);
    if (object == NULL) {
      scope->apply.phase = KIN__APPLY_SETTLING;
      scope->apply.wait_until = queue_end(informer);
      return true;
    }
    if (informer->fifo.depth >= KIN__QUEUE_LOW) {
      return false;
    }
    bool is_deleted =
        kin__stage_type(&scope->feed.stage) == KIN__DECODED_DELETED;
    kin__delta_type type =
        is_deleted ? KIN__DELTA_DELETED : KIN__DELTA_REPLACED;
    if (kin__scope_push(scope, type, object, false) != 0) {
      try_later(scope);
      return false;
    }
    kin__stage_pop(&scope->feed.stage);
  }
  return true;
}

static bool settle_step(kin__scope *scope) {
  if (scope->informer->processed_keys < scope->apply.wait_until) {
    return false;
  }
  scope->apply.phase = KIN__APPLY_SWEEPING;
  scope->apply.cursor = 0;
  return true;
}

static bool is_unmentioned(const kin__scope *scope,
                           const kin__store_slot *slot) {
  return slot->object != NULL && slot->scope == scope->index &&
         slot->generation != scope->generation;
}

static bool sweep_step(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  kin__apply *apply = &scope->apply;
  for (unsigned i = 0; i < SLOTS_PER_STEP; i++) {
    if (apply->cursor >= kin__slots_limit(&informer->store.slots)) {
      apply->phase = KIN__APPLY_SWEPT;
      apply->wait_until = queue_end(informer);
      return true;
    }
    const kin__store_slot *slot =
        kin__store_at(&informer->store, apply->cursor);
    if (is_unmentioned(scope, slot)) {
      if (informer->fifo.depth >= KIN__QUEUE_LOW) {
        return false;
      }
      if (kin__scope_push(scope, KIN__DELTA_DELETED, slot->object, true) != 0) {
        try_later(scope);
        return false;
      }
    }
    apply->cursor++;
  }
  return true;
}

static bool swept_step(kin__scope *scope) {
  if (scope->informer->processed_keys < scope->apply.wait_until) {
    return false;
  }
  scope->apply.phase = KIN__APPLY_TELLING;
  return true;
}

/* The first list of the last scope makes the informer synced (SI-16). */
static int tell(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  if (scope->feed.has_synced) {
    return kin__dispatcher_relisted(
        &informer->dispatcher, kin__cstr(scope->feed.namespace_),
        kin__cstr(scope->feed.reflector.found_version),
        kin_store_count(&informer->store));
  }
  if (informer->synced_scopes + 1 < informer->scope_count) {
    return 0;
  }
  return kin__dispatcher_synced(&informer->dispatcher);
}

static bool tell_step(kin__scope *scope) {
  if (tell(scope) != 0) {
    try_later(scope);
    return false;
  }
  if (!scope->feed.has_synced) {
    scope->feed.has_synced = true;
    scope->informer->synced_scopes++;
  }
  scope->apply.phase = KIN__APPLY_IDLE;
  kin__list_remove(&scope->apply.node);
  kin__feed_applied(&scope->feed);
  return false;
}

static bool apply_step(kin__task *task) {
  kin__scope *scope = KIN__CONTAINER_OF(task, kin__scope, apply.task);
  if (kin__stage_free_step(&scope->feed.stage, OBJECTS_PER_STEP)) {
    return true;
  }
  switch (scope->apply.phase) {
  case KIN__APPLY_PUSHING:
    return push_step(scope);
  case KIN__APPLY_SETTLING:
    return settle_step(scope);
  case KIN__APPLY_SWEEPING:
    return sweep_step(scope);
  case KIN__APPLY_SWEPT:
    return swept_step(scope);
  case KIN__APPLY_TELLING:
    return tell_step(scope);
  case KIN__APPLY_IDLE:
    break;
  }
  return false;
}

static void on_timer(kin__timer *timer) {
  kin__apply_wake(KIN__CONTAINER_OF(timer, kin__scope, apply.timer));
}

void kin__apply_init(kin__apply *apply) {
  *apply = (kin__apply){0};
  kin__task_init(&apply->task, apply_step);
  kin__timer_init(&apply->timer, on_timer);
  kin__list_init(&apply->node);
}

void kin__apply_start(kin__scope *scope) {
  scope->generation++;
  scope->apply.phase = KIN__APPLY_PUSHING;
  kin__list_push(&scope->informer->applying, &scope->apply.node);
  kin__apply_wake(scope);
}

void kin__apply_wake(kin__scope *scope) {
  kin__sched_add(sched_of(scope), &scope->apply.task);
}

void kin__apply_stop(kin__scope *scope) {
  scope->apply.phase = KIN__APPLY_IDLE;
  kin__list_remove(&scope->apply.node);
  kin__sched_cancel(sched_of(scope), &scope->apply.task);
  kin__timer_stop(scope->informer->env->timers, &scope->apply.timer);
}
