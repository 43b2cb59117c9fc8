/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_STORE_H
#define KIN_STORE_STORE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <kin/store.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sched.h"
#include "base/slots.h"
#include "object/transform.h"
#include "store/index_pass.h"

/* The store behind kin_store: a slot per object, hash -> slot, and an integer
 * cursor for every walk. A slot's number is stable while its object is stored,
 * also across updates. A freed number may be given to another object.
 *
 * Each slot remembers the scope (namespace watch) of an informer that it came
 * from, and the list or event in which it was last seen: `generation` is the
 * scope's list generation, from 1 on. So a later list sweeps the objects that it
 * did not contain. What the program has put into an informer's store has the
 * generation 0 until a list or an event mentions the object. In a store used
 * alone the generation is the number of the last replacement that contained the
 * object, and the scope is of use only to a replacement. */
typedef struct kin__store_slot {
  kin__slot_head head;
  kin_object *object; /* one reference; NULL iff the slot is free */
  uint32_t generation;
  uint32_t scope;
} kin__store_slot;

/* An entry costs a slot and 4 bytes of the map, besides its object. */
static_assert(sizeof(kin__store_slot) + sizeof(uint32_t) <= 48,
              "an entry must not cost more than 48 bytes");

/* The version of a store that belongs to no informer. */
typedef struct kin__store_version {
  size_t length;
  size_t capacity; /* bytes of text */
  char text[];     /* NUL-terminated */
} kin__store_version;

struct kin__index;
struct kin__object_list;

/* The informer or controller that a store belongs to. */
typedef struct kin__store_owner {
  /* Called when a new index must be built. */
  void (*index_added)(void *ctx);
  const kin__log *(*log)(void *ctx);
  /* Both NULL, or called around each write of the program. `reserve` may fail:
   * then nothing is written. `before` and `after` are the slot's objects; NULL:
   * none. */
  int (*reserve)(void *ctx);
  void (*wrote)(void *ctx, uint32_t slot, kin_object *before,
                kin_object *after);
} kin__store_owner;

struct kin_store {
  kin__memory *memory;
  const kin_allocator *allocator; /* of memory */
  kin__slots slots;
  struct kin__index *indices; /* singly linked, in order of creation */
  kin__index_pass *pass;      /* the pointers of all indices; NULL: none */
  uint64_t bytes;             /* see kin_store_bytes */
  uint32_t writes;            /* changes so far, modulo 2^32 */
  uint32_t clear_left;        /* slots left for kin__store_clear_step;
                               * KIN__NO_SLOT: the store is not hidden */
  uint32_t replacements;      /* begun so far, see replacement.h */
  int index_refusal;          /* the error of kin_store_add_index; 0: none */
  bool is_managed; /* an informer's: kin__store_index_step builds its indices,
                    * and kin_store_free must not be called */
  bool is_indexed_in_steps; /* as if managed, but for indices only */
  bool has_no_labels; /* objects' labels are not resident: an index reads those
                       * that are stored from the text */
  bool is_indexing; /* an index callback may be running: no change is allowed */
  uint32_t own_writes; /* changes by the program so far; 0: there was none */
  kin__map map;
  kin__hash_seed seed;
  struct kin__index *hidden; /* the indices of a hidden store */
  /* NULL: the store is used alone. */
  const struct kin__store_owner *owner;
  void *owner_ctx;
  kin__transform *transform;   /* applied by kin_store_put; NULL: none */
  kin__store_version *version; /* NULL: "". Unused if is_managed */
};

/* Allocates nothing. Takes a reference to `memory`. A store must not be moved
 * in memory. */
void kin__store_init(kin_store *store, kin__memory *memory, kin__hash_seed seed,
                     bool is_managed);
/* Frees everything at once, O(n); see kin__store_clear_step. */
void kin__store_finish(kin_store *store);

/* A zeroed handle of `size` bytes that begins with a store, both in memory of
 * their own; NULL if out of memory. Freed by kin__store_free_handle. */
void *kin__store_new_handle(const kin_allocator *allocator, size_t size);
void kin__store_free_handle(kin_store *store);

uint32_t kin__store_hash(const kin_store *store, kin_str key);

/* The slot of a key, or KIN__NO_SLOT. */
uint32_t kin__store_find(const kin_store *store, kin_str key, uint32_t hash);

static inline kin__store_slot *kin__store_at(const kin_store *store,
                                             uint32_t slot) {
  return kin__slots_at(&store->slots, slot);
}

/* Inserts or replaces; takes a reference of its own. *old gets the replaced
 * object with the store's reference to it, or NULL. *slot gets the object's
 * slot. A new slot's generation and scope are 0; otherwise they are unchanged.
 * On an error nothing has changed. Errors: KIN_ENOMEM, KIN_EINDEX. */
int kin__store_upsert(kin_store *store, const kin_object *object, uint32_t hash,
                      uint32_t *slot, kin_object **old);

/* Removes the object of a slot that is in use and returns it with the store's
 * reference to it. Cannot fail. */
kin_object *kin__store_remove(kin_store *store, uint32_t slot);

/* Puts an object whose key is not in the store into a taken, empty slot. Errors
 * as kin__store_upsert. */
int kin__store_fill(kin_store *store, const kin_object *object, uint32_t hash,
                    uint32_t slot);

/* Swaps the contents and the indices of two stores in O(1). Both must have the
 * same memory and seed. */
void kin__store_swap(kin_store *a, kin_store *b);

/* *out gets a new reference to the object that a put keeps. Errors: see
 * kin_store_put. */
int kin__store_transform(const kin_store *store, const kin_object *object,
                         kin_object **out);

/* kin_store_put without the transform and the version, after
 * kin__store_begin_write. */
int kin__store_put(kin_store *store, const kin_object *object,
                   kin_object **old);

/* kin_store_put; *old gets the object stored under the key before, with the
 * store's reference to it, or NULL. */
int kin__store_exchange(kin_store *store, const kin_object *object,
                        kin_object **old);

/* The index of that name, or NULL. No index has the name NULL. */
const struct kin__index *kin__store_index(const kin_store *store,
                                          const char *name);

/* kin__index_visit for an index like those of the store, which its callback
 * must not change. */
int kin__store_visit(const kin_store *store, const struct kin__index *index,
                     const kin_object *object,
                     int (*visit)(void *ctx, kin_str value), void *ctx);

/* Appends all objects. Errors: KIN_ENOMEM; some may have been appended. */
int kin__store_fill_list(const kin_store *store, struct kin__object_list *list);

/* Makes sure that a version of that length can be set. Does nothing for an
 * informer's store. Errors: KIN_ENOMEM. */
int kin__store_reserve_version(kin_store *store, size_t length);
/* The same before a write of the program's, which an index callback must not do:
 * the version may be lent to the change that calls the callback. Errors:
 * KIN_EALREADY, KIN_ENOMEM. */
int kin__store_begin_write(kin_store *store, size_t version_length);
/* Sets a version for which room was reserved. `version` may be the present
 * one. */
void kin__store_set_version(kin_store *store, kin_str version);

/* Builds the indices that are not ready by up to `count` slots, of all indices
 * together. Returns whether work is left. Upserts do not index slots that the
 * build has not reached; the build will.
 *
 * If memory for an index is out, the index stays and is tried again at the same
 * slot, while the others continue. *err gets the first error, or 0; on an error
 * the caller waits before the next call. */
bool kin__store_index_step(kin_store *store, uint32_t count, int *err);
/* The same as one step of a task, bounded in slots and in time. */
bool kin__store_index_slice(kin_store *store, const kin__sched *sched,
                            int *err);

/* From here on the store is empty, and takes no object (KIN_ECLOSED). Its
 * content waits for kin__store_clear_step. O(1); may be called again. */
void kin__store_hide(kin_store *store);

/* Hides the store, and frees up to `count` pieces: slots with their objects,
 * then their segments, then values and segments of the indices and segments of
 * the map. Returns whether work is left. After false a managed store has only
 * its reference to the memory, until kin__store_finish; others have nothing.
 * After the first call only this function, kin__store_finish and reading are
 * allowed. */
bool kin__store_clear_step(kin_store *store, uint32_t count);

/* See kin_store_version_gauge. */
bool kin__version_gauge(kin_str version, double *value);

#endif /* KIN_STORE_STORE_H */
