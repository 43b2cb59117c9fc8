/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "informer/version_wait_core.h"

/* The waits of an informer: those that have ended, until their callbacks. */

#define CALLS_PER_STEP 8u

static void tell(kin__version_wait *wait) {
  kin__version_wait last = *wait;
  kin_informer *informer = last.informer;
  const kin__env *env = informer->env;
  kin__link_remove(&wait->node);
  kin__timer_stop(env->timers, &wait->timeout);
  kin__free(env->allocator, wait);
  informer->version_waits->count--;
  uint64_t began_ns = kin__clock_ns(&env->clock);
  last.cb(informer, last.code, last.version, last.data);
  kin__env_add_handler_time(env, began_ns);
}

bool kin__version_waits_tell(kin_informer *informer) {
  kin__version_waits *waits = informer->version_waits;
  if (waits == NULL) {
    return false;
  }
  kin__slice slice = kin__slice_begin(informer->env->sched, CALLS_PER_STEP);
  while (kin__slice_next(&slice)) {
    kin__version_wait *wait = kin__version_wait_first(&waits->ended);
    if (wait == NULL) {
      return false;
    }
    tell(wait);
  }
  return !kin__link_is_empty(&waits->ended);
}

static bool tell_step(kin__task *task) {
  return kin__version_waits_tell(
      KIN__CONTAINER_OF(task, kin__version_waits, task)->informer);
}

int kin__version_waits_have(kin_informer *informer) {
  if (informer->version_waits != NULL) {
    return 0;
  }
  kin__version_waits *waits =
      kin__calloc(informer->env->allocator, 1, sizeof *waits);
  if (waits == NULL) {
    return KIN_ENOMEM;
  }
  waits->informer = informer;
  kin__link_init(&waits->settling);
  kin__link_init(&waits->ended);
  kin__task_init(&waits->task, tell_step);
  informer->version_waits = waits;
  return 0;
}

void kin__version_waits_close(kin_informer *informer) {
  if (informer->version_waits != NULL) {
    kin__sched_cancel(informer->env->sched, &informer->version_waits->task);
  }
}
