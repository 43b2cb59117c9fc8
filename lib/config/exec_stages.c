/* SPDX-License-Identifier: MIT */
/* One run of a plugin, stage by stage. */
#include "config/exec_core.h"

#include <assert.h>
#include <inttypes.h>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/exec_environment.h"
#include "transport/environment.h"
#include "transport/file.h"

#define EXEC_HINTS_MAX 10u
#define EXEC_HINT_WINDOW_MS 3600000u
#define EXEC_INFO_MAX_BYTES (4u << 20)
#define EXEC_INFO_NAME "KUBERNETES_EXEC_INFO="
#define DAY_S INT64_C(86400)

static void fail_and_end(kin__exec_plugin *plugin, int code, const char *why) {
  kin__exec_fail(plugin, code, "%s", why);
  kin__exec_become_idle(plugin);
}

/* --- CHECKING ------------------------------------------------------------- */

/* For the pool. Seconds since 1970, or 0. */
static int64_t certificate_expiry(SSL_CTX *context) {
  X509 *certificate = SSL_CTX_get0_certificate(context);
  ASN1_TIME *begin = ASN1_TIME_set(NULL, 0);
  int days = 0;
  int seconds = 0;
  if (certificate == NULL || begin == NULL ||
      ASN1_TIME_diff(&days, &seconds, begin, X509_get0_notAfter(certificate)) !=
          1) {
    days = seconds = 0;
  }
  ASN1_TIME_free(begin);
  ERR_clear_error();
  return days * DAY_S + seconds;
}

static void on_check_work(uv_work_t *work) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(work, kin__exec_plugin, work);
  kin__tls_build_run(&plugin->build);
  plugin->found_expires_s = 0;
  if (plugin->build.context != NULL) {
    plugin->found_expires_s = certificate_expiry(plugin->build.context);
    SSL_CTX_free(plugin->build.context);
    ERR_clear_error();
  }
}

static void on_checked(uv_work_t *work, int status) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(work, kin__exec_plugin, work);
  if (status == 0 && !plugin->is_closing) {
    if (plugin->build.code == 0) {
      kin__exec_adopt_found(plugin);
    } else {
      bool is_memory = plugin->build.code == KIN_ENOMEM;
      plugin->stats.unusable++;
      kin__exec_fail(plugin, is_memory ? KIN_ENOMEM : KIN_ETOKEN,
                     "exec plugin %.120s: %s", plugin->config.command,
                     plugin->build.reason);
    }
  }
  kin__exec_become_idle(plugin);
}

static void queue_exec_work(kin__exec_plugin *plugin, kin__exec_stage state,
                            uv_work_cb work, uv_after_work_cb after) {
  plugin->state = state;
  int err = uv_queue_work(plugin->loop, &plugin->work, work, after);
  assert(err == 0); /* fails only without a callback */
  (void)err;
}

/* The pair is parsed as for a connection, but its authority does not matter. */
static void check_pair(kin__exec_plugin *plugin) {
  static char name[] = "exec";
  plugin->settings = (kin__tls_settings){.name = name, .is_insecure = true};
  plugin->settings.data[KIN__TLS_CERTIFICATE] = plugin->found.certificate;
  plugin->settings.data[KIN__TLS_KEY] = plugin->found.key;
  plugin->build =
      (kin__tls_build){.settings = &plugin->settings, .is_forced = true};
  queue_exec_work(plugin, KIN__EXEC_CHECKING, on_check_work, on_checked);
}

/* --- RUNNING -------------------------------------------------------------- */

/* XP-08. */
static bool may_hint(kin__exec_plugin *plugin) {
  uint64_t now_ms = kin__exec_now_ms(plugin);
  if (plugin->hints == 0 ||
      now_ms - plugin->hint_window_ms >= EXEC_HINT_WINDOW_MS) {
    plugin->hint_window_ms = now_ms;
    plugin->hints = 0;
  }
  if (plugin->config.install_hint == NULL || plugin->hints >= EXEC_HINTS_MAX) {
    return false;
  }
  plugin->hints++;
  return true;
}

static void fail_missing(kin__exec_plugin *plugin, int code) {
  const char *command = plugin->config.command;
  plugin->stats.not_found++;
  if (code != UV_ENOENT) {
    kin__exec_fail(plugin, KIN_ETOKEN, "exec: executable %.120s: %s", command,
                   kin_strerror(code));
  } else {
    bool has_hint = may_hint(plugin);
    kin__exec_fail(plugin, KIN_ETOKEN, "exec: executable %.120s not found%s%s",
                   command, has_hint ? "; " : "",
                   has_hint ? plugin->config.install_hint : "");
  }
}

static uint32_t run_timeout_ms(const kin__exec_plugin *plugin) {
  if (plugin->config.timeout_ms != 0) {
    return plugin->config.timeout_ms;
  }
  return plugin->is_interactive ? KIN__EXEC_INTERACTIVE_TIMEOUT_MS
                                : KIN__EXEC_TIMEOUT_MS;
}

/* The run has not ended by itself. */
static void fail_result(kin__exec_plugin *plugin,
                        const kin__exec_result *result) {
  const char *command = plugin->config.command;
  if (!result->has_run && result->code == UV_ENOENT) {
    fail_missing(plugin, result->code); /* gone since it was looked up */
    return;
  }
  plugin->stats.failed += result->has_run;
  plugin->stats.internal += !result->has_run;
  if (result->code == KIN_ETIMEDOUT) {
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec: executable %.120s did not end within %" PRIu32 " ms",
                   command, run_timeout_ms(plugin));
  } else if (result->code == KIN_ETOOBIG) {
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec: executable %.120s printed more than 1 MiB", command);
  } else {
    kin__exec_fail(plugin, result->code == KIN_ENOMEM ? KIN_ENOMEM : KIN_ETOKEN,
                   "exec: executable %.120s: %s", command,
                   kin_strerror(result->code));
  }
}

static bool has_succeeded(kin__exec_plugin *plugin) {
  const kin__exec_result *result = &plugin->run.result;
  const char *command = plugin->config.command;
  if (result->code != 0) {
    fail_result(plugin, result);
  } else if (result->signal != 0) {
    plugin->stats.failed++;
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec: executable %.120s was ended by signal %d", command,
                   result->signal);
  } else if (result->exit_status != 0) {
    plugin->stats.failed++;
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec: executable %.120s failed with exit code %" PRId64,
                   command, result->exit_status);
  } else {
    plugin->stats.succeeded++;
    return true;
  }
  return false;
}

static void take_output(kin__exec_plugin *plugin) {
  char reason[KIN__EXEC_REASON_SIZE];
  kin_str output = kin__str(plugin->run.output, plugin->run.output_length);
  int err = kin__exec_credential_read(&plugin->found, plugin->allocator, output,
                                      plugin->config.api_version, reason);
  kin__exec_run_finish(&plugin->run);
  if (err != 0) {
    plugin->stats.unusable++;
    kin__exec_fail(plugin, err, "exec plugin %.120s: %s",
                   plugin->config.command, reason);
    kin__exec_become_idle(plugin);
  } else if (plugin->found.certificate != NULL) {
    check_pair(plugin);
  } else {
    kin__exec_adopt_found(plugin);
    kin__exec_become_idle(plugin);
  }
}

void kin__exec_on_run_end(kin__exec_run *run) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(run, kin__exec_plugin, run);
  if (!plugin->is_closing && has_succeeded(plugin)) {
    take_output(plugin);
    return;
  }
  kin__exec_run_finish(run);
  kin__exec_become_idle(plugin);
}

/* Renders "KUBERNETES_EXEC_INFO=...". */
static int render_variable(const kin__exec_plugin *plugin, kin__buf *info) {
  const kin__exec_config *config = &plugin->config;
  kin__exec_cluster cluster = {.server = config->url,
                               .tls_server_name = config->tls_server_name,
                               .proxy_url = config->proxy_url,
                               .config = config->cluster_config,
                               .authority = kin__cstr(config->authority_data),
                               .is_insecure = config->is_insecure,
                               .disable_compression =
                                   config->disable_compression};
  if (plugin->authority != NULL) {
    cluster.authority = kin__str(plugin->authority, plugin->authority_length);
  }
  int err = kin__buf_append_cstr(info, EXEC_INFO_NAME);
  if (err == 0) {
    err =
        kin__exec_info_render(info, config->api_version, plugin->is_interactive,
                              config->provides_cluster ? &cluster : NULL);
  }
  return err == 0 ? kin__buf_append(info, "", 1) : err;
}

/* libuv reads all of it before kin__exec_run_start returns. */
static int start_run(kin__exec_plugin *plugin) {
  const kin__exec_config *config = &plugin->config;
  kin__buf info;
  kin__buf_init(&info, &plugin->wiping.allocator, EXEC_INFO_MAX_BYTES);
  char **environment = NULL;
  int err = render_variable(plugin, &info);
  if (err == 0) {
    environment = kin__exec_environment_new(plugin->allocator,
                                            config->variables, info.data);
    err = environment != NULL ? 0 : KIN_ENOMEM;
  }
  if (err == 0) {
    kin__exec_spawn spawn = {.file = plugin->command.file,
                             .args = config->args,
                             .environment = environment,
                             .timeout_ms = run_timeout_ms(plugin),
                             .is_interactive = plugin->is_interactive,
                             .stderr_to = config->stderr_to};
    plugin->state = KIN__EXEC_RUNNING;
    kin__exec_run_start(&plugin->run, &spawn);
  }
  kin__free(plugin->allocator, environment);
  kin__buf_finish(&info);
  return err;
}

/* --- PREPARING ------------------------------------------------------------ */

static void on_prepare_work(uv_work_t *work) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(work, kin__exec_plugin, work);
  kin__exec_command_resolve(&plugin->command);
  if (plugin->authority != NULL) {
    plugin->authority_code =
        kin__file_read(plugin->config.authority_file, plugin->authority,
                       KIN__TLS_MAX_PEM_BYTES, &plugin->authority_length, NULL);
  }
}

static void on_prepared(uv_work_t *work, int status) {
  kin__exec_plugin *plugin = KIN__CONTAINER_OF(work, kin__exec_plugin, work);
  const char *command = plugin->config.command;
  if (status != 0 || plugin->is_closing || kin__exec_is_cut_off(plugin)) {
    kin__exec_become_idle(plugin);
  } else if (plugin->command.is_denied) {
    plugin->stats.denied++;
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec plugin %.120s is not allowed by the program's policy",
                   command);
    kin__exec_become_idle(plugin);
  } else if (plugin->command.code != 0) {
    fail_missing(plugin, plugin->command.code);
    kin__exec_become_idle(plugin);
  } else if (plugin->authority_code != 0) {
    plugin->stats.internal++;
    kin__exec_fail(plugin, KIN_ETOKEN, "certificate authority file %.120s: %s",
                   plugin->config.authority_file,
                   kin__file_strerror(plugin->authority_code));
    kin__exec_become_idle(plugin);
  } else {
    int err = start_run(plugin);
    if (err != 0) {
      plugin->stats.internal++;
      fail_and_end(plugin, err, kin_strerror(err));
    }
  }
}

/* XP-03. Returns whether the plugin can be run; sets is_interactive. */
static bool decide_interactive(kin__exec_plugin *plugin, const char **why) {
  const kin__exec_config *config = &plugin->config;
  bool is_terminal = plugin->is_terminal();
  *why = NULL;
  plugin->is_interactive = false;
  if (config->interactive == KIN_EXEC_INTERACTIVE_ALWAYS) {
    *why = !is_terminal                ? "standard input is not a terminal"
           : config->stdin_unavailable ? "standard input is unavailable"
                                       : NULL;
    plugin->is_interactive = true;
  } else if (config->interactive == KIN_EXEC_INTERACTIVE_IF_AVAILABLE) {
    plugin->is_interactive = is_terminal && !config->stdin_unavailable;
  }
  return *why == NULL;
}

/* The reason that stands after "standard input is unavailable". */
static const char *message_of(const kin__exec_plugin *plugin) {
  const char *message = plugin->config.stdin_message;
  return plugin->config.stdin_unavailable && plugin->is_terminal() &&
                 message != NULL
             ? message
             : "";
}

static int copy_inputs(kin__exec_plugin *plugin) {
  const kin__exec_config *config = &plugin->config;
  const char *path = kin__environment_get("PATH");
  plugin->path = kin__strdup(plugin->allocator, path);
  plugin->authority_code = 0;
  plugin->authority_length = 0;
  if (config->authority_data == NULL && config->authority_file != NULL) {
    plugin->authority = kin__malloc(plugin->allocator, KIN__TLS_MAX_PEM_BYTES);
    if (plugin->authority == NULL) {
      return KIN_ENOMEM;
    }
  }
  return path == NULL || plugin->path != NULL ? 0 : KIN_ENOMEM;
}

void kin__exec_prepare(kin__exec_plugin *plugin) {
  const kin__exec_config *config = &plugin->config;
  const char *why;
  if (!decide_interactive(plugin, &why)) {
    const char *message = message_of(plugin);
    plugin->stats.internal++;
    kin__exec_fail(plugin, KIN_ETOKEN,
                   "exec plugin cannot support interactive mode: %s%s%s", why,
                   message[0] != '\0' ? ": " : "", message);
    kin__exec_become_idle(plugin);
    return;
  }
  int err = copy_inputs(plugin);
  if (err != 0) {
    plugin->stats.internal++;
    fail_and_end(plugin, err, kin_strerror(err));
    return;
  }
  plugin->command =
      (kin__exec_command){.command = config->command,
                          .path = plugin->path,
                          .policy = config->policy,
                          .allowlist = config->allowlist,
                          .allowlist_count = config->allowlist_count};
  queue_exec_work(plugin, KIN__EXEC_PREPARING, on_prepare_work, on_prepared);
}
