/* SPDX-License-Identifier: MIT */
#include "config/kube_resolve.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/install_hint.h"
#include "config/kube_check.h"
#include "config/kube_use.h"
#include "transport/url.h"

void kin__resolved_config_init(kin__resolved_config *config,
                               const kin_allocator *allocator) {
  *config = (kin__resolved_config){
      .namespace_ = "default", .context = "", .cluster = "", .user = ""};
  kin__vault_init(&config->vault, allocator);
}

void kin__resolved_config_finish(kin__resolved_config *config) {
  kin__vault_finish(&config->vault);
  kin__resolved_config_init(config, config->vault.allocator);
}

/* --- The server ----------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix) {
  size_t length = strlen(prefix);
  return strlen(text) >= length &&
         kin__str_equal_nocase(kin__str(text, length), kin__cstr(prefix));
}

static bool is_https(const char *server) {
  return server != NULL && has_prefix(server, "https://");
}

/* Without a scheme the server counts as http. Behind a path, query and fragment
 * are dropped; the path of a socket goes to the end. Errors: KIN_ENOMEM. */
static int take_server(kin__resolved_config *out, const char *server) {
  bool has_scheme = strstr(server, "://") != NULL;
  const char *prefix = has_scheme ? "" : "http://";
  size_t length = strlen(prefix) + strlen(server);
  char *text = kin__vault_alloc(&out->vault, length + 1, 1);
  if (text == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(text, prefix, strlen(prefix));
  memcpy(text + strlen(prefix), server, strlen(server));
  char *host = strstr(text, "://") + 3;
  char *path = host + strcspn(host, "/?#");
  size_t path_length = strcspn(path, "?#");
  if (path_length > 1 && !has_prefix(text, "unix://")) {
    path[path_length] = '\0';
  }
  out->server = text;
  return 0;
}

/* With what goes to it. Errors: KIN_EINVAL (is told), KIN_ENOMEM. */
static int check_server(const kin__resolved_config *out,
                        const kin__kube_choice *choice,
                        kin__problems *problems) {
  const kin__kube_cluster *cluster = &choice->cluster;
  kin__url url;
  int err = kin__url_parse(&url, out->vault.allocator, out->server);
  if (err == 0) {
    err = kin__kube_check_use(choice, &url, out->vault.allocator, problems);
    kin__url_finish(&url, out->vault.allocator);
    return err;
  }
  if (err != KIN_EURL) {
    return err;
  }
  /* The URL may have a password in it. */
  bool has_user = strchr(out->server, '@') != NULL;
  kin__kube_problem(problems, &cluster->entry, &cluster->server,
                    KIN__CLUSTER_SPOT("server", "server"),
                    has_user
                        ? "a URL with user information is not supported"
                        : "is no http:// or https:// URL of a host, a port "
                          "and a path");
  return 0;
}

/* --- What only the use of a choice shows ---------------------------------- */

static void check_tls(const kin__kube_cluster *cluster,
                      kin__problems *problems) {
  bool has_authority = cluster->certificate_authority.value != NULL ||
                       cluster->certificate_authority_data.value != NULL;
  if (cluster->insecure_skip_tls_verify && has_authority) {
    const kin__kube_text insecure = {.value = "",
                                     .place = cluster->insecure_place};
    kin__kube_problem(problems, &cluster->entry, &insecure,
                      KIN__CLUSTER_SPOT("insecure-skip-tls-verify",
                                        "insecure_skip_tls_verify"),
                      "contradicts a certificate authority");
  }
}

static void check_token_file(const kin__kube_user *user,
                             const kin__config_env *env,
                             kin__problems *problems) {
  const char *path = user->token_file.value;
  if (path == NULL || user->token.value != NULL || env->probe == NULL) {
    return;
  }
  int err = env->probe(env->ctx, path);
  if (err != 0) {
    kin__kube_problem(
        problems, &user->entry, &user->token_file,
        KIN__USER_SPOT("tokenFile", "token_file"), "%.300s: %s", path,
        err == KIN_ENOENT ? "there is no such file" : env->explain(err));
  }
}

static void check_choice(const kin__kube_choice *choice,
                         const kin__config_env *env, kin__problems *problems) {
  const kin__kube_user *user = &choice->user;
  bool is_missing = choice->cluster.entry.place.file == NULL &&
                    choice->cluster.server.value == NULL;
  /* A problem before may be why there is no cluster. */
  if (!is_missing || problems->count == 0) {
    kin__kube_check_cluster(&choice->cluster, env, problems);
  }
  kin__kube_check_user(user, env, problems);
  if (is_https(choice->cluster.server.value)) {
    check_tls(&choice->cluster, problems);
    check_token_file(user, env, problems);
    if (user->has_auth_provider && user->exec == NULL) {
      kin__kube_problem(problems, &user->entry, &user->auth_provider,
                        KIN__USER_SPOT("auth-provider", "auth-provider"),
                        "\"%.60s\" is not supported; exec takes its place",
                        kin__or_default(user->auth_provider.value, ""));
    }
  }
  const kin__kube_text *namespace_ = &choice->context.namespace_;
  if (namespace_->value != NULL && !kin__kube_is_label(namespace_->value)) {
    kin__kube_problem(problems, &choice->context.entry, namespace_,
                      KIN__CONTEXT_SPOT("namespace", "namespace_"),
                      "\"%.120s\" is no name of a namespace",
                      namespace_->value);
  }
}

/* --- Copies --------------------------------------------------------------- */

/* Errors of all: KIN_ENOMEM. */

static int take(kin__resolved_config *out, const char **to,
                const kin__kube_text *text) {
  return kin__vault_take(&out->vault, to, text->value);
}

typedef struct text_copy {
  const char **to;
  const kin__kube_text *from;
} text_copy;

static int take_all(kin__resolved_config *out, const text_copy *copies,
                    size_t count) {
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = take(out, copies[i].to, copies[i].from);
  }
  return err;
}

static int take_extra(kin__resolved_config *out, const kin__kube_user *user) {
  size_t count = user->as_extra_count;
  kin_impersonate_extra *copy =
      kin__vault_alloc(&out->vault, count, sizeof *copy);
  int err = copy != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__vault_take(&out->vault, &copy[i].key, user->as_extra[i].key);
    if (err == 0) {
      err =
          kin__vault_take(&out->vault, &copy[i].value, user->as_extra[i].value);
    }
  }
  out->impersonate_extra = copy;
  out->impersonate_extra_count = count;
  return err;
}

static int take_impersonation(kin__resolved_config *out,
                              const kin__kube_user *user) {
  if (user->as.value == NULL) {
    return 0;
  }
  const text_copy copies[] = {
      {&out->impersonate_user, &user->as},
      {&out->impersonate_uid, &user->as_uid},
  };
  int err = take_all(out, copies, sizeof copies / sizeof *copies);
  if (err == 0) {
    err = kin__vault_take_all(&out->vault, &out->impersonate_groups,
                              user->as_groups.values, user->as_groups.count);
    out->impersonate_group_count = err == 0 ? user->as_groups.count : 0;
  }
  return err == 0 ? take_extra(out, user) : err;
}

static int take_env(kin__resolved_config *out, kin__resolved_exec *to,
                    const kin__kube_exec *exec) {
  kin__exec_env *env =
      kin__vault_alloc(&out->vault, exec->env_count, sizeof *env);
  int err = env != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; i < exec->env_count && err == 0; i++) {
    err = kin__vault_take(&out->vault, &env[i].name, exec->env[i].name);
    if (err == 0) {
      err = kin__vault_take(&out->vault, &env[i].value, exec->env[i].value);
    }
  }
  to->env = env;
  to->env_count = exec->env_count;
  return err;
}

static int take_exec(kin__resolved_config *out, const kin__kube_exec *exec,
                     const kin__kube_text *config) {
  kin__resolved_exec *to = kin__vault_alloc(&out->vault, 1, sizeof *to);
  if (to == NULL) {
    return KIN_ENOMEM;
  }
  const text_copy copies[] = {
      {&to->api_version, &exec->api_version},
      {&to->command, &exec->command},
      {&to->interactive_mode, &exec->interactive_mode},
      {&to->config, config},
  };
  int err = take_all(out, copies, sizeof copies / sizeof *copies);
  if (err == 0) {
    err = kin__install_hint_clean(&out->vault, &to->install_hint,
                                  exec->install_hint.value);
  }
  if (err == 0) {
    err = kin__vault_take_all(&out->vault, &to->args, exec->args,
                              exec->arg_count);
  }
  to->arg_count = exec->arg_count;
  to->provide_cluster_info = exec->provide_cluster_info;
  out->exec = to;
  return err == 0 ? take_env(out, to, exec) : err;
}

static int take_tls(kin__resolved_config *out, const kin__kube_choice *choice) {
  const kin__kube_cluster *cluster = &choice->cluster;
  const kin__kube_user *user = &choice->user;
  const text_copy copies[] = {
      {&out->tls_server_name, &cluster->tls_server_name},
      {&out->certificate_authority_file, &cluster->certificate_authority},
      {&out->certificate_authority_data, &cluster->certificate_authority_data},
      {&out->token, &user->token},
      {&out->token_file, &user->token_file},
      {&out->username, &user->username},
      {&out->password, &user->password},
  };
  int err = take_all(out, copies, sizeof copies / sizeof *copies);
  out->insecure_skip_tls_verify = cluster->insecure_skip_tls_verify;
  /* A key without a certificate has no use. */
  if (err == 0 && kin__kube_has_certificate(user)) {
    const text_copy pair[] = {
        {&out->client_certificate_file, &user->client_certificate},
        {&out->client_certificate_data, &user->client_certificate_data},
        {&out->client_key_file, &user->client_key},
        {&out->client_key_data, &user->client_key_data},
    };
    err = take_all(out, pair, sizeof pair / sizeof *pair);
  }
  return err == 0 && user->exec != NULL
             ? take_exec(out, user->exec, &cluster->exec_config)
             : err;
}

static int take_choice(kin__resolved_config *out,
                       const kin__kube_choice *choice) {
  const text_copy copies[] = {
      {&out->proxy_url, &choice->cluster.proxy_url},
      {&out->namespace_, &choice->context.namespace_},
  };
  int err = take_all(out, copies, sizeof copies / sizeof *copies);
  out->disable_compression = choice->cluster.disable_compression;
  out->has_namespace = out->namespace_ != NULL;
  out->namespace_ = kin__or_default(out->namespace_, "default");
  if (err == 0) {
    err = take_impersonation(out, &choice->user);
  }
  return err == 0 && is_https(out->server) ? take_tls(out, choice) : err;
}

int kin__kube_finish(kin__resolved_config *out, const kin__kube_choice *choice,
                     const kin__config_env *env, kin__problems *problems) {
  check_choice(choice, env, problems);
  const char *server = choice->cluster.server.value;
  int err = 0;
  if (server != NULL) {
    err = take_server(out, server);
    err = err == 0 ? check_server(out, choice, problems) : err;
  }
  if (err == 0 && problems->count > 0) {
    err = KIN_EINVAL;
  }
  return err == 0 ? take_choice(out, choice) : err;
}

/* --- The choice ----------------------------------------------------------- */

static void tell_missing(const char *name, const char *option,
                         kin__problems *problems) {
  kin__problems_add(problems, (kin__config_place){NULL, 0}, option,
                    "there is no %s \"%.120s\"", option,
                    kin__or_default(name, ""));
}

static void choose_context(kin__kube_choice *choice, const kin__kube_set *set,
                           const kin_kubeconfig_options *options,
                           kin__problems *problems) {
  const kin__kube_text *current = &set->current_context;
  bool is_override = kin__has_text(options->context);
  const char *name = is_override ? options->context : current->value;
  const kin__kube_context *context = kin__kube_context_find(set, name);
  if (context != NULL) {
    choice->context = *context;
  } else if (is_override) {
    tell_missing(name, "context", problems);
  } else if (name != NULL) {
    kin__problems_add(problems, current->place, "current-context",
                      "there is no context \"%.120s\"", name);
  }
}

/* A name that the program gave must exist, and so must the cluster that the
 * settings in use have. */
static void choose(kin__kube_choice *choice, const kin__kube_set *set,
                   const kin_kubeconfig_options *options,
                   const kin__config_env *env, kin__problems *problems) {
  choice->context.entry.name = "";
  choose_context(choice, set, options, problems);
  bool has_cluster_option = kin__has_text(options->cluster);
  bool has_user_option = kin__has_text(options->user);
  const char *cluster_name =
      has_cluster_option ? options->cluster : choice->context.cluster.value;
  const char *user_name =
      has_user_option ? options->user : choice->context.user.value;
  const kin__kube_cluster *cluster = kin__kube_cluster_find(set, cluster_name);
  const kin__kube_user *user = kin__kube_user_find(set, user_name);
  choice->cluster.entry.name = kin__or_default(cluster_name, "");
  choice->user.entry.name = kin__or_default(user_name, "");
  if (cluster != NULL) {
    choice->cluster = *cluster;
  } else if (has_cluster_option ||
             (env->needs_cluster && problems->count == 0)) {
    tell_missing(cluster_name, "cluster", problems);
  }
  if (user != NULL) {
    choice->user = *user;
  } else if (has_user_option) {
    tell_missing(user_name, "user", problems);
  }
}

static unsigned identity_of(const kin__kube_user *user) {
  bool exists = user->entry.place.file != NULL;
  bool has_credentials = user->exec != NULL || kin__kube_has_credentials(user);
  return (exists ? KIN__IDENTITY_USER : 0) |
         (has_credentials ? KIN__IDENTITY_CREDENTIALS : 0) |
         (user->as.value != NULL ? KIN__IDENTITY_IMPERSONATION : 0) |
         (user->as_groups.count > 0 ? KIN__IDENTITY_GROUPS : 0) |
         (user->as_uid.value != NULL ? KIN__IDENTITY_UID : 0) |
         (user->as_extra_count > 0 ? KIN__IDENTITY_EXTRA : 0);
}

static const char *first_part(unsigned lost) {
  if ((lost & KIN__IDENTITY_CREDENTIALS) != 0) {
    return "credentials";
  }
  if ((lost & KIN__IDENTITY_IMPERSONATION) != 0) {
    return "impersonation (as)";
  }
  if ((lost & KIN__IDENTITY_GROUPS) != 0) {
    return "impersonation (as-groups)";
  }
  return (lost & KIN__IDENTITY_UID) != 0 ? "impersonation (as-uid)"
                                         : "impersonation (as-user-extra)";
}

/* A file that is cut may end in the last user, or in the context before its
 * user. */
static void check_identity(const kin__kube_choice *choice, unsigned identity,
                           const kin__config_env *env,
                           kin__problems *problems) {
  const char *name = choice->user.entry.name;
  unsigned lost = env->needs_identity & ~identity;
  bool exists = (identity & KIN__IDENTITY_USER) != 0;
  if (problems->count > 0) {
    return;
  }
  if (lost == 0) {
    if (!exists && name[0] != '\0') {
      kin__log_write(env->log, KIN_LOG_WARN,
                     "kubeconfig: context \"%.120s\" names a user \"%.120s\" "
                     "that does not exist: no credentials",
                     choice->context.entry.name, name);
    }
  } else if (exists) {
    kin__problems_add(problems, choice->user.entry.place, "user",
                      "\"%.120s\" has no %s any more", name, first_part(lost));
  } else {
    tell_missing(name, "user", problems);
  }
}

static bool overrides_cluster(const kin_kubeconfig_options *options) {
  return kin__has_text(options->server) ||
         kin__has_text(options->tls_server_name) ||
         kin__has_text(options->certificate_authority_file) ||
         kin__has_text(options->proxy_url) || options->insecure_skip_tls_verify;
}

static int take_names(kin__resolved_config *out,
                      const kin__kube_choice *choice) {
  kin__vault *vault = &out->vault;
  int err = kin__vault_take(vault, &out->context, choice->context.entry.name);
  if (err == 0) {
    err = kin__vault_take(vault, &out->cluster, choice->cluster.entry.name);
  }
  return err == 0 ? kin__vault_take(vault, &out->user, choice->user.entry.name)
                  : err;
}

int kin__kube_resolve(kin__resolved_config *out, const kin__kube_set *set,
                      const kin_kubeconfig_options *options,
                      const kin__config_env *env, kin__problems *problems) {
  kin__kube_choice choice = {.cluster = {.disable_compression = false}};
  choose(&choice, set, options, env, problems);
  out->has_cluster = choice.cluster.entry.place.file != NULL;
  kin__kube_override(&choice, options);
  out->identity = identity_of(&choice.user);
  check_identity(&choice, out->identity, env, problems);
  if (!out->has_cluster && !overrides_cluster(options) &&
      problems->count == 0) {
    kin__kube_check_user(&choice.user, env, problems);
    return problems->count == 0 ? KIN_ENOENT : KIN_EINVAL;
  }
  int err = take_names(out, &choice);
  return err == 0 ? kin__kube_finish(out, &choice, env, problems) : err;
}
