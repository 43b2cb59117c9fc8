/* SPDX-License-Identifier: MIT */
#include "support/script_env.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t script_now_ns(void *ctx) {
  return ((script_env *)ctx)->now_ns;
}

static void script_wake(void *ctx) {
  (void)ctx; /* script_run looks by itself */
}

static void script_call(void *ctx) {
  atomic_store(&((script_env *)ctx)->is_called, true);
}

static int source_start(void *ctx, const kin__request *request,
                        const kin__exchange_callbacks *callbacks,
                        void *callbacks_ctx, void **out) {
  script_env *script = ctx;
  *out = NULL;
  if (script->fail_start > 0) {
    script->fail_start--;
    return KIN_ENOMEM;
  }
  unsigned i = 0;
  while (i < SCRIPT_MAX_REQUESTS && script->requests[i] != NULL) {
    i++;
  }
  assert_true(i < SCRIPT_MAX_REQUESTS);
  script_request *entry = calloc(1, sizeof *entry);
  assert_non_null(entry);
  *entry = (script_request){.env = script,
                            .id = ++script->request_count,
                            .is_watch = request->is_watch,
                            .read_shift = request->read_shift,
                            .is_open = true,
                            .callbacks = callbacks,
                            .ctx = callbacks_ctx};
  snprintf(entry->target, sizeof entry->target, "%s", request->target);
  snprintf(entry->accept, sizeof entry->accept, "%s", request->accept);
  snprintf(entry->if_none_match, sizeof entry->if_none_match, "%s",
           request->if_none_match != NULL ? request->if_none_match : "");
  snprintf(entry->method, sizeof entry->method, "%s",
           request->method != NULL ? request->method : "GET");
  snprintf(entry->content_type, sizeof entry->content_type, "%s",
           request->content_type != NULL ? request->content_type : "");
  entry->body = request->body;
  entry->body_length = request->body_length;
  snprintf(script->last_target, sizeof script->last_target, "%s",
           request->target);
  script->requests[i] = entry;
  *out = entry;
  return 0;
}

static void forget(script_request *request) {
  script_env *script = request->env;
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (script->requests[i] == request) {
      script->requests[i] = NULL;
    }
  }
  free(request);
}

static void source_cancel(void *exchange) {
  forget(exchange);
}

static void source_pause(void *exchange) {
  ((script_request *)exchange)->is_paused = true;
}

static void source_resume(void *exchange) {
  ((script_request *)exchange)->is_paused = false;
}

void script_env_init(script_env *script, const kin_allocator *allocator) {
  *script = (script_env){.now_ns = UINT64_C(1000000000000)};
  script->memory = kin__memory_new(allocator);
  assert_non_null(script->memory);
  script->random.state = 1;
  kin__sched_init(&script->sched, script_now_ns, script);
  kin__timers_init(&script->timers);
  kin__link_init(&script->deferred);
  kin__watch_decoders_init(&script->watch_decoders, &script->memory->allocator);
  script->env = (kin__env){.allocator = &script->memory->allocator,
                           .shared_allocator = &script->memory->allocator,
                           .memory = script->memory,
                           .sched = &script->sched,
                           .timers = &script->timers,
                           .clock = {script_now_ns, script},
                           .random = &script->random,
                           .transport = {.start = source_start,
                                         .cancel = source_cancel,
                                         .pause = source_pause,
                                         .resume = source_resume,
                                         .ctx = script},
                           .watch_decoders = &script->watch_decoders,
                           .handler_ns = &script->handler_ns,
                           .deferred = &script->deferred,
                           .wake = script_wake,
                           .thread = &script->thread,
                           .call = script_call,
                           .call_ctx = script};
}

void script_use_streams(script_env *script) {
  script->env.stream_refused = &script->stream_refused;
}

void script_env_finish(script_env *script) {
  assert_int_equal(script_open_requests(script), 0);
  assert_false(kin__sched_has_work(&script->sched));
  assert_true(kin__link_is_empty(&script->deferred));
  assert_true(kin__timers_next_ms(&script->timers) == UINT64_MAX);
  kin__watch_decoders_finish(&script->watch_decoders);
  kin__memory_unref(script->memory);
}

static void tell_step(const script_env *script, bool is_before) {
  if (script->on_step != NULL) {
    script->on_step(script->on_step_ctx, is_before);
  }
}

static void run_tasks(script_env *script) {
  if (script->on_step == NULL) {
    kin__sched_run(&script->sched, UINT64_MAX);
    return;
  }
  while (kin__sched_has_work(&script->sched)) {
    kin__sched_run(&script->sched, 0); /* one step */
    tell_step(script, false);
  }
}

void script_run_deferred(script_env *script) {
  kin__link batch;
  kin__link_init(&batch);
  kin__link_splice(&batch, &script->deferred);
  while (!kin__link_is_empty(&batch)) {
    kin__deferred *deferred =
        KIN__CONTAINER_OF(batch.next, kin__deferred, node);
    kin__link_remove(&deferred->node);
    deferred->cb(deferred);
    tell_step(script, false);
  }
}

void script_run(script_env *script) {
  atomic_store(&script->thread, kin__thread_self());
  tell_step(script, true);
  do {
    if (atomic_exchange(&script->is_called, false) && script->on_call != NULL) {
      script->on_call(script);
    }
    script_run_deferred(script);
    run_tasks(script);
  } while (!kin__link_is_empty(&script->deferred) ||
           atomic_load(&script->is_called));
}

void script_advance(script_env *script, uint64_t ms) {
  uint64_t end_ms = script->now_ns / 1000000 + ms;
  script_run(script);
  for (;;) {
    uint64_t next_ms = kin__timers_next_ms(&script->timers);
    if (next_ms > end_ms) {
      break;
    }
    if (next_ms * 1000000 > script->now_ns) {
      script->now_ns = next_ms * 1000000;
    }
    kin__timers_run(&script->timers, script->now_ns / 1000000, 1);
    script_run(script);
  }
  script->now_ns = end_ms * 1000000;
}

size_t script_wakes(script_env *script, uint64_t ms) {
  uint64_t end_ms = kin__env_now_ms(&script->env) + ms;
  size_t count = 0;
  script_run(script);
  while (kin__timers_next_ms(&script->timers) <= end_ms) {
    script_advance(script, kin__timers_next_ms(&script->timers) -
                               kin__env_now_ms(&script->env));
    count++;
  }
  script_advance(script, end_ms - kin__env_now_ms(&script->env));
  return count;
}

script_request *script_find(script_env *script, const char *part) {
  script_request *found = NULL;
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = script->requests[i];
    if (request != NULL && strstr(request->target, part) != NULL) {
      assert_null(found);
      found = request;
    }
  }
  return found;
}

script_request *script_expect(script_env *script, const char *part) {
  script_request *request = script_find(script, part);
  if (request == NULL) {
    fail_msg("no open request matches \"%s\"; the newest was %s", part,
             script->last_target);
  }
  return request;
}

bool script_is_open(const script_env *script, const script_request *request,
                    unsigned id) {
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (script->requests[i] == request) {
      return request != NULL && request->id == id;
    }
  }
  return false;
}

bool script_request_give_head(script_request *request,
                              const kin__response_head *head) {
  script_env *script = request->env;
  unsigned id = request->id;
  request->has_head = true;
  request->callbacks->on_head(request->ctx, head);
  script_run(script);
  return script_is_open(script, request, id);
}

bool script_request_head(script_request *request, int status) {
  kin__response_head head = {.status = status,
                             .content_type = {"application/json", 16},
                             .retry_after_s = -1,
                             .is_identity = true,
                             .connection = request->env->connection,
                             .server_address = request->env->server_address};
  return script_request_give_head(request, &head);
}

bool script_request_body(script_request *request, const char *body,
                         size_t length) {
  script_env *script = request->env;
  unsigned id = request->id;
  size_t piece = script->split > 0 ? script->split : length;
  for (size_t at = 0; at < length; at += piece) {
    size_t rest = length - at;
    request->callbacks->on_body(request->ctx, body + at,
                                rest < piece ? rest : piece);
    script_run(script);
    if (!script_is_open(script, request, id)) {
      return false;
    }
  }
  return true;
}

void script_request_end(script_request *request) {
  script_env *script = request->env;
  const kin__exchange_callbacks *callbacks = request->callbacks;
  void *ctx = request->ctx;
  forget(request);
  callbacks->on_end(ctx, NULL);
  script_run(script);
}

bool script_head(script_env *script, const char *part, int status) {
  script_request *request = script_find(script, part);
  return request != NULL && script_request_head(request, status);
}

bool script_body(script_env *script, const char *part, const char *body,
                 size_t length) {
  script_request *request = script_find(script, part);
  return request != NULL && script_request_body(request, body, length);
}

bool script_expire(script_env *script, const char *part) {
  static const char expired[] =
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"
      "\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n";
  return script_body(script, part, expired, sizeof expired - 1);
}

bool script_end(script_env *script, const char *part) {
  script_request *request = script_find(script, part);
  if (request == NULL) {
    return false;
  }
  script_request_end(request);
  return true;
}

void script_respond(script_env *script, const char *part, int status,
                    const char *body) {
  script_request *request = script_find(script, part);
  if (request != NULL && script_request_head(request, status) &&
      script_request_body(request, body, strlen(body))) {
    script_request_end(request);
  }
}

void script_break_request(script_request *request, int code,
                          kin_error_class error_class) {
  kin__exchange_error error = {
      .code = code, .error_class = error_class, .had_head = request->has_head};
  snprintf(error.message, sizeof error.message, "broken by the test");
  script_break_with(request, &error);
}

void script_break_with(script_request *request,
                       const kin__exchange_error *error) {
  script_env *script = request->env;
  const kin__exchange_callbacks *callbacks = request->callbacks;
  void *ctx = request->ctx;
  forget(request);
  callbacks->on_end(ctx, error);
  script_run(script);
}

void script_break(script_env *script, const char *part, int code,
                  kin_error_class error_class) {
  script_request *request = script_find(script, part);
  if (request != NULL) {
    script_break_request(request, code, error_class);
  }
}

unsigned script_open_requests(const script_env *script) {
  unsigned count = 0;
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    count += script->requests[i] != NULL;
  }
  return count;
}
