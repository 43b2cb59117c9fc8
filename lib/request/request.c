/* SPDX-License-Identifier: MIT */
/* A request's life:
 *
 *   TURN -> OPEN -> ENDED
 *    ^       |
 *    |       v
 *    +---- WAITING
 *
 * TURN waits for the client's limit of requests, OPEN for the answer, WAITING
 * for the time until the next try. Any state may go to ENDED. Then `failure`
 * holds the result, and a deferred step calls the program back and frees the
 * request. So nothing frees a request while a callback of its exchange is on
 * the stack. */
#include "request/request.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "request/answer.h"
#include "request/compose.h"

#define DEFAULT_TIMEOUT_MS 60000u
/* The wait after a connection that broke (RR-02). */
#define BROKEN_WAIT_MS 1000u
/* A server that never ends an error's body must not hide the error. */
#define MAX_ERROR_BODY_MS 10000u
#define MAX_WAIT_MS 86400000u
#define WHAT_SIZE 224u

typedef enum request_state { TURN, OPEN, WAITING, ENDED } request_state;

struct kin_request {
  kin__member member;
  kin_request_cb cb;
  kin_request_error_cb on_error;
  void *data;
  kin__composed composed;
  char if_none_match[KIN__ETAG_MAX + 1]; /* "": none */
  kin_verb verb;
  size_t max_response_bytes;
  uint32_t max_retries;
  uint32_t retries;
  uint64_t deadline_ms; /* UINT64_MAX: none */

  request_state state;
  kin__limiter_visitor turn; /* waits only in TURN */
  kin__timer deadline;
  kin__timer timer; /* WAITING: the next try; OPEN: the end of an error's
                     * body */
  void *exchange;   /* set iff OPEN */
  kin__deferred step;

  /* The answer in hand. */
  int http_status;       /* 0: no head yet */
  int64_t retry_after_s; /* of the head */
  char content_type[256];
  char etag[KIN__ETAG_MAX + 1];
  kin__buf body; /* with room for a NUL */

  bool is_refusal;      /* failure comes from an answer */
  kin__failure failure; /* code 0: success */
  char namespace_[256]; /* for on_error; cut */
  char previous[384];   /* the message of the last try; "" */
};

static const kin__env *env_of(const kin_request *request) {
  return request->member.env;
}

static void describe(const kin_request *request, char *to) {
  kin__composed_describe(&request->composed, to, WHAT_SIZE);
}

/* --- The end -------------------------------------------------------------- */

static void drop_exchange(kin_request *request) {
  kin__timer_stop(env_of(request)->timers, &request->timer);
  if (request->exchange != NULL) {
    void *exchange = request->exchange;
    request->exchange = NULL;
    env_of(request)->transport.cancel(exchange);
  }
}

/* The result is in request->failure. */
static void finish(kin_request *request) {
  const kin__env *env = env_of(request);
  request->state = ENDED;
  drop_exchange(request);
  kin__timer_stop(env->timers, &request->deadline);
  if (env->limiter != NULL) {
    kin__limiter_leave(env->limiter, &request->turn);
  }
  kin__env_defer(env, &request->step);
}

/* Of the last try only its message is kept. */
static void forget_try(kin_request *request) {
  snprintf(request->previous, sizeof request->previous, "%.*s",
           (int)sizeof request->previous - 1, request->failure.message);
  request->http_status = 0;
  request->retry_after_s = -1;
  request->content_type[0] = '\0';
  request->etag[0] = '\0';
  kin__buf_reset(&request->body, 0);
}

/* Ends the request without an answer. */
static void finish_with(kin_request *request, int code,
                        kin_error_class error_class, const char *reason) {
  kin__failure *failure = &request->failure;
  if (request->state == WAITING) {
    forget_try(request);
  }
  char what[WHAT_SIZE];
  describe(request, what);
  *failure = (kin__failure){
      .code = code, .error_class = error_class, .retry_after_s = -1};
  snprintf(failure->message, sizeof failure->message, "%s: %s", what, reason);
  request->is_refusal = false;
  finish(request);
}

/* RR-08. */
static void add_previous(kin_request *request) {
  char *message = request->failure.message;
  size_t size = sizeof request->failure.message;
  size_t length = strlen(message);
  if (request->previous[0] != '\0' &&
      strncmp(message, request->previous, sizeof request->previous - 1) != 0) {
    snprintf(message + length, size - length,
             " - error from a previous attempt: %s", request->previous);
  }
  kin__put_on_one_line(message);
}

static kin_response make_response(const kin_request *request,
                                  const kin__answer *answer) {
  const kin__failure *failure = &request->failure;
  return (kin_response){
      .size = sizeof(kin_response),
      .code = failure->code,
      .error_class = failure->error_class,
      .status = failure->status != 0 ? failure->status : request->http_status,
      .reason = answer->reason,
      .message = failure->message,
      .reason_text = failure->reason,
      .details_kind = answer->details_kind,
      .details_name = answer->details_name,
      .causes = answer->causes,
      .cause_count = answer->cause_count,
      .body = kin__str(request->body.length > 0 ? request->body.data : "",
                       request->body.length),
      .content_type = request->content_type,
      .retries = request->retries,
      .retry_after_s = failure->retry_after_s};
}

/* take_body has made the room. */
static void end_body(kin_request *request) {
  if (request->body.length > 0) {
    request->body.data[request->body.length] = '\0';
  }
}

static void call_back(kin__deferred *deferred) {
  kin_request *request = KIN__CONTAINER_OF(deferred, kin_request, step);
  const kin__env *env = env_of(request);
  kin__answer answer;
  kin__answer_init(&answer, env->allocator);
  end_body(request);
  if (request->failure.code != 0) {
    add_previous(request);
  }
  if (request->is_refusal) {
    kin__answer_read(&answer, env->allocator, &request->failure,
                     kin__str(request->body.data, request->body.length));
  }
  kin_response response = make_response(request, &answer);
  uint64_t start_ns = kin__clock_ns(&env->clock);
  request->cb(&response, request->data);
  kin__env_add_handler_time(env, start_ns);
  kin__answer_finish(&answer);
  kin__member_gone(&request->member);
}

const char *kin__request_etag(const kin_request *request) {
  return request->etag;
}

void kin__request_take_body(kin_request *request, kin__buf *body) {
  *body = request->body;
  kin__buf_init(&request->body, body->allocator, body->max_length);
}

static void on_close(kin__member *member) {
  kin_request *request = KIN__CONTAINER_OF(member, kin_request, member);
  if (request->state != ENDED) {
    finish_with(request, KIN_ECLOSED, KIN_CLASS_NONE, "the client was closed");
  }
}

static void on_free(kin__member *member) {
  kin_request *request = KIN__CONTAINER_OF(member, kin_request, member);
  kin__composed_finish(&request->composed);
  kin__buf_finish(&request->body);
  kin__free(member->env->allocator, request);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_request_cancel(kin_request *request, int code) {
  if (request == NULL || code >= 0) {
    return KIN_EINVAL;
  }
  if (request->state == ENDED) {
    return KIN_EALREADY;
  }
  finish_with(request, code, KIN_CLASS_NONE, "the program has cancelled it");
  return 0;
}

/* --- The next try --------------------------------------------------------- */

/* Asks the program. Returns whether the request is still alive. */
static bool ask_program(kin_request *request, uint64_t *wait_ms) {
  if (request->on_error == NULL) {
    return true;
  }
  const kin__env *env = env_of(request);
  const kin__failure *failure = &request->failure;
  kin_error_event event = {.size = sizeof event,
                           .code = failure->code,
                           .error_class = failure->error_class,
                           .status = failure->status,
                           .reason = failure->reason,
                           .message = failure->message,
                           .namespace_ = request->namespace_,
                           .attempt = request->retries + 1,
                           .retry_in_ms = *wait_ms};
  uint64_t start_ns = kin__clock_ns(&env->clock);
  request->on_error(&event, request->data);
  kin__env_add_handler_time(env, start_ns);
  if (request->state == ENDED) {
    return false;
  }
  if (event.answer == KIN_STOP) {
    finish(request);
    return false;
  }
  if (event.answer == KIN_RETRY_AFTER) {
    *wait_ms =
        event.retry_after_ms < MAX_WAIT_MS ? event.retry_after_ms : MAX_WAIT_MS;
  }
  return true;
}

/* A try has failed, and may be repeated. The failure is in place. */
static void wait_for_next(kin_request *request, uint64_t wait_ms) {
  request->state = WAITING;
  drop_exchange(request);
  wait_ms = wait_ms < MAX_WAIT_MS ? wait_ms : MAX_WAIT_MS;
  uint64_t now_ms = kin__env_now_ms(env_of(request));
  uint64_t left_ms =
      request->deadline_ms > now_ms ? request->deadline_ms - now_ms : 0;
  bool may_wait = request->retries < request->max_retries && wait_ms < left_ms;
  if (may_wait && !ask_program(request, &wait_ms)) {
    return;
  }
  if (!may_wait || wait_ms >= left_ms) {
    finish(request);
    return;
  }
  request->retries++;
  forget_try(request);
  kin__timer_start(env_of(request)->timers, &request->timer, now_ms + wait_ms);
}

/* --- The answer ----------------------------------------------------------- */

/* The answer has come; of an error's body perhaps only the first part: then the
 * exchange is dropped. */
static void take_answer(kin_request *request) {
  kin__raw_answer raw = {
      .http_status = request->http_status,
      .retry_after_s = request->retry_after_s,
      .content_type = kin__cstr(request->content_type),
      .body = kin__str(request->body.data, request->body.length)};
  char what[WHAT_SIZE];
  describe(request, what);
  request->is_refusal =
      kin__answer_is_failure(&request->failure, env_of(request)->allocator,
                             &raw, request->verb == KIN_VERB_CREATE, what);
  if (!request->is_refusal) {
    request->failure = (kin__failure){.code = 0, .retry_after_s = -1};
    finish(request);
  } else if (kin__is_put_off(request->http_status, request->retry_after_s)) {
    wait_for_next(request, (uint64_t)request->retry_after_s * 1000);
  } else {
    finish(request);
  }
}

static bool is_error_status(const kin_request *request) {
  return request->http_status >= 300;
}

/* A refusal whose body has not ended is told by its head and what has come. */
static void on_deadline(kin__timer *timer) {
  kin_request *request = KIN__CONTAINER_OF(timer, kin_request, deadline);
  bool is_open = request->state == OPEN;
  if (is_open && kin__timer_delay(env_of(request)->timers, timer)) {
    return;
  }
  if (is_open && is_error_status(request)) {
    take_answer(request);
  } else {
    finish_with(request, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                request->state == TURN
                    ? "no turn in the client's limit of requests in time"
                    : "no answer in time");
  }
}

static void on_head(void *ctx, const kin__response_head *head) {
  kin_request *request = ctx;
  request->http_status = head->status;
  request->retry_after_s = head->retry_after_s;
  snprintf(request->content_type, sizeof request->content_type, KIN_STR_FORMAT,
           KIN_STR_ARG(head->content_type));
  snprintf(request->etag, sizeof request->etag, KIN_STR_FORMAT,
           KIN_STR_ARG(head->etag));
  bool is_encoded = !head->is_identity && request->verb != KIN_VERB_HEAD;
  if (is_error_status(request) && is_encoded) {
    take_answer(request); /* the body would be no text for people */
  } else if (is_error_status(request)) {
    kin__timer_start(env_of(request)->timers, &request->timer,
                     kin__env_now_ms(env_of(request)) + MAX_ERROR_BODY_MS);
  } else if (is_encoded) {
    char reason[128];
    snprintf(reason, sizeof reason, "%s: " KIN_STR_FORMAT "%s",
             kin_strerror(KIN_ECONTENT), KIN_STR_ARG(head->encoding),
             head->is_gzip ? " (built without zlib)" : "");
    finish_with(request, KIN_ECONTENT, KIN_CLASS_PROTOCOL, reason);
  }
}

/* Keeps bytes, and room for a NUL. */
static int take_body(kin_request *request, const char *bytes, size_t length) {
  int err = kin__buf_reserve(&request->body, length + 1);
  return err == 0 ? kin__buf_append(&request->body, bytes, length) : err;
}

static void refuse_body(kin_request *request, int code) {
  char reason[128];
  if (code == KIN_ETOOBIG) {
    snprintf(reason, sizeof reason,
             "the answer is over %zu bytes (max_response_bytes)",
             request->max_response_bytes);
  } else {
    snprintf(reason, sizeof reason, "%s", kin_strerror(code));
  }
  kin__buf_reset(&request->body, 0);
  finish_with(request, code,
              code == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_DECODE, reason);
}

/* Without memory the body ends here: a later piece would close the gap. */
static void take_error_body(kin_request *request, const char *bytes,
                            size_t length) {
  size_t room = KIN__ANSWER_MAX_ERROR_BODY - request->body.length;
  if (take_body(request, bytes, length < room ? length : room) != 0 ||
      length >= room) {
    take_answer(request);
  }
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  kin_request *request = ctx;
  if (is_error_status(request)) {
    take_error_body(request, bytes, length);
    return;
  }
  int err = length > request->max_response_bytes - request->body.length
                ? KIN_ETOOBIG
                : take_body(request, bytes, length);
  if (err != 0) {
    refuse_body(request, err);
  }
}

/* RR-02: whether the request may be sent again although nobody asked. */
static bool is_repeatable_break(const kin_request *request, int code) {
  bool changes_nothing = request->verb == KIN_VERB_GET ||
                         request->verb == KIN_VERB_HEAD ||
                         request->verb == KIN_VERB_OPTIONS;
  return changes_nothing && kin__is_broken(code);
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  kin_request *request = ctx;
  request->exchange = NULL;
  kin__timer_stop(env_of(request)->timers, &request->timer);
  if (error == NULL ||
      (is_error_status(request) &&
       kin__exchange_has_status(error, request->http_status))) {
    take_answer(request);
    return;
  }
  char what[WHAT_SIZE];
  describe(request, what);
  kin__failure_from_exchange(&request->failure, error);
  snprintf(request->failure.message, sizeof request->failure.message, "%s: %s",
           what, error->message);
  request->is_refusal = false;
  if (!error->had_head && is_repeatable_break(request, error->code)) {
    wait_for_next(request, BROKEN_WAIT_MS);
  } else {
    finish(request); /* RE-04 */
  }
}

/* --- A try ---------------------------------------------------------------- */

static const kin__exchange_callbacks callbacks = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end};

static int send_request(kin_request *request) {
  const kin__composed *composed = &request->composed;
  const kin__env *env = env_of(request);
  const kin__request http = {.method = composed->method,
                             .target = composed->target.data,
                             .accept = composed->accept,
                             .content_type = composed->content_type,
                             .if_none_match = request->if_none_match,
                             .body = composed->body.data,
                             .body_length = composed->body.length};
  request->state = OPEN;
  return env->transport.start(env->transport.ctx, &http, &callbacks, request,
                              &request->exchange);
}

/* Sends a later try, or the first one after a wait. */
static void send_now(kin_request *request) {
  int err = send_request(request);
  if (err != 0) {
    finish_with(request, err,
                err == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_PROTOCOL,
                kin_strerror(err));
  }
}

static void on_turn(kin__limiter_visitor *visitor, uint64_t waited_ns) {
  (void)waited_ns;
  send_now(KIN__CONTAINER_OF(visitor, kin_request, turn));
}

/* Returns whether the request may be sent at once. */
static bool enter_limiter(kin_request *request) {
  kin__limiter *limiter = env_of(request)->limiter;
  request->state = TURN;
  return limiter == NULL || kin__limiter_enter(limiter, &request->turn);
}

/* The time for the next try has come, or an error's body takes too long. */
static void on_timer(kin__timer *timer) {
  kin_request *request = KIN__CONTAINER_OF(timer, kin_request, timer);
  if (request->state == OPEN) {
    if (!kin__timer_delay(env_of(request)->timers, timer)) {
      take_answer(request);
    }
  } else if (enter_limiter(request)) {
    send_now(request);
  }
}

/* --- The start ------------------------------------------------------------ */

static void set_limits(kin_request *request, const kin_request_spec *spec) {
  const kin__env *env = env_of(request);
  uint32_t timeout_ms =
      spec->timeout_ms != 0 ? spec->timeout_ms : DEFAULT_TIMEOUT_MS;
  request->max_response_bytes = spec->max_response_bytes != 0
                                    ? spec->max_response_bytes
                                    : KIN__DEFAULT_MAX_RESPONSE;
  request->max_retries = spec->no_retries         ? 0
                         : spec->max_retries != 0 ? spec->max_retries
                                                  : KIN__MAX_RETRIES;
  request->deadline_ms =
      timeout_ms == KIN_NEVER
          ? UINT64_MAX
          : kin__deadline_ms(kin__env_now_ms(env), timeout_ms);
  size_t kept = request->max_response_bytes > KIN__ANSWER_MAX_ERROR_BODY
                    ? request->max_response_bytes
                    : KIN__ANSWER_MAX_ERROR_BODY;
  kin__buf_init(&request->body, env->allocator, kept + 1);
}

static kin_request *make_request(kin__host *host, const kin_request_spec *spec,
                                 kin_request_cb cb, void *data) {
  kin_request *request = kin__calloc(host->env->allocator, 1, sizeof *request);
  if (request == NULL) {
    return NULL;
  }
  kin__member_init(&request->member, &member_ops, host->env);
  request->cb = cb;
  request->data = data;
  request->on_error = spec->on_error;
  request->verb = spec->verb;
  snprintf(request->namespace_, sizeof request->namespace_, "%s",
           kin__or_default(spec->namespace_, ""));
  set_limits(request, spec);
  kin__composed_init(&request->composed, host->env->allocator);
  kin__limiter_visitor_init(&request->turn, on_turn);
  kin__timer_init(&request->deadline, on_deadline);
  kin__timer_init(&request->timer, on_timer);
  kin__link_init(&request->step.node);
  request->step.cb = call_back;
  return request;
}

static int begin(kin_request *request, kin__host *host) {
  int err = enter_limiter(request) ? send_request(request) : 0;
  if (err == 0) {
    kin__member_join(&request->member, host);
    if (request->deadline_ms != UINT64_MAX) {
      kin__timer_start(env_of(request)->timers, &request->deadline,
                       request->deadline_ms);
    }
  }
  return err;
}

int kin__request_start_unless(kin_request **out, kin__host *host,
                              const kin_request_spec *spec, const char *tag,
                              kin_request_cb cb, void *data) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err == 0 && cb == NULL) {
    err = kin__log_problem(host->env->log, KIN_EINVAL, "cb: is required");
  }
  if (err != 0) {
    return err;
  }
  kin_request *request = make_request(host, spec, cb, data);
  if (request == NULL) {
    return KIN_ENOMEM;
  }
  snprintf(request->if_none_match, sizeof request->if_none_match, "%s",
           kin__or_default(tag, ""));
  err = kin__compose(&request->composed, spec, host->env->log);
  if (err == 0) {
    err = begin(request, host);
  }
  if (err != 0) {
    on_free(&request->member);
    return err;
  }
  *out = request;
  return 0;
}

int kin_request_start(kin_request **out, kin_client *client,
                      const kin_request_spec *spec, kin_request_cb cb,
                      void *data) {
  kin_request *request = NULL;
  int err = KIN_EINVAL;
  if (client != NULL) {
    kin__host *host = kin__client_host(client);
    kin_request_spec copy;
    err = kin__options_take(&copy, sizeof copy, spec,
                            KIN__FIRST_SIZE(kin_request_spec),
                            "kin_request_spec", host->env->log);
    if (err == 0) {
      err = kin__request_start(&request, host, &copy, cb, data);
    }
  }
  if (out != NULL) {
    *out = request;
  }
  return err;
}
