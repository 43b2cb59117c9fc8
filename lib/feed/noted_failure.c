/* SPDX-License-Identifier: MIT */
#include "feed/noted_failure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void kin__noted_failure_drop(kin__noted_failure *noted,
                             const kin_allocator *allocator) {
  kin__free(allocator, noted->texts);
  *noted = (kin__noted_failure){0};
}

void kin__noted_failure_set(kin__noted_failure *noted,
                            const kin_allocator *allocator,
                            const kin__failure *failure) {
  assert(failure->code != 0);
  kin__noted_failure_drop(noted, allocator);
  noted->code = failure->code;
  noted->error_class = failure->error_class;
  noted->status = failure->status;
  size_t reason_size = strlen(failure->reason) + 1;
  size_t message_size = strlen(failure->message) + 1;
  noted->texts = kin__malloc(allocator, reason_size + message_size);
  if (noted->texts != NULL) {
    memcpy(noted->texts, failure->reason, reason_size);
    memcpy(noted->texts + reason_size, failure->message, message_size);
  }
}

void kin__noted_failure_take(kin__noted_failure *noted,
                             const kin_allocator *allocator, const char *what,
                             kin__failure *failure) {
  assert(noted->code != 0);
  kin__failure_from_code(failure, noted->code, what, "");
  failure->error_class = noted->error_class;
  failure->status = noted->status;
  const char *reason = noted->texts;
  if (reason != NULL) {
    const char *message = reason + strlen(reason) + 1;
    memcpy(failure->reason, reason, strlen(reason) + 1);
    memcpy(failure->message, message, strlen(message) + 1);
  }
  kin__noted_failure_drop(noted, allocator);
}

bool kin__noted_failures_add(kin__noted_failures *noted,
                             const kin_allocator *allocator,
                             const kin__failure *failure) {
  bool is_first = noted->count == 0;
  if (is_first) {
    kin__noted_failure_set(&noted->first, allocator, failure);
  }
  noted->count += noted->count < UINT32_MAX;
  return is_first;
}

void kin__noted_failures_take(kin__noted_failures *noted,
                              const kin_allocator *allocator, const char *what,
                              const char *separator,
                              kin__joint_failure *failure) {
  kin__noted_failure_take(&noted->first, allocator, what, &failure->first);
  size_t size = sizeof failure->message;
  int length = snprintf(failure->message, size, "%s", failure->first.message);
  if (noted->count > 1) {
    snprintf(failure->message + length, size - (size_t)length,
             "%s and %" PRIu32 " more", separator, noted->count - 1);
  }
  noted->count = 0;
}

void kin__noted_failures_drop(kin__noted_failures *noted,
                              const kin_allocator *allocator) {
  kin__noted_failure_drop(&noted->first, allocator);
  noted->count = 0;
}
