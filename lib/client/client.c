/* SPDX-License-Identifier: MIT */
#include <kin/client.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>
#include <kin/metrics.h>
#include <kin/sized.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/sized.h"
#include "client/client_options.h"
#include "client/env.h"
#include "client/host.h"
#include "client/libraries.h"
#include "client/loop.h"
#include "client/memory_helper.h"
#include "client/route.h"
#include "client/pool_work.h"
#include "transport/transport.h"
#include "transport/warning.h"

/* A client closes in this order. Its members (informers, reflectors, waits,
 * ...) close in bounded steps. Then come the server with its connections,
 * resolver and credentials, and the objects' memory (kept objects own it from
 * then on). The loop's handles come last: the last close callback frees the
 * client. */

#define DEFAULT_BUDGET_US 500u
#define DEFAULT_MAX_LISTS 4u
#define DEFAULT_LIST_TURN_MS 5000u
#define CELLS_PER_STEP 256u
#define MAX_BUSY_TURNS 64u

struct kin_client {
  kin__loop loop;
  kin__memory *memory;
  kin__task memory_task; /* collects the memory of freed objects */
  uint32_t busy_turns;   /* in which it had no turn, though there is some */
  kin__arena_fill fill;  /* when it was last dense, or members were told */
  kin__memory_helper memory_helper;
  kin__log log;
  kin__random random;
  kin__route route;
  bool has_route; /* it is not closing */
  kin__server_stats last_stats;
  kin__env env;
  kin__host host;
  char *user_agent;
  bool is_alone; /* closing, without members */
  bool is_unref;
  bool is_closing_memory; /* the last work of the loop */
  kin__gate lists;
  kin__watch_decoders watch_decoders;
  kin__limiter limiter; /* in use iff env.limiter is set */
  kin__byte_bound object_bytes;
  kin__warnings warnings;
  bool stream_refused; /* by the server; see kin__list_and_watch */
  char problem[KIN__PROBLEM_SIZE];
  kin_client_close_cb close_cb;
  void *close_data;
};

/* --- The environment of informers ----------------------------------------- */

static void fill_env(kin_client *client, const kin_client_options *options) {
  client->env = (kin__env){
      .allocator = &client->memory->allocator,
      .shared_allocator = kin__default_allocator(),
      .memory = client->memory,
      .sched = &client->loop.sched,
      .timers = &client->loop.timers,
      .clock = {client->loop.sched.now_ns, client->loop.sched.ctx},
      .random = &client->random,
      .log = &client->log,
      .mutation_check_ms = options->mutation_check_ms,
      .transport = client->route.ops,
      .server_generation = client->route.generation,
      .watch_decoders = &client->watch_decoders,
      .handler_ns = &client->loop.handler_ns,
      .lists = &client->lists,
      .limiter = options->qps_milli != 0 ? &client->limiter : NULL,
      .stream_refused = &client->stream_refused,
      .check_watch_lists = options->check_watch_lists,
      .object_bytes = &client->object_bytes,
      .deferred = &client->loop.deferred,
      .wake = kin__loop_wake,
      .wake_ctx = &client->loop,
      .thread = &client->loop.thread,
      .call = kin__loop_call,
      .call_ctx = &client->loop,
      .start_work = kin__pool_work_start,
      .cancel_work = kin__pool_work_cancel,
      .work_ctx = &client->loop,
      .has_no_helper = options->no_memory_helper || options->allocator != NULL};
}

static void on_member_left(kin__members *members);

static void fill_host(kin_client *client) {
  client->host.env = &client->env;
  kin__members_init(&client->host.members);
  client->host.discovery = NULL;
  client->host.members.left = on_member_left;
}

/* --- Open ----------------------------------------------------------------- */

static bool memory_step(kin__task *task);
static void before_work(void *ctx);

static uint64_t make_seed(const kin_client_options *options) {
  uint64_t seed = options->seed;
  if (seed == 0 && uv_random(NULL, NULL, &seed, sizeof seed, 0, NULL) != 0) {
    seed = uv_hrtime() ^ (uint64_t)(uintptr_t)options;
  }
  return seed;
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
                    options->qps_milli,
                    kin__number_or(options->burst, a_second));
}

static void free_client(kin_client *client) {
  kin__memory *memory = client->memory;
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
                        const kin_client_options *options, kin__route_open open,
                        void *ctx, char *problem) {
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
  uint64_t budget_us = kin__number_or(options->budget_us, DEFAULT_BUDGET_US);
  kin__loop_init(&client->loop, loop, budget_us * 1000);
  init_warnings(client, options);
  const kin__server_place place = {.loop = &client->loop,
                                   .allocator = &client->memory->allocator,
                                   .log = &client->log,
                                   .warnings = &client->warnings,
                                   .user_agent = client->user_agent};
  err = open(&client->route, &place, options, ctx);
  if (err != 0) {
    memcpy(problem, client->problem, sizeof client->problem);
    free_client(client);
    return err;
  }
  client->has_route = true;
  *out = client;
  return 0;
}

static void tell_problem(const kin_client_options *options,
                         const char *problem) {
  if (options->problem != NULL && options->problem_size > 0) {
    snprintf(options->problem, options->problem_size, "%s", problem);
  }
}

/* Smaller options have no field for the text. They are refused in silence. */
static int copy_options(kin_client_options *to,
                        const kin_client_options *from) {
  int err = kin__options_copy(to, sizeof *to, from,
                              KIN__FIRST_SIZE(kin_client_options));
  if (err != 0 && from != NULL &&
      KIN_HAS(from, kin_client_options, problem_size)) {
    char problem[KIN__PROBLEM_SIZE];
    kin__log log = kin__client_log(from, problem);
    (void)kin__options_take(to, sizeof *to, from,
                            KIN__FIRST_SIZE(kin_client_options),
                            "kin_client_options", &log);
    tell_problem(from, problem);
  }
  return err;
}

int kin__client_open(kin_client **out, uv_loop_t *loop,
                     const kin_client_options *options, kin__route_open open,
                     void *ctx) {
  if (out != NULL) {
    *out = NULL;
  }
  kin_client_options copy;
  int err = copy_options(&copy, options);
  if (err != 0) {
    return err;
  }
  char problem[KIN__PROBLEM_SIZE] = "";
  kin_client *client = NULL;
  err = out != NULL && loop != NULL
            ? build_client(&client, loop, &copy, open, ctx, problem)
            : KIN_EINVAL;
  tell_problem(&copy, problem);
  if (err != 0) {
    return err;
  }
  kin__task_init(&client->memory_task, memory_step);
  client->loop.before_work = before_work;
  client->loop.before_work_ctx = client;
  kin__loop_start(&client->loop);
  kin__gate_init(
      &client->lists, &client->loop.sched, &client->loop.timers,
      kin__number_or((uint32_t)copy.max_lists, DEFAULT_MAX_LISTS),
      kin__number_or((uint32_t)copy.list_turn_ms, DEFAULT_LIST_TURN_MS));
  kin__watch_decoders_init(&client->watch_decoders, &client->memory->allocator);
  open_limiter(client, &copy);
  bool has_helper = !copy.no_memory_helper && client->memory->is_default;
  kin__memory_helper_init(&client->memory_helper, &client->loop,
                          has_helper ? client->memory->arena : NULL);
  client->object_bytes.max = copy.max_bytes;
  fill_env(client, &copy);
  fill_host(client);
  *out = client;
  return 0;
}

int kin_client_open(kin_client **out, uv_loop_t *loop,
                    const kin_client_options *options) {
  return kin__client_open(out, loop, options, kin__server_route, NULL);
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

/* Informers look at the memory after their changes. What is released later, by a
 * listener that was paused or by the program, they have not seen. */
static void tell_if_sparse(kin_client *client) {
  kin__arena_fill fill = kin__arena_get_fill(client->memory->arena);
  if (kin__arena_fill_is_news(fill, client->fill)) {
    client->fill = fill;
    kin__members_tell(&client->host.members, KIN__NEWS_SPARSE);
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
  } else if (!has_more) {
    tell_if_sparse(client);
  }
  return has_more;
}

/* Collects the memory of objects that the program or a listener kept, even
 * while informers are idle. Otherwise cells are collected when new ones are
 * taken, while they are in the processor's caches; but long work that takes none
 * must not keep all of the memory. */
static void before_work(void *ctx) {
  kin_client *client = ctx;
  if (client->loop.is_called) {
    client->loop.is_called = false;
    kin__members_tell(&client->host.members, KIN__NEWS_CALLED);
  }
  const kin__arena *arena = client->memory->arena;
  kin__arena_fill fill = kin__arena_get_fill(arena);
  if (!kin__arena_fill_is_sparse(fill)) {
    client->fill = fill;
  }
  if (kin__arena_has_given(arena) &&
      (!kin__sched_has_work(&client->loop.sched) ||
       ++client->busy_turns >= MAX_BUSY_TURNS)) {
    client->busy_turns = 0;
    kin__sched_add(&client->loop.sched, &client->memory_task);
  }
}

static void on_helper_closed(void *ctx) {
  kin_client *client = ctx;
  client->is_closing_memory = true;
  kin__sched_add(&client->loop.sched, &client->memory_task);
}

static void on_route_closed(void *ctx) {
  kin_client *client = ctx;
  kin__gate_finish(&client->lists);
  kin__watch_decoders_finish(&client->watch_decoders);
  if (client->env.limiter != NULL) {
    kin__limiter_finish(&client->limiter);
  }
  kin__memory_helper_close(&client->memory_helper, on_helper_closed, client);
}

static void close_route_when_alone(kin_client *client) {
  const kin__members *members = &client->host.members;
  if (members->is_closing && kin__members_is_empty(members) &&
      !client->is_alone) {
    client->is_alone = true;
    client->route.get_stats(client->route.ctx, &client->last_stats);
    client->has_route = false;
    client->route.close(client->route.ctx, on_route_closed, client);
  }
}

static void on_member_left(kin__members *members) {
  close_route_when_alone(KIN__CONTAINER_OF(members, kin_client, host.members));
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
  close_route_when_alone(client);
  return 0;
}

/* --- Use ------------------------------------------------------------------ */

int kin_client_set_max_bytes(kin_client *client, uint64_t max_bytes) {
  if (client == NULL) {
    return KIN_EINVAL;
  }
  if (client->host.members.is_closing) {
    return KIN_ECLOSED;
  }
  client->object_bytes.max = max_bytes;
  return 0;
}

static void set_ref(kin_client *client, bool is_ref) {
  if (client->host.members.is_closing || client->is_unref == !is_ref) {
    return;
  }
  client->is_unref = !is_ref;
  kin__loop_set_ref(&client->loop, is_ref);
  client->route.set_ref(client->route.ctx, is_ref);
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
  kin__server_stats server = client->last_stats;
  if (client->has_route) {
    client->route.get_stats(client->route.ctx, &server);
  }
  const kin__transport_stats *transport = &server.transport;
  const kin__exec_stats *exec = &server.exec;
  kin__arena_fill fill = kin__arena_get_fill(client->memory->arena);
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
                            .overdue_lists = client->lists.overdue,
                            .exec_succeeded = exec->succeeded,
                            .exec_failed = exec->failed,
                            .exec_not_found = exec->not_found,
                            .exec_internal = exec->internal,
                            .exec_denied = exec->denied,
                            .exec_unusable = exec->unusable,
                            .exec_certificate_expires_s =
                                exec->certificate_expires_s,
                            .object_bytes = client->object_bytes.used,
                            .live_object_bytes = fill.used};
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
