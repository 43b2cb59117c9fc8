/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_RUN_H
#define KIN_CONFIG_EXEC_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/exec_plugin.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/timers.h"
#include "config/exec_child.h"
#include "transport/wiping.h"
#include "transport/handle.h"

/* One run of a program at a time: its process, its output and its end.
 *
 *   IDLE -> RUNNING -> ENDING -> CLOSING -> IDLE
 *
 * RUNNING: the process runs, and its output is read. ENDING: it gets SIGTERM,
 * SIGKILL after a while, and after another while it is left to itself. CLOSING:
 * the handles close. A run ends when the process has ended and its output is at
 * its end; a child of the process that still holds the output is not waited
 * for longer than 0.5 s.
 *
 * Host. The program may close all handles of its loop at any time
 * (transport/handle.h). No exit is told then, so kin__exec_run_stop polls. */

/* The most that a plugin may print. */
#define KIN__EXEC_MAX_OUTPUT (1u << 20)

typedef enum kin__exec_state {
  KIN__EXEC_RUN_IDLE,
  KIN__EXEC_RUN_RUNNING,
  KIN__EXEC_RUN_ENDING,
  KIN__EXEC_RUN_CLOSING
} kin__exec_state;

typedef struct kin__exec_result {
  int code;     /* 0: it has ended by itself. KIN_ETIMEDOUT, KIN_ETOOBIG (too
                  * much output), KIN_ENOMEM, KIN_ECLOSED (stopped), and libuv's
                  * if it could not be started or read */
  bool has_run; /* it was started */
  int64_t exit_status;
  int signal; /* that has ended it, or 0 */
} kin__exec_result;

typedef struct kin__exec_run {
  /* Set by the owner, before the first start. */
  uv_loop_t *loop;
  kin__timers *timers;
  kin__clock clock;
  const kin__log *log;
  const kin_allocator *allocator;  /* a wiping one */
  const kin__fork_mark *fork_mark; /* of the process that runs it */
  /* Called from the loop when no handle is left. `output` is valid until the
   * next start; may start the next run. */
  void (*on_end)(struct kin__exec_run *run);

  kin__exec_state state;
  kin__exec_result result;
  char *output; /* secret */
  size_t output_length;

  /* The run's own. */
  size_t output_size;
  kin__exec_child child;
  uv_pipe_t out;
  uv_pipe_t err;
  kin__timer timer;
  kin__tick poll;
  uint64_t stopped_ns; /* of uv_hrtime */
  kin__release gone;
  kin__releases releases;
  char line[512]; /* of stderr, as far as it has come */
  size_t line_length;
  unsigned lines;
  kin_exec_stderr stderr_to;
  bool is_group; /* the process leads a group of its own */
  bool is_killed;
  bool is_late; /* the timer has fired */
  bool has_exited;
  bool is_at_end; /* of the output */
  bool is_unref;
} kin__exec_run;

typedef struct kin__exec_spawn {
  const char *file;
  char **args; /* with the name first, and NULL last */
  char **environment;
  uint32_t timeout_ms;
  bool is_interactive;
  kin_exec_stderr stderr_to;
} kin__exec_spawn;

void kin__exec_run_init(kin__exec_run *run);
/* Only while idle. Wipes the output. */
void kin__exec_run_finish(kin__exec_run *run);

/* Starts a process; on_end follows in every case. Only while idle. */
void kin__exec_run_start(kin__exec_run *run, const kin__exec_spawn *spawn);

/* Kills a running process; on_end follows within about a second. For a closing
 * client: needs no timers. Legal in every state. */
void kin__exec_run_stop(kin__exec_run *run);

/* Whether the handles keep the loop alive (the default). */
void kin__exec_run_set_ref(kin__exec_run *run, bool is_ref);

#endif /* KIN_CONFIG_EXEC_RUN_H */
