/* SPDX-License-Identifier: MIT */
#ifndef APISIM_CONN_H
#define APISIM_CONN_H

/* One HTTP/1.1 server connection: parses requests one after another, hands
 * each to the router, and sends what the response layer queues.
 *
 * Nothing is sent, and no producer called, from inside a handler: writes mark
 * the connection dirty, and the server flushes dirty connections once per loop
 * iteration from the top level. So a handler never sees its connection vanish
 * under it, and what one iteration produced leaves in one system call. */

#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "blob.h"
#include "fault.h"
#include "request.h"
#include "resp.h"
#include "stream.h"

struct sim;

enum {
  CONN_HIGH_WATER = 1024 * 1024, // producers pause above this many bytes
  CONN_LOW_WATER = 256 * 1024,   // and are asked for more below this
};

/* What writes a long response piece by piece. */
typedef struct producer {
  void (*on_drain)(void *data); // room for more; may end the response
  void (*on_abort)(void *data); // the response is over; forget the connection
  void *data;
} producer;

typedef enum conn_state {
  CONN_READING,   // parsing a request; nothing to send
  CONN_ANSWERING, // a request is with its handler; input is only buffered
  CONN_LINGERING, // our side is shut, input is discarded until the peer ends
  CONN_CLOSED,    // the handles are closing
} conn_state;

typedef struct conn {
  struct sim *sim;
  stream *stream;
  conn_state state;
  struct conn *prev, *next; // all connections of the server
  struct conn *next_dirty;
  bool dirty;

  llhttp_t parser;
  request req;
  buf inbox;         // read but not parsed yet
  int reject_status; // the parser callbacks' verdict on an unusable request
  bool keep_alive;
  bool http10;
  bool head_only;
  bool uncounted; // a control request: not in the stats

  resp resp;
  fault_plan plan;
  producer producer; // on_drain NULL when there is none

  segq out;
  size_t in_flight; // bytes of out that the stream is writing
  uint64_t queued;  // bytes of this response ever put into out
  uint64_t sent;    // of them, gone to the stream
  uint64_t limit;   // the fault acts when sent reaches this
  bool stalled;     // a fault forbids sending
  uv_timer_t timer; // split delays, end of a stall, lingering
  int closing;      // handles whose close callback is still to come
} conn;

/* Takes the connection that waits on listener. */
void conn_accept(struct sim *s, uv_stream_t *listener);
/* Closes at once. Its producer is told. */
void conn_close(conn *c, bool reset);
/* Closes our side, then waits a moment for the peer's end, so that an answer
 * to a request we did not read whole is not lost to a reset. */
void conn_linger(conn *c);

/* Puts bytes of the response into the queue: a reference, or a copy. */
void conn_push(conn *c, blob *owner, const char *ptr, size_t len);
void conn_push_copy(conn *c, const void *bytes, size_t len);
/* Moves the first len bytes of q to the end of the queue. */
void conn_push_queue(conn *c, segq *q, size_t len);
/* Schedules a flush. */
void conn_mark_dirty(conn *c);
/* Sends what may be sent, runs due fault actions, asks the producer for more.
 * Only from the top level of the loop. */
void conn_flush(conn *c);
/* Bytes waiting to be sent. */
size_t conn_backlog(const conn *c);

void conn_set_producer(conn *c, producer p);
/* Sends nothing for ms from now on. */
void conn_hold(conn *c, uint64_t ms);
/* Arms the plan's trigger extra bytes from here. */
void conn_arm_limit(conn *c, uint64_t extra);

#endif
