/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_DECODED_H
#define KIN_TEST_DECODED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/object.h>

#include "base/buf.h"
#include "base/memory.h"
#include "decode/sink.h"

/* A sink that writes down what a decoder gave it. Two runs that were given the
 * same have the same log. */
typedef struct decoded {
  kin__decode_sink sink; /* hand out &decoded.sink */

  /* Set after decoded_init, before decoding. */
  const char *const *known; /* keys of objects that known() says yes to */
  size_t known_count;
  size_t fail_at; /* the object, bookmark or error, from 1, that ... */
  int fail_with;  /* ... is answered with this */
  bool skips_bad; /* objects; else they end it */

  kin__buf log; /* a line for each call, NUL-terminated by decoded_log */
  kin_object **objects; /* made of the parts that had a body */
  size_t count;
  size_t calls;
  size_t questions; /* calls of known() */
  kin__memory *memory;
} decoded;

/* `allocator` makes the objects; NULL means the C library's. Everything else
 * comes from the C library. */
void decoded_init(decoded *d, const kin_allocator *allocator);
void decoded_finish(decoded *d);

const char *decoded_log(decoded *d);

/* Fails the test unless both logs are the same. */
void decoded_assert_same(decoded *d, decoded *expected, const char *what);

/* Where list_run and watch_run cut a text: nowhere, but every byte alone. */
enum { BYTEWISE = -1 };

/* A copy of bytes in memory that is exactly as long, so that the sanitizer sees
 * every read beyond it and after it was freed. */
char *decoded_exact(const char *bytes, size_t length);

#endif /* KIN_TEST_DECODED_H */
