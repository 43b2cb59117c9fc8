/* SPDX-License-Identifier: MIT */

/* Responses of HTTP/1.1. Oracles:
 *  - a response that comes in pieces gives what it gives as a whole, also with
 *    a parser that was used before (WS-01)
 *  - no body is longer than the bytes that were received, and no event comes
 *    after the parser was stopped */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "transport/http1.h"

typedef struct response {
  kin__http1 http1;
  kin__http1_head head_room;
  kin__buf log; /* the head */
  kin__buf body;
  kin__buf warnings;
  unsigned heads;
  int stop_at; /* the event at which the parser is stopped, from 1; 0: none */
  int events;
  int err;
} response;

static void maybe_stop(response *r) {
  if (++r->events == r->stop_at) {
    kin__http1_stop(&r->http1);
  }
  FUZZ_CHECK(r->stop_at == 0 || r->events <= r->stop_at);
}

static void on_head(void *ctx, const kin__response_head *head) {
  response *r = ctx;
  r->heads++;
  FUZZ_CHECK(head->status >= 200);
  FUZZ_CHECK(head->retry_after_s >= -1 && head->retry_after_s <= INT32_MAX);
  FUZZ_CHECK(kin__buf_printf(&r->log, "%d %lld %d%d [" KIN_STR_FORMAT "]",
                             head->status, (long long)head->retry_after_s,
                             head->is_identity, head->is_gzip,
                             KIN_STR_ARG(head->content_type)) == 0);
  FUZZ_CHECK(kin__buf_printf(&r->log,
                             "[" KIN_STR_FORMAT "][" KIN_STR_FORMAT "]",
                             KIN_STR_ARG(head->encoding),
                             KIN_STR_ARG(head->location)) == 0);
  maybe_stop(r);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  response *r = ctx;
  FUZZ_CHECK(r->heads == 1 && length > 0);
  FUZZ_CHECK(kin__buf_append(&r->body, bytes, length) == 0);
  maybe_stop(r);
}

static void set_up(response *r) {
  const kin_allocator *allocator = kin__default_allocator();
  kin__buf_init(&r->log, allocator, 1 << 20);
  kin__buf_init(&r->body, allocator, 1 << 24);
  kin__buf_init(&r->warnings, allocator, 256);
  r->heads = 0;
  r->stop_at = 0;
  r->events = 0;
}

static void finish(response *r) {
  kin__buf_finish(&r->log);
  kin__buf_finish(&r->body);
  kin__buf_finish(&r->warnings);
}

static void parse(response *r, kin_str text, uint8_t how, bool has_warnings) {
  static const kin__http1_events events = {on_head, on_body};
  kin__http1_init(&r->http1, &r->head_room, &events, r);
  r->head_room.warnings = has_warnings ? &r->warnings : NULL;
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  r->err = 0;
  while (r->err == 0 && fuzz_next_piece(&pieces, &piece, &length)) {
    r->err = kin__http1_parse(&r->http1, piece, length);
    free(piece);
    if (r->events > 0 && r->events == r->stop_at) {
      FUZZ_CHECK(r->err == 0);
      return;
    }
  }
  if (r->err == 0) {
    r->err = kin__http1_end(&r->http1);
    FUZZ_CHECK(r->err == 0 || r->err == KIN_EEOF);
  } else {
    FUZZ_CHECK(r->err == KIN_EHTTP);
    FUZZ_CHECK(kin__http1_reason(&r->http1)[0] != '\0');
  }
}

static bool equal(const kin__buf *a, const kin__buf *b) {
  return a->length == b->length &&
         (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static void check_same(const response *got, const response *whole) {
  FUZZ_CHECK(got->err == whole->err && got->heads == whole->heads);
  FUZZ_CHECK(equal(&got->log, &whole->log));
  FUZZ_CHECK(equal(&got->body, &whole->body));
  FUZZ_CHECK(equal(&got->warnings, &whole->warnings));
  FUZZ_CHECK(kin__http1_is_complete(&got->http1) ==
             kin__http1_is_complete(&whole->http1));
  FUZZ_CHECK(kin__http1_is_reusable(&got->http1) ==
             kin__http1_is_reusable(&whole->http1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  uint8_t bits = fuzz_byte(&in);
  uint8_t how = fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  bool has_warnings = (bits & 1) != 0;
  response whole;
  response pieces;
  set_up(&whole);
  parse(&whole, text, 0, has_warnings);
  FUZZ_CHECK(whole.body.length <= text.length);
  FUZZ_CHECK(whole.heads <= 1);
  for (int i = 0; i < 2; i++) {
    set_up(&pieces);
    parse(&pieces, text, i == 0 ? how : 1, has_warnings);
    check_same(&pieces, &whole);
    finish(&pieces);
  }
  set_up(&pieces);
  pieces.stop_at = 1 + (bits >> 1) % 4;
  parse(&pieces, text, how, has_warnings);
  finish(&pieces);
  finish(&whole);
  return 0;
}
