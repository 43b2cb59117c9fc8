/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_SCOPE_H
#define KIN_INFORMER_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "check/list_check.h"
#include "informer/apply.h"
#include "feed/feed.h"
#include "feed/http_source.h"
#include "informer/informer.h"
#include "informer/version_wait.h"

/* One namespace (or all) of an informer: a feed whose events go into the
 * informer's queue, and whose lists are applied through it. */
typedef struct kin__scope {
  kin_feed feed;
  kin_informer *informer;
  uint32_t index;      /* its place; slots of the store remember it */
  uint32_t generation; /* of the last list; slots remember it */
  kin__http_source http;
  char applied_version[KIN__VERSION_SIZE]; /* of the list last applied */
  bool stream_refused; /* by a source of the program's own */
  bool is_late;    /* added when the informer had synced: its first list is no
                    * part of that */
  bool is_waiting; /* to be started when what an earlier scope of this namespace
                    * left behind is deleted */
  bool is_removed; /* nothing of it is told any more, but its deletes */
  kin__apply apply;
  kin__list_check *list_check; /* NULL: none was needed yet */
  kin__scope_waits waits;
  kin__link emptied_node; /* in the informer's scopes.emptied, if anywhere */
  char name[];            /* feed.namespace_ */
} kin__scope;

static inline kin__scope *kin__scope_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin__scope, feed);
}

/* `scope` has room for the name behind it. */
void kin__scope_init(kin__scope *scope, kin_informer *informer, uint32_t index,
                     const char *namespace_);
/* All its work must have ended: closed, and its stage freed. */
void kin__scope_finish(kin__scope *scope);

/* Ends the request and all other work; nothing happens in it any more. */
void kin__scope_close(kin__scope *scope);
/* The same, but its objects are deleted, in steps; when they are gone,
 * kin__scopes_emptied is called. To be called once. */
void kin__scope_remove(kin__scope *scope);

/* A list is going to be applied: compares it later, if the client asks for
 * that. */
void kin__scope_check_list(kin__scope *scope);

/* Puts a change into the queue; pauses reading when it is full.
 * Errors: KIN_ENOMEM. */
int kin__scope_push(kin__scope *scope, kin__delta_type type,
                    const kin_object *object, bool is_tombstone);

/* Something that it did failed, and is tried again after KIN__MEMORY_RETRY_MS;
 * `key` names the object, "" if there is none. */
void kin__scope_failed(kin__scope *scope, int code, const char *what,
                       const char *key);

#endif /* KIN_INFORMER_SCOPE_H */
