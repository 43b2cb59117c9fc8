/* SPDX-License-Identifier: MIT */
/* Proves CN-09 as far as dialling goes: every address is tried, a dead one
 * delays the next by 250 ms, each has the connect timeout, and the error names
 * them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/core.h"
#include "transport/dial.h"

#define DELAY_MS 250u

typedef struct dialling {
  kin__dial *dial;
  size_t calls;
  int fds; /* in the callback */
  world *closes;
  kin__dial_result result;
} dialling;

static void on_closed(void *ctx) {
  world *w = ctx;
  w->is_closed = true;
}

static void on_dialled(void *ctx, const kin__dial_result *result) {
  dialling *d = ctx;
  d->calls++;
  d->fds = count_fds();
  d->result = *result;
  d->dial = NULL;
  if (d->closes != NULL) {
    kin__transport_close(d->closes->transport, on_closed, d->closes);
    d->closes->transport = NULL;
  }
}

static kin__address at(int port) {
  kin__address address;
  assert_int_equal(uv_ip4_addr("127.0.0.1", port, &address.ip4), 0);
  return address;
}

static void start(dialling *d, world *w, const kin__address *addresses,
                  size_t count) {
  *d = (dialling){.calls = 0};
  assert_int_equal(kin__dial_start_at(&d->dial, &w->transport->net, addresses,
                                      count, WORLD_CONNECT_MS, on_dialled, d),
                   0);
  assert_int_equal(d->calls, 0);
}

static void assert_connected(const dialling *d, const world *w) {
  char peer[64];
  snprintf(peer, sizeof peer, "127.0.0.1:%d", w->server.port);
  assert_int_equal(d->calls, 1);
  assert_true(d->result.fd >= 0);
  assert_string_equal(d->result.peer, peer);
  assert_int_equal(fcntl(d->result.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  kin__socket_close(d->result.fd);
}

static void test_dial_first_address(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  kin__address address = at(w.server.port);
  dialling d;
  start(&d, &w, &address, 1);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_connected(&d, &w);
  world_close(&w);
}

/* Refused, of a family that does not exist, silent; then the one that works.
 * Only the silent one costs time. */
static void test_dial_every_address(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(loop_unused_port()), at(1), at(hole.port),
                              at(w.server.port)};
  addresses[1].any.sa_family = AF_UNIX + 250;
  int fds = count_fds();
  dialling d;
  start(&d, &w, addresses, 4);
  world_run_tasks(&w);
  for (int i = 0; i < 10; i++) {
    uv_run(&w.loop, UV_RUN_NOWAIT);
    world_run_tasks(&w);
  }
  assert_int_equal(kin__timers_next_ms(&w.timers), w.now_ms + DELAY_MS);
  world_advance(&w, DELAY_MS - 1);
  assert_int_equal(count_fds(), fds + 1);
  world_advance(&w, 1);
  assert_int_equal(count_fds(), fds + 2);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.fds, fds + 1 + (int)w.server.accepted);
  assert_connected(&d, &w);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* An attempt whose successor has begun may still win. */
static void test_dial_older_wins(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole holes[2];
  loop_black_hole_open(&holes[0]);
  loop_black_hole_open(&holes[1]);
  kin__address addresses[] = {at(holes[0].port), at(holes[1].port)};
  char peer[64];
  snprintf(peer, sizeof peer, "127.0.0.1:%d", holes[0].port);
  dialling d;
  start(&d, &w, addresses, 2);
  world_run_tasks(&w);
  world_advance(&w, DELAY_MS);
  loop_black_hole_drain(&holes[0]);
  int fds = count_fds();
  WORLD_UNTIL(&w, d.calls > 0);
  assert_true(d.result.fd >= 0);
  assert_string_equal(d.result.peer, peer);
  assert_int_equal(d.fds, fds - 1); /* the newer is closed */
  kin__socket_close(d.result.fd);
  loop_black_hole_close(&holes[0]);
  loop_black_hole_close(&holes[1]);
  world_close(&w);
}

/* Each attempt has the whole timeout, also beside others. */
static void test_dial_all_time_out(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(loop_unused_port()),
                              at(hole.port)};
  addresses[1].any.sa_family = AF_UNIX + 250; /* delays nothing */
  char message[256];
  snprintf(message, sizeof message,
           "connect to 127.0.0.1:%d: no answer within %u ms; 127.0.0.1:%d: %s; "
           "127.0.0.1:%d: no answer within %u ms",
           hole.port, WORLD_CONNECT_MS, ntohs(addresses[1].ip4.sin_port),
           kin_strerror(UV_EAFNOSUPPORT), hole.port, WORLD_CONNECT_MS);
  int fds = count_fds();
  dialling d;
  start(&d, &w, addresses, 3);
  world_run_tasks(&w);
  world_advance(&w, DELAY_MS);
  assert_int_equal(count_fds(), fds + 2);
  world_advance(&w, WORLD_CONNECT_MS - DELAY_MS - 1);
  assert_int_equal(count_fds(), fds + 2);
  world_advance(&w, 1);
  assert_int_equal(count_fds(), fds + 1);
  world_advance(&w, DELAY_MS - 1);
  assert_int_equal(d.calls, 0);
  world_advance(&w, 1);
  assert_int_equal(d.calls, 1);
  assert_int_equal(d.fds, fds);
  assert_int_equal(d.result.fd, -1);
  assert_int_equal(d.result.code, KIN_ETIMEDOUT);
  assert_string_equal(d.result.message, message);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* The next address need not wait for the delay. */
static void test_dial_timeout_below_delay(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(w.server.port)};
  int fds = count_fds();
  dialling d = {.calls = 0};
  assert_int_equal(kin__dial_start_at(&d.dial, &w.transport->net, addresses, 2,
                                      DELAY_MS / 2, on_dialled, &d),
                   0);
  world_run_tasks(&w);
  assert_int_equal(kin__timers_next_ms(&w.timers), w.now_ms + DELAY_MS / 2);
  world_advance(&w, DELAY_MS / 2);
  assert_int_equal(count_fds(), fds + 1);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_connected(&d, &w);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* One net's dials know nothing of each other. */
static void test_dial_beside_another(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(w.server.port)};
  for (int round = 0; round < 2; round++) {
    dialling d[3];
    for (size_t i = 0; i < 3; i++) {
      start(&d[i], &w, addresses, 2);
    }
    world_run_tasks(&w);
    world_advance(&w, DELAY_MS);
    kin__dial_cancel(d[1].dial);
    WORLD_UNTIL(&w, d[0].calls > 0 && d[2].calls > 0);
    assert_connected(&d[0], &w);
    assert_connected(&d[2], &w);
    assert_int_equal(d[1].calls, 0);
  }
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* The transport is closed in the callback, while attempts are closing. */
static void test_dial_close_in_callback(void **state) {
  (void)state;
  for (size_t count = 2; count <= 3; count++) {
    world w;
    world_setup(&w, NULL, 0);
    loop_black_hole hole;
    loop_black_hole_open(&hole);
    kin__address addresses[] = {at(hole.port), at(hole.port),
                                at(w.server.port)};
    dialling d;
    start(&d, &w, addresses, count);
    d.closes = &w;
    world_run_tasks(&w);
    world_advance(&w, DELAY_MS);
    world_advance(&w, DELAY_MS);
    if (count == 2) {
      world_advance(&w, WORLD_CONNECT_MS); /* both fail */
      assert_int_equal(d.calls, 1);
    }
    assert_false(w.is_closed);
    WORLD_UNTIL(&w, w.is_closed);
    if (count == 3) {
      assert_connected(&d, &w);
    }
    loop_black_hole_close(&hole);
    world_close(&w);
  }
}

static bool fails_in_child(world *w, dialling *d) {
  if (uv_loop_fork(&w->loop) != 0) {
    return false;
  }
  WORLD_UNTIL(w, d->calls > 0);
  return d->result.fd < 0 && d->result.code == UV_ECANCELED;
}

/* In a forked child all attempts end; the parent's go on. */
static void test_dial_fork(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(w.server.port), at(hole.port)};
  dialling d;
  start(&d, &w, addresses, 3);
  world_run_tasks(&w);
  world_advance(&w, DELAY_MS);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    _exit(fails_in_child(&w, &d) ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(d.calls, 0);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_connected(&d, &w);
  loop_black_hole_close(&hole);
  world_close(&w);
}

static void test_dial_all_fail(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  kin__address addresses[] = {at(loop_unused_port()), at(1),
                              at(loop_unused_port())};
  addresses[1].any.sa_family = AF_UNIX + 250;
  char message[256];
  snprintf(message, sizeof message,
           "connect to 127.0.0.1:%d: %s; 127.0.0.1:1: %s; 127.0.0.1:%d: %s",
           ntohs(addresses[0].ip4.sin_port), kin_strerror(UV_ECONNREFUSED),
           kin_strerror(UV_EAFNOSUPPORT), ntohs(addresses[2].ip4.sin_port),
           kin_strerror(UV_ECONNREFUSED));
  dialling d;
  start(&d, &w, addresses, 3);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.fd, -1);
  assert_int_equal(d.result.code, UV_ECONNREFUSED);
  assert_int_equal(d.result.error_class, KIN_CLASS_CONNECT);
  assert_string_equal(d.result.message, message);

  /* What this host cannot do says less than what the network said. */
  start(&d, &w, addresses, 2);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.code, UV_ECONNREFUSED);
  start(&d, &w, addresses + 1, 1);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.code, UV_EAFNOSUPPORT);
  world_close(&w);
}

/* Addresses beyond the bound are not tried, and the message is cut. */
static void test_dial_many_addresses(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  kin__address addresses[KIN__DIAL_MAX_ADDRESSES + 1];
  for (size_t i = 0; i < KIN__DIAL_MAX_ADDRESSES; i++) {
    addresses[i] = at(loop_unused_port());
  }
  addresses[KIN__DIAL_MAX_ADDRESSES] = at(w.server.port);
  dialling d;
  start(&d, &w, addresses, KIN__DIAL_MAX_ADDRESSES + 1);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.code, UV_ECONNREFUSED);
  assert_int_equal(strlen(d.result.message), sizeof d.result.message - 1);
  world_close(&w);
}

/* All addresses of a host at a time, and not one more. */
static void test_dial_many_silent(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[KIN__DIAL_MAX_ADDRESSES + 1];
  for (size_t i = 0; i <= KIN__DIAL_MAX_ADDRESSES; i++) {
    addresses[i] = at(hole.port);
  }
  int fds = count_fds();
  dialling d;
  start(&d, &w, addresses, KIN__DIAL_MAX_ADDRESSES + 1);
  world_run_tasks(&w);
  for (int i = 1; i <= KIN__DIAL_MAX_ADDRESSES; i++) {
    assert_int_equal(count_fds(), fds + i);
    world_advance(&w, DELAY_MS);
  }
  assert_int_equal(count_fds(), fds + KIN__DIAL_MAX_ADDRESSES);
  kin__dial_cancel(d.dial);
  assert_int_equal(count_fds(), fds);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* The loop was held up for longer than the timeout; a connection is there. */
static void test_dial_late_loop(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    world w;
    world_setup(&w, NULL, 0);
    loop_black_hole hole;
    loop_black_hole_open(&hole);
    kin__address addresses[] = {at(hole.port), at(w.server.port)};
    dialling d;
    start(&d, &w, addresses + 1 - i, 1 + i);
    world_run_tasks(&w);
    if (i == 1) {
      world_advance(&w, DELAY_MS);
    }
    world_advance(&w, 2 * WORLD_CONNECT_MS);
    WORLD_UNTIL(&w, d.calls > 0);
    assert_connected(&d, &w);
    loop_black_hole_close(&hole);
    world_close(&w);
  }
}

/* The loop was held up for longer than the delay: no second attempt. */
static void test_dial_late_for_delay(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  kin__address addresses[] = {at(w.server.port), at(w.server.port)};
  dialling d;
  start(&d, &w, addresses, 2);
  world_run_tasks(&w);
  world_advance(&w, DELAY_MS);
  assert_int_equal(d.calls, 1);
  assert_connected(&d, &w);
  world_turn(&w);
  assert_int_equal(w.server.accepted, 1);
  world_close(&w);
}

static void test_dial_by_name(void **state) {
  (void)state;
  static const char *const hosts[] = {"localhost", "127.0.0.1"};
  for (size_t i = 0; i < 2; i++) {
    world w;
    world_setup(&w, NULL, 0);
    dialling d = {.calls = 0};
    assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, hosts[i],
                                     (uint16_t)w.server.port, WORLD_CONNECT_MS,
                                     on_dialled, &d),
                     0);
    assert_int_equal(d.calls, 0);
    WORLD_UNTIL(&w, d.calls > 0);
    assert_connected(&d, &w);
    world_close(&w);
  }
}

/* An address in text form reaches the IPv6 code, whether or not this host has
 * IPv6: nothing listens there in any case. */
static void test_dial_ip6_literal(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  int port = loop_unused_port();
  char prefix[64];
  snprintf(prefix, sizeof prefix, "connect to [::1]:%d: ", port);
  dialling d = {.calls = 0};
  assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, "::1",
                                   (uint16_t)port, WORLD_CONNECT_MS, on_dialled,
                                   &d),
                   0);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.error_class, KIN_CLASS_CONNECT);
  assert_memory_equal(d.result.message, prefix, strlen(prefix));
  world_close(&w);
}

/* A name that libuv refuses at once; still not from inside the call. */
static void test_dial_overlong_name(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  char host[400];
  memset(host, 'a', sizeof host);
  host[sizeof host - 1] = '\0';
  dialling d = {.calls = 0};
  assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, host, 1,
                                   WORLD_CONNECT_MS, on_dialled, &d),
                   0);
  assert_int_equal(d.calls, 0);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_int_equal(d.result.code, KIN_ERESOLVE);
  assert_int_equal(d.result.error_class, KIN_CLASS_DNS);
  world_close(&w);
}

static void test_dial_out_of_memory(void **state) {
  (void)state;
  static const char *const hosts[] = {"localhost", "127.0.0.1"};
  world w;
  world_setup(&w, NULL, 0);
  for (size_t i = 0; i < 2; i++) {
    w.memory.fail_at = atomic_load(&w.memory.calls) + 1;
    dialling d = {.calls = 0};
    assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, hosts[i], 1,
                                     WORLD_CONNECT_MS, on_dialled, &d),
                     KIN_ENOMEM);
    assert_null(d.dial);
  }
  world_close(&w);
}

/* Handles of attempts that are under way follow kin__transport_set_ref. */
static void test_dial_ref(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(hole.port)};
  unsigned before = w.loop.active_handles;
  dialling d;
  start(&d, &w, addresses, 2);
  world_run_tasks(&w);
  assert_int_equal(w.loop.active_handles, before + 1);
  world_advance(&w, DELAY_MS);
  assert_int_equal(w.loop.active_handles, before + 2);
  kin__transport_set_ref(w.transport, false);
  assert_int_equal(w.loop.active_handles, before);
  dialling other;
  start(&other, &w, addresses, 2);
  world_run_tasks(&w);
  world_advance(&w, DELAY_MS);
  assert_int_equal(w.loop.active_handles, before);
  kin__transport_set_ref(w.transport, true);
  assert_int_equal(w.loop.active_handles, before + 4);
  kin__dial_cancel(d.dial);
  kin__dial_cancel(other.dial);
  loop_black_hole_close(&hole);
  world_close(&w);
}

/* A socket that has met itself is not a server. */
static void test_dial_self_connect(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  int fd = kin__socket_open(AF_INET);
  assert_true(fd >= 0);
  kin__address address = at(0);
  socklen_t size = sizeof address.ip4;
  assert_int_equal(bind(fd, &address.any, size), 0);
  assert_int_equal(getsockname(fd, &address.any, &size), 0);
  assert_int_equal(kin__socket_connect(fd, &address), 0);
  assert_true(kin__socket_is_writable(fd));
  assert_int_equal(kin__socket_send(fd, "x", 1), 1); /* it is connected */
  assert_int_equal(kin__socket_connected(fd), UV_ECONNREFUSED);
  kin__socket_close(fd);
  world_close(&w);
}

/* Cancelled after every possible number of steps, with a refused address,
 * silent ones and a good one, by address and by name. */
static bool cancel_after(size_t steps, bool by_name) {
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(hole.port), at(loop_unused_port()),
                              at(hole.port), at(w.server.port)};
  dialling d = {.calls = 0};
  if (by_name) {
    assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, "localhost",
                                     (uint16_t)w.server.port, WORLD_CONNECT_MS,
                                     on_dialled, &d),
                     0);
  } else {
    start(&d, &w, addresses, 4);
  }
  for (size_t i = 0; i < steps && d.calls == 0; i++) {
    if (kin__sched_has_work(&w.sched)) {
      kin__sched_run(&w.sched, 0);
    } else if (by_name) {
      uv_run(&w.loop, UV_RUN_ONCE);
    } else {
      uv_run(&w.loop, UV_RUN_NOWAIT);
      w.now_ms += DELAY_MS / 2;
      kin__timers_run(&w.timers, w.now_ms, 1);
    }
  }
  bool is_over = d.calls > 0;
  if (is_over) {
    assert_connected(&d, &w);
  } else {
    kin__dial_cancel(d.dial);
  }
  loop_black_hole_close(&hole);
  world_close(&w);
  assert_int_equal(d.calls, is_over);
  return is_over;
}

static void test_dial_cancel(void **state) {
  (void)state;
  for (int by_name = 0; by_name < 2; by_name++) {
    size_t steps = 0;
    while (!cancel_after(steps, by_name)) {
      steps++;
      assert_true(steps < 100);
    }
    assert_true(steps >= 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dial_first_address),
      cmocka_unit_test(test_dial_every_address),
      cmocka_unit_test(test_dial_older_wins),
      cmocka_unit_test(test_dial_all_fail),
      cmocka_unit_test(test_dial_all_time_out),
      cmocka_unit_test(test_dial_timeout_below_delay),
      cmocka_unit_test(test_dial_beside_another),
      cmocka_unit_test(test_dial_close_in_callback),
      cmocka_unit_test(test_dial_fork),
      cmocka_unit_test(test_dial_many_addresses),
      cmocka_unit_test(test_dial_many_silent),
      cmocka_unit_test(test_dial_late_loop),
      cmocka_unit_test(test_dial_late_for_delay),
      cmocka_unit_test(test_dial_by_name),
      cmocka_unit_test(test_dial_ip6_literal),
      cmocka_unit_test(test_dial_overlong_name),
      cmocka_unit_test(test_dial_out_of_memory),
      cmocka_unit_test(test_dial_ref),
      cmocka_unit_test(test_dial_self_connect),
      cmocka_unit_test(test_dial_cancel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
