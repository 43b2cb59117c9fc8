/* SPDX-License-Identifier: MIT */
/* An exec plugin whose host closes everything, or forks, while it runs: the
 * rows of doc/embedding.md. exec_world_finish finds processes, handles and
 * memory that are left. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kin/error.h>

#include "support/exec_world.h"

static void on_served(kin__waiter *waiter) {
  (void)waiter;
}

static void on_closed(void *ctx) {
  *(bool *)ctx = true;
}

/* A plugin that ignores SIGTERM, while it runs and while it is to end. */
static void test_exec_host_kills(void **state) {
  (void)state;
  for (int is_ending = 0; is_ending < 2; is_ending++) {
    exec_world w;
    exec_world_begin(&w, "trap '' TERM\necho ready >&2\nsleep 1000\n");
    kin__waiter waiter;
    exec_world_wait(&w, &waiter);
    EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
    if (is_ending == 1) {
      exec_world_advance(&w, 60000);
    }
    kin__waiter_reset(&waiter);
    exec_world_finish(&w);
  }
}

static void close_any(uv_handle_t *handle, void *arg) {
  exec_world *w = arg;
  if (handle != (uv_handle_t *)&w->guard && !uv_is_closing(handle)) {
    uv_close(handle, NULL);
  }
}

/* The host closes all handles, before the close and after it. */
static void test_exec_host_swept(void **state) {
  (void)state;
  for (int is_after = 0; is_after < 2; is_after++) {
    exec_world w;
    exec_world_begin(&w, "echo ready >&2\nsleep 1000\n");
    kin__waiter waiter;
    exec_world_wait(&w, &waiter);
    EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
    kin__waiter_reset(&waiter);
    if (is_after == 0) {
      uv_walk(&w.loop, close_any, &w);
      uv_run(&w.loop, UV_RUN_NOWAIT);
      exec_world_close(&w);
    } else {
      bool is_closed = false;
      kin__exec_plugin_close(w.plugin, on_closed, &is_closed);
      w.plugin = NULL;
      uv_walk(&w.loop, close_any, &w);
      uv_run(&w.loop, UV_RUN_DEFAULT);
      assert_true(is_closed);
    }
    exec_world_finish(&w);
  }
}

/* The host closes all handles before the command is looked up. The plugin does
 * not start, so nothing is left on the loop; no request goes without it. */
static void test_exec_host_swept_before_start(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "echo ready >&2\nsleep 1000\n");
  kin__waiter waiter;
  exec_world_wait(&w, &waiter);
  w.is_swept = true;
  uv_run(&w.loop, UV_RUN_DEFAULT);
  assert_true(waiter.is_served);
  for (int i = 0; i < 2; i++) {
    kin__credential found;
    assert_int_equal(w.credentials.get(w.credentials.ctx, &waiter, &found),
                     UV_ECANCELED);
    kin__waiter_init(&waiter, on_served);
  }
  assert_null(strstr(w.lines, "ready"));
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->succeeded, 0);
  exec_world_finish(&w);
}

/* The child of a fork neither runs nor kills anything. */
static void test_exec_host_forked(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w,
                   "echo ready >&2\nread line < go\n" EXEC_TOKEN("t0ken-1"));
  char go[128];
  snprintf(go, sizeof go, "%s/go", w.directory);
  assert_int_equal(mkfifo(go, 0600), 0);
  kin__waiter waiter;
  exec_world_wait(&w, &waiter);
  EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    int err = uv_loop_fork(&w.loop);
    kin__credential found;
    kin__waiter late;
    kin__waiter_init(&late, on_served);
    bool is_right = err == 0 && w.credentials.get(w.credentials.ctx, &late,
                                                  &found) == UV_ECANCELED;
    kin__waiter_reset(&waiter);
    exec_world_close(&w);
    _exit(is_right ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  FILE *file = fopen(go, "w");
  assert_non_null(file);
  fputs("go\n", file);
  fclose(file);
  EXEC_UNTIL(&w, waiter.is_served);
  exec_world_expect(&w, "Bearer t0ken-1", false);
  exec_world_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_host_kills),
      cmocka_unit_test(test_exec_host_swept),
      cmocka_unit_test(test_exec_host_swept_before_start),
      cmocka_unit_test(test_exec_host_forked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
