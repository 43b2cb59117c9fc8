/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_TRANSFORM_H
#define KIN_INFORMER_TRANSFORM_H

#include <stdbool.h>

#include <kin/lister_watcher.h>

#include "decode/sink.h"
#include "informer/informer.h"

struct kin__scope;

/* An informer's transform. It runs where an object comes in, before it is
 * staged or queued, so that nothing behind it has ever seen anything else.
 *
 * What it fails on goes on as an object without text, which has only its key,
 * uid and version, and takes the same way as any other: through stage and
 * queue, in order. When it is processed, the state before stays, if it is of
 * the same object; it has been told then, once for each uid and version, as far
 * as a table of KIN__TRANSFORM_TABLE places can remember. */
#define KIN__TRANSFORM_TABLE 4096u

/* Makes it if the options have one, else informer->transform stays NULL.
 * Errors: KIN_ENOMEM. */
int kin__informer_transform_open(kin_informer *informer);
/* Nothing is told of a scope any more. What waits to be told together with that
 * of another scope, is told when it comes again; the log has it. */
void kin__informer_transform_forget(struct kin__scope *scope);
/* Nothing is told any more. */
void kin__informer_transform_close(kin_informer *informer);
void kin__informer_transform_free(kin_informer *informer);

/* Where a source makes objects that are going to be transformed: a block for
 * each, since few live on; else the informer's. */
kin__memory *kin__informer_raw_memory(const kin_informer *informer);

/* The feed's owner's: see kin__feed_owner.keep. */
int kin__informer_keep(kin_feed *feed, kin__decoded_type type,
                       kin_object **object);

/* Whether an object is what became of one that the transform failed on. */
bool kin__informer_is_refused(const kin_object *object);

#endif /* KIN_INFORMER_TRANSFORM_H */
