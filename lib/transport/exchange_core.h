/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_EXCHANGE_CORE_H
#define KIN_TRANSPORT_EXCHANGE_CORE_H

#include "base/buf.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/dial.h"
#include "transport/http1.h"
#include "transport/inflate.h"
#include "transport/waiter.h"

/* The exchange as its own files (exchange*.c) and those of its parts see it. One
 * request from start to end:
 *
 *   WAITING
 *      ^|
 *      |v
 *   QUEUED -> DIALLING -> OPENING -> HEAD -> BODY -> ENDED
 *      |                              ^
 *      +------------------------------+        on a connection of the pool
 *      ^------------------------------|        which was closed meanwhile
 *
 * Any state may go to ENDED: by an error, which is reported, or by
 * kin__exchange_cancel, which is silent.
 *
 * Lifetime. Callbacks may cancel the exchange or close the transport. So every
 * function that libuv, the scheduler, a timer, a dial or a connection calls
 * brackets its work with enter() and leave(). The memory is freed when the
 * exchange has ended and no such function is on the stack. After a callback
 * only `state` may be read.
 *
 * Unpacking. A gzip body is inflated a slice at a time: the first slice where
 * its bytes are read, the others in the task. As long as bytes wait the
 * connection is not read, so at most the bytes of one recv wait. At its end a
 * response gives its connection away at once; only on_end waits. */
typedef enum kin__exchange_state {
  KIN__EXCHANGE_QUEUED,  /* the task is scheduled; no dial, no conn, no timer */
  KIN__EXCHANGE_WAITING, /* one of the waiters is queued; timer: connect */
  KIN__EXCHANGE_DIALLING, /* dial is set */
  KIN__EXCHANGE_OPENING,  /* conn is set and not ready; timer: connect */
  KIN__EXCHANGE_HEAD, /* the request has been given to conn; timer: response */
  KIN__EXCHANGE_BODY, /* on_head was called; timer, unless it is a watch: reads;
                       * no conn and no timer once it is_received */
  KIN__EXCHANGE_ENDED /* no dial, no conn, no timer; not in the list */
} kin__exchange_state;

/* Data of an exchange until on_head has been called. */
typedef struct kin__exchange_asking {
  struct kin__exchange *exchange;
  kin__buf request;  /* may have to be sent again */
  kin__buf warnings; /* fields of the head, as they come in */
  kin__waiter credential_waiter;
  kin__waiter context_waiter;
  kin__waiter proxy_waiter; /* for the TLS context of the proxy */
  bool has_value; /* what it waits for is there, and the wait for a newer one is
                   * short */
  kin__http1_head head;
} kin__exchange_asking;

/* The request's body, see exchange_upload.c. */
typedef struct kin__upload {
  struct kin__exchange *exchange;
  kin__task task; /* not scheduled if conn is NULL */
  const char *body;
  size_t length;
  size_t sent; /* bytes given to conn */
} kin__upload;

struct kin__exchange {
  kin__transport *transport;
  kin__conn *conn;
  kin__dial *dial;
  kin__exchange_asking *asking; /* NULL once on_head has been called */

  /* For a gzip body: bytes wait here while conn is not read, and the task
   * inflates the rest after conn is gone. NULL: no gzip. */
  kin__inflate *inflate;

  kin__upload *upload; /* NULL: the request has no body */
  const kin__exchange_callbacks *callbacks;
  void *ctx;
  kin__exchange_state state;
  unsigned frames;      /* calls between enter and leave */
  int refused_status;   /* of a redirect */
  uint32_t probe_round; /* the last one that has looked at it */

  bool is_watch;
  bool is_replayable;     /* the method changes nothing */
  bool is_upload_refused; /* the rest of the body is not sent */
  bool is_paused;
  bool is_received;  /* the whole response has come: conn is NULL, inflate has
                     * the rest */
  bool is_reused;    /* conn has carried a response before */
  bool must_dial;    /* a connection of the pool has failed this exchange */
  bool is_late;      /* the timer was due, but the socket was ready; since the
                      * last progress */
  bool has_response; /* a byte of the response has come */
  bool
      certificate_refused; /* the server answered 401 to its client certificate:
                            * conn is not reused */
  bool had_head;
  unsigned char first_byte;  /* of the response */
  unsigned char hint_length; /* bytes of https_hint that have been seen */
  uint8_t read_shift;        /* of the request */

  kin__link node; /* in transport->exchanges until ENDED */
  kin__task task;
  kin__timer timer;
  uint64_t last_progress_ms;  /* DIALLING, OPENING or HEAD began, on_head or
                              * on_body was called, a slice of an upload was
                              * sent, or bytes of a watch were read */
  uint64_t credential_serial; /* of the credential that was sent */
  kin__link pair_node;        /* in one of the transport's lists once begun */
  uint64_t pair_serial;       /* of the client certificate of conn */
  uint64_t sent_before;       /* conn->sent_bytes before the request */
  uint64_t unpack_left;       /* bytes of the body that on_body may still get */
  kin__http1 http1;
};

/* Makes the data, and writes the request. After an error
 * kin__exchange_end_asking is still needed. Errors: as kin__exchange_start. */
int kin__exchange_make_asking(kin__exchange *exchange,
                              const kin__request *request);
/* The data is no longer needed, or was never made. */
void kin__exchange_end_asking(kin__exchange *exchange);

/* Each makes its step towards a request, and returns whether the step is
 * done. If not, the exchange waits or has failed. Without a waiter it does
 * not wait. To begin, it needs a credential, whose certificate it then
 * presents. The last one is for a connection of the pool: without this look
 * a client that always finds a kept connection would never see that its
 * certificates were replaced. */
bool kin__exchange_get_credential(kin__exchange *exchange, kin__waiter *waiter,
                                  kin__credential *credential);
bool kin__exchange_use_credential(kin__exchange *exchange);
bool kin__exchange_prepare_contexts(kin__exchange *exchange);
bool kin__exchange_check_files(kin__exchange *exchange);
bool kin__exchange_waits_for_credential(const kin__exchange *exchange);
/* The wait is over. Returns whether the exchange goes on with a value that is
 * there. */
bool kin__exchange_takes_value(kin__exchange *exchange);
/* The time that such a wait may take. */
uint32_t kin__exchange_wait_ms(const kin__exchange *exchange);

/* The class of a code that lacks one. */
static inline kin_error_class
kin__exchange_class_of(int code, kin_error_class otherwise) {
  return code == KIN_ENOMEM ? KIN_CLASS_MEMORY : otherwise;
}

/* Whether requests go to the proxy themselves. */
static inline bool
kin__transport_is_forwarded(const kin__transport *transport) {
  return kin__transport_proxy(transport) != NULL &&
         kin__transport_proxy(transport)->is_forward;
}

void kin__exchange_enter(kin__exchange *exchange);
void kin__exchange_leave(kin__exchange *exchange);

static inline kin__net *kin__exchange_net(const kin__exchange *exchange) {
  return &exchange->transport->net;
}

void kin__exchange_start_timer(kin__exchange *exchange, uint32_t timeout_ms);
/* The owner gets something of the response, or goes on after a pause: the time
 * until the next bytes of the body begins. */
void kin__exchange_note_progress(kin__exchange *exchange);
/* Starts the timer for the next bytes of a body, unless they may take long. */
void kin__exchange_start_read_timer(kin__exchange *exchange);

/* Drops the dial, the connection and the timer; the exchange stays in the list.
 * A new connection must ask for the TLS context again. */
void kin__exchange_drop_connection(kin__exchange *exchange);
/* Drops everything; no callback. */
void kin__exchange_become_ended(kin__exchange *exchange);

/* The exchange will present the certificate of this credential. If it is
 * another one than before, connections that present the last one are replaced.
 * Errors: KIN_ENOMEM. */
int kin__exchange_use_pair(kin__exchange *exchange,
                           const kin__credential *credential);
/* Nothing has been sent. If this credential has another certificate than the
 * connection, the exchange begins again: returns true. */
bool kin__exchange_renew_early(kin__exchange *exchange,
                               const kin__credential *credential);
/* A paused watch goes on, or the head of a watch is there: if its certificate was
 * replaced meanwhile, the watch is opened anew. */
void kin__exchange_renew_late(kin__exchange *exchange);

/* The peer's address, or the server's name once conn is gone. */
const char *kin__exchange_peer(const kin__exchange *exchange);

/* Ends the exchange with on_end. */
void kin__exchange_fail(kin__exchange *exchange, int code,
                        kin_error_class error_class, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with the connection's own error. */
void kin__exchange_fail_conn(kin__exchange *exchange,
                             const kin__conn_error *error);

void kin__exchange_fail_send(kin__exchange *exchange, int code);

/* Errors: KIN_ENOMEM. */
int kin__exchange_make_upload(kin__exchange *exchange,
                              const kin__request *request);
/* The head has been sent on conn. */
void kin__exchange_begin_upload(kin__exchange *exchange);
void kin__exchange_stop_upload(kin__exchange *exchange);
/* The server has refused the request: it does not want the rest. */
void kin__exchange_refuse_upload(kin__exchange *exchange);
/* Whether conn has been given the whole body. */
bool kin__exchange_has_uploaded(const kin__exchange *exchange);
void kin__exchange_on_conn_flushed(kin__conn *conn);

/* The head has come: handles its status and calls on_head. Returns false if the
 * exchange has failed. */
bool kin__exchange_begin_body(kin__exchange *exchange,
                              kin__response_head *head);
/* Queues bytes of a gzip body. */
void kin__exchange_pack(kin__exchange *exchange, const char *bytes,
                        size_t length);
/* Whether such bytes wait. */
bool kin__exchange_has_packed(const kin__exchange *exchange);
/* Inflates the first slice of the bytes just read. Then the task is scheduled,
 * the connection is read again, or the exchange ends. */
void kin__exchange_unpack_first(kin__exchange *exchange);
/* Inflates another slice: the task's step in BODY. */
bool kin__exchange_unpack(kin__exchange *exchange);

/* Called by the connection and the parser, whose owner is the exchange. */
void kin__exchange_on_conn_bytes(kin__conn *conn, const char *bytes,
                                 size_t length);
void kin__exchange_on_conn_end(kin__conn *conn, const kin__conn_error *error);
extern const kin__http1_events kin__exchange_http_events;

#endif /* KIN_TRANSPORT_EXCHANGE_CORE_H */
