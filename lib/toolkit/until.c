/* SPDX-License-Identifier: MIT */
#include <kin/until.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "dispatch/sync_watch.h"
#include "informer/informer.h"
#include "listwatch/failure.h"
#include "toolkit/watch.h"

/* A watcher of either kind, a time-out, and the number of conditions that held.
 * Every cause of an end is noted and closes the watcher. When the watcher is
 * gone, a deferred step calls back. The last event is kept in place, with a
 * reference to its object, so that this step cannot fail.
 *
 * With a precondition the informer watcher is paused until its informer has
 * synced. The same deferred step asks the precondition.
 *
 * Invariants: if has_ended, `code` is the result, and the watcher is closing or
 * gone. For the end the step is scheduled only when the watcher is gone. */

#define MAX_CONDITIONS 256u

struct kin_until {
  kin__member member;
  kin_until_cb cb;
  void *data;
  kin_watch_error_cb on_error;
  kin_until_precondition_cb precondition;
  void *precondition_data;

  kin_retry_watcher *retry; /* one of the two, until it is gone */
  kin_informer_watcher *informer;
  kin__sync_watch sync; /* with a precondition: in the informer's list until the
                         * informer has synced */
  kin__timer timeout;
  kin__deferred step;

  bool has_ended;
  int code;

  kin_watch_event event; /* type 0: no event yet; see keep() */
  char reason[sizeof((kin__failure *)0)->reason];
  char message[sizeof((kin__failure *)0)->message];

  size_t held;
  size_t count;
  kin_until_condition conditions[];
};

/* --- The end -------------------------------------------------------------- */

static void finish(kin_until *until, int code) {
  if (until->has_ended) {
    return;
  }
  until->has_ended = true;
  until->code = code;
  kin__timer_stop(until->member.env->timers, &until->timeout);
  kin__link_remove(&until->sync.node);
  kin__link_remove(&until->step.node);
  /* If the program closed the watcher, it is closing already. */
  if (until->retry != NULL) {
    (void)kin_retry_watcher_close(until->retry, NULL, NULL);
  } else if (until->informer != NULL) {
    (void)kin_informer_watcher_close(until->informer, NULL, NULL);
  }
}

/* The watcher's close callback. It must not call back: the function that called
 * it still has work to do. */
static void on_watcher_gone(void *data) {
  kin_until *until = data;
  until->retry = NULL;
  until->informer = NULL;
  finish(until, KIN_ECLOSED);
  kin__env_defer(until->member.env, &until->step);
}

static void call_back(kin_until *until) {
  kin_until_result result = {.size = sizeof result,
                             .code = until->code,
                             .event =
                                 until->event.type != 0 ? &until->event : NULL,
                             .held = until->held};
  uint64_t start_ns = kin__clock_ns(&until->member.env->clock);
  until->cb(&result, until->data);
  kin__env_add_handler_time(until->member.env, start_ns);
  kin__member_gone(&until->member);
}

static void on_timeout(kin__timer *timer) {
  finish(KIN__CONTAINER_OF(timer, kin_until, timeout), KIN_ETIMEDOUT);
}

static void on_close(kin__member *member) {
  finish(KIN__CONTAINER_OF(member, kin_until, member), KIN_ECLOSED);
}

static void on_free(kin__member *member) {
  kin_until *until = KIN__CONTAINER_OF(member, kin_until, member);
  kin__object_unref(until->event.object);
  kin__free(member->env->allocator, until);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_until_cancel(kin_until *until, int code) {
  if (until == NULL || code >= 0) {
    return KIN_EINVAL;
  }
  if (until->has_ended) {
    return KIN_EALREADY;
  }
  finish(until, code);
  return 0;
}

/* --- Conditions ----------------------------------------------------------- */

static const char *copy_text(char *to, size_t size, const char *from) {
  snprintf(to, size, "%s", from);
  return to;
}

/* The event's version is its object's: bookmarks are not requested. */
static void keep(kin_until *until, const kin_watch_event *event) {
  kin_object *object = kin__object_ref(event->object);
  kin__object_unref(until->event.object);
  until->event = *event;
  until->event.object = object;
  until->event.reason =
      copy_text(until->reason, sizeof until->reason, event->reason);
  until->event.message =
      copy_text(until->message, sizeof until->message, event->message);
  if (object == NULL) {
    until->event.resource_version = kin__cstr("");
  }
}

/* TW-06: several conditions may hold for one event. */
static void on_event(const kin_watch_event *event, void *data) {
  kin_until *until = data;
  keep(until, event);
  while (!until->has_ended && until->held < until->count) {
    const kin_until_condition *next = &until->conditions[until->held];
    int answer = next->cb(event, next->data);
    if (answer < 0) {
      finish(until, answer);
    }
    if (answer <= 0) {
      return;
    }
    until->held++;
  }
  finish(until, 0);
}

static void on_end(int code, void *data) {
  finish(data, code != 0 ? code : KIN_EEOF);
}

static void on_error(kin_error_event *event, void *data) {
  kin_until *until = data;
  until->on_error(event, until->data);
}

/* --- The precondition ----------------------------------------------------- */

static void on_sync(kin__sync_watch *watch, int result) {
  kin_until *until = KIN__CONTAINER_OF(watch, kin_until, sync);
  if (result == 0) {
    kin__env_defer(until->member.env, &until->step);
  }
}

/* TW-07. The precondition may cancel the wait; then its result does not count.
 * If the informer has been closed since, its cache is not complete, and the end
 * is on its way. */
static void ask_precondition(kin_until *until) {
  kin_informer *informer = kin_informer_watcher_informer(until->informer);
  if (informer->member.is_closing) {
    return;
  }
  uint64_t start_ns = kin__clock_ns(&until->member.env->clock);
  int answer = until->precondition(kin_informer_store(informer),
                                   until->precondition_data);
  kin__env_add_handler_time(until->member.env, start_ns);
  if (answer != 0 || until->count == 0) {
    finish(until, answer < 0 ? answer : 0);
  } else if (!until->has_ended) {
    kin_informer_watcher_resume(until->informer);
  }
}

static void step(kin__deferred *deferred) {
  kin_until *until = KIN__CONTAINER_OF(deferred, kin_until, step);
  if (until->has_ended) {
    call_back(until);
  } else {
    ask_precondition(until);
  }
}

/* --- Begin ---------------------------------------------------------------- */

static int check(const kin_until_options *options, bool is_synced,
                 const kin__log *log) {
  bool fits_kind = is_synced ? options->resource_version == NULL &&
                                   !options->without_retry &&
                                   options->on_error == NULL
                             : options->precondition == NULL;
  if (options->cb == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "cb: is required");
  }
  if (!fits_kind) {
    return kin__log_problem(
        log, KIN_EINVAL, "%s",
        is_synced ? "resource_version, without_retry, on_error: not with "
                    "kin_until_open_synced"
                  : "precondition: only with kin_until_open_synced");
  }
  if (options->condition_count > 0 && options->conditions == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "conditions: is NULL");
  }
  if (options->condition_count > MAX_CONDITIONS) {
    return kin__log_problem(log, KIN_ETOOBIG,
                            "condition_count: %zu are more than %u",
                            options->condition_count, MAX_CONDITIONS);
  }
  for (size_t i = 0; i < options->condition_count; i++) {
    if (options->conditions[i].cb == NULL) {
      return kin__log_problem(log, KIN_EINVAL, "conditions[%zu] has no cb", i);
    }
  }
  return 0;
}

static int open_retry(kin_until *until, kin__host *host,
                      const kin_until_options *options) {
  kin_retry_watcher_options retry = KIN_RETRY_WATCHER_OPTIONS_INIT;
  retry.resource = options->resource;
  retry.resource_version = options->resource_version;
  retry.without_retry = options->without_retry;
  retry.on_event = on_event;
  retry.on_error = options->on_error != NULL ? on_error : NULL;
  retry.on_end = on_end;
  retry.on_closed = on_watcher_gone;
  retry.data = until;
  return kin__retry_watcher_open(&until->retry, host, &retry);
}

static int open_informer(kin_until *until, kin__host *host,
                         const kin_until_options *options) {
  kin_informer_watcher_options watcher = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  watcher.resource = options->resource;
  watcher.on_event = on_event;
  watcher.on_closed = on_watcher_gone;
  watcher.data = until;
  int err = kin__informer_watcher_open(&until->informer, host, &watcher);
  if (err == 0 && until->precondition != NULL) {
    kin_informer_watcher_pause(until->informer);
    kin_informer *informer = kin_informer_watcher_informer(until->informer);
    /* The source may have closed the client meanwhile; then there is no
     * callback. */
    if (!informer->member.is_closing) {
      kin__link_push(&informer->dispatcher.sync_watches, &until->sync.node);
    }
  }
  return err;
}

static int make(kin_until **out, kin__host *host,
                const kin_until_options *options) {
  size_t size = options->condition_count * sizeof *options->conditions;
  kin_until *until = kin__calloc(host->env->allocator, 1, sizeof *until + size);
  if (until == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&until->member, &member_ops, host->env);
  until->cb = options->cb;
  until->data = options->data;
  until->on_error = options->on_error;
  until->precondition = options->precondition;
  until->precondition_data = options->precondition_data;
  until->count = options->condition_count;
  if (size > 0) {
    memcpy(until->conditions, options->conditions, size);
  }
  kin__link_init(&until->sync.node);
  until->sync.notify = on_sync;
  kin__timer_init(&until->timeout, on_timeout);
  kin__link_init(&until->step.node);
  until->step.cb = step;
  *out = until;
  return 0;
}

static void begin(kin_until *until, kin__host *host, uint64_t timeout_ms) {
  kin__member_join(&until->member, host);
  if (timeout_ms > 0) {
    kin__timer_start(
        until->member.env->timers, &until->timeout,
        kin__deadline_ms(kin__env_now_ms(until->member.env), timeout_ms));
  }
  if (until->count == 0 && until->precondition == NULL) {
    finish(until, 0);
  }
}

int kin__until_open(kin_until **out, kin__host *host,
                    const kin_until_options *options, bool is_synced) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err == 0) {
    err = check(options, is_synced, host->env->log);
  }
  if (err != 0) {
    return err;
  }
  kin_until *until;
  err = make(&until, host, options);
  if (err != 0) {
    return err;
  }
  err = is_synced ? open_informer(until, host, options)
                  : open_retry(until, host, options);
  if (err != 0) {
    kin__free(host->env->allocator, until);
    return err;
  }
  begin(until, host, options->timeout_ms);
  *out = until;
  return 0;
}

static int open_in_client(kin_until **out, kin_client *client,
                          const kin_until_options *options, bool is_synced) {
  kin_until *until = NULL;
  int err = KIN_EINVAL;
  if (client != NULL) {
    kin__host *host = kin__client_host(client);
    kin_until_options copy;
    err = kin__options_take(&copy, sizeof copy, options,
                            KIN__FIRST_SIZE(kin_until_options),
                            "kin_until_options", host->env->log);
    if (err == 0) {
      err = kin__until_open(&until, host, &copy, is_synced);
    }
  }
  if (out != NULL) {
    *out = until;
  }
  return err;
}

int kin_until_open(kin_until **out, kin_client *client,
                   const kin_until_options *options) {
  return open_in_client(out, client, options, false);
}

int kin_until_open_synced(kin_until **out, kin_client *client,
                          const kin_until_options *options) {
  return open_in_client(out, client, options, true);
}
