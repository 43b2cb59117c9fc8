/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A long run of lines is written in pieces of this size. */
enum { WRITE_AT_ONCE = 128 * 1024 };

static void flush(output *out);
static void fail(output *out, int status);

/* ---- opening */

static void on_prepare(uv_prepare_t *prepare) {
  flush(prepare->data);
}

/* A pipe without a reader reports an error condition, which libuv passes on as
 * an error status. */
static void on_reader_gone(uv_poll_t *watch, int status, int events) {
  (void)events;
  uv_poll_stop(watch);
  if (status < 0) {
    fail(watch->data, UV_EPIPE);
  }
}

/* Best effort: without it the end of the reader is noticed at the next write.
 */
static void watch_reader(output *out) {
  struct stat st;
  if (fstat(out->fd, &st) != 0 || !S_ISFIFO(st.st_mode)) {
    return;
  }
  int fd = fcntl(out->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) {
    return;
  }
  if (uv_poll_init(out->loop, &out->watch, fd) != 0) {
    close(fd);
    return;
  }
  out->watch_fd = fd;
  out->watch.data = out;
  out->open_handles++;
  uv_poll_start(&out->watch, UV_DISCONNECT, on_reader_gone);
  uv_unref((uv_handle_t *)&out->watch);
}

/* O_NONBLOCK belongs to all who have the pipe open. An exec plugin that has it as
 * its standard error (2>&1) makes it blocking; the loop would then wait for the
 * reader. So the pipe is opened anew, where the system can. */
static int copy_descriptor(const output *out, uv_handle_type type) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", out->fd);
  int fd = type == UV_NAMED_PIPE ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                                 : -1;
  return fd >= 0 ? fd : fcntl(out->fd, F_DUPFD_CLOEXEC, 3);
}

static bool is_socket(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A socket cannot be opened anew, so each send says that it must not block, and
 * O_NONBLOCK, which uv_poll_init sets, is put back at once. */
static void open_socket(output *out) {
  int fd = fcntl(out->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) {
    return;
  }
  int flags = fcntl(fd, F_GETFL);
  if (uv_poll_init(out->loop, &out->to.room, fd) != 0) {
    close(fd);
    return;
  }
  if (flags != -1) {
    fcntl(fd, F_SETFL, flags);
  }
  out->socket_fd = fd;
  out->to.handle.data = out;
  out->open_handles++;
}

/* Opens the kind of stream that fits, on a copy of the descriptor: the original
 * outlives it. What does not fit, or fails, is left to write(2). */
static void open_stream(output *out) {
  uv_handle_type type = uv_guess_handle(out->fd);
  if (type != UV_TTY && type != UV_NAMED_PIPE && type != UV_TCP) {
    return;
  }
  if (is_socket(out->fd)) {
    open_socket(out);
    return;
  }
  int fd = copy_descriptor(out, type);
  if (fd < 0) {
    return;
  }
  int status;
  if (type == UV_TTY) {
    status = uv_tty_init(out->loop, &out->to.tty, fd, 0);
    out->is_terminal = status == 0;
  } else {
    out->saved_flags = fcntl(out->fd, F_GETFL);
    uv_pipe_init(out->loop, &out->to.pipe, 0);
    status = uv_pipe_open(&out->to.pipe, fd);
  }
  out->has_stream = status == 0;
  if (status != 0) {
    close(fd);
  }
  if (status == 0 || type != UV_TTY) {
    out->to.handle.data = out;
    out->open_handles++;
  }
}

void output_open(output *out, uv_loop_t *loop, int fd,
                 const output_callbacks *callbacks, void *data) {
  *out = (output){.loop = loop,
                  .callbacks = callbacks,
                  .data = data,
                  .fd = fd,
                  .saved_flags = -1,
                  .watch_fd = -1,
                  .socket_fd = -1};
  open_stream(out);
  if (out->has_stream && !out->is_terminal) {
    watch_reader(out);
  }
  uv_prepare_init(loop, &out->prepare);
  uv_timer_init(loop, &out->stall);
  out->open_handles += 2;
  out->prepare.data = out;
  out->stall.data = out;
  uv_prepare_start(&out->prepare, on_prepare);
  uv_unref((uv_handle_t *)&out->prepare);
}

/* ---- writing */

text *output_text(output *out) {
  return &out->back;
}

size_t output_pending(const output *out) {
  size_t under_way =
      out->is_writing ? uv_stream_get_write_queue_size(&out->to.stream) : 0;
  return under_way + out->committed - out->start;
}

size_t output_columns(const output *out) {
  int width;
  int height;
  if (!out->is_terminal ||
      uv_tty_get_winsize((uv_tty_t *)&out->to.tty, &width, &height) != 0 ||
      width <= 0) {
    return 80;
  }
  return (size_t)width;
}

static void empty_back(output *out) {
  text_truncate(&out->back, 0);
  out->start = 0;
  out->committed = 0;
}

static void on_handle_closed(uv_handle_t *handle) {
  output *out = handle->data;
  if (handle == (uv_handle_t *)&out->watch) {
    close(out->watch_fd);
  }
  if (handle == &out->to.handle && out->socket_fd != -1) {
    close(out->socket_fd);
  }
  if (--out->open_handles > 0) {
    return;
  }
  if (out->saved_flags != -1) {
    fcntl(out->fd, F_SETFL, out->saved_flags);
  }
  text_finish(&out->back);
  text_finish(&out->front);
  out->closed(out->data);
}

/* Goes on with closing when nothing is left to wait for. A write under way ends
 * with its stream, before on_handle_closed. */
static void close_if_done(output *out) {
  if (!out->is_closing || out->is_ending ||
      (out->status == 0 && output_pending(out) > 0)) {
    return;
  }
  out->is_ending = true;
  if (out->to.handle.data) {
    uv_close(&out->to.handle, on_handle_closed);
  }
  if (out->watch_fd != -1) {
    uv_close((uv_handle_t *)&out->watch, on_handle_closed);
  }
  uv_close((uv_handle_t *)&out->prepare, on_handle_closed);
  uv_close((uv_handle_t *)&out->stall, on_handle_closed);
}

static void fail(output *out, int status) {
  if (out->status == 0) {
    out->status = status;
    empty_back(out);
    out->callbacks->failed(status, out->data);
  }
  close_if_done(out);
}

/* Tells the owner, once each time, that a limit has been crossed. */
static void tell_level(output *out) {
  size_t pending = output_pending(out);
  if (!out->is_full && pending > OUTPUT_FULL) {
    out->is_full = true;
    out->callbacks->full(out->data);
  } else if (out->is_full && pending < OUTPUT_ROOM) {
    out->is_full = false;
    out->callbacks->room(out->data);
  }
}

static void on_written(uv_write_t *write, int status) {
  output *out = write->data;
  out->is_writing = false;
  text_truncate(&out->front, 0);
  if (status == 0) {
    flush(out);
  } else if (status != UV_ECANCELED) {
    fail(out, status);
  }
}

/* Leaves the rest to libuv, which writes it as the reader takes it: back
 * becomes front, and new lines go to what was front. */
static void begin_write(output *out) {
  uv_buf_t buf = uv_buf_init(out->back.data + out->start,
                             (unsigned)(out->committed - out->start));
  text empty = out->front;
  out->front = out->back;
  out->back = empty;
  empty_back(out);
  out->write.data = out;
  int status = uv_write(&out->write, &out->to.stream, &buf, 1, on_written);
  if (status == 0) {
    out->is_writing = true;
  } else {
    fail(out, status);
  }
}

static void flush_stream(output *out) {
  uv_buf_t buf = uv_buf_init(out->back.data + out->start,
                             (unsigned)(out->committed - out->start));
  int written = uv_try_write(&out->to.stream, &buf, 1);
  if (written < 0 && written != UV_EAGAIN) {
    fail(out, written);
    return;
  }
  out->start += written > 0 ? (size_t)written : 0;
  if (out->start < out->committed) {
    begin_write(out);
  } else {
    empty_back(out);
  }
}

static void on_room(uv_poll_t *room, int status, int events) {
  (void)status; // send says what is wrong
  (void)events;
  uv_poll_stop(room);
  flush(room->data);
}

/* The bytes that the socket does not take stay in back, and move to its beginning.
 * So a reader that is never up to date does not make back grow. */
static void wait_for_room(output *out) {
  text_drop(&out->back, out->start);
  out->committed -= out->start;
  out->start = 0;
  int status = uv_poll_start(&out->to.room, UV_WRITABLE, on_room);
  if (status != 0) {
    fail(out, status);
  }
}

static void flush_socket(output *out) {
  while (out->start < out->committed) {
    ssize_t n = send(out->socket_fd, out->back.data + out->start,
                     out->committed - out->start, MSG_DONTWAIT);
    if (n >= 0) {
      out->start += (size_t)n;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for_room(out);
      return;
    } else if (errno != EINTR) {
      fail(out, -errno);
      return;
    }
  }
  empty_back(out);
}

static void flush_file(output *out) {
  while (out->start < out->committed) {
    ssize_t n = write(out->fd, out->back.data + out->start,
                      out->committed - out->start);
    if (n >= 0) {
      out->start += (size_t)n;
    } else if (errno != EINTR) {
      fail(out, -errno);
      return;
    }
  }
  empty_back(out);
}

static bool is_waiting(const output *out) {
  return out->is_writing ||
         (out->socket_fd != -1 && uv_is_active(&out->to.handle));
}

/* Never runs while a line is being composed. */
static void flush(output *out) {
  assert(out->back.length == out->committed);
  if (out->status == 0 && !is_waiting(out) && out->committed > out->start) {
    if (out->has_stream) {
      flush_stream(out);
    } else if (out->socket_fd != -1) {
      flush_socket(out);
    } else {
      flush_file(out);
    }
  }
  if (out->status == 0) {
    tell_level(out);
  }
  close_if_done(out);
}

int output_commit(output *out) {
  if (out->status != 0) {
    empty_back(out);
    return 0;
  }
  if (out->back.failed) {
    text_truncate(&out->back, out->committed);
    return UV_ENOMEM;
  }
  out->committed = out->back.length;
  if (out->committed - out->start >= WRITE_AT_ONCE) {
    flush(out);
  }
  return 0;
}

/* ---- closing */

void output_drop(output *out) {
  if (out->status == 0) {
    out->status = UV_ECANCELED;
    empty_back(out);
  }
  close_if_done(out);
}

void output_close(output *out, void (*closed)(void *data)) {
  out->is_closing = true;
  out->closed = closed;
  flush(out);
}

static void on_stall_tick(uv_timer_t *timer) {
  output *out = timer->data;
  size_t pending = output_pending(out);
  if (pending > 0 && pending >= out->stall_pending) {
    output_drop(out);
  }
  out->stall_pending = pending;
}

void output_limit_stall(output *out, uint64_t limit_ms) {
  if (!out->is_ending) {
    out->stall_pending = output_pending(out);
    uv_timer_start(&out->stall, on_stall_tick, limit_ms, limit_ms);
    uv_unref((uv_handle_t *)&out->stall);
  }
}
