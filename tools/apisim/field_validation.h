/* SPDX-License-Identifier: MIT */
#ifndef APISIM_FIELD_VALIDATION_H
#define APISIM_FIELD_VALIDATION_H

/* fieldValidation=Strict, which kubectl asks for: fields that the type of an
 * object does not have, and fields that are there twice, are refused. */

#include "call.h"
#include "schema.h"

/* Whether the parameter is Strict. */
bool field_validation_is_strict(const api_call *call);
/* Appends what is wrong with an object, or with a merge patch or a strategic
 * merge patch of one: unknown field "a.b", duplicate field "c". Nothing if all
 * is well. */
void field_validation_find(schema s, yyjson_mut_val *value, buf *problems);
/* Whether the body of a create or an update passes; else the request is
 * answered. */
bool field_validation_object(const api_call *call, yyjson_mut_doc *doc);
/* The same for a patch of either kind of merge. */
bool field_validation_patch(const api_call *call, yyjson_mut_doc *patch);
/* The same for the configuration of an apply, whatever the parameter says: a
 * field without a type has no owner. */
bool field_validation_apply(const api_call *call, yyjson_mut_doc *config);

#endif
