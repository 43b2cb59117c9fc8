/* SPDX-License-Identifier: MIT */
#include <kin/watch.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "informer/informer.h"
#include "toolkit/watch.h"

/* An informer and one listener, whose events get other names. The listener does
 * buffering, order, coalescing and pausing; the informer handles failures.
 *
 * The watcher ends with its informer, also if the program closes the informer:
 * when the informer is gone, a deferred call frees the watcher. */

struct kin_informer_watcher {
  kin__member member;
  kin_informer *informer; /* NULL once the informer is gone */
  kin_listener *listener;
  kin__gone_watch watch;
  kin_watch_event_cb on_event;
  void *data;
};

/* --- Events --------------------------------------------------------------- */

static void give(const kin_informer_watcher *watcher, kin_watch_event_type type,
                 const kin_object *object) {
  kin_watch_event event = {.size = sizeof event,
                           .type = type,
                           .object = object,
                           .resource_version =
                               kin_object_resource_version(object),
                           .reason = "",
                           .message = ""};
  watcher->on_event(&event, watcher->data);
}

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  give(data, KIN_WATCH_ADDED, event->object);
}

static void on_update(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  give(data, KIN_WATCH_MODIFIED, event->object);
}

static void on_delete(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  give(data, KIN_WATCH_DELETED, event->object);
}

/* --- Life ----------------------------------------------------------------- */

static void on_free(kin__member *member) {
  kin__free(member->env->allocator,
            KIN__CONTAINER_OF(member, kin_informer_watcher, member));
}

static void on_informer_gone(kin__gone_watch *watch) {
  kin_informer_watcher *watcher =
      KIN__CONTAINER_OF(watch, kin_informer_watcher, watch);
  watcher->member.is_closing = true;
  watcher->informer = NULL;
  watcher->listener = NULL;
  kin__member_end(&watcher->member);
}

static void on_close(kin__member *member) {
  kin_informer_watcher *watcher =
      KIN__CONTAINER_OF(member, kin_informer_watcher, member);
  /* The program may have closed the informer before. */
  (void)kin_informer_close(watcher->informer, NULL, NULL);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_informer_watcher_close(kin_informer_watcher *watcher,
                               kin_watch_close_cb cb, void *data) {
  return watcher != NULL ? kin__member_close(&watcher->member, cb, data)
                         : KIN_EINVAL;
}

static int add_listener(kin_informer_watcher *watcher, uint32_t exact_limit) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_add;
  options.on_update = on_update;
  options.on_delete = on_delete;
  options.data = watcher;
  options.exact_limit = exact_limit;
  options.name = "informer watcher";
  return kin_informer_listen(watcher->informer, &options, &watcher->listener);
}

static int check(const kin_informer_watcher_options *options,
                 const kin__log *log) {
  if (options->on_event == NULL || options->resource == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                            options->on_event == NULL ? "on_event"
                                                      : "resource");
  }
  kin_informer_options resource;
  int err = kin__options_take(&resource, sizeof resource, options->resource,
                              KIN__FIRST_SIZE(kin_informer_options),
                              "kin_informer_options", log);
  if (err != 0) {
    return err;
  }
  bool is_plain = resource.resync_ms == 0 && resource.on_closed == NULL;
  return is_plain ? 0
                  : kin__log_problem(log, KIN_EINVAL,
                                     "resource: resync_ms and on_closed have "
                                     "no meaning here");
}

static int make(kin_informer_watcher **out, kin__host *host,
                const kin_informer_watcher_options *options) {
  const kin_allocator *allocator = host->env->allocator;
  kin_informer_watcher *watcher = kin__calloc(allocator, 1, sizeof *watcher);
  if (watcher == NULL) {
    return KIN_ENOMEM;
  }
  int err = kin__informer_open_on(&watcher->informer, host, options->resource);
  if (err != 0) {
    kin__free(allocator, watcher);
    return err;
  }
  kin__member_init(&watcher->member, &member_ops, host->env);
  watcher->member.on_closed = options->on_closed;
  watcher->member.data = options->data;
  watcher->on_event = options->on_event;
  watcher->data = options->data;
  watcher->watch.gone = on_informer_gone;
  kin__link_push(&watcher->informer->gone_watches, &watcher->watch.node);
  kin__member_join(&watcher->member, host);
  *out = watcher;
  return 0;
}

int kin__informer_watcher_open(kin_informer_watcher **out, kin__host *host,
                               const kin_informer_watcher_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  kin_informer_watcher_options copy;
  err = kin__options_take(&copy, sizeof copy, options,
                          KIN__FIRST_SIZE(kin_informer_watcher_options),
                          "kin_informer_watcher_options", host->env->log);
  if (err == 0) {
    err = check(&copy, host->env->log);
  }
  kin_informer_watcher *watcher;
  if (err == 0) {
    err = make(&watcher, host, &copy);
  }
  if (err != 0) {
    return err;
  }
  err = add_listener(watcher, copy.exact_limit);
  if (err == 0) {
    err = kin_informer_start(watcher->informer);
  }
  if (err != 0) {
    /* The program does not know the watcher. */
    watcher->member.on_closed = NULL;
    (void)kin_informer_watcher_close(watcher, NULL, NULL);
    return err;
  }
  *out = watcher;
  return 0;
}

int kin_informer_watcher_open(kin_informer_watcher **out, kin_client *client,
                              const kin_informer_watcher_options *options) {
  return kin__informer_watcher_open(out, kin__client_host(client), options);
}

/* --- Use ------------------------------------------------------------------ */

void kin_informer_watcher_pause(kin_informer_watcher *watcher) {
  if (watcher == NULL) {
    return;
  }
  if (!watcher->member.is_closing) {
    kin_listener_pause(watcher->listener);
  }
}

void kin_informer_watcher_resume(kin_informer_watcher *watcher) {
  if (watcher == NULL) {
    return;
  }
  if (!watcher->member.is_closing) {
    kin_listener_resume(watcher->listener);
  }
}

kin_informer *
kin_informer_watcher_informer(const kin_informer_watcher *watcher) {
  return watcher != NULL ? watcher->informer : NULL;
}
