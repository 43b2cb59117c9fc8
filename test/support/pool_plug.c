/* SPDX-License-Identifier: MIT */
#include "support/pool_plug.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void on_plug(uv_work_t *work) {
  pool_plug *p = work->data;
  uv_sem_post(&p->started);
  uv_sem_wait(&p->go);
}

void plug_open(pool_plug *p, uv_loop_t *loop) {
  assert_int_equal(uv_sem_init(&p->started, 0), 0);
  assert_int_equal(uv_sem_init(&p->go, 0), 0);
  for (size_t i = 0; i < POOL_THREADS; i++) {
    p->work[i].data = p;
    assert_int_equal(uv_queue_work(loop, &p->work[i], on_plug, NULL), 0);
  }
  for (size_t i = 0; i < POOL_THREADS; i++) {
    uv_sem_wait(&p->started);
  }
}

void plug_pull(pool_plug *p) {
  for (size_t i = 0; i < POOL_THREADS; i++) {
    uv_sem_post(&p->go);
  }
}

void plug_close(pool_plug *p) {
  uv_sem_destroy(&p->started);
  uv_sem_destroy(&p->go);
}
