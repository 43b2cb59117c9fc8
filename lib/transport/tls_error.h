/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TLS_ERROR_H
#define KIN_TRANSPORT_TLS_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/types.h>

/* OpenSSL's failures as texts that tell the user how to fix them. A
 * certificate's names come from the peer: only printable ASCII is copied, up to
 * a bound. */

#define KIN__TLS_REASON_SIZE 224

/* Takes all of this thread's errors off OpenSSL's queue. The oldest, which is
 * the cause, becomes the text. Returns KIN_ENOMEM if memory was out, else
 * KIN_ETLS, also for an empty queue. */
int kin__tls_take_error(char *reason, size_t size);

/* The same without a text. Sets *is_memory if memory was out, and never clears
 * it. */
void kin__tls_drop_errors(bool *is_memory);

/* The reason why verification has just refused a certificate. `wanted` is the
 * name or address that the certificate should be for. */
void kin__tls_describe_refusal(X509_STORE_CTX *store, const char *wanted,
                               char *reason, size_t size);

/* The known facts about a connection that failed. */
typedef struct kin__tls_failure {
  const unsigned char *first; /* the first bytes from the server */
  size_t first_length;
  bool is_established;  /* the handshake was over */
  bool has_certificate; /* of the client */
} kin__tls_failure;

/* The same as kin__tls_take_error for a connection. */
int kin__tls_describe_failure(const kin__tls_failure *failure, char *reason,
                              size_t size);

#endif /* KIN_TRANSPORT_TLS_ERROR_H */
