/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_CHOOSE_SERVER_H
#define KINFORMER_CHOOSE_SERVER_H

#include "options.h"
#include "outcome.h"

/* Checks what the options say of the server and of security. Without --server,
 * reads the kubeconfig files into o->kube, when no other option is wrong. */
outcome choose_server(options *o);

#endif /* KINFORMER_CHOOSE_SERVER_H */
