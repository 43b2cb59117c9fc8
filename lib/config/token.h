/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_TOKEN_H
#define KIN_CONFIG_TOKEN_H

#include <stdbool.h>

#include <uv.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/credentials.h"

/* A bearer token: fixed, or from a file that is replaced now and then, as by
 * the kubelet every hour.
 *
 * A file is read before the first request. It is read again before a request
 * that comes 50 s or more after the last good reading (AU-01, CN-10). Unlike
 * client-go, it is also read before the request that follows a 401. The file's
 * token wins over the fixed token (AU-02).
 *
 * If a file cannot be read or holds no token, the current token stays in use.
 * Requests try again, once a second at most unless a 401 came. A request fails
 * only if there is no token at all; then every request tries again. The failure
 * is logged, but one that goes on not each time (kin__log_level_of_failure).
 *
 * Files are read in libuv's pool, and requests wait meanwhile: for a second at
 * most if there is a token in hand, and not at all once a reading has taken a
 * second. A token's bytes are wiped when the token is replaced, and appear in no
 * log line and no error. */
typedef struct kin__token kin__token;

typedef struct kin__token_options {
  uv_loop_t *loop;
  const kin_allocator *allocator;
  kin__clock clock;
  const kin__log *log;
  const char *token; /* or NULL; copied */
  const char *file;  /* or NULL; copied. At least one of the two is set */
} kin__token_options;

/* A token is one word of visible ASCII, at most 64 KiB. */
#define KIN__TOKEN_MAX_BYTES (64u << 10)

bool kin__token_is_valid(kin_str text);

/* Errors: KIN_EINVAL (neither is set, an empty file name, an invalid fixed
 * token), KIN_ENOMEM. */
int kin__token_new(kin__token **out, const kin__token_options *options);

/* Frees the token at once. Legal only before its first use. */
void kin__token_free(kin__token *token);

/* Waits for a running reading, then calls cb from the loop, never inside this
 * call. Nothing of the token is left then. No request may be waiting. */
void kin__token_close(kin__token *token, void (*cb)(void *ctx), void *ctx);

/* The source for a transport; valid until the token is closed. */
kin__credentials kin__token_credentials(kin__token *token);

#endif /* KIN_CONFIG_TOKEN_H */
