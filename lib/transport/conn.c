/* SPDX-License-Identifier: MIT */
/* Readiness only schedules the task; the task reads. Polling stops when
 * readiness is reported again while the task still waits for its turn, not
 * earlier. Mostly the step has emptied the socket by then, which saves the
 * three epoll_ctl calls of stopping and starting.
 *
 * Invariant, outside of a step: if the task is not scheduled, `polled` holds
 * the events that the connection waits for. A paused connection with nothing to
 * send polls nothing, so a peer that has hung up does not make the loop spin. A
 * host may close the poll handle at any time (transport/handle.h), and may
 * fork. Then the connection is no longer read, written or polled, and waits to
 * be closed.
 *
 * A peer may answer and close before it has read the whole request. Then
 * sending fails while the answer waits in the receive buffer. So a failure to
 * send is reported only when there is nothing left to read. */
#include "transport/conn.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/link.h"

/* The composer bounds a request; this bound also covers TLS. */
#define MAX_QUEUED_BYTES (4u << 20)
#define CLOSED_PER_STEP 16u
/* A stop and the later start cost two system calls, outside of any step. With a
 * thousand sockets ready at once that is milliseconds, so few are stopped
 * between two steps. Each other one is only reported again, which is cheap. */
#define STOPS_BETWEEN_STEPS 32u

/* A connection that still waits for its step need not be polled. */
static bool take_stop(kin__net *net) {
  if (net->stops >= STOPS_BETWEEN_STEPS) {
    return false;
  }
  net->stops++;
  return true;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  (void)events;
  kin__conn *conn = KIN__CONTAINER_OF(poll, kin__conn, poll);
  if (conn->is_closed) {
    return; /* the task that closes the socket is scheduled */
  }
  if (status < 0) {
    /* POLLERR: libuv has stopped the handle. recv and send tell why. */
    conn->polled = 0;
  } else if (!kin__link_is_empty(&conn->task.node) && take_stop(conn->net)) {
    uv_poll_stop(poll);
    conn->polled = 0;
  }
  kin__sched_add(conn->net->sched, &conn->task);
}

/* The host has closed this handle, or the network is gone. */
static bool is_cut_off(const kin__conn *conn) {
  return uv_is_closing((const uv_handle_t *)&conn->poll) ||
         kin__net_is_cut_off(conn->net);
}

static void stop_polling(kin__conn *conn) {
  conn->polled = 0;
  if (!uv_is_closing((const uv_handle_t *)&conn->poll)) {
    uv_poll_stop(&conn->poll);
  }
}

static void update_poll(kin__conn *conn) {
  int wanted = (conn->is_reading && !conn->is_delayed ? UV_READABLE : 0) |
               (conn->out.length > 0 ? UV_WRITABLE : 0);
  if (wanted == conn->polled || is_cut_off(conn)) {
    return;
  }
  conn->polled = wanted;
  int err = wanted != 0 ? uv_poll_start(&conn->poll, wanted, on_poll)
                        : uv_poll_stop(&conn->poll);
  assert(err == 0);
  (void)err;
}

/* Tells the owner that the connection has ended. */
static void report(kin__conn *conn, int code) {
  if (code != 0 && kin__conn_get_error(conn, code) == NULL) {
    kin_error_class error_class =
        code == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_CONNECT;
    kin__conn_set_error(conn, code, error_class, kin_strerror(code));
  }
  conn->events->on_end(conn, code != 0 ? &conn->net->conn_error : NULL);
  assert(conn->is_closed);
}

static void count_sent(kin__conn *conn, int count) {
  conn->sent_bytes += (uint64_t)count;
  conn->net->stats.sent_bytes += (uint64_t)count;
}

/* Sends the queued bytes. */
static void flush(kin__conn *conn) {
  if (conn->out.length == 0) {
    return;
  }
  size_t sent = 0;
  while (sent < conn->out.length) {
    int count = kin__socket_send(conn->fd, conn->out.data + sent,
                                 conn->out.length - sent);
    if (count < 0) {
      if (count != UV_EAGAIN) {
        conn->send_error = count;
        sent = conn->out.length;
      }
      break;
    }
    count_sent(conn, count);
    sent += (size_t)count;
  }
  kin__buf_consume(&conn->out, sent);
  if (conn->out.length == 0) {
    kin__buf_finish(&conn->out);
    if (conn->events->on_flushed != NULL && conn->send_error == 0) {
      conn->events->on_flushed(conn);
    }
  }
}

/* One recv. Returns whether more input is likely. */
static bool read_some(kin__conn *conn) {
  kin__net *net = conn->net;
  int size = (int)(KIN__READ_BYTES >> conn->read_shift);
  int count = kin__socket_receive(conn->fd, net->read_buffer, (size_t)size);
  if (count == UV_EAGAIN) {
    if (conn->send_error != 0) {
      report(conn, conn->send_error);
    }
    return false;
  }
  int err = count;
  if (count > 0) {
    net->stats.received_bytes += (uint64_t)count;
    if (count < size) {
      kin__read_delay_after(conn);
    }
    err = conn->stream->ops->receive(conn->stream, net->read_buffer,
                                     (size_t)count);
    if (err == 0 || conn->is_closed) {
      return count == size;
    }
    err = err == KIN__STREAM_ENDED ? 0 : err;
  } else if (count == 0) {
    err = conn->stream->ops->end(conn->stream);
  }
  report(conn, err);
  return false;
}

/* The first step. kin__conn_open calls no event, so the stream opens here. */
static void open_stream(kin__conn *conn) {
  conn->is_opened = true;
  int err = conn->stream->ops->open(conn->stream);
  if (err != 0 && !conn->is_closed) {
    report(conn, err);
  }
}

static bool step(kin__task *task) {
  kin__conn *conn = KIN__CONTAINER_OF(task, kin__conn, task);
  conn->net->stops = 0;
  if (is_cut_off(conn)) {
    stop_polling(conn);
    return false;
  }
  if (!conn->is_opened) {
    open_stream(conn);
  } else {
    flush(conn);
    if (conn->is_reading && read_some(conn) && !conn->is_closed &&
        conn->is_reading) {
      return true;
    }
  }
  if (!conn->is_closed) {
    update_poll(conn);
  }
  return false;
}

/* Takes the stack over. */
static void set_streams(kin__conn *conn, kin__stream *top) {
  conn->plain.ops = &kin__plain_stream_ops;
  conn->top = top != NULL ? top : &conn->plain;
  for (kin__stream *stream = conn->top; stream != NULL;
       stream = stream->below) {
    stream->conn = conn;
    conn->stream = stream;
  }
}

int kin__conn_open(kin__conn **out, kin__net *net, int fd, const char *peer,
                   kin__stream *top) {
  *out = NULL;
  if (kin__net_is_cut_off(net)) {
    return UV_ECANCELED;
  }
  size_t peer_size = strlen(peer) + 1;
  kin__conn *conn = kin__calloc(net->allocator, 1, sizeof *conn + peer_size);
  if (conn == NULL) {
    return KIN_ENOMEM;
  }
  int err = uv_poll_init(net->loop, &conn->poll, fd);
  if (err != 0) {
    kin__free(net->allocator, conn);
    return err;
  }
  conn->net = net;
  conn->fd = fd;
  conn->is_reading = true;
  set_streams(conn, top);
  memcpy(conn->peer, peer, peer_size);
  kin__buf_init(&conn->out, &net->wiping.allocator, MAX_QUEUED_BYTES);
  kin__task_init(&conn->task, step);
  kin__link_init(&conn->waiting_node);
  kin__link_push(&net->conns, &conn->node);
  kin__net_hold(net);
  kin__net_apply_ref(net, (uv_handle_t *)&conn->poll);
  conn->serial = ++net->stats.connections;
  net->stats.open_connections++;
  kin__sched_add(net->sched, &conn->task);
  *out = conn;
  return 0;
}

static void on_gone(kin__release *release) {
  kin__conn *conn = KIN__CONTAINER_OF(release, kin__conn, gone);
  kin__net *net = conn->net;
  kin__stream_free_stack(conn->top);
  kin__buf_finish(&conn->out);
  kin__free(net->allocator, conn);
  kin__net_release(net);
}

/* The stream's last bytes may fail, which schedules the task once more. */
static void let_go(kin__conn *conn) {
  for (kin__stream *stream = conn->top; stream != NULL;
       stream = stream->below) {
    stream->ops->close(stream);
  }
  kin__sched_cancel(conn->net->sched, &conn->task);
  kin__handle_close((uv_handle_t *)&conn->poll);
  kin__releases_add(&conn->net->releases, &conn->gone, on_gone);
  kin__socket_close(conn->fd);
  conn->fd = -1;
}

/* To close a socket takes system calls, 10 us and more. A client may close a
 * thousand of them in one call, so that is a task's work. */
static bool close_step(kin__task *task) {
  kin__net *net = KIN__CONTAINER_OF(task, kin__net, close_task);
  kin__slice slice = kin__slice_begin(net->sched, CLOSED_PER_STEP);
  while (!kin__link_is_empty(&net->closed_conns) && kin__slice_next(&slice)) {
    kin__conn *conn =
        KIN__CONTAINER_OF(net->closed_conns.next, kin__conn, node);
    kin__link_remove(&conn->node);
    let_go(conn);
  }
  return !kin__link_is_empty(&net->closed_conns);
}

void kin__conn_init_closing(kin__net *net) {
  kin__link_init(&net->closed_conns);
  kin__task_init(&net->close_task, close_step);
}

void kin__conn_close(kin__conn *conn) {
  assert(!conn->is_closed);
  kin__net *net = conn->net;
  conn->is_closed = true;
  if (net->failed_conn == conn) {
    net->failed_conn = NULL;
  }
  kin__sched_cancel(net->sched, &conn->task);
  kin__link_remove(&conn->node);
  kin__read_delay_end(conn);
  assert(kin__link_is_empty(&conn->waiting_node));
  kin__link_push(&net->closed_conns, &conn->node);
  kin__sched_add(net->sched, &net->close_task);
  net->stats.open_connections--;
}

void kin__conn_set_owner(kin__conn *conn, const kin__conn_events *events,
                         void *owner) {
  kin__read_delay_end(conn);
  conn->since_ms = 0;
  conn->has_watch = false;
  conn->read_shift = 0;
  conn->events = events;
  conn->owner = owner;
}

int kin__conn_send(kin__conn *conn, const char *bytes, size_t length) {
  assert(!conn->is_closed && conn->is_ready);
  return conn->top->ops->send(conn->top, bytes, length);
}

const char *kin__conn_missing(const kin__conn *conn) {
  const kin__stream *stream = conn->stream;
  while (stream->is_ready && stream->above != NULL) {
    stream = stream->above;
  }
  return stream->ops->missing;
}

bool kin__conn_is_flushed(const kin__conn *conn) {
  return conn->out.length == 0 && conn->send_error == 0;
}

bool kin__conn_has_input(const kin__conn *conn) {
  return kin__socket_is_readable(conn->fd);
}

void kin__conn_pause(kin__conn *conn) {
  conn->is_reading = false;
  update_poll(conn);
}

void kin__conn_resume(kin__conn *conn) {
  conn->is_reading = true;
  update_poll(conn);
  if (conn->send_error != 0) {
    kin__sched_add(conn->net->sched, &conn->task);
  }
}

void kin__conn_begin_watch(kin__conn *conn) {
  conn->has_watch = true;
  if (!conn->is_watching_peer) {
    conn->is_watching_peer = true;
    kin__socket_watch_peer(conn->fd);
  }
}

void kin__conn_update_refs(kin__net *net) {
  for (kin__link *node = net->conns.next; node != &net->conns;
       node = node->next) {
    kin__conn *conn = KIN__CONTAINER_OF(node, kin__conn, node);
    kin__net_apply_ref(net, (uv_handle_t *)&conn->poll);
  }
}

void kin__conn_ready(kin__conn *conn) {
  assert(!conn->is_ready);
  conn->is_ready = true;
  conn->events->on_ready(conn);
}

bool kin__conn_deliver(kin__conn *conn, const char *bytes, size_t length) {
  conn->events->on_bytes(conn, bytes, length);
  return !conn->is_closed;
}

int kin__conn_write(kin__conn *conn, const char *bytes, size_t length) {
  if (conn->send_error != 0 || is_cut_off(conn)) {
    return 0; /* on_end reports the error, or the owner closes */
  }
  size_t sent = 0;
  while (conn->out.length == 0 && sent < length) {
    int count = kin__socket_send(conn->fd, bytes + sent, length - sent);
    if (count == UV_EAGAIN) {
      break;
    }
    if (count < 0) {
      conn->send_error = count;
      kin__sched_add(conn->net->sched, &conn->task);
      return 0;
    }
    count_sent(conn, count);
    sent += (size_t)count;
  }
  int err = kin__buf_append(&conn->out, bytes + sent, length - sent);
  if (err == 0) {
    update_poll(conn);
  }
  return err;
}

int kin__conn_set_error(kin__conn *conn, int code, kin_error_class error_class,
                        const char *reason) {
  kin__conn_error *error = &conn->net->conn_error;
  error->code = code;
  error->error_class = error_class;
  snprintf(error->reason, sizeof error->reason, "%s", reason);
  conn->net->failed_conn = conn;
  return code;
}

const kin__conn_error *kin__conn_get_error(const kin__conn *conn, int code) {
  const kin__net *net = conn->net;
  return net->failed_conn == conn && net->conn_error.code == code
             ? &net->conn_error
             : NULL;
}
