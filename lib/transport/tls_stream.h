/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TLS_STREAM_H
#define KIN_TRANSPORT_TLS_STREAM_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "transport/stream.h"

struct kin__conn;
struct kin__tls_context;

/* A TLS client on the context's current SSL_CTX, which must be there. The
 * stream's ops free the stream. Errors: KIN_ENOMEM. */
int kin__tls_stream_new(kin__stream **out, struct kin__tls_context *context);

/* A connection was cut. A few servers refuse a client's certificate or a session
 * so, without an alert. If the cut came in a handshake, the context of that
 * handshake becomes suspect. */
void kin__tls_stream_suspect(const struct kin__conn *conn);

/* For the context: the BIO that connects a stream's SSL object to its
 * connection. NULL if out of memory. */
BIO_METHOD *kin__tls_stream_new_bio_method(void);

/* When the server of this connection was verified: in its handshake, or in the one
 * before the sessions that this one continues. */
uint64_t kin__tls_stream_verified_ms(const SSL *ssl);

/* The context of an SSL object of ours, and the generation of the SSL_CTX that
 * the object was made with. */
struct kin__tls_context *kin__tls_stream_context(const SSL *ssl,
                                                 unsigned *generation);

#endif /* KIN_TRANSPORT_TLS_STREAM_H */
