/* SPDX-License-Identifier: MIT */
#include "client/pool_work.h"

#include <assert.h>

#include <uv.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/link.h"
#include "client/loop.h"

/* libuv's request lives until its callback, in a block of its own, so that a
 * work may free itself in `done`. */
typedef struct pooled_work {
  uv_work_t request;
  kin__pool_work *work;
} pooled_work;

static void on_work(uv_work_t *request) {
  kin__pool_work *work = KIN__CONTAINER_OF(request, pooled_work, request)->work;
  work->run(work);
}

static void on_worked(uv_work_t *request, int status) {
  pooled_work *pooled = KIN__CONTAINER_OF(request, pooled_work, request);
  kin__pool_work *work = pooled->work;
  (void)status; /* cancelled or not: the work itself knows whether it ran */
  work->request = NULL;
  kin__free(kin__default_allocator(), pooled);
  work->done(work);
}

int kin__pool_work_start(void *loop, kin__pool_work *work) {
  pooled_work *pooled = kin__malloc(kin__default_allocator(), sizeof *pooled);
  if (pooled == NULL) {
    return KIN_ENOMEM;
  }
  pooled->work = work;
  int err = uv_queue_work(((kin__loop *)loop)->uv, &pooled->request, on_work,
                          on_worked);
  assert(err == 0); /* fails only without a callback */
  (void)err;
  work->request = pooled;
  return 0;
}

void kin__pool_work_cancel(kin__pool_work *work) {
  pooled_work *pooled = work->request;
  if (pooled != NULL) {
    (void)uv_cancel((uv_req_t *)&pooled->request); /* fails if it runs */
  }
}
