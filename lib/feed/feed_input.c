/* SPDX-License-Identifier: MIT */
#include "base/first_size.h"
#include "feed/feed_core.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/str.h"

/* Takes objects and bookmarks, from any source, and has the public functions
 * for a program's own source. A call after the end of an answer, or out of
 * turn, changes nothing. */

/* --- Objects -------------------------------------------------------------- */

const kin_object *kin__feed_cached(kin_feed *feed,
                                   const kin__object_parts *identity) {
  char buffer[1024];
  kin_str namespace_ = identity->namespace_;
  kin_str name = identity->name;
  /* A longer key is invalid. */
  if (feed->owner->cached == NULL || identity->uid.length == 0 ||
      identity->version.length == 0 ||
      namespace_.length + 1 + name.length > sizeof buffer) {
    return NULL;
  }
  size_t at = 0;
  if (namespace_.length > 0) {
    memcpy(buffer, namespace_.data, namespace_.length);
    buffer[namespace_.length] = '/';
    at = namespace_.length + 1;
  }
  memcpy(buffer + at, name.data, name.length);
  return feed->owner->cached(feed, kin__str(buffer, at + name.length),
                             identity->uid, identity->version);
}

/* Moves the position. The owner is told if the position is this version
 * (RW-09), and may close the feed. Errors: KIN_ECLOSED. */
static int saw(kin_feed *feed, kin__decoded_type type, kin_str version) {
  if (kin__listwatch_saw(&feed->listwatch, type, version)) {
    kin__listwatch_input reached = {.type = KIN__INPUT_REACHED};
    kin__feed_step(feed, &reached);
  }
  if (feed->owner->advanced != NULL &&
      kin__str_equal(version,
                     kin__cstr(kin__listwatch_version(&feed->listwatch)))) {
    feed->owner->advanced(feed, version);
  }
  return kin__feed_is_open(feed) ? 0 : KIN_ECLOSED;
}

static int take_event(kin_feed *feed, kin__decoded_type type,
                      kin_object *object, bool is_cached) {
  feed->metrics.events[type - KIN__DECODED_ADDED]++;
  feed->metrics.request_items++;
  feed->last_event_ms = feed->last_byte_ms;
  int err = 0;
  if (is_cached) {
    feed->counters.unchanged++;
  } else {
    err = feed->owner->event(feed, type, object);
  }
  if (err == 0) {
    err = saw(feed, type, kin_object_resource_version(object));
  }
  kin__object_unref(object);
  return err;
}

/* An event of another shard moves the position, as the server's own filter
 * does with bookmarks. In a streamed list such an object is progress, as the
 * bytes of an incomplete one: it may be the first with its key. */
int kin__feed_pass(kin_feed *feed, kin__decoded_type type, kin_str version) {
  feed->counters.other_shards++;
  feed->counters.shard_filter = KIN_SHARD_CLIENT;
  if (feed->request == KIN__REQUEST_WATCH && !feed->is_held) {
    return saw(feed, type, version);
  }
  feed->metrics.request_items++;
  kin__listwatch_heard(&feed->listwatch, KIN__NEWS_BYTES);
  return 0;
}

void kin__feed_note_selection(kin_feed *feed, bool is_by_server) {
  kin_shard_filter *filter = &feed->counters.shard_filter;
  if (is_by_server && *filter == KIN_SHARD_UNKNOWN) {
    *filter = KIN_SHARD_SERVER;
  }
}

static void tell_staged(kin_feed *feed, kin_object *object) {
  if (feed->owner->staged != NULL) {
    feed->owner->staged(feed, object);
  }
}

static int merge(kin_feed *feed, kin__decoded_type type,
                 kin_object *take_object) {
  kin__stage_merged merged;
  int err = kin__stage_merge(&feed->stage, type, take_object, &merged);
  for (unsigned i = 0; i < merged.count; i++) {
    if (feed->owner->unstaged != NULL) {
      feed->owner->unstaged(feed, merged.replaced[i]);
    }
    kin__object_unref(merged.replaced[i]);
  }
  kin__listwatch_heard(&feed->listwatch,
                       merged.is_new ? KIN__NEWS_KEY : KIN__NEWS_OBJECT);
  return err;
}

int kin__feed_take(kin_feed *feed, kin__decoded_type type,
                   kin_object *take_object, bool is_cached) {
  if (feed->owner->keep != NULL && !is_cached) {
    int err = feed->owner->keep(feed, type, &take_object);
    if (err == 0 && !kin__feed_is_open(feed)) {
      err = KIN_ECLOSED; /* a source that was paused has closed the owner */
    }
    if (err != 0) {
      kin__object_unref(take_object);
      return err;
    }
  }
  if (feed->is_held) {
    return kin__stage_push(&feed->held, type, take_object);
  }
  bool is_stream = feed->request == KIN__REQUEST_STREAM;
  if (!is_stream && type != KIN__DECODED_LISTED) {
    return take_event(feed, type, take_object, is_cached);
  }
  feed->metrics.request_items++;
  int err = is_stream ? merge(feed, type, take_object)
                      : kin__stage_push(&feed->stage, type, take_object);
  if (err == KIN_EUNEXPECTED) {
    kin__feed_refuse(feed, err, "the same objects come again and again");
    return KIN_ECLOSED;
  }
  if (err == 0 && !is_cached && type != KIN__DECODED_DELETED) {
    tell_staged(feed, take_object);
  }
  return err;
}

int kin__feed_take_held(kin_feed *feed) {
  for (kin_object *object; (object = kin__stage_peek(&feed->held)) != NULL;) {
    int err = take_event(feed, kin__stage_type(&feed->held),
                         kin__object_ref(object), false);
    if (err != 0) {
      return err;
    }
    kin__stage_pop(&feed->held);
  }
  return 0;
}

static int take_stream_bookmark(kin_feed *feed, kin_str version,
                                bool is_initial_end) {
  kin__listwatch_heard(&feed->listwatch, KIN__NEWS_OBJECT);
  if (!is_initial_end) {
    return 0; /* WL-03 */
  }
  char text[KIN__VERSION_SIZE];
  if (version.length >= sizeof text) {
    return KIN_ETOOBIG;
  }
  snprintf(text, sizeof text, "%.*s", (int)version.length,
           version.length > 0 ? version.data : "");
  kin__feed_streamed(feed, text);
  /* A held stream goes on. Otherwise another request replaced it. */
  return feed->is_held ? 0 : KIN_ECLOSED;
}

int kin__feed_take_bookmark(kin_feed *feed, kin_str version,
                            bool is_initial_end) {
  feed->counters.bookmarks++;
  feed->last_bookmark_ms = feed->last_byte_ms;
  if (feed->is_held) {
    return 0; /* the position must not pass the held events; later bookmarks
               * follow */
  }
  if (feed->request == KIN__REQUEST_STREAM) {
    return take_stream_bookmark(feed, version, is_initial_end);
  }
  feed->metrics.request_items++;
  int err =
      feed->owner->bookmark != NULL ? feed->owner->bookmark(feed, version) : 0;
  return err == 0 ? saw(feed, (kin__decoded_type)0, version) : err;
}

/* --- Sources of the program's own ----------------------------------------- */

int kin__lister_watcher_copy(kin_lister_watcher *to,
                             const kin_lister_watcher *from,
                             const kin__log *log) {
  int err = kin__options_take(to, sizeof *to, from,
                              KIN__FIRST_SIZE(kin_lister_watcher),
                              "source: kin_lister_watcher", log);
  if (err != 0) {
    return err;
  }
  bool is_valid = to->open != NULL && to->cancel != NULL &&
                  (to->pause == NULL) == (to->resume == NULL);
  return is_valid
             ? 0
             : kin__log_problem(log, KIN_EINVAL, "source: lacks a function");
}

void kin__feed_touch(kin_feed *feed) {
  feed->last_byte_ms = kin__env_now_ms(feed->env);
  if (feed->request != KIN__REQUEST_WATCH) {
    kin__feed_mind_time(feed);
  }
}

int kin_feed_open(kin_feed *feed) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  if (!kin__feed_is_open(feed)) {
    return KIN_ECLOSED;
  }
  kin__feed_touch(feed);
  if (!feed->is_granted) {
    kin__feed_opened(feed, 0);
  }
  return kin__feed_is_open(feed) ? 0 : KIN_ECLOSED;
}

/* Begins an input of the open request, which must be of this kind. The first
 * input opens the request if the source has not. Errors: KIN_ECLOSED. */
static int enter(kin_feed *feed, bool is_for_watch) {
  return kin__is_watch(feed->request) == is_for_watch ? kin_feed_open(feed)
                                                      : KIN_ECLOSED;
}

/* Bytes of an incomplete object are progress of a stream. */
void kin__feed_received(kin_feed *feed, size_t bytes) {
  kin__feed_touch(feed);
  feed->counters.received_bytes += bytes;
  if (feed->request == KIN__REQUEST_STREAM) {
    kin__listwatch_heard(&feed->listwatch, KIN__NEWS_BYTES);
  }
}

int kin_feed_received(kin_feed *feed, size_t bytes) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  if (!kin__feed_is_open(feed)) {
    return KIN_ECLOSED;
  }
  kin__feed_received(feed, bytes);
  return 0;
}

static int take(kin_feed *feed, kin__decoded_type type,
                const kin_object *object) {
  if (object == NULL) {
    kin__feed_give_up(feed, KIN_EINVAL, "");
    return KIN_EINVAL;
  }
  kin_str uid = kin_object_uid(object);
  kin_str version = kin_object_resource_version(object);
  if (kin__feed_is_foreign(feed, uid)) {
    return kin__feed_pass(feed, type, version);
  }
  const kin_object *cached = NULL;
  bool is_cacheable =
      type != KIN__DECODED_DELETED && feed->owner->cached != NULL;
  if (is_cacheable && uid.length > 0 && version.length > 0) {
    cached = feed->owner->cached(feed, kin_object_key(object), uid, version);
  }
  const kin_object *taken = cached != NULL ? cached : object;
  int err = kin__feed_take(feed, type, kin__object_ref(taken), cached != NULL);
  if (err != 0) {
    kin__feed_give_up(feed, err, kin_object_key(object).data);
  }
  return err;
}

int kin_feed_item(kin_feed *feed, const kin_object *object) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  int err = enter(feed, false);
  if (err != 0) {
    return err;
  }
  bool is_unused = feed->request == KIN__REQUEST_VERIFY ||
                   feed->request == KIN__REQUEST_PROOF;
  if (is_unused && object != NULL) {
    return 0;
  }
  return take(feed, KIN__DECODED_LISTED, object);
}

int kin_feed_list_end(kin_feed *feed, const char *version,
                      const char *continue_token) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  int err = enter(feed, false);
  if (err != 0) {
    return err;
  }
  version = kin__or_default(version, "");
  continue_token = kin__or_default(continue_token, "");
  if (strlen(version) >= KIN__VERSION_SIZE ||
      strlen(continue_token) >= KIN__TOKEN_SIZE) {
    kin__feed_give_up(feed, KIN_ETOOBIG, "");
    return KIN_ETOOBIG;
  }
  kin__feed_end_list(feed, version, continue_token);
  return 0;
}

int kin_feed_event(kin_feed *feed, kin_watch_event_type type,
                   const kin_object *object) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  int err = enter(feed, true);
  if (err != 0) {
    return err;
  }
  switch (type) {
  case KIN_WATCH_ADDED:
    return take(feed, KIN__DECODED_ADDED, object);
  case KIN_WATCH_MODIFIED:
    return take(feed, KIN__DECODED_MODIFIED, object);
  case KIN_WATCH_DELETED:
    return take(feed, KIN__DECODED_DELETED, object);
  default:
    break;
  }
  kin__feed_give_up(feed, KIN_EINVAL, "");
  return KIN_EINVAL;
}

int kin_feed_bookmark(kin_feed *feed, kin_str version, bool is_initial_end) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  version = kin__str_given(version);
  int err = enter(feed, true);
  if (err != 0) {
    return err;
  }
  err = kin__feed_take_bookmark(feed, version, is_initial_end);
  if (err != 0) {
    kin__feed_give_up(feed, err, "");
  }
  return err;
}

int kin_feed_watch_end(kin_feed *feed) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  int err = enter(feed, true);
  if (err != 0) {
    return err;
  }
  kin__feed_end_watch(feed);
  return 0;
}

/* A failure with a status is treated like an API server's response. A reason
 * that stands for a status is as good as one, and comes before KIN_EGONE. */
static void make_failure(const kin_feed *feed, const kin_feed_error *error,
                         kin__failure *failure) {
  char what[256];
  kin__feed_describe(feed, what, sizeof what);
  int64_t retry_after_s =
      error->retry_after_s > 0 ? (int64_t)error->retry_after_s : -1;
  kin__status status;
  kin__status_make(&status, error->status, kin__or_default(error->reason, ""),
                   kin__or_default(error->message, ""));
  kin__failure_from_status(failure, &status, retry_after_s, what);
  if (failure->status == 0 && error->code == KIN_EGONE) {
    status.code = 410;
    status.is_expired = true; /* also beside a reason as "Conflict" */
    kin__failure_from_status(failure, &status, retry_after_s, what);
  }
  failure->is_put_off = kin__is_put_off(failure->status, retry_after_s);
  if (failure->status == 0 && error->code < 0) {
    kin__failure_from_code(failure, error->code, what, "");
    snprintf(failure->reason, sizeof failure->reason, "%s", status.reason);
    size_t length = strlen(failure->message);
    const char *why = kin__or_default(error->message, "");
    snprintf(failure->message + length, sizeof failure->message - length,
             "%s%s", why[0] != '\0' ? ": " : "", why);
    kin__put_on_one_line(failure->message);
    failure->retry_after_s = retry_after_s;
  }
  if (error->error_class != KIN_CLASS_NONE) {
    failure->error_class = error->error_class;
  }
}

static int copy_error(kin_feed_error *to, const kin_feed_error *from) {
  int err =
      kin__options_copy(to, sizeof *to, from, KIN__FIRST_SIZE(kin_feed_error));
  if (err != 0) {
    return err;
  }
  bool is_class =
      to->error_class >= KIN_CLASS_NONE && to->error_class <= KIN_CLASS_MEMORY;
  return is_class ? 0 : KIN_EINVAL;
}

int kin_feed_fail(kin_feed *feed, const kin_feed_error *error, bool is_event) {
  if (feed == NULL) {
    return KIN_EINVAL;
  }
  if (!kin__feed_is_open(feed)) {
    return KIN_ECLOSED;
  }
  kin_feed_error copy;
  int err = copy_error(&copy, error);
  if (err != 0) {
    copy = (kin_feed_error){.code = err};
  }
  kin__failure failure;
  make_failure(feed, &copy, &failure);
  kin__listwatch_input_type type = KIN__INPUT_FAILED;
  if (is_event && kin__is_watch(feed->request)) {
    (void)kin_feed_open(feed);
    type = KIN__INPUT_ERROR_EVENT;
  }
  kin__feed_end_failed(feed, type, &failure);
  return err;
}
