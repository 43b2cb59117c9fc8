/* SPDX-License-Identifier: MIT */
/* Proves RW-15 and CN-09 as far as silence goes (every wait but a watch's is
 * bounded), and that whatever a server or the network does ends in one on_end
 * with the right code, class and message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "support/pool_plug.h"
#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

/* Checks the error of an exchange that has ended. %s in `format` is the
 * server's address; a * at the end stands for any rest. */
static void assert_failed(const fetch *f, int code, kin_error_class error_class,
                          const char *format) {
  char address[32];
  char message[256];
  snprintf(address, sizeof address, "127.0.0.1:%d", f->world->server.port);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(message, sizeof message, format, address);
#pragma GCC diagnostic pop
  char *rest = strchr(message, '*');
  assert_int_equal(f->ends, 1);
  if (rest == NULL) {
    assert_string_equal(f->error.message, message);
  } else {
    *rest = '\0';
    assert_ptr_equal(strstr(f->error.message, message), f->error.message);
  }
  assert_int_equal(f->error.code, code);
  assert_int_equal(f->error.error_class, error_class);
}

/* One exchange against one reply. */
static void check(loop_reply reply, int code, kin_error_class error_class,
                  const char *format) {
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_failed(&f, code, error_class, format);
  fetch_finish(&f);
  assert_int_equal(kin__transport_get_stats(w.transport)->open_connections, 0);
  world_close(&w);
}

static void test_fault_refused(void **state) {
  (void)state;
  world w;
  world_init(&w, NULL, 0, 0);
  char url[64];
  char message[128];
  int port = loop_unused_port();
  snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
  snprintf(message, sizeof message, "connect to 127.0.0.1:%d: %s", port,
           kin_strerror(UV_ECONNREFUSED));
  assert_int_equal(world_open_at(&w, url), 0);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_failed(&f, UV_ECONNREFUSED, KIN_CLASS_CONNECT, message);
  fetch_finish(&f);
  world_close(&w);
}

/* SYNs that nobody answers. */
static void test_fault_connect_timeout(void **state) {
  (void)state;
  world w;
  world_init(&w, NULL, 0, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  char url[64];
  char message[128];
  snprintf(url, sizeof url, "http://127.0.0.1:%d", hole.port);
  snprintf(message, sizeof message,
           "connect to 127.0.0.1:%d: no answer within 10000 ms", hole.port);
  assert_int_equal(world_open_at(&w, url), 0);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  world_run_tasks(&w);
  world_advance(&w, WORLD_CONNECT_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&w, 1);
  assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_CONNECT, message);
  fetch_finish(&f);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* A label over 63 bytes: every resolver fails without asking the network. */
#define BAD_NAME                                                               \
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"   \
  ".invalid"

static void test_fault_unknown_name(void **state) {
  (void)state;
  world w;
  world_init(&w, NULL, 0, 0);
  assert_int_equal(world_open_at(&w, "http://" BAD_NAME), 0);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, KIN_ERESOLVE);
  assert_int_equal(f.error.error_class, KIN_CLASS_DNS);
  assert_ptr_equal(strstr(f.error.message, "resolve " BAD_NAME ": "),
                   f.error.message);
  fetch_finish(&f);
  world_close(&w);
}

/* A look-up that no thread has begun, and one whose answer does not come to the
 * loop: when all threads are held after it, one of them has begun it. */
static void test_fault_resolve_timeout(void **state) {
  (void)state;
  setenv("UV_THREADPOOL_SIZE", "4", 1);
  for (int has_begun = 0; has_begun < 2; has_begun++) {
    world w;
    world_init(&w, NULL, 0, 0);
    pool_plug p;
    if (!has_begun) {
      plug_open(&p, &w.loop);
    }
    assert_int_equal(world_open_at(&w, "http://localhost:1"), 0);
    fetch f = {.world = &w};
    assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
    world_run_tasks(&w);
    if (has_begun) {
      plug_open(&p, &w.loop);
    }
    world_advance(&w, WORLD_CONNECT_MS - 1);
    assert_int_equal(f.ends, 0);
    world_advance(&w, 1);
    if (has_begun) {
      assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_DNS,
                    "resolve localhost: no answer within 10000 ms");
    } else {
      assert_failed(&f, KIN_ERESOLVE, KIN_CLASS_DNS,
                    "resolve localhost: libuv's thread pool had no time for it "
                    "within 10000 ms");
    }
    fetch_finish(&f);
    plug_pull(&p);
    world_close(&w);
    plug_close(&p);
  }
}

/* Closing waits for a look-up, whether it is running or still queued. */
static void test_fault_close_while_resolving(void **state) {
  (void)state;
  for (int is_plugged = 0; is_plugged < 2; is_plugged++) {
    world w;
    world_init(&w, NULL, 0, 0);
    pool_plug p;
    if (is_plugged) {
      plug_open(&p, &w.loop);
    }
    assert_int_equal(world_open_at(&w, "http://localhost:1"), 0);
    fetch f = {.world = &w};
    assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
    world_run_tasks(&w);
    if (is_plugged) {
      plug_pull(&p);
    }
    world_close(&w);
    assert_int_equal(f.callbacks, 0);
    if (is_plugged) {
      plug_close(&p);
    }
  }
}

static void test_fault_no_response(void **state) {
  (void)state;
  static const loop_reply silence = {.bytes = NULL};
  static const loop_reply interim = {.bytes = "HTTP/1.1 100 Continue\r\n\r\n"};
  static const loop_reply half = {.bytes = OK "Content-Le"};
  const loop_reply *const replies[] = {&silence, &interim, &half};
  for (size_t i = 0; i < 3; i++) {
    world w;
    world_setup(&w, replies[i], 1);
    fetch f = {.world = &w};
    bool is_watch = i == 0; /* no difference */
    assert_int_equal(fetch_start(&f, &w, "/x", is_watch), 0);
    const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
    size_t length = replies[i]->bytes != NULL ? strlen(replies[i]->bytes) : 0;
    WORLD_UNTIL(&w, w.server.replied == 1 && stats->received_bytes == length);
    world_advance(&w, WORLD_RESPONSE_MS - 1);
    assert_int_equal(f.ends, 0);
    world_advance(&w, 1);
    assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                  "no response within 30000 ms from %s");
    fetch_finish(&f);
    world_close(&w);
  }
}

/* The time between two reads counts, not the whole. */
static void test_fault_body_stops(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = CHUNKED "1\r\na\r\n"};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  for (size_t i = 1; i <= 5; i++) {
    WORLD_UNTIL(&w, f.bodies == i);
    world_advance(&w, WORLD_RESPONSE_MS - 1);
    assert_int_equal(f.ends, 0);
    if (i < 5) {
      loop_server_push(&w.server, "1\r\na\r\n");
    }
  }
  world_advance(&w, 1);
  assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                "response stopped for 30000 ms, from %s");
  assert_true(f.error.had_head);
  fetch_finish(&f);
  world_close(&w);
}

/* Pieces come, and no byte of the body. */
static void check_no_body(const char *start, const char *piece) {
  const loop_reply reply = {.bytes = start};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  WORLD_UNTIL(&w, stats->received_bytes == strlen(start));
  size_t received = strlen(start);
  for (uint64_t waited_ms = 0; waited_ms < WORLD_RESPONSE_MS;
       waited_ms += WORLD_RESPONSE_MS / 10) {
    assert_int_equal(f.ends, 0);
    loop_server_push(&w.server, piece);
    received += strlen(piece);
    WORLD_UNTIL(&w, stats->received_bytes == received);
    world_advance(&w, WORLD_RESPONSE_MS / 10);
  }
  assert_int_equal(f.bodies, 0);
  assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                "response stopped for 30000 ms, from %s");
  fetch_finish(&f);
  world_close(&w);
}

/* Chunk sizes, chunk extensions and trailers do not hold a body open. */
static void test_fault_no_body_bytes(void **state) {
  (void)state;
  check_no_body(CHUNKED, "000");
  check_no_body(CHUNKED "1;", "x");
  check_no_body(CHUNKED "0\r\na:", " ");
  check_no_body(CHUNKED "0\r\na:", "x");
  check_no_body(CHUNKED "0\r\n", "a:\r\n");
}

static void test_fault_watch_may_be_silent(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = CHUNKED "1\r\na\r\n"},
      {.bytes = "HTTP/1.1 500 Error\r\nContent-Length: 5\r\n\r\na"},
      {.bytes = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\na"}};
  world w;
  world_setup(&w, replies, 3);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", true), 0);
  WORLD_UNTIL(&w, f.bodies == 1);
  world_advance(&w, 3600 * 1000);
  assert_int_equal(f.ends, 0);

  /* WS-01: an answer of another status may not, not even a success. */
  for (int i = 0; i < 2; i++) {
    fetch failed = {.world = &w};
    assert_int_equal(fetch_start(&failed, &w, "/x", true), 0);
    WORLD_UNTIL(&w, failed.bodies == 1);
    world_advance(&w, WORLD_RESPONSE_MS);
    assert_failed(&failed, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                  "response stopped for 30000 ms, from %s");
    fetch_finish(&failed);
  }

  loop_server_push(&w.server, "0\r\n\r\n");
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  fetch_finish(&f);
  world_close(&w);
}

/* The loop was held up: the timer is due, and the answer is in the socket. */
static void test_fault_late_loop(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  WORLD_UNTIL(&w, stats->requests == 1);
  while (w.server.replied == 0) {
    uv_run(&w.loop, UV_RUN_ONCE);
  }
  world_advance(&w, 2 * WORLD_RESPONSE_MS);
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  fetch_finish(&f);
  world_close(&w);
}

/* A head that trickles in gets one such delay, not one for each byte. */
static void test_fault_trickling_head(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = "H"};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  WORLD_UNTIL(&w, w.server.replied == 1);
  loop_server_push(&w.server, "TTP/1.1 ");
  world_advance(&w, WORLD_RESPONSE_MS);
  assert_int_equal(f.ends, 0);
  uv_run(&w.loop, UV_RUN_ONCE);
  world_run_tasks(&w);
  loop_server_push(&w.server, "200 ");
  world_advance(&w, WORLD_RESPONSE_MS);
  assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                "no response within 30000 ms from %s");
  fetch_finish(&f);
  world_close(&w);
}

static void test_fault_malformed(void **state) {
  (void)state;
  check((loop_reply){.bytes = "SSH-2.0-OpenSSH_9.2\r\n"}, KIN_EHTTP,
        KIN_CLASS_PROTOCOL, "malformed response from %s: Expected HTTP/*");
  check((loop_reply){.bytes = CHUNKED "zz\r\n"}, KIN_EHTTP, KIN_CLASS_PROTOCOL,
        "malformed response from %s: Invalid character in chunk size");
  check((loop_reply){.bytes = "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
        KIN_EHTTP, KIN_CLASS_PROTOCOL,
        "malformed response from %s: switches protocols without being asked");
}

static void test_fault_header_bomb(void **state) {
  (void)state;
  size_t size = 1u << 20;
  char *bomb = malloc(size);
  assert_non_null(bomb);
  memset(bomb, 'a', size);
  memcpy(bomb, OK "A: ", strlen(OK "A: "));
  check((loop_reply){.bytes = bomb, .length = size}, KIN_EHTTP,
        KIN_CLASS_PROTOCOL, "malformed response from %s: head over 64 KiB");
  free(bomb);
}

/* For `format`: libuv's words for a code. */
static const char *connection_error(int code) {
  static char text[128];
  snprintf(text, sizeof text, "connection to %%s: %s", kin_strerror(code));
  return text;
}

static void test_fault_cut(void **state) {
  (void)state;
  check((loop_reply){.then = LOOP_CLOSE}, KIN_EEOF, KIN_CLASS_CONNECT,
        "%s closed the connection before it answered");
  check((loop_reply){.bytes = OK, .then = LOOP_CLOSE}, KIN_EEOF,
        KIN_CLASS_CONNECT, "%s closed the connection in the middle of a head");
  check((loop_reply){.bytes = CHUNKED "5\r\nhel", .then = LOOP_CLOSE}, KIN_EEOF,
        KIN_CLASS_CONNECT, "%s closed the connection in the middle of a body");
  check((loop_reply){.bytes = OK "Content-Length: 6\r\n\r\nhello",
                     .then = LOOP_CLOSE},
        KIN_EEOF, KIN_CLASS_CONNECT,
        "%s closed the connection in the middle of a body");
  check((loop_reply){.then = LOOP_RESET}, UV_ECONNRESET, KIN_CLASS_CONNECT,
        connection_error(UV_ECONNRESET));
  /* A body until the end of the stream must not end like this. */
  check((loop_reply){.bytes = OK "\r\nhel", .then = LOOP_RESET}, UV_ECONNRESET,
        KIN_CLASS_CONNECT, connection_error(UV_ECONNRESET));
}

/* Starts a request of LARGE_TARGET bytes on a socket that holds little of it, and returns the
 * connection before anything is sent. */
static kin__conn *open_large(fetch *f, world *w) {
  fetch_start_large(f, w);
  kin__link *conns = &w->transport->net.conns;
  while (kin__link_is_empty(conns)) {
    if (kin__sched_has_work(&w->sched)) {
      kin__sched_run(&w->sched, 0);
    } else {
      uv_run(&w->loop, UV_RUN_ONCE);
    }
  }
  kin__conn *conn = KIN__CONTAINER_OF(conns->next, kin__conn, node);
  int bytes = 4096;
  assert_int_equal(
      setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  return conn;
}

/* The same, when part of it is sent and the rest is queued. */
static kin__conn *start_large(fetch *f, world *w) {
  kin__conn *conn = open_large(f, w);
  world_run_tasks(w);
  assert_true(conn->out.length > 0);
  return conn;
}

/* The server answers and closes before it has read the request. */
static void test_fault_early_answer(void **state) {
  (void)state;
  static const loop_reply reply = {
      .bytes = "HTTP/1.1 431 Too Large\r\nContent-Length: 3\r\n\r\nbig",
      .then = LOOP_CLOSE,
      .is_rude = true};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  kin__conn *conn = start_large(&f, &w);
  /* Sending fails before the answer is read. */
  while (w.server.replied == 0) {
    uv_run(&w.loop, UV_RUN_ONCE);
  }
  kin__sched_add(&w.sched, &conn->task);
  world_run_tasks(&w);
  assert_true(conn->send_error != 0); /* closed; freed when the loop runs */
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 431);
  assert_string_equal(f.body, "big");
  assert_int_equal(kin__transport_get_stats(w.transport)->open_connections, 0);
  fetch_finish(&f);
  world_close(&w);
}

/* A request larger than the socket's buffers arrives whole. */
static void test_fault_large_request(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  start_large(&f, &w);
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_true(kin__transport_get_stats(w.transport)->sent_bytes > LARGE_TARGET);
  assert_int_equal(kin__transport_get_stats(w.transport)->open_connections, 1);
  fetch_finish(&f);
  world_close(&w);
}

/* There is no memory for what the socket does not take. */
static void test_fault_large_request_out_of_memory(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  fetch f = {.world = &w};
  kin__conn *conn = open_large(&f, &w);
  w.memory.fail_at = atomic_load(&w.memory.calls) + 1;
  world_run_tasks(&w);
  assert_int_equal(conn->out.length, 0);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ENOMEM);
  assert_int_equal(f.error.error_class, KIN_CLASS_MEMORY);
  fetch_finish(&f);
  world_close(&w);
}

/* Sends on a connection whose peer is gone until the kernel says EPIPE, with
 * SIGPIPE as every program inherits it: deadly. */
static void test_fault_sigpipe(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_DFL);
  static const loop_reply stall = {.bytes = CHUNKED "1\r\na\r\n"};
  world w;
  world_setup(&w, &stall, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", true), 0);
  WORLD_UNTIL(&w, f.bodies == 1);
  loop_server_drop(&w.server, LOOP_CLOSE);
  kin__conn *conn =
      KIN__CONTAINER_OF(w.transport->net.conns.next, kin__conn, node);
  /* The first byte goes to a closed port, the answer to it is a RST. */
  for (int i = 0; i < 1000000 && conn->send_error == 0; i++) {
    assert_int_equal(kin__conn_send(conn, "x", 1), 0);
  }
  assert_int_equal(conn->send_error, UV_EPIPE);
  assert_int_equal(f.ends, 0);
  fetch_until_end(&f);
  assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
  fetch_finish(&f);
  world_close(&w);
}

/* The first call has a credential, and each later one none. */
static int get_once(void *ctx, kin__waiter *waiter, kin__credential *out) {
  (void)waiter;
  *out = (kin__credential){.value = "Bearer x", .reason = "it has expired"};
  return ++*(int *)ctx == 1 ? 0 : KIN_ETOKEN;
}

/* AU-02: the credential is gone when the connection is there. */
static void test_exchange_credential_expires(void **state) {
  (void)state;
  static const loop_reply hello = {.bytes = HELLO};
  world w;
  world_setup(&w, &hello, 1);
  int calls = 0;
  w.transport->credentials = (kin__credentials){.get = get_once, .ctx = &calls};
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  fetch_until_end(&f);
  assert_int_equal(calls, 2);
  assert_int_equal(f.error.code, KIN_ETOKEN);
  assert_int_equal(f.error.error_class, KIN_CLASS_AUTH);
  assert_string_equal(f.error.message, "it has expired");
  assert_int_equal(w.server.requests, 0);
  fetch_finish(&f);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fault_refused),
      cmocka_unit_test(test_fault_connect_timeout),
      cmocka_unit_test(test_fault_unknown_name),
      cmocka_unit_test(test_fault_resolve_timeout),
      cmocka_unit_test(test_fault_close_while_resolving),
      cmocka_unit_test(test_fault_no_response),
      cmocka_unit_test(test_fault_body_stops),
      cmocka_unit_test(test_fault_no_body_bytes),
      cmocka_unit_test(test_fault_watch_may_be_silent),
      cmocka_unit_test(test_fault_late_loop),
      cmocka_unit_test(test_fault_trickling_head),
      cmocka_unit_test(test_fault_malformed),
      cmocka_unit_test(test_fault_header_bomb),
      cmocka_unit_test(test_fault_cut),
      cmocka_unit_test(test_fault_early_answer),
      cmocka_unit_test(test_fault_large_request),
      cmocka_unit_test(test_fault_large_request_out_of_memory),
      cmocka_unit_test(test_fault_sigpipe),
      cmocka_unit_test(test_exchange_credential_expires),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
