/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_USE_H
#define KIN_CONFIG_KUBE_USE_H

#include "config/kube_resolve.h"
#include "transport/url.h"

/* The checks that a client makes of its options, made when the configuration is
 * loaded: only then can a value be told by its line or its option. A value that
 * is not used is not checked. No text of a problem has a secret in it. `server`
 * is the URL of the cluster. Errors: KIN_ENOMEM. */
int kin__kube_check_use(const kin__kube_choice *choice, const kin__url *server,
                        const kin_allocator *allocator,
                        kin__problems *problems);

#endif /* KIN_CONFIG_KUBE_USE_H */
