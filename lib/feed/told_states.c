/* SPDX-License-Identifier: MIT */
#include "feed/told_states.h"

#include "base/alloc.h"

/* 0: the state cannot be recognised. */
static uint64_t fingerprint(const kin__hash_seed *seed,
                            const kin__object_parts *state) {
  if (state->uid.length == 0 || state->version.length == 0) {
    return 0;
  }
  uint64_t print = kin__hash(seed, state->uid);
  print = print << 32 | kin__hash(seed, state->version);
  print ^= kin__hash(seed, state->name) * UINT64_C(0x9e3779b97f4a7c15);
  print ^= kin__hash(seed, state->namespace_) * UINT64_C(0xc2b2ae3d27d4eb4f);
  return print != 0 ? print : 1;
}

/* A print has PLACES places, so that states in the hundreds do not displace each
 * other. */
#define PLACES 16u

/* The place of the print, or the first free one, or else the one to displace. A
 * place is never freed again. */
static uint64_t *place_of(const kin__told_states *states, uint64_t print) {
  uint64_t *first =
      states->prints + print % (KIN__TOLD_STATES / PLACES) * PLACES;
  for (unsigned i = 0; i < PLACES; i++) {
    if (first[i] == print || first[i] == 0) {
      return &first[i];
    }
  }
  return &first[(print >> 32) % PLACES];
}

bool kin__told_states_has(const kin__told_states *states,
                          const kin__object_parts *state) {
  if (states->prints == NULL) {
    return false;
  }
  uint64_t print = fingerprint(&states->seed, state);
  return print != 0 && *place_of(states, print) == print;
}

void kin__told_states_add(kin__told_states *states, const kin__env *env,
                          const kin__object_parts *state) {
  if (states->prints == NULL) {
    states->seed = kin__random_hash_seed(env->random);
    states->prints =
        kin__calloc(env->allocator, KIN__TOLD_STATES, sizeof *states->prints);
  }
  uint64_t print = fingerprint(&states->seed, state);
  if (states->prints != NULL && print != 0) {
    *place_of(states, print) = print;
  }
}

void kin__told_states_clear(kin__told_states *states, const kin__env *env) {
  kin__free(env->allocator, states->prints);
  states->prints = NULL;
}
