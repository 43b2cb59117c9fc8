/* SPDX-License-Identifier: MIT */
#ifndef APISIM_STRATEGIC_H
#define APISIM_STRATEGIC_H

/* Strategic merge patches: merge patches that merge lists by the keys of their
 * elements, with the directives $patch, $retainKeys, $setElementOrder/NAME and
 * $deleteFromPrimitiveList/NAME. */

#include "buf.h"
#include "schema.h"

/* Applies the patch, an object, to the object of doc. False and a message if a directive
 * is wrong. */
bool strategic_apply(yyjson_mut_doc *doc, schema s, yyjson_mut_val *object,
                     yyjson_mut_val *patch, buf *error);

#endif
