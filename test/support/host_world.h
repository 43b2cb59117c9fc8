/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_HOST_WORLD_H
#define KIN_TEST_HOST_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include "support/client_world.h"
#include "support/loop_server.h"
#include "support/tls_server.h"

/* A program as its loop sees it: one client with one informer, real sockets,
 * the real clock. The server has a loop of its own, so everything on the
 * program's loop is the client's, and the program may do to its loop what it
 * likes.
 *
 * The server gives a list of two objects and a watch that deletes one of them.
 * After host_reset the informer is told that its position is gone, and a list
 * and a watch add that object again and delete it again. */
typedef struct host_world {
  client_world program; /* without a server; host_open fills in the option */
  uv_loop_t outside;    /* the server's */
  loop_server server;
  tls_server secure;
  bool is_tls;
  int fd_count; /* before; -1: not compared */
  char url[64];
  /* Called in each callback, the two close callbacks included; may be NULL. */
  void (*hook)(struct host_world *w);
  int act_at; /* for hooks */
} host_world;

/* Opens the loops and the server. */
void host_init(host_world *w, bool is_tls);

/* Opens and starts client and informer. Returns the first error. */
int host_open(host_world *w);

/* One turn of each loop; waits for an event for at most some milliseconds. */
void host_turn(host_world *w);

/* Turns until the condition holds; aborts the test after 30 s. A statement or
 * a block follows, which runs after each turn. */
#define HOST_UNTIL(w, condition)                                               \
  for (uint64_t host_start_ns = uv_hrtime();                                   \
       !(condition) && (host_turn(w), host_check_time(host_start_ns), true);)

void host_check_time(uint64_t start_ns);

/* Breaks all connections; the next one is given the list again. */
void host_reset(host_world *w);

/* kin_client_close, unless the client is closing or closed. */
void host_close(host_world *w);

/* What many programs do in the end: uv_close on every handle that is not
 * closing. Returns how many there were. */
size_t host_sweep(host_world *w);

/* Turns until the client is closed, then closes everything else and checks that
 * each close callback came once and that nothing is left: of the loop, of
 * memory, of descriptors. */
void host_finish(host_world *w);

#endif /* KIN_TEST_HOST_WORLD_H */
