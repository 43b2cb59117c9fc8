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

/* The TLS state that the connections of one transport share: the SSL_CTX, the
 * session to resume, and the buffer for plain bytes.
 *
 * The first connection has the SSL_CTX built in libuv's pool. Before later
 * connections, at most once a second, and now and then before requests on kept
 * connections, the pool looks at the files of the SSL_CTX. A new one is built
 * if a file has changed, or if the last connection has failed. So a replaced
 * certificate or authority works without a restart. A file that cannot be read
 * changes nothing. A file that is written anew with the same content, as the
 * kubelet does with ca.crt beside a new token, leaves the connections alone.
 *
 * Open connections keep the SSL_CTX they began with, but not for long (AU-03,
 * AU-04): after a change idle ones are closed, and others when their response
 * is complete. So no watch is broken, and each ends after its
 * timeoutSeconds. */

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

/* NULL if the options are consistent, else a text about the fault. Static. */
const char *kin__tls_options_check(const kin__tls_options *options);

/* Whether a certificate can be for it: a host name or an address. */
bool kin__tls_is_server_name(const char *name);
#define KIN__TLS_NO_SERVER_NAME "neither a host name nor an address"

typedef struct kin__tls_context {
  kin__net *net;
  const char *label; /* begins the texts of errors; static */
  kin__tls_settings settings;
  BIO_METHOD *bio_method; /* of the streams */
  char *plain;            /* KIN__READ_BYTES; used within one step only */

  uv_work_t work;
  uint64_t begun_ms; /* the work */
  bool is_working;   /* only the worker may use build and settings */
  kin__tls_build build;
  kin__link waiters;

  /* The certificate and key that the next build takes over; NULL: none. */
  char *next[KIN__TLS_PARTS];
  bool has_next;
  bool is_pair_new; /* no context has been built with the pair of settings */

  SSL_CTX *ctx;         /* NULL until the first build has succeeded */
  uint64_t content;     /* of the files that ctx was built from: a hash */
  unsigned generation;  /* of ctx */
  unsigned edition;     /* of the files: counts their changes. Connections of an
                     * older one are not kept */
  SSL_SESSION *session; /* the last session that ctx got, or NULL */
  uint64_t verified_ms; /* the server, before the session began */
  uint64_t checked_ms;  /* when the files were last looked at */
  bool is_suspect;      /* the next build is forced */
  bool is_refused; /* a connection has failed, and no look that began later at
                    * the files has ended */
  bool is_closing;
  int code; /* the error while ctx is NULL */
  char reason[KIN__TLS_REASON_SIZE];

  /* The files' content and the SSL_CTX have changed: idle connections should be
   * closed. */
  void (*on_changed)(struct kin__tls_context *context);
} kin__tls_context;

/* Copies the options, which must be consistent. `host` is the server's name in
 * the URL. Only net->allocator must be set already. Errors: KIN_ENOMEM. */
int kin__tls_context_open(kin__tls_context **out, kin__net *net,
                          const kin__tls_options *options, const char *host);

/* No waiter may be left. Running work in the pool holds the net. Keys are wiped
 * when the context is freed; until then the SSL_CTX may be rebuilt. */
void kin__tls_context_close(kin__tls_context *context);

/* Call it when nothing holds the net any more, and after a failed open of the
 * net. */
void kin__tls_context_free(kin__tls_context *context);

/* The least time between two looks at the files for new connections. */
#define KIN__TLS_CHECK_INTERVAL_MS 1000u

/* Before a connection is used or dialled. Returns 0 if ctx is there and its
 * files were looked at less than interval_ms ago. Otherwise KIN__PENDING, or
 * the code of a failed build, with context->reason. */
int kin__tls_context_prepare(kin__tls_context *context, kin__waiter *waiter,
                             uint32_t interval_ms);

/* Whether ctx stays good while a newer one is built. It does not after
 * kin__tls_context_suspect, until the files have been looked at. */
bool kin__tls_context_is_usable(const kin__tls_context *context);

/* Gives the client's certificate and key, PEM, copied; both NULL: none. They
 * replace those of the options: the next kin__tls_context_prepare waits for a
 * context that presents them. Errors: KIN_ENOMEM; nothing has changed then. */
int kin__tls_context_set_pair(kin__tls_context *context,
                              const char *certificate, const char *key);

/* The session to resume, borrowed, or NULL. */
SSL_SESSION *kin__tls_context_session(const kin__tls_context *context);

/* A connection has failed because of TLS, or the server refused the client's
 * certificate. */
void kin__tls_context_suspect(kin__tls_context *context);

/* Whether connections present a client certificate. */
bool kin__tls_context_has_certificate(const kin__tls_context *context);

#endif /* KIN_TRANSPORT_TLS_CONTEXT_H */
