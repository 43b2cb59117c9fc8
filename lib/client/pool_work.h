/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_POOL_WORK_H
#define KIN_CLIENT_POOL_WORK_H

#include "client/env.h"

/* Implements kin__env.start_work with libuv's pool of threads. `loop` is the
 * client's kin__loop. Errors: KIN_ENOMEM. */
int kin__pool_work_start(void *loop, kin__pool_work *work);
/* Implements kin__env.cancel_work. */
void kin__pool_work_cancel(kin__pool_work *work);

#endif /* KIN_CLIENT_POOL_WORK_H */
