/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LINK_H
#define KIN_BASE_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive doubly linked ring. The head is a node, too. A node outside any
 * list points to itself, so removing it twice is harmless. */
typedef struct kin__link {
  struct kin__link *prev;
  struct kin__link *next;
} kin__link;

#define KIN__CONTAINER_OF(ptr, type, member)                                   \
  ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void kin__link_init(kin__link *node) {
  node->prev = node->next = node;
}

static inline bool kin__link_is_empty(const kin__link *head) {
  return head->next == head;
}

static inline void kin__link_push(kin__link *head, kin__link *node) {
  node->prev = head->prev;
  node->next = head;
  head->prev->next = node;
  head->prev = node;
}

static inline void kin__link_push_first(kin__link *head, kin__link *node) {
  kin__link_push(head->next, node);
}

static inline void kin__link_remove(kin__link *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
  kin__link_init(node);
}

/* Moves all nodes of `from` to the end of `to`. */
static inline void kin__link_splice(kin__link *to, kin__link *from) {
  if (!kin__link_is_empty(from)) {
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    kin__link_init(from);
  }
}

#endif /* KIN_BASE_LINK_H */
