/* SPDX-License-Identifier: MIT */

/* Requests with a method and a body, on a real loop: large bodies that a server
 * reads slowly, refuses or does not read, and connections that turn out to be
 * closed. Proves RR-06 as far as a body and its connection go. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include <cmocka.h>

#include "support/tls_world.h"
#include "support/transport_world.h"
#include "transport/exchange_core.h"
#include "transport/socket.h"

/* More than sockets hold, if the server's are small. */
#define BODY_BYTES (8u << 20)
#define SERVER_BYTES 65536
#define REFUSED "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"

static const loop_reply hello = {.bytes = HELLO};
static char large[BODY_BYTES];

static int fill_large(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof large; i++) {
    large[i] = (char)(i * 31 >> 3);
  }
  return 0;
}

static kin__request request_of(const char *method, size_t length) {
  return (kin__request){.method = method,
                        .target = "/x",
                        .accept = "application/json",
                        .content_type = "a/b",
                        .body = large,
                        .body_length = length};
}

static void set_up(world *w, const loop_reply *replies, size_t count) {
  int size = SERVER_BYTES;
  world_setup(w, replies, count);
  assert_int_equal(
      setsockopt(w->server.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
}

static void start(fetch *f, world *w, const char *method, size_t length) {
  kin__request request = request_of(method, length);
  assert_int_equal(fetch_start_request(f, w, &request), 0);
}

static uint32_t open_connections(const world *w) {
  return kin__transport_get_stats(w->transport)->open_connections;
}

/* --- Heads ---------------------------------------------------------------- */

static void expect_head(const char *method, size_t length, const char *type,
                        const char *fields) {
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  kin__request request = request_of(method, length);
  request.content_type = type;
  assert_int_equal(fetch_start_request(&f, &w, &request), 0);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  fetch_finish(&f);
  char expected[512];
  snprintf(expected, sizeof expected,
           "%s /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: "
           "test/1.0\r\nAccept: application/json\r\nAccept-Encoding: "
           "identity\r\n%s\r\n",
           method, w.server.port, fields);
  assert_int_equal(strncmp(w.server.last_request, expected, strlen(expected)),
                   0);
  assert_int_equal(w.server.received, strlen(expected) + length);
  world_close(&w);
}

/* Methods that usually have a body tell its length even if there is none. */
static void test_upload_heads(void **state) {
  (void)state;
  expect_head("POST", 5, "a/b", "Content-Type: a/b\r\nContent-Length: 5\r\n");
  expect_head("DELETE", 5, NULL, "Content-Length: 5\r\n");
  expect_head("POST", 0, "a/b", "Content-Length: 0\r\n");
  expect_head("PUT", 0, NULL, "Content-Length: 0\r\n");
  expect_head("PATCH", 0, NULL, "Content-Length: 0\r\n");
  expect_head("DELETE", 0, "a/b", "");
  expect_head("OPTIONS", 0, NULL, "");
}

static void test_upload_refused_heads(void **state) {
  (void)state;
  static const char *const methods[] = {"", "get", "GE T", "POST\r\nX: y",
                                        "P\xc3"};
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    kin__request request = request_of(methods[i], 0);
    assert_int_equal(fetch_start_request(&f, &w, &request), KIN_EINVAL);
    assert_null(f.exchange);
  }
  kin__request request = request_of("POST", 1);
  request.content_type = "a/b\r\nX: y";
  assert_int_equal(fetch_start_request(&f, &w, &request), KIN_EINVAL);
  world_close(&w);
}

/* The length that a HEAD's answer tells is of a body that does not come. */
static void test_upload_answer_to_head(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
      {.bytes = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                "Transfer-Encoding: chunked\r\n\r\n"},
      {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 3);
  for (int i = 0; i < 2; i++) {
    fetch f = {.world = &w};
    start(&f, &w, "HEAD", 0);
    fetch_until_end(&f);
    assert_int_equal(f.error.code, 0);
    assert_int_equal(f.status, 200);
    assert_int_equal(f.body_length, 0);
    fetch_finish(&f);
  }
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 1);
  world_close(&w);
}

/* --- Large bodies --------------------------------------------------------- */

/* A server that reads a little at a time gets every byte; time may pass as long
 * as it reads. The connection is used again. */
static void test_upload_slow_reader(void **state) {
  (void)state;
  world w;
  set_up(&w, &hello, 1);
  w.server.read_at_once = 4000;
  fetch f = {.world = &w};
  start(&f, &w, "POST", BODY_BYTES);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  uint64_t sent = 0;
  size_t turns = 0;
  size_t waits = 0;
  while (f.ends == 0) {
    world_turn(&w);
    if (++turns % 100 == 0 && stats->sent_bytes < BODY_BYTES &&
        stats->sent_bytes - sent > 64u << 10) {
      sent = stats->sent_bytes;
      waits++;
      world_advance(&w, WORLD_RESPONSE_MS - 1000);
    }
  }
  assert_true(waits > 2);
  fetch_assert_hello(&f);
  uint64_t connection = f.connection;
  fetch_finish(&f);
  assert_true(turns > 500);
  assert_true(w.server.received > BODY_BYTES);
  assert_int_equal(fetch_hello(&w), connection);
  world_close(&w);
}

/* No step sends more than a slice, even if the socket takes it. */
static void test_upload_steps_are_bounded(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  start(&f, &w, "PUT", BODY_BYTES);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  uint64_t steps = 0;
  while (f.ends == 0) {
    if (!kin__sched_has_work(&w.sched)) {
      uv_run(&w.loop, UV_RUN_ONCE);
    }
    uint64_t before = stats->sent_bytes;
    kin__sched_run(&w.sched, 0); /* one step */
    assert_true(stats->sent_bytes - before <= 33u << 10);
    steps += stats->sent_bytes != before;
  }
  fetch_assert_hello(&f);
  fetch_finish(&f);
  assert_true(steps >= BODY_BYTES >> 15);
  world_close(&w);
}

/* The server refuses at once, and reads nothing; it leaves the connection open,
 * closes or resets it. The answer counts, and the connection is not used
 * again. */
static void test_upload_refused_early(void **state) {
  (void)state;
  for (int then = LOOP_KEEP; then <= LOOP_RESET; then++) {
    const loop_reply replies[] = {
        {.bytes = REFUSED, .is_rude = true, .then = (loop_then)then},
        {.bytes = HELLO}};
    world w;
    set_up(&w, replies, 2);
    fetch f = {.world = &w};
    start(&f, &w, "POST", BODY_BYTES);
    fetch_until_end(&f);
    assert_int_equal(f.error.code, 0);
    assert_int_equal(f.status, 413);
    assert_string_equal(f.body, "big");
    assert_int_equal(open_connections(&w), 0);
    assert_true(kin__transport_get_stats(w.transport)->sent_bytes < BODY_BYTES);
    fetch_finish(&f);
    fetch_hello(&w);
    assert_int_equal(w.server.accepted, 2);
    world_close(&w);
  }
}

static void turn(world *w, int times) {
  for (int i = 0; i < times; i++) {
    uv_run(&w->loop, UV_RUN_NOWAIT);
    world_run_tasks(w);
  }
}

/* An upload to a server that reads as good as nothing and says nothing, until
 * both sockets are full. */
static void start_stuck(fetch *f, world *w) {
  static const loop_reply silence = {.slice = 0};
  set_up(w, &silence, 1);
  w->server.read_at_once = 1;
  *f = (fetch){.world = w};
  start(f, w, "POST", BODY_BYTES);
  WORLD_UNTIL(w, w->server.accepted == 1);
  turn(w, 300);
}

/* After the head of a refusal nothing more is sent, however long its body
 * takes. After that of a success the rest is. */
static void test_upload_after_an_early_head(void **state) {
  (void)state;
  static const char *const heads[] = {
      "HTTP/1.1 400 No\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"};
  for (int i = 0; i < 2; i++) {
    world w;
    fetch f;
    start_stuck(&f, &w);
    loop_server_push(&w.server, heads[i]);
    WORLD_UNTIL(&w, f.heads > 0);
    const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
    uint64_t sent = stats->sent_bytes;
    assert_true(sent < BODY_BYTES - (64u << 10));
    w.server.read_at_once = 0;
    /* As if some bytes had still waited for the socket. */
    kin__exchange_on_conn_flushed(f.exchange->conn);
    turn(&w, 4000); /* the server could read all of it */
    if (i == 0) {
      assert_true(stats->sent_bytes - sent <= 33u << 10);
    } else {
      assert_true(stats->sent_bytes > BODY_BYTES);
    }
    loop_server_push(&w.server, "hello");
    fetch_until_end(&f);
    assert_int_equal(f.error.code, 0);
    assert_int_equal(open_connections(&w), i);
    fetch_finish(&f);
    world_close(&w);
  }
}

/* After the head of a success the server reads on, for longer than a response
 * may be silent. When it stops to read, the exchange ends. */
static void test_upload_goes_on_after_an_early_head(void **state) {
  (void)state;
  world w;
  fetch f;
  start_stuck(&f, &w);
  loop_server_push(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  WORLD_UNTIL(&w, f.heads > 0);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  for (int i = 0; i < 2; i++) {
    uint64_t sent = stats->sent_bytes;
    w.server.read_at_once = SERVER_BYTES;
    WORLD_UNTIL(&w, stats->sent_bytes > sent);
    w.server.read_at_once = 1;
    turn(&w, 300);
    world_advance(&w, WORLD_RESPONSE_MS - 1);
    assert_int_equal(f.ends, 0);
  }
  assert_true(stats->sent_bytes < BODY_BYTES - (64u << 10));
  world_advance(&w, WORLD_RESPONSE_MS);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  fetch_finish(&f);
  world_close(&w);
}

/* A server that reads nothing and says nothing ends in a timeout. */
static void test_upload_to_a_silent_server(void **state) {
  (void)state;
  world w;
  fetch f;
  start_stuck(&f, &w);
  world_advance(&w, WORLD_RESPONSE_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&w, 1);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  fetch_finish(&f);
  world_close(&w);
}

/* The server reads while the loop is blocked for longer than a response may be
 * silent, before its head or after an early one: the upload goes on. It ends if
 * the server then reads nothing for that time. */
static void expect_late_upload(bool has_head, bool reads_on) {
  world w;
  fetch f;
  start_stuck(&f, &w);
  if (has_head) {
    loop_server_push(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    WORLD_UNTIL(&w, f.heads > 0);
  }
  kin__conn *conn = f.exchange->conn;
  assert_false(kin__socket_is_writable(conn->fd));
  for (int i = 0; i < 2; i++) {
    w.server.read_at_once = SERVER_BYTES;
    while (!kin__socket_is_writable(conn->fd)) {
      uv_run(&w.loop, UV_RUN_NOWAIT); /* our tasks do not run */
    }
    w.server.read_at_once = 1;
    world_advance(&w, WORLD_RESPONSE_MS + 1000);
    assert_int_equal(f.ends, 0);
    turn(&w, 300);
    assert_false(kin__socket_is_writable(conn->fd));
  }
  if (reads_on) {
    w.server.read_at_once = 0;
    const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
    WORLD_UNTIL(&w, stats->sent_bytes > BODY_BYTES);
    loop_server_push(&w.server, has_head ? "hello" : HELLO);
    fetch_until_end(&f);
    assert_int_equal(f.error.code, 0);
    assert_int_equal(f.status, 200);
  } else {
    world_advance(&w, WORLD_RESPONSE_MS);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  }
  fetch_finish(&f);
  world_close(&w);
}

static void test_upload_of_a_late_loop(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    expect_late_upload((i & 1) != 0, (i & 2) != 0);
  }
}

/* Cancelled after any number of steps: nothing is left, and the borrowed body
 * is not read again. */
static void test_upload_cancelled(void **state) {
  (void)state;
  for (int steps = 0; steps < 40; steps++) {
    world w;
    world_setup(&w, &hello, 1);
    w.server.read_at_once = 1000;
    fetch f = {.world = &w};
    char *body = malloc(200000);
    assert_non_null(body);
    memset(body, 'a', 200000);
    kin__request request = request_of("POST", 200000);
    request.body = body;
    assert_int_equal(fetch_start_request(&f, &w, &request), 0);
    for (int i = 0; i < steps; i++) {
      if (!kin__sched_has_work(&w.sched)) {
        uv_run(&w.loop, UV_RUN_ONCE);
      }
      kin__sched_run(&w.sched, 0);
    }
    if (f.ends == 0) {
      kin__exchange_cancel(f.exchange);
    }
    free(body);
    fetch_finish(&f);
    world_close(&w);
  }
}

static bool upload_with_failure(size_t fail_at) {
  world w;
  world_init(&w, &hello, 1, fail_at);
  if (world_open(&w) == 0) {
    fetch f = {.world = &w};
    kin__request request = request_of("POST", BODY_BYTES);
    if (fetch_start_request(&f, &w, &request) == 0) {
      fetch_until_end(&f);
      assert_true(f.error.code == 0 || f.error.code == KIN_ENOMEM);
    }
    fetch_finish(&f);
  }
  bool has_failed = fail_alloc_has_failed(&w.memory);
  world_close(&w);
  return has_failed;
}

static void test_upload_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(upload_with_failure, 5);
}

/* --- Connections that are closed ------------------------------------------ */

static fetch *followed_by;
static const char *follow_method;

static void follow(fetch *f) {
  if (f->ends > 0) {
    start(followed_by, f->world, follow_method, 5);
  }
}

/* The server has closed the connection behind its last answer. Every
 * method gets an answer, and none is sent on such a connection. */
static void test_upload_on_a_closed_connection(void **state) {
  (void)state;
  static const char *const methods[] = {"GET", "POST", "PUT", "PATCH",
                                        "DELETE"};
  for (size_t i = 0; i < 10; i++) {
    const loop_reply replies[] = {
        {.bytes = HELLO, .then = i < 5 ? LOOP_CLOSE : LOOP_RESET},
        {.bytes = HELLO}};
    world w;
    world_setup(&w, replies, 2);
    fetch next = {.world = &w};
    fetch first = {.world = &w, .hook = follow};
    followed_by = &next;
    follow_method = methods[i % 5];
    fetch_run(&first, &w, "/first");
    fetch_assert_hello(&first);
    fetch_until_end(&next);
    fetch_assert_hello(&next);
    assert_int_equal(w.server.requests, 2);
    assert_int_equal(kin__transport_get_stats(w.transport)->requests, 2);
    fetch_finish(&first);
    fetch_finish(&next);
    world_close(&w);
  }
}

/* The server takes the request on a reused connection, and closes without an
 * answer. It may have carried the request out, so only methods that change
 * nothing are sent again. */
static void test_upload_closed_without_an_answer(void **state) {
  (void)state;
  static const char *const methods[] = {"GET", "HEAD",  "OPTIONS", "POST",
                                        "PUT", "PATCH", "DELETE"};
  for (size_t i = 0; i < 7; i++) {
    static const loop_reply replies[] = {
        {.bytes = HELLO}, {.then = LOOP_CLOSE}, {.bytes = HELLO}};
    world w;
    world_setup(&w, replies, 3);
    fetch_hello(&w);
    fetch f = {.world = &w};
    start(&f, &w, methods[i], i < 3 ? 0 : 5);
    fetch_until_end(&f);
    bool is_safe = i < 3;
    if (is_safe) {
      assert_int_equal(f.error.code, 0);
    } else {
      assert_int_equal(f.error.code, KIN_EEOF);
      assert_non_null(strstr(f.error.message, "before it answered"));
    }
    assert_int_equal(w.server.requests, is_safe ? 3 : 2);
    fetch_finish(&f);
    world_close(&w);
  }
}

/* The socket takes no byte of the request, so no server has seen it: every
 * method is sent again. */
static void test_upload_of_no_byte(void **state) {
  (void)state;
  static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
  for (size_t i = 0; i < 4; i++) {
    world w;
    world_setup(&w, &hello, 1);
    fetch_hello(&w);
    kin__conn *idle =
        KIN__CONTAINER_OF(w.transport->pool.idle.next, kin__conn, waiting_node);
    assert_int_equal(shutdown(idle->fd, SHUT_WR), 0);
    fetch f = {.world = &w};
    start(&f, &w, methods[i], 5);
    fetch_until_end(&f);
    fetch_assert_hello(&f);
    assert_int_equal(w.server.accepted, 2);
    assert_int_equal(w.server.requests, 2);
    fetch_finish(&f);
    world_close(&w);
  }
}

/* --- TLS ------------------------------------------------------------------ */

static void test_upload_over_tls(void **state) {
  (void)state;
  static const tls_reply reply = {.bytes = HELLO};
  tls_world t;
  tls_world_setup(&t, &reply, 1);
  for (int i = 0; i < 2; i++) {
    fetch f = {.world = &t.w};
    start(&f, &t.w, "POST", BODY_BYTES);
    fetch_until_end(&f);
    fetch_assert_hello(&f);
    fetch_finish(&f);
  }
  assert_int_equal(t.server.accepted, 1);
  tls_world_close(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_upload_heads),
      cmocka_unit_test(test_upload_refused_heads),
      cmocka_unit_test(test_upload_answer_to_head),
      cmocka_unit_test(test_upload_slow_reader),
      cmocka_unit_test(test_upload_steps_are_bounded),
      cmocka_unit_test(test_upload_refused_early),
      cmocka_unit_test(test_upload_after_an_early_head),
      cmocka_unit_test(test_upload_goes_on_after_an_early_head),
      cmocka_unit_test(test_upload_to_a_silent_server),
      cmocka_unit_test(test_upload_of_a_late_loop),
      cmocka_unit_test(test_upload_cancelled),
      cmocka_unit_test(test_upload_allocations),
      cmocka_unit_test(test_upload_on_a_closed_connection),
      cmocka_unit_test(test_upload_closed_without_an_answer),
      cmocka_unit_test(test_upload_of_no_byte),
      cmocka_unit_test(test_upload_over_tls),
  };
  return cmocka_run_group_tests_name("requests with a body", tests, fill_large,
                                     NULL);
}
