/* SPDX-License-Identifier: MIT */
/* Proves how a connection polls, and what it makes of a socket that fails to
 * send: the ground that RW-15 (nothing hangs) stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"

/* A watch that has got its first byte and waits for more. */
static const loop_reply stall = {.bytes = FIRST_BYTE};

static kin__conn *open_watch(fetch *f, world *w) {
  world_setup(w, &stall, 1);
  return fetch_first_byte(f, w, true);
}

static void close_watch(fetch *f, world *w) {
  fetch_finish(f);
  world_close(w);
}

/* Readiness is reported while the task waits for its turn: polling stops, and
 * starts again when the task has read all. */
static void test_conn_polls_once(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  assert_int_equal(conn->polled, UV_READABLE);
  loop_server_push(&w.server, "1\r\nb\r\n");
  uv_run(&w.loop, UV_RUN_ONCE);
  assert_true(kin__sched_has_work(&w.sched));
  assert_int_equal(conn->polled, UV_READABLE);
  uv_run(&w.loop, UV_RUN_ONCE);
  assert_int_equal(conn->polled, 0);
  assert_int_equal(f.bodies, 1); /* never from the poll callback */
  world_run_tasks(&w);
  assert_int_equal(f.bodies, 2);
  assert_int_equal(conn->polled, UV_READABLE);
  close_watch(&f, &w);
}

/* A paused connection does not poll: its peer may hang up without making the
 * loop spin, and that is told afterwards. */
static void test_conn_paused_does_not_poll(void **state) {
  (void)state;
  for (loop_then then = LOOP_CLOSE; then <= LOOP_RESET; then++) {
    world w;
    fetch f;
    kin__conn *conn = open_watch(&f, &w);
    kin__exchange_pause(f.exchange);
    assert_int_equal(conn->polled, 0);
    loop_server_drop(&w.server, then);
    for (int i = 0; i < 10; i++) {
      uv_run(&w.loop, UV_RUN_NOWAIT);
      assert_false(kin__sched_has_work(&w.sched));
    }
    kin__exchange_resume(f.exchange);
    assert_int_equal(f.ends, 0);
    fetch_until_end(&f);
    assert_int_equal(f.error.code,
                     then == LOOP_CLOSE ? KIN_EEOF : UV_ECONNRESET);
    close_watch(&f, &w);
  }
}

/* Sending fails, and the peer says nothing: that is told, once. */
static void test_conn_send_fails(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  assert_int_equal(shutdown(conn->fd, SHUT_WR), 0);
  assert_int_equal(kin__conn_send(conn, "x", 1), 0);
  assert_int_equal(conn->send_error, UV_EPIPE);
  assert_int_equal(kin__conn_send(conn, "x", 1), 0);
  assert_int_equal(f.ends, 0);
  world_run_tasks(&w);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, UV_EPIPE);
  assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
  close_watch(&f, &w);
}

/* The same while it is paused: told after it goes on. */
static void test_conn_send_fails_paused(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  kin__exchange_pause(f.exchange);
  assert_int_equal(shutdown(conn->fd, SHUT_WR), 0);
  assert_int_equal(kin__conn_send(conn, "x", 1), 0);
  world_run_tasks(&w);
  assert_int_equal(f.ends, 0);
  kin__exchange_resume(f.exchange);
  world_run_tasks(&w);
  assert_int_equal(f.error.code, UV_EPIPE);
  close_watch(&f, &w);
}

/* A descriptor that cannot be polled stays the caller's. */
static void test_conn_open_fails(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  kin__conn *conn = NULL;
  assert_int_equal(kin__conn_open(&conn, &w.transport->net, fd, "a:1", NULL),
                   UV_EPERM);
  assert_null(conn);
  assert_int_equal(close(fd), 0);
  assert_int_equal(kin__transport_get_stats(w.transport)->connections, 0);
  world_close(&w);
}

/* A stream between the socket and the owner: it makes both ways upper case, is
 * ready only after a greeting, and fails when told to. */
typedef struct upper {
  kin__stream base;
  bool is_freed;
  bool is_closed;
} upper;

static int upper_open(kin__stream *stream) {
  return kin__conn_write(stream->conn, "hi\r\n\r\n", 6);
}

static int upper_receive(kin__stream *stream, char *bytes, size_t length) {
  if (!stream->conn->is_ready) {
    kin__conn_ready(stream->conn);
    return 0;
  }
  for (size_t i = 0; i < length; i++) {
    bytes[i] =
        (char)(bytes[i] >= 'a' && bytes[i] <= 'z' ? bytes[i] - 32 : bytes[i]);
    if (bytes[i] == '!') {
      return kin__conn_set_error(stream->conn, -71, KIN_CLASS_TLS, "bad mood");
    }
  }
  (void)kin__conn_deliver(stream->conn, bytes, length);
  return 0;
}

static int upper_end(kin__stream *stream) {
  (void)stream;
  return KIN_EEOF;
}

static int upper_send(kin__stream *stream, const char *bytes, size_t length) {
  return kin__conn_write(stream->conn, bytes, length);
}

static void upper_close(kin__stream *stream) {
  KIN__CONTAINER_OF(stream, upper, base)->is_closed = true;
}

static void upper_free(kin__stream *stream) {
  KIN__CONTAINER_OF(stream, upper, base)->is_freed = true;
}

static const kin__stream_ops upper_ops = {
    upper_open, upper_receive, upper_end, upper_send, upper_close, upper_free};

typedef struct listener {
  size_t readies;
  char bytes[64];
  size_t length;
  size_t ends;
  kin__conn_error error;
} listener;

static void on_ready(kin__conn *conn) {
  listener *l = conn->owner;
  l->readies++;
  assert_int_equal(kin__conn_send(conn, "a\r\n\r\n", 5), 0);
}

static void on_bytes(kin__conn *conn, const char *bytes, size_t length) {
  listener *l = conn->owner;
  assert_true(l->length + length < sizeof l->bytes);
  memcpy(l->bytes + l->length, bytes, length);
  l->length += length;
}

static void on_end(kin__conn *conn, const kin__conn_error *error) {
  listener *l = conn->owner;
  l->ends++;
  assert_non_null(error);
  l->error = *error;
  kin__conn_close(conn);
}

static const kin__conn_events events = {on_ready, on_bytes, on_end};

static void check_stream(const loop_reply *replies, const char *received,
                         int code, kin_error_class error_class,
                         const char *reason) {
  world w;
  world_setup(&w, replies, 2);
  int fd = kin__socket_open(AF_INET);
  kin__address address;
  uv_ip4_addr("127.0.0.1", w.server.port, &address.ip4);
  assert_int_equal(kin__socket_connect(fd, &address), 0);
  assert_true(kin__socket_is_writable(fd));
  upper stream = {.base.ops = &upper_ops};
  listener l = {.readies = 0};
  kin__conn *conn = NULL;
  assert_int_equal(
      kin__conn_open(&conn, &w.transport->net, fd, "server", &stream.base), 0);
  kin__conn_set_owner(conn, &events, &l);
  assert_int_equal(l.readies, 0);
  WORLD_UNTIL(&w, l.ends > 0);
  assert_int_equal(l.readies, 1);
  assert_string_equal(l.bytes, received);
  assert_int_equal(l.error.code, code);
  assert_int_equal(l.error.error_class, error_class);
  assert_string_equal(l.error.reason, reason);
  assert_true(stream.is_closed);
  assert_false(stream.is_freed); /* not while it may be on the stack */
  world_close(&w);
  assert_true(stream.is_freed);
}

static void test_conn_stream(void **state) {
  (void)state;
  static const loop_reply ends[] = {{.bytes = "hello"},
                                    {.bytes = "abc", .then = LOOP_CLOSE}};
  check_stream(ends, "ABC", KIN_EEOF, KIN_CLASS_CONNECT,
               "connection ended early");
  static const loop_reply fails[] = {{.bytes = "hello"}, {.bytes = "no!"}};
  check_stream(fails, "", -71, KIN_CLASS_TLS, "bad mood");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conn_polls_once),
      cmocka_unit_test(test_conn_paused_does_not_poll),
      cmocka_unit_test(test_conn_send_fails),
      cmocka_unit_test(test_conn_send_fails_paused),
      cmocka_unit_test(test_conn_open_fails),
      cmocka_unit_test(test_conn_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
