/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_CHUNKQ_H
#define KIN_BASE_CHUNKQ_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>

/* A FIFO of fixed-size elements in a list of chunks: push and pop are O(1) in
 * the worst case, nothing is ever moved, and memory is given back as it
 * drains. One empty chunk is kept for the next push. */
struct kin__chunk;

typedef struct kin__chunkq {
  const kin_allocator *allocator;
  struct kin__chunk *first;
  struct kin__chunk *last;
  struct kin__chunk *spare;
  size_t element_size;
  size_t count;
  unsigned head; /* of first */
  unsigned tail; /* of last */
} kin__chunkq;

/* Allocates nothing. The allocator must outlive the queue. */
void kin__chunkq_init(kin__chunkq *queue, const kin_allocator *allocator,
                      size_t element_size);
/* Frees what is left; what elements own is the owner's business. */
void kin__chunkq_finish(kin__chunkq *queue);

/* Makes sure that the next `count` (at most 64) pushes succeed.
 * Errors: KIN_ENOMEM. */
int kin__chunkq_reserve(kin__chunkq *queue, unsigned count);

/* Appends an uninitialized element and returns it; NULL if out of memory. */
void *kin__chunkq_push(kin__chunkq *queue);
/* The oldest element, or NULL. Stays valid until it is popped. */
void *kin__chunkq_peek(const kin__chunkq *queue);
/* Removes the oldest element. The queue must not be empty. */
void kin__chunkq_pop(kin__chunkq *queue);

/* A place between two elements. Zero-initialized it is before the oldest. It
 * stays valid while the queue changes, as long as the element before it and the
 * one after it are not removed. */
typedef struct kin__chunkq_cursor {
  struct kin__chunk *chunk;
  unsigned index;
} kin__chunkq_cursor;

/* The element after the cursor, which moves on, or NULL at the end: a cursor at
 * the end meets what is pushed later. */
void *kin__chunkq_next(const kin__chunkq *queue, kin__chunkq_cursor *cursor);

/* The place after the newest element: what is pushed from now on is met from
 * there. */
kin__chunkq_cursor kin__chunkq_end(const kin__chunkq *queue);

/* Takes back the newest `count` elements, which are those after `end`, a place
 * that kin__chunkq_end gave before they were pushed. Nothing may have been
 * popped in between. What the elements own is the owner's business. */
void kin__chunkq_rewind(kin__chunkq *queue, kin__chunkq_cursor end,
                        size_t count);

#endif /* KIN_BASE_CHUNKQ_H */
