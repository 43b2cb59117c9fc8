/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_PACKED_H
#define KIN_TEST_PACKED_H

#include <stddef.h>

/* A gzip stream being made; needs zlib. */
typedef struct packed {
  char *bytes;
  size_t length;
} packed;

/* Appends a member that holds the text. `flush_every`: after so many bytes of
 * it everything is on the wire; 0: at its end only. Aborts the test without
 * memory. */
void packed_add(packed *p, const char *text, size_t length, size_t flush_every);
void packed_add_bytes(packed *p, const void *bytes, size_t length);
void packed_finish(packed *p);

/* The text as one member. */
packed packed_make(const char *text, size_t length);
/* `count` blanks around nothing: what a bomb is made of. */
packed packed_bomb(size_t count);
/* A response with this stream as its body; `head` without the empty line. With
 * a Content-Length if `head` says nothing else. */
packed packed_response(const char *head, const packed *body);
/* A chunk with these bytes. */
packed packed_chunk(const char *bytes, size_t length);

#endif /* KIN_TEST_PACKED_H */
