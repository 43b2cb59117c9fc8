/* SPDX-License-Identifier: MIT */
/* Proves RW-15 and TR-09 for servers that are gone without a word: a watch that
 * is silent is broken within 40 s if the server does not answer a question
 * either, and not if it does; what is asked next has a new connection; and that
 * asking costs little. Time is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/resource.h>

#include <cmocka.h>

#include "support/pool_plug.h"
#include "support/tls_world.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/exchange_core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
#define VERSION OK "Content-Length: 2\r\n\r\n{}"
#define SILENCE_MS 30000u
#define ANSWER_MS 10000u

static const tls_reply silence = {.bytes = NULL};

/* A world in which `count` watches (1 or 2) are open and have got a byte each.
 * Replies to what comes next are the last of `replies`. */
static void open_watches(tls_world *t, fetch *watches, size_t count,
                         const tls_reply *replies) {
  tls_world_init(t, replies + 2 - count, count + 1, 0);
  t->probe_silence_ms = SILENCE_MS;
  assert_int_equal(tls_world_open(t, "127.0.0.1"), 0);
  for (size_t i = 0; i < count; i++) {
    watches[i] = (fetch){.world = &t->w};
    assert_int_equal(fetch_start(&watches[i], &t->w, "/watch", true), 0);
    WORLD_UNTIL(&t->w, watches[i].bodies == 1);
  }
}

/* The first replies are a watch's. */
#define WATCHES(last)                                                          \
  { {.bytes = CHUNKED}, {.bytes = CHUNKED}, last }

static void close_watches(tls_world *t, fetch *watches, size_t count) {
  for (size_t i = 0; i < count; i++) {
    fetch_finish(&watches[i]);
  }
  tls_world_close(t);
}

static uint64_t requests(const tls_world *t) {
  return kin__transport_get_stats(t->w.transport)->requests;
}

static bool is_asking(const tls_world *t) {
  return t->w.transport->probe.is_waiting;
}

static void assert_broken(const fetch *f, const char *words) {
  assert_int_equal(f->ends, 1);
  assert_int_equal(f->error.code, KIN_ETIMEDOUT);
  assert_int_equal(f->error.error_class, KIN_CLASS_CONNECT);
  assert_true(f->error.had_head);
  tls_assert_words(f->error.message, words);
}

/* A server that has stopped: both watches end 40 s after their last byte. */
static void test_probe_no_answer(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watches[2];
  open_watches(&t, watches, 2, replies);
  world_advance(&t.w, SILENCE_MS - 1);
  assert_false(is_asking(&t));
  world_advance(&t.w, 1);
  assert_true(is_asking(&t));
  WORLD_UNTIL(&t.w, t.server.requests == 3);
  assert_int_equal(
      strncmp(t.server.last_request, "GET /version HTTP/1.1\r\n", 23), 0);
  world_advance(&t.w, ANSWER_MS - 1);
  assert_int_equal(watches[0].ends + watches[1].ends, 0);
  world_advance(&t.w, 1);
  for (size_t i = 0; i < 2; i++) {
    assert_broken(&watches[i],
                  "no byte for 40 s, and the server does not answer");
  }
  WORLD_UNTIL(&t.w, t.server.open == 0);
  close_watches(&t, watches, 2);
}

/* TR-09: idle connections to a silent server are as dead as the watches: the
 * next request dials, instead of waiting on each of them in turn. */
static void test_probe_no_answer_on_idle(void **state) {
  (void)state;
  const tls_reply replies[] = {{.bytes = CHUNKED},
                               {.bytes = HELLO},
                               {.bytes = HELLO},
                               silence,
                               {.bytes = HELLO}};
  tls_world t;
  tls_world_init(&t, replies, sizeof replies / sizeof replies[0], 0);
  t.probe_silence_ms = SILENCE_MS;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch fetches[3] = {{.world = &t.w}, {.world = &t.w}, {.world = &t.w}};
  assert_int_equal(fetch_start(&fetches[0], &t.w, "/watch", true), 0);
  WORLD_UNTIL(&t.w, fetches[0].bodies == 1);
  assert_int_equal(fetch_start(&fetches[1], &t.w, "/list", false), 0);
  assert_int_equal(fetch_start(&fetches[2], &t.w, "/list", false), 0);
  fetch_until_end(&fetches[1]);
  fetch_until_end(&fetches[2]);
  const kin__transport_stats *stats = kin__transport_get_stats(t.w.transport);
  assert_int_equal(stats->open_connections, 3);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 4);
  assert_int_equal(t.server.accepted, 3); /* asked on an idle one */
  world_advance(&t.w, ANSWER_MS);
  assert_broken(&fetches[0], "no byte for 40 s, and the server does not");
  assert_int_equal(stats->open_connections, 0);
  assert_string_equal(tls_world_try(&t), "");
  assert_int_equal(t.server.accepted, 4);
  for (size_t i = 0; i < 3; i++) {
    fetch_finish(&fetches[i]);
  }
  tls_world_close(&t);
}

/* The same if requests have less time than the question. */
static void test_probe_impatient_requests(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  t.w.transport->response_timeout_ms = ANSWER_MS / 2;
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 2);
  world_advance(&t.w, ANSWER_MS / 2 - 1);
  assert_int_equal(watch.ends, 0);
  world_advance(&t.w, 1);
  assert_broken(&watch, "no byte for 35 s, and the server does not answer");
  close_watches(&t, &watch, 1);
}

/* The same if there is no connection to be had: at once. */
static void test_probe_refused(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  t.w.transport->url.port = (uint16_t)loop_unused_port();
  world_advance(&t.w, SILENCE_MS);
  fetch_until_end(&watch);
  assert_broken(&watch, "no byte for 30 s, and the server does not answer");
  close_watches(&t, &watch, 1);
}

/* Whatever is answered, the server is alive; and it is asked again 30 s later,
 * on the same connection. */
static void test_probe_answer(void **state) {
  (void)state;
  static const char *const answers[] = {
      VERSION, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 503 Unavailable\r\nContent-Length: 1\r\n\r\nx"};
  for (size_t i = 0; i < 3; i++) {
    const tls_reply replies[] = WATCHES({.bytes = answers[i]});
    tls_world t;
    fetch watches[2];
    open_watches(&t, watches, 2, replies);
    for (size_t round = 1; round <= 5; round++) {
      world_advance(&t.w, SILENCE_MS);
      WORLD_UNTIL(&t.w, !is_asking(&t));
      assert_int_equal(requests(&t), 2 + round);
      assert_int_equal(t.server.accepted, 3);
    }
    assert_int_equal(watches[0].ends + watches[1].ends, 0);
    close_watches(&t, watches, 2);
  }
}

/* A byte on any watch will do; the timer is only looked at when it is due. */
static void test_probe_not_needed(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = VERSION});
  tls_world t;
  fetch watches[2];
  open_watches(&t, watches, 2, replies);
  for (int round = 0; round < 6; round++) {
    world_advance(&t.w, SILENCE_MS - 1);
    size_t bodies = watches[0].bodies;
    tls_server_push(&t.server, "1\r\nb\r\n");
    WORLD_UNTIL(&t.w, watches[0].bodies > bodies);
  }
  assert_int_equal(requests(&t), 2);
  close_watches(&t, watches, 2);
}

/* An idle client with a bookmark a minute: how often it is woken. */
static void test_probe_wakes_seldom(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = VERSION});
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  size_t timers = 0;
  uint64_t asked = requests(&t);
  for (int minute = 0; minute < 10; minute++) {
    for (uint64_t until = t.w.now_ms + 60000; t.w.now_ms < until;) {
      uint64_t next = kin__timers_next_ms(&t.w.timers);
      uint64_t wait = (next < until ? next : until) - t.w.now_ms;
      timers += next <= until;
      world_advance(&t.w, wait);
      WORLD_UNTIL(&t.w, !is_asking(&t));
    }
    size_t bodies = watch.bodies;
    tls_server_push(&t.server, "1\r\nb\r\n");
    WORLD_UNTIL(&t.w, watch.bodies > bodies);
  }
  assert_true(requests(&t) - asked <= 20);
  assert_true(timers <= 30);
  close_watches(&t, &watch, 1);
}

/* Bytes that came while the question was open save the watch they came on. */
static void test_probe_breaks_silent_ones_only(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watches[2];
  open_watches(&t, watches, 2, replies);
  kin__exchange *first = watches[0].exchange;
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 3);
  kin__exchange_pause(first); /* we do not listen to it: it cannot be blamed */
  world_advance(&t.w, ANSWER_MS);
  assert_int_equal(watches[0].ends, 0);
  assert_broken(&watches[1], "no byte for 40 s");
  kin__exchange_resume(first);
  world_advance(&t.w, SILENCE_MS - 1);
  assert_int_equal(watches[0].ends, 0);
  world_advance(&t.w, 1 + ANSWER_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 4);
  world_advance(&t.w, ANSWER_MS);
  fetch_until_end(&watches[0]);
  assert_broken(&watches[0], "and the server does not answer");
  close_watches(&t, watches, 2);
}

/* It is the loop that was held up: the answer waits in the socket. */
static void test_probe_late_loop(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = VERSION});
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, requests(&t) == 2);
  while (t.server.replied < 2) {
    uv_run(&t.w.loop, UV_RUN_ONCE);
  }
  t.w.now_ms += 10 * ANSWER_MS;
  while (kin__timers_run(&t.w.timers, t.w.now_ms, 100)) {
  }
  assert_true(is_asking(&t));
  WORLD_UNTIL(&t.w, !is_asking(&t));
  world_run_tasks(&t.w);
  assert_int_equal(watch.ends, 0);
  close_watches(&t, &watch, 1);
}

/* No watch, no question; not for lists, and not after the last watch. */
static void test_probe_without_watch(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = VERSION});
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  kin__exchange_cancel(watch.exchange);
  world_advance(&t.w, SILENCE_MS);
  assert_int_equal(kin__timers_next_ms(&t.w.timers), UINT64_MAX);
  fetch list = {.world = &t.w};
  fetch_run(&list, &t.w, "/list");
  world_advance(&t.w, WORLD_IDLE_MS);
  assert_int_equal(kin__timers_next_ms(&t.w.timers), UINT64_MAX);
  assert_int_equal(requests(&t), 2);
  fetch_finish(&list);
  close_watches(&t, &watch, 1);
}

/* What fails on our side, or in the certificate, says nothing of silence. */
static void test_probe_other_failures(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = "garbage\r\n"});
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, !is_asking(&t));
  assert_int_equal(watch.ends, 0);

  tls_cert other = tls_cert_make(&(tls_cert_options){.name = "other"});
  tls_server_set_options(&t.server,
                         &(tls_server_options){.certificate = &other});
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, !is_asking(&t));
  assert_int_equal(watch.ends, 0);

  /* Out of descriptors. */
  struct rlimit files;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
  const struct rlimit none = {.rlim_cur = 3, .rlim_max = files.rlim_max};
  uint64_t asked_ms = t.w.transport->probe.asked_ms;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, !is_asking(&t));
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
  assert_true(t.w.transport->probe.asked_ms > asked_ms);
  world_run_tasks(&t.w);
  assert_int_equal(watch.ends, 0);

  /* Out of memory: it is asked again later. */
  t.w.memory.fail_at = atomic_load(&t.w.memory.calls) + 1;
  world_advance(&t.w, SILENCE_MS);
  assert_true(fail_alloc_has_failed(&t.w.memory));
  assert_false(is_asking(&t));
  world_advance(&t.w, SILENCE_MS);
  assert_true(is_asking(&t));
  close_watches(&t, &watch, 1);
  tls_cert_finish(&other);
}

/* A question that waits for this host, here for a new pair of certificate and
 * key to be built in a pool that has no time, has not reached the server. It is
 * asked again later. */
static void test_probe_waits_for_host(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  assert_int_equal(kin__tls_context_set_pair(t.w.transport->tls, NULL, NULL),
                   0);
  pool_plug plug;
  plug_open(&plug, &t.w.loop);
  for (int round = 0; round < 2; round++) {
    world_advance(&t.w, SILENCE_MS);
    assert_true(is_asking(&t));
    world_advance(&t.w, ANSWER_MS);
    assert_false(is_asking(&t));
    assert_int_equal(watch.ends, 0);
  }
  plug_pull(&plug);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 2);
  world_advance(&t.w, ANSWER_MS);
  assert_int_equal(watch.ends, 1);
  assert_int_equal(watch.error.code, KIN_ETIMEDOUT);
  plug_close(&plug);
  close_watches(&t, &watch, 1);
}

/* One watch of a server that is given by its name; requests have connect_ms to
 * connect. */
static void open_named(tls_world *t, fetch *watch, const tls_reply *replies,
                       uint32_t connect_ms) {
  tls_world_init(t, replies, 2, 0);
  t->probe_silence_ms = SILENCE_MS;
  assert_int_equal(tls_world_open(t, "localhost"), 0);
  *watch = (fetch){.world = &t->w};
  assert_int_equal(fetch_start(watch, &t->w, "/watch", true), 0);
  WORLD_UNTIL(&t->w, watch->bodies == 1);
  t->w.transport->connect_timeout_ms = connect_ms;
}

static const uint32_t connect_times_ms[] = {ANSWER_MS / 2, ANSWER_MS,
                                            2 * ANSWER_MS};

/* The same for the look-up of the server's name, however long it may take. */
static void test_probe_waits_for_a_look_up(void **state) {
  (void)state;
  static const tls_reply replies[] = {{.bytes = CHUNKED}, {.bytes = VERSION}};
  for (size_t i = 0; i < 3; i++) {
    tls_world t;
    fetch watch;
    open_named(&t, &watch, replies, connect_times_ms[i]);
    pool_plug plug;
    plug_open(&plug, &t.w.loop);
    for (int round = 0; round < 2; round++) {
      world_advance(&t.w, SILENCE_MS);
      assert_true(is_asking(&t));
      world_run_tasks(&t.w);
      world_advance(&t.w, ANSWER_MS / 2);
      assert_int_equal(is_asking(&t), connect_times_ms[i] >= ANSWER_MS);
      world_advance(&t.w, ANSWER_MS / 2);
      assert_false(is_asking(&t));
      assert_int_equal(watch.ends, 0);
    }
    plug_pull(&plug);
    world_advance(&t.w, SILENCE_MS);
    WORLD_UNTIL(&t.w, t.server.requests == 2 && !is_asking(&t));
    assert_int_equal(watch.ends, 0);
    plug_close(&plug);
    close_watches(&t, &watch, 1);
  }
}

/* A look-up that has begun, and whose answer does not come: the network is cut
 * off, its name servers too. When all threads are held after the look-up, one of
 * them has begun it; the loop does not hear of its end. The look-up may have
 * begun late, so the server is asked a second time. */
static void test_probe_no_answer_of_a_look_up(void **state) {
  (void)state;
  static const tls_reply replies[] = {{.bytes = CHUNKED}, {.bytes = VERSION}};
  for (size_t i = 0; i < 3; i++) {
    tls_world t;
    fetch watch;
    open_named(&t, &watch, replies, connect_times_ms[i]);
    world_advance(&t.w, SILENCE_MS);
    world_run_tasks(&t.w);
    pool_plug plug;
    plug_open(&plug, &t.w.loop);
    uint32_t wait_ms = i == 0 ? ANSWER_MS / 2 : ANSWER_MS;
    world_advance(&t.w, wait_ms);
    world_advance(&t.w, wait_ms - 1);
    assert_int_equal(watch.ends, 0);
    world_advance(&t.w, 1);
    assert_broken(&watch, i == 0 ? "no byte for 40 s, and the server does"
                                 : "no byte for 50 s, and the server does");
    plug_pull(&plug);
    plug_close(&plug);
    close_watches(&t, &watch, 1);
  }
}

/* The pool has time for the look-up only when the question's time is nearly
 * over: the server had none of it. The loop has not heard the look-up's end. */
static void test_probe_late_look_up(void **state) {
  (void)state;
  static const tls_reply replies[] = {{.bytes = CHUNKED}, {.bytes = VERSION}};
  for (size_t i = 0; i < 3; i++) {
    tls_world t;
    fetch watch;
    open_named(&t, &watch, replies, connect_times_ms[i]);
    pool_plug plugs[2];
    plug_open(&plugs[0], &t.w.loop);
    world_advance(&t.w, SILENCE_MS);
    world_run_tasks(&t.w);
    bool is_impatient = connect_times_ms[i] < ANSWER_MS;
    world_advance(&t.w, (is_impatient ? ANSWER_MS / 2 : ANSWER_MS) - 1);
    plug_pull(&plugs[0]);
    plug_open(&plugs[1], &t.w.loop); /* a thread has done the look-up */
    world_advance(&t.w, 1);
    assert_int_equal(watch.ends, 0);
    plug_pull(&plugs[1]);
    WORLD_UNTIL(&t.w, !is_asking(&t));
    assert_int_equal(watch.ends, 0);
    assert_int_equal(t.server.requests, 2);
    plug_close(&plugs[0]);
    plug_close(&plugs[1]);
    close_watches(&t, &watch, 1);
  }
}

/* The same for what a new connection needs. */
static void test_probe_late_certificates(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  assert_int_equal(kin__tls_context_set_pair(t.w.transport->tls, NULL, NULL),
                   0);
  pool_plug plug;
  plug_open(&plug, &t.w.loop);
  world_advance(&t.w, SILENCE_MS);
  world_run_tasks(&t.w);
  world_advance(&t.w, ANSWER_MS - 1);
  plug_pull(&plug);
  WORLD_UNTIL(&t.w, t.server.requests == 2);
  world_advance(&t.w, ANSWER_MS - 1);
  assert_int_equal(watch.ends, 0);
  world_advance(&t.w, 1);
  assert_broken(&watch, "no byte for 49 s, and the server does not answer");
  plug_close(&plug);
  close_watches(&t, &watch, 1);
}

/* The loop is held up when the probe has begun to connect: the kernel has
 * connected, and the loop has not heard that. */
static void test_probe_late_loop_while_dialling(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES({.bytes = VERSION});
  for (size_t i = 1; i < 3; i++) {
    tls_world t;
    fetch watch;
    open_watches(&t, &watch, 1, replies);
    t.w.transport->connect_timeout_ms = connect_times_ms[i];
    world_advance(&t.w, SILENCE_MS);
    world_run_tasks(&t.w);
    assert_int_equal(t.w.transport->probe.exchange->state,
                     KIN__EXCHANGE_DIALLING);
    world_advance(&t.w, ANSWER_MS);
    assert_int_equal(watch.ends, 0);
    WORLD_UNTIL(&t.w, !is_asking(&t));
    assert_int_equal(watch.ends, 0);
    close_watches(&t, &watch, 1);
  }
}

/* A server to which no connection comes: the time to connect, but at most twice
 * the question's, since the loop may have missed the connection. */
static void test_probe_no_connection(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  for (size_t i = 0; i < 3; i++) {
    loop_black_hole hole;
    loop_black_hole_open(&hole);
    tls_world t;
    fetch watch;
    open_watches(&t, &watch, 1, replies);
    t.w.transport->url.port = (uint16_t)hole.port;
    t.w.transport->connect_timeout_ms = 2 * connect_times_ms[i];
    world_advance(&t.w, SILENCE_MS);
    world_run_tasks(&t.w);
    if (i > 0) {
      world_advance(&t.w, ANSWER_MS);
    }
    world_advance(&t.w, ANSWER_MS - 1);
    assert_int_equal(watch.ends, 0);
    world_advance(&t.w, 1);
    assert_broken(&watch, i == 0 ? "no byte for 40 s" : "no byte for 50 s");
    close_watches(&t, &watch, 1);
    loop_black_hole_close(&hole);
  }
}

/* Look-ups of other requests get no answer and hold all threads that libuv
 * gives to look-ups, so that the probe's own is not begun. */
static void test_probe_other_look_ups_hang(void **state) {
  (void)state;
  static const tls_reply replies[] = {{.bytes = CHUNKED}, {.bytes = VERSION}};
  for (size_t i = 0; i < 3; i++) {
    tls_world t;
    fetch watch;
    open_named(&t, &watch, replies, connect_times_ms[i]);
    t.w.transport->connect_timeout_ms = ANSWER_MS / 2;
    fetch others[2] = {{.world = &t.w}, {.world = &t.w}};
    world_advance(&t.w, SILENCE_MS - 1);
    for (size_t k = 0; k < 2; k++) {
      assert_int_equal(fetch_start(&others[k], &t.w, "/list", false), 0);
    }
    world_run_tasks(&t.w);
    t.w.transport->connect_timeout_ms = connect_times_ms[i];
    pool_plug plug;
    plug_open(&plug, &t.w.loop);
    world_advance(&t.w, 1);
    world_run_tasks(&t.w);
    assert_true(is_asking(&t));
    uint32_t wait_ms = i == 0 ? ANSWER_MS / 2 : ANSWER_MS;
    world_advance(&t.w, wait_ms);
    assert_int_equal(others[0].ends + others[1].ends, 2);
    assert_int_equal(watch.ends, 0);
    assert_true(is_asking(&t));
    world_advance(&t.w, wait_ms - 1);
    assert_int_equal(watch.ends, 0);
    world_advance(&t.w, 1);
    assert_broken(&watch, i == 0 ? "no byte for 40 s" : "no byte for 50 s");
    plug_pull(&plug);
    WORLD_UNTIL(&t.w, t.w.transport->net.hanging == 0);
    plug_close(&plug);
    fetch_finish(&others[0]);
    fetch_finish(&others[1]);
    close_watches(&t, &watch, 1);
  }
}

/* An answer without an end is cut off. */
static void test_probe_endless_answer(void **state) {
  (void)state;
  static char large[256 << 10];
  memset(large, 'x', sizeof large);
  memcpy(large, OK "\r\n", strlen(OK "\r\n"));
  const tls_reply replies[] =
      WATCHES(((tls_reply){.bytes = large, .length = sizeof large}));
  tls_world t;
  fetch watch;
  open_watches(&t, &watch, 1, replies);
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.w.transport->probe.body_bytes > 0 &&
                        t.w.transport->probe.exchange == NULL);
  assert_int_equal(watch.ends, 0);
  close_watches(&t, &watch, 1);
}

/* The callback of a broken watch closes the transport. */
static bool is_closed;

static void on_closed(void *ctx) {
  (void)ctx;
  is_closed = true;
}

static void close_at_end(fetch *f) {
  if (f->ends > 0) {
    kin__transport_close(f->world->transport, on_closed, NULL);
    f->world->transport = NULL;
  }
}

static void test_probe_close_in_callback(void **state) {
  (void)state;
  const tls_reply replies[] = WATCHES(silence);
  tls_world t;
  fetch watches[2];
  open_watches(&t, watches, 2, replies);
  watches[0].hook = watches[1].hook = close_at_end;
  is_closed = false;
  world_advance(&t.w, SILENCE_MS);
  WORLD_UNTIL(&t.w, t.server.requests == 3);
  world_advance(&t.w, ANSWER_MS);
  assert_int_equal(watches[0].ends + watches[1].ends, 1);
  WORLD_UNTIL(&t.w, is_closed);
  close_watches(&t, watches, 2);
}

/* Closed while the question is open, and while nothing is. */
static void test_probe_close(void **state) {
  (void)state;
  for (int is_open = 0; is_open < 2; is_open++) {
    const tls_reply replies[] = WATCHES(silence);
    tls_world t;
    fetch watch;
    open_watches(&t, &watch, 1, replies);
    world_advance(&t.w, is_open ? SILENCE_MS : 1);
    assert_int_equal(is_asking(&t), is_open);
    close_watches(&t, &watch, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_probe_no_answer),
      cmocka_unit_test(test_probe_no_answer_on_idle),
      cmocka_unit_test(test_probe_impatient_requests),
      cmocka_unit_test(test_probe_refused),
      cmocka_unit_test(test_probe_answer),
      cmocka_unit_test(test_probe_not_needed),
      cmocka_unit_test(test_probe_wakes_seldom),
      cmocka_unit_test(test_probe_breaks_silent_ones_only),
      cmocka_unit_test(test_probe_late_loop),
      cmocka_unit_test(test_probe_without_watch),
      cmocka_unit_test(test_probe_other_failures),
      cmocka_unit_test(test_probe_waits_for_host),
      cmocka_unit_test(test_probe_waits_for_a_look_up),
      cmocka_unit_test(test_probe_no_answer_of_a_look_up),
      cmocka_unit_test(test_probe_other_look_ups_hang),
      cmocka_unit_test(test_probe_late_look_up),
      cmocka_unit_test(test_probe_late_certificates),
      cmocka_unit_test(test_probe_late_loop_while_dialling),
      cmocka_unit_test(test_probe_no_connection),
      cmocka_unit_test(test_probe_endless_answer),
      cmocka_unit_test(test_probe_close_in_callback),
      cmocka_unit_test(test_probe_close),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
