/* SPDX-License-Identifier: MIT */
#include "config/kube_resolve.h"

#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/kube_check.h"

#define ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount/"
#define TOKEN_FILE ACCOUNT_FOLDER "token"
#define AUTHORITY_FILE ACCOUNT_FOLDER "ca.crt"
#define NAMESPACE_FILE ACCOUNT_FOLDER "namespace"

/* As for all PEM options of a client. */
#define MAX_AUTHORITY_BYTES (2u << 20)
#define MAX_NAMESPACE_BYTES 4096u

static const char *variable(const kin__config_env *env, const char *name) {
  const char *value = env->getenv(env->ctx, name);
  return kin__has_text(value) ? value : NULL;
}

bool kin__in_cluster_is_possible(const kin__config_env *env,
                                 const char **reason) {
  *reason = "";
  if (variable(env, "KUBERNETES_SERVICE_HOST") == NULL) {
    *reason = "KUBERNETES_SERVICE_HOST is not set";
  } else if (variable(env, "KUBERNETES_SERVICE_PORT") == NULL) {
    *reason = "KUBERNETES_SERVICE_PORT is not set";
  } else if (env->probe != NULL &&
             env->probe(env->ctx, TOKEN_FILE) == KIN_ENOENT) {
    *reason = TOKEN_FILE " does not exist";
  }
  return (*reason)[0] == '\0';
}

/* --- The server ----------------------------------------------------------- */

/* Errors: KIN_ENOMEM. */
static int join_server(kin__vault *vault, const kin__config_env *env,
                       const char **server) {
  const char *host = kin__vault_copy(
      vault, kin__cstr(variable(env, "KUBERNETES_SERVICE_HOST")));
  if (host == NULL) {
    return KIN_ENOMEM;
  }
  const char *port = variable(env, "KUBERNETES_SERVICE_PORT");
  bool is_ipv6 = strchr(host, ':') != NULL;
  const char *const parts[] = {
      "https://", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":", port};
  const size_t count = sizeof parts / sizeof *parts;
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    length += strlen(parts[i]);
  }
  char *text = kin__vault_alloc(vault, length + 1, 1);
  if (text == NULL) {
    return KIN_ENOMEM;
  }
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    memcpy(text + used, parts[i], strlen(parts[i]));
    used += strlen(parts[i]);
  }
  *server = text;
  return 0;
}

/* --- The authority -------------------------------------------------------- */

/* By default OpenSSL asks for a password on the terminal. */
static int refuse_password(char *buf, int size, int is_writing, void *data) {
  (void)buf;
  (void)size;
  (void)is_writing;
  (void)data;
  return -1;
}

/* Whether a text has certificates, and none that is broken. */
static bool has_certificates(kin_str pem) {
  BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.length);
  size_t count = 0;
  X509 *certificate = NULL;
  ERR_clear_error();
  while (bio != NULL && (certificate = PEM_read_bio_X509(
                             bio, NULL, refuse_password, NULL)) != NULL) {
    X509_free(certificate);
    count++;
  }
  /* The end of the text is an error, too. */
  bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  BIO_free(bio);
  ERR_clear_error();
  return count > 0 && is_at_end;
}

/* A file that cannot be used is only logged: the authorities of the system
 * count then. Errors: KIN_ENOMEM. */
static int find_authority(kin__vault *vault, const kin__config_env *env,
                          kin__kube_text *file) {
  kin_str pem;
  int err =
      env->read(env->ctx, vault, AUTHORITY_FILE, MAX_AUTHORITY_BYTES, &pem);
  if (err == KIN_ENOMEM) {
    return err;
  }
  const char *problem = NULL;
  if (err != 0) {
    problem = err == KIN_ENOENT ? "there is no such file" : env->explain(err);
  } else if (!has_certificates(pem)) {
    problem = "holds something else than certificates";
  }
  if (problem == NULL) {
    file->value = AUTHORITY_FILE;
  } else {
    kin__log_write(env->log, KIN_LOG_ERROR,
                   "in-cluster configuration: " AUTHORITY_FILE ": %s", problem);
  }
  return 0;
}

/* --- The namespace -------------------------------------------------------- */

int kin__in_cluster_namespace(kin__resolved_config *out,
                              const kin__config_env *env,
                              kin__problems *problems) {
  const char *given = variable(env, "POD_NAMESPACE");
  kin_str name = kin__cstr(given);
  if (given == NULL) {
    int err = env->read(env->ctx, &out->vault, NAMESPACE_FILE,
                        MAX_NAMESPACE_BYTES, &name);
    if (err != 0) {
      return err == KIN_ENOMEM ? err : 0;
    }
    name = kin__str_trim(name);
  }
  if (name.length == 0) {
    return 0;
  }
  char *copy = kin__vault_copy(&out->vault, name);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  if (!kin__kube_is_label(copy)) {
    kin__problems_add(
        problems, (kin__config_place){given == NULL ? NAMESPACE_FILE : NULL, 0},
        given == NULL ? "" : "POD_NAMESPACE",
        "\"%.120s\" is no name of a namespace", copy);
    return KIN_EINVAL;
  }
  out->namespace_ = copy;
  out->has_namespace = true;
  return 0;
}

/* --- All ------------------------------------------------------------------ */

int kin__in_cluster_resolve(kin__resolved_config *out,
                            const kin_kubeconfig_options *options,
                            const kin__config_env *env, kin__problems *problems,
                            const char **reason) {
  if (!kin__in_cluster_is_possible(env, reason)) {
    return KIN_ENOENT;
  }
  kin__kube_choice choice = {.cluster = {.disable_compression = false}};
  choice.cluster.entry.name = choice.user.entry.name =
      choice.context.entry.name = "";
  int err = join_server(&out->vault, env, &choice.cluster.server.value);
  if (err == 0) {
    err =
        find_authority(&out->vault, env, &choice.cluster.certificate_authority);
  }
  if (err != 0) {
    return err;
  }
  if (!kin__has_text(options->username)) { /* one of the two may be sent */
    choice.user.token_file.value = TOKEN_FILE;
  }
  kin__kube_override(&choice, options);
  err = kin__kube_finish(out, &choice, env, problems);
  out->is_in_cluster = err == 0;
  return err == 0 && !out->has_namespace
             ? kin__in_cluster_namespace(out, env, problems)
             : err;
}
