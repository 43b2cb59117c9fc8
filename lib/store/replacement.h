/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_REPLACEMENT_H
#define KIN_STORE_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/process.h>

#include "store/store.h"

/* A whole list becomes the content of a store, in steps of any size. First a
 * table with its indices is made beside the old one. Then the new table takes
 * the old one's place in O(1): the replacement is shown. Then handlers are told
 * the differences, and the old table is freed.
 *
 * - Until it is shown, a replacement is invisible and can be given up.
 * - An object that stays keeps its slot, so a running scan meets it once. An
 *   object that other code adds in the meantime may get another slot.
 * - Writes of other code before it is shown are lost, as if they came before a
 *   kin_store_replace. Later writes stay.
 * - Handlers may write to the store: the differences were settled when the
 *   replacement was shown.
 *
 * The old content is marked for this: a slot whose key is in the list gets the
 * replacement's number as its generation. */
typedef enum kin__replacement_phase {
  KIN__REPLACEMENT_TAKING =
      0, /* the old table's slots, so that objects keep them */
  KIN__REPLACEMENT_FILLING,
  KIN__REPLACEMENT_GIVING,   /* gives slots of objects that are gone back */
  KIN__REPLACEMENT_INDEXING, /* with indices that were added meanwhile */
  KIN__REPLACEMENT_MARKING,  /* shown: again, if other code has written */
  KIN__REPLACEMENT_DELETING, /* telling which objects are gone */
  KIN__REPLACEMENT_TELLING,  /* telling which objects are there */
  KIN__REPLACEMENT_TOLD
} kin__replacement_phase;

typedef struct kin__replacement {
  kin_store *store;
  const kin_object *const *objects;
  size_t count;
  /* The objects from here on, which the owner has added to the list after begin,
   * count only if their key is not listed. They must be there before the first
   * step. */
  size_t listed;
  kin_str version;
  bool is_initial;

  kin_store other; /* the new content; once shown, the old one */
  kin__replacement_phase phase;
  size_t at;       /* the next object or slot of the phase */
  uint32_t limit;  /* slots of the old table at the begin */
  uint32_t vacant; /* the next of them for a new key; limit: none left */
  uint32_t number;
  uint32_t writes;   /* the store's count at the begin */
  bool is_scattered; /* other code has written: keys may have moved, and
                      * marks may be wrong */
  /* May be set after begin: no handler is told. Then nothing is marked either,
   * so a replacement that is given up leaves no trace. */
  bool is_silent;
  /* A handler may set it: no further call. */
  bool is_stopped;
  /* A bit for each object whose key is listed again: handlers are told of the
   * last one only. NULL: no such object. The new table's slots have the place in
   * the list as their scope. */
  uint8_t *left_out;
} kin__replacement;

/* Allocates nothing. The objects and the version must stay until all is told,
 * the store until all is cleared. store->writes tells whether other code writes
 * to the store in between, kin_store_replace included. */
void kin__replacement_begin(kin__replacement *r, kin_store *store,
                            const kin_object *const *objects, size_t count,
                            kin_str version, bool is_initial);

/* Handles up to `count` objects or slots. Returns 1 as long as work is left, 0
 * when everything has been told. All errors come before it is shown: those of
 * kin_store_replace. After an error the step may be repeated, or the
 * replacement be given up by clearing it. `handlers` are complete. */
int kin__replacement_step(kin__replacement *r, uint32_t count,
                          const kin_process_handlers *handlers);

/* Frees up to `count` pieces of the table that is not the store's. Returns
 * whether any is left. After false nothing of the replacement is left. */
bool kin__replacement_clear_step(kin__replacement *r, uint32_t count);

#endif /* KIN_STORE_REPLACEMENT_H */
