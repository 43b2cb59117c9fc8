/* SPDX-License-Identifier: MIT */
#include "support/kube_route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kin/kubeconfig.h>

#include "connect/kube_finder.h"
#include "connect/late.h"

int kube_route_open(kin__route *out, const kin__server_place *place,
                    const kin_client_options *options, void *path) {
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = path;
  kin__finder finder;
  int err = kin__kube_finder_open(&finder, place, &which);
  assert_int_equal(err, 0);
  finder.retry_ms = 0;
  return kin__late_open(out, place, options, &finder);
}
