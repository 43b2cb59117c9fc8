/* SPDX-License-Identifier: MIT */
#include "object/transform.h"

#include <kin/error.h>

#include "object/builder.h"
#include "object/object.h"

int kin__transform_init(kin__transform *transform, kin__memory *memory,
                        kin_transform_cb cb, void *data) {
  *transform = (kin__transform){.cb = cb, .data = data};
  if (cb == NULL) {
    return 0;
  }
  transform->builder = kin__builder_new(memory);
  return transform->builder != NULL ? 0 : KIN_ENOMEM;
}

void kin__transform_drop_labels(kin__transform *transform) {
  transform->builder->has_no_labels = true;
}

void kin__transform_finish(kin__transform *transform) {
  kin__builder_free(transform->builder);
  *transform = (kin__transform){0};
}

int kin__transform_run(const kin__transform *transform,
                       const kin_object *object, size_t headroom,
                       kin_object **out) {
  *out = NULL;
  /* An object that is known by key only has nothing to transform. */
  if (transform->cb == NULL || kin_object_is_key_only(object)) {
    *out = kin__object_ref(object);
    return 0;
  }
  kin_object_builder *builder = transform->builder;
  int err = kin__builder_lend(builder, object);
  if (err != 0) {
    return err;
  }
  err = transform->cb(object, builder, transform->data);
  return kin__builder_take(builder, err > 0 ? KIN_EINVAL : err, headroom, out);
}

int kin_object_transform(const kin_object *object, kin_transform_cb transform,
                         void *data, kin_object **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (object == NULL || transform == NULL) {
    return KIN_EINVAL;
  }
  kin__memory *memory = kin__memory_new(kin__object_allocator(object));
  kin__transform t = {0};
  int err = memory != NULL ? kin__transform_init(&t, memory, transform, data)
                           : KIN_ENOMEM;
  if (err == 0) {
    err = kin__transform_run(&t, object, 0, out);
    kin__object_hand_out(*out);
  }
  kin__transform_finish(&t);
  kin__memory_unref(memory);
  return err;
}
