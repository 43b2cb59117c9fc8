/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EXEC_WORLD_H
#define KIN_TEST_EXEC_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "base/timers.h"
#include "config/exec_plugin.h"
#include "support/fail_alloc.h"

/* An exec plugin on a real loop, whose clocks are numbers. The plugin is a
 * shell script in a directory of the world's own. Each run adds a line to the
 * file `runs` there. */
typedef struct exec_world {
  uv_loop_t loop;
  uv_timer_t guard; /* real time: aborts a test that hangs */
  kin__timers timers;
  fail_alloc memory;
  uint64_t now_ms;     /* of the monotonic clock */
  kin__timestamp wall; /* 2026-01-01T00:00:00Z at first */
  kin__log log;
  char lines[16384];
  char directory[64];
  char script[128];
  kin_exec_plugin options; /* set them before exec_world_open */
  kin__exec_server server;
  kin__exec_plugin *plugin; /* NULL: it could not be opened, or is closed */
  kin__credentials credentials;
  bool is_closed;
  bool is_swept; /* what the plugin is told of the host */
} exec_world;

/* Whether standard input is a terminal, as the plugin is told. */
extern bool exec_world_terminal;

/* The answer of a plugin, for a script: a command that prints it. */
#define EXEC_V1 "client.authentication.k8s.io/v1"
#define EXEC_ANSWER(status)                                                    \
  "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1               \
  "\",\"status\":" status "}'\n"
#define EXEC_TOKEN(token) EXEC_ANSWER("{\"token\":\"" token "\"}")

/* `body` is the script's, NULL: there is none yet. `fail_at` as in
 * fail_alloc_init. */
void exec_world_init(exec_world *w, const char *body, size_t fail_at);
/* Replaces the script. */
void exec_world_script(exec_world *w, const char *body);
/* Writes a file of the directory. */
void exec_world_file(const exec_world *w, const char *name, const char *text);
int exec_world_open(exec_world *w);
/* Both, without a failing allocation. */
void exec_world_begin(exec_world *w, const char *body);
/* Asks with this waiter, and has to wait. */
void exec_world_wait(exec_world *w, kin__waiter *waiter);
/* Closes the plugin, unless it is closed, and checks that nothing is left:
 * memory, handles, processes, secrets. */
void exec_world_finish(exec_world *w);
void exec_world_close(exec_world *w);

/* Both clocks. */
void exec_world_advance(exec_world *w, uint64_t ms);
/* The content of a file of the directory, "" if there is none; until the next
 * call. */
const char *exec_world_read(const exec_world *w, const char *name);
size_t exec_world_runs(const exec_world *w);

#define EXEC_UNTIL(w, condition)                                               \
  while (!(condition)) {                                                       \
    uv_run(&(w)->loop, UV_RUN_ONCE);                                           \
  }

/* Asks as a request does. *has_waited tells whether it had to wait. */
int exec_world_ask(exec_world *w, kin__credential *out, bool *has_waited);
/* Expects this Authorization field, and whether the request waited. */
void exec_world_expect(exec_world *w, const char *value, bool waits);
/* Expects a failure with these words. */
void exec_world_expect_failure(exec_world *w, const char *words, bool waits);
/* The server answers 401 to the current credential. */
void exec_world_reject(exec_world *w);

#endif /* KIN_TEST_EXEC_WORLD_H */
