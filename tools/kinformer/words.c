/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdio.h>

#include <kin/discovery.h>

enum { RETRY_MS = 1000, RETRY_DOUBLINGS = 3 }; /* 1, 2, 4, 8 s */

bool words_are_supported(void) {
  return true;
}

static void end(app *a, int exit_status, const char *message) {
  snprintf(a->refusal, sizeof a->refusal, "%s", message);
  app_end(a, exit_status, a->refusal, 0);
}

static void on_retry(uv_timer_t *timer) {
  app *a = timer->data;
  int err = words_ask(a);
  if (err != 0) {
    app_end_beginning(a, "RESOURCE", err);
  }
}

/* Told as a failure of the informer would be. */
static void ask_again(app *a, const kin_discovery_result *result) {
  uint32_t doublings =
      a->word_failures < RETRY_DOUBLINGS ? a->word_failures : RETRY_DOUBLINGS;
  kin_error_event event = {.size = sizeof event,
                           .code = result->code,
                           .error_class = result->error_class,
                           .status = result->status,
                           .reason = result->reason,
                           .message = result->message,
                           .namespace_ = "",
                           .attempt = ++a->word_failures,
                           .retry_in_ms = (uint64_t)RETRY_MS << doublings};
  uv_timer_start(&a->word_retry, on_retry, event.retry_in_ms, 0);
  app_on_error(NULL, &event, a);
}

/* The options are good, see app.c: what is wrong is the server's. */
static void go_on(app *a, int open_err) {
  if (open_err != 0) {
    app_end_beginning(a, "RESOURCE", open_err);
    a->exit_status = EXIT_FAILED;
  } else {
    app_follow(a);
  }
}

static void follow(app *a, const kin_discovery_result *result) {
  const kin_api_resource *found = result->resources[0];
  options *o = a->options;
  if (!found->is_namespaced && o->namespace_count > 0) {
    if (!o->has_default_namespace) {
      char message[400];
      snprintf(message, sizeof message, "-n: %.300s have no namespace",
               found->plural);
      end(a, EXIT_FAILED, message);
      return;
    }
    o->namespace_count = 0;
  }
  kin_informer_options io = app_informer_options(a);
  a->is_beginning = true;
  int err = kin_discovery_open_informer(&a->informer, a->client, result, &io);
  a->is_beginning = false;
  go_on(a, err);
}

/* A server that has no discovery, or keeps it from this user, may serve the
 * resource all the same. */
static bool is_believed(const app *a, const kin_discovery_result *result) {
  bool is_refused = result->status == 403 || result->status == 404;
  return a->options->resource.version && is_refused;
}

static void believe(app *a) {
  a->is_beginning = true;
  int err = app_open_informer(a);
  a->is_beginning = false;
  go_on(a, err);
}

static void on_found(const kin_discovery_result *result, void *data) {
  app *a = data;
  if (a->is_ending) {
    return;
  }
  /* KIN_ENOENT has a class if the server has not even /api and /apis. */
  bool is_unknown =
      result->code == KIN_ENOENT && result->error_class == KIN_CLASS_NONE;
  if (result->code == 0) {
    follow(a, result);
  } else if (is_unknown || result->code == KIN_EAMBIGUOUS) {
    end(a, EXIT_FAILED, result->message);
  } else if (is_believed(a, result)) {
    believe(a);
  } else {
    ask_again(a, result);
  }
}

/* The library asks a server that asks for it again, and goes on waiting. */
static void on_failing(kin_error_event *event, void *data) {
  app_on_error(NULL, event, data);
}

int words_ask(app *a) {
  int err = kin_discovery_on_error(a->client, on_failing, a);
  return err == 0 ? kin_discovery_find(NULL, a->client,
                                       a->options->resource.word, on_found, a)
                  : err;
}
