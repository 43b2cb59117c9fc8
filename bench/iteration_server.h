/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ITERATION_SERVER_H
#define BENCH_ITERATION_SERVER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The API server of bench_iteration and bench_fairness: a thread for each
 * connection, which writes objects as it makes them. A watch goes through the
 * stages below. A watch of `ticks` has one object, which changes all the time:
 * its resourceVersion is the moment of sending, by wall_ns(). */

enum { ITERATION_MAX_EVENTS = 2000 };

typedef struct iteration_shape {
  size_t bytes;
  size_t count;
  size_t indices;
  size_t listeners;
  size_t scopes;    /* 1: all namespaces in one */
  unsigned tick_us; /* between two changes of `ticks` */
} iteration_shape;

typedef enum iteration_stage {
  ITERATION_SILENT, /* after the list */
  ITERATION_EVENTS, /* the first objects change */
  ITERATION_EXPIRED /* the watch ends with 410; lists have the changes */
} iteration_stage;

typedef struct iteration_server {
  iteration_shape shape;
  uint16_t port;
  /* The rest belongs to the server. */
  int listening;
  pthread_t acceptor;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  iteration_stage stage;
} iteration_server;

/* The number of objects that change. */
size_t iteration_event_count(const iteration_shape *shape);

/* Ends the process if it fails. */
void iteration_server_open(iteration_server *server,
                           const iteration_shape *shape);
void iteration_server_enter(iteration_server *server, iteration_stage stage);
void iteration_server_close(iteration_server *server);

#endif /* BENCH_ITERATION_SERVER_H */
