/* SPDX-License-Identifier: MIT */
#include "support/answer_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void on_guard(uv_timer_t *timer) {
  answer_world *w = timer->data;
  fprintf(stderr, "the test hangs: %d adds, %d errors, \"%s\"\n%s", w->adds,
          w->errors, w->message, w->server.last_request);
  abort();
}

static void on_client_closed(void *data) {
  ((answer_world *)data)->client = NULL;
}

static void on_informer_closed(void *data) {
  ((answer_world *)data)->informer = NULL;
}

static void close_client(answer_world *w) {
  if (w->client != NULL) {
    int err = kin_client_close(w->client, on_client_closed, w);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
}

static void on_call(answer_world *w) {
  assert_true(w->close_at == 0 || w->calls < w->close_at);
  if (++w->calls == w->close_at) {
    close_client(w);
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  answer_world *w = data;
  (void)informer;
  w->adds += event->type == KIN_EVENT_ADD;
  w->deletes += event->type == KIN_EVENT_DELETE;
  w->synced += event->type == KIN_EVENT_SYNCED;
  on_call(w);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  answer_world *w = data;
  (void)informer;
  w->errors++;
  w->code = event->code;
  w->error_class = event->error_class;
  w->status = event->status;
  snprintf(w->message, sizeof w->message, "%s", event->message);
  on_call(w);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  on_call(data);
}

static int open_informer(answer_world *w) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.no_watch_list = true; /* the server knows lists only */
  options.on_error = on_error;
  options.on_state = on_state;
  options.on_closed = on_informer_closed;
  options.data = w;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete =
      listener.on_synced = on_event;
  listener.data = w;
  int err = kin_informer_open(&w->informer, w->client, &options);
  if (err == 0) {
    err = kin_informer_listen(w->informer, &listener, NULL);
  }
  return err == 0 ? kin_informer_start(w->informer) : err;
}

int answer_world_open(answer_world *w, const loop_reply *replies, size_t count,
                      bool accept_gzip, size_t fail_at, int close_at) {
  *w = (answer_world){.close_at = close_at};
  fail_alloc_init(&w->memory, fail_at);
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
  w->guard.data = w;
  uv_timer_start(&w->guard, on_guard, 60000, 0);
  uv_unref((uv_handle_t *)&w->guard);
  loop_server_open(&w->server, &w->loop, replies, count);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = w->server.url;
  options.allocator = &w->memory.allocator;
  options.accept_gzip = accept_gzip;
  options.seed = 1;
  int err = kin_client_open(&w->client, &w->loop, &options);
  if (err == 0) {
    err = open_informer(w);
  }
  assert_true(err == 0 || fail_alloc_has_failed(&w->memory));
  return err;
}

void answer_world_close(answer_world *w) {
  close_client(w);
  ANSWER_UNTIL(w, w->client == NULL);
  assert_null(w->informer);
  loop_server_close(&w->server);
  uv_close((uv_handle_t *)&w->guard, NULL);
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
}

void answer_world_expect_event(const loop_reply replies[2], bool accept_gzip) {
  answer_world w;
  assert_int_equal(answer_world_open(&w, replies, 2, accept_gzip, 0, 0), 0);
  ANSWER_UNTIL(&w, w.deletes > 0 || w.errors > 0);
  assert_string_equal(w.message, "");
  assert_int_equal(w.adds, 2);
  assert_int_equal(w.synced, 1);
  answer_world_close(&w);
}
