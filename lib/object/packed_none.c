/* SPDX-License-Identifier: MIT */

/* In place of packed.c and what it needs in a build without zstd: there is no
 * packed object, and nothing calls the functions that are missing here. */
#include <kin/error.h>

#include "object/packed.h"

bool kin__pack_is_supported(void) {
  return false;
}

kin__library kin__pack_library(void) {
  return (kin__library){.name = "zstd", .fits = true};
}

bool kin__object_is_packed(const kin_object *object) {
  (void)object;
  return false;
}

size_t kin__object_text_length(const kin_object *object) {
  return kin__object_body(object).length;
}

int kin__packed_text(const kin_object *object, kin_str *text) {
  *text = kin__object_body(object);
  return 0;
}

int kin__packed_open(const kin_object *object, kin_str *text, void **block) {
  *block = NULL;
  *text = kin__object_body(object);
  return 0;
}

void kin__packed_free(const kin_object *object, void *block) {
  (void)object;
  (void)block;
}

bool kin__packed_label(const kin_object *object, kin_str name, kin_str *value) {
  (void)object;
  (void)name;
  (void)value;
  return false;
}

kin_str kin__packed_frame(const kin_object *object) {
  return kin__object_body(object);
}

void kin__packed_copied(kin_object *copy) {
  (void)copy;
}

void kin__packed_hold(const kin_object *object) {
  (void)object;
}

void kin__packed_let_go(const kin_object *object) {
  (void)object;
}

void kin__packed_release(const kin_object *object) {
  (void)object;
}
