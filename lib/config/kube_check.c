/* SPDX-License-Identifier: MIT */
#include "config/kube_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/ascii.h"
#include "base/str.h"

void kin__kube_problem(kin__problems *problems, const kin__kube_entry *entry,
                       const kin__kube_text *text, kin__kube_spot spot,
                       const char *format, ...) {
  if (text->is_wrong && text->value == NULL) {
    return; /* only seems to be absent */
  }
  bool is_absent = text->value == NULL && text->place.line == 0;
  kin__config_place place = is_absent ? entry->place : text->place;
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (place.file == NULL) {
    kin__problems_add(problems, place, spot.option, "%s", what);
    return;
  }
  char field[128];
  snprintf(field, sizeof field, "%s[%u].%s", spot.list, (unsigned)entry->index,
           spot.field);
  kin__problems_add(problems, place, field, "%s", what);
}

/* --- Files ---------------------------------------------------------------- */

static void check_file(const kin__kube_entry *entry, const kin__kube_text *path,
                       kin__kube_spot spot, const kin__config_env *env,
                       kin__problems *problems) {
  if (path->value == NULL || env->probe == NULL) {
    return;
  }
  int err = env->probe(env->ctx, path->value);
  if (err != 0) {
    kin__kube_problem(problems, entry, path, spot, "%.300s: %s", path->value,
                      err == KIN_ENOENT ? "there is no such file"
                                        : env->explain(err));
  }
}

/* A file and its *-data twin. */
static void check_twins(const kin__kube_entry *entry,
                        const kin__kube_text *path, const kin__kube_text *data,
                        kin__kube_spot spot, const kin__config_env *env,
                        kin__problems *problems) {
  if (path->value != NULL && data->value != NULL) {
    kin__kube_problem(problems, entry, path, spot,
                      "contradicts the field with -data");
  }
  check_file(entry, path, spot, env, problems);
}

/* --- Clusters ------------------------------------------------------------- */

static bool has_scheme(const char *url, const char *scheme) {
  size_t length = strlen(scheme);
  return strlen(url) > length &&
         kin__str_equal_nocase(kin__str(url, length), kin__cstr(scheme));
}

bool kin__kube_is_proxy_url(const char *url) {
  return has_scheme(url, "http://") || has_scheme(url, "https://") ||
         has_scheme(url, "socks5://");
}

void kin__kube_check_cluster(const kin__kube_cluster *cluster,
                             const kin__config_env *env,
                             kin__problems *problems) {
  const kin__kube_entry *entry = &cluster->entry;
  if (cluster->server.value == NULL) {
    kin__kube_problem(problems, entry, &cluster->server,
                      KIN__CLUSTER_SPOT("server", "server"),
                      "cluster \"%.120s\" has no server", entry->name);
  }
  /* The URL may have a password in it. */
  const char *proxy = cluster->proxy_url.value;
  if (proxy != NULL && !kin__kube_is_proxy_url(proxy)) {
    kin__kube_problem(problems, entry, &cluster->proxy_url,
                      KIN__CLUSTER_SPOT("proxy-url", "proxy_url"),
                      "is no http, https or socks5 URL");
  }
  check_twins(
      entry, &cluster->certificate_authority,
      &cluster->certificate_authority_data,
      KIN__CLUSTER_SPOT("certificate-authority", "certificate_authority_file"),
      env, problems);
}

/* --- Users ---------------------------------------------------------------- */

static void check_certificate(const kin__kube_user *user,
                              const kin__config_env *env,
                              kin__problems *problems) {
  const kin__kube_entry *entry = &user->entry;
  if (!kin__kube_has_certificate(user)) {
    return;
  }
  const kin__kube_spot key = KIN__USER_SPOT("client-key", "client_key_file");
  check_twins(entry, &user->client_certificate, &user->client_certificate_data,
              KIN__USER_SPOT("client-certificate", "client_certificate_file"),
              env, problems);
  check_twins(entry, &user->client_key, &user->client_key_data, key, env,
              problems);
  if (user->client_key.value == NULL && user->client_key_data.value == NULL) {
    kin__kube_problem(problems, entry, &user->client_key, key,
                      "the client certificate needs a key");
  }
}

static void check_mode(const kin__kube_user *user, kin__problems *problems) {
  const kin__kube_text *mode = &user->exec->interactive_mode;
  const kin__kube_spot spot = KIN__USER_SPOT("exec.interactiveMode", "exec");
  if (mode->value == NULL) {
    kin__kube_problem(problems, &user->entry, mode, spot, "is required");
  } else if (strcmp(mode->value, "Never") != 0 &&
             strcmp(mode->value, "IfAvailable") != 0 &&
             strcmp(mode->value, "Always") != 0) {
    kin__kube_problem(problems, &user->entry, mode, spot,
                      "\"%.60s\" is not Never, IfAvailable or Always",
                      mode->value);
  }
}

static void check_exec(const kin__kube_user *user, kin__problems *problems) {
  const kin__kube_entry *entry = &user->entry;
  const kin__kube_exec *exec = user->exec;
  if (user->has_auth_provider) {
    kin__kube_problem(problems, entry, &user->auth_provider,
                      KIN__USER_SPOT("auth-provider", "exec"),
                      "contradicts exec");
  }
  if (exec->command.value == NULL) {
    kin__kube_problem(problems, entry, &exec->command,
                      KIN__USER_SPOT("exec.command", "exec"), "is required");
  }
  if (exec->api_version.value == NULL) {
    kin__kube_problem(problems, entry, &exec->api_version,
                      KIN__USER_SPOT("exec.apiVersion", "exec"), "is required");
  }
  const kin__kube_text env = {.place = exec->place};
  for (size_t i = 0; i < exec->env_count; i++) {
    const char *name = exec->env[i].name;
    if (name != NULL && name[0] == '\0') {
      kin__kube_problem(problems, entry, &env,
                        KIN__USER_SPOT("exec.env", "exec"),
                        "entry %zu has no name", i);
    }
  }
  check_mode(user, problems);
}

static void check_impersonation(const kin__kube_user *user,
                                kin__problems *problems) {
  if (user->as.value != NULL) {
    return;
  }
  const struct {
    bool is_given;
    kin__kube_text text;
    kin__kube_spot spot;
  } fields[] = {
      {user->as_uid.value != NULL, user->as_uid,
       KIN__USER_SPOT("as-uid", "impersonate_uid")},
      {user->as_groups.count > 0,
       {.value = "", .place = user->as_groups.place},
       KIN__USER_SPOT("as-groups", "impersonate_groups")},
      {user->has_as_extra,
       {.value = "", .place = user->as_extra_place},
       KIN__USER_SPOT("as-user-extra", "impersonate_extra")},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (fields[i].is_given) {
      kin__kube_problem(problems, &user->entry, &fields[i].text, fields[i].spot,
                        "needs a user to impersonate");
    }
  }
}

void kin__kube_check_user(const kin__kube_user *user,
                          const kin__config_env *env, kin__problems *problems) {
  check_certificate(user, env, problems);
  if (user->exec != NULL) {
    check_exec(user, problems);
  }
  bool has_basic = user->username.value != NULL || user->password.value != NULL;
  if (user->token.value != NULL && has_basic) {
    kin__kube_problem(problems, &user->entry, &user->token,
                      KIN__USER_SPOT("token", "token"),
                      "contradicts username and password");
  }
  check_impersonation(user, problems);
}

/* --- Contexts ------------------------------------------------------------- */

bool kin__kube_is_label(const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool is_inner = i > 0 && i + 1 < length;
    if (!kin__is_lower(c) && !kin__is_digit(c) && !(c == '-' && is_inner)) {
      return false;
    }
  }
  return length > 0 && length <= 63;
}

/* Also whether the context's cluster and user are in the set. */
static void check_context(const kin__kube_set *set,
                          const kin__kube_context *context,
                          kin__problems *problems) {
  const kin__kube_entry *entry = &context->entry;
  if (entry->name[0] == '\0') {
    const kin__kube_text name = {.value = NULL};
    kin__kube_problem(problems, entry, &name,
                      (kin__kube_spot){"contexts", "name", "context"},
                      "is required");
  }
  const kin__kube_spot user = KIN__CONTEXT_SPOT("user", "user");
  if (context->user.value == NULL) {
    kin__kube_problem(problems, entry, &context->user, user, "is required");
  } else if (kin__kube_user_find(set, context->user.value) == NULL) {
    kin__kube_problem(problems, entry, &context->user, user,
                      "there is no user \"%.120s\"", context->user.value);
  }
  const kin__kube_spot cluster = KIN__CONTEXT_SPOT("cluster", "cluster");
  if (context->cluster.value == NULL) {
    kin__kube_problem(problems, entry, &context->cluster, cluster,
                      "is required");
  } else if (kin__kube_cluster_find(set, context->cluster.value) == NULL) {
    kin__kube_problem(problems, entry, &context->cluster, cluster,
                      "there is no cluster \"%.120s\"", context->cluster.value);
  }
  const char *namespace_ = context->namespace_.value;
  if (namespace_ != NULL && !kin__kube_is_label(namespace_)) {
    kin__kube_problem(problems, entry, &context->namespace_,
                      KIN__CONTEXT_SPOT("namespace", "namespace_"),
                      "\"%.120s\" is no name of a namespace", namespace_);
  }
}

/* --- Sets ----------------------------------------------------------------- */

static bool is_empty(const kin__kube_set *set) {
  return set->clusters.count == 0 && set->users.count == 0 &&
         set->contexts.count == 0 && set->current_context.value == NULL;
}

static void no_context(const char *name, kin__config_place place,
                       kin__problems *problems) {
  kin__problems_add(problems, place,
                    place.file != NULL ? "current-context" : "context",
                    "there is no context \"%.120s\"", name);
}

void kin__kube_check_all(const kin__kube_set *set, const kin__config_env *env,
                         kin__problems *problems) {
  if (is_empty(set)) {
    kin__problems_add(problems, (kin__config_place){NULL, 0}, "",
                      "the configuration is empty");
    return;
  }
  const kin__kube_text *current = &set->current_context;
  if (current->value != NULL &&
      kin__kube_context_find(set, current->value) == NULL) {
    no_context(current->value, current->place, problems);
  }
  const kin__kube_entry *entry;
  for (entry = set->contexts.first; entry != NULL; entry = entry->next) {
    check_context(set, (const kin__kube_context *)entry, problems);
  }
  for (entry = set->users.first; entry != NULL; entry = entry->next) {
    kin__kube_check_user((const kin__kube_user *)entry, env, problems);
  }
  for (entry = set->clusters.first; entry != NULL; entry = entry->next) {
    kin__kube_check_cluster((const kin__kube_cluster *)entry, env, problems);
  }
}

void kin__kube_check_usable(const kin__kube_set *set, const char *name,
                            const kin__config_env *env,
                            kin__problems *problems) {
  const kin__config_place no_place = {NULL, 0};
  bool is_given = kin__has_text(name);
  const char *wanted = is_given ? name : set->current_context.value;
  if (is_empty(set)) {
    kin__problems_add(problems, no_place, "", "the configuration is empty");
    return;
  }
  if (wanted == NULL) {
    kin__problems_add(problems, no_place, "context", "none is chosen");
    return;
  }
  const kin__kube_context *context = kin__kube_context_find(set, wanted);
  if (context == NULL) {
    no_context(wanted, is_given ? no_place : set->current_context.place,
               problems);
    return;
  }
  check_context(set, context, problems);
  const kin__kube_user *user = kin__kube_user_find(set, context->user.value);
  if (user != NULL) {
    kin__kube_check_user(user, env, problems);
  }
  const kin__kube_cluster *cluster =
      kin__kube_cluster_find(set, context->cluster.value);
  if (cluster != NULL) {
    kin__kube_check_cluster(cluster, env, problems);
  } else {
    kin__problems_add(problems, no_place, "server", "the cluster is empty");
  }
}
