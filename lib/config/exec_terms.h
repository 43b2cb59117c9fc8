/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_TERMS_H
#define KIN_CONFIG_EXEC_TERMS_H

#include <kin/exec_plugin.h>

#include "base/log.h"
#include "config/vault.h"

/* kin_kubeconfig_options.exec: the members of a plugin that the program decides,
 * and not the kubeconfig. */

/* The members that this library knows. Errors: KIN_EINVAL, KIN_ENOTSUP (of a
 * newer version), KIN_ENOMEM; `log` is told. */
int kin__exec_terms_check_given(const kin_exec_plugin *given,
                                const kin_allocator *allocator,
                                const kin__log *log);
/* A copy of what was checked. NULL gives NULL. Errors: KIN_ENOMEM. */
int kin__exec_terms_take(kin__vault *vault, const kin_exec_plugin **to,
                         const kin_exec_plugin *given);

#endif /* KIN_CONFIG_EXEC_TERMS_H */
