/* SPDX-License-Identifier: MIT */
#include "support/host_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define LIST(version, uid)                                                     \
  HEAD "Connection: close\r\n\r\n"                                             \
       "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version    \
       "\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\","     \
       "\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}},"            \
       "{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\",\"uid\":\"2\","      \
       "\"resourceVersion\":\"6\"}}]}"
#define WATCH(version, uid)                                                    \
  HEAD "Transfer-Encoding: chunked\r\n\r\n"                                    \
       "66\r\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"," \
       "\"namespace\":\"n\",\"uid\":\"" uid                                    \
       "\",\"resourceVersion\":\"" version "\"}}}\n\r\n"
#define GONE "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"

/* A list, a watch; after host_reset its resumption is refused, so a list and a
 * watch again. */
#define FIRST LIST("6", "1")
#define FIRST_WATCH WATCH("7", "1")
#define SECOND LIST("8", "3")
#define SECOND_WATCH WATCH("9", "3")

static const loop_reply replies[] = {
    {.bytes = FIRST, .slice = 100, .then = LOOP_CLOSE},
    {.bytes = FIRST_WATCH},
    {.bytes = GONE},
    {.bytes = SECOND, .slice = 100, .then = LOOP_CLOSE},
    {.bytes = SECOND_WATCH}};
static const tls_reply secure_replies[] = {{.bytes = FIRST, .then = TLS_CLOSE},
                                           {.bytes = FIRST_WATCH},
                                           {.bytes = GONE},
                                           {.bytes = SECOND, .then = TLS_CLOSE},
                                           {.bytes = SECOND_WATCH}};
#define REPLY_COUNT (sizeof replies / sizeof replies[0])

static void on_call(host_world *w) {
  w->calls++;
  if (w->hook != NULL) {
    w->hook(w);
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  host_world *w = data;
  assert_ptr_equal(informer, w->informer);
  assert_int_equal(w->informers_closed, 0);
  w->adds += event->type == KIN_EVENT_ADD;
  w->deletes += event->type == KIN_EVENT_DELETE;
  w->synced += event->type == KIN_EVENT_SYNCED;
  on_call(w);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  host_world *w = data;
  (void)informer;
  assert_int_equal(w->informers_closed, 0);
  w->errors++;
  w->last_error = event->code;
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = 20; /* the real clock */
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

static void on_informer_closed(void *data) {
  host_world *w = data;
  assert_int_equal(w->clients_closed, 0); /* children first */
  w->informers_closed++;
  w->informer = NULL;
  on_call(w);
}

static void on_client_closed(void *data) {
  host_world *w = data;
  w->clients_closed++;
  w->client = NULL;
  on_call(w);
}

void host_init(host_world *w, bool is_tls) {
  memset(w, 0, sizeof *w);
  w->is_tls = is_tls;
  w->act_at = -1;
  fail_alloc_init(&w->memory, 0);
  /* The first loop of a process opens descriptors that stay. */
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  w->fd_count = count_fds();
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_loop_init(&w->outside), 0);
  w->options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  w->options.allocator = &w->memory.allocator;
  w->options.seed = 1;
  if (is_tls) {
    static const tls_server_options options = {.slice = 0};
    tls_server_open(&w->secure, &w->outside, &options, secure_replies,
                    REPLY_COUNT);
    snprintf(w->url, sizeof w->url, "https://127.0.0.1:%d", w->secure.port);
    w->options.certificate_authority_data = tls_pki_get()->authority_pem;
  } else {
    loop_server_open(&w->server, &w->outside, replies, REPLY_COUNT);
    snprintf(w->url, sizeof w->url, "%s", w->server.url);
  }
}

int host_open(host_world *w) {
  w->options.server = w->url;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.no_watch_list = true; /* the server knows lists only */
  io.on_error = on_error;
  io.on_state = on_state;
  io.on_closed = on_informer_closed;
  io.data = w;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = lo.on_synced = on_event;
  lo.data = w;
  int err = kin_client_open(&w->client, &w->loop, &w->options);
  if (err == 0) {
    err = kin_informer_open(&w->informer, w->client, &io);
  }
  if (err == 0) {
    err = kin_informer_listen(w->informer, &lo, NULL);
  }
  return err == 0 ? kin_informer_start(w->informer) : err;
}

void host_turn(host_world *w) {
  uv_run(&w->outside, UV_RUN_NOWAIT);
  uv_run(&w->loop, UV_RUN_NOWAIT);
}

void host_check_time(uint64_t start_ns) {
  assert_true(uv_hrtime() - start_ns < UINT64_C(30000000000));
}

void host_reset(host_world *w) {
  if (w->is_tls) {
    tls_server_drop(&w->secure, TLS_RESET);
  } else {
    loop_server_drop(&w->server, LOOP_RESET);
  }
}

void host_close(host_world *w) {
  if (w->client != NULL) {
    int err = kin_client_close(w->client, on_client_closed, w);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
}

static void sweep_one(uv_handle_t *handle, void *count) {
  if (!uv_is_closing(handle)) {
    uv_close(handle, NULL);
    ++*(size_t *)count;
  }
}

size_t host_sweep(host_world *w) {
  size_t count = 0;
  uv_walk(&w->loop, sweep_one, &count);
  return count;
}

void host_finish(host_world *w) {
  HOST_UNTIL(w, w->client == NULL) {
  }
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  if (w->is_tls) {
    tls_server_close(&w->secure);
  } else {
    loop_server_close(&w->server);
  }
  assert_int_equal(uv_run(&w->outside, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->outside), 0);
  assert_true(w->informers_closed <= 1);
  assert_true(w->clients_closed <= 1);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
  if (w->fd_count >= 0) {
    assert_int_equal(count_fds(), w->fd_count);
  }
}
