/* SPDX-License-Identifier: MIT */
#include "informer/apply.h"

#include "base/alloc.h"
#include "informer/compact.h"
#include "informer/handle_deltas.h"
#include "informer/scope.h"
#include "informer/scopes.h"

#define OBJECTS_PER_STEP 64u
#define OBJECTS_AHEAD 8u
#define SLOTS_PER_STEP 1024u

static kin__sched *sched_of(const kin__scope *scope) {
  return scope->informer->env->sched;
}

/* Value of processed_keys when all keys now in the queue are processed. */
static uint64_t queue_end(const kin_informer *informer) {
  return informer->processed_keys + informer->fifo.depth;
}

static bool is_dropping(const kin__apply *apply) {
  return apply->phase != KIN__APPLY_IDLE && apply->reason != KIN_DELETE_RELIST;
}

static void try_later(kin__scope *scope) {
  kin__scope_failed(scope, KIN_ENOMEM, "applying a list", "");
  kin__informer_try_later(scope->informer);
}

/* Each phase does a slice. It returns whether the task has more to do now. A
 * phase that waits for room, or for the queue, returns false; the process task
 * wakes it. */

/* Packing takes longer than all else. */
static kin__slice begin_pushing(const kin__scope *scope) {
  return scope->informer->compact != NULL
             ? kin__slice_begin(sched_of(scope), OBJECTS_PER_STEP)
             : kin__slice_begin_small(sched_of(scope), OBJECTS_PER_STEP);
}

static int push(kin__scope *scope, kin_object *object) {
  kin_object *packed = kin__compact_late(scope->informer, object);
  int err = kin__scope_put(scope, KIN_DELTA_REPLACED,
                           packed != NULL ? packed : object);
  kin__object_unref(packed);
  return err;
}

static bool push_step(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  if (scope->packing > 0) {
    return false; /* the last batch wakes us */
  }
  kin__slice slice = begin_pushing(scope);
  kin__stage *stage = &scope->feed.stage;
  kin__chunkq_cursor ahead = {0};
  kin__stage_look_ahead(stage, &ahead, OBJECTS_AHEAD);
  while (kin__slice_next(&slice)) {
    kin__stage_look_ahead(stage, &ahead, 1);
    if (kin__stage_is_void(stage)) {
      kin__stage_pop(stage);
      continue;
    }
    kin_object *object = kin__stage_peek(stage);
    if (object == NULL) {
      kin__max_bytes_unstaged(scope);
      scope->apply.phase = KIN__APPLY_SETTLING;
      scope->apply.wait_until = queue_end(informer);
      return true;
    }
    if (informer->fifo.depth >= KIN__QUEUE_LOW) {
      return false;
    }
    if (push(scope, object) != 0) {
      try_later(scope);
      return false;
    }
    if (scope->apply.phase != KIN__APPLY_PUSHING) {
      return false; /* the source ended the scope */
    }
    kin__stage_pop(stage);
  }
  return true;
}

static bool settle_step(kin__scope *scope) {
  if (scope->informer->processed_keys < scope->apply.wait_until) {
    return false;
  }
  kin__apply *apply = &scope->apply;
  const kin_store *store = &scope->informer->store;
  apply->phase = KIN__APPLY_SWEPT;
  if (apply->has_earlier || store->own_writes > 0) {
    apply->phase = KIN__APPLY_SWEEPING;
    apply->cursor = 0;
    apply->sweep_end = kin__slots_limit(&store->slots);
  }
  return true;
}

static bool is_unmentioned(const kin__scope *scope,
                           const kin__store_slot *slot) {
  return slot->object != NULL && slot->generation != scope->generation &&
         kin__scope_owns(scope, slot);
}

static bool sweep_step(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  kin__apply *apply = &scope->apply;
  kin__slice slice = kin__slice_begin_small(sched_of(scope), SLOTS_PER_STEP);
  while (kin__slice_next(&slice)) {
    if (apply->cursor >= apply->sweep_end) {
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
      if (kin__scope_push(scope, KIN_DELTA_DELETED, slot->object, true) != 0) {
        try_later(scope);
        return false;
      }
      if (apply->phase != KIN__APPLY_SWEEPING) {
        return false; /* the source ended the scope */
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

/* The first list of the last scope makes the informer synced (SI-16). Returns
 * KIN__MORE if another call is needed. */
static int tell(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  char *version =
      kin__strdup(informer->env->allocator,
                  kin__listwatch_list_version(&scope->feed.listwatch));
  if (version == NULL) {
    return KIN_ENOMEM;
  }
  kin__free(informer->env->allocator, scope->applied_version);
  scope->applied_version = version;
  if (scope->feed.has_synced || scope->is_late) {
    return kin__dispatcher_relisted(
        &informer->dispatcher, kin__cstr(scope->feed.namespace_),
        kin__cstr(scope->applied_version), kin_store_count(&informer->store));
  }
  if (informer->scopes.synced + 1 < informer->scopes.count) {
    return 0;
  }
  return kin__dispatcher_synced(&informer->dispatcher);
}

static void end(kin__scope *scope) {
  scope->apply.phase = KIN__APPLY_IDLE;
  kin__link_remove(&scope->apply.node);
}

static void end_drop(kin__scope *scope) {
  kin__apply *apply = &scope->apply;
  bool has_list = apply->has_list;
  apply->is_empty = true;
  apply->has_list = false;
  end(scope);
  if (scope->is_removed) {
    kin__scopes_emptied(scope);
  } else if (has_list) {
    kin__apply_start(scope);
  }
}

static bool tell_step(kin__scope *scope) {
  if (kin__list_check_step(scope->list_check)) {
    return true;
  }
  if (scope->apply.phase != KIN__APPLY_TELLING) {
    return false; /* the check called the program's source, which ended the
                   * scope */
  }
  if (is_dropping(&scope->apply)) {
    end_drop(scope);
    return false;
  }
  int err = tell(scope);
  if (err > 0) {
    return true;
  }
  if (err < 0) {
    try_later(scope);
    return false;
  }
  if (!scope->feed.has_synced) {
    scope->feed.has_synced = true;
    scope->informer->scopes.synced++;
  }
  end(scope);
  /* First, because the source may end the scope inside kin__feed_applied. */
  kin__version_waits_wake(scope);
  kin__feed_applied(&scope->feed);
  return false;
}

static bool apply_step(kin__task *task) {
  kin__scope *scope = KIN__CONTAINER_OF(task, kin__scope, apply.task);
  if (kin__stage_free_slice(&scope->feed.stage, sched_of(scope),
                            OBJECTS_PER_STEP)) {
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

void kin__apply_init(kin__apply *apply) {
  *apply = (kin__apply){.is_empty = true};
  kin__task_init(&apply->task, apply_step);
  kin__link_init(&apply->node);
}

/* The sweep deletes slots of an earlier generation. */
static void begin(kin__scope *scope, kin__apply_phase phase,
                  kin_delete_reason reason) {
  kin__apply *apply = &scope->apply;
  scope->generation++;
  apply->phase = phase;
  apply->reason = reason;
  apply->has_earlier = !apply->is_empty;
  apply->wait_until = queue_end(scope->informer);
  kin__link_push(&scope->informer->applying, &apply->node);
  kin__apply_wake(scope);
}

void kin__apply_start(kin__scope *scope) {
  kin__apply *apply = &scope->apply;
  if (apply->phase != KIN__APPLY_IDLE) {
    apply->has_list = true;
    return;
  }
  begin(scope, KIN__APPLY_PUSHING, KIN_DELETE_RELIST);
  apply->is_empty = false;
  kin__scope_check_list(scope);
}

void kin__apply_drop(kin__scope *scope, kin_delete_reason reason) {
  kin__apply_stop(scope);
  bool has_none =
      scope->apply.is_empty && scope->informer->store.own_writes == 0;
  begin(scope, has_none ? KIN__APPLY_TELLING : KIN__APPLY_SETTLING, reason);
}

void kin__apply_give_up(kin__scope *scope) {
  if (is_dropping(&scope->apply)) {
    scope->apply.has_list = false;
  } else {
    kin__apply_stop(scope);
  }
  kin__apply_wake(scope);
}

void kin__apply_wake(kin__scope *scope) {
  kin__sched_add(sched_of(scope), &scope->apply.task);
}

void kin__applies_wake(kin_informer *informer) {
  for (kin__link *node = informer->applying.next; node != &informer->applying;
       node = node->next) {
    kin__apply_wake(KIN__CONTAINER_OF(node, kin__scope, apply.node));
  }
}

void kin__apply_stop(kin__scope *scope) {
  end(scope);
  scope->apply.has_list = false;
  kin__sched_cancel(sched_of(scope), &scope->apply.task);
}
