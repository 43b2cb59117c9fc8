/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_NOTED_FAILURE_H
#define KIN_FEED_NOTED_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "listwatch/failure.h"

/* A failure that waits to be told. Its texts are in a block of their own, since
 * nearly always no failure waits. Without memory for them the failure is noted
 * all the same; the message then comes from its code. */
typedef struct kin__noted_failure {
  int code; /* 0: none */
  kin_error_class error_class;
  int status;
  char *texts; /* the reason, its NUL, the message, its NUL; NULL: no memory */
} kin__noted_failure;

/* Replaces the last one. `failure->code` is not 0. */
void kin__noted_failure_set(kin__noted_failure *noted,
                            const kin_allocator *allocator,
                            const kin__failure *failure);

/* Moves the failure out; there must be one. Only code, class, status and texts
 * are set. `what` names the request, for a message without texts. */
void kin__noted_failure_take(kin__noted_failure *noted,
                             const kin_allocator *allocator, const char *what,
                             kin__failure *failure);

/* Forgets the failure, if there is one. */
void kin__noted_failure_drop(kin__noted_failure *noted,
                             const kin_allocator *allocator);

/* Failures that wait to be told as one: the first, and the number of all. */
typedef struct kin__noted_failures {
  kin__noted_failure first;
  uint32_t count;
} kin__noted_failures;

typedef struct kin__joint_failure {
  kin__failure first;
  char message[sizeof(((kin__failure *)0)->message) + 32];
} kin__joint_failure;

/* Returns whether the failure is the first. */
bool kin__noted_failures_add(kin__noted_failures *noted,
                             const kin_allocator *allocator,
                             const kin__failure *failure);
/* Moves them out; there must be one. `separator` stands before " and 3 more";
 * `what` as above. */
void kin__noted_failures_take(kin__noted_failures *noted,
                              const kin_allocator *allocator, const char *what,
                              const char *separator,
                              kin__joint_failure *failure);
void kin__noted_failures_drop(kin__noted_failures *noted,
                              const kin_allocator *allocator);

#endif /* KIN_FEED_NOTED_FAILURE_H */
