/* SPDX-License-Identifier: MIT */
#ifndef APISIM_WRITE_H
#define APISIM_WRITE_H

/* create, update, patch, delete and deletecollection. */

#include <yyjson.h>

#include "call.h"

struct sim;

void write_answer(const api_call *call);
/* Makes sure a namespace object exists, so that objects can be created in it.
 */
void write_ensure_namespace(struct sim *s, const char *name);

/* Creates the object and answers. */
void write_create(const api_call *call, yyjson_mut_doc *doc);

/* Makes doc the next version of the object and answers; old is the version of
 * old_doc, key is the object's. */
typedef void write_change_cb(const api_call *call, yyjson_mut_doc *doc,
                             yyjson_mut_doc *old_doc, rev *old,
                             const char *key);
/* An update: the request's manager owns what it changes. */
write_change_cb write_change;
/* An apply, which has settled the owners. */
write_change_cb write_applied;
/* Calls change for the object that the request names, or answers that there is
 * none. Frees doc. */
void write_change_named(const api_call *call, yyjson_mut_doc *doc,
                        write_change_cb *change);

/* In patch.c: */

void patch_answer(const api_call *call);

/* In delete.c: */

/* Answers delete and deletecollection. */
void delete_answer(const api_call *call);
/* Deletes r, the newest version of key, and what goes with it: the objects of a
 * namespace, the resources of a definition. Returns the deletion, borrowed. */
rev *delete_now(struct sim *s, resource *res, const char *key, const rev *r);

#endif
