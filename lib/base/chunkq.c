/* SPDX-License-Identifier: MIT */
#include "base/chunkq.h"

#include <assert.h>
#include <stdalign.h>

#include <kin/error.h>

#include "base/alloc.h"

struct kin__chunk {
  struct kin__chunk *next;
  unsigned capacity;
  alignas(max_align_t) char elements[];
};

void kin__chunkq_init(kin__chunkq *queue, const kin_allocator *allocator,
                      size_t element_size) {
  *queue = (kin__chunkq){.allocator = allocator, .element_size = element_size};
}

void kin__chunkq_finish(kin__chunkq *queue) {
  while (queue->first != NULL) {
    struct kin__chunk *next = queue->first->next;
    kin__free(queue->allocator, queue->first);
    queue->first = next;
  }
  kin__free(queue->allocator, queue->spare);
  kin__chunkq_init(queue, queue->allocator, queue->element_size);
}

static bool have_spare(kin__chunkq *queue) {
  if (queue->spare == NULL) {
    unsigned capacity =
        queue->last == NULL ? KIN__CHUNK_FIRST : KIN__CHUNK_NEXT;
    queue->spare =
        kin__malloc(queue->allocator,
                    sizeof *queue->spare + capacity * queue->element_size);
    if (queue->spare != NULL) {
      queue->spare->capacity = capacity;
    }
  }
  return queue->spare != NULL;
}

int kin__chunkq_reserve(kin__chunkq *queue, unsigned count) {
  assert(count <= KIN__CHUNK_FIRST);
  bool has_room =
      queue->last != NULL && queue->last->capacity - queue->tail >= count;
  return has_room || have_spare(queue) ? 0 : KIN_ENOMEM;
}

void *kin__chunkq_push(kin__chunkq *queue) {
  if (queue->last == NULL || queue->tail == queue->last->capacity) {
    if (!have_spare(queue)) {
      return NULL;
    }
    struct kin__chunk *chunk = queue->spare;
    queue->spare = NULL;
    chunk->next = NULL;
    if (queue->last != NULL) {
      queue->last->next = chunk;
    } else {
      queue->first = chunk;
      queue->head = 0;
    }
    queue->last = chunk;
    queue->tail = 0;
  }
  queue->count++;
  return queue->last->elements + queue->tail++ * queue->element_size;
}

void *kin__chunkq_peek(const kin__chunkq *queue) {
  return queue->count > 0
             ? queue->first->elements + queue->head * queue->element_size
             : NULL;
}

/* Keeps an empty chunk or the spare one, the smaller of the two. */
static void put_aside(kin__chunkq *queue, struct kin__chunk *chunk) {
  struct kin__chunk *spare = queue->spare;
  if (spare != NULL && spare->capacity <= chunk->capacity) {
    spare = chunk;
    chunk = queue->spare;
  }
  kin__free(queue->allocator, spare);
  if (queue->count == 0 && chunk->capacity > KIN__CHUNK_FIRST) {
    kin__free(queue->allocator, chunk);
    chunk = NULL;
  }
  queue->spare = chunk;
}

void kin__chunkq_pop(kin__chunkq *queue) {
  assert(queue->count > 0);
  queue->count--;
  queue->head++;
  if (queue->count > 0 && queue->head < queue->first->capacity) {
    return;
  }
  struct kin__chunk *chunk = queue->first;
  queue->first = chunk->next;
  queue->head = 0;
  if (queue->first == NULL) {
    queue->last = NULL;
    queue->tail = 0;
  }
  put_aside(queue, chunk);
}

void *kin__chunkq_next(const kin__chunkq *queue, kin__chunkq_cursor *cursor) {
  kin__chunkq_cursor at = *cursor;
  if (at.chunk == NULL) {
    at = (kin__chunkq_cursor){queue->first, queue->head};
  } else if (at.index == at.chunk->capacity && at.chunk->next != NULL) {
    at = (kin__chunkq_cursor){at.chunk->next, 0};
  }
  bool is_end =
      at.chunk == NULL ||
      at.index == (at.chunk == queue->last ? queue->tail : at.chunk->capacity);
  if (is_end) {
    return NULL;
  }
  void *element = at.chunk->elements + at.index * queue->element_size;
  at.index++;
  *cursor = at;
  return element;
}

kin__chunkq_cursor kin__chunkq_end(const kin__chunkq *queue) {
  kin__chunkq_cursor end = {queue->last, queue->tail};
  return end;
}

void kin__chunkq_rewind(kin__chunkq *queue, kin__chunkq_cursor end,
                        size_t count) {
  struct kin__chunk *chunk = end.chunk != NULL ? end.chunk->next : queue->first;
  while (chunk != NULL) {
    struct kin__chunk *next = chunk->next;
    kin__free(queue->allocator, chunk);
    chunk = next;
  }
  queue->count -= count;
  queue->last = end.chunk;
  if (end.chunk == NULL) {
    queue->first = NULL;
    queue->head = queue->tail = 0;
    return;
  }
  end.chunk->next = NULL;
  queue->tail = end.index;
}
