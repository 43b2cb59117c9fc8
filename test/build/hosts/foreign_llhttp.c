/* SPDX-License-Identifier: MIT */

/* A host that exports an llhttp of its own, of another release: each callback is
 * one place later in the settings, as between 9.2 and 9.3, and the parser is
 * larger. Opens a client with the shared library.
 *
 *   foreign_llhttp hidden   the library hides its llhttp: the client opens, and
 *                           none of the functions here is called
 *   foreign_llhttp found    the library takes the host's: KIN_ELIBRARY, with a
 *                           text that names llhttp and this program */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <llhttp.h>
#include <uv.h>

#include <kin/kin.h>

static unsigned calls;

void llhttp_init(llhttp_t *parser, llhttp_type_t type,
                 const llhttp_settings_t *settings) {
  calls++;
  memset(parser, 0, sizeof *parser + 16);
  parser->type = (uint8_t)type;
  parser->settings = (void *)(uintptr_t)settings;
}

llhttp_errno_t llhttp_execute(llhttp_t *parser, const char *bytes,
                              size_t length) {
  typedef int (*callback)(llhttp_t *, const char *, size_t);
  const callback *all = parser->settings;
  calls++;
  for (size_t i = 1; i < 8; i++) {
    if (all[i] != NULL) {
      (void)all[i](parser, bytes, length);
    }
  }
  return HPE_OK;
}

static int fail(const char *what, int err, const char *problem) {
  fprintf(stderr, "%s: error %d, problem \"%s\", %u calls\n", what, err,
          problem, calls);
  return 1;
}

static int close_all(uv_loop_t *loop, kin_client *client) {
  kin_client_close(client, NULL, NULL);
  uv_run(loop, UV_RUN_DEFAULT);
  return uv_loop_close(loop);
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
  if (is_hidden) {
    bool is_right = err == 0 && calls == 0;
    if (err == 0 && close_all(&loop, client) != 0) {
      return fail("closing", err, problem);
    }
    return is_right ? 0 : fail("hidden", err, problem);
  }
  bool is_right = err == KIN_ELIBRARY && client == NULL && calls > 0 &&
                  strstr(problem, "llhttp") != NULL &&
                  strstr(problem, "foreign_llhttp") != NULL;
  return is_right && uv_loop_close(&loop) == 0 ? 0
                                               : fail("found", err, problem);
}
