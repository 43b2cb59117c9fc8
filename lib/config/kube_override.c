/* SPDX-License-Identifier: MIT */
#include "config/kube_resolve.h"

#include "base/str.h"

/* An option takes the place of a field only if it is not empty. */

static void put(kin__kube_text *text, const char *value) {
  if (kin__has_text(value)) {
    *text = (kin__kube_text){.value = value};
  }
}

/* A file takes the place of the data, too. */
static void put_file(kin__kube_text *file, kin__kube_text *data,
                     const char *path) {
  if (kin__has_text(path)) {
    put(file, path);
    data->value = NULL;
  }
}

static void override_cluster(kin__kube_cluster *cluster,
                             const kin_kubeconfig_options *options) {
  bool is_insecure = options->insecure_skip_tls_verify;
  /* The name belongs to the server of the file. */
  if (kin__has_text(options->server)) {
    cluster->tls_server_name.value = NULL;
  }
  put(&cluster->server, options->server);
  put(&cluster->tls_server_name, options->tls_server_name);
  put(&cluster->proxy_url, options->proxy_url);
  if (is_insecure || kin__has_text(options->certificate_authority_file)) {
    cluster->insecure_skip_tls_verify = is_insecure;
    cluster->insecure_place = (kin__config_place){NULL, 0};
    cluster->certificate_authority = (kin__kube_text){.value = NULL};
    put_file(&cluster->certificate_authority,
             &cluster->certificate_authority_data,
             options->certificate_authority_file);
    cluster->certificate_authority_data.value = NULL;
  }
}

static void override_user(kin__kube_user *user,
                          const kin_kubeconfig_options *options) {
  /* A file that is found would soon replace the program's token. */
  if (kin__has_text(options->token) || kin__has_text(options->token_file)) {
    user->token.value = NULL;
    user->token_file.value = NULL;
  }
  put(&user->token, options->token);
  put(&user->token_file, options->token_file);
  put(&user->username, options->username);
  put(&user->password, options->password);
  put(&user->as, options->impersonate_user);
  put(&user->as_uid, options->impersonate_uid);
  put_file(&user->client_certificate, &user->client_certificate_data,
           options->client_certificate_file);
  put_file(&user->client_key, &user->client_key_data, options->client_key_file);
  if (options->impersonate_group_count > 0) {
    user->as_groups = (kin__kube_list){options->impersonate_groups,
                                       options->impersonate_group_count,
                                       {NULL, 0}};
  }
}

void kin__kube_override(kin__kube_choice *choice,
                        const kin_kubeconfig_options *options) {
  override_cluster(&choice->cluster, options);
  override_user(&choice->user, options);
  put(&choice->context.namespace_, options->namespace_);
}
