/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_MEMBER_H
#define KIN_CLIENT_MEMBER_H

#include <stdbool.h>

#include "base/link.h"

/* What is open on a client: informers, reflectors, controllers, watches, waits,
 * factories. They all end with it, and before it: each with its own callback,
 * and the transport closes when the last one is gone. A member is embedded in
 * what it stands for and joins once that is open, so it needs no memory of its
 * own. */
typedef struct kin__member {
  kin__link node; /* in the members' list from join to leave */

  /* The client begins to close, inside a call of the user: begin to close, and
   * leave from a deferred call (kin__env_defer), not here. It may be closing
   * already, or have been closed by another member; no call of the program's
   * from here. */
  void (*close)(struct kin__member *member);
} kin__member;

typedef struct kin__members {
  kin__link list;
  bool is_closing; /* nothing may join: opening anything is KIN_ECLOSED */

  /* A member has left; may be NULL. */
  void (*left)(struct kin__members *members);
} kin__members;

static inline void kin__members_init(kin__members *members) {
  kin__link_init(&members->list);
  members->is_closing = false;
  members->left = NULL;
}

static inline bool kin__members_is_empty(const kin__members *members) {
  return kin__link_is_empty(&members->list);
}

/* member->close must be set; its node need not be initialized. */
static inline void kin__members_join(kin__members *members,
                                     kin__member *member) {
  kin__link_push(&members->list, &member->node);
}

/* The member's memory may be freed, and its callbacks be called, between these
 * two. The first may come twice; the second comes last of all, once for each
 * first, from a deferred call: `members` may be gone when it returns. */
static inline void kin__member_leave(kin__member *member) {
  kin__link_remove(&member->node);
}
static inline void kin__members_left(kin__members *members) {
  if (members->left != NULL) {
    members->left(members);
  }
}

/* Closes all, the newest first, so that what is made of other members takes
 * them down itself. To be called once. */
static inline void kin__members_close(kin__members *members) {
  members->is_closing = true;
  for (kin__link *node = members->list.prev; node != &members->list;
       node = node->prev) {
    kin__member *member = KIN__CONTAINER_OF(node, kin__member, node);
    member->close(member);
  }
}

#endif /* KIN_CLIENT_MEMBER_H */
