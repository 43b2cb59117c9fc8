/* SPDX-License-Identifier: MIT */
#ifndef APISIM_WRITE_OPTIONS_H
#define APISIM_WRITE_OPTIONS_H

/* The options of writes: those in the query, and the DeleteOptions that a
 * deletion may have as its body. */

#include <yyjson.h>

#include "call.h"

/* Whether the options of a create, an update or a patch are valid; else the
 * request is answered. apply: the patch is an apply. */
bool write_options_check(const api_call *call, bool apply);
/* Whether a request with valid options is a dry run. Not for deletions. */
bool write_options_dry_run(const api_call *call);

typedef struct delete_options {
  bool dry_run;
  const char *uid;     // precondition; NULL = none
  const char *version; // precondition; NULL = none
  yyjson_doc *body;    // holds the texts; NULL = no body
} delete_options;

/* Reads the body if there is one, else the query, as a real server does. False
 * if the options are not valid and the request is answered; else free with
 * delete_options_free(). */
bool delete_options_read(const api_call *call, delete_options *out);
void delete_options_free(delete_options *opts);

#endif
