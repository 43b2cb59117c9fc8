/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_DISCOVERY_H
#define KIN_DISCOVERY_DISCOVERY_H

#include <kin/discovery.h>

#include "client/host.h"

/* The public functions on a host. */
int kin__discovery_find(kin_discovery **out, kin__host *host, const char *word,
                        kin_discovery_cb cb, void *data);
int kin__discovery_list(kin_discovery **out, kin__host *host,
                        kin_discovery_versions versions, kin_discovery_cb cb,
                        void *data);
int kin__discovery_refresh(kin__host *host);
int kin__discovery_on_error(kin__host *host, kin_request_error_cb cb,
                            void *data);
int kin__discovery_open_informer(kin_informer **out, kin__host *host,
                                 const kin_discovery_result *result,
                                 const kin_informer_options *options);

#endif /* KIN_DISCOVERY_DISCOVERY_H */
