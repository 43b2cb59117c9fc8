/* SPDX-License-Identifier: MIT */
/* Proves the HTTP part of RR-01 (Retry-After as whole seconds only), RE-01 and
 * WS-01 (any status and its body come through), and that no response can make
 * the parser keep more than its bounds, whatever the split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "transport/http1.h"

/* What one response led to. */
typedef struct outcome {
  kin__http1 http1;
  kin__http1_head head_room;
  size_t heads;
  size_t bodies;
  int status;
  char content_type[400];
  char etag[KIN__ETAG_MAX + 1];
  int64_t retry_after_s;
  bool is_identity;
  char *body;
  size_t body_length;
  size_t stop_at; /* stops in this callback, from 1; 0: never */
  int err;        /* of the feed that failed, or of the end */
} outcome;

static void maybe_stop(outcome *o) {
  assert_true(o->stop_at == 0 || o->heads + o->bodies <= o->stop_at);
  if (o->heads + o->bodies == o->stop_at) {
    kin__http1_stop(&o->http1);
  }
}

static void on_head(void *ctx, const kin__response_head *head) {
  outcome *o = ctx;
  assert_int_equal(o->bodies, 0);
  o->heads++;
  o->status = head->status;
  o->retry_after_s = head->retry_after_s;
  o->is_identity = head->is_identity;
  snprintf(o->content_type, sizeof o->content_type, KIN_STR_FORMAT,
           KIN_STR_ARG(head->content_type));
  snprintf(o->etag, sizeof o->etag, KIN_STR_FORMAT, KIN_STR_ARG(head->etag));
  maybe_stop(o);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  outcome *o = ctx;
  assert_int_equal(o->heads, 1);
  o->bodies++;
  o->body = realloc(o->body, o->body_length + length + 1);
  assert_non_null(o->body);
  memcpy(o->body + o->body_length, bytes, length);
  o->body_length += length;
  o->body[o->body_length] = '\0';
  maybe_stop(o);
}

static const kin__http1_events events = {on_head, on_body};

static void begin(outcome *o) {
  memset(o, 0, sizeof *o);
  kin__http1_init(&o->http1, &o->head_room, &events, o);
}

/* Feeds a copy of exactly these bytes, so that the sanitizer sees a parser that
 * reads on, or keeps a pointer. */
static int feed(outcome *o, const char *bytes, size_t length) {
  if (o->err != 0 || o->http1.is_stopped) {
    return o->err;
  }
  char *copy = malloc(length > 0 ? length : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, length);
  o->err = kin__http1_parse(&o->http1, copy, length);
  free(copy);
  return o->err;
}

static void end(outcome *o) {
  if (o->err == 0 && !o->http1.is_stopped) {
    o->err = kin__http1_end(&o->http1);
  }
}

static void finish(outcome *o) {
  free(o->body);
}

/* The whole text at once. */
static void parse(outcome *o, const char *text) {
  begin(o);
  feed(o, text, strlen(text));
}

static void assert_same(const outcome *a, const outcome *b) {
  assert_int_equal(a->err, b->err);
  assert_int_equal(a->heads, b->heads);
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->retry_after_s, b->retry_after_s);
  assert_int_equal(a->is_identity, b->is_identity);
  assert_string_equal(a->content_type, b->content_type);
  assert_int_equal(a->body_length, b->body_length);
  if (a->body_length > 0) {
    assert_memory_equal(a->body, b->body, a->body_length);
  }
  assert_int_equal(kin__http1_is_complete(&a->http1),
                   kin__http1_is_complete(&b->http1));
  assert_int_equal(kin__http1_is_reusable(&a->http1),
                   kin__http1_is_reusable(&b->http1));
}

/* Whole, in two pieces at every offset, byte by byte, and stopped in every
 * callback. */
static void sweep(const char *bytes, size_t length, outcome *whole) {
  begin(whole);
  feed(whole, bytes, length);
  end(whole);
  for (size_t i = 0; i <= length; i++) {
    outcome o;
    begin(&o);
    feed(&o, bytes, i);
    feed(&o, bytes + i, length - i);
    end(&o);
    assert_same(&o, whole);
    finish(&o);
  }
  outcome single;
  begin(&single);
  for (size_t i = 0; i < length; i++) {
    feed(&single, bytes + i, 1);
  }
  end(&single);
  assert_same(&single, whole);
  finish(&single);
  for (size_t k = 1; k <= whole->heads + whole->bodies; k++) {
    outcome o;
    begin(&o);
    o.stop_at = k;
    feed(&o, bytes, length);
    assert_int_equal(o.err, 0);
    assert_int_equal(o.heads + o.bodies, k);
    finish(&o);
  }
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *length = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

/* Undoes chunking the simple way. */
static size_t dechunk(const char *bytes, char *to) {
  size_t length = 0;
  for (;;) {
    char *rest = NULL;
    size_t size = strtoul(bytes, &rest, 16);
    bytes = rest + 2;
    if (size == 0) {
      return length;
    }
    memcpy(to + length, bytes, size);
    length += size;
    bytes += size + 2;
  }
}

static void check_wire_file(const char *path) {
  size_t length = 0;
  char *bytes = read_file(path, &length);
  bytes[length] = '\0';
  outcome whole;
  sweep(bytes, length, &whole);
  assert_int_equal(whole.err, 0);
  assert_int_equal(whole.heads, 1);
  assert_int_equal(whole.status, atoi(bytes + strlen("HTTP/1.1 ")));
  assert_true(whole.is_identity);
  assert_true(kin__http1_is_reusable(&whole.http1));

  char *body = strstr(bytes, "\r\n\r\n") + 4;
  size_t body_length = length - (size_t)(body - bytes);
  if (strstr(bytes, "Transfer-Encoding: chunked") != NULL) {
    char *plain = malloc(length);
    assert_non_null(plain);
    body_length = dechunk(body, plain);
    memcpy(body, plain, body_length);
    free(plain);
  }
  assert_int_equal(whole.body_length, body_length);
  if (body_length > 0) {
    assert_memory_equal(whole.body, body, body_length);
  }
  finish(&whole);
  free(bytes);
}

/* Real responses, split at every byte. */
static void test_http1_wire_files(void **state) {
  (void)state;
  const char *folder = getenv("KIN_WIRE_DIR");
  if (folder == NULL) {
    folder = "test/wire";
  }
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  size_t count = 0;
  for (struct dirent *entry = readdir(dir); entry != NULL;
       entry = readdir(dir)) {
    if (strstr(entry->d_name, ".http") != NULL) {
      char path[1024];
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      check_wire_file(path);
      count++;
    }
  }
  closedir(dir);
  assert_true(count >= 20);
}

typedef struct response_case {
  const char *text;
  int err; /* at the end of the stream */
  int status;
  const char *body;
  bool is_reusable;
} response_case;

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const response_case framings[] = {
    {OK "Content-Length: 5\r\n\r\nhello", 0, 200, "hello", true},
    {OK "Content-Length: 0\r\n\r\n", 0, 200, "", true},
    {OK "Content-Length:\t2 \r\n\r\nhi", 0, 200, "hi", true},
    {OK "Content-Length: 5\r\nConnection: close\r\n\r\nhello", 0, 200, "hello",
     false},
    {OK "\r\nuntil the end", 0, 200, "until the end", false},
    {OK "\r\n", 0, 200, "", false},
    {OK "Connection: close\r\n\r\nuntil the end", 0, 200, "until the end",
     false},
    {CHUNKED "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 0, 200, "hello!", true},
    {CHUNKED "005;a;c=\"d\"\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", 0, 200, "hello",
     true},
#if LLHTTP_VERSION_MAJOR > 8 /* 8 refuses an extension after a value */
    {CHUNKED "5;a=b;c=d\r\nhello\r\n0\r\n\r\n", 0, 200, "hello", true},
#endif
    {CHUNKED "0\r\n\r\n", 0, 200, "", true},
    {"HTTP/1.1 204 No Content\r\n\r\n", 0, 204, "", true},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0, 304, "",
     true},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, 200, "hi", false},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    {"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 0, 200, "hi", true},
    {"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 0, 302,
     "", true},
    /* 1xx are skipped, with what they say about themselves. */
    {"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi", 0, 200,
     "hi", true},
    {"HTTP/1.1 103 Early Hints\r\nContent-Type: x/y\r\nRetry-After: 3\r\n"
     "Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n"
     "HTTP/1.1 110 Odd\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    /* Also what they say about the connection. */
    {"HTTP/1.1 103 Early Hints\r\nConnection: close\r\nContent-Length: "
     "7\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    {"HTTP/1.0 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi", 0, 200,
     "hi", true},
    {"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" OK
     "Connection: close\r\nContent-Length: 2\r\n\r\nhi",
     0, 200, "hi", false},
    {"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" OK
     "Content-Length: 2\r\n\r\nhi!",
     0, 200, "hi", false},
    {"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n"
     "Content-Length: 7\r\nContent-Length: 7\r\n\r\n" OK
     "Content-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    {"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nTransfer-Encoding: "
     "x\r\n\r\n" CHUNKED "2\r\nhi\r\n0\r\n\r\n",
     0, 200, "hi", true},
    {"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nContent-Length: "
     "8\r\n\r\n" CHUNKED "2\r\nhi\r\n0\r\n\r\n",
     0, 200, "hi", true},
    {"HTTP/1.1 103 Early Hints\r\nContent-Length: x\r\n\r\n" OK
     "Content-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    {"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n" OK
     "Content-Length: 2\r\n\r\nhi",
     0, 200, "hi", true},
    /* Lengths in several lines, if they agree. */
    {OK "Content-Length: 5\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n"
        "hello",
     0, 200, "hello", true},
    {OK "Content-Length: 0\r\nA: b\r\nContent-Length: 0\r\n\r\n", 0, 200, "",
     true},
    /* A length among the trailers says nothing. */
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 55\r\nX: y\r\n\r\n", 0, 200,
     "hello", true},
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 55\r\n\r\n!", 0, 200, "hello",
     false},
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 55\r\n"
             "Content-Length: 55\r\n\r\n",
     0, 200, "hello", true},
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length: abc\r\n\r\n", 0, 200, "hello",
     true},
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length:\r\n\r\n", 0, 200, "hello",
     true},
    /* Nor does a coding, or a word about the connection. */
    {CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 5\r\n"
             "Transfer-Encoding: gzip\r\n\r\n",
     0, 200, "hello", true},
    {CHUNKED "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n"
             "Content-Length: 5\r\n\r\n",
     0, 200, "hello", true},
    {CHUNKED "5\r\nhello\r\n0\r\nConnection: close\r\n\r\n", 0, 200, "hello",
     true},
    /* More than one response. */
    {OK "Content-Length: 2\r\n\r\nhi!", 0, 200, "hi", false},
    {CHUNKED "0\r\n\r\n" OK "\r\n", 0, 200, "", false},
    {"HTTP/1.1 204 No Content\r\n\r\nx", 0, 204, "", false},
    /* Cut off. */
    {"", KIN_EEOF, 0, "", false},
    {"HTTP/1.1 200 O", KIN_EEOF, 0, "", false},
    {OK "Content-Length: 5\r\n", KIN_EEOF, 0, "", false},
    {OK "Content-Length: 5\r\n\r\nhell", KIN_EEOF, 200, "hell", false},
    {CHUNKED "5\r\nhel", KIN_EEOF, 200, "hel", false},
    {CHUNKED "5\r\nhello\r\n", KIN_EEOF, 200, "hello", false},
    {CHUNKED "5\r\nhello\r\n0\r\n", KIN_EEOF, 200, "hello", false},
    {"HTTP/1.1 100 Continue\r\n\r\n", KIN_EEOF, 0, "", false},
    /* Malformed. */
    {"garbage\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"\x16\x03\x01\x02", KIN_EHTTP, 0, "", false},
    {"GET / HTTP/1.1\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/2.0 200 OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/0.9 200 OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/1.1 20 OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/1.1 2000 OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/1.1 099 OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/1.1 abc OK\r\n\r\n", KIN_EHTTP, 0, "", false},
    {"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
     KIN_EHTTP, 0, "", false},
    {OK "No colon\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK " Folded: x\r\n\r\n", KIN_EHTTP, 0, "", false},
#if LLHTTP_VERSION_MAJOR > 8 /* 8 joins the lines */
    {OK "A: b\r\n folded\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK "A: b\r\n\tfolded\r\n\r\n", KIN_EHTTP, 0, "", false},
#endif
#if LLHTTP_VERSION_MAJOR > 8 /* 8 is less strict */
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", KIN_EHTTP, 0, "", false},
    {OK "A: b\nContent-Length: 2\r\n\r\nhi", KIN_EHTTP, 0, "", false},
    {CHUNKED "5 \r\nhello\r\n0\r\n\r\n", KIN_EHTTP, 200, "", false},
    {CHUNKED "5 ;a\r\nhello\r\n0\r\n\r\n", KIN_EHTTP, 200, "", false},
    {OK "Content-Length: 2\t\r\n\r\nhi", KIN_EHTTP, 0, "", false},
#endif
    {OK "A\x01: b\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK "A: b\x01\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", KIN_EHTTP, 0, "",
     false},
    {OK "Content-Length: 5\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
     KIN_EHTTP, 0, "", false},
    {OK "Content-Length: 5\r\nContent-Length: 5x\r\n\r\n", KIN_EHTTP, 0, "",
     false},
    {OK "Content-Length: 5\r\nContent-Length:\r\n\r\n", KIN_EHTTP, 0, "",
     false},
    {OK "Content-Length: 5, 5\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK "Content-Length: 5\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n",
     KIN_EHTTP, 0, "", false},
    {OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", KIN_EHTTP, 0,
     "", false},
    {"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: x\r\nContent-Length: "
     "7\r\n\r\n" OK "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi",
     KIN_EHTTP, 0, "", false},
    {OK "Content-Length: -1\r\n\r\n", KIN_EHTTP, 0, "", false},
    {OK "Content-Length: 99999999999999999999\r\n\r\n", KIN_EHTTP, 0, "",
     false},
    {OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", KIN_EHTTP, 0,
     "", false},
    {CHUNKED "x\r\n", KIN_EHTTP, 200, "", false},
    {CHUNKED "fffffffffffffffff\r\n", KIN_EHTTP, 200, "", false},
#if LLHTTP_VERSION_MAJOR > 8 /* 8 skips two bytes, whatever they are */
    {CHUNKED "5\r\nhelloX", KIN_EHTTP, 200, "hello", false},
#endif
    {CHUNKED "5\nhello\r\n", KIN_EHTTP, 200, "", false},
};

static void test_http1_framings(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof framings / sizeof framings[0]; i++) {
    const response_case *c = &framings[i];
    outcome o;
    sweep(c->text, strlen(c->text), &o);
    if (o.err != c->err || o.status != c->status ||
        strcmp(o.body != NULL ? o.body : "", c->body) != 0 ||
        kin__http1_is_reusable(&o.http1) != c->is_reusable) {
      fail_msg("case %zu: err %d (%s), status %d, body \"%s\", reusable %d", i,
               o.err, kin__http1_reason(&o.http1), o.status,
               o.body != NULL ? o.body : "", kin__http1_is_reusable(&o.http1));
    }
    if (c->err == 0 && strstr(c->text, "103 Early") != NULL) {
      assert_string_equal(o.content_type, "");
      assert_int_equal(o.retry_after_s, -1);
      assert_true(o.is_identity);
    }
    if (c->err == KIN_EHTTP) {
      assert_non_null(o.http1.reason);
      assert_true(o.http1.reason[0] != '\0');
    }
    finish(&o);
  }
}

/* Bytes after the response make the connection unusable even if they come in a
 * read of their own; they are not parsed. */
static void test_http1_extra_bytes_later(void **state) {
  (void)state;
  outcome o;
  parse(&o, OK "Content-Length: 2\r\n\r\nhi");
  assert_true(kin__http1_is_reusable(&o.http1));
  assert_int_equal(feed(&o, OK "\r\n", strlen(OK "\r\n")), 0);
  assert_int_equal(o.heads, 1);
  assert_true(kin__http1_is_complete(&o.http1));
  assert_false(kin__http1_is_reusable(&o.http1));
  finish(&o);
}

typedef struct field_case {
  const char *lines;
  const char *content_type;
  int64_t retry_after_s;
  bool is_identity;
} field_case;

static const field_case fields[] = {
    {"", "", -1, true},
    {"Content-Type: application/json\r\n", "application/json", -1, true},
    {"content-TYPE:text/plain; charset=utf-8 \t\r\n",
     "text/plain; charset=utf-8", -1, true},
    {"Content-Type:\r\n", "", -1, true},
    {"Content-Type: a/b\r\nContent-Type: c/d\r\n", "a/b", -1, true},
    {"Content-Types: a/b\r\nContent-Typ: c/d\r\n", "", -1, true},
    {"A-Name-That-Is-Longer-Than-Content-Type: a/b\r\n", "", -1, true},
    {"Retry-After: 0\r\n", "", 0, true},
    {"retry-after:  120  \r\n", "", 120, true},
    {"Retry-After: 1\r\nRetry-After: 2\r\n", "", 1, true},
    {"Retry-After: Fri, 20 Nov 2026 21:31:24 GMT\r\n", "", -1, true},
    {"Retry-After: -1\r\n", "", -1, true},
    {"Retry-After: +1\r\n", "", -1, true},
    {"Retry-After: 1.5\r\n", "", -1, true},
    {"Retry-After: 0x10\r\n", "", -1, true},
    {"Retry-After:\r\n", "", -1, true},
    {"Retry-After: 2147483648\r\n", "", INT32_MAX, true},
    {"Retry-After: 18446744073709551616\r\n", "", -1, true},
    {"Retry-After: 00000000000000000000000000000000000000000000000000000000000"
     "000000000000000000000000000000000000000000000000000000000000000000001\r"
     "\n",
     "", -1, true},
    {"Content-Encoding: identity\r\n", "", -1, true},
    {"Content-Encoding:\r\n", "", -1, true},
    {"Content-Encoding: Identity \r\n", "", -1, true},
    {"Content-Encoding: gzip\r\n", "", -1, false},
    {"Content-Encoding: gzip\r\nContent-Encoding: identity\r\n", "", -1, false},
    {"Content-Encoding: identity, gzip\r\n", "", -1, false},
    {"Content-Encoding: identityidentityidentityidentityidentityidentityidentit"
     "yidentity\r\n",
     "", -1, false},
    {"Transfer-Encoding: gzip, chunked\r\n", "", -1, false},
    {"Transfer-Encoding: Chunked\r\n", "", -1, true},
};

static void test_http1_fields(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    const field_case *c = &fields[i];
    char text[1024];
    snprintf(text, sizeof text, OK "%s\r\n", c->lines);
    outcome o;
    sweep(text, strlen(text), &o);
    if (o.heads != 1 || strcmp(o.content_type, c->content_type) != 0 ||
        o.retry_after_s != c->retry_after_s ||
        o.is_identity != c->is_identity) {
      fail_msg("case %zu: type \"%s\", retry %lld, identity %d", i,
               o.content_type, (long long)o.retry_after_s, o.is_identity);
    }
    finish(&o);
  }
}

/* A tag that cannot be sent back is none. */
static void test_http1_etag(void **state) {
  (void)state;
  char longest[KIN__ETAG_MAX + 1];
  char too_long[KIN__ETAG_MAX + 2];
  snprintf(longest, sizeof longest, "\"%0*d\"", (int)KIN__ETAG_MAX - 2, 7);
  snprintf(too_long, sizeof too_long, "\"%0*d\"", (int)KIN__ETAG_MAX - 1, 7);
  const char *const cases[][2] = {
      {"\"\"", "\"\""},
      {"\"a-Z!~\"", "\"a-Z!~\""},
      {"W/\"1\"  ", "W/\"1\""},
      {longest, longest},
      {too_long, ""},
      {"", ""},
      {"\"", ""},
      {"W/", ""},
      {"W/\"", ""},
      {"abc", ""},
      {"\"a", ""},
      {"\"a\"b\"", ""},
      {"\"a b\"", ""},
      {"\"a\tb\"", ""},
      {"\"\xc3\xa4\"", ""},
      {"\"1\"\r\nETag: \"2\"", "\"1\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    snprintf(text, sizeof text, OK "etag: %s\r\n\r\n", cases[i][0]);
    outcome o;
    sweep(text, strlen(text), &o);
    assert_int_equal(o.heads, 1);
    assert_string_equal(o.etag, cases[i][1]);
    finish(&o);
  }
}

static void test_http1_content_type_is_cut(void **state) {
  (void)state;
  char text[1024];
  char type[301];
  memset(type, 'x', 300);
  type[300] = '\0';
  snprintf(text, sizeof text,
           OK "Content-Type: %s\r\nRetry-After: 7\r\n"
              "Content-Length: 0\r\n\r\n",
           type);
  outcome o;
  sweep(text, strlen(text), &o);
  assert_int_equal(strlen(o.content_type), 256);
  assert_int_equal(o.retry_after_s, 7);
  finish(&o);
}

/* A head of exactly 64 KiB is taken; one byte more is refused, whatever the
 * bytes are and however they are split. */
static void check_head_size(size_t size, char filler, size_t piece, int err) {
  const char *start = OK "Content-Length: 2\r\nX: ";
  char *text = malloc(size + 2);
  assert_non_null(text);
  memset(text, filler, size);
  memcpy(text, start, strlen(start));
  memcpy(text + size - 5, "x\r\n\r\nhi", 7);
  outcome o;
  begin(&o);
  for (size_t i = 0; i < size + 2; i += piece) {
    feed(&o, text + i, piece < size + 2 - i ? piece : size + 2 - i);
  }
  assert_int_equal(o.err, err);
  assert_int_equal(o.heads, err == 0);
  if (err == 0) {
    assert_true(kin__http1_is_reusable(&o.http1));
    assert_string_equal(o.body, "hi");
  } else {
    assert_string_equal(kin__http1_reason(&o.http1), "head over 64 KiB");
  }
  finish(&o);
  free(text);
}

static void test_http1_head_bytes(void **state) {
  (void)state;
  static const size_t pieces[] = {1, 7, 4096, 65536, 100000};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    check_head_size(KIN__HTTP1_MAX_HEAD_BYTES, 'x', pieces[i], 0);
    check_head_size(KIN__HTTP1_MAX_HEAD_BYTES + 1, 'x', pieces[i], KIN_EHTTP);
    check_head_size(KIN__HTTP1_MAX_HEAD_BYTES, ' ', pieces[i], 0);
    check_head_size(KIN__HTTP1_MAX_HEAD_BYTES + 1, ' ', pieces[i], KIN_EHTTP);
  }
}

/* Feeds `piece` again and again until it is refused. */
static void check_bomb(const char *start, const char *piece, size_t max_pieces,
                       const char *reason) {
  outcome o;
  parse(&o, start);
  size_t count = 0;
  while (o.err == 0 && count <= max_pieces) {
    feed(&o, piece, strlen(piece));
    count++;
  }
  assert_int_equal(o.err, KIN_EHTTP);
  assert_string_equal(kin__http1_reason(&o.http1), reason);
  assert_true(count <= max_pieces + 1);
  finish(&o);
}

static void test_http1_bombs(void **state) {
  (void)state;
  check_bomb(OK, "A: b\r\n", 256, "over 256 header lines");
  check_bomb(OK, "A:\r\n", 256, "over 256 header lines");
  check_bomb(CHUNKED "0\r\n", "A: b\r\n", 256, "over 256 header lines");
  check_bomb("", "HTTP/1.1 103 Early Hints\r\n\r\n",
             KIN__HTTP1_MAX_HEAD_BYTES / 28 + 1, "head over 64 KiB");
  check_bomb("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", 256,
             "over 256 header lines");
  check_bomb("HTTP/1.1 200 ", "reason ", KIN__HTTP1_MAX_HEAD_BYTES / 7 + 1,
             "head over 64 KiB");
  check_bomb(OK "A:", "        ", KIN__HTTP1_MAX_HEAD_BYTES / 8 + 1,
             "head over 64 KiB");
  check_bomb(OK, "aaaaaaaa", KIN__HTTP1_MAX_HEAD_BYTES / 8 + 1,
             "head over 64 KiB");
  check_bomb(CHUNKED "0\r\nA: ", "aaaaaaaa", KIN__HTTP1_MAX_EXTRA_BYTES / 8 + 1,
             "trailers over 16 KiB");
  check_bomb(CHUNKED "5;", "aaaaaaaa", KIN__HTTP1_MAX_EXTRA_BYTES / 8 + 1,
             "chunk extensions over 16 KiB");
  check_bomb(CHUNKED, "00000000", KIN__HTTP1_MAX_BARE_BYTES / 8 + 1,
             "128 KiB without a byte of the body");
  check_bomb(CHUNKED "0\r\nA:", "        ", KIN__HTTP1_MAX_BARE_BYTES / 8 + 1,
             "128 KiB without a byte of the body");
}

/* Two bytes of a body with `size` other bytes between them. */
static void check_bare_size(size_t size, size_t piece, int err) {
  const char *start = CHUNKED "1\r\na";
  size_t begin_at = strlen(start);
  size_t whole = begin_at + size + 8;
  char *text = malloc(whole);
  assert_non_null(text);
  memset(text, '0', whole);
  memcpy(text, start, begin_at);
  memcpy(text + begin_at, "\r\n", 2);
  memcpy(text + whole - 11, "1\r\nb\r\n0\r\n\r\n", 11);
  outcome o;
  begin(&o);
  for (size_t i = 0; i < whole; i += piece) {
    feed(&o, text + i, piece < whole - i ? piece : whole - i);
  }
  assert_int_equal(o.err, err);
  assert_string_equal(o.body, err == 0 ? "ab" : "a");
  assert_int_equal(kin__http1_is_reusable(&o.http1), err == 0);
  finish(&o);
  free(text);
}

static void test_http1_bare_bytes(void **state) {
  (void)state;
  static const size_t pieces[] = {1, 7, 4096, 65536, 400000};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    check_bare_size(KIN__HTTP1_MAX_BARE_BYTES - 1, pieces[i], 0);
    check_bare_size(KIN__HTTP1_MAX_BARE_BYTES, pieces[i], KIN_EHTTP);
  }
}

/* Chunks of one byte each: most bytes are none of the body. */
static void test_http1_tiny_chunks(void **state) {
  (void)state;
  outcome o;
  parse(&o, CHUNKED);
  for (size_t i = 0; i < KIN__HTTP1_MAX_BARE_BYTES / 4; i++) {
    feed(&o, "1\r\nx\r\n", 6);
  }
  feed(&o, "0\r\n\r\n", 5);
  assert_int_equal(o.err, 0);
  assert_int_equal(o.body_length, KIN__HTTP1_MAX_BARE_BYTES / 4);
  assert_true(kin__http1_is_reusable(&o.http1));
  finish(&o);
}

/* 256 lines, the bound, are taken; extensions count for each chunk alone. */
static void test_http1_below_the_bounds(void **state) {
  (void)state;
  outcome o;
  parse(&o, OK "Content-Length: 0\r\n");
  for (int i = 0; i < 255; i++) {
    feed(&o, "A: b\r\n", 6);
  }
  feed(&o, "\r\n", 2);
  assert_int_equal(o.err, 0);
  assert_true(kin__http1_is_reusable(&o.http1));
  finish(&o);

  parse(&o, CHUNKED);
  char chunk[16000];
  memset(chunk, 'e', sizeof chunk);
  memcpy(chunk, "1;", 2);
  memcpy(chunk + sizeof chunk - 5, "\r\nx\r\n", 5);
  for (int i = 0; i < 10; i++) {
    feed(&o, chunk, sizeof chunk);
  }
  feed(&o, "0\r\n\r\n", 5);
  assert_int_equal(o.err, 0);
  assert_true(kin__http1_is_reusable(&o.http1));
  assert_string_equal(o.body, "xxxxxxxxxx");
  finish(&o);
}

/* The memory serves for the next response. */
static void test_http1_init_again(void **state) {
  (void)state;
  outcome o;
  parse(&o, "nonsense");
  assert_int_equal(o.err, KIN_EHTTP);
  kin__http1_init(&o.http1, &o.head_room, &events, &o);
  o.err = 0;
  feed(&o, OK "Content-Length: 0\r\n\r\n", strlen(OK) + 21);
  assert_int_equal(o.err, 0);
  assert_true(kin__http1_is_reusable(&o.http1));
  finish(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_http1_wire_files),
      cmocka_unit_test(test_http1_framings),
      cmocka_unit_test(test_http1_extra_bytes_later),
      cmocka_unit_test(test_http1_fields),
      cmocka_unit_test(test_http1_etag),
      cmocka_unit_test(test_http1_content_type_is_cut),
      cmocka_unit_test(test_http1_head_bytes),
      cmocka_unit_test(test_http1_bombs),
      cmocka_unit_test(test_http1_bare_bytes),
      cmocka_unit_test(test_http1_tiny_chunks),
      cmocka_unit_test(test_http1_below_the_bounds),
      cmocka_unit_test(test_http1_init_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
