/* SPDX-License-Identifier: MIT */
#include "config/exec_config.h"

#include <inttypes.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/exec_command.h"
#include "config/path_clean.h"
#include "transport/wiping.h"
#include "object/json.h"
#include "transport/secret.h"

#define MAX_EXEC_TIMEOUT_MS 3600000u
#define MAX_CLUSTER_CONFIG (64u << 10)
#define INSTALL_HINT_BYTES 256u

/* --- Checks --------------------------------------------------------------- */

static bool is_v1(const kin_exec_plugin *plugin) {
  return strcmp(plugin->api_version, KIN__EXEC_V1) == 0;
}

/* XP-01, XP-03. */
static int check_version(const kin_exec_plugin *plugin, const kin__log *log) {
  if (plugin->api_version == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "exec.api_version: is required");
  }
  if (!kin__exec_knows_version(plugin->api_version)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "exec.api_version: " KIN__EXEC_NO_VERSION,
                            plugin->api_version);
  }
  if (is_v1(plugin) && plugin->interactive == KIN_EXEC_INTERACTIVE_UNSET) {
    return kin__log_problem(log, KIN_EINVAL,
                            "exec.interactive: is required by " KIN__EXEC_V1);
  }
  return 0;
}

static int check_exec_enum(const char *name, int value, int last,
                           const kin__log *log) {
  return value >= 0 && value <= last
             ? 0
             : kin__log_problem(log, KIN_EINVAL,
                                "exec.%s: there is no value %d", name, value);
}

static int check_count(const char *name, const void *array, size_t count,
                       const kin__log *log) {
  if (count > KIN__EXEC_MAX_STRINGS) {
    return kin__log_problem(log, KIN_EINVAL, "exec.%s: %zu are more than %u",
                            name, count, KIN__EXEC_MAX_STRINGS);
  }
  return count == 0 || array != NULL
             ? 0
             : kin__log_problem(log, KIN_EINVAL, "exec.%s: is NULL", name);
}

static int check_strings(const char *name, const char *const *strings,
                         size_t count, const kin__log *log) {
  int err = check_count(name, strings, count, log);
  for (size_t i = 0; err == 0 && i < count; i++) {
    if (strings[i] == NULL) {
      err = kin__log_problem(log, KIN_EINVAL, "exec.%s: number %zu is NULL",
                             name, i + 1);
    }
  }
  return err;
}

static int check_variables(const kin_exec_plugin *plugin, const kin__log *log) {
  int err =
      check_count("variables", plugin->variables, plugin->variable_count, log);
  for (size_t i = 0; err == 0 && i < plugin->variable_count; i++) {
    const kin_exec_variable *variable = &plugin->variables[i];
    if (!kin__has_text(variable->name) || strchr(variable->name, '=') != NULL ||
        variable->value == NULL) {
      err = kin__log_problem(
          log, KIN_EINVAL,
          "exec.variables: number %zu has no name, a name with '=', or no "
          "value",
          i + 1);
    }
  }
  return err;
}

static int check_config(const char *config, const kin_allocator *allocator,
                        const kin__log *log) {
  if (config == NULL) {
    return 0;
  }
  kin_str text = kin__cstr(config);
  if (text.length > MAX_CLUSTER_CONFIG) {
    return kin__log_problem(log, KIN_EINVAL,
                            "exec.cluster_config: has more than 64 KiB");
  }
  kin__wiping wiping;
  kin__wiping_init(&wiping, allocator);
  struct yyjson_doc *doc;
  int err = kin__json_parse(&doc, &wiping.allocator, text);
  if (err == 0) {
    kin__json_free(&wiping.allocator, doc);
  } else if (err != KIN_ENOMEM) {
    err = kin__log_problem(log, KIN_EINVAL,
                           "exec.cluster_config: is no JSON text");
  }
  return err;
}

static int check_entry(const char *entry, size_t index,
                       const kin_allocator *allocator, const kin__log *log) {
  if (entry[0] == '\0') {
    return kin__log_problem(log, KIN_EINVAL,
                            "exec.allowlist: number %zu is empty", index + 1);
  }
  char *clean = kin__strdup(allocator, entry);
  if (clean == NULL) {
    return KIN_ENOMEM;
  }
  kin__path_clean(clean);
  int err = strcmp(clean, entry) == 0
                ? 0
                : kin__log_problem(log, KIN_EINVAL,
                                   "exec.allowlist: \"%.80s\" is not "
                                   "normalized, which would be \"%.80s\"",
                                   entry, clean);
  kin__free(allocator, clean);
  return err;
}

/* XP-09. */
static int check_policy(const kin_exec_plugin *plugin,
                        const kin_allocator *allocator, const kin__log *log) {
  bool is_list = plugin->policy == KIN_EXEC_POLICY_ALLOWLIST;
  if (is_list != (plugin->allowlist_count > 0)) {
    return kin__log_problem(log, KIN_EINVAL,
                            is_list ? "exec.allowlist: is empty; the policy "
                                      "that allows nothing is DENY_ALL"
                                    : "exec.allowlist: needs the policy "
                                      "ALLOWLIST");
  }
  int err = check_strings("allowlist", plugin->allowlist,
                          plugin->allowlist_count, log);
  for (size_t i = 0; err == 0 && i < plugin->allowlist_count; i++) {
    err = check_entry(plugin->allowlist[i], i, allocator, log);
  }
  return err;
}

/* The members that no kubeconfig has. */
static int check_terms(const kin_exec_plugin *plugin,
                       const kin_allocator *allocator, const kin__log *log) {
  int err = check_exec_enum("stderr_to", (int)plugin->stderr_to,
                            KIN_EXEC_STDERR_DISCARD, log);
  if (err == 0) {
    err = check_exec_enum("policy", (int)plugin->policy,
                          KIN_EXEC_POLICY_ALLOWLIST, log);
  }
  if (err == 0 && plugin->timeout_ms > MAX_EXEC_TIMEOUT_MS) {
    err = kin__log_problem(log, KIN_EINVAL,
                           "exec.timeout_ms: %" PRIu32 " is more than %u",
                           plugin->timeout_ms, MAX_EXEC_TIMEOUT_MS);
  }
  return err == 0 ? check_policy(plugin, allocator, log) : err;
}

static int check_plugin(const kin_exec_plugin *plugin,
                        const kin_allocator *allocator, const kin__log *log) {
  int err = check_version(plugin, log);
  if (err == 0 && !kin__has_text(plugin->command)) {
    err = kin__log_problem(log, KIN_EINVAL, "exec.command: is required");
  }
  if (err == 0) {
    err = check_exec_enum("interactive", (int)plugin->interactive,
                          KIN_EXEC_INTERACTIVE_ALWAYS, log);
  }
  if (err == 0) {
    err = check_strings("args", plugin->args, plugin->arg_count, log);
  }
  if (err == 0) {
    err = check_variables(plugin, log);
  }
  if (err == 0) {
    err = check_config(plugin->cluster_config, allocator, log);
  }
  return err == 0 ? check_terms(plugin, allocator, log) : err;
}

int kin__exec_terms_check(const kin_exec_plugin *terms,
                          const kin_allocator *allocator, const kin__log *log) {
  const struct {
    const char *name;
    bool is_set;
  } rows[] = {
      {"api_version", terms->api_version != NULL},
      {"command", terms->command != NULL},
      {"args", terms->args != NULL || terms->arg_count > 0},
      {"variables", terms->variables != NULL || terms->variable_count > 0},
      {"install_hint", terms->install_hint != NULL},
      {"interactive", terms->interactive != KIN_EXEC_INTERACTIVE_UNSET},
      {"provide_cluster_info", terms->provide_cluster_info},
      {"disable_compression", terms->disable_compression},
      {"proxy_url", terms->proxy_url != NULL},
      {"cluster_config", terms->cluster_config != NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].is_set) {
      return kin__log_problem(
          log, KIN_EINVAL, "exec.%s: comes from the kubeconfig", rows[i].name);
    }
  }
  return check_terms(terms, allocator, log);
}

/* --- Copies --------------------------------------------------------------- */

static bool copy_text(char **to, const kin_allocator *allocator,
                      const char *text) {
  *to = kin__strdup(allocator, text);
  return *to != NULL || text == NULL;
}

/* The command as execution needs it: with a slash, unless it is to be looked
 * up. */
static bool copy_command(char **to, const kin_allocator *allocator,
                         const char *command) {
  size_t length = strlen(command);
  char *clean = kin__malloc(allocator, length + 3); /* "./" and a NUL */
  if (clean == NULL) {
    return false;
  }
  memcpy(clean, command, length + 1);
  kin__path_clean(clean);
  if (strchr(command, '/') != NULL && strchr(clean, '/') == NULL) {
    memmove(clean + 2, clean, strlen(clean) + 1);
    memcpy(clean, "./", 2);
  }
  *to = clean;
  return true;
}

/* The installation hint is printed as it is, so terminals must not obey it. */
static bool copy_hint(char **to, const kin_allocator *allocator,
                      const char *hint) {
  if (!kin__has_text(hint)) {
    return true;
  }
  *to = kin__strndup(allocator, hint, strnlen(hint, INSTALL_HINT_BYTES));
  if (*to != NULL) {
    kin__put_on_one_line(*to);
  }
  return *to != NULL;
}

static char **new_strings(const kin_allocator *allocator, size_t count) {
  return kin__calloc(allocator, count + 1, sizeof(char *));
}

static bool copy_strings(char **to, const kin_allocator *allocator,
                         const char *const *strings, size_t count) {
  for (size_t i = 0; i < count; i++) {
    to[i] = kin__strdup(allocator, strings[i]);
    if (to[i] == NULL) {
      return false;
    }
  }
  return true;
}

static bool copy_variables(char **to, const kin_allocator *allocator,
                           const kin_exec_variable *variables, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t name = strlen(variables[i].name);
    size_t value = strlen(variables[i].value);
    to[i] = kin__malloc(allocator, name + value + 2);
    if (to[i] == NULL) {
      return false;
    }
    memcpy(to[i], variables[i].name, name);
    to[i][name] = '=';
    memcpy(to[i] + name + 1, variables[i].value, value + 1);
  }
  return true;
}

static bool copy_lists(kin__exec_config *out, const kin_allocator *allocator,
                       const kin_exec_plugin *plugin) {
  out->args = new_strings(allocator, plugin->arg_count + 1);
  out->variables = new_strings(allocator, plugin->variable_count);
  out->allowlist = new_strings(allocator, plugin->allowlist_count);
  out->allowlist_count = plugin->allowlist_count;
  return out->args != NULL && out->variables != NULL &&
         out->allowlist != NULL &&
         copy_text(&out->args[0], allocator, plugin->command) &&
         copy_strings(out->args + 1, allocator, plugin->args,
                      plugin->arg_count) &&
         copy_variables(out->variables, allocator, plugin->variables,
                        plugin->variable_count) &&
         copy_strings(out->allowlist, allocator, plugin->allowlist,
                      plugin->allowlist_count);
}

static bool copy_cluster(kin__exec_config *out, const kin_allocator *allocator,
                         const kin_exec_plugin *plugin,
                         const kin__exec_server *server) {
  out->provides_cluster = plugin->provide_cluster_info;
  out->disable_compression = plugin->disable_compression;
  out->is_insecure = server->is_insecure;
  return !out->provides_cluster ||
         (copy_text(&out->url, allocator, server->url) &&
          copy_text(&out->tls_server_name, allocator,
                    server->tls_server_name) &&
          copy_text(&out->authority_data, allocator, server->authority_data) &&
          copy_text(&out->authority_file, allocator, server->authority_file) &&
          copy_text(&out->proxy_url, allocator, plugin->proxy_url) &&
          copy_text(&out->cluster_config, allocator, plugin->cluster_config));
}

int kin__exec_config_init(kin__exec_config *out, const kin_allocator *allocator,
                          const kin_exec_plugin *plugin,
                          const kin__exec_server *server, const kin__log *log) {
  *out = (kin__exec_config){.api_version = NULL};
  int err = check_plugin(plugin, allocator, log);
  if (err != 0) {
    return err;
  }
  out->interactive = plugin->interactive != KIN_EXEC_INTERACTIVE_UNSET
                         ? plugin->interactive
                         : KIN_EXEC_INTERACTIVE_IF_AVAILABLE;
  out->stderr_to = plugin->stderr_to;
  out->policy = plugin->policy;
  out->timeout_ms = plugin->timeout_ms;
  out->stdin_unavailable = plugin->stdin_unavailable;
  if (!copy_text(&out->api_version, allocator, plugin->api_version) ||
      !copy_command(&out->command, allocator, plugin->command) ||
      !copy_hint(&out->install_hint, allocator, plugin->install_hint) ||
      !copy_hint(&out->stdin_message, allocator,
                 plugin->stdin_unavailable_message) ||
      !copy_lists(out, allocator, plugin) ||
      !copy_cluster(out, allocator, plugin, server)) {
    kin__exec_config_finish(out, allocator);
    return KIN_ENOMEM;
  }
  return 0;
}

static void free_strings(const kin_allocator *allocator, char ***strings) {
  for (char **at = *strings; at != NULL && *at != NULL; at++) {
    kin__secret_free(allocator, at);
  }
  kin__free(allocator, *strings);
  *strings = NULL;
}

void kin__exec_config_finish(kin__exec_config *config,
                             const kin_allocator *allocator) {
  char **const texts[] = {&config->api_version,
                          &config->command,
                          &config->install_hint,
                          &config->stdin_message,
                          &config->url,
                          &config->tls_server_name,
                          &config->authority_data,
                          &config->authority_file,
                          &config->proxy_url,
                          &config->cluster_config};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    kin__secret_free(allocator, texts[i]);
  }
  free_strings(allocator, &config->args);
  free_strings(allocator, &config->variables);
  free_strings(allocator, &config->allowlist);
}
