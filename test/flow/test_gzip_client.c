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

#include "support/answer_world.h"
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

/* Lists are asked for compressed if the option says so, watches never are; what
 * comes compressed is taken anyway. */
static void test_gzip_client_option(void **state) {
  (void)state;
  const loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  for (int accept_gzip = 0; accept_gzip < 2; accept_gzip++) {
    answer_world w;
    assert_int_equal(answer_world_open(&w, replies, 2, accept_gzip, 0, 0), 0);
    ANSWER_UNTIL(&w, w.server.requests == 1);
    assert_non_null(strstr(w.server.last_request,
                           accept_gzip ? "\r\nAccept-Encoding: gzip\r\n"
                                       : "\r\nAccept-Encoding: identity\r\n"));
    ANSWER_UNTIL(&w, w.deletes > 0);
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
    answer_world_close(&w);
  }
}

static void test_gzip_client_split(void **state) {
  (void)state;
  loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  for (size_t slice = 1; slice <= list.length; slice++) {
    replies[0].slice = slice;
    answer_world_expect_event(replies, true);
  }
  replies[0].slice = 0;
  for (size_t slice = 1; slice <= watch.length; slice++) {
    replies[1].slice = slice;
    answer_world_expect_event(replies, true);
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
    answer_world w;
    assert_int_equal(answer_world_open(&w, &reply, 1, true, 0, 0), 0);
    ANSWER_UNTIL(&w, w.errors > 0);
    assert_string_equal(w.message, "list of pods: not for you");
    assert_int_equal(w.error_class, KIN_CLASS_FORBIDDEN);
    assert_int_equal(w.status, 403);
    answer_world_close(&w);
  }
  loop_reply reply = reply_of(&large, 0);
  answer_world w;
  assert_int_equal(answer_world_open(&w, &reply, 1, true, 0, 0), 0);
  ANSWER_UNTIL(&w, w.errors > 0);
  assert_int_equal(w.error_class, KIN_CLASS_SERVER);
  assert_int_equal(w.status, 500);
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w.informer, NULL, &status), 0);
  assert_int_equal(status.received_bytes, 64u << 10);
  answer_world_close(&w);
  packed_finish(&large);
  packed_finish(&bomb);
  packed_finish(&response);
  packed_finish(&body);
}

/* The list is whole before its sum is found wrong: nothing of it is shown. */
static void check_damaged(const packed *body, const char *reason) {
  packed response = packed_response(OK, body);
  loop_reply reply = reply_of(&response, 0);
  answer_world w;
  assert_int_equal(answer_world_open(&w, &reply, 1, true, 0, 0), 0);
  ANSWER_UNTIL(&w, w.errors > 0);
  if (strstr(w.message, reason) == NULL) {
    fail_msg("\"%s\" has no \"%s\"", w.message, reason);
  }
  assert_int_equal(w.code, KIN_EHTTP);
  assert_int_equal(w.error_class, KIN_CLASS_PROTOCOL);
  assert_int_equal(w.adds + w.synced, 0);
  answer_world_close(&w);
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
    answer_world w;
    assert_int_equal(answer_world_open(&w, &replies[i], 1, true, 0, 0), 0);
    ANSWER_UNTIL(&w, w.errors > 0);
    assert_non_null(strstr(w.message, "answer is empty, 0 bytes long"));
    answer_world_close(&w);
  }
  packed_finish(&response);
  packed_finish(&body);
}

static void test_gzip_client_close_in_every_callback(void **state) {
  (void)state;
  loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  replies[1].then = LOOP_RESET; /* so that an error is among them */
  for (int close_at = 1;; close_at++) {
    answer_world w;
    assert_int_equal(answer_world_open(&w, replies, 2, true, 0, close_at), 0);
    ANSWER_UNTIL(&w, w.client == NULL || w.errors > 0);
    bool was_reached = w.calls >= close_at;
    answer_world_close(&w);
    if (!was_reached) {
      assert_true(close_at > 4);
      return;
    }
  }
}

static void test_gzip_client_out_of_memory(void **state) {
  (void)state;
  const loop_reply replies[] = {reply_of(&list, 0), reply_of(&watch, 0)};
  size_t n = 1;
  for (;; n++) {
    answer_world w;
    int err = answer_world_open(&w, replies, 2, true, n, 0);
    if (err == 0) {
      ANSWER_UNTIL(&w, w.deletes > 0 || w.errors > 0);
    } else {
      assert_int_equal(err, KIN_ENOMEM);
    }
    if (w.errors > 0) {
      assert_int_equal(w.error_class, KIN_CLASS_MEMORY);
    }
    bool has_failed = fail_alloc_has_failed(&w.memory);
    answer_world_close(&w);
    if (!has_failed) {
      break;
    }
  }
  assert_true(n > 40);
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
