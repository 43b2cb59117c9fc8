/* SPDX-License-Identifier: MIT */
#include "tls_config.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mem.h"

typedef struct file_stamp {
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
} file_stamp;

enum { FILE_CERT, FILE_KEY, FILE_CLIENT_CA, FILE_COUNT };

struct tls_config {
  const options *opts;
  SSL_CTX *ctx;                  // of the last good files
  file_stamp stamps[FILE_COUNT]; // of the last ones read, good or not
};

/* ----------------------------------------------------------------- files */

static file_stamp stamp_of(const char *path) {
  file_stamp stamp = {0};
  struct stat st;
  if (path != NULL && stat(path, &st) == 0) {
    stamp.device = st.st_dev;
    stamp.inode = st.st_ino;
    stamp.size = st.st_size;
#ifdef __APPLE__
    stamp.modified = st.st_mtimespec;
#else
    stamp.modified = st.st_mtim;
#endif
  }
  return stamp;
}

/* Equal stamps: the file has been neither replaced nor written to. */
static bool stamps_equal(const file_stamp *a, const file_stamp *b) {
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         a->modified.tv_sec == b->modified.tv_sec &&
         a->modified.tv_nsec == b->modified.tv_nsec;
}

/* Notes the files' present stamps. True if one has changed. */
static bool take_stamps(tls_config *config) {
  const options *o = config->opts;
  const char *paths[FILE_COUNT] = {o->tls_cert, o->tls_key, o->tls_client_ca};
  bool changed = false;
  for (int i = 0; i < FILE_COUNT; i++) {
    file_stamp now = stamp_of(paths[i]);
    if (!stamps_equal(&now, &config->stamps[i])) {
      config->stamps[i] = now;
      changed = true;
    }
  }
  return changed;
}

static void describe_failure(buf *error, const char *option, const char *path) {
  /* The oldest entry is the cause; of a file, the system's own words. */
  unsigned long code = ERR_get_error();
  const char *reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                                              : ERR_reason_error_string(code);
  buf_printf(error, "%s %s: %s", option, path,
             reason != NULL ? reason : "cannot be used");
  ERR_clear_error();
}

static bool load_pair(SSL_CTX *ctx, const options *o, buf *error) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(ctx, o->tls_cert) != 1) {
    describe_failure(error, "--tls-cert", o->tls_cert);
    return false;
  }
  /* Fails, too, if the key is not the certificate's. */
  if (SSL_CTX_use_PrivateKey_file(ctx, o->tls_key, SSL_FILETYPE_PEM) != 1) {
    describe_failure(error, "--tls-key", o->tls_key);
    return false;
  }
  return true;
}

static bool load_client_ca(SSL_CTX *ctx, const options *o, buf *error) {
  if (o->tls_client_ca == NULL) {
    return true;
  }
  STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(o->tls_client_ca);
  if (names == NULL || SSL_CTX_load_verify_file(ctx, o->tls_client_ca) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    describe_failure(error, "--tls-client-ca", o->tls_client_ca);
    return false;
  }
  SSL_CTX_set_client_CA_list(ctx, names);
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     NULL);
  return true;
}

/* --------------------------------------------------------------- context */

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *data) {
  static const unsigned char HTTP11[] = "\x08http/1.1";
  (void)ssl;
  (void)data;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_len, HTTP11, sizeof HTTP11 - 1, in,
                            in_len) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/* A key with a passphrase is an error, not a question on the terminal. */
static int on_passphrase(char *text, int size, int writing, void *data) {
  (void)text;
  (void)size;
  (void)writing;
  (void)data;
  return -1;
}

static int protocol_version(int minor, int otherwise) {
  static const int VERSIONS[] = {0, TLS1_1_VERSION, TLS1_2_VERSION,
                                 TLS1_3_VERSION};
  return VERSIONS[minor != 0 ? minor : otherwise];
}

static void set_versions(SSL_CTX *ctx, const options *o) {
  int max = o->tls_max_version;
  int least = max != 0 && max < 2 ? max : 2;
  int min = o->tls_min_version != 0 ? o->tls_min_version : least;
  SSL_CTX_set_min_proto_version(ctx, protocol_version(min, 2));
  SSL_CTX_set_max_proto_version(ctx, protocol_version(max, 3));
  if (min < 2) {
    /* Its signatures are SHA-1, which every higher level forbids. */
    SSL_CTX_set_cipher_list(ctx, "DEFAULT:@SECLEVEL=0");
  }
}

static SSL_CTX *new_context(const options *o, buf *error) {
  static const unsigned char SESSIONS[] = "kin-apisim";
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  if (ctx == NULL) {
    describe_failure(error, "--tls-cert", o->tls_cert);
    return NULL;
  }
  set_versions(ctx, o);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  /* Sessions live in tickets only, one a handshake, as Go's server does it. */
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(ctx, SESSIONS, sizeof SESSIONS - 1);
  SSL_CTX_set_num_tickets(ctx, 1);
  SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
  SSL_CTX_set_default_passwd_cb(ctx, on_passphrase);
  if (!load_pair(ctx, o, error) || !load_client_ca(ctx, o, error)) {
    SSL_CTX_free(ctx);
    return NULL;
  }
  return ctx;
}

tls_config *tls_config_new(const options *opts, buf *error) {
  tls_config *config = xcalloc(1, sizeof *config);
  config->opts = opts;
  take_stamps(config);
  config->ctx = new_context(opts, error);
  if (config->ctx == NULL) {
    free(config);
    return NULL;
  }
  return config;
}

void tls_config_free(tls_config *config) {
  if (config != NULL) {
    SSL_CTX_free(config->ctx);
    free(config);
  }
}

SSL *tls_config_begin(tls_config *config) {
  if (take_stamps(config)) {
    buf error = {0};
    SSL_CTX *ctx = new_context(config->opts, &error);
    if (ctx != NULL) {
      SSL_CTX_free(config->ctx);
      config->ctx = ctx;
    } else {
      fprintf(stderr, "kin-apisim: %s; the old files stay in use\n",
              error.data);
    }
    buf_free(&error);
  }
  SSL *ssl = SSL_new(config->ctx);
  if (ssl == NULL) {
    fputs("kin-apisim: out of memory\n", stderr);
    exit(1);
  }
  SSL_set_accept_state(ssl);
  return ssl;
}
