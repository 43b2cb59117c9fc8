/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_CREDENTIALS_H
#define KIN_TRANSPORT_CREDENTIALS_H

#include <stdint.h>

#include "transport/waiter.h"

/* The credential of one request. */
typedef struct kin__credential {
  const char *value;  /* of the Authorization field; NULL: no such field */
  uint64_t serial;    /* differs from that of every later value */
  const char *reason; /* why there is none; has no secret in it */

  /* The certificate that connections present, with its key: PEM. NULL: none. A
   * source that never has one leaves pair_serial 0; the transport's own
   * certificate then counts. */
  const char *certificate;
  const char *key;
  uint64_t pair_serial; /* differs from that of every later pair */
} kin__credential;

/* The source of the requests' credentials. The transport asks as late as
 * possible and keeps no copy. It wipes the bytes of the request that held the
 * value. */
typedef struct kin__credentials {
  /* Returns 0 with *out, KIN__PENDING, with out->value if that stays good
   * meanwhile, or a negative code with out->reason. All are borrowed until the
   * next call. With a NULL waiter the current state is returned, without
   * waiting. */
  int (*get)(void *ctx, kin__waiter *waiter, kin__credential *out);
  /* The server answered 401 to a request with the credential of this serial. */
  void (*rejected)(void *ctx, uint64_t serial);
  void *ctx;
  uint32_t wait_ms; /* for which a request waits; 0: the time to connect */
} kin__credentials;

#endif /* KIN_TRANSPORT_CREDENTIALS_H */
