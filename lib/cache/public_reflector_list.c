/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cache/public_reflector_core.h"
#include "object/key.h"

/* Takes a complete list from the stage to the program's store, in bounded
 * steps. The list is gathered into an array, because the store takes it as one,
 * and is then freed. With a taker, objects are given one by one. If the list
 * came as a watch, void objects are left out (WL-03, WL-04).
 *
 * The time that the store takes is not bounded. Its functions may close the
 * reflector, so code that has called one checks is_closing. */

/* "pods.v1: storing a list: out of memory". */
static void make_failure(const kin_reflector *reflector, kin__failure *failure,
                         int code, const char *doing) {
  char what[320];
  snprintf(what, sizeof what, "%s: %s", reflector->name, doing);
  kin__failure_from_code(failure, code, what, "");
}

/* --- Resync --------------------------------------------------------------- */

static void arm_resync(kin_reflector *reflector) {
  if (reflector->options.resync_ms > 0) {
    kin__timer_start(reflector->env->timers, &reflector->resync_timer,
                     kin__env_now_ms(reflector->env) +
                         reflector->options.resync_ms);
  }
}

static bool should_resync(kin_reflector *reflector) {
  const kin_reflector_options *options = &reflector->options;
  if (reflector->store.resync == NULL) {
    return false;
  }
  return options->should_resync == NULL ||
         (options->should_resync(reflector, options->data) &&
          !reflector->member.is_closing);
}

/* A failed resync does not change the position: the watch continues. */
void kin__public_reflector_on_resync(kin__timer *timer) {
  kin_reflector *reflector =
      KIN__CONTAINER_OF(timer, kin_reflector, resync_timer);
  if (!kin__listwatch_is_between_lists(&reflector->feed.listwatch)) {
    return; /* RF-11; the next list arms the timer */
  }
  arm_resync(reflector);
  if (!should_resync(reflector)) {
    return;
  }
  int err = reflector->store.resync(reflector->store.ctx);
  if (err != 0 && !reflector->member.is_closing) {
    kin__failure failure;
    make_failure(reflector, &failure, err < 0 ? err : KIN_EINVAL,
                 "resyncing the store");
    kin__feed_notice_failure(&reflector->feed, &failure,
                             reflector->options.resync_ms);
  }
}

/* --- Lists ---------------------------------------------------------------- */

static void try_later(kin_reflector *reflector) {
  const kin__env *env = reflector->env;
  kin__failure failure;
  make_failure(reflector, &failure, KIN_ENOMEM, "storing a list");
  kin__feed_notice_failure(&reflector->feed, &failure, KIN__MEMORY_RETRY_MS);
  kin__timer_start(env->timers, &reflector->apply_timer,
                   kin__env_now_ms(env) + KIN__MEMORY_RETRY_MS);
}

static kin__slice begin_slice(const kin_reflector *reflector) {
  return kin__slice_begin(reflector->env->sched, KIN__LIST_STEP);
}

static bool gather_step(kin_reflector *reflector) {
  kin__stage *stage = &reflector->feed.stage;
  size_t count = kin__stage_count(stage);
  if (reflector->objects == NULL && count > 0) {
    reflector->objects = kin__calloc(reflector->env->allocator, count,
                                     sizeof *reflector->objects);
    if (reflector->objects == NULL) {
      try_later(reflector);
      return false;
    }
  }
  kin__slice slice = begin_slice(reflector);
  while (kin__slice_next(&slice)) {
    if (kin__stage_is_void(stage)) {
      kin__stage_pop(stage);
      continue;
    }
    kin_object *object = kin__stage_peek(stage);
    if (object == NULL) {
      reflector->phase = KIN__LIST_REPLACING;
      break;
    }
    reflector->objects[reflector->count++] = kin__object_ref(object);
    kin__stage_pop(stage);
  }
  return true;
}

static void report_skipped(kin_reflector *reflector, const kin_object *object,
                           int code) {
  const kin__object_parts parts = {.namespace_ = kin_object_namespace(object),
                                   .name = kin_object_name(object),
                                   .uid = kin_object_uid(object),
                                   .version =
                                       kin_object_resource_version(object)};
  (void)kin__feed_bad_object(&reflector->feed, code, &parts);
}

/* A key that cannot be taken apart again: the object is skipped, as one without
 * a name is. */
static bool is_skipped(kin_reflector *reflector, const kin_object *object) {
  bool is_bad = kin__object_check_key(object) != 0;
  if (is_bad) {
    report_skipped(reflector, object, KIN_EKEY);
  }
  return is_bad;
}

/* Drops the objects that made the store refuse the list. Returns false if there
 * are none, or no others: a list without a usable object is not an empty one. */
static bool skip_some(kin_reflector *reflector) {
  size_t kept = 0;
  for (size_t i = 0; i < reflector->count; i++) {
    kin_object *object = reflector->objects[i];
    if (is_skipped(reflector, object)) {
      kin__object_unref(object);
    } else {
      reflector->objects[kept++] = object;
    }
  }
  bool can_go_on = kept > 0 && kept < reflector->count;
  reflector->count = kept;
  return can_go_on;
}

/* Handles a result of the taker: continues with `next`, tries again later, or
 * gives the list up. */
static bool take_result(kin_reflector *reflector, int err,
                        kin__list_phase next) {
  if (err == KIN_ENOMEM && !reflector->member.is_closing) {
    try_later(reflector);
    return false;
  }
  if (err == KIN_EAGAIN) {
    return true;
  }
  if (err != 0) {
    reflector->taker->give_up(reflector->taker->ctx);
  }
  reflector->result = err;
  reflector->phase = err == 0 ? next : KIN__LIST_DROPPING;
  return true;
}

static int give(kin_reflector *reflector, const kin_object *object) {
  const kin__list_taker *taker = reflector->taker;
  if (is_skipped(reflector, object)) {
    reflector->has_bad = true;
    return 0;
  }
  int err = taker->add(taker->ctx, object);
  if (err == KIN_ENOMEM) {
    return err;
  }
  reflector->has_usable = true;
  if (err != 0) {
    report_skipped(reflector, object, err);
  }
  return 0;
}

static int end_taking(kin_reflector *reflector) {
  const kin__list_taker *taker = reflector->taker;
  return reflector->has_bad && !reflector->has_usable ? KIN_EKEY
                                                      : taker->end(taker->ctx);
}

/* KIN__LIST_GATHERING and KIN__LIST_REPLACING for a taker. */
static bool hand_over_step(kin_reflector *reflector) {
  const kin__list_taker *taker = reflector->taker;
  kin__stage *stage = &reflector->feed.stage;
  int err = 0;
  if (!reflector->has_begun) {
    err = taker->begin(
        taker->ctx, kin__stage_count(stage),
        kin__cstr(kin__listwatch_list_version(&reflector->feed.listwatch)));
    reflector->has_begun = err == 0;
  }
  kin__slice slice = begin_slice(reflector);
  while (err == 0 && kin__slice_next(&slice)) {
    if (kin__stage_is_void(stage)) {
      kin__stage_pop(stage);
      continue;
    }
    kin_object *object = kin__stage_peek(stage);
    if (object == NULL) {
      return take_result(reflector, end_taking(reflector), KIN__LIST_DROPPING);
    }
    err = give(reflector, object);
    if (err == 0) {
      kin__stage_pop(stage);
    }
  }
  return take_result(reflector, err, KIN__LIST_GATHERING);
}

static bool replace_step(kin_reflector *reflector) {
  const kin_reflector_store *store = &reflector->store;
  const kin_object *const *objects =
      (const kin_object *const *)reflector->objects;
  int err = store->replace(
      store->ctx, objects, reflector->count,
      kin__cstr(kin__listwatch_list_version(&reflector->feed.listwatch)));
  if (reflector->member.is_closing) {
    return true;
  }
  if (err == KIN_ENOMEM) {
    try_later(reflector);
    return false;
  }
  if (err == KIN_EKEY && skip_some(reflector)) {
    return true;
  }
  reflector->result = err <= 0 ? err : KIN_EINVAL;
  reflector->phase = KIN__LIST_DROPPING;
  return true;
}

/* Returns whether there is more to drop. */
bool kin__public_reflector_drop_some(kin_reflector *reflector) {
  kin__slice slice = begin_slice(reflector);
  while (reflector->count > 0 && kin__slice_next(&slice)) {
    kin__object_unref(reflector->objects[--reflector->count]);
  }
  if (reflector->count > 0) {
    return true;
  }
  kin__free(reflector->env->allocator, reflector->objects);
  reflector->objects = NULL;
  return false;
}

static void tell_result(kin_reflector *reflector) {
  if (reflector->result != 0) {
    kin__failure failure;
    make_failure(reflector, &failure, reflector->result, "storing a list");
    kin__feed_apply_failed(&reflector->feed, &failure);
    return;
  }
  reflector->feed.has_synced = true;
  arm_resync(reflector);
  kin__feed_applied(&reflector->feed);
}

static bool drop_step(kin_reflector *reflector) {
  if (kin__public_reflector_drop_some(reflector)) {
    return true;
  }
  reflector->phase = KIN__LIST_IDLE;
  if (kin__listwatch_state_of(&reflector->feed.listwatch) ==
      KIN__LISTWATCH_APPLYING) {
    tell_result(reflector);
  }
  return false;
}

void kin__public_reflector_on_retry(kin__timer *timer) {
  kin__public_reflector_wake(
      KIN__CONTAINER_OF(timer, kin_reflector, apply_timer));
}

/* QF-16: a list waits for room before it begins, as a watch does. Otherwise the
 * lists that follow expired watches would pile up in a queue that is not
 * emptied. */
static bool has_to_wait(const kin_reflector *reflector) {
  const kin_reflector_store *store = &reflector->store;
  return !reflector->has_begun && reflector->objects == NULL &&
         store->is_full != NULL && store->is_full(store->ctx);
}

bool kin__public_reflector_list_step(kin_reflector *reflector) {
  switch (reflector->phase) {
  case KIN__LIST_GATHERING:
    reflector->is_waiting = has_to_wait(reflector);
    if (reflector->is_waiting || reflector->member.is_closing) {
      return reflector->member.is_closing;
    }
    return reflector->taker != NULL ? hand_over_step(reflector)
                                    : gather_step(reflector);
  case KIN__LIST_REPLACING:
    return replace_step(reflector);
  case KIN__LIST_DROPPING:
    return drop_step(reflector);
  case KIN__LIST_IDLE:
    break;
  }
  return false;
}
