/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_TOKEN_H
#define KIN_CONFIG_TOKEN_H

#include <uv.h>

#include <kin/allocator.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/credentials.h"

/* A bearer token, fixed or from a file that somebody replaces now and then, as
 * the kubelet does every hour.
 *
 * A file is read before the first request, and before a request that comes 50 s
 * or more after the last reading that succeeded (AU-01, CN-10); also, unlike
 * client-go, before the request that follows a 401. What is read beats the
 * fixed token (AU-02). A file that cannot be read or holds no token changes
 * nothing: it is logged, the token in hand stays in use, and every following
 * request tries again. Only a request for which there is no token at all fails.
 *
 * Files are read in libuv's pool; requests wait meanwhile. The bytes of a token
 * are wiped when it is replaced, and appear in no log line and no error. */
typedef struct kin__token kin__token;

typedef struct kin__token_options {
  uv_loop_t *loop;
  const kin_allocator *allocator;
  kin__clock clock;
  const kin__log *log;
  const char *token; /* or NULL; copied */
  const char *file;  /* or NULL; copied. One of the two is given */
} kin__token_options;

/* A token is one word of visible ASCII, at most 64 KiB. */
#define KIN__TOKEN_MAX_BYTES (64u << 10)

/* Errors: KIN_EINVAL (neither is given, an empty file name, a fixed token that
 * is none), KIN_ENOMEM. */
int kin__token_new(kin__token **out, const kin__token_options *options);

/* At once, and legal only as long as nobody has asked it for anything. */
void kin__token_free(kin__token *token);

/* Waits for a reading that runs, then calls cb from the loop, never from inside
 * this call. Nothing of it is left then. No request may be waiting. */
void kin__token_close(kin__token *token, void (*cb)(void *ctx), void *ctx);

/* For the transport; valid until the token is closed. */
kin__credentials kin__token_credentials(kin__token *token);

#endif /* KIN_CONFIG_TOKEN_H */
