/* SPDX-License-Identifier: MIT */
#include "config/exec_run.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include <sys/wait.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "transport/socket.h"

#define FIRST_OUTPUT_BYTES 4096u
#define AFTER_EXIT_MS 500u /* for the rest of the output */
#define AFTER_SIGNAL_MS 2000u
#define STOP_NS UINT64_C(1000000000)
#define MAX_STDERR_LINES 64u

/* --- Handles -------------------------------------------------------------- */

static void each_run_handle(kin__exec_run *run,
                            void (*cb)(kin__exec_run *run,
                                       uv_handle_t *handle)) {
  cb(run, &run->child.handle.any);
  cb(run, (uv_handle_t *)&run->out);
  if (run->stderr_to == KIN_EXEC_STDERR_LOG) {
    cb(run, (uv_handle_t *)&run->err);
  }
}

static void apply_run_ref(kin__exec_run *run, uv_handle_t *handle) {
  if (run->is_unref) {
    uv_unref(handle);
  } else {
    uv_ref(handle);
  }
}

static void close_run_handle(kin__exec_run *run, uv_handle_t *handle) {
  (void)run;
  kin__handle_close(handle);
}

void kin__exec_run_set_ref(kin__exec_run *run, bool is_ref) {
  run->is_unref = !is_ref;
  if (run->state == KIN__EXEC_RUN_RUNNING ||
      run->state == KIN__EXEC_RUN_ENDING) {
    each_run_handle(run, apply_run_ref);
  }
}

static void log_plugin_line(kin__exec_run *run);

static void on_run_gone(kin__release *release) {
  kin__exec_run *run = KIN__CONTAINER_OF(release, kin__exec_run, gone);
  kin__exec_child_closed(&run->child);
  run->state = KIN__EXEC_RUN_IDLE;
  run->on_end(run);
}

static void close_run_handles(kin__exec_run *run) {
  assert(run->state != KIN__EXEC_RUN_CLOSING);
  run->state = KIN__EXEC_RUN_CLOSING;
  kin__timer_stop(run->timers, &run->timer);
  log_plugin_line(run);
  each_run_handle(run, close_run_handle);
  kin__releases_add(&run->releases, &run->gone, on_run_gone);
}

static void start_run_timer(kin__exec_run *run, uint32_t ms) {
  uint64_t now_ms = kin__clock_ms(&run->clock);
  kin__timer_start(run->timers, &run->timer, kin__deadline_ms(now_ms, ms));
}

/* --- The end -------------------------------------------------------------- */

/* The process exists: the parent that reaps it is this process, and has not
 * reaped it yet. So its number belongs to nobody else. */
static void send_signal(kin__exec_run *run, int signum) {
  int pid = run->child.pid;
  if (run->result.has_run && !run->has_exited && pid > 0 &&
      !kin__fork_mark_is_child(run->fork_mark)) {
    (void)uv_kill(run->is_group ? -pid : pid, signum);
  }
}

static void end_if_done(kin__exec_run *run) {
  if (run->has_exited && (run->is_at_end || run->result.code != 0)) {
    close_run_handles(run);
  } else if (run->has_exited) {
    start_run_timer(run, AFTER_EXIT_MS);
  }
}

/* The result is decided before the process has ended. */
static void begin_ending(kin__exec_run *run, int code) {
  if (run->state != KIN__EXEC_RUN_RUNNING) {
    return;
  }
  run->state = KIN__EXEC_RUN_ENDING;
  run->result.code = code;
  (void)uv_read_stop((uv_stream_t *)&run->out);
  if (run->has_exited) {
    close_run_handles(run);
    return;
  }
  send_signal(run, SIGTERM);
  start_run_timer(run, AFTER_SIGNAL_MS);
}

/* A plugin that got SIGTERM has ended. Other processes of its group may have
 * ignored the signal, so they are killed. The group of a plugin that ended by
 * itself is left alone. */
static void on_child_ended(kin__exec_child *child) {
  kin__exec_run *run = KIN__CONTAINER_OF(child, kin__exec_run, child);
  if (run->state == KIN__EXEC_RUN_ENDING && run->is_group) {
    send_signal(run, SIGKILL);
  }
}

static void on_child_exit(kin__exec_child *child, int64_t exit_status,
                          int signum) {
  kin__exec_run *run = KIN__CONTAINER_OF(child, kin__exec_run, child);
  run->has_exited = true;
  run->result.exit_status = exit_status;
  run->result.signal = signum;
  if (run->state != KIN__EXEC_RUN_CLOSING) {
    end_if_done(run);
  }
}

/* If the loop was blocked for long, the timer is due although the process has
 * ended, or the rest of its output is in the pipe. Only one delay is
 * allowed. */
static bool take_delay(kin__exec_run *run) {
  uv_os_fd_t fd;
  bool is_late = run->is_late;
  run->is_late = true;
  if (is_late || run->state != KIN__EXEC_RUN_RUNNING) {
    return false;
  }
  return run->has_exited ? uv_fileno((uv_handle_t *)&run->out, &fd) == 0 &&
                               kin__socket_is_readable(fd)
                         : kin__exec_child_has_ended(&run->child);
}

static void on_run_timer(kin__timer *timer) {
  kin__exec_run *run = KIN__CONTAINER_OF(timer, kin__exec_run, timer);
  if (take_delay(run)) {
    start_run_timer(run, AFTER_EXIT_MS);
  } else if (run->state == KIN__EXEC_RUN_RUNNING && run->has_exited) {
    close_run_handles(run); /* a child of the process holds the output */
  } else if (run->state == KIN__EXEC_RUN_RUNNING) {
    begin_ending(run, KIN_ETIMEDOUT);
  } else if (!run->is_killed) {
    run->is_killed = true;
    send_signal(run, SIGKILL);
    start_run_timer(run, AFTER_SIGNAL_MS);
  } else {
    close_run_handles(run); /* not even SIGKILL ends it */
  }
}

/* --- Output --------------------------------------------------------------- */

/* Wipes what it replaces. */
static int grow_output(kin__exec_run *run) {
  size_t size =
      run->output_size == 0 ? FIRST_OUTPUT_BYTES : run->output_size * 2;
  char *output = kin__realloc_array(run->allocator, run->output,
                                    run->output_size, size, 1);
  if (output == NULL) {
    return KIN_ENOMEM;
  }
  run->output = output;
  run->output_size = size;
  return 0;
}

/* One byte over the limit is read, to tell that there is more. */
static void on_out_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  (void)suggested;
  uv_pipe_t *pipe = (uv_pipe_t *)handle;
  kin__exec_run *run = KIN__CONTAINER_OF(pipe, kin__exec_run, out);
  *buf = uv_buf_init(NULL, 0); /* libuv then tells UV_ENOBUFS */
  if (run->output_length < run->output_size || grow_output(run) == 0) {
    *buf = uv_buf_init(run->output + run->output_length,
                       (unsigned)(run->output_size - run->output_length));
  }
}

static void on_out_read(uv_stream_t *stream, ssize_t length,
                        const uv_buf_t *buf) {
  (void)buf;
  uv_pipe_t *pipe = (uv_pipe_t *)stream;
  kin__exec_run *run = KIN__CONTAINER_OF(pipe, kin__exec_run, out);
  if (length >= 0) {
    run->output_length += (size_t)length;
    if (run->output_length > KIN__EXEC_MAX_OUTPUT) {
      begin_ending(run, KIN_ETOOBIG);
    }
    return;
  }
  (void)uv_read_stop(stream);
  if (length == UV_EOF) {
    run->is_at_end = true;
    end_if_done(run);
  } else {
    begin_ending(run, length == UV_ENOBUFS ? KIN_ENOMEM : (int)length);
  }
}

static void log_plugin_line(kin__exec_run *run) {
  if (run->line_length > 0 && run->lines < MAX_STDERR_LINES) {
    run->lines++;
    kin__log_write(run->log, KIN_LOG_WARN, "exec plugin: %.*s",
                   (int)run->line_length, run->line);
  }
  run->line_length = 0;
}

static void on_err_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  (void)suggested;
  uv_pipe_t *pipe = (uv_pipe_t *)handle;
  kin__exec_run *run = KIN__CONTAINER_OF(pipe, kin__exec_run, err);
  if (run->line_length == sizeof run->line) {
    log_plugin_line(run);
  }
  *buf = uv_buf_init(run->line + run->line_length,
                     (unsigned)(sizeof run->line - run->line_length));
}

/* Cuts the bytes so far into lines. Output after the last line of the limit
 * is read and dropped, so that the plugin never waits for its reader. */
static void on_err_read(uv_stream_t *stream, ssize_t length,
                        const uv_buf_t *buf) {
  (void)buf;
  uv_pipe_t *pipe = (uv_pipe_t *)stream;
  kin__exec_run *run = KIN__CONTAINER_OF(pipe, kin__exec_run, err);
  if (length < 0) {
    (void)uv_read_stop(stream);
    return;
  }
  size_t have = run->line_length + (size_t)length;
  for (size_t i = run->line_length; i < have; i++) {
    if (run->line[i] == '\n') {
      run->line_length = i;
      log_plugin_line(run);
      memmove(run->line, run->line + i + 1, have - i - 1);
      have -= i + 1;
      i = (size_t)-1;
    }
  }
  run->line_length = have;
}

/* --- Start ---------------------------------------------------------------- */

static int spawn_process(kin__exec_run *run, const kin__exec_spawn *spawn) {
  const kin__exec_child_options options = {.file = spawn->file,
                                           .args = spawn->args,
                                           .environment = spawn->environment,
                                           .is_interactive =
                                               spawn->is_interactive,
                                           .stderr_to = spawn->stderr_to,
                                           .out = &run->out,
                                           .err = &run->err};
  run->child.fork_mark = run->fork_mark;
  run->child.on_ended = on_child_ended;
  run->child.on_exit = on_child_exit;
  return kin__exec_child_start(&run->child, run->loop, &options);
}

static int start_reading(kin__exec_run *run) {
  int err = uv_read_start((uv_stream_t *)&run->out, on_out_alloc, on_out_read);
  if (err == 0 && run->stderr_to == KIN_EXEC_STDERR_LOG) {
    err = uv_read_start((uv_stream_t *)&run->err, on_err_alloc, on_err_read);
  }
  return err;
}

static void wipe_output(kin__exec_run *run) {
  kin__free(run->allocator, run->output);
  run->output = NULL;
  run->output_length = run->output_size = 0;
}

void kin__exec_run_start(kin__exec_run *run, const kin__exec_spawn *spawn) {
  assert(run->state == KIN__EXEC_RUN_IDLE);
  wipe_output(run);
  run->state = KIN__EXEC_RUN_RUNNING;
  run->result = (kin__exec_result){.code = 0};
  run->stderr_to = spawn->stderr_to;
  run->is_group = !spawn->is_interactive;
  run->is_killed = run->is_late = run->has_exited = run->is_at_end = false;
  run->line_length = 0;
  run->lines = 0;
  /* In libuv 1.x they only link the handle, as uv_spawn does first of all. */
  (void)uv_pipe_init(run->loop, &run->out, 0);
  if (run->stderr_to == KIN_EXEC_STDERR_LOG) {
    (void)uv_pipe_init(run->loop, &run->err, 0);
  }
  int err = spawn_process(run, spawn);
  each_run_handle(run, apply_run_ref);
  if (err != 0) {
    run->result.code = err;
    close_run_handles(run);
    return;
  }
  run->result.has_run = true;
  err = start_reading(run);
  if (err != 0) {
    begin_ending(run, err);
  } else {
    start_run_timer(run, spawn->timeout_ms);
  }
}

/* --- Stop ----------------------------------------------------------------- */

/* The host has closed the handles, so libuv does not reap the process. */
static bool is_run_swept(const kin__exec_run *run) {
  return uv_is_closing(&run->child.handle.any);
}

static void on_run_poll(kin__tick *tick) {
  kin__exec_run *run = KIN__CONTAINER_OF(tick, kin__exec_run, poll);
  if (run->state == KIN__EXEC_RUN_CLOSING || run->state == KIN__EXEC_RUN_IDLE) {
    return;
  }
  bool is_child = kin__fork_mark_is_child(run->fork_mark);
  if (is_run_swept(run) && !run->has_exited && !is_child) {
    int pid = run->child.pid;
    run->has_exited = pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0;
  }
  if (run->has_exited || is_child || uv_hrtime() - run->stopped_ns > STOP_NS) {
    close_run_handles(run);
  } else {
    kin__tick_request(&run->poll, run->loop);
  }
}

void kin__exec_run_stop(kin__exec_run *run) {
  if (run->state == KIN__EXEC_RUN_RUNNING ||
      run->state == KIN__EXEC_RUN_ENDING) {
    run->state = KIN__EXEC_RUN_ENDING;
    run->result.code = KIN_ECLOSED;
    run->is_killed = true;
    run->stopped_ns = uv_hrtime();
    kin__timer_stop(run->timers, &run->timer);
    send_signal(run, SIGKILL);
    kin__tick_request(&run->poll, run->loop);
  }
}

void kin__exec_run_init(kin__exec_run *run) {
  run->state = KIN__EXEC_RUN_IDLE;
  kin__timer_init(&run->timer, on_run_timer);
  kin__tick_init(&run->poll, on_run_poll);
  kin__releases_init(&run->releases, run->loop);
}

void kin__exec_run_finish(kin__exec_run *run) {
  assert(run->state == KIN__EXEC_RUN_IDLE);
  wipe_output(run);
}
