/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_PAGER_H
#define KIN_INFORMER_PAGER_H

#include <kin/pager.h>

#include "informer/host.h"

/* kin_pager_open in any surroundings. */
int kin__pager_open(kin_pager **out, kin__host *host,
                    const kin_pager_options *options);

#endif /* KIN_INFORMER_PAGER_H */
