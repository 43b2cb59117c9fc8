/* SPDX-License-Identifier: MIT */
#include "support/packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#define GZIP (15 + 16)

void packed_add_bytes(packed *p, const void *bytes, size_t length) {
  p->bytes = realloc(p->bytes, p->length + length + 1);
  assert_non_null(p->bytes);
  memcpy(p->bytes + p->length, bytes, length);
  p->length += length;
  p->bytes[p->length] = '\0';
}

static void put(packed *p, z_stream *z, int flush) {
  unsigned char out[4096];
  do {
    z->next_out = out;
    z->avail_out = sizeof out;
    assert_int_not_equal(deflate(z, flush), Z_STREAM_ERROR);
    packed_add_bytes(p, out, sizeof out - z->avail_out);
  } while (z->avail_out == 0);
}

void packed_add(packed *p, const char *text, size_t length,
                size_t flush_every) {
  z_stream z = {.zalloc = Z_NULL};
  assert_int_equal(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP, 9,
                                Z_DEFAULT_STRATEGY),
                   Z_OK);
  size_t step = flush_every != 0 ? flush_every : length;
  for (size_t at = 0; at < length; at += step) {
    z.next_in = (unsigned char *)(uintptr_t)(text + at);
    z.avail_in = (uInt)(step < length - at ? step : length - at);
    put(p, &z, Z_SYNC_FLUSH);
  }
  put(p, &z, Z_FINISH);
  assert_int_equal(deflateEnd(&z), Z_OK);
}

void packed_finish(packed *p) {
  free(p->bytes);
  *p = (packed){NULL, 0};
}

packed packed_make(const char *text, size_t length) {
  packed p = {NULL, 0};
  packed_add(&p, text, length, 0);
  return p;
}

packed packed_bomb(size_t count) {
  char *blanks = malloc(count);
  assert_non_null(blanks);
  memset(blanks, ' ', count);
  packed p = packed_make(blanks, count);
  free(blanks);
  return p;
}

packed packed_response(const char *head, const packed *body) {
  packed p = {NULL, 0};
  char length[64];
  packed_add_bytes(&p, head, strlen(head));
  snprintf(length, sizeof length, "Content-Length: %zu\r\n", body->length);
  if (strstr(head, "Connection: close") == NULL &&
      strstr(head, "chunked") == NULL) {
    packed_add_bytes(&p, length, strlen(length));
  }
  packed_add_bytes(&p, "\r\n", 2);
  packed_add_bytes(&p, body->bytes, body->length);
  return p;
}

packed packed_chunk(const char *bytes, size_t length) {
  packed p = {NULL, 0};
  char head[32];
  snprintf(head, sizeof head, "%zx\r\n", length);
  packed_add_bytes(&p, head, strlen(head));
  packed_add_bytes(&p, bytes, length);
  packed_add_bytes(&p, "\r\n", 2);
  return p;
}
