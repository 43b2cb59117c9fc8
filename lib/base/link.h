/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LINK_H
#define KIN_BASE_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive doubly linked ring. A head is a node of its own; a node outside
 * any list points to itself, so removing it twice is harmless. */
typedef struct kin__list {
  struct kin__list *prev;
  struct kin__list *next;
} kin__list;

#define KIN__CONTAINER_OF(ptr, type, member)                                   \
  ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void kin__list_init(kin__list *node) {
  node->prev = node->next = node;
}

static inline bool kin__list_is_empty(const kin__list *head) {
  return head->next == head;
}

static inline void kin__list_push(kin__list *head, kin__list *node) {
  node->prev = head->prev;
  node->next = head;
  head->prev->next = node;
  head->prev = node;
}

static inline void kin__list_remove(kin__list *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
  kin__list_init(node);
}

/* Moves all nodes of `from` to the end of `to`. */
static inline void kin__list_splice(kin__list *to, kin__list *from) {
  if (!kin__list_is_empty(from)) {
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    kin__list_init(from);
  }
}

#endif /* KIN_BASE_LINK_H */
