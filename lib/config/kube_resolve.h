/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_RESOLVE_H
#define KIN_CONFIG_KUBE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/client.h>
#include <kin/kubeconfig.h>

#include "config/config_env.h"
#include "config/kube_set.h"

/* `options` of these functions are those of the program: the choice, and the
 * values in place of what is found. They are borrowed. */

/* How to run a plugin (XP-02). The data about the cluster is in the
 * kin__resolved_config, but for `config`. */
typedef struct kin__resolved_exec {
  const char *api_version;
  const char *command; /* a path, if it has a slash; else for PATH */
  const char *const *args;
  size_t arg_count;
  const kin__exec_env *env;
  size_t env_count;
  const char *install_hint;     /* NULL: none; fit for a terminal */
  const char *interactive_mode; /* Never, IfAvailable or Always */
  bool provide_cluster_info;
  const char *config; /* JSON text; NULL: none */
} kin__resolved_exec;

/* One server, and how to reach it: what a client needs. A text that is not set
 * is NULL. All credentials and all TLS settings are unset for an http server
 * (KC-07). A file and its data are never set both. */
typedef struct kin__resolved_config {
  kin__vault vault; /* owns all of it */

  const char *server; /* http:// or https:// */
  const char *tls_server_name;
  const char *certificate_authority_file;
  const char *certificate_authority_data;
  bool insecure_skip_tls_verify;
  const char *proxy_url;
  bool disable_compression;

  const char *client_certificate_file;
  const char *client_certificate_data;
  const char *client_key_file;
  const char *client_key_data;
  const char *token;
  const char *token_file; /* wins over the token once it has been read */
  const char *username;
  const char *password;
  const kin__resolved_exec *exec;
  kin_exec_plugin plugin; /* the same for a client, if there is one */

  const char *impersonate_user;
  const char *impersonate_uid;
  const char *const *impersonate_groups;
  size_t impersonate_group_count;
  const kin_impersonate_extra *impersonate_extra;
  size_t impersonate_extra_count;

  const char *namespace_; /* never NULL */
  bool has_namespace;     /* it was given; else it is "default" */

  const char *context; /* the names that were used; "" if there are none */
  const char *cluster;
  const char *user;
  bool has_cluster;  /* the files have the entry of that name */
  unsigned identity; /* KIN__IDENTITY_... */
  bool is_in_cluster;

  const char *const *files; /* kubeconfig files that were read, in order */
  size_t file_count;
  const char *const *contexts; /* all that these files have */
  size_t context_count;
} kin__resolved_config;

/* Allocates nothing. */
void kin__resolved_config_init(kin__resolved_config *config,
                               const kin_allocator *allocator);
/* Wipes everything. */
void kin__resolved_config_finish(kin__resolved_config *config);

/* Whether both lead to the same server with the same credentials. */
bool kin__resolved_config_is_same(const kin__resolved_config *a,
                                  const kin__resolved_config *b);

/* Whether both lead to the same server, with any credentials. Behind a proxy a
 * TLS server name may choose the server. */
bool kin__resolved_config_has_same_address(const kin__resolved_config *a,
                                           const kin__resolved_config *b);

/* Chooses context, cluster and user, merges the overrides into them, and checks
 * them (KC-05 to KC-08, KC-10). `out` has been initialised; after an error it
 * must still be finished. env->getenv and env->read are not called.
 *
 * Errors: KIN_EINVAL (there are problems), KIN_ENOMEM, KIN_ENOENT: no cluster
 * is configured, and nothing else is wrong. That is told nowhere. */
int kin__kube_resolve(kin__resolved_config *out, const kin__kube_set *set,
                      const kin_kubeconfig_options *options,
                      const kin__config_env *env, kin__problems *problems);

/* The configuration that the environment of a pod gives (KC-01, KC-09, KC-10),
 * with all overrides but context, cluster and user. *reason says, for
 * KIN_ENOENT, why this is no pod; static.
 * Errors: KIN_ENOENT, KIN_EINVAL (there are problems), KIN_ENOMEM. */
int kin__in_cluster_resolve(kin__resolved_config *out,
                            const kin_kubeconfig_options *options,
                            const kin__config_env *env, kin__problems *problems,
                            const char **reason);

/* Whether this is a pod with a token; *reason as above. */
bool kin__in_cluster_is_possible(const kin__config_env *env,
                                 const char **reason);

/* Sets the namespace to that of the pod. Errors: KIN_EINVAL (there are
 * problems), KIN_ENOMEM. */
int kin__in_cluster_namespace(kin__resolved_config *out,
                              const kin__config_env *env,
                              kin__problems *problems);

/* --- Shared by both ways --- */

/* The entries that were chosen. Their texts are borrowed. */
typedef struct kin__kube_choice {
  kin__kube_cluster cluster;
  kin__kube_user user;
  kin__kube_context context;
} kin__kube_choice;

void kin__kube_override(kin__kube_choice *choice,
                        const kin_kubeconfig_options *options);
/* Checks the choice, and copies it into `out`. Errors: KIN_EINVAL (there are
 * problems), KIN_ENOMEM. */
int kin__kube_finish(kin__resolved_config *out, const kin__kube_choice *choice,
                     const kin__config_env *env, kin__problems *problems);

#endif /* KIN_CONFIG_KUBE_RESOLVE_H */
