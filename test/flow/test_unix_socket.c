/* SPDX-License-Identifier: MIT */
/* Proves no row: client-go has no unix sockets. Requests go to a server on a
 * unix socket as they go to one on TCP, and a socket that comes late or is
 * replaced is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include "support/exchange_story.h"
#include "support/transport_world.h"
#include "transport/socket.h"

static world w;
static loop_server server;
static char directory[64];
static char path[128];
static char url[160];

static void prepare(void) {
  snprintf(directory, sizeof directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/a b%%41.sock", directory);
  snprintf(url, sizeof url, "unix://%s", path);
}

static void finish(void) {
  (void)unlink(path);
  assert_int_equal(rmdir(directory), 0);
}

static void close_all(void) {
  loop_server_close(&server);
  world_close(&w);
  finish();
}

static void open_all(const loop_reply *replies, size_t count) {
  prepare();
  world_init(&w, NULL, 0, 0);
  loop_server_open_unix(&server, &w.loop, path, replies, count);
  assert_int_equal(world_open_at(&w, url), 0);
}

static void test_unix_request(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO};
  open_all(&reply, 1);
  uint64_t connection = fetch_hello(&w);
  assert_int_equal(fetch_hello(&w), connection); /* is kept */
  assert_memory_equal(server.last_request,
                      "GET /x HTTP/1.1\r\nHost: localhost\r\n", 34);
  loop_server_drop(&server, LOOP_CLOSE);
  assert_int_not_equal(fetch_hello(&w), connection);
  assert_int_equal(server.accepted, 2);
  close_all();
}

static void test_unix_watch(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO_CHUNKED, .slice = 1};
  open_all(&reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", true), 0);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  fetch_finish(&f);
  close_all();
}

static void expect_failure(int code) {
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, code);
  assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
  char words[200];
  snprintf(words, sizeof words, "connect to unix:%s: ", path);
  assert_memory_equal(f.error.message, words, strlen(words));
  fetch_finish(&f);
}

/* No file, no listener, then one, and all of it again. */
static void test_unix_heals(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO_CLOSE, .then = LOOP_CLOSE};
  prepare();
  world_init(&w, NULL, 0, 0);
  assert_int_equal(world_open_at(&w, url), 0);
  expect_failure(UV_ENOENT);
  for (int i = 0; i < 2; i++) {
    loop_server_open_unix(&server, &w.loop, path, &reply, 1);
    (void)fetch_hello(&w);
    loop_server_close(&server);
    uv_run(&w.loop, UV_RUN_NOWAIT); /* the handle closes */
    expect_failure(UV_ECONNREFUSED);
    assert_int_equal(unlink(path), 0);
    expect_failure(UV_ENOENT);
  }
  world_close(&w);
  finish();
}

/* The longest path; url.c refuses one byte more. */
static void test_unix_longest_path(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = HELLO};
  prepare();
  size_t room = KIN__UNIX_PATH_SIZE - 1;
  size_t used = (size_t)snprintf(path, sizeof path, "%s/", directory);
  memset(path + used, 'x', room - used);
  path[room] = '\0';
  snprintf(url, sizeof url, "unix://%s", path);
  world_init(&w, NULL, 0, 0);
  loop_server_open_unix(&server, &w.loop, path, &reply, 1);
  assert_int_equal(world_open_at(&w, url), 0);
  (void)fetch_hello(&w);
  kin__url parsed;
  strcat(url, "x");
  assert_int_equal(kin__url_parse(&parsed, &w.memory.allocator, url), KIN_EURL);
  close_all();
}

/* --- Sweeps --------------------------------------------------------------- */

static world *open_world(size_t fail_at, bool keeps_failing, int *err) {
  static const loop_reply reply = {.bytes = STORY_REPLY, .then = LOOP_CLOSE};
  prepare();
  world_init(&w, NULL, 0, fail_at);
  w.memory.keeps_failing = keeps_failing;
  loop_server_open_unix(&server, &w.loop, path, &reply, 1);
  *err = world_open_at(&w, url);
  return &w;
}

static const story_world with_unix = {.open = open_world, .close = close_all};

static void test_unix_sweeps(void **state) {
  (void)state;
  story_sweep_callbacks(&with_unix, 5);
  story_sweep_steps(&with_unix, 10);
  story_sweep_allocations(&with_unix, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unix_request),
      cmocka_unit_test(test_unix_watch),
      cmocka_unit_test(test_unix_heals),
      cmocka_unit_test(test_unix_longest_path),
      cmocka_unit_test(test_unix_sweeps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
