/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_LEASE_CANDIDATE_H
#define KIN_ELECTION_LEASE_CANDIDATE_H

#include <kin/lease_candidate.h>

#include "client/host.h"

/* kin_lease_candidate_open on a host. `options` is complete. */
int kin__lease_candidate_open(kin_lease_candidate **out, kin__host *host,
                              const kin_lease_candidate_options *options);

#endif /* KIN_ELECTION_LEASE_CANDIDATE_H */
