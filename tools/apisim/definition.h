/* SPDX-License-Identifier: MIT */
#ifndef APISIM_DEFINITION_H
#define APISIM_DEFINITION_H

/* CustomResourceDefinitions: what storing or deleting one does to the registry.
 */

#include "registry.h"
#include "store.h"

struct sim;

/* r of res was stored. Serves what it declares, if it is a definition. */
void definition_changed(struct sim *s, const resource *res, const rev *r);
/* r of res was deleted: its objects go, its watches end, and its paths are
 * unknown from now on. */
void definition_deleted(struct sim *s, const resource *res, const rev *r);
/* The store is in another state: serves what its definitions declare. */
void definitions_restored(struct sim *s);
/* Deletes every object of a resource in a namespace (NULL = everywhere). */
void delete_all_objects(resource *res, const char *ns);

#endif
