/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TLS_CONTEXT_H
#define KIN_TRANSPORT_TLS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "transport/net.h"
#include "transport/tls_build.h"
#include "transport/waiter.h"

/* What the connections of one transport share of TLS: the SSL_CTX, the session
 * to resume, and the buffer for plain bytes.
 *
 * The SSL_CTX is made in libuv's pool when the first connection asks for it.
 * Before later connections, at most once a second, the files it came from are
 * looked at, also in the pool; it is made anew if one of them has changed, or
 * if the connection before has failed. So a replaced certificate or authority
 * heals without a restart. What cannot be read then changes nothing. Open
 * connections keep the SSL_CTX they began with (AU-03, AU-04). */

/* As in kin_client_options; each string may be NULL. */
typedef struct kin__tls_options {
  const char *authority_file;
  const char *authority_data;
  const char *certificate_file;
  const char *certificate_data;
  const char *key_file;
  const char *key_data;
  const char *server_name;
  bool is_insecure;
} kin__tls_options;

/* NULL if the options are consistent, else what is wrong with them. Static. */
const char *kin__tls_options_check(const kin__tls_options *options);

typedef struct kin__tls_context {
  kin__net *net;
  kin__tls_settings settings;
  BIO_METHOD *bio_method; /* of the streams */
  char *plain;            /* KIN__READ_BYTES; used within one step only */

  uv_work_t work;
  bool is_working; /* build and settings are the worker's */
  kin__tls_build build;
  kin__link waiters;

  SSL_CTX *ctx; /* NULL until the first build has succeeded */
  kin__file_id files[KIN__TLS_PARTS]; /* that ctx came from */
  unsigned generation;                /* of ctx */
  SSL_SESSION *session; /* the last one that ctx has got, or NULL */
  uint64_t checked_ms;  /* when the files were looked at */
  bool is_suspect;      /* a connection has failed since */
  bool is_closing;
  int code; /* while ctx is NULL: why there is none */
  char reason[KIN__TLS_REASON_SIZE];

  /* Other files, other SSL_CTX: idle connections should go. */
  void (*on_changed)(struct kin__tls_context *context);
} kin__tls_context;

/* Copies the options, which must be consistent. `host` is the server's name as
 * in its URL. Only net->allocator need be set yet. Errors: KIN_ENOMEM. */
int kin__tls_context_open(kin__tls_context **out, kin__net *net,
                          const kin__tls_options *options, const char *host);

/* No waiter may be left. What is running in the pool holds the net. Keys are
 * wiped when the context is freed: until then it may be made anew. */
void kin__tls_context_close(kin__tls_context *context);

/* When nothing holds the net any more, and after a failed open of it. */
void kin__tls_context_free(kin__tls_context *context);

/* For a connection that is about to be dialled. 0: ctx is there, and its files
 * have been looked at; KIN__PENDING; or the code of a build that failed, of
 * which context->reason tells more. */
int kin__tls_context_prepare(kin__tls_context *context, kin__waiter *waiter);

/* A connection has failed for reasons of TLS, or what it showed was refused. */
void kin__tls_context_suspect(kin__tls_context *context);

/* Whether connections show a certificate of ours. */
bool kin__tls_context_has_certificate(const kin__tls_context *context);

#endif /* KIN_TRANSPORT_TLS_CONTEXT_H */
