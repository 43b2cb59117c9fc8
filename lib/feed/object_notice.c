/* SPDX-License-Identifier: MIT */
#include "feed/object_notice.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/str.h"
#include "feed/feed.h"

/* Limit of one string in a message. */
#define MAX_SHOWN 253

/* --- News ----------------------------------------------------------------- */

static bool tell_step(kin__task *task);
static void on_timer(kin__timer *timer);

/* The feed's notice, made with the first object; NULL without memory. */
static kin__object_notice *have_notice(kin_feed *feed) {
  if (feed->object_notice == NULL) {
    kin__object_notice *notice =
        kin__calloc(feed->env->allocator, 1, sizeof *notice);
    if (notice != NULL) {
      notice->feed = feed;
      kin__task_init(&notice->task, tell_step);
      kin__timer_init(&notice->timer, on_timer);
      feed->object_notice = notice;
    }
  }
  return feed->object_notice;
}

/* Returns 1 if the state is to be reported now, and remembers it; else 0. Errors:
 * KIN_ENOMEM (the first object, and no memory for the notice). */
static int take_news(kin_feed *feed, const kin__object_parts *state) {
  kin__object_notice *notice = have_notice(feed);
  if (notice == NULL) {
    return KIN_ENOMEM;
  }
  if (kin__told_states_has(&notice->told, state)) {
    return 0;
  }
  kin__told_states_add(&notice->told, feed->env, state);
  return 1;
}

/* --- Telling -------------------------------------------------------------- */

static void tell(kin__object_notice *notice) {
  kin_feed *feed = notice->feed;
  kin__joint_failure told;
  char what[256];
  kin__feed_describe(feed, what, sizeof what);
  kin__noted_failures_take(&notice->untold, feed->env->allocator, what, ";",
                           &told);
  kin__log_write(feed->env->log, KIN_LOG_WARN, "%s", told.message);
  kin__feed_tell(feed, told.first.code, told.first.error_class, told.message);
}

static bool tell_step(kin__task *task) {
  kin__object_notice *notice =
      KIN__CONTAINER_OF(task, kin__object_notice, task);
  const kin_feed *feed = notice->feed;
  uint64_t now_ms = kin__env_now_ms(feed->env);
  if (now_ms < notice->next_ms) {
    kin__timer_start(feed->env->timers, &notice->timer, notice->next_ms);
  } else {
    notice->next_ms = now_ms + KIN__OBJECT_NOTICE_MS;
    tell(notice);
  }
  return false;
}

void kin__feed_forget_states(kin_feed *feed) {
  if (!kin__listwatch_versions_repeat(&feed->listwatch)) {
    return;
  }
  if (feed->object_notice != NULL) {
    kin__told_states_clear(&feed->object_notice->told, feed->env);
  }
  if (feed->owner->repeats != NULL) {
    feed->owner->repeats(feed);
  }
}

bool kin__object_notice_is_due(const kin_feed *feed) {
  return feed->object_notice != NULL && feed->object_notice->untold.count > 0;
}

void kin__object_notice_flush(kin_feed *feed) {
  kin__object_notice *notice = feed->object_notice;
  if (kin__object_notice_is_due(feed)) {
    kin__sched_cancel(feed->env->sched, &notice->task);
    kin__timer_stop(feed->env->timers, &notice->timer);
    tell(notice);
  }
}

static void on_timer(kin__timer *timer) {
  kin__object_notice *notice =
      KIN__CONTAINER_OF(timer, kin__object_notice, timer);
  kin__sched_add(notice->feed->env->sched, &notice->task);
}

int kin__feed_note_object(kin_feed *feed, kin__failure *failure) {
  kin__object_notice *notice = have_notice(feed);
  if (notice == NULL) {
    return KIN_ENOMEM;
  }
  kin__put_on_one_line(failure->message);
  kin__log_write(feed->env->log, KIN_LOG_DEBUG, "%s", failure->message);
  if (kin__noted_failures_add(&notice->untold, feed->env->allocator, failure)) {
    kin__sched_add(feed->env->sched, &notice->task);
  }
  return 0;
}

/* --- Kinds of notices ----------------------------------------------------- */

/* "ns/name", as far as known, cut. */
static void show_key(char *to, size_t size, const kin__object_parts *parts) {
  kin_str namespace_ = kin__str_cut(parts->namespace_, MAX_SHOWN);
  kin_str name = kin__str_cut(parts->name, MAX_SHOWN);
  snprintf(to, size, "%.*s%s%.*s", (int)namespace_.length,
           namespace_.length > 0 ? namespace_.data : "",
           namespace_.length > 0 ? "/" : "", (int)name.length,
           name.length > 0 ? name.data : "");
}

int kin__feed_oversized(kin_feed *feed, const kin__object_parts *parts,
                        const kin__decode_limits *limits) {
  int news = take_news(feed, parts);
  if (news <= 0) {
    return news;
  }
  feed->counters.oversized++;
  bool is_long = parts->received > limits->max_object_bytes;
  kin__failure failure = {.code = is_long ? KIN_ETOOBIG : KIN_EDEPTH,
                          .error_class = KIN_CLASS_DECODE,
                          .retry_after_s = -1};
  char what[256];
  char key[2 * MAX_SHOWN + 2];
  kin__feed_describe(feed, what, sizeof what);
  show_key(key, sizeof key, parts);
  if (is_long) {
    snprintf(failure.message, sizeof failure.message,
             "%.64s: only the key is kept of %s, which has %" PRIu32
             " bytes; the limit is %" PRIu32,
             what, key, parts->received, limits->max_object_bytes);
  } else {
    snprintf(failure.message, sizeof failure.message,
             "%.64s: only the key is kept of %s, which is nested more than "
             "%" PRIu32 " levels deep",
             what, key, limits->max_depth);
  }
  return kin__feed_note_object(feed, &failure);
}

int kin__feed_bad_object(kin_feed *feed, int code,
                         const kin__object_parts *identity) {
  if (kin__listwatch_mode_of(&feed->listwatch) == KIN__WATCH_ONLY) {
    return code;
  }
  int news = take_news(feed, identity);
  if (news <= 0) {
    return news;
  }
  feed->counters.bad_objects++;
  kin__failure failure = {
      .code = code, .error_class = KIN_CLASS_DECODE, .retry_after_s = -1};
  char what[256];
  char key[2 * MAX_SHOWN + 2];
  kin__feed_describe(feed, what, sizeof what);
  show_key(key, sizeof key, identity);
  kin_str uid = kin__str_cut(identity->uid, 64);
  snprintf(failure.message, sizeof failure.message,
           "%.64s: skipped an object, key \"%s\", uid \"%.*s\": %s", what, key,
           (int)uid.length, uid.length > 0 ? uid.data : "", kin_strerror(code));
  return kin__feed_note_object(feed, &failure);
}

/* --- Life ----------------------------------------------------------------- */

void kin__object_notice_stop(kin_feed *feed) {
  kin__object_notice *notice = feed->object_notice;
  if (notice != NULL) {
    kin__sched_cancel(feed->env->sched, &notice->task);
    kin__timer_stop(feed->env->timers, &notice->timer);
    kin__noted_failures_drop(&notice->untold, feed->env->allocator);
  }
}

void kin__object_notice_finish(kin_feed *feed) {
  if (feed->object_notice != NULL) {
    kin__told_states_clear(&feed->object_notice->told, feed->env);
    kin__free(feed->env->allocator, feed->object_notice);
    feed->object_notice = NULL;
  }
}
