/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_LEASE_H
#define KIN_ELECTION_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/lister_watcher.h>
#include <kin/object.h>
#include <kin/object_builder.h>

#include "base/buf.h"
#include "base/timestamp.h"
#include "election/elector_machine.h"

/* A Lease of coordination.k8s.io/v1 as an elector uses it. */

#define KIN__LEASE_GROUP "coordination.k8s.io"

/* A lease that the server has sent. All of it is kept, so that an update sends
 * back whatever others have written into it. */
typedef struct kin__lease {
  kin_object *object; /* NULL: none */
  kin_object_view *view;
  kin_str spec;   /* as the server wrote it; "" without one */
  kin_str holder; /* holderIdentity; "": nobody */
  uint32_t duration_s;
  int64_t transitions; /* 0 without one; whatever number is written */
  bool has_preferred_holder;
} kin__lease;

/* Reads a lease, and takes the reference to `object` also on an error. Members
 * that are absent or null are empty. Errors: KIN_ETYPE (a member is of another
 * type), KIN_EJSON, KIN_ENOMEM; *lease is empty then. */
int kin__lease_read(kin__lease *lease, kin_object *object);
void kin__lease_finish(kin__lease *lease);

/* The part of a new lease that the program decides. */
typedef struct kin__lease_terms {
  const char *namespace_;
  const char *name;
  const char *identity;
  uint32_t duration_s;
  const kin_parameter *labels;
  size_t label_count;
} kin__lease_terms;

/* Appends the body of a write to `out`: for KIN__ELECTOR_CREATE a new lease,
 * else `lease` with another spec (LE-06, LE-09, LE-10).
 * Errors: those of kin_object_builder. */
int kin__lease_compose(kin__buf *out, const kin_allocator *allocator,
                       const kin__lease *lease, const kin__lease_terms *terms,
                       kin__elector_request request, kin__timestamp now);

/* Ends the builder of a write, and appends its object's text to `out`. `err` is
 * the code of the builder's last call; after an error nothing is appended.
 * Errors: `err`, those of kin_object_builder_finish, KIN_ENOMEM. */
int kin__lease_write(kin__buf *out, kin_object_builder *builder, int err);

#endif /* KIN_ELECTION_LEASE_H */
