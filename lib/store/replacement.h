/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_REPLACEMENT_H
#define KIN_STORE_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/process.h>

#include "store/store.h"

/* A whole list becomes the content of a store, in steps of any size: a table
 * with its indices is made beside the old one, takes its place in O(1),
 * handlers are told what is different, and the old table is freed.
 *
 * - Until it is shown nothing can be seen of it, and it can be given up.
 * - An object that stays keeps its slot, so a running scan meets it once. It
 *   may lose it if somebody else writes to the store in the meantime.
 * - What others write before it is shown is lost, as if it had been written
 *   before a kin_store_replace; what they write afterwards stays.
 * - Handlers may write to the store: what has changed was settled when it was
 *   shown.
 *
 * The old content is marked for this: the generation of a slot whose key is in
 * the list is the replacement's number. */
typedef enum kin__replacement_phase {
  KIN__REPLACEMENT_TAKING =
      0, /* slots of the old table, so that they can stay */
  KIN__REPLACEMENT_FILLING,
  KIN__REPLACEMENT_GIVING,   /* the slots of what is gone back */
  KIN__REPLACEMENT_INDEXING, /* by indices that were added in the meantime */
  KIN__REPLACEMENT_MARKING,  /* shown: again, if others have written */
  KIN__REPLACEMENT_DELETING, /* telling of what is gone */
  KIN__REPLACEMENT_TELLING,  /* of what is there */
  KIN__REPLACEMENT_TOLD
} kin__replacement_phase;

typedef struct kin__replacement {
  kin_store *store;
  const kin_object *const *objects;
  size_t count;
  kin_str version;
  bool is_initial;

  kin_store other; /* the new content; once it is shown, the old one */
  kin__replacement_phase phase;
  size_t at;       /* the next object or slot of the phase */
  uint32_t limit;  /* slots of the old table when it began */
  uint32_t vacant; /* the next of them for a new key; limit: none is left */
  uint32_t number;
  uint32_t writes;   /* of the store when it began */
  bool is_scattered; /* others have written: slots and marks may be wrong */
  /* To be set after begin: nobody is to be told. Then nothing is marked either,
   * so that one that is given up leaves no trace. */
  bool is_silent;
  /* To be set from a handler: tell nothing more. */
  bool is_stopped;
} kin__replacement;

/* Allocates nothing. The objects and the version must stay until it is told,
 * the store until it is cleared. What others write to the store in between,
 * kin_store_replace included, is found out by store->writes. */
void kin__replacement_begin(kin__replacement *r, kin_store *store,
                            const kin_object *const *objects, size_t count,
                            kin_str version, bool is_initial);

static inline bool kin__replacement_is_shown(const kin__replacement *r) {
  return r->phase >= KIN__REPLACEMENT_MARKING;
}

/* Handles up to `count` objects or slots. Returns 1 as long as work is left, 0
 * when all have been told. Errors, all before it is shown: those of
 * kin_store_replace. The step may be repeated, or the replacement be given up
 * by clearing it. `handlers` are complete. */
int kin__replacement_step(kin__replacement *r, uint32_t count,
                          const kin_process_handlers *handlers);

/* Frees up to `count` pieces of the table that is not the store's. Returns
 * whether any is left; then nothing of the replacement is. */
bool kin__replacement_clear_step(kin__replacement *r, uint32_t count);

#endif /* KIN_STORE_REPLACEMENT_H */
