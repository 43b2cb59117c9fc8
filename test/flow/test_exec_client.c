/* SPDX-License-Identifier: MIT */
/* An exec plugin in a client: the option, what has precedence over it (XP-01),
 * its counters (XP-10), and a client that closes while the plugin runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <kin/kin.h>

#include "support/tls_certs.h"
#include "support/tls_server.h"

typedef struct rig {
  uv_loop_t loop;
  char directory[64];
  char script[128];
  kin_exec_plugin exec;
  kin_client_options options;
  char problem[256];
  char message[512]; /* of the last error */
  int error_class;
  int errors;
  int is_closed;
} rig;

static void rig_init(rig *r, const char *body) {
  memset(r, 0, sizeof *r);
  assert_int_equal(uv_loop_init(&r->loop), 0);
  snprintf(r->directory, sizeof r->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(r->directory));
  snprintf(r->script, sizeof r->script, "%s/plugin", r->directory);
  tls_write_file(r->script, body);
  assert_int_equal(chmod(r->script, 0700), 0);
  r->exec = (kin_exec_plugin)KIN_EXEC_PLUGIN_INIT;
  r->exec.api_version = "client.authentication.k8s.io/v1beta1";
  r->exec.interactive = KIN_EXEC_INTERACTIVE_NEVER;
  r->exec.command = r->script;
  r->options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  r->options.server = "https://127.0.0.1:1";
  r->options.exec = &r->exec;
  r->options.problem = r->problem;
  r->options.problem_size = sizeof r->problem;
}

static void on_closed(void *data) {
  ((rig *)data)->is_closed++;
}

static void rig_finish(rig *r) {
  assert_int_equal(uv_run(&r->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&r->loop), 0);
  assert_int_equal(unlink(r->script), 0);
  assert_int_equal(rmdir(r->directory), 0);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  rig *r = data;
  r->errors++;
  r->error_class = (int)event->error_class;
  snprintf(r->message, sizeof r->message, "%s", event->message);
}

static void open_informer(rig *r, kin_client *client) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.version = "v1";
  options.plural = "pods";
  options.on_error = on_error;
  options.data = r;
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, client, &options), 0);
  assert_int_equal(kin_informer_start(informer), 0);
}

static kin_client_stats stats_of(const kin_client *client) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(client, &stats), 0);
  return stats;
}

static void close_client(rig *r, kin_client *client) {
  assert_int_equal(kin_client_close(client, on_closed, r), 0);
  while (r->is_closed == 0) {
    uv_run(&r->loop, UV_RUN_ONCE);
  }
  assert_int_equal(r->is_closed, 1);
}

static void test_exec_client_fails(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "#!/bin/sh\nexit 7\n");
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &r.loop, &r.options), 0);
  open_informer(&r, client);
  while (r.errors == 0) {
    uv_run(&r.loop, UV_RUN_ONCE);
  }
  assert_int_equal(r.error_class, KIN_CLASS_AUTH);
  assert_non_null(strstr(r.message, "getting credentials: exec: executable "));
  assert_non_null(strstr(r.message, "failed with exit code 7"));
  kin_client_stats stats = stats_of(client);
  assert_int_equal(stats.exec_failed, 1);
  assert_int_equal(stats.exec_succeeded, 0);
  assert_int_equal(stats.requests, 0);
  close_client(&r, client);
  rig_finish(&r);
}

/* A client that closes does not wait for its plugin. */
static void test_exec_client_closes(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "#!/bin/sh\ntrap '' TERM\nsleep 1000\n");
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &r.loop, &r.options), 0);
  open_informer(&r, client);
  for (int i = 0; i < 20; i++) {
    uv_run(&r.loop, UV_RUN_NOWAIT);
  }
  kin_client_unref(client);
  kin_client_ref(client);
  close_client(&r, client);
  rig_finish(&r);
}

/* An unreferenced client's plugin does not keep the loop alive. */
static void test_exec_client_unref(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "#!/bin/sh\nsleep 1000\n");
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &r.loop, &r.options), 0);
  open_informer(&r, client);
  kin_client_unref(client);
  uv_run(&r.loop, UV_RUN_DEFAULT); /* returns */
  close_client(&r, client);
  rig_finish(&r);
}

static void expect_open_error(rig *r, int code, const char *words) {
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &r->loop, &r->options), code);
  assert_null(client);
  if (strstr(r->problem, words) == NULL) {
    fail_msg("\"%s\" instead of \"%s\"", r->problem, words);
  }
}

static void test_exec_client_refused(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "");
  r.options.server = "http://127.0.0.1:1";
  expect_open_error(&r, KIN_EINVAL,
                    "credentials and TLS options need an "
                    "https:// server");
  r.options.server = "https://127.0.0.1:1";
  r.exec.api_version = "v1";
  expect_open_error(&r, KIN_EINVAL, "exec.api_version: \"v1\" is neither");
  rig_finish(&r);
}

/* client-go TestAuthorizationHeaderPresentCancelsExecAction; XP-01. */
static void test_exec_client_precedence(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    rig r;
    rig_init(&r, "#!/bin/sh\nexit 7\n");
    const tls_pki *pki = tls_pki_get();
    if (i == 0) {
      r.options.token = "token";
    } else if (i == 1) {
      r.options.token = "token";
      r.options.token_file = "/no/file";
    } else {
      r.options.client_certificate_data = pki->client_pem;
      r.options.client_key_data = pki->client_key_pem;
    }
    kin_client *client;
    assert_int_equal(kin_client_open(&client, &r.loop, &r.options), 0);
    open_informer(&r, client);
    while (r.errors == 0) {
      uv_run(&r.loop, UV_RUN_ONCE);
    }
    assert_int_equal(r.error_class, KIN_CLASS_CONNECT);
    assert_int_equal(stats_of(client).exec_failed, 0);
    close_client(&r, client);
    rig_finish(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_client_fails),
      cmocka_unit_test(test_exec_client_closes),
      cmocka_unit_test(test_exec_client_unref),
      cmocka_unit_test(test_exec_client_refused),
      cmocka_unit_test(test_exec_client_precedence),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
