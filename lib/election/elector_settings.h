/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_ELECTOR_SETTINGS_H
#define KIN_ELECTION_ELECTOR_SETTINGS_H

#include <kin/leader_election.h>

#include "base/log.h"
#include "base/random.h"
#include "election/lease.h"

#define KIN__ELECTOR_MAX_IDENTITY_BYTES 1024u

/* The options of an elector, checked, copied, and with defaults filled in. */
typedef struct kin__elector_settings {
  const kin_allocator *allocator;
  kin__lease_terms terms; /* its strings are copies */
  kin__elector_times times;
  uint32_t request_timeout_ms;
} kin__elector_settings;

/* A problem is logged. *settings needs kin__elector_settings_finish also after
 * an error. Errors: KIN_EINVAL, KIN_ENOMEM. */
int kin__elector_settings_init(kin__elector_settings *settings,
                               const kin_allocator *allocator,
                               const kin_leader_elector_options *options,
                               kin__random *random, const kin__log *log);
void kin__elector_settings_finish(kin__elector_settings *settings);

#endif /* KIN_ELECTION_ELECTOR_SETTINGS_H */
