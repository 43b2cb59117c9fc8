/* SPDX-License-Identifier: MIT */
/* Proves TR-07 in a library that was built without zlib: what is compressed
 * unasked comes through as what it is, and asking for it is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "client/client_options.h"
#include "support/transport_world.h"
#include "transport/inflate.h"

static void test_gzip_none_body(void **state) {
  (void)state;
  static const loop_reply reply = {
      .bytes = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
               "Content-Length: 2\r\n\r\nzz"};
  assert_false(kin__inflate_is_supported());
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_false(f.is_identity);
  assert_string_equal(f.body, "zz");
  fetch_finish(&f);
  world_close(&w);
}

static void test_gzip_none_option(void **state) {
  (void)state;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.accept_gzip = true;
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &loop, &options), KIN_ENOTSUP);
  assert_null(client);
  /* Also where the server is found later. */
  const kin__log log = {.cb = NULL};
  assert_int_equal(kin__client_options_check(&options, &log), KIN_ENOTSUP);
  assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_none_body),
      cmocka_unit_test(test_gzip_none_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
