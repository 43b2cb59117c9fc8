/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <stdio.h>

#include "app.h"
#include "complaint.h"

static void ignore_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  (void)line;
  (void)data;
}

/* The environment has no proxy for localhost. */
static int open_client(app *a) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  security_apply(&a->options->security, &co);
  co.server = "https://localhost";
  co.token_file = NULL;
  co.certificate_authority_file = NULL;
  co.client_certificate_file = NULL;
  co.client_key_file = NULL;
  co.log = ignore_log;
  co.problem = a->problem;
  co.problem_size = sizeof a->problem;
  return kin_client_open(&a->client, &a->loop, &co);
}

static void say(const app *a, const char *what, int err) {
  const char *problem = a->client ? kin_client_problem(a->client) : a->problem;
  if (problem[0] != '\0') {
    complain(problem);
  } else {
    fprintf(stderr, "kinformer: %s: %s\n", what, kin_strerror(err));
  }
}

int trial_run(options *o) {
  app a = {.options = o};
  const char *what = "an option about security";
  int err = uv_loop_init(&a.loop);
  if (err != 0) {
    fprintf(stderr, "kinformer: %s\n", kin_strerror(err));
    return EXIT_FAILED;
  }
  err = open_client(&a);
  if (err == 0) {
    err = app_try_informer(&a, &what);
  }
  int status = EXIT_DONE;
  if (err != 0) {
    say(&a, what, err);
    status = app_status_of(&a, err);
  }
  if (a.client) {
    kin_client_close(a.client, NULL, NULL);
  }
  uv_run(&a.loop, UV_RUN_DEFAULT);
  uv_loop_close(&a.loop);
  return status;
}
