/* SPDX-License-Identifier: MIT */

/* The ways in which a plugin is started: without fork(), with uv_spawn where
 * that cannot be, and what fails in between. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/exec_answer.h"
#include "support/exec_world.h"

static int spawns;        /* calls of posix_spawn */
static int spawn_error;   /* it fails with this; 0: it does not */
static int pidfds;        /* calls of pidfd_open */
static int pidfd_fail_at; /* from 1; 0: none fails */
static pid_t last_pid;

int __real_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const args[],
                       char *const environment[]);
int __wrap_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const args[],
                       char *const environment[]);
long __real_syscall(long number, long a, long b);
long __wrap_syscall(long number, long a, long b);

int __wrap_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const args[],
                       char *const environment[]) {
  spawns++;
  if (spawn_error != 0) {
    return spawn_error;
  }
  int err =
      __real_posix_spawn(pid, path, actions, attributes, args, environment);
  last_pid = err == 0 ? *pid : 0;
  return err;
}

/* The library calls it for pidfd_open only. */
long __wrap_syscall(long number, long a, long b) {
#ifdef SYS_pidfd_open
  if (number == SYS_pidfd_open && ++pidfds == pidfd_fail_at) {
    errno = EMFILE;
    return -1;
  }
#endif
  return __real_syscall(number, a, b);
}

static void reset(void) {
  spawns = spawn_error = pidfds = pidfd_fail_at = 0;
  last_pid = 0;
}

/* Also a plugin whose result is a signal or an exit code. */
static void expect_runs(void) {
  exec_world w;
  exec_world_begin(&w, "echo line >&2\n" EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_non_null(strstr(w.lines, "exec plugin: line"));
  exec_world_finish(&w);
  exec_world_begin(&w, "exit 7\n");
  exec_world_expect_failure(&w, "failed with exit code 7", true);
  exec_world_finish(&w);
  exec_world_begin(&w, "kill -9 $$\n");
  exec_world_expect_failure(&w, "signal", true);
  exec_world_finish(&w);
}

static void test_exec_child_without_fork(void **state) {
  (void)state;
  reset();
  expect_runs();
#ifdef __linux__
  assert_int_equal(spawns, 3);
#endif
}

/* Where posix_spawn, or a pidfd, cannot be had. */
static void test_exec_child_by_uv_spawn(void **state) {
  (void)state;
  reset();
  spawn_error = ENOSYS;
  expect_runs();
  reset();
  pidfd_fail_at = 1;
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_finish(&w);
  assert_int_equal(spawns, 0);
}

/* posix_spawn does not run a script without "#!". uv_spawn does where it calls
 * execvp, which takes /bin/sh; that of libuv 1.53 refuses, as Go does. */
static void test_exec_child_without_interpreter(void **state) {
  (void)state;
  reset();
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_file(&w, "plugin", EXEC_TOKEN("t0ken-2"));
  assert_int_equal(chmod(w.script, 0700), 0);
  kin__credential found;
  bool has_waited;
  if (exec_world_ask(&w, &found, &has_waited) == 0) {
    assert_string_equal(found.value, "Bearer t0ken-2");
  } else {
    assert_non_null(strstr(found.reason, "exec format error"));
  }
  exec_world_finish(&w);
}

/* The process runs, and its end cannot be watched: it is killed at once. */
static void test_exec_child_cannot_be_watched(void **state) {
  (void)state;
#ifdef __linux__
  reset();
  pidfd_fail_at = 2;
  exec_world w;
  exec_world_begin(&w, "sleep 1000\n");
  exec_world_expect_failure(&w, "too many open files", true);
  assert_true(last_pid > 0);
  assert_int_equal(kill(last_pid, 0), -1); /* and reaped */
  assert_int_equal(errno, ESRCH);
  exec_world_advance(&w, 1000);
  exec_world_script(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_finish(&w);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_child_without_fork),
      cmocka_unit_test(test_exec_child_by_uv_spawn),
      cmocka_unit_test(test_exec_child_without_interpreter),
      cmocka_unit_test(test_exec_child_cannot_be_watched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
