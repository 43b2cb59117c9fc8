/* SPDX-License-Identifier: MIT */

/* In place of compact.c in a build without zstd: the option is refused when the
 * settings are checked (feed/settings.c). */
#include "informer/compact.h"

int kin__compact_open(kin_informer *informer) {
  (void)informer;
  return 0;
}

void kin__compact_pack(kin_informer *informer, kin_object **object,
                       bool is_listed) {
  (void)informer;
  (void)object;
  (void)is_listed;
}

void kin__compact_staged(struct kin__scope *scope, kin_object *object) {
  (void)scope;
  (void)object;
}

void kin__compact_listed(kin_informer *informer) {
  (void)informer;
}

void kin__compact_forget(struct kin__scope *scope) {
  (void)scope;
}

kin_object *kin__compact_late(kin_informer *informer, kin_object *object) {
  (void)informer;
  (void)object;
  return NULL;
}

void kin__compact_passed(kin_informer *informer) {
  (void)informer;
}

kin__memory *kin__compact_raw_memory(const kin_informer *informer) {
  return informer->env->memory;
}

void kin__compact_called(kin_informer *informer) {
  (void)informer;
}

void kin__compact_close(kin_informer *informer) {
  (void)informer;
}

bool kin__compact_free_step(kin_informer *informer) {
  (void)informer;
  return false;
}

bool kin__compact_is_working(const kin_informer *informer) {
  (void)informer;
  return false;
}

void kin__compact_free(kin_informer *informer) {
  (void)informer;
}

void kin__compact_read_metrics(const kin_informer *informer,
                               kin_informer_metrics *metrics) {
  (void)informer;
  (void)metrics;
}
