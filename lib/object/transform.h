/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_TRANSFORM_H
#define KIN_OBJECT_TRANSFORM_H

#include <stddef.h>

#include <kin/object_builder.h>

#include "base/memory.h"

/* A transform with the builder that is lent to it, time and again. All zero:
 * none. */
typedef struct kin__transform {
  kin_transform_cb cb; /* NULL: none */
  void *data;
  kin_object_builder *builder; /* NULL iff cb is */
} kin__transform;

/* `cb` may be NULL. What it makes is made in `memory`. Errors: KIN_ENOMEM. */
int kin__transform_init(kin__transform *transform, kin__memory *memory,
                        kin_transform_cb cb, void *data);
void kin__transform_finish(kin__transform *transform);

/* What is to be kept of an object, as a new reference; `object` itself if there
 * is no transform or it changes nothing. For `headroom` see kin__object_parts.
 * Errors: see kin_object_transform, KIN_EALREADY (called by the transform). */
int kin__transform_run(const kin__transform *transform,
                       const kin_object *object, size_t headroom,
                       kin_object **out);

#endif /* KIN_OBJECT_TRANSFORM_H */
