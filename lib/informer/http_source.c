/* SPDX-License-Identifier: MIT */
#include "informer/http_source.h"

#include <string.h>

#include "base/str.h"
#include "informer/feed.h"

#define MAX_TARGET_BYTES (512u << 10)
/* Of a body that is an error and not a list; more is cut off. */
#define MAX_ERROR_BODY (64u << 10)

/* A decoder callback that returns this ends the body on purpose: an ERROR event
 * came. Internal; never leaves this file. */
#define STOP_READING (-6000)

/* Items of a list of a built-in type lack kind and apiVersion, which the next
 * event of the object brings: `"kind":"Pod","apiVersion":"v1",`. */
#define KIND_BYTES 32u

static void forget_request(kin__http_source *source) {
  source->exchange = NULL;
  kin_object_unref(source->known);
  source->known = NULL;
}

/* --- The decoders' sink --------------------------------------------------- */

/* Of a watch's events those that change nothing are rare, and found when they
 * are processed, by a look-up that is needed anyway. */
static bool sink_known(void *ctx, const kin__object_parts *identity) {
  kin__http_source *source = ctx;
  if (source->is_watch && source->feed->request != KIN__REQUEST_STREAM) {
    return false;
  }
  const kin_object *cached = kin__feed_cached(source->feed, identity);
  if (cached == NULL) {
    return false;
  }
  kin_object_unref(source->known);
  source->known = kin_object_ref(cached);
  return true;
}

size_t kin__http_source_headroom(kin__decoded_type type, kin_str body) {
  static const char start[] = "{\"metadata\"";
  size_t length = sizeof start - 1;
  bool lacks_kind = type == KIN__DECODED_LISTED && body.length >= length &&
                    memcmp(body.data, start, length) == 0;
  return lacks_kind ? KIND_BYTES : 0;
}

/* The object of a sink call, with a reference: the cached one if it is
 * known. */
static int take_object(kin__http_source *source, kin__decoded_type type,
                       const kin__object_parts *parts, kin_object **object) {
  if (parts->body.data == NULL) {
    *object = source->known;
    source->known = NULL;
    return 0;
  }
  kin__object_parts sized = *parts;
  sized.headroom = kin__http_source_headroom(type, parts->body);
  return kin__object_new(object, source->memory, &sized);
}

static int sink_object(void *ctx, kin__decoded_type type,
                       const kin__object_parts *parts) {
  kin__http_source *source = ctx;
  if (source->is_verify) {
    return 0;
  }
  bool is_cached = parts->body.data == NULL;
  kin_object *object;
  int err = take_object(source, type, parts, &object);
  return err == 0 ? kin__feed_take(source->feed, type, object, is_cached) : err;
}

static int sink_bookmark(void *ctx, kin_str version, bool initial_events_end) {
  kin__http_source *source = ctx;
  return kin__feed_take_bookmark(source->feed, version, initial_events_end);
}

static int sink_error(void *ctx, const kin__status *status) {
  kin__http_source *source = ctx;
  source->error_event = *status;
  return STOP_READING;
}

/* --- The response --------------------------------------------------------- */

static bool is_json(kin_str content_type) {
  static const char json[] = "application/json";
  size_t length = sizeof json - 1;
  if (content_type.length == 0) {
    return true; /* WS-02 */
  }
  if (content_type.length < length ||
      !kin__str_equal_nocase(kin__str(content_type.data, length),
                             kin__str(json, length))) {
    return false;
  }
  return content_type.length == length || content_type.data[length] == ';' ||
         content_type.data[length] == ' ';
}

static void on_head(void *ctx, const kin__response_head *head) {
  kin__http_source *source = ctx;
  kin_feed *feed = source->feed;
  source->http_status = head->status;
  source->retry_after_s = head->retry_after_s;
  feed->last_byte_ms = kin__env_now_ms(source->env);
  kin__buf_reset(&source->error_body, 0);
  if (head->status != 200) {
    return;
  }
  if (!is_json(head->content_type) || !head->is_identity) {
    kin__feed_give_up(feed, KIN_ECONTENT, "");
    return;
  }
  kin__feed_opened(feed);
}

static void on_error_event(kin__http_source *source) {
  kin__failure failure;
  char what[256];
  kin__feed_describe(source->feed, what, sizeof what);
  kin__failure_from_status(&failure, &source->error_event, -1, what);
  kin__feed_break(source->feed, KIN__INPUT_ERROR_EVENT, &failure);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  kin__http_source *source = ctx;
  kin_feed *feed = source->feed;
  kin__feed_received(feed, length);
  if (source->http_status != 200) {
    size_t room = MAX_ERROR_BODY - source->error_body.length;
    /* Without memory the message stays short. */
    (void)kin__buf_append(&source->error_body, bytes,
                          length < room ? length : room);
    return;
  }
  int err = source->is_watch
                ? kin__watch_decoder_feed(source->watch_decoder, bytes, length)
                : kin__list_decoder_feed(source->list_decoder, bytes, length);
  if (err == KIN_ECLOSED) {
    return; /* the source may be at the next request already */
  }
  if (err == STOP_READING) {
    on_error_event(source);
  } else if (err != 0) {
    kin__feed_give_up(
        feed, err,
        source->is_watch ? kin__watch_decoder_key_in_hand(source->watch_decoder)
                         : kin__list_decoder_key_in_hand(source->list_decoder));
  }
}

static void end_with_code(kin_feed *feed, int code, const char *what) {
  kin__failure failure;
  kin__failure_from_code(&failure, code, what, "");
  kin__feed_end_failed(feed, KIN__INPUT_FAILED, &failure);
}

static void on_error_response(kin__http_source *source, const char *what) {
  kin__status status;
  kin_str body = kin__str(source->error_body.data, source->error_body.length);
  if (!kin__status_parse(&status, source->env->allocator, body) ||
      !status.is_failure) {
    kin__status_from_response(&status, source->http_status, body);
  }
  if (status.code == 0) {
    status.code = source->http_status;
  }
  kin__failure failure;
  kin__failure_from_status(&failure, &status, source->retry_after_s, what);
  kin__feed_end_failed(source->feed, KIN__INPUT_FAILED, &failure);
}

static void on_list_end(kin__http_source *source, const char *what) {
  kin__list_result result;
  int err = kin__list_decoder_end(source->list_decoder, &result);
  if (err != 0) {
    end_with_code(source->feed, err, what);
  } else {
    kin__feed_end_list(source->feed, result.version, result.token);
  }
}

/* A body that ends inside a frame was cut off; the frame is sent again by the
 * next watch (WS-05). */
static void on_watch_end(kin__http_source *source, const char *what) {
  if (kin__watch_decoder_is_between(source->watch_decoder)) {
    kin__feed_end_watch(source->feed);
  } else {
    end_with_code(source->feed, KIN_EEOF, what);
  }
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  kin__http_source *source = ctx;
  char what[256];
  kin__feed_describe(source->feed, what, sizeof what);
  forget_request(source);
  if (error != NULL) {
    kin__failure failure;
    kin__failure_from_exchange(&failure, error);
    kin__feed_end_failed(source->feed, KIN__INPUT_FAILED, &failure);
  } else if (source->http_status != 200) {
    on_error_response(source, what);
  } else if (source->is_watch) {
    on_watch_end(source, what);
  } else {
    on_list_end(source, what);
  }
}

/* --- The lister-watcher --------------------------------------------------- */

/* Makes the decoder for the coming response, or readies it. */
static int ready_decoder(kin__http_source *source) {
  kin__decode_sink sink = {.ctx = source,
                           .known = sink_known,
                           .object = sink_object,
                           .bookmark = sink_bookmark,
                           .error = sink_error};
  if (source->is_watch && source->watch_decoder != NULL) {
    kin__watch_decoder_reset(source->watch_decoder);
    return 0;
  }
  if (!source->is_watch && source->list_decoder != NULL) {
    kin__list_decoder_reset(source->list_decoder);
    return 0;
  }
  const kin_allocator *allocator = source->env->allocator;
  return source->is_watch
             ? kin__watch_decoder_new(&source->watch_decoder, allocator,
                                      source->limits, source->projection, &sink)
             : kin__list_decoder_new(&source->list_decoder, allocator,
                                     source->limits, source->projection, &sink);
}

static const kin__exchange_callbacks callbacks = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end};

static int open_request(void *ctx, const kin_feed_request *request,
                        kin_feed *feed, void **out) {
  kin__http_source *source = ctx;
  kin__query query = {.version = request->resource_version,
                      .version_match = request->resource_version_match,
                      .token = request->continue_token,
                      .limit = request->limit,
                      .is_watch = request->is_watch,
                      .sends_initial_events = request->send_initial_events,
                      .timeout_s = request->timeout_s};
  source->feed = feed;
  source->is_watch = request->is_watch;
  source->is_verify = feed->request == KIN__REQUEST_VERIFY;
  source->http_status = 0;
  int err = kin__request_target(&source->target, source->resource,
                                request->namespace_, &query);
  if (err == 0) {
    err = ready_decoder(source);
  }
  if (err != 0) {
    return err;
  }
  kin__request http = {
      .target = source->target.data,
      .accept = kin__request_accept(source->resource, request->is_watch),
      .is_watch = request->is_watch};
  const kin__source *transport = &source->env->source;
  err = transport->start(transport->ctx, &http, &callbacks, source,
                         &source->exchange);
  *out = source;
  return err;
}

static void cancel_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  source->env->source.cancel(source->exchange);
  forget_request(source);
}

static void pause_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  source->env->source.pause(source->exchange);
}

static void resume_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  source->env->source.resume(source->exchange);
}

kin_lister_watcher kin__http_source_lister_watcher(kin__http_source *source) {
  return (kin_lister_watcher){.size = sizeof(kin_lister_watcher),
                              .open = open_request,
                              .cancel = cancel_request,
                              .pause = pause_request,
                              .resume = resume_request,
                              .ctx = source,
                              .watch_list = true};
}

void kin__http_source_init(kin__http_source *source, const kin__env *env,
                           const kin__resource *resource,
                           const kin__decode_limits *limits,
                           const kin__projection *projection) {
  *source = (kin__http_source){.env = env,
                               .memory = env->memory,
                               .resource = resource,
                               .limits = limits,
                               .projection = projection};
  kin__buf_init(&source->target, env->allocator, MAX_TARGET_BYTES);
  kin__buf_init(&source->error_body, env->allocator, MAX_ERROR_BODY);
}

void kin__http_source_finish(kin__http_source *source) {
  kin__list_decoder_free(source->list_decoder);
  kin__watch_decoder_free(source->watch_decoder);
  kin__buf_finish(&source->target);
  kin__buf_finish(&source->error_body);
}
