/* SPDX-License-Identifier: MIT */

/* A host that exports a yyjson of its own, of an older release. Opens a client
 * with the shared library.
 *
 *   foreign_yyjson hidden   the library hides its yyjson: the client opens, and
 *                           the function here is not called
 *   foreign_yyjson found    the library takes the host's: KIN_ELIBRARY, with a
 *                           text that names yyjson and the version */
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

static unsigned calls;

uint32_t yyjson_version(void);
uint32_t yyjson_version(void) {
  calls++;
  return 0x000201;
}

static int fail(int err, const char *problem) {
  fprintf(stderr, "error %d, problem \"%s\", %u calls\n", err, problem, calls);
  return 1;
}

int main(int argc, char **argv) {
  bool is_hidden = argc == 2 && strcmp(argv[1], "hidden") == 0;
  char problem[256] = "";
  uv_loop_t loop;
  kin_client *client;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.problem = problem;
  options.problem_size = sizeof problem;
  if (uv_loop_init(&loop) != 0) {
    return 1;
  }
  int err = kin_client_open(&client, &loop, &options);
  if (err == 0) {
    kin_client_close(client, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  bool is_right = is_hidden
                      ? err == 0 && calls == 0
                      : err == KIN_ELIBRARY && client == NULL && calls > 0 &&
                            strstr(problem, "yyjson") != NULL &&
                            strstr(problem, "0.2.1") != NULL;
  return is_right && uv_loop_close(&loop) == 0 ? 0 : fail(err, problem);
}
