/* SPDX-License-Identifier: MIT */
#include "config/kube_resolve.h"

#include <string.h>

/* Two results of loading at different times. */

static bool is_same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool are_same_texts(const char *const *a, size_t a_count,
                           const char *const *b, size_t b_count) {
  bool are_same = a_count == b_count;
  for (size_t i = 0; i < a_count && are_same; i++) {
    are_same = is_same_text(a[i], b[i]);
  }
  return are_same;
}

static bool is_same_env(const kin__resolved_exec *a,
                        const kin__resolved_exec *b) {
  bool is_same = a->env_count == b->env_count;
  for (size_t i = 0; i < a->env_count && is_same; i++) {
    is_same = is_same_text(a->env[i].name, b->env[i].name) &&
              is_same_text(a->env[i].value, b->env[i].value);
  }
  return is_same;
}

static bool is_same_exec(const kin__resolved_exec *a,
                         const kin__resolved_exec *b) {
  if (a == NULL || b == NULL) {
    return a == b;
  }
  return is_same_text(a->api_version, b->api_version) &&
         is_same_text(a->command, b->command) &&
         are_same_texts(a->args, a->arg_count, b->args, b->arg_count) &&
         is_same_env(a, b) && is_same_text(a->install_hint, b->install_hint) &&
         is_same_text(a->interactive_mode, b->interactive_mode) &&
         a->provide_cluster_info == b->provide_cluster_info &&
         is_same_text(a->config, b->config);
}

static bool is_same_impersonation(const kin__resolved_config *a,
                                  const kin__resolved_config *b) {
  bool is_same =
      is_same_text(a->impersonate_user, b->impersonate_user) &&
      is_same_text(a->impersonate_uid, b->impersonate_uid) &&
      are_same_texts(a->impersonate_groups, a->impersonate_group_count,
                     b->impersonate_groups, b->impersonate_group_count) &&
      a->impersonate_extra_count == b->impersonate_extra_count;
  for (size_t i = 0; i < a->impersonate_extra_count && is_same; i++) {
    const kin_impersonate_extra *x = &a->impersonate_extra[i];
    const kin_impersonate_extra *y = &b->impersonate_extra[i];
    is_same = is_same_text(x->key, y->key) && is_same_text(x->value, y->value);
  }
  return is_same;
}

bool kin__resolved_config_is_same(const kin__resolved_config *a,
                                  const kin__resolved_config *b) {
  const char *const of_a[] = {a->server,
                              a->tls_server_name,
                              a->certificate_authority_file,
                              a->certificate_authority_data,
                              a->proxy_url,
                              a->client_certificate_file,
                              a->client_certificate_data,
                              a->client_key_file,
                              a->client_key_data,
                              a->token,
                              a->token_file,
                              a->username,
                              a->password};
  const char *const of_b[] = {b->server,
                              b->tls_server_name,
                              b->certificate_authority_file,
                              b->certificate_authority_data,
                              b->proxy_url,
                              b->client_certificate_file,
                              b->client_certificate_data,
                              b->client_key_file,
                              b->client_key_data,
                              b->token,
                              b->token_file,
                              b->username,
                              b->password};
  const size_t count = sizeof of_a / sizeof *of_a;
  return are_same_texts(of_a, count, of_b, count) &&
         a->insecure_skip_tls_verify == b->insecure_skip_tls_verify &&
         a->disable_compression == b->disable_compression &&
         is_same_exec(a->exec, b->exec) && is_same_impersonation(a, b);
}

bool kin__resolved_config_has_same_address(const kin__resolved_config *a,
                                           const kin__resolved_config *b) {
  return is_same_text(a->server, b->server) &&
         is_same_text(a->tls_server_name, b->tls_server_name);
}
