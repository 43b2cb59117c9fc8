/* SPDX-License-Identifier: MIT */
/* When a plugin runs, and what of it counts; exec_stages.c has the run. */
#include "config/exec_core.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <unistd.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

#define EXEC_WAIT_MARGIN_MS 10000u
#define EXEC_INTERVAL_MS 1000u
#define EXEC_REJECTED_INTERVAL_MS 10000u
#define EXEC_BACKOFF_MS 1000u
#define EXEC_BACKOFF_DOUBLINGS 5u
#define EXEC_BACKOFF_MAX_MS 30000u

static kin__timestamp system_wall(void *ctx) {
  (void)ctx;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (kin__timestamp){.s = now.tv_sec, .ns = (uint32_t)now.tv_nsec};
}

static bool stdin_is_terminal(void) {
  return isatty(STDIN_FILENO) == 1;
}

/* --- The credential ------------------------------------------------------- */

static bool has_current(const kin__exec_plugin *plugin) {
  return plugin->current.authorization != NULL ||
         plugin->current.certificate != NULL;
}

/* XP-05: strictly after. */
static bool is_expired(const kin__exec_plugin *plugin) {
  return plugin->current.can_expire &&
         kin__timestamp_is_after(plugin->wall(plugin->wall_ctx),
                                 plugin->current.expires);
}

/* The answer of a plugin counts until the next run, even if it is expired from
 * the start: by a clock that is wrong, here or there. */
static bool is_usable(const kin__exec_plugin *plugin) {
  return has_current(plugin) && (plugin->failures == 0 || !is_expired(plugin));
}

static bool is_run_due(const kin__exec_plugin *plugin) {
  uint64_t now_ms = kin__exec_now_ms(plugin);
  if (plugin->failures > 0 && now_ms < plugin->retry_ms) {
    return false;
  }
  if (!has_current(plugin)) {
    return true;
  }
  return (plugin->is_stale && now_ms >= plugin->rejected_ms) ||
         (is_expired(plugin) && now_ms >= plugin->expiry_ms);
}

static bool is_same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* XP-06: another certificate has another serial, also that there is none any
 * more. */
void kin__exec_adopt_found(kin__exec_plugin *plugin) {
  const kin__exec_credential *found = &plugin->found;
  if (!is_same_text(plugin->current.certificate, found->certificate) ||
      !is_same_text(plugin->current.key, found->key)) {
    plugin->pair_serial++;
  }
  kin__exec_credential_finish(&plugin->current, plugin->allocator);
  plugin->current = *found;
  plugin->found = (kin__exec_credential){.authorization = NULL};
  plugin->serial++;
  plugin->is_stale = false;
  plugin->failures = 0;
  plugin->reason[0] = '\0';
  plugin->expiry_ms = kin__exec_now_ms(plugin) + EXEC_INTERVAL_MS;
  plugin->stats.certificate_expires_s =
      plugin->current.certificate != NULL ? plugin->found_expires_s : 0;
}

/* --- The end of a run ----------------------------------------------------- */

static void finish_closing(kin__exec_plugin *plugin) {
  kin__tick_request(&plugin->gone, plugin->loop);
}

void kin__exec_become_idle(kin__exec_plugin *plugin) {
  kin__exec_credential_finish(&plugin->found, plugin->allocator);
  kin__free(plugin->allocator, plugin->authority);
  plugin->authority = NULL;
  kin__free(plugin->allocator, plugin->path);
  plugin->path = NULL;
  plugin->state = KIN__EXEC_IDLE;
  kin__waiters_serve(&plugin->waiters);
  if (plugin->is_closing) {
    finish_closing(plugin);
  }
}

static uint64_t backoff_ms(unsigned failures) {
  unsigned doublings = failures - 1 < EXEC_BACKOFF_DOUBLINGS
                           ? failures - 1
                           : EXEC_BACKOFF_DOUBLINGS;
  uint64_t ms = (uint64_t)EXEC_BACKOFF_MS << doublings;
  return ms < EXEC_BACKOFF_MAX_MS ? ms : EXEC_BACKOFF_MAX_MS;
}

void kin__exec_fail(kin__exec_plugin *plugin, int code, const char *format,
                    ...) {
  static const char prefix[] = "getting credentials: ";
  memcpy(plugin->reason, prefix, sizeof prefix);
  va_list args;
  va_start(args, format);
  vsnprintf(plugin->reason + sizeof prefix - 1,
            sizeof plugin->reason - (sizeof prefix - 1), format, args);
  va_end(args);
  kin__put_on_one_line(plugin->reason);
  plugin->code = code;
  plugin->failures += plugin->failures < EXEC_BACKOFF_DOUBLINGS + 1;
  plugin->retry_ms = kin__exec_now_ms(plugin) + backoff_ms(plugin->failures);
  kin__log_write(plugin->log, KIN_LOG_WARN, "%s%s", plugin->reason,
                 is_usable(plugin) ? "; the credential in hand stays in use"
                                   : "");
}

/* --- For the transport ---------------------------------------------------- */

bool kin__exec_is_cut_off(const kin__exec_plugin *plugin) {
  return kin__fork_mark_is_child(&plugin->fork_mark) ||
         (plugin->is_swept != NULL && plugin->is_swept(plugin->is_swept_ctx));
}

static int get_exec(void *ctx, kin__waiter *waiter, kin__credential *out) {
  kin__exec_plugin *plugin = ctx;
  *out = (kin__credential){.reason = plugin->reason};
  if (kin__exec_is_cut_off(plugin)) {
    out->reason = kin_strerror(UV_ECANCELED);
    return UV_ECANCELED;
  }
  if (waiter != NULL && !waiter->is_served) {
    if (plugin->state == KIN__EXEC_IDLE && is_run_due(plugin)) {
      plugin->rejected_ms = plugin->is_stale ? kin__exec_now_ms(plugin) +
                                                   EXEC_REJECTED_INTERVAL_MS
                                             : plugin->rejected_ms;
      kin__exec_prepare(plugin);
    }
    if (plugin->state != KIN__EXEC_IDLE) {
      kin__link_push(&plugin->waiters, &waiter->node);
      return KIN__PENDING;
    }
  }
  if (!is_usable(plugin)) {
    return plugin->code;
  }
  *out = (kin__credential){.value = plugin->current.authorization,
                           .serial = plugin->serial,
                           .certificate = plugin->current.certificate,
                           .key = plugin->current.key,
                           .pair_serial = plugin->pair_serial};
  return 0;
}

static void reject_exec(void *ctx, uint64_t serial) {
  kin__exec_plugin *plugin = ctx;
  if (serial == plugin->serial) {
    plugin->is_stale = true;
  }
}

kin__credentials kin__exec_plugin_credentials(kin__exec_plugin *plugin) {
  uint32_t timeout_ms = plugin->config.timeout_ms;
  if (timeout_ms == 0) {
    timeout_ms = plugin->config.interactive == KIN_EXEC_INTERACTIVE_NEVER
                     ? KIN__EXEC_TIMEOUT_MS
                     : KIN__EXEC_INTERACTIVE_TIMEOUT_MS;
  }
  return (kin__credentials){.get = get_exec,
                            .rejected = reject_exec,
                            .ctx = plugin,
                            .wait_ms = timeout_ms + EXEC_WAIT_MARGIN_MS};
}

const kin__exec_stats *
kin__exec_plugin_get_stats(const kin__exec_plugin *plugin) {
  return &plugin->stats;
}

void kin__exec_plugin_set_ref(kin__exec_plugin *plugin, bool is_ref) {
  kin__exec_run_set_ref(&plugin->run, is_ref);
}

/* --- Life ----------------------------------------------------------------- */

void kin__exec_plugin_free(kin__exec_plugin *plugin) {
  assert(plugin->state == KIN__EXEC_IDLE);
  kin__exec_credential_finish(&plugin->current, plugin->allocator);
  kin__exec_run_finish(&plugin->run);
  kin__exec_config_finish(&plugin->config, plugin->allocator);
  kin__fork_mark_finish(&plugin->fork_mark);
  kin__free(plugin->allocator, plugin);
}

static void on_exec_gone(kin__tick *tick) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(tick, kin__exec_plugin, gone);
  void (*cb)(void *ctx) = plugin->close_cb;
  void *ctx = plugin->close_ctx;
  kin__exec_plugin_free(plugin);
  cb(ctx);
}

static void init_run(kin__exec_plugin *plugin,
                     const kin__exec_plugin_options *options) {
  plugin->run = (kin__exec_run){.loop = options->loop,
                                .timers = options->timers,
                                .clock = options->clock,
                                .log = options->log,
                                .allocator = &plugin->wiping.allocator,
                                .fork_mark = &plugin->fork_mark,
                                .on_end = kin__exec_on_run_end};
  kin__exec_run_init(&plugin->run);
}

int kin__exec_plugin_new(kin__exec_plugin **out,
                         const kin__exec_plugin_options *options) {
  *out = NULL;
  kin__exec_plugin *plugin = kin__calloc(options->allocator, 1, sizeof *plugin);
  if (plugin == NULL) {
    return KIN_ENOMEM;
  }
  int err =
      kin__exec_config_init(&plugin->config, options->allocator,
                            options->plugin, &options->server, options->log);
  if (err != 0) {
    kin__free(options->allocator, plugin);
    return err;
  }
  plugin->loop = options->loop;
  plugin->allocator = options->allocator;
  plugin->clock = options->clock;
  plugin->log = options->log;
  plugin->wall = options->wall != NULL ? options->wall : system_wall;
  plugin->wall_ctx = options->wall_ctx;
  plugin->is_terminal =
      options->is_terminal != NULL ? options->is_terminal : stdin_is_terminal;
  plugin->is_swept = options->is_swept;
  plugin->is_swept_ctx = options->is_swept_ctx;
  kin__wiping_init(&plugin->wiping, options->allocator);
  kin__fork_mark_init(&plugin->fork_mark);
  kin__link_init(&plugin->waiters);
  kin__tick_init(&plugin->gone, on_exec_gone);
  init_run(plugin, options);
  *out = plugin;
  return 0;
}

void kin__exec_plugin_close(kin__exec_plugin *plugin, void (*cb)(void *ctx),
                            void *ctx) {
  assert(!plugin->is_closing && kin__link_is_empty(&plugin->waiters));
  plugin->is_closing = true;
  plugin->close_cb = cb;
  plugin->close_ctx = ctx;
  switch (plugin->state) {
  case KIN__EXEC_IDLE:
    finish_closing(plugin);
    break;
  case KIN__EXEC_RUNNING:
    kin__exec_run_stop(&plugin->run);
    break;
  case KIN__EXEC_PREPARING:
  case KIN__EXEC_CHECKING:
    /* Fails if the work is running; the callback comes in both cases. */
    (void)uv_cancel((uv_req_t *)&plugin->work);
    break;
  }
}
