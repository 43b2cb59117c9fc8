/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SERVER_H
#define APISIM_SERVER_H

/* The listener, all connections, and the once-per-iteration flush of those
 * that have something to send. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct conn;
struct sim;

typedef struct server {
  struct sim *sim;
  uv_tcp_t *listener; // NULL while connections are refused
  uv_timer_t reopen;
  uv_check_t check;     // after sockets were read
  uv_prepare_t prepare; // after timers ran
  uv_idle_t again;      // runs while a flush left work for the next iteration
  struct conn *conns;
  struct conn *dirty;
  size_t open_count;
  uint64_t accepted_count;
  int port;
} server;

/* Binds 127.0.0.1:port (0 = any) and listens. Returns 0 or a libuv error. */
int server_open(server *sv, struct sim *s, int port);
/* Closes the listener, every connection and all handles. */
void server_close(server *sv);
/* Closes the listener, so that connecting is refused, and opens it on the same
 * port again after ms. */
void server_refuse(server *sv, uint64_t ms);
/* Closes every connection but one (NULL = every one). */
void server_drop_all(server *sv, const struct conn *except, bool reset);

void server_add(server *sv, struct conn *c);
void server_remove(server *sv, struct conn *c);
void server_mark_dirty(server *sv, struct conn *c);

#endif
