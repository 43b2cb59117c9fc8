/* SPDX-License-Identifier: MIT */
/* Proves RQ-01 (the prefix of the server's URL is kept), the transport's part
 * of RE-01, RR-01 and WS-01 (every status comes through with its body,
 * Retry-After and type), and of CN-09 (idle connections are kept, limited and
 * timed out). Requests over real sockets, and how connections are reused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const loop_reply hello = {.bytes = HELLO};

static const kin__transport_stats *stats(world *w) {
  return kin__transport_get_stats(w->transport);
}

/* RR-06: a request has no body, so there is nothing to send again. */
static void test_exchange_request(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/api/v1/pods?limit=500");
  fetch_assert_hello(&f);
  assert_string_equal(f.content_type, "");
  assert_int_equal(f.retry_after_s, -1);
  assert_true(f.is_identity);
  char expected[512];
  snprintf(expected, sizeof expected,
           "GET /prefix/api/v1/pods?limit=500 HTTP/1.1\r\n"
           "Host: 127.0.0.1:%d\r\n"
           "User-Agent: test/1.0\r\n"
           "Accept: application/json\r\n"
           "Accept-Encoding: identity\r\n\r\n",
           w.server.port);
  assert_string_equal(w.server.last_request, expected);
  assert_int_equal(stats(&w)->requests, 1);
  assert_int_equal(stats(&w)->connections, 1);
  assert_int_equal(stats(&w)->open_connections, 1);
  assert_int_equal(stats(&w)->sent_bytes, strlen(expected));
  assert_int_equal(stats(&w)->received_bytes, strlen(HELLO));
  fetch_finish(&f);
  world_close(&w);
}

/* A condition, and the answer that it may have: a head without a body, after
 * which the connection is used again. */
static void test_exchange_condition(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"},
      {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 2);
  kin__request request = {.target = "/x", .accept = "a/b"};
  fetch f = {.world = &w};
  request.if_none_match = "\"1\"\r\nX: y";
  assert_int_equal(fetch_start_request(&f, &w, &request), KIN_EINVAL);
  request.if_none_match = "\"1\"";
  assert_int_equal(fetch_start_request(&f, &w, &request), 0);
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 304);
  assert_non_null(
      strstr(w.server.last_request, "\r\nIf-None-Match: \"1\"\r\n\r\n"));
  fetch_finish(&f);
  fetch_hello(&w);
  assert_null(strstr(w.server.last_request, "If-None-Match"));
  assert_int_equal(stats(&w)->connections, 1);
  world_close(&w);
}

static void test_exchange_status_and_fields(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n"
                "Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nslow"},
      {.bytes = "HTTP/1.1 204 No Content\r\n\r\n"},
      {.bytes = "HTTP/1.1 100 Continue\r\n\r\n" HELLO_CHUNKED},
      {.bytes = OK "Content-Encoding: br\r\nContent-Length: 2\r\n\r\nzz"},
  };
  world w;
  world_setup(&w, replies, 4);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.status, 429);
  assert_int_equal(f.retry_after_s, 3);
  assert_string_equal(f.content_type, "text/plain");
  assert_string_equal(f.body, "slow");
  fetch_finish(&f);
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.status, 204);
  fetch_finish(&f);
  fetch_run(&f, &w, "/x");
  fetch_assert_hello(&f);
  assert_string_equal(f.content_type, "application/json");
  fetch_finish(&f);
  fetch_run(&f, &w, "/x");
  assert_false(f.is_identity);
  fetch_finish(&f);
  assert_int_equal(w.server.accepted, 1);
  world_close(&w);
}

/* Each framing, in pieces of every size up to the whole. */
static void test_exchange_split(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    loop_then then;
  } cases[] = {
      {HELLO, LOOP_KEEP},           {HELLO_CHUNKED, LOOP_KEEP},
      {OK "\r\nhello", LOOP_CLOSE}, {HELLO, LOOP_CLOSE},
      {HELLO_CLOSE, LOOP_KEEP},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t slice = 1; slice <= strlen(cases[i].bytes); slice++) {
      loop_reply reply = {
          .bytes = cases[i].bytes, .slice = slice, .then = cases[i].then};
      world w;
      world_setup(&w, &reply, 1);
      fetch_hello(&w);
      world_close(&w);
    }
  }
}

/* Far more than one recv, or than the socket holds. */
static void test_exchange_large_body(void **state) {
  (void)state;
  size_t size = 8u << 20;
  loop_reply reply = {.slice = 0};
  char *text = large_response(size, &reply.length);
  reply.bytes = text;
  world w;
  world_setup(&w, &reply, 1);
  fetch_large(&w, text, reply.length, size);
  assert_int_equal(stats(&w)->open_connections, 1);
  world_close(&w);
  free(text);
}

static void test_exchange_keep_alive(void **state) {
  (void)state;
  static const loop_reply replies[] = {{.bytes = HELLO},
                                       {.bytes = HELLO_CHUNKED},
                                       {.bytes = HELLO_CLOSE},
                                       {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 4);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(fetch_hello(&w), 1);
    assert_int_equal(w.server.accepted, 1);
    assert_int_equal(stats(&w)->connections, 1);
  }
  assert_int_equal(stats(&w)->open_connections, 0);
  assert_int_equal(fetch_hello(&w), 2);
  assert_int_equal(w.server.accepted, 2);
  assert_int_equal(stats(&w)->connections, 2);
  assert_int_equal(stats(&w)->open_connections, 1);
  world_close(&w);
}

/* Each request is answered with hello. */
static void open_with_pool(world *w, uint32_t max_idle) {
  world_init(w, &hello, 1, 0);
  w->max_idle = max_idle;
  assert_int_equal(world_open(w), 0);
}

/* Two exchanges at a time: each leaves an idle connection. */
static void leave_two_idle(world *w) {
  fetch a = {.world = w};
  fetch b = {.world = w};
  assert_int_equal(fetch_start(&a, w, "/a", false), 0);
  fetch_run(&b, w, "/b");
  fetch_until_end(&a);
  fetch_finish(&a);
  fetch_finish(&b);
  assert_int_equal(stats(w)->open_connections, 2);
}

/* Exchanges at the same time have a connection each; at most max_idle of them
 * are kept. */
static void test_exchange_parallel(void **state) {
  (void)state;
  world w;
  open_with_pool(&w, 2);
  fetch fetches[5] = {{.world = NULL}};
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(fetch_start(&fetches[i], &w, "/x", false), 0);
  }
  for (size_t i = 0; i < 5; i++) {
    fetch_until_end(&fetches[i]);
    fetch_assert_hello(&fetches[i]);
    fetch_finish(&fetches[i]);
  }
  assert_int_equal(w.server.accepted, 5);
  assert_int_equal(stats(&w)->open_connections, 2);
  WORLD_UNTIL(&w, w.server.open == 2);
  world_close(&w);
}

static uint64_t ended[3];
static size_t end_count;

static void note_end(fetch *f) {
  if (f->ends > 0) {
    ended[end_count++] = f->connection;
  }
}

/* RR-07: a full pool drops the connection that has been idle longest; the one
 * that was used last is used first. */
static void test_exchange_full_pool(void **state) {
  (void)state;
  world w;
  open_with_pool(&w, 2);
  end_count = 0;
  fetch fetches[3];
  for (size_t i = 0; i < 3; i++) {
    fetches[i] = (fetch){.world = &w, .hook = note_end};
    assert_int_equal(fetch_start(&fetches[i], &w, "/x", false), 0);
  }
  for (size_t i = 0; i < 3; i++) {
    fetch_until_end(&fetches[i]);
    fetch_finish(&fetches[i]);
  }
  assert_int_equal(stats(&w)->open_connections, 2);
  for (size_t i = 0; i < 2; i++) {
    fetches[i] = (fetch){.world = &w};
    assert_int_equal(fetch_start(&fetches[i], &w, "/x", false), 0);
    world_run_tasks(&w);
  }
  for (size_t i = 0; i < 2; i++) {
    fetch_until_end(&fetches[i]);
    assert_int_equal(fetches[i].connection, ended[2 - i]);
    fetch_finish(&fetches[i]);
  }
  assert_int_equal(w.server.accepted, 3);
  world_close(&w);
}

static void test_exchange_no_pool(void **state) {
  (void)state;
  world w;
  open_with_pool(&w, 0);
  fetch_hello(&w);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 2);
  assert_int_equal(stats(&w)->open_connections, 0);
  world_close(&w);
}

/* Idle for too long: closed, the longest idle first. */
static void test_exchange_idle_timeout(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  leave_two_idle(&w);
  world_advance(&w, WORLD_IDLE_MS / 2);
  fetch_hello(&w); /* on the one used last */
  assert_int_equal(w.server.accepted, 2);
  world_advance(&w, WORLD_IDLE_MS / 2 - 1);
  assert_int_equal(stats(&w)->open_connections, 2);
  world_advance(&w, 1);
  assert_int_equal(stats(&w)->open_connections, 1);
  world_advance(&w, WORLD_IDLE_MS / 2);
  assert_int_equal(stats(&w)->open_connections, 0);
  WORLD_UNTIL(&w, w.server.open == 0);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 3);
  world_close(&w);
}

/* The peer closes an idle connection, or says something unasked. */
static void test_exchange_idle_closed_by_peer(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch_hello(&w);
  loop_server_drop(&w.server, LOOP_CLOSE);
  WORLD_UNTIL(&w, stats(&w)->open_connections == 0);
  fetch_hello(&w);
  loop_server_drop(&w.server, LOOP_RESET);
  WORLD_UNTIL(&w, stats(&w)->open_connections == 0);
  fetch_hello(&w);
  loop_server_push(&w.server, HELLO);
  WORLD_UNTIL(&w, stats(&w)->open_connections == 0);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 4);
  assert_int_equal(stats(&w)->requests, 4);
  world_close(&w);
}

/* The same, while the loop was busy: nothing of it has been read when the next
 * request begins. */
static void test_exchange_idle_has_input(void **state) {
  (void)state;
  static const char *const unasked[] = {
      "HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n"
      "Content-Length: 0\r\n\r\n",
      OK "Content-Length: 5\r\n\r\nevil!"};
  for (int i = 0; i < 4; i++) {
    world w;
    world_setup(&w, &hello, 1);
    fetch_hello(&w);
    loop_server_push(&w.server, unasked[i % 2]);
    if (i % 2 == 0) {
      loop_server_drop(&w.server, LOOP_CLOSE);
    }
    fetch next = {.world = &w};
    assert_int_equal(fetch_start(&next, &w, "/next", i >= 2), 0);
    world_run_tasks(&w);
    fetch_until_end(&next);
    fetch_assert_hello(&next);
    assert_int_equal(w.server.accepted, 2);
    assert_int_equal(stats(&w)->requests, 2);
    fetch_finish(&next);
    world_close(&w);
  }
}

/* Bytes after a response do not become the answer to the next request. */
static void test_exchange_extra_bytes(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = HELLO OK "Content-Length: 4\r\n\r\nevil"}, {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 2);
  fetch_hello(&w);
  assert_int_equal(stats(&w)->open_connections, 0);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 2);
  world_close(&w);
}

/* Starts another exchange where the last one ends, on a connection that the
 * server has just closed. */
static fetch *followed_by;

static void follow(fetch *f) {
  if (f->ends > 0) {
    assert_int_equal(fetch_start(followed_by, f->world, "/next", false), 0);
  }
}

/* Closed before the next request is sent, or when it has come. */
static void check_stale(loop_then then, bool is_sent) {
  const loop_reply closed[] = {{.bytes = HELLO, .then = then},
                               {.bytes = HELLO}};
  const loop_reply late[] = {
      {.bytes = HELLO}, {.then = then}, {.bytes = HELLO}};
  const loop_reply *replies = is_sent ? late : closed;
  world w;
  world_setup(&w, replies, is_sent ? 3 : 2);
  fetch next = {.world = &w};
  fetch first = {.world = &w, .hook = follow};
  followed_by = &next;
  fetch_run(&first, &w, "/first");
  fetch_assert_hello(&first);
  fetch_until_end(&next);
  fetch_assert_hello(&next);
  assert_int_equal(w.server.accepted, 2);
  /* One of them in vain. */
  assert_int_equal(w.server.requests, is_sent ? 3 : 2);
  assert_int_equal(stats(&w)->requests, is_sent ? 3 : 2);
  fetch_finish(&first);
  fetch_finish(&next);
  world_close(&w);
}

static void test_exchange_stale_connection(void **state) {
  (void)state;
  for (int is_sent = 0; is_sent < 2; is_sent++) {
    check_stale(LOOP_CLOSE, is_sent);
    check_stale(LOOP_RESET, is_sent);
  }
}

/* RR-02: all connections of the pool may be stale, so the second attempt takes a
 * new one. */
static void test_exchange_stale_pool(void **state) {
  (void)state;
  static const loop_reply replies[] = {{.bytes = HELLO},
                                       {.bytes = HELLO},
                                       {.then = LOOP_CLOSE},
                                       {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 4);
  leave_two_idle(&w);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 3);
  assert_int_equal(stats(&w)->open_connections, 2);
  world_close(&w);
}

/* The fresh connection fails too: no third attempt. */
static void test_exchange_stale_only_once(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = HELLO},
      {.then = LOOP_CLOSE},
  };
  world w;
  world_setup(&w, replies, 2);
  fetch next = {.world = &w};
  fetch first = {.world = &w, .hook = follow};
  followed_by = &next;
  fetch_run(&first, &w, "/first");
  fetch_until_end(&next);
  assert_int_equal(next.error.code, KIN_EEOF);
  assert_int_equal(next.error.error_class, KIN_CLASS_CONNECT);
  assert_int_equal(w.server.accepted, 2);
  assert_int_equal(stats(&w)->requests, 3);
  fetch_finish(&first);
  fetch_finish(&next);
  world_close(&w);
}

static int get_option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

static int only_fd(world *w) {
  kin__link *conns = &w->transport->net.conns;
  assert_ptr_equal(conns->next, conns->prev);
  assert_false(kin__link_is_empty(conns));
  return KIN__CONTAINER_OF(conns->next, kin__conn, node)->fd;
}

static void test_exchange_socket_options(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch_hello(&w);
  int fd = only_fd(&w);
  assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  assert_int_not_equal(get_option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
  assert_int_equal(get_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);

  fetch watch = {.world = &w};
  assert_int_equal(fetch_start(&watch, &w, "/x?watch=1", true), 0);
  fetch_until_end(&watch);
  assert_int_equal(w.server.accepted, 1); /* on the idle connection */
  assert_int_equal(only_fd(&w), fd);
  assert_int_not_equal(get_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
#ifdef TCP_USER_TIMEOUT
  assert_int_equal(get_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
  assert_int_equal(get_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
  assert_int_equal(get_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
#endif
  fetch_finish(&watch);
  world_close(&w);
}

static void pause_in_body(fetch *f) {
  if (f->bodies == 1 && f->ends == 0) {
    kin__exchange_pause(f->exchange);
    kin__exchange_pause(f->exchange); /* twice is as good */
  }
}

/* While paused nothing comes and no time is running; what has been read is
 * delivered before. */
static void test_exchange_pause(void **state) {
  (void)state;
  size_t size = 16u << 20;
  const char *head = OK "Content-Length: 16777216\r\n\r\n";
  char *text = calloc(1, strlen(head) + size);
  assert_non_null(text);
  memcpy(text, head, strlen(head));
  loop_reply replies[] = {{.bytes = text, .length = strlen(head) + size},
                          {.bytes = HELLO}};
  world w;
  world_setup(&w, replies, 2);
  fetch f = {.world = &w, .hook = pause_in_body};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  WORLD_UNTIL(&w, f.bodies > 0);
  assert_true(f.body_length < size);

  /* A second exchange makes the loop turn. */
  size_t bodies = f.bodies;
  uint64_t received = stats(&w)->received_bytes;
  fetch other = {.world = &w};
  assert_int_equal(fetch_start(&other, &w, "/y", false), 0);
  fetch_until_end(&other);
  fetch_assert_hello(&other);
  world_advance(&w, 10 * WORLD_RESPONSE_MS);
  assert_int_equal(f.bodies, bodies);
  assert_int_equal(f.ends, 0);
  assert_int_equal(stats(&w)->received_bytes - received, strlen(HELLO));

  kin__exchange_resume(f.exchange);
  kin__exchange_resume(f.exchange);
  assert_int_equal(f.bodies, bodies); /* not inside the call */
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.body_length, size);
  fetch_finish(&f);
  fetch_finish(&other);
  world_close(&w);
  free(text);
}

/* Paused before there is a connection: it is sent, and the answer waits. */
static void test_exchange_pause_early(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  kin__exchange_pause(f.exchange);
  WORLD_UNTIL(&w, w.server.replied == 1);
  for (int i = 0; i < 3; i++) { /* a timer that is late waits once */
    world_advance(&w, 10 * WORLD_RESPONSE_MS);
  }
  assert_int_equal(f.callbacks, 0);
  kin__exchange_resume(f.exchange);
  assert_int_equal(f.callbacks, 0);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_int_equal(stats(&w)->open_connections, 1);
  fetch_finish(&f);
  world_close(&w);
}

/* A paused exchange ends in the step that pauses it if all is there; its
 * connection still hears the peer when it is idle. */
static void test_exchange_pause_at_the_end(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w, .hook = pause_in_body};
  fetch_run(&f, &w, "/x");
  fetch_assert_hello(&f);
  fetch_finish(&f);
  fetch_hello(&w);
  assert_int_equal(w.server.accepted, 1);
  loop_server_drop(&w.server, LOOP_CLOSE);
  WORLD_UNTIL(&w, stats(&w)->open_connections == 0);
  world_close(&w);
}

static void test_exchange_start_errors(void **state) {
  (void)state;
  world w;
  world_setup(&w, &hello, 1);
  fetch f = {.world = &w};
  static const char *const targets[] = {
      "", "x", "/a b", "/a\r\nX: y", "/a\tb", "/\x7f", "/\xc3\xa9", "/a#b",
  };
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    assert_int_equal(fetch_start(&f, &w, targets[i], false), KIN_EINVAL);
    assert_null(f.exchange);
  }
  static const kin__exchange_callbacks none = {NULL, NULL, NULL};
  kin__request request = {.target = "/x", .accept = "a/b\r\nX: y"};
  assert_int_equal(
      kin__exchange_start(w.transport, &request, &none, NULL, &f.exchange),
      KIN_EINVAL);
  char *long_target = malloc(1u << 20);
  assert_non_null(long_target);
  memset(long_target, '/', 1u << 20);
  long_target[(1u << 20) - 1] = '\0';
  assert_int_equal(fetch_start(&f, &w, long_target, false), KIN_ETOOBIG);
  free(long_target);

  kin__transport *transport = w.transport;
  world_run_tasks(&w);
  assert_int_equal(w.server.accepted, 0);
  kin__transport_close(transport, NULL, NULL);
  assert_int_equal(fetch_start(&f, &w, "/x", false), KIN_ECLOSED);
  w.transport = NULL;
  WORLD_UNTIL(&w, atomic_load(&w.memory.live_blocks) == 0);

  kin__transport_options options = {.allocator = &w.memory.allocator,
                                    .user_agent = "a\r\nb"};
  assert_int_equal(kin__transport_open(&transport, &options), KIN_EINVAL);
  assert_null(transport);
  world_close(&w);
}

/* An open watch keeps the loop alive, unless the transport is unref'd. */
static void test_exchange_ref(void **state) {
  (void)state;
  static const loop_reply stall = {
      .bytes = OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"};
  world w;
  world_setup(&w, &stall, 1);
  fetch before = {.world = &w};
  assert_int_equal(fetch_start(&before, &w, "/x", true), 0);
  WORLD_UNTIL(&w, before.bodies == 1);
  uv_handle_t *server = (uv_handle_t *)&w.server.poll;
  uv_unref(server);
  assert_int_equal(w.server.open, 1);
  size_t alive = w.loop.active_handles;
  kin__transport_set_ref(w.transport, false);
  assert_int_equal(w.loop.active_handles, alive - 1);

  fetch after = {.world = &w}; /* new handles follow */
  assert_int_equal(fetch_start(&after, &w, "/x", true), 0);
  WORLD_UNTIL(&w, after.bodies == 1);
  assert_int_equal(w.loop.active_handles, alive); /* one more of the server's */
  kin__transport_set_ref(w.transport, true);
  assert_int_equal(w.loop.active_handles, alive + 2);
  uv_ref(server);
  fetch_finish(&before);
  fetch_finish(&after);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exchange_request),
      cmocka_unit_test(test_exchange_condition),
      cmocka_unit_test(test_exchange_status_and_fields),
      cmocka_unit_test(test_exchange_split),
      cmocka_unit_test(test_exchange_large_body),
      cmocka_unit_test(test_exchange_keep_alive),
      cmocka_unit_test(test_exchange_parallel),
      cmocka_unit_test(test_exchange_full_pool),
      cmocka_unit_test(test_exchange_no_pool),
      cmocka_unit_test(test_exchange_idle_timeout),
      cmocka_unit_test(test_exchange_idle_closed_by_peer),
      cmocka_unit_test(test_exchange_idle_has_input),
      cmocka_unit_test(test_exchange_extra_bytes),
      cmocka_unit_test(test_exchange_stale_connection),
      cmocka_unit_test(test_exchange_stale_pool),
      cmocka_unit_test(test_exchange_stale_only_once),
      cmocka_unit_test(test_exchange_socket_options),
      cmocka_unit_test(test_exchange_pause),
      cmocka_unit_test(test_exchange_pause_early),
      cmocka_unit_test(test_exchange_pause_at_the_end),
      cmocka_unit_test(test_exchange_start_errors),
      cmocka_unit_test(test_exchange_ref),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
