/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_CHILD_H
#define KIN_CONFIG_EXEC_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/exec_plugin.h>

#include "base/fork.h"

/* A process of a plugin, and its pipes.
 *
 * uv_spawn blocks the loop for fork(), which copies the page tables of the whole
 * program. On Linux from 5.3 on posix_spawn starts the process instead, without
 * a copy, and a pidfd tells its end. The process then is reaped here, and not by
 * libuv. Everything that this way does not have falls back to uv_spawn: other
 * systems, a sandbox without pidfd_open, scripts without "#!", a program whose
 * standard files are closed. */
typedef struct kin__exec_child {
  union {
    uv_handle_t any;
    uv_process_t process; /* of uv_spawn */
    uv_poll_t poll;       /* of the pidfd */
    uv_timer_t none;      /* it was not started; never runs */
  } handle;
  int pid;      /* 0: it was not started */
  int pidfd;    /* -1: uv_spawn */
  bool is_over; /* the pidfd has said so */
  const kin__fork_mark *fork_mark;
  /* Called from the loop when the process has ended, while its number, and so
   * that of its group, belongs to nobody else. uv_spawn has no such time. */
  void (*on_ended)(struct kin__exec_child *child);
  /* Called once, from the loop, when it has ended. */
  void (*on_exit)(struct kin__exec_child *child, int64_t exit_status,
                  int signum);
} kin__exec_child;

typedef struct kin__exec_child_options {
  const char *file;
  char **args;
  char **environment;
  bool is_interactive; /* has the standard input, and no group of its own */
  kin_exec_stderr stderr_to;
  uv_pipe_t *out; /* initialized */
  uv_pipe_t *err; /* the same, for KIN_EXEC_STDERR_LOG */
} kin__exec_child_options;

/* Starts a process. The handle must be closed in any case, and then
 * kin__exec_child_closed be called. Set the callbacks and the fork mark
 * before. Errors: libuv's. */
int kin__exec_child_start(kin__exec_child *child, uv_loop_t *loop,
                          const kin__exec_child_options *options);
/* Whether it has ended, although the loop may not have said so yet. */
bool kin__exec_child_has_ended(const kin__exec_child *child);
void kin__exec_child_closed(kin__exec_child *child);

#endif /* KIN_CONFIG_EXEC_CHILD_H */
