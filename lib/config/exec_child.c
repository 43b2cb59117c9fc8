/* SPDX-License-Identifier: MIT */
#include "config/exec_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/link.h"

/* Leaves the process unreaped. info->si_pid is 0 as long as it runs. */
static int look_at(const kin__exec_child *child, siginfo_t *info) {
  *info = (siginfo_t){.si_pid = 0};
  return waitid(P_PID, (id_t)child->pid, info, WEXITED | WNOHANG | WNOWAIT);
}

/* --- uv_spawn ------------------------------------------------------------- */

static void on_uv_exit(uv_process_t *process, int64_t exit_status, int signum) {
  kin__exec_child *child =
      KIN__CONTAINER_OF(process, kin__exec_child, handle.process);
  child->on_exit(child, exit_status, signum);
}

static int start_with_uv(kin__exec_child *child, uv_loop_t *loop,
                         const kin__exec_child_options *spawn) {
  uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
  if (spawn->is_interactive) {
    stdio[0].flags = UV_INHERIT_FD;
    stdio[0].data.fd = 0;
  }
  stdio[1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
  stdio[1].data.stream = (uv_stream_t *)spawn->out;
  stdio[2].flags = UV_IGNORE;
  if (spawn->stderr_to == KIN_EXEC_STDERR_LOG) {
    stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[2].data.stream = (uv_stream_t *)spawn->err;
  } else if (spawn->stderr_to == KIN_EXEC_STDERR_INHERIT) {
    stdio[2].flags = UV_INHERIT_FD;
    stdio[2].data.fd = 2;
  }
  uv_process_options_t options = {.exit_cb = on_uv_exit,
                                  .file = spawn->file,
                                  .args = spawn->args,
                                  .env = spawn->environment,
                                  .stdio_count = 3,
                                  .stdio = stdio};
  if (!spawn->is_interactive) {
    options.flags = UV_PROCESS_DETACHED;
  }
  int err = uv_spawn(loop, &child->handle.process, &options);
  child->pid = err == 0 ? (int)child->handle.process.pid : 0;
  return err;
}

/* --- posix_spawn ---------------------------------------------------------- */

#if defined(__linux__) && defined(SYS_pidfd_open) && defined(POSIX_SPAWN_SETSID)

#define TRY_UV 1 /* nothing was started */

static int open_pidfd(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A sandbox may refuse what the kernel has. */
static bool has_pidfd(void) {
  int fd = open_pidfd(getpid());
  if (fd >= 0) {
    (void)close(fd);
  }
  return fd >= 0;
}

/* The ends of the pipes; -1: none. */
typedef struct spawn_files {
  int out[2];
  int err[2];
} spawn_files;

static void close_files(const spawn_files *files, int end) {
  if (files->out[end] >= 0) {
    (void)close(files->out[end]);
  }
  if (files->err[end] >= 0) {
    (void)close(files->err[end]);
  }
}

/* Returns whether all are there, beyond the standard files: those are replaced
 * in the process one after the other. */
static bool open_files(spawn_files *files, bool has_err) {
  *files = (spawn_files){{-1, -1}, {-1, -1}};
  bool is_good = pipe2(files->out, O_CLOEXEC) == 0 &&
                 (!has_err || pipe2(files->err, O_CLOEXEC) == 0) &&
                 files->out[0] > 2 && files->out[1] > 2 &&
                 (!has_err || (files->err[0] > 2 && files->err[1] > 2));
  if (!is_good) {
    close_files(files, 0);
    close_files(files, 1);
  }
  return is_good;
}

/* A file that the process inherits is duplicated to itself, which clears its
 * FD_CLOEXEC, as uv_spawn does. */
static int add_actions(posix_spawn_file_actions_t *actions,
                       const kin__exec_child_options *spawn,
                       const spawn_files *files) {
  int err = spawn->is_interactive
                ? posix_spawn_file_actions_adddup2(actions, 0, 0)
                : posix_spawn_file_actions_addopen(actions, 0, "/dev/null",
                                                   O_RDWR, 0);
  if (err == 0) {
    err = posix_spawn_file_actions_adddup2(actions, files->out[1], 1);
  }
  if (err != 0) {
    return err;
  }
  switch (spawn->stderr_to) {
  case KIN_EXEC_STDERR_LOG:
    return posix_spawn_file_actions_adddup2(actions, files->err[1], 2);
  case KIN_EXEC_STDERR_INHERIT:
    return posix_spawn_file_actions_adddup2(actions, 2, 2);
  default:
    return posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_RDWR, 0);
  }
}

/* As uv_spawn: no signal is blocked, and none is ignored. */
static int set_attributes(posix_spawnattr_t *attributes, bool is_session) {
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  sigset_t signals;
  sigemptyset(&signals);
  int err = posix_spawnattr_setsigmask(attributes, &signals);
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  if (err == 0) {
    err = posix_spawnattr_setsigdefault(attributes, &signals);
  }
  if (err == 0) {
    err = posix_spawnattr_setflags(
        attributes, (short)(flags | (is_session ? POSIX_SPAWN_SETSID : 0)));
  }
  return err;
}

/* Returns an errno. */
static int spawn_process(pid_t *pid, const kin__exec_child_options *spawn,
                         const spawn_files *files) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int err = posix_spawn_file_actions_init(&actions);
  if (err != 0) {
    return err;
  }
  err = posix_spawnattr_init(&attributes);
  if (err == 0) {
    err = add_actions(&actions, spawn, files);
    if (err == 0) {
      err = set_attributes(&attributes, !spawn->is_interactive);
    }
    if (err == 0) {
      err = posix_spawn(pid, spawn->file, &actions, &attributes, spawn->args,
                        spawn->environment);
    }
    (void)posix_spawnattr_destroy(&attributes);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return err;
}

/* Called in two iterations of the loop. In the first one the pipes are read,
 * too, so what the process has written before its end comes before its end; with
 * uv_spawn libuv cares for this order.
 *
 * The process has ended, and keeps its number until it is reaped. A host that
 * reaps all children leaves no status; the output decides then. */
static void on_pidfd(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  kin__exec_child *child =
      KIN__CONTAINER_OF(poll, kin__exec_child, handle.poll);
  if (kin__fork_mark_is_child(child->fork_mark)) {
    (void)uv_poll_stop(poll); /* the parent's process */
    return;
  }
  if (!child->is_over) {
    child->is_over = true;
    return;
  }
  siginfo_t info;
  int found = look_at(child, &info);
  if (found == 0 && info.si_pid == 0) {
    return; /* not yet */
  }
  (void)uv_poll_stop(poll);
  if (found == 0) {
    child->on_ended(child);
  }
  int ended = 0;
  bool is_known = waitpid(child->pid, &ended, WNOHANG) == child->pid;
  child->on_exit(child, is_known && WIFEXITED(ended) ? WEXITSTATUS(ended) : 0,
                 is_known && WIFSIGNALED(ended) ? WTERMSIG(ended) : 0);
}

/* Takes the read ends over, also if it fails. */
static int open_pipes(const kin__exec_child_options *spawn,
                      const spawn_files *files) {
  int err = uv_pipe_open(spawn->out, files->out[0]);
  if (err != 0) {
    close_files(files, 0);
    return err;
  }
  if (files->err[0] < 0) {
    return 0;
  }
  err = uv_pipe_open(spawn->err, files->err[0]);
  if (err != 0) {
    (void)close(files->err[0]);
  }
  return err;
}

/* The handle is initialized in any case, so that it can be closed. */
static int watch_process(kin__exec_child *child, uv_loop_t *loop) {
  child->pidfd = open_pidfd(child->pid);
  int err = child->pidfd < 0
                ? uv_translate_sys_error(errno)
                : uv_poll_init(loop, &child->handle.poll, child->pidfd);
  if (err != 0) {
    (void)uv_timer_init(loop, &child->handle.none);
    return err;
  }
  return uv_poll_start(&child->handle.poll, UV_READABLE, on_pidfd);
}

/* SIGKILL ends it at once, so the loop hardly waits. */
static void kill_process(kin__exec_child *child, bool is_group) {
  (void)kill(is_group ? -child->pid : child->pid, SIGKILL);
  (void)waitpid(child->pid, NULL, 0);
  child->pid = 0;
}

/* A plugin does not expect that a write fails with EAGAIN. uv_spawn does the
 * same. Returns false if there is no such file. */
static bool make_blocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) {
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  }
  return flags >= 0;
}

static int start_with_posix(kin__exec_child *child, uv_loop_t *loop,
                            const kin__exec_child_options *spawn) {
  spawn_files files;
  pid_t pid;
  bool inherits_err = spawn->stderr_to == KIN_EXEC_STDERR_INHERIT;
  if (strchr(spawn->file, '/') == NULL || !has_pidfd() ||
      (spawn->is_interactive && !make_blocking(0)) ||
      (inherits_err && !make_blocking(2)) ||
      !open_files(&files, spawn->stderr_to == KIN_EXEC_STDERR_LOG)) {
    return TRY_UV;
  }
  int err = spawn_process(&pid, spawn, &files);
  close_files(&files, 1);
  if (err != 0) {
    close_files(&files, 0);
    return TRY_UV; /* which knows more kinds of files, and tells the reason */
  }
  child->pid = (int)pid;
  err = watch_process(child, loop);
  if (err != 0) {
    close_files(&files, 0);
  } else {
    err = open_pipes(spawn, &files);
  }
  if (err != 0) {
    kill_process(child, !spawn->is_interactive);
  }
  return err;
}

#else

#define TRY_UV 1

static int start_with_posix(kin__exec_child *child, uv_loop_t *loop,
                            const kin__exec_child_options *spawn) {
  (void)child;
  (void)loop;
  (void)spawn;
  return TRY_UV;
}

#endif

/* --- Both ----------------------------------------------------------------- */

int kin__exec_child_start(kin__exec_child *child, uv_loop_t *loop,
                          const kin__exec_child_options *options) {
  child->pid = 0;
  child->pidfd = -1;
  child->is_over = false;
  int err = start_with_posix(child, loop, options);
  return err == TRY_UV ? start_with_uv(child, loop, options) : err;
}

/* A process that the host has reaped counts as ended. */
bool kin__exec_child_has_ended(const kin__exec_child *child) {
  siginfo_t info;
  return child->pid > 0 && !kin__fork_mark_is_child(child->fork_mark) &&
         (look_at(child, &info) != 0 || info.si_pid != 0);
}

void kin__exec_child_closed(kin__exec_child *child) {
  if (child->pidfd >= 0) {
    (void)close(child->pidfd);
    child->pidfd = -1;
  }
}
