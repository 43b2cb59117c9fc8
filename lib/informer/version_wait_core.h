/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_VERSION_WAIT_CORE_H
#define KIN_INFORMER_VERSION_WAIT_CORE_H

#include "informer/scope.h"
#include "informer/version_wait.h"

/* Shared by the files of the waits: version_wait.c has a wait's way to its end,
 * version_wait_tell.c the callbacks. */

#define KIN__WAIT_PENDING 1

/* A pending wait (`code` KIN__WAIT_PENDING) is in one of the scope's lists. Any
 * other wait is in the informer's `ended`, and its `scope` may be gone. */
typedef struct kin__version_wait {
  kin__link node;
  kin__link odd_node; /* in the scope's `odd`, or nowhere */
  kin__timer place;   /* in the scope's by_version, or nowhere */
  kin__timer timeout;
  kin_informer *informer;
  kin__scope *scope;
  kin_version_cb cb;
  void *data;
  uint64_t began_ms;
  uint64_t settled_at; /* settling: informer->processed_keys */
  int code;
  bool is_question; /* a kin_informer_verify; `version` is its answer */
  char version[KIN__VERSION_SIZE];
} kin__version_wait;

/* NULL if the list is empty. */
static inline kin__version_wait *
kin__version_wait_first(const kin__link *list) {
  return kin__link_is_empty(list)
             ? NULL
             : KIN__CONTAINER_OF(list->next, kin__version_wait, node);
}

/* Makes the informer's waits, unless they are there. Errors: KIN_ENOMEM. */
int kin__version_waits_have(kin_informer *informer);

#endif /* KIN_INFORMER_VERSION_WAIT_CORE_H */
