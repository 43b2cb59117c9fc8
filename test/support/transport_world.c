/* SPDX-License-Identifier: MIT */
#include "support/transport_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>

#include <cmocka.h>

#include "transport/conn.h"
#include "transport/core.h"
#include "transport/proxy.h"

static uint64_t now_ns(void *ctx) {
  const world *w = ctx;
  return w->now_ms * 1000000u;
}

static void on_guard(uv_timer_t *timer) {
  (void)timer;
  fprintf(stderr, "the test hangs\n");
  abort();
}

int count_fds(void) {
#ifdef __linux__
  DIR *dir = opendir("/proc/self/fd");
#else
  DIR *dir = opendir("/dev/fd");
#endif
  assert_non_null(dir);
  int count = 0;
  while (readdir(dir) != NULL) {
    count++;
  }
  closedir(dir);
  return count;
}

void world_init(world *w, const loop_reply *replies, size_t reply_count,
                size_t fail_at) {
  memset(w, 0, sizeof *w);
  /* The first loop of a process opens descriptors that stay. */
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  w->fd_count = count_fds();

  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
  uv_timer_start(&w->guard, on_guard, 120000, 0);
  uv_unref((uv_handle_t *)&w->guard);
  w->now_ms = 1000000;
  w->max_idle = 4;
  kin__sched_init(&w->sched, now_ns, w);
  kin__timers_init(&w->timers);
  fail_alloc_init(&w->memory, fail_at);
  loop_server_open(&w->server, &w->loop, replies, reply_count);
}

int world_set_server(const world *w, kin__transport_options *options,
                     const char *url) {
  int err = kin__url_parse(&options->url, options->allocator, url);
  if (err != 0 || w->proxy_url == NULL) {
    return err;
  }
  err = kin__proxy_open(&options->proxy,
                        &(kin__proxy_options){.allocator = options->allocator,
                                              .log = options->log,
                                              .url = w->proxy_url,
                                              .server = &options->url,
                                              .user_agent = "test/1.0"});
  if (err != 0) {
    kin__url_finish(&options->url, options->allocator);
  }
  options->proxy_authority_file = w->proxy_authority_file;
  return err;
}

int world_open_at(world *w, const char *url) {
  kin__transport_options options = {
      .loop = &w->loop,
      .allocator = &w->memory.allocator,
      .sched = &w->sched,
      .timers = &w->timers,
      .user_agent = "test/1.0",
      .connect_timeout_ms = WORLD_CONNECT_MS,
      .response_timeout_ms = WORLD_RESPONSE_MS,
      .max_idle_connections = w->max_idle,
      .read_delay_ms = w->read_delay_ms,
      .idle_timeout_ms = WORLD_IDLE_MS,
      .accept_gzip = w->accept_gzip,
      .fields = w->fields,
      .warnings = w->warnings,
      .probe_silence_ms = w->probe_silence_ms,
      .probe_answer_ms = WORLD_CONNECT_MS,
  };
  int err = world_set_server(w, &options, url);
  if (err != 0) {
    return err;
  }
  err = kin__transport_open(&w->transport, &options);
  if (err != 0) {
    kin__proxy_free(options.proxy, options.allocator);
    kin__url_finish(&options.url, options.allocator);
  }
  return err;
}

int world_open(world *w) {
  char url[100];
  snprintf(url, sizeof url, "%s/prefix/", w->server.url);
  return world_open_at(w, url);
}

void world_setup(world *w, const loop_reply *replies, size_t reply_count) {
  world_init(w, replies, reply_count, 0);
  assert_int_equal(world_open(w), 0);
}

static void on_transport_closed(void *ctx) {
  world *w = ctx;
  assert_false(w->is_closed);
  w->is_closed = true;
}

void world_close(world *w) {
  if (w->transport != NULL) {
    kin__transport_close(w->transport, on_transport_closed, w);
    assert_false(w->is_closed); /* not from inside the call */
    w->transport = NULL;
    WORLD_UNTIL(w, w->is_closed);
  }
  assert_false(kin__sched_has_work(&w->sched));
  assert_int_equal(kin__timers_next_ms(&w->timers), UINT64_MAX);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
  loop_server_close(&w->server);
  uv_close((uv_handle_t *)&w->guard, NULL);
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  assert_int_equal(count_fds(), w->fd_count);
}

void world_run_tasks(world *w) {
  while (kin__sched_run(&w->sched, UINT64_MAX)) {
  }
}

void world_turn(world *w) {
  if (!kin__sched_has_work(&w->sched)) {
    uv_run(&w->loop, UV_RUN_ONCE);
  }
  world_run_tasks(w);
}

void world_advance(world *w, uint64_t ms) {
  w->now_ms += ms;
  while (kin__timers_run(&w->timers, w->now_ms, 100)) {
  }
  world_run_tasks(w);
}

static void called(fetch *f) {
  f->callbacks++;
  if (f->hook != NULL) {
    f->hook(f);
  }
}

static void on_head(void *ctx, const kin__response_head *head) {
  fetch *f = ctx;
  assert_int_equal(f->heads + f->bodies + f->ends, 0);
  f->heads++;
  f->status = head->status;
  f->retry_after_s = head->retry_after_s;
  f->connection = head->connection;
  assert_int_not_equal(f->connection, 0);
  f->is_identity = head->is_identity;
  snprintf(f->content_type, sizeof f->content_type, KIN_STR_FORMAT,
           KIN_STR_ARG(head->content_type));
  called(f);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  fetch *f = ctx;
  assert_int_equal(f->heads, 1);
  assert_int_equal(f->ends, 0);
  f->bodies++;
  f->body = realloc(f->body, f->body_length + length + 1);
  assert_non_null(f->body);
  memcpy(f->body + f->body_length, bytes, length);
  f->body_length += length;
  f->body[f->body_length] = '\0';
  called(f);
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  fetch *f = ctx;
  assert_int_equal(f->ends, 0);
  f->ends++;
  f->exchange = NULL;
  if (error != NULL) {
    assert_true(error->code < 0);
    assert_int_not_equal(error->error_class, KIN_CLASS_NONE);
    assert_true(error->message[0] != '\0');
    assert_int_equal(error->had_head, f->heads);
    f->error = *error;
  } else {
    assert_int_equal(f->heads, 1);
  }
  called(f);
}

int fetch_start(fetch *f, world *w, const char *target, bool is_watch) {
  kin__request request = {
      .target = target, .accept = "application/json", .is_watch = is_watch};
  return fetch_start_request(f, w, &request);
}

int fetch_start_request(fetch *f, world *w, const kin__request *request) {
  static const kin__exchange_callbacks callbacks = {on_head, on_body, on_end};
  f->world = w;
  int err =
      kin__exchange_start(w->transport, request, &callbacks, f, &f->exchange);
  assert_int_equal(f->callbacks, 0); /* none inside the call */
  return err;
}

void fetch_until_end(fetch *f) {
  WORLD_UNTIL(f->world, f->ends > 0);
}

void fetch_run(fetch *f, world *w, const char *target) {
  assert_int_equal(fetch_start(f, w, target, false), 0);
  fetch_until_end(f);
}

kin__conn *fetch_first_byte(fetch *f, world *w, bool is_watch) {
  *f = (fetch){.world = w};
  assert_int_equal(fetch_start(f, w, "/x", is_watch), 0);
  WORLD_UNTIL(w, f->bodies == 1);
  return KIN__CONTAINER_OF(w->transport->net.conns.prev, kin__conn, node);
}

void fetch_cancel_at(fetch *f) {
  if (f->callbacks == f->act_at) {
    kin__exchange_cancel(f->exchange);
    f->exchange = NULL;
  }
}

void fetch_finish(fetch *f) {
  free(f->body);
  *f = (fetch){.world = NULL};
}

void fetch_assert_hello(const fetch *f) {
  assert_string_equal(f->error.message, "");
  assert_int_equal(f->error.code, 0);
  assert_int_equal(f->ends, 1);
  assert_int_equal(f->status, 200);
  assert_string_equal(f->body, "hello");
}

uint64_t fetch_hello(world *w) {
  fetch f = {.world = w};
  fetch_run(&f, w, "/x");
  fetch_assert_hello(&f);
  uint64_t connection = f.connection;
  fetch_finish(&f);
  return connection;
}

char *large_response(size_t size, size_t *length) {
  char head[80];
  int head_length =
      snprintf(head, sizeof head,
               "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
  *length = (size_t)head_length + size;
  char *response = malloc(*length);
  assert_non_null(response);
  memcpy(response, head, (size_t)head_length);
  for (size_t i = 0; i < size; i++) {
    response[(size_t)head_length + i] = (char)(i * 31 >> 3);
  }
  return response;
}

void fetch_large(world *w, const char *response, size_t length, size_t size) {
  fetch f = {.world = w};
  fetch_run(&f, w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.body_length, size);
  assert_memory_equal(f.body, response + (length - size), size);
  fetch_finish(&f);
}

void fetch_start_large(fetch *f, world *w) {
  char *target = malloc(LARGE_TARGET + 1);
  assert_non_null(target);
  memset(target, '/', LARGE_TARGET);
  target[LARGE_TARGET] = '\0';
  assert_int_equal(fetch_start(f, w, target, false), 0);
  free(target);
}
