/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_COMPACT_LIST_H
#define KIN_INFORMER_COMPACT_LIST_H

#include <stdbool.h>

#include "base/sched.h"
#include "object/packed.h"

struct kin__scope;
struct kin_informer;
struct kin__batch;

/* The objects of a list are packed by libuv's pool. They are staged plain, in
 * batches, and each is replaced in the stage when its batch comes back. A list
 * is applied when all its batches are back. When all batches are on their way,
 * the loop's thread packs, too, so that plain objects are few.
 *
 * A batch has a reference to each of its objects; scope->packing counts those
 * of a scope. When it gets to 0, the scope's apply task is woken. The images
 * are the packed objects: another thread makes them, and only the loop's thread
 * takes memory from the slabs. */
#define KIN__BATCHES_MAX 4u
#define KIN__BATCH_MAX_OBJECTS 64u
#define KIN__BATCH_MAX_BYTES (192u << 10) /* of texts */

typedef struct kin__compact_list {
  struct kin_informer *informer;
  struct kin__batch *batches[KIN__BATCHES_MAX]; /* NULL: not made yet */
  struct kin__batch *open;                      /* being filled, or NULL */
  unsigned running;
  unsigned batch_objects;
  bool is_listing; /* more objects may come soon */
  kin__task task;  /* takes batches back */
} kin__compact_list;

/* `batch_objects` of a batch, KIN__BATCH_MAX_OBJECTS at most. */
void kin__compact_list_init(kin__compact_list *list,
                            struct kin_informer *informer,
                            unsigned batch_objects);

/* Whether the next object can be added. If it is the first of its batch, the
 * batch is packed with this dictionary. */
bool kin__compact_list_has_room(kin__compact_list *list,
                                kin__dictionary *dictionary);
/* Adds the object that the scope's stage got last. */
void kin__compact_list_add(kin__compact_list *list, struct kin__scope *scope,
                           kin_object *object);
/* A list is complete, or was dropped: no batch waits for more. */
void kin__compact_list_flush(kin__compact_list *list);
/* The scope goes. */
void kin__compact_list_forget(kin__compact_list *list,
                              struct kin__scope *scope);

/* Batches that no thread has begun come back soon, and are not packed. */
void kin__compact_list_cancel(kin__compact_list *list);
/* Frees one batch that does not run; returns whether there was one. */
bool kin__compact_list_free_step(kin__compact_list *list);

#endif /* KIN_INFORMER_COMPACT_LIST_H */
