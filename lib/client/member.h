/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_MEMBER_H
#define KIN_CLIENT_MEMBER_H

#include <stdbool.h>

#include "base/link.h"

/* A handle that is open on a client: an informer, reflector, controller, watch,
 * wait or factory. All members close with the client and before it, each with
 * its own callback. The transport closes after the last member. A member is
 * embedded in its handle and joins once the handle is open, so it needs no
 * memory of its own. */
typedef struct kin__member {
  kin__link node; /* in the members' list from join to leave */

  /* The client begins to close, inside a call of the program. Begin to close
   * here, but leave later, from a deferred call (kin__env_defer). The member
   * may be closing already, or may have been closed by another member. Do not
   * call the program from here. */
  void (*close)(struct kin__member *member);
} kin__member;

typedef struct kin__members {
  kin__link list;
  bool is_closing; /* a join is refused: opening returns KIN_ECLOSED */

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

/* member->close must be set. The node need not be initialized. */
static inline void kin__members_join(kin__members *members,
                                     kin__member *member) {
  kin__link_push(&members->list, &member->node);
}

/* Between these two, the member's memory may be freed and its callbacks called.
 * kin__member_leave may be called twice. kin__members_left comes last, once for
 * each member, from a deferred call: `members` may be gone when it returns. */
static inline void kin__member_leave(kin__member *member) {
  kin__link_remove(&member->node);
}
static inline void kin__members_left(kin__members *members) {
  if (members->left != NULL) {
    members->left(members);
  }
}

/* Closes all members, newest first, so that a member that consists of other
 * members closes those itself. Call once. */
static inline void kin__members_close(kin__members *members) {
  members->is_closing = true;
  for (kin__link *node = members->list.prev; node != &members->list;
       node = node->prev) {
    kin__member *member = KIN__CONTAINER_OF(node, kin__member, node);
    member->close(member);
  }
}

#endif /* KIN_CLIENT_MEMBER_H */
