/* SPDX-License-Identifier: MIT */

/* Sends what the correlator decides, a few requests at a time. All sending is
 * done in a deferred step. The correlator's own timers stand behind one timer of
 * the client.
 *
 * A recorder that closes with time to write in queues what waits for a timer.
 * The recorder goes on until nothing is queued or its time is over, then cancels
 * what is in flight, and then frees the entries in steps.
 *
 * Invariant: a slot has an entry iff it has a request in flight. */
#include "recorder/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/str.h"
#include "base/system_clock.h"
#include "client/member.h"
#include "recorder/correlator.h"
#include "recorder/event_body.h"
#include "request/request.h"

#define DEFAULT_MAX_SERIES 4096u /* tools/record */
#define DEFAULT_MAX_QUEUED 1000u /* tools/events */
#define DEFAULT_BURST 25u
#define DEFAULT_INTERVAL_S 300u

#define MAX_SERIES_LIMIT (1u << 20)
#define MAX_QUEUED_LIMIT 65536u
#define MAX_BURST 65536u
#define MAX_INTERVAL_S 86400u
#define MAX_FLUSH_MS 60000u
#define MAX_WORD_BYTES 128u /* the API's limit for reasons, actions, names */
#define MAX_REFERENCE_TEXT_BYTES 1024u

#define SHOWN_BYTES 256u /* of the namespace, in an error event */
#define MAX_IN_FLIGHT 4u
#define TIMERS_PER_STEP 64u
#define DROPS_PER_STEP 256u
#define REQUEST_TIMEOUT_MS 30000u
#define MAX_BODY_BYTES (128u << 10) /* each byte of a text may be escaped */

typedef struct slot {
  kin_event_recorder *recorder;
  kin_request *request;
  kin__event_entry *entry;
} slot;

struct kin_event_recorder {
  kin__member member;
  kin_event_recorder_options options; /* its strings are not used */
  char controller[MAX_WORD_BYTES + 1];
  char instance[MAX_WORD_BYTES + 1];
  kin__correlator correlator;
  slot slots[MAX_IN_FLIGHT];
  kin__buf body;
  kin__timer timer;
  kin__timer flush; /* the end of the time to write in, while closing */
  kin__deferred step;
  bool is_hurried; /* closing: no entry waits for a timer of before */
  bool is_over;    /* nothing more is sent */
  bool has_ended;
};

static uint64_t now_ms(const kin_event_recorder *recorder) {
  return kin__env_now_ms(recorder->member.env);
}

static void wake(kin_event_recorder *recorder) {
  if (kin__link_is_empty(&recorder->step.node) && !recorder->has_ended) {
    kin__env_defer(recorder->member.env, &recorder->step);
  }
}

/* --- Answers -------------------------------------------------------------- */

static kin__event_outcome outcome_of(const kin_response *response,
                                     bool is_patch) {
  if (response->code == 0) {
    return KIN__EVENT_WRITTEN;
  }
  if (is_patch && response->code == KIN_ENOENT) {
    return KIN__EVENT_MISSING;
  }
  if (!is_patch && response->code == KIN_EEXIST) {
    return KIN__EVENT_EXISTS;
  }
  bool is_final = (response->status >= 300 && response->status < 500 &&
                   response->status != 429) ||
                  response->error_class == KIN_CLASS_NONE;
  return is_final ? KIN__EVENT_REJECTED : KIN__EVENT_FAILED;
}

/* The correlator has taken the failure. */
static void tell_failure(kin_event_recorder *recorder, kin_error_event *event) {
  const kin__env *env = recorder->member.env;
  event->size = sizeof *event;
  event->retry_in_ms = recorder->correlator.last_wait_ms;
  kin__log_write(env->log, KIN_LOG_WARN, "event: %s", event->message);
  if (recorder->options.on_error != NULL && !recorder->is_over) {
    uint64_t start_ns = kin__clock_ns(&env->clock);
    recorder->options.on_error(event, recorder->options.data);
    kin__env_add_handler_time(env, start_ns);
  }
}

/* The namespace of the Event, cut; `size` is that of the buffer. */
static void copy_namespace(const kin__event_entry *entry, char *to,
                           size_t size) {
  snprintf(to, size, KIN_STR_FORMAT,
           KIN_STR_ARG(entry->texts[KIN__EVENT_NAMESPACE]));
}

static void on_response(const kin_response *response, void *data) {
  slot *s = data;
  kin_event_recorder *recorder = s->recorder;
  kin__event_entry *entry = s->entry;
  char namespace_[SHOWN_BYTES];
  copy_namespace(entry, namespace_, sizeof namespace_);
  uint32_t attempt = entry->tries + 1;
  kin__event_outcome outcome = outcome_of(response, entry->is_patch);
  s->request = NULL;
  s->entry = NULL;
  kin__correlator_answer(&recorder->correlator, entry, outcome,
                         response->retry_after_s, now_ms(recorder));
  wake(recorder);
  bool is_failure =
      outcome == KIN__EVENT_REJECTED || outcome == KIN__EVENT_FAILED;
  if (is_failure && response->error_class != KIN_CLASS_NONE) {
    kin_error_event event = {.code = response->code,
                             .error_class = response->error_class,
                             .status = response->status,
                             .reason = response->reason_text,
                             .message = response->message,
                             .namespace_ = namespace_,
                             .attempt = attempt};
    tell_failure(recorder, &event);
  }
}

/* --- Requests ------------------------------------------------------------- */

static int start_request(kin_event_recorder *recorder, slot *s) {
  const kin__event_entry *entry = s->entry;
  char namespace_[MAX_REFERENCE_TEXT_BYTES + 1];
  char name[MAX_REFERENCE_TEXT_BYTES + 1];
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  kin__buf_reset(&recorder->body, SIZE_MAX);
  int err =
      kin__event_body(&recorder->body, entry, kin__cstr(recorder->controller),
                      kin__cstr(recorder->instance));
  if (err != 0) {
    return err;
  }
  copy_namespace(entry, namespace_, sizeof namespace_);
  snprintf(name, sizeof name, KIN_STR_FORMAT,
           KIN_STR_ARG(entry->texts[KIN__EVENT_NAME]));
  spec.verb = entry->is_patch ? KIN_VERB_PATCH_MERGE : KIN_VERB_CREATE;
  spec.group = "events.k8s.io";
  spec.plural = "events";
  spec.namespace_ = namespace_;
  spec.name = entry->is_patch ? name : NULL;
  spec.body = recorder->body.data;
  spec.body_length = recorder->body.length;
  spec.timeout_ms = REQUEST_TIMEOUT_MS;
  spec.no_retries = true; /* the correlator counts the tries */
  return kin__request_start(&s->request, recorder->member.host, &spec,
                            on_response, s);
}

/* The correlator may free the entry, so its texts are copied first. */
static void send_entry(kin_event_recorder *recorder, slot *s,
                       kin__event_entry *entry) {
  s->entry = entry;
  uint32_t attempt = entry->tries + 1;
  int err = start_request(recorder, s);
  if (err == 0) {
    return;
  }
  char namespace_[SHOWN_BYTES];
  char message[3 * MAX_REFERENCE_TEXT_BYTES + 200];
  copy_namespace(entry, namespace_, sizeof namespace_);
  snprintf(message, sizeof message,
           "Event about " KIN_STR_FORMAT " %s/" KIN_STR_FORMAT ": %s",
           KIN_STR_ARG(entry->texts[KIN__EVENT_REGARDING + 1]), namespace_,
           KIN_STR_ARG(entry->texts[KIN__EVENT_REGARDING + 3]),
           kin_strerror(err));
  kin__put_on_one_line(message);
  s->entry = NULL;
  kin__correlator_answer(&recorder->correlator, entry,
                         err == KIN_ENOMEM ? KIN__EVENT_FAILED
                                           : KIN__EVENT_REJECTED,
                         -1, now_ms(recorder));
  if (err != KIN_ECLOSED) {
    kin_error_event event = kin__request_start_failed(err);
    event.message = message;
    event.namespace_ = namespace_;
    event.attempt = attempt;
    tell_failure(recorder, &event);
  }
}

/* Each slot gets at most one entry, so that a step is bounded. */
static void send_some(kin_event_recorder *recorder) {
  for (unsigned i = 0; i < MAX_IN_FLIGHT && !recorder->is_over; i++) {
    slot *s = &recorder->slots[i];
    kin__event_entry *entry =
        s->entry == NULL ? kin__correlator_next(&recorder->correlator) : NULL;
    if (entry != NULL) {
      send_entry(recorder, s, entry);
    }
  }
}

/* --- The end -------------------------------------------------------------- */

static void cancel_all(kin_event_recorder *recorder) {
  for (unsigned i = 0; i < MAX_IN_FLIGHT; i++) {
    if (recorder->slots[i].request != NULL) {
      (void)kin_request_cancel(recorder->slots[i].request, KIN_ECLOSED);
    }
  }
}

static void stop_sending(kin_event_recorder *recorder) {
  const kin__env *env = recorder->member.env;
  recorder->is_over = true;
  kin__timer_stop(env->timers, &recorder->timer);
  kin__timer_stop(env->timers, &recorder->flush);
  cancel_all(recorder);
}

/* Returns whether the recorder is still to be stepped. */
static bool close_step(kin_event_recorder *recorder) {
  kin__correlator *correlator = &recorder->correlator;
  if (!recorder->is_over && !recorder->is_hurried) {
    recorder->is_hurried = !kin__correlator_hurry(correlator, TIMERS_PER_STEP);
    return true;
  }
  bool has_work = correlator->queued > 0 || correlator->sending > 0;
  if (!recorder->is_over && has_work) {
    send_some(recorder);
    return correlator->sending == 0;
  }
  if (!recorder->is_over) {
    stop_sending(recorder);
  }
  if (correlator->sending > 0) {
    return false; /* the answers of what was cancelled come */
  }
  if (kin__correlator_drop(correlator, DROPS_PER_STEP)) {
    return true;
  }
  recorder->has_ended = true;
  kin__member_end(&recorder->member);
  return false;
}

static void on_flush(kin__timer *timer) {
  kin_event_recorder *recorder =
      KIN__CONTAINER_OF(timer, kin_event_recorder, flush);
  stop_sending(recorder);
  wake(recorder);
}

/* --- The step ------------------------------------------------------------- */

/* on_error may have closed the recorder in this step. */
static void arm(kin_event_recorder *recorder) {
  const kin__env *env = recorder->member.env;
  uint64_t due_ms = kin__correlator_due_ms(&recorder->correlator);
  if (due_ms == UINT64_MAX || recorder->is_over) {
    kin__timer_stop(env->timers, &recorder->timer);
  } else {
    kin__timer_start(env->timers, &recorder->timer, due_ms);
  }
}

static bool has_free_slot(const kin_event_recorder *recorder) {
  return recorder->correlator.sending < MAX_IN_FLIGHT;
}

static void on_step(kin__deferred *deferred) {
  kin_event_recorder *recorder =
      KIN__CONTAINER_OF(deferred, kin_event_recorder, step);
  if (recorder->member.is_closing) {
    if (close_step(recorder)) {
      wake(recorder);
    }
    return;
  }
  bool has_more = kin__correlator_run(&recorder->correlator, now_ms(recorder),
                                      TIMERS_PER_STEP);
  send_some(recorder);
  arm(recorder);
  if (has_more ||
      (recorder->correlator.queued > 0 && has_free_slot(recorder))) {
    wake(recorder);
  }
}

static void on_timer(kin__timer *timer) {
  wake(KIN__CONTAINER_OF(timer, kin_event_recorder, timer));
}

/* --- Life ----------------------------------------------------------------- */

static void on_close(kin__member *member) {
  kin_event_recorder *recorder =
      KIN__CONTAINER_OF(member, kin_event_recorder, member);
  uint32_t flush_ms = recorder->options.flush_ms;
  if (flush_ms == 0 || member->host->members.is_closing) {
    stop_sending(recorder);
  } else {
    kin__timer_start(member->env->timers, &recorder->flush,
                     kin__deadline_ms(now_ms(recorder), flush_ms));
  }
  wake(recorder);
}

static void on_free(kin__member *member) {
  kin_event_recorder *recorder =
      KIN__CONTAINER_OF(member, kin_event_recorder, member);
  kin__correlator_finish(&recorder->correlator);
  kin__buf_finish(&recorder->body);
  kin__free(member->env->allocator, recorder);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

static int check_number(const kin__log *log, const char *name, uint32_t value,
                        uint32_t limit) {
  return value <= limit
             ? 0
             : kin__log_problem(log, KIN_EINVAL,
                                "%s: %" PRIu32 " is more than %" PRIu32, name,
                                value, limit);
}

static int check(const kin_event_recorder_options *options,
                 const kin__log *log) {
  const char *controller = kin__or_default(options->controller, "");
  const char *instance = kin__or_default(options->instance, "i");
  if (controller[0] == '\0' || strlen(controller) > MAX_WORD_BYTES) {
    return kin__log_problem(log, KIN_EINVAL,
                            "controller: is required, of at most %u bytes",
                            MAX_WORD_BYTES);
  }
  if (instance[0] == '\0' || strlen(instance) > MAX_WORD_BYTES) {
    return kin__log_problem(log, KIN_EINVAL,
                            "instance: is empty, or longer than %u bytes",
                            MAX_WORD_BYTES);
  }
  int err =
      check_number(log, "max_series", options->max_series, MAX_SERIES_LIMIT);
  if (err == 0) {
    err =
        check_number(log, "max_queued", options->max_queued, MAX_QUEUED_LIMIT);
  }
  if (err == 0) {
    err = check_number(log, "burst", options->burst, MAX_BURST);
  }
  if (err == 0) {
    err = check_number(log, "interval_s", options->interval_s, MAX_INTERVAL_S);
  }
  return err == 0
             ? check_number(log, "flush_ms", options->flush_ms, MAX_FLUSH_MS)
             : err;
}

static uint32_t number_or(uint32_t value, uint32_t fallback) {
  return value != 0 ? value : fallback;
}

static void set_names(kin_event_recorder *recorder) {
  const kin_event_recorder_options *options = &recorder->options;
  char host[KIN__HOST_NAME_SIZE];
  char made[MAX_WORD_BYTES + 1 + KIN__HOST_NAME_SIZE];
  kin__host_name(host);
  snprintf(made, sizeof made, "%s-%s", options->controller, host);
  kin_str instance =
      kin__cstr(options->instance != NULL ? options->instance : made);
  (void)kin__utf8_clean(recorder->controller, kin__cstr(options->controller),
                        MAX_WORD_BYTES);
  (void)kin__utf8_clean(recorder->instance, instance, MAX_WORD_BYTES);
}

static int init_parts(kin_event_recorder *recorder,
                      const kin_event_recorder_options *options) {
  const kin__env *env = recorder->member.env;
  const kin__correlator_limits limits = {
      .max_series = number_or(options->max_series, DEFAULT_MAX_SERIES),
      .max_queued = number_or(options->max_queued, DEFAULT_MAX_QUEUED),
      .burst = number_or(options->burst, DEFAULT_BURST),
      .interval_ms =
          number_or(options->interval_s, DEFAULT_INTERVAL_S) * UINT64_C(1000)};
  recorder->options = *options;
  recorder->member.on_closed = options->on_closed;
  recorder->member.data = options->data;
  set_names(recorder);
  for (unsigned i = 0; i < MAX_IN_FLIGHT; i++) {
    recorder->slots[i].recorder = recorder;
  }
  kin__buf_init(&recorder->body, env->allocator, MAX_BODY_BYTES);
  kin__timer_init(&recorder->timer, on_timer);
  kin__timer_init(&recorder->flush, on_flush);
  kin__link_init(&recorder->step.node);
  recorder->step.cb = on_step;
  return kin__correlator_init(&recorder->correlator, env->allocator,
                              env->random, &limits);
}

int kin__event_recorder_open(kin_event_recorder **out, kin__host *host,
                             const kin_event_recorder_options *options) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err == 0) {
    err = check(options, host->env->log);
  }
  if (err != 0) {
    return err;
  }
  kin_event_recorder *recorder =
      kin__calloc(host->env->allocator, 1, sizeof *recorder);
  if (recorder == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&recorder->member, &member_ops, host->env);
  err = init_parts(recorder, options);
  if (err != 0) {
    on_free(&recorder->member);
    return err;
  }
  kin__member_join(&recorder->member, host);
  *out = recorder;
  return 0;
}

int kin_event_recorder_open(kin_event_recorder **out, kin_client *client,
                            const kin_event_recorder_options *options) {
  kin_event_recorder *recorder = NULL;
  int err = KIN_EINVAL;
  if (client != NULL && out != NULL) {
    kin__host *host = kin__client_host(client);
    kin_event_recorder_options copy;
    err = kin__options_take(&copy, sizeof copy, options,
                            KIN__FIRST_SIZE(kin_event_recorder_options),
                            "kin_event_recorder_options", host->env->log);
    if (err == 0) {
      err = kin__event_recorder_open(&recorder, host, &copy);
    }
  }
  if (out != NULL) {
    *out = recorder;
  }
  return err;
}

int kin_event_recorder_close(kin_event_recorder *recorder,
                             kin_event_recorder_close_cb cb, void *data) {
  return recorder != NULL ? kin__member_close(&recorder->member, cb, data)
                          : KIN_EINVAL;
}

/* --- Use ------------------------------------------------------------------ */

static int refuse(const kin_event_recorder *recorder, const char *fault) {
  return kin__log_problem(recorder->member.env->log, KIN_EINVAL, "%s", fault);
}

/* A NUL would cut the text in the path of the request, not in the body. */
static bool is_reference_text(kin_str text) {
  return text.length == 0 || (text.length <= MAX_REFERENCE_TEXT_BYTES &&
                              memchr(text.data, '\0', text.length) == NULL);
}

/* Copies with clean texts. `bytes` holds them. Errors: KIN_EINVAL. */
static int clean_reference(kin_object_reference *to,
                           const kin_object_reference *from, kin__buf *bytes) {
  const kin_str given[] = {from->api_version, from->kind,
                           from->namespace_,  from->name,
                           from->uid,         from->resource_version,
                           from->field_path};
  kin_str *const texts[] = {&to->api_version, &to->kind, &to->namespace_,
                            &to->name,        &to->uid,  &to->resource_version,
                            &to->field_path};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    kin_str text = kin__str_given(given[i]);
    if (!is_reference_text(text)) {
      return KIN_EINVAL;
    }
    char *at = bytes->data + bytes->length; /* there is room */
    *texts[i] = kin__str(at, kin__utf8_clean(at, text, text.length));
    bytes->length += texts[i]->length;
  }
  return to->kind.length > 0 && to->name.length > 0 ? 0 : KIN_EINVAL;
}

static bool is_word(const char *text) {
  return kin__has_text(text) && strlen(text) <= MAX_WORD_BYTES;
}

static bool is_type(const char *type) {
  return type != NULL &&
         (strcmp(type, "Normal") == 0 || strcmp(type, "Warning") == 0);
}

static kin_str clean_text(const char *text, size_t max_bytes, kin__buf *bytes) {
  char *at = bytes->data + bytes->length;
  kin_str clean = {at, kin__utf8_clean(at, kin__cstr(text), max_bytes)};
  bytes->length += clean.length;
  return clean;
}

/* A text about a fault of the arguments, or NULL. */
static const char *fault_of(const kin_object_reference *regarding,
                            const char *type, const char *reason,
                            const char *action) {
  if (regarding == NULL) {
    return "regarding: is required";
  }
  if (!is_type(type)) {
    return "type: is \"Normal\" or \"Warning\"";
  }
  return is_word(reason) && is_word(action)
             ? NULL
             : "reason, action: are required, of at most 128 bytes";
}

int kin_event_recorder_record(kin_event_recorder *recorder,
                              const kin_object_reference *regarding,
                              const kin_object_reference *related,
                              const char *type, const char *reason,
                              const char *action, const char *note) {
  if (recorder == NULL) {
    return KIN_EINVAL;
  }
  const char *fault = fault_of(regarding, type, reason, action);
  if (fault != NULL) {
    return refuse(recorder, fault);
  }
  if (recorder->member.is_closing) {
    return KIN_ECLOSED;
  }
  char room[2 * 7 * MAX_REFERENCE_TEXT_BYTES + KIN__EVENT_MAX_NOTE_BYTES +
            2 * MAX_WORD_BYTES];
  kin__buf bytes = {.data = room, .capacity = sizeof room};
  kin_object_reference about;
  kin_object_reference other;
  int err = clean_reference(&about, regarding, &bytes);
  if (err == 0 && related != NULL) {
    err = clean_reference(&other, related, &bytes);
  }
  if (err != 0) {
    return refuse(recorder, "regarding, related: need a kind and a name, and "
                            "texts of at most 1,024 bytes without a NUL");
  }
  const kin__occurrence occurrence = {
      .regarding = &about,
      .related = related != NULL ? &other : NULL,
      .type = kin__cstr(type),
      .reason = clean_text(reason, MAX_WORD_BYTES, &bytes),
      .action = clean_text(action, MAX_WORD_BYTES, &bytes),
      .note = clean_text(note, KIN__EVENT_MAX_NOTE_BYTES, &bytes),
      .now_ms = now_ms(recorder),
      .wall = kin__wall_now()};
  err = kin__correlator_record(&recorder->correlator, &occurrence);
  if (err == 0) {
    wake(recorder);
  }
  return err;
}

int kin_event_recorder_get_metrics(const kin_event_recorder *recorder,
                                   kin_event_recorder_metrics *metrics) {
  if (recorder == NULL) {
    return KIN_EINVAL;
  }
  const kin__correlator *correlator = &recorder->correlator;
  kin_event_recorder_metrics found = {.recorded = correlator->recorded,
                                      .created = correlator->created,
                                      .patched = correlator->patched,
                                      .retries = correlator->retries,
                                      .dropped_spam = correlator->spam,
                                      .dropped_full = correlator->overflown,
                                      .dropped_writes = correlator->rejected +
                                                        correlator->given_up,
                                      .series = correlator->entries.count,
                                      .queued = correlator->busy};
  return kin__sized_fill(metrics, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_event_recorder_metrics));
}
