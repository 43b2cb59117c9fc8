/* SPDX-License-Identifier: MIT */
#ifndef APISIM_TOKEN_H
#define APISIM_TOKEN_H

/* Continue tokens: opaque to clients, in fact base64url of
 * {"v":"meta.k8s.io/v1","rv":VERSION,"start":"/ns/name\u0000"}, where the NUL
 * means "just after". A rv of -1 asks for the rest at the newest version. */

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

typedef struct token {
  int64_t version;
  char *start; // a key to start from, in the form table_list() wants
} token;

/* Appends a token that goes on after last_key, a key below prefix. rooted adds
 * the slash that tokens of a consistent list begin with. */
void token_encode(buf *out, int64_t version, const char *prefix,
                  const char *last_key, bool rooted);
/* Decodes. False and the real server's message in error if it is not valid. */
bool token_decode(const char *text, const char *prefix, token *out, buf *error);
void token_free(token *t);
/* Appends a token with the same start as t and version -1. */
void token_encode_inconsistent(buf *out, const char *prefix, const token *t);

#endif
