/* SPDX-License-Identifier: MIT */
/* Proves the transport's part of RE-01, RE-03 and RR-07: every way in which a
 * server may say where its answer ends, interim answers, answers without a
 * body, and redirects, which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define OLD "HTTP/1.0 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

typedef struct row {
  const char *bytes;
  loop_then then;
  int status;
  const char *body;
  bool is_reused; /* the connection carries the next request */
} row;

static const row rows[] = {
    /* HTTP/1.0: to the end of the connection, or so many bytes. */
    {OLD "\r\nhello", LOOP_CLOSE, 200, "hello", false},
    {OLD "Content-Length: 5\r\n\r\nhello", LOOP_CLOSE, 200, "hello", false},
    {OLD "Content-Length: 5\r\n\r\nhello", LOOP_KEEP, 200, "hello", false},
    {OLD "Connection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", LOOP_KEEP,
     200, "hello", true},
    /* The same in HTTP/1.1, with and without a word about it. */
    {OK "\r\nhello", LOOP_CLOSE, 200, "hello", false},
    {OK "Connection: close\r\n\r\nhello", LOOP_CLOSE, 200, "hello", false},
    {OK "Connection: close\r\nContent-Length: 5\r\n\r\nhello", LOOP_KEEP, 200,
     "hello", false},
    {OK "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n0\r\n\r\n",
     LOOP_KEEP, 200, "hello", false},
    {OK "\r\n", LOOP_CLOSE, 200, "", false},
    /* Chunks with extensions and trailers, fields among them that would mean
     * something in a head. */
    {CHUNKED "2;a=b\r\nhe\r\n3;c;d=\"e;f\"\r\nllo\r\n0;g\r\n\r\n", LOOP_KEEP,
     200, "hello", true},
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Encoding: gzip\r\n"
             "Retry-After: 7\r\n\r\n",
     LOOP_KEEP, 200, "hello", true},
    /* Interim answers. */
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n"
     "Content-Length: 9\r\n\r\n" OK "Content-Length: 5\r\n\r\nhello",
     LOOP_KEEP, 200, "hello", true},
    {"HTTP/1.1 102 Processing\r\n\r\n" CHUNKED "5\r\nhello\r\n0\r\n\r\n",
     LOOP_KEEP, 200, "hello", true},
    /* None has a body, whatever is said about it. */
    {"HTTP/1.1 204 No Content\r\n\r\n", LOOP_KEEP, 204, "", true},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", LOOP_KEEP, 304,
     "", true},
    {OK "Content-Length: 0\r\n\r\n", LOOP_KEEP, 200, "", true},
    {CHUNKED "0\r\n\r\n", LOOP_KEEP, 200, "", true},
    {"HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\nhello",
     LOOP_KEEP, 206, "hello", true},
    {"HTTP/1.1 599 Odd\r\nContent-Length: 5\r\n\r\nhello", LOOP_KEEP, 599,
     "hello", true},
};

static void check_row(const row *r, size_t slice, bool is_watch) {
  loop_reply reply = {.bytes = r->bytes, .slice = slice, .then = r->then};
  world w;
  world_setup(&w, &reply, 1);
  for (size_t i = 1; i <= 2; i++) {
    fetch f = {.world = &w};
    assert_int_equal(fetch_start(&f, &w, "/x", is_watch), 0);
    fetch_until_end(&f);
    assert_string_equal(f.error.message, "");
    assert_int_equal(f.status, r->status);
    assert_true(f.is_identity);
    assert_string_equal(f.body != NULL ? f.body : "", r->body);
    fetch_finish(&f);
    assert_int_equal(w.server.accepted, r->is_reused ? 1 : i);
  }
  world_close(&w);
}

/* In pieces of every size, for lists and watches. */
static void test_answers_framings(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (size_t slice = 1; slice <= strlen(rows[i].bytes); slice++) {
      check_row(&rows[i], slice, false);
    }
    check_row(&rows[i], 0, true);
    check_row(&rows[i], 1, true);
  }
}

/* Less than was promised, wherever it ends; more is another test's. */
static void test_answers_too_short(void **state) {
  (void)state;
  static const char *const texts[] = {
      OK "Content-Length: 6\r\n\r\nhello", OLD "Content-Length: 6\r\n\r\nhello",
      CHUNKED "6\r\nhello", CHUNKED "5\r\nhello\r\n",
      CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    loop_reply reply = {.bytes = texts[i], .then = LOOP_CLOSE};
    world w;
    world_setup(&w, &reply, 1);
    fetch f = {.world = &w};
    fetch_run(&f, &w, "/x");
    assert_int_equal(f.error.code, KIN_EEOF);
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    assert_non_null(strstr(f.error.message,
                           "closed the connection in the middle of a body"));
    assert_string_equal(f.body, "hello");
    fetch_finish(&f);
    world_close(&w);
  }
}

static void check_redirect(const char *head, int status, const char *shown,
                           bool is_watch, size_t slice) {
  loop_reply reply = {.bytes = head, .slice = slice};
  world w;
  world_setup(&w, &reply, 1);
  fetch f = {.world = &w};
  assert_int_equal(fetch_start(&f, &w, "/x", is_watch), 0);
  fetch_until_end(&f);
  char message[200];
  snprintf(message, sizeof message,
           "127.0.0.1:%d answers %d, a redirect to %s; redirects are not "
           "followed",
           w.server.port, status, shown);
  assert_string_equal(f.error.message, message);
  assert_int_equal(f.error.code, KIN_ESTATUS);
  assert_int_equal(f.error.error_class, KIN_CLASS_SERVER);
  assert_int_equal(f.error.status, status);
  assert_false(f.error.had_head);
  fetch_finish(&f);
  /* Nobody else is asked. */
  for (int i = 0; i < 10; i++) {
    uv_run(&w.loop, UV_RUN_NOWAIT);
    world_run_tasks(&w);
  }
  assert_int_equal(w.server.requests, 1);
  assert_int_equal(kin__transport_get_stats(w.transport)->connections, 1);
  world_close(&w);
}

/* Never followed: whoever it leads to would get the token. */
static void test_answers_redirects(void **state) {
  (void)state;
  static const int statuses[] = {300, 301, 302, 303, 305, 307, 308, 399};
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    char head[200];
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Elsewhere\r\n"
             "Location: https://u:pw@login.example.com:8443/a?token=secret\r\n"
             "Location: https://second.example.com/\r\n"
             "Content-Length: 5\r\n\r\nhello",
             statuses[i]);
    check_redirect(head, statuses[i], "login.example.com:8443", false, 0);
    check_redirect(head, statuses[i], "login.example.com:8443", true, 1);
  }
  check_redirect("HTTP/1.1 302 Found\r\nLocation: /login?secret\r\n\r\n", 302,
                 "another path", false, 0);
  check_redirect("HTTP/1.1 302 Found\r\nContent-Encoding: gzip\r\n\r\n", 302,
                 "nowhere", false, 0);
}

/* A Location as long as a head may be is of no harm, and of no use beyond its
 * host. */
static void test_answers_long_location(void **state) {
  (void)state;
  char head[5000];
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 302 Found\r\nLocation: https://host/");
  memset(head + length, 'x', 4000);
  memcpy(head + length + 4000, "\r\n\r\n", 5);
  check_redirect(head, 302, "host", false, 0);
  check_redirect(head, 302, "host", false, 7);
}

/* What is kept of a Location may end in the middle of a name and a password,
 * which then look like a host. */
static void test_answers_long_user_info(void **state) {
  (void)state;
  char head[500];
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 302 Found\r\nLocation: https://user:");
  memset(head + length, 'x', 300);
  memcpy(head + length + 300, "@host/\r\n\r\n", 11);
  check_redirect(head, 302, "another host", false, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers_framings),
      cmocka_unit_test(test_answers_too_short),
      cmocka_unit_test(test_answers_redirects),
      cmocka_unit_test(test_answers_long_location),
      cmocka_unit_test(test_answers_long_user_info),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
