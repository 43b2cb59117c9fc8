/* SPDX-License-Identifier: MIT */
#ifndef TEST_SUPPORT_KUBE_ROUTE_H
#define TEST_SUPPORT_KUBE_ROUTE_H

#include "client/route.h"

/* For kin__client_open: the route of kin_client_open_kubeconfig, but that a
 * reading may follow another one at once. `path` is the kubeconfig. */
int kube_route_open(kin__route *out, const kin__server_place *place,
                    const kin_client_options *options, void *path);

#endif /* TEST_SUPPORT_KUBE_ROUTE_H */
