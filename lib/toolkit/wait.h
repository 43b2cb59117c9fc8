/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_WAIT_H
#define KIN_TOOLKIT_WAIT_H

#include <stddef.h>

#include <kin/wait.h>

#include "client/host.h"

#define KIN__WAIT_MAX 4096u

/* kin_wait_open for any host; `options` are complete. `failure` is the
 * beginning of the error text, static. */
int kin__wait_open(kin_wait **out, kin__host *host,
                   const kin_wait_options *options, const char *failure);

/* The informer's name in log and error texts: "deployments.v1.apps", or with "
 * (metadata)" after it. Cut to `size`. */
void kin__informer_name(const kin_informer *informer, char *buffer,
                        size_t size);
#define KIN__INFORMER_NAME_SIZE 800u

#endif /* KIN_TOOLKIT_WAIT_H */
