/* SPDX-License-Identifier: MIT */
#include "client/member.h"

#include <kin/error.h>

#include "client/host.h"

static void on_gone(kin__deferred *deferred) {
  kin__member_gone(KIN__CONTAINER_OF(deferred, kin__member, gone));
}

void kin__member_init(kin__member *member, const kin__member_ops *ops,
                      const kin__env *env) {
  *member = (kin__member){.ops = ops, .env = env, .gone.cb = on_gone};
  kin__link_init(&member->node);
  kin__link_init(&member->gone.node);
}

void kin__member_join(kin__member *member, kin__host *host) {
  member->host = host;
  kin__link_push(&host->members.list, &member->node);
}

int kin__member_close(kin__member *member, void (*cb)(void *data), void *data) {
  if (member->is_closing) {
    return KIN_EALREADY;
  }
  member->is_closing = true;
  member->close_cb = cb;
  member->close_data = data;
  member->ops->close(member);
  return 0;
}

void kin__member_end(kin__member *member) {
  kin__env_defer(member->env, &member->gone);
}

/* `member` may be a copy. */
static void tell(const kin__member *member) {
  kin__env_tell_closed(member->env, member->close_cb, member->close_data);
  kin__env_tell_closed(member->env, member->on_closed, member->data);
}

void kin__member_tell_closed(kin__member *member) {
  if (!member->is_told) {
    member->is_told = true;
    tell(member);
  }
}

void kin__member_gone(kin__member *member) {
  kin__link_remove(&member->node);
  kin__member last = *member;
  last.ops->free(member);
  if (!last.is_told) {
    tell(&last);
  }
  kin__members *members = last.host != NULL ? &last.host->members : NULL;
  if (members != NULL && members->left != NULL) {
    members->left(members);
  }
}

void kin__members_tell(const kin__members *members, kin__news news) {
  for (kin__link *node = members->list.next; node != &members->list;
       node = node->next) {
    kin__member *member = KIN__CONTAINER_OF(node, kin__member, node);
    if (member->ops->on_news != NULL) {
      member->ops->on_news(member, news);
    }
  }
}

void kin__members_close(kin__members *members) {
  members->is_closing = true;
  for (kin__link *node = members->list.prev; node != &members->list;
       node = node->prev) {
    /* A member that is closing already is fine. */
    (void)kin__member_close(KIN__CONTAINER_OF(node, kin__member, node), NULL,
                            NULL);
  }
}
