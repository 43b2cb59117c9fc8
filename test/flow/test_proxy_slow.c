/* SPDX-License-Identifier: MIT */

/* A proxy to which a request goes in small pieces, as with a full socket: the
 * rest waits in memory, and is wiped with the proxy's credential in it, when it
 * is sent and when the connection is closed before. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include <cmocka.h>

#include "support/proxy_world.h"

#define SECRET "s3cret"
#define ENCODED "dTpzM2NyZXQ=" /* "u:s3cret" */

static proxy_world p;
static size_t sends;  /* of the client, before the proxy has the head */
static size_t end_at; /* the call of send that fails; 0: none */

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);

/* The proxy says nothing before it has the whole head, so each call until then
 * is the client's: one takes 16 bytes, and the next one nothing. */
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
  if (p.proxy.last_head[0] != '\0') {
    return __real_send(fd, bytes, size, flags);
  }
  sends++;
  if (sends == end_at) {
    errno = ECONNRESET;
    return -1;
  }
  if (sends % 2 == 0) {
    errno = EAGAIN;
    return -1;
  }
  return __real_send(fd, bytes, size < 16 ? size : 16, flags);
}

static void open_world(bool is_tls) {
  sends = 0;
  proxy_world_init(&p, is_tls, "http", HELLO, 0);
  p.t.w.memory.secrets[0] = SECRET;
  p.t.w.memory.secrets[1] = ENCODED;
  p.user_info = "u:" SECRET "@";
  p.serve.login = "Basic " ENCODED;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
}

static void close_world(void) {
  proxy_world_close(&p);
  assert_int_equal(atomic_load(&p.t.w.memory.leaked_secrets), 0);
}

/* Forwarded requests, and those for tunnels. */
static void test_proxy_slow_socket(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    open_world(is_tls);
    assert_string_equal(proxy_world_try(&p, NULL), "");
    assert_true(sends > 10);
    close_world();
  }
}

static void test_proxy_slow_socket_ends(void **state) {
  (void)state;
  for (end_at = 1; end_at < 10; end_at++) {
    open_world(false);
    kin__exchange_error error;
    assert_string_not_equal(proxy_world_try(&p, &error), "");
    assert_int_equal(error.error_class, KIN_CLASS_CONNECT);
    close_world();
  }
  end_at = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_slow_socket),
      cmocka_unit_test(test_proxy_slow_socket_ends),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
