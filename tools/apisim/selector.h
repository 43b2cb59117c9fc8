/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SELECTOR_H
#define APISIM_SELECTOR_H

/* Label and field selectors.
 *
 * Labels: k, !k, k=v, k==v, k!=v, k in (a,b), k notin (a,b), k>1, k<1, joined
 * by commas.
 * Fields: k=v, k==v, k!=v, joined by commas; metadata.name and
 * metadata.namespace for every resource, and what the resource adds. */

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "store.h"

typedef enum selector_op {
  OP_EXISTS,
  OP_NOT_EXISTS,
  OP_IN,      // = is "in" of one value
  OP_NOT_IN,  // true for objects without the key as well
  OP_GREATER, // of whole numbers
  OP_LESS,
} selector_op;

typedef struct requirement {
  selector_op op;
  char *key;
  char **values;
  size_t value_count;
} requirement;

typedef struct selector {
  requirement *items; // all must hold; none = everything
  size_t count;
} selector;

void selector_free(selector *s);
/* Parse. On failure error gets the message the real server would give and out
 * is empty. */
bool selector_parse_labels(const char *text, selector *out, buf *error);
/* pod_fields: spec.nodeName and status.phase are fields too. */
bool selector_parse_fields(const char *text, bool pod_fields, selector *out,
                           buf *error);
/* Adds the requirement that a field has this value. */
void selector_require(selector *s, const char *key, const char *value);
bool selector_match_labels(const selector *s, const rev *r);
bool selector_match_fields(const selector *s, const rev *r);

#endif
