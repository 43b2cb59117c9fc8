/* SPDX-License-Identifier: MIT */
#include "support/watch_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"

static void init(watch_run *r, uint32_t max_object_bytes, bool is_whole) {
  *r = (watch_run){0};
  decoded_init(&r->got, NULL);
  if (!is_whole) {
    assert_int_equal(
        kin__projection_new(&r->projection, kin__default_allocator(), false),
        0);
  }
  kin__decode_limits limits = {.max_object_bytes = max_object_bytes};
  assert_int_equal(kin__watch_decoder_new(&r->decoder, kin__default_allocator(),
                                          &limits, r->projection, &r->got.sink),
                   0);
}

void watch_run_init_limited(watch_run *r, uint32_t max_object_bytes) {
  init(r, max_object_bytes, false);
}

void watch_run_init(watch_run *r) {
  init(r, 1 << 20, false);
}

void watch_run_init_whole(watch_run *r) {
  init(r, 1 << 20, true);
}

void watch_run_finish(watch_run *r) {
  kin__watch_decoder_free(r->decoder);
  kin__projection_free(r->projection);
  decoded_finish(&r->got);
}

void watch_run_again(watch_run *r) {
  decoded before = r->got;
  decoded_finish(&r->got);
  decoded_init(&r->got, NULL);
  r->got.known = before.known;
  r->got.known_count = before.known_count;
  r->got.skips_bad = before.skips_bad;
  kin__watch_decoder_reset(r->decoder);
}

int watch_run_feed(watch_run *r, const char *bytes, size_t length) {
  char *exact = decoded_exact(bytes, length);
  int err = kin__watch_decoder_parse(r->decoder, exact, length);
  free(exact);
  return err;
}

int watch_run_decode(watch_run *r, kin_str text, int cut) {
  int err = 0;
  if (cut != BYTEWISE) {
    err = watch_run_feed(r, text.data, (size_t)cut);
    return err != 0
               ? err
               : watch_run_feed(r, text.data + cut, text.length - (size_t)cut);
  }
  for (size_t i = 0; i < text.length && err == 0; i++) {
    err = watch_run_feed(r, text.data + i, 1);
  }
  return err;
}
