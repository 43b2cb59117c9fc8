/* SPDX-License-Identifier: MIT */

/* One step of a connection is one recv of at most 64 KiB, however much there is
 * to read, and of the idle connections that are overdue each is closed by a
 * call of its own. See test_step_bounds.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/core.h"

#define BODY_BYTES (1u << 20)
#define STEP_BYTES (64u << 10)
#define IDLE 3u

static char *make_reply(void) {
  char *reply = malloc(BODY_BYTES + 128);
  assert_non_null(reply);
  int head = snprintf(
      reply, 128, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", BODY_BYTES);
  memset(reply + head, 'x', BODY_BYTES);
  reply[(size_t)head + BODY_BYTES] = '\0';
  return reply;
}

/* The bytes pile up in the kernel between two turns of the loop. */
static void test_a_connection_reads_in_pieces(void **state) {
  (void)state;
  char *bytes = make_reply();
  const loop_reply replies[] = {{.bytes = bytes}};
  world w;
  fetch f = {.world = &w};
  world_setup(&w, replies, 1);
  assert_int_equal(fetch_start(&f, &w, "/large", false), 0);
  size_t most = 0;
  while (f.exchange != NULL) {
    for (int i = 0; i < 4; i++) {
      uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    while (kin__sched_has_work(&w.sched)) {
      size_t before = f.body_length;
      kin__sched_run(&w.sched, 0);
      size_t by = f.body_length - before;
      most = by > most ? by : most;
    }
  }
  assert_int_equal(f.body_length, BODY_BYTES);
  assert_in_range(most, STEP_BYTES / 4, STEP_BYTES);
  fetch_finish(&f);
  world_close(&w);
  free(bytes);
}

static void test_idle_connections_are_closed_one_by_one(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}};
  world w;
  fetch fetches[IDLE] = {0};
  world_setup(&w, replies, 1);
  for (unsigned i = 0; i < IDLE; i++) {
    assert_int_equal(fetch_start(&fetches[i], &w, "/", false), 0);
  }
  for (unsigned i = 0; i < IDLE; i++) {
    fetch_until_end(&fetches[i]);
    fetch_finish(&fetches[i]);
  }
  const kin__pool *pool = &w.transport->pool;
  assert_int_equal(pool->count, IDLE);
  w.now_ms += WORLD_IDLE_MS;
  for (unsigned left = IDLE; left > 0; left--) {
    assert_int_equal(pool->count, left);
    kin__timers_run(&w.timers, w.now_ms, 1);
  }
  assert_int_equal(pool->count, 0);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_connection_reads_in_pieces),
      cmocka_unit_test(test_idle_connections_are_closed_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
