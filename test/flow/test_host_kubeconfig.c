/* SPDX-License-Identifier: MIT */

/* Hosts that close the client's handles, or fork, while the client looks for its
 * server in a kubeconfig: the search ends in libuv's pool, and nothing is opened
 * afterwards. Proves rows of doc/embedding.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include <cmocka.h>

#include <kin/kubeconfig.h>
#include <kin/request.h>

#include "support/host_world.h"

enum { TURNS = 12 };

static char path[64];

static void write_config(const host_world *w) {
  snprintf(path, sizeof path, "/tmp/kin-host-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *file = fdopen(fd, "w");
  assert_non_null(file);
  fprintf(file,
          "apiVersion: v1\nkind: Config\n"
          "clusters:\n- name: c\n  cluster: {server: \"%s\"}\n"
          "contexts:\n- name: r\n  context: {cluster: c}\n"
          "current-context: r\n",
          w->url);
  assert_int_equal(fclose(file), 0);
}

static int open_kubeconfig(client_world *w) {
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = path;
  kin_client_options options = w->options;
  options.server = NULL;
  return kin_client_open_kubeconfig(&w->client, &w->loop, &which, &options);
}

static void open_world(host_world *w, int turns) {
  host_init(w, false);
  w->program.open = open_kubeconfig;
  write_config(w);
  assert_int_equal(host_open(w), 0);
  for (int i = 0; i < turns; i++) {
    host_turn(w);
  }
}

static void finish(host_world *w) {
  host_close(w);
  host_finish(w);
  unlink(path);
}

/* Before, while and after the search: the loop comes to its end, and no handle
 * and no connection comes afterwards. */
static void test_sweep_while_it_searches(void **state) {
  (void)state;
  for (int turns = 0; turns < TURNS; turns++) {
    host_world w;
    open_world(&w, turns);
    size_t accepted = w.server.accepted;
    assert_true(host_sweep(&w) > 0);
    assert_int_equal(uv_run(&w.program.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(host_sweep(&w), 0);
    uv_run(&w.outside, UV_RUN_NOWAIT);
    assert_true(w.server.accepted <= accepted + (turns > 0));
    finish(&w);
  }
}

static void on_end(const kin_response *response, void *data) {
  *(int *)data = response->code;
}

/* The child's first search finds the server, and the child does not connect. */
static int child_life(host_world *w) {
  int code = 1;
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.path = "/version";
  kin_request *request;
  if (uv_loop_fork(&w->program.loop) != 0 ||
      kin_request_start(&request, w->program.client, &spec, on_end, &code) !=
          0) {
    return 1;
  }
  while (code == 1) {
    uv_run(&w->program.loop, UV_RUN_ONCE);
  }
  return code == UV_ECANCELED ? 0 : 2;
}

static void test_forked_child_searches(void **state) {
  (void)state;
  host_world w;
  host_init(&w, false);
  w.program.open = open_kubeconfig;
  write_config(&w);
  assert_int_equal(client_world_open_client(&w.program), 0);
  pid_t child = fork();
  if (child == 0) {
    _exit(child_life(&w));
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(w.server.accepted, 0);
  finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep_while_it_searches),
      cmocka_unit_test(test_forked_child_searches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
