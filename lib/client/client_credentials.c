/* SPDX-License-Identifier: MIT */
#include "client/client_credentials.h"

#include <stddef.h>

#include <kin/error.h>

#include "base/first_size.h"
#include "base/options.h"

static int open_token(kin__client_credentials *credentials,
                      const kin_client_options *options, kin__loop *loop,
                      const kin_allocator *allocator, const kin__log *log) {
  kin__token_options token = {.loop = loop->uv,
                              .allocator = allocator,
                              .clock = {loop->sched.now_ns, loop->sched.ctx},
                              .log = log,
                              .token = options->token,
                              .file = options->token_file};
  int err = kin__token_new(&credentials->token, &token);
  if (err == KIN_EINVAL) {
    kin__log_problem(log, err,
                     "token or token_file is empty, or the token has bytes "
                     "that no token has");
  }
  return err;
}

static int open_basic(kin__client_credentials *credentials,
                      const kin_client_options *options,
                      const kin_allocator *allocator, const kin__log *log) {
  if (credentials->token != NULL) {
    return kin__log_problem(log, KIN_EINVAL,
                            "username: not together with a token");
  }
  int err = kin__basic_source_new(&credentials->basic, allocator,
                                  options->username, options->password);
  if (err == KIN_EINVAL) {
    kin__log_problem(log, err,
                     "username or password: the name is empty or has a colon, "
                     "or one of both has control characters or over 16 KiB");
  }
  return err;
}

static bool is_loop_swept(void *ctx) {
  return kin__loop_is_swept(ctx);
}

static int open_exec(kin__client_credentials *credentials,
                     const kin_client_options *options, kin__loop *loop,
                     const kin_allocator *allocator, const kin__log *log) {
  kin_exec_plugin plugin;
  int err = kin__options_take(&plugin, sizeof plugin, options->exec,
                              KIN__FIRST_SIZE(kin_exec_plugin),
                              "kin_exec_plugin", log);
  if (err != 0) {
    return err;
  }
  kin__exec_plugin_options exec = {
      .loop = loop->uv,
      .timers = &loop->timers,
      .allocator = allocator,
      .clock = {loop->sched.now_ns, loop->sched.ctx},
      .log = log,
      .plugin = &plugin,
      .server = {.url = options->server,
                 .tls_server_name = options->tls_server_name,
                 .authority_data = options->certificate_authority_data,
                 .authority_file = options->certificate_authority_file,
                 .is_insecure = options->insecure_skip_tls_verify},
      .is_swept = is_loop_swept,
      .is_swept_ctx = loop};
  return kin__exec_plugin_new(&credentials->exec, &exec);
}

int kin__client_credentials_open(kin__client_credentials *credentials,
                                 const kin_client_options *options,
                                 kin__loop *loop,
                                 const kin_allocator *allocator,
                                 const kin__log *log) {
  bool has_basic = options->username != NULL || options->password != NULL;
  int err = 0;
  if (options->token != NULL || options->token_file != NULL) {
    err = open_token(credentials, options, loop, allocator, log);
  }
  if (err == 0 && has_basic) {
    err = open_basic(credentials, options, allocator, log);
  }
  bool has_other = credentials->token != NULL || has_basic ||
                   options->client_certificate_file != NULL ||
                   options->client_certificate_data != NULL;
  if (err == 0 && options->exec != NULL && !has_other) {
    err = open_exec(credentials, options, loop, allocator, log);
  }
  return err;
}

bool kin__client_credentials_source(const kin__client_credentials *credentials,
                                    kin__credentials *out) {
  if (credentials->token != NULL) {
    *out = kin__token_credentials(credentials->token);
  } else if (credentials->basic != NULL) {
    *out = kin__basic_source_credentials(credentials->basic);
  } else if (credentials->exec != NULL) {
    *out = kin__exec_plugin_credentials(credentials->exec);
  } else {
    return false;
  }
  return true;
}

void kin__client_credentials_free(kin__client_credentials *credentials) {
  if (credentials->token != NULL) {
    kin__token_free(credentials->token);
  }
  kin__basic_source_free(credentials->basic);
  if (credentials->exec != NULL) {
    kin__exec_plugin_free(credentials->exec);
  }
}

void kin__client_credentials_close(kin__client_credentials *credentials,
                                   void (*cb)(void *ctx), void *ctx) {
  kin__token *token = credentials->token;
  kin__exec_plugin *exec = credentials->exec;
  credentials->stats = kin__client_credentials_stats(credentials);
  kin__basic_source_free(credentials->basic);
  credentials->token = NULL;
  credentials->basic = NULL;
  credentials->exec = NULL;
  if (token != NULL) {
    kin__token_close(token, cb, ctx);
  } else if (exec != NULL) {
    kin__exec_plugin_close(exec, cb, ctx);
  } else {
    cb(ctx);
  }
}

void kin__client_credentials_set_ref(kin__client_credentials *credentials,
                                     bool is_ref) {
  if (credentials->exec != NULL) {
    kin__exec_plugin_set_ref(credentials->exec, is_ref);
  }
}

kin__exec_stats
kin__client_credentials_stats(const kin__client_credentials *credentials) {
  return credentials->exec != NULL
             ? *kin__exec_plugin_get_stats(credentials->exec)
             : credentials->stats;
}
