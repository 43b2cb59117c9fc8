/* SPDX-License-Identifier: MIT */
#include "cache/public_reflector_core.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/str.h"
#include "feed/feed_options.h"

/* The public reflector: a feed whose owner is a store of the program. Changes
 * are passed on as they come, lists by public_reflector_list.c.
 *
 * A function of the store may close the reflector. So code that has called one
 * checks is_closing. The memory stays until a deferred call. */

#define MAX_NAME_BYTES 255u

static kin_reflector *reflector_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin_reflector, feed);
}

/* --- Changes -------------------------------------------------------------- */

/* Turns the result of a function of the store into the feed's; 0 continues. */
static int result_for_feed(kin_reflector *reflector, int result,
                           const char *what, kin_str key) {
  if (reflector->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (result == 0 || result == KIN_ENOMEM) {
    return result;
  }
  kin__log_write(reflector->env->log, KIN_LOG_ERROR,
                 "%s: %s %.*s: %s; lost until the next list", reflector->name,
                 what, (int)(key.length < 512 ? key.length : 512), key.data,
                 kin_strerror(result < 0 ? result : KIN_EINVAL));
  return 0;
}

/* The end of a request ends the feed's pause. So each watch asks anew. */
static void pause_if_full(kin_feed *feed) {
  kin_reflector *reflector = reflector_of(feed);
  const kin_reflector_store *store = &reflector->store;
  if (store->is_full != NULL && store->is_full(store->ctx) &&
      !reflector->member.is_closing) {
    kin__feed_pause(feed, &reflector->paused);
  }
}

static int on_event(kin_feed *feed, kin__decoded_type type,
                    kin_object *object) {
  kin_reflector *reflector = reflector_of(feed);
  const kin_reflector_store *store = &reflector->store;
  const char *what = "update";
  int (*change)(void *, const kin_object *) = store->update;
  if (type == KIN__DECODED_ADDED) {
    what = "add";
    change = store->add;
  } else if (type == KIN__DECODED_DELETED) {
    what = "delete";
    change = store->delete_;
  }
  int err = result_for_feed(reflector, change(store->ctx, object), what,
                            kin_object_key(object));
  if (err == 0) {
    pause_if_full(feed);
  }
  return err;
}

static int on_bookmark(kin_feed *feed, kin_str version) {
  kin_reflector *reflector = reflector_of(feed);
  const kin_reflector_store *store = &reflector->store;
  if (store->bookmark == NULL) {
    return 0;
  }
  int err = result_for_feed(reflector, store->bookmark(store->ctx, version),
                            "bookmark", version);
  if (err == 0) {
    pause_if_full(feed);
  }
  return err;
}

static void on_advanced(kin_feed *feed, kin_str version) {
  kin_reflector *reflector = reflector_of(feed);
  if (reflector->store.update_version != NULL &&
      !reflector->member.is_closing) {
    reflector->store.update_version(reflector->store.ctx, version);
  }
}

/* Reading continues if there is room. A feed may also leave `paused` itself. */
static void resume(kin_reflector *reflector) {
  const kin_reflector_store *store = &reflector->store;
  if (!kin__link_is_empty(&reflector->paused) && !store->is_full(store->ctx) &&
      !kin__link_is_empty(&reflector->paused)) {
    kin__feed_resume(&reflector->feed);
  }
}

/* --- The task ------------------------------------------------------------- */

static void on_apply(kin_feed *feed) {
  kin_reflector *reflector = reflector_of(feed);
  reflector->phase = KIN__LIST_GATHERING;
  reflector->has_begun = false;
  reflector->has_bad = false;
  reflector->has_usable = false;
  kin__public_reflector_wake(reflector);
}

static void on_discarded(kin_feed *feed) {
  kin__public_reflector_wake(reflector_of(feed));
}

static bool close_step(kin_reflector *reflector) {
  if (kin__public_reflector_drop_some(reflector)) {
    return true;
  }
  kin__member_end(&reflector->member);
  return false;
}

static bool step(kin__task *task) {
  kin_reflector *reflector = KIN__CONTAINER_OF(task, kin_reflector, task);
  if (kin__stage_free_slice(&reflector->feed.stage, reflector->env->sched,
                            KIN__LIST_STEP)) {
    return true;
  }
  if (reflector->member.is_closing) {
    return close_step(reflector);
  }
  resume(reflector);
  if (reflector->member.is_closing) {
    return true;
  }
  return kin__public_reflector_list_step(reflector);
}

/* --- Calls to the program ------------------------------------------------- */

static void on_failed(kin_feed *feed, kin_error_event *event) {
  kin_reflector *reflector = reflector_of(feed);
  const kin_reflector_options *options = &reflector->options;
  if (options->on_error == NULL) {
    return;
  }
  options->on_error(reflector, event, options->data);
  if (event->answer == KIN_STOP && reflector->phase != KIN__LIST_IDLE &&
      !reflector->member.is_closing) {
    reflector->phase = KIN__LIST_DROPPING;
    kin__timer_stop(reflector->env->timers, &reflector->apply_timer);
    kin__public_reflector_wake(reflector);
  }
}

static void on_state(kin_feed *feed, kin_state from, kin_state to) {
  kin_reflector *reflector = reflector_of(feed);
  const kin_reflector_options *options = &reflector->options;
  if (options->on_state != NULL) {
    options->on_state(reflector, from, to, options->data);
  }
}

/* For a list only. Every watch event is passed on, even one that changes
 * nothing; so are the events of a list that comes in a watch. */
static const kin_object *on_cached(kin_feed *feed, kin_str key, kin_str uid,
                                   kin_str version) {
  const kin__list_taker *taker = reflector_of(feed)->taker;
  return taker != NULL && feed->request != KIN__REQUEST_WATCH &&
                 !feed->is_held &&
                 !kin__listwatch_versions_repeat(&feed->listwatch)
             ? taker->cached(taker->ctx, key, uid, version)
             : NULL;
}

static const kin__feed_owner owner = {.cached = on_cached,
                                      .event = on_event,
                                      .bookmark = on_bookmark,
                                      .advanced = on_advanced,
                                      .apply = on_apply,
                                      .discarded = on_discarded,
                                      .failed = on_failed,
                                      .opened = pause_if_full,
                                      .state_changed = on_state};

/* --- Close ---------------------------------------------------------------- */

static void free_reflector(kin_reflector *reflector) {
  const kin_allocator *allocator = reflector->env->allocator;
  kin__feed_finish(&reflector->feed);
  kin__settings_finish(&reflector->settings, allocator);
  if (reflector->name != reflector->description) {
    kin__free(allocator, reflector->name);
  }
  kin__free(allocator, reflector->description);
  kin__free(allocator, reflector);
}

static void on_free(kin__member *member) {
  free_reflector(KIN__CONTAINER_OF(member, kin_reflector, member));
}

static void on_close(kin__member *member) {
  kin_reflector *reflector = KIN__CONTAINER_OF(member, kin_reflector, member);
  kin__feed_close(&reflector->feed);
  kin__timer_stop(reflector->env->timers, &reflector->apply_timer);
  kin__timer_stop(reflector->env->timers, &reflector->resync_timer);
  kin__public_reflector_wake(reflector);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_reflector_close(kin_reflector *reflector, kin_reflector_close_cb cb,
                        void *data) {
  return reflector != NULL ? kin__member_close(&reflector->member, cb, data)
                           : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

static int copy_store(kin_reflector_store *to, const kin_reflector_store *from,
                      const kin__log *log) {
  if (from == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "store: is required");
  }
  int err = kin__options_take(to, sizeof *to, from,
                              KIN__FIRST_SIZE(kin_reflector_store),
                              "store: kin_reflector_store", log);
  if (err != 0) {
    return err;
  }
  bool is_complete = to->add != NULL && to->update != NULL &&
                     to->delete_ != NULL && to->replace != NULL;
  return is_complete ? 0
                     : kin__log_problem(log, KIN_EINVAL,
                                        "store: add, update, delete_ and "
                                        "replace are required");
}

static int copy_settings(kin_reflector *reflector,
                         const kin_informer_options *resource) {
  kin_informer_options given;
  return kin__settings_init(&reflector->settings, reflector->env->allocator,
                            reflector->env->log, resource,
                            KIN__SETTINGS_REFLECTOR, &given);
}

int kin__public_reflector_check_name(const char *name, const kin__log *log) {
  size_t length = name != NULL ? strlen(name) : 0;
  return length <= MAX_NAME_BYTES
             ? 0
             : kin__log_problem(log, KIN_ETOOBIG,
                                "name: %zu bytes are more than %u", length,
                                MAX_NAME_BYTES);
}

/* "deployments.v1.apps" (RF-02). */
static int make_names(kin_reflector *reflector, const char *name) {
  const kin_allocator *allocator = reflector->env->allocator;
  const kin__resource *resource = &reflector->settings.resource;
  char text[3 * 256];
  snprintf(text, sizeof text, "%s.%s%s%s", resource->plural, resource->version,
           resource->group[0] != '\0' ? "." : "", resource->group);
  bool is_named = kin__has_text(name);
  int err = kin__public_reflector_check_name(name, reflector->env->log);
  if (err != 0) {
    return err;
  }
  reflector->description = kin__strdup(allocator, text);
  reflector->name =
      is_named ? kin__strdup(allocator, name) : reflector->description;
  return reflector->description != NULL && reflector->name != NULL ? 0
                                                                   : KIN_ENOMEM;
}

static void init_feed(kin_reflector *reflector) {
  const kin__settings *settings = &reflector->settings;
  const kin__feed_subject subject = {.env = reflector->env,
                                     .settings = settings,
                                     .namespace_ = settings->namespace_count > 0
                                                       ? settings->namespaces[0]
                                                       : "",
                                     .http = &reflector->http,
                                     .silence = &reflector->silence,
                                     .lists_and_watches = true};
  kin__feed_options options = kin__feed_options_of(&subject);
  options.owner = &owner;
  kin__feed_init(&reflector->feed, &options);
}

static int init(kin_reflector *reflector,
                const kin_reflector_options *options) {
  const kin__log *log = reflector->env->log;
  int err = kin__options_take(&reflector->options, sizeof reflector->options,
                              options, KIN__FIRST_SIZE(kin_reflector_options),
                              "kin_reflector_options", log);
  if (err == 0 && reflector->options.resource == NULL) {
    err = kin__log_problem(log, KIN_EINVAL, "resource: is required");
  }
  if (err == 0) {
    err = copy_store(&reflector->store, reflector->options.store, log);
  }
  if (err == 0) {
    err = copy_settings(reflector, reflector->options.resource);
  }
  return err == 0 ? make_names(reflector, reflector->options.name) : err;
}

int kin__public_reflector_open(kin_reflector **out, kin__host *host,
                               const kin_reflector_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  const kin__env *env = host->env;
  kin_reflector *reflector = kin__calloc(env->allocator, 1, sizeof *reflector);
  if (reflector == NULL) {
    return KIN_ENOMEM;
  }
  reflector->env = env;
  kin__member_init(&reflector->member, &member_ops, env);
  err = init(reflector, options);
  init_feed(reflector); /* allocates nothing */
  if (err != 0) {
    free_reflector(reflector);
    return err;
  }
  kin__task_init(&reflector->task, step);
  kin__timer_init(&reflector->apply_timer, kin__public_reflector_on_retry);
  kin__timer_init(&reflector->resync_timer, kin__public_reflector_on_resync);
  kin__link_init(&reflector->paused);
  reflector->member.on_closed = reflector->options.on_closed;
  reflector->member.data = reflector->options.data;
  kin__member_join(&reflector->member, host);
  *out = reflector;
  return 0;
}

int kin_reflector_open(kin_reflector **out, kin_client *client,
                       const kin_reflector_options *options) {
  return kin__public_reflector_open(out, kin__client_host(client), options);
}

/* --- Use ------------------------------------------------------------------ */

void kin__public_reflector_use_taker(kin_reflector *reflector,
                                     const kin__list_taker *taker) {
  reflector->taker = taker;
}

int kin_reflector_start(kin_reflector *reflector) {
  if (reflector == NULL) {
    return KIN_EINVAL;
  }
  if (reflector->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (reflector->is_started) {
    return KIN_EALREADY;
  }
  reflector->is_started = true;
  kin__feed_start(&reflector->feed);
  return 0;
}

int kin_reflector_resume(kin_reflector *reflector) {
  if (reflector == NULL) {
    return KIN_EINVAL;
  }
  if (reflector->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (!kin__link_is_empty(&reflector->paused) || reflector->is_waiting) {
    kin__public_reflector_wake(reflector);
  }
  return 0;
}

int kin_reflector_get_status(const kin_reflector *reflector,
                             kin_status *status) {
  if (reflector == NULL) {
    return KIN_EINVAL;
  }
  kin_status found;
  kin__feed_get_status(&reflector->feed, &found);
  return kin__sized_fill(status, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_status));
}

bool kin_reflector_has_synced(const kin_reflector *reflector) {
  return reflector != NULL && reflector->feed.has_synced;
}

const char *kin_reflector_last_sync_version(const kin_reflector *reflector) {
  return reflector != NULL ? kin__listwatch_version(&reflector->feed.listwatch)
                           : "";
}

bool kin_reflector_is_last_sync_version_unavailable(
    const kin_reflector *reflector) {
  return reflector != NULL &&
         kin__listwatch_is_unavailable(&reflector->feed.listwatch);
}

const char *kin_reflector_name(const kin_reflector *reflector) {
  return reflector != NULL ? reflector->name : "";
}

const char *kin_reflector_description(const kin_reflector *reflector) {
  return reflector != NULL ? reflector->description : "";
}
