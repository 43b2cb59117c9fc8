/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_SCOPE_H
#define KIN_INFORMER_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "informer/apply.h"
#include "informer/feed.h"
#include "informer/http_source.h"
#include "informer/informer.h"

/* One namespace (or all) of an informer: a feed whose events go into the
 * informer's queue, and whose lists are applied through it. */
typedef struct kin__scope {
  kin_feed feed;
  kin_informer *informer;
  uint32_t index;      /* in informer->scopes; slots of the store remember it */
  uint32_t generation; /* of the last list; slots remember it */
  kin__http_source http;
  bool stream_refused; /* by a source of the program's own */
  kin__apply apply;
} kin__scope;

static inline kin__scope *kin__scope_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin__scope, feed);
}

void kin__scope_init(kin__scope *scope, kin_informer *informer, uint32_t index,
                     const char *namespace_);
/* All its work must have ended: closed, and its stage freed. */
void kin__scope_finish(kin__scope *scope);

/* Ends the request and all other work; nothing happens in it any more. */
void kin__scope_close(kin__scope *scope);

/* Puts a change into the queue; pauses reading when it is full.
 * Errors: KIN_ENOMEM. */
int kin__scope_push(kin__scope *scope, kin__delta_type type,
                    const kin_object *object, bool is_tombstone);

#endif /* KIN_INFORMER_SCOPE_H */
