/* SPDX-License-Identifier: MIT */
#ifndef APISIM_LIST_H
#define APISIM_LIST_H

/* Reading: one object, or a list of them. */

#include "call.h"

/* Answers GET of one object. */
void list_get_one(const api_call *call);
/* Answers GET of a collection. */
void list_answer(const api_call *call);
/* Answers with this object, whole or as metadata only. */
void list_send_one(const api_call *call, int status, const rev *r);
/* Answers with a list of these items, which it takes. */
void list_send(const api_call *call, snapshot items, uint64_t version);

#endif
