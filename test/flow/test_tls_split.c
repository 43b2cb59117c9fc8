/* SPDX-License-Identifier: MIT */
/* Proves that it does not matter where the network cuts the bytes of a
 * handshake and of the records after it, nor where the server cuts its data
 * into records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/tls_world.h"

#define CHUNKED                                                                \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                      \
  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
#define UNTIL_END "HTTP/1.1 200 OK\r\n\r\nhello"

/* One exchange, in pieces of `slice` bytes on the wire. Returns how many bytes
 * there were. */
static size_t run(const tls_reply *reply, int version, size_t slice,
                  size_t record) {
  tls_world t;
  tls_world_init(&t, reply, 1, 0);
  t.serve.max_version = version;
  t.serve.slice = slice;
  t.serve.record = record;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  size_t bytes = kin__transport_get_stats(t.w.transport)->received_bytes;
  tls_world_close(&t);
  return bytes;
}

/* Pieces of every size up to the whole have every boundary among them. */
static void check_every_boundary(int version) {
  static const tls_reply reply = {CHUNKED, 0, TLS_KEEP};
  size_t whole = run(&reply, version, 0, 0);
  assert_true(whole > 500);
  for (size_t slice = 1; slice <= whole; slice++) {
    (void)run(&reply, version, slice, 0);
  }
}

static void test_tls_split_1_3(void **state) {
  (void)state;
  check_every_boundary(TLS1_3_VERSION);
}

static void test_tls_split_1_2(void **state) {
  (void)state;
  check_every_boundary(TLS1_2_VERSION);
}

/* Records of every size, in pieces of one byte and as a whole; the last one is
 * followed by close_notify. */
static void test_tls_split_records(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED, 0, TLS_KEEP},
                                      {UNTIL_END, 0, TLS_CLOSE}};
  for (size_t i = 0; i < 2; i++) {
    for (size_t record = 1; record <= strlen(replies[i].bytes); record++) {
      (void)run(&replies[i], 0, record % 7 == 0 ? 1 : 0, record);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_split_1_3),
      cmocka_unit_test(test_tls_split_1_2),
      cmocka_unit_test(test_tls_split_records),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
