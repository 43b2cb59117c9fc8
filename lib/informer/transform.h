/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_TRANSFORM_H
#define KIN_INFORMER_TRANSFORM_H

#include <stdbool.h>

#include <kin/lister_watcher.h>

#include "decode/sink.h"
#include "informer/informer.h"

struct kin__scope;

/* An informer's transform. It runs on each object that comes in, before the
 * object is staged or queued. So all later code sees only transformed objects.
 *
 * If the transform fails, the object goes on without its text: with key, uid
 * and version, through stage and queue, in order. When such an object is
 * processed, the cached state stays if it has the same uid. The failure is
 * reported once for each uid and version, as far as feed/told_states.h can
 * remember. */

/* Creates informer->transform if the options have a transform; else it stays
 * NULL. Errors: KIN_ENOMEM. */
int kin__informer_transform_open(kin_informer *informer);
/* The scope is about to go, and the reports that are due with it. Their objects
 * may be in another scope, and are then reported when they come again. */
void kin__informer_transform_forget(const struct kin__scope *scope);
/* The server's versions may begin again, so a uid and version may soon name
 * another state than the one that the transform refused. */
void kin__informer_transform_forget_states(kin_informer *informer);
void kin__informer_transform_free(kin_informer *informer);

/* Memory for objects before their transform: a block for each, since few
 * survive. Without a transform, that of kin__compact_raw_memory. */
kin__memory *kin__informer_raw_memory(const kin_informer *informer);

/* Transforms an object that is not cached; see kin__feed_owner.keep. */
int kin__informer_transform_keep(kin_feed *feed, kin__decoded_type type,
                                 kin_object **object);

#endif /* KIN_INFORMER_TRANSFORM_H */
