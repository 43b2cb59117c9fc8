/* SPDX-License-Identifier: MIT */
#include "support/signal_of_write.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int signal_of_write(char *place) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    /* The sanitizer's handler would turn the signal into an exit. */
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    *(volatile char *)place = '!';
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
