/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_SCOPES_H
#define KIN_INFORMER_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/informer.h>
#include <kin/metrics.h>

#include "base/link.h"
#include "base/sched.h"
#include "feed/settings.h"

struct kin__scope;

/* At a time, including scopes that are being removed. */
#define KIN__SCOPES_MAX KIN__NAMESPACES_MAX

/* The scopes of an informer. Scopes can be added and removed later. A removed
 * scope keeps its place until all its objects are deleted. So no slot of the
 * store and no delta in the queue names another scope's place. A namespace that
 * is added again meanwhile gets a new scope, which waits for these deletes.
 *
 * The informer has synced when each scope has its first list in the store and
 * no scope is being removed. This is checked after each first list, after each
 * removed scope, and at the start. */
typedef struct kin__scopes {
  struct kin__scope **places; /* NULL: free */
  uint32_t limit;             /* places from here on are NULL */
  uint32_t capacity;
  uint32_t count;    /* of scopes */
  uint32_t synced;   /* scopes with a first list, without removed scopes */
  uint32_t emptying; /* at close: place whose stage is being freed */
  bool is_all;       /* one scope for all namespaces; no other is allowed */
  kin__link emptied; /* removed scopes without objects */
  kin__task task;    /* frees them, when no frame uses them; checks the sync
                      * point again */
  kin_informer_metrics *past; /* counters of scopes that are gone; NULL: no
                               * scope is */
} kin__scopes;

/* Makes the scopes of the settings. Errors: KIN_ENOMEM; kin__scopes_finish is
 * still needed. */
int kin__scopes_open(kin_informer *informer);
void kin__scopes_start(kin_informer *informer);
/* Ends all work at once. */
void kin__scopes_close(kin_informer *informer);
/* After a close: frees one staged object. Returns whether any may be left. */
bool kin__scopes_free_step(kin_informer *informer);
/* Frees scopes for one slice. Returns whether there are more. */
bool kin__scopes_finish_step(kin_informer *informer);
void kin__scopes_finish(kin_informer *informer);

/* Walks all scopes: begin with *at = 0; NULL at the end. */
struct kin__scope *kin__scopes_next(const kin__scopes *scopes, uint32_t *at);
#define KIN__FOR_EACH_SCOPE(scope, scopes)                                     \
  for (uint32_t scope##_at = 0;                                                \
       (scope = kin__scopes_next(scopes, &scope##_at)) != NULL;)
/* The bytes of lists that are not complete (max_bytes.h). O(namespaces). */
uint64_t kin__scopes_listed_bytes(const kin__scopes *scopes);
/* The scope of a namespace, unless removed, or NULL. `namespace_` NULL is
 * "". */
struct kin__scope *kin__scopes_find(const kin__scopes *scopes,
                                    const char *namespace_);
/* The only scope that is not removed; NULL if there are none or several. */
struct kin__scope *kin__scopes_only(const kin__scopes *scopes);

/* The objects of a removed scope are gone. */
void kin__scopes_emptied(struct kin__scope *scope);

/* Each scope lists again, with its position. */
void kin__scopes_relist(kin_informer *informer);

#endif /* KIN_INFORMER_SCOPES_H */
