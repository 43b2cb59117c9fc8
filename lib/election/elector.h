/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_ELECTOR_H
#define KIN_ELECTION_ELECTOR_H

#include <kin/leader_election.h>

#include "base/clock.h"
#include "client/host.h"

/* kin_leader_elector_open on a host, with a clock that counts suspended time.
 * `options` is complete. */
int kin__leader_elector_open(kin_leader_elector **out, kin__host *host,
                             const kin_leader_elector_options *options,
                             const kin__clock *boot);

#endif /* KIN_ELECTION_ELECTOR_H */
