/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TLS_BUILD_H
#define KIN_TRANSPORT_TLS_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "base/library.h"
#include "transport/file.h"
#include "transport/ip.h"
#include "transport/tls_error.h"

/* Builds an SSL_CTX from settings, on a thread of libuv's pool: parsing the
 * system's certificates takes 20 ms. The caller's allocator is not for other
 * threads, so a build uses OpenSSL's memory. */

/* The bound of a file or of data; the system's bundle has 220 KB. */
#define KIN__TLS_MAX_PEM_BYTES (2u << 20)

kin__library kin__tls_library(void);

typedef enum kin__tls_part {
  KIN__TLS_AUTHORITY,   /* whose certificates are trusted */
  KIN__TLS_CERTIFICATE, /* of the client, with its chain */
  KIN__TLS_KEY,         /* of the client */
  KIN__TLS_PARTS
} kin__tls_part;

/* Must not change while a build runs. */
typedef struct kin__tls_settings {
  char *file[KIN__TLS_PARTS]; /* or NULL */
  char *data[KIN__TLS_PARTS]; /* PEM, or NULL; wins over the file (TR-01) */
  char *name; /* the host name or address that the server's certificate must
               * name */
  unsigned char address[KIN__IP_BYTES];
  bool is_address; /* name is `address` */
  bool is_insecure;
  /* SSL_CERT_FILE and SSL_CERT_DIR, or NULL; used if there is no authority. */
  char *system_file;
  char *system_directories;
} kin__tls_settings;

typedef struct kin__tls_build {
  const kin__tls_settings *settings;
  /* In: the files as the last build found them. Out: as this build found them.
   * Without an authority, its id is that of the system's bundle and
   * directories. */
  kin__file_id files[KIN__TLS_PARTS];
  bool is_forced; /* In: builds even if no file has changed. */

  /* Out. */
  uint64_t content;  /* a hash of the files' bytes */
  bool is_unchanged; /* no file has changed, nothing was built */
  bool is_empty;     /* the authority's file exists and is empty */
  bool is_starved;   /* OpenSSL was out of memory on the way */
  SSL_CTX *context;  /* NULL if unchanged or failed; the caller's */
  int code;          /* of a build that failed: KIN_ETLSSETUP, KIN_ENOMEM */
  char reason[KIN__TLS_REASON_SIZE];
} kin__tls_build;

/* Blocks. Leaves OpenSSL's error queue empty. */
void kin__tls_build_run(kin__tls_build *build);

/* Whether the settings have files that may change. */
bool kin__tls_settings_can_change(const kin__tls_settings *settings);

#endif /* KIN_TRANSPORT_TLS_BUILD_H */
