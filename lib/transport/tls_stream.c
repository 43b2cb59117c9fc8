/* SPDX-License-Identifier: MIT */
/* OpenSSL between a connection and its owner. OpenSSL reads a step's wire bytes
 * in recv's buffer, through a BIO that is only a cursor. It writes to the
 * connection, which takes all bytes or fails. So only reading can pause, when
 * the step's bytes are used up, and the next bytes resume a handshake.
 *
 * Each receive() continues until OpenSSL asks for more. Afterwards OpenSSL
 * holds at most the beginning of a record. So no plain byte waits for a socket
 * that may never become readable again. One recv bounds the work of a step.
 *
 * OpenSSL keeps its errors in a queue of the thread, which the host shares, and
 * takes any entry for its own. So the queue is emptied before each call and
 * after each step. */
#include "transport/tls_stream.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/link.h"
#include "transport/conn.h"
#include "transport/tls_context.h"
#include "transport/tls_error.h"

#define MORE 2 /* from fill(): beside 0, KIN__STREAM_ENDED and errors */

/* As in Go's crypto/tls, and so in client-go. */
#define MAX_SILENT_MESSAGES 16u

typedef struct tls_stream {
  kin__stream base;
  kin__tls_context *context;
  unsigned generation; /* of the context when ssl was made */
  SSL *ssl;
  uint64_t begun_ms;    /* the handshake */
  uint64_t verified_ms; /* the server, when the offered session began */

  const char *in; /* wire bytes of this step still to read; else NULL */
  size_t in_length;
  unsigned char first[5]; /* the first bytes from the server */
  size_t first_length;

  int write_error; /* an error of the connection, passed through OpenSSL */
  bool is_broken;  /* OpenSSL has failed: only free is legal */
  uint8_t silent_messages; /* since the last read that brought plain bytes */
  char refusal[KIN__TLS_REASON_SIZE]; /* why the certificate was refused */
} tls_stream;

static tls_stream *self(kin__stream *stream) {
  return KIN__CONTAINER_OF(stream, tls_stream, base);
}

/* --- The BIO -------------------------------------------------------------- */

static int bio_create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

static int bio_read(BIO *bio, char *bytes, size_t size, size_t *count) {
  tls_stream *stream = BIO_get_data(bio);
  *count = size < stream->in_length ? size : stream->in_length;
  BIO_clear_retry_flags(bio);
  if (*count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  memcpy(bytes, stream->in, *count);
  stream->in += *count;
  stream->in_length -= *count;
  return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t length,
                     size_t *count) {
  tls_stream *stream = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *count = 0;
  int err = kin__stream_write(&stream->base, bytes, length);
  if (err != 0) {
    stream->write_error = err;
    return 0;
  }
  *count = length;
  return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio;
  (void)number;
  (void)pointer;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *kin__tls_stream_new_bio_method(void) {
  /* Without a type index of its own: a process has only 127 of them. */
  BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "kinformer");
  if (method != NULL) {
    BIO_meth_set_create(method, bio_create);
    BIO_meth_set_read_ex(method, bio_read);
    BIO_meth_set_write_ex(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
  }
  ERR_clear_error();
  return method;
}

/* --- Failing -------------------------------------------------------------- */

#define LABEL_SIZE 24

static int set_class(tls_stream *stream, int code, kin_error_class error_class,
                     const char *reason) {
  char text[LABEL_SIZE + KIN__TLS_REASON_SIZE];
  snprintf(text, sizeof text, "%s: %s", stream->context->label, reason);
  return kin__conn_set_error(stream->base.conn, code, error_class, text);
}

static int set_error(tls_stream *stream, int code, const char *reason) {
  return set_class(stream, code, KIN_CLASS_TLS, reason);
}

/* OpenSSL has failed. */
static int fail(tls_stream *stream) {
  kin__tls_failure failure = {
      .first = stream->first,
      .first_length = stream->first_length,
      .is_established = SSL_is_init_finished(stream->ssl),
      .has_certificate = SSL_get_certificate(stream->ssl) != NULL,
  };
  stream->is_broken = true;
  char reason[KIN__TLS_REASON_SIZE];
  int code = kin__tls_describe_failure(&failure, reason, sizeof reason);
  if (stream->write_error != 0) {
    return stream->write_error;
  }
  if (code == KIN_ENOMEM) {
    return code;
  }
  return set_error(stream, code,
                   stream->refusal[0] != '\0' ? stream->refusal : reason);
}

/* Called in the handshake for each fault of a chain. The first fault ends the
 * handshake. */
static int on_verify(int is_good, X509_STORE_CTX *store) {
  if (!is_good) {
    SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    tls_stream *stream = SSL_get_app_data(ssl);
    kin__tls_describe_refusal(store, stream->context->settings.name,
                              stream->refusal, sizeof stream->refusal);
  }
  return is_good;
}

/* --- The handshake -------------------------------------------------------- */

static int check_protocol(tls_stream *stream) {
  const unsigned char *protocol;
  unsigned length;
  SSL_get0_alpn_selected(stream->ssl, &protocol, &length);
  if (length == 0 || (length == 8 && memcmp(protocol, "http/1.1", 8) == 0)) {
    return 0;
  }
  stream->is_broken = true;
  return set_error(stream, KIN_ETLS,
                   "server insists on another protocol than http/1.1");
}

static void log_handshake(tls_stream *stream) {
  kin__log_write(stream->context->net->log, KIN_LOG_DEBUG,
                 "tls: %s with %s, %s%s", stream->base.conn->peer,
                 SSL_get_version(stream->ssl), SSL_get_cipher_name(stream->ssl),
                 SSL_session_reused(stream->ssl) ? ", resumed" : "");
}

/* Continues as far as the bytes last. Becomes ready when done. */
static int shake_hands(tls_stream *stream) {
  ERR_clear_error();
  int result = SSL_do_handshake(stream->ssl);
  if (result != 1) {
    bool wants_more = SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_READ;
    return wants_more ? 0 : fail(stream);
  }
  int err = check_protocol(stream);
  if (err == 0) {
    log_handshake(stream);
    err = kin__stream_become_ready(&stream->base);
  }
  return err;
}

/* --- Records -------------------------------------------------------------- */

/* Called for each message and record header. Handshake messages are legal after
 * the handshake: new keys, tickets, requests to begin anew. Each takes more
 * time than its bytes do, and the owner learns of none. A callback cannot make
 * OpenSSL fail, but without this mode OpenSSL returns after the message. */
static void on_message(int is_written, int version, int type, const void *bytes,
                       size_t length, SSL *ssl, void *ctx) {
  (void)version;
  (void)bytes;
  (void)length;
  (void)ctx;
  tls_stream *stream = SSL_get_app_data(ssl);
  if (!is_written && type == SSL3_RT_HANDSHAKE && stream->base.is_ready &&
      ++stream->silent_messages > MAX_SILENT_MESSAGES) {
    (void)SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
  }
}

/* OpenSSL asks for more. */
static int check_silence(tls_stream *stream) {
  if (stream->silent_messages <= MAX_SILENT_MESSAGES) {
    return 0;
  }
  stream->is_broken = true;
  return set_error(stream, KIN_ETLS,
                   "server sends handshake messages without end, and no data");
}

/* Fills the shared buffer as far as possible. *result: 0, the bytes are used
 * up; MORE, there may be more; KIN__STREAM_ENDED; or a negative code. */
static size_t fill(tls_stream *stream, char *plain, int *result) {
  size_t used = 0;
  *result = MORE;
  while (used < KIN__READ_BYTES && *result == MORE) {
    size_t count;
    ERR_clear_error();
    if (SSL_read_ex(stream->ssl, plain + used, KIN__READ_BYTES - used,
                    &count) == 1) {
      used += count;
      continue;
    }
    switch (SSL_get_error(stream->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
      *result = check_silence(stream);
      break;
    case SSL_ERROR_ZERO_RETURN:
      *result = KIN__STREAM_ENDED;
      break;
    default:
      *result = fail(stream);
      break;
    }
  }
  return used;
}

static int read_records(tls_stream *stream) {
  const kin__conn *conn = stream->base.conn;
  int result;
  do {
    char *plain = stream->context->plain;
    size_t used = fill(stream, plain, &result);
    int err = 0;
    if (used > 0) {
      stream->silent_messages = 0;
      err = kin__stream_deliver(&stream->base, plain, used);
    }
    if (err != 0 || conn->is_closed) {
      return err;
    }
  } while (result == MORE);
  return result == KIN__STREAM_ENDED ? kin__stream_end_above(&stream->base)
                                     : result;
}

static void note_first(tls_stream *stream, const char *bytes, size_t length) {
  size_t room = sizeof stream->first - stream->first_length;
  size_t count = length < room ? length : room;
  memcpy(stream->first + stream->first_length, bytes, count);
  stream->first_length += count;
}

/* --- The stream ----------------------------------------------------------- */

static int tls_open(kin__stream *base) {
  int err = shake_hands(self(base)); /* begins the handshake */
  ERR_clear_error();
  return err;
}

static int tls_receive(kin__stream *base, char *bytes, size_t length) {
  tls_stream *stream = self(base);
  kin__conn *conn = base->conn;
  int err = 0;
  note_first(stream, bytes, length);
  stream->in = bytes;
  stream->in_length = length;
  if (!base->is_ready) {
    err = shake_hands(stream);
  }
  if (err == 0 && base->is_ready && !conn->is_closed) {
    err = read_records(stream);
  }
  stream->in = NULL;
  stream->in_length = 0;
  ERR_clear_error();
  return err;
}

/* The end of the socket is the end of the stream only after the server's
 * close_notify: an attacker can cut a connection. A server that ends, or a
 * balancer without a server behind, closes during the handshake. */
static int tls_end(kin__stream *base) {
  return set_class(self(base), KIN_EEOF, KIN_CLASS_CONNECT,
                   base->is_ready
                       ? "connection was cut off (no close_notify)"
                       : "server closed the connection during the handshake");
}

/* TLS above may be in the middle of a call, which has put its reason on the
 * queue before it sends an alert. */
static void begin_errors(const kin__stream *base) {
  if (base->above != NULL) {
    (void)ERR_set_mark();
  } else {
    ERR_clear_error();
  }
}

static void end_errors(const kin__stream *base) {
  if (base->above != NULL) {
    (void)ERR_pop_to_mark();
  } else {
    ERR_clear_error();
  }
}

static int tls_send(kin__stream *base, const char *bytes, size_t length) {
  tls_stream *stream = self(base);
  size_t count;
  if (stream->is_broken) {
    return KIN_ETLS; /* the last words of TLS above */
  }
  begin_errors(base);
  int err =
      SSL_write_ex(stream->ssl, bytes, length, &count) == 1 ? 0 : fail(stream);
  end_errors(base);
  return err;
}

static void tls_close(kin__stream *base) {
  tls_stream *stream = self(base);
  if (base->is_ready && !stream->is_broken) {
    ERR_clear_error();
    (void)SSL_shutdown(stream->ssl); /* the peer's answer is not awaited */
    ERR_clear_error();
  }
}

static void tls_free(kin__stream *base) {
  tls_stream *stream = self(base);
  SSL_free(stream->ssl);
  ERR_clear_error();
  kin__free(stream->context->net->allocator, stream);
}

static const kin__stream_ops tls_ops = {
    .open = tls_open,
    .receive = tls_receive,
    .end = tls_end,
    .send = tls_send,
    .close = tls_close,
    .free = tls_free,
    .missing = "no TLS handshake",
};

void kin__tls_stream_suspect(const kin__conn *conn) {
  kin__stream *stream = conn->stream;
  while (stream != NULL && stream->is_ready) {
    stream = stream->above;
  }
  if (stream != NULL && stream->ops == &tls_ops) {
    kin__tls_context_suspect(self(stream)->context);
  }
}

/* --- Making one ----------------------------------------------------------- */

static bool set_up(tls_stream *stream) {
  kin__tls_context *context = stream->context;
  SSL *ssl = stream->ssl;
  BIO *bio = BIO_new(context->bio_method);
  if (bio == NULL) {
    return false;
  }
  BIO_set_data(bio, stream);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_msg_callback(ssl, on_message);
  SSL_set_connect_state(ssl);
  if (!context->settings.is_insecure) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, on_verify);
  }
  if (SSL_set_app_data(ssl, stream) != 1 ||
      (!context->settings.is_address &&
       SSL_set_tlsext_host_name(ssl, context->settings.name) != 1)) {
    return false;
  }
  stream->begun_ms = kin__net_now_ms(context->net);
  stream->verified_ms = context->verified_ms;
  SSL_SESSION *session = kin__tls_context_session(context);
  if (session != NULL) {
    (void)SSL_set_session(ssl, session); /* else a full handshake */
  }
  return true;
}

int kin__tls_stream_new(kin__stream **out, kin__tls_context *context) {
  assert(context->ctx != NULL);
  *out = NULL;
  const kin_allocator *allocator = context->net->allocator;
  tls_stream *stream = kin__calloc(allocator, 1, sizeof *stream);
  if (stream == NULL) {
    return KIN_ENOMEM;
  }
  stream->base.ops = &tls_ops;
  stream->context = context;
  stream->generation = context->generation;
  ERR_clear_error();
  stream->ssl = SSL_new(context->ctx);
  bool is_set = stream->ssl != NULL && set_up(stream);
  ERR_clear_error();
  if (!is_set) {
    tls_free(&stream->base);
    return KIN_ENOMEM;
  }
  *out = &stream->base;
  return 0;
}

uint64_t kin__tls_stream_verified_ms(const SSL *ssl) {
  const tls_stream *stream = SSL_get_app_data(ssl);
  return SSL_session_reused(ssl) ? stream->verified_ms : stream->begun_ms;
}

kin__tls_context *kin__tls_stream_context(const SSL *ssl,
                                          unsigned *generation) {
  const tls_stream *stream = SSL_get_app_data(ssl);
  *generation = stream->generation;
  return stream->context;
}
