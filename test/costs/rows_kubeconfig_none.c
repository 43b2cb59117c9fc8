/* SPDX-License-Identifier: MIT */
/* Of a library without kin/kubeconfig.h. */
#include "costs/cost.h"

const cost_row cost_rows_kubeconfig[] = {{0}};
