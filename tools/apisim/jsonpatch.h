/* SPDX-License-Identifier: MIT */
#ifndef APISIM_JSONPATCH_H
#define APISIM_JSONPATCH_H

/* JSON Patch, RFC 6902. */

#include <stdbool.h>
#include <yyjson.h>

#include "buf.h"

/* Applies the operations of patch, an array, to doc. False and a message if
 * one cannot be applied, if its copies are over 3 MiB together, or if something
 * would be nested deeper than OBJECT_DEPTH_MAX; doc is then half changed. */
bool jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val *patch, buf *error);

#endif
