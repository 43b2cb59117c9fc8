/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_PLUGIN_H
#define KIN_CONFIG_EXEC_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/allocator.h>
#include <kin/exec_plugin.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timers.h"
#include "base/timestamp.h"
#include "config/exec_config.h"
#include "transport/credentials.h"

/* A source of credentials that runs an exec plugin; see <kin/exec_plugin.h> for
 * when. One run serves all requests that wait.
 *
 *   IDLE -> PREPARING -> RUNNING -> CHECKING -> IDLE
 *
 * PREPARING, in libuv's pool: the command is looked up, the policy decides, the
 * certificate authority is read. RUNNING: exec_run.h. CHECKING, in libuv's
 * pool, if there is a certificate: it is parsed, with its key. A failure of any
 * state leads to IDLE.
 *
 * Expiry is a time of the wall clock, and is compared with the wall clock at
 * each request. If that clock is set back, a credential counts for longer, until
 * a 401. All waiting uses the monotonic clock. */
typedef struct kin__exec_plugin kin__exec_plugin;

typedef struct kin__exec_plugin_options {
  uv_loop_t *loop;
  kin__timers *timers;
  const kin_allocator *allocator;
  kin__clock clock;
  const kin__log *log;
  const kin_exec_plugin *plugin; /* copied */
  kin__exec_server server;       /* copied */

  /* Whether the host has closed the loop's handles; NULL: never. */
  bool (*is_swept)(void *ctx);
  void *is_swept_ctx;

  /* For tests; NULL: the system's. */
  kin__timestamp (*wall)(void *ctx);
  void *wall_ctx;
  bool (*is_terminal)(void); /* standard input */
} kin__exec_plugin_options;

/* XP-10. A run is counted once, by its outcome. */
typedef struct kin__exec_stats {
  uint64_t succeeded; /* the plugin ended with exit code 0 */
  uint64_t failed;    /* another exit code, a signal, the time was over */
  uint64_t not_found; /* no such executable */
  uint64_t internal;  /* it could not be started for another reason */
  uint64_t denied;    /* by the policy; not run */
  uint64_t unusable;  /* of those that succeeded: no usable output */
  int64_t certificate_expires_s; /* since 1970; 0: no certificate */
} kin__exec_stats;

/* Errors: KIN_EINVAL, with a problem text; KIN_ENOMEM; KIN_ENOTSUP if the
 * library was built without exec plugins. */
int kin__exec_plugin_new(kin__exec_plugin **out,
                         const kin__exec_plugin_options *options);

/* Frees the plugin at once. Legal only before its first use. */
void kin__exec_plugin_free(kin__exec_plugin *plugin);

/* Kills a running process, then calls cb from the loop, never inside this call.
 * Nothing of the plugin is left then. No request may be waiting. */
void kin__exec_plugin_close(kin__exec_plugin *plugin, void (*cb)(void *ctx),
                            void *ctx);

/* Whether the plugin's handles keep the loop alive (the default). */
void kin__exec_plugin_set_ref(kin__exec_plugin *plugin, bool is_ref);

/* The source for a transport; valid until the plugin is closed. */
kin__credentials kin__exec_plugin_credentials(kin__exec_plugin *plugin);

const kin__exec_stats *
kin__exec_plugin_get_stats(const kin__exec_plugin *plugin);

#endif /* KIN_CONFIG_EXEC_PLUGIN_H */
