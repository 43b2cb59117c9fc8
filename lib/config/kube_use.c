/* SPDX-License-Identifier: MIT */
#include "config/kube_use.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/basic_source.h"
#include "config/exec_config.h"
#include "config/kube_check.h"
#include "config/token.h"
#include "transport/impersonate.h"
#include "transport/proxy.h"
#include "transport/tls_build.h"
#include "transport/tls_context.h"

/* --- The way to the server ------------------------------------------------ */

static int check_proxy(const kin__kube_cluster *cluster, const kin__url *server,
                       const kin_allocator *allocator,
                       kin__problems *problems) {
  const char *url = cluster->proxy_url.value;
  if (url == NULL || !kin__kube_is_proxy_url(url)) {
    return 0; /* the scheme has been told */
  }
  const kin__log log = {.cb = NULL};
  const kin__proxy_options options = {.allocator = allocator,
                                      .log = &log,
                                      .url = url,
                                      .server = server,
                                      .user_agent = ""};
  kin__proxy *proxy;
  int err = kin__proxy_open(&proxy, &options);
  if (err == 0) {
    kin__proxy_free(proxy, allocator);
  } else if (err == KIN_EURL || err == KIN_EINVAL) {
    /* The URL may have a password in it. */
    kin__kube_problem(problems, &cluster->entry, &cluster->proxy_url,
                      KIN__CLUSTER_SPOT("proxy-url", "proxy_url"),
                      err == KIN_EURL ? "is malformed"
                                      : "there is no proxy to a unix socket");
  }
  return err == KIN_ENOMEM ? err : 0;
}

static void check_server_name(const kin__kube_cluster *cluster,
                              kin__problems *problems) {
  const kin__kube_text *name = &cluster->tls_server_name;
  if (name->value != NULL && !kin__tls_is_server_name(name->value)) {
    kin__kube_problem(problems, &cluster->entry, name,
                      KIN__CLUSTER_SPOT("tls-server-name", "tls_server_name"),
                      "is " KIN__TLS_NO_SERVER_NAME);
  }
}

static void check_pem(const kin__kube_entry *entry, const kin__kube_text *pem,
                      kin__kube_spot spot, kin__problems *problems) {
  if (pem->value != NULL && strlen(pem->value) > KIN__TLS_MAX_PEM_BYTES) {
    kin__kube_problem(problems, entry, pem, spot, "has over 2 MiB");
  }
}

static void check_data(const kin__kube_choice *choice,
                       kin__problems *problems) {
  const kin__kube_cluster *cluster = &choice->cluster;
  const kin__kube_user *user = &choice->user;
  check_pem(&cluster->entry, &cluster->certificate_authority_data,
            KIN__CLUSTER_SPOT("certificate-authority-data", ""), problems);
  if (kin__kube_has_certificate(user)) {
    check_pem(&user->entry, &user->client_certificate_data,
              KIN__USER_SPOT("client-certificate-data", ""), problems);
    check_pem(&user->entry, &user->client_key_data,
              KIN__USER_SPOT("client-key-data", ""), problems);
  }
}

/* --- Credentials ---------------------------------------------------------- */

static void check_login(const kin__kube_user *user, kin__problems *problems) {
  const char *token = user->token.value;
  if (token != NULL && !kin__token_is_valid(kin__cstr(token))) {
    kin__kube_problem(problems, &user->entry, &user->token,
                      KIN__USER_SPOT("token", "token"),
                      "is not one word of visible ASCII of at most 64 KiB");
  }
  const char *username = user->username.value;
  if (username == NULL) {
    return; /* a password alone is not used */
  }
  if (user->token_file.value != NULL && token == NULL) {
    kin__kube_problem(problems, &user->entry, &user->token_file,
                      KIN__USER_SPOT("tokenFile", "token_file"),
                      "contradicts username and password");
  }
  if (!kin__basic_is_text(kin__cstr(username), false)) {
    kin__kube_problem(problems, &user->entry, &user->username,
                      KIN__USER_SPOT("username", "username"),
                      "has a colon, control characters or over 16 KiB");
  }
  if (!kin__basic_is_text(kin__cstr(user->password.value), true)) {
    kin__kube_problem(problems, &user->entry, &user->password,
                      KIN__USER_SPOT("password", "password"),
                      "has control characters or over 16 KiB");
  }
}

static bool uses_exec(const kin__kube_user *user) {
  return user->exec != NULL && !kin__kube_has_credentials(user);
}

static void check_variable_names(const kin__kube_user *user,
                                 kin__problems *problems) {
  const kin__kube_exec *exec = user->exec;
  const kin__kube_text env = {.value = "", .place = exec->place};
  for (size_t i = 0; i < exec->env_count; i++) {
    const char *name = exec->env[i].name;
    if (name != NULL && strchr(name, '=') != NULL) {
      kin__kube_problem(problems, &user->entry, &env,
                        KIN__USER_SPOT("exec.env", "exec"),
                        "entry %zu has a name with '='", i);
    }
  }
}

static void check_exec_use(const kin__kube_user *user,
                           kin__problems *problems) {
  const kin__kube_exec *exec = user->exec;
  const char *version = exec->api_version.value;
  if (version != NULL && !kin__exec_knows_version(version)) {
    kin__kube_problem(problems, &user->entry, &exec->api_version,
                      KIN__USER_SPOT("exec.apiVersion", "exec"),
                      KIN__EXEC_NO_VERSION, version);
  }
  if (exec->arg_count > KIN__EXEC_MAX_STRINGS ||
      exec->env_count > KIN__EXEC_MAX_STRINGS) {
    const kin__kube_text place = {.value = "", .place = exec->place};
    kin__kube_problem(
        problems, &user->entry, &place, KIN__USER_SPOT("exec", "exec"),
        "has more than %u arguments or variables", KIN__EXEC_MAX_STRINGS);
    return;
  }
  check_variable_names(user, problems);
}

/* --- Impersonation -------------------------------------------------------- */

/* Errors: KIN_EINVAL, KIN_ETOOBIG, KIN_ENOMEM. */
static int render(const kin__impersonation *whom,
                  const kin_allocator *allocator) {
  kin__buf fields;
  const char *unused;
  kin__buf_init(&fields, allocator, KIN__IMPERSONATE_MAX_BYTES);
  int err = kin__impersonate_render(&fields, whom, &unused);
  kin__buf_finish(&fields);
  return err;
}

/* Each part by itself, so that every wrong one is told; the last row is all of
 * them, whose bound is one. */
static int check_identity(const kin__kube_user *user,
                          const kin_allocator *allocator,
                          kin__problems *problems) {
  const struct {
    kin__kube_text text;
    kin__kube_spot spot;
    kin__impersonation whom;
  } parts[] = {
      {user->as,
       KIN__USER_SPOT("as", "impersonate_user"),
       {.user = user->as.value}},
      {user->as_uid,
       KIN__USER_SPOT("as-uid", "impersonate_uid"),
       {.user = "a", .uid = user->as_uid.value}},
      {{.value = "", .place = user->as_groups.place},
       KIN__USER_SPOT("as-groups", "impersonate_groups"),
       {.user = "a",
        .groups = user->as_groups.values,
        .group_count = user->as_groups.count}},
      {{.value = "", .place = user->as_extra_place},
       KIN__USER_SPOT("as-user-extra", "impersonate_extra"),
       {.user = "a",
        .extra = user->as_extra,
        .extra_count = user->as_extra_count}},
      {user->as,
       KIN__USER_SPOT("as", "impersonate_user"),
       {.user = user->as.value,
        .uid = user->as_uid.value,
        .groups = user->as_groups.values,
        .group_count = user->as_groups.count,
        .extra = user->as_extra,
        .extra_count = user->as_extra_count}},
  };
  const size_t all = sizeof parts / sizeof *parts - 1;
  int err = 0;
  for (size_t i = 0; i <= all && err != KIN_ENOMEM; i++) {
    err = render(&parts[i].whom, allocator);
    if ((err == KIN_EINVAL && i < all) || (err == KIN_ETOOBIG && i == all)) {
      kin__kube_problem(problems, &user->entry, &parts[i].text, parts[i].spot,
                        err == KIN_ETOOBIG
                            ? "has over 64 KiB with its groups and the like"
                            : "is empty, begins or ends with a blank, or has "
                              "control characters");
    }
  }
  return err == KIN_ENOMEM ? err : 0;
}

int kin__kube_check_use(const kin__kube_choice *choice, const kin__url *server,
                        const kin_allocator *allocator,
                        kin__problems *problems) {
  const kin__kube_user *user = &choice->user;
  if (server->is_tls) {
    check_server_name(&choice->cluster, problems);
    check_data(choice, problems);
    check_login(user, problems);
    if (uses_exec(user)) {
      check_exec_use(user, problems);
    }
  }
  int err = check_proxy(&choice->cluster, server, allocator, problems);
  return err == 0 && user->as.value != NULL
             ? check_identity(user, allocator, problems)
             : err;
}
