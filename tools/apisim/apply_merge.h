/* SPDX-License-Identifier: MIT */
#ifndef APISIM_APPLY_MERGE_H
#define APISIM_APPLY_MERGE_H

/* What server-side apply does to an object: values of the applied configuration
 * go into it, and values that the manager no longer applies leave it. */

#include "fields.h"
#include "schema.h"

/* Merges config into live, an object of doc. Returns the merged object. */
yyjson_mut_val *apply_merge(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                            yyjson_mut_val *config);
/* Takes out of the object what is in last, unless the same or something below
 * it is in owned. */
void apply_prune(schema s, yyjson_mut_val *object, fields *last, fields *owned);

#endif
