/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_TLS_CERTS_H
#define KIN_TEST_TLS_CERTS_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

/* Certificates made at run time. Everything aborts the test on failure. */
typedef struct tls_cert {
  X509 *certificate;
  EVP_PKEY *key;
} tls_cert;

typedef struct tls_cert_options {
  const char *name;         /* the common name */
  const char *alternatives; /* "DNS:localhost,IP:127.0.0.1"; NULL: none */
  const tls_cert *issuer;   /* NULL: signs itself */
  bool is_authority;
  long from_s; /* validity, from now; both 0: since an hour, for a day */
  long until_s;
} tls_cert_options;

tls_cert tls_cert_make(const tls_cert_options *options);
void tls_cert_finish(tls_cert *cert);

/* PEM texts, to be given to free(). */
char *tls_cert_pem(const tls_cert *cert);
char *tls_cert_key_pem(const tls_cert *cert);

/* What most tests need, made once for the process: an authority, and its
 * certificates for localhost and 127.0.0.1, and for a client. */
typedef struct tls_pki {
  tls_cert authority;
  tls_cert server;
  tls_cert client;
  char *authority_pem;
  char *client_pem;
  char *client_key_pem;
} tls_pki;

const tls_pki *tls_pki_get(void);
/* At the end of the process, for the sanitizer. */
void tls_pki_finish(void);

/* Replaces a file as careful programs do: a new one, renamed over the old. */
void tls_write_file(const char *path, const char *text);
/* Removes a directory with its files. */
void tls_remove_directory(const char *path);

#endif /* KIN_TEST_TLS_CERTS_H */
