/* SPDX-License-Identifier: MIT */
#include <kin/watch.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/chunkq.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/str.h"
#include "feed/feed.h"
#include "feed/feed_options.h"
#include "feed/http_source.h"
#include "feed/settings.h"
#include "toolkit/watch.h"

/* A feed that only watches, a queue, and a task that shows the queue's events.
 * The feed's listwatch decides when to watch again and what ends the watcher.
 *
 * Events are queued because they may come inside a call of the program's
 * source, and callbacks must come from the loop. So the feed's position is the
 * last received event; the last shown one is kept besides. Pausing the feed
 * bounds the queue.
 *
 * The reason of the end is kept in place, so that it can be told without
 * memory. It comes after all queued events.
 *
 * Invariants: while not closing, the task is scheduled iff there is something
 * to show. While closing, the task empties the queue, and then ends the
 * member. */

#define QUEUE_HIGH 256u /* reading stops */
#define QUEUE_LOW 64u   /* reading continues */
#define MAX_TIMEOUT_S 86400u
#define EVENTS_PER_STEP 64u
#define DROPS_PER_STEP 256u

typedef struct waiting {
  kin_watch_event_type type;
  kin_object *object;              /* one reference; NULL for a bookmark */
  char version[KIN__VERSION_SIZE]; /* for a bookmark */
} waiting;

struct kin_retry_watcher {
  kin__member member;
  kin_retry_watcher_options options; /* its pointers to strings are not used */
  kin__settings settings;
  kin__http_source http;
  kin_feed feed;
  kin__link paused; /* holds the feed iff the feed must not read */

  kin__chunkq events; /* of struct waiting */
  kin__task task;
  char version[KIN__VERSION_SIZE]; /* of the last shown event */

  bool is_paused;
  bool has_ended;
  bool is_error_due; /* the end has an ERROR event that is still to be shown */
  bool is_end_due;
  kin__failure end; /* code 0: a regular end */
};

static kin_retry_watcher *watcher_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin_retry_watcher, feed);
}

/* --- Input ---------------------------------------------------------------- */

static bool has_work(const kin_retry_watcher *watcher) {
  return !watcher->is_paused &&
         (watcher->events.count > 0 || watcher->is_end_due);
}

static void wake(kin_retry_watcher *watcher) {
  if (!watcher->member.is_closing && has_work(watcher)) {
    kin__sched_add(watcher->member.env->sched, &watcher->task);
  }
}

/* TW-04: a watch cannot resume after an object without a version, or after "0",
 * where the server would begin with the current objects. */
static bool is_position(kin_str version) {
  return version.length > 0 && version.length < KIN__VERSION_SIZE &&
         !kin__str_equal(version, KIN__LIT("0"));
}

/* The end of a request ends the feed's pause. So each watch asks anew. */
static void pause_if_full(kin_feed *feed) {
  kin_retry_watcher *watcher = watcher_of(feed);
  if (watcher->events.count >= QUEUE_HIGH) {
    kin__feed_pause(feed, &watcher->paused);
  }
}

static int put(kin_retry_watcher *watcher, const waiting *event) {
  waiting *place = kin__chunkq_push(&watcher->events);
  if (place == NULL) {
    return KIN_ENOMEM;
  }
  *place = *event;
  kin__object_ref(event->object);
  pause_if_full(&watcher->feed);
  wake(watcher);
  return 0;
}

static int on_event(kin_feed *feed, kin__decoded_type type,
                    kin_object *object) {
  static const kin_watch_event_type types[] = {
      [KIN__DECODED_ADDED] = KIN_WATCH_ADDED,
      [KIN__DECODED_MODIFIED] = KIN_WATCH_MODIFIED,
      [KIN__DECODED_DELETED] = KIN_WATCH_DELETED};
  if (!is_position(kin_object_resource_version(object))) {
    return KIN_EUNEXPECTED;
  }
  waiting event = {.type = types[type], .object = object};
  return put(watcher_of(feed), &event);
}

static int on_bookmark(kin_feed *feed, kin_str version) {
  if (!is_position(version)) {
    return KIN_EUNEXPECTED;
  }
  waiting event = {.type = KIN_WATCH_BOOKMARK};
  memcpy(event.version, version.data, version.length);
  return put(watcher_of(feed), &event);
}

/* --- Failures and the end ------------------------------------------------- */

static void end(kin_retry_watcher *watcher, const kin__failure *failure,
                bool has_error_event) {
  watcher->has_ended = true;
  watcher->is_end_due = true;
  watcher->is_error_due = has_error_event;
  if (failure != NULL) {
    watcher->end = *failure;
    kin__log_write(watcher->member.env->log, KIN_LOG_WARN,
                   KIN__FEED_PLACE "%s%s%s; it is over",
                   KIN__FEED_PLACE_ARGS(&watcher->feed), failure->reason,
                   failure->reason[0] != '\0' ? ": " : "", failure->message);
  }
  wake(watcher);
}

/* A watch that was not granted had no events. KIN_EINVAL is then about the
 * request (there is no kubeconfig, or `modify` failed). */
static void on_ended(kin_feed *feed, const kin__failure *failure) {
  kin_retry_watcher *watcher = watcher_of(feed);
  bool is_misplaced =
      failure != NULL && feed->is_granted && kin__failure_is_misplaced(failure);
  if (!is_misplaced) {
    end(watcher, failure, failure != NULL);
    return;
  }
  kin__failure internal = *failure;
  internal.status = 500;
  snprintf(internal.reason, sizeof internal.reason, "InternalError");
  end(watcher, &internal, true);
}

/* A task of its own calls this, so it may come late: KIN_STOP counts also after
 * a regular end that is not told yet. */
static void on_failed(kin_feed *feed, kin_error_event *event) {
  kin_retry_watcher *watcher = watcher_of(feed);
  bool is_over = watcher->has_ended && !watcher->is_end_due;
  if (watcher->options.on_error == NULL || is_over) {
    return;
  }
  watcher->options.on_error(event, watcher->options.data);
  bool is_stopped = event->answer == KIN_STOP && !watcher->member.is_closing;
  if (is_stopped && watcher->end.code == 0) {
    kin__failure failure = {.code = event->code};
    snprintf(failure.message, sizeof failure.message, "on_error stopped it");
    end(watcher, &failure, false);
  }
}

static const kin__feed_owner owner = {.event = on_event,
                                      .bookmark = on_bookmark,
                                      .ended = on_ended,
                                      .failed = on_failed,
                                      .opened = pause_if_full};

/* --- Events for the program ----------------------------------------------- */

static void show(kin_retry_watcher *watcher, const kin_watch_event *event) {
  uint64_t start_ns = kin__clock_ns(&watcher->member.env->clock);
  watcher->options.on_event(event, watcher->options.data);
  kin__env_add_handler_time(watcher->member.env, start_ns);
}

static void show_error(kin_retry_watcher *watcher) {
  const kin__failure *end = &watcher->end;
  kin_watch_event event = {.size = sizeof event,
                           .type = KIN_WATCH_ERROR,
                           .resource_version = kin__cstr(""),
                           .code = end->code,
                           .error_class = end->error_class,
                           .status = end->status,
                           .reason = end->reason,
                           .message = end->message};
  watcher->is_error_due = false;
  show(watcher, &event);
}

static void show_end(kin_retry_watcher *watcher) {
  kin__object_notice_flush(&watcher->feed);
  if (watcher->member.is_closing || watcher->is_paused) {
    return; /* by the report */
  }
  watcher->is_end_due = false;
  if (watcher->options.on_end != NULL) {
    uint64_t start_ns = kin__clock_ns(&watcher->member.env->clock);
    watcher->options.on_end(watcher->end.code, watcher->options.data);
    kin__env_add_handler_time(watcher->member.env, start_ns);
  }
}

static void show_next(kin_retry_watcher *watcher) {
  waiting next = *(waiting *)kin__chunkq_peek(&watcher->events);
  kin__chunkq_pop(&watcher->events);
  bool is_bookmark = next.type == KIN_WATCH_BOOKMARK;
  kin_str version = is_bookmark ? kin__cstr(next.version)
                                : kin_object_resource_version(next.object);
  memcpy(watcher->version, version.data, version.length);
  watcher->version[version.length] = '\0';
  kin_watch_event event = {.size = sizeof event,
                           .type = next.type,
                           .object = next.object,
                           .resource_version = version,
                           .reason = "",
                           .message = ""};
  if (!is_bookmark || watcher->options.forward_bookmarks) {
    show(watcher, &event);
  }
  kin__object_unref(next.object);
}

/* Returns whether the queue still has events. After the last one the deferred
 * call follows. */
static bool drop_step(kin_retry_watcher *watcher) {
  kin__slice slice =
      kin__slice_begin(watcher->member.env->sched, DROPS_PER_STEP);
  while (watcher->events.count > 0 && kin__slice_next(&slice)) {
    waiting *next = kin__chunkq_peek(&watcher->events);
    kin__object_unref(next->object);
    kin__chunkq_pop(&watcher->events);
  }
  if (watcher->events.count > 0) {
    return true;
  }
  kin__member_end(&watcher->member);
  return false;
}

/* A callback may close or pause the watcher, and so may a source. */
static bool step(kin__task *task) {
  kin_retry_watcher *watcher = KIN__CONTAINER_OF(task, kin_retry_watcher, task);
  if (watcher->member.is_closing) {
    return drop_step(watcher);
  }
  kin__slice slice =
      kin__slice_begin(watcher->member.env->sched, EVENTS_PER_STEP);
  while (!watcher->member.is_closing && has_work(watcher) &&
         kin__slice_next(&slice)) {
    if (watcher->events.count > 0) {
      show_next(watcher);
    } else if (watcher->is_error_due) {
      show_error(watcher);
    } else {
      show_end(watcher);
    }
    if (watcher->events.count <= QUEUE_LOW &&
        !kin__link_is_empty(&watcher->paused)) {
      kin__feed_resume(&watcher->feed);
    }
  }
  return watcher->member.is_closing || has_work(watcher);
}

/* --- Life ----------------------------------------------------------------- */

static void free_watcher(kin_retry_watcher *watcher) {
  const kin_allocator *allocator = watcher->member.env->allocator;
  kin__feed_finish(&watcher->feed);
  kin__chunkq_finish(&watcher->events);
  kin__settings_finish(&watcher->settings, allocator);
  kin__free(allocator, watcher);
}

static void on_free(kin__member *member) {
  free_watcher(KIN__CONTAINER_OF(member, kin_retry_watcher, member));
}

static void on_close(kin__member *member) {
  kin_retry_watcher *watcher =
      KIN__CONTAINER_OF(member, kin_retry_watcher, member);
  kin__feed_close(&watcher->feed);
  kin__sched_add(member->env->sched, &watcher->task);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_retry_watcher_close(kin_retry_watcher *watcher, kin_watch_close_cb cb,
                            void *data) {
  return watcher != NULL ? kin__member_close(&watcher->member, cb, data)
                         : KIN_EINVAL;
}

/* Logs the fault. Errors: KIN_EINVAL. */
static int check(const kin_retry_watcher_options *options,
                 const kin__log *log) {
  const char *version = options->resource_version;
  if (!is_position(kin__cstr(version))) { /* TW-01 */
    return kin__log_problem(log, KIN_EINVAL,
                            "resource_version: \"%.80s\" is no version of 1 "
                            "to 63 bytes but \"0\"",
                            kin__or_default(version, ""));
  }
  if (options->on_event == NULL || options->resource == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                            options->on_event == NULL ? "on_event"
                                                      : "resource");
  }
  if (options->timeout_s > MAX_TIMEOUT_S) {
    return kin__log_problem(log, KIN_EINVAL,
                            "timeout_s: %" PRIu32 " is more than %u",
                            options->timeout_s, (unsigned)MAX_TIMEOUT_S);
  }
  return 0;
}

static void init_feed(kin_retry_watcher *watcher) {
  const kin__settings *settings = &watcher->settings;
  const kin_retry_watcher_options *options = &watcher->options;
  const kin__feed_subject subject = {.env = watcher->member.env,
                                     .settings = settings,
                                     .namespace_ = settings->namespaces[0],
                                     .http = &watcher->http};
  kin__feed_options feed = kin__feed_options_of(&subject);
  feed.owner = &owner;
  feed.listwatch = (kin__listwatch_options){
      .mode = KIN__WATCH_ONLY,
      .watch_only = {.version = options->resource_version,
                     .timeout_s = options->timeout_s,
                     .is_single = options->without_retry}};
  kin__feed_init(&watcher->feed, &feed);
  kin__link_init(&watcher->paused);
}

static int make(kin_retry_watcher **out, kin__host *host,
                const kin_retry_watcher_options *options) {
  const kin_allocator *allocator = host->env->allocator;
  kin_retry_watcher *watcher = kin__calloc(allocator, 1, sizeof *watcher);
  if (watcher == NULL) {
    return KIN_ENOMEM;
  }
  const kin__log *log = host->env->log;
  int err = check(options, log);
  if (err == 0) {
    kin_informer_options given;
    err = kin__settings_init(&watcher->settings, allocator, log,
                             options->resource, KIN__SETTINGS_WATCHER, &given);
  }
  if (err != 0) {
    kin__settings_finish(&watcher->settings, allocator);
    kin__free(allocator, watcher);
    return err;
  }
  kin__member_init(&watcher->member, &member_ops, host->env);
  watcher->member.on_closed = options->on_closed;
  watcher->member.data = options->data;
  watcher->options = *options;
  *out = watcher;
  return 0;
}

int kin__retry_watcher_open(kin_retry_watcher **out, kin__host *host,
                            const kin_retry_watcher_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  kin_retry_watcher_options copy;
  err = kin__options_take(&copy, sizeof copy, options,
                          KIN__FIRST_SIZE(kin_retry_watcher_options),
                          "kin_retry_watcher_options", host->env->log);
  kin_retry_watcher *watcher = NULL;
  if (err == 0) {
    err = make(&watcher, host, &copy);
  }
  if (err != 0) {
    return err;
  }
  init_feed(watcher);
  snprintf(watcher->version, sizeof watcher->version, "%s",
           copy.resource_version);
  kin__chunkq_init(&watcher->events, watcher->member.env->allocator,
                   sizeof(waiting));
  kin__task_init(&watcher->task, step);
  kin__member_join(&watcher->member, host);
  *out = watcher;
  kin__feed_start(&watcher->feed);
  return 0;
}

int kin_retry_watcher_open(kin_retry_watcher **out, kin_client *client,
                           const kin_retry_watcher_options *options) {
  return kin__retry_watcher_open(out, kin__client_host(client), options);
}

/* --- Use ------------------------------------------------------------------ */

void kin_retry_watcher_pause(kin_retry_watcher *watcher) {
  if (watcher != NULL) {
    watcher->is_paused = true;
  }
}

void kin_retry_watcher_resume(kin_retry_watcher *watcher) {
  if (watcher == NULL) {
    return;
  }
  watcher->is_paused = false;
  wake(watcher);
}

const char *
kin_retry_watcher_resource_version(const kin_retry_watcher *watcher) {
  return watcher != NULL ? watcher->version : "";
}

int kin_retry_watcher_get_status(const kin_retry_watcher *watcher,
                                 kin_status *status) {
  if (watcher == NULL) {
    return KIN_EINVAL;
  }
  kin_status found;
  kin__feed_get_status(&watcher->feed, &found);
  return kin__sized_fill(status, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_status));
}
