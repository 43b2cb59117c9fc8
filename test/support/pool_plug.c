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

static void on_unplugged(uv_work_t *work, int status) {
  pool_plug *p = work->data;
  assert_int_equal(status, 0);
  p->held--;
}

void plug_open(pool_plug *p, uv_loop_t *loop) {
  p->loop = loop;
  p->held = POOL_THREADS;
  assert_int_equal(uv_sem_init(&p->started, 0), 0);
  assert_int_equal(uv_sem_init(&p->go, 0), 0);
  for (size_t i = 0; i < POOL_THREADS; i++) {
    p->work[i].data = p;
    assert_int_equal(uv_queue_work(loop, &p->work[i], on_plug, on_unplugged),
                     0);
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
  while (p->held > 0) {
    uv_run(p->loop, UV_RUN_ONCE);
  }
  uv_sem_destroy(&p->started);
  uv_sem_destroy(&p->go);
}
