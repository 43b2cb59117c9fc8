/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_CHUNKQ_H
#define KIN_BASE_CHUNKQ_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>

/* A FIFO of fixed-size elements in a list of chunks. Push and pop are O(1) in
 * the worst case. Elements never move. A queue that was empty begins with a
 * chunk of KIN__CHUNK_FIRST elements; the chunks after it have KIN__CHUNK_NEXT.
 * Chunks are freed as the queue drains, but one empty chunk is kept for the next
 * push: of an empty queue only a first one, so that most queues of a client stay
 * small. */
#define KIN__CHUNK_FIRST 4u
#define KIN__CHUNK_NEXT 32u

struct kin__chunk;

typedef struct kin__chunkq {
  const kin_allocator *allocator;
  struct kin__chunk *first;
  struct kin__chunk *last;
  struct kin__chunk *spare;
  size_t element_size;
  size_t count;
  unsigned head; /* in the first chunk */
  unsigned tail; /* in the last chunk */
} kin__chunkq;

/* Allocates nothing. The allocator must outlive the queue. */
void kin__chunkq_init(kin__chunkq *queue, const kin_allocator *allocator,
                      size_t element_size);
/* Frees all chunks. The caller first releases what the elements own. */
void kin__chunkq_finish(kin__chunkq *queue);

/* Makes sure that the next `count` (at most KIN__CHUNK_FIRST) pushes succeed, up
 * to the next pop. Errors: KIN_ENOMEM. */
int kin__chunkq_reserve(kin__chunkq *queue, unsigned count);

/* Appends an uninitialized element and returns it; NULL if out of memory. */
void *kin__chunkq_push(kin__chunkq *queue);
/* The oldest element, or NULL. The pointer stays valid until the pop. */
void *kin__chunkq_peek(const kin__chunkq *queue);
/* Removes the oldest element. The queue must not be empty. */
void kin__chunkq_pop(kin__chunkq *queue);

/* A place between two elements. A zeroed cursor is before the oldest element. A
 * cursor stays valid while its two neighbours stay in the queue. */
typedef struct kin__chunkq_cursor {
  struct kin__chunk *chunk;
  unsigned index;
} kin__chunkq_cursor;

/* Moves the cursor over one element and returns that element; NULL at the end.
 * A cursor at the end later meets the elements that are pushed. */
void *kin__chunkq_next(const kin__chunkq *queue, kin__chunkq_cursor *cursor);

/* The place after the newest element. A walk from there meets only elements
 * pushed later. */
kin__chunkq_cursor kin__chunkq_end(const kin__chunkq *queue);

/* Takes back the newest `count` elements: those after `end`, a place that
 * kin__chunkq_end gave before their push. No element may have been popped
 * since. The caller releases what the elements own. */
void kin__chunkq_rewind(kin__chunkq *queue, kin__chunkq_cursor end,
                        size_t count);

#endif /* KIN_BASE_CHUNKQ_H */
