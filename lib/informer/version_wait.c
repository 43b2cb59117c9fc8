/* SPDX-License-Identifier: MIT */
#include "informer/version_wait_core.h"

#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "informer/scopes.h"
#include "listwatch/version.h"

#define MAX_WAITS 4096u
/* Each of these is compared with every version that the watch reaches. */
#define MAX_ODD 64u

/* --- From one list to the next -------------------------------------------- */

static void leave(kin__version_wait *wait) {
  kin__link_remove(&wait->node);
  kin__timer_stop(&wait->scope->waits->by_version, &wait->place);
  if (!kin__link_is_empty(&wait->odd_node)) {
    kin__link_remove(&wait->odd_node);
    wait->informer->version_waits->odd_count--;
  }
}

static void end(kin__version_wait *wait, int code) {
  kin__version_waits *waits = wait->informer->version_waits;
  leave(wait);
  wait->code = code;
  if (wait->is_question && code != 0) {
    wait->version[0] = '\0'; /* it was found but not stored yet */
  }
  kin__link_push(&waits->ended, &wait->node);
  kin__sched_add(wait->informer->env->sched, &waits->task);
}

static void on_timeout(kin__timer *timer) {
  kin__version_wait *wait =
      KIN__CONTAINER_OF(timer, kin__version_wait, timeout);
  if (wait->code == KIN__WAIT_PENDING) {
    end(wait, KIN_ETIMEDOUT);
  }
}

void kin__version_wait_settle(kin__version_wait *wait) {
  kin_informer *informer = wait->informer;
  kin__scope_waits *waits = wait->scope->waits;
  leave(wait);
  wait->settled_at = informer->processed_keys + informer->fifo.depth;
  kin__link_push(&waits->settling, &wait->node);
  kin__link_remove(&waits->settling_node);
  kin__link_push(&informer->version_waits->settling, &waits->settling_node);
}

static void on_place(kin__timer *place) {
  kin__version_wait_settle(KIN__CONTAINER_OF(place, kin__version_wait, place));
}

/* --- The scope's position ------------------------------------------------- */

const char *kin__version_waits_position(const kin__scope *scope) {
  const char *version = kin__listwatch_version(&scope->feed.listwatch);
  const kin__scope_waits *waits = scope->waits;
  if (kin__listwatch_versions_repeat(&scope->feed.listwatch) ||
      scope->feed.is_relisting || version[0] == '\0') {
    return "";
  }
  bool is_verified = waits != NULL && waits->verified[0] != '\0' &&
                     waits->lists == scope->feed.counters.lists;
  return is_verified && kin__version_is_before(version, waits->verified)
             ? waits->verified
             : version;
}

static bool is_number(const char *version) {
  uint64_t number;
  return kin__str_to_u64(kin__cstr(version), &number);
}

/* A version that is no number comes before all numbers, a too large number
 * after all. */
static uint64_t number_of(const char *version) {
  uint64_t number = 0;
  if (!kin__str_to_u64(kin__cstr(version), &number) &&
      kin__version_is_before("0", version)) {
    return UINT64_MAX;
  }
  return number;
}

static void reach_odd(kin__scope *scope, const char *position) {
  kin__link *odd = &scope->waits->odd;
  for (kin__link *node = odd->next, *next; node != odd; node = next) {
    kin__version_wait *wait =
        KIN__CONTAINER_OF(node, kin__version_wait, odd_node);
    next = node->next;
    if (kin__version_reaches(position, wait->version)) {
      kin__version_wait_settle(wait);
    }
  }
}

static bool reach(kin__scope *scope) {
  const char *position = kin__version_waits_position(scope);
  if (position[0] == '\0') {
    return false;
  }
  reach_odd(scope, position);
  return kin__timers_run(
      &scope->waits->by_version, number_of(position),
      kin__sched_pieces(scope->informer->env->sched, KIN__WAITS_PER_STEP));
}

/* A next version may come before the task runs, and a version without an order
 * must not be missed. */
void kin__version_waits_advanced(kin_feed *feed, kin_str version) {
  (void)version;
  kin__scope *scope = kin__scope_of(feed);
  if (scope->waits != NULL && scope->waits->wants_steps) {
    reach_odd(scope, kin__version_waits_position(scope));
    kin__version_waits_wake(scope);
  }
}

/* --- The queue ------------------------------------------------------------ */

static kin__version_wait *first_settled(const kin__scope *scope) {
  kin__version_wait *wait = kin__version_wait_first(&scope->waits->settling);
  return wait != NULL && wait->settled_at <= scope->informer->processed_keys
             ? wait
             : NULL;
}

static bool end_settled(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  kin__version_wait *wait = first_settled(scope);
  kin__slice slice = kin__version_waits_slice(scope);
  while (wait != NULL && kin__slice_next(&slice)) {
    end(wait, 0);
    wait = first_settled(scope);
  }
  if (kin__link_is_empty(&waits->settling)) {
    kin__link_remove(&waits->settling_node);
  }
  return wait != NULL;
}

void kin__version_waits_processed(kin_informer *informer) {
  if (informer->version_waits == NULL) {
    return;
  }
  kin__link *settling = &informer->version_waits->settling;
  for (kin__link *node = settling->next; node != settling; node = node->next) {
    kin__scope *scope =
        KIN__CONTAINER_OF(node, kin__scope_waits, settling_node)->scope;
    if (first_settled(scope) != NULL) {
      kin__version_waits_wake(scope);
    }
  }
}

static void end_all(kin__link *list, int code) {
  for (kin__version_wait *wait;
       (wait = kin__version_wait_first(list)) != NULL;) {
    wait->place.is_active = false;
    end(wait, code);
  }
}

/* All waits in by_version end, so the heap need not stay in order. */
void kin__version_waits_end_unsettled(kin__scope *scope, int code) {
  kin__scope_waits *waits = scope->waits;
  kin__timers_init(&waits->by_version);
  end_all(&waits->fresh, code);
  end_all(&waits->asked, code);
  end_all(&waits->questions, code);
  end_all(&waits->open_questions, code);
}

/* --- The scope's task ----------------------------------------------------- */

static bool scope_step(kin__task *task) {
  kin__scope_waits *waits = KIN__CONTAINER_OF(task, kin__scope_waits, task);
  kin__scope *scope = waits->scope;
  bool has_more = reach(scope);
  has_more |= kin__version_waits_judge(scope);
  has_more |= end_settled(scope);
  if (has_more) {
    return true;
  }
  if (kin__listwatch_state_of(&scope->feed.listwatch) ==
      KIN__LISTWATCH_STOPPED) {
    kin__version_waits_end_unsettled(scope, KIN_ECLOSED);
  }
  kin__version_waits_ask(scope);
  waits->wants_steps =
      !kin__link_is_empty(&waits->fresh) || !kin__link_is_empty(&waits->asked);
  return false;
}

void kin__version_waits_wake(kin__scope *scope) {
  if (scope->waits != NULL && scope->informer->version_waits->count > 0) {
    kin__sched_add(scope->informer->env->sched, &scope->waits->task);
  }
}

static void on_timer(kin__timer *timer) {
  kin__version_waits_wake(
      KIN__CONTAINER_OF(timer, kin__scope_waits, timer)->scope);
}

/* --- Life ----------------------------------------------------------------- */

/* Errors: KIN_ENOMEM. */
static int have_waits(kin__scope *scope) {
  int err = kin__version_waits_have(scope->informer);
  if (err != 0 || scope->waits != NULL) {
    return err;
  }
  kin__scope_waits *waits =
      kin__calloc(scope->informer->env->allocator, 1, sizeof *waits);
  if (waits == NULL) {
    return KIN_ENOMEM;
  }
  waits->scope = scope;
  waits->retry_after_ms = KIN__WAIT_PATIENCE_MS;
  kin__link_init(&waits->fresh);
  kin__link_init(&waits->asked);
  kin__timers_init(&waits->by_version);
  kin__link_init(&waits->odd);
  kin__link_init(&waits->questions);
  kin__link_init(&waits->open_questions);
  kin__link_init(&waits->settling);
  kin__link_init(&waits->settling_node);
  kin__task_init(&waits->task, scope_step);
  kin__timer_init(&waits->timer, on_timer);
  scope->waits = waits;
  return 0;
}

void kin__version_waits_end(kin__scope *scope) {
  const kin__env *env = scope->informer->env;
  kin__scope_waits *waits = scope->waits;
  if (waits == NULL) {
    return;
  }
  kin__version_waits_end_unsettled(scope, KIN_ECLOSED);
  end_all(&waits->settling, KIN_ECLOSED);
  kin__link_remove(&waits->settling_node);
  waits->wants_steps = false;
  waits->asking = KIN__ASKING_NOTHING;
  kin__sched_cancel(env->sched, &waits->task);
  kin__timer_stop(env->timers, &waits->timer);
}

static int find_scope(const kin_informer *informer, const char *namespace_,
                      kin__scope **out) {
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  *out = kin__scopes_find(&informer->scopes, namespace_);
  return *out != NULL ? 0 : KIN_ENOENT;
}

static int begin(kin__scope *scope, uint64_t timeout_ms, kin_version_cb cb,
                 void *data, kin__version_wait **out) {
  kin_informer *informer = scope->informer;
  const kin__env *env = informer->env;
  int err = have_waits(scope);
  if (err == 0 && informer->version_waits->count >= MAX_WAITS) {
    return KIN_EAGAIN;
  }
  kin__version_wait *wait =
      err == 0 ? kin__calloc(env->allocator, 1, sizeof *wait) : NULL;
  if (wait == NULL) {
    return KIN_ENOMEM;
  }
  informer->version_waits->count++;
  kin__link_init(&wait->node);
  kin__link_init(&wait->odd_node);
  kin__timer_init(&wait->place, on_place);
  kin__timer_init(&wait->timeout, on_timeout);
  wait->informer = informer;
  wait->scope = scope;
  wait->cb = cb;
  wait->data = data;
  wait->began_ms = kin__env_now_ms(env);
  wait->code = KIN__WAIT_PENDING;
  if (timeout_ms > 0) {
    kin__timer_start(env->timers, &wait->timeout,
                     kin__deadline_ms(wait->began_ms, timeout_ms));
  }
  kin__version_waits_wake(scope);
  *out = wait;
  return 0;
}

/* For a version that is not reached yet. */
static void queue_by_version(kin__version_wait *wait) {
  kin__scope_waits *waits = wait->scope->waits;
  uint64_t number;
  kin__link_push(&waits->fresh, &wait->node);
  if (kin__str_to_u64(kin__cstr(wait->version), &number)) {
    kin__timer_start(&waits->by_version, &wait->place, number);
  } else {
    wait->informer->version_waits->odd_count++;
    kin__link_push(&waits->odd, &wait->odd_node);
  }
  waits->wants_steps = true;
}

int kin_informer_wait_version(kin_informer *informer, const char *namespace_,
                              const char *version, uint64_t timeout_ms,
                              kin_version_cb cb, void *data) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  size_t length = version != NULL ? strlen(version) : 0;
  if (cb == NULL || length == 0 || length >= KIN__VERSION_SIZE) {
    return KIN_EINVAL;
  }
  kin__scope *scope;
  int err = find_scope(informer, namespace_, &scope);
  if (err != 0) {
    return err;
  }
  const char *position = kin__version_waits_position(scope);
  bool is_reached =
      position[0] != '\0' && kin__version_reaches(position, version);
  const kin__version_waits *waits = informer->version_waits;
  if (!is_reached && waits != NULL && waits->odd_count >= MAX_ODD &&
      !is_number(version)) {
    return KIN_EAGAIN;
  }
  kin__version_wait *wait;
  err = begin(scope, timeout_ms, cb, data, &wait);
  if (err != 0) {
    return err;
  }
  memcpy(wait->version, version, length + 1);
  if (is_reached) {
    kin__version_wait_settle(wait);
  } else {
    queue_by_version(wait);
  }
  return 0;
}

int kin_informer_verify(kin_informer *informer, const char *namespace_,
                        uint64_t timeout_ms, kin_version_cb cb, void *data) {
  if (informer == NULL || cb == NULL) {
    return KIN_EINVAL;
  }
  kin__scope *scope;
  kin__version_wait *wait;
  int err = find_scope(informer, namespace_, &scope);
  if (err == 0) {
    err = begin(scope, timeout_ms, cb, data, &wait);
  }
  if (err == 0) {
    kin__version_wait_question(wait);
  }
  return err;
}
