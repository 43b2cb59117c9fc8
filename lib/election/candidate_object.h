/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_CANDIDATE_OBJECT_H
#define KIN_ELECTION_CANDIDATE_OBJECT_H

#include <stdbool.h>

#include <kin/object.h>
#include <kin/time.h>

#include "base/buf.h"
#include "base/log.h"

/* A LeaseCandidate of coordination.k8s.io, read and written. */

#define KIN__CANDIDATE_MAX_NAME_BYTES 253u
#define KIN__CANDIDATE_DEFAULT_STRATEGY "OldestEmulationVersion"

/* The members that the program decides. */
typedef struct kin__candidate_terms {
  const char *namespace_;
  const char *name;
  const char *lease_name;
  const char *binary_version;
  const char *emulation_version; /* "": none */
  const char *strategy;
  const char *version; /* of the API */
} kin__candidate_terms;

/* Logs what is wrong. Errors: KIN_EINVAL (a missing member, or a name that is
 * not valid). */
int kin__candidate_check(const kin__candidate_terms *terms,
                         const kin__log *log);

/* Whether the server waits for an answer to spec.pingTime, that is, whether
 * spec.renewTime is earlier. A time that cannot be read counts as absent.
 * *ping is left alone if not. */
bool kin__candidate_is_pinged(const kin_object *object, kin_time *ping);

/* Appends the body of a write to `out`: a new object, or `base` with these
 * members and this renewTime. Errors: those of kin_object_builder, and
 * KIN_ETOOBIG (only the key of `base` is there). */
int kin__candidate_compose(kin__buf *out, const kin_allocator *allocator,
                           const kin_object *base,
                           const kin__candidate_terms *terms,
                           kin_time renew_time);

#endif /* KIN_ELECTION_CANDIDATE_OBJECT_H */
