/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_DOCUMENT_H
#define KIN_DISCOVERY_DOCUMENT_H

#include "discovery/table.h"

/* Discovery documents, read into a table. A value of another type than expected
 * counts as absent. A group, version or resource that cannot be read leaves the
 * others as they are. */

/* Reads the answer to /api (`is_core`) or /apis. It is an APIGroupDiscoveryList
 * of apidiscovery.k8s.io/v2 or v2beta1, or (old form) APIVersions or an
 * APIGroupList. In the old form all versions are pending; in the aggregated one
 * those that are stale or have no readable list of resources.
 * Errors: KIN_EJSON, KIN_EUNEXPECTED (another document): nothing is added then;
 * KIN_ENOMEM. */
int kin__document_read_root(kin__api_table *table, kin_str body, bool is_core);

/* Reads an APIResourceList, the answer to /api/VERSION or /apis/GROUP/VERSION,
 * into a version, which is known then. Errors: as above. */
int kin__document_read_version(kin__api_table *table, kin__api_version *version,
                               kin_str body);

#endif /* KIN_DISCOVERY_DOCUMENT_H */
