/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_HTTP1_H
#define KIN_TRANSPORT_HTTP1_H

#include <stdbool.h>
#include <stddef.h>

#include <llhttp.h>

#include "base/buf.h"
#include "transport/exchange.h"

/* The parser of one response. No I/O, no allocation: a head is bounded,
 * and only the fields that the library needs are kept. */

/* Status lines and header fields of one response, 1xx included. */
#define KIN__HTTP1_MAX_HEAD_BYTES (64u << 10)
/* Header and trailer lines. */
#define KIN__HTTP1_MAX_LINES 256
/* Bytes of one chunk's extensions; of all trailers. */
#define KIN__HTTP1_MAX_EXTRA_BYTES (16u << 10)
/* Bytes between two bytes of a body, and before and after it. Twice a read's, so
 * that no honest read is parsed in two slices. */
#define KIN__HTTP1_MAX_BARE_BYTES (128u << 10)

typedef struct kin__http1_events {
  /* The final response's head; 1xx responses are skipped. */
  void (*on_head)(void *ctx, const kin__response_head *head);
  /* Decoded bytes of the body, borrowed. */
  void (*on_body)(void *ctx, const char *bytes, size_t length);
} kin__http1_events;

/* The use of a header line. */
typedef enum kin__http1_field {
  KIN__FIELD_IGNORED,
  KIN__FIELD_CONTENT_TYPE,
  KIN__FIELD_CONTENT_ENCODING,
  KIN__FIELD_CONTENT_LENGTH, /* not the first one */
  KIN__FIELD_TRANSFER_ENCODING,
  KIN__FIELD_RETRY_AFTER,
  KIN__FIELD_LOCATION,
  KIN__FIELD_ETAG,
  KIN__FIELD_WARNING
} kin__http1_field;

/* The fields of a head that the library uses, as they are read. */
typedef struct kin__http1_head {
  kin__http1_field field; /* of the current line */
  char name[20];          /* longer names are ignored */
  size_t name_length;     /* seen; may exceed the array */
  char value[64];
  size_t value_length; /* seen; may exceed the array */
  uint64_t length;     /* of the Content-Length line before */

  char content_type[256];
  char location[256];
  char encoding[32];
  char etag[KIN__ETAG_MAX];
  kin__response_head response;
  kin__buf *warnings; /* may be set after init: gets the values of Warning
                       * fields, each ended by a newline, as far as they fit.
                       * NULL: ignored */
} kin__http1_head;

typedef struct kin__http1 {
  llhttp_t parser;
  const kin__http1_events *events;
  void *ctx;
  kin__http1_head *head; /* NULL once on_head is called */

  size_t bytes_left; /* until the head's end, or the next byte of the body */
  const char *slice_end; /* of the bytes that llhttp has */
  size_t extra_bytes;
  const char *reason; /* why the response was refused; static, or NULL */
  unsigned line_count;
  bool is_bodiless; /* may be set after init: the request was a HEAD */
  bool is_head_done;
  bool is_interim; /* the current response is a 1xx */
  bool is_complete;
  bool is_keep_alive;
  bool has_extra; /* bytes followed the response */
  bool is_stopped;
} kin__http1;

/* May be called again, for another response. `head` and `events` are borrowed:
 * the head until on_head has returned, the events as long as the parser is in
 * use. */
void kin__http1_init(kin__http1 *http1, kin__http1_head *head,
                     const kin__http1_events *events, void *ctx);

/* Parses bytes and calls the events. After an error, or after kin__http1_stop,
 * only init is legal. Errors: KIN_EHTTP; see kin__http1_reason. */
int kin__http1_parse(kin__http1 *http1, const char *bytes, size_t length);

/* The connection has ended. Returns 0 if the response was complete, or if the
 * end completes it (a body without a length). Errors: KIN_EEOF. */
int kin__http1_end(kin__http1 *http1);

/* For use in an event: no other event comes, and kin__http1_parse returns 0
 * soon. The memory must stay until then. */
void kin__http1_stop(kin__http1 *http1);

/* Whether the whole response has been delivered. */
bool kin__http1_is_complete(const kin__http1 *http1);

/* Whether the response is complete and the connection may carry another one. */
bool kin__http1_is_reusable(const kin__http1 *http1);

/* The reason of KIN_EHTTP; static. */
const char *kin__http1_reason(const kin__http1 *http1);

#endif /* KIN_TRANSPORT_HTTP1_H */
