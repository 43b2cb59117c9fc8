/* SPDX-License-Identifier: MIT */
#include <kin/client.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>
#include <kin/metrics.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/sized.h"
#include "config/token.h"
#include "client/client_options.h"
#include "client/env.h"
#include "client/host.h"
#include "client/libraries.h"
#include "client/loop.h"
#include "transport/impersonate.h"
#include "transport/tls_context.h"
#include "transport/transport.h"
#include "transport/warning.h"

/* A client closes in this order. Its members (informers, reflectors, waits,
 * ...) close in bounded steps. Then come the transport with its connections and
 * resolver, the token, and the objects' memory (kept objects own it from then
 * on). The loop's handles come last: the last close callback frees the
 * client. */

#define DEFAULT_CONNECT_TIMEOUT_MS 10000u
#define DEFAULT_RESPONSE_TIMEOUT_MS 30000u
#define DEFAULT_BUDGET_US 500u
#define DEFAULT_MAX_LISTS 4u
#define DEFAULT_LIST_TURN_MS 5000u
#define CELLS_PER_STEP 256u
#define MAX_IDLE_CONNECTIONS 4u
#define IDLE_TIMEOUT_MS 90000u /* CN-09; probes keep one connection warm */
#define PROBE_SILENCE_MS 30000u
#define PROBE_ANSWER_MS 10000u

struct kin_client {
  kin__loop loop;
  kin__memory *memory;
  kin__task memory_task; /* collects the memory of freed objects */
  kin__log log;
  kin__random random;
  kin__token *token;         /* NULL: none */
  kin__transport *transport; /* NULL once it is closed */
  kin__transport_stats last_stats;
  kin__env env;
  kin__host host;
  char *user_agent;
  bool is_alone; /* closing, without members */
  bool is_unref;
  bool is_closing_memory; /* the last work of the loop */
  kin__gate lists;
  kin__limiter limiter; /* in use iff env.limiter is set */
  kin__warnings warnings;
  bool stream_refused; /* by the server; see kin__list_and_watch */
  char problem[KIN__PROBLEM_SIZE];
  kin_client_close_cb close_cb;
  void *close_data;
};

/* --- The environment of informers ----------------------------------------- */

static int source_start(void *ctx, const kin__request *request,
                        const kin__exchange_callbacks *callbacks,
                        void *callbacks_ctx, void **out) {
  kin__exchange *exchange;
  int err =
      kin__exchange_start(ctx, request, callbacks, callbacks_ctx, &exchange);
  *out = err == 0 ? exchange : NULL;
  return err;
}

static void source_cancel(void *exchange) {
  kin__exchange_cancel(exchange);
}

static void source_pause(void *exchange) {
  kin__exchange_pause(exchange);
}

static void source_resume(void *exchange) {
  kin__exchange_resume(exchange);
}

static void fill_env(kin_client *client, const kin_client_options *options) {
  client->env =
      (kin__env){.allocator = &client->memory->allocator,
                 .memory = client->memory,
                 .sched = &client->loop.sched,
                 .timers = &client->loop.timers,
                 .clock = {client->loop.sched.now_ns, client->loop.sched.ctx},
                 .random = &client->random,
                 .log = &client->log,
                 .mutation_check_ms = options->mutation_check_ms,
                 .transport = {.start = source_start,
                               .cancel = source_cancel,
                               .pause = source_pause,
                               .resume = source_resume,
                               .ctx = client->transport},
                 .handler_ns = &client->loop.handler_ns,
                 .lists = &client->lists,
                 .limiter = options->qps_milli != 0 ? &client->limiter : NULL,
                 .stream_refused = &client->stream_refused,
                 .check_watch_lists = options->check_watch_lists,
                 .deferred = &client->loop.deferred,
                 .wake = kin__loop_wake,
                 .wake_ctx = &client->loop};
}

static void on_member_left(kin__members *members);

static void fill_host(kin_client *client) {
  client->host.env = &client->env;
  kin__members_init(&client->host.members);
  client->host.members.left = on_member_left;
}

/* --- Open ----------------------------------------------------------------- */

static bool memory_step(kin__task *task);
static void before_work(void *ctx);

static uint32_t or_default(uint32_t value, uint32_t fallback) {
  return value != 0 ? value : fallback;
}

static uint64_t make_seed(const kin_client_options *options) {
  uint64_t seed = options->seed;
  if (seed == 0 && uv_random(NULL, NULL, &seed, sizeof seed, 0, NULL) != 0) {
    seed = uv_hrtime() ^ (uint64_t)(uintptr_t)options;
  }
  return seed;
}

static int make_token(kin_client *client, const kin_client_options *options) {
  if (options->token == NULL && options->token_file == NULL) {
    return 0;
  }
  kin__token_options token = {
      .loop = client->loop.uv,
      .allocator = &client->memory->allocator,
      .clock = {client->loop.sched.now_ns, client->loop.sched.ctx},
      .log = &client->log,
      .token = options->token,
      .file = options->token_file};
  int err = kin__token_new(&client->token, &token);
  if (err == KIN_EINVAL) {
    kin__log_problem(&client->log, err,
                     "token or token_file is empty, or the token has bytes "
                     "that no token has");
  }
  return err;
}

static kin__tls_options tls_options(const kin_client_options *options) {
  return (kin__tls_options){
      .authority_file = options->certificate_authority_file,
      .authority_data = options->certificate_authority_data,
      .certificate_file = options->client_certificate_file,
      .certificate_data = options->client_certificate_data,
      .key_file = options->client_key_file,
      .key_data = options->client_key_data,
      .server_name = options->tls_server_name,
      .is_insecure = options->insecure_skip_tls_verify};
}

static void init_warnings(kin_client *client,
                          const kin_client_options *options) {
  kin__random random = client->random;
  kin__hash_seed seed = kin__random_hash_seed(&random);
  kin__warnings_init(&client->warnings, &client->memory->allocator,
                     &client->loop.sched, &client->log, &seed);
  if (options->on_warning != NULL) {
    kin__warnings_tell(&client->warnings, options->on_warning,
                       options->warning_data, &client->loop.handler_ns);
  }
}

/* RR-12. */
static void open_limiter(kin_client *client,
                         const kin_client_options *options) {
  if (options->qps_milli == 0) {
    return;
  }
  uint32_t a_second = (uint32_t)(((uint64_t)options->qps_milli + 999) / 1000);
  kin__limiter_init(&client->limiter, &client->loop.sched, &client->loop.timers,
                    options->qps_milli, or_default(options->burst, a_second));
}

/* The header fields of impersonation, with a zero byte at the end. `fields`
 * must be empty. */
static int render_fields(kin_client *client, const kin_client_options *options,
                         kin__buf *fields) {
  const kin__impersonation whom = {
      .user = options->impersonate_user,
      .uid = options->impersonate_uid,
      .groups = options->impersonate_groups,
      .group_count = options->impersonate_group_count,
      .extra = options->impersonate_extra,
      .extra_count = options->impersonate_extra_count};
  const char *reason;
  int err = kin__impersonate_render(fields, &whom, &reason);
  if (err == KIN_EINVAL) {
    kin__log_problem(&client->log, err, "impersonation: %s", reason);
  }
  if (err == 0) {
    err = kin__buf_append(fields, "", 1);
  }
  if (err == KIN_ETOOBIG) {
    err = kin__log_problem(&client->log, KIN_EINVAL,
                           "impersonation: over 64 KiB");
  }
  return err;
}

static bool has_tls_options(const kin__tls_options *tls) {
  return tls->authority_file != NULL || tls->authority_data != NULL ||
         tls->certificate_file != NULL || tls->certificate_data != NULL ||
         tls->key_file != NULL || tls->key_data != NULL ||
         tls->server_name != NULL || tls->is_insecure;
}

static int connect_transport(kin_client *client,
                             const kin_client_options *options,
                             const char *fields) {
  const kin_allocator *allocator = &client->memory->allocator;
  kin__tls_options tls = tls_options(options);
  kin__credentials credentials;
  if (client->token != NULL) {
    credentials = kin__token_credentials(client->token);
  }
  kin__transport_options transport = {
      .loop = client->loop.uv,
      .allocator = allocator,
      .sched = &client->loop.sched,
      .timers = &client->loop.timers,
      .log = &client->log,
      .user_agent = client->user_agent,
      .fields = fields,
      .warnings = &client->warnings,
      .connect_timeout_ms =
          or_default(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS),
      .response_timeout_ms =
          or_default(options->response_timeout_ms, DEFAULT_RESPONSE_TIMEOUT_MS),
      .max_idle_connections = MAX_IDLE_CONNECTIONS,
      .idle_timeout_ms = IDLE_TIMEOUT_MS,
      .accept_gzip = options->accept_gzip,
      .tls = has_tls_options(&tls) ? &tls : NULL,
      .credentials = client->token != NULL ? &credentials : NULL,
      .probe_silence_ms = PROBE_SILENCE_MS,
      .probe_answer_ms = PROBE_ANSWER_MS};
  int err = kin__url_parse(&transport.url, allocator, options->server);
  if (err == KIN_EURL) {
    kin__client_bad_server(options->server, &client->log);
  }
  if (err != 0) {
    return err;
  }
  err = kin__transport_open(&client->transport, &transport);
  if (err != 0) {
    kin__url_finish(&transport.url, allocator);
  }
  return err;
}

static int open_transport(kin_client *client,
                          const kin_client_options *options) {
  kin__buf fields;
  kin__buf_init(&fields, &client->memory->allocator,
                KIN__IMPERSONATE_MAX_BYTES + 1);
  int err = render_fields(client, options, &fields);
  if (err == 0) {
    err = connect_transport(client, options, fields.data);
  }
  kin__buf_finish(&fields);
  return err;
}

static void free_client(kin_client *client) {
  kin__memory *memory = client->memory;
  if (client->token != NULL) {
    kin__token_free(client->token);
  }
  kin__free(&memory->allocator, client->user_agent);
  kin__free(&memory->allocator, client);
  kin__memory_unref(memory);
}

static int make_arena(kin__memory *memory, const kin_client_options *options) {
  if (options->mutation_check == KIN_MUTATION_CHECK_OFF) {
    return kin__memory_use_slabs(memory);
  }
  kin__memory_use_seals(memory, options->mutation_check);
  return 0;
}

static int make_client(kin_client **out, const kin_client_options *options) {
  kin__memory *memory = kin__memory_new(options->allocator);
  if (memory == NULL) {
    return KIN_ENOMEM;
  }
  kin_client *client = kin__calloc(&memory->allocator, 1, sizeof *client);
  if (client == NULL) {
    kin__memory_unref(memory);
    return KIN_ENOMEM;
  }
  client->memory = memory;
  client->user_agent =
      kin__strdup(&memory->allocator, kin__client_user_agent(options));
  if (client->user_agent == NULL || make_arena(memory, options) != 0) {
    free_client(client);
    return KIN_ENOMEM;
  }
  client->log = kin__client_log(options, client->problem);
  client->random.state = make_seed(options);
  *out = client;
  return 0;
}

/* Does everything that can fail. `problem` has KIN__PROBLEM_SIZE bytes. */
static int build_client(kin_client **out, uv_loop_t *loop,
                        const kin_client_options *options, char *problem) {
  kin__log log = kin__client_log(options, problem);
  int err = kin__client_options_check(options, &log);
  if (err == 0) {
    err = kin__libraries_check(&log);
  }
  kin_client *client;
  if (err == 0) {
    err = make_client(&client, options);
  }
  if (err != 0) {
    return err;
  }
  uint64_t budget_us = or_default(options->budget_us, DEFAULT_BUDGET_US);
  kin__loop_init(&client->loop, loop, budget_us * 1000);
  init_warnings(client, options);
  err = make_token(client, options);
  if (err == 0) {
    err = open_transport(client, options);
  }
  if (err != 0) {
    memcpy(problem, client->problem, sizeof client->problem);
    free_client(client);
    return err;
  }
  *out = client;
  return 0;
}

static void tell_problem(const kin_client_options *options,
                         const char *problem) {
  if (options->problem != NULL && options->problem_size > 0) {
    snprintf(options->problem, options->problem_size, "%s", problem);
  }
}

/* Options that are too small have no field for the problem text, so only
 * KIN_ENOTSUP is described. */
static int copy_options(kin_client_options *to,
                        const kin_client_options *from) {
  int err = kin__options_copy(to, sizeof *to, from,
                              KIN__FIRST_SIZE(kin_client_options));
  if (err == KIN_ENOTSUP) {
    char problem[KIN__PROBLEM_SIZE];
    kin__log log = kin__client_log(from, problem);
    (void)kin__options_take(to, sizeof *to, from,
                            KIN__FIRST_SIZE(kin_client_options),
                            "kin_client_options", &log);
    tell_problem(from, problem);
  }
  return err;
}

int kin_client_open(kin_client **out, uv_loop_t *loop,
                    const kin_client_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_client_options copy;
  int err = copy_options(&copy, options);
  if (err != 0) {
    return err;
  }
  char problem[KIN__PROBLEM_SIZE] = "";
  kin_client *client = NULL;
  err = loop != NULL ? build_client(&client, loop, &copy, problem) : KIN_EINVAL;
  tell_problem(&copy, problem);
  if (err != 0) {
    return err;
  }
  kin__task_init(&client->memory_task, memory_step);
  client->loop.before_work = before_work;
  client->loop.before_work_ctx = client;
  kin__loop_start(&client->loop);
  kin__gate_init(&client->lists, &client->loop.sched, &client->loop.timers,
                 or_default((uint32_t)copy.max_lists, DEFAULT_MAX_LISTS),
                 or_default((uint32_t)copy.list_turn_ms, DEFAULT_LIST_TURN_MS));
  open_limiter(client, &copy);
  fill_env(client, &copy);
  fill_host(client);
  *out = client;
  return 0;
}

const char *kin_client_problem(const kin_client *client) {
  return client != NULL ? client->problem : "";
}

kin__host *kin__client_host(kin_client *client) {
  if (client == NULL) {
    return NULL;
  }
  kin__log_no_problem(&client->log);
  return &client->host;
}

/* --- Close ---------------------------------------------------------------- */

static void on_loop_closed(void *ctx) {
  kin_client *client = ctx;
  kin_client_close_cb cb = client->close_cb;
  void *data = client->close_data;
  free_client(client);
  if (cb != NULL) {
    cb(data);
  }
}

static bool memory_step(kin__task *task) {
  kin_client *client = KIN__CONTAINER_OF(task, kin_client, memory_task);
  kin__arena *arena = client->memory->arena;
  kin__slice slice = kin__slice_begin(&client->loop.sched, CELLS_PER_STEP);
  bool has_more = true;
  while (has_more && kin__slice_next(&slice)) {
    has_more = client->is_closing_memory ? kin__arena_close_step(arena)
                                         : kin__arena_collect(arena, 1);
  }
  if (!has_more && client->is_closing_memory) {
    kin__loop_close(&client->loop, on_loop_closed, client);
  }
  return has_more;
}

/* Collects the memory of objects that the program kept, even while informers
 * are idle. Otherwise cells are collected when new ones are taken, while they
 * are in the processor's caches. */
static void before_work(void *ctx) {
  kin_client *client = ctx;
  if (!kin__sched_has_work(&client->loop.sched) &&
      kin__arena_has_given(client->memory->arena)) {
    kin__sched_add(&client->loop.sched, &client->memory_task);
  }
}

static void on_token_closed(void *ctx) {
  kin_client *client = ctx;
  client->token = NULL;
  kin__gate_finish(&client->lists);
  if (client->env.limiter != NULL) {
    kin__limiter_finish(&client->limiter);
  }
  client->is_closing_memory = true;
  kin__sched_add(&client->loop.sched, &client->memory_task);
}

static void on_transport_closed(void *ctx) {
  kin_client *client = ctx;
  client->transport = NULL;
  if (client->token != NULL) {
    kin__token_close(client->token, on_token_closed, client);
  } else {
    on_token_closed(client);
  }
}

static void close_transport_when_alone(kin_client *client) {
  const kin__members *members = &client->host.members;
  if (members->is_closing && kin__members_is_empty(members) &&
      !client->is_alone) {
    client->is_alone = true;
    client->last_stats = *kin__transport_get_stats(client->transport);
    kin__transport_close(client->transport, on_transport_closed, client);
  }
}

static void on_member_left(kin__members *members) {
  close_transport_when_alone(
      KIN__CONTAINER_OF(members, kin_client, host.members));
}

int kin_client_close(kin_client *client, kin_client_close_cb cb, void *data) {
  if (client == NULL) {
    return KIN_EINVAL;
  }
  if (client->host.members.is_closing) {
    return KIN_EALREADY;
  }
  kin_client_ref(client); /* an unreferenced client still completes its close */
  client->close_cb = cb;
  client->close_data = data;
  kin__warnings_stop(&client->warnings);
  kin__loop_begin_close(&client->loop);
  kin__members_close(&client->host.members);
  close_transport_when_alone(client);
  return 0;
}

/* --- Use ------------------------------------------------------------------ */

static void set_ref(kin_client *client, bool is_ref) {
  if (client->host.members.is_closing || client->is_unref == !is_ref) {
    return;
  }
  client->is_unref = !is_ref;
  kin__loop_set_ref(&client->loop, is_ref);
  kin__transport_set_ref(client->transport, is_ref);
}

void kin_client_ref(kin_client *client) {
  if (client != NULL) {
    set_ref(client, true);
  }
}

void kin_client_unref(kin_client *client) {
  if (client != NULL) {
    set_ref(client, false);
  }
}

uv_loop_t *kin_client_loop(const kin_client *client) {
  return client != NULL ? client->loop.uv : NULL;
}

int kin_client_get_stats(const kin_client *client, kin_client_stats *stats) {
  if (client == NULL) {
    return KIN_EINVAL;
  }
  const kin__transport_stats *transport =
      client->transport != NULL ? kin__transport_get_stats(client->transport)
                                : &client->last_stats;
  kin_client_stats found = {.iterations = client->loop.iterations,
                            .longest_ns = client->loop.longest_ns,
                            .busy_ns = client->loop.busy_ns,
                            .handler_ns = client->loop.handler_ns,
                            .received_bytes = transport->received_bytes,
                            .sent_bytes = transport->sent_bytes,
                            .requests = transport->requests,
                            .connections = transport->connections,
                            .open_connections = transport->open_connections,
                            .delayed_requests = client->limiter.delayed,
                            .delayed_ns = client->limiter.delayed_ns,
                            .warnings = client->warnings.heard,
                            .lists = client->lists.inside,
                            .waiting_lists = client->lists.queued,
                            .overdue_lists = client->lists.overdue};
  return kin__sized_fill(stats, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_client_stats));
}

void kin_client_get_iterations(const kin_client *client,
                               kin_histogram *iteration_us) {
  if (iteration_us == NULL) {
    return;
  }
  if (client == NULL) {
    *iteration_us = (kin_histogram){0};
    return;
  }
  *iteration_us = client->loop.iteration_us;
}
