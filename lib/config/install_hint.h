/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_INSTALL_HINT_H
#define KIN_CONFIG_INSTALL_HINT_H

#include "config/vault.h"

/* A copy of a text of a kubeconfig that is fit for a terminal: control and
 * invisible format characters are written as U+001B, but for white space.
 * *to is NULL if `hint` is. Errors: KIN_ENOMEM. */
int kin__install_hint_clean(kin__vault *vault, const char **to,
                            const char *hint);

#endif /* KIN_CONFIG_INSTALL_HINT_H */
