/* SPDX-License-Identifier: MIT */
#include "feed/feed_core.h"

#include <inttypes.h>
#include <stdio.h>

/* A feed's log messages and its reports of failures. */

#define SLOW_LIST_MS 10000u /* CN-03 */
/* Longer waits for a turn are logged: as debug, and as info. */
#define QUIET_WAIT_MS 50u
#define LOUD_WAIT_MS 1000u
/* An API server fills its pages; only the last one may be empty. */
#define MAX_EMPTY_PAGES 10000u

static void describe(const kin_feed *feed, kin__request_kind kind, char *buffer,
                     size_t size) {
  const kin__resource *resource = feed->resource;
  bool has_namespace = feed->namespace_[0] != '\0';
  snprintf(buffer, size, "%s of %s%s%s%s%s",
           kin__is_watch(kind) ? "watch" : "list", resource->plural,
           resource->group[0] != '\0' ? "." : "", resource->group,
           has_namespace ? " in " : "", has_namespace ? feed->namespace_ : "");
}

void kin__feed_describe(const kin_feed *feed, char *buffer, size_t size) {
  describe(feed, feed->request, buffer, size);
}

void kin__feed_failure_of(const kin_feed *feed, kin__request_kind kind,
                          int code, kin__failure *failure) {
  char what[256];
  describe(feed, kind, what, sizeof what);
  kin__failure_from_code(failure, code, what, "");
}

static kin_log_level level_of(const kin_feed *feed,
                              const kin__failure *failure) {
  bool is_same = failure->error_class == feed->last_error_class &&
                 failure->status == feed->last_error_status;
  return is_same ? kin__log_level_of_failure(
                       kin__listwatch_failures(&feed->listwatch))
                 : KIN_LOG_WARN;
}

static void report(kin_feed *feed, const kin__failure *failure,
                   uint64_t retry_in_ms) {
  kin_log_level level = level_of(feed, failure);
  feed->last_error_class = failure->error_class;
  feed->last_error_status = failure->status;
  kin__feed_notice_failure(feed, failure, retry_in_ms);
  kin__log_write(feed->env->log, level,
                 KIN__FEED_PLACE "%s%s%s; next attempt in %llu ms",
                 KIN__FEED_PLACE_ARGS(feed), failure->reason,
                 failure->reason[0] != '\0' ? ": " : "", failure->message,
                 (unsigned long long)retry_in_ms);
}

/* `why` is the text; NULL: that of the code. */
static void give_up(kin_feed *feed, int code, const char *key,
                    const char *why) {
  if (code == KIN_ECLOSED) {
    return; /* the answer is over; the open one is another */
  }
  kin__failure failure;
  char what[256];
  kin__feed_describe(feed, what, sizeof what);
  kin__failure_from_code(&failure, code, what, key);
  if (why != NULL) {
    snprintf(failure.message, sizeof failure.message, "%s: %s", what, why);
  }
  kin__feed_break(feed, KIN__INPUT_FAILED, &failure);
}

void kin__feed_give_up(kin_feed *feed, int code, const char *key) {
  give_up(feed, code, key, NULL);
}

void kin__feed_refuse(kin_feed *feed, int code, const char *why) {
  give_up(feed, code, "", why);
}

void kin__feed_tell(kin_feed *feed, int code, kin_error_class error_class,
                    const char *message) {
  if (feed->owner->failed == NULL) {
    return;
  }
  kin_error_event event = {.size = sizeof event,
                           .code = code,
                           .error_class = error_class,
                           .reason = "",
                           .message = message,
                           .namespace_ = feed->namespace_,
                           .attempt = 1,
                           .answer = KIN_RETRY};
  uint64_t start_ns = kin__clock_ns(&feed->env->clock);
  feed->owner->failed(feed, &event);
  kin__env_add_handler_time(feed->env, start_ns);
  if (!feed->is_closed && event.answer == KIN_STOP) {
    kin__feed_answer(feed, KIN_STOP, 0);
  }
}

void kin__feed_report_action(kin_feed *feed,
                             const kin__listwatch_actions *actions,
                             const kin__failure *failure) {
  if (actions->report == KIN__REPORT_FAILURE) {
    report(feed, failure, actions->retry_in_ms);
    return;
  }
  kin__failure lost = {
      .code = KIN_EGONE, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
  snprintf(lost.message, sizeof lost.message,
           actions->report == KIN__REPORT_WENT_BACK
               ? "the newest version is %s, which is before the last one seen"
               : "watch has not come to version %s",
           actions->verdict.version);
  report(feed, &lost, actions->retry_in_ms);
}

/* WL-09. */
void kin__feed_report_silence(const kin_feed *feed,
                              const kin__listwatch_actions *actions) {
  static const char *const what[] = {
      [KIN__STREAM_SILENT] = "no events received for",
      [KIN__STREAM_FELL_SILENT] = "received last event",
      [KIN__STREAM_ENDLESS] =
          "its end has not come, and the last new object came"};
  kin__log_write(feed->env->log, KIN_LOG_WARN,
                 KIN__FEED_PLACE "list as a watch: %s %" PRIu64
                                 " ms%s; listing instead",
                 KIN__FEED_PLACE_ARGS(feed), what[actions->gave_up_stream],
                 actions->silent_ms,
                 actions->gave_up_stream != KIN__STREAM_SILENT ? " ago" : "");
}

/* --- Turns ---------------------------------------------------------------- */

void kin__feed_report_turn(kin_feed *feed, uint64_t waited_ms) {
  kin__feed_count(feed, KIN__FEED_LIST_WAIT_US, waited_ms * 1000);
  if (waited_ms > QUIET_WAIT_MS) {
    kin__log_write(feed->env->log,
                   waited_ms > LOUD_WAIT_MS ? KIN_LOG_INFO : KIN_LOG_DEBUG,
                   KIN__FEED_PLACE "waited %" PRIu64
                                   " ms for its turn to list (max_lists)",
                   KIN__FEED_PLACE_ARGS(feed), waited_ms);
  }
}

static void log_incomplete(const kin_feed *feed, uint64_t after_ms,
                           const char *which, const char *then) {
  kin__log_write(feed->env->log, KIN_LOG_WARN,
                 KIN__FEED_PLACE "a list is not complete after %" PRIu64
                                 " ms%s, %zu objects so far%s",
                 KIN__FEED_PLACE_ARGS(feed), after_ms, which,
                 kin__stage_count(&feed->stage), then);
}

void kin__feed_report_overdue(kin_feed *feed) {
  feed->counters.overdue_lists++;
  log_incomplete(feed, feed->env->lists->turn_ms, " (list_turn_ms)",
                 "; others no longer wait for it");
}

void kin__feed_report_late(kin_feed *feed, uint64_t after_ms) {
  if (!feed->is_told_late) {
    feed->is_told_late = true;
    log_incomplete(feed, after_ms, "", "");
  }
}

/* --- Slow lists ----------------------------------------------------------- */

void kin__feed_list_wanted(kin_feed *feed) {
  uint64_t now_ms = kin__env_now_ms(feed->env);
  feed->listing->times =
      (kin__list_times){.wanted_ms = now_ms, .asked_ms = now_ms};
}

void kin__feed_list_asked(kin_feed *feed) {
  if (feed->listing != NULL) {
    feed->listing->times.asked_ms = kin__env_now_ms(feed->env);
  }
}

const char *kin__feed_list_page(kin_feed *feed, const char *token) {
  kin__list_times *list = &feed->listing->times;
  bool is_empty = feed->metrics.request_items == 0;
  feed->metrics.request_items = 0;
  list->pages++;
  list->empty_pages = is_empty ? list->empty_pages + 1 : 0;
  if (kin__listwatch_has_token(&feed->listwatch, token)) {
    return "a page ended with its own token";
  }
  return list->empty_pages > MAX_EMPTY_PAGES && token[0] != '\0'
             ? "10,000 pages in a row have no objects"
             : NULL;
}

void kin__feed_list_complete(kin_feed *feed) {
  kin__list_times *list = &feed->listing->times;
  list->complete_ms = kin__env_now_ms(feed->env);
  list->objects = kin__stage_count(&feed->stage);
  list->is_stream = kin__is_watch(feed->request);
}

void kin__feed_list_applied(kin_feed *feed) {
  const kin__list_times *list = &feed->listing->times;
  uint64_t now_ms = kin__env_now_ms(feed->env);
  bool has_more = kin__listwatch_is_later_page(
      &feed->listwatch); /* a list-only feed, before
                                                     * its last page */
  if (has_more || now_ms - list->wanted_ms <= SLOW_LIST_MS) {
    return;
  }
  feed->counters.slow_lists++;
  char how[32] = "streamed";
  if (!list->is_stream) {
    snprintf(how, sizeof how, "in %" PRIu32 " pages", list->pages);
  }
  kin__log_write(
      feed->env->log, KIN_LOG_WARN,
      KIN__FEED_PLACE
      "a list took %" PRIu64 " ms: %" PRIu64 " until its turn, %" PRIu64
      " for %zu objects %s, %" PRIu64 " until they were applied",
      KIN__FEED_PLACE_ARGS(feed), now_ms - list->wanted_ms,
      list->asked_ms - list->wanted_ms, list->complete_ms - list->asked_ms,
      list->objects, how, now_ms - list->complete_ms);
}
