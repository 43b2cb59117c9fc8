/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBECONFIG_H
#define KIN_CONFIG_KUBECONFIG_H

#include <kin/client.h>
#include <kin/kubeconfig.h>

#include "base/log.h"
#include "config/kube_resolve.h"

/* The parts of kin/kubeconfig.h that a client without a server of its own needs
 * as well. */

/* Checks the options alone, and libyaml. Errors: KIN_EINVAL, KIN_ELIBRARY, told
 * to `log`. */
int kin__kubeconfig_options_check(const kin_kubeconfig_options *options,
                                  const kin__log *log);

/* As kin_kubeconfig_apply. */
void kin__resolved_config_apply(const kin__resolved_config *config,
                                kin_client_options *options);

#endif /* KIN_CONFIG_KUBECONFIG_H */
