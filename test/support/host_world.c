/* SPDX-License-Identifier: MIT */
#include "support/host_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>

#include <cmocka.h>

#include "support/transport_world.h"

#define MAX_WAIT_MS 5

#define LIST(version, uid)                                                     \
  ANSWER_TO_END ANSWER_PODS(                                                   \
      version, ANSWER_POD("a", uid, version) "," ANSWER_POD("b", "2", "6"))
#define WATCH(version, uid)                                                    \
  ANSWER_CHUNKED                                                               \
  "66\r\n" ANSWER_CHANGE("DELETED", ANSWER_POD("a", uid, version)) "\r\n"
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

static void call_hook(client_world *program) {
  host_world *w = program->data;
  if (w->hook != NULL) {
    w->hook(w);
  }
}

void host_init(host_world *w, bool is_tls) {
  memset(w, 0, sizeof *w);
  w->is_tls = is_tls;
  w->act_at = -1;
  /* The first loop of a process opens descriptors that stay. */
  assert_int_equal(uv_loop_init(&w->outside), 0);
  assert_int_equal(uv_loop_close(&w->outside), 0);
  w->fd_count = count_fds();
  client_world_init(&w->program);
  w->program.retry_after_ms = 20; /* the real clock */
  w->program.hook = call_hook;
  w->program.data = w;
  assert_int_equal(uv_loop_init(&w->outside), 0);
  if (is_tls) {
    static const tls_server_options options = {.slice = 0};
    tls_server_open(&w->secure, &w->outside, &options, secure_replies,
                    REPLY_COUNT);
    snprintf(w->url, sizeof w->url, "https://127.0.0.1:%d", w->secure.port);
    w->program.options.certificate_authority_data =
        tls_pki_get()->authority_pem;
  } else {
    loop_server_open(&w->server, &w->outside, replies, REPLY_COUNT);
    snprintf(w->url, sizeof w->url, "%s", w->server.url);
  }
}

int host_open(host_world *w) {
  w->program.options.server = w->url;
  int err = client_world_open_client(&w->program);
  return err == 0 ? client_world_open_informer(&w->program, "pods") : err;
}

static int sooner(int a_ms, int b_ms) {
  return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* Until one of the loops has something to do. On a busy machine the pool's
 * threads would need any number of turns that do nothing. */
static void wait_for_event(const host_world *w) {
  struct pollfd loops[] = {
      {.fd = uv_backend_fd(&w->outside), .events = POLLIN},
      {.fd = uv_backend_fd(&w->program.loop), .events = POLLIN}};
  int wait_ms = sooner(uv_backend_timeout(&w->outside),
                       uv_backend_timeout(&w->program.loop));
  (void)poll(loops, 2, sooner(wait_ms, MAX_WAIT_MS));
}

void host_turn(host_world *w) {
  wait_for_event(w);
  uv_run(&w->outside, UV_RUN_NOWAIT);
  uv_run(&w->program.loop, UV_RUN_NOWAIT);
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
  client_world_close(&w->program);
}

static void sweep_one(uv_handle_t *handle, void *count) {
  if (!uv_is_closing(handle)) {
    uv_close(handle, NULL);
    ++*(size_t *)count;
  }
}

size_t host_sweep(host_world *w) {
  size_t count = 0;
  uv_walk(&w->program.loop, sweep_one, &count);
  return count;
}

void host_finish(host_world *w) {
  HOST_UNTIL(w, w->program.client == NULL) {
  }
  client_world_finish(&w->program);
  if (w->is_tls) {
    tls_server_close(&w->secure);
  } else {
    loop_server_close(&w->server);
  }
  assert_int_equal(uv_run(&w->outside, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->outside), 0);
  assert_true(w->program.informers_closed <= 1);
  assert_true(w->program.clients_closed <= 1);
  if (w->fd_count >= 0) {
    assert_int_equal(count_fds(), w->fd_count);
  }
}
