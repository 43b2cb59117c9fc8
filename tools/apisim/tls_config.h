/* SPDX-License-Identifier: MIT */
#ifndef APISIM_TLS_CONFIG_H
#define APISIM_TLS_CONFIG_H

/* What the server shows and asks for in a TLS handshake: its certificate and
 * key, the CA of client certificates, the versions. The files are looked at
 * before each handshake, so that a certificate that was replaced is served
 * without a restart, as a real API server does. */

#include <openssl/ssl.h>

#include "buf.h"
#include "options.h"

typedef struct tls_config tls_config;

/* Reads the files that opts names; opts must stay valid. NULL and a message in
 * error if they cannot be used. */
tls_config *tls_config_new(const options *opts, buf *error);
/* NULL is fine. */
void tls_config_free(tls_config *config);
/* The server's end of a new connection, without a BIO. Files that changed are
 * read first; ones that cannot be used are complained of once, on standard
 * error, and the last good ones stay in use. SSL_free() it. */
SSL *tls_config_begin(tls_config *config);

#endif
