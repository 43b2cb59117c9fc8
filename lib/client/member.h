/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_MEMBER_H
#define KIN_CLIENT_MEMBER_H

#include <stdbool.h>

#include "base/link.h"
#include "client/env.h"

/* A handle that is open on a client: an informer, reflector, controller, watch,
 * wait, pager or factory. All members close with the client and before it, each
 * with its own callbacks. The transport closes after the last member. A member
 * is embedded in its handle, so it needs no memory of its own.
 *
 * The life of a member: kin__member_init, kin__member_join once the handle is
 * open, kin__member_close by the program or by the client, kin__member_end when
 * the handle has nothing left to do. From then on the member does the rest: in
 * a deferred call it leaves the client, frees the handle, and calls the close
 * callbacks. */
struct kin__host;
typedef struct kin__member kin__member;

/* News for all members of a client. */
typedef enum kin__news {
  /* Objects were released some time after their informers had no use for them,
   * and much of the slabs' memory is not in use now. */
  KIN__NEWS_SPARSE,
  /* Another thread has called kin__env.call. */
  KIN__NEWS_CALLED
} kin__news;

typedef struct kin__member_ops {
  /* Begins to close, inside a call of the program; called once. Must lead to
   * kin__member_end (or kin__member_gone), at once or later. Must not call the
   * program. */
  void (*close)(kin__member *member);
  /* Frees the handle, which has left the client. */
  void (*free)(kin__member *member);
  /* May schedule only; NULL: of no interest. */
  void (*on_news)(kin__member *member, kin__news news);
} kin__member_ops;

struct kin__member {
  const kin__member_ops *ops;
  const kin__env *env;
  struct kin__host *host; /* NULL before the join, and in tests without one */
  kin__link node;         /* in the host's list from join to leave */
  kin__deferred gone;
  bool is_closing;
  bool is_told;             /* the close callbacks have been called */
  void (*close_cb)(void *); /* kin__member_close's; may be NULL */
  void *close_data;
  void (*on_closed)(void *); /* the options'; may be NULL */
  void *data;
};

/* `env` must outlive the member. */
void kin__member_init(kin__member *member, const kin__member_ops *ops,
                      const kin__env *env);
/* The host closes the member when it closes. `host` must outlive the member. */
void kin__member_join(kin__member *member, struct kin__host *host);

/* Closes the handle; at its end `cb` and then on_closed are called. Errors:
 * KIN_EALREADY. */
int kin__member_close(kin__member *member, void (*cb)(void *data), void *data);

/* Defers kin__member_gone. Call once. */
void kin__member_end(kin__member *member);
/* From a deferred call only: leaves the host, frees the handle, calls the close
 * callbacks unless they have been called. The host may be gone when this
 * returns. */
void kin__member_gone(kin__member *member);
/* Calls the close callbacks before kin__member_gone, from a deferred call. */
void kin__member_tell_closed(kin__member *member);

/* The members of a client. */
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

/* Calls on_news of each member. O(members). */
void kin__members_tell(const kin__members *members, kin__news news);

/* Closes all members, newest first, so that a member that consists of other
 * members closes those itself. Call once. */
void kin__members_close(kin__members *members);

#endif /* KIN_CLIENT_MEMBER_H */
