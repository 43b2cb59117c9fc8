/* SPDX-License-Identifier: MIT */
#include "support/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const loop_reply client_list_and_watch[2] = {
    {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE}, {.bytes = ANSWER_WATCHED}};

/* --- Callbacks ------------------------------------------------------------ */

static void count_call(client_world *w) {
  w->calls++;
  if (w->hook != NULL) {
    w->hook(w);
  }
}

void client_world_called(client_world *w) {
  assert_false(w->is_opening);
  assert_non_null(w->client);
  assert_true(w->close_at == 0 || w->calls < w->close_at);
  if (w->calls + 1 == w->close_at) {
    w->was_reached = true;
    assert_int_equal(client_world_close(w), 0);
  }
  count_call(w);
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  client_world *w = data;
  assert_ptr_equal(informer, w->informer);
  w->adds += event->type == KIN_EVENT_ADD;
  w->deletes += event->type == KIN_EVENT_DELETE;
  w->synced += event->type == KIN_EVENT_SYNCED;
  client_world_called(w);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  client_world *w = data;
  assert_non_null(informer);
  assert_non_null(w->informer);
  w->errors++;
  w->code = event->code;
  w->error_class = event->error_class;
  w->status = event->status;
  snprintf(w->message, sizeof w->message, "%s", event->message);
  if (w->retry_after_ms > 0) {
    event->answer = KIN_RETRY_AFTER;
    event->retry_after_ms = w->retry_after_ms;
  }
  client_world_called(w);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  client_world_called(data);
}

static void on_informer_closed(void *data) {
  client_world *w = data;
  assert_non_null(w->client); /* children first */
  w->informers_closed++;
  w->informer = NULL;
  count_call(w);
}

static void on_client_closed(void *data) {
  client_world *w = data;
  w->clients_closed++;
  w->client = NULL;
  count_call(w);
}

/* --- Output --------------------------------------------------------------- */

static void note_output(client_output *output, const char *text) {
  size_t used = strlen(output->text);
  assert_true(used + strlen(text) + 2 < sizeof output->text);
  snprintf(output->text + used, sizeof output->text - used, "%s\n", text);
}

static void note_line(kin_log_level level, const char *line, void *data) {
  (void)level;
  note_output(data, line);
}

static void note_message(client_world *w) {
  if (w->message[0] != '\0') {
    note_output(w->output, w->message);
  }
}

void client_world_keep_output(client_world *w, client_output *output) {
  output->text[0] = '\0';
  w->output = output;
  w->hook = note_message;
  w->options.log = note_line;
  w->options.log_data = output;
  w->options.log_level = KIN_LOG_DEBUG;
}

/* --- Loop and server ------------------------------------------------------ */

void client_world_init(client_world *w) {
  *w = (client_world){.options = KIN_CLIENT_OPTIONS_INIT};
  fail_alloc_init(&w->memory, 0);
  assert_int_equal(uv_loop_init(&w->loop), 0);
  w->options.allocator = &w->memory.allocator;
  w->options.seed = 1;
}

static void on_guard(uv_timer_t *timer) {
  client_world *w = timer->data;
  fprintf(stderr, "the test hangs: %d adds, %d errors, \"%s\"\n%s", w->adds,
          w->errors, w->message, w->server.last_request);
  abort();
}

void client_world_guard(client_world *w) {
  assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
  w->guard.data = w;
  uv_timer_start(&w->guard, on_guard, 60000, 0);
  uv_unref((uv_handle_t *)&w->guard);
  w->has_guard = true;
}

void client_world_serve(client_world *w, const loop_reply *replies,
                        size_t count) {
  client_world_init(w);
  client_world_guard(w);
  loop_server_open(&w->server, &w->loop, replies, count);
  w->has_server = true;
  w->options.server = w->server.url;
}

void client_world_end_server(client_world *w) {
  if (w->has_server) {
    w->has_server = false;
    loop_server_close(&w->server);
  }
}

/* --- Client and informer -------------------------------------------------- */

int client_world_open_client(client_world *w) {
  w->is_opening = true;
  int err = w->open != NULL
                ? w->open(w)
                : kin_client_open(&w->client, &w->loop, &w->options);
  w->is_opening = false;
  w->clients_opened += err == 0;
  return err;
}

kin_informer_options client_world_informer(client_world *w,
                                           const char *plural) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = plural;
  options.no_watch_list = true; /* the server knows lists only */
  options.on_error = on_error;
  options.on_state = on_state;
  options.on_closed = on_informer_closed;
  options.data = w;
  return options;
}

int client_world_open_informer(client_world *w, const char *plural) {
  kin_informer_options options = client_world_informer(w, plural);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete =
      listener.on_synced = on_event;
  listener.data = w;
  w->is_opening = true;
  int err = kin_informer_open(&w->informer, w->client, &options);
  if (err == 0) {
    err = kin_informer_listen(w->informer, &listener, NULL);
  }
  if (err == 0) {
    err = kin_informer_start(w->informer);
  }
  w->is_opening = false;
  return err;
}

int client_world_open(client_world *w) {
  int err = client_world_open_client(w);
  if (err == 0) {
    err = client_world_open_informer(w, "pods");
  }
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&w->memory));
  }
  return err;
}

/* --- The end -------------------------------------------------------------- */

int client_world_close(client_world *w) {
  int err = 0;
  if (w->client != NULL) {
    err = kin_client_close(w->client, on_client_closed, w);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
  return err;
}

void client_world_finish(client_world *w) {
  client_world_close(w);
  client_world_end_server(w);
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_null(w->client);
  assert_null(w->informer);
  assert_int_equal(w->clients_closed, w->clients_opened);
  if (w->has_guard) {
    uv_close((uv_handle_t *)&w->guard, NULL);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  }
  assert_int_equal(uv_loop_close(&w->loop), 0);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
}

int client_world_sweep_closes(bool (*story)(int close_at)) {
  int count = 0;
  while (story(count + 1)) {
    count++;
  }
  return count;
}

void client_world_expect_event(const loop_reply replies[2], bool accept_gzip) {
  client_world w;
  client_world_serve(&w, replies, 2);
  w.options.accept_gzip = accept_gzip;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.deletes > 0 || w.errors > 0);
  assert_string_equal(w.message, "");
  assert_int_equal(w.adds, 2);
  assert_int_equal(w.synced, 1);
  client_world_finish(&w);
}
