/* SPDX-License-Identifier: MIT */

/* RE-05: which bytes of a response's head are kept as warnings, whatever the
 * split, and how many at most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/fail_alloc.h"
#include "transport/http1.h"

#define MAX 200u

typedef struct outcome {
  kin__http1 http1;
  kin__http1_head head_room;
  fail_alloc memory;
  kin__buf warnings;
  char kept[1024]; /* when the head came */
  unsigned heads;
} outcome;

static void on_head(void *ctx, const kin__response_head *head) {
  outcome *o = ctx;
  assert_int_equal(head->status, 200);
  o->heads++;
  if (o->warnings.length > 0) {
    memcpy(o->kept, o->warnings.data, o->warnings.length);
  }
  kin__buf_finish(&o->warnings);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  (void)ctx;
  (void)bytes;
  (void)length;
}

static const kin__http1_events events = {on_head, on_body};

static void begin(outcome *o, size_t fail_at) {
  memset(o, 0, sizeof *o);
  fail_alloc_init(&o->memory, fail_at);
  kin__buf_init(&o->warnings, &o->memory.allocator, MAX);
  kin__http1_init(&o->http1, &o->head_room, &events, o);
  o->head_room.warnings = &o->warnings;
}

static void feed(outcome *o, const char *bytes, size_t length) {
  char *copy = malloc(length > 0 ? length : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, length);
  assert_int_equal(kin__http1_parse(&o->http1, copy, length), 0);
  free(copy);
}

static void end(outcome *o) {
  assert_int_equal(o->heads, 1);
  assert_true(kin__http1_is_complete(&o->http1));
  assert_int_equal(o->warnings.length, 0); /* of trailers nothing */
  kin__buf_finish(&o->warnings);
  assert_int_equal(atomic_load(&o->memory.live_blocks), 0);
}

/* Whole, in two pieces at every byte, and byte by byte. */
static void expect(const char *response, const char *kept) {
  size_t length = strlen(response);
  for (size_t i = 0; i <= length; i++) {
    outcome o;
    begin(&o, 0);
    feed(&o, response, i);
    feed(&o, response + i, length - i);
    assert_string_equal(o.kept, kept);
    end(&o);
  }
  outcome o;
  begin(&o, 0);
  for (size_t i = 0; i < length; i++) {
    feed(&o, response + i, 1);
  }
  assert_string_equal(o.kept, kept);
  end(&o);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define END "Content-Length: 0\r\n\r\n"

static void test_http1_warnings_are_kept(void **state) {
  (void)state;
  expect(OK END, "");
  expect(OK "Warning: 299 - \"a\"\r\n" END, "299 - \"a\"\n");
  expect(OK "WARNING:299 - \"a\"\r\nX-Warning: no\r\nWarnings: no\r\n"
            "Retry-After: 3\r\nwarning: 299 - \"b\", 299 - \"c\"\r\n" END,
         "299 - \"a\"\n299 - \"b\", 299 - \"c\"\n");
  expect(OK "Warning:\r\nWarning: x\r\n" END, "\nx\n");
}

/* Those of an interim response are not the final one's, and trailers are no
 * part of a head. */
static void test_http1_warnings_of_the_final_head(void **state) {
  (void)state;
  expect("HTTP/1.1 103 Early Hints\r\nWarning: 299 - \"early\"\r\n\r\n" OK
         "Warning: 299 - \"a\"\r\n" END,
         "299 - \"a\"\n");
  expect("HTTP/1.1 100 Continue\r\nWarning: 299 - \"early\"\r\n\r\n" OK END,
         "");
  expect(OK "Transfer-Encoding: chunked\r\nWarning: x\r\n\r\n0\r\n"
            "Warning: late\r\n\r\n",
         "x\n");
}

/* What is over the bound is not kept, wherever the bytes are split. */
static void test_http1_warnings_are_bounded(void **state) {
  (void)state;
  char response[1024] = OK;
  char kept[MAX + 1];
  for (int i = 0; i < 6; i++) {
    char line[80];
    snprintf(line, sizeof line, "Warning: %049d\r\n", i);
    strcat(response, line);
    snprintf(line, sizeof line, "%049d\n", i);
    if (i < 4) {
      memcpy(kept + 50 * i, line, 51);
    }
  }
  strcat(response, END);
  expect(response, kept);
  response[strlen(OK)] = '\0';
  strcat(response, "Warning: ");
  size_t at = strlen(response);
  memset(response + at, 'w', MAX + 10);
  strcpy(response + at + MAX + 10, "\r\n" END);
  memset(kept, 'w', MAX);
  expect(response, kept);
}

/* Without memory there are none, and the response is what it is. */
static void test_http1_warnings_without_memory(void **state) {
  (void)state;
  outcome o;
  begin(&o, 1);
  static const char response[] =
      OK "Warning: 299 - \"a\"\r\nWarning: 299 - \"b\"\r\n" END;
  feed(&o, response, sizeof response - 1);
  assert_string_equal(o.kept, "299 - \"b\"\n");
  end(&o);
}

/* The same in the middle of one: half of it is not taken for a whole. */
static void test_http1_warnings_memory_runs_out(void **state) {
  (void)state;
  outcome o;
  char response[1024];
  begin(&o, 2); /* when the buffer grows */
  o.warnings.max_length = sizeof o.kept - 1;
  snprintf(response, sizeof response,
           OK "Warning: %0400d\r\nWarning: 299 - \"b\"\r\n" END, 0);
  for (size_t i = 0; i < strlen(response); i++) {
    feed(&o, response + i, 1);
  }
  assert_true(fail_alloc_has_failed(&o.memory));
  assert_string_equal(o.kept, "299 - \"b\"\n");
  end(&o);
}

/* Who does not want them is not told. */
static void test_http1_warnings_are_not_wanted(void **state) {
  (void)state;
  outcome o;
  begin(&o, 0);
  o.head_room.warnings = NULL;
  static const char response[] = OK "Warning: 299 - \"a\"\r\n" END;
  feed(&o, response, sizeof response - 1);
  end(&o);
  assert_int_equal(atomic_load(&o.memory.calls), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_http1_warnings_are_kept),
      cmocka_unit_test(test_http1_warnings_of_the_final_head),
      cmocka_unit_test(test_http1_warnings_are_bounded),
      cmocka_unit_test(test_http1_warnings_without_memory),
      cmocka_unit_test(test_http1_warnings_memory_runs_out),
      cmocka_unit_test(test_http1_warnings_are_not_wanted),
  };
  return cmocka_run_group_tests_name("http1_warnings", tests, NULL, NULL);
}
