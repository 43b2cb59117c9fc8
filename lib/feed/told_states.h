/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_TOLD_STATES_H
#define KIN_FEED_TOLD_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "client/env.h"
#include "object/object.h"

/* The states of objects that were reported, so that each is reported once: by
 * key, uid and version, as far as KIN__TOLD_STATES places can remember. A state
 * without uid or version cannot be recognised and counts as new. Zeroed memory
 * is an empty table. */
#define KIN__TOLD_STATES 4096u

typedef struct kin__told_states {
  kin__hash_seed seed;
  uint64_t *prints; /* Fingerprints, each in one of a few places; 0: none. NULL
                     * before the first. */
} kin__told_states;

bool kin__told_states_has(const kin__told_states *states,
                          const kin__object_parts *state);
/* Without memory nothing is remembered. */
void kin__told_states_add(kin__told_states *states, const kin__env *env,
                          const kin__object_parts *state);
/* When versions repeat, a version may name another state than before. */
void kin__told_states_clear(kin__told_states *states, const kin__env *env);

#endif /* KIN_FEED_TOLD_STATES_H */
