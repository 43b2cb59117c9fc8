/* SPDX-License-Identifier: MIT */
#include "reflector/stage.h"

#include <assert.h>

#include <kin/error.h>

void kin__stage_init(kin__stage *stage, const kin_allocator *allocator) {
  stage->stale = 0;
  kin__chunkq_init(&stage->objects, allocator, sizeof(kin_object *));
}

int kin__stage_push(kin__stage *stage, kin_object *take_object) {
  kin_object **place = kin__chunkq_push(&stage->objects);
  if (place == NULL) {
    kin_object_unref(take_object);
    return KIN_ENOMEM;
  }
  *place = take_object;
  return 0;
}

kin_object *kin__stage_peek(const kin__stage *stage) {
  assert(stage->stale == 0);
  kin_object **place = kin__chunkq_peek(&stage->objects);
  return place != NULL ? *place : NULL;
}

static void pop(kin__stage *stage) {
  kin_object **place = kin__chunkq_peek(&stage->objects);
  kin_object_unref(*place);
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
