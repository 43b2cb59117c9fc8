/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_INDEX_H
#define KIN_STORE_INDEX_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <kin/store.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/slots.h"
#include "store/index_value.h"

/* One index: value -> slots of a store, and slot -> its values. So an update or
 * a removal needs no old object.
 *
 * A change is made in two halves. kin__index_prepare asks for the new values
 * and takes all the memory they need. Then exactly one of two functions must be
 * called: kin__index_commit, which cannot fail, or kin__index_cancel, which
 * leaves no trace. So a store with several indices changes all of them or
 * none. */

/* A value that at least one object has. Between prepare and commit or cancel
 * also a value that an object is about to have. */
typedef struct kin__index_value {
  kin__slot_head head;
  char *bytes; /* own copy; NULL if empty */
  uint32_t length;
  uint32_t count;        /* postings */
  uint32_t first;        /* posting */
  uint32_t pending;      /* the prepared slot's posting, or KIN__NO_SLOT */
  uint32_t pending_next; /* the value emitted after this one, see index.c */
} kin__index_value;

/* One object has one value. Postings are in no map, so their head's two fields
 * serve other ends. */
typedef struct kin__posting {
  kin__slot_head head; /* hash: id of the value; next: its next posting */
  uint32_t prev;       /* previous posting of the value */
  uint32_t slot;       /* KIN__NO_SLOT while it is only prepared */
  uint32_t next_of_slot;
} kin__posting;

/* An index entry costs a posting and its share of `heads`, besides the distinct
 * values. */
static_assert(sizeof(kin__posting) + sizeof(uint32_t) <= 24,
              "an index entry must not cost more than 24 bytes");

typedef struct kin__index {
  struct kin__index *next;        /* in the store's list */
  kin__memory *memory;            /* the store's, borrowed */
  const kin_allocator *allocator; /* of memory */
  char *name;
  kin__index_source source;
  kin__hash_seed seed;
  kin__slots values;
  kin__map map; /* hash of a value -> values */
  kin__slots postings;
  uint32_t **heads; /* slot -> first posting, in segments; a segment is NULL
                     * until one of its slots has a value */
  uint32_t heads_capacity;
  uint32_t built; /* slots below are indexed; KIN__NO_SLOT when all are */
  /* The prepared change: values in the order of emission. */
  uint32_t pending_first;
  uint32_t pending_last;
  bool has_change;
  /* An informer's index: an object whose index function fails has no values.
   * Refusing the object would keep the cache from following the server. */
  bool is_tolerant;
  uint32_t cleared; /* bytes of the values below are freed */
} kin__index;

/* Makes an empty index that covers no slot. `options` are complete. For
 * `has_labels` see kin__index_source_init.
 * Errors: KIN_EINVAL (no name, or see kin__index_source_init), KIN_ENOMEM. */
int kin__index_new(kin__index **out, kin__memory *memory, kin__hash_seed seed,
                   const kin_index_options *options, bool has_labels);

/* Makes an empty index with the name and source of `index` that covers all
 * slots. Errors: KIN_ENOMEM. */
int kin__index_new_like(kin__index **out, const kin__index *index);

/* Frees values, then tables, then the index: at most `*budget` pieces, and
 * reduces *budget. Returns whether anything is left. */
bool kin__index_free_step(kin__index *index, uint32_t *budget);

/* Frees an index with all its values at once. */
void kin__index_free(kin__index *index);

/* Whether changes of the slot concern the index. */
static inline bool kin__index_covers(const kin__index *index, uint32_t slot) {
  return slot < index->built;
}

/* Prepares to replace the slot's values by those of the reader's object. On an
 * error nothing has changed. Errors: KIN_ENOMEM, KIN_EINDEX (never for a
 * tolerant index). */
int kin__index_prepare(kin__index *index, uint32_t slot,
                       kin__index_reader *reader);
void kin__index_commit(kin__index *index, uint32_t slot);
void kin__index_cancel(kin__index *index, uint32_t slot);

/* Removes all values of a slot. */
void kin__index_remove(kin__index *index, uint32_t slot);

/* Calls visit for each value of the object; a value may come several times.
 * Nothing changes. A non-zero result of visit ends the calls and is returned.
 * Errors: KIN_ENOMEM, KIN_EINDEX. */
int kin__index_visit(const kin__index *index, const kin_object *object,
                     int (*visit)(void *ctx, kin_str value), void *ctx);

/* The index's entry for these bytes, or NULL. Borrowed until the index
 * changes. */
const kin__index_value *kin__index_find(const kin__index *index, kin_str value);

/* The next value whose id is at least *next, which is advanced; false at the
 * end. */
bool kin__index_next_value(const kin__index *index, uint32_t *next,
                           kin_str *value);

/* NULL for KIN__NO_SLOT and for an id out of range. */
const kin__posting *kin__index_posting(const kin__index *index,
                                       uint32_t posting);

/* First posting of a slot, or KIN__NO_SLOT. */
uint32_t kin__index_first(const kin__index *index, uint32_t slot);

#endif /* KIN_STORE_INDEX_H */
