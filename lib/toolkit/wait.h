/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_WAIT_H
#define KIN_TOOLKIT_WAIT_H

#include <stddef.h>

#include <kin/wait.h>

#include "client/host.h"

#define KIN__WAIT_MAX 4096u

/* kin_wait_open in any surroundings; `options` are complete. `failure` is how
 * the error text begins, static. */
int kin__wait_open(kin_wait **out, kin__host *host,
                   const kin_wait_options *options, const char *failure);

/* What an informer is called in log and error texts: "deployments.v1.apps", and
 * " (metadata)" after it. Cut to `size`. */
void kin__informer_name(const kin_informer *informer, char *buffer,
                        size_t size);
#define KIN__INFORMER_NAME_SIZE 800u

#endif /* KIN_TOOLKIT_WAIT_H */
