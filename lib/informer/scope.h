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
 * informer's queue, and whose lists are applied through that queue. */
typedef struct kin__scope {
  kin_informer *informer;
  uint32_t index;      /* place in informer->scopes; slots of the store keep
                        * it */
  uint32_t generation; /* of the last list; slots of the store keep it */
  kin__apply apply;
  kin__list_check *list_check; /* NULL: not needed yet */
  kin__scope_waits *waits;     /* NULL: none so far */
  char *applied_version;       /* of the last applied list; NULL: none */
  uint64_t listed_bytes;       /* staged, see max_bytes.h */
  uint32_t packing;            /* staged objects that are on their way, see
                           * compact_list.h */
  /* Discarded stages: a place in a stage says nothing about a later one. */
  uint32_t dropped_lists;
  kin_feed feed;
  kin__http_source http;
  kin__silence *silence;  /* behind the name; NULL: stale_after_ms is not set */
  kin__link emptied_node; /* in the informer's scopes.emptied, or alone */
  bool is_late;    /* added after the informer had synced: its first list is not
                    * initial */
  bool is_waiting; /* starts when the objects of a removed scope of this
                    * namespace are deleted */
  bool is_removed; /* only its deletes are still delivered */
  bool is_over_bytes : 1; /* the last failure is KIN_EMAXBYTES */
  bool lacks_room : 1;    /* max_bytes.needed is about its bytes, too, and no
                           * request was made since */
  char name[];            /* feed.namespace_ */
} kin__scope;

static inline kin__scope *kin__scope_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin__scope, feed);
}

/* Errors: KIN_ENOMEM. */
int kin__scope_new(kin__scope **out, kin_informer *informer, uint32_t index,
                   const char *namespace_);
/* The scope must be closed and its stage freed. */
void kin__scope_free(kin__scope *scope);

/* Ends the request and all other work for good. */
void kin__scope_close(kin__scope *scope);
/* As kin__scope_close, but deletes the scope's objects in steps and then calls
 * kin__scopes_emptied. Call once. */
void kin__scope_remove(kin__scope *scope);

/* Whether the object of a slot is the scope's: a list or an event of the scope
 * was the last to mention it. What the program has put itself, and nothing has
 * mentioned so far, is of the scope with its namespace, or else of the first
 * one. O(namespaces) for the first, with a small factor. */
bool kin__scope_owns(const kin__scope *scope, const kin__store_slot *slot);

/* A list is about to be applied. If the client asks for checks, compares the
 * list later. */
void kin__scope_check_list(kin__scope *scope);

/* An answer of the program has stopped the scope. A half-applied list stays half
 * applied; the stage is freed. */
void kin__scope_stopped(kin__scope *scope);

/* Puts a change into the queue, and pauses reading when the queue is full: the
 * program's source may end the scope then. Errors: KIN_ENOMEM. */
int kin__scope_push(kin__scope *scope, kin_delta_type type,
                    const kin_object *object, bool is_tombstone);

/* The same for an object of the server, without its body if bodies have been
 * dropped since it came. */
int kin__scope_put(kin__scope *scope, kin_delta_type type,
                   const kin_object *object);

/* Reports an operation of the scope that failed and is retried after
 * KIN__MEMORY_RETRY_MS. `key` names the object, "" if none. */
void kin__scope_failed(kin__scope *scope, int code, const char *what,
                       const char *key);

#endif /* KIN_INFORMER_SCOPE_H */
