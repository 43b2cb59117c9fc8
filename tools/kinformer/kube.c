/* SPDX-License-Identifier: MIT */
#include "kube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/kubeconfig.h>

#include "complaint.h"

enum { PROBLEM_SIZE = 4096 };

struct kube_choice {
  kin_kubeconfig *config;
  kin_kubeconfig_options options;
};

bool kube_is_supported(void) {
  return true;
}

static kube_result load(kube_choice *choice) {
  static char problem[PROBLEM_SIZE];
  choice->options.problem = problem;
  choice->options.problem_size = sizeof problem;
  int err = kin_kubeconfig_load(&choice->config, &choice->options);
  choice->options.problem = NULL;
  choice->options.problem_size = 0;
  complain(err == 0 ? "" : problem);
  switch (err) {
  case 0:
    return KUBE_OK;
  case KIN_ENOMEM:
    return KUBE_NO_MEMORY;
  case KIN_ENOENT:
    if (!choice->options.path) {
      fputs("kinformer: which server? "
            "--server, --kubeconfig or KUBECONFIG says it\n",
            stderr);
    }
    return KUBE_WRONG;
  default:
    return KUBE_WRONG;
  }
}

kube_result kube_choose(kube_choice **out, const kube_options *options,
                        const security_options *security) {
  *out = calloc(1, sizeof **out);
  if (!*out) {
    return KUBE_NO_MEMORY;
  }
  kin_kubeconfig_options *which = &(*out)->options;
  *which = (kin_kubeconfig_options)KIN_KUBECONFIG_OPTIONS_INIT;
  which->path = options->kubeconfig;
  which->context = options->context;
  which->cluster = options->cluster;
  which->user = options->user;
  which->token = security->token;
  which->token_file = security->token_file;
  which->certificate_authority_file = security->certificate_authority;
  which->client_certificate_file = security->client_certificate;
  which->client_key_file = security->client_key;
  which->tls_server_name = security->tls_server_name;
  which->insecure_skip_tls_verify = security->insecure_skip_tls_verify;
  which->impersonate_user = security->as;
  which->impersonate_groups = security->as_groups;
  which->impersonate_group_count = security->as_group_count;
  kube_result result = load(*out);
  if (result != KUBE_OK) {
    kube_free(*out);
    *out = NULL;
    return result;
  }
  /* The current context may change before the client reads the files. */
  const char *context = kin_kubeconfig_context((*out)->config);
  which->context = context[0] ? context : NULL;
  return KUBE_OK;
}

const char *kube_namespace(const kube_choice *choice) {
  return kin_kubeconfig_namespace(choice->config);
}

const char *kube_server(const kube_choice *choice) {
  return kin_kubeconfig_server(choice->config);
}

int kube_open(kin_client **out, uv_loop_t *loop, const kube_choice *choice,
              const kin_client_options *options) {
  return kin_client_open_kubeconfig(out, loop, &choice->options, options);
}

void kube_free(kube_choice *choice) {
  if (choice) {
    kin_kubeconfig_free(choice->config);
    free(choice);
  }
}
