/* SPDX-License-Identifier: MIT */

/* One step of a connection is one recv of at most 64 KiB, or less if the request
 * asks for that, however much there is to read. Idle connections that are
 * overdue are closed by one call each. The sockets of a client that closes are
 * closed in steps, a silent server's watches are looked for in steps, and few
 * sockets at once stop being polled. See test_step_bounds.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"

#define BODY_BYTES (1u << 20)
#define STEP_BYTES (64u << 10)
#define IDLE 3u
#define CROWD 80u
#define STOPS_BETWEEN_STEPS 32u

static char *make_reply(void) {
  char *reply = malloc(BODY_BYTES + 128);
  assert_non_null(reply);
  int head = snprintf(
      reply, 128, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", BODY_BYTES);
  memset(reply + head, 'x', BODY_BYTES);
  reply[(size_t)head + BODY_BYTES] = '\0';
  return reply;
}

/* The bytes pile up in the kernel between two turns of the loop. Returns the
 * bytes of the largest step. */
static size_t read_large(world *w, uint8_t read_shift) {
  fetch f = {.world = w};
  const kin__request request = {.target = "/large",
                                .accept = "application/json",
                                .read_shift = read_shift};
  assert_int_equal(fetch_start_request(&f, w, &request), 0);
  size_t most = 0;
  while (f.exchange != NULL) {
    for (int i = 0; i < 4; i++) {
      uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    while (kin__sched_has_work(&w->sched)) {
      size_t before = f.body_length;
      kin__sched_run(&w->sched, 0);
      size_t by = f.body_length - before;
      most = by > most ? by : most;
    }
  }
  assert_int_equal(f.body_length, BODY_BYTES);
  fetch_finish(&f);
  return most;
}

/* A request may ask for smaller pieces. They are for its own response: the
 * second request has the first one's connection. */
static void test_a_connection_reads_in_pieces(void **state) {
  (void)state;
  char *bytes = make_reply();
  const loop_reply replies[] = {{.bytes = bytes}, {.bytes = bytes}};
  world w;
  world_setup(&w, replies, 2);
  assert_in_range(read_large(&w, 4), STEP_BYTES / 32, STEP_BYTES / 16);
  assert_in_range(read_large(&w, 0), STEP_BYTES / 4, STEP_BYTES);
  assert_int_equal(kin__transport_get_stats(w.transport)->connections, 1);
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

/* --- Many watches on one transport ---------------------------------------- */

#define WATCH "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"

typedef struct crowd {
  world w;
  fetch fetches[CROWD];
  loop_reply replies[CROWD];
} crowd;

/* Every watch has got one byte of its body. */
static crowd *open_crowd(void) {
  static crowd c;
  memset(&c, 0, sizeof c);
  for (unsigned i = 0; i < CROWD; i++) {
    c.replies[i] = (loop_reply){.bytes = WATCH};
  }
  world_setup(&c.w, c.replies, CROWD);
  for (unsigned i = 0; i < CROWD; i++) {
    c.fetches[i] = (fetch){.world = &c.w};
    assert_int_equal(fetch_start(&c.fetches[i], &c.w, "/watch", true), 0);
    WORLD_UNTIL(&c.w, c.fetches[i].bodies == 1);
  }
  return &c;
}

static void finish_crowd(crowd *c) {
  for (unsigned i = 0; i < CROWD; i++) {
    fetch_finish(&c->fetches[i]);
  }
  world_close(&c->w);
}

static unsigned count_links(const kin__link *head) {
  unsigned count = 0;
  for (const kin__link *node = head->next; node != head; node = node->next) {
    count++;
  }
  return count;
}

static void test_sockets_are_closed_in_steps(void **state) {
  (void)state;
  crowd *c = open_crowd();
  const kin__net *net = &c->w.transport->net;
  int fds = count_fds();
  c->w.sched.max_pieces = 2;
  for (unsigned i = 0; i < CROWD; i++) {
    kin__exchange_cancel(c->fetches[i].exchange);
    c->fetches[i].exchange = NULL;
  }
  assert_int_equal(net->stats.open_connections, 0);
  assert_int_equal(count_fds(), fds); /* the calls have closed none */
  for (unsigned left = CROWD; left > 0; left -= 2) {
    assert_int_equal(count_links(&net->closed_conns), left);
    assert_int_equal(count_fds(), fds - (int)(CROWD - left));
    kin__sched_run(&c->w.sched, 0);
  }
  assert_int_equal(count_links(&net->closed_conns), 0);
  finish_crowd(c);
}

static unsigned count_stopped(const kin__net *net) {
  unsigned count = 0;
  for (kin__link *node = net->conns.next; node != &net->conns;
       node = node->next) {
    count += KIN__CONTAINER_OF(node, kin__conn, node)->polled == 0;
  }
  return count;
}

/* The servers' sockets are closed, so every connection is readable. No step
 * runs, as if other tasks had all the time. */
static void test_few_sockets_at_once_are_not_polled(void **state) {
  (void)state;
  crowd *c = open_crowd();
  const kin__net *net = &c->w.transport->net;
  for (kin__link *node = net->conns.next; node != &net->conns;
       node = node->next) {
    const kin__conn *conn = KIN__CONTAINER_OF(node, kin__conn, node);
    assert_int_equal(shutdown(conn->fd, SHUT_RD), 0);
  }
  for (unsigned turn = 0; turn < 8; turn++) {
    uv_run(&c->w.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(count_stopped(net), STOPS_BETWEEN_STEPS);
  kin__sched_run(&c->w.sched, 0);
  for (unsigned turn = 0; turn < 8; turn++) {
    uv_run(&c->w.loop, UV_RUN_NOWAIT);
  }
  assert_in_range(count_stopped(net), STOPS_BETWEEN_STEPS + 1,
                  2 * STOPS_BETWEEN_STEPS);
  for (unsigned i = 0; i < CROWD; i++) {
    fetch_until_end(&c->fetches[i]);
  }
  finish_crowd(c);
}

/* Watches that are not silent are passed over, a few in each step; in a second
 * round as in the first. */
static void test_silent_watches_are_looked_for_in_steps(void **state) {
  (void)state;
  crowd *c = open_crowd();
  for (uint64_t round = 1; round <= 2; round++) {
    unsigned steps = 0;
    bool has_more = true;
    while (has_more) {
      assert_null(kin__exchange_find_silent(c->w.transport, round,
                                            c->w.now_ms - 1, &has_more));
      steps++;
    }
    assert_in_range(steps, CROWD / 32 + 1, CROWD);
  }
  unsigned found = 0;
  bool has_more = true;
  while (has_more) {
    found += kin__exchange_find_silent(c->w.transport, 3, c->w.now_ms,
                                       &has_more) != NULL;
  }
  assert_int_equal(found, CROWD);
  finish_crowd(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_connection_reads_in_pieces),
      cmocka_unit_test(test_idle_connections_are_closed_one_by_one),
      cmocka_unit_test(test_sockets_are_closed_in_steps),
      cmocka_unit_test(test_few_sockets_at_once_are_not_polled),
      cmocka_unit_test(test_silent_watches_are_looked_for_in_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
