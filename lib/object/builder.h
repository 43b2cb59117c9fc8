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
  const kin_object *from; /* a reference as the program's; NULL: no object */
  kin__edit edit;
  kin__buf out; /* scratch */
  int error;    /* the first error */
  uint32_t edits;
  bool is_lent;
  bool has_no_labels; /* labels stay in the text, and are not resident */
};

/* A builder that makes one object after the other, for transforms. */

/* Makes a builder and takes a reference to `memory`, in which the builder makes
 * objects. NULL if out of memory. Free it with kin__builder_free. */
kin_object_builder *kin__builder_new(kin__memory *memory);
/* NULL is allowed. The builder must not be lent. */
void kin__builder_free(kin_object_builder *builder);

/* Lends the builder to a callback. The builder begins with the content of
 * `from`, which is held until kin__builder_take. Key, uid and version are kept,
 * and kin_object_builder_finish and _free are refused. Errors:
 * KIN_EALREADY (already lent), KIN_ENOMEM. */
int kin__builder_lend(kin_object_builder *builder, const kin_object *from);

/* Takes the builder back. If `err` is not 0, returns `err`. Otherwise makes the
 * object: *out gets a new reference, to `from` itself if nothing has changed.
 * For `headroom` see kin__object_parts. Errors: see
 * kin_object_builder_finish. */
int kin__builder_take(kin_object_builder *builder, int err, size_t headroom,
                      kin_object **out);

/* Both are for builder.c. kin__builder_set_key writes the key, uid and version
 * of `from`, which has no text of its own, into metadata. Errors: KIN_ENOMEM.
 * kin__builder_make makes the object as it is now. Errors as
 * kin_object_builder_finish. */
int kin__builder_set_key(kin_object_builder *builder);
int kin__builder_make(kin_object_builder *builder, size_t headroom,
                      kin_object **out);

#endif /* KIN_OBJECT_BUILDER_INTERNAL_H */
