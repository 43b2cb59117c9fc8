/* SPDX-License-Identifier: MIT */

/* Single requests of a client on a real loop: answers cut and split anywhere,
 * what a callback may do, and each allocation failing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/request.h>

#include "support/fail_alloc.h"
#include "support/loop_server.h"

#define HELLO                                                                  \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "      \
  "24\r\n\r\n{\"metadata\":{\"name\":1}}\n"
#define CONFLICT_BODY                                                          \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\","       \
  "\"message\":\"no\",\"details\":{\"name\":\"c\"},\"code\":409}"
#define CONFLICT                                                               \
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 409 Conflict\r\nTransfer-Encoding: "  \
  "chunked\r\n\r\n69\r\n" CONFLICT_BODY "\r\n0\r\n\r\n"

typedef struct bench {
  uv_loop_t loop;
  fail_alloc memory;
  loop_server server;
  kin_client *client;
  kin_request *other;
  int results;
  int closed;
  int codes[4];
  int statuses[4];
  kin_error_class error_class; /* of the last */
  char message[256];
  char name[16];
  void (*then)(struct bench *b);
} bench;

static void on_closed(void *data) {
  bench *b = data;
  b->closed++;
  loop_server_close(&b->server);
}

static void close_client(bench *b) {
  assert_int_equal(kin_client_close(b->client, on_closed, b), 0);
}

static void on_response(const kin_response *response, void *data) {
  bench *b = data;
  assert_int_equal(b->closed, 0);
  b->codes[b->results] = response->code;
  b->statuses[b->results] = response->status;
  b->error_class = response->error_class;
  snprintf(b->message, sizeof b->message, "%s", response->message);
  snprintf(b->name, sizeof b->name, KIN_STR_FORMAT,
           KIN_STR_ARG(response->details_name));
  b->results++;
  b->then(b);
}

static int start(bench *b, kin_request **out) {
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = KIN_VERB_PATCH_MERGE;
  spec.plural = "configmaps";
  spec.name = "c";
  spec.body = "{\"data\":{}}";
  spec.body_length = strlen(spec.body);
  return kin_request_start(out, b->client, &spec, on_response, b);
}

/* Returns whether an allocation failed. */
static bool run(bench *b, const loop_reply *replies, size_t count,
                size_t fail_at) {
  void (*then)(bench *) = b->then;
  memset(b, 0, sizeof *b);
  b->then = then;
  fail_alloc_init(&b->memory, fail_at);
  assert_int_equal(uv_loop_init(&b->loop), 0);
  loop_server_open(&b->server, &b->loop, replies, count);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = b->server.url;
  options.allocator = &b->memory.allocator;
  if (kin_client_open(&b->client, &b->loop, &options) != 0) {
    loop_server_close(&b->server);
  } else if (start(b, NULL) != 0) {
    close_client(b);
  }
  assert_int_equal(uv_run(&b->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&b->loop), 0);
  assert_int_equal(b->closed, b->client != NULL);
  assert_int_equal(atomic_load(&b->memory.live_blocks), 0);
  return fail_alloc_has_failed(&b->memory);
}

/* Any slices give the same answer; a 100 that nobody asked for is skipped. */
static void test_answer_in_slices(void **state) {
  (void)state;
  bench b = {.then = close_client};
  for (size_t slice = 1; slice < 60; slice++) {
    const loop_reply reply = {.bytes = CONFLICT, .slice = slice};
    run(&b, &reply, 1, 0);
    assert_int_equal(b.results, 1);
    assert_int_equal(b.codes[0], KIN_ECONFLICT);
    assert_string_equal(b.name, "c");
    assert_non_null(
        strstr(b.server.last_request, "PATCH /api/v1/configmaps/c"));
    assert_non_null(strstr(b.server.last_request, "\r\n\r\n{\"data\":{}}"));
    assert_int_equal(b.server.requests, 1);
  }
}

/* An answer that is cut anywhere ends in one callback. Nothing is sent again,
 * and a status that has come is told. */
static void test_answer_is_cut(void **state) {
  (void)state;
  bench b = {.then = close_client};
  for (size_t length = 1; length < sizeof CONFLICT - 1; length++) {
    const loop_reply reply = {
        .bytes = CONFLICT, .length = length, .then = LOOP_CLOSE};
    run(&b, &reply, 1, 0);
    assert_int_equal(b.results, 1);
    bool has_head = b.statuses[0] == 409;
    assert_int_equal(b.codes[0], has_head ? KIN_ECONFLICT : KIN_EEOF);
    assert_int_equal(b.server.requests, 1);
  }
}

/* A TLS server answers a request in plain HTTP with a 400. The message says
 * that the URL is wrong. */
static void test_server_speaks_tls(void **state) {
  (void)state;
  static const char go[] = "HTTP/1.0 400 Bad Request\r\n\r\n"
                           "Client sent an HTTP request to an HTTPS server.\n";
  bench b = {.then = close_client};
  for (size_t slice = 0; slice < sizeof go; slice++) {
    const loop_reply reply = {.bytes = go, .slice = slice, .then = LOOP_CLOSE};
    run(&b, &reply, 1, 0);
    assert_int_equal(b.results, 1);
    assert_int_equal(b.codes[0], KIN_ETLSSETUP);
    assert_int_equal(b.error_class, KIN_CLASS_TLS);
    assert_non_null(strstr(b.message, "the server's URL must begin with "
                                      "https://"));
    assert_int_equal(b.server.requests, 1);
  }
}

static void start_next(bench *b) {
  if (b->results < 3) {
    assert_int_equal(start(b, NULL), 0);
  } else {
    close_client(b);
  }
}

/* One connection serves all, also from within callbacks. */
static void test_connection_is_reused(void **state) {
  (void)state;
  static const loop_reply replies[] = {{.bytes = HELLO}, {.bytes = CONFLICT}};
  bench b = {.then = start_next};
  run(&b, replies, 2, 0);
  assert_int_equal(b.results, 3);
  assert_int_equal(b.codes[0], 0);
  assert_int_equal(b.codes[2], KIN_ECONFLICT);
  assert_int_equal(b.server.accepted, 1);
}

/* A server that closes behind each answer costs no request. */
static void test_connection_is_stale(void **state) {
  (void)state;
  for (int then = LOOP_CLOSE; then <= LOOP_RESET; then++) {
    const loop_reply reply = {.bytes = HELLO, .then = (loop_then)then};
    bench b = {.then = start_next};
    run(&b, &reply, 1, 0);
    assert_int_equal(b.results, 3);
    assert_int_equal(b.codes[1], 0);
    assert_int_equal(b.codes[2], 0);
    assert_int_equal(b.server.requests, 3);
  }
}

static void start_and_close(bench *b) {
  if (b->results == 1) {
    assert_int_equal(start(b, &b->other), 0);
    close_client(b);
    assert_int_equal(kin_request_cancel(b->other, UV_ECANCELED), KIN_EALREADY);
  } else {
    assert_int_equal(start(b, &b->other), KIN_ECLOSED);
  }
}

/* The client ends a request that was just started, before its own callback. */
static void test_close_ends_requests(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO};
  bench b = {.then = start_and_close};
  run(&b, &reply, 1, 0);
  assert_int_equal(b.results, 2);
  assert_int_equal(b.codes[0], 0);
  assert_int_equal(b.codes[1], KIN_ECLOSED);
}

static bool run_with_failure(size_t fail_at) {
  static const loop_reply reply = {.bytes = CONFLICT};
  bench b = {.then = close_client};
  bool has_failed = run(&b, &reply, 1, fail_at);
  assert_true(b.results <= 1);
  assert_true(has_failed || b.codes[0] == KIN_ECONFLICT);
  return has_failed;
}

static void test_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_with_failure, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answer_in_slices),
      cmocka_unit_test(test_answer_is_cut),
      cmocka_unit_test(test_server_speaks_tls),
      cmocka_unit_test(test_connection_is_reused),
      cmocka_unit_test(test_connection_is_stale),
      cmocka_unit_test(test_close_ends_requests),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests_name("requests of a client", tests, NULL, NULL);
}
