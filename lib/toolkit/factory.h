/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_FACTORY_H
#define KIN_TOOLKIT_FACTORY_H

#include <kin/factory.h>

#include "client/host.h"

/* kin_factory_open for any host; `options` are complete. */
int kin__factory_open(kin_factory **out, kin__host *host,
                      const kin_factory_options *options);

#endif /* KIN_TOOLKIT_FACTORY_H */
