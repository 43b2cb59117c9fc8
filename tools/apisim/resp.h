/* SPDX-License-Identifier: MIT */
#ifndef APISIM_RESP_H
#define APISIM_RESP_H

/* HTTP responses with the framing of Go's net/http, which real API servers
 * have: a body that ends within 2048 bytes gets a Content-Length; a longer one
 * is chunked, small writes gathered into chunks of 2048 bytes and a write that
 * finds the gathering buffer empty and does not fit into it sent as one chunk.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blob.h"
#include "gzip.h"
#include "indent.h"

struct conn;

enum { RESP_HEADERS_MAX = 8 };

typedef struct resp {
  bool active; // between resp_begin and the end of sending
  bool ended;  // the handler has written everything
  bool head_sent;
  bool chunked;
  bool indent;
  int status;
  const char *content_type;
  const char *cache_control;
  bool flow_control; // the priority-and-fairness headers
  struct {
    const char *name; // static
    char *value;
  } headers[RESP_HEADERS_MAX];
  size_t header_count;
  segq pending;        // Go's bufio.Writer
  segq parts;          // of the write under way
  uint64_t body_bytes; // handler's bytes so far
  uint64_t events;     // watch events so far
  uint64_t trigger;    // body offset of a body fault
  bool cut_short;      // a body fault ended the body; swallow the rest
  indenter indenter;
  bool compress;
  size_t blanks; // compressed ones that come before the body
  gzip gzip;
} resp;

void resp_free(resp *r);

/* Starts the response to the request c is answering. content_type is static. */
void resp_begin(struct conn *c, int status, const char *content_type);
/* Adds a header, before the first byte of the body. name is static. */
void resp_header(struct conn *c, const char *name, const char *value);
/* Sends the body as gzip if the client takes that and --gzip is on. Before the
 * first byte of the body. */
void resp_compress(struct conn *c);
/* One write of the body: everything in parts, which is left empty. */
void resp_write(struct conn *c, segq *parts);
/* The same of one piece: shared (owner NULL = static storage), or copied. */
void resp_write_ref(struct conn *c, blob *owner, const char *ptr, size_t len);
void resp_write_copy(struct conn *c, const void *bytes, size_t len);
/* Sends what is gathered as a chunk. */
void resp_flush(struct conn *c);
/* A watch event was written completely. Counts it for stats and faults. */
void resp_event_end(struct conn *c);
/* The same for several, of which only the last may be the one that a fault
 * waits for. */
void resp_events_end(struct conn *c, uint64_t count);
/* Sends the head of a chunked response whose chunks the caller frames. */
void resp_begin_raw(struct conn *c);
/* Ends the body in good order although its producer is not done; the
 * connection drops the producer when everything before this is sent. */
void resp_finish_early(struct conn *c);
/* Ends the body. */
void resp_end(struct conn *c);
/* The reason phrase, NULL for a code we have none for. */
const char *resp_status_text(int status);
/* A whole response. */
void resp_send(struct conn *c, int status, const char *content_type,
               const char *body, size_t len);

#endif
