/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BUILDER_INTERNAL_H
#define KIN_OBJECT_BUILDER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/object_builder.h>

#include "base/buf.h"
#include "base/memory.h"
#include "object/edit.h"

struct kin_object_builder {
  kin__memory *memory;
  const kin_object *from; /* one reference unless is_lent; NULL: nothing */
  kin__edit edit;
  kin__buf out; /* scratch */
  int error;    /* the first one */
  uint32_t edits;
  bool is_lent;
};

/* A builder that makes one object after the other, for transforms. */

/* Takes a reference to `memory`, which the objects are made in. NULL if out of
 * memory. Ends with kin__builder_free. */
kin_object_builder *kin__builder_new(kin__memory *memory);
/* NULL is allowed. Not while it is lent. */
void kin__builder_free(kin_object_builder *builder);

/* Lends the builder to a callback, with the content of `from`, which is
 * borrowed until kin__builder_take: key, uid and version are kept, and
 * kin_object_builder_finish and _free are refused. Errors: KIN_EALREADY (lent),
 * KIN_ENOMEM. */
int kin__builder_lend(kin_object_builder *builder, const kin_object *from);

/* Takes the builder back and makes the object, unless `err` is not 0, which is
 * then returned: a new reference in *out, to `from` itself if nothing has
 * changed. For `headroom` see kin__object_parts. Errors: see
 * kin_object_builder_finish. */
int kin__builder_take(kin_object_builder *builder, int err, size_t headroom,
                      kin_object **out);

/* For builder.c. The first: metadata gets the key, uid and version of `from`,
 * which has no text of its own. Errors: KIN_ENOMEM. The second: the object as
 * of now; errors as kin_object_builder_finish. */
int kin__builder_set_key(kin_object_builder *builder);
int kin__builder_make(kin_object_builder *builder, size_t headroom,
                      kin_object **out);

#endif /* KIN_OBJECT_BUILDER_INTERNAL_H */
