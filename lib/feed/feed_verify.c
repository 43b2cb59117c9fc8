/* SPDX-License-Identifier: MIT */
#include "feed/feed_core.h"

#include <string.h>

/* Finds out whether a feed is up to date, for its owner and after a long
 * silence. listwatch/verify.c has the method. */

/* After a stopped process resumes, its timers are due before the waiting bytes
 * are read. This is the time to read them. */
#define SILENCE_GRACE_MS 100u

/* `needs_answer`: after a question without an answer, a list follows. */
static void verify(kin_feed *feed, const char *target, bool needs_answer) {
  kin__listwatch_input input = {.type = KIN__INPUT_VERIFY,
                                .version = target,
                                .needs_answer = needs_answer};
  kin__feed_step(feed, &input);
}

int kin__feed_verify(kin_feed *feed, const char *target) {
  if (feed->is_closed ||
      kin__listwatch_state_of(&feed->listwatch) == KIN__LISTWATCH_STOPPED) {
    return KIN_ECLOSED;
  }
  if (kin__listwatch_mode_of(&feed->listwatch) == KIN__WATCH_ONLY) {
    return KIN_ENOTSUP;
  }
  if (strlen(target) >= KIN__VERSION_SIZE) {
    return KIN_ETOOBIG;
  }
  if (!kin__listwatch_can_verify(&feed->listwatch)) {
    return KIN_EAGAIN;
  }
  feed->is_verify_asked = true;
  verify(feed, target, false);
  return 0;
}

void kin__feed_take_verdict(kin_feed *feed, const kin__verdict *verdict) {
  bool is_asked = feed->is_verify_asked;
  feed->is_verify_asked = false;
  if (verdict->code == 0 && feed->is_silent) {
    feed->is_silent = false;
    kin__feed_update_state(feed);
  }
  if (is_asked && feed->owner->verified != NULL) {
    feed->owner->verified(feed, verdict->code, verdict->version);
  }
}

void kin__feed_forget(kin_feed *feed) {
  kin__listwatch_input input = {.type = KIN__INPUT_FORGET};
  kin__feed_step(feed, &input);
}

/* --- Silence -------------------------------------------------------------- */

static void start_silence(kin_feed *feed, uint64_t due_ms) {
  kin__timer_start(feed->env->timers, &feed->silence->timer, due_ms);
}

void kin__feed_mind_silence(kin_feed *feed) {
  kin__silence *silence = feed->silence;
  if (silence == NULL) {
    return;
  }
  if (kin__listwatch_state_of(&feed->listwatch) != KIN__LISTWATCH_WATCHING) {
    kin__timer_stop(feed->env->timers, &silence->timer);
    return;
  }
  silence->began_ms = kin__env_now_ms(feed->env);
  silence->is_due = false;
  start_silence(feed, silence->began_ms + silence->stale_after_ms);
}

/* Begin of the silence. The timer is moved only when due, so that a byte costs
 * nothing. A paused watch is not silent. */
static uint64_t silent_since_ms(const kin_feed *feed, uint64_t now_ms) {
  if (!kin__link_is_empty(&feed->paused_node) || feed->is_held) {
    return now_ms;
  }
  bool has_spoken = feed->last_byte_ms != UINT64_MAX &&
                    feed->last_byte_ms > feed->silence->began_ms;
  return has_spoken ? feed->last_byte_ms : feed->silence->began_ms;
}

static void on_silence(kin__timer *timer) {
  kin__silence *silence = KIN__CONTAINER_OF(timer, kin__silence, timer);
  kin_feed *feed = silence->feed;
  uint64_t now_ms = kin__env_now_ms(feed->env);
  uint64_t since_ms = silent_since_ms(feed, now_ms);
  if (!kin__listwatch_can_verify(&feed->listwatch)) {
    since_ms = now_ms; /* the verify under way has its own limits */
  }
  if (now_ms - since_ms < silence->stale_after_ms) {
    silence->is_due = false;
    start_silence(feed, since_ms + silence->stale_after_ms);
    return;
  }
  if (!silence->is_due) {
    silence->is_due = true;
    start_silence(feed, now_ms + SILENCE_GRACE_MS);
    return;
  }
  kin__log_write(feed->env->log, KIN_LOG_WARN,
                 KIN__FEED_PLACE "the watch has said nothing for %llu ms",
                 KIN__FEED_PLACE_ARGS(feed),
                 (unsigned long long)(now_ms - since_ms));
  feed->is_silent = true; /* until the watch is verified, or a list applied */
  verify(feed, "", true);
}

void kin__feed_init_silence(kin_feed *feed) {
  if (feed->silence != NULL) {
    feed->silence->feed = feed;
    kin__timer_init(&feed->silence->timer, on_silence);
  }
}
