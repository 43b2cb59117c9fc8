/* SPDX-License-Identifier: MIT */
/* Proves TR-07 through a whole informer on real sockets: compressed lists,
 * watches and errors, split at every byte, closed in every callback, with every
 * allocation failing; damaged ones say what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/client_world.h"
#include "support/packed.h"

#define JSON "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"
#define OK "HTTP/1.1 200 OK\r\n" JSON
#define CHUNKED OK "Transfer-Encoding: chunked\r\n"

static packed list;
static packed watch; /* the event, flushed; the stream stays open */

static int set_up(void **state) {
  (void)state;
  packed body = packed_make(ANSWER_LIST, strlen(ANSWER_LIST));
  list = packed_response(OK, &body);
  packed_finish(&body);
  packed_add(&body, ANSWER_EVENT, strlen(ANSWER_EVENT), 20);
  /* Without the last block and the sums. */
  packed chunk = packed_chunk(body.bytes, body.length - 10);
  watch = packed_response(CHUNKED, &chunk);
  packed_finish(&chunk);
  packed_finish(&body);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  packed_finish(&list);
  packed_finish(&watch);
  return 0;
}

static loop_reply reply_of(const packed *response, size_t slice) {
  return (loop_reply){
      .bytes = response->bytes, .length = response->length, .slice = slice};
}

static void open_asking(client_world *w, const loop_reply *replies,
                        size_t count, bool accept_gzip) {
  client_world_serve(w, replies, count);
  w->options.accept_gzip = accept_gzip;
  client_world_open(w);
}

/* Lists are asked for compressed if the option says so, watches never are; what
 * comes compressed is taken anyway. */
static void test_gzip_client_option(void **state) {
  (void)state;
  const loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  for (int accept_gzip = 0; accept_gzip < 2; accept_gzip++) {
    client_world w;
    open_asking(&w, replies, 2, accept_gzip);
    CLIENT_UNTIL(&w, w.server.requests == 1);
    assert_non_null(strstr(w.server.last_request,
                           accept_gzip ? "\r\nAccept-Encoding: gzip\r\n"
                                       : "\r\nAccept-Encoding: identity\r\n"));
    CLIENT_UNTIL(&w, w.deletes > 0);
    assert_non_null(
        strstr(w.server.last_request, "\r\nAccept-Encoding: identity\r\n"));
    assert_non_null(strstr(w.server.last_request, "watch=true"));
    assert_int_equal(w.adds, 2);
    assert_int_equal(w.errors, 0);
    /* The client counts what the network carried, the informer what it said. */
    kin_client_stats stats = KIN_CLIENT_STATS_INIT;
    assert_int_equal(kin_client_get_stats(w.client, &stats), 0);
    assert_int_equal(stats.received_bytes, list.length + watch.length);
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_informer_get_status(w.informer, NULL, &status), 0);
    assert_int_equal(status.received_bytes,
                     strlen(ANSWER_LIST) + strlen(ANSWER_EVENT));
    client_world_finish(&w);
  }
}

static void test_gzip_client_split(void **state) {
  (void)state;
  loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  for (size_t slice = 1; slice <= list.length; slice++) {
    replies[0].slice = slice;
    client_world_expect_event(replies, true);
  }
  replies[0].slice = 0;
  for (size_t slice = 1; slice <= watch.length; slice++) {
    replies[1].slice = slice;
    client_world_expect_event(replies, true);
  }
}

/* RE-01, RE-02: the Status of an error is inflated, too. */
static void test_gzip_client_error_status(void **state) {
  (void)state;
  static const char text[] =
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,"
      "\"reason\":\"Forbidden\",\"message\":\"not for you\"}";
  packed body = packed_make(text, strlen(text));
  packed response = packed_response("HTTP/1.1 403 Forbidden\r\n" JSON, &body);
  packed bomb = packed_bomb(8u << 20);
  packed large = packed_response("HTTP/1.1 500 Oops\r\n" JSON, &bomb);
  for (size_t slice = 0; slice <= response.length; slice++) {
    loop_reply reply = reply_of(&response, slice);
    client_world w;
    open_asking(&w, &reply, 1, true);
    CLIENT_UNTIL(&w, w.errors > 0);
    assert_string_equal(w.message, "list of pods: not for you");
    assert_int_equal(w.error_class, KIN_CLASS_FORBIDDEN);
    assert_int_equal(w.status, 403);
    client_world_finish(&w);
  }
  loop_reply reply = reply_of(&large, 0);
  client_world w;
  open_asking(&w, &reply, 1, true);
  CLIENT_UNTIL(&w, w.errors > 0);
  assert_int_equal(w.error_class, KIN_CLASS_SERVER);
  assert_int_equal(w.status, 500);
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w.informer, NULL, &status), 0);
  assert_int_equal(status.received_bytes, 64u << 10);
  client_world_finish(&w);
  packed_finish(&large);
  packed_finish(&bomb);
  packed_finish(&response);
  packed_finish(&body);
}

/* The list is whole before its sum is found wrong: nothing of it is shown. */
static void check_damaged(const packed *body, const char *reason) {
  packed response = packed_response(OK, body);
  loop_reply reply = reply_of(&response, 0);
  client_world w;
  open_asking(&w, &reply, 1, true);
  CLIENT_UNTIL(&w, w.errors > 0);
  if (strstr(w.message, reason) == NULL) {
    fail_msg("\"%s\" has no \"%s\"", w.message, reason);
  }
  assert_int_equal(w.code, KIN_EHTTP);
  assert_int_equal(w.error_class, KIN_CLASS_PROTOCOL);
  assert_int_equal(w.adds + w.synced, 0);
  client_world_finish(&w);
  packed_finish(&response);
}

static void test_gzip_client_damaged(void **state) {
  (void)state;
  packed body = packed_make(ANSWER_LIST, strlen(ANSWER_LIST));
  body.bytes[body.length - 5] ^= 1;
  check_damaged(&body, "gzip: incorrect data check");
  body.bytes[body.length - 5] ^= 1;
  body.bytes[0] ^= 1;
  check_damaged(&body, "gzip: the body is none");
  body.bytes[0] ^= 1;
  body.length--;
  check_damaged(&body, "gzip: it is cut off");
  body.length++;
  packed_add_bytes(&body, "}}", 2);
  check_damaged(&body, "gzip: bytes follow that are none");
  packed_finish(&body);
}

/* A body that says it is compressed and is empty: RE-03. */
static void test_gzip_client_empty(void **state) {
  (void)state;
  packed body = packed_make("", 0);
  packed response = packed_response(OK, &body);
  const loop_reply replies[] = {{.bytes = OK "Content-Length: 0\r\n\r\n"},
                                reply_of(&response, 0)};
  for (size_t i = 0; i < 2; i++) {
    client_world w;
    open_asking(&w, &replies[i], 1, true);
    CLIENT_UNTIL(&w, w.errors > 0);
    assert_non_null(strstr(w.message, "answer is empty, 0 bytes long"));
    client_world_finish(&w);
  }
  packed_finish(&response);
  packed_finish(&body);
}

static bool close_in_callback(int close_at) {
  loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  replies[1].then = LOOP_RESET; /* so that an error is among them */
  client_world w;
  client_world_serve(&w, replies, 2);
  w.options.accept_gzip = true;
  w.close_at = close_at;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.client == NULL || w.errors > 0);
  client_world_finish(&w);
  return w.was_reached;
}

static void test_gzip_client_close_in_every_callback(void **state) {
  (void)state;
  assert_true(client_world_sweep_closes(close_in_callback) > 3);
}

static bool run_without_memory(size_t n) {
  const loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  client_world w;
  client_world_serve(&w, replies, 2);
  w.options.accept_gzip = true;
  w.memory.fail_at = n;
  if (client_world_open(&w) == 0) {
    CLIENT_UNTIL(&w, w.deletes > 0 || w.errors > 0);
  }
  if (w.errors > 0) {
    assert_int_equal(w.error_class, KIN_CLASS_MEMORY);
  }
  client_world_finish(&w);
  return fail_alloc_has_failed(&w.memory);
}

static void test_gzip_client_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_client_option),
      cmocka_unit_test(test_gzip_client_split),
      cmocka_unit_test(test_gzip_client_error_status),
      cmocka_unit_test(test_gzip_client_damaged),
      cmocka_unit_test(test_gzip_client_empty),
      cmocka_unit_test(test_gzip_client_close_in_every_callback),
      cmocka_unit_test(test_gzip_client_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
