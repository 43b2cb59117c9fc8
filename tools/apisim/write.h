/* SPDX-License-Identifier: MIT */
#ifndef APISIM_WRITE_H
#define APISIM_WRITE_H

/* create, update, patch, delete and deletecollection. */

#include "call.h"

struct sim;

void write_answer(const api_call *call);
/* Makes sure a namespace object exists, so that objects can be created in it.
 */
void write_ensure_namespace(struct sim *s, const char *name);

/* In delete.c: */

/* Answers delete and deletecollection. */
void delete_answer(const api_call *call);

#endif
