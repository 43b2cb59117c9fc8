/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONNECT_KUBE_FINDER_H
#define KIN_CONNECT_KUBE_FINDER_H

#include <kin/kubeconfig.h>

#include "client/server.h"
#include "connect/late.h"

/* Finds the server of a kubeconfig, or of the pod, in kubectl's order. Files
 * are read in libuv's pool, with the C library's memory. Variables of the
 * environment are those of the time of kin__kube_finder_open.
 *
 * The first server that is opened chooses the context. Later searches look at
 * that context only, whatever the current one is then, so that informers never
 * change to another cluster. A pod is chosen for good; its files are read again
 * by those who use them. */

/* `which` is copied. Errors: KIN_EINVAL and KIN_ELIBRARY, told to the log;
 * KIN_ENOMEM. */
int kin__kube_finder_open(kin__finder *out, const kin__server_place *place,
                          const kin_kubeconfig_options *which);

/* Frees a finder that was never used. */
void kin__kube_finder_free(const kin__finder *finder);

#endif /* KIN_CONNECT_KUBE_FINDER_H */
