/* SPDX-License-Identifier: MIT */

/* What every request carries (TR-05, TR-06) and every response may bring beside
 * its body (RE-05), over sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/warning.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
#define FIELDS "Impersonate-User: u\r\nImpersonate-Group: g\r\n"

/* --- Requests ------------------------------------------------------------- */

static void assert_has_fields(const world *w) {
  const char *at = strstr(w->server.last_request, "\r\n" FIELDS);
  assert_non_null(at);
  assert_null(strstr(at + 3, "\r\nImpersonate-User"));
  const char *end = strstr(at, "\r\n\r\n"); /* they end no head */
  assert_non_null(end);
  assert_string_equal(end + 4, "");
}

/* Lists and watches, the request that is sent again because its connection was
 * closed, and the question whether the server is still there. */
static void test_fields_are_in_every_request(void **state) {
  (void)state;
  static const loop_reply replies[] = {{.bytes = OK EMPTY},
                                       {.bytes = NULL, .then = LOOP_CLOSE},
                                       {.bytes = CHUNKED},
                                       {.bytes = OK EMPTY}};
  world w;
  world_init(&w, replies, 4, 0);
  w.fields = FIELDS;
  w.probe_silence_ms = 30000;
  assert_int_equal(world_open(&w), 0);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/list?limit=1");
  assert_has_fields(&w);
  fetch_finish(&f);
  assert_int_equal(fetch_start(&f, &w, "/watch", true), 0);
  WORLD_UNTIL(&w, f.bodies == 1);
  assert_int_equal(w.server.requests, 3);
  assert_has_fields(&w);
  world_advance(&w, 30000);
  WORLD_UNTIL(&w, w.server.requests == 4);
  assert_non_null(strstr(w.server.last_request, "GET /prefix/version "));
  assert_has_fields(&w);
  kin__exchange_cancel(f.exchange);
  fetch_finish(&f);
  world_close(&w);
}

/* --- Warnings ------------------------------------------------------------- */

typedef struct hearing {
  world w;
  kin__log log;
  kin__warnings warnings;
  uint64_t handler_ns;
  char text[1024];
} hearing;

static void on_warning(const kin_warning *warning, void *data) {
  hearing *h = data;
  size_t length = strlen(h->text);
  snprintf(h->text + length, sizeof h->text - length, "%d %s %s %s\n",
           warning->code, warning->path, warning->agent, warning->text);
}

static int open_hearing(hearing *h, const loop_reply *replies, size_t count,
                        size_t fail_at) {
  static const kin__hash_seed seed = {1, 2};
  memset(h, 0, sizeof *h);
  world_init(&h->w, replies, count, fail_at);
  kin__warnings_init(&h->warnings, &h->w.memory.allocator, &h->w.sched, &h->log,
                     &seed);
  kin__warnings_tell(&h->warnings, on_warning, h, &h->handler_ns);
  h->w.warnings = &h->warnings;
  return world_open(&h->w);
}

static void close_hearing(hearing *h) {
  kin__warnings_stop(&h->warnings);
  world_close(&h->w);
}

/* Of every response, whatever its status, each with its path; no query is in
 * it, which may hold a continue token. */
static void test_warnings_of_every_response(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = OK "Warning: 299 - \"old\"\r\nWarning: 299 - \"b\" x\r\n"
                   "warning: 199 me \"c\", 299 - \"d\"\r\n" EMPTY},
      {.bytes = "HTTP/1.1 100 Continue\r\nWarning: 299 - \"no\"\r\n\r\n"
                "HTTP/1.1 403 Forbidden\r\nWarning: 299 - \"e\"\r\n" EMPTY},
      {.bytes = OK EMPTY},
      {.bytes = OK "Warning: 299 - \"f\"\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "1\r\na\r\n0\r\nWarning: 299 - \"no\"\r\n\r\n"}};
  for (size_t slice = 0; slice < 4; slice++) {
    loop_reply sliced[4];
    memcpy(sliced, replies, sizeof sliced);
    for (size_t i = 0; i < 4; i++) {
      sliced[i].slice = slice;
    }
    hearing h;
    assert_int_equal(open_hearing(&h, sliced, 4, 0), 0);
    fetch f = {.world = &h.w};
    static const char *const targets[] = {"/a?continue=secret", "/b", "/c"};
    for (size_t i = 0; i < 3; i++) {
      fetch_run(&f, &h.w, targets[i]);
      assert_int_equal(f.error.code, 0);
      fetch_finish(&f);
    }
    assert_int_equal(fetch_start(&f, &h.w, "/d?watch=1", true), 0);
    fetch_until_end(&f);
    fetch_finish(&f);
    world_run_tasks(&h.w);
    assert_string_equal(h.text, "299 /prefix/a - old\n"
                                "199 /prefix/a me c\n"
                                "299 /prefix/a - d\n"
                                "299 /prefix/b - e\n"
                                "299 /prefix/d - f\n");
    close_hearing(&h);
  }
}

/* No more than 8 KiB of one response are kept, and then one response's. */
static void test_warnings_of_one_response_are_bounded(void **state) {
  (void)state;
  static char bytes[20000] = OK;
  for (int i = 0; i < 20; i++) {
    char line[1024];
    snprintf(line, sizeof line, "Warning: 299 - \"%d %0*d\"\r\n", i, 800, 0);
    strcat(bytes, line);
  }
  strcat(bytes, EMPTY);
  const loop_reply reply = {.bytes = bytes};
  hearing h;
  assert_int_equal(open_hearing(&h, &reply, 1, 0), 0);
  fetch f = {.world = &h.w};
  fetch_run(&f, &h.w, "/x");
  assert_int_equal(f.status, 200);
  fetch_finish(&f);
  assert_int_equal(h.warnings.heard, 10); /* 815 bytes each, the last is cut */
  fetch_run(&f, &h.w, "/x");
  fetch_finish(&f);
  assert_int_equal(h.warnings.heard, 20);
  close_hearing(&h);
}

/* A head that never comes, an exchange that is cancelled in its head. */
static void test_warnings_of_what_is_over(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = OK "Warning: 299 - \"cut\"\r\nWarni", .then = LOOP_CLOSE},
      {.bytes = OK "Warning: 299 - \"a\"\r\n" EMPTY}};
  hearing h;
  assert_int_equal(open_hearing(&h, replies, 2, 0), 0);
  fetch f = {.world = &h.w};
  fetch_run(&f, &h.w, "/x");
  assert_int_equal(f.error.code, KIN_EEOF);
  fetch_finish(&f);
  f = (fetch){.world = &h.w, .hook = fetch_cancel_at, .act_at = 1};
  assert_int_equal(fetch_start(&f, &h.w, "/y", false), 0);
  WORLD_UNTIL(&h.w, f.exchange == NULL);
  fetch_finish(&f);
  world_run_tasks(&h.w);
  assert_string_equal(h.text, "299 /prefix/y - a\n");
  close_hearing(&h);
}

/* Every allocation fails once: the request fails, or a warning is lost. */
static void test_fields_without_memory(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes =
                                       OK "Warning: 299 - \"a\"\r\n" EMPTY};
  unsigned lost = 0;
  for (size_t n = 1;; n++) {
    hearing h;
    int err = open_hearing(&h, &reply, 1, n);
    fetch f = {.world = &h.w};
    bool is_well = err == 0 && fetch_start(&f, &h.w, "/x", false) == 0;
    if (is_well) {
      fetch_until_end(&f);
      world_run_tasks(&h.w);
      assert_true(f.error.code == 0 || f.error.code == KIN_ENOMEM);
      lost += f.error.code == 0 && h.text[0] == '\0';
    } else {
      assert_true(fail_alloc_has_failed(&h.w.memory));
    }
    fetch_finish(&f);
    bool is_last = !fail_alloc_has_failed(&h.w.memory);
    if (is_last) {
      assert_string_equal(h.text, "299 /prefix/x - a\n");
    }
    close_hearing(&h);
    if (is_last) {
      break;
    }
  }
  assert_int_equal(lost, 3); /* its bytes, its copy, and that of the path */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields_are_in_every_request),
      cmocka_unit_test(test_warnings_of_every_response),
      cmocka_unit_test(test_warnings_of_one_response_are_bounded),
      cmocka_unit_test(test_warnings_of_what_is_over),
      cmocka_unit_test(test_fields_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
