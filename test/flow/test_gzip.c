/* SPDX-License-Identifier: MIT */
/* Proves TR-07 over real sockets: bodies that are compressed, asked for or not,
 * in every framing and split; on errors and on watches; damaged ones; and that
 * a small body that stands for a large one keeps nobody else waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed.h"
#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/exchange_core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define GZIP "Content-Encoding: gzip\r\n"
#define TEXT "hello, hello, hello, hello"

static loop_reply reply_of(const packed *response) {
  return (loop_reply){.bytes = response->bytes, .length = response->length};
}

static void assert_text(const fetch *f) {
  assert_string_equal(f->error.message, "");
  assert_int_equal(f->ends, 1);
  assert_int_equal(f->status, 200);
  assert_true(f->is_identity);
  assert_non_null(f->body);
  assert_string_equal(f->body, TEXT);
}

/* What is asked for: lists compressed if that is wanted, watches never. */
static void test_gzip_request(void **state) {
  (void)state;
  packed body = packed_make(TEXT, strlen(TEXT));
  packed response = packed_response(OK GZIP, &body);
  loop_reply reply = reply_of(&response);
  for (int accept_gzip = 0; accept_gzip < 2; accept_gzip++) {
    world w;
    world_init(&w, &reply, 1, 0);
    w.accept_gzip = accept_gzip;
    assert_int_equal(world_open(&w), 0);
    for (int is_watch = 0; is_watch < 2; is_watch++) {
      fetch f = {.world = &w};
      assert_int_equal(fetch_start(&f, &w, "/x", is_watch), 0);
      fetch_until_end(&f);
      assert_text(&f);
      const char *field = accept_gzip && !is_watch
                              ? "\r\nAccept-Encoding: gzip\r\n"
                              : "\r\nAccept-Encoding: identity\r\n";
      assert_non_null(strstr(w.server.last_request, field));
      fetch_finish(&f);
    }
    /* received_bytes are those of the wire. */
    assert_int_equal(kin__transport_get_stats(w.transport)->received_bytes,
                     2 * response.length);
    assert_int_equal(w.server.accepted, 1); /* reused */
    world_close(&w);
  }
  packed_finish(&response);
  packed_finish(&body);
}

static void check_split(const packed *response, loop_then then) {
  for (size_t slice = 1; slice <= response->length; slice++) {
    loop_reply reply = reply_of(response);
    reply.slice = slice;
    reply.then = then;
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    assert_text(&f);
    fetch_finish(&f);
    world_close(&w);
  }
}

/* Each framing, in pieces of every size up to the whole; two members. */
static void test_gzip_split(void **state) {
  (void)state;
  packed body = {NULL, 0};
  packed_add(&body, TEXT, 10, 3);
  packed_add(&body, &TEXT[10], strlen(TEXT) - 10, 0);
  packed response = packed_response(OK GZIP, &body);
  check_split(&response, LOOP_KEEP);
  packed_finish(&response);
  response = packed_response(OK "Content-Encoding: X-GZip\r\n", &body);
  check_split(&response, LOOP_CLOSE);
  packed_finish(&response);
  response = packed_response(OK GZIP "Connection: close\r\n", &body);
  check_split(&response, LOOP_CLOSE);
  packed_finish(&response);
  packed chunk = packed_chunk(body.bytes, body.length);
  packed_add_bytes(&chunk, "0\r\n\r\n", 5);
  response = packed_response(OK GZIP "Transfer-Encoding: chunked\r\n", &chunk);
  check_split(&response, LOOP_KEEP);
  packed_finish(&response);
  packed_finish(&chunk);
  packed_finish(&body);
}

/* Nothing at all may claim to be compressed. */
static void test_gzip_empty_body(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = OK GZIP "Content-Length: 0\r\n\r\n"},
      {.bytes = "HTTP/1.1 204 No Content\r\n" GZIP "\r\n"},
      {.bytes = "HTTP/1.1 304 Not Modified\r\n" GZIP "\r\n"},
      {.bytes = OK GZIP "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}};
  static const int statuses[] = {200, 204, 304, 200};
  world w;
  world_setup(&w, replies, 4);
  for (size_t i = 0; i < 4; i++) {
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    assert_int_equal(f.error.code, 0);
    assert_int_equal(f.status, statuses[i]);
    assert_int_equal(f.body_length, 0);
    fetch_finish(&f);
  }
  assert_int_equal(w.server.accepted, 1);
  world_close(&w);
}

/* Only one gzip can be undone; the others come through as what they are. */
static void test_gzip_other_encodings(void **state) {
  (void)state;
  static const char *const lines[] = {
      "Content-Encoding: deflate\r\n",    "Content-Encoding: br\r\n",
      "Content-Encoding: gzip, gzip\r\n", GZIP GZIP,
      "Content-Encoding: br\r\n" GZIP,    GZIP "Content-Encoding: zstd\r\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    packed body = packed_make(TEXT, strlen(TEXT));
    char head[200];
    snprintf(head, sizeof head, OK "%s", lines[i]);
    packed response = packed_response(head, &body);
    loop_reply reply = reply_of(&response);
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    assert_int_equal(f.error.code, 0);
    assert_false(f.is_identity);
    assert_int_equal(f.body_length, body.length);
    assert_memory_equal(f.body, body.bytes, body.length);
    fetch_finish(&f);
    world_close(&w);
    packed_finish(&response);
    packed_finish(&body);
  }
}

/* `body` ends in this error, wherever it is cut into reads. */
static void check_damaged(const packed *body, const char *reason) {
  packed response = packed_response(OK GZIP, body);
  for (size_t slice = 1; slice <= response.length; slice += 5) {
    loop_reply reply = reply_of(&response);
    reply.slice = slice;
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    char message[200];
    const char *start = strstr(f.error.message, "127.0.0.1:");
    assert_non_null(start);
    snprintf(message, sizeof message,
             "malformed response from 127.0.0.1:%d: "
             "gzip: %s",
             w.server.port, reason);
    assert_string_equal(f.error.message, message);
    assert_int_equal(f.error.code, KIN_EHTTP);
    assert_int_equal(f.error.error_class, KIN_CLASS_PROTOCOL);
    assert_true(f.error.had_head);
    fetch_finish(&f);
    world_close(&w);
  }
  packed_finish(&response);
}

static void test_gzip_damaged(void **state) {
  (void)state;
  packed good = packed_make(TEXT, strlen(TEXT));
  packed bad = {NULL, 0};
  packed_add_bytes(&bad, good.bytes, good.length);
  bad.bytes[bad.length - 8] ^= 1;
  check_damaged(&bad, "incorrect data check");
  packed_finish(&bad);
  packed_add_bytes(&bad, TEXT, strlen(TEXT));
  check_damaged(&bad, "the body is none");
  packed_finish(&bad);
  packed_add_bytes(&bad, good.bytes, good.length);
  packed_add_bytes(&bad, "garbage", 7);
  check_damaged(&bad, "bytes follow that are none");
  packed_finish(&bad);
  for (size_t i = 1; i < good.length; i++) {
    packed_add_bytes(&bad, good.bytes, i);
    check_damaged(&bad, "it is cut off");
    packed_finish(&bad);
  }
  packed_finish(&good);
}

/* The connection breaks in the middle: that is said, not that gzip is cut. */
static void test_gzip_cut_connection(void **state) {
  (void)state;
  packed body = packed_make(TEXT, strlen(TEXT));
  packed response = packed_response(OK GZIP, &body);
  for (loop_then then = LOOP_CLOSE; then <= LOOP_RESET; then++) {
    loop_reply reply = {
        .bytes = response.bytes, .length = response.length - 5, .then = then};
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    assert_int_equal(f.error.code,
                     then == LOOP_CLOSE ? KIN_EEOF : UV_ECONNRESET);
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    fetch_finish(&f);
    world_close(&w);
  }
  packed_finish(&response);
  packed_finish(&body);
}

/* An error's body is inflated as well, up to 256 KiB of it. */
static void test_gzip_error_body(void **state) {
  (void)state;
  packed body = packed_make(TEXT, strlen(TEXT));
  packed small = packed_response(
      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n" GZIP, &body);
  packed bomb = packed_bomb(16u << 20);
  packed large = packed_response("HTTP/1.1 500 Oops\r\n" GZIP, &bomb);
  const loop_reply replies[] = {reply_of(&small), reply_of(&large)};
  world w;
  world_setup(&w, replies, 2);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 403);
  assert_true(f.is_identity);
  assert_string_equal(f.content_type, "text/plain");
  assert_string_equal(f.body, TEXT);
  fetch_finish(&f);
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 500);
  assert_int_equal(f.body_length, 256u << 10);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&large);
  packed_finish(&bomb);
  packed_finish(&small);
  packed_finish(&body);
}

/* What is created comes whole, as all successes do. */
static void test_gzip_created(void **state) {
  (void)state;
  packed body = packed_bomb(1u << 20);
  packed created = packed_response("HTTP/1.1 201 Created\r\n" GZIP, &body);
  const loop_reply reply = reply_of(&created);
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 201);
  assert_true(f.body_length >= 1u << 20);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&created);
  packed_finish(&body);
}

/* WS-02: what a proxy has compressed comes as it is flushed, and the stream
 * stays open. */
static void test_gzip_watch(void **state) {
  (void)state;
  static const loop_reply head = {.bytes = OK GZIP
                                  "Transfer-Encoding: chunked\r\n\r\n"};
  packed body = {NULL, 0};
  packed_add(&body, TEXT, strlen(TEXT), 7);
  world w;
  world_setup(&w, &head, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", true), 0);
  WORLD_UNTIL(&w, f.heads == 1);
  size_t sent = 0;
  size_t flushes = 0;
  for (size_t i = 4; i + 9 < body.length; i++) {
    if (memcmp(body.bytes + i - 4, "\0\0\xff\xff", 4) == 0) {
      packed chunk = packed_chunk(body.bytes + sent, i - sent);
      loop_server_push_bytes(&w.server, chunk.bytes, chunk.length);
      packed_finish(&chunk);
      sent = i;
      flushes++;
      size_t due = flushes * 7 < strlen(TEXT) ? flushes * 7 : strlen(TEXT);
      WORLD_UNTIL(&w, f.body_length >= due);
      assert_int_equal(f.body_length, due);
      world_advance(&w, 3600 * 1000); /* silence is no fault */
      assert_int_equal(f.ends, 0);
    }
  }
  assert_int_equal(flushes, 4);
  packed chunk = packed_chunk(body.bytes + sent, body.length - sent);
  packed_add_bytes(&chunk, "0\r\n\r\n", 5);
  loop_server_push_bytes(&w.server, chunk.bytes, chunk.length);
  packed_finish(&chunk);
  fetch_until_end(&f);
  assert_text(&f);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&body);
}

/* 16 MiB in 16 KiB: a slice a step, and between two of them it is everybody
 * else's turn, also on the connection that has carried it. */
static void test_gzip_bomb(void **state) {
  (void)state;
  size_t size = 16u << 20;
  packed bomb = packed_bomb(size);
  packed large = packed_response(OK GZIP, &bomb);
  const loop_reply replies[] = {
      reply_of(&large), {.bytes = OK "Content-Length: 26\r\n\r\n" TEXT}};
  world w;
  world_setup(&w, replies, 2);
  fetch f = {.world = &w};
  fetch other = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  size_t most = 0;
  size_t seen_by_then = 0; /* when the other one ended */
  bool is_other_started = false;
  while (f.ends == 0) {
    size_t before = f.body_length;
    if (kin__sched_has_work(&w.sched)) {
      kin__sched_run(&w.sched, 0); /* one step */
    } else {
      uv_run(&w.loop, UV_RUN_ONCE);
    }
    size_t step = f.body_length - before;
    most = step > most ? step : most;
    if (f.body_length > 0 && !is_other_started) {
      is_other_started = true;
      assert_int_equal(fetch_start(&other, &w, "/y", false), 0);
    }
    uv_run(&w.loop, UV_RUN_NOWAIT);
    if (other.ends > 0 && seen_by_then == 0) {
      seen_by_then = f.body_length;
    }
  }
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.body_length, size);
  assert_true(most <= KIN__INFLATE_BYTES);
  assert_int_equal(other.ends, 1);
  assert_true(seen_by_then > 0 && seen_by_then < size / 4);
  assert_text(&other);
  assert_int_equal(w.server.accepted, 1);
  assert_true(atomic_load(&w.memory.peak_bytes) < 400u << 10);
  fetch_finish(&other);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&large);
  packed_finish(&bomb);
}

/* While bytes wait, no more are read: a body of many reads is never held. */
static void test_gzip_backpressure(void **state) {
  (void)state;
  size_t size = 4u << 20;
  char *noise = malloc(size);
  assert_non_null(noise);
  uint32_t seed = 1;
  for (size_t i = 0; i < size; i++) {
    seed = seed * 1664525u + 1013904223u;
    noise[i] = (char)(seed >> 24 & 15);
  }
  packed body = packed_make(noise, size);
  assert_true(body.length > 1u << 20);
  packed response = packed_response(OK GZIP, &body);
  loop_reply reply = reply_of(&response);
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  while (f.ends == 0) {
    size_t before = stats->received_bytes;
    bool has_packed =
        f.exchange != NULL && kin__exchange_has_packed(f.exchange);
    if (kin__sched_has_work(&w.sched)) {
      kin__sched_run(&w.sched, 0);
    } else {
      uv_run(&w.loop, UV_RUN_ONCE);
    }
    if (has_packed) {
      assert_int_equal(stats->received_bytes, before);
    }
    uv_run(&w.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.body_length, size);
  assert_memory_equal(f.body, noise, size);
  assert_true(atomic_load(&w.memory.peak_bytes) < 500u << 10);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&response);
  packed_finish(&body);
  free(noise);
}

/* A list that stops coming is given up, one that is being inflated is not. */
static void test_gzip_stops(void **state) {
  (void)state;
  packed body = packed_make(TEXT, strlen(TEXT));
  packed response = packed_response(OK GZIP, &body);
  loop_reply reply = {.bytes = response.bytes, .length = response.length - 9};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
  WORLD_UNTIL(&w, f.bodies > 0);
  world_advance(&w, WORLD_RESPONSE_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&w, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  fetch_finish(&f);
  world_close(&w);
  packed_finish(&response);
  packed_finish(&body);
}

/* A comment in the head of the gzip stream that never ends, a byte or several
 * slices at a time. */
static void test_gzip_endless_head(void **state) {
  (void)state;
  static const char head[] = OK GZIP "Transfer-Encoding: chunked\r\n\r\n"
                                     "a\r\n\x1f\x8b\x08\x10\0\0\0\0\0\x03\r\n";
  static char text[3 * KIN__INFLATE_INPUT_BYTES];
  memset(text, 'c', sizeof text);
  for (size_t size = 1; size <= sizeof text; size += sizeof text - 1) {
    packed piece = packed_chunk(text, size);
    loop_reply reply = {.bytes = head, .length = sizeof head - 1};
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    assert_int_equal(fetch_start(&f, &w, "/x", false), 0);
    const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
    uint64_t received = sizeof head - 1;
    WORLD_UNTIL(&w, stats->received_bytes == received);
    for (int i = 0; i < 10; i++) {
      assert_int_equal(f.ends, 0);
      loop_server_push_bytes(&w.server, piece.bytes, piece.length);
      received += piece.length;
      WORLD_UNTIL(&w, stats->received_bytes == received);
      world_advance(&w, WORLD_RESPONSE_MS / 10);
    }
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.error.code, KIN_ETIMEDOUT);
    assert_int_equal(f.bodies, 0);
    fetch_finish(&f);
    world_close(&w);
    packed_finish(&piece);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_request),
      cmocka_unit_test(test_gzip_split),
      cmocka_unit_test(test_gzip_empty_body),
      cmocka_unit_test(test_gzip_other_encodings),
      cmocka_unit_test(test_gzip_damaged),
      cmocka_unit_test(test_gzip_cut_connection),
      cmocka_unit_test(test_gzip_error_body),
      cmocka_unit_test(test_gzip_created),
      cmocka_unit_test(test_gzip_watch),
      cmocka_unit_test(test_gzip_bomb),
      cmocka_unit_test(test_gzip_backpressure),
      cmocka_unit_test(test_gzip_stops),
      cmocka_unit_test(test_gzip_endless_head),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
