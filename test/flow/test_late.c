/* SPDX-License-Identifier: MIT */

/* A client whose server is found later, and changes: requests that wait, that
 * fail, and that go on elsewhere. The finder is the test's. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include <kin/kin.h>
#include <kin/watch.h>

#include "client/host.h"
#include "connect/late.h"
#include "support/client_world.h"
#include "transport/handle.h"

#define BAD_SERVER "ftp://nowhere"
#define REFUSED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"

static const loop_reply list_and_watch[] = {
    {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE}, {.bytes = ANSWER_CHUNKED}};
static const loop_reply only_watch[] = {{.bytes = ANSWER_WATCHED}};
static const loop_reply only_refuse[] = {{.bytes = REFUSED}};
static const loop_reply verify_and_watch[] = {
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
    {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
    {.bytes = ANSWER_WATCHED}};

typedef enum answer {
  FOUND_A,
  FOUND_A_TLS, /* which the server does not speak */
  FOUND_B,
  MOVED_TO_A, /* maybe another cluster */
  MOVED_TO_B,
  FOUND_BAD,
  SAME,
  FAILED,
  NONE
} answer;

/* Finds the server of the world, or another one. */
typedef struct finder {
  client_world *world;
  loop_server other;
  const answer *answers; /* the last one is repeated */
  size_t answer_count;
  size_t searches;
  kin__late *late;
  kin__tick found;
  kin__tick gone;
  void (*closed_cb)(void *ctx);
  void *closed_ctx;
  bool is_closed;
  unsigned opened; /* servers that the route has taken */
  unsigned refused;
  uint32_t fresh_ms;
  uint32_t retry_ms;
} finder;

/* --- The finder ----------------------------------------------------------- */

static void find(finder *f, const char *server, bool is_moved) {
  kin_client_options options = *kin__late_options(f->late);
  options.server = server;
  kin__late_found(f->late, &options, is_moved);
}

static void on_found(kin__tick *tick) {
  finder *f = KIN__CONTAINER_OF(tick, finder, found);
  if (f->is_closed) {
    return;
  }
  size_t last = f->answer_count - 1;
  size_t n = f->searches - 1;
  char url[64];
  kin_client_options options = *kin__late_options(f->late);
  switch (f->answers[n < last ? n : last]) {
  case FOUND_A:
    find(f, f->world->server.url, false);
    break;
  case FOUND_A_TLS:
    snprintf(url, sizeof url, "https://127.0.0.1:%d", f->world->server.port);
    options.server = url;
    options.token = "t";
    options.insecure_skip_tls_verify = true;
    kin__late_found(f->late, &options, false);
    break;
  case FOUND_B:
    find(f, f->other.url, false);
    break;
  case MOVED_TO_A:
    find(f, f->world->server.url, true);
    break;
  case MOVED_TO_B:
    find(f, f->other.url, true);
    break;
  case FOUND_BAD:
    find(f, BAD_SERVER, false);
    break;
  case SAME:
    kin__late_same(f->late);
    break;
  case FAILED:
    kin__late_failed(f->late, KIN_EINVAL, KIN_CLASS_AUTH, "no settings");
    break;
  case NONE:
    break;
  }
}

static void search(void *ctx, kin__late *late) {
  finder *f = ctx;
  f->late = late;
  f->searches++;
  kin__tick_request(&f->found, &f->world->loop);
}

static void on_gone(kin__tick *tick) {
  finder *f = KIN__CONTAINER_OF(tick, finder, gone);
  f->closed_cb(f->closed_ctx);
}

static void close_finder(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx) {
  finder *f = ctx;
  assert_false(f->is_closed);
  f->is_closed = true;
  f->closed_cb = cb;
  f->closed_ctx = cb_ctx;
  kin__tick_request(&f->gone, &f->world->loop);
}

static void on_opened(void *ctx, bool is_in_use) {
  finder *f = ctx;
  f->opened += is_in_use;
  f->refused += !is_in_use;
}

static int open_route(kin__route *out, const kin__server_place *place,
                      const kin_client_options *options, void *ctx) {
  finder *f = ctx;
  const kin__finder ops = {.search = search,
                           .close = close_finder,
                           .opened = on_opened,
                           .ctx = f,
                           .fresh_ms = f->fresh_ms,
                           .retry_ms = f->retry_ms};
  return kin__late_open(out, place, options, &ops);
}

/* --- The world ------------------------------------------------------------ */

static int open_late(client_world *w) {
  return kin__client_open(&w->client, &w->loop, &w->options, open_route,
                          w->data);
}

static void set_up(client_world *w, finder *f, const answer *answers,
                   size_t count, const loop_reply *replies_of_b,
                   size_t reply_count) {
  client_world_serve(w, list_and_watch, 2);
  w->options.server = NULL;
  w->open = open_late;
  w->data = f;
  *f = (finder){
      .world = w, .answers = answers, .answer_count = count, .fresh_ms = 60000};
  loop_server_open(&f->other, &w->loop, replies_of_b, reply_count);
  kin__tick_init(&f->found, on_found);
  kin__tick_init(&f->gone, on_gone);
}

static void finish(client_world *w, finder *f) {
  loop_server_close(&f->other);
  client_world_finish(w);
  assert_int_equal(f->is_closed, w->clients_opened);
}

/* --- Tests ---------------------------------------------------------------- */

static void test_late_requests_wait(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  client_world_open(&w);
  assert_int_equal(w.server.accepted, 0);
  CLIENT_UNTIL(&w, w.synced == 1 && w.server.requests == 2);
  assert_int_equal(w.adds, 2);
  assert_int_equal(w.errors, 0);
  assert_int_equal(f.searches, 1); /* the watch needs no other one */
  assert_int_equal(kin__env_server_generation(kin__client_host(w.client)->env),
                   0);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w.client, &stats), 0);
  assert_int_equal(stats.requests, 2);
  finish(&w, &f);
}

/* Each failure is told, the next request searches anew, and a server that is
 * found at last is used. Two failures: the second finds what was not reset. */
static void test_late_failures_are_told(void **state) {
  (void)state;
  static const answer answers[] = {FAILED, FOUND_BAD, FOUND_A};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, only_watch, 1);
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.errors == 1);
  assert_string_equal(w.message, "no settings");
  assert_int_equal(w.error_class, KIN_CLASS_AUTH);
  CLIENT_UNTIL(&w, w.errors == 2);
  assert_non_null(strstr(w.message, "server: \"ftp://nowhere\""));
  /* The last call that opened something was that of the informer. */
  assert_string_equal(kin_client_problem(w.client), "");
  assert_int_equal(f.refused, 1);
  CLIENT_UNTIL(&w, w.synced == 1);
  assert_int_equal(f.searches, 3);
  assert_int_equal(f.opened, 1);
  assert_int_equal(f.refused, 1);
  finish(&w, &f);
}

/* The list comes from one server. The search before the watch finds another
 * one, and so does the search after a refusal. */
static void test_late_other_settings(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, FOUND_B, SAME};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, only_watch, 1);
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.deletes == 1);
  assert_int_equal(w.server.requests, 1);
  assert_int_equal(f.other.requests, 1);
  assert_non_null(strstr(f.other.last_request, "resourceVersion=7"));
  assert_int_equal(w.errors, 0);
  assert_int_equal(kin__env_server_generation(kin__client_host(w.client)->env),
                   1);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w.client, &stats), 0);
  assert_int_equal(stats.requests, 2); /* the first server's counts, too */
  finish(&w, &f);
}

static void on_other_head(void *ctx, const kin__response_head *head) {
  (void)ctx;
  assert_int_equal(head->status, 200);
}

static void on_other_body(void *ctx, const char *bytes, size_t length) {
  (void)ctx;
  (void)bytes;
  (void)length;
}

static void on_other_end(void *ctx, const kin__exchange_error *error) {
  assert_null(error);
  *(bool *)ctx = true;
}

/* Starts a request beside those of the informer. */
static void *start_other(client_world *w, bool *has_ended) {
  static const kin__exchange_callbacks callbacks = {.on_head = on_other_head,
                                                    .on_body = on_other_body,
                                                    .on_end = on_other_end};
  static const kin__request request = {.target = "/x", .accept = "*/*"};
  const kin__transport_ops *ops = &kin__client_host(w->client)->env->transport;
  void *exchange;
  *has_ended = false;
  assert_int_equal(
      ops->start(ops->ctx, &request, &callbacks, has_ended, &exchange), 0);
  return exchange;
}

typedef struct numbered {
  uint64_t connection;
  bool has_ended;
} numbered;

static void on_numbered_head(void *ctx, const kin__response_head *head) {
  ((numbered *)ctx)->connection = head->connection;
}

static void on_numbered_end(void *ctx, const kin__exchange_error *error) {
  assert_null(error);
  ((numbered *)ctx)->has_ended = true;
}

/* Each server's transport counts its connections from 1. A connection of one
 * server must not be taken for one of another: the proof of a verify rests on
 * these numbers. */
static void test_late_connections_differ(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, FOUND_B, FOUND_A, SAME};
  static const kin__exchange_callbacks callbacks = {.on_head = on_numbered_head,
                                                    .on_body = on_other_body,
                                                    .on_end = on_numbered_end};
  static const kin__request request = {.target = "/x", .accept = "*/*"};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 4, list_and_watch, 1);
  loop_server_answer(&w.server, list_and_watch, 1);
  f.fresh_ms = 0;
  assert_int_equal(client_world_open_client(&w), 0);
  const kin__transport_ops *ops = &kin__client_host(w.client)->env->transport;
  numbered n[3] = {{0}};
  for (size_t i = 0; i < 3; i++) {
    void *exchange;
    assert_int_equal(
        ops->start(ops->ctx, &request, &callbacks, &n[i], &exchange), 0);
    CLIENT_UNTIL(&w, n[i].has_ended);
  }
  assert_true(n[0].connection != n[1].connection);
  assert_true(n[1].connection != n[2].connection);
  assert_true(n[0].connection != n[2].connection);
  finish(&w, &f);
}

#define CROWD 100u
#define CALLS_PER_STEP 16u

static void on_crowd_end(void *ctx, const kin__exchange_error *error) {
  assert_string_equal(error->message, "no settings");
  ++*(size_t *)ctx;
}

/* Many requests wait. A step ends a few of them; with the least budget a turn
 * has one step. */
static void test_late_serves_in_steps(void **state) {
  (void)state;
  static const answer answers[] = {FAILED};
  static const kin__exchange_callbacks callbacks = {.on_head = on_other_head,
                                                    .on_body = on_other_body,
                                                    .on_end = on_crowd_end};
  static const kin__request request = {.target = "/x", .accept = "*/*"};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.budget_us = 1;
  assert_int_equal(client_world_open_client(&w), 0);
  const kin__transport_ops *ops = &kin__client_host(w.client)->env->transport;
  size_t ends = 0;
  for (size_t i = 0; i < CROWD; i++) {
    void *exchange;
    assert_int_equal(
        ops->start(ops->ctx, &request, &callbacks, &ends, &exchange), 0);
  }
  while (ends < CROWD) {
    size_t before = ends;
    uv_run(&w.loop, UV_RUN_ONCE);
    assert_in_range(ends - before, 0, CALLS_PER_STEP);
  }
  finish(&w, &f);
}

/* The search for another request finds another server. So the watch is broken,
 * and goes on there from its version. */
static void test_late_running_watch_moves(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, SAME, FOUND_B, SAME};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 4, verify_and_watch, 3);
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 2);
  bool has_ended;
  (void)start_other(&w, &has_ended);
  CLIENT_UNTIL(&w, w.deletes == 1);
  assert_true(has_ended);
  assert_int_equal(w.errors, 1);
  assert_non_null(strstr(w.message, "settings of the server have changed"));
  assert_int_equal(f.other.requests, 3);
  assert_int_equal(w.adds, 2); /* nothing is listed again */
  finish(&w, &f);
}

/* KC-12: the same with a server that may be another cluster's, twice: the watch
 * loses its position, and a list follows. A request that was made before ends
 * at the server that was replaced, and says so. */
static void test_late_moves_to_another_cluster(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, MOVED_TO_B, SAME,
                                   SAME,    MOVED_TO_A, SAME};
  static const loop_reply here[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_WATCHED}};
  static const loop_reply there[] = {
      {.bytes = ANSWER_CHUNKED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_TO_END ANSWER_PODS("9", ANSWER_POD("x", "3", "9")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED, .then = LOOP_CLOSE}};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 6, there, 3);
  loop_server_answer(&w.server, here, 4);
  w.retry_after_ms = 1;
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.adds == 3 && w.deletes == 2); /* a and b */
  assert_int_equal(w.code, KIN_EGONE);
  assert_int_equal(w.error_class, KIN_CLASS_SERVER);
  assert_int_equal(w.status, 0);
  w.code = 0;
  CLIENT_UNTIL(&w, w.adds == 5);
  assert_int_equal(w.code, KIN_EGONE);
  CLIENT_UNTIL(&w, w.deletes == 4); /* x, and a with the last watch */
  finish(&w, &f);
}

#define POD_OF(x)                                                              \
  "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1\","           \
  "\"resourceVersion\":\"5\"},\"x\":\"" x "\"}"
#define POSITION_LOST                                                          \
  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"          \
  "\"reason\":\"Expired\"}}\n"

static void expect_text(const client_world *w, const char *part) {
  const kin_object *object =
      kin_store_get(kin_informer_store(w->informer), KIN_STR("n/a"));
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  kin_str json = kin_object_view_json(view);
  char text[256];
  snprintf(text, sizeof text, "%.*s", (int)json.length, json.data);
  assert_non_null(strstr(text, part));
  kin_object_view_close(view);
}

/* KC-12: the first request at the new address is a list, after a lost position.
 * A restored backup has other content under the same uid and version. */
static void test_late_list_moves_to_another_cluster(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, SAME, MOVED_TO_B, SAME};
  static const loop_reply here[] = {
      {.bytes = ANSWER_TO_END ANSWER_PODS("7", POD_OF("old")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_TO_END POSITION_LOST, .then = LOOP_CLOSE}};
  static const loop_reply there[] = {
      {.bytes = ANSWER_TO_END ANSWER_PODS("9", POD_OF("new")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 4, there, 2);
  loop_server_answer(&w.server, here, 2);
  w.retry_after_ms = 1;
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.synced == 1);
  expect_text(&w, "old");
  CLIENT_UNTIL(&w, f.other.requests == 2);
  expect_text(&w, "new");
  finish(&w, &f);
}

typedef struct ends {
  int count;
  int code;
  int errors;
} ends;

static void on_only_event(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
}

static void on_only_end(int code, void *data) {
  ends *e = data;
  e->count++;
  e->code = code;
}

static void on_only_error(kin_error_event *event, void *data) {
  (void)event;
  ends *e = data;
  e->errors++;
}

/* KC-12, TW-04: each answer of another cluster ends a retry watcher, also one
 * that would be retried. */
static void test_late_retry_watcher_meets_another_cluster(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, MOVED_TO_B, SAME};
  static const loop_reply here[] = {
      {.bytes = ANSWER_TO_END ANSWER_CHANGE("ADDED", ANSWER_POD("a", "1", "8")),
       .then = LOOP_CLOSE}};
  static const loop_reply there[] = {
      {.bytes = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"},
      {.bytes = "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"},
      {.bytes = ANSWER_CHUNKED}};
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
    client_world w;
    finder f;
    set_up(&w, &f, answers, 3, &there[i], 1);
    loop_server_answer(&w.server, here, 1);
    f.fresh_ms = 0;
    client_world_open_client(&w);
    kin_informer_options pods = KIN_INFORMER_OPTIONS_INIT;
    pods.plural = "pods";
    ends e = {0};
    kin_retry_watcher_options options = KIN_RETRY_WATCHER_OPTIONS_INIT;
    options.resource = &pods;
    options.resource_version = "7";
    options.on_event = on_only_event;
    options.on_end = on_only_end;
    options.on_error = on_only_error;
    options.data = &e;
    kin_retry_watcher *watcher;
    assert_int_equal(kin_retry_watcher_open(&watcher, w.client, &options), 0);
    CLIENT_UNTIL(&w, e.count == 1 || f.other.requests == 2);
    assert_int_equal(f.other.requests, 1);
    assert_int_equal(e.count, 1);
    assert_int_equal(e.code, KIN_EGONE);
    assert_int_equal(e.errors, 0);
    finish(&w, &f);
  }
}

static void count_referenced(uv_handle_t *handle, void *arg) {
  *(size_t *)arg += handle->type == UV_POLL && uv_has_ref(handle);
}

/* Sockets that keep the loop alive, beyond those of the servers. */
static size_t referenced(client_world *w, const finder *f) {
  size_t count = 0;
  uv_walk(&w->loop, count_referenced, &count);
  return count - 2 - w->server.open - f->other.open;
}

static void expect_stats(const client_world *w, const finder *f) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w->client, &stats), 0);
  assert_int_equal(stats.requests, w->server.requests + f->other.requests);
  assert_int_equal(stats.open_connections, w->server.open + f->other.open);
}

/* A request goes on at the server that was replaced. It is still counted, and
 * does not keep the loop of an unreferenced client alive. */
static void test_late_replaced_server_counts(void **state) {
  (void)state;
  static const loop_reply stalled[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED},
      {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}};
  static const answer answers[] = {FOUND_A, SAME, SAME, FOUND_B, SAME};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 5, verify_and_watch, 3);
  loop_server_answer(&w.server, stalled, 3);
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 2);
  bool has_ended, has_other_ended;
  (void)start_other(&w, &has_ended);
  CLIENT_UNTIL(&w, w.server.requests == 3);
  (void)start_other(&w, &has_other_ended);
  CLIENT_UNTIL(&w, w.deletes == 1 && w.server.open == 1);
  assert_true(has_other_ended && !has_ended);
  expect_stats(&w, &f);
  assert_true(referenced(&w, &f) > 1);
  kin_client_unref(w.client);
  assert_int_equal(referenced(&w, &f), 0);
  kin_client_ref(w.client);
  assert_true(referenced(&w, &f) > 1);
  loop_server_push(&w.server, "hello");
  CLIENT_UNTIL(&w, has_ended && w.server.open == 0);
  expect_stats(&w, &f);
  finish(&w, &f);
}

/* The replaced server has closed its connections, and its token goes an
 * iteration later. The client is unreferenced and referenced in between. */
static void test_late_references_while_a_server_closes(void **state) {
  (void)state;
  static const loop_reply plain[] = {
      {.bytes = REFUSED, .is_rude = true, .then = LOOP_CLOSE}};
  static const answer answers[] = {FOUND_A_TLS, FOUND_B, SAME};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, list_and_watch, 2);
  loop_server_answer(&w.server, plain, 1);
  w.retry_after_ms = 1;
  client_world_open(&w);
  while (f.other.requests < 2) {
    uv_run(&w.loop, UV_RUN_ONCE);
    kin_client_unref(w.client);
    kin_client_ref(w.client);
  }
  assert_int_equal(f.opened, 2);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.error_class, KIN_CLASS_TLS);
  finish(&w, &f);
}

static void on_moved_end(void *ctx, const kin__exchange_error *error) {
  assert_non_null(
      strstr(error->message, "settings of the server have changed"));
  *(bool *)ctx = true;
}

static bool spin(kin__task *task) {
  (void)task;
  return true;
}

/* A replaced server is gone before the tasks of a busy client have had their
 * turns: nothing of it waits for one. */
static void test_late_replaced_server_goes_before_its_turn(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A};
  static const kin__exchange_callbacks callbacks = {.on_head = on_other_head,
                                                    .on_body = on_other_body,
                                                    .on_end = on_moved_end};
  static const kin__request watch = {
      .target = "/x", .accept = "*/*", .is_watch = true};
  client_world w;
  finder f;
  kin__task tasks[CROWD];
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.budget_us = 1;
  assert_int_equal(client_world_open_client(&w), 0);
  bool has_ended;
  (void)start_other(&w, &has_ended);
  CLIENT_UNTIL(&w, has_ended);
  const kin__env *env = kin__client_host(w.client)->env;
  void *exchange;
  has_ended = false;
  assert_int_equal(env->transport.start(env->transport.ctx, &watch, &callbacks,
                                        &has_ended, &exchange),
                   0);
  kin_client_options options = *kin__late_options(f.late);
  options.server = f.other.url;
  kin__late_found(f.late, &options, false);
  for (size_t i = 0; i < CROWD; i++) {
    kin__task_init(&tasks[i], spin);
    kin__sched_add(env->sched, &tasks[i]);
  }
  CLIENT_UNTIL(&w, has_ended);
  for (size_t i = 0; i < 2 * CROWD; i++) {
    uv_run(&w.loop, UV_RUN_NOWAIT);
  }
  for (size_t i = 0; i < CROWD; i++) {
    kin__sched_cancel(env->sched, &tasks[i]);
  }
  finish(&w, &f);
}

/* A search that fails leaves the server that there is. */
static void test_late_failure_keeps_the_server(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, FAILED};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 2, only_watch, 1);
  f.fresh_ms = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 2);
  assert_int_equal(w.errors, 0);
  assert_true(f.searches >= 2);
  finish(&w, &f);
}

static struct {
  unsigned errors;
  unsigned kept; /* lines that say which settings stay */
} lines;

static void count_line(kin_log_level level, const char *line, void *data) {
  (void)data;
  lines.errors += level == KIN_LOG_ERROR;
  lines.kept += strstr(line, "the last settings stay in use") != NULL;
}

/* Each search fails in the same way: the log has the failure once, until a
 * search ends in another way. */
static void test_late_failure_is_logged_once(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A};
  static const unsigned want[][2] = {{1, 1}, {1, 1}, {2, 2}, {2, 3}, {2, 3}};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.log = count_line;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 2);
  lines.errors = lines.kept = 0;
  for (int i = 0; i < 5; i++) {
    if (i == 2) {
      kin__late_same(f.late);
    }
    if (i < 3) {
      find(&f, BAD_SERVER, false);
    } else {
      kin__late_failed(f.late, KIN_EINVAL, KIN_CLASS_AUTH, "no settings");
    }
    assert_int_equal(lines.errors, want[i][0]);
    assert_int_equal(lines.kept, want[i][1]);
  }
  finish(&w, &f);
}

/* 401 makes the settings doubtful: the next request searches, though the last
 * search is fresh. */
static void test_late_refusal_searches(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_B, FOUND_A};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 2, only_refuse, 1);
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.synced == 1);
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.error_class, KIN_CLASS_AUTH);
  assert_int_equal(f.searches, 2);
  assert_int_equal(f.other.requests, 1);
  finish(&w, &f);
}

/* Watches that are cut behind their heads, and behind an event: the next
 * request searches, though the last search is fresh, each time anew. */
static void test_late_cut_watch_searches(void **state) {
  (void)state;
  static const loop_reply cut[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED "66\r\n" ANSWER_EVENT "\r\n",
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED
       "66\r\n" ANSWER_CHANGE("DELETED", ANSWER_POD("b", "2", "9")) "\r\n",
       .then = LOOP_RESET},
      {.bytes = ANSWER_CHUNKED}};
  static const answer answers[] = {FOUND_A, SAME, FOUND_B};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, only_watch, 1);
  loop_server_answer(&w.server, cut, 4);
  w.retry_after_ms = 1;
  client_world_open(&w);
  CLIENT_UNTIL(&w, f.other.requests == 1);
  assert_int_equal(f.searches, 3);
  assert_int_equal(w.server.requests, 3);
  assert_int_equal(w.deletes, 2);
  assert_non_null(strstr(f.other.last_request, "resourceVersion=9"));
  finish(&w, &f);
}

/* Cut soon after a search. The next request runs at once, and so do others, but
 * one search begins beside them when it is due, without any further request:
 * other settings break the watch. That break is no new doubt. */
static void test_late_search_beside_requests(void **state) {
  (void)state;
  static const loop_reply cut[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_WATCHED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  static const answer answers[] = {FOUND_A, FOUND_B};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 2, only_watch, 1);
  loop_server_answer(&w.server, cut, 3);
  w.retry_after_ms = 1;
  f.retry_ms = 1000;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 3);
  assert_int_equal(f.searches, 1);
  bool has_ended;
  void *exchange = start_other(&w, &has_ended);
  CLIENT_UNTIL(&w, w.server.requests == 4);
  assert_int_equal(f.searches, 1);
  kin__client_host(w.client)->env->transport.cancel(exchange);
  CLIENT_UNTIL(&w, f.other.requests == 1);
  assert_int_equal(f.searches, 2);
  assert_non_null(strstr(w.message, "settings of the server have changed"));
  exchange = start_other(&w, &has_ended);
  CLIENT_UNTIL(&w, f.other.requests == 2);
  assert_int_equal(f.searches, 2);
  kin__client_host(w.client)->env->transport.cancel(exchange);
  finish(&w, &f);
}

/* Closing while a search is due beside the requests. */
static void test_late_closes_before_a_search(void **state) {
  (void)state;
  static const loop_reply cut[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_WATCHED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  static const answer answers[] = {FOUND_A};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  loop_server_answer(&w.server, cut, 3);
  w.retry_after_ms = 1;
  f.retry_ms = 60000;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 3);
  finish(&w, &f);
  assert_int_equal(f.searches, 1);
}

/* A search that hangs, as of files: the server that there is serves, at once
 * from then on. Searches that fail alike at last are logged once. */
static void test_late_search_hangs_beside_a_server(void **state) {
  (void)state;
  static const answer answers[] = {FOUND_A, NONE};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 2, only_watch, 1);
  f.fresh_ms = 0;
  w.options.connect_timeout_ms = 50;
  w.options.log = count_line;
  lines.errors = lines.kept = 0;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.server.requests == 2);
  assert_int_equal(w.errors, 0);
  for (unsigned i = 2; i <= 4; i++) {
    bool has_ended;
    void *exchange = start_other(&w, &has_ended);
    CLIENT_UNTIL(&w, w.server.requests == i + 1);
    kin__client_host(w.client)->env->transport.cancel(exchange);
    assert_int_equal(f.searches, i);
    find(&f, BAD_SERVER, false);
    assert_true(lines.errors == 1 && lines.kept == 1);
  }
  finish(&w, &f);
}

/* The same without a server: each request fails in time, twice. */
static void test_late_search_hangs(void **state) {
  (void)state;
  static const answer answers[] = {NONE};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.connect_timeout_ms = 50;
  client_world_open(&w);
  for (int i = 1; i <= 2; i++) {
    CLIENT_UNTIL(&w, w.errors == i);
    assert_int_equal(w.error_class, KIN_CLASS_AUTH);
    assert_string_equal(
        w.message, "the settings of the server were not found within 50 ms");
  }
  assert_int_equal(f.searches, 1);
  /* At last it ends. */
  find(&f, w.server.url, false);
  CLIENT_UNTIL(&w, w.synced == 1);
  finish(&w, &f);
}

/* Blocks the loop, and is called once more by its next poll. */
static void find_late(uv_async_t *async) {
  finder *f = async->data;
  if (f->fresh_ms != 0) {
    f->fresh_ms = 0;
    assert_int_equal(uv_async_send(async), 0);
    usleep(200000);
    return;
  }
  find(f, f->world->server.url, false);
  uv_close((uv_handle_t *)async, NULL);
}

/* The answer of a search waits for a loop that was blocked for longer than a
 * request waits. */
static void test_late_search_of_a_late_loop(void **state) {
  (void)state;
  static const answer answers[] = {NONE};
  client_world w;
  finder f;
  uv_async_t async;
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.connect_timeout_ms = 50;
  client_world_open(&w);
  CLIENT_UNTIL(&w, f.searches == 1);
  async.data = &f;
  assert_int_equal(uv_async_init(&w.loop, &async, find_late), 0);
  assert_int_equal(uv_async_send(&async), 0);
  usleep(200000);
  CLIENT_UNTIL(&w, w.synced == 1);
  assert_int_equal(w.errors, 0);
  finish(&w, &f);
}

/* The time of a request ends before the next search is due: the request is told
 * why there is no server. */
static void test_late_failure_counts_until_a_search_is_due(void **state) {
  (void)state;
  static const answer answers[] = {FAILED};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 1, only_watch, 1);
  w.options.connect_timeout_ms = 50;
  w.retry_after_ms = 1;
  f.retry_ms = 30000;
  client_world_open(&w);
  for (int i = 1; i <= 3; i++) {
    CLIENT_UNTIL(&w, w.errors == i);
    assert_int_equal(w.code, KIN_EINVAL);
    assert_string_equal(w.message, "no settings");
  }
  assert_int_equal(f.searches, 1);
  finish(&w, &f);
}

/* Closing while a search goes on, before its answer and without one. */
static void test_late_closes_while_it_searches(void **state) {
  (void)state;
  static const answer answers[] = {NONE};
  for (int turns = 0; turns < 4; turns++) {
    client_world w;
    finder f;
    set_up(&w, &f, answers, 1, only_watch, 1);
    client_world_open(&w);
    for (int i = 0; i < turns; i++) {
      uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    finish(&w, &f);
    assert_true(f.is_closed);
  }
}

static bool close_in_callback(int close_at) {
  static const answer answers[] = {FAILED, FOUND_A, FOUND_B};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, only_watch, 1);
  f.fresh_ms = 0;
  w.close_at = close_at;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.client == NULL || w.deletes == 1);
  finish(&w, &f);
  return w.was_reached;
}

static void test_late_closes_in_every_callback(void **state) {
  (void)state;
  assert_true(client_world_sweep_closes(close_in_callback) >= 5);
}

static bool run_without_memory(size_t n) {
  static const answer answers[] = {FOUND_A, FOUND_B, SAME};
  client_world w;
  finder f;
  set_up(&w, &f, answers, 3, only_watch, 1);
  f.fresh_ms = 0;
  w.memory.fail_at = n;
  if (client_world_open(&w) == 0) {
    /* The first server gets the watch, too, if the second does not open. */
    CLIENT_UNTIL(&w, w.deletes == 1 || w.errors > 0 || w.server.requests == 2);
  }
  finish(&w, &f);
  return fail_alloc_has_failed(&w.memory);
}

static void test_late_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_late_requests_wait),
      cmocka_unit_test(test_late_failures_are_told),
      cmocka_unit_test(test_late_other_settings),
      cmocka_unit_test(test_late_connections_differ),
      cmocka_unit_test(test_late_serves_in_steps),
      cmocka_unit_test(test_late_running_watch_moves),
      cmocka_unit_test(test_late_moves_to_another_cluster),
      cmocka_unit_test(test_late_list_moves_to_another_cluster),
      cmocka_unit_test(test_late_retry_watcher_meets_another_cluster),
      cmocka_unit_test(test_late_replaced_server_counts),
      cmocka_unit_test(test_late_references_while_a_server_closes),
      cmocka_unit_test(test_late_replaced_server_goes_before_its_turn),
      cmocka_unit_test(test_late_failure_keeps_the_server),
      cmocka_unit_test(test_late_failure_is_logged_once),
      cmocka_unit_test(test_late_refusal_searches),
      cmocka_unit_test(test_late_cut_watch_searches),
      cmocka_unit_test(test_late_search_beside_requests),
      cmocka_unit_test(test_late_closes_before_a_search),
      cmocka_unit_test(test_late_search_hangs_beside_a_server),
      cmocka_unit_test(test_late_search_hangs),
      cmocka_unit_test(test_late_search_of_a_late_loop),
      cmocka_unit_test(test_late_failure_counts_until_a_search_is_due),
      cmocka_unit_test(test_late_closes_while_it_searches),
      cmocka_unit_test(test_late_closes_in_every_callback),
      cmocka_unit_test(test_late_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
