/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_OVERSIZED_H
#define KIN_TEST_OVERSIZED_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "support/decoded.h"

/* One object in the shapes that servers and clients may give it, and what is
 * kept of it when it is over a limit. */

#define X10 "0123456789"
#define X40 X10 X10 X10 X10
#define SMALL(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define SMALL_LOG(name)                                                        \
  "known? [/" name "] uid  version  no\nlisted [/" name                        \
  "] uid  version  labels  " SMALL(name) "\n"

/* What is told of the object that all shapes below have. */
#define IDENTITY "[ns/big] uid u-1 version 7 "
#define MINIMAL_META                                                           \
  "\"metadata\":{\"name\":\"big\",\"namespace\":\"ns\",\"uid\":\"u-1\","       \
  "\"resourceVersion\":\"7\""
#define IDS                                                                    \
  "\"name\":\"big\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":" \
  "\"7\""
#define LABELS "{ \"app\" : \"w}\\\"eb\", \"tier\":\"front\"}"

/* The same object in the shapes that servers and clients may give it; each has
 * over 60 bytes. */
static const struct {
  const char *object;
  const char *labels;
  const char *minimal;
} shapes[] = {
    /* metadata first, last, pretty */
    {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{" IDS
     "},\"data\":\"" X40 "\"}",
     "", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," MINIMAL_META "}}"},
    {"{\"data\":\"" X40 X40 "\",\"metadata\":{" IDS "},\"kind\":\"Pod\"}", "",
     "{\"kind\":\"Pod\"," MINIMAL_META "}}"},
    {"{\n  \"spec\": [ 1, { \"a\": \"]}" X40 "\" } ],\n  \"metadata\" : {\n\t"
     "\"uid\" : \"u-1\" ,\r\n \"resourceVersion\":\"7\", \"namespace\": \"ns\","
     " \"name\" : \"big\"\n}\n}",
     "", "{" MINIMAL_META "}}"},
    /* labels before, after, around what makes it too long */
    {"{\"metadata\":{\"labels\":" LABELS "," IDS "},\"data\":\"" X40 "\"}",
     LABELS, "{" MINIMAL_META ",\"labels\":" LABELS "}}"},
    {"{\"data\":\"" X40 "\",\"metadata\":{" IDS ",\"labels\":" LABELS
     ",\"x\":{\"labels\":{}}},\"y\":[1,2,3,4,5,6]}",
     LABELS, "{" MINIMAL_META ",\"labels\":" LABELS "}}"},
    {"{\"metadata\":{" IDS ",\"labels\":{\"a\":\"" X40 X40 "\"}}}",
     "{\"a\":\"" X40 X40 "\"}",
     "{" MINIMAL_META ",\"labels\":{\"a\":\"" X40 X40 "\"}}}"},
    /* what is dropped counts; strings with escapes; a second one of each */
    {"{\"metadata\":{\"managedFields\":[\"" X40 "\"]," IDS
     ",\"managedFields\":[]},\"data\":\"" X40 "\"}",
     "", "{" MINIMAL_META "}}"},
    {"{\"metadata\":{\"n\\u0061me\":\"b\\u0069g\",\"namespace\":\"\\u006es\","
     "\"uid\":\"u\\u002d1\",\"resourceVersion\":\"\\u0037\"},\"data\":\"" X40
     "\"}",
     "", "{" MINIMAL_META "}}"},
    {"{\"kind\":\"A\\\"\\n\",\"kind\":\"B\",\"metadata\":{" IDS
     ",\"name\":\"no\",\"uid\":\"no\",\"labels\":{},\"labels\":{\"a\":1}},"
     "\"metadata\":{\"name\":\"no\"},\"data\":\"" X40 "\"}",
     "{}", "{\"kind\":\"A\\\"\\u000a\"," MINIMAL_META ",\"labels\":{}}}"},
    /* metadata that is something else is passed over */
    {"{\"metadata\":{" IDS ",\"labels\":[\"" X40 "\"],\"annotations\":7},"
     "\"kind\":{\"kind\":\"" X40 "\"},\"apiVersion\":null}",
     "", "{" MINIMAL_META "}}"},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The line that the log has then. */
static inline void expect_parts(kin__buf *log, const char *type, size_t shape) {
  assert_int_equal(
      kin__buf_printf(log, "%s " IDENTITY "key-only of %zu labels %s %s\n",
                      type, strlen(shapes[shape].object), shapes[shape].labels,
                      shapes[shape].minimal),
      0);
}

static inline void init_buf(kin__buf *buf) {
  kin__buf_init(buf, kin__default_allocator(), (size_t)1 << 28);
}

static inline void assert_log(decoded *got, const kin__buf *expected,
                              const char *what) {
  if (got->log.length != expected->length ||
      memcmp(got->log.data, expected->data, expected->length) != 0) {
    fail_msg("%s:\n%s\nexpected:\n%.*s", what, decoded_log(got),
             (int)expected->length, expected->data);
  }
}

#endif /* KIN_TEST_OVERSIZED_H */
