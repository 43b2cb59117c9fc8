/* SPDX-License-Identifier: MIT */

/* Carries out what the machine decides: requests, a timer, callbacks.
 *
 * Every input (an answer, the timer, a call of the program) goes into the
 * machine at once. All that follows is done in deferred steps, each of which
 * takes one of the machine's actions. So callbacks come from the loop, one an
 * iteration, and may call everything: what they put into the machine is taken
 * by the next step.
 *
 * The machine lives on the clock that counts suspended time, the timer on the
 * client's. So after a suspension the timer comes late. The machine looks at
 * its own clock then, and kin_leader_elector_is_leader looks each time.
 *
 * Invariants: `request` is set iff the machine has one in flight. While the
 * machine is not idle, the step is deferred, a request is in flight, or the
 * timer runs. */
#include "election/elector.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/str.h"
#include "client/member.h"
#include "base/system_clock.h"
#include "election/elector_machine.h"
#include "election/elector_settings.h"
#include "election/lease.h"
#include "election/told_failures.h"
#include "request/request.h"

#define NS_PER_MS UINT64_C(1000000)
#define MAX_LEASE_BYTES (3u << 20) /* as large as a request may be */

struct kin_leader_elector {
  kin__member member;
  kin_leader_elector_options options; /* its strings are not used */
  kin__elector_settings settings;
  kin__elector_machine machine;
  kin__clock boot;

  kin__timer timer;
  kin__deferred step;
  kin_request *request;
  kin__buf body;

  kin__lease lease;  /* seen last */
  kin__buf reported; /* the holder that on_new_leader was told last */
  bool is_unknown;   /* there was no memory for `reported` */

  uint32_t failures_in_row;
  kin__told_failures told;
  char problem[400]; /* of the last request that failed; "": none */
  uint64_t terms;
  uint64_t lost;
  bool is_client_closing;
  bool has_ended; /* kin__member_end was called */
};

static uint64_t now_ns(const kin_leader_elector *elector) {
  return kin__clock_ns(&elector->boot);
}

static void wake(kin_leader_elector *elector) {
  if (kin__link_is_empty(&elector->step.node) && !elector->has_ended) {
    kin__env_defer(elector->member.env, &elector->step);
  }
}

/* --- Answers -------------------------------------------------------------- */

static kin__lease_holder holder_of(const kin_leader_elector *elector,
                                   kin_str holder) {
  if (holder.length == 0) {
    return KIN__HELD_BY_NOBODY;
  }
  return kin__str_equal(holder, kin__cstr(elector->settings.terms.identity))
             ? KIN__HELD_BY_ME
             : KIN__HELD_BY_OTHER;
}

/* Keeps the lease of an answer. On an error the one in hand stays. */
static int keep_lease(kin_leader_elector *elector, const kin_response *response,
                      kin__elector_answer *answer) {
  kin__lease lease;
  kin_object *object;
  int err =
      kin_response_object(&object, elector->member.env->allocator, response);
  if (err == 0) {
    err = kin__lease_read(&lease, object);
  }
  if (err != 0) {
    return err;
  }
  answer->is_changed = elector->lease.object == NULL ||
                       !kin__str_equal(elector->lease.spec, lease.spec);
  answer->holder = holder_of(elector, lease.holder);
  answer->duration_s = lease.duration_s;
  answer->has_preferred_holder = lease.has_preferred_holder;
  kin__lease_finish(&elector->lease);
  elector->lease = lease;
  return 0;
}

/* A server that fails may have written. */
static kin__elector_answer_kind kind_of_failure(const kin_response *response,
                                                bool is_get) {
  if (response->code == KIN_ENOENT && is_get) {
    return KIN__ANSWER_NOT_FOUND;
  }
  if (response->code == KIN_ECONFLICT || response->code == KIN_EEXIST) {
    return KIN__ANSWER_CONFLICT;
  }
  return response->status >= 400 && response->status < 500 ? KIN__ANSWER_REFUSED
                                                           : KIN__ANSWER_NONE;
}

/* Puts an answer into the machine. Returns the code of the failure; 0: there is
 * none to tell. */
static int take_answer(kin_leader_elector *elector,
                       const kin_response *response) {
  bool is_get = elector->machine.request == KIN__ELECTOR_GET;
  kin__elector_answer answer = {.kind = is_get ? KIN__ANSWER_LEASE
                                               : KIN__ANSWER_WRITTEN};
  int err = response->code;
  if (!kin__elector_wants_answer(&elector->machine)) {
    answer.kind = KIN__ANSWER_NONE;
    err = 0;
  } else if (err == 0) {
    err = keep_lease(elector, response, &answer);
    answer.kind = err == 0 ? answer.kind : KIN__ANSWER_NONE;
  } else {
    answer.kind = kind_of_failure(response, is_get);
    answer.is_repeated = response->retries > 0;
  }
  if (answer.kind == KIN__ANSWER_NOT_FOUND) {
    kin__lease_finish(&elector->lease);
  }
  kin__elector_answer_came(&elector->machine, &answer, now_ns(elector));
  bool is_told = answer.kind == KIN__ANSWER_CONFLICT ||
                 answer.kind == KIN__ANSWER_NOT_FOUND;
  return is_told ? 0 : err;
}

static uint64_t retry_in_ms(const kin_leader_elector *elector) {
  uint64_t due_ns = kin__elector_due_ns(&elector->machine);
  uint64_t now = now_ns(elector);
  return elector->machine.is_wanted || due_ns == UINT64_MAX || due_ns <= now
             ? 0
             : (due_ns - now) / NS_PER_MS;
}

/* `status` and the texts are those of a try, or nothing. */
static void tell_failure(kin_leader_elector *elector, kin_error_event *event) {
  const kin__env *env = elector->member.env;
  snprintf(elector->problem, sizeof elector->problem, "%s", event->message);
  event->size = sizeof *event;
  event->namespace_ = elector->settings.terms.namespace_;
  event->attempt = ++elector->failures_in_row;
  kin__log_write(env->log, kin__told_failures_add(&elector->told, event),
                 "leader election: %s", event->message);
  if (elector->options.on_error != NULL) {
    uint64_t start_ns = kin__clock_ns(&env->clock);
    elector->options.on_error(event, elector->options.data);
    kin__env_add_handler_time(env, start_ns);
  }
  if (event->answer == KIN_STOP) {
    (void)kin__elector_stop(&elector->machine, true);
  }
}

/* The request is sent again by itself, after event->retry_in_ms. */
static void on_repeat(kin_error_event *event, void *data) {
  kin_leader_elector *elector = data;
  if (kin__elector_wants_answer(&elector->machine)) {
    elector->machine.failures++;
    tell_failure(elector, event);
    wake(elector);
  }
  event->answer = KIN_RETRY; /* the machine cancels what it does not want */
}

static void on_response(const kin_response *response, void *data) {
  kin_leader_elector *elector = data;
  elector->request = NULL;
  bool is_wanted = kin__elector_wants_answer(&elector->machine);
  int code = take_answer(elector, response);
  wake(elector);
  if (!is_wanted) {
    return; /* `problem` may be the cause of the end, which is not told yet */
  }
  if (code == 0) {
    elector->failures_in_row = elector->told.count = 0;
    elector->problem[0] = '\0';
    return;
  }
  bool is_own = response->code == 0; /* the server knows no failure */
  kin_error_event event = {
      .code = code,
      .error_class = !is_own              ? response->error_class
                     : code == KIN_ENOMEM ? KIN_CLASS_MEMORY
                                          : KIN_CLASS_DECODE,
      .status = response->status,
      .reason = response->reason_text,
      .message = is_own ? kin_strerror(code) : response->message,
      .retry_in_ms = retry_in_ms(elector)};
  if (event.error_class == KIN_CLASS_NONE) {
    return; /* the client was closed */
  }
  tell_failure(elector, &event);
}

/* --- Requests ------------------------------------------------------------- */

static int compose(kin_leader_elector *elector, kin_request_spec *spec) {
  kin__elector_request request = elector->machine.request;
  kin__buf_reset(&elector->body, SIZE_MAX);
  *spec = (kin_request_spec)KIN_REQUEST_SPEC_INIT;
  spec->group = KIN__LEASE_GROUP;
  spec->plural = "leases";
  spec->namespace_ = elector->settings.terms.namespace_;
  spec->name = elector->settings.terms.name;
  spec->timeout_ms = elector->settings.request_timeout_ms;
  spec->max_response_bytes = MAX_LEASE_BYTES;
  spec->on_error = on_repeat;
  if (request == KIN__ELECTOR_GET) {
    return 0;
  }
  spec->verb =
      request == KIN__ELECTOR_CREATE ? KIN_VERB_CREATE : KIN_VERB_UPDATE;
  if (request == KIN__ELECTOR_CREATE) {
    spec->name = NULL;
  }
  int err = kin__lease_compose(&elector->body, elector->member.env->allocator,
                               &elector->lease, &elector->settings.terms,
                               request, kin__wall_now());
  spec->body = elector->body.data;
  spec->body_length = elector->body.length;
  return err;
}

static void send_request(kin_leader_elector *elector) {
  kin_request_spec spec;
  int err = compose(elector, &spec);
  if (err == 0) {
    err = kin__request_start(&elector->request, elector->member.host, &spec,
                             on_response, elector);
  }
  if (err == 0) {
    return;
  }
  kin__elector_answer answer = {.kind = KIN__ANSWER_REFUSED};
  kin__elector_answer_came(&elector->machine, &answer, now_ns(elector));
  if (err != KIN_ECLOSED) {
    kin_error_event event = kin__request_start_failed(err);
    event.retry_in_ms = retry_in_ms(elector);
    tell_failure(elector, &event);
  }
}

/* --- Callbacks ------------------------------------------------------------ */

/* LE-08. Without memory the same holder may be told again. */
static void report(kin_leader_elector *elector) {
  kin_str holder = elector->lease.holder;
  kin__buf *reported = &elector->reported;
  if (!elector->is_unknown &&
      kin__str_equal(holder, kin__str(reported->data, reported->length))) {
    return;
  }
  kin__buf_reset(reported, SIZE_MAX);
  elector->is_unknown = kin__buf_append_str(reported, holder) != 0;
  if (elector->options.on_new_leader != NULL) {
    const kin__env *env = elector->member.env;
    uint64_t start_ns = kin__clock_ns(&env->clock);
    elector->options.on_new_leader(elector, holder, elector->options.data);
    kin__env_add_handler_time(env, start_ns);
  }
}

/* LE-10. The recorder counts the Events that it cannot take. A client that
 * closes may have freed the recorder. */
static void record(kin_leader_elector *elector, const char *action,
                   const char *what) {
  const kin__lease_terms *terms = &elector->settings.terms;
  char note[KIN__ELECTOR_MAX_IDENTITY_BYTES + 32];
  if (elector->options.recorder == NULL ||
      elector->member.host->members.is_closing) {
    return;
  }
  const kin_object_reference lease = {
      .api_version = KIN__LIT(KIN__LEASE_GROUP "/v1"),
      .kind = KIN__LIT("Lease"),
      .namespace_ = kin__cstr(terms->namespace_),
      .name = kin__cstr(terms->name),
      .uid = kin_object_uid(elector->lease.object)};
  snprintf(note, sizeof note, "%s %s", terms->identity, what);
  (void)kin_event_recorder_record(elector->options.recorder, &lease, NULL,
                                  "Normal", "LeaderElection", action, note);
}

static void tell_started(kin_leader_elector *elector) {
  const kin__env *env = elector->member.env;
  elector->terms++;
  kin__log_write(env->log, KIN_LOG_INFO, "leader election: %s leads with %s/%s",
                 elector->settings.terms.identity,
                 elector->settings.terms.namespace_,
                 elector->settings.terms.name);
  record(elector, "Lead", "became leader");
  uint64_t start_ns = kin__clock_ns(&env->clock);
  elector->options.on_started(elector, elector->options.data);
  kin__env_add_handler_time(env, start_ns);
}

static int describe_end(const kin_leader_elector *elector, char *to,
                        size_t size) {
  const char *cause = elector->problem[0] != '\0' ? ": " : "";
  switch (elector->machine.end) {
  case KIN__ELECTOR_EXPIRED:
    snprintf(to, size, "the lease was not renewed in time%s%s", cause,
             elector->problem);
    return KIN_ETIMEDOUT;
  case KIN__ELECTOR_OVERTAKEN:
    snprintf(to, size, "the lease is held by " KIN_STR_FORMAT,
             KIN_STR_ARG(elector->lease.holder));
    return KIN_ECONFLICT;
  default:
    snprintf(to, size, "%s",
             elector->is_client_closing ? "the client was closed"
                                        : "the program has stopped it");
    return elector->is_client_closing ? KIN_ECLOSED : 0;
  }
}

static void tell_stopped(kin_leader_elector *elector) {
  const kin__env *env = elector->member.env;
  char message[512];
  kin_leader_stop stop = {.size = sizeof stop,
                          .had_led = elector->machine.had_led,
                          .message = message};
  stop.code = describe_end(elector, message, sizeof message);
  elector->failures_in_row = 0; /* of this run */
  elector->problem[0] = '\0';
  kin__put_on_one_line(message);
  elector->lost += stop.had_led && elector->machine.end != KIN__ELECTOR_STOPPED;
  kin__log_write(env->log, KIN_LOG_INFO, "leader election: %s %s: %s",
                 elector->settings.terms.identity,
                 stop.had_led ? "has stopped leading" : "has not led", message);
  if (stop.had_led) {
    record(elector, "StopLeading", "stopped leading");
  }
  uint64_t start_ns = kin__clock_ns(&env->clock);
  elector->options.on_stopped(elector, &stop, elector->options.data);
  kin__env_add_handler_time(env, start_ns);
}

/* --- The step ------------------------------------------------------------- */

static void settle(kin_leader_elector *elector) {
  const kin__env *env = elector->member.env;
  if (elector->member.is_closing && kin__elector_is_idle(&elector->machine)) {
    kin__timer_stop(env->timers, &elector->timer);
    kin__link_remove(&elector->step.node);
    elector->has_ended = true;
    kin__member_end(&elector->member);
    return;
  }
  uint64_t due_ns = kin__elector_due_ns(&elector->machine);
  if (due_ns == UINT64_MAX) {
    kin__timer_stop(env->timers, &elector->timer);
    return;
  }
  uint64_t now = now_ns(elector);
  uint64_t wait_ns = due_ns > now ? due_ns - now : 0;
  uint64_t wait_ms = wait_ns / NS_PER_MS + (wait_ns % NS_PER_MS != 0);
  kin__timer_start(env->timers, &elector->timer,
                   kin__deadline_ms(kin__env_now_ms(env), wait_ms));
}

static void on_step(kin__deferred *deferred) {
  kin_leader_elector *elector =
      KIN__CONTAINER_OF(deferred, kin_leader_elector, step);
  switch (kin__elector_next(&elector->machine, now_ns(elector))) {
  case KIN__ELECTOR_CANCEL:
    if (elector->request != NULL) { /* the client may have ended it */
      (void)kin_request_cancel(elector->request, KIN_ECLOSED);
    }
    break;
  case KIN__ELECTOR_REPORT:
    report(elector);
    break;
  case KIN__ELECTOR_STARTED:
    tell_started(elector);
    break;
  case KIN__ELECTOR_ENDED:
    tell_stopped(elector);
    break;
  case KIN__ELECTOR_SEND:
    send_request(elector);
    break;
  case KIN__ELECTOR_REST:
    settle(elector);
    return;
  }
  wake(elector);
}

static void on_timer(kin__timer *timer) {
  wake(KIN__CONTAINER_OF(timer, kin_leader_elector, timer));
}

/* --- Life ----------------------------------------------------------------- */

static void on_close(kin__member *member) {
  kin_leader_elector *elector =
      KIN__CONTAINER_OF(member, kin_leader_elector, member);
  elector->is_client_closing = member->host->members.is_closing;
  (void)kin__elector_stop(&elector->machine, !elector->is_client_closing);
  wake(elector);
}

static void on_free(kin__member *member) {
  kin_leader_elector *elector =
      KIN__CONTAINER_OF(member, kin_leader_elector, member);
  kin__lease_finish(&elector->lease);
  kin__buf_finish(&elector->reported);
  kin__buf_finish(&elector->body);
  kin__elector_settings_finish(&elector->settings);
  kin__free(member->env->allocator, elector);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

static void init_parts(kin_leader_elector *elector,
                       const kin_leader_elector_options *options,
                       const kin__clock *boot) {
  const kin__env *env = elector->member.env;
  elector->options = *options;
  elector->member.on_closed = options->on_closed;
  elector->member.data = options->data;
  elector->boot = *boot;
  kin__elector_init(&elector->machine, &elector->settings.times, env->random);
  elector->machine.releases = options->release_on_stop;
  elector->machine.is_coordinated = options->coordinated;
  kin__timer_init(&elector->timer, on_timer);
  kin__link_init(&elector->step.node);
  elector->step.cb = on_step;
}

int kin__leader_elector_open(kin_leader_elector **out, kin__host *host,
                             const kin_leader_elector_options *options,
                             const kin__clock *boot) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  const kin__env *env = host->env;
  kin_leader_elector *elector = kin__calloc(env->allocator, 1, sizeof *elector);
  if (elector == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&elector->member, &member_ops, env);
  kin__buf_init(&elector->body, env->allocator, MAX_LEASE_BYTES);
  kin__buf_init(&elector->reported, env->allocator, MAX_LEASE_BYTES);
  elector->lease.holder = KIN__LIT("");
  err = kin__elector_settings_init(&elector->settings, env->allocator, options,
                                   env->random, env->log);
  if (err != 0) {
    on_free(&elector->member);
    return err;
  }
  init_parts(elector, options, boot);
  kin__member_join(&elector->member, host);
  *out = elector;
  return 0;
}

int kin_leader_elector_open(kin_leader_elector **out, kin_client *client,
                            const kin_leader_elector_options *options) {
  kin_leader_elector *elector = NULL;
  int err = KIN_EINVAL;
  if (client != NULL && out != NULL) {
    kin__host *host = kin__client_host(client);
    kin__clock boot = kin__boot_clock();
    kin_leader_elector_options copy;
    err = kin__options_take(&copy, sizeof copy, options,
                            KIN__FIRST_SIZE(kin_leader_elector_options),
                            "kin_leader_elector_options", host->env->log);
    if (err == 0) {
      err = kin__leader_elector_open(&elector, host, &copy, &boot);
    }
  }
  if (out != NULL) {
    *out = elector;
  }
  return err;
}

/* --- Use ------------------------------------------------------------------ */

int kin_leader_elector_start(kin_leader_elector *elector) {
  if (elector == NULL) {
    return KIN_EINVAL;
  }
  if (elector->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (!kin__elector_start(&elector->machine, now_ns(elector))) {
    return KIN_EALREADY;
  }
  wake(elector);
  return 0;
}

int kin_leader_elector_stop(kin_leader_elector *elector) {
  if (elector == NULL) {
    return KIN_EINVAL;
  }
  if (!kin__elector_stop(&elector->machine, true)) {
    return KIN_EALREADY;
  }
  wake(elector);
  return 0;
}

int kin_leader_elector_close(kin_leader_elector *elector,
                             kin_leader_close_cb cb, void *data) {
  return elector != NULL ? kin__member_close(&elector->member, cb, data)
                         : KIN_EINVAL;
}

bool kin_leader_elector_is_leader(kin_leader_elector *elector) {
  if (elector == NULL || elector->machine.role != KIN__ELECTOR_LEADER) {
    return false;
  }
  bool is_leader = kin__elector_is_leader(&elector->machine, now_ns(elector));
  if (!is_leader) {
    wake(elector); /* the timer may come late */
  }
  return is_leader;
}

kin_str kin_leader_elector_leader(const kin_leader_elector *elector) {
  return elector != NULL ? elector->lease.holder : KIN__LIT("");
}

const char *kin_leader_elector_identity(const kin_leader_elector *elector) {
  return elector != NULL ? elector->settings.terms.identity : "";
}

int64_t kin_leader_elector_term(const kin_leader_elector *elector) {
  return elector != NULL ? elector->lease.transitions : 0;
}

int kin_leader_elector_check(const kin_leader_elector *elector,
                             uint64_t tolerance_ms) {
  uint64_t tolerance_ns = tolerance_ms < UINT64_MAX / NS_PER_MS
                              ? tolerance_ms * NS_PER_MS
                              : UINT64_MAX;
  return elector != NULL && kin__elector_is_stuck(&elector->machine,
                                                  now_ns(elector), tolerance_ns)
             ? KIN_ETIMEDOUT
             : 0;
}

int kin_leader_elector_get_metrics(const kin_leader_elector *elector,
                                   kin_leader_elector_metrics *metrics) {
  if (elector == NULL) {
    return KIN_EINVAL;
  }
  const kin__elector_machine *machine = &elector->machine;
  uint64_t now = now_ns(elector);
  kin_leader_elector_metrics found = {
      .is_running = machine->role == KIN__ELECTOR_CANDIDATE ||
                    machine->role == KIN__ELECTOR_LEADER ||
                    machine->role == KIN__ELECTOR_LEAVING ||
                    machine->starts_again,
      .is_leader = kin__elector_is_leader(machine, now),
      .terms = elector->terms,
      .lost = elector->lost,
      .tries = machine->tries,
      .renewals = machine->renewals,
      .slow_paths = machine->slow_paths,
      .conflicts = machine->conflicts,
      .failures = machine->failures,
      .observed_age_ms =
          elector->lease.object != NULL && now > machine->observed_ns
              ? (now - machine->observed_ns) / NS_PER_MS
              : 0};
  return kin__sized_fill(metrics, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_leader_elector_metrics));
}
