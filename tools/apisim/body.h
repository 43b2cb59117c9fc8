/* SPDX-License-Identifier: MIT */
#ifndef APISIM_BODY_H
#define APISIM_BODY_H

/* Request bodies as JSON trees. Every function that fails has answered the
 * request. */

#include <stdbool.h>
#include <yyjson.h>

#include "call.h"

/* The object of a create or update, or NULL. Free with yyjson_mut_doc_free().
 */
yyjson_mut_doc *body_read_object(const api_call *call);
/* The document of a patch, or NULL. */
yyjson_mut_doc *body_read_patch(const api_call *call);
/* Whether kind and apiVersion, where given, are the resource's. */
bool body_check_kind(const api_call *call, yyjson_mut_doc *doc);

#endif
