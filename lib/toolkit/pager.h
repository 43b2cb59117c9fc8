/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_PAGER_H
#define KIN_TOOLKIT_PAGER_H

#include <kin/pager.h>

#include "client/host.h"

/* kin_pager_open for any host. */
int kin__pager_open(kin_pager **out, kin__host *host,
                    const kin_pager_options *options);

#endif /* KIN_TOOLKIT_PAGER_H */
