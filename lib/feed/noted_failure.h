/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_NOTED_FAILURE_H
#define KIN_FEED_NOTED_FAILURE_H

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

#endif /* KIN_FEED_NOTED_FAILURE_H */
