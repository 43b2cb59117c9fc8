/* SPDX-License-Identifier: MIT */
#include "kube.h"

#include <kin/error.h>

/* In a build without kubeconfig files. */

bool kube_is_supported(void) {
  return false;
}

kube_result kube_choose(kube_choice **out, const kube_options *options,
                        const security_options *security) {
  (void)options;
  (void)security;
  *out = NULL;
  return KUBE_WRONG;
}

const char *kube_namespace(const kube_choice *choice) {
  (void)choice;
  return "default";
}

const char *kube_server(const kube_choice *choice) {
  (void)choice;
  return "";
}

int kube_open(kin_client **out, uv_loop_t *loop, const kube_choice *choice,
              const kin_client_options *options) {
  (void)loop;
  (void)choice;
  (void)options;
  *out = NULL;
  return KIN_ENOTSUP;
}

void kube_free(kube_choice *choice) {
  (void)choice;
}
