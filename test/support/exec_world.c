/* SPDX-License-Identifier: MIT */
#include "support/exec_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <kin/error.h>

#include <openssl/err.h>

#include "support/tls_certs.h"

#define GUARD_MS 60000u
#define BEGIN_S 1767225600 /* 2026-01-01T00:00:00Z */

bool exec_world_terminal = false;

static uint64_t now_ns(void *ctx) {
  return ((exec_world *)ctx)->now_ms * 1000000u;
}

static kin__timestamp get_wall(void *ctx) {
  return ((exec_world *)ctx)->wall;
}

static bool get_swept(void *ctx) {
  return ((const exec_world *)ctx)->is_swept;
}

static bool get_terminal(void) {
  return exec_world_terminal;
}

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  exec_world *w = data;
  size_t length = strlen(w->lines);
  snprintf(w->lines + length, sizeof w->lines - length, "%s\n", line);
}

static void on_guard(uv_timer_t *timer) {
  (void)timer;
  fprintf(stderr, "exec_world: the test hangs\n");
  abort();
}

void exec_world_script(exec_world *w, const char *body) {
  char text[8192];
  snprintf(text, sizeof text, "#!/bin/sh\ncd '%s'\necho >> runs\n%s",
           w->directory, body);
  tls_write_file(w->script, text);
  assert_int_equal(chmod(w->script, 0700), 0);
}

void exec_world_file(const exec_world *w, const char *name, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", w->directory, name);
  tls_write_file(path, text);
}

void exec_world_init(exec_world *w, const char *body, size_t fail_at) {
  memset(w, 0, sizeof *w);
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
  uv_timer_start(&w->guard, on_guard, GUARD_MS, 0);
  uv_unref((uv_handle_t *)&w->guard);
  kin__timers_init(&w->timers);
  fail_alloc_init(&w->memory, fail_at);
  w->memory.secrets[0] = "t0ken";
  w->memory.secrets[1] = "PRIVATE KEY";
  w->now_ms = 5000000;
  w->wall = (kin__timestamp){.s = BEGIN_S};
  w->log = (kin__log){.cb = on_log, .data = w, .level = KIN_LOG_DEBUG};
  snprintf(w->directory, sizeof w->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(w->directory));
  snprintf(w->script, sizeof w->script, "%s/plugin", w->directory);
  if (body != NULL) {
    exec_world_script(w, body);
  }
  w->options = (kin_exec_plugin)KIN_EXEC_PLUGIN_INIT;
  w->options.api_version = EXEC_V1;
  w->options.command = w->script;
  w->options.interactive = KIN_EXEC_INTERACTIVE_NEVER;
  w->options.stderr_to = KIN_EXEC_STDERR_LOG;
  exec_world_terminal = false;
}

int exec_world_open(exec_world *w) {
  kin__exec_plugin_options options = {.loop = &w->loop,
                                      .timers = &w->timers,
                                      .allocator = &w->memory.allocator,
                                      .clock = {now_ns, w},
                                      .log = &w->log,
                                      .plugin = &w->options,
                                      .server = w->server,
                                      .wall = get_wall,
                                      .wall_ctx = w,
                                      .is_terminal = get_terminal,
                                      .is_swept = get_swept,
                                      .is_swept_ctx = w};
  int err = kin__exec_plugin_new(&w->plugin, &options);
  if (err == 0) {
    w->credentials = kin__exec_plugin_credentials(w->plugin);
  }
  return err;
}

void exec_world_begin(exec_world *w, const char *body) {
  exec_world_init(w, body, 0);
  assert_int_equal(exec_world_open(w), 0);
}

static void on_served_later(kin__waiter *waiter) {
  (void)waiter;
}

void exec_world_wait(exec_world *w, kin__waiter *waiter) {
  kin__credential found;
  kin__waiter_init(waiter, on_served_later);
  assert_int_equal(w->credentials.get(w->credentials.ctx, waiter, &found),
                   KIN__PENDING);
}

static void on_closed(void *ctx) {
  ((exec_world *)ctx)->is_closed = true;
}

void exec_world_close(exec_world *w) {
  kin__exec_plugin_close(w->plugin, on_closed, w);
  assert_false(w->is_closed);
  w->plugin = NULL;
  EXEC_UNTIL(w, w->is_closed);
}

void exec_world_finish(exec_world *w) {
  if (w->plugin != NULL) {
    exec_world_close(w);
  }
  uv_close((uv_handle_t *)&w->guard, NULL);
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
  assert_int_equal(atomic_load(&w->memory.leaked_secrets), 0);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
  assert_int_equal(errno, ECHILD);
  assert_null(strstr(w->lines, "t0ken"));
  assert_null(strstr(w->lines, "PRIVATE KEY"));
  assert_int_equal(ERR_peek_error(), 0);
  tls_remove_directory(w->directory);
}

void exec_world_advance(exec_world *w, uint64_t ms) {
  w->now_ms += ms;
  uint64_t ns = w->wall.ns + ms % 1000 * 1000000u;
  w->wall.s += (int64_t)(ms / 1000 + ns / 1000000000u);
  w->wall.ns = (uint32_t)(ns % 1000000000u);
  while (kin__timers_run(&w->timers, w->now_ms, 100)) {
  }
}

const char *exec_world_read(const exec_world *w, const char *name) {
  static char text[65536];
  char path[200];
  snprintf(path, sizeof path, "%s/%s", w->directory, name);
  FILE *file = fopen(path, "r");
  size_t length = 0;
  if (file != NULL) {
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
  }
  text[length] = '\0';
  return text;
}

size_t exec_world_runs(const exec_world *w) {
  return strlen(exec_world_read(w, "runs"));
}

static void on_served(kin__waiter *waiter) {
  assert_true(waiter->is_served);
}

int exec_world_ask(exec_world *w, kin__credential *out, bool *has_waited) {
  kin__waiter waiter;
  kin__waiter_init(&waiter, on_served);
  int err = w->credentials.get(w->credentials.ctx, &waiter, out);
  *has_waited = err == KIN__PENDING;
  if (*has_waited) {
    EXEC_UNTIL(w, waiter.is_served);
    err = w->credentials.get(w->credentials.ctx, &waiter, out);
    assert_int_not_equal(err, KIN__PENDING); /* never twice */
  }
  return err;
}

void exec_world_expect(exec_world *w, const char *value, bool waits) {
  kin__credential found;
  bool has_waited;
  int err = exec_world_ask(w, &found, &has_waited);
  if (err != 0) {
    fail_msg("%s", found.reason);
  }
  assert_int_equal(has_waited, waits);
  if (value == NULL) {
    assert_null(found.value);
  } else {
    assert_non_null(found.value);
    assert_string_equal(found.value, value);
  }
}

void exec_world_expect_failure(exec_world *w, const char *words, bool waits) {
  kin__credential found;
  bool has_waited;
  int err = exec_world_ask(w, &found, &has_waited);
  assert_int_equal(err, KIN_ETOKEN);
  assert_int_equal(has_waited, waits);
  assert_memory_equal(found.reason, "getting credentials: ", 21);
  if (strstr(found.reason, words) == NULL) {
    fail_msg("\"%s\" instead of \"%s\"", found.reason, words);
  }
  assert_null(strstr(found.reason, "t0ken"));
  assert_non_null(strstr(w->lines, found.reason));
}

void exec_world_reject(exec_world *w) {
  kin__credential found;
  assert_int_equal(w->credentials.get(w->credentials.ctx, NULL, &found), 0);
  w->credentials.rejected(w->credentials.ctx, found.serial);
}
