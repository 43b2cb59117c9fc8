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
#include "base/timers.h"

struct kin__scope;

/* At a time, those that are being removed included. */
#define KIN__SCOPES_MAX 1024u

/* The scopes of an informer: they come with it or are added later, and may be
 * removed. One that is removed stays in its place until all its objects have
 * been deleted, so that no slot of the store and no delta in the queue names a
 * place that is another's by then. A namespace that is added again meanwhile
 * has a scope of its own, which waits for that.
 *
 * The informer has synced when each scope has its first list in the store and
 * none is being removed; that is looked at when a first list has been applied,
 * when a scope is gone, and at the start. */
typedef struct kin__scopes {
  struct kin__scope **places; /* NULL: free */
  uint32_t limit;             /* from here on there is nobody */
  uint32_t capacity;
  uint32_t count;    /* of scopes */
  uint32_t synced;   /* of these; those that are being removed do not count */
  uint32_t emptying; /* the place whose stage is freed next, once closed */
  bool is_all;       /* one for all namespaces, and never another */
  kin__link emptied; /* removed ones whose objects are gone */
  kin__task task;    /* frees them: no frame that knows them is on the stack */
  kin__timer sync_timer;     /* memory was out when it would have synced */
  kin_informer_metrics past; /* counted by scopes that are gone */
} kin__scopes;

/* Makes those of the settings. Errors: KIN_ENOMEM; to be freed then, too. */
int kin__scopes_open(kin_informer *informer);
void kin__scopes_start(kin_informer *informer);
/* Ends all work at once. */
void kin__scopes_close(kin_informer *informer);
/* After a close: frees one staged object. Returns whether any may be left. */
bool kin__scopes_free_step(kin_informer *informer);
void kin__scopes_free(kin_informer *informer);

/* Walks all that are there: begin with *at = 0; NULL at the end. */
struct kin__scope *kin__scopes_next(const kin__scopes *scopes, uint32_t *at);
/* One that has not been removed, or NULL. `namespace_` NULL is "". */
struct kin__scope *kin__scopes_find(const kin__scopes *scopes,
                                    const char *namespace_);
/* The only one that has not been removed; NULL if there are none or more. */
struct kin__scope *kin__scopes_only(const kin__scopes *scopes);

/* The objects of a removed scope are gone. */
void kin__scopes_emptied(struct kin__scope *scope);

#endif /* KIN_INFORMER_SCOPES_H */
