/* SPDX-License-Identifier: MIT */
#include "blob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { SCRATCH_BYTES = 4096 };

blob *blob_new(size_t len) {
  blob *b = xmalloc(sizeof *b + len + 1);
  b->refs = 1;
  b->len = len;
  b->data[len] = '\0';
  return b;
}

blob *blob_copy(const void *bytes, size_t len) {
  blob *b = blob_new(len);
  if (len != 0) {
    memcpy(b->data, bytes, len);
  }
  return b;
}

blob *blob_ref(blob *b) {
  if (b != NULL) {
    b->refs++;
  }
  return b;
}

void blob_unref(blob *b) {
  if (b != NULL && --b->refs == 0) {
    free(b);
  }
}

void segq_free(segq *q) {
  for (size_t i = 0; i < q->count; i++) {
    blob_unref(q->items[q->head + i].owner);
  }
  blob_unref(q->scratch);
  free(q->items);
  *q = (segq){0};
}

static void make_room(segq *q) {
  if (q->head + q->count < q->cap) {
    return;
  }
  if (q->head > q->cap / 2) {
    memmove(q->items, q->items + q->head, q->count * sizeof *q->items);
    q->head = 0;
    return;
  }
  q->cap = q->cap != 0 ? q->cap * 2 : 16;
  q->items = xrealloc(q->items, q->cap, sizeof *q->items);
}

void segq_push(segq *q, blob *owner, const char *ptr, size_t len) {
  if (len == 0) {
    return;
  }
  if (q->count != 0) {
    seg *last = &q->items[q->head + q->count - 1];
    if (owner != NULL && last->owner == owner && last->ptr + last->len == ptr) {
      last->len += len;
      q->bytes += len;
      return;
    }
  }
  make_room(q);
  q->items[q->head + q->count++] = (seg){ptr, len, blob_ref(owner)};
  q->bytes += len;
}

void segq_push_copy(segq *q, const void *bytes, size_t len) {
  if (len == 0) {
    return;
  }
  if (len > SCRATCH_BYTES / 4) {
    blob *b = blob_copy(bytes, len);
    segq_push(q, b, b->data, len);
    blob_unref(b);
    return;
  }
  if (q->scratch == NULL || q->scratch->len - q->scratch_used < len) {
    blob_unref(q->scratch);
    q->scratch = blob_new(SCRATCH_BYTES);
    q->scratch_used = 0;
  }
  char *to = q->scratch->data + q->scratch_used;
  memcpy(to, bytes, len);
  q->scratch_used += len;
  segq_push(q, q->scratch, to, len);
}

void segq_move(segq *q, segq *from, size_t len) {
  assert(len <= from->bytes);
  size_t left = len;
  for (size_t i = 0; left != 0; i++) {
    const seg *s = segq_at(from, i);
    size_t part = s->len < left ? s->len : left;
    segq_push(q, s->owner, s->ptr, part);
    left -= part;
  }
  segq_drop(from, len);
}

const seg *segq_at(const segq *q, size_t i) {
  assert(i < q->count);
  return &q->items[q->head + i];
}

void segq_drop(segq *q, size_t len) {
  assert(len <= q->bytes);
  q->bytes -= len;
  while (len != 0) {
    seg *s = &q->items[q->head];
    if (len < s->len) {
      s->ptr += len;
      s->len -= len;
      return;
    }
    len -= s->len;
    blob_unref(s->owner);
    q->head++;
    q->count--;
  }
  if (q->count == 0) {
    q->head = 0;
    /* A watch that has gone quiet must not pin its last scratch block: with
     * thousands of idle watches that would be most of the memory. */
    blob_unref(q->scratch);
    q->scratch = NULL;
  }
}
