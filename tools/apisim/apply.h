/* SPDX-License-Identifier: MIT */
#ifndef APISIM_APPLY_H
#define APISIM_APPLY_H

/* Server-side apply. */

#include <yyjson.h>

#include "call.h"

/* Answers that the configuration does not fit the type. */
void apply_refuse(const api_call *call, yyjson_mut_val *config,
                  const char *problem);
/* The object that the configuration makes of an object (NULL = there is none
 * yet), with its managedFields; NULL if the request is answered. */
yyjson_mut_doc *apply_object(const api_call *call, yyjson_mut_doc *config,
                             yyjson_mut_doc *old_doc);

#endif
