/* SPDX-License-Identifier: MIT */
#include "reflector/stage.h"

#include <assert.h>

#include <kin/error.h>

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator) {
  stage->stale = 0;
  kin__chunkq_init(&stage->objects, allocator, sizeof(uintptr_t));
}

#define TYPE_BITS ((uintptr_t)3)
static_assert(KIN__DECODED_DELETED - KIN__DECODED_LISTED <= TYPE_BITS,
              "a type must fit into the bits that alignment leaves");

static kin_object *object_in(uintptr_t entry) {
  return (kin_object *)(entry & ~TYPE_BITS);
}

int kin__stage_push(kin__stage *stage, kin__decoded_type type,
                    kin_object *take_object) {
  uintptr_t *place = kin__chunkq_push(&stage->objects);
  if (place == NULL) {
    kin_object_unref(take_object);
    return KIN_ENOMEM;
  }
  assert(((uintptr_t)take_object & TYPE_BITS) == 0);
  *place = (uintptr_t)take_object | (uintptr_t)(type - KIN__DECODED_LISTED);
  return 0;
}

kin_object *kin__stage_peek(const kin__stage *stage) {
  assert(stage->stale == 0);
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return place != NULL ? object_in(*place) : NULL;
}

kin__decoded_type kin__stage_type(const kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  return (kin__decoded_type)((*place & TYPE_BITS) + KIN__DECODED_LISTED);
}

static void pop(kin__stage *stage) {
  const uintptr_t *place = kin__chunkq_peek(&stage->objects);
  kin_object_unref(object_in(*place));
  kin__chunkq_pop(&stage->objects);
  if (stage->objects.count == 0) {
    kin__chunkq_finish(&stage->objects);
  }
}

void kin__stage_pop(kin__stage *stage) {
  assert(stage->stale == 0);
  pop(stage);
}

void kin__stage_discard(kin__stage *stage) {
  stage->stale = stage->objects.count;
}

bool kin__stage_free_step(kin__stage *stage, size_t count) {
  for (; count > 0 && stage->stale > 0; count--) {
    pop(stage);
    stage->stale--;
  }
  return stage->stale > 0;
}

size_t kin__stage_count(const kin__stage *stage) {
  return stage->objects.count - stage->stale;
}
