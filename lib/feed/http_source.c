/* SPDX-License-Identifier: MIT */
#include "feed/http_source.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "feed/feed.h"
#include "feed/http_source_core.h"

#define MAX_TARGET_BYTES (512u << 10)
/* Limits of an error body. A body over a limit is ended there, because a server
 * that never ends it must not hide the error. */
#define MAX_ERROR_BODY (64u << 10)
#define MAX_ERROR_BODY_MS 10000u
/* A body that is no watch is given up if MAX_SLOW_MS bring less than SLOW_BYTES.
 * A longer time between two reads counts as SLOW_GAP_MS, because a stopped
 * process is no slow server, and response_timeout_ms may allow it. */
#define SLOW_BYTES (10u << 10)
#define MAX_SLOW_MS 600000u
#define SLOW_GAP_MS 5000u
/* Longer waits for a token are logged: as debug, and as info. */
#define QUIET_WAIT_NS 50000000u
#define LOUD_WAIT_NS 1000000000u

static void forget_pending(kin__http_source *source) {
  kin__http_pending *pending = source->pending;
  source->pending = NULL;
  if (pending != NULL) {
    const kin__env *env = source->env;
    kin__timer_stop(env->timers, &pending->error_timer);
    kin__buf_finish(&pending->target);
    kin__buf_finish(&pending->error_body);
    kin__free(env->allocator, pending);
  }
}

static void forget_request(kin__http_source *source) {
  forget_pending(source);
  source->exchange = NULL;
  kin__object_unref(source->known);
  source->known = NULL;
  kin__http_source_drop_decoders(source);
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

/* Both values come from the server; only visible ASCII is shown. */
static void refuse_content(kin_feed *feed, const kin__response_head *head) {
  kin_str value = head->is_identity ? head->content_type : head->encoding;
  char shown[64] = "";
  for (size_t i = 0; i < value.length && i + 1 < sizeof shown; i++) {
    char c = value.data[i];
    shown[i] = (char)(c >= ' ' && c <= '~' ? c : '?');
  }
  kin__failure failure;
  char what[256];
  kin__feed_describe(feed, what, sizeof what);
  kin__failure_from_code(&failure, KIN_ECONTENT, what, "");
  size_t length = strlen(failure.message);
  snprintf(failure.message + length, sizeof failure.message - length,
           ", %s %s%s", head->is_identity ? "type" : "encoding", shown,
           head->is_gzip ? " (built without zlib)" : "");
  kin__feed_break(feed, KIN__INPUT_FAILED, &failure);
}

/* Errors: KIN_ENOMEM. */
static int keep_error_body(kin__http_source *source, const char *bytes,
                           size_t length) {
  size_t room = MAX_ERROR_BODY - source->pending->error_body.length;
  return kin__buf_append(&source->pending->error_body, bytes,
                         length < room ? length : room);
}

static kin_str body_of(const kin__http_source *source) {
  const kin__buf *body = &source->pending->error_body;
  return kin__str(body->data, body->length);
}

/* The failure that an error response describes. */
static void read_error_response(const kin__http_source *source,
                                kin__failure *failure) {
  kin__status status;
  char what[256];
  kin_str body = body_of(source);
  kin__feed_describe(source->feed, what, sizeof what);
  if (kin__status_parse(&status, source->env->allocator, body) != 0 ||
      !status.is_failure) {
    kin__status_from_response(&status, source->http_status, body);
  }
  if (source->http_status < 300 && body.length == 0) {
    snprintf(status.message, sizeof status.message,
             "the server answered %d, not 200", source->http_status);
  }
  kin__status_default_code(&status, source->http_status);
  kin__failure_from_status(failure, &status, source->retry_after_s, what);
  failure->is_put_off =
      kin__is_put_off(source->http_status, source->retry_after_s);
}

/* The body has no end, or cannot be read: the feed breaks the request. */
static void break_error_response(kin__http_source *source) {
  kin__failure failure;
  read_error_response(source, &failure);
  kin__feed_break(source->feed, KIN__INPUT_FAILED, &failure);
}

static void on_error_timer(kin__timer *timer) {
  kin__http_source *source =
      KIN__CONTAINER_OF(timer, kin__http_pending, error_timer)->source;
  if (!kin__timer_delay(source->env->timers, timer)) {
    break_error_response(source);
  }
}

static void on_head(void *ctx, const kin__response_head *head) {
  kin__http_source *source = ctx;
  kin_feed *feed = source->feed;
  source->http_status = head->status;
  source->retry_after_s = head->retry_after_s;
  kin__feed_touch(feed);
  if (!kin__feed_take_address(feed, head->server_address,
                              head->status == 200)) {
    kin__feed_refuse(feed, KIN_EGONE,
                     "the server has another address, and may be another "
                     "cluster");
  } else if (head->status != 200 && !head->is_identity) {
    break_error_response(source); /* the body would be no text for people */
  } else if (head->status != 200) {
    kin__timer_start(source->env->timers, &source->pending->error_timer,
                     kin__env_now_ms(source->env) + MAX_ERROR_BODY_MS);
  } else if (!is_json(head->content_type) || !head->is_identity) {
    refuse_content(feed, head);
  } else {
    kin__feed_opened(feed, head->connection);
  }
}

static bool has_status_body(const kin__http_source *source) {
  return source->pending != NULL && source->pending->search.is_status;
}

/* The failure that a Status in a 200's body is (RE-03). As in client-go, every
 * Status is an error that is no Success. KIN_EUNEXPECTED: a Success, another
 * group's object, or not complete. */
static void read_status_body(const kin__http_source *source, const char *what,
                             kin__failure *failure) {
  kin__status status;
  int err = kin__status_parse(&status, source->env->allocator, body_of(source));
  bool is_other = status.is_success || status.is_foreign;
  if (err == 0 && (status.is_failure || !is_other)) {
    kin__failure_from_status(failure, &status, source->retry_after_s, what);
  } else {
    kin__failure_from_code(failure, err != 0 ? err : KIN_EUNEXPECTED, what, "");
  }
}

/* Such an error ends the answer even if the response goes on. */
static void end_with_status(kin__http_source *source) {
  kin__failure failure;
  char what[256];
  kin__feed_describe(source->feed, what, sizeof what);
  read_status_body(source, what, &failure);
  kin__feed_break(source->feed, KIN__INPUT_FAILED, &failure);
}

/* Keeps the bytes of a body that is a Status, or may be one. Returns whether
 * the body is none. Nearly every list and watch shows that in its first piece,
 * which is not copied. */
static bool is_no_status(kin__http_source *source, const char *bytes,
                         size_t length, int *err) {
  kin__http_pending *pending = source->pending;
  bool is_first = pending->error_body.length == 0;
  *err = 0;
  if (is_first &&
      !kin__status_may_begin(&pending->search, kin__str(bytes, length))) {
    return true;
  }
  *err = keep_error_body(source, bytes, length);
  if (*err != 0 || pending->search.is_status) {
    return false;
  }
  return !kin__status_may_begin(&pending->search, body_of(source)) ||
         (!pending->search.is_status &&
          pending->error_body.length == MAX_ERROR_BODY);
}

/* Whether the bytes belong to a Status in place of the list or watch. As long
 * as that is not known, the decoder gets them, too. */
static bool take_status_body(kin__http_source *source, const char *bytes,
                             size_t length) {
  kin__http_pending *pending = source->pending;
  if (pending == NULL) {
    return false;
  }
  kin__buf *body = &pending->error_body;
  size_t at = pending->search.is_status ? body->length : 0;
  int err;
  if (is_no_status(source, bytes, length, &err)) {
    forget_pending(source);
    return false;
  }
  if (err != 0) {
    kin__feed_give_up(source->feed, err, "");
    return true;
  }
  if (!pending->search.is_status) {
    return false;
  }
  bool has_ended;
  at += kin__status_ends(&pending->search, body->data + at, body->length - at,
                         &has_ended);
  if (has_ended) {
    body->length = at;
    end_with_status(source);
  } else if (body->length == MAX_ERROR_BODY) {
    kin__feed_give_up(source->feed, KIN_EUNEXPECTED, "");
  }
  return true;
}

/* A server that trickles would keep a list, or a check of the position, for
 * ever. */
static bool is_too_slow(kin__http_source *source, size_t length,
                        uint64_t gap_ms) {
  if (source->slow_bytes + length >= SLOW_BYTES) {
    source->slow_bytes = 0;
    source->slow_ms = 0;
  } else {
    source->slow_bytes += (uint16_t)length;
    source->slow_ms += (uint32_t)(gap_ms < SLOW_GAP_MS ? gap_ms : SLOW_GAP_MS);
  }
  return source->slow_ms >= MAX_SLOW_MS && !source->is_watch;
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  kin__http_source *source = ctx;
  kin_feed *feed = source->feed;
  uint64_t last_ms = feed->last_byte_ms;
  source->has_body = true;
  kin__feed_received(feed, length);
  if (is_too_slow(source, length, feed->last_byte_ms - last_ms)) {
    kin__feed_refuse(feed, KIN_ETIMEDOUT,
                     "less than 10 KiB have come in 10 minutes");
    return;
  }
  if (source->http_status != 200) {
    /* Without memory the body ends here: a later piece would close the gap. */
    if (keep_error_body(source, bytes, length) != 0 ||
        source->pending->error_body.length == MAX_ERROR_BODY) {
      break_error_response(source);
    }
    return;
  }
  if (take_status_body(source, bytes, length)) {
    return;
  }
  kin__http_source_parse(source, bytes, length);
}

static void end_with_code(kin_feed *feed, int code, const char *what) {
  kin__failure failure;
  kin__failure_from_code(&failure, code, what, "");
  kin__feed_end_failed(feed, KIN__INPUT_FAILED, &failure);
}

static void end_empty(kin_feed *feed, const char *what) {
  kin__failure failure;
  kin__failure_from_code(&failure, KIN_ETRUNCATED, what, "");
  snprintf(failure.message, sizeof failure.message,
           "%s: the server's answer is empty, 0 bytes long", what);
  kin__feed_end_failed(feed, KIN__INPUT_FAILED, &failure);
}

static void on_list_end(kin__http_source *source, kin__list_decoder *decoder,
                        const char *what) {
  kin__list_result result;
  if (!source->has_body) {
    end_empty(source->feed, what); /* RE-03 */
    return;
  }
  int err = kin__list_decoder_end(decoder, &result);
  if (err != 0) {
    end_with_code(source->feed, err, what);
  } else if (result.token[0] == '\0' && !source->is_verify &&
             kin__http_source_is_useless(source)) {
    end_with_code(source->feed, KIN_EKEY, what);
  } else {
    kin__feed_note_selection(source->feed, result.is_sharded);
    kin__feed_end_list(source->feed, result.version, result.token);
  }
}

/* A body that ends inside a frame was cut off. The next watch brings the frame
 * again (WS-05). */
static void on_watch_end(kin__http_source *source, bool is_in_frame,
                         const char *what) {
  if (is_in_frame) {
    end_with_code(source->feed, KIN_EEOF, what);
  } else {
    kin__feed_end_watch(source->feed);
  }
}

/* The failure that the end of an answer tells; false: none so far. */
static bool read_failure(const kin__http_source *source, const char *what,
                         const kin__exchange_error *error,
                         kin__failure *failure) {
  if (source->http_status != 200 &&
      kin__exchange_has_status(error, source->http_status)) {
    read_error_response(source, failure);
  } else if (error != NULL) {
    kin__failure_from_exchange(failure, error);
  } else if (has_status_body(source)) {
    read_status_body(source, what, failure);
  } else {
    return false;
  }
  return true;
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  kin__http_source *source = ctx;
  kin__failure failure;
  char what[256];
  kin__feed_describe(source->feed, what, sizeof what);
  bool has_failed = read_failure(source, what, error, &failure);
  bool is_in_frame = source->watch_decoder != NULL;
  kin__list_decoder *list = source->list_decoder;
  source->list_decoder = NULL;
  forget_request(source);
  if (has_failed) {
    kin__feed_end_failed(source->feed, KIN__INPUT_FAILED, &failure);
  } else if (source->is_watch) {
    on_watch_end(source, is_in_frame, what);
  } else {
    on_list_end(source, list, what);
  }
  kin__list_decoder_free(list);
}

/* --- The lister-watcher --------------------------------------------------- */

static const kin__exchange_callbacks callbacks = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end};

/* A read is one piece of work, and compact storage packs all objects in it. So
 * 16 KiB or 4 KiB are read at a time. */
static uint8_t read_shift_of(const kin__http_source *source) {
  static const uint8_t shifts[] = {
      [KIN_COMPACT_OFF] = 0, [KIN_COMPACT_FAST] = 2, [KIN_COMPACT_SMALL] = 4};
  return shifts[source->settings->options.compact];
}

static int send_request(kin__http_source *source) {
  kin__request http = {.target = source->pending->target.data,
                       .accept = kin__target_accept(&source->settings->resource,
                                                    source->is_watch),
                       .is_watch = source->is_watch,
                       .read_shift = read_shift_of(source)};
  const kin__transport_ops *transport = &source->env->transport;
  int err = transport->start(transport->ctx, &http, &callbacks, source,
                             &source->exchange);
  kin__buf_finish(&source->pending->target);
  if (err == 0 && source->is_paused) {
    transport->pause(source->exchange);
  }
  return err;
}

/* RQ-07: all requests but the first try of a watch take a token. A streamed
 * list counts as a list. The limiter comes after the gate of the lists, so that
 * a token is used as soon as it is taken. Returns whether the request may be sent
 * at once. */
static bool enter_limiter(kin__http_source *source) {
  const kin_feed *feed = source->feed;
  kin__limiter *limiter = source->env->limiter;
  bool is_free = kin__feed_request_kind(feed) == KIN__REQUEST_WATCH &&
                 !kin__feed_is_retry(feed);
  return limiter == NULL || is_free ||
         kin__limiter_enter(limiter, &source->pending->turn);
}

/* CN-08. */
static void log_wait(const kin__http_source *source, uint64_t waited_ns) {
  if (waited_ns > QUIET_WAIT_NS) {
    char what[256];
    kin__feed_describe(source->feed, what, sizeof what);
    kin__log_write(source->env->log,
                   waited_ns > LOUD_WAIT_NS ? KIN_LOG_INFO : KIN_LOG_DEBUG,
                   "%s: waited %llu ms, for the client's own limit (qps_milli)",
                   what, (unsigned long long)(waited_ns / 1000000u));
  }
}

static void on_turn(kin__limiter_visitor *visitor, uint64_t waited_ns) {
  kin__http_source *source =
      KIN__CONTAINER_OF(visitor, kin__http_pending, turn)->source;
  log_wait(source, waited_ns);
  kin__feed_sent_late(source->feed);
  int err = send_request(source);
  if (err != 0) {
    forget_request(source);
    end_with_code(source->feed, err, source->feed->resource->plural);
  }
}

/* No object has this name. The old selector comes first, because the server
 * authorizes by the first name in the selector. */
static int select_nothing(kin__buf *selector, const char *also) {
  int err = kin__buf_append_cstr(selector, also);
  if (err == 0) {
    err = kin__buf_append_cstr(selector, also[0] != '\0' ? "," : "");
  }
  return err == 0 ? kin__buf_append_cstr(selector, "metadata.name=-") : err;
}

static int make_target(kin__http_source *source, const char *namespace_,
                       kin__query *query) {
  kin__buf selector;
  kin__buf_init(&selector, source->env->allocator, MAX_TARGET_BYTES);
  int err = 0;
  if (kin__feed_request_kind(source->feed) == KIN__REQUEST_PROOF) {
    err = select_nothing(&selector, kin__or_default(query->field_selector, ""));
    if (err == 0) {
      err = kin__buf_append(&selector, "", 1);
    }
    query->field_selector = selector.data;
  }
  if (err == 0) {
    err = kin__target_write(&source->pending->target,
                            &source->settings->resource, namespace_, query);
  }
  kin__buf_finish(&selector);
  return err;
}

static int make_pending(kin__http_source *source) {
  const kin_allocator *allocator = source->env->allocator;
  kin__http_pending *pending = kin__calloc(allocator, 1, sizeof *pending);
  if (pending == NULL) {
    return KIN_ENOMEM;
  }
  pending->source = source;
  kin__limiter_visitor_init(&pending->turn, on_turn);
  kin__timer_init(&pending->error_timer, on_error_timer);
  kin__buf_init(&pending->target, allocator, MAX_TARGET_BYTES);
  kin__buf_init(&pending->error_body, allocator, MAX_ERROR_BODY);
  source->pending = pending;
  return 0;
}

static int open_request(void *ctx, const kin_feed_request *request,
                        kin_feed *feed, void **out) {
  kin__http_source *source = ctx;
  kin__query query = {.label_selector = request->label_selector,
                      .field_selector = request->field_selector,
                      .parameters = request->parameters,
                      .parameter_count = request->parameter_count,
                      .version = request->resource_version,
                      .version_match = request->resource_version_match,
                      .token = request->continue_token,
                      .limit = request->limit,
                      .is_watch = request->is_watch,
                      .sends_initial_events = request->send_initial_events,
                      .timeout_s = request->timeout_s};
  source->feed = feed;
  source->is_watch = request->is_watch;
  source->is_paused = false;
  kin__request_kind kind = kin__feed_request_kind(feed);
  source->is_verify = kind == KIN__REQUEST_VERIFY || kind == KIN__REQUEST_PROOF;
  source->http_status = 0;
  source->has_body = false;
  source->slow_bytes = 0;
  source->slow_ms = 0;
  if (!source->is_verify && request->continue_token[0] == '\0') {
    source->has_usable = false;
    source->has_bad = false;
  }
  int err = make_pending(source);
  if (err == 0) {
    err = make_target(source, request->namespace_, &query);
  }
  if (err != 0) {
    forget_pending(source);
    return err;
  }
  *out = source;
  if (!enter_limiter(source)) {
    kin__feed_delayed(feed);
    return 0;
  }
  err = send_request(source);
  if (err != 0) {
    forget_pending(source);
  }
  return err;
}

static void cancel_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  if (source->exchange != NULL) {
    source->env->transport.cancel(source->exchange);
  } else {
    kin__limiter_leave(source->env->limiter, &source->pending->turn);
  }
  forget_request(source);
}

static void pause_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  source->is_paused = true;
  if (source->exchange != NULL) {
    source->env->transport.pause(source->exchange);
  }
}

static void resume_request(void *ctx, void *answer) {
  kin__http_source *source = ctx;
  (void)answer;
  source->is_paused = false;
  if (source->exchange != NULL) {
    source->env->transport.resume(source->exchange);
  }
}

const kin_lister_watcher *kin__http_source_lister_watcher(void) {
  static const kin_lister_watcher functions = {.size = sizeof functions,
                                               .open = open_request,
                                               .cancel = cancel_request,
                                               .pause = pause_request,
                                               .resume = resume_request,
                                               .watch_list = true};
  return &functions;
}

void kin__http_source_init(kin__http_source *source, const kin__env *env,
                           const kin__settings *settings) {
  *source = (kin__http_source){
      .env = env, .memory = env->memory, .settings = settings};
}
