/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_POOL_PLUG_H
#define KIN_TEST_POOL_PLUG_H

#include <uv.h>

#define POOL_THREADS 4

/* Holds up the threads of libuv's pool, so that no look-up and no reading of a
 * file begins. The process must have UV_THREADPOOL_SIZE POOL_THREADS or none. */
typedef struct pool_plug {
  uv_loop_t *loop;
  int held; /* threads of which the loop has not heard that they went on */
  uv_work_t work[POOL_THREADS];
  uv_sem_t started;
  uv_sem_t go;
} pool_plug;

/* Returns when all threads are held. */
void plug_open(pool_plug *p, uv_loop_t *loop);
/* Lets them go. */
void plug_pull(pool_plug *p);
/* Runs the loop until all have gone: one that the system does not let run has not
 * even noticed. */
void plug_close(pool_plug *p);

#endif /* KIN_TEST_POOL_PLUG_H */
