/* SPDX-License-Identifier: MIT */
/* Proves CN-09 as far as dialling goes: every address is tried in turn, each
 * with the connect timeout, and the error names them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/core.h"
#include "transport/dial.h"

typedef struct dialling {
  kin__dial *dial;
  size_t calls;
  kin__dial_result result;
} dialling;

static void on_dialled(void *ctx, const kin__dial_result *result) {
  dialling *d = ctx;
  d->calls++;
  d->result = *result;
  d->dial = NULL;
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

/* Refused, of a family that does not exist, silent; then the one that works. */
static void test_dial_every_address(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(loop_unused_port()), at(1), at(hole.port),
                              at(w.server.port)};
  addresses[1].any.sa_family = AF_UNIX + 250;
  dialling d;
  start(&d, &w, addresses, 4);
  /* The third is being tried once the timer is active for it. */
  uint64_t first_due = UINT64_MAX;
  while (w.server.accepted == 0) {
    world_run_tasks(&w);
    uint64_t due = kin__timers_next_ms(&w.timers);
    if (first_due == UINT64_MAX) {
      first_due = due;
      assert_int_equal(due, w.now_ms + WORLD_CONNECT_MS);
    }
    uv_run(&w.loop, UV_RUN_NOWAIT);
    world_advance(&w, 1);
  }
  assert_true(w.now_ms >= first_due);
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

/* The loop was held up for longer than the timeout; the connection is there. */
static void test_dial_late_loop(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  kin__address address = at(w.server.port);
  dialling d;
  start(&d, &w, &address, 1);
  world_run_tasks(&w);
  world_advance(&w, 2 * WORLD_CONNECT_MS);
  WORLD_UNTIL(&w, d.calls > 0);
  assert_connected(&d, &w);
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
  kin__address address = at(hole.port);
  unsigned before = w.loop.active_handles;
  dialling d;
  start(&d, &w, &address, 1);
  world_run_tasks(&w);
  assert_int_equal(w.loop.active_handles, before + 1);
  kin__transport_set_ref(w.transport, false);
  assert_int_equal(w.loop.active_handles, before);
  dialling other;
  start(&other, &w, &address, 1);
  world_run_tasks(&w);
  assert_int_equal(w.loop.active_handles, before);
  kin__transport_set_ref(w.transport, true);
  assert_int_equal(w.loop.active_handles, before + 2);
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

/* Cancelled after every possible number of steps, with a refused address, a
 * silent one and a good one, by address and by name. */
static bool cancel_after(size_t steps, bool by_name) {
  world w;
  world_setup(&w, NULL, 0);
  loop_black_hole hole;
  loop_black_hole_open(&hole);
  kin__address addresses[] = {at(loop_unused_port()), at(hole.port),
                              at(w.server.port)};
  dialling d = {.calls = 0};
  if (by_name) {
    assert_int_equal(kin__dial_start(&d.dial, &w.transport->net, "localhost",
                                     (uint16_t)w.server.port, WORLD_CONNECT_MS,
                                     on_dialled, &d),
                     0);
  } else {
    start(&d, &w, addresses, 3);
  }
  for (size_t i = 0; i < steps && d.calls == 0; i++) {
    if (kin__sched_has_work(&w.sched)) {
      kin__sched_run(&w.sched, 0);
    } else if (by_name) {
      uv_run(&w.loop, UV_RUN_ONCE);
    } else {
      uv_run(&w.loop, UV_RUN_NOWAIT);
      w.now_ms += WORLD_CONNECT_MS / 8;
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
      cmocka_unit_test(test_dial_all_fail),
      cmocka_unit_test(test_dial_many_addresses),
      cmocka_unit_test(test_dial_late_loop),
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
