/* SPDX-License-Identifier: MIT */
/* Proves RE-01, RE-03, WS-01 and WS-05 through a whole informer on real
 * sockets, as far as HTTP goes: an answer may end in every way there is, for
 * lists and for watches, split at every byte, and a bad one says what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/client_world.h"

#define OK ANSWER_OK
#define OLD "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n"

static char *join(const char *head, const char *body, const char *tail) {
  size_t size = strlen(head) + strlen(body) + strlen(tail) + 1;
  char *text = malloc(size);
  assert_non_null(text);
  snprintf(text, size, "%s%s%s", head, body, tail);
  return text;
}

/* `body` is 1. to the end of the connection; 2. of a known length; 3. in two
 * chunks, with extensions and a trailer. */
#define FRAMINGS 8
static char *frame(size_t framing, const char *body, loop_then *then) {
  char head[300];
  *then = framing < 3 || framing == 5 ? LOOP_CLOSE : LOOP_KEEP;
  switch (framing) {
  case 0:
    return join(OLD "\r\n", body, "");
  case 1:
    return join(OK "\r\n", body, "");
  case 2:
    return join(OK "Connection: close\r\n\r\n", body, "");
  case 3:
    snprintf(head, sizeof head, OK "Content-Length: %zu\r\n\r\n", strlen(body));
    return join(head, body, "");
  case 4:
    snprintf(head, sizeof head,
             OLD "Connection: keep-alive\r\nContent-Length: %zu\r\n\r\n",
             strlen(body));
    return join(head, body, "");
  case 5:
    snprintf(head, sizeof head,
             OK "Connection: close\r\nContent-Length: %zu\r\n\r\n",
             strlen(body));
    return join(head, body, "");
  case 6:
    snprintf(head, sizeof head,
             "HTTP/1.1 100 Continue\r\n\r\n" CHUNKED "\r\n1;x=\"y\"\r\n%c\r\n"
             "%zx;z\r\n",
             body[0], strlen(body) - 1);
    return join(head, body + 1, "\r\n0\r\nA: b\r\n\r\n");
  default:
    snprintf(head, sizeof head, CHUNKED "Connection: close\r\n\r\n%zx\r\n",
             strlen(body));
    return join(head, body, "\r\n0\r\n\r\n");
  }
}

static void test_answers_list(void **state) {
  (void)state;
  loop_then then;
  char *watch = frame(6, ANSWER_EVENT, &then);
  for (size_t framing = 0; framing < FRAMINGS; framing++) {
    loop_reply replies[2] = {{.slice = 0}, {.bytes = watch}};
    char *list = frame(framing, ANSWER_LIST, &replies[0].then);
    replies[0].bytes = list;
    for (size_t slice = 1; slice <= strlen(list); slice++) {
      replies[0].slice = slice;
      client_world_expect_event(replies, false);
    }
    free(list);
  }
  free(watch);
}

static void test_answers_watch(void **state) {
  (void)state;
  loop_then then;
  char *list = frame(3, ANSWER_LIST, &then);
  for (size_t framing = 0; framing < FRAMINGS; framing++) {
    loop_reply replies[2] = {{.bytes = list}, {.slice = 0}};
    char *watch = frame(framing, ANSWER_EVENT, &replies[1].then);
    replies[1].bytes = watch;
    for (size_t slice = 1; slice <= strlen(watch); slice++) {
      replies[1].slice = slice;
      client_world_expect_event(replies, false);
    }
    free(watch);
  }
  free(list);
}

/* WS-05: a watch whose body is cut off, in order as far as HTTP can tell, in
 * the middle of an event. It is opened again. */
static void test_answers_watch_cut_event(void **state) {
  (void)state;
  loop_then then;
  char *list = frame(3, ANSWER_LIST, &then);
  char *whole = frame(0, ANSWER_EVENT, &then);
  const loop_reply replies[] = {
      {.bytes = list},
      {.bytes = OLD "\r\n{\"type\":\"DELE", .then = LOOP_CLOSE},
      {.bytes = list}, /* it is verified that the server is where it was */
      {.bytes = whole, .then = LOOP_CLOSE}};
  client_world w;
  client_world_serve(&w, replies, 4);
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.deletes > 0);
  assert_int_equal(w.synced, 1); /* without another list */
  client_world_finish(&w);
  free(whole);
  free(list);
}

typedef struct bad {
  const char *bytes;
  loop_then then;
  int code;
  kin_error_class error_class;
  int status;
  const char *text; /* the message has it */
} bad;

static const bad bads[] = {
    /* RE-03. */
    {OK "Content-Length: 0\r\n\r\n", LOOP_KEEP, KIN_ETRUNCATED,
     KIN_CLASS_DECODE, 0,
     "list of pods: the server's answer is empty, 0 bytes long"},
    {CHUNKED "\r\n0\r\n\r\n", LOOP_KEEP, KIN_ETRUNCATED, KIN_CLASS_DECODE, 0,
     "answer is empty, 0 bytes long"},
    {OLD "\r\n", LOOP_CLOSE, KIN_ETRUNCATED, KIN_CLASS_DECODE, 0,
     "answer is empty, 0 bytes long"},
    {OK "Content-Length: 1\r\n\r\n ", LOOP_KEEP, KIN_ETRUNCATED,
     KIN_CLASS_DECODE, 0, "body ended in the middle"},
    {"HTTP/1.1 204 No Content\r\n\r\n", LOOP_KEEP, KIN_ESTATUS,
     KIN_CLASS_SERVER, 204, "the server answered 204, not 200"},
    {"HTTP/1.1 304 Not Modified\r\n\r\n", LOOP_KEEP, KIN_ESTATUS,
     KIN_CLASS_SERVER, 304, "list of pods"},
    /* Less than was promised. */
    {OK "Content-Length: 20\r\n\r\n{\"kind\":\"PodList\"", LOOP_CLOSE, KIN_EEOF,
     KIN_CLASS_CONNECT, 0, "closed the connection in the middle of a body"},
    {CHUNKED "\r\n9\r\n{\"kind\":", LOOP_CLOSE, KIN_EEOF, KIN_CLASS_CONNECT, 0,
     "closed the connection in the middle of a body"},
    /* To the end of the connection, which came too early: JSON tells. */
    {OLD "\r\n{\"kind\":\"PodList\"", LOOP_CLOSE, KIN_ETRUNCATED,
     KIN_CLASS_DECODE, 0, "list of pods: body ended in the middle"},
    {"HTTP/1.1 302 Found\r\nLocation: https://login.example.com/?secret\r\n"
     "Content-Length: 0\r\n\r\n",
     LOOP_KEEP, KIN_ESTATUS, KIN_CLASS_SERVER, 302,
     " answers 302, a redirect to login.example.com; redirects are not "
     "followed"},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
     "Content-Length: 2\r\n\r\n{}",
     LOOP_KEEP, KIN_ECONTENT, KIN_CLASS_PROTOCOL, 0,
     "list of pods: unsupported content type or encoding, type text/html; "
     "charset=utf-8"},
    {OK "Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}", LOOP_KEEP,
     KIN_ECONTENT, KIN_CLASS_PROTOCOL, 0,
     "list of pods: unsupported content type or encoding, encoding br"},
    {OK "Content-Encoding: deflate\r\nContent-Length: 2\r\n\r\n{}", LOOP_KEEP,
     KIN_ECONTENT, KIN_CLASS_PROTOCOL, 0, "encoding deflate"},
    {OK "Content-Encoding: \x1b[31m, gzip\r\nContent-Length: 2\r\n\r\n{}",
     LOOP_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL, 0, "malformed response"},
    {OK "Content-Encoding: \xc3\xa4, gzip\r\nContent-Length: 2\r\n\r\n{}",
     LOOP_KEEP, KIN_ECONTENT, KIN_CLASS_PROTOCOL, 0, "encoding ??, gzip"},
    {OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", LOOP_KEEP,
     KIN_ECONTENT, KIN_CLASS_PROTOCOL, 0, "encoding gzip, chunked"},
};

static void check_bad(const bad *b, size_t slice) {
  loop_reply reply = {.bytes = b->bytes, .slice = slice, .then = b->then};
  client_world w;
  client_world_serve(&w, &reply, 1);
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.errors > 0);
  if (strstr(w.message, b->text) == NULL) {
    fail_msg("\"%s\" has no \"%s\"", w.message, b->text);
  }
  assert_null(strstr(w.message, "secret"));
  assert_int_equal(w.code, b->code);
  assert_int_equal(w.error_class, b->error_class);
  assert_int_equal(w.status, b->status);
  assert_int_equal(w.synced, 0);
  client_world_finish(&w);
}

static void test_answers_bad_lists(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
    for (size_t slice = 1; slice <= strlen(bads[i].bytes); slice += 3) {
      check_bad(&bads[i], slice);
    }
  }
}

/* The same for a watch: only 200 opens one (WS-01). */
static void test_answers_bad_watches(void **state) {
  (void)state;
  loop_then then;
  char *list = frame(3, ANSWER_LIST, &then);
  static const struct {
    const char *bytes;
    int status;
    const char *text;
  } rows[] = {
      {"HTTP/1.1 204 No Content\r\n\r\n", 204, "the server answered 204"},
      {"HTTP/1.1 307 Over There\r\nLocation: //x:y@other/\r\n\r\n", 307,
       "a redirect to other; redirects are not followed"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", 0,
       "type text/html"},
      {OK "Content-Encoding: br\r\n\r\n", 0, "encoding br"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const loop_reply replies[] = {{.bytes = list}, {.bytes = rows[i].bytes}};
    client_world w;
    client_world_serve(&w, replies, 2);
    client_world_open(&w);
    CLIENT_UNTIL(&w, w.errors > 0);
    if (strstr(w.message, rows[i].text) == NULL) {
      fail_msg("\"%s\" has no \"%s\"", w.message, rows[i].text);
    }
    assert_int_equal(w.status, rows[i].status);
    assert_int_equal(w.synced, 1);
    client_world_finish(&w);
  }
  free(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers_list),
      cmocka_unit_test(test_answers_watch),
      cmocka_unit_test(test_answers_watch_cut_event),
      cmocka_unit_test(test_answers_bad_lists),
      cmocka_unit_test(test_answers_bad_watches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
