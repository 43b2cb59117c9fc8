/* SPDX-License-Identifier: MIT */
/* An exec plugin that is closed in each of its states, and whose allocations
 * fail one by one. exec_world_finish finds
 * processes, handles and memory that are left. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/exec_answer.h"
#include "support/exec_world.h"
#include "support/pool_plug.h"
#include "support/tls_certs.h"

static void on_closed(void *ctx) {
  *(bool *)ctx = true;
}

/* After any number of iterations of the loop: prepared, started, reading,
 * ended, parsed, and done. */
static void test_exec_close_after_each_iteration(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  char answer[EXEC_ANSWER_SIZE];
  exec_answer(answer, NULL, pki->client_pem, pki->client_key_pem);
  bool is_done = false;
  for (int turns = 0; !is_done; turns++) {
    assert_in_range(turns, 0, 100);
    exec_world w;
    exec_world_begin(&w, "echo to-stderr >&2\ncat answer\n");
    exec_world_file(&w, "answer", answer);
    kin__waiter waiter;
    exec_world_wait(&w, &waiter);
    for (int i = 0; i < turns && !waiter.is_served; i++) {
      uv_run(&w.loop, UV_RUN_ONCE);
    }
    is_done = waiter.is_served;
    kin__waiter_reset(&waiter);
    exec_world_finish(&w);
  }
}

/* A pool without a free thread: the work is cancelled. */
static void test_exec_close_before_work(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1"));
  pool_plug plug;
  plug_open(&plug, &w.loop);
  kin__waiter waiter;
  exec_world_wait(&w, &waiter);
  kin__waiter_reset(&waiter);
  bool is_closed = false;
  kin__exec_plugin_close(w.plugin, on_closed, &is_closed);
  w.plugin = NULL;
  plug_pull(&plug);
  uv_run(&w.loop, UV_RUN_DEFAULT);
  assert_true(is_closed);
  plug_close(&plug);
  assert_int_equal(exec_world_runs(&w), 0);
  exec_world_finish(&w);
}

/* The process has ended, but its child has the output. */
static void test_exec_close_with_grandchild(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "sleep 1000 &\necho $! > child\n");
  kin__waiter waiter;
  exec_world_wait(&w, &waiter);
  EXEC_UNTIL(&w, w.timers.root != NULL &&
                     kin__timers_next_ms(&w.timers) <= w.now_ms + 500);
  kin__waiter_reset(&waiter);
  exec_world_close(&w);
  assert_int_equal(kill(atoi(exec_world_read(&w, "child")), SIGKILL), 0);
  exec_world_finish(&w);
}

/* --- Sweeps --------------------------------------------------------------- */

static bool run_exec_without_memory(size_t fail_at) {
  exec_world w;
  exec_world_init(
      &w,
      "echo line >&2\nhead -c 10000 /dev/zero | tr '\\0' ' '\n" EXEC_TOKEN(
          "t0ken-1"),
      fail_at);
  char file[128];
  snprintf(file, sizeof file, "%s/ca", w.directory);
  exec_world_file(&w, "ca", "authority");
  w.server =
      (kin__exec_server){.url = "https://server", .authority_file = file};
  w.options.provide_cluster_info = true;
  int err = exec_world_open(&w);
  if (err == 0) {
    kin__credential found;
    bool has_waited;
    err = exec_world_ask(&w, &found, &has_waited);
    if (err == 0) {
      assert_string_equal(found.value, "Bearer t0ken-1");
    } else {
      assert_int_equal(err, KIN_ENOMEM);
      assert_memory_equal(found.reason, "getting credentials: ", 21);
      exec_world_advance(&w, 1000);
      exec_world_expect(&w, "Bearer t0ken-1", true);
    }
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  bool has_failed = fail_alloc_has_failed(&w.memory);
  exec_world_finish(&w);
  return has_failed;
}

static void test_exec_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_exec_without_memory, 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_close_after_each_iteration),
      cmocka_unit_test(test_exec_close_before_work),
      cmocka_unit_test(test_exec_close_with_grandchild),
      cmocka_unit_test(test_exec_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
