/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "sim.h"
#include "watch.h"

enum { BACKLOG = 1024, REOPEN_RETRY_MS = 20 };

static void flush_dirty(server *sv) {
  watch_pump_dirty(sv->sim);
  /* A flush may mark others or the same connection again; those wait for the
   * next round, so that one busy connection cannot hold the loop. */
  conn *c = sv->dirty;
  sv->dirty = NULL;
  while (c != NULL) {
    conn *next = c->next_dirty;
    c->next_dirty = NULL;
    c->dirty = false;
    conn_flush(c);
    c = next;
  }
}

static void on_check(uv_check_t *check) {
  flush_dirty(check->data);
}

static void on_again(uv_idle_t *idle) {
  (void)idle; // that it is active keeps the loop from blocking
}

/* The last thing before the loop may block. */
static void on_prepare(uv_prepare_t *prepare) {
  server *sv = prepare->data;
  flush_dirty(sv);
  if (sv->dirty != NULL) {
    uv_idle_start(&sv->again, on_again);
  } else {
    uv_idle_stop(&sv->again);
  }
}

void server_mark_dirty(server *sv, conn *c) {
  if (!c->dirty && c->state != CONN_CLOSED) {
    c->dirty = true;
    c->next_dirty = sv->dirty;
    sv->dirty = c;
  }
}

void server_add(server *sv, conn *c) {
  c->prev = NULL;
  c->next = sv->conns;
  if (sv->conns != NULL) {
    sv->conns->prev = c;
  }
  sv->conns = c;
  sv->open_count++;
  sv->accepted_count++;
}

/* A closed connection is freed before the next flush. (One that flush_dirty()
 * has taken off the list already is still there when it gets to it.) */
static void forget_dirty(server *sv, const conn *c) {
  conn **at = &sv->dirty;
  while (*at != NULL && *at != c) {
    at = &(*at)->next_dirty;
  }
  if (*at != NULL) {
    *at = c->next_dirty;
  }
}

void server_remove(server *sv, conn *c) {
  if (c->dirty) {
    forget_dirty(sv, c);
  }
  if (c->prev != NULL) {
    c->prev->next = c->next;
  } else {
    sv->conns = c->next;
  }
  if (c->next != NULL) {
    c->next->prev = c->prev;
  }
  sv->open_count--;
}

static void on_connection(uv_stream_t *listener, int status) {
  server *sv = listener->data;
  if (status == 0) {
    conn_accept(sv->sim, listener);
  }
}

static void on_listener_closed(uv_handle_t *handle) {
  free(handle);
}

static void close_listener(server *sv) {
  if (sv->listener != NULL) {
    uv_close((uv_handle_t *)sv->listener, on_listener_closed);
    sv->listener = NULL;
  }
}

static int open_listener(server *sv, int port) {
  sv->listener = xcalloc(1, sizeof *sv->listener);
  sv->listener->data = sv;
  int rc = uv_tcp_init(sv->sim->loop, sv->listener);
  if (rc != 0) {
    free(sv->listener);
    sv->listener = NULL;
    return rc;
  }
  struct sockaddr_in addr;
  rc = uv_ip4_addr("127.0.0.1", port, &addr);
  if (rc == 0) {
    rc = uv_tcp_bind(sv->listener, (const struct sockaddr *)&addr, 0);
  }
  if (rc == 0) {
    rc = uv_listen((uv_stream_t *)sv->listener, BACKLOG, on_connection);
  }
  int len = sizeof addr;
  if (rc == 0) {
    rc = uv_tcp_getsockname(sv->listener, (struct sockaddr *)&addr, &len);
  }
  if (rc != 0) {
    close_listener(sv);
    return rc;
  }
  sv->port = ntohs(addr.sin_port);
  return 0;
}

static void on_reopen(uv_timer_t *timer) {
  server *sv = timer->data;
  int rc = open_listener(sv, sv->port);
  if (rc != 0) {
    fprintf(stderr, "kin-apisim: cannot listen on port %d again: %s\n",
            sv->port, uv_strerror(rc));
    uv_timer_start(timer, on_reopen, REOPEN_RETRY_MS, 0);
  }
}

void server_refuse(server *sv, uint64_t ms) {
  close_listener(sv);
  uv_timer_start(&sv->reopen, on_reopen, ms, 0);
}

int server_open(server *sv, struct sim *s, int port) {
  sv->sim = s;
  uv_timer_init(s->loop, &sv->reopen);
  uv_check_init(s->loop, &sv->check);
  uv_prepare_init(s->loop, &sv->prepare);
  uv_idle_init(s->loop, &sv->again);
  sv->reopen.data = sv;
  sv->check.data = sv;
  sv->prepare.data = sv;
  uv_check_start(&sv->check, on_check);
  uv_prepare_start(&sv->prepare, on_prepare);
  return open_listener(sv, port);
}

void server_drop_all(server *sv, const conn *except, bool reset) {
  conn *c = sv->conns;
  while (c != NULL) {
    conn *next = c->next;
    if (c != except) {
      if (!reset) {
        stream_shutdown(c->stream);
      }
      conn_close(c, reset);
    }
    c = next;
  }
}

void server_close(server *sv) {
  close_listener(sv);
  server_drop_all(sv, NULL, false);
  sv->dirty = NULL;
  uv_close((uv_handle_t *)&sv->reopen, NULL);
  uv_close((uv_handle_t *)&sv->check, NULL);
  uv_close((uv_handle_t *)&sv->prepare, NULL);
  uv_close((uv_handle_t *)&sv->again, NULL);
}
