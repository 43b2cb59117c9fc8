/* SPDX-License-Identifier: MIT */
/* OpenSSL sits on a BIO of ours that never blocks on writing. Reading, it takes
 * the bytes the socket just brought; they are always used up before the next
 * ones, for a part of a record is kept inside OpenSSL. Writing, it appends
 * records to a buffer, which goes to the socket when a batch is full or nothing
 * is left to seal. So plaintext is sealed from where it lies, shared bytes
 * included, into memory of a bounded size, and one system call sends many
 * records.
 *
 * Only short pieces are gathered, into whole records: a record for every chunk
 * head would cost more than the copy. */
#include "tls_stream.h"

#include <assert.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "mem.h"

enum {
  HANDSHAKE_MS = 10 * 1000,
  LINGER_MS = 500,
  HEADER_BYTES = 5, // of a record
  RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
  BATCH_BYTES = 8 * RECORD_BYTES, // sealed before the socket gets them
  IDLE_BYTES = 4096,              // a larger buffer is not kept when all is out
};

typedef enum tls_state {
  TLS_SNIFFING, // less than a record's header has come
  TLS_HANDSHAKING,
  TLS_OPEN,
  TLS_FAILED, // an alert goes out, input is discarded until the peer ends
} tls_state;

typedef enum tls_shut {
  SHUT_NOT,
  SHUT_WANTED,   // when all is written
  SHUT_NOTIFIED, // close_notify is among the records to be sent
  SHUT_DONE,
} tls_shut;

typedef struct tls_stream {
  stream base;
  stream *below;
  SSL *ssl;
  uv_timer_t timer; // ends the handshake, a pause between pieces, lingering
  tls_state state;
  tls_shut shut;
  bool reading; // what our user wants
  bool ended;   // on_end has been called
  bool leaving; // closed, but an orderly end is still going out
  int error;    // why it failed
  int closing;  // handles whose close callback is still to come

  char sniffed[HEADER_BYTES];
  size_t sniffed_len;
  const char *in; // what the socket brought and OpenSSL has not taken
  size_t in_len;

  uv_buf_t *plain; // what our user writes, from plain_at on
  unsigned plain_cap, plain_count, plain_at;
  size_t plain_offset; // into plain[plain_at]
  bool writing;        // on_written is owed

  buf out;          // records sealed meanwhile
  buf wire;         // records being sent, from wire_at on
  size_t wire_at;   // sent before
  size_t in_flight; // bytes of wire that the stream below is writing
  size_t piece_bytes;
  uint32_t piece_delay_ms;
  bool paused; // between two pieces
} tls_stream;

static void flush(tls_stream *t);
static void on_timer(uv_timer_t *timer);
static void close_handles(tls_stream *t, bool reset);

/* ------------------------------------------------------------------- BIO */

static int bio_read(BIO *bio, char *to, int size) {
  tls_stream *t = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (t->in_len == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  int len = t->in_len < (size_t)size ? (int)t->in_len : size;
  memcpy(to, t->in, (size_t)len);
  t->in += len;
  t->in_len -= (size_t)len;
  return len;
}

static int bio_write(BIO *bio, const char *from, int len) {
  tls_stream *t = BIO_get_data(bio);
  buf_append(&t->out, from, (size_t)len);
  return len;
}

static long bio_ctrl(BIO *bio, int command, long number, void *ptr) {
  (void)bio;
  (void)number;
  (void)ptr;
  return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

static BIO *new_bio(tls_stream *t) {
  static BIO_METHOD *method; // made once, lives as long as the process
  if (method == NULL) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO_meth_set_create(method, bio_create);
  }
  BIO *bio = BIO_new(method);
  BIO_set_data(bio, t);
  return bio;
}

/* ------------------------------------------------------------------- end */

/* Whether our user has closed us: no events any more. */
static bool is_closed(const tls_stream *t) {
  return t->leaving || t->closing != 0;
}

static void end(tls_stream *t, int error) {
  if (!t->ended && !is_closed(t)) {
    t->ended = true;
    t->base.events->on_end(t->base.data, error);
  }
}

/* The handshake came to nothing. The peer is given a moment to read why, which
 * a reset because of input never read would keep from it. */
static void fail(tls_stream *t, int error) {
  t->state = TLS_FAILED;
  t->error = error;
  t->shut = SHUT_NOTIFIED; // FIN when all is out, but no close_notify
  stream_set_reading(t->below, true);
  uv_timer_start(&t->timer, on_timer, LINGER_MS, 0);
  flush(t);
}

/* --------------------------------------------------------------- writing */

/* Leaves plain_at at the next byte there is: empty pieces are skipped. */
static void advance_plain(tls_stream *t, size_t len) {
  for (; t->plain_at < t->plain_count; t->plain_at++) {
    size_t rest = t->plain[t->plain_at].len - t->plain_offset;
    if (len < rest) {
      t->plain_offset += len;
      return;
    }
    len -= rest;
    t->plain_offset = 0;
  }
}

/* The next bytes to seal: whole records from where they lie, or one record's
 * worth gathered from short pieces. */
static slice next_plain(const tls_stream *t) {
  static char record[RECORD_BYTES];
  const uv_buf_t *b = &t->plain[t->plain_at];
  slice first = {b->base + t->plain_offset, b->len - t->plain_offset};
  if (first.len >= RECORD_BYTES) {
    size_t room = BATCH_BYTES - t->out.len;
    room = room > RECORD_BYTES ? room : RECORD_BYTES;
    size_t most = first.len < room ? first.len : room;
    return (slice){first.ptr, most - most % RECORD_BYTES};
  }
  if (t->plain_at + 1 == t->plain_count) {
    return first;
  }
  size_t len = first.len;
  memcpy(record, first.ptr, len);
  for (unsigned i = t->plain_at + 1; i < t->plain_count; i++) {
    size_t room = sizeof record - len;
    size_t part = t->plain[i].len < room ? t->plain[i].len : room;
    memcpy(record + len, t->plain[i].base, part);
    len += part;
  }
  return (slice){record, len};
}

/* Seals what our user writes until a batch is ready. False if OpenSSL refuses,
 * which our BIO gives it no cause for. */
static bool seal(tls_stream *t) {
  while (t->out.len < BATCH_BYTES && t->plain_at < t->plain_count) {
    slice next = next_plain(t);
    size_t done;
    ERR_clear_error();
    if (SSL_write_ex(t->ssl, next.ptr, next.len, &done) != 1) {
      return false;
    }
    advance_plain(t, next.len);
  }
  return true;
}

static void finish_write(tls_stream *t, int error) {
  t->plain_count = 0;
  t->plain_at = 0;
  if (t->writing && !is_closed(t)) {
    t->writing = false;
    t->base.events->on_written(t->base.data, error);
  }
}

/* All records are with the socket. */
static void on_drained(tls_stream *t) {
  if (t->wire.cap > IDLE_BYTES) {
    buf_free(&t->wire);
    t->wire_at = 0;
  }
  finish_write(t, 0);
  if (t->closing != 0) {
    return;
  }
  if (t->shut == SHUT_WANTED) {
    t->shut = SHUT_NOTIFIED;
    ERR_clear_error();
    SSL_shutdown(t->ssl);
    flush(t);
  } else if (t->shut == SHUT_NOTIFIED) {
    t->shut = SHUT_DONE;
    stream_shutdown(t->below);
    if (t->leaving) {
      close_handles(t, false);
    }
  }
}

/* Makes the next records ready. False if there is nothing to send. */
static bool refill(tls_stream *t) {
  buf_clear(&t->wire);
  t->wire_at = 0;
  buf sent = t->wire;
  t->wire = t->out;
  t->out = sent;
  return t->wire.len != 0;
}

/* Sends what is sealed, seals more, and so on until all is out. */
static void flush(tls_stream *t) {
  if (t->in_flight != 0 || t->paused || t->closing != 0) {
    return;
  }
  if (t->wire_at == t->wire.len) {
    if (!seal(t)) {
      finish_write(t, UV_EPROTO);
      return;
    }
    if (!refill(t)) {
      on_drained(t);
      return;
    }
  }
  size_t len = t->wire.len - t->wire_at;
  if (t->piece_bytes != 0 && len > t->piece_bytes) {
    len = t->piece_bytes;
  }
  t->in_flight = len;
  uv_buf_t bytes = uv_buf_init(t->wire.data + t->wire_at, (unsigned)len);
  stream_write(t->below, &bytes, 1);
}

static void on_below_written(void *data, int error) {
  tls_stream *t = data;
  t->wire_at += t->in_flight;
  t->in_flight = 0;
  if (error != 0 && t->leaving) {
    close_handles(t, false);
    return;
  }
  if (error != 0) {
    bool owed = t->writing;
    finish_write(t, error);
    if (!owed) {
      end(t, error);
    }
    return;
  }
  if (t->piece_delay_ms != 0 && t->state == TLS_OPEN &&
      t->wire_at != t->wire.len) {
    t->paused = true;
    uv_timer_start(&t->timer, on_timer, t->piece_delay_ms, 0);
    return;
  }
  flush(t);
}

/* --------------------------------------------------------------- reading */

static void shake_hands(tls_stream *t) {
  ERR_clear_error();
  int rc = SSL_do_handshake(t->ssl);
  if (rc == 1) {
    t->state = TLS_OPEN;
    uv_timer_stop(&t->timer);
    stream_set_reading(t->below, t->reading);
  } else if (SSL_get_error(t->ssl, rc) != SSL_ERROR_WANT_READ) {
    fail(t, UV_EPROTO);
  }
}

static void read_records(tls_stream *t) {
  static char plain[RECORD_BYTES]; // handed on before the next read
  while (t->state == TLS_OPEN && !t->ended && !is_closed(t)) {
    size_t len;
    ERR_clear_error();
    int rc = SSL_read_ex(t->ssl, plain, sizeof plain, &len);
    if (rc == 1) {
      t->base.events->on_read(t->base.data, plain, len);
      continue;
    }
    int why = SSL_get_error(t->ssl, rc);
    if (why == SSL_ERROR_WANT_READ) {
      return;
    }
    flush(t); // the alert, if there is one and nothing stands before it
    end(t, why == SSL_ERROR_ZERO_RETURN ? 0 : UV_EPROTO);
  }
}

static void feed(tls_stream *t, const char *bytes, size_t len) {
  t->in = bytes;
  t->in_len = len;
  if (t->state == TLS_HANDSHAKING) {
    shake_hands(t);
  }
  read_records(t);
  t->in_len = 0; // more than nothing only if the connection is over
  flush(t);
}

/* The same five bytes by which Go's server knows them. */
static bool looks_like_http(const char *header) {
  static const char *const STARTS[] = {"GET /", "HEAD ", "POST ", "PUT /",
                                       "OPTIO"};
  for (size_t i = 0; i < sizeof STARTS / sizeof STARTS[0]; i++) {
    if (memcmp(header, STARTS[i], HEADER_BYTES) == 0) {
      return true;
    }
  }
  return false;
}

/* Returns how many of the bytes it took. */
static size_t sniff(tls_stream *t, const char *bytes, size_t len) {
  size_t lacking = HEADER_BYTES - t->sniffed_len;
  size_t part = len < lacking ? len : lacking;
  memcpy(t->sniffed + t->sniffed_len, bytes, part);
  t->sniffed_len += part;
  if (t->sniffed_len < HEADER_BYTES) {
    return part;
  }
  if (looks_like_http(t->sniffed)) {
    buf_puts(&t->out, "HTTP/1.0 400 Bad Request\r\n\r\n"
                      "Client sent an HTTP request to an HTTPS server.\n");
    fail(t, UV_EPROTO);
  } else {
    t->state = TLS_HANDSHAKING;
    feed(t, t->sniffed, HEADER_BYTES);
  }
  return part;
}

static void on_below_read(void *data, const char *bytes, size_t len) {
  tls_stream *t = data;
  if (t->state == TLS_SNIFFING) {
    size_t part = sniff(t, bytes, len);
    bytes += part;
    len -= part;
  }
  bool usable = t->state == TLS_HANDSHAKING || t->state == TLS_OPEN;
  if (len != 0 && usable && !t->ended && !is_closed(t)) {
    feed(t, bytes, len);
  }
}

static void on_below_end(void *data, int error) {
  tls_stream *t = data;
  if (t->state == TLS_FAILED) {
    end(t, t->error);
  } else {
    /* Without close_notify it is no clean end. */
    end(t, error != 0 ? error : UV_EOF);
  }
}

static void on_timer(uv_timer_t *timer) {
  tls_stream *t = timer->data;
  if (t->leaving) {
    close_handles(t, false);
    return;
  }
  switch (t->state) {
  case TLS_SNIFFING:
  case TLS_HANDSHAKING:
    end(t, UV_ETIMEDOUT);
    break;
  case TLS_OPEN:
    t->paused = false;
    flush(t);
    break;
  case TLS_FAILED:
    end(t, t->error);
    break;
  }
}

/* ------------------------------------------------------------ operations */

static void tls_set_reading(stream *s, bool on) {
  tls_stream *t = (tls_stream *)s;
  t->reading = on;
  if (t->state == TLS_OPEN && !is_closed(t)) {
    stream_set_reading(t->below, on);
  }
}

static void tls_write(stream *s, const uv_buf_t *bufs, unsigned count) {
  tls_stream *t = (tls_stream *)s;
  assert(t->state == TLS_OPEN && !t->writing && !is_closed(t));
  if (count > t->plain_cap) {
    t->plain_cap = count;
    t->plain = xrealloc(t->plain, count, sizeof *bufs);
  }
  memcpy(t->plain, bufs, count * sizeof *bufs);
  t->plain_count = count;
  t->plain_at = 0;
  t->plain_offset = 0;
  t->writing = true;
  advance_plain(t, 0);
  flush(t);
}

static void tls_shutdown(stream *s) {
  tls_stream *t = (tls_stream *)s;
  if (t->shut == SHUT_NOT && !is_closed(t)) {
    /* Before the handshake is over there is nothing to notify with. */
    t->shut = t->state == TLS_OPEN ? SHUT_WANTED : SHUT_NOTIFIED;
    flush(t);
  }
}

static void on_part_closed(tls_stream *t) {
  if (--t->closing != 0) {
    return;
  }
  t->base.events->on_closed(t->base.data);
  SSL_free(t->ssl);
  buf_free(&t->out);
  buf_free(&t->wire);
  free(t->plain);
  free(t);
}

static void on_below_closed(void *data) {
  on_part_closed(data);
}

static void on_timer_closed(uv_handle_t *handle) {
  on_part_closed(handle->data);
}

static void close_handles(tls_stream *t, bool reset) {
  if (t->closing == 0) {
    t->closing = 2;
    uv_close((uv_handle_t *)&t->timer, on_timer_closed);
    stream_close(t->below, reset);
  }
}

/* Sends what is sealed, and close_notify, but no more of what our user was
 * writing. */
static void leave(tls_stream *t) {
  t->leaving = true;
  t->paused = false;
  t->piece_bytes = 0;
  t->plain_count = 0;
  t->plain_at = 0;
  stream_set_reading(t->below, false);
  uv_timer_start(&t->timer, on_timer, LINGER_MS, 0);
  flush(t);
}

static void tls_close(stream *s, bool reset) {
  tls_stream *t = (tls_stream *)s;
  bool ending = t->shut == SHUT_WANTED || t->shut == SHUT_NOTIFIED;
  if (is_closed(t)) {
    return;
  }
  if (ending && !reset && t->state == TLS_OPEN) {
    leave(t);
  } else {
    close_handles(t, reset);
  }
}

static void tls_set_pieces(stream *s, size_t bytes, uint32_t delay_ms) {
  tls_stream *t = (tls_stream *)s;
  t->piece_bytes = bytes;
  t->piece_delay_ms = delay_ms;
}

static const stream_ops TLS_OPS = {tls_set_reading, tls_write, tls_shutdown,
                                   tls_close, tls_set_pieces};
static const stream_events BELOW_EVENTS = {on_below_read, on_below_end,
                                           on_below_written, on_below_closed};

int tls_stream_accept(tls_config *config, uv_stream_t *listener,
                      const stream_events *events, void *data, stream **out) {
  *out = NULL;
  tls_stream *t = xcalloc(1, sizeof *t);
  t->base = (stream){&TLS_OPS, events, data};
  int rc = stream_accept_tcp(listener, &BELOW_EVENTS, t, &t->below);
  if (rc != 0) {
    free(t);
    return rc;
  }
  t->ssl = tls_config_begin(config);
  BIO *bio = new_bio(t);
  SSL_set_bio(t->ssl, bio, bio);
  uv_timer_init(listener->loop, &t->timer);
  t->timer.data = t;
  uv_timer_start(&t->timer, on_timer, HANDSHAKE_MS, 0);
  stream_set_reading(t->below, true);
  *out = &t->base;
  return 0;
}
