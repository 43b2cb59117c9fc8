/* SPDX-License-Identifier: MIT */
#include "informer/scope.h"

#include <stdio.h>
#include <string.h>

#include "informer/process.h"
#include "informer/response.h"

#define MAX_TARGET_BYTES (512u << 10)
#define STALE_AFTER_MS 60000u
#define MAX_RETRY_AFTER_MS (24u * 3600u * 1000u)

static const kin__env *env_of(const kin__scope *scope) {
  return scope->informer->env;
}

/* --- Carrying out the reflector's actions -------------------------------- */

void kin__scope_drop_request(kin__scope *scope) {
  if (scope->exchange != NULL) {
    env_of(scope)->source.cancel(scope->exchange);
  }
  kin__scope_request_ended(scope);
}

void kin__scope_request_ended(kin__scope *scope) {
  scope->exchange = NULL;
  scope->request = KIN__REQUEST_NONE;
  kin__list_remove(&scope->paused_node);
  kin_object_unref(scope->known);
  scope->known = NULL;
}

static int send_request(kin__scope *scope,
                        const kin__reflector_actions *actions) {
  const kin__resource *resource = &scope->informer->settings.resource;
  bool is_watch = actions->request == KIN__REQUEST_WATCH;
  kin__query query = {.version = actions->version,
                      .version_match = actions->version_match,
                      .token = actions->token,
                      .limit = actions->limit,
                      .is_watch = is_watch,
                      .timeout_s = actions->timeout_s};
  int err =
      kin__request_target(&scope->target, resource, scope->namespace_, &query);
  if (err == 0) {
    err = kin__response_prepare(scope, is_watch);
  }
  if (err != 0) {
    return err;
  }
  kin__request request = {.target = scope->target.data,
                          .accept = kin__request_accept(resource, is_watch),
                          .is_watch = is_watch};
  const kin__source *source = &env_of(scope)->source;
  scope->request = actions->request;
  scope->http_status = 0;
  err = source->start(source->ctx, &request, &kin__response_callbacks, scope,
                      &scope->exchange);
  if (err != 0) {
    kin__scope_request_ended(scope);
  }
  return err;
}

static void report(kin__scope *scope, const kin__failure *failure,
                   uint64_t retry_in_ms) {
  scope->last_error_class = failure->error_class;
  scope->last_error_status = failure->status;
  kin__notice_failure(scope, failure, retry_in_ms);
  kin__log_write(env_of(scope)->log, KIN_LOG_WARN,
                 "%s %s%s%s: %s; next attempt in %llu ms",
                 scope->informer->settings.resource.plural, scope->namespace_,
                 scope->namespace_[0] != '\0' ? ": " : "", failure->reason,
                 failure->message, (unsigned long long)retry_in_ms);
}

static void act(kin__scope *scope, const kin__reflector_actions *actions,
                const kin__failure *failure) {
  const kin__env *env = env_of(scope);
  if (actions->cancel_request) {
    kin__scope_drop_request(scope);
  }
  if (actions->stop_timer) {
    kin__timer_stop(env->timers, &scope->timer);
  }
  if (actions->drop_stage) {
    kin__stage_discard(&scope->stage);
    kin__apply_wake(scope);
  }
  if (actions->apply_stage) {
    kin__apply_start(scope);
  }
  if (actions->start_timer) {
    kin__timer_start(env->timers, &scope->timer,
                     kin__env_now_ms(env) + actions->timer_ms);
  }
  if (actions->report) {
    report(scope, failure, actions->retry_in_ms);
  }
  kin__scope_update_state(scope);
  if (actions->request != KIN__REQUEST_NONE) {
    int err = send_request(scope, actions);
    if (err != 0) {
      kin__failure cause;
      kin__failure_from_code(&cause, err, "sending a request", "");
      kin__scope_failed(scope, KIN__INPUT_FAILED, &cause);
    }
  }
}

void kin__scope_step(kin__scope *scope, const kin__reflector_input *input) {
  kin__reflector_actions actions;
  kin__reflector_state before = scope->reflector.state;
  kin__reflector_step(&scope->reflector, input, kin__env_now_ms(env_of(scope)),
                      &actions);
  if (scope->reflector.state != before) {
    kin__log_write(env_of(scope)->log, KIN_LOG_DEBUG, "%s %s: %s -> %s",
                   scope->informer->settings.resource.plural, scope->namespace_,
                   kin__reflector_state_name(before),
                   kin__reflector_state_name(scope->reflector.state));
  }
  act(scope, &actions, input->failure);
}

void kin__scope_failed(kin__scope *scope, kin__reflector_input_type type,
                       const kin__failure *failure) {
  kin__reflector_input input = {.type = type, .failure = failure};
  kin__scope_step(scope, &input);
}

static void simple_input(kin__scope *scope, kin__reflector_input_type type) {
  kin__reflector_input input = {.type = type};
  kin__scope_step(scope, &input);
}

static void on_timer(kin__timer *timer) {
  kin__scope *scope = KIN__CONTAINER_OF(timer, kin__scope, timer);
  simple_input(scope, KIN__INPUT_TIMER);
}

void kin__scope_start(kin__scope *scope) {
  simple_input(scope, KIN__INPUT_START);
}

void kin__scope_stop(kin__scope *scope) {
  simple_input(scope, KIN__INPUT_STOP);
  kin__apply_stop(scope);
}

void kin__scope_applied(kin__scope *scope) {
  if (scope->counters.lists++ > 0) {
    scope->counters.relists++;
  }
  simple_input(scope, KIN__INPUT_APPLIED);
}

void kin__scope_answer(kin__scope *scope, kin_retry answer,
                       uint64_t retry_after_ms) {
  if (answer == KIN_STOP) {
    kin__scope_stop(scope);
    kin__apply_wake(scope);
    return;
  }
  kin__reflector_input input = {.type = KIN__INPUT_RETRY_AFTER,
                                .delay_ms = retry_after_ms < MAX_RETRY_AFTER_MS
                                                ? retry_after_ms
                                                : MAX_RETRY_AFTER_MS};
  kin__scope_step(scope, &input);
}

/* --- The queue ------------------------------------------------------------ */

int kin__scope_push(kin__scope *scope, kin__delta_type type,
                    const kin_object *object, bool is_tombstone) {
  kin_informer *informer = scope->informer;
  kin__delta delta = {.object = (kin_object *)object,
                      .generation = scope->generation,
                      .scope = scope->index,
                      .type = (uint8_t)type,
                      .is_tombstone = is_tombstone,
                      .is_initial = !scope->has_synced};
  if (type == KIN__DELTA_DELETED) {
    delta.reason = is_tombstone ? KIN_DELETE_RELIST : KIN_DELETE_WATCH;
  }
  int err = kin__delta_fifo_push(&informer->fifo, &delta);
  if (err != 0) {
    return err;
  }
  kin__sched_add(informer->env->sched, &informer->process_task);
  if (informer->fifo.depth >= KIN__QUEUE_HIGH && scope->exchange != NULL &&
      kin__list_is_empty(&scope->paused_node)) {
    kin__list_push(&informer->paused, &scope->paused_node);
    informer->env->source.pause(scope->exchange);
  }
  return 0;
}

void kin__scope_resume(kin__scope *scope) {
  kin__list_remove(&scope->paused_node);
  env_of(scope)->source.resume(scope->exchange);
}

/* --- State and status ----------------------------------------------------- */

static bool is_failing_long(const kin__scope *scope) {
  const kin__reflector *reflector = &scope->reflector;
  return reflector->failures > 0 &&
         kin__env_now_ms(env_of(scope)) - reflector->failing_since_ms >=
             STALE_AFTER_MS;
}

static kin_state compute_state(const kin__scope *scope) {
  const kin__reflector *reflector = &scope->reflector;
  if (reflector->state == KIN__REFLECTOR_IDLE ||
      reflector->state == KIN__REFLECTOR_STOPPED) {
    return KIN_STATE_IDLE;
  }
  if (reflector->failures > 0) {
    switch (scope->last_error_class) {
    case KIN_CLASS_AUTH:
    case KIN_CLASS_FORBIDDEN:
      return KIN_STATE_DENIED;
    case KIN_CLASS_ABSENT:
      return KIN_STATE_ABSENT;
    default:
      break;
    }
  }
  if (!scope->has_synced) {
    return KIN_STATE_SYNCING;
  }
  if (reflector->state == KIN__REFLECTOR_WATCHING) {
    return KIN_STATE_LIVE;
  }
  /* The first watch, or one that ended as it should, is opened within a round
   * trip. */
  bool was_well =
      scope->state == KIN_STATE_LIVE || scope->state == KIN_STATE_SYNCING;
  if (reflector->failures == 0 && was_well) {
    return scope->state;
  }
  return is_failing_long(scope) ? KIN_STATE_STALE : KIN_STATE_RECONNECTING;
}

void kin__scope_update_state(kin__scope *scope) {
  kin_state from = scope->state;
  scope->state = compute_state(scope);
  if (scope->state != from && !scope->informer->is_closing) {
    kin__notice_state(scope, from, scope->state);
    kin__log_write(env_of(scope)->log, KIN_LOG_INFO, "%s %s: %s -> %s",
                   scope->informer->settings.resource.plural, scope->namespace_,
                   kin_state_name(from), kin_state_name(scope->state));
  }
}

static uint64_t age_ms(uint64_t then_ms, uint64_t now_ms) {
  return then_ms == UINT64_MAX ? UINT64_MAX : now_ms - then_ms;
}

void kin__scope_get_status(const kin__scope *scope, kin_status *status) {
  uint64_t now_ms = kin__env_now_ms(env_of(scope));
  *status = scope->counters;
  status->state = compute_state(scope);
  status->has_synced = scope->has_synced;
  snprintf(status->resource_version, sizeof status->resource_version, "%s",
           scope->reflector.version);
  status->byte_age_ms = age_ms(scope->last_byte_ms, now_ms);
  status->event_age_ms = age_ms(scope->last_event_ms, now_ms);
  status->bookmark_age_ms = age_ms(scope->last_bookmark_ms, now_ms);
  status->failures = scope->reflector.failures;
  status->staged = kin__stage_count(&scope->stage);
  status->last_error_class = scope->last_error_class;
  status->last_error_status = scope->last_error_status;
}

/* --- Life ------------------------------------------------------------------ */

void kin__scope_init(kin__scope *scope, kin_informer *informer, uint32_t index,
                     const char *namespace_) {
  const kin__env *env = informer->env;
  *scope = (kin__scope){.informer = informer,
                        .index = index,
                        .namespace_ = namespace_,
                        .last_byte_ms = UINT64_MAX,
                        .last_event_ms = UINT64_MAX,
                        .last_bookmark_ms = UINT64_MAX};
  kin__reflector_init(&scope->reflector, env->allocator, env->random,
                      informer->settings.options.page_size,
                      kin__env_now_ms(env));
  kin__timer_init(&scope->timer, on_timer);
  kin__stage_init(&scope->stage, env->allocator);
  kin__apply_init(&scope->apply);
  kin__notice_init(&scope->notice);
  kin__list_init(&scope->paused_node);
  kin__buf_init(&scope->error_body, env->allocator, KIN__MAX_ERROR_BODY);
  kin__buf_init(&scope->target, env->allocator, MAX_TARGET_BYTES);
}

bool kin__scope_free_step(kin__scope *scope, size_t count) {
  return kin__stage_free_step(&scope->stage, count);
}

void kin__scope_finish(kin__scope *scope) {
  kin__list_remove(&scope->notice.node);
  kin__list_decoder_free(scope->list_decoder);
  kin__watch_decoder_free(scope->watch_decoder);
  kin__reflector_finish(&scope->reflector);
  kin__buf_finish(&scope->error_body);
  kin__buf_finish(&scope->target);
}
