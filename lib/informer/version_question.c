/* SPDX-License-Identifier: MIT */
#include "informer/version_wait_core.h"

#include <stdio.h>
#include <string.h>

#include "listwatch/version.h"

/* A scope's questions to its feed: "is the store up to date?" */

#define LONGEST_PAUSE_MS 60000u

static uint64_t now_of(const kin__scope *scope) {
  return kin__env_now_ms(scope->informer->env);
}

static uint64_t at_least(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t at_most(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

void kin__version_wait_question(kin__version_wait *wait) {
  kin__scope_waits *waits = wait->scope->waits;
  wait->is_question = true;
  waits->retry_after_ms = KIN__WAIT_PATIENCE_MS;
  waits->not_before_ms =
      at_most(waits->not_before_ms, wait->began_ms + KIN__WAIT_PATIENCE_MS);
  kin__link_push(&waits->questions, &wait->node);
}

/* Time of the next question to the feed; UINT64_MAX: none. */
static uint64_t due_ms(const kin__scope_waits *waits) {
  uint64_t due = UINT64_MAX;
  if (!kin__link_is_empty(&waits->questions)) {
    due = 0;
  }
  if (!kin__link_is_empty(&waits->fresh)) {
    due = at_most(due, kin__version_wait_first(&waits->fresh)->began_ms +
                           KIN__WAIT_PATIENCE_MS);
  }
  if (!kin__link_is_empty(&waits->asked)) {
    due = at_most(due, waits->again_ms);
  }
  return at_least(due, waits->not_before_ms);
}

/* A wait is asked about like a question: "what is the newest version?" So a
 * wait for a version that does not exist cannot make the feed lose its
 * position. */
static void ask_feed(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  waits->asking = KIN__ASKING_FEED;
  waits->wants_watch = false;
  if (kin__feed_verify(&scope->feed, "") != 0) {
    waits->asking = KIN__ASKING_NOTHING;
    waits->not_before_ms = now_of(scope) + KIN__WAIT_PATIENCE_MS;
    waits->wants_watch = true;
    return;
  }
  if (kin__link_is_empty(&waits->asked)) {
    waits->again_after_ms = KIN__WAIT_PATIENCE_MS;
  }
  kin__link_splice(&waits->asked, &waits->fresh);
  kin__link_splice(&waits->open_questions, &waits->questions);
}

void kin__version_waits_ask(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  kin__timers *timers = scope->informer->env->timers;
  kin__timer_stop(timers, &waits->timer);
  /* The first list wakes the task. */
  if (waits->asking != KIN__ASKING_NOTHING || !scope->feed.has_synced) {
    return;
  }
  if (due_ms(waits) <= now_of(scope)) {
    ask_feed(scope);
  }
  uint64_t due = due_ms(waits);
  if (waits->asking == KIN__ASKING_NOTHING && due != UINT64_MAX) {
    kin__timer_start(timers, &waits->timer, due);
  }
}

/* A question ends the watch, so mere waits give a new watch time first. */
void kin__version_waits_opened(kin_feed *feed) {
  kin__scope *scope = kin__scope_of(feed);
  kin__scope_waits *waits = scope->waits;
  if (waits != NULL && waits->wants_watch) {
    bool is_asked = !kin__link_is_empty(&waits->questions);
    waits->wants_watch = false;
    waits->not_before_ms =
        now_of(scope) + (is_asked ? 0 : KIN__WAIT_PATIENCE_MS);
    kin__version_waits_wake(scope);
  }
}

void kin__version_waits_verified(kin_feed *feed, int code,
                                 const char *version) {
  kin__scope *scope = kin__scope_of(feed);
  kin__scope_waits *waits = scope->waits;
  waits->asking = KIN__ASKING_TOLD;
  waits->verdict = code;
  waits->lists = feed->counters.lists;
  snprintf(waits->newest, sizeof waits->newest, "%s", version);
  snprintf(waits->verified, sizeof waits->verified, "%s",
           code == 0 ? version : "");
  kin__version_waits_wake(scope);
}

static void asking_is_over(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  waits->asking = KIN__ASKING_NOTHING;
  waits->again_after_ms = at_most(2 * waits->again_after_ms, LONGEST_PAUSE_MS);
  waits->again_ms = now_of(scope) + waits->again_after_ms;
}

static void ask_again_later(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  kin__link_splice(&waits->questions, &waits->open_questions);
  waits->not_before_ms = now_of(scope) + waits->retry_after_ms;
  waits->retry_after_ms = at_most(2 * waits->retry_after_ms, LONGEST_PAUSE_MS);
  asking_is_over(scope);
}

static bool answer(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  kin__slice slice = kin__version_waits_slice(scope);
  while (kin__slice_next(&slice)) {
    kin__version_wait *wait = kin__version_wait_first(&waits->open_questions);
    if (wait == NULL) {
      waits->retry_after_ms = KIN__WAIT_PATIENCE_MS;
      asking_is_over(scope);
      return false;
    }
    memcpy(wait->version, waits->newest, sizeof wait->version);
    kin__version_wait_settle(wait);
  }
  return true;
}

/* Whether a list after the verdict reaches the verdict's version. A list from a
 * watch cache may not. */
static bool judge_list(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  const char *position = kin__version_waits_position(scope);
  if (scope->feed.counters.lists == waits->lists || scope->feed.is_relisting) {
    return false;
  }
  if (waits->newest[0] == '\0' ||
      kin__version_is_before(position, waits->newest)) {
    ask_again_later(scope);
    return false;
  }
  waits->asking = KIN__ASKING_TOLD;
  waits->verdict = 0;
  snprintf(waits->newest, sizeof waits->newest, "%s", position);
  return true;
}

bool kin__version_waits_judge(kin__scope *scope) {
  kin__scope_waits *waits = scope->waits;
  if (waits->asking == KIN__ASKING_LIST) {
    return judge_list(scope);
  }
  if (waits->asking != KIN__ASKING_TOLD) {
    return false;
  }
  switch (waits->verdict) {
  case 0:
    if (!scope->feed.is_relisting) {
      return answer(scope);
    }
    waits->asking = KIN__ASKING_LIST;
    return true;
  case KIN_EGONE:
    waits->asking = KIN__ASKING_LIST;
    return true;
  case KIN_ENOTSUP:
    kin__version_waits_end_unsettled(scope, KIN_ENOTSUP);
    asking_is_over(scope);
    return false;
  default:
    ask_again_later(scope);
    return false;
  }
}
