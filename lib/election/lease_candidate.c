/* SPDX-License-Identifier: MIT */

/* Keeps one LeaseCandidate on the server: an informer for the object, a timer,
 * and at most one request.
 *
 * The step, a deferred call, decides: it sends a write if one is wanted or due.
 * `is_wanted` is set by the informer, when the object is pinged or deleted; the
 * start of a write clears it, so an event that comes while the write is in
 * flight leads to another one. `due_ms` is the time of the next write otherwise:
 * the next renewal, or the next try.
 *
 * A ping is answered once, by the write of an object that has it. So a server
 * that drops the renewTime is not written to without end.
 *
 * No creation is sent before `create_ms`, whatever the events say. A failed
 * creation moves it to the next try, and so does note_creation after early
 * deletions. So a program that deletes each new object does not cause writes
 * without end.
 *
 * A watch may be silent. If an update finds no object, `updated` stays, and the
 * next write is a creation although the store still has that object. The answer
 * that the object exists ends this: the store decides again.
 *
 * client-go uses a work queue. A queue with one key would need memory to add
 * the key, and a second member that ends on its own. A timer needs neither.
 *
 * The end: the informer's close callback and the request's callback come in any
 * order, and the last one ends the member. The informer joins the host first, so
 * a client that closes closes the candidate before the informer. */
#include "election/lease_candidate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "base/system_clock.h"
#include "election/candidate_object.h"
#include "election/lease.h"
#include "election/told_failures.h"
#include "informer/informer.h"
#include "listwatch/backoff.h"
#include "object/object.h"
#include "request/request.h"

#define RENEW_MS 300000u /* client-go's requeueInterval */
/* Six tries fall into the 5 s in which the server waits for an answer. The
 * server forgets a candidate after 30 minutes, so a long wait loses nothing. */
#define MIN_RETRY_MS 100u
#define MAX_RETRY_MS 30000u
#define MAX_DOUBLINGS 9u /* of MIN_RETRY_MS, until it is over MAX_RETRY_MS */
/* A deletion after so long a life counts as the first one again. */
#define CALM_MS 300000u
#define FIRST_TOLD_CONFLICT 5u /* in a row */
#define REQUEST_TIMEOUT_MS 10000u
#define MAX_CANDIDATE_BYTES (3u << 20) /* as large as a request may be */
#define MAX_ANSWER_MS 86400000u        /* as kin_error_event says */
#define NAME_SELECTOR "metadata.name="
#define NS_PER_US 1000u
#define NS_PER_S 1000000000u

struct kin_lease_candidate {
  kin__member member;
  kin__candidate_terms terms; /* its strings are in `texts` */
  char *texts;
  kin_lease_candidate_error_cb on_error;
  void *data;

  kin_informer *informer; /* NULL once it is gone */
  kin__timer timer;
  kin__deferred step;
  kin_request *request; /* NULL: none in flight */
  kin_object *updated;  /* by the update in flight; else NULL, or an object that
                         * the server no longer has */
  kin__buf body;

  bool is_wanted;         /* a write, whatever due_ms says */
  bool is_update;         /* the request in flight */
  uint64_t due_ms;        /* of the next write */
  uint64_t write_ms;      /* of the last success; UINT64_MAX: none */
  kin_time ping;          /* in the object of the request in flight */
  kin_time answered;      /* the last ping */
  uint32_t failed_in_row; /* conflicts included */
  kin__told_failures told;

  uint64_t create_ms;   /* no creation before */
  uint64_t calm_ms;     /* a creation before follows an early deletion */
  uint32_t recreations; /* after early deletions, in a row */
};

static const kin_time no_ping = {.s = INT64_MIN};

static void wake(kin_lease_candidate *candidate) {
  if (kin__link_is_empty(&candidate->step.node) &&
      !candidate->member.is_closing) {
    kin__env_defer(candidate->member.env, &candidate->step);
  }
}

static void end_if_idle(kin_lease_candidate *candidate) {
  if (candidate->informer == NULL && candidate->request == NULL) {
    kin__member_end(&candidate->member);
  }
}

static void drop_updated(kin_lease_candidate *candidate) {
  kin__object_unref(candidate->updated);
  candidate->updated = NULL;
}

/* NULL: there is none, as far as the store and the last update know. No request
 * is in flight. */
static const kin_object *find_object(const kin_lease_candidate *candidate) {
  const kin__candidate_terms *terms = &candidate->terms;
  char key[2 * KIN__CANDIDATE_MAX_NAME_BYTES + 2];
  snprintf(key, sizeof key, "%s/%s", terms->namespace_, terms->name);
  const kin_object *object =
      kin_store_get_key(kin_informer_store(candidate->informer), key);
  const kin_object *gone = candidate->updated;
  bool is_gone = object != NULL && gone != NULL &&
                 kin__str_equal(kin_object_uid(object), kin_object_uid(gone)) &&
                 kin__str_equal(kin_object_resource_version(object),
                                kin_object_resource_version(gone));
  return is_gone ? NULL : object;
}

/* --- Times ---------------------------------------------------------------- */

static uint64_t backoff_ms(uint32_t doublings) {
  return doublings < MAX_DOUBLINGS ? (uint64_t)MIN_RETRY_MS << doublings
                                   : MAX_RETRY_MS;
}

/* After a write that has failed. */
static void set_due(kin_lease_candidate *candidate, uint64_t due_ms) {
  candidate->due_ms = due_ms;
  if (!candidate->is_update) {
    candidate->create_ms = due_ms;
  }
}

static void set_retry(kin_lease_candidate *candidate, int64_t retry_after_s) {
  uint64_t wait_ms = kin__backoff_at_least(
      backoff_ms(candidate->failed_in_row++), retry_after_s);
  set_due(candidate,
          kin__deadline_ms(kin__env_now_ms(candidate->member.env), wait_ms));
}

/* The first object that is deleted early is made again at once. */
static void note_creation(kin_lease_candidate *candidate) {
  const kin__env *env = candidate->member.env;
  uint64_t now_ms = kin__env_now_ms(env);
  bool is_calm = now_ms >= candidate->calm_ms;
  candidate->calm_ms = kin__deadline_ms(now_ms, CALM_MS);
  candidate->recreations = is_calm ? 0 : candidate->recreations + 1;
  if (candidate->recreations == 0) {
    return;
  }
  uint64_t wait_ms = backoff_ms(candidate->recreations - 1);
  candidate->create_ms = kin__deadline_ms(now_ms, wait_ms);
  kin__log_write(env->log, kin__log_level_of_failure(candidate->recreations),
                 "lease candidate: %s/%s was deleted soon after its creation, "
                 "and has been made again; the next creation waits %" PRIu64
                 " ms",
                 candidate->terms.namespace_, candidate->terms.name, wait_ms);
}

/* The time of the next write. No request is in flight. */
static uint64_t next_ms(const kin_lease_candidate *candidate) {
  uint64_t due_ms = candidate->is_wanted ? 0 : candidate->due_ms;
  return due_ms < candidate->create_ms && find_object(candidate) == NULL
             ? candidate->create_ms
             : due_ms;
}

/* --- Failures ------------------------------------------------------------- */

/* The candidate may be closing afterwards. */
static void ask_program(kin_lease_candidate *candidate,
                        kin_error_event *event) {
  if (candidate->on_error != NULL) {
    candidate->on_error(event, candidate->data);
  }
  if (event->answer == KIN_STOP) {
    (void)kin_lease_candidate_close(candidate, NULL, NULL);
  }
}

static void on_informer_error(kin_informer *informer, kin_error_event *event,
                              void *data) {
  (void)informer;
  ask_program(data, event);
}

static void tell_failure(kin_lease_candidate *candidate,
                         kin_error_event *event) {
  const kin__env *env = candidate->member.env;
  uint64_t start_ns = kin__clock_ns(&env->clock);
  uint64_t now_ms = kin__clock_ms(&env->clock);
  event->size = sizeof *event;
  event->namespace_ = candidate->terms.namespace_;
  event->attempt = candidate->failed_in_row;
  uint64_t at_ms = next_ms(candidate);
  event->retry_in_ms = at_ms > now_ms ? at_ms - now_ms : 0;
  kin__log_write(env->log, kin__told_failures_add(&candidate->told, event),
                 "lease candidate: %s", event->message);
  ask_program(candidate, event);
  kin__env_add_handler_time(env, start_ns);
  if (event->answer == KIN_RETRY_AFTER) {
    uint64_t wait_ms = event->retry_after_ms < MAX_ANSWER_MS
                           ? event->retry_after_ms
                           : MAX_ANSWER_MS;
    set_due(candidate, kin__deadline_ms(now_ms, wait_ms));
  }
}

/* --- Writing -------------------------------------------------------------- */

/* An update has found no object. A 404 without a name is about the resource. */
static bool is_missing(const kin_lease_candidate *candidate,
                       const kin_response *response) {
  return response->code == KIN_ENOENT && candidate->is_update &&
         response->details_name.length > 0;
}

/* Another writer was faster, or has deleted the object. */
static bool is_conflict(const kin_lease_candidate *candidate,
                        const kin_response *response) {
  return response->code == KIN_ECONFLICT || response->code == KIN_EEXIST ||
         is_missing(candidate, response);
}

static bool is_told(const kin_lease_candidate *candidate,
                    const kin_response *response) {
  return candidate->failed_in_row >= FIRST_TOLD_CONFLICT ||
         !is_conflict(candidate, response);
}

static void on_response(const kin_response *response, void *data) {
  kin_lease_candidate *candidate = data;
  candidate->request = NULL;
  if (candidate->member.is_closing) {
    end_if_idle(candidate);
    return;
  }
  wake(candidate);
  if (candidate->is_update ? !is_missing(candidate, response)
                           : response->code == KIN_EEXIST) {
    drop_updated(candidate);
  }
  if (response->code == 0) {
    candidate->write_ms = kin__env_now_ms(candidate->member.env);
    candidate->due_ms = kin__deadline_ms(candidate->write_ms, RENEW_MS);
    candidate->answered = candidate->ping;
    candidate->failed_in_row = candidate->told.count = 0;
    if (!candidate->is_update) {
      note_creation(candidate);
    }
    return;
  }
  set_retry(candidate, response->retry_after_s);
  if (!is_told(candidate, response)) {
    return;
  }
  kin_error_event event = {.code = response->code,
                           .error_class = response->error_class,
                           .status = response->status,
                           .reason = response->reason_text,
                           .message = response->message};
  tell_failure(candidate, &event);
}

/* The server compares the answer to a ping with the ping, which is of its own
 * clock. A renewTime of a clock that is behind would be no answer, nor would one
 * that loses its nanoseconds: it is written in microseconds. */
static kin_time renew_time(const kin_time *ping) {
  kin__timestamp now = kin__wall_now();
  kin_time time = {.s = now.s, .ns = now.ns};
  if (kin_time_compare(*ping, time) > 0) {
    time = *ping;
  }
  time.ns += (NS_PER_US - time.ns % NS_PER_US) % NS_PER_US;
  if (time.ns == NS_PER_S) {
    time = (kin_time){.s = time.s + 1};
  }
  return time;
}

static int start_write(kin_lease_candidate *candidate) {
  const kin__candidate_terms *terms = &candidate->terms;
  const kin_object *object = find_object(candidate);
  candidate->is_update = object != NULL;
  candidate->ping = no_ping;
  if (object != NULL) {
    (void)kin__candidate_is_pinged(object, &candidate->ping);
  }
  kin__buf_reset(&candidate->body, SIZE_MAX);
  int err =
      kin__candidate_compose(&candidate->body, candidate->member.env->allocator,
                             object, terms, renew_time(&candidate->ping));
  if (err != 0) {
    return err;
  }
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = object != NULL ? KIN_VERB_UPDATE : KIN_VERB_CREATE;
  spec.group = KIN__LEASE_GROUP;
  spec.version = terms->version;
  spec.plural = "leasecandidates";
  spec.namespace_ = terms->namespace_;
  spec.name = object != NULL ? terms->name : NULL;
  spec.body = candidate->body.data;
  spec.body_length = candidate->body.length;
  spec.timeout_ms = REQUEST_TIMEOUT_MS;
  spec.max_response_bytes = MAX_CANDIDATE_BYTES;
  spec.no_retries = true; /* a ping does not wait for a repetition */
  err = kin__request_start(&candidate->request, candidate->member.host, &spec,
                           on_response, candidate);
  if (err == 0 && object != NULL) {
    drop_updated(candidate);
    candidate->updated = kin__object_ref(object);
  }
  return err;
}

static void on_step(kin__deferred *deferred) {
  kin_lease_candidate *candidate =
      KIN__CONTAINER_OF(deferred, kin_lease_candidate, step);
  const kin__env *env = candidate->member.env;
  if (candidate->request != NULL ||
      !kin_informer_has_synced(candidate->informer)) {
    return;
  }
  uint64_t at_ms = next_ms(candidate);
  if (kin__env_now_ms(env) < at_ms) {
    kin__timer_start(env->timers, &candidate->timer, at_ms);
    return;
  }
  candidate->is_wanted = false;
  int err = start_write(candidate);
  if (err != 0) {
    set_retry(candidate, -1);
    wake(candidate);
    kin_error_event event = kin__request_start_failed(err);
    tell_failure(candidate, &event);
  }
}

static void on_timer(kin__timer *timer) {
  wake(KIN__CONTAINER_OF(timer, kin_lease_candidate, timer));
}

/* --- The object ----------------------------------------------------------- */

/* A server, or a proxy, may ignore the field selector. */
static bool is_own(const kin_lease_candidate *candidate,
                   const kin_object *object) {
  return kin__str_equal(kin_object_name(object),
                        kin__cstr(candidate->terms.name));
}

static void on_object(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  kin_lease_candidate *candidate = data;
  kin_time ping;
  if (is_own(candidate, event->object) &&
      kin__candidate_is_pinged(event->object, &ping) &&
      kin_time_compare(ping, candidate->answered) != 0) {
    candidate->is_wanted = true;
    wake(candidate);
  }
}

static void on_deleted(kin_informer *informer, const kin_event *event,
                       void *data) {
  (void)informer;
  kin_lease_candidate *candidate = data;
  if (is_own(candidate, event->object)) {
    candidate->is_wanted = true;
    wake(candidate);
  }
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  wake(data);
}

static void on_informer_closed(void *data) {
  kin_lease_candidate *candidate = data;
  candidate->informer = NULL;
  end_if_idle(candidate);
}

static int follow(kin_lease_candidate *candidate, kin__host *host) {
  const kin__candidate_terms *terms = &candidate->terms;
  char selector[sizeof NAME_SELECTOR + KIN__CANDIDATE_MAX_NAME_BYTES];
  snprintf(selector, sizeof selector, NAME_SELECTOR "%s", terms->name);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.group = KIN__LEASE_GROUP;
  options.version = terms->version;
  options.plural = "leasecandidates";
  options.namespaces = &terms->namespace_;
  options.namespace_count = 1;
  options.field_selector = selector;
  options.max_object_bytes = MAX_CANDIDATE_BYTES;
  options.on_error = on_informer_error;
  options.on_closed = on_informer_closed;
  options.data = candidate;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = on_object;
  listener.on_update = on_object;
  listener.on_delete = on_deleted;
  listener.on_synced = on_synced;
  listener.data = candidate;
  listener.name = "lease candidate";
  return kin__informer_follow(&candidate->informer, host, &options, &listener);
}

/* --- Options -------------------------------------------------------------- */

/* Composes an object, to find texts that are not UTF-8. */
static int try_to_compose(kin_lease_candidate *candidate, const kin__log *log) {
  int err =
      kin__candidate_compose(&candidate->body, candidate->member.env->allocator,
                             NULL, &candidate->terms, (kin_time){.s = 0});
  return err == 0 || err == KIN_ENOMEM
             ? err
             : kin__log_problem(log, KIN_EINVAL,
                                "binary_version, emulation_version, strategy: "
                                "no LeaseCandidate can have them (%s)",
                                kin_strerror(err));
}

/* --- Life ----------------------------------------------------------------- */

static void on_close(kin__member *member) {
  kin_lease_candidate *candidate =
      KIN__CONTAINER_OF(member, kin_lease_candidate, member);
  kin__timer_stop(member->env->timers, &candidate->timer);
  kin__link_remove(&candidate->step.node);
  (void)kin_informer_close(candidate->informer, NULL, NULL);
  if (candidate->request != NULL) { /* the client may have ended it */
    (void)kin_request_cancel(candidate->request, KIN_ECLOSED);
  }
}

static void on_free(kin__member *member) {
  kin_lease_candidate *candidate =
      KIN__CONTAINER_OF(member, kin_lease_candidate, member);
  kin__buf_finish(&candidate->body);
  drop_updated(candidate);
  kin__free(member->env->allocator, candidate->texts);
  kin__free(member->env->allocator, candidate);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

/* Replaces the strings of `terms` by copies, all of them in one block. */
static int copy_terms(kin_lease_candidate *candidate) {
  kin__candidate_terms *terms = &candidate->terms;
  const char **const texts[] = {&terms->namespace_,
                                &terms->name,
                                &terms->lease_name,
                                &terms->binary_version,
                                &terms->emulation_version,
                                &terms->strategy,
                                &terms->version};
  size_t size = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    size += strlen(*texts[i]) + 1;
  }
  char *to = kin__malloc(candidate->member.env->allocator, size);
  if (to == NULL) {
    return KIN_ENOMEM;
  }
  candidate->texts = to;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    size_t length = strlen(*texts[i]) + 1;
    memcpy(to, *texts[i], length);
    *texts[i] = to;
    to += length;
  }
  return 0;
}

static const char *text_or(const char *text, const char *fallback) {
  return kin__has_text(text) ? text : fallback;
}

static void init_parts(kin_lease_candidate *candidate,
                       const kin_lease_candidate_options *options) {
  candidate->terms = (kin__candidate_terms){
      .namespace_ = options->namespace_,
      .name = options->name,
      .lease_name = options->lease_name,
      .binary_version = options->binary_version,
      .emulation_version = text_or(options->emulation_version, ""),
      .strategy = text_or(options->strategy, KIN__CANDIDATE_DEFAULT_STRATEGY),
      .version = text_or(options->version, "v1beta1")};
  candidate->on_error = options->on_error;
  candidate->data = options->data;
  candidate->member.on_closed = options->on_closed;
  candidate->member.data = options->data;
  candidate->write_ms = UINT64_MAX;
  candidate->answered = no_ping;
  kin__timer_init(&candidate->timer, on_timer);
  kin__link_init(&candidate->step.node);
  candidate->step.cb = on_step;
}

int kin__lease_candidate_open(kin_lease_candidate **out, kin__host *host,
                              const kin_lease_candidate_options *options) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  const kin__env *env = host->env;
  kin_lease_candidate *candidate =
      kin__calloc(env->allocator, 1, sizeof *candidate);
  if (candidate == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&candidate->member, &member_ops, env);
  kin__buf_init(&candidate->body, env->allocator, MAX_CANDIDATE_BYTES);
  init_parts(candidate, options);
  err = kin__candidate_check(&candidate->terms, env->log);
  if (err == 0) {
    err = copy_terms(candidate);
  }
  if (err == 0) {
    err = try_to_compose(candidate, env->log);
  }
  if (err == 0) {
    err = follow(candidate, host);
  }
  if (err != 0) {
    on_free(&candidate->member);
    return err;
  }
  kin__member_join(&candidate->member, host);
  *out = candidate;
  return 0;
}

int kin_lease_candidate_open(kin_lease_candidate **out, kin_client *client,
                             const kin_lease_candidate_options *options) {
  if (out != NULL) {
    *out = NULL;
  }
  if (client == NULL || out == NULL) {
    return KIN_EINVAL;
  }
  kin__host *host = kin__client_host(client);
  kin_lease_candidate_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_lease_candidate_options),
                              "kin_lease_candidate_options", host->env->log);
  return err == 0 ? kin__lease_candidate_open(out, host, &copy) : err;
}

int kin_lease_candidate_close(kin_lease_candidate *candidate,
                              kin_lease_candidate_close_cb cb, void *data) {
  return candidate != NULL ? kin__member_close(&candidate->member, cb, data)
                           : KIN_EINVAL;
}

uint64_t kin_lease_candidate_age_ms(const kin_lease_candidate *candidate) {
  return candidate == NULL || candidate->write_ms == UINT64_MAX
             ? UINT64_MAX
             : kin__env_now_ms(candidate->member.env) - candidate->write_ms;
}
