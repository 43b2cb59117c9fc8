/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_HTTP1_H
#define KIN_TRANSPORT_HTTP1_H

#include <stdbool.h>
#include <stddef.h>

#include <llhttp.h>

#include "base/buf.h"
#include "transport/exchange.h"

/* The response to one GET, from bytes. No I/O, no allocation: a head is bounded
 * and only what the library asks for is kept of it. */

/* Status lines and header fields of one response, 1xx included. */
#define KIN__HTTP1_MAX_HEAD_BYTES (64u << 10)
/* Header and trailer lines. */
#define KIN__HTTP1_MAX_LINES 256
/* Of one chunk's extensions, and of all trailers. */
#define KIN__HTTP1_MAX_EXTRA_BYTES (16u << 10)

typedef struct kin__http1_events {
  /* The final response's head; 1xx are skipped. */
  void (*on_head)(void *ctx, const kin__response_head *head);
  /* Decoded bytes of the body, borrowed. */
  void (*on_body)(void *ctx, const char *bytes, size_t length);
} kin__http1_events;

/* A header line's fate. */
typedef enum kin__http1_field {
  KIN__FIELD_IGNORED,
  KIN__FIELD_CONTENT_TYPE,
  KIN__FIELD_CONTENT_ENCODING,
  KIN__FIELD_TRANSFER_ENCODING,
  KIN__FIELD_RETRY_AFTER,
  KIN__FIELD_LOCATION,
  KIN__FIELD_WARNING
} kin__http1_field;

typedef struct kin__http1 {
  llhttp_t parser;
  kin__http1_events events;
  void *ctx;

  size_t head_left; /* bytes that the head may still take */
  unsigned line_count;
  size_t extra_bytes;
  kin__http1_field field; /* of the current line */
  char name[20];          /* longer ones are of no interest */
  size_t name_length;     /* seen; may exceed the array */
  char value[64];
  size_t value_length; /* seen; may exceed the array */

  char content_type[256];
  char location[256];
  char encoding[32];
  kin__response_head head;
  kin__buf *warnings; /* set after init: where values of Warning go, each ended
                       * by a newline; what does not fit does not. NULL:
                       * nowhere */

  const char *reason; /* why the response was refused; static, or NULL */
  bool is_head_done;
  bool is_interim; /* the response in hand is a 1xx */
  bool is_complete;
  bool is_keep_alive;
  bool has_extra; /* bytes followed the response */
  bool is_stopped;
} kin__http1;

/* May be called again to reuse the memory for another response. */
void kin__http1_init(kin__http1 *http1, const kin__http1_events *events,
                     void *ctx);

/* Parses bytes and calls the events. Errors: KIN_EHTTP, kin__http1_reason tells
 * why. After an error, or after kin__http1_stop, only init is legal. */
int kin__http1_parse(kin__http1 *http1, const char *bytes, size_t length);

/* The connection has ended. 0 if that completes the response (a body without a
 * length) or it was complete. Errors: KIN_EEOF. */
int kin__http1_end(kin__http1 *http1);

/* In an event: no other event comes, and kin__http1_parse returns 0 soon. The
 * memory must stay until it has. */
void kin__http1_stop(kin__http1 *http1);

/* The whole response has been delivered. */
bool kin__http1_is_complete(const kin__http1 *http1);

/* It is complete, and the connection may carry another one. */
bool kin__http1_is_reusable(const kin__http1 *http1);

/* Why KIN_EHTTP was returned; static. */
const char *kin__http1_reason(const kin__http1 *http1);

#endif /* KIN_TRANSPORT_HTTP1_H */
