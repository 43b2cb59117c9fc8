/* SPDX-License-Identifier: MIT */
#ifndef APISIM_JSONPATCH_H
#define APISIM_JSONPATCH_H

/* JSON Patch, RFC 6902, and JSON Merge Patch, RFC 7396. */

#include <stdbool.h>
#include <yyjson.h>

#include "buf.h"

/* Applies the operations of patch, an array, to doc. False and a message if
 * one cannot be applied, if its copies are over 3 MiB together, or if something
 * would be nested deeper than OBJECT_DEPTH_MAX; doc is then half changed. */
bool jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val *patch, buf *error);

/* Returns what patch makes of old, which may be NULL, as a value of doc. Members
 * stay in their order. n members cost O(n log n). */
yyjson_mut_val *merge_patch_apply(yyjson_mut_doc *doc, yyjson_mut_val *old,
                                  yyjson_mut_val *patch);

#endif
