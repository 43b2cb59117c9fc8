/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_COMPACT_H
#define KIN_INFORMER_COMPACT_H

#include <stdbool.h>

#include <kin/metrics.h>

#include "informer/informer.h"

/* Compact storage of an informer (kin_informer_options.compact): objects are
 * packed when they come, with a dictionary that is made of earlier ones.
 *
 * Until the first dictionary is there objects are plain. The first 64 objects
 * are its samples; another thread makes it. Then objects that have come meanwhile
 * are packed, too: those of the store by a pass of the defragmenter, staged ones
 * when their list is applied. A thorough one follows after 4,096
 * objects, and another whenever the objects have changed so much that they are
 * packed worse than before. Objects keep the dictionary that they were packed
 * with. */

/* Creates informer->compact if the options ask for it; else it stays NULL. An
 * informer whose objects are sealed (mutation_check) keeps them plain. Errors:
 * KIN_ENOMEM. */
int kin__compact_open(kin_informer *informer);

struct kin__scope;

/* Packs an object for the store. Cannot fail: the object may stay plain. One
 * that `is_listed` may be packed later by the pool (compact_list.h), if
 * kin__compact_staged is called after it is staged. */
void kin__compact_pack(kin_informer *informer, kin_object **object,
                       bool is_listed);
void kin__compact_staged(struct kin__scope *scope, kin_object *object);
/* A list is complete, or was dropped. */
void kin__compact_listed(kin_informer *informer);
/* The scope goes. */
void kin__compact_forget(struct kin__scope *scope);
/* For compact_list.c: an object comes back packed. If it is plain it is packed
 * now. */
void kin__compact_take_packed(kin_informer *informer, kin_object **object);

/* For an object that only the caller refers to, and that may have come before
 * the first dictionary. Returns a packed one in its place, a new reference, or
 * NULL: the object stays. */
kin_object *kin__compact_late(kin_informer *informer, kin_object *object);
/* That was done with all objects of the store. */
void kin__compact_passed(kin_informer *informer);

/* Memory for objects that kin__compact_pack will be given: a block for each,
 * since few survive, so that the same block is used again at once. Without
 * compact storage, the informer's memory. */
kin__memory *kin__compact_raw_memory(const kin_informer *informer);

/* A thread may have inflated texts in place. Those of the loop's thread are
 * looked at now, others in a second. */
void kin__compact_called(kin_informer *informer);

void kin__compact_close(kin_informer *informer);
/* Frees one piece; returns whether there is more. */
bool kin__compact_free_step(kin_informer *informer);
/* Whether another thread is at work. Its end adds the close task. */
bool kin__compact_is_working(const kin_informer *informer);
void kin__compact_free(kin_informer *informer);

void kin__compact_read_metrics(const kin_informer *informer,
                               kin_informer_metrics *metrics);

#endif /* KIN_INFORMER_COMPACT_H */
