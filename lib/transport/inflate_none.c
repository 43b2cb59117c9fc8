/* SPDX-License-Identifier: MIT */
/* Replaces inflate.c if the library is built without zlib. */
#include "transport/inflate.h"

#include <kin/error.h>

#include "base/str.h"

bool kin__inflate_is_supported(void) {
  return false;
}

kin__library kin__inflate_library(void) {
  return (kin__library){
      .name = "zlib", .built_for = "none", .found = "none", .fits = true};
}

int kin__inflate_new(kin__inflate **out, const kin_allocator *allocator) {
  (void)allocator;
  *out = NULL;
  return KIN_ENOTSUP;
}

void kin__inflate_free(kin__inflate *inflate) {
  (void)inflate;
}

/* No inflater exists, so the functions below are never called. */

int kin__inflate_push(kin__inflate *inflate, const char *bytes, size_t length) {
  (void)inflate;
  (void)bytes;
  (void)length;
  return KIN_ENOTSUP;
}

bool kin__inflate_has_work(const kin__inflate *inflate) {
  (void)inflate;
  return false;
}

int kin__inflate_step(kin__inflate *inflate, kin_str *out) {
  (void)inflate;
  *out = kin__str(NULL, 0);
  return KIN_ENOTSUP;
}

int kin__inflate_end(kin__inflate *inflate) {
  (void)inflate;
  return 0;
}

const char *kin__inflate_reason(const kin__inflate *inflate) {
  (void)inflate;
  return "built without zlib";
}
