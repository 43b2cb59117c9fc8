/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_BUILD_OPEN_CLIENT_H
#define KIN_TEST_BUILD_OPEN_CLIENT_H

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

/* Opens a client on a loop of its own, and closes both. Returns the error of
 * kin_client_open, or 1 if something is left on the loop. */
static int open_client(char *problem, size_t size) {
  uv_loop_t loop;
  kin_client *client;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.problem = problem;
  options.problem_size = size;
  if (uv_loop_init(&loop) != 0) {
    return 1;
  }
  int err = kin_client_open(&client, &loop, &options);
  if (err == 0) {
    kin_client_close(client, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  return uv_loop_close(&loop) == 0 ? err : 1;
}

/* The program's exit status: argv[1] is "hidden" or "found". `calls` counts the
 * calls of the host's own functions. `words` must be in the problem's text. */
static int check(int argc, char **argv, const unsigned *calls,
                 const char *const words[2]) {
  char problem[256] = "";
  int err = open_client(problem, sizeof problem);
  int is_right = argc == 2 && strcmp(argv[1], "hidden") == 0
                     ? err == 0 && *calls == 0
                     : err == KIN_ELIBRARY && *calls > 0 &&
                           strstr(problem, words[0]) != NULL &&
                           strstr(problem, words[1]) != NULL;
  if (!is_right) {
    fprintf(stderr, "error %d, problem \"%s\", %u calls of the host's\n", err,
            problem, *calls);
  }
  return !is_right;
}

#endif /* KIN_TEST_BUILD_OPEN_CLIENT_H */
