/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_CREDENTIALS_H
#define KIN_TRANSPORT_CREDENTIALS_H

#include <stdint.h>

#include "transport/waiter.h"

/* What goes into one request. */
typedef struct kin__credential {
  const char *value;  /* of the Authorization field; NULL: no such field */
  uint64_t serial;    /* tells it from its successors */
  const char *reason; /* why there is none; names no secret */
} kin__credential;

/* Where the credentials of requests come from. The transport asks as late as it
 * can, keeps no copy, and wipes the bytes of the request that held it. */
typedef struct kin__credentials {
  /* 0, and *out is borrowed until the next call; KIN__PENDING; or a negative
   * code, and out->reason is borrowed likewise. With a NULL waiter the answer
   * is what there is, without waiting. */
  int (*get)(void *ctx, kin__waiter *waiter, kin__credential *out);
  /* A request that carried the credential of this serial was answered 401. */
  void (*rejected)(void *ctx, uint64_t serial);
  void *ctx;
} kin__credentials;

#endif /* KIN_TRANSPORT_CREDENTIALS_H */
