/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TRANSFORM_H
#define KIN_OBJECT_TRANSFORM_H

#include <stddef.h>

#include <kin/object_builder.h>

#include "base/memory.h"

/* A transform with the builder that is lent to each call. All zero: no
 * transform. */
typedef struct kin__transform {
  kin_transform_cb cb; /* NULL: no transform */
  void *data;
  kin_object_builder *builder; /* NULL iff cb is NULL */
} kin__transform;

/* `cb` may be NULL. The transform makes objects in `memory`. Errors:
 * KIN_ENOMEM. */
int kin__transform_init(kin__transform *transform, kin__memory *memory,
                        kin_transform_cb cb, void *data);
/* There is a transform. Its objects keep labels in the text only, as those of a
 * projection without labels. */
void kin__transform_drop_labels(kin__transform *transform);
void kin__transform_finish(kin__transform *transform);

/* *out gets a new reference to the object to keep: `object` itself if there is
 * no transform or it changes nothing. For `headroom` see kin__object_parts.
 * Errors: see kin_object_transform, and KIN_EALREADY (called by the
 * transform). */
int kin__transform_run(const kin__transform *transform,
                       const kin_object *object, size_t headroom,
                       kin_object **out);

#endif /* KIN_OBJECT_TRANSFORM_H */
