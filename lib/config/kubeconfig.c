/* SPDX-License-Identifier: MIT */
#include <kin/kubeconfig.h>

#include <string.h>

#include <kin/error.h>
#include <kin/sized.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/library.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "config/exec_terms.h"
#include "config/kube_files.h"
#include "config/kubeconfig.h"
#include "config/kube_load.h"
#include "config/yaml.h"

struct kin_kubeconfig {
  kin_allocator allocator;
  kin__resolved_config config;
};

/* --- Problems ------------------------------------------------------------- */

static void set_problem(char *to, size_t size, const char *text) {
  if (to != NULL && size > 0) {
    size_t length = strlen(text);
    size_t kept = length < size - 1 ? length : size - 1;
    memcpy(to, text, kept);
    to[kept] = '\0';
  }
}

/* A line of the log for each problem. */
static void log_problems(const kin__log *log, const char *text) {
  while (*text != '\0') {
    size_t length = strcspn(text, "\n");
    kin__log_write(log, KIN_LOG_ERROR, "%.*s", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

/* --- Loading -------------------------------------------------------------- */

int kin__kubeconfig_options_check(const kin_kubeconfig_options *options,
                                  const kin__log *log) {
  const kin__library library = kin__yaml_library();
  int err = kin__library_check(&library, log);
  if (err == 0) {
    err =
        kin__options_check_common(options->allocator, options->log_level, log);
  }
  if (err != 0) {
    return err;
  }
  bool lacks_group = options->impersonate_group_count > 0 &&
                     options->impersonate_groups == NULL;
  for (size_t i = 0; !lacks_group && i < options->impersonate_group_count;
       i++) {
    lacks_group = options->impersonate_groups[i] == NULL;
  }
  if (lacks_group) {
    return kin__log_problem(log, KIN_EINVAL,
                            "impersonate_groups: a group is NULL");
  }
  const kin_allocator *allocator = options->allocator != NULL
                                       ? options->allocator
                                       : kin__default_allocator();
  return options->exec != NULL
             ? kin__exec_terms_check_given(options->exec, allocator, log)
             : 0;
}

/* Errors: as kin_kubeconfig_load; all but KIN_ENOMEM are in `problems`, which is
 * empty then. */
static int load(kin_kubeconfig **out, const kin_kubeconfig_options *options,
                const kin__log *log, kin__problems *problems) {
  const kin_allocator *allocator = options->allocator != NULL
                                       ? options->allocator
                                       : kin__default_allocator();
  kin_kubeconfig *config = kin__calloc(allocator, 1, sizeof *config);
  if (config == NULL) {
    return KIN_ENOMEM;
  }
  config->allocator = *allocator;
  kin__resolved_config_init(&config->config, &config->allocator);
  char folder[KIN__FOLDER_SIZE];
  kin__config_env env = kin__config_env_of_process(log);
  env.folder = kin__config_folder(folder);
  int err = kin__kube_load(&config->config, options, &env, problems);
  if (err != 0) {
    kin_kubeconfig_free(config);
    config = NULL;
  }
  if (err == KIN_ENOMEM) {
    kin__problems_init(problems);
  }
  *out = config;
  return err;
}

int kin_kubeconfig_load(kin_kubeconfig **out,
                        const kin_kubeconfig_options *options) {
  if (out != NULL) {
    *out = NULL;
  }
  char line[KIN__PROBLEM_SIZE] = "";
  kin__log log = {.level = KIN_LOG_WARN, .problem = line};
  kin_kubeconfig_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_kubeconfig_options),
                              "kin_kubeconfig_options", &log);
  if (err != 0 && options != NULL &&
      KIN_HAS(options, kin_kubeconfig_options, problem_size)) {
    set_problem(options->problem, options->problem_size, line);
  }
  if (err != 0) {
    return err;
  }
  if (out == NULL) {
    set_problem(copy.problem, copy.problem_size, "");
    return KIN_EINVAL;
  }
  log.cb = copy.log;
  log.data = copy.log_data;
  log.level = copy.log_level != 0 ? copy.log_level : KIN_LOG_WARN;
  kin__problems problems;
  kin__problems_init(&problems);
  err = kin__kubeconfig_options_check(&copy, &log);
  if (err != 0) {
    set_problem(copy.problem, copy.problem_size, line);
    return err;
  }
  err = load(out, &copy, &log, &problems);
  log_problems(&log, problems.text);
  set_problem(copy.problem, copy.problem_size, problems.text);
  return err;
}

void kin_kubeconfig_free(kin_kubeconfig *config) {
  if (config != NULL) {
    kin__resolved_config_finish(&config->config);
    kin_allocator allocator = config->allocator;
    kin__free(&allocator, config);
  }
}

/* --- Use ------------------------------------------------------------------ */

void kin__resolved_config_apply(const kin__resolved_config *config,
                                kin_client_options *options) {
  options->server = config->server;
  options->proxy_url = config->proxy_url;
  options->tls_server_name = config->tls_server_name;
  options->certificate_authority_file = config->certificate_authority_file;
  options->certificate_authority_data = config->certificate_authority_data;
  options->insecure_skip_tls_verify = config->insecure_skip_tls_verify;
  options->client_certificate_file = config->client_certificate_file;
  options->client_certificate_data = config->client_certificate_data;
  options->client_key_file = config->client_key_file;
  options->client_key_data = config->client_key_data;
  options->token = config->token;
  options->token_file = config->token_file;
  options->username = config->username;
  options->password = config->username != NULL ? config->password : NULL;
  options->exec = config->exec != NULL ? &config->plugin : NULL;
  options->impersonate_user = config->impersonate_user;
  options->impersonate_uid = config->impersonate_uid;
  options->impersonate_groups = config->impersonate_groups;
  options->impersonate_group_count = config->impersonate_group_count;
  options->impersonate_extra = config->impersonate_extra;
  options->impersonate_extra_count = config->impersonate_extra_count;
  options->accept_gzip = options->accept_gzip && !config->disable_compression;
}

int kin_kubeconfig_apply(const kin_kubeconfig *config,
                         kin_client_options *options) {
  if (config == NULL || options == NULL ||
      options->size < KIN__FIRST_SIZE(kin_client_options)) {
    return KIN_EINVAL;
  }
  set_problem(options->problem, options->problem_size, "");
  kin__resolved_config_apply(&config->config, options);
  return 0;
}

/* --- Getters -------------------------------------------------------------- */

const char *kin_kubeconfig_server(const kin_kubeconfig *config) {
  return config != NULL ? config->config.server : "";
}

const char *kin_kubeconfig_namespace(const kin_kubeconfig *config) {
  return config != NULL ? config->config.namespace_ : "";
}

bool kin_kubeconfig_has_namespace(const kin_kubeconfig *config) {
  return config != NULL && config->config.has_namespace;
}

const char *kin_kubeconfig_context(const kin_kubeconfig *config) {
  return config != NULL ? config->config.context : "";
}

const char *kin_kubeconfig_cluster(const kin_kubeconfig *config) {
  return config != NULL ? config->config.cluster : "";
}

const char *kin_kubeconfig_user(const kin_kubeconfig *config) {
  return config != NULL ? config->config.user : "";
}

bool kin_kubeconfig_is_in_cluster(const kin_kubeconfig *config) {
  return config != NULL && config->config.is_in_cluster;
}

size_t kin_kubeconfig_context_count(const kin_kubeconfig *config) {
  return config != NULL ? config->config.context_count : 0;
}

const char *kin_kubeconfig_context_at(const kin_kubeconfig *config,
                                      size_t index) {
  return config != NULL && index < config->config.context_count
             ? config->config.contexts[index]
             : NULL;
}

size_t kin_kubeconfig_file_count(const kin_kubeconfig *config) {
  return config != NULL ? config->config.file_count : 0;
}

const char *kin_kubeconfig_file_at(const kin_kubeconfig *config, size_t index) {
  return config != NULL && index < config->config.file_count
             ? config->config.files[index]
             : NULL;
}
