/* SPDX-License-Identifier: MIT */
/* Proves that each system call of the transport may fail once, in each of the
 * ways it does: what was going on ends with an error or goes on, the next
 * exchange succeeds, and nothing is left. The calls are wrapped by the linker
 * (see meson.build); those of the test server do not fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "support/tls_world.h"
#include "transport/core.h"

typedef enum call {
  CALL_SOCKET,
  CALL_CONNECT,
  CALL_GETSOCKOPT,
  CALL_SETSOCKOPT,
  CALL_GETSOCKNAME,
  CALL_GETPEERNAME,
  CALL_POLL,
  CALL_RECV,
  CALL_SEND
} call;

static bool is_server;
static call failing;
static int error;
static size_t calls;   /* of the failing kind */
static size_t fail_at; /* from 1; 0: none */

static void on_server(bool is_entering) {
  is_server = is_entering;
}

static bool must_fail(call which) {
  if (is_server || which != failing || ++calls != fail_at) {
    return false;
  }
  errno = error;
  return true;
}

/* The name of a function in libc, where times on a machine of 32 bits have 64
 * bits. */
#ifdef __USE_TIME64_REDIRECTS
#define IN_LIBC(name) __asm__(name)
#else
#define IN_LIBC(name)
#endif

int __real_socket(int domain, int type, int protocol);
int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
    IN_LIBC("__real___getsockopt64");
int __real_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t size) IN_LIBC("__real___setsockopt64");
int __real_getsockname(int fd, struct sockaddr *address, socklen_t *size);
int __real_getpeername(int fd, struct sockaddr *address, socklen_t *size);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __real_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
    IN_LIBC("__wrap___getsockopt64");
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t size) IN_LIBC("__wrap___setsockopt64");
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *size);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);

int __wrap_socket(int domain, int type, int protocol) {
  return must_fail(CALL_SOCKET) ? -1 : __real_socket(domain, type, protocol);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size) {
  return must_fail(CALL_CONNECT) ? -1 : __real_connect(fd, address, size);
}

int __wrap_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *size) {
  return must_fail(CALL_GETSOCKOPT)
             ? -1
             : __real_getsockopt(fd, level, name, value, size);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t size) {
  return must_fail(CALL_SETSOCKOPT)
             ? -1
             : __real_setsockopt(fd, level, name, value, size);
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *size) {
  return must_fail(CALL_GETSOCKNAME) ? -1
                                     : __real_getsockname(fd, address, size);
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size) {
  return must_fail(CALL_GETPEERNAME) ? -1
                                     : __real_getpeername(fd, address, size);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout) {
  return must_fail(CALL_POLL) ? -1 : __real_poll(fds, count, timeout);
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags) {
  return must_fail(CALL_RECV) ? -1 : __real_recv(fd, bytes, size, flags);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
  return must_fail(CALL_SEND) ? -1 : __real_send(fd, bytes, size, flags);
}

/* An exchange on a new connection, one on that of the pool, a watch, each of
 * which may fail; then one that must not. Returns how many calls of the failing
 * kind there were; *failed counts exchanges. */
static size_t run(size_t fail, size_t *failed) {
  static const tls_reply hello = {.bytes = HELLO};
  tls_world t;
  fail_at = 0;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.slice = 500;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fail_at = fail;
  calls = 0;
  for (int i = 0; i < 3; i++) {
    fetch f = {.world = &t.w};
    assert_int_equal(fetch_start(&f, &t.w, "/x", i == 2), 0);
    fetch_until_end(&f);
    if (f.error.code != 0) {
      ++*failed;
      assert_int_equal(f.error.error_class,
                       error == ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_CONNECT);
    }
    fetch_finish(&f);
  }
  size_t count = calls;
  fail_at = 0;
  assert_string_equal(tls_world_try(&t), "");
  tls_world_close(&t);
  return count;
}

/* Fails each call of a kind once with this error. `may_fail`: whether that may
 * be the end of an exchange, and must be for some. */
static void sweep(call which, int with, bool may_fail) {
  size_t failed = 0;
  failing = which;
  error = with;
  size_t count = run(0, &failed);
  assert_int_equal(failed, 0);
  assert_true(count > 0);
  for (size_t n = 1; n <= count; n++) {
    (void)run(n, &failed);
  }
  assert_int_equal(failed > 0, may_fail);
}

static void test_tls_syscalls_connect(void **state) {
  (void)state;
  sweep(CALL_SOCKET, EMFILE, true);
  sweep(CALL_SOCKET, EAFNOSUPPORT, true);
  sweep(CALL_CONNECT, ECONNREFUSED, true);
  sweep(CALL_CONNECT, ENETUNREACH, true);
  sweep(CALL_GETSOCKOPT, EBADF, true);
  sweep(CALL_SETSOCKOPT, EINVAL, false);
  sweep(CALL_GETSOCKNAME, ENOBUFS, false);
  sweep(CALL_GETPEERNAME, ENOTCONN, false);
}

static void test_tls_syscalls_receive(void **state) {
  (void)state;
  sweep(CALL_RECV, ECONNRESET, true);
  sweep(CALL_RECV, ETIMEDOUT, true);
  sweep(CALL_RECV, EINTR, false);
  sweep(CALL_RECV, EAGAIN, false);
}

static void test_tls_syscalls_send(void **state) {
  (void)state;
  sweep(CALL_SEND, EPIPE, true);
  sweep(CALL_SEND, ECONNRESET, true);
  sweep(CALL_SEND, EINTR, false);
  sweep(CALL_SEND, EAGAIN, false);
}

/* poll(2) is asked when a timer is due: a silent server, then its answer. */
static void test_tls_syscalls_poll(void **state) {
  (void)state;
  static const tls_reply silence = {.bytes = NULL};
  failing = CALL_POLL;
  error = EINTR;
  calls = 0;
  fail_at = 1;
  tls_world t;
  tls_world_setup(&t, &silence, 1);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  WORLD_UNTIL(&t.w, t.server.requests == 1);
  world_advance(&t.w, WORLD_RESPONSE_MS);
  assert_int_equal(calls, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  fetch_finish(&f);
  fail_at = 0;
  tls_world_close(&t);
}

/* The question to a silent server: a call that fails for want of something on
 * this host shows nothing of the server, and the watch stays. */
static void test_tls_syscalls_probe(void **state) {
  (void)state;
  static const struct {
    call which;
    int error;
  } rows[] = {{CALL_SOCKET, EMFILE},         {CALL_SOCKET, ENFILE},
              {CALL_SOCKET, ENOBUFS},        {CALL_SOCKET, ENOMEM},
              {CALL_CONNECT, ENOMEM},        {CALL_CONNECT, ENOBUFS},
              {CALL_CONNECT, EADDRNOTAVAIL}, {CALL_CONNECT, EAGAIN}};
  static const tls_reply watched = {
      .bytes =
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"};
  tls_world t;
  fail_at = 0;
  tls_world_init(&t, &watched, 1, 0);
  t.probe_silence_ms = 30000;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch watch = {.world = &t.w};
  assert_int_equal(fetch_start(&watch, &t.w, "/x", true), 0);
  WORLD_UNTIL(&t.w, watch.bodies == 1);
  const kin__probe *probe = &t.w.transport->probe;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    failing = rows[i].which;
    error = rows[i].error;
    calls = 0;
    fail_at = 1;
    world_advance(&t.w, t.probe_silence_ms);
    WORLD_UNTIL(&t.w, !probe->is_waiting);
    world_run_tasks(&t.w);
    assert_int_equal(calls, 1);
    assert_int_equal(watch.ends, 0);
  }
  failing = CALL_CONNECT;
  error = ENETUNREACH;
  calls = 0;
  world_advance(&t.w, t.probe_silence_ms);
  fetch_until_end(&watch);
  assert_int_equal(watch.error.code, KIN_ETIMEDOUT);
  fetch_finish(&watch);
  tls_world_close(&t);
}

int main(void) {
  tls_server_hook = on_server;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_syscalls_connect),
      cmocka_unit_test(test_tls_syscalls_receive),
      cmocka_unit_test(test_tls_syscalls_send),
      cmocka_unit_test(test_tls_syscalls_poll),
      cmocka_unit_test(test_tls_syscalls_probe),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
