/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_CORE_H
#define KIN_CONFIG_EXEC_CORE_H

#include "base/fork.h"
#include "config/exec_command.h"
#include "config/exec_credential.h"
#include "config/exec_plugin.h"
#include "config/exec_run.h"
#include "transport/wiping.h"
#include "transport/handle.h"
#include "transport/tls_build.h"

/* The plugin as exec_plugin.c and exec_stages.c see it. */
#define KIN__EXEC_TIMEOUT_MS 60000u
#define KIN__EXEC_INTERACTIVE_TIMEOUT_MS 300000u

typedef enum kin__exec_stage {
  KIN__EXEC_IDLE,
  KIN__EXEC_PREPARING,
  KIN__EXEC_RUNNING,
  KIN__EXEC_CHECKING
} kin__exec_stage;

struct kin__exec_plugin {
  kin__exec_config config;
  uv_loop_t *loop;
  const kin_allocator *allocator;
  kin__wiping wiping; /* for output, and what is made of it */
  kin__clock clock;
  const kin__log *log;
  kin__timestamp (*wall)(void *ctx);
  void *wall_ctx;
  bool (*is_terminal)(void);
  bool (*is_swept)(void *ctx); /* may be NULL */
  void *is_swept_ctx;
  kin__fork_mark fork_mark;

  kin__exec_credential current; /* empty: there is none yet */
  uint64_t serial;              /* of current */
  uint64_t pair_serial;         /* of its certificate */
  bool is_stale;                /* answered with 401 */
  unsigned failures;            /* in a row */
  uint64_t retry_ms;            /* no run before this, after a failure */
  uint64_t expiry_ms;   /* no run for an expired credential before this */
  uint64_t rejected_ms; /* no run because of a 401 before this */
  int code;             /* of the last failure; `reason` says why */
  char reason[512];

  kin__exec_stage state;
  uv_work_t work;
  bool is_interactive;
  kin__exec_command command; /* only the worker's while PREPARING */
  char *path;                /* the value of PATH */
  char *authority;           /* KIN__TLS_MAX_PEM_BYTES, or NULL */
  size_t authority_length;
  int authority_code;
  kin__exec_run run;
  kin__exec_credential found; /* while CHECKING, the worker reads it */
  kin__tls_settings settings; /* only the worker's while CHECKING */
  kin__tls_build build;
  int64_t found_expires_s; /* of the certificate */
  kin__link waiters;

  kin__exec_stats stats;
  uint64_t hint_window_ms; /* its begin */
  unsigned hints;          /* in this window */

  kin__tick gone; /* so that close_cb comes from the loop */
  bool is_closing;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

static inline uint64_t kin__exec_now_ms(const kin__exec_plugin *plugin) {
  return kin__clock_ms(&plugin->clock);
}

/* --- exec_plugin.c -------------------------------------------------------- */

/* A child of the process starts no plugin. A host that has swept its loop would
 * get new handles on it, whose time limit would stand still. */
bool kin__exec_is_cut_off(const kin__exec_plugin *plugin);

/* --- exec_stages.c -------------------------------------------------------- */

/* Begins a run, or fails it at once. Only while idle. */
void kin__exec_prepare(kin__exec_plugin *plugin);
/* The run's on_end. */
void kin__exec_on_run_end(kin__exec_run *run);

/* --- exec_plugin.c: how a run ends ---------------------------------------- */

/* The answer of the run becomes the credential. */
void kin__exec_adopt_found(kin__exec_plugin *plugin);
/* The text holds nothing of the plugin's output, arguments and environment. */
void kin__exec_fail(kin__exec_plugin *plugin, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Comes last, in every case: serves those who wait. */
void kin__exec_become_idle(kin__exec_plugin *plugin);

#endif /* KIN_CONFIG_EXEC_CORE_H */
