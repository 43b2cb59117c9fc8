/* SPDX-License-Identifier: MIT */
#include "connect/late_core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "client/client_options.h"

#define CALLS_PER_STEP 16u

static uint64_t late_now_ms(const kin__late *late) {
  const kin__sched *sched = &late->place.loop->sched;
  return sched->now_ns(sched->ctx) / 1000000;
}

/* --- Searches ------------------------------------------------------------- */

static bool is_search_due(const kin__late *late) {
  uint64_t age_ms = late_now_ms(late) - late->searched_ms;
  if (late->server != NULL && late->is_slow) {
    return false;
  }
  return late->server == NULL || late->is_searching ||
         age_ms >= late->finder.fresh_ms ||
         (late->is_doubted && age_ms >= late->finder.retry_ms);
}

static void set_failure(kin__exchange_error *failure, int code,
                        kin_error_class error_class, const char *message) {
  *failure = (kin__exchange_error){.code = code, .error_class = error_class};
  snprintf(failure->message, sizeof failure->message, "%s", message);
}

/* `err`: of the start; 0: there is no server. While no search runs, the failure
 * of the last one counts. */
static void fail_call(const kin__late *late, kin__late_call *call, int err) {
  kin__exchange_error failure = late->failure;
  if (err != 0) {
    set_failure(&failure, err,
                err == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_PROTOCOL,
                kin_strerror(err));
  } else if (late->is_slow) {
    set_failure(&failure, KIN_ETIMEDOUT, KIN_CLASS_AUTH, "");
    snprintf(failure.message, sizeof failure.message,
             "the settings of the server were not found within %" PRIu32 " ms",
             late->connect_timeout_ms);
  }
  kin__late_end_call(call, &failure);
}

/* A callback of a call may start, cancel and close anything. */
static bool serve_step(kin__task *task) {
  kin__late *late = KIN__CONTAINER_OF(task, kin__late, serving);
  kin__slice slice = kin__slice_begin(&late->place.loop->sched, CALLS_PER_STEP);
  while (!kin__link_is_empty(&late->served) && kin__slice_next(&slice)) {
    kin__late_call *call =
        KIN__CONTAINER_OF(late->served.next, kin__late_call, node);
    int err = late->server != NULL ? kin__late_start_call(call) : 0;
    if (err != 0 || late->server == NULL) {
      fail_call(late, call, err);
    }
  }
  return !kin__link_is_empty(&late->served);
}

/* A call that starts meanwhile waits for the next search, or runs. */
static void serve(kin__late *late) {
  kin__link_splice(&late->served, &late->waiting);
  kin__sched_add(&late->place.loop->sched, &late->serving);
}

static void end_search(kin__late *late, int code, kin_error_class error_class,
                       const char *message) {
  kin__timer_stop(&late->place.loop->timers, &late->patience);
  late->has_searched = true;
  late->is_searching = late->is_slow = false;
  late->searched_ms = late_now_ms(late);
  set_failure(&late->failure, code, error_class, message);
  serve(late);
}

static void on_search_slow(kin__timer *timer) {
  kin__late *late = KIN__CONTAINER_OF(timer, kin__late, patience);
  if (late->is_searching) {
    if (kin__timer_delay(&late->place.loop->timers, timer)) {
      return;
    }
    late->is_slow = true;
  }
  serve(late);
}

/* A doubt that comes while the search goes on is not about its answer. */
static void begin_search(kin__late *late) {
  kin__timer_stop(&late->place.loop->timers, &late->due);
  late->is_searching = true;
  late->is_doubted = false;
  late->finder.search(late->finder.ctx, late);
}

static void on_search_due(kin__timer *timer) {
  begin_search(KIN__CONTAINER_OF(timer, kin__late, due));
}

/* A search begins at least retry_ms after the last one has ended, whatever a
 * server does. */
static void search_when_due(kin__late *late) {
  uint64_t due_ms = late->searched_ms + late->finder.retry_ms;
  if (late->is_searching || late->due.is_active) {
    return;
  }
  if (late->has_searched && late_now_ms(late) < due_ms) {
    kin__timer_start(&late->place.loop->timers, &late->due, due_ms);
  } else {
    begin_search(late);
  }
}

static void wait_for_search(kin__late *late, kin__late_call *call) {
  kin__link_push(&late->waiting, &call->node);
  if (!late->patience.is_active) {
    kin__timer_start(&late->place.loop->timers, &late->patience,
                     late_now_ms(late) + late->connect_timeout_ms);
  }
  search_when_due(late);
}

static void on_retired_closed(void *ctx);

/* The last one added says when the plugin's certificate expires. */
static void add_stats(kin__server_stats *sum, const kin__server *server) {
  kin__server_stats more;
  kin__server_get_stats(server, &more);
  sum->transport.received_bytes += more.transport.received_bytes;
  sum->transport.sent_bytes += more.transport.sent_bytes;
  sum->transport.requests += more.transport.requests;
  sum->transport.connections += more.transport.connections;
  sum->transport.open_connections += more.transport.open_connections;
  sum->exec.succeeded += more.exec.succeeded;
  sum->exec.failed += more.exec.failed;
  sum->exec.not_found += more.exec.not_found;
  sum->exec.internal += more.exec.internal;
  sum->exec.denied += more.exec.denied;
  sum->exec.unusable += more.exec.unusable;
  sum->exec.certificate_expires_s = more.exec.certificate_expires_s;
}

static bool retire_step(kin__task *task) {
  kin__retired *old = KIN__CONTAINER_OF(task, kin__retired, task);
  kin__late *late = old->late;
  kin__slice slice = kin__slice_begin(&late->place.loop->sched, CALLS_PER_STEP);
  while (!kin__link_is_empty(&old->calls)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    kin__late_call *call =
        KIN__CONTAINER_OF(old->calls.next, kin__late_call, node);
    call->old = old;
    kin__link_remove(&call->node);
    kin__link_push(&old->rest, &call->node);
    if (call->request.is_watch) {
      kin__exchange_break(call->exchange, KIN_EEOF, KIN_CLASS_CONNECT,
                          "the settings of the server have changed");
    }
  }
  if (!kin__link_is_empty(&old->rest) || old->is_closing) {
    return false; /* the end of each call adds the task again */
  }
  add_stats(&late->past, old->server);
  late->past.transport.open_connections = 0;
  late->past.exec.certificate_expires_s = 0;
  old->is_closing = true;
  kin__server_close(old->server, on_retired_closed, old);
  return false;
}

static void retire(kin__late *late, kin__retired *old) {
  *old = (kin__retired){.late = late, .server = late->server};
  kin__link_init(&old->calls);
  kin__link_init(&old->rest);
  kin__link_splice(&old->calls, &late->running);
  kin__task_init(&old->task, retire_step);
  kin__link_push(&late->retired, &old->node);
  kin__sched_add(&late->place.loop->sched, &old->task);
}

/* Only options that are refused have a text of their own. */
static void fail_to_open(kin__late *late, int err) {
  kin_error_class error_class = err == KIN_ENOMEM     ? KIN_CLASS_MEMORY
                                : err == UV_ECANCELED ? KIN_CLASS_CONNECT
                                                      : KIN_CLASS_AUTH;
  bool is_told = error_class == KIN_CLASS_AUTH && late->problem[0] != '\0';
  kin__late_failed(late, err, error_class,
                   is_told ? late->problem : kin_strerror(err));
}

/* A host that has swept its loop, and a child of its process, get no new
 * server: that would open handles and sockets. */
static bool is_cut_off(const kin__late *late) {
  return kin__loop_is_swept(late->place.loop) ||
         kin__fork_mark_is_child(&late->fork_mark);
}

const kin_client_options *kin__late_options(const kin__late *late) {
  return &late->options;
}

void kin__late_found(kin__late *late, const kin_client_options *options,
                     bool is_moved) {
  kin__retired *old = kin__malloc(late->place.allocator, sizeof *old);
  kin__server *server = NULL;
  int err = is_cut_off(late) ? UV_ECANCELED : old == NULL ? KIN_ENOMEM : 0;
  if (err == 0) {
    kin__log_no_problem(&late->log);
    err = kin__server_open(&server, &late->place, options);
  }
  if (err != 0) {
    kin__free(late->place.allocator, old);
    late->finder.opened(late->finder.ctx, false);
    fail_to_open(late, err);
    return;
  }
  late->is_doubted = false;
  if (late->server != NULL) {
    retire(late, old);
    late->generation++;
  } else {
    kin__free(late->place.allocator, old);
  }
  late->address += late->server == NULL || is_moved;
  late->server = server;
  kin__server_set_ref(server, !late->is_unref);
  late->finder.opened(late->finder.ctx, true);
  end_search(late, 0, KIN_CLASS_NONE, "");
}

void kin__late_same(kin__late *late) {
  end_search(late, KIN_EINVAL, KIN_CLASS_AUTH, "no server is known");
}

void kin__late_failed(kin__late *late, int code, kin_error_class error_class,
                      const char *message) {
  const size_t kept = sizeof late->failure.message - 1;
  bool is_new = strncmp(message, late->failure.message, kept) != 0;
  end_search(late, code, error_class, message);
  if (is_new && late->server != NULL) {
    kin__log_write(late->place.log, KIN_LOG_WARN,
                   "%s; the last settings stay in use", message);
  }
}

/* --- The route ------------------------------------------------------------ */

static int late_start(void *ctx, const kin__request *request,
                      const kin__exchange_callbacks *callbacks,
                      void *callbacks_ctx, void **out) {
  kin__late *late = ctx;
  *out = NULL;
  kin__late_call *call = kin__late_make_call(late, request);
  if (call == NULL) {
    return KIN_ENOMEM;
  }
  call->callbacks = *callbacks;
  call->ctx = callbacks_ctx;
  if (!is_search_due(late)) {
    int err = kin__late_start_call(call);
    if (err != 0) {
      kin__free(late->place.allocator, call);
      return err;
    }
    *out = call;
    if (late->is_doubted && !late->is_slow) {
      search_when_due(late); /* beside the request: the last one is too young */
    }
    return 0;
  }
  wait_for_search(late, call);
  *out = call;
  return 0;
}

static void late_get_stats(void *ctx, kin__server_stats *stats) {
  const kin__late *late = ctx;
  *stats = late->past;
  const kin__link *end = &late->retired;
  for (const kin__link *node = end->next; node != end; node = node->next) {
    const kin__retired *old = KIN__CONTAINER_OF(node, const kin__retired, node);
    if (!old->is_closing) { /* else it is in the past */
      add_stats(stats, old->server);
    }
  }
  if (late->server != NULL) {
    add_stats(stats, late->server);
  }
}

static void late_set_ref(void *ctx, bool is_ref) {
  kin__late *late = ctx;
  late->is_unref = !is_ref;
  const kin__link *end = &late->retired;
  for (const kin__link *node = end->next; node != end; node = node->next) {
    const kin__retired *old = KIN__CONTAINER_OF(node, const kin__retired, node);
    if (!old->is_closing) { /* else its transport may be gone */
      kin__server_set_ref(old->server, is_ref);
    }
  }
  if (late->server != NULL) {
    kin__server_set_ref(late->server, is_ref);
  }
}

static void free_late(kin__late *late) {
  kin__fork_mark_finish(&late->fork_mark);
  kin__free(late->place.allocator, late->proxy_authority_file);
  kin__free(late->place.allocator, late);
}

/* Closes in this order: the finder, the server. Replaced servers close
 * beside. */
static void end_when_empty(kin__late *late) {
  if (late->is_finder_closed && late->server == NULL &&
      kin__link_is_empty(&late->retired)) {
    void (*cb)(void *ctx) = late->close_cb;
    void *ctx = late->close_ctx;
    free_late(late);
    cb(ctx);
  }
}

static void on_retired_closed(void *ctx) {
  kin__retired *old = ctx;
  kin__late *late = old->late;
  kin__link_remove(&old->node);
  /* The last call may have added it in its own step. */
  kin__sched_cancel(&late->place.loop->sched, &old->task);
  kin__free(late->place.allocator, old);
  end_when_empty(late);
}

static void on_last_closed(void *ctx) {
  kin__late *late = ctx;
  late->server = NULL;
  end_when_empty(late);
}

static void on_finder_closed(void *ctx) {
  kin__late *late = ctx;
  late->is_finder_closed = true;
  if (late->server != NULL) {
    kin__server_close(late->server, on_last_closed, late);
  } else {
    end_when_empty(late);
  }
}

static void late_close(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx) {
  kin__late *late = ctx;
  late->close_cb = cb;
  late->close_ctx = cb_ctx;
  kin__timer_stop(&late->place.loop->timers, &late->due);
  kin__timer_stop(&late->place.loop->timers, &late->patience);
  kin__sched_cancel(&late->place.loop->sched, &late->serving);
  late->finder.close(late->finder.ctx, on_finder_closed, late);
}

/* The log of servers, without a problem that was the failure of the last
 * search: each search finds it again. */
static void pass_line(kin_log_level level, const char *line, void *data) {
  const kin__late *late = data;
  if (level != KIN_LOG_ERROR || strcmp(line, late->failure.message) != 0) {
    late->options.log(level, line, late->options.log_data);
  }
}

/* The members that describe a server are unset, and the finder sets them. The
 * text of a problem is of use only while the client is being opened. Errors:
 * KIN_ENOMEM. */
static int keep_options(kin__late *late, const kin_client_options *options) {
  late->options = *options;
  late->options.user_agent = late->place.user_agent;
  late->options.allocator = late->place.allocator;
  late->options.problem = NULL;
  late->options.problem_size = 0;
  late->connect_timeout_ms =
      kin__number_or(options->connect_timeout_ms, KIN__CONNECT_TIMEOUT_MS);
  const char *file = options->proxy_certificate_authority_file;
  late->proxy_authority_file = kin__strdup(late->place.allocator, file);
  late->options.proxy_certificate_authority_file = late->proxy_authority_file;
  return file == NULL || late->proxy_authority_file != NULL ? 0 : KIN_ENOMEM;
}

int kin__late_open(kin__route *out, const kin__server_place *place,
                   const kin_client_options *options,
                   const kin__finder *finder) {
  kin__late *late = kin__calloc(place->allocator, 1, sizeof *late);
  if (late == NULL) {
    return KIN_ENOMEM;
  }
  late->place = *place;
  late->log = *place->log;
  late->log.problem = late->problem;
  late->log.cb = place->log->cb != NULL ? pass_line : NULL;
  late->log.data = late;
  late->place.log = &late->log;
  kin__fork_mark_init(&late->fork_mark);
  if (keep_options(late, options) != 0) {
    free_late(late);
    return KIN_ENOMEM;
  }
  late->finder = *finder;
  kin__link_init(&late->waiting);
  kin__link_init(&late->served);
  kin__task_init(&late->serving, serve_step);
  kin__link_init(&late->running);
  kin__link_init(&late->retired);
  kin__timer_init(&late->due, on_search_due);
  kin__timer_init(&late->patience, on_search_slow);
  *out = (kin__route){.ops = {.start = late_start,
                              .cancel = kin__late_cancel,
                              .pause = kin__late_pause,
                              .resume = kin__late_resume,
                              .ctx = late},
                      .get_stats = late_get_stats,
                      .set_ref = late_set_ref,
                      .close = late_close,
                      .generation = &late->generation,
                      .ctx = late};
  return 0;
}
