/* SPDX-License-Identifier: MIT */
#ifndef KIN_QUEUE_DELTA_H
#define KIN_QUEUE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/delta.h>
#include <kin/object.h>

/* One change of one key on its way to the store (DF-01). */
typedef struct kin__delta {
  kin_object *object;  /* one reference; for a tombstone the last known state,
                        * which may be stale (DF-06), never NULL */
  uint32_t generation; /* of the list with the object, or of the last list */
  uint32_t scope;
  uint8_t type;      /* kin_delta_type: ADDED, UPDATED, DELETED, REPLACED (an
                      * item of a list) or SYNC */
  uint8_t reason;    /* kin_delete_reason of a DELETED */
  bool is_tombstone; /* DELETED whose final state is unknown */
  bool is_initial;   /* part of its scope's first list */
  bool is_key_only;  /* `object` has only its key, because no state is known
                      * (never in an informer) */
} kin__delta;

#endif /* KIN_QUEUE_DELTA_H */
