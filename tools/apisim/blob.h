/* SPDX-License-Identifier: MIT */
#ifndef APISIM_BLOB_H
#define APISIM_BLOB_H

/* Immutable counted bytes, and queues of pieces of them.
 *
 * An object is rendered once; every list and watch that sends it queues a
 * reference to the same bytes, so a thousand watchers cost a thousand queue
 * entries and one body. A segment without owner points at static storage. */

#include "buf.h"

typedef struct blob {
  size_t refs;
  size_t len;
  char data[];
} blob;

/* A blob of len bytes to be filled in, with one reference. */
blob *blob_new(size_t len);
blob *blob_copy(const void *bytes, size_t len);
blob *blob_ref(blob *b);
/* NULL is fine. */
void blob_unref(blob *b);

typedef struct seg {
  const char *ptr;
  size_t len;
  blob *owner; // counted; NULL = static storage
} seg;

/* A FIFO of segments. bytes is the sum of their lengths. */
typedef struct segq {
  seg *items;
  size_t head;
  size_t count;
  size_t cap;
  size_t bytes;
  blob *scratch; // tail of small copies, shared by several segments
  size_t scratch_used;
} segq;

void segq_free(segq *q);
/* Queues bytes of owner (a new reference is taken) or of static storage. */
void segq_push(segq *q, blob *owner, const char *ptr, size_t len);
/* Queues a copy. */
void segq_push_copy(segq *q, const void *bytes, size_t len);
/* Moves the first len bytes of from to the end of q, len <= from->bytes. */
void segq_move(segq *q, segq *from, size_t len);
/* The i-th segment, i < q->count. */
const seg *segq_at(const segq *q, size_t i);
/* Drops the first len bytes, len <= q->bytes. */
void segq_drop(segq *q, size_t len);

#endif
